//! Steps of requests on one device without a cache, one after the other in a closed loop: what fio
//! does to a block device (`docs/spec/fit.md` 10). The queues, the buffer and the flash keep their
//! state from step to step. Memory: the requests in flight, and one histogram a direction.

mod latencies;

use crate::control::Control;
use crate::error::RunError;
use destage_core::{Nanos, Op};
use destage_ssd::config::LAST_NS;
use destage_ssd::{Command, Device, DriveLpn};
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
    fn serve(
        &self,
        device: &mut Device,
        op: Op,
        offset_bytes: u64,
        now: Nanos,
    ) -> Result<Nanos, RunError> {
        device.advance(now);
        device.command(Command::Access(op));
        let page_bytes = u64::from(device.config().page_bytes);
        let first = offset_bytes / page_bytes;
        let last = (offset_bytes + self.block_bytes - 1) / page_bytes;
        let mut completion = now;
        for lpn in first..=last {
            let lpn = DriveLpn(lpn as u32); // below the logical pages
            let served = match op {
                Op::Read => device.read(lpn),
                Op::Write => Some(device.write(lpn)),
            };
            if let Some(served) = served {
                completion = completion.max(known(served.end)?);
            }
        }
        Ok(completion)
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
        let mut in_flight: BinaryHeap<Reverse<(Nanos, usize)>> =
            BinaryHeap::with_capacity(all_depth);
        let mut now = begin;
        let mut end_ns = begin;
        let mut played = Played {
            begin_ns: begin,
            end_ns: begin,
            read: Latencies::default(),
            write: Latencies::default(),
            programs: 0,
            erases: 0,
        };
        let mut before = device.counters();
        for number in 0..self.requests {
            let is_full = in_flight.len() == all_depth;
            // The job whose request ends first issues the next; at first, each in its turn.
            let first_free = in_flight.peek().filter(|_| is_full);
            let job = first_free.map_or(number as usize % self.jobs, |free| free.0.1);
            let (op, offset_bytes) = requests.draw(job);
            if self.without_reads && op == Op::Read {
                continue;
            }
            if is_full {
                let freed =
                    if self.batch { end_ns } else { in_flight.pop().map_or(now, |r| r.0.0) };
                if self.batch {
                    in_flight.clear();
                }
                now = now.max(freed) + self.think_ns;
            }
            if number == self.uncounted {
                played.begin_ns = now;
                before = device.counters();
            }
            let completion = self.serve(device, op, offset_bytes, now)?;
            in_flight.push(Reverse((completion, job)));
            end_ns = end_ns.max(completion);
            if number >= self.uncounted {
                let latencies = if op == Op::Read { &mut played.read } else { &mut played.write };
                latencies.record(completion - now, self.block_bytes);
            }
            if number % PERIOD == 0 {
                control.accesses_done.fetch_add(PERIOD, Ordering::Relaxed);
                goes_on(device, control)?;
            }
        }
        goes_on(device, control)?;
        let after = device.counters();
        played.programs = after.programs_of_all_kinds() - before.programs_of_all_kinds();
        played.erases = after.erases - before.erases;
        played.end_ns = end_ns;
        Ok(played)
    }
}

fn known(end: destage_ssd::PendingTime) -> Result<Nanos, RunError> {
    let refused = || {
        RunError::Impossible("steps of requests are a closed loop, which needs sched = fcfs".into())
    };
    end.known().ok_or_else(refused)
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
