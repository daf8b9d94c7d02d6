//! The writer: writes pages ahead that would be evicted soon (`docs/spec/pool.md` 8.3).

use crate::bell::Helper;
use crate::destage::Reason;
use crate::frame::{Exclusive, Frame, Mark};
use crate::options::Writer;
use crate::shared::Shared;
use crate::store::Store;
use destage_core::{Page, Policy};
use std::sync::Arc;
use std::time::Duration;

impl Writer {
    /// Starts the thread of a pool's writer.
    pub(crate) fn start<S: Store>(self, pool: &Arc<Shared<S>>) -> Helper {
        let period = Duration::from_millis(self.period_ms.max(1));
        let (bell, pool) = (Arc::clone(&pool.writer), Arc::clone(pool));
        Helper::start("destage-writer", &bell, period, move || pool.write_ahead(self))
    }
}

impl<S: Store> Shared<S> {
    pub(crate) fn wake_writer(&self) {
        if self.options.writer.is_some() {
            self.writer.wake();
        }
    }

    /// Writes those of the next victims that are dirty, and tells the policy.
    fn write_ahead(&self, writer: Writer) {
        let chosen = self.next_dirty(writer);
        let mut frames: Vec<Arc<Frame>> = chosen.iter().map(|(f, _)| Arc::clone(f)).collect();
        frames.sort_by_key(|frame| frame.page);
        let Ok(written) = self.write_pinned(frames, Reason::Idle) else { return };
        let mut core = self.core();
        let count = core.log.counters.idle_writes.get_or_insert(0);
        *count += written.pages as u64;
        for (frame, stay) in chosen {
            let is_as_it_was = self.table.with(frame.page, |found, state| {
                let is_same = Arc::ptr_eq(found, &frame) && state.stay == stay && state.resident;
                is_same && state.mark != Mark::Dirty && state.users == 0
            });
            if is_as_it_was == Some(true)
                && let Some(policy) = core.cache.policy()
            {
                policy.cleaned(Page(frame.page));
            }
        }
    }

    /// Dirty pages among those that would leave next, pinned, each with its stay.
    fn next_dirty(&self, writer: Writer) -> Vec<(Arc<Frame>, u32)> {
        let mut core = self.core();
        let Some(policy) = core.cache.policy() else { return Vec::new() };
        let free = policy.frames() - policy.resident();
        let mut left = writer.low_pages.saturating_sub(free);
        let mut chosen = Vec::new();
        if left == 0 || writer.batch_pages == 0 {
            return chosen;
        }
        policy.next_victims(&mut |page, is_dirty| {
            left -= 1;
            if is_dirty {
                self.table.with(page.0, |frame, state| {
                    let is_free = state.exclusive == Exclusive::No && state.users == 0;
                    if state.mark == Mark::Dirty && is_free {
                        state.store_pins += 1;
                        chosen.push((Arc::clone(frame), state.stay));
                    }
                });
            }
            left > 0 && chosen.len() < writer.batch_pages as usize
        });
        chosen
    }
}
