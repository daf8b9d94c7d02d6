//! The end of time: 2^62 ns after the first request, on both sides of it.

use super::*;
use crate::error::RunError;
use destage_ssd::config::LAST_NS;

/// The load of the other tests, begun so much later.
fn later(by: Nanos, config: &DeviceConfig) -> Workload {
    let load = workload(400, config);
    let input = load.input();
    let asks = input.arrivals_ns.iter().zip(input.columns.extents).zip(input.columns.first_ids);
    let requests: Vec<_> = asks
        .map(|((&arrival, &extent), &first)| {
            let extent = crate::accesses::Extent(extent);
            let op = if extent.is_write() { Op::Write } else { Op::Read };
            let bytes = u64::from(extent.pages()) * 4096;
            (arrival + by, op, load.lpn(Page(first.into())) * 4096, bytes)
        })
        .collect();
    Workload::new(requests, config).expect("requests on the drive")
}

fn run(load: &Workload, config: &DeviceConfig) -> Result<TimedOutcome, RunError> {
    let mut device = Device::new(config);
    replay(load, Warmup::None).run(&mut device, &mut lru(load), &cache(), &mut Unobserved)
}

#[test]
fn near_the_end_of_time_a_drive_does_what_it_does_at_its_beginning() {
    for sched in ["fcfs", "read_first"] {
        let config = config(&[("sched", word(sched))]);
        let shift = LAST_NS - 20_000_000_000; // all is done 10 s later
        let (early, late) = (later(0, &config), later(shift, &config));
        let early = run(&early, &config).expect("an ordinary run");
        let mut late = run(&late, &config).expect("it ends in time");
        assert_eq!(late.timing.counters.makespan_ns, early.timing.counters.makespan_ns + shift);
        late.timing.counters.makespan_ns -= shift;
        assert_eq!(late.timing, early.timing);
        assert_eq!(late.pages, early.pages);
    }
}

#[test]
fn a_request_after_the_end_of_time_is_refused() {
    let config = config(&[]);
    let refused = run(&later(LAST_NS, &config), &config).expect_err("the last is later");
    let RunError::Impossible(said) = refused else { panic!("{refused}") };
    assert!(said.contains("later than 2^62 ns (146 years): is the time unit right?"), "{said}");
}

#[test]
fn in_a_closed_loop_arrivals_do_not_count() {
    let config = config(&[]);
    let load = later(Nanos::MAX - 10_000_000_000, &config);
    let replay = replay(&load, Warmup::None);
    let host = replay.host.closed(4, &config).expect("a closed loop");
    let mut device = Device::new(&config);
    let closed = TimedReplay { host, ..replay }.run_bare(&mut device, &mut Unobserved);
    assert!(closed.expect("an ordinary run").timing.counters.makespan_ns < LAST_NS);
}

#[test]
fn a_drive_that_is_at_work_after_the_end_of_time_gives_no_result() {
    let config = config(&[]);
    let load = Workload::new([(0, Op::Write, 0, 4096), (LAST_NS, Op::Write, 0, 4096)], &config);
    let load = load.expect("requests on the drive");
    let mut device = Device::new(&config);
    let late = replay(&load, Warmup::None).run_bare(&mut device, &mut Unobserved);
    let Err(RunError::Impossible(said)) = late else { panic!("{late:?}") };
    assert!(said.contains("at work for more than 2^62 ns (146 years)"), "{said}");
}
