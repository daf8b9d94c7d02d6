//! A device behind tier 2, and perhaps tier 3 below it, against a naive composition: the reference
//! model decides, a list of slots
//! says where each page lies, and a plain device is asked for each operation, one after the other
//! (`docs/spec/tiers.md` 6).

use super::disk::{DISK, NaiveDisk};
use super::*;
use destage_replay::input::Input;
use destage_replay::observe::Completed;
use destage_replay::tiers::Slots;
use destage_replay::timed::{BackingStore, BackingTimes, StoreTimes, TimedOutcome, TimedReplay};
use destage_ssd::config::{HostMode, Table, Value as Given};
use destage_ssd::{CacheConfig, Device, DeviceConfig, DriveLpn, HostConfig};
use std::collections::{BTreeMap, VecDeque};

/// Slots of tier 2 at most: 20, of up to two pages each.
fn device_config(background: bool) -> DeviceConfig {
    let mut table = Table::new();
    for (key, value) in [
        ("channels", 2),
        ("chips_per_channel", 1),
        ("blocks_per_plane", 8),
        ("pages_per_block", 4),
        ("logical_pages", 40),
    ] {
        table.insert(key.into(), Given::Int(value));
    }
    let mode = if background { "background" } else { "foreground" };
    table.insert("gc_mode".into(), Given::Text(mode.into()));
    table.insert("precondition".into(), Given::Text("sequential".into()));
    DeviceConfig::from_table(&table).expect("a good device")
}

fn cache_config(evict_wait: &str, read_wait: &str) -> CacheConfig {
    let mut table = Table::new();
    for (key, text) in [("policy", "lru"), ("evict_wait", evict_wait), ("read_wait", read_wait)] {
        table.insert(key.into(), Given::Text(text.into()));
    }
    for (key, value) in [("frames", 1), ("hit_ns", HIT_NS.into()), ("staging_pages", 2)] {
        table.insert(key.into(), Given::Int(value));
    }
    CacheConfig::from_table(&table).expect("a good cache")
}

/// How the device stands behind the tiers.
#[derive(Clone, Debug)]
struct Behind {
    evict_wait: &'static str,
    read_wait: &'static str,
    slot_pages: u32,
    trims: bool,
    background: bool,
    disk: bool,
    gap_ns: u64,
}

fn behind() -> impl Strategy<Value = Behind> {
    let waits = (
        select(vec!["program", "transfer", "none", "staged"]),
        select(vec!["frame", "data"]),
        1..3u32,
    );
    let rest = (any::<[bool; 3]>(), select(vec![0, 20_000, 3_000_000]));
    (waits, rest).prop_map(|((evict_wait, read_wait, slot_pages), (are, gap_ns))| {
        let [trims, background, disk] = are;
        Behind { evict_wait, read_wait, slot_pages, trims, background, disk, gap_ns }
    })
}

/// Time of a hit.
const HIT_NS: u64 = 700;

const BACKING: StoreTimes = StoreTimes { read_ns: 150_000, write_ns: 90_000 };
const TIER3: StoreTimes = StoreTimes { read_ns: 40_000, write_ns: 30_000 };
const STORES: BackingTimes =
    BackingTimes { tier3: TIER3, backing: BackingStore::Constant(BACKING) };

/// Keeps every completion, by the number of its request.
#[derive(Default)]
struct Completions(BTreeMap<u64, u64>);

impl Observer for Completions {
    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}

    fn completed(&mut self, request: &Completed) {
        self.0.insert(request.number, request.completion_ns);
    }
}

