//! The host: requests, frames, what waits for what, and the counters (`docs/spec/device.md` 7 and
//! 8).

mod results;
mod writer;

use serde_json::{Value, json};

use super::config::{Config, Section, Writer, queue_depth};
use super::policies::{Answer, Cache, cache};
use super::queue::{Full, Ssd};
use crate::Op;
use crate::block::Group;

/// What a page that needs a frame waits for (7.4).
#[derive(Clone, Copy, PartialEq, Eq)]
enum EvictWait {
    Program,
    Transfer,
    None,
}

/// An instant that may lie ahead: `at_least`, and not before some operations have come so far.
#[derive(Clone)]
struct When {
    at_least: u64,
    operations: Vec<(usize, Until)>,
}

/// How far an operation has to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Until {
    Transferred,
    Ended,
}

impl When {
    fn at(instant: u64) -> When {
        When { at_least: instant, operations: Vec::new() }
    }

    fn after(instant: u64, operation: Option<usize>) -> When {
        let operations = operation.into_iter().map(|number| (number, Until::Ended)).collect();
        When { at_least: instant, operations }
    }

    fn max(&self, other: &When) -> When {
        // Frames that one group left wait for the same operations.
        let mut operations = [&self.operations[..], &other.operations[..]].concat();
        operations.sort_unstable();
        operations.dedup();
        When { at_least: self.at_least.max(other.at_least), operations }
    }

    /// The instant as far as it is known: operations that tell theirs are not waited for any more.
    fn known(&self, ssd: &Ssd) -> When {
        let mut when = When::at(self.at_least);
        for &(number, until) in &self.operations {
            let operation = &ssd.operations[number];
            match ssd.start(number) {
                Some(start) => {
                    let take = match until {
                        Until::Transferred => operation.until_transferred,
                        Until::Ended => operation.duration,
                    };
                    when.at_least = when.at_least.max(start + take);
                }
                None => when.operations.push((number, until)),
            }
        }
        when
    }

    fn value(&self, ssd: &Ssd) -> u64 {
        let known = self.known(ssd);
        assert!(known.operations.is_empty(), "an instant is asked for before it is known");
        known.at_least
    }
}

/// A cached page with its two times.
struct Frame {
    page: u64,
    frame: When,
    ready: When,
}

/// One request with its page numbers in `0 .. L-1`.
struct Request {
    arrival: u64,
    op: Op,
    pages: Vec<u64>,
}

/// A request that has been issued: when, and when each of its parts is complete.
struct Issued {
    op: Op,
    now: u64,
    parts: Vec<Part>,
}

/// A page access is complete `plus` nanoseconds after an instant.
struct Part {
    when: When,
    plus: u64,
}

impl Issued {
    fn completion(&self, ssd: &Ssd) -> u64 {
        let last = self.parts.iter().map(|part| part.when.value(ssd) + part.plus).max();
        last.unwrap_or(0).max(self.now)
    }
}

struct Host {
    ssd: Ssd,
    cache: Option<Box<dyn Cache>>,
    frames: Vec<Frame>, // of the pages in the cache
    free: Vec<When>,    // when each of the other frames is free
    hit_ns: u64,
    evict_wait: EvictWait,
    read_waits_for_data: bool,
    issued: Vec<Issued>,
    decisions: Vec<Value>,
    host_reads: Vec<usize>,
    write_backs: Vec<usize>,
    writer: Option<Writer>,
    /// The instant of the last offer that was made, and of the next one that may be.
    offered: Option<u64>,
    offer_due: Option<u64>,
    /// What was written at offers: instant and page.
    written: Vec<(u64, u64)>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    page_accesses: u64,
    read_hits: u64,
    write_hits: u64,
    evictions: u64,
    dirty_evictions: u64,
    dirty_evictions_in_gc: u64,
    unbalance_samples: u64,
    unbalance_gt10: u64,
}

