//! The host: requests, frames, what waits for what, and the counters (`docs/spec/device.md` 7 and
//! 8).

mod disk;
mod options;
mod pending_time;
mod requests;
mod results;
mod tiers;
mod writer;

pub use results::INTERFACE_COUNTERS;
pub use tiers::simulate_tiers;

use serde_json::{Value, json};
use std::collections::BTreeMap;

use self::options::{Writer, queue_depth};
use self::pending_time::{PendingTime, Until};
use self::requests::{Request, RequestKind, requests, steps};
use super::config::{Config, recorded, section};
use super::host_interface::Isolation;
use super::placement::{Event, Unplaced, placement};
use super::policies::{Answer, Cache, cache};
use super::queue::{Full, Ssd};
use super::way::{Command, Sent};
use crate::block::Group;
use crate::{Op, Params};

/// The end that a page which needs a frame waits for (7.4).
#[derive(Clone, Copy, PartialEq, Eq)]
enum EvictWait {
    Program,
    Transfer,
    None,
    /// With so many staging pages.
    Staged(u64),
}

/// A cached page with its two times.
struct Frame {
    page: u64,
    frame: PendingTime,
    ready: PendingTime,
}

/// A request that has been issued: when, and when each of its parts is complete.
struct Issued {
    asked: RequestKind,
    now: u64,
    parts: Vec<Part>,
}

/// A page access is complete `plus` nanoseconds after an instant.
struct Part {
    when: PendingTime,
    plus: u64,
}

impl Issued {
    fn completion(&self, ssd: &Ssd) -> u64 {
        let last = self.parts.iter().map(|part| part.when.value(ssd) + part.plus).max();
        last.unwrap_or(0).max(self.now)
    }

    /// If it is known by now: it is the same with all that is not known yet at its earliest, and
    /// never.
    fn known_completion(&self, ssd: &Ssd, least: u64) -> Option<u64> {
        let with = |unknown: u64| {
            let ends = self.parts.iter();
            let ends = ends.map(|part| part.when.with(ssd, unknown).saturating_add(part.plus));
            ends.max().unwrap_or(0).max(self.now)
        };
        Some(with(least)).filter(|&earliest| earliest == with(u64::MAX))
    }
}

struct Host {
    ssd: Ssd,
    cache: Option<Box<dyn Cache>>,
    frames: Vec<Frame>,     // of the pages in the cache
    free: Vec<PendingTime>, // when each of the other frames is free
    hit_ns: u64,
    evict_wait: EvictWait,
    /// The ends of the programs of dirty victims, but for those that have passed.
    victims: Vec<PendingTime>,
    read_waits_for_data: bool,
    issued: Vec<Issued>,
    decisions: Vec<Value>,
    /// By resident page, the bytes of the last request that wrote it.
    sizes: BTreeMap<u64, u64>,
    host_reads: Vec<usize>,
    write_backs: Vec<usize>,
    writer: Option<Writer>,
    /// The instant of the last offer that was made, and of the next one that may be.
    offered: Option<u64>,
    offer_due: Option<u64>,
    /// Writes made at offers: instant and page.
    written: Vec<(u64, u64)>,
    counts: HostCounters,
}

#[derive(Default)]
struct HostCounters {
    page_accesses: u64,
    read_hits: u64,
    write_hits: u64,
    evictions: u64,
    dirty_evictions: u64,
    dirty_evictions_in_gc: u64,
    unbalance_samples: u64,
    unbalance_gt10: u64,
    trimmed_pages: u64,
    trim_misses: u64,
    trim_cache_drops: u64,
    trim_dirty_drops: u64,
}

/// Runs the input of a vector, `{device, ftl, cache, host, placement, requests}`, and gives
/// `{completions_ns, decisions, counters}`. `ftl` has the parameters of another FTL.
///
/// # Errors
///
/// On a section that the product refuses, on a writer beside a policy without an order, on a page
/// beyond the device with `address_mode = "error"`, and where an FTL runs out of blocks.
///
/// # Panics
///
/// On requests that are not in the layout of the vectors, and on a parameter of a policy of the
/// wrong type, as [`crate::model`].
pub fn simulate(vector: &Value) -> Result<Value, String> {
    let vector = &recorded(vector)?;
    let mut history = Vec::new();
    if section(vector, "placement").text("policy") == Some("fk") {
        // "it is taken from a first run with placement=none and isolation=initial"
        let mut unplaced = Config::of(vector);
        unplaced.interface.isolation = Isolation::Initial;
        let first = run(vector, Ssd::new(unplaced, Box::new(Unplaced)).map_err(full)?)?;
        history = first.ssd.history;
    }
    let config = Config::of(vector);
    let placement = placement(vector, &config, &history);
    let host = run(vector, Ssd::new(config, placement).map_err(full)?)?;
    let same = |(a, b): (&Event, &Event)| a == b;
    assert!(history.iter().zip(&host.ssd.history).all(same), "the run writes what was foreseen");
    Ok(host.results())
}

