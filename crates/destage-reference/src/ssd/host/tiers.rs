//! The device behind a flash tier (`docs/spec/tiers.md` 6): [`run_tiers`] decides, a list of slots
//! has the place of each page, and the host asks the device for each operation.

use super::disk::Disk;
use super::options::{part_of_the_run, queue_depth};
use super::pending_time::{PendingTime, Until};
use super::requests::{Request, RequestKind, requests, steps};
use super::{EvictWait, Host, Issued, Part, full};
use crate::ssd::config::{Config, recorded, section};
use crate::ssd::placement::placement;
use crate::ssd::queue::{Full, Ssd};
use crate::ssd::way::Command;
use crate::tiers::{TierDecision, run_tiers};
use crate::{Op, Params};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Counters of the device that a vector of two tiers has, beside those of 4.6.
const OF_THE_DEVICE: [&str; 19] = [
    "requests",
    "page_accesses",
    "flash_reads",
    "flash_programs",
    "gc_moves",
    "summary_programs",
    "erases",
    "read_requests",
    "read_response_ns_sum",
    "read_response_ns_max",
    "write_requests",
    "write_response_ns_sum",
    "write_response_ns_max",
    "unit_busy_ns",
    "channel_transfer_ns",
    "channel_reads",
    "channel_programs",
    "block_erases_max",
    "makespan_ns",
];
/// Those of trims and flushes.
const OF_COMMANDS: [&str; 5] = [
    "trim_requests",
    "trim_cache_drops",
    "trim_dirty_drops",
    "flush_requests",
    "flush_wait_ns_sum",
];

/// A page of tier 1: when its frame is its own, and when its data are there.
struct Above {
    frame: PendingTime,
    ready: PendingTime,
}

struct Tiers {
    host: Host,
    above: BTreeMap<u64, Above>,
    dirty_above: BTreeSet<u64>,
    slots: BTreeMap<u64, (u64, bool)>, // page: its slot, dirty
    frames2: usize,
    slot_pages: u64,
    read_ns: u64,
    write_ns: u64,
    disk: Option<Disk>,
    move_up: bool,
    fetches: bool,
    trims: bool,
}

/// Runs the input of a vector, `{policy, params, frames, tier2, device, cache, host, backing,
/// slot_pages, requests}`, and gives `{completions_ns, decisions, counters}`.
///
/// # Errors
///
/// As [`simulate`](super::simulate), and for a closed loop.
///
/// # Panics
///
/// As [`run_tiers`], and on keys that are not in the layout.
pub fn simulate_tiers(vector: &Value) -> Result<Value, String> {
    let object = |key: &str| vector.get(key).and_then(Value::as_object).cloned();
    let number = |of: &Map<String, Value>, key: &str, default: u64| {
        of.get(key).map_or(default, |value| value.as_u64().expect("a number"))
    };
    let whole = vector.as_object().expect("an object");
    let frames = number(whole, "frames", 0);
    // The sections are read by the product, which wants a policy with a cache.
    let mut cache = object("cache").unwrap_or_default();
    cache.extend([("policy".to_string(), json!("lru")), ("frames".to_string(), json!(frames))]);
    let mut sections = whole.clone();
    sections.insert("cache".to_string(), cache.into());
    let sections = &recorded(&Value::Object(sections))?;
    let keys = section(sections, "host");
    if queue_depth(&keys).is_some() {
        return Err("host: a vector of two tiers has no closed loop".to_string());
    }
    let config = Config::of(sections);
    let requests = requests(sections, &config)?;
    let (params, tier2) = (object("params").unwrap_or_default(), object("tier2").expect("a tier"));
    let policy = vector["policy"].as_str().expect("a policy");
    let outcome = run_tiers(policy, frames as usize, &params, &tier2, &steps(&requests))
        .ok_or_else(|| format!("policy: {policy} is unknown"))?;
    let placement = placement(sections, &config, &[]);
    let ssd = Ssd::new(config, placement).map_err(full)?;
    let backing = object("backing").unwrap_or_default();
    let mut tiers = Tiers {
        host: Host::new(ssd, frames, &section(sections, "cache")),
        above: BTreeMap::new(),
        dirty_above: BTreeSet::new(),
        slots: BTreeMap::new(),
        frames2: number(&tier2, "frames", 0) as usize,
        slot_pages: number(whole, "slot_pages", 1),
        read_ns: number(&backing, "read_ns", 1_000_000),
        write_ns: number(&backing, "write_ns", 1_000_000),
        disk: backing.get("disk").map(|keys| Disk::of(keys.as_object().expect("an object"))),
        move_up: tier2.get("promote").is_some_and(|promote| promote == "move"),
        fetches: Params(&params).flag("fetch_on_write_miss"),
        trims: part_of_the_run(&keys).0,
    };
    let mut decisions = outcome.decisions.iter();
    for request in &requests {
        tiers.issue(request, &mut decisions).map_err(full)?;
    }
    tiers.host.ssd.finish();
    Ok(tiers.results(&outcome.decisions, outcome.counters))
}

