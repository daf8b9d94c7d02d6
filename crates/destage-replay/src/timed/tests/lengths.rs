//! Lengths of requests, where a drive looks at them.

use super::{TimedReplay, cache, config, lru, word};
use crate::input::Input;
use crate::observe::Unobserved;
use crate::timed::Workload;
use crate::warmup::Warmup;
use destage_core::Op;
use destage_ssd::config::{Table, Value as Given};
use destage_ssd::{Device, HostConfig};

#[test]
fn a_request_without_a_length_in_bytes_is_as_long_as_all_its_rows() {
    // Half of the requests wrap at the drive's end: they have two rows or more.
    let device = config(&[("handles", Given::Int(2)), ("blocks_per_plane", Given::Int(24))]);
    let request =
        |k: u64| (k * 20_000, Op::Write, (k * 37 % 397 + 397 * (k % 2)) * 4096, 12 * 4096);
    let workload = Workload::new((0..600).map(request), &device).expect("requests");
    assert!(workload.input().continuations.len() > 10);
    let mut placement = Table::new();
    placement.insert("policy".into(), word("by-size"));
    placement.insert("thresholds".into(), Given::List(vec![Given::Int(40_960)]));
    let device = device.with_placement(&placement).expect("a good placement");
    let run = |input: &Input<'_>| {
        let host = HostConfig::from_table(&Table::new(), &device).expect("the default host");
        let replay = TimedReplay {
            input: *input,
            host,
            warmup: Warmup::None,
            fetch_on_write_miss: false,
            flush_at_end: true,
        };
        let mut device = Device::new(&device);
        replay.run(&mut device, &mut lru(&workload), &cache(), &mut Unobserved).expect("a run");
        device.counters()
    };
    let said = run(&workload.input());
    assert_eq!(said, run(&Input { request_bytes: &[], ..workload.input() }));
    let short = vec![4096; workload.input().request_bytes.len()];
    assert_ne!(said, run(&Input { request_bytes: &short, ..workload.input() }), "lengths count");
}
