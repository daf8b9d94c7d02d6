//! Slow, obvious reference models of the page policies; in [`ssd`] one of the device and the
//! policies that see it, in [`ftl`] those of the FTLs. [`run_tiers`] and [`run_kv`] are those of
//! `docs/spec/tiers.md`.
//!
//! Every page policy of the specification (`docs/spec/page-policies.md`,
//! `docs/spec/further-policies.md`, `docs/spec/ace.md`) is written here a second time, from its
//! text alone, with lists that are searched from one end to the other. A reference model is meant
//! to be held beside the section it mirrors; the fast policies are then compared with the reference
//! models on as many traces as one likes.
//!
//! This file holds what the reference models share: the interface, the table of names, the common
//! model of section 2 (frames, parameters, lists) and [`run`], which keeps the counters of section
//! 2.5.
//!
//! Lists run as in the specification: the front of a `VecDeque` is the MRU end (head, top), its
//! back the LRU end (tail, bottom). Files that run the other way, as their section does, say so.
//!
//! Cost. O(s) or worse per access, by design. Parameters are trusted: ranges are the business of
//! the code under test, so a wrong type or an unknown key is a panic that names it.

mod ace;
mod acr;
mod ad_lru;
mod admission;
mod arc;
pub mod block;
mod buffer;
mod car;
mod casa;
mod ccf_lru;
mod cfdc;
mod cflru;
mod clock;
mod clock_pro;
mod clock_sweep;
mod dual_queue;
mod fifo;
mod frames;
pub mod ftl;
mod hyperbolic;
mod kv;
mod larc;
mod lecar;
mod lfu;
mod lfu_da;
mod lirs;
mod lru;
mod lru_k;
mod lru_wsr;
mod min;
mod mq;
mod pgdsf;
mod pinned;
mod random;
mod s3_fifo;
mod sampled;
mod sieve;
mod slru;
pub mod ssd;
mod through;
mod tiers;
mod trims;
mod ttl;
mod two_q;
mod w_tinylfu;
mod watt;

use buffer::Buffer;
pub use kv::{KvDecision, KvOptions, KvOutcome, Prompt, run_kv};
pub use pinned::{PinnedRun, run_pinned};
use sampled::{Rule, Sampled};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
pub use tiers::{
    TierDecision, TierOutcome, run_tiers, run_tiers_at, run_tiers_pinned, run_tiers_with_ttl,
};
pub use trims::{Step, Trimmed, run_with_trims};
pub use ttl::run_with_ttl;

use serde_json::{Map, Value};

/// The operation of one page access (`docs/spec/page-policies.md` 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// The page is read; a resident page keeps its state.
    Read,
    /// The whole page is written; it is dirty afterwards.
    Write,
}

/// The decision of one access (`docs/spec/page-policies.md` 2.4).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Whether the page was resident when the access arrived.
    pub hit: bool,
    /// Evicted pages in order; here none or one.
    pub evicted: Vec<u64>,
    /// Pages written to flash, as groups of one page; here none, or the dirty victim and what is
    /// written with it, or the page itself if it is written and not admitted.
    pub flushed: Vec<Vec<u64>>,
}

impl Decision {
    /// A hit never evicts anything.
    pub(crate) fn hit() -> Decision {
        Decision { hit: true, evicted: Vec::new(), flushed: Vec::new() }
    }

    /// A miss while frames are free evicts nothing either.
    pub(crate) fn miss() -> Decision {
        Decision { hit: false, evicted: Vec::new(), flushed: Vec::new() }
    }
}

/// A policy together with its frames, driven one access at a time.
pub trait Model {
    /// Runs one access and says what was decided.
    fn access(&mut self, op: Op, page: u64) -> Decision;

    /// The accesses that follow are of another request, for models that read where one begins.
    fn begins_request(&mut self) {}

    /// The page is trimmed, resident or not (`docs/spec/device-today.md` 4.2): it leaves every list
    /// that names it. Its dirty bit, if it was resident.
    fn forget(&mut self, page: u64) -> Option<bool>;