fn full(_: Full) -> String {
    "device full".to_string()
}

/// Runs the requests of a vector on a drive at time 0.
fn run(vector: &Value, ssd: Ssd) -> Result<Host, String> {
    let config = &ssd.config;
    let keys = section(vector, "host");
    let depth = queue_depth(&keys);
    let requests = requests(vector, config)?;
    let s = section(vector, "cache");
    let mut cache = cache(&s, config, &steps(&requests));
    let writer = options::writer(&keys);
    if writer.is_some() && cache.as_mut().is_some_and(|cache| cache.order().is_none()) {
        let policy = &vector["cache"]["policy"];
        return Err(format!("host: writer=trickle excludes policy={policy}: it has no order"));
    }
    let frames = if cache.is_some() { s.integer("frames").unwrap_or(1) } else { 0 };
    let mut host = Host { cache, writer, ..Host::new(ssd, frames, &s) };
    let done = match depth {
        None => requests.iter().try_for_each(|request| host.issue(request.arrival, request)),
        Some(depth) => host.closed_loop(&requests, usize::try_from(depth).unwrap_or(usize::MAX)),
    };
    done.map_err(full)?;
    host.ssd.finish();
    Ok(host)
}

impl Host {
    /// A host without a policy, its frames free, with the keys of a cache.
    fn new(ssd: Ssd, frames: u64, s: &Params<'_>) -> Host {
        Host {
            cache: None,
            frames: Vec::new(),
            free: (0..frames).map(|_| PendingTime::at(0)).collect(),
            hit_ns: s.integer("hit_ns").unwrap_or(0),
            evict_wait: match s.text("evict_wait") {
                Some("transfer") => EvictWait::Transfer,
                Some("none") => EvictWait::None,
                Some("staged") => EvictWait::Staged(s.integer("staging_pages").expect("recorded")),
                _ => EvictWait::Program,
            },
            victims: Vec::new(),
            read_waits_for_data: s.text("read_wait") == Some("data"),
            ssd,
            issued: Vec::new(),
            decisions: Vec::new(),
            sizes: BTreeMap::new(),
            host_reads: Vec::new(),
            write_backs: Vec::new(),
            writer: None,
            offered: None,
            offer_due: None,
            written: Vec::new(),
            counts: HostCounters::default(),
        }
    }

    /// 7.6.
    fn closed_loop(&mut self, requests: &[Request], depth: usize) -> Result<(), Full> {
        let mut outstanding: Vec<usize> = Vec::new(); // requests
        let mut now = 0;
        for (index, request) in requests.iter().enumerate() {
            if index >= depth {
                let (first, at) = self.first_completion(&outstanding);
                outstanding.remove(at);
                now = now.max(first);
            }
            self.issue(now, request)?;
            outstanding.push(index);
        }
        Ok(())
    }

    /// The smallest completion of these requests, and which has it: time goes on until it is known.
    fn first_completion(&mut self, outstanding: &[usize]) -> (u64, usize) {
        loop {
            // Nothing happens before the next end; what is not known yet lies beyond it.
            let least = self.ssd.next_step(u64::MAX).unwrap_or(u64::MAX);
            let completion = |&index: &usize| self.issued[index].known_completion(&self.ssd, least);
            let known = outstanding.iter().map(completion).enumerate();
            let first = known.filter_map(|(at, completion)| Some((completion?, at))).min();
            let all_known = outstanding.iter().all(|index| completion(index).is_some());
            let upto = first.map_or(u64::MAX, |(first, _)| first);
            if all_known || !self.ssd.step(upto) {
                return first.expect("some request is outstanding");
            }
        }
    }