/// Completions and counts of the product; `above` are pinned in tier 1.
fn timed(case: &Case, above: &BTreeSet<u64>, behind: &Behind) -> (Vec<u64>, TimedOutcome) {
    let mut trace = Trace::of(&case.steps);
    if !behind.trims {
        // What is ignored ends no page's future.
        let accesses: Vec<Step> = case.steps.iter().copied().filter(|s| !is_trim(s)).collect();
        trace.next_uses = Trace::of(&accesses).next_uses;
    }
    // Each step at its instant, access or trim.
    let (mut arrivals, mut trims) = (Vec::new(), trace.trims.iter_mut());
    for (at, step) in case.steps.iter().enumerate() {
        let now = at as u64 * behind.gap_ns;
        match step {
            Step::Access(..) => arrivals.push(now),
            Step::Trim(_) => trims.next().expect("one a step").arrival_ns = now,
        }
    }
    let config = device_config(behind.background);
    let mut device = Device::new(&config);
    let trim = if behind.trims { "drop" } else { "ignore" };
    let host = Table::from([("trim".into(), Given::Text(trim.into()))]);
    let host = HostConfig::from_table(&host, &config).expect("a good host");
    assert_eq!(host.mode, HostMode::Open);
    let replay = trace.replay();
    let input = Input {
        next_uses: replay.next_uses,
        arrivals_ns: &arrivals,
        control_commands: replay.trims,
        ..Input::of(replay.columns)
    };
    let timed = TimedReplay {
        input,
        host,
        warmup: Warmup::None,
        fetch_on_write_miss: case.lower.tier2.rules.fetch_on_write_miss,
        flush_at_end: case.flush_at_end,
    };
    let mut policy = pin::tier1(case, above);
    let lower = case.lower.build(&trace.lpns, &[]).expect("tiers");
    let slots = Slots::new(PAGES as usize, behind.slot_pages, behind.trims);
    let cache = cache_config(behind.evict_wait, behind.read_wait);
    let mut seen = Completions::default();
    let tiers = (&mut policy, lower);
    let backing = if behind.disk { BackingStore::Disk(DISK) } else { STORES.backing };
    let stores = (&cache, BackingTimes { backing, ..STORES });
    let outcome = timed.run_tiers(&mut device, tiers, slots, stores, &mut seen);
    (seen.0.into_values().collect(), outcome.expect("a run that ends"))
}

/// Tier 2 as a list of slots on a plain device.
struct Naive<'a> {
    behind: &'a Behind,
    device: Device,
    slots: BTreeMap<u64, (u32, bool)>, // page: its slot, dirty
    now: u64,
    staged: Vec<u64>, // ends of programs of dirty victims
    free: Vec<u64>,   // from when each free frame of tier 1 may be taken
    disk: NaiveDisk,
}

impl Naive<'_> {
    fn pages(&self, slot: u32) -> std::ops::Range<u32> {
        slot * self.behind.slot_pages..(slot + 1) * self.behind.slot_pages
    }

    fn read(&mut self, page: u64) -> u64 {
        let mut end = self.now;
        for lpn in self.pages(self.slots[&page].0) {
            let served = self.device.read(DriveLpn(lpn)).expect("it was written");
            end = end.max(served.end.known().expect("first come, first served"));
        }
        end
    }

    /// The end of the program, and of the transfer.
    fn write(&mut self, page: u64, dirty: bool) -> (u64, u64) {
        let slot = self.slots[&page].0;
        self.slots.insert(page, (slot, dirty));
        let mut ends = (self.now, self.now);
        for lpn in self.pages(slot) {
            let served = self.device.write(DriveLpn(lpn));
            ends.0 = ends.0.max(served.end.known().expect("first come, first served"));
            ends.1 = ends.1.max(served.transferred.known().expect("the same"));
        }
        ends
    }

    fn leave(&mut self, page: u64) {
        let (slot, _) = self.slots.remove(&page).expect("tier 2 has it");
        if self.behind.trims {
            self.pages(slot).for_each(|lpn| {
                self.device.trim(DriveLpn(lpn));
            });
        }
    }

    /// A victim is read if it is dirty, or tier 3 takes it in.
    fn take_in(
        &mut self,
        page: u64,
        victim: Option<u64>,
        dirty: bool,
        decision: &models::TierDecision,
    ) -> (u64, u64) {
        if let Some(victim) = victim {
            if self.slots[&victim].1 || decision.tier3_admitted.contains(&victim) {
                let end = self.read(victim);
                if self.slots[&victim].1 {
                    self.disk.send(end, victim);
                }
            }
            self.leave(victim);
        }
        let is_free = |slot: &u32| self.slots.values().all(|(taken, _)| taken != slot);
        let slot = (0..).find(is_free).expect("there are enough");
        self.slots.insert(page, (slot, dirty));
        self.write(page, dirty)
    }
}

/// A miss: what it is of, what was decided, which pages of tier 1 are dirty, when their frames are
/// their own.
struct Miss<'a> {
    page: u64,
    is_write: bool,
    decision: &'a models::TierDecision,
    dirty1: &'a mut BTreeSet<u64>,
    frames: &'a BTreeMap<u64, u64>,
}