    /// The state in the layout of the specification's tables, such as
    /// `T1[3 1] T2[7] B1[] B2[4] p=1`, for failure messages.
    fn lists(&self) -> String;

    /// The resident pages that are dirty, in ascending order.
    fn dirty_pages(&self) -> Vec<u64>;

    /// The name of the list that the last victim left (`docs/spec/device-today.md` 8.4).
    fn label(&self) -> u64 {
        0
    }

    /// The page of the last access was not admitted.
    fn refused(&self) -> bool {
        false
    }
}

/// The policies, in the order of the specification (section 1).
pub const NAMES: &[&str] = &[
    "lru",
    "fifo",
    "clock",
    "lru-k",
    "2q",
    "arc",
    "lirs",
    "mq",
    "min",
    "dual-queue",
    "cflru",
    "lru-wsr",
    "ccf-lru",
    "ad-lru",
    "cfdc",
    "acr-c",
    "acr-o",
    "acr-h",
    "s3-fifo",
    "sieve",
    "w-tinylfu",
    "casa",
    "watt",
    "larc",
    "car",
    "clock-sweep",
    "lfu",
    "lfu-da",
    "slru",
    "hyperbolic",
    "lecar",
    "random",
    "clock-pro",
    "sampled-lru",
    "sampled-lfu",
    "pgdsf",
];

/// Policies over another one (`docs/spec/ace.md`): they write pages that stay. None of [`NAMES`].
pub const WRAPPERS: &[&str] = &["ace"];

/// Names with admission control (`docs/spec/further-policies.md`, 2.1).
pub const ADMISSION: &[&str] = &["larc"];

/// The parameters of a policy (section 1), without the options that all of them accept.
fn parameters(policy: &str) -> &'static [&'static str] {
    match policy {
        "lru-k" => &["k", "correlated_period", "retained_period"],
        "2q" => &["in_fraction", "out_fraction"],
        "lirs" => &["hir_fraction", "ghost_max"],
        "mq" => &["queues", "life_time", "out_fraction"],
        "dual-queue" => &["first_fraction"],
        "cflru" => &["window_fraction"],
        "ad-lru" => &["min_lc_fraction"],
        "cfdc" => &["priority_fraction", "cluster_size"],
        "acr-c" => &["cost_read", "cost_write", "ghost_fraction", "window_fraction"],
        "acr-o" => {
            &["cost_read", "cost_write", "ghost_fraction", "window_fraction", "logical_operations"]
        }
        "acr-h" => &[
            "cost_read",
            "cost_write",
            "ghost_fraction",
            "window_fraction",
            "file_pages",
            "logical_operations",
        ],
        "s3-fifo" => &["small_fraction", "ghost_fraction"],
        "w-tinylfu" => &["window_fraction", "protected_fraction", "sample_factor"],
        "casa" => &["cost_read", "cost_write", "tau_fraction"],
        "watt" => &[
            "access_slots",
            "write_slots",
            "first_value",
            "write_cost",
            "write_as_read",
            "epoch_fraction",
            "epoch_on_hits",
            "sample",
            "seed",
        ],
        "larc" => &["admit_while_filling", "admit_writes"],
        "clock-sweep" => &["max_usage", "initial_usage"],
        "slru" => &["segments", "protected_fraction"],
        "hyperbolic" => &["sample", "seed"],
        "lecar" => &[
            "learning_rate",
            "discount",
            "initial_weight",
            "history_fraction",
            "keep_frequency",
            "seed",
        ],
        "random" => &["seed"],
        "sampled-lru" | "sampled-lfu" => &["k", "seed"],
        "pgdsf" => &["value"],
        "clock-pro" => &["cold_min_fraction", "cold_max_fraction", "ghost_fraction"],
        "ace" => &["base", "writes"],
        _ => &[],
    }
}

/// Options that every policy accepts (section 2.5); they change counters, never decisions.
const OPTIONS: &[&str] = &["fetch_on_write_miss", "flush_at_end"];

