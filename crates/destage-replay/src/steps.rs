//! Steps of requests on one device without a cache, one after the other in a closed loop: what fio
//! does to a block device (`docs/spec/fit.md` 10). The queues, the buffer and the flash keep their
//! state from step to step. Memory: the requests in flight, and one histogram a direction.

mod latencies;

use crate::control::Control;
use crate::error::RunError;
use destage_core::{Nanos, Op};
use destage_ssd::config::{LAST_NS, Sched};
use destage_ssd::{Command, Device, DriveLpn, PendingTime};
pub use latencies::Latencies;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;

/// Requests between two looks at the stop flag.
const PERIOD: u64 = 1 << 12;

/// One fio job.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Seed of the addresses and directions.
    pub seed: u64,
    /// Requests, those that do not count included.
    pub requests: u64,
    /// The first requests, which do not count.
    #[serde(default)]
    pub uncounted: u64,
    /// Requests in flight, of each job.
    pub depth: usize,
    /// Jobs at once. Of requests that follow each other, each has a part of the region.
    #[serde(default = "one")]
    pub jobs: usize,
    /// The next `depth` requests are issued when the last `depth` are complete.
    #[serde(default)]
    pub batch: bool,
    /// Share of reads: 0 to 100.
    pub read_percent: u64,
    /// Random addresses of reads, of writes; else they follow each other.
    pub random: [bool; 2],
    /// Length of a request.
    pub block_bytes: u64,
    /// Where the requests are.
    pub offset_bytes: u64,
    /// Where the requests are.
    pub size_bytes: u64,
    /// Gap between two requests that follow each other.
    #[serde(default)]
    pub skip_bytes: u64,
    /// Time between a completion and the next issue.
    #[serde(default)]
    pub think_ns: Nanos,
    /// Idle time before the step.
    #[serde(default)]
    pub delay_ns: Nanos,
    /// Reads are drawn and not issued: what they leave is the state of the flash alone.
    #[serde(default)]
    pub without_reads: bool,
    /// Share of the requests and share of the addresses of each zone, percent; none: uniform.
    #[serde(default)]
    pub zones: Vec<[u64; 2]>,
}

fn one() -> usize {
    1
}

/// Measurements of one step.
#[derive(Clone, Serialize, Debug)]
pub struct Played {
    /// First issue that counts.
    pub begin_ns: Nanos,
    /// Last completion.
    pub end_ns: Nanos,
    /// Completion latencies.
    pub read: Latencies,
    /// Completion latencies.
    pub write: Latencies,
    /// Pages programmed, collections included.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// SplitMix64, as `docs/spec/device.md` 5.6 has it.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }
}

/// The next request of a step.
struct Requests<'a> {
    step: &'a Step,
    draws: Draws,
    next_bytes: Vec<[u64; 2]>, // of each job
}

impl Requests<'_> {
    fn draw(&mut self, job: usize) -> (Op, u64) {
        let step = self.step;
        let is_read = match step.read_percent {
            0 => false,
            100 => true,
            share => self.draws.next() % 100 < share,
        };
        let (op, direction) = if is_read { (Op::Read, 0) } else { (Op::Write, 1) };
        if step.random[direction] {
            return (op, step.offset_bytes + self.slot() * step.block_bytes);
        }
        let part_bytes = step.part_bytes();
        let at = self.next_bytes[job][direction];
        let next = at + step.block_bytes + step.skip_bytes;
        let fits = next + step.block_bytes <= part_bytes;
        self.next_bytes[job][direction] = if fits { next } else { 0 };
        (op, step.offset_bytes + job as u64 * part_bytes + at)
    }

    /// A random block of the region.
    fn slot(&mut self) -> u64 {
        let slots = self.step.size_bytes / self.step.block_bytes;
        if self.step.zones.is_empty() {
            return self.draws.below(slots);
        }
        let mut share = self.draws.next() % 100;
        let mut first_percent = 0;
        for &[requests, span] in &self.step.zones {
            if share < requests {
                let first = slots * first_percent / 100;
                let end = slots * (first_percent + span) / 100;
                return first + self.draws.below(end - first);
            }
            share -= requests;
            first_percent += span;
        }
        unreachable!("the zones were checked: their shares add up to 100")
    }
}

