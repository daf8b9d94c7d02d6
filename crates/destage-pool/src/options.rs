//! Options of a pool, and why one cannot be opened.

use crate::clock::Time;
use crate::no_cache::NoCache;
use destage_core::{AnyPolicy, Policy, Requirements};
use destage_policies::params::Value;
use destage_policies::{
    BuildError, ORDERED, Setup, check_params, hashed, info, requirements, written,
};
use std::io;

/// The policy of a pool that keeps nothing.
pub const NONE: &str = "none";

/// Name of a policy of one's own in errors.
pub(crate) const OWN: &str = "this policy";

/// Sizes of a page that a pool takes, bytes; powers of two.
pub const PAGE_BYTES: std::ops::RangeInclusive<u32> = 512..=65536;

/// Options of a pool. Made with [`Options::new`], then changed field by field.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Frames of the policy, at least 1.
    pub frames: u32,
    /// Bytes of a page, a power of two in 512..=65536. Default 4096.
    pub page_bytes: u32,
    /// Accesses that a thread notes before the policy sees them, 1..=64. Default 1: the policy
    /// sees each access when it happens.
    pub batch: u32,
    /// Pages in limbo from which on a call writes and syncs them first, at least 1. Default:
    /// an eighth of the frames, and 64 at least.
    pub limbo_pages: u32,
    /// A thread of the pool's own writes and syncs limbo from half of `limbo_pages` on, so that
    /// calls wait only where it is full. Default: no.
    pub early_sync: bool,
    /// Pages of an erase block, for policies that cluster. Default 64.
    pub pages_per_block: u32,
    /// Background writer. Default: none.
    pub writer: Option<Writer>,
    /// Keeps a CRC-32C of each page, and compares it at each fetch. Default: no.
    pub checksums: bool,
    /// Clock of a simulated SSD. Default: wall clock.
    pub time: Time,
    /// Name of the volume in the record. Default `pool`.
    pub name: String,
}

impl Options {
    /// The defaults, with so many frames.
    pub fn new(frames: u32) -> Options {
        Options {
            frames,
            page_bytes: 4096,
            batch: 1,
            limbo_pages: (frames / 8).max(64),
            early_sync: false,
            pages_per_block: 64,
            writer: None,
            checksums: false,
            time: Time::default(),
            name: "pool".to_string(),
        }
    }

    pub(crate) fn check(&self, pages: u64) -> Result<(), OpenError> {
        let range = |name, low: u32, high: u32, value: u32| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(OpenError::Range { name, low, high, value }),
        };
        range("frames", 1, u32::MAX, self.frames)?;
        range("batch", 1, 64, self.batch)?;
        range("limbo_pages", 1, u32::MAX, self.limbo_pages)?;
        range("pages_per_block", 1, destage_policies::MOST_PAGES_PER_BLOCK, self.pages_per_block)?;
        if !PAGE_BYTES.contains(&self.page_bytes) || !self.page_bytes.is_power_of_two() {
            return Err(OpenError::PageBytes(self.page_bytes));
        }
        if let Time::Wall { speed } = self.time
            && !(speed > 0.0 && speed.is_finite())
        {
            return Err(OpenError::Speed(speed));
        }
        if pages == 0 {
            return Err(OpenError::SmallStore(self.page_bytes));
        }
        Ok(())
    }

    /// A policy of one's own can decide live, with these options.
    pub(crate) fn suits<P: Policy>(&self, policy: &P) -> Result<(), OpenError> {
        if policy.requirements().contains(Requirements::NEXT_USE) {
            return Err(OpenError::NeedsTheFuture(OWN.to_string()));
        }
        if self.writer.is_some() && !P::ORDERED {
            return Err(OpenError::NoOrder(OWN.to_string()));
        }
        match policy.frames() {
            frames if frames == self.frames => Ok(()),
            policy => Err(OpenError::Frames { policy, options: self.frames }),
        }
    }

    /// The policy that these words name.
    pub(crate) fn policy(&self, words: &str, pages: u64) -> Result<AnyPolicy, OpenError> {
        if words.trim() == NONE {
            return Ok(AnyPolicy::new(NoCache));
        }
        let (name, given) = written::read(words)?;
        let params = check_params(&name, given.iter().map(|(k, v): &(_, Value)| (&**k, v)))?;
        let needs = requirements(&name)?;
        if needs.contains(Requirements::NEXT_USE) {
            return Err(OpenError::NeedsTheFuture(name));
        }
        if needs.device() {
            return Err(OpenError::NeedsADevice(name));
        }
        if self.writer.is_some() && !ORDERED.iter().any(|info| info.name == name) {
            return Err(OpenError::NoOrder(name));
        }
        let setup = Setup {
            params,
            // Where a trace would say how many pages it has, the store does.
            trace_pages: Some(pages),
            pages_per_block: self.pages_per_block,
            device_pages: Some(pages),
            ..Setup::new(self.frames)
        };
        Ok(hashed(&name, &setup)?)
    }
}