/// A fresh reference model of `policy` with `frames` frames, at least 1; `None` if there is no such
/// policy.
///
/// `trace` is the whole access sequence: MIN looks ahead in it, `acr-h` counts its distinct pages.
///
/// # Panics
///
/// On no frames, on a parameter that the policy does not have, and on one of the wrong type.
pub fn model(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    trace: &[(Op, u64)],
) -> Option<Box<dyn Model>> {
    let steps: Vec<Step> = trace.iter().map(|&(op, page)| Step::Access(op, page)).collect();
    model_with_trims(policy, frames, params, &steps)
}

/// As [`model`], for a run with trims.
///
/// # Panics
///
/// As [`model`].
pub fn model_with_trims(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    trace: &[Step],
) -> Option<Box<dyn Model>> {
    if !NAMES.contains(&policy) && !WRAPPERS.contains(&policy) {
        return None;
    }
    assert!(frames >= 1, "a cache has at least one frame");
    for key in params.keys() {
        let known = parameters(policy).contains(&key.as_str()) || OPTIONS.contains(&key.as_str());
        assert!(known, "{policy} has no parameter {key}, only {:?}", parameters(policy));
    }
    let params = &Params(params);
    Some(match policy {
        "lru" => Box::new(lru::Lru::new(frames)),
        "fifo" => Box::new(fifo::Fifo::new(frames)),
        "clock" => Box::new(clock::Clock::new(frames)),
        "lru-k" => Box::new(lru_k::LruK::new(frames, params)),
        "2q" => Box::new(two_q::TwoQ::new(frames, params)),
        "arc" => Box::new(arc::Arc::new(frames)),
        "lirs" => Box::new(lirs::Lirs::new(frames, params)),
        "mq" => Box::new(mq::Mq::new(frames, params)),
        "min" => Box::new(min::Min::new(frames, trace)),
        "dual-queue" => Box::new(dual_queue::DualQueue::new(frames, params)),
        "cflru" => Box::new(cflru::Cflru::new(frames, params)),
        "lru-wsr" => Box::new(lru_wsr::LruWsr::new(frames)),
        "ccf-lru" => Box::new(ccf_lru::CcfLru::new(frames)),
        "ad-lru" => Box::new(ad_lru::AdLru::new(frames, params)),
        "cfdc" => Box::new(cfdc::Cfdc::new(frames, params)),
        "acr-c" => Box::new(acr::Acr::new(acr::Scheme::Conservative, frames, params, trace)),
        "acr-o" => Box::new(acr::Acr::new(acr::Scheme::Optimistic, frames, params, trace)),
        "acr-h" => Box::new(acr::Acr::new(acr::Scheme::Hybrid, frames, params, trace)),
        "s3-fifo" => Box::new(s3_fifo::S3Fifo::new(frames, params)),
        "sieve" => Box::new(sieve::Sieve::new(frames)),
        "w-tinylfu" => Box::new(w_tinylfu::WTinyLfu::new(frames, params)),
        "casa" => Box::new(casa::Casa::new(frames, params)),
        "watt" => Box::new(watt::Watt::new(frames, params)),
        "larc" => Box::new(larc::Larc::new(frames, params)),
        "car" => Box::new(car::Car::new(frames)),
        "clock-sweep" => Box::new(clock_sweep::ClockSweep::new(frames, params)),
        "lfu" => Box::new(lfu::Lfu::new(frames)),
        "lfu-da" => Box::new(lfu_da::LfuDa::new(frames)),
        "slru" => Box::new(slru::Slru::new(frames, params)),
        "hyperbolic" => Box::new(hyperbolic::Hyperbolic::new(frames, params)),
        "lecar" => Box::new(lecar::Lecar::new(frames, params)),
        "random" => Box::new(random::Random::new(frames, params)),
        "clock-pro" => Box::new(clock_pro::ClockPro::new(frames, params)),
        "sampled-lru" => Box::new(Sampled::new(Rule::Recency, frames, params)),
        "sampled-lfu" => Box::new(Sampled::new(Rule::Frequency, frames, params)),
        "pgdsf" => Box::new(pgdsf::Pgdsf::new(frames, params)),
        "ace" => over(frames, params),
        _ => unreachable!("{policy} is in NAMES but has no reference model"),
    })
}

