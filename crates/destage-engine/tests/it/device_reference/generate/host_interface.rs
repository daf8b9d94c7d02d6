//! Keys of `docs/spec/device-today.md` 3, drawn so that no combination is refused.

use super::drive::Drive;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Keys of the device, the host and the placement; times in halves of a tick.
#[derive(Clone, Debug)]
pub struct Interface {
    command: u64,
    by_direction: [Option<u64>; 2], // of reads, of writes
    firmware: (u64, u64),
    link: u64,
    half_duplex: bool,
    buffer_pages: u64,
    trim: bool,
    flush: bool,
    blocks: Blocks,
}

/// The SLC cache and several write points exclude each other.
#[derive(Clone, Debug)]
enum Blocks {
    Plain,
    Slc { blocks: u64, pages: Index, times: (u64, u64, u64), folds: bool, idle: Option<bool> },
    Streams { handles: u64, isolation: &'static str, own: bool, placement: Placement },
}

#[derive(Clone, Debug)]
struct Placement {
    policy: &'static str,
    sizes: Vec<u64>, // steps of thresholds, in eighths of a page
    window: Option<u64>,
    steps: Option<&'static str>,
    base: Option<u64>,
    unit_pages: Option<u64>,
}

fn placement() -> impl Strategy<Value = Placement> {
    let policy =
        select(vec!["none", "by-size", "by-size", "by-cache", "sepbit", "sepbit", "fk", "fk"]);
    let sizes = prop::collection::vec(1..20_u64, 7);
    let window = prop_oneof![1 => Just(None), 4 => (1..6_u64).prop_map(Some)];
    let steps = select(vec![None, Some("geometric"), Some("linear")]);
    let base = prop_oneof![1 => Just(None), 2 => (2..6_u64).prop_map(Some)];
    let unit_pages = prop_oneof![1 => Just(None), 3 => (1..40_u64).prop_map(Some)];
    (policy, sizes, window, steps, base, unit_pages).prop_map(
        |(policy, sizes, window, steps, base, unit_pages)| Placement {
            policy,
            sizes,
            window,
            steps,
            base,
            unit_pages,
        },
    )
}

fn blocks() -> impl Strategy<Value = Blocks> {
    let times = (1..4_u64, 1..12_u64, 1..40_u64);
    let idle = select(vec![None, Some(true), Some(false)]);
    let slc = (1..5_u64, any::<Index>(), times, any::<bool>(), idle);
    let slc = slc.prop_map(|(blocks, pages, times, folds, idle)| Blocks::Slc {
        blocks,
        pages,
        times,
        folds,
        idle,
    });
    let isolation = select(vec!["initial", "persistent", "assigned"]);
    let handles = prop_oneof![2 => 1..4_u64, 3 => 4..9_u64];
    let own = prop_oneof![2 => Just(false), 1 => Just(true)];
    let streams = (handles, isolation, own, placement());
    let streams = streams.prop_map(|(handles, isolation, own, placement)| Blocks::Streams {
        handles,
        isolation,
        own,
        placement,
    });
    prop_oneof![1 => Just(Blocks::Plain), 3 => slc, 6 => streams.prop_map(Blocks::allowed)]
}

impl Blocks {
    /// A device without the combinations that section 2 refuses.
    fn allowed(self) -> Blocks {
        let Blocks::Streams { handles, mut isolation, own, mut placement } = self else {
            return self;
        };
        if handles == 1 {
            placement.policy = "none";
        }
        let named = placement.policy == "fk" || (placement.policy == "sepbit" && handles >= 4);
        if isolation == "assigned" && (own || !named) {
            isolation = "persistent";
        }
        Blocks::Streams { handles, isolation, own, placement }
    }
}

pub fn interface() -> impl Strategy<Value = Interface> {
    let often = |most: u64| prop_oneof![2 => Just(0), 3 => 1..most];
    let own = prop_oneof![3 => Just(None), 2 => (0..4_u64).prop_map(Some)];
    let commands = (often(3), [own.clone(), own]);
    let ways = (commands, (often(8), often(8)), often(8), any::<bool>(), often(12));
    let host = (any::<bool>(), any::<bool>());
    (ways, host, blocks()).prop_map(|(ways, (trim, flush), blocks)| {
        let ((command, by_direction), firmware, link, half_duplex, buffer_pages) = ways;
        Interface {
            command,
            by_direction,
            firmware,
            link,
            half_duplex,
            buffer_pages,
            trim,
            flush,
            blocks,
        }
    })
}

impl Interface {
    /// A device whose placement need not know the future.
    pub fn without_future(mut self) -> Interface {
        if let Blocks::Streams { isolation, placement, handles, .. } = &mut self.blocks {
            if placement.policy == "fk" {
                placement.policy = "sepbit";
            }
            if *isolation == "assigned" && *handles < 4 {
                *isolation = "initial";
            }
        }
        self
    }

