//! Idle instants (`docs/spec/writer.md`): a policy that asks for them, beside the writer of the
//! host, which the vectors and the reference model hold.

use super::*;
use destage_core::{Requirements, UnitId};
use destage_ssd::WriterConfig;
use destage_ssd::config::Writer;

const LOW_PAGES: u32 = 12;

/// LRU that writes ahead by itself what the writer of a host would.
struct Ahead {
    lru: Lru<Dense>,
    lpns: Vec<u64>,
    told: u64, // programs that have ended
    asked: u64,
}

impl Policy for Ahead {
    type Miss = ();
    const REQUIREMENTS: Requirements = Requirements::IDLE.and(Requirements::COMPLETIONS);

    fn request(&mut self, r: &Request) -> Lookup<()> {
        self.lru.request(r)
    }
    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        self.lru.evict(&mut (), device, plan);
    }
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.lru.admit(r, ())
    }
    fn frames(&self) -> u32 {
        self.lru.frames()
    }
    fn resident(&self) -> u32 {
        self.lru.resident()
    }
    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.lru.for_each_resident(visit);
    }
    fn destaged(&mut self, _: &destage_core::Completion) {
        self.told += 1;
    }

    fn idle(&mut self, unit: UnitId, device: &dyn DeviceView, plan: &mut Plan) {
        assert_eq!(device.backlog_ns(unit), 0, "it is asked for units that are idle");
        self.asked += 1;
        let free = self.frames() - self.resident();
        let (mut left, mut first) = (LOW_PAGES.saturating_sub(free), None);
        self.lru.next_victims(&mut |page, dirty| {
            if left == 0 {
                return false;
            }
            left -= 1;
            let of = device.unit_of(device.target(Lpn(self.lpns[page.0 as usize])));
            if dirty && of == unit {
                first = Some(page);
            }
            first.is_none()
        });
        if let Some(page) = first {
            plan.open_group();
            plan.flush_and_keep(page);
            self.lru.cleaned(page);
        }
    }
}

#[test]
fn a_policy_that_asks_for_idle_instants_can_do_what_the_writer_does() {
    let config = config(&[]);
    let workload = paced(1500, 3, &config);
    let writer = WriterConfig {
        writer: Writer::Trickle,
        writer_low_pages: LOW_PAGES,
        writer_batch: u32::MAX,
    };
    let mut replay = replay(&workload, Warmup::None);
    let lpns = workload.input().columns.lpns.to_vec();
    let mut ahead = Ahead { lru: lru(&workload), lpns, told: 0, asked: 0 };
    let mut by_policy = Seen::default();
    let asked =
        replay.run(&mut Device::new(&config), &mut ahead, &cache(), &mut by_policy).expect("a run");
    replay.host.writer = Some(writer);
    let mut by_host = Seen::default();
    let wrote = replay
        .run(&mut Device::new(&config), &mut lru(&workload), &cache(), &mut by_host)
        .expect("a run");
    assert_eq!(by_policy.completed, by_host.completed);
    assert_eq!(asked.timing.counters, wrote.timing.counters);
    assert_eq!((asked.pages, asked.dirty_left), (wrote.pages, wrote.dirty_left));
    let written = wrote.pages.idle_writes.expect("somebody writes");
    assert!(written > 500, "{written}");
    assert!(ahead.asked > written, "{}", ahead.asked);
    assert!(ahead.told > written / 2, "{}", ahead.told);

    // What is written at an offer belongs to no request.
    let device = &wrote.timing.counters.device;
    let caused = by_host.completed.iter().map(|request| request.operations.clone().count() as u64);
    assert_eq!(caused.sum::<u64>() + written, device.flash_reads + device.flash_programs);
    let eviction_programs = wrote.timing.counters.dirty_evictions;
    assert_eq!(eviction_programs + written, device.flash_programs);
}

#[test]
fn what_happens_before_the_first_request_that_counts_belongs_to_the_warm_up() {
    for gc_mode in ["foreground", "idle"] {
        let config = config(&[("gc_mode", word(gc_mode)), ("gc_idle_ns", Given::Int(40_000))]);
        let workload = paced(900, 3, &config);
        let host = Table::from([("writer".into(), word("trickle"))]);
        let host = HostConfig::from_table(&host, &config).expect("a writer");
        let run = |warmup, seen: &mut Seen| {
            TimedReplay { host, ..replay(&workload, warmup) }
                .run(&mut Device::new(&config), &mut lru(&workload), &cache(), seen)
                .expect("a run")
        };
        let mut seen = Seen::default();
        let whole = run(Warmup::None, &mut seen);
        let part = run(Warmup::Requests(300), &mut Seen::default());
        let first = workload.input().arrivals_ns[300];
        let after = seen.idle_writes.iter().filter(|&&at| at >= first).count() as u64;
        assert!(0 < after && after < seen.idle_writes.len() as u64, "{gc_mode}");
        assert_eq!(part.pages.idle_writes, Some(after), "{gc_mode}");
        assert_eq!(part.timing.counters.idle_writes, Some(after), "{gc_mode}");
        assert_eq!(whole.dirty_left, part.dirty_left, "{gc_mode}");
        let programs = part.timing.counters.device.flash_programs;
        assert_eq!(programs, part.pages.destaged_pages + after, "{gc_mode}");
    }
}
