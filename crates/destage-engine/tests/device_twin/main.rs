//! The timed run against its slow, event-driven twin, on random drives, loads and policies: every
//! completion, every decision, every counter. And what the specification excludes is refused by
//! both.
//!
//! `PROPTEST_CASES` sets how many vectors each property draws.

mod generate;
mod product;
mod reach;
mod refuse;

use destage_twins::ssd::simulate;
use generate::Caches;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use std::fmt;

fn runner(cases: u32) -> TestRunner {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    TestRunner::new(Config {
        cases: wanted.unwrap_or(cases),
        failure_persistence: None,
        max_shrink_iters: 20_000,
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

/// Where the twin and the product first differ.
fn difference(vector: &Value) -> Option<String> {
    let twin = match simulate(vector) {
        Ok(twin) => twin,
        Err(error) => return Some(format!("the twin refuses it: {error}")),
    };
    let product = match product::run(vector) {
        Ok(product) => product,
        Err(error) => return Some(format!("the product refuses it: {error}")),
    };
    for list in ["decisions", "completions_ns"] {
        let (twin, product) = (twin[list].as_array(), product[list].as_array());
        let (twin, product) = (twin.expect("a list"), product.expect("a list"));
        for (index, (twin, product)) in twin.iter().zip(product).enumerate() {
            if twin != product {
                return Some(format!(
                    "{list} {index}: the twin says {twin}, the product {product}"
                ));
            }
        }
        if twin.len() != product.len() {
            let lengths = (twin.len(), product.len());
            return Some(format!("{list}: the twin has {}, the product {}", lengths.0, lengths.1));
        }
    }
    for (counter, twin) in twin["counters"].as_object().expect("counters") {
        let product = &product["counters"][counter];
        if product != twin {
            return Some(format!("{counter}: the twin counts {twin}, the product {product}"));
        }
    }
    None
}

fn agrees(vector: &Value) -> Result<(), TestCaseError> {
    difference(vector).map_or(Ok(()), |difference| Err(TestCaseError::fail(difference)))
}

fn agrees_with_its_twin(caches: Caches, cases: u32) {
    let vectors = generate::vector(caches).prop_map(Line);
    let verdict = runner(cases).run(&vectors, |Line(vector)| agrees(&vector));
    if let Err(failure) = verdict {
        panic!("{failure}");
    }
}

#[test]
fn a_drive_without_a_cache_agrees_with_its_twin() {
    agrees_with_its_twin(Caches::None, 150);
}

#[test]
fn policies_that_see_the_drive_agree_with_their_twins() {
    agrees_with_its_twin(Caches::Device, 150);
}

#[test]
fn page_policies_in_front_of_a_drive_agree_with_their_twins() {
    agrees_with_its_twin(Caches::Page, 150);
}
