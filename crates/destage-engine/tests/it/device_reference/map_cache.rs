//! Devices whose map is larger than their memory against their reference model
//! (`docs/spec/map-cache.md`): every collector mode, streams, SLC, link and buffer, trims and
//! flushes, both schedulers, open and closed loops.

use super::generate::{self, Caches, Ftls};
use super::refuse::is_refused;
use super::{Line, agrees, runner};
use proptest::prelude::*;
use serde_json::json;

fn agrees_with_its_model(caches: Caches, cases: u32) {
    let vectors = generate::vector_with_map_cache(caches).prop_map(Line);
    let verdict = runner(cases).run(&vectors, |Line(vector)| agrees(&vector));
    if let Err(failure) = verdict {
        panic!("{failure}");
    }
}

#[test]
fn a_device_with_a_map_cache_agrees_with_its_model() {
    agrees_with_its_model(Caches::None, 300);
}

#[test]
fn policies_that_see_a_device_with_a_map_cache_agree_with_their_models() {
    agrees_with_its_model(Caches::Device, 80);
}

#[test]
fn page_policies_in_front_of_a_map_cache_agree_with_their_models() {
    agrees_with_its_model(Caches::Page, 80);
}

#[test]
fn block_policies_in_front_of_a_map_cache_agree_with_their_models() {
    agrees_with_its_model(Caches::Block, 40);
}

#[test]
fn block_policies_that_see_a_device_with_a_map_cache_agree_with_their_models() {
    agrees_with_its_model(Caches::DeviceBlock, 40);
}

#[test]
fn admission_policies_in_front_of_a_map_cache_agree_with_their_models() {
    agrees_with_its_model(Caches::Admission, 30);
}

#[test]
fn wrappers_in_front_of_a_map_cache_agree_with_their_models() {
    agrees_with_its_model(Caches::Over, 30);
}

#[test]
fn a_host_that_writes_ahead_of_a_map_cache_agrees_with_its_model() {
    agrees_with_its_model(Caches::Ahead, 40);
}

#[test]
fn another_ftl_excludes_a_map_cache() {
    let vectors = generate::vector(Caches::None, Ftls::Other);
    is_refused(vectors.prop_map(|mut vector| {
        vector["device"]["map_cache"] = json!(1 << 20);
        vector
    }));
}

#[test]
fn a_map_cache_of_no_item_is_refused() {
    let vectors = generate::vector(Caches::None, Ftls::Page);
    is_refused(vectors.prop_map(|mut vector| {
        vector["device"]["map_cache"] = json!(3);
        vector["device"]["map_granularity"] = json!("entry");
        vector
    }));
}

#[test]
fn a_writer_excludes_a_closed_loop_before_a_map_cache() {
    let vectors = generate::vector_with_map_cache(Caches::Ahead);
    is_refused(vectors.prop_map(|mut vector| {
        vector["device"]["sched"] = json!("fcfs");
        vector["device"]["suspend"] = json!("none");
        vector["host"]["mode"] = json!("closed");
        vector
    }));
}
