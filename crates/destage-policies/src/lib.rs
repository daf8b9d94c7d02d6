//! Cache and write-buffer policies: one policy, one file; one table.
//!
//! Each policy is generic over its [`Directory`], which is [`Dense`] in a replay and
//! [`Hashed`] in a live buffer pool. A caller that knows a policy's name only at
//! run time goes through [`build`], which dispatches once and then runs the policy's own code.
//!
//! ```
//! use destage_core::{Blind, Hashed, Lookup, Lpn, Op, Page, Plan, Policy, Request};
//! use destage_policies::{Setup, lru::Lru};
//!
//! let mut pool = Lru::new(&Setup::new(2), Hashed::new());
//! let mut plan = Plan::new();
//! for page in [10, 20, 10, 30] {
//!     let r = Request::new(Page(page), Lpn(page), Op::Write);
//!     if let Lookup::Miss(mut miss) = pool.request(&r) {
//!         while pool.resident() == pool.frames() {
//!             pool.evict(&mut miss, &Blind, &mut plan);
//!         }
//!         pool.admit(&r, miss);
//!     }
//! }
//! assert_eq!(plan.evicted()[0].page, Page(20));
//! ```

pub mod admission;
#[macro_use]
mod alike;
mod clusters;
mod elastic;
mod fifos;
mod frames;
pub mod info;
pub mod params;
mod ranks;
mod ring;
mod sample;
#[cfg(test)]
mod testing;
mod unit_lists;
pub mod written;

pub use clusters::EraseBlocks;
use destage_core::{AnyPolicy, Dense, Directory, Hashed, Policy, Requirements};
use destage_keys::{listed, question};
pub use info::{
    Caveat, Circumstance, Counter, Family, FromRun, Gauge, Info, MultiSize, OneWritePoint, Pads,
    Shown, StackOrder, Takes,
};
use params::{ParamError, Params, Value};
use std::sync::Arc;

/// Evictions between the naming of a victim ([`Policy::coming_victim`]): enough for three misses
/// of the processor's caches one after the other, and few links to walk.
pub(crate) const VICTIMS_AHEAD: u32 = 5;

/// Largest erase block that a policy clusters by, pages: far beyond any drive's.
pub const MOST_PAGES_PER_BLOCK: u32 = 1 << 20;

/// All that a policy is built from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Frames of the buffer, at least 1.
    pub frames: u32,
    /// The policy's parameters, checked.
    pub params: Params,
    /// Distinct pages of the trace, where one is replayed.
    pub trace_pages: Option<u64>,
    /// Pages of an erase block, 1..=[`MOST_PAGES_PER_BLOCK`]: what block-clustering policies
    /// cluster by.
    pub pages_per_block: u32,
    /// Logical capacity; pages beyond it are never padded. `None`: unlimited.
    pub device_pages: Option<u64>,
    /// Erase block of every page of a replay, so that a policy that clusters need not look it
    /// up; blocks of `pages_per_block` pages, and as many pages as the directory has. `None`: ids
    /// of pages are their LPNs.
    pub erase_blocks: Option<Arc<EraseBlocks>>,
    /// Time of computing each block of prompts, nanoseconds, by page; `None`: pages are no blocks.
    pub compute_ns: Option<Arc<[u64]>>,
}

impl Setup {
    /// `frames` frames, no parameters, nothing known of trace and device, erase blocks of 64 pages.
    pub fn new(frames: u32) -> Self {
        assert!(frames > 0, "a buffer has at least one frame");
        Setup {
            frames,
            params: Params::default(),
            trace_pages: None,
            pages_per_block: 64,
            device_pages: None,
            erase_blocks: None,
            compute_ns: None,
        }
    }
}

impl Setup {
    /// The setup of a replay over pages with these LPNs, ascending.
    #[must_use]
    pub fn with_blocks_of(self, lpns: &[u64]) -> Setup {
        let blocks = EraseBlocks::new(lpns.iter().copied(), self.pages_per_block);
        Setup { erase_blocks: Some(Arc::new(blocks)), ..self }
    }
}

/// Work with a policy whose type is known.
pub trait Visitor {
    /// Result of the work.
    type Output;
    /// Runs with the policy of the name that was asked for.
    fn visit<P: Policy<Miss: Send> + Send + 'static>(self, policy: P) -> Self::Output;
}

/// Builds the policy of this name over pages numbered from 0, and forgets its type. [`build`] for
/// those who can bear virtual calls: here every policy is compiled, and nowhere else.
///
/// # Errors
///
/// Errors of [`build`].
pub fn dense(name: &str, setup: &Setup, pages: u32) -> Result<AnyPolicy, BuildError> {
    build(name, setup, Dense::new(pages), Erase)
}

/// Builds the policy of this name over any page numbers, and forgets its type, as [`dense`] does.
///
/// # Errors
///
/// Errors of [`build`].
pub fn hashed(name: &str, setup: &Setup) -> Result<AnyPolicy, BuildError> {
    hashed_with(name, setup, Hashed::new())
}

