//! Every decision of a run as JSON lines (`docs/spec/page-policies.md` 2.4): index, operation,
//! page, hit, evicted pages, flush groups, and padding where a policy pads. With several tiers,
//! what was decided below (`docs/spec/tiers.md` 4.7); with prefix semantics a line a request (9).
//! Pages are LPNs. Between these, what was written while a unit was idle: instant and page
//! (`docs/spec/writer.md` 6).

use destage_core::{Nanos, Page, Plan, Request, decision};
use destage_replay::kv::KvDecision;
use destage_replay::observe::Observer;
use destage_replay::tiers::TierDecision;
use std::io::{self, Write};

/// Writes one line per access, and one per page that is written in an idle instant.
pub struct DecisionLog<'a, W> {
    out: W,
    lpns: &'a [u64],
    index: u64,
    line: Vec<u8>,
    /// Of the access that comes next, with several tiers.
    below: Option<TierDecision>,
    has_tier3: bool,
    failed: Option<io::Error>,
}

impl<'a, W: Write> DecisionLog<'a, W> {
    /// `lpns` is the trace's table from dense ids to LPNs. `out` should be buffered.
    pub fn new(out: W, lpns: &'a [u64]) -> Self {
        let line = Vec::new();
        DecisionLog { out, lpns, index: 0, line, below: None, has_tier3: false, failed: None }
    }

    /// With three tiers, of which the third is told too.
    #[must_use]
    pub fn with_tier3(self, has_tier3: bool) -> Self {
        DecisionLog { has_tier3, ..self }
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// The first error of any write; the run was stopped there.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn write(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) -> io::Result<()> {
        self.line.clear();
        let lpn = |page| lpn_of(self.lpns, page);
        decision::append_line(&mut self.line, self.index, r, hit, plan, lpn);
        if let Some(below) = self.below.take() {
            self.write_below(&below)?;
        }
        self.out.write_all(&self.line)?;
        self.index += 1;
        Ok(())
    }

    /// Goes on with the line of an access (`docs/spec/tiers.md` 4.7).
    fn write_below(&mut self, below: &TierDecision) -> io::Result<()> {
        let line = &mut self.line;
        let lpn = |&page: &Page| lpn_of(self.lpns, page);
        line.truncate(line.len() - b"}\n".len());
        write!(line, r#","tier":{},"admitted":["#, below.tier)?;
        decision::list(line, below.admitted.iter().map(lpn));
        line.extend_from_slice(br#"],"tier2_evicted":["#);
        decision::list(line, below.tier2_evicted.iter().map(lpn));
        if self.has_tier3 {
            line.extend_from_slice(br#"],"tier3_admitted":["#);
            decision::list(line, below.tier3_admitted.iter().map(lpn));
            line.extend_from_slice(br#"],"tier3_evicted":["#);
            decision::list(line, below.tier3_evicted.iter().map(lpn));
        }
        line.extend_from_slice(br#"],"written_back":["#);
        decision::list(line, below.written_back.iter().map(lpn));
        line.extend_from_slice(b"]}\n");
        Ok(())
    }

    fn write_chain(&mut self, served: &KvDecision) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        let lpn = |&page: &Page| lpn_of(self.lpns, page);
        let KvDecision { tiers, inserted, evicted, below, .. } = served;
        write!(line, r#"{{"index":{},"hit_blocks":{},"tiers":["#, self.index, tiers.len())?;
        decision::list(line, tiers.iter().map(|&tier| tier.into()));
        line.extend_from_slice(br#"],"inserted":["#);
        decision::list(line, inserted.iter().map(lpn));
        line.extend_from_slice(br#"],"evicted":["#);
        decision::list(line, evicted.iter().map(lpn));
        if let Some(below) = below {
            line.extend_from_slice(br#"],"admitted":["#);
            decision::list(line, below.admitted.iter().map(lpn));
            line.extend_from_slice(br#"],"tier2_evicted":["#);
            decision::list(line, below.tier2_evicted.iter().map(lpn));
            if self.has_tier3 {
                line.extend_from_slice(br#"],"tier3_admitted":["#);
                decision::list(line, below.tier3_admitted.iter().map(lpn));
                line.extend_from_slice(br#"],"tier3_evicted":["#);
                decision::list(line, below.tier3_evicted.iter().map(lpn));
            }
        }
        line.extend_from_slice(b"]}\n");
        self.out.write_all(line)?;
        self.index += 1;
        Ok(())
    }

    fn write_idle(&mut self, at_ns: Nanos, page: Page) -> io::Result<()> {
        let lpn = lpn_of(self.lpns, page);
        writeln!(self.out, r#"{{"at_ns":{at_ns},"idle_write":{lpn}}}"#)
    }
}

fn lpn_of(lpns: &[u64], page: Page) -> u64 {
    lpns.get(page.0 as usize).copied().unwrap_or(page.0)
}

impl<W: Write> Observer for DecisionLog<'_, W> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if self.failed.is_none() {
            self.failed = self.write(r, hit, plan).err();
        }
    }

    fn tiers(&mut self, decision: &TierDecision) {
        self.below = Some(decision.clone());
    }

    fn chain(&mut self, decision: &KvDecision) {
        if self.failed.is_none() {
            self.failed = self.write_chain(decision).err();
        }
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        if self.failed.is_none() {
            self.failed = self.write_idle(at_ns, page).err();
        }
    }

    fn progress(&mut self, _: u64) -> bool {
        self.failed.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_core::{Lpn, Op};

    #[test]
    fn a_line_says_what_an_access_decided_or_what_an_idle_instant_wrote() {
        let lpns = [100, 200, 300];
        let mut log = DecisionLog::new(Vec::new(), &lpns);
        log.access(&Request::new(Page(0), Lpn(100), Op::Read), true, None);
        log.idle_write(41_000, Page(2));
        let mut plan = Plan::new();
        plan.evict(Page(2), false);
        log.access(&Request::new(Page(1), Lpn(200), Op::Write), false, Some(&plan));
        plan.clear();
        plan.open_group();
        plan.flush_and_evict(Page(0));
        plan.pad(Lpn(101), false);
        log.access(&Request::new(Page(1), Lpn(200), Op::Write), false, Some(&plan));
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                r#"{"index":0,"op":"r","page":100,"hit":true,"evicted":[],"flushed":[]}"#,
                r#"{"at_ns":41000,"idle_write":300}"#,
                r#"{"index":1,"op":"w","page":200,"hit":false,"evicted":[300],"flushed":[]}"#,
                r#"{"index":2,"op":"w","page":200,"hit":false,"evicted":[100],"flushed":[[100]],"padded":[[101]]}"#,
            ]
        );
    }

    #[test]
    fn a_full_disk_stops_the_run_and_is_told_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut log = DecisionLog::new(Full, &[1]);
        log.access(&Request::new(Page(0), Lpn(1), Op::Read), true, None);
        assert!(!log.progress(1));
        assert_eq!(log.finish().err().map(|e| e.kind()), Some(io::ErrorKind::StorageFull));
    }
}