impl Naive<'_> {
    /// The end of a read or write of the store below, which takes `ns` without a disk.
    fn backing(&mut self, page: u64, ns: u64) -> u64 {
        if self.behind.disk { self.disk.send(self.now, page) } else { self.now + ns }
    }

    /// The end of the write of a page that tier 2 declined, twice.
    fn declined(&mut self, page: u64, is_in_tier3: bool) -> (u64, u64) {
        let end = match is_in_tier3 {
            true => self.now + TIER3.write_ns,
            false => self.backing(page, BACKING.write_ns),
        };
        (end, end)
    }

    /// A page that was written back, and is here and dirty, was cleaned.
    fn clean(&mut self, decision: &models::TierDecision) {
        for &page in &decision.written_back {
            if let Some(&(slot, true)) = self.slots.get(&page) {
                let end = self.read(page);
                self.disk.send(end, page);
                self.slots.insert(page, (slot, false));
            }
        }
    }

    /// Takes the frame that is free earliest; when it may be taken.
    fn take_frame(&mut self) -> u64 {
        let frames = self.free.iter().enumerate();
        let (at, &first) =
            frames.min_by_key(|(_, free)| **free).expect("tier 1 evicts where no frame is free");
        self.free.swap_remove(at);
        if self.behind.evict_wait == "none" { 0 } else { first }
    }

    /// Tier 2 has no frame for the page.
    fn is_full(&self, case: &Case, page: u64) -> bool {
        let (frames, pins) = (case.lower.tier2.frames, case.lower.tier2.pins.as_deref());
        let is_other = |page: &u64| !pins.is_some_and(|pins| pins.has(Page(*page)));
        let taken = self.slots.keys().filter(|page| is_other(page)).count();
        is_other(&page) && taken as u32 == frames - pins.map_or(0, |pins| pins.count())
    }

    /// When the data are there, and when the frame is the page's own.
    fn miss(&mut self, case: &Case, miss: Miss<'_>) -> (u64, u64) {
        let Miss { page, is_write, decision, dirty1, frames } = miss;
        let rules = case.lower.tier2.rules;
        let mut admitted: VecDeque<u64> = decision.admitted.iter().copied().collect();
        let mut victims: VecDeque<u64> = decision.tier2_evicted.iter().copied().collect();
        let mut takes = |page: u64| {
            let is_next = admitted.front() == Some(&page);
            if is_next {
                admitted.pop_front();
            }
            is_next
        };
        let mut data = self.now;
        if decision.tier == 2 {
            data = self.read(page);
            if rules.promote == Promote::Move && !self.slots[&page].1 {
                self.leave(page);
            }
        } else if !is_write || rules.fetch_on_write_miss {
            data = match decision.tier {
                3 => self.now + TIER3.read_ns,
                _ => self.backing(page, BACKING.read_ns),
            };
        }
        if is_write && rules.promote == Promote::Move && self.slots.contains_key(&page) {
            self.leave(page);
        }
        let mut out = |full: bool| full.then(|| victims.pop_front().expect("a full tier evicts"));
        let (mut frame, mut wrote) = (self.now, None);
        if decision.evicted.is_empty() {
            frame = frame.max(self.take_frame());
        }
        for &victim in &decision.evicted {
            let is_dirty = dirty1.remove(&victim);
            let is_in_tier3 = decision.tier3_admitted.contains(&victim)
                || case.lower.tier3.is_some() && !decision.written_back.contains(&victim);
            // A filter that is asked for pages written over drops the copy of one that it declines.
            let drops = case.lower.tier2.admit.name == "rate";
            let is_back = drops && decision.written_back.contains(&victim);
            let is_dropped = is_back && !decision.tier2_evicted.contains(&victim);
            let ends = if is_dirty && self.slots.contains_key(&victim) && is_dropped {
                self.leave(victim);
                self.declined(victim, is_in_tier3)
            } else if is_dirty && self.slots.contains_key(&victim) {
                self.write(victim, true)
            } else if takes(victim) {
                let evicted = out(self.is_full(case, victim));
                self.take_in(victim, evicted, is_dirty, decision)
            } else if is_dirty {
                self.declined(victim, is_in_tier3)
            } else {
                (self.now, self.now)
            };
            if matches!(self.behind.evict_wait, "program" | "transfer") {
                frame = frame.max(frames[&victim]);
            }
            wrote = wrote.or(Some(ends).filter(|_| is_dirty));
        }
        if !is_write && decision.tier != 2 && takes(page) {
            let evicted = out(self.is_full(case, page));
            self.take_in(page, evicted, false, decision);
        }
        assert!(victims.is_empty());
        if rules.clean.is_some() {
            self.clean(decision);
        }
        (data, wrote.map_or(frame, |(end, sent)| self.waits(frame, end, sent)))
    }

    /// When a frame is free whose dirty page is written.
    fn waits(&mut self, frame: u64, end: u64, sent: u64) -> u64 {
        match self.behind.evict_wait {
            "program" => frame.max(end),
            "transfer" => frame.max(sent),
            "none" => self.now,
            _ => {
                self.staged.push(end);
                self.staged.sort_unstable_by(|a, b| b.cmp(a));
                self.now.max(self.staged.get(2).copied().unwrap_or(0))
            }
        }
    }
}

