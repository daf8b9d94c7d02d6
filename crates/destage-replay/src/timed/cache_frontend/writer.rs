//! Pages written while units are idle (`docs/spec/writer.md`): by the policy, if it asks for such
//! instants, and by the writer of the host.
//!
//! ```text
//!  requests ──┬────────────┬───────────────────────┬──▶ time
//!             ▲            ▲           ▲     ▲     after the last: none
//!           offer        offer       offers: a unit has become idle
//! ```
//!
//! The run's loop finds the instants; they cost a branch for each request of runs without a writer.

use super::{CacheFrontend, Ledger, Pages};
use crate::observe::{Observer, Watcher};
use destage_core::{DeviceView, Lpn, Nanos, Op, Page, Policy, Requirements, UnitId};
use destage_ssd::config::EvictWait;
use destage_ssd::{Command, Device, WriterConfig};
use std::ops::DerefMut;

impl<P: Policy, Q: DerefMut<Target = P>, T: Pages> CacheFrontend<'_, Q, T> {
    /// With this writer, or none. The builder of the policy has checked that it has an order.
    pub(in crate::timed) fn write_ahead(&mut self, writer: Option<WriterConfig>) {
        assert!(writer.is_none() || P::ORDERED, "the policy shows its next victims");
        if writer.is_some() {
            self.policy.keep_order();
        }
        self.writer = writer;
    }

    #[inline(always)]
    pub(super) fn asks_for_idle(&self) -> bool {
        self.policy.requirements().contains(Requirements::IDLE)
    }

    /// Asks the policy, for each unit that is idle (5). It may want to be asked again.
    pub(super) fn ask(
        &mut self,
        device: &mut Device,
        at: Nanos,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> bool {
        for unit in (0..device.units()).map(UnitId) {
            if device.backlog_ns(unit) > 0 {
                continue;
            }
            self.plan.clear();
            self.policy.idle(unit, &*device, &mut self.plan);
            if !self.plan.evicted().is_empty() || !self.plan.pad_runs().is_empty() {
                continue; // against the law: `Checked` ends the run
            }
            for k in 0..self.plan.flushed().len() {
                let page = self.plan.flushed()[k];
                self.write_idle(device, at, page, ledger, observer);
            }
        }
        true
    }

    /// The writer writes what it may at this instant (3). False: every page that it looks at is
    /// clean.
    pub(super) fn trickle(
        &mut self,
        device: &mut Device,
        at: Nanos,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> bool {
        let Some(WriterConfig { writer_low_pages, writer_batch, .. }) = self.writer else {
            return false;
        };
        let free = self.policy.frames() - self.policy.resident();
        let mut left = writer_low_pages.saturating_sub(free);
        if left == 0 {
            return false;
        }
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.clear();
        self.policy.next_victims(&mut |page, dirty| {
            if dirty {
                ahead.push(page);
            }
            left -= 1;
            left > 0
        });
        let mut written = 0;
        for &page in &ahead {
            if written == writer_batch {
                break;
            }
            let target = device.target(Lpn(self.pages.lpn(page).0.into()));
            if device.backlog_ns(device.unit_of(target)) == 0 {
                self.write_idle(device, at, page, ledger, observer);
                self.policy.cleaned(page);
                written += 1;
            }
        }
        let looks_on = (written as usize) < ahead.len();
        self.ahead = ahead;
        looks_on
    }

    /// Writes a page that stays: only the next user of its frame waits for it (4). It is no
    /// write-back of a victim: nothing is sampled, and its latency is not among theirs (6).
    fn write_idle(
        &mut self,
        device: &mut Device,
        at: Nanos,
        page: Page,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) {
        let lpn = self.pages.lpn(page);
        let counted = device.queues().count_latencies(false);
        device.command(Command::Access(Op::Write));
        let served = device.write_as(lpn, self.pages.written_back(page, 0));
        device.queues().count_latencies(counted);
        self.submitted(Some(page), Op::Write, at);
        *ledger.pages.idle_writes.get_or_insert(0) += 1;
        observer.idle_write(at, page);
        let written = match self.cache.evict_wait {
            EvictWait::Program | EvictWait::Staged => served.end,
            EvictWait::Transfer => served.transferred,
            EvictWait::None => return,
        };
        let held = self.pages.held(page);
        held.frame = device.queues().times().later(held.frame, written);
    }
}