    fn issue(&mut self, now: u64, request: &Request) -> Result<(), Full> {
        self.wait(now)?;
        let parts = match request.asked {
            RequestKind::Access(op) if self.cache.is_none() => self.uncached(op, request)?,
            RequestKind::Access(op) => {
                let mut cache = self.cache.take().expect("a cache");
                let mut parts = Vec::new();
                for &page in &request.pages {
                    parts.push(self.cached(&mut *cache, op, page, request.length)?);
                }
                self.cache = Some(cache);
                parts
            }
            RequestKind::Trim => self.trim(request),
            RequestKind::Flush => vec![self.flush()],
        };
        if matches!(request.asked, RequestKind::Access(_)) {
            self.counts.page_accesses += request.pages.len() as u64;
        }
        self.issued.push(Issued { asked: request.asked, now, parts });
        self.offer_due = Some(now);
        Ok(())
    }

    /// A page read of the host by a command of its own.
    fn host_read(&mut self, page: u64) -> Result<Sent, Full> {
        let acting = self.ssd.command(Command::Read);
        let read = self.ssd.host_read(page, acting)?;
        self.host_reads.extend(read.operation);
        Ok(read)
    }

    /// 7.2: "one command per request that touches a page".
    fn uncached(&mut self, op: Op, request: &Request) -> Result<Vec<Part>, Full> {
        if request.pages.is_empty() {
            return Ok(Vec::new());
        }
        let command = if op == Op::Read { Command::Read } else { Command::Write };
        let acting = self.ssd.command(command);
        let mut parts = Vec::new();
        for &page in &request.pages {
            let sent = match op {
                Op::Read => self.ssd.host_read(page, acting)?,
                Op::Write => self.ssd.host_write(page, acting, request.length, 0)?,
            };
            if op == Op::Read {
                self.host_reads.extend(sent.operation);
            }
            parts.push(Part { when: PendingTime::of(sent, Until::Ended), plus: 0 });
        }
        Ok(parts)
    }

    /// `docs/spec/device-today.md` 4.1 and 4.2.
    fn trim(&mut self, request: &Request) -> Vec<Part> {
        if request.length == 0 {
            return Vec::new();
        }
        let processed = self.ssd.command(Command::Other);
        for &page in &request.pages {
            if let Some(mut cache) = self.cache.take() {
                let dropped = cache.forget(page);
                self.cache = Some(cache);
                if let Some(dirty) = dropped {
                    self.counts.trim_cache_drops += 1;
                    self.counts.trim_dirty_drops += u64::from(dirty);
                    let frame = self.leave(page);
                    self.free.push(frame);
                }
            }
            match self.ssd.host_trim(page) {
                true => self.counts.trimmed_pages += 1,
                false => self.counts.trim_misses += 1,
            }
        }
        vec![Part { when: PendingTime::at(processed), plus: 0 }]
    }

    /// `docs/spec/device-today.md` 6.4: complete with every host program submitted so far.
    fn flush(&mut self) -> Part {
        let processed = self.ssd.command(Command::Other);
        let operations = self.ssd.host_programs().map(|number| (number, Until::Ended)).collect();
        Part { when: PendingTime { operations, ..PendingTime::at(processed) }, plus: 0 }
    }

    /// 7.3 and 7.4: one page access, of a request of so many bytes; when it is complete.
    fn cached(
        &mut self,
        cache: &mut dyn Cache,
        op: Op,
        page: u64,
        length: u64,
    ) -> Result<Part, Full> {
        let now = self.ssd.now;
        let resident = self.frames.iter().position(|frame| frame.page == page);
        let mut read = None;
        if resident.is_none() && op == Op::Read {
            let sent = self.host_read(page)?;
            sent.operation.into_iter().for_each(|read| cache.submitted(read));
            read = Some(sent);
        }
        let answer = cache.access(op, page, read.and_then(|sent| sent.operation), &self.ssd);
        assert_eq!(answer.hit, resident.is_some(), "a policy forgets or invents page {page}");
        self.record(op, page, &answer);
        if op == Op::Write && (answer.hit || answer.admitted) {
            self.sizes.insert(page, length);
        }

        if let Some(at) = resident {
            match op {
                Op::Read => self.counts.read_hits += 1,
                Op::Write => self.counts.write_hits += 1,
            }
            let ready = self.frames[at].ready.max(&PendingTime::at(now));
            return Ok(Part { when: ready, plus: self.hit_ns });
        }

        let data = read.map(|sent| PendingTime::of(sent, Until::Ended).max(&PendingTime::at(now)));
        let data = data.unwrap_or(PendingTime::at(now));
        if !answer.admitted {
            let when = match op {
                Op::Read => data,
                Op::Write => self.write_past(cache, page, length)?,
            };
            return Ok(Part { when, plus: self.hit_ns });
        }
        if answer.dropped.is_some() || answer.group.is_some() {
            assert!(self.free.is_empty(), "a policy evicts while frames are free");
        }
        if let Some(victim) = answer.dropped {
            let left = self.evict(victim);
            self.free.push(match self.evict_wait {
                EvictWait::Staged(_) => PendingTime::at(now),
                _ => left,
            });
        }
        if let Some(group) = answer.group {
            self.destage(cache, &group, answer.label)?;
        }
        for page in answer.batch {
            self.write_and_keep(cache, page)?;
        }
        cache.installed(page, &self.ssd);
        let frame = self.take_frame().max(&PendingTime::at(now)).known(&self.ssd);
        let ready = frame.max(&data).known(&self.ssd);
        self.frames.push(Frame { page, frame, ready: ready.clone() });
        let when = if op == Op::Read && self.read_waits_for_data { data } else { ready };
        Ok(Part { when, plus: self.hit_ns })
    }

