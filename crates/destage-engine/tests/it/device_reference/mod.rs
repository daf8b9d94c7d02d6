//! The timed run against its slow, event-driven reference model, on random drives, loads and
//! policies: every completion, every decision, every counter. A configuration that the
//! specification excludes is refused.
//!
//! `PROPTEST_CASES` sets how many vectors each property draws.

mod generate;
mod host_interface;
mod map_cache;
mod product;
mod refuse;

use destage_reference::ssd::{INTERFACE_COUNTERS, simulate};
use generate::{Caches, Ftls};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::fmt;

fn runner(cases: u32) -> TestRunner {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    TestRunner::new(Config {
        cases: wanted.unwrap_or(cases),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        max_shrink_time: 60_000, // ms: a step runs the whole model again
        ..Config::default()
    })
}

/// A vector that is shown as the line of a vector file.
#[derive(Clone)]
struct Line(Value);

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Operations of an FTL other than `page`, and those of a map cache, wait for each other, and the
/// model looks at each that waits: merges or padded blocks of hundreds of requests take minutes.
fn few_if_they_wait(vector: &Value) -> Value {
    let mut vector = vector.clone();
    let device = &vector["device"];
    let merges = device.get("ftl").is_some_and(|ftl| ftl != "page");
    let pads = device.get("map_cache").is_some() && vector["cache"]["padding"] == true;
    if (merges || pads)
        && let Some(requests) = vector["requests"].as_array_mut()
    {
        requests.truncate(40);
    }
    vector
}

/// Where the reference model and the product first differ. An FTL may run out of blocks; then it
/// does for both.
fn difference(vector: &Value) -> Option<String> {
    let vector = &few_if_they_wait(vector);
    let (model, product) = match (simulate(vector), product::run(vector)) {
        (Ok(model), Ok(product)) => (model, product),
        (Err(model), Err(product)) => {
            let both = model == "device full" && product.contains("device full");
            return (!both)
                .then(|| format!("the reference model: {model}; the product: {product}"));
        }
        (Err(error), Ok(_)) => return Some(format!("the reference model refuses it: {error}")),
        (Ok(_), Err(error)) => return Some(format!("the product refuses it: {error}")),
    };
    let none = json!([]);
    for list in ["decisions", "written", "completions_ns"] {
        if list == "written" && model.get(list).is_none() && product.get(list).is_none() {
            continue; // only a host with a writer has it
        }
        let listed = |side: &Value| side.get(list).unwrap_or(&none).as_array().cloned();
        let (model, product) = (listed(&model), listed(&product));
        let (model, product) = (model.expect("a list"), product.expect("a list"));
        for (index, (model, product)) in model.iter().zip(&product).enumerate() {
            if model != product {
                return Some(format!(
                    "{list} {index}: the reference model says {model}, the product {product}"
                ));
            }
        }
        if model.len() != product.len() {
            let lengths = (model.len(), product.len());
            return Some(format!(
                "{list}: the reference model has {}, the product {}",
                lengths.0, lengths.1
            ));
        }
    }
    let (model, product) = (&model["counters"], &product["counters"]);
    let counters = model.as_object().expect("counters").keys();
    let counts_interface = product.get("commands").is_some(); // who counts these counts all of them
    let of_ftl = model["ftl"].as_object().into_iter().flat_map(|counters| counters.keys());
    let find = |at: &str| Some((at.to_string(), model.pointer(at)?, product.pointer(at)?));
    counters
        .filter(|counter| *counter != "ftl")
        .filter(|counter| counts_interface || !INTERFACE_COUNTERS.contains(&counter.as_str()))
        .map(|counter| format!("/{counter}"))
        .chain(of_ftl.map(|counter| format!("/ftl/{counter}")))
        .map(|at| find(&at).unwrap_or_else(|| panic!("{at} is not counted")))
        .find(|(_, model, product)| model != product)
        .map(|(at, model, product)| {
            format!("{at}: the reference model counts {model}, the product {product}")
        })
}

fn agrees(vector: &Value) -> Result<(), TestCaseError> {
    difference(vector).map_or(Ok(()), |difference| Err(TestCaseError::fail(difference)))
}

fn agrees_with_its_model(caches: Caches, ftls: Ftls, cases: u32) {
    let vectors = generate::vector(caches, ftls).prop_map(Line);
    let verdict = runner(cases).run(&vectors, |Line(vector)| agrees(&vector));
    if let Err(failure) = verdict {
        panic!("{failure}");
    }
}

#[test]
fn a_drive_without_a_cache_agrees_with_its_model() {
    agrees_with_its_model(Caches::None, Ftls::Page, 150);
}

#[test]
fn policies_that_see_the_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::Device, Ftls::Page, 150);
}

#[test]
fn page_policies_in_front_of_a_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::Page, Ftls::Page, 150);
}

#[test]
fn block_policies_in_front_of_a_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::Block, Ftls::Page, 150);
}

#[test]
fn what_is_refused_in_front_of_a_drive_is_written_through_as_by_the_model() {
    agrees_with_its_model(Caches::Admission, Ftls::Page, 150);
}

#[test]
fn what_is_refused_over_another_ftl_is_written_through_as_by_the_model() {
    agrees_with_its_model(Caches::Admission, Ftls::Other, 100);
}

#[test]
fn block_policies_that_see_the_drive_agree_with_their_models() {
    agrees_with_its_model(Caches::DeviceBlock, Ftls::Page, 150);
}

#[test]
fn block_policies_that_see_a_drive_of_another_ftl_agree_with_their_models() {
    agrees_with_its_model(Caches::DeviceBlock, Ftls::Other, 100);
}

#[test]
fn pages_that_are_written_and_stay_delay_whom_they_do_by_the_model() {
    agrees_with_its_model(Caches::Over, Ftls::Page, 150);
}

#[test]
fn pages_that_are_written_and_stay_over_another_ftl_agree_with_the_model() {
    agrees_with_its_model(Caches::Over, Ftls::Other, 100);
}

#[test]
fn what_a_host_writes_ahead_it_writes_when_its_model_does() {
    agrees_with_its_model(Caches::Ahead, Ftls::Page, 150);
}

#[test]
fn what_a_host_writes_ahead_over_another_ftl_it_writes_when_its_model_does() {
    agrees_with_its_model(Caches::Ahead, Ftls::Other, 100);
}

#[test]
fn other_ftls_without_a_cache_agree_with_their_models() {
    agrees_with_its_model(Caches::None, Ftls::Other, 150);
}

#[test]
fn policies_that_see_a_drive_of_another_ftl_agree_with_their_models() {
    agrees_with_its_model(Caches::Device, Ftls::Other, 150);
}

#[test]
fn page_policies_over_another_ftl_agree_with_their_models() {
    agrees_with_its_model(Caches::Page, Ftls::Other, 100);
}

#[test]
fn block_policies_over_another_ftl_agree_with_their_models() {
    agrees_with_its_model(Caches::Block, Ftls::Other, 150);
}