/// Runs the input of a conformance vector, `{device, ftl, cache, host, requests}`, and gives
/// `{completions_ns, decisions, counters}`. `ftl` has the parameters of another FTL.
///
/// # Errors
///
/// On a configuration that the specification excludes, on a key that it does not have, on a page
/// beyond the device with `address_mode = "error"`, and where an FTL runs out of blocks.
///
/// # Panics
///
/// On requests that are not in the layout of the vectors, and on a parameter of a page policy of
/// the wrong type, as [`crate::twin`].
pub fn simulate(vector: &Value) -> Result<Value, String> {
    let config = Config::of(vector)?;
    let depth = queue_depth(vector, &config)?;
    let requests = requests(vector, &config)?;
    let trace: Vec<(Op, u64)> = requests
        .iter()
        .flat_map(|request| request.pages.iter().map(|&page| (request.op, page)))
        .collect();

    let s = Section::of(vector, "cache")?;
    let mut cache = cache(vector, &config, &trace)?;
    let writer = super::config::writer(vector, &config)?;
    if writer.is_some() && cache.as_mut().is_some_and(|cache| cache.order().is_none()) {
        let policy = &vector["cache"]["policy"];
        return Err(format!("host: writer=trickle excludes policy={policy}: it has no order"));
    }
    let frames = if cache.is_some() { s.integer("frames", 1, 1)? } else { 0 };
    let full = |Full| "device full".to_string();
    let mut host = Host {
        cache,
        frames: Vec::new(),
        free: (0..frames).map(|_| When::at(0)).collect(),
        hit_ns: s.integer("hit_ns", 0, 0)?,
        evict_wait: match s.word("evict_wait", &["program", "transfer", "none"])? {
            "transfer" => EvictWait::Transfer,
            "none" => EvictWait::None,
            _ => EvictWait::Program,
        },
        read_waits_for_data: s.word("read_wait", &["frame", "data"])? == "data",
        ssd: Ssd::new(config).map_err(full)?,
        issued: Vec::new(),
        decisions: Vec::new(),
        host_reads: Vec::new(),
        write_backs: Vec::new(),
        writer,
        offered: None,
        offer_due: None,
        written: Vec::new(),
        counts: Counts::default(),
    };
    let done = match depth {
        None => requests.iter().try_for_each(|request| host.issue(request.arrival, request)),
        Some(depth) => host.closed_loop(&requests, usize::try_from(depth).unwrap_or(usize::MAX)),
    };
    done.map_err(full)?;
    host.ssd.finish();
    Ok(host.results())
}

/// The requests of a vector (7.1).
fn requests(vector: &Value, config: &Config) -> Result<Vec<Request>, String> {
    let list = vector["requests"].as_array().expect("a list of requests");
    let mut requests: Vec<Request> = Vec::new();
    for (index, request) in list.iter().enumerate() {
        let number = |at: usize| request[at].as_u64().expect("an integer");
        let (arrival, offset, length) = (number(0), number(2), number(3));
        let op = match request[1].as_str() {
            Some("r") => Op::Read,
            Some("w") => Op::Write,
            _ => return Err(format!("requests: {index}: expected r or w, found {}", request[1])),
        };
        if requests.last().is_some_and(|previous| previous.arrival > arrival) {
            return Err(format!("requests: {index}: arrives before the one before it"));
        }
        let mut pages = Vec::new();
        if length > 0 {
            for page in offset / config.page_bytes..=(offset + length - 1) / config.page_bytes {
                if page >= config.logical_pages && !config.wrap {
                    return Err(format!("requests: {index}: page {page} is beyond the device"));
                }
                pages.push(page % config.logical_pages);
            }
        }
        requests.push(Request { arrival, op, pages });
    }
    Ok(requests)
}

impl Host {
    /// 7.6.
    fn closed_loop(&mut self, requests: &[Request], depth: usize) -> Result<(), Full> {
        let mut outstanding: Vec<u64> = Vec::new(); // completions
        let mut now = 0;
        for (index, request) in requests.iter().enumerate() {
            if index >= depth {
                let first = *outstanding.iter().min().expect("some request is outstanding");
                let at = outstanding.iter().position(|&completion| completion == first);
                outstanding.remove(at.expect("one completes then"));
                now = now.max(first);
            }
            self.issue(now, request)?;
            outstanding.push(self.issued[index].completion(&self.ssd));
        }
        Ok(())
    }

    fn issue(&mut self, now: u64, request: &Request) -> Result<(), Full> {
        self.wait(now)?;
        let mut parts = Vec::new();
        for &page in &request.pages {
            self.counts.page_accesses += 1;
            parts.push(match self.cache.take() {
                None => self.uncached(request.op, page)?,
                Some(mut cache) => {
                    let complete = self.cached(&mut *cache, request.op, page)?;
                    self.cache = Some(cache);
                    complete
                }
            });
        }
        self.issued.push(Issued { op: request.op, now, parts });
        self.offer_due = Some(now);
        Ok(())
    }

    /// A page read of the host.
    fn host_read(&mut self, page: u64) -> Result<Option<usize>, Full> {
        let read = self.ssd.read(page)?;
        self.host_reads.extend(read);
        Ok(read)
    }

    /// 7.2.
    fn uncached(&mut self, op: Op, page: u64) -> Result<Part, Full> {
        let operation = match op {
            Op::Read => self.host_read(page)?,
            Op::Write => self.ssd.write(page)?,
        };
        Ok(Part { when: When::after(self.ssd.now, operation), plus: 0 })
    }