    /// A write buffer refuses reads; an admission policy also writes, which go through
    /// (`docs/spec/further-policies.md`, 2.1). Such a write is no dirty victim.
    fn write_past(
        &mut self,
        cache: &mut dyn Cache,
        page: u64,
        length: u64,
    ) -> Result<PendingTime, Full> {
        let acting = self.ssd.command(Command::Write);
        let sent = self.ssd.host_write(page, acting, length, 0)?;
        sent.operation.into_iter().for_each(|program| cache.submitted(program));
        Ok(PendingTime::of(sent, Until::Ended).max(&PendingTime::at(self.ssd.now)))
    }

    /// A victim leaves the cache; when its frame was its own.
    fn evict(&mut self, victim: u64) -> PendingTime {
        self.counts.evictions += 1;
        self.leave(victim)
    }

    /// A page leaves the cache; when its frame was its own.
    fn leave(&mut self, page: u64) -> PendingTime {
        self.sizes.remove(&page);
        let at = self.frames.iter().position(|frame| frame.page == page);
        self.frames.remove(at.expect("a page that leaves is resident")).frame
    }

    /// The end that a frame waits for once its page is written.
    fn until(&self) -> Until {
        match self.evict_wait {
            EvictWait::Transfer => Until::Transferred,
            _ => Until::Ended,
        }
    }

    /// A page is written back; 0 bytes of it are a request's if it is only padding.
    fn write_back(
        &mut self,
        cache: &mut dyn Cache,
        page: u64,
        acting: u64,
        label: u64,
        is_padding: bool,
    ) -> Result<Sent, Full> {
        let size = if is_padding { 0 } else { self.sizes[&page] };
        let sent = self.ssd.host_write(page, acting, size, label)?;
        sent.operation.into_iter().for_each(|program| cache.submitted(program));
        Ok(sent)
    }

    /// Writes a group; its frames are free when all of it has been programmed (12).
    fn destage(&mut self, cache: &mut dyn Cache, group: &Group, label: u64) -> Result<(), Full> {
        for &page in group.padding.difference(&group.in_buffer) {
            let acting = self.ssd.command(Command::Read);
            let read = self.ssd.host_read(page, acting)?;
            read.operation.into_iter().for_each(|read| cache.submitted(read));
        }
        let acting = self.ssd.command(Command::Write);
        let mut free = PendingTime::at(self.ssd.now);
        for &page in group.pages.union(&group.padding) {
            let leaves = group.pages.contains(&page);
            if leaves {
                self.sample(page);
            }
            let sent = self.write_back(cache, page, acting, label, !leaves)?;
            let end = PendingTime::of(sent, self.until());
            let staged = matches!(self.evict_wait, EvictWait::Staged(_));
            if leaves {
                self.write_backs.extend(sent.operation);
                let frame = self.evict(page);
                match staged {
                    true => self.victims.push(end.clone()),
                    false => free = free.max(&frame),
                }
            }
            if !staged {
                free = free.max(&end);
            }
        }
        if let EvictWait::Staged(pages) = self.evict_wait {
            free = self.all_but(pages);
        }
        self.free.extend(group.pages.iter().map(|_| free.clone()));
        Ok(())
    }

