//! The host: requests, frames, what waits for what, and the counters (`device.md` 7 and 8).

use serde_json::{Value, json};

use super::config::{Config, Section, queue_depth};
use super::operation::Kind;
use super::policies::{Cache, cache};
use super::queue::Ssd;
use crate::Op;

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
#[derive(Clone, Copy)]
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
        When {
            at_least: self.at_least.max(other.at_least),
            operations: [&self.operations[..], &other.operations[..]].concat(),
        }
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
    frames: Vec<Frame>,
    hit_ns: u64,
    evict_wait: EvictWait,
    read_waits_for_data: bool,
    issued: Vec<Issued>,
    decisions: Vec<Value>,
    host_reads: Vec<usize>,
    write_backs: Vec<usize>,
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

/// Runs the input of a conformance vector, `{device, cache, host, requests}`, and gives
/// `{completions_ns, decisions, counters}`.
///
/// # Errors
///
/// On a configuration that the specification excludes, on a key that it does not have, and on a
/// page beyond the device with `address_mode = "error"`.
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
    let mut host = Host {
        cache: cache(vector, &trace)?,
        frames: Vec::new(),
        hit_ns: s.integer("hit_ns", 0, 0)?,
        evict_wait: match s.word("evict_wait", &["program", "transfer", "none"])? {
            "transfer" => EvictWait::Transfer,
            "none" => EvictWait::None,
            _ => EvictWait::Program,
        },
        read_waits_for_data: s.word("read_wait", &["frame", "data"])? == "data",
        ssd: Ssd::new(config),
        issued: Vec::new(),
        decisions: Vec::new(),
        host_reads: Vec::new(),
        write_backs: Vec::new(),
        counts: Counts::default(),
    };
    match depth {
        None => requests.iter().for_each(|request| host.issue(request.arrival, request)),
        Some(depth) => host.closed_loop(&requests, usize::try_from(depth).unwrap_or(usize::MAX)),
    }
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
    fn closed_loop(&mut self, requests: &[Request], depth: usize) {
        let mut outstanding: Vec<u64> = Vec::new(); // completions
        let mut now = 0;
        for (index, request) in requests.iter().enumerate() {
            if index >= depth {
                let first = *outstanding.iter().min().expect("some request is outstanding");
                let at = outstanding.iter().position(|&completion| completion == first);
                outstanding.remove(at.expect("one completes then"));
                now = now.max(first);
            }
            self.issue(now, request);
            outstanding.push(self.issued[index].completion(&self.ssd));
        }
    }

    fn issue(&mut self, now: u64, request: &Request) {
        self.ssd.advance(now);
        let mut parts = Vec::new();
        for &page in &request.pages {
            self.counts.page_accesses += 1;
            parts.push(match self.cache.take() {
                None => self.uncached(request.op, page),
                Some(mut cache) => {
                    let complete = self.cached(&mut *cache, request.op, page);
                    self.cache = Some(cache);
                    complete
                }
            });
        }
        self.issued.push(Issued { op: request.op, now, parts });
    }

    /// 7.2.
    fn uncached(&mut self, op: Op, page: u64) -> Part {
        let operation = match op {
            Op::Read => {
                let read = self.ssd.read(page);
                self.host_reads.extend(read);
                read
            }
            Op::Write => self.ssd.write(page),
        };
        Part { when: When::after(self.ssd.now, operation), plus: 0 }
    }

    /// 7.3 and 7.4: one page access; when it is complete.
    fn cached(&mut self, cache: &mut dyn Cache, op: Op, page: u64) -> Part {
        let now = self.ssd.now;
        let resident = self.frames.iter().position(|frame| frame.page == page);
        let mut read = None;
        if resident.is_none() && op == Op::Read {
            read = self.ssd.read(page);
            self.host_reads.extend(read);
            read.into_iter().for_each(|read| cache.submitted(read));
        }
        let answer = cache.access(op, page, read, &self.ssd);
        assert_eq!(answer.hit, resident.is_some(), "a policy forgets or invents page {page}");
        self.record(op, page, answer.hit, &answer.evicted);

        if let Some(at) = resident {
            match op {
                Op::Read => self.counts.read_hits += 1,
                Op::Write => self.counts.write_hits += 1,
            }
            let ready = self.frames[at].ready.max(&When::at(now));
            return Part { when: ready, plus: self.hit_ns };
        }

        let mut frame = When::at(now);
        for (victim, dirty) in answer.evicted {
            self.counts.evictions += 1;
            let at = self.frames.iter().position(|frame| frame.page == victim);
            let left = self.frames.remove(at.expect("a victim is resident"));
            frame = frame.max(&left.frame);
            if dirty {
                self.sample(victim);
                let program = self.ssd.write(victim).expect("the run has begun");
                cache.submitted(program);
                self.write_backs.push(program);
                let until = match self.evict_wait {
                    EvictWait::Transfer => Until::Transferred,
                    _ => Until::Ended,
                };
                frame.operations.push((program, until));
            }
        }
        if self.evict_wait == EvictWait::None {
            frame = When::at(now);
        }
        let frame = frame.known(&self.ssd);
        let data = When::after(now, read);
        let ready = frame.max(&data).known(&self.ssd);
        self.frames.push(Frame { page, frame, ready: ready.clone() });
        let when = if op == Op::Read && self.read_waits_for_data { data } else { ready };
        Part { when, plus: self.hit_ns }
    }

    /// Counters of section 8 just before a dirty victim is written.
    fn sample(&mut self, victim: u64) {
        self.counts.dirty_evictions += 1;
        if self.ssd.page_in_gc(victim, true) {
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

    fn record(&mut self, op: Op, page: u64, hit: bool, evicted: &[(u64, bool)]) {
        let pages: Vec<u64> = evicted.iter().map(|&(page, _)| page).collect();
        let dirty = evicted.iter().filter(|&&(_, dirty)| dirty);
        let flushed: Vec<[u64; 1]> = dirty.map(|&(page, _)| [page]).collect();
        self.decisions.push(json!({
            "index": self.decisions.len(),
            "op": if op == Op::Read { "r" } else { "w" },
            "page": page,
            "hit": hit,
            "evicted": pages,
            "flushed": flushed,
        }));
    }

    fn results(&self) -> Value {
        let ssd = &self.ssd;
        let completions: Vec<u64> =
            self.issued.iter().map(|request| request.completion(ssd)).collect();

        let responses = |op: Op| -> Vec<u64> {
            let requests = self.issued.iter().zip(&completions);
            let of_op = requests.filter(|(request, _)| request.op == op);
            of_op.map(|(request, completion)| completion - request.now).collect()
        };
        let (reads, writes) = (responses(Op::Read), responses(Op::Write));
        let sum = |list: &[u64]| list.iter().sum::<u64>();
        let max = |list: &[u64]| list.iter().max().copied().unwrap_or(0);

        let waited = |&number: &usize| {
            let operation = &ssd.operations[number];
            operation.start.expect("all have ended") - operation.submitted
        };
        let latency = |&number: &usize| {
            let operation = &ssd.operations[number];
            operation.end.expect("all have ended") - operation.submitted
        };
        let is_r = |kind: Kind| matches!(kind, Kind::R { .. });
        let is_w = |kind: Kind| matches!(kind, Kind::W { .. });
        let is_m = |kind: Kind| matches!(kind, Kind::M { .. });
        let count = |fits: &dyn Fn(Kind) -> bool| {
            ssd.operations.iter().filter(|operation| fits(operation.kind)).count()
        };
        let channels = 0..usize::try_from(ssd.config.channels).expect("few channels");
        let on_channel = |channel: usize| {
            let on = move |plane: usize| ssd.config.channel_of_plane(plane) == channel;
            ssd.operations.iter().filter(move |operation| on(operation.plane))
        };
        let per_channel = |fits: &dyn Fn(Kind) -> bool| -> Vec<usize> {
            let count =
                |channel| on_channel(channel).filter(|operation| fits(operation.kind)).count();
            channels.clone().map(count).collect()
        };
        let transfers: Vec<u64> = channels
            .clone()
            .map(|channel| on_channel(channel).map(|o| ssd.config.transfer(o.kind)).sum())
            .collect();
        let busy = |unit: usize| -> u64 {
            let on = |plane: usize| ssd.config.unit_of_plane(plane) == unit;
            ssd.operations.iter().filter(|o| on(o.plane)).map(|o| o.duration).sum()
        };
        let busy: Vec<u64> = (0..ssd.config.units()).map(busy).collect();
        let erases = || ssd.planes.iter().flat_map(|plane| &plane.blocks).map(|b| b.erases);

        let c = &self.counts;
        json!({
            "completions_ns": completions,
            "decisions": self.decisions,
            "counters": {
                "requests": self.issued.len(),
                "page_accesses": c.page_accesses,
                "hits": c.read_hits + c.write_hits,
                "read_hits": c.read_hits,
                "write_hits": c.write_hits,
                "evictions": c.evictions,
                "dirty_evictions": c.dirty_evictions,
                "dirty_evictions_in_gc": c.dirty_evictions_in_gc,
                "unbalance_samples": c.unbalance_samples,
                "unbalance_gt10": c.unbalance_gt10,
                "flash_reads": count(&is_r),
                "flash_programs": count(&is_w),
                "gc_runs": ssd.gc_runs,
                "gc_moves": count(&is_m),
                "summary_programs": count(&|kind| kind == Kind::S),
                "erases": count(&|kind| kind == Kind::E),
                "read_requests": reads.len(),
                "read_response_ns_sum": sum(&reads),
                "read_response_ns_max": max(&reads),
                "write_requests": writes.len(),
                "write_response_ns_sum": sum(&writes),
                "write_response_ns_max": max(&writes),
                "eviction_wait_ns_sum": self.write_backs.iter().map(waited).sum::<u64>(),
                "read_misses": self.host_reads.len(),
                "read_miss_latency_ns_sum": self.host_reads.iter().map(latency).sum::<u64>(),
                "unit_busy_ns": busy,
                "channel_transfer_ns": transfers,
                "channel_reads": per_channel(&is_r),
                "channel_programs": per_channel(&is_w),
                "block_erases_max": erases().max(),
                "block_erases_min": erases().min(),
                "makespan_ns": max(&completions),
            },
        })
    }
}