    /// 7.3 and 7.4: one page access; when it is complete.
    fn cached(&mut self, cache: &mut dyn Cache, op: Op, page: u64) -> Result<Part, Full> {
        let now = self.ssd.now;
        let resident = self.frames.iter().position(|frame| frame.page == page);
        let mut read = None;
        if resident.is_none() && op == Op::Read {
            read = self.host_read(page)?;
            read.into_iter().for_each(|read| cache.submitted(read));
        }
        let answer = cache.access(op, page, read, &self.ssd);
        assert_eq!(answer.hit, resident.is_some(), "a policy forgets or invents page {page}");
        self.record(op, page, &answer);

        if let Some(at) = resident {
            match op {
                Op::Read => self.counts.read_hits += 1,
                Op::Write => self.counts.write_hits += 1,
            }
            let ready = self.frames[at].ready.max(&When::at(now));
            return Ok(Part { when: ready, plus: self.hit_ns });
        }

        let data = When::after(now, read);
        if !answer.admitted {
            // A write buffer refuses reads; an admission policy also writes, which go through
            // (`docs/spec/further-policies.md`, 2.1). Such a write is no dirty victim.
            let through = if op == Op::Write { self.ssd.write(page)? } else { None };
            through.into_iter().for_each(|program| cache.submitted(program));
            let when = data.max(&When::after(now, through));
            return Ok(Part { when, plus: self.hit_ns });
        }
        if answer.dropped.is_some() || answer.group.is_some() {
            assert!(self.free.is_empty(), "a policy evicts while frames are free");
        }
        if let Some(victim) = answer.dropped {
            let left = self.leave(victim);
            self.free.push(left);
        }
        if let Some(group) = answer.group {
            self.destage(cache, &group)?;
        }
        for page in answer.batch {
            self.write_and_keep(cache, page)?;
        }
        cache.installed(page, &self.ssd);
        let frame = self.take_frame().max(&When::at(now)).known(&self.ssd);
        let ready = frame.max(&data).known(&self.ssd);
        self.frames.push(Frame { page, frame, ready: ready.clone() });
        let when = if op == Op::Read && self.read_waits_for_data { data } else { ready };
        Ok(Part { when, plus: self.hit_ns })
    }

    /// A page leaves the cache; when its frame was its own.
    fn leave(&mut self, victim: u64) -> When {
        self.counts.evictions += 1;
        let at = self.frames.iter().position(|frame| frame.page == victim);
        self.frames.remove(at.expect("a victim is resident")).frame
    }

    /// Writes a group; its frames are free when all of it has been programmed (12).
    fn destage(&mut self, cache: &mut dyn Cache, group: &Group) -> Result<(), Full> {
        for &page in group.padding.difference(&group.in_buffer) {
            let read = self.ssd.read(page)?;
            read.into_iter().for_each(|read| cache.submitted(read));
        }
        let mut free = When::at(self.ssd.now);
        for &page in group.pages.union(&group.padding) {
            if group.pages.contains(&page) {
                self.sample(page);
            }
            let program = self.ssd.write(page)?.expect("the run has begun");
            cache.submitted(program);
            if group.pages.contains(&page) {
                self.write_backs.push(program);
                free = free.max(&self.leave(page));
            }
            let until = match self.evict_wait {
                EvictWait::Transfer => Until::Transferred,
                _ => Until::Ended,
            };
            free.operations.push((program, until));
        }
        self.free.extend(group.pages.iter().map(|_| free.clone()));
        Ok(())
    }

    /// Writes a page that stays (`docs/spec/ace.md`, 4): a write-back like that of a victim.
    fn write_and_keep(&mut self, cache: &mut dyn Cache, page: u64) -> Result<(), Full> {
        self.sample(page);
        let program = self.write_ahead(cache, page)?;
        self.write_backs.push(program);
        Ok(())
    }

    /// Writes a page that stays: only its own frame waits for that. Says which operation it is.
    fn write_ahead(&mut self, cache: &mut dyn Cache, page: u64) -> Result<usize, Full> {
        let program = self.ssd.write(page)?.expect("the run has begun");
        cache.submitted(program);
        let until = match self.evict_wait {
            EvictWait::Program => Until::Ended,
            EvictWait::Transfer => Until::Transferred,
            EvictWait::None => return Ok(program),
        };
        let held = self.frames.iter_mut().find(|frame| frame.page == page);
        held.expect("it is resident").frame.operations.push((program, until));
        Ok(program)
    }

    /// Takes the frame that is free earliest. Frames are left only by the group of a full cache, so
    /// all that are free are free at the same time.
    fn take_frame(&mut self) -> When {
        let frame = self.free.pop().expect("a policy has a frame free");
        match self.evict_wait {
            EvictWait::None => When::at(0),
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
