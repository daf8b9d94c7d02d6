//! The pages of one chip, managed by the base policy.

use crate::Setup;
use crate::arc::{self, Arc};
use crate::cflru::Cflru;
use crate::elastic::Elastic;
use crate::lru::Lru;
use crate::params::Params;
use crate::two_q::TwoQ;
use destage_core::{Blind, Hashed, Lookup, Page, Plan, Policy, Request};

/// The policies that may manage a chip's pages.
pub(super) const BASES: &[&str] = &["lru", "cflru", "2q", "arc"];

/// The base policy over a chip's pages: as many frames as there are, and ghosts of its own.
pub(super) enum Chip {
    Lru(Lru<Hashed>),
    Cflru(Cflru<Hashed>),
    TwoQ(TwoQ<Hashed>),
    Arc(Arc<Hashed>),
}

/// Knowledge of the base about a page that is not resident.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Miss {
    /// Nothing.
    #[default]
    New,
    TwoQ(bool),
    Arc(arc::Miss),
}

impl Miss {
    fn of_two_q(self) -> bool {
        self == Miss::TwoQ(true)
    }

    fn of_arc(self) -> arc::Miss {
        match self {
            Miss::Arc(miss) => miss,
            _ => arc::Miss::New,
        }
    }
}

/// The same for every base.
macro_rules! each {
    ($chip:expr, $policy:ident => $do:expr) => {
        match $chip {
            Chip::Lru($policy) => $do,
            Chip::Cflru($policy) => $do,
            Chip::TwoQ($policy) => $do,
            Chip::Arc($policy) => $do,
        }
    };
}

impl Chip {
    /// No page, and none remembered.
    pub(super) fn new(base: &str, params: &Params) -> Chip {
        let setup = Setup { params: params.clone(), ..Setup::new(1) };
        let mut chip = match base {
            "cflru" => Chip::Cflru(Cflru::new(&setup, Hashed::new())),
            "2q" => Chip::TwoQ(TwoQ::new(&setup, Hashed::new())),
            "arc" => Chip::Arc(Arc::new(&setup, Hashed::new())),
            "lru" => Chip::Lru(Lru::new(&setup, Hashed::new())),
            other => unreachable!("{other} is not among the bases"),
        };
        chip.resize(0, params);
        chip
    }

    /// Looks a page up; `None` if it was a hit.
    pub(super) fn request(&mut self, r: &Request) -> Option<Miss> {
        fn missed<M>(lookup: Lookup<M>, miss: impl Fn(M) -> Miss) -> Option<Miss> {
            match lookup {
                Lookup::Hit(_) => None,
                Lookup::Miss(known) => Some(miss(known)),
                Lookup::Bypass => unreachable!("no base refuses a page"),
            }
        }
        match self {
            Chip::Lru(lru) => missed(lru.request(r), |()| Miss::New),
            Chip::Cflru(cflru) => missed(cflru.request(r), |()| Miss::New),
            Chip::TwoQ(two_q) => missed(two_q.request(r), Miss::TwoQ),
            Chip::Arc(arc) => missed(arc.request(r), Miss::Arc),
        }
    }

    /// The page that an eviction for this miss would give up.
    pub(super) fn candidate(&self, miss: Miss) -> Option<Page> {
        match self {
            Chip::Lru(lru) => lru.candidate(&()),
            Chip::Cflru(cflru) => cflru.candidate(&()),
            Chip::TwoQ(two_q) => two_q.candidate(&miss.of_two_q()),
            Chip::Arc(arc) => arc.candidate(&miss.of_arc()),
        }
    }

    /// Gives up a page for this miss.
    pub(super) fn evict(&mut self, miss: Miss, plan: &mut Plan) {
        match self {
            Chip::Lru(lru) => lru.evict(&mut (), &Blind, plan),
            Chip::Cflru(cflru) => cflru.evict(&mut (), &Blind, plan),
            Chip::TwoQ(two_q) => two_q.evict(&mut miss.of_two_q(), &Blind, plan),
            Chip::Arc(arc) => arc.evict(&mut miss.of_arc(), &Blind, plan),
        }
    }

    /// Takes the page of this miss in.
    pub(super) fn admit(&mut self, r: &Request, miss: Miss) {
        match self {
            Chip::Lru(lru) => lru.admit(r, ()),
            Chip::Cflru(cflru) => cflru.admit(r, ()),
            Chip::TwoQ(two_q) => two_q.admit(r, miss.of_two_q()),
            Chip::Arc(arc) => arc.admit(r, miss.of_arc()),
        };
    }

    /// A resident page leaves for another chip.
    pub(super) fn leave(&mut self, page: Page, params: &Params) {
        each!(self, policy => policy.leave(page, params));
    }

    /// Nothing is known of the page any more, resident or not.
    pub(super) fn forget(&mut self, page: Page) {
        each!(self, policy => policy.forget(page));
    }

    /// So many frames from now on.
    pub(super) fn resize(&mut self, frames: u32, params: &Params) {
        each!(self, policy => policy.resize(frames, params));
    }

    /// Pages resident.
    pub(super) fn resident(&self) -> u32 {
        each!(self, policy => policy.resident())
    }

    pub(super) fn check(&self) {
        each!(self, policy => {
            policy.check();
            assert_eq!(policy.resident(), policy.frames(), "a chip has as many frames as pages");
        });
    }
}