/// [`hashed`], over a directory that may [tell its changes](Hashed::telling).
///
/// # Errors
///
/// Errors of [`build`].
pub fn hashed_with(name: &str, setup: &Setup, pages: Hashed) -> Result<AnyPolicy, BuildError> {
    build(name, setup, pages, Erase)
}

struct Erase;

impl Visitor for Erase {
    type Output = AnyPolicy;

    fn visit<P: Policy<Miss: Send> + Send + 'static>(self, policy: P) -> AnyPolicy {
        AnyPolicy::new(policy)
    }
}

/// A policy that cannot be built (exit status 2).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// No policy has this name.
    #[error("{0}")]
    Unknown(String),
    /// A parameter is wrong.
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// The one table: module, its catalogue entry, its constructor; `ordered` if it can tell its order
/// of eviction, so that a policy may stand on it. Those that do so follow.
macro_rules! policies {
    (
        $($module:ident :: $info:ident => $constructor:expr $(, $ordered:ident)?;)*
        $([over an order] $over:ident :: $over_info:ident => $over_build:path;)*
    ) => {
        /// Every policy, in the order of the catalogue.
        pub static POLICIES: &[&Info] = &[$(&$module::$info,)* $(&$over::$over_info,)*];

        /// Policies with an order of eviction ([`Policy::ORDERED`]).
        pub static ORDERED: &[&Info] = &[$($(marked!($ordered, &$module::$info),)?)*];

        /// Builds the policy of this name and hands it to `visitor`: the only dispatch of a run.
        pub fn build<D: Directory + 'static, V: Visitor>(
            name: &str,
            setup: &Setup,
            directory: D,
            visitor: V,
        ) -> Result<V::Output, BuildError> {
            $(if name == $module::$info.name {
                return Ok(visitor.visit($constructor(setup, directory)?));
            })*
            $(if name == $over::$over_info.name {
                return $over_build(setup, directory, visitor);
            })*
            Err(unknown(name))
        }

        /// Builds one of [`ORDERED`] for the policy that wraps it.
        pub(crate) fn build_ordered<D: Directory + 'static, V: Visitor>(
            name: &str,
            setup: &Setup,
            directory: D,
            visitor: V,
        ) -> Result<V::Output, BuildError> {
            $($(if marked!($ordered, name == $module::$info.name) {
                return Ok(visitor.visit($constructor(setup, directory)?));
            })?)*
            Err(unknown(name))
        }

        /// Requirements of the policy of this name.
        pub fn requirements(name: &str) -> Result<Requirements, BuildError> {
            $(if name == $module::$info.name {
                return Ok(requirements_of($constructor));
            })*
            // What has an order needs nothing, as a test sees to; nor does what stands on it.
            $(if name == $over::$over_info.name {
                return Ok(Requirements::NONE);
            })*
            Err(unknown(name))
        }
    };
}

/// The value, of a row that is marked `ordered`.
macro_rules! marked {
    (ordered, $value:expr) => {
        $value
    };
}

pub mod aalru;
pub mod ace;
pub mod acr;
pub mod ad_lru;
pub mod arc;
pub mod bpac;
pub mod bplru;
pub mod car;
pub mod casa;
pub mod ccf_lru;
pub mod cfdc;
pub mod cflru;
pub mod cflru_e;
pub mod clc;
pub mod clock;
pub mod clock_pro;
pub mod clock_sweep;
pub mod dual_queue;
pub mod ecr;
pub mod ecr_over;
pub mod fab;
pub mod fifo;
pub mod gcar_bplru;
pub mod gcar_cflru;
pub mod gcar_lru;
pub mod hyperbolic;
pub mod larc;
pub mod lb_clock;
pub mod lecar;
pub mod lfu;
pub mod lfu_da;
pub mod lirs;
pub mod lru;
pub mod lru_k;
pub mod lru_wsr;
pub mod min;
pub mod mq;
pub mod pgdsf;
pub mod random;
pub mod s3_fifo;
pub mod sac;
pub mod sampled;
pub mod sieve;
pub mod slru;
pub mod two_q;
pub mod w_tinylfu;
pub mod watt;

