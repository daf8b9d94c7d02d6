//! GCaR: pages whose chip is collecting stay.
//!
//! Wu, Lin, Mao, Jiang. ICS 2016. Mirrors `docs/spec/device-policies.md` 4.

use super::policies::{Answer, Cache, Recency, Resident};
use super::queue::Ssd;
use crate::Op;

/// `gcar-cflru`; with a window of no pages `gcar-lru`.
pub(crate) struct Gcar {
    pub(crate) recency: Recency,
    pub(crate) window: usize,
}

impl Cache for Gcar {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, ssd: &Ssd) -> Answer {
        let window = self.window;
        self.recency.access(op, page, ssd, |pages| {
            let clean = |resident: &&Resident| !resident.dirty;
            let quiet = |resident: &&Resident| !ssd.list_in_gc(resident.list);
            let in_window = || pages[..window].iter();
            let victim = in_window().find(|page| clean(page) && quiet(page));
            let victim = victim.or_else(|| pages.iter().find(quiet));
            let victim = victim.or_else(|| in_window().find(clean));
            *victim.unwrap_or(&pages[0])
        })
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.recency.forget(page)
    }

    fn installed(&mut self, page: u64, ssd: &Ssd) {
        self.recency.installed(page, ssd);
    }
}