/// A request that has been issued.
struct Issued {
    op: Op,
    job: usize,
    now: Nanos,
    end: PendingTime,
    counts: bool,
}

/// Requests in flight of a step, and what those measured that have completed.
struct InFlight {
    known: BinaryHeap<Reverse<(Nanos, usize)>>, // and the job
    /// Requests whose completion depends on operations that wait for others.
    open: Vec<Issued>,
    end_ns: Nanos,
    block_bytes: u64,
    read: Latencies,
    write: Latencies,
}

/// Names of instants that are kept before those that have passed are forgotten.
const MOST_NAMES: usize = 1 << 12;

impl InFlight {
    fn len(&self) -> usize {
        self.known.len() + self.open.len()
    }

    fn completes(&mut self, issued: &Issued, end: Nanos) {
        let completion = end.max(issued.now);
        self.known.push(Reverse((completion, issued.job)));
        self.end_ns = self.end_ns.max(completion);
        if issued.counts {
            let latencies = if issued.op == Op::Read { &mut self.read } else { &mut self.write };
            latencies.record(completion - issued.now, self.block_bytes);
        }
    }

    fn issue(&mut self, issued: Issued) {
        match issued.end.known() {
            Some(end) => self.completes(&issued, end),
            None => self.open.push(issued),
        }
    }

    /// The job whose request ends first.
    fn first_free(&mut self, device: &mut Device) -> usize {
        self.wait(device, false);
        self.known.peek().map_or(0, |&Reverse((_, job))| job)
    }

    /// Time goes on until the first completion is known, or with `all` each.
    fn wait(&mut self, device: &mut Device, all: bool) {
        while !self.open.is_empty() {
            let release = device.next_known();
            let times = device.queues().times();
            times.foresee(release.unwrap_or(0));
            for issued in std::mem::take(&mut self.open) {
                match times.foreseen(issued.end) {
                    Some(end) => self.completes(&issued, end),
                    None => self.open.push(issued),
                }
            }
            if self.open.is_empty() {
                return; // what else waits may be later than the last completion
            }
            if times.names() > MOST_NAMES {
                let settled = times.settle();
                for issued in &mut self.open {
                    issued.end = settled.now(issued.end);
                }
            }
            let first = self.known.peek().map(|&Reverse((first, _))| first);
            match release {
                Some(at) if all || first.is_none_or(|first| at < first) => device.advance(at),
                _ => return,
            }
        }
    }
}

impl Step {
    /// The part of the region in which a job's requests follow each other: whole blocks.
    fn part_bytes(&self) -> u64 {
        match self.jobs as u64 {
            1 => self.size_bytes,
            jobs => self.size_bytes / jobs / self.block_bytes * self.block_bytes,
        }
    }

    fn check(&self, device: &Device) -> Result<(), RunError> {
        let config = device.config();
        let capacity = u64::from(config.logical_pages) * u64::from(config.page_bytes);
        let end = self.offset_bytes.checked_add(self.size_bytes);
        let sum = |at: usize| self.zones.iter().map(|zone| zone[at]).sum::<u64>();
        let zones = self.zones.is_empty() || (sum(0) == 100 && sum(1) == 100);
        if config.sched == Sched::ReadFirst {
            let what = "steps of requests are a closed loop, which needs sched = fcfs";
            return Err(RunError::Impossible(what.into()));
        }
        for (what, holds) in [
            ("depth: expected at least 1", self.depth > 0),
            ("jobs: expected at least 1", self.jobs > 0),
            ("jobs: expected 1 with batch", self.jobs == 1 || !self.batch),
            ("block_bytes: expected at least 1", self.block_bytes > 0),
            ("size_bytes: it is beyond the device", end.is_some_and(|end| end <= capacity)),
            (
                "size_bytes: expected at least one block for each job",
                self.size_bytes / self.block_bytes.max(1) >= self.jobs as u64,
            ),
            ("read_percent: expected 0 to 100", self.read_percent <= 100),
            ("zones: expected shares that add up to 100", zones),
        ] {
            if !holds {
                return Err(RunError::Impossible(format!("a step of requests: {what}")));
            }
        }
        Ok(())
    }