    /// A host that trims nothing.
    pub fn without_trims(self) -> Interface {
        Interface { trim: false, ..self }
    }

    /// Open blocks of a plane (7.1).
    pub fn write_points(&self) -> u64 {
        match self.blocks {
            Blocks::Streams { handles, isolation: "persistent", own: true, .. } => 2 * handles,
            Blocks::Streams { handles, own, .. } => handles + u64::from(own),
            _ => 1,
        }
    }

    /// Whether what a collection will do can be foreseen (section 2, on `cqct`).
    pub fn foresees(&self) -> bool {
        self.write_points() == 1 && !matches!(self.blocks, Blocks::Slc { .. })
    }

    /// Adds its keys to a vector.
    pub fn add_to(&self, vector: &mut Value, drive: &Drive) {
        let half = |halves: u64| halves * drive.tick_ns() / 2;
        let mut device = json!({
            "command_ns": half(self.command),
            "firmware_read_ns": half(self.firmware.0),
            "firmware_write_ns": half(self.firmware.1),
            "link_ps_per_byte": half(self.link) * 1000 / drive.page_bytes(),
            "link_duplex": if self.half_duplex { "half" } else { "full" },
            "buffer_pages": self.buffer_pages,
        });
        for (key, own) in ["command_read_ns", "command_write_ns"].iter().zip(self.by_direction) {
            if let Some(halves) = own {
                device[*key] = half(halves).into();
            }
        }
        match &self.blocks {
            Blocks::Plain => {}
            Blocks::Slc { blocks, pages, times: (read, program, erase), folds, idle } => {
                let pages = pages.index(drive.pages_per_block() as usize) as u64 + 1;
                device["slc_blocks"] = (*blocks).into();
                device["slc_pages_per_block"] = pages.into();
                device["slc_read_ns"] = half(*read).into();
                device["slc_program_ns"] = half(*program).into();
                device["slc_erase_ns"] = half(*erase).into();
                device["slc_policy"] = if *folds { "fold" } else { "direct" }.into();
                if let Some(idle) = idle {
                    device["slc_idle"] = (*idle).into();
                }
            }
            Blocks::Streams { handles, isolation, own, placement } => {
                device["handles"] = (*handles).into();
                device["isolation"] = (*isolation).into();
                device["gc_stream"] = if *own { "own" } else { "shared" }.into();
                vector["placement"] = placement.table(*handles, drive.page_bytes()).into();
                if placement.policy == "fk" && vector["device"]["precondition"] == "steady" {
                    vector["device"]["precondition"] = "random".into(); // steady is refused
                }
            }
        }
        let keys = device.as_object().expect("a table").clone();
        vector["device"].as_object_mut().expect("a table").extend(keys);
        if self.trim {
            vector["host"]["trim"] = "drop".into();
        }
        if self.flush {
            vector["host"]["flush"] = "drain".into();
        }
    }
}

impl Placement {
    fn table(&self, handles: u64, page_bytes: u64) -> Map<String, Value> {
        let mut size = 0;
        let thresholds = self.sizes.iter().take(handles as usize - 1).map(|step| {
            size += step * page_bytes / 8;
            size
        });
        let given: &[(&str, Option<Value>)] = &match self.policy {
            "by-size" => vec![("thresholds", Some(thresholds.collect::<Vec<u64>>().into()))],
            "sepbit" => vec![("window", self.window.map(Value::from))],
            "fk" => vec![
                ("steps", self.steps.map(Value::from)),
                ("base", self.base.map(Value::from)),
                ("unit_pages", self.unit_pages.map(Value::from)),
            ],
            _ => vec![],
        };
        let given = given.iter().filter_map(|(key, value)| Some((key.to_string(), value.clone()?)));
        std::iter::once(("policy".to_string(), self.policy.into())).chain(given).collect()
    }
}