fn is_trim(step: &Step) -> bool {
    matches!(step, Step::Trim(_))
}

/// Outcome of a naive run: completions, the device, and pages that trims took out of the tiers,
/// dirty ones among them.
struct Left {
    completions: Vec<u64>,
    device: Device,
    disk: NaiveDisk,
    drops: (u64, u64),
}

fn naive(case: &Case, behind: &Behind, decisions: &[models::TierDecision]) -> Left {
    let device = Device::new(&device_config(behind.background));
    let free = vec![0; case.frames as usize];
    let slots = BTreeMap::new();
    let (staged, disk) = (Vec::new(), NaiveDisk::default());
    let mut naive = Naive { behind, device, slots, now: 0, staged, free, disk };
    let mut dirty1 = BTreeSet::new();
    let (mut frames, mut readies) = (BTreeMap::new(), BTreeMap::new());
    let (mut completions, mut drops) = (Vec::new(), (0, 0));
    let mut decisions = decisions.iter();
    for (index, step) in case.steps.iter().enumerate() {
        naive.now = index as u64 * behind.gap_ns;
        naive.device.advance(naive.now);
        if is_trim(step) && !behind.trims {
            continue;
        }
        let &Step::Access(op, page) = step else {
            // Out of both tiers; nothing is written, and nothing takes time.
            let above = frames.remove(&step.page());
            naive.free.extend(above);
            let below = naive.slots.get(&step.page()).copied();
            let was_dirty = dirty1.remove(&step.page()) || below.is_some_and(|(_, dirty)| dirty);
            if below.is_some() {
                naive.leave(step.page());
            }
            drops.0 += u64::from(above.is_some() || below.is_some());
            drops.1 += u64::from(was_dirty);
            completions.push(naive.now);
            continue;
        };
        let decision = decisions.next().expect("one an access");
        let is_write = op == models::Op::Write;
        if is_write {
            dirty1.insert(page);
        }
        if decision.hit {
            completions.push(naive.now.max(readies[&page]) + HIT_NS);
            continue;
        }
        let miss = Miss { page, is_write, decision, dirty1: &mut dirty1, frames: &frames };
        let (data, frame) = naive.miss(case, miss);
        decision.evicted.iter().for_each(|victim| {
            frames.remove(victim);
        });
        let ready = frame.max(data);
        frames.insert(page, frame);
        readies.insert(page, ready);
        let is_read = !is_write || case.lower.tier2.rules.fetch_on_write_miss;
        let may_go = is_read && behind.read_wait == "data";
        completions.push(if may_go { data } else { ready } + HIT_NS);
    }
    naive.device.finish();
    Left { completions, device: naive.device, disk: naive.disk, drops }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_device_behind_tier_2_is_the_naive_composition(
        case in case(), behind in behind(), above in pin::above(),
    ) {
        let (case, above) = pin::with_frames_for(case, &above);
        let (completions, outcome) = timed(&case, &above, &behind);
        // Trims that are ignored are no part of the run, but time goes on.
        let is_part = |step: &Step| behind.trims || !is_trim(step);
        let steps: Vec<Step> = case.steps.iter().copied().filter(is_part).collect();
        let times: Vec<u64> = (case.steps.iter().zip(0..))
            .filter(|(step, _)| !is_trim(step))
            .map(|(_, at)| at * behind.gap_ns)
            .collect();
        let model = pin::model(&Case { steps, ..case.clone() }, &above, (&times, None));
        for (counter, got) in outcome.pages.tiers.of_tier2().iter() {
            let expected = model.counters.get(counter).copied();
            prop_assert_eq!(got, expected.unwrap_or(0), "{}", counter);
        }
        for (counter, got) in outcome.pages.tiers.of_tier3().iter() {
            let expected = model.counters.get(counter).copied();
            prop_assert_eq!(got, expected.unwrap_or(0), "{}", counter);
        }
        // The flush at the end takes no time.
        let counts = outcome.pages.tiers.of_tier2();
        let sent = counts.backing_reads + counts.backing_writes - outcome.pages.end_flushes;
        let served = outcome.disk.map(|disk| disk.disk_seeks + disk.disk_sequential);
        prop_assert_eq!(served, behind.disk.then_some(sent));
        // What tier 3 gives up has no place among the decisions.
        prop_assume!(!(behind.disk && case.lower.tier3.is_some()));
        // A decision does not distinguish a page that went through tier 3 and left it, nor a copy
        // that a rate dropped.
        let rules = case.lower.tier2.rules;
        let is_plain = |d: &models::TierDecision| {
            !d.evicted.iter().any(|page| d.tier3_evicted.contains(page))
        };
        let is_written_back = case.lower.tier3.is_some() || rules.clean.is_some();
        let drops_copies = case.lower.tier2.admit.name == "rate" && is_written_back;
        prop_assume!(model.decisions.iter().all(is_plain) && !drops_copies);
        prop_assert_eq!(outcome.pages.end_flushes, model.counters["end_flushes"]);
        let Left { completions: expected, device, disk, drops } =
            naive(&case, &behind, &model.decisions);
        if let Some(counted) = outcome.disk {
            let served = disk.serve();
            let busy: u64 = served.iter().map(|(_, _, time)| time).sum();
            let last = served.last().map_or(0, |&(_, end, _)| end);
            let span = last.max(expected.iter().copied().max().unwrap_or(0));
            prop_assert_eq!((counted.disk_busy_ns, counted.disk_span_ns), (busy, span));
        }
        prop_assert_eq!(completions, expected);
        let counted = outcome.timing.counters.control_commands.unwrap_or_default();
        let asked = case.steps.iter().filter(|step| behind.trims && is_trim(step)).count();
        prop_assert_eq!(counted.trim_requests, asked as u64);
        let dropped = (counted.trim_cache_drops, counted.trim_dirty_drops);
        // The naive composition does not know what tier 3 alone has.
        prop_assert!(case.lower.tier3.is_some() || dropped == drops);
        prop_assert!(dropped.0 >= drops.0 && dropped.1 >= drops.1);
        let (ours, theirs) = (outcome.timing.counters.device, device.counters());
        prop_assert_eq!(ours.flash_reads, theirs.flash_reads);
        prop_assert_eq!(ours.flash_programs, theirs.flash_programs);
        prop_assert_eq!(ours.gc_moves, theirs.gc_moves);
        prop_assert_eq!(ours.erases, theirs.erases);
        prop_assert_eq!(ours.unit_busy_ns, theirs.unit_busy_ns);
        let pages = u64::from(behind.slot_pages);
        prop_assert_eq!(ours.flash_reads, pages * outcome.pages.tiers.tier2.tier2_reads);
        prop_assert_eq!(ours.flash_programs, pages * outcome.pages.tiers.tier2.tier2_writes);
    }
}