/// A policy with an order (`docs/spec/ace.md`, 2); `None` for any other.
fn ordered(policy: &str, frames: usize, params: &Params) -> Option<Box<dyn ace::Ordered>> {
    Some(match policy {
        "lru" => Box::new(lru::Lru::new(frames)),
        "fifo" => Box::new(fifo::Fifo::new(frames)),
        "clock" => Box::new(clock::Clock::new(frames)),
        "cflru" => Box::new(cflru::Cflru::new(frames, params)),
        "lru-wsr" => Box::new(lru_wsr::LruWsr::new(frames)),
        "clock-sweep" => Box::new(clock_sweep::ClockSweep::new(frames, params)),
        _ => return None,
    })
}

/// ACE over the policy that its parameter names, one of those with an order.
fn over(frames: usize, params: &Params) -> Box<dyn Model> {
    let (name, own) = ace::written(params.text("base").unwrap_or("lru"));
    let own = &Params(&own);
    match name {
        "lru" => Box::new(ace::Ace::new(lru::Lru::new(frames), params)),
        "fifo" => Box::new(ace::Ace::new(fifo::Fifo::new(frames), params)),
        "clock" => Box::new(ace::Ace::new(clock::Clock::new(frames), params)),
        "cflru" => Box::new(ace::Ace::new(cflru::Cflru::new(frames, own), params)),
        "lru-wsr" => Box::new(ace::Ace::new(lru_wsr::LruWsr::new(frames), params)),
        "clock-sweep" => Box::new(ace::Ace::new(clock_sweep::ClockSweep::new(frames, own), params)),
        other => panic!("{other} has no order"),
    }
}

/// Everything that a run leaves behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// One decision per access.
    pub decisions: Vec<Decision>,
    /// All counters of section 2.5, those at 0 included.
    pub counters: BTreeMap<&'static str, u64>,
}

/// Runs a whole trace through a reference model; `None` if there is no such policy.
///
/// `params` holds the parameters of the policy and the options of section 2.5.
///
/// # Panics
///
/// As [`model`].
pub fn run(
    policy: &str,
    frames: usize,
    params: &Map<String, Value>,
    trace: &[(Op, u64)],
) -> Option<Outcome> {
    let fetch_on_write_miss = Params(params).flag("fetch_on_write_miss");
    let flush_at_end = Params(params).flag("flush_at_end");

    let mut model = model(policy, frames, params, trace)?;
    let mut decisions = Vec::new();
    let mut counters = BTreeMap::from([
        ("read_hits", 0),
        ("read_misses", 0),
        ("write_hits", 0),
        ("write_misses", 0),
        ("physical_reads", 0),
        ("physical_writes", 0),
        ("evictions", 0),
        ("end_flushes", 0),
    ]);
    let mut add = |counter, by: usize| *counters.entry(counter).or_insert(0) += by as u64;

    for &(op, page) in trace {
        let decision = model.access(op, page);
        match (op, decision.hit) {
            (Op::Read, true) => add("read_hits", 1),
            (Op::Write, true) => add("write_hits", 1),
            (Op::Read, false) => {
                add("read_misses", 1);
                add("physical_reads", 1);
            }
            (Op::Write, false) => {
                add("write_misses", 1);
                if fetch_on_write_miss {
                    add("physical_reads", 1);
                }
            }
        }
        add("evictions", decision.evicted.len());
        add("physical_writes", decision.flushed.iter().map(Vec::len).sum());
        decisions.push(decision);
    }
    if flush_at_end {
        let dirty = model.dirty_pages().len();
        add("end_flushes", dirty);
        add("physical_writes", dirty);
    }
    Some(Outcome { decisions, counters })
}