/// The policy as `destage compare` has to be asked for it to decide alike: a live pool tells a
/// policy how many pages its store has, where a replay tells it how many its trace has.
pub fn replayed(policy: &str, pages: u64) -> String {
    let Ok((name, given)) = written::read(policy) else { return policy.to_string() };
    let takes = |key: &&str| {
        let known = info(&name).is_ok_and(|info| info.params.iter().any(|p| p.name == *key));
        known && !given.iter().any(|(given, _)| given == key)
    };
    let taken = Some("file_pages").filter(takes).map(|key| format!("{key}={pages}"));
    let given = given.iter().map(|(key, value)| format!("{key}={}", value.spelled()));
    let all: Vec<String> = given.chain(taken).collect();
    if all.is_empty() { name } else { format!("{name}[{}]", all.join(";")) }
}

/// Writes pages ahead that would be evicted soon, so that victims are clean
/// (`docs/spec/writer.md` 3, with every unit idle).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writer {
    /// Pages that should be free or clean, counted in the order of eviction.
    pub low_pages: u32,
    /// Most pages that are written at a time.
    pub batch_pages: u32,
    /// Milliseconds from one look to the next.
    pub period_ms: u64,
}

impl Default for Writer {
    fn default() -> Self {
        Writer { low_pages: 64, batch_pages: 32, period_ms: 200 }
    }
}

/// A pool that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Policy or parameter.
    #[error(transparent)]
    Policy(#[from] BuildError),
    /// Page numbers of accesses that have not happened are known in a replay alone.
    #[error("{0} decides by future accesses, which a live cache does not know")]
    NeedsTheFuture(String),
    /// The store is no simulated SSD.
    #[error("{0} is device-aware and needs a simulated SSD behind the cache")]
    NeedsADevice(String),
    /// The writer follows the order of eviction.
    #[error("{0} has no eviction order, which the writer needs")]
    NoOrder(String),
    /// A policy of one's own was made for another number of frames.
    #[error("the policy has {policy} frames, and the options have {options}")]
    Frames {
        /// Frames of the policy.
        policy: u32,
        /// Frames of the options.
        options: u32,
    },
    /// An option.
    #[error("{name}: expected {low}..{high}, got {value}")]
    Range {
        /// Name of the option.
        name: &'static str,
        /// Least value.
        low: u32,
        /// Greatest value.
        high: u32,
        /// Value found.
        value: u32,
    },
    /// Size of a page.
    #[error("page size: expected a power of two, 512 to 65536 bytes, got {0}")]
    PageBytes(u32),
    /// Speed of the simulated time.
    #[error("speed: expected a number above 0, got {0}")]
    Speed(f64),
    /// The simulated SSD, or a policy in front of it.
    #[error("{0}")]
    Device(String),
    /// A store of less than one page.
    #[error("the store is smaller than one page of {0} bytes")]
    SmallStore(u32),
    /// The store itself.
    #[error(transparent)]
    Io(#[from] io::Error),
}