/// Whether tier 2 admits this page next.
fn takes(admitted: &mut VecDeque<u64>, page: u64) -> bool {
    let is_next = admitted.front() == Some(&page);
    if is_next {
        admitted.pop_front();
    }
    is_next
}

impl Tiers {
    fn issue<'a>(
        &mut self,
        request: &Request,
        decisions: &mut impl Iterator<Item = &'a TierDecision>,
    ) -> Result<(), Full> {
        let now = request.arrival;
        self.host.ssd.advance(now);
        let parts = match request.asked {
            RequestKind::Access(op) => {
                let mut parts = Vec::new();
                for &page in &request.pages {
                    let decision = decisions.next().expect("one an access");
                    parts.push(self.access(op, page, decision)?);
                }
                self.host.counts.page_accesses += request.pages.len() as u64;
                parts
            }
            RequestKind::Trim if request.length == 0 => Vec::new(),
            RequestKind::Trim => vec![self.trim(&request.pages)],
            RequestKind::Flush => vec![self.host.flush()],
        };
        self.host.issued.push(Issued { asked: request.asked, now, parts });
        Ok(())
    }

    /// 4.5: the pages leave both tiers, and nothing is written.
    fn trim(&mut self, pages: &[u64]) -> Part {
        let processed = self.host.ssd.command(Command::Other);
        for page in pages {
            let above = self.above.remove(page);
            let below = self.slots.remove(page);
            let was_dirty = self.dirty_above.remove(page) || below.is_some_and(|(_, dirty)| dirty);
            self.host.counts.trim_cache_drops += u64::from(above.is_some() || below.is_some());
            self.host.counts.trim_dirty_drops += u64::from(was_dirty);
            self.host.free.extend(above.map(|held| held.frame));
            if let Some((slot, _)) = below {
                self.trim_slot(slot);
            }
        }
        Part { when: PendingTime::at(processed), plus: 0 }
    }

    fn pages(&self, slot: u64) -> std::ops::Range<u64> {
        slot * self.slot_pages..(slot + 1) * self.slot_pages
    }

    fn trim_slot(&mut self, slot: u64) {
        for page in self.pages(slot) {
            self.host.ssd.host_trim(page);
        }
    }

    /// The end of the R of a page's slot.
    fn read(&mut self, page: u64) -> Result<PendingTime, Full> {
        let acting = self.host.ssd.command(Command::Read);
        let mut end = PendingTime::at(self.host.ssd.now);
        for lpn in self.pages(self.slots[&page].0) {
            let sent = self.host.ssd.host_read(lpn, acting)?;
            end = end.max(&PendingTime::of(sent, Until::Ended));
        }
        Ok(end)
    }

    /// The end of the W, as far as a frame waits for it.
    fn write(&mut self, page: u64, dirty: bool) -> Result<PendingTime, Full> {
        let acting = self.host.ssd.command(Command::Write);
        let held = self.slots.get_mut(&page).expect("it has a slot");
        held.1 = dirty;
        let slot = held.0;
        let mut end = PendingTime::at(self.host.ssd.now);
        for lpn in self.pages(slot) {
            let sent = self.host.ssd.host_write(lpn, acting, 0, 0)?;
            end = end.max(&PendingTime::of(sent, self.host.until()));
        }
        Ok(end)
    }

    /// A page leaves its slot, by a drop or as a victim.
    fn leave(&mut self, page: u64) {
        let (slot, _) = self.slots.remove(&page).expect("tier 2 has it");
        if self.trims {
            self.host.ssd.command(Command::Other);
            self.trim_slot(slot);
        }
    }

    fn take_in(
        &mut self,
        page: u64,
        dirty: bool,
        victims: &mut VecDeque<u64>,
    ) -> Result<PendingTime, Full> {
        if self.slots.len() == self.frames2 {
            let victim = victims.pop_front().expect("a full tier evicts");
            if self.slots[&victim].1 {
                let end = self.read(victim)?;
                if let Some(disk) = &mut self.disk {
                    disk.send(end, victim);
                }
            }
            self.leave(victim);
        }
        let is_free = |slot: &u64| self.slots.values().all(|(taken, _)| taken != slot);
        let slot = (0..).find(is_free).expect("a slot is free");
        self.slots.insert(page, (slot, dirty));
        self.write(page, dirty)
    }

    /// 4.9: a page that was written back, and is here and dirty, was cleaned.
    fn clean(&mut self, decision: &TierDecision) -> Result<(), Full> {
        for page in &decision.written_back {
            if let Some(&(slot, true)) = self.slots.get(page) {
                let end = self.read(*page)?;
                if let Some(disk) = &mut self.disk {
                    disk.send(end, *page);
                }
                self.slots.insert(*page, (slot, false));
            }
        }
        Ok(())
    }

    /// A page is read from the backing store or written there: the disk's time, or this one.
    fn backing(&mut self, page: u64, ns: u64) -> PendingTime {
        let (ssd, Some(disk)) = (&self.host.ssd, &mut self.disk) else {
            return PendingTime::at(self.host.ssd.now + ns);
        };
        let number = disk.send(PendingTime::at(ssd.now), page);
        PendingTime::at(disk.end(ssd, number))
    }

    fn access(&mut self, op: Op, page: u64, decision: &TierDecision) -> Result<Part, Full> {
        let (now, hit_ns) = (self.host.ssd.now, self.host.hit_ns);
        let is_write = op == Op::Write;
        if is_write {
            self.dirty_above.insert(page);
        }
        if decision.hit {
            let when = self.above[&page].ready.max(&PendingTime::at(now));
            return Ok(Part { when, plus: hit_ns });
        }
        let mut admitted: VecDeque<u64> = decision.admitted.iter().copied().collect();
        let mut victims: VecDeque<u64> = decision.tier2_evicted.iter().copied().collect();
        // 4.2
        let mut data = PendingTime::at(now);
        if decision.tier == 2 {
            data = self.read(page)?;
            if self.move_up && !self.slots[&page].1 {
                self.leave(page);
            }
        } else if !is_write || self.fetches {
            data = self.backing(page, self.read_ns);
        }
        // Step 4 of 4.1.
        if is_write && self.move_up && self.slots.contains_key(&page) {
            self.leave(page);
        }
        let mut frame = match decision.evicted.is_empty() {
            true => self.host.take_frame().max(&PendingTime::at(now)),
            false => PendingTime::at(now),
        };
        for &victim in &decision.evicted {
            frame = self.evict(victim, frame, &mut admitted, &mut victims)?;
        }
        // Step 6 of 4.1.
        if !is_write && decision.tier == 0 && takes(&mut admitted, page) {
            self.take_in(page, false, &mut victims)?;
        }
        assert!(admitted.is_empty() && victims.is_empty());
        self.clean(decision)?;
        let frame = frame.known(&self.host.ssd);
        let ready = frame.max(&data).known(&self.host.ssd);
        let may_go = (!is_write || self.fetches) && self.host.read_waits_for_data;
        let when = if may_go { data } else { ready.clone() };
        self.above.insert(page, Above { frame, ready });
        Ok(Part { when, plus: hit_ns })
    }

    /// 4.3: a victim of tier 1 leaves it; the frame that waits for it.
    fn evict(
        &mut self,
        victim: u64,
        frame: PendingTime,
        admitted: &mut VecDeque<u64>,
        victims: &mut VecDeque<u64>,
    ) -> Result<PendingTime, Full> {
        let is_dirty = self.dirty_above.remove(&victim);
        let own = self.above.remove(&victim).expect("a victim is resident").frame;
        let mut end = PendingTime::at(self.host.ssd.now);
        if is_dirty && self.slots.contains_key(&victim) {
            end = self.write(victim, true)?;
        } else if takes(admitted, victim) {
            end = self.take_in(victim, is_dirty, victims)?;
        } else if is_dirty {
            end = self.backing(victim, self.write_ns);
        }
        let frame = match self.host.evict_wait {
            EvictWait::Program | EvictWait::Transfer => frame.max(&own),
            _ => frame,
        };
        if !is_dirty {
            return Ok(frame);
        }
        Ok(match self.host.evict_wait {
            EvictWait::Program | EvictWait::Transfer => frame.max(&end),
            EvictWait::None => frame,
            EvictWait::Staged(pages) => {
                self.host.victims.push(end);
                self.host.all_but(pages)
            }
        })
    }

    fn results(&self, decisions: &[TierDecision], of_tiers: BTreeMap<&'static str, u64>) -> Value {
        let host = &self.host;
        let completions: Vec<u64> =
            host.issued.iter().map(|request| request.completion(&host.ssd)).collect();
        let decisions: Vec<Value> = decisions
            .iter()
            .map(|d| {
                json!({
                    "hit": d.hit, "tier": d.tier, "evicted": d.evicted, "flushed": d.flushed,
                    "admitted": d.admitted, "tier2_evicted": d.tier2_evicted,
                    "written_back": d.written_back,
                })
            })
            .collect();
        let all = host.counters(&completions);
        let mut counters: Map<String, Value> =
            OF_THE_DEVICE.map(|name| (name.to_string(), all[name].clone())).into_iter().collect();
        let interface = host.interface(&completions);
        counters.extend(OF_COMMANDS.map(|name| (name.to_string(), interface[name].clone())));
        if let Some(disk) = &self.disk {
            let makespan = all["makespan_ns"].as_u64().expect("a number");
            counters.extend(disk.counters(&host.ssd, makespan));
        }
        counters.extend(of_tiers.into_iter().map(|(name, count)| (name.to_string(), count.into())));
        json!({"completions_ns": completions, "decisions": decisions, "counters": counters})
    }
}