    /// The earliest instant from now on at which at most a number of the programs of the dirty
    /// victims are unfinished (7.4, `staged`).
    fn all_but(&mut self, pages: u64) -> PendingTime {
        let (ssd, now) = (&self.ssd, self.ssd.now);
        self.victims.retain(|end| {
            let end = end.known(ssd);
            !end.is_known() || end.at_least > now
        });
        PendingTime { all_but: vec![(pages, self.victims.clone())], ..PendingTime::at(now) }
            .known(ssd)
    }

    /// Writes a page that stays (`docs/spec/ace.md`, 4): a write-back like that of a victim.
    fn write_and_keep(&mut self, cache: &mut dyn Cache, page: u64) -> Result<(), Full> {
        self.sample(page);
        let sent = self.write_ahead(cache, page)?;
        self.write_backs.extend(sent.operation);
        Ok(())
    }

    /// Writes a page that stays: only its own frame waits for that.
    fn write_ahead(&mut self, cache: &mut dyn Cache, page: u64) -> Result<Sent, Full> {
        let acting = self.ssd.command(Command::Write);
        let sent = self.write_back(cache, page, acting, 0, false)?;
        if self.evict_wait != EvictWait::None {
            let written = PendingTime::of(sent, self.until());
            let held = self.frames.iter_mut().find(|frame| frame.page == page);
            let frame = &mut held.expect("it is resident").frame;
            *frame = frame.max(&written);
        }
        Ok(sent)
    }

    /// Takes the frame that is free earliest. Reads first there are no trims, frames are left only
    /// by the group of a full cache, and all that are free are free at the same time.
    fn take_frame(&mut self) -> PendingTime {
        let mut at = self.free.len() - 1;
        if !self.ssd.config.read_first {
            // What is not known yet lies ahead of now.
            let times = self.free.iter().map(|frame| frame.known(&self.ssd)).enumerate();
            let known = times.filter(|(_, time)| time.is_known());
            let first = known.map(|(frame, time)| (time.at_least, frame)).min();
            let all_known = self.free.iter().all(|frame| frame.known(&self.ssd).is_known());
            match first {
                Some((time, frame)) if all_known || time <= self.ssd.now => at = frame,
                _ => {
                    let alike = self.free.iter().all(|frame| *frame == self.free[at]);
                    assert!(alike, "frames whose order is not known are of one group");
                }
            }
        }
        let frame = self.free.swap_remove(at);
        match self.evict_wait {
            EvictWait::None => PendingTime::at(0),
            _ => frame,
        }
    }

    /// Counters of section 8 just before a dirty victim is written.
    fn sample(&mut self, victim: u64) {
        self.counts.dirty_evictions += 1;
        if self.ssd.list_in_gc(self.ssd.list_of(victim, true)) {
            self.counts.dirty_evictions_in_gc += 1;
        }
        let units = 0..self.ssd.config.units();
        let q: Vec<u64> = units.map(|unit| self.ssd.backlog(unit)).collect();
        let sum: u128 = q.iter().map(|&q| u128::from(q)).sum();
        let max = q.iter().max().expect("a device has units");
        if sum > 0 {
            self.counts.unbalance_samples += 1;
            if u128::from(*max) * q.len() as u128 > 10 * sum {
                self.counts.unbalance_gt10 += 1;
            }
        }
    }

    fn record(&mut self, op: Op, page: u64, answer: &Answer) {
        let through = !answer.hit && !answer.admitted && op == Op::Write;
        let through = through.then(|| Group { pages: [page].into(), ..Group::default() });
        let groups = || answer.group.iter();
        let kept =
            answer.batch.iter().map(|&page| Group { pages: [page].into(), ..Group::default() });
        let kept: Vec<Group> = kept.collect();
        let evicted: Vec<u64> =
            answer.dropped.iter().chain(groups().flat_map(|group| &group.pages)).copied().collect();
        let flushed = groups().chain(&kept).chain(&through).map(|group| &group.pages);
        let flushed: Vec<_> = flushed.collect();
        let mut decision = json!({
            "index": self.decisions.len(),
            "op": if op == Op::Read { "r" } else { "w" },
            "page": page,
            "hit": answer.hit,
            "evicted": evicted,
            "flushed": flushed,
        });
        if groups().any(|group| !group.padding.is_empty()) {
            decision["padded"] = groups().map(|group| json!(group.padding)).collect();
        }
        self.decisions.push(decision);
    }
}