policies! {
    lru::INFO => plain(lru::Lru::new), ordered;
    fifo::INFO => plain(fifo::Fifo::new), ordered;
    clock::INFO => plain(clock::Clock::new), ordered;
    lru_k::INFO => plain(lru_k::LruK::new);
    two_q::INFO => plain(two_q::TwoQ::new);
    arc::INFO => plain(arc::Arc::new);
    lirs::INFO => plain(lirs::Lirs::new);
    mq::INFO => plain(mq::Mq::new);
    min::INFO => plain(min::Min::new);
    dual_queue::INFO => plain(dual_queue::DualQueue::new);
    cflru::INFO => plain(cflru::Cflru::new), ordered;
    lru_wsr::INFO => plain(lru_wsr::LruWsr::new), ordered;
    ccf_lru::INFO => plain(ccf_lru::CcfLru::new);
    ad_lru::INFO => plain(ad_lru::AdLru::new);
    cfdc::INFO => plain(cfdc::Cfdc::new);
    acr::CONSERVATIVE => acr::Acr::conservative;
    acr::OPTIMISTIC => acr::Acr::optimistic;
    acr::HYBRID => acr::Acr::hybrid;
    s3_fifo::INFO => plain(s3_fifo::S3Fifo::new);
    sieve::INFO => plain(sieve::Sieve::new);
    w_tinylfu::INFO => plain(w_tinylfu::WTinyLfu::new);
    casa::INFO => plain(casa::Casa::new);
    watt::INFO => plain(watt::Watt::new);
    larc::INFO => plain(larc::Larc::new);
    car::INFO => plain(car::Car::new);
    clock_sweep::INFO => plain(clock_sweep::ClockSweep::new), ordered;
    lfu::INFO => plain(lfu::Lfu::new);
    lfu_da::INFO => plain(lfu_da::LfuDa::new);
    slru::INFO => plain(slru::Slru::new);
    hyperbolic::INFO => plain(hyperbolic::Hyperbolic::new);
    lecar::INFO => plain(lecar::Lecar::new);
    random::INFO => plain(random::Random::new);
    clock_pro::INFO => plain(clock_pro::ClockPro::new);
    cflru_e::INFO => plain(cflru_e::CflruE::new);
    ecr::INFO => plain(ecr::Ecr::<_, true>::new);
    ecr::WITHOUT_CLEAN_LIST => plain(ecr::Ecr::<_, false>::new);
    gcar_lru::INFO => plain(gcar_lru::GcarLru::new);
    gcar_cflru::INFO => plain(gcar_cflru::GcarCflru::new);
    gcar_bplru::INFO => plain(gcar_bplru::GcarBplru::new);
    sac::INFO => plain(sac::Sac::new);
    fab::INFO => plain(fab::Fab::new);
    bplru::INFO => plain(bplru::Bplru::new);
    clc::INFO => plain(clc::Clc::new);
    bpac::INFO => plain(bpac::Bpac::new);
    aalru::INFO => aalru::Aalru::build;
    lb_clock::INFO => plain(lb_clock::LbClock::new);
    ecr_over::INFO => ecr_over::EcrOver::build;
    sampled::LRU => plain(sampled::SampledLru::new);
    sampled::LFU => plain(sampled::SampledLfu::new);
    pgdsf::INFO => plain(pgdsf::Pgdsf::new);
    [over an order] ace::INFO => ace::build;
}

/// The policies that a comparison runs by default, in this order.
pub static COMPARED: &[&str] = &["lru", "arc", "s3-fifo", "cflru"];

/// The policies that advice tries by default, in this order.
pub static ADVISED: &[&str] = &[
    "lru",
    "fifo",
    "clock-pro",
    "clock-sweep",
    "mq",
    "arc",
    "2q",
    "lirs",
    "s3-fifo",
    "sieve",
    "w-tinylfu",
    "cflru",
    "lru-wsr",
    "acr-h",
    "ecr",
    "gcar-cflru",
    "ecr-e",
    "ace",
    "lru-k",
    "ad-lru",
    "bplru",
    "bpac",
    "aalru",
    "acr-o",
];

/// A constructor that cannot fail, as the table takes one.
fn plain<P, D>(new: impl Fn(&Setup, D) -> P) -> impl Fn(&Setup, D) -> Result<P, BuildError> {
    move |setup: &Setup, directory: D| Ok(new(setup, directory))
}

/// The constructor names the type, and the type its requirements.
fn requirements_of<P: Policy>(_: impl Fn(&Setup, Dense) -> Result<P, BuildError>) -> Requirements {
    P::REQUIREMENTS
}

/// Names of libCacheSim for policies of this table; results have the table's name.
pub static ALIASES: &[(&str, &str)] = &[
    ("belady", "min"),
    ("fifo-reinsertion", "clock"),
    ("lfuda", "lfu-da"),
    ("s3fifo", "s3-fifo"),
    ("twoq", "2q"),
    ("wtinylfu", "w-tinylfu"),
];

/// The catalogue entry of a policy.
pub fn info(name: &str) -> Result<&'static Info, BuildError> {
    let alias = ALIASES.iter().find(|(theirs, _)| *theirs == name);
    let own = alias.map_or(name, |(_, own)| own);
    POLICIES.iter().copied().find(|i| i.name == own).ok_or_else(|| unknown(name))
}

/// Checks a policy's parameters and fills in the defaults.
pub fn check_params<'a>(
    name: &str,
    given: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> Result<Params, BuildError> {
    let info = info(name)?;
    let params = Params::check(name, info.params, given)?;
    if info.over.is_some() {
        written::base(info, &params)?;
    }
    Ok(params)
}

fn unknown(name: &str) -> BuildError {
    let names = || POLICIES.iter().map(|i| i.name);
    let (meant, known) = (question(name, names()), listed(name, names()));
    BuildError::Unknown(format!(
        "unknown policy {name:?}{meant} ({known}; `destage policies` lists all)"
    ))
}