#[test]
fn a_hit_in_tier_2_waits_for_its_read_and_a_declined_victim_for_the_backing_store() {
    let access = |op, page| Step::Access(op, page);
    let (read, write) = (models::Op::Read, models::Op::Write);
    let steps = vec![
        access(write, 0),
        access(write, 1), // 0 is declined
        access(write, 0), // 1 is declined
        access(read, 2),  // 0 is taken at its second offer
        access(read, 0),
    ];
    let case = Case {
        tier1: "lru".into(),
        frames: 1,
        lower: tier2("lru", 4, "nth", TierRules::default()),
        flush_at_end: false,
        steps,
    };
    let behind = Behind {
        evict_wait: "program",
        read_wait: "frame",
        slot_pages: 1,
        trims: false,
        background: false,
        disk: false,
        gap_ns: 10_000_000,
    };
    let (completions, outcome) = timed(&case, &BTreeSet::new(), &behind);
    let took: Vec<u64> = completions
        .iter()
        .enumerate()
        .map(|(k, end)| end - k as u64 * 10_000_000 - HIT_NS)
        .collect();
    let config = device_config(false);
    let mut alone = Device::new(&config);
    let program = alone.write(DriveLpn(0)).end.known().expect("it is idle");
    alone.advance(20_000_000);
    let fetch = alone.read(DriveLpn(0)).expect("it is there").end.known().expect("it is idle");
    let fetch = fetch - 20_000_000;
    assert_eq!(took[..3], [0, BACKING.write_ns, BACKING.write_ns]);
    assert_eq!(took[3..], [program.max(BACKING.read_ns), fetch]);
    assert_eq!((outcome.pages.read_hits, outcome.pages.tiers.tier2.tier2_hits), (0, 1));
}
