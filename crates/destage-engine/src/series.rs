//! How a run develops: what was counted in each period of so many accesses.

use destage_core::{Nanos, Page, Plan, Request};
use destage_replay::counters::Counters;
use destage_replay::kv::KvDecision;
use destage_replay::observe::Observer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of one period.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Period {
    /// First access of the period, counted from 0 over the whole run, warm-up included.
    pub first_access: u64,
    /// Counters of the period. `physical_reads` are read misses and padding reads, with
    /// [`fetched`](Self::fetched) write misses too; `physical_writes` destaged pages, padding,
    /// pages written through and idle writes. Writes after the last access are in no period.
    #[serde(flatten)]
    pub counters: Counters,
    /// Where the policy had adapted to at the end of the period, if it adapts: ARC's p, BPAC's
    /// thresholds, AALRU's tau.
    #[serde(flatten)]
    pub gauges: BTreeMap<String, f64>,
}

impl Period {
    fn at(first_access: u64) -> Self {
        Period { first_access, counters: Counters::default(), gauges: BTreeMap::new() }
    }

    /// The period of a run whose write misses read their page first.
    #[must_use]
    pub fn fetched(mut self) -> Self {
        self.counters.physical_reads += self.counters.write_misses;
        self
    }
}

/// Collects a [`Period`] every so many accesses; the last one may be shorter.
pub struct Series {
    period_accesses: u64,
    current: Period,
    done: Vec<Period>,
    accesses: u64,
    of_prefixes: bool, // accesses are blocks of prompts, hits those of cached prefixes
}

impl Series {
    /// A period is at least one access.
    pub fn new(period_accesses: u64) -> Self {
        let period_accesses = period_accesses.max(1);
        let current = Period::at(0);
        Series { period_accesses, current, done: Vec::new(), accesses: 0, of_prefixes: false }
    }

    /// All periods, the unfinished last one included.
    pub fn finish(mut self) -> Vec<Period> {
        if self.current.counters.accesses() > 0 {
            self.close();
        }
        self.done
    }

    /// The period has all its accesses; the next one closes it.
    fn is_full(&self) -> bool {
        self.accesses - self.current.first_access >= self.period_accesses
    }

    fn close(&mut self) {
        let c = &mut self.current.counters;
        if self.of_prefixes {
            c.physical_writes = c.destaged_pages;
            let next = Period::at(self.accesses);
            return self.done.push(std::mem::replace(&mut self.current, next));
        }
        c.physical_reads = c.read_misses + c.padding_reads;
        c.physical_writes = c.destaged_pages + c.padding_writes + c.written_through;
        c.physical_writes += c.idle_writes.unwrap_or(0);
        let next = Period::at(self.accesses);
        self.done.push(std::mem::replace(&mut self.current, next));
    }
}

impl Observer for Series {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if self.is_full() {
            self.close();
        }
        if hit {
            self.current.counters.hit(r.op);
        } else {
            self.current.counters.miss(r.op);
        }
        if let Some(plan) = plan {
            self.current.counters.evicted(plan);
        }
        self.accesses += 1;
    }

    fn refused(&mut self, r: &Request, plan: &Plan) {
        self.access(r, false, None);
        self.current.counters.bypasses += 1;
        self.current.counters.written_through += u64::from(!plan.flushed().is_empty());
    }

    /// A period ends with the request that fills it.
    fn chain(&mut self, decision: &KvDecision) {
        if self.is_full() {
            self.close();
        }
        self.of_prefixes = true;
        let hits = decision.tiers.len() as u64;
        let c = &mut self.current.counters;
        c.read_hits += hits;
        c.read_misses += decision.blocks - hits;
        c.evictions += decision.evicted.len() as u64;
        c.clean_evictions += decision.evicted.len() as u64;
        c.physical_reads += decision.tiers.iter().filter(|&&tier| tier == 2).count() as u64;
        let written = decision.below.as_ref().map_or(&decision.inserted, |below| &below.admitted);
        c.destaged_pages += written.len() as u64;
        self.accesses += decision.blocks;
    }

    /// After the accesses of its period: the last of them came before.
    fn idle_write(&mut self, _: Nanos, _: Page) {
        *self.current.counters.idle_writes.get_or_insert(0) += 1;
    }

    fn wants_gauges(&self) -> bool {
        self.is_full()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.current.gauges.insert(name.to_string(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_core::{Lpn, Op, Page};

    /// Sees operations, if any are shown.
    struct Watcher;

    impl Observer for Watcher {
        fn wants_operations(&self) -> bool {
            true
        }

        fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}
    }

    #[test]
    fn an_observer_that_is_absent_wants_no_operations() {
        assert!((Series::new(1), Some(Watcher)).wants_operations());
        assert!(!(Series::new(1), None::<Watcher>).wants_operations());
    }

    #[test]
    fn a_period_of_prompts_ends_with_the_request_that_fills_it() {
        let mut series = Series::new(4);
        for hits in [0, 1, 3] {
            let tiers = vec![1, 2, 2][..hits].to_vec();
            let inserted = vec![Page(7); 3 - hits];
            series.chain(&KvDecision { blocks: 3, tiers, inserted, ..KvDecision::default() });
        }
        let periods = series.finish();
        assert_eq!(periods.iter().map(|p| p.first_access).collect::<Vec<_>>(), [0, 6]);
        let counted = periods.iter().map(|p| (p.counters.hits(), p.counters.read_misses));
        assert_eq!(counted.collect::<Vec<_>>(), [(1, 5), (3, 0)]);
        let flash = periods.iter().map(|p| (p.counters.physical_writes, p.counters.physical_reads));
        assert_eq!(flash.collect::<Vec<_>>(), [(5, 0), (0, 2)]);
    }

    #[test]
    fn periods_add_up_to_the_run() {
        let mut series = Series::new(3);
        for k in 0..8u64 {
            let op = if k % 2 == 0 { Op::Read } else { Op::Write };
            let r = Request::new(Page(k), Lpn(k), op);
            if k > 4 {
                let mut plan = Plan::default();
                if op.is_write() {
                    plan.write_through(r.page);
                }
                series.refused(&r, &plan);
            } else {
                series.access(&r, k % 4 == 0, None);
            }
        }
        series.gauge("p", 7.0);
        let periods = series.finish();
        assert_eq!(periods.iter().map(|p| p.first_access).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(periods.iter().map(|p| p.counters.accesses()).collect::<Vec<_>>(), [3, 3, 2]);
        assert_eq!(periods.iter().map(|p| p.counters.hits()).sum::<u64>(), 2);
        let refused = periods.iter().map(|p| (p.counters.bypasses, p.counters.written_through));
        assert_eq!(refused.collect::<Vec<_>>(), [(0, 0), (1, 1), (2, 1)]);
        let counters = &periods[2].counters;
        assert_eq!((counters.physical_writes, counters.destages), (1, 0));
        assert_eq!((counters.read_misses, counters.write_misses), (1, 1));
        assert_eq!(periods[2].clone().fetched().counters.physical_reads, 2);
        assert_eq!(periods[2].gauges["p"], 7.0, "as it stands at the end");
    }
}
