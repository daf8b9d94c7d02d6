//! The feed of ZFS's L2ARC. Mirrors `docs/spec/tiers.md` 4.12: every pass is made.

use serde_json::{Map, Value};

use super::Lower;
use crate::ace::Ordered;
use crate::arc::Arc;
use crate::{Model, Op, Params, ordered};

/// Lists of a policy, each from its tail; beside the policy itself, access by access.
enum Lists {
    /// A policy with an order.
    One(Box<dyn Ordered>),
    /// T2 and T1.
    Two(Arc),
}

/// The thread, and what it sees of tier 1.
pub(super) struct Feed {
    interval: u64,
    min_interval: u64,
    warm_pages: u64,
    cold_pages: u64,
    headroom: u64,
    only_mfu: bool,
    lists: Lists,
    warm: bool,
    /// The next pass; none before the first request.
    pass: Option<u64>,
}

impl Feed {
    /// From the object `feed` of a vector, over this tier 1.
    pub(super) fn new(
        given: Option<&Value>,
        (policy, frames, params): (&str, usize, &Map<String, Value>),
    ) -> Option<Feed> {
        let given = given.filter(|given| !given.is_null())?;
        let number = |key: &str| given[key].as_u64().expect("a number");
        Some(Feed {
            interval: number("interval_ns"),
            min_interval: number("min_interval_ns"),
            warm_pages: number("warm_pages"),
            cold_pages: number("cold_pages"),
            headroom: number("headroom"),
            only_mfu: given["lists"] == "mfu",
            lists: match policy {
                "arc" => Lists::Two(Arc::new(frames)),
                name => Lists::One(ordered(name, frames, &Params(params)).expect("an order")),
            },
            warm: false,
            pass: None,
        })
    }

    /// Tier 1 sees an access to a page, which may have left it because it has expired.
    pub(super) fn access(&mut self, op: Op, page: u64, has_left: bool) {
        if has_left {
            self.forget(page);
        }
        match &mut self.lists {
            Lists::One(order) => order.access(op, page),
            Lists::Two(arc) => arc.access(op, page),
        };
    }

    /// Tier 1 forgets a page.
    pub(super) fn forget(&mut self, page: u64) {
        match &mut self.lists {
            Lists::One(order) => order.forget(page),
            Lists::Two(arc) => arc.forget(page),
        };
    }

    /// A page leaves tier 1.
    pub(super) fn leaves(&mut self) {
        self.warm = true;
    }

    /// The lists in turn, each from the end where a pass begins, with dirty bits.
    fn in_turn(&mut self) -> Vec<Vec<(u64, bool)>> {
        let mut lists = match &mut self.lists {
            Lists::One(order) => vec![order.order()],
            Lists::Two(arc) => {
                let dirty = arc.dirty_pages();
                let [t1, t2] = arc.tails_first().map(|pages| {
                    pages.into_iter().map(|page| (page, dirty.contains(&page))).collect()
                });
                if self.only_mfu { vec![t2] } else { vec![t2, t1] }
            }
        };
        if !self.warm {
            lists.iter_mut().for_each(|list| list.reverse());
        }
        lists
    }
}

impl Lower {
    /// A request arrives: the passes until then are made.
    pub(crate) fn fed(&mut self, now: u64) {
        let Some(mut feed) = self.feed.take() else { return };
        let mut at = feed.pass.unwrap_or(now + feed.interval);
        while at <= now {
            let most = if feed.warm { feed.warm_pages } else { feed.cold_pages };
            let fed = self.pass(feed.in_turn(), most, feed.headroom);
            at += if 2 * fed > most { feed.min_interval } else { feed.interval };
        }
        feed.pass = Some(at);
        self.feed = Some(feed);
    }

    /// One pass; how many pages it feeds.
    fn pass(&mut self, lists: Vec<Vec<(u64, bool)>>, most: u64, headroom: u64) -> u64 {
        let mut fed = 0;
        for list in lists {
            for (nth, (page, dirty)) in list.into_iter().enumerate() {
                if headroom > 0 && nth as u64 >= headroom * most {
                    break;
                }
                if dirty || self.pages.contains_key(&page) {
                    continue;
                }
                if fed == most {
                    return fed;
                }
                fed += 1;
                self.count("offers");
                self.takes_in(page, false);
            }
        }
        fed
    }

    /// A page leaves tier 1, above a tier that is fed.
    pub(super) fn leaves_above_a_feed(&mut self, page: u64, dirty: bool) {
        if dirty {
            if self.pages.contains_key(&page) {
                self.drop_copy(page);
            }
            self.count("backing_writes");
            self.decision.written_back.push(page);
        }
    }
}
