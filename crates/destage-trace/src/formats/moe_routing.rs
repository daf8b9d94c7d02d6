//! `moe-routing`: which experts of a mixture-of-experts model each layer chose, one JSON object a
//! line.
//!
//! ```text
//! {"layer": 0, "batch_id": 12, "topk_experts": [[5, 61], [5, 9]]}
//! {"tok": 128, "layer": 17, "topk_ids": [3, 6], "t_ns": 183456}
//! ```
//! The experts are in `topk_experts`, `topk_ids`, `selected_ids` or `expert_ids`: a list, or a list
//! for each token. The layer is in `layer`, `layer_id` or `layer_idx`; without it the outer list
//! has an entry for each layer. An expert of a layer is a page (`page_bytes`), read once for each
//! token that chose it: page number = layer x 4096 + expert, so that a layer has at most 4096
//! experts. A time is read from `t_ns`, `time_ns` or `timestamp_ns` (and `_us`, `_ms`, `_s`);
//! without it in the first lines there are no times. Other keys are read over.

use serde_json::{Map, Value};

use super::text_format::*;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    has_ops: false,
    has_volumes: false,
    blocks: false,
    confirmed: false,
    ..Format::text(
        "moe-routing",
        "experts chosen by the layers of a language model (JSON lines)",
        "one JSON object a line: layer, and topk_experts, topk_ids or selected_ids; a page an \
         expert of a layer, all reads",
        detect,
        open,
    )
};

/// Keys of the experts, and of the layer.
const EXPERTS: [&str; 4] = ["topk_experts", "topk_ids", "selected_ids", "expert_ids"];
const LAYERS: [&str; 4] = ["layer", "layer_id", "layer_idx", "moe_layer"];
/// Keys of the time, and their units in ns.
const TIMES: [(&str, u64); 4] =
    [("ns", 1), ("us", MICROSECOND_NS), ("ms", MILLISECOND_NS), ("s", SECOND_NS)];
/// Experts that a layer has room for.
const MOST_EXPERTS: u64 = 4096;

fn object(line: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

fn experts(object: &Map<String, Value>) -> Option<&Vec<Value>> {
    EXPERTS.iter().find_map(|key| object.get(*key)).and_then(Value::as_array)
}

fn layer(object: &Map<String, Value>) -> Option<&Value> {
    LAYERS.iter().find_map(|key| object.get(*key))
}

/// The time of an object, as it is written, and the unit of it in ns.
fn time_of(object: &Map<String, Value>) -> Option<(String, u64)> {
    TIMES.iter().find_map(|(unit, ns)| {
        let names = ["t", "time", "timestamp", "ts"].map(|name| format!("{name}_{unit}"));
        let value = names.iter().find_map(|name| object.get(name))?;
        value.is_number().then(|| (value.to_string(), *ns))
    })
}

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "JSON objects with a layer and the experts it chose", |line| {
        // Other tables have selected_ids too: a layer, or a list for each.
        object(line).is_some_and(|object| {
            experts(&object).is_some_and(|ids| {
                let nested = ids.first().is_some_and(Value::is_array);
                layer(&object).is_some() || nested
            })
        })
    })
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let lines = Sample::of(&mut input)?.lines(100);
    let mut objects = lines.iter().filter_map(|line| object(line));
    let has_times = objects.all(|object| time_of(&object).is_some());
    let page_bytes = opening.options.page_bytes.unwrap_or(4096);
    TextReader::boxed(input, opening, Routing { page_bytes, has_times })
}

#[derive(Clone)]
struct Routing {
    page_bytes: u64,
    has_times: bool,
}

/// Appends the pages of a list of experts, or of lists of them.
fn pages_of(ids: &[Value], layer: u64, pages: &mut Vec<u64>) -> std::result::Result<(), String> {
    for id in ids {
        match id {
            Value::Array(inner) => pages_of(inner, layer, pages)?,
            other => {
                let expert = other.as_u64().filter(|&expert| expert < MOST_EXPERTS);
                let expert = expert.ok_or_else(|| other.to_string())?;
                pages.push(layer * MOST_EXPERTS + expert);
            }
        }
    }
    Ok(())
}

impl LineParser for Routing {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let bad = |category, message: String| Err(Fault::line(category, message));
        let Some(object) = object(line) else {
            return bad(Category::TooFewFields, "expected one JSON object a line".to_owned());
        };
        let Some(ids) = experts(&object) else {
            let expected = EXPERTS.join(", ");
            return bad(Category::TooFewFields, format!("expected one of the keys {expected}"));
        };
        let mut pages = Vec::new();
        let found = match layer(&object) {
            Some(layer) => match layer.as_u64().filter(|&layer| layer < 1 << 32) {
                Some(layer) => pages_of(ids, layer, &mut pages),
                None => {
                    let message = format!("layer: expected a whole number, found {layer}");
                    return bad(Category::BadNumber, message);
                }
            },
            None => (0u64..).zip(ids).try_for_each(|(layer, ids)| {
                pages_of(std::slice::from_ref(ids), layer, &mut pages)
            }),
        };
        if let Err(found) = found {
            let message = format!("experts: expected numbers below {MOST_EXPERTS}, found {found}");
            return bad(Category::BadNumber, message);
        }
        if pages.is_empty() {
            return Ok(Parsed::Skip(Skipped::Event("no expert".to_owned())));
        }
        let time_ns = match time_of(&object) {
            Some((text, unit_ns)) if self.has_times => {
                match parse_decimal(text.as_bytes(), unit_ns) {
                    Ok(ns) => ns,
                    Err(_) => return bad(Category::BadTime, format!("time: found {text}")),
                }
            }
            None if self.has_times => {
                return bad(Category::BadTime, "time: expected one, as before".to_owned());
            }
            _ => 0,
        };
        let device = context.devices.index(context.file_device.as_bytes());
        let length_bytes = self.page_bytes;
        let record = |page: u64| {
            let offset_bytes = page.saturating_mul(length_bytes);
            Record { time_ns, offset_bytes, length_bytes, device, ..Record::EMPTY }
        };
        Ok(Parsed::Records(pages.into_iter().map(record).collect()))
    }

    fn facts(&self) -> Facts {
        Facts {
            page_bytes: Some(self.page_bytes),
            has_times: Some(self.has_times),
            ..Facts::default()
        }
    }
}
