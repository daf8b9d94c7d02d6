//! The link to the host: transfers of whole pages, each in the first gap that is long enough
//! (`docs/spec/device-today.md` 5.2).
//!
//! A read's page is ready when its unit has read it, so that one decided later may cross earlier: a
//! direction keeps its reserved intervals, as a shared channel does. Pages that come in are ready
//! in the order of their decisions; with a direction of their own they need one number.

use super::InterfaceCounts;
use crate::bus::Reservations;
use crate::config::{InterfaceConfig, LinkDuplex};
use destage_core::Nanos;

#[derive(Clone, Debug)]
pub(super) struct Link {
    page_ns: Nanos, // 0: there is no link
    half: bool,
    in_until: Nanos,                    // full duplex
    in_any_order: Option<Reservations>, // instead of that, where ready times may decrease
    out: Reservations,                  // half duplex: of both directions
    busy_ns: Nanos,
    wait_ns: Nanos,
}

impl Link {
    pub(super) fn new(config: &InterfaceConfig, page_bytes: u32) -> Self {
        Link {
            page_ns: config.transfer_ns(page_bytes),
            half: config.link_duplex == LinkDuplex::Half,
            in_until: 0,
            in_any_order: None,
            out: Reservations::default(),
            busy_ns: 0,
            wait_ns: 0,
        }
    }

    /// Pages come in in no order of their ready times (`docs/spec/map-cache.md` 8).
    pub(super) fn keep_order(&mut self) {
        self.in_any_order = Some(Reservations::default());
    }

    /// A page goes to the host: when it has arrived.
    #[inline]
    pub(super) fn send(&mut self, ready: Nanos, now: Nanos) -> Nanos {
        if self.page_ns == 0 {
            return ready;
        }
        self.busy_ns += self.page_ns;
        self.out.forget(now);
        let end = self.out.reserve(ready, self.page_ns);
        self.wait_ns = self.wait_ns.saturating_add(end - self.page_ns - ready);
        end
    }

    /// A page comes from the host, ready no earlier than the one before it.
    #[inline]
    pub(super) fn take_in(&mut self, ready: Nanos, now: Nanos) -> Nanos {
        if self.half {
            return self.send(ready, now);
        }
        if self.page_ns == 0 {
            return ready;
        }
        self.busy_ns += self.page_ns;
        if let Some(taken) = &mut self.in_any_order {
            taken.forget(now);
            let end = taken.reserve(ready, self.page_ns);
            self.wait_ns = self.wait_ns.saturating_add(end - self.page_ns - ready);
            return end;
        }
        let begin = self.in_until.max(ready);
        self.wait_ns = self.wait_ns.saturating_add(begin - ready);
        self.in_until = begin + self.page_ns;
        self.in_until
    }

    /// Writes the link's transfers and waits into `counts`.
    pub(super) fn count(&self, counts: &mut InterfaceCounts) {
        counts.link_busy_ns = self.busy_ns;
        counts.link_transfers = self.busy_ns.checked_div(self.page_ns).unwrap_or(0);
        counts.link_wait_ns_sum = self.wait_ns;
    }
}