/// `share(f, size)` of section 2.6; half a frame rounds up.
pub(crate) fn share(fraction: f64, size: usize) -> usize {
    (fraction * size as f64 + 0.5).floor() as usize
}

/// The parameters of a run; a key that is missing, or `null` where nothing else is said, has its
/// default.
pub(crate) struct Params<'a>(&'a Map<String, Value>);

impl Params<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn fraction(&self, key: &str, default: f64) -> f64 {
        self.get(key).map_or(default, |value| {
            value.as_f64().unwrap_or_else(|| panic!("{key}: expected a number, got {value}"))
        })
    }

    pub(crate) fn integer(&self, key: &str) -> Option<u64> {
        self.get(key).map(|value| {
            value.as_u64().unwrap_or_else(|| panic!("{key}: expected an integer, got {value}"))
        })
    }

    /// A key that may also be `null` = none, which is then not its default.
    pub(crate) fn optional_integer(&self, key: &str, default: u64) -> Option<u64> {
        if self.0.get(key).is_some_and(Value::is_null) {
            None
        } else {
            self.integer(key).or(Some(default))
        }
    }

    /// Bytes, or an amount such as `300GB`.
    pub(crate) fn bytes(&self, key: &str) -> Option<u64> {
        const UNITS: [(&str, u64); 5] = [
            ("KB", 1000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
        ];
        self.get(key).map(|value| value.as_u64().unwrap_or_else(|| scaled(key, value, &UNITS)))
    }

    /// Nanoseconds of a duration such as `60s`.
    pub(crate) fn time(&self, key: &str, default_ns: u64) -> u64 {
        const UNITS: [(&str, u64); 6] = [
            ("ns", 1),
            ("us", 1000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("m", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ];
        self.get(key).map_or(default_ns, |value| scaled(key, value, &UNITS))
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).map(|value| {
            value.as_str().unwrap_or_else(|| panic!("{key}: expected a text, got {value}"))
        })
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.flag_or(key, false)
    }

    pub(crate) fn flag_or(&self, key: &str, default: bool) -> bool {
        self.get(key).map_or(default, |value| {
            value.as_bool().unwrap_or_else(|| panic!("{key}: expected true or false, got {value}"))
        })
    }
}

/// A whole number with a unit.
fn scaled(key: &str, value: &Value, units: &[(&str, u64)]) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{key}: expected a text, got {value}"));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = units.iter().find(|(unit, _)| *unit == &text[digits..]);
    let (_, unit) = unit.unwrap_or_else(|| panic!("{key}: unknown unit in {value}"));
    text[..digits].parse::<u64>().expect("a number") * unit
}

/// Takes the entry that fits out of a list, wherever it is.
pub(crate) fn take<T>(list: &mut VecDeque<T>, fits: impl Fn(&T) -> bool) -> Option<T> {
    let at = list.iter().position(fits)?;
    list.remove(at)
}

/// Takes a page out of a list of pages; false if it is not there.
pub(crate) fn take_page(list: &mut VecDeque<u64>, page: u64) -> bool {
    take(list, |&other| other == page).is_some()
}

/// Puts an entry at the head of a ghost list (section 2.6): one without capacity stores nothing,
/// a full one drops its oldest entry first.
pub(crate) fn remember(ghosts: &mut VecDeque<u64>, page: u64, capacity: usize) {
    if capacity == 0 {
        return;
    }
    if ghosts.len() == capacity {
        ghosts.pop_back();
    }
    ghosts.push_front(page);
}

/// A list as [`Model::lists`] shows it: `T1[3 1]`.
pub(crate) fn show<T: Display>(name: &str, entries: impl IntoIterator<Item = T>) -> String {
    let entries: Vec<String> = entries.into_iter().map(|entry| entry.to_string()).collect();
    format!("{name}[{}]", entries.join(" "))
}

/// A bit as the tables show it.
pub(crate) fn bit(set: bool) -> u8 {
    u8::from(set)
}

/// The state of a page as the tables show it.
pub(crate) fn state(dirty: bool) -> char {
    if dirty { 'D' } else { 'C' }
}
