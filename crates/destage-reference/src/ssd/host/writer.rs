//! The background writer (`docs/spec/writer.md`): instants at which units are idle, and what is
//! written then.

use super::Host;
use crate::ssd::policies::Cache;
use crate::ssd::queue::Full;

impl Host {
    /// Time passes until a request at `now`; offers are made on the way (2).
    pub(super) fn wait(&mut self, now: u64) -> Result<(), Full> {
        if self.writer.is_none() {
            self.ssd.advance(now);
            return Ok(());
        }
        loop {
            let next = self.ssd.next_step(now);
            // After everything else of its instant, and only if a request comes later.
            let due = self.offer_due.filter(|&at| at < now && next.is_none_or(|next| next > at));
            if let Some(at) = due {
                self.ssd.now = at;
                self.offer_due = None;
                self.offered = Some(at);
                self.offer(at)?;
            } else if !self.ssd.step(now) {
                break;
            }
            // "What takes no time at all makes no second offer at its instant."
            let went_idle = std::mem::take(&mut self.ssd.went_idle);
            let at = self.ssd.now;
            if went_idle && self.offered != Some(at) && !self.issued.is_empty() {
                self.offer_due = Some(at);
            }
        }
        self.ssd.now = now;
        Ok(())
    }

    fn is_idle(&self, unit: usize) -> bool {
        self.ssd.backlog(unit) == 0
    }

    /// The writer at an instant (3).
    fn offer(&mut self, at: u64) -> Result<(), Full> {
        let Some(mut cache) = self.cache.take() else { return Ok(()) };
        let done = self.trickle(&mut *cache, at);
        self.cache = Some(cache);
        done
    }

    fn trickle(&mut self, cache: &mut dyn Cache, at: u64) -> Result<(), Full> {
        let writer = self.writer.as_ref().expect("instants are offered to the writer");
        let (low_pages, batch) = (writer.low_pages, writer.batch);
        let wanted = low_pages.saturating_sub(self.free.len() as u64);
        let order = cache.order().expect("the policy has an order");
        let first = order.into_iter().take(usize::try_from(wanted).unwrap_or(usize::MAX));
        let mut written = 0;
        for (page, _) in first.filter(|&(_, dirty)| dirty) {
            if written == batch {
                break;
            }
            let list = self.ssd.list_of(page, true);
            let unit = if list < self.ssd.config.units() {
                list
            } else {
                self.ssd.config.unit_of_plane(self.ssd.next_plane())
            };
            if self.is_idle(unit) {
                self.write_ahead(cache, page)?;
                cache.cleaned(page);
                self.written.push((at, page));
                written += 1;
            }
        }
        Ok(())
    }
}