    /// Issues a request; returns its completion.
    fn serve(&self, device: &mut Device, op: Op, offset_bytes: u64, now: Nanos) -> PendingTime {
        device.advance(now);
        device.command(Command::Access(op));
        let page_bytes = u64::from(device.config().page_bytes);
        let first = offset_bytes / page_bytes;
        let last = (offset_bytes + self.block_bytes - 1) / page_bytes;
        let mut end = PendingTime::at(now);
        for lpn in first..=last {
            let lpn = DriveLpn(lpn as u32); // below the logical pages
            let served = match op {
                Op::Read => device.read(lpn),
                Op::Write => Some(device.write(lpn)),
            };
            if let Some(served) = served {
                end = device.queues().times().later(end, served.end);
            }
        }
        end
    }

    /// Plays it from `begin` on.
    fn play(
        &self,
        device: &mut Device,
        begin: Nanos,
        control: &Control,
    ) -> Result<Played, RunError> {
        self.check(device)?;
        let next_bytes = vec![[0; 2]; self.jobs];
        let mut requests = Requests { step: self, draws: Draws(self.seed), next_bytes };
        let all_depth = self.depth * self.jobs;
        let mut in_flight = InFlight {
            known: BinaryHeap::with_capacity(all_depth),
            open: Vec::new(),
            end_ns: begin,
            block_bytes: self.block_bytes,
            read: Latencies::default(),
            write: Latencies::default(),
        };
        let mut now = begin;
        let mut begin_ns = begin;
        let mut before = device.counters();
        for number in 0..self.requests {
            let is_full = in_flight.len() == all_depth;
            let job = match self.jobs {
                1 => 0,
                // The job whose request ends first issues the next; at first, each in its turn.
                _ if is_full => in_flight.first_free(device),
                jobs => number as usize % jobs,
            };
            let (op, offset_bytes) = requests.draw(job);
            if self.without_reads && op == Op::Read {
                continue;
            }
            if is_full {
                in_flight.wait(device, self.batch);
                let freed = match self.batch {
                    true => in_flight.end_ns,
                    false => in_flight.known.pop().map_or(now, |Reverse((first, _))| first),
                };
                if self.batch {
                    in_flight.known.clear();
                }
                now = now.max(freed) + self.think_ns;
            }
            if number == self.uncounted {
                begin_ns = now;
                before = device.counters();
            }
            let end = self.serve(device, op, offset_bytes, now);
            in_flight.issue(Issued { op, job, now, end, counts: number >= self.uncounted });
            if number % PERIOD == 0 {
                control.accesses_done.fetch_add(PERIOD, Ordering::Relaxed);
                goes_on(device, control)?;
            }
        }
        goes_on(device, control)?;
        in_flight.wait(device, true);
        let after = device.counters();
        let InFlight { end_ns, read, write, .. } = in_flight;
        let programs = after.programs_of_all_kinds() - before.programs_of_all_kinds();
        Ok(Played { begin_ns, end_ns, read, write, programs, erases: after.erases - before.erases })
    }
}

fn goes_on(device: &Device, control: &Control) -> Result<(), RunError> {
    if control.stop.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted);
    }
    if let Some(full) = device.failure() {
        return Err(RunError::Impossible(full.to_string()));
    }
    if device.last_end() > LAST_NS {
        let what = "the device is at work for more than 2^62 ns (146 years): it is far too slow";
        return Err(RunError::Impossible(what.into()));
    }
    Ok(())
}

/// Plays the steps: each begins at the last completion of the one before it, plus its delay.
///
/// # Errors
///
/// [`RunError::Impossible`] for a step that the device cannot have; [`RunError::Interrupted`] if
/// `control` says so.
pub fn play(
    device: &mut Device,
    steps: &[Step],
    control: &Control,
) -> Result<Vec<Played>, RunError> {
    let mut end_ns: Nanos = 0;
    let mut all = Vec::with_capacity(steps.len());
    for step in steps {
        let played = step.play(device, end_ns + step.delay_ns, control)?;
        end_ns = played.end_ns;
        all.push(played);
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
