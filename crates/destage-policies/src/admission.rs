//! Admission to the flash tier: which offered pages tier 2 takes in (`docs/spec/tiers.md` 5). One
//! filter, one file, one row of the table.
//!
//! ```text
//!  always       every offer           tiny_lfu      by accesses that missed tier 1
//!  nth          at the n-th offer     larc          at the second offer, by a memory that adapts
//!  probability  at random             rate          at random, by a write budget
//!  worth        by time of computing  reject_first  at a second offer within a time
//!  info         catalogue entry
//! ```

mod always;
pub mod info;
mod larc;
mod nth;
mod probability;
mod rate;
mod reject_first;
mod tiny_lfu;
mod worth;

use crate::params::{IfAbsent, Param, Params, Value, nearest};
use crate::{BuildError, ORDERED};
use destage_core::{Page, Policy};
use info::{AdmissionInfo, BlockTimes};

/// Entries between the naming of a remembered page, for a prefetch, and its turn to be forgotten.
const POPS_AHEAD: u32 = 8;

/// An admission filter: its answers, and the events that it learns from.
trait Filter: Sized {
    /// For a tier of `frames` frames of `page_bytes`, over pages numbered from 0.
    fn new(params: &Params, frames: u32, pages: u32, page_bytes: u64) -> Self;

    /// Answers an offer of a page that tier 2 does not have.
    fn admits<P: Policy>(&mut self, page: Page, tier2: &P) -> bool;

    /// The times of the blocks of prompts, before the first offer.
    fn learns(&mut self, _: &BlockTimes) {}

    /// Hint: this page is about to be offered.
    #[inline(always)]
    fn prefetch_offer(&self, _: Page) {}

    /// Hint: this page is about to be looked up.
    #[inline(always)]
    fn prefetch_missed(&self, _: Page) {}

    /// An access missed tier 1.
    #[inline(always)]
    fn missed(&mut self, _: Page) {}

    /// A look-up found its page in tier 2.
    #[inline(always)]
    fn tier2_hit(&mut self) {}

    /// The arrival from which on [`arrived`](Filter::arrived) is to be called, ns.
    #[inline(always)]
    fn awaits_ns(&self) -> u64 {
        u64::MAX
    }

    /// A request arrives, before its accesses.
    #[inline(always)]
    fn arrived(&mut self, _now_ns: u64) {}

    /// It is asked for pages that tier 2 has and would write over, too.
    #[inline(always)]
    fn counts_overwrites(&self) -> bool {
        false
    }

    /// A page was written to flash without an offer that this filter was asked for.
    #[inline(always)]
    fn wrote_unasked(&mut self) {}

    /// The last offer was declined by a limit of the rate alone.
    #[inline(always)]
    fn was_over_cap(&self) -> bool {
        false
    }

    /// A trim: the page's offers are forgotten. Counts of accesses stay.
    fn forget(&mut self, _: Page) {}
}

/// The one table: the module, and the filter in it.
macro_rules! admissions {
    ($($module:ident :: $Filter:ident;)*) => {
        /// The filters, in the order of lists.
        pub static ADMISSIONS: &[&AdmissionInfo] = &[$(&$module::INFO),*];

        /// Whichever filter the tier has.
        enum AnyFilter {
            $($Filter($module::$Filter),)*
        }

        impl AnyFilter {
            fn new(
                name: &str,
                params: &Params,
                (frames, pages, page_bytes): (u32, u32, u64),
            ) -> Option<Self> {
                $(
                    if name == $module::INFO.name {
                        let filter = $module::$Filter::new(params, frames, pages, page_bytes);
                        return Some(AnyFilter::$Filter(filter));
                    }
                )*
                None
            }
        }

        /// Evaluates one expression for the filter in use.
        macro_rules! each {
            ($any:expr, $filter:ident => $body:expr) => {
                match $any { $(AnyFilter::$Filter($filter) => $body,)* }
            };
        }
    };
}

admissions! {
    always::Always;
    nth::Nth;
    probability::Probability;
    tiny_lfu::TinyLfu;
    larc::LarcAdmission;
    rate::Rate;
    reject_first::RejectFirst;
    worth::Worth;
}

/// An admission filter in a run.
pub struct Admission(AnyFilter);

impl Admission {
    /// The filter of this name, for a tier of `frames` frames of `page_bytes`, over pages numbered
    /// from 0.
    ///
    /// # Errors
    ///
    /// [`BuildError::Unknown`] if no filter has this name.
    pub fn new(
        name: &str,
        params: &Params,
        (frames, pages): (u32, u32),
        page_bytes: u64,
    ) -> Result<Self, BuildError> {
        let name = info(name)?.name;
        let filter = AnyFilter::new(name, params, (frames, pages, page_bytes));
        Ok(Admission(filter.expect("the table has every name")))
    }

    /// The times of the blocks of prompts, before the first offer.
    pub fn learns(&mut self, times: &BlockTimes) {
        each!(&mut self.0, filter => filter.learns(times));
    }

    /// Hint: this page is about to be looked up.
    #[inline(always)]
    pub fn prefetch_missed(&self, page: Page) {
        each!(&self.0, filter => filter.prefetch_missed(page));
    }

    /// Hint: this page is about to be offered.
    #[inline(always)]
    pub fn prefetch_offer(&self, page: Page) {
        each!(&self.0, filter => filter.prefetch_offer(page));
    }

    /// An access missed tier 1.
    #[inline]
    pub fn missed(&mut self, page: Page) {
        each!(&mut self.0, filter => filter.missed(page));
    }

    /// A look-up found its page in tier 2.
    #[inline]
    pub fn tier2_hit(&mut self) {
        each!(&mut self.0, filter => filter.tier2_hit());
    }

    /// Answers an offer of a page that tier 2 does not have.
    #[inline]
    pub fn admits<P: Policy>(&mut self, page: Page, tier2: &P) -> bool {
        each!(&mut self.0, filter => filter.admits(page, tier2))
    }

    /// The arrival from which on [`arrived`](Admission::arrived) is to be called, ns; the largest
    /// number: never.
    #[inline]
    pub fn awaits_ns(&self) -> u64 {
        each!(&self.0, filter => filter.awaits_ns())
    }

    /// A request arrives, before its accesses.
    pub fn arrived(&mut self, now_ns: u64) {
        each!(&mut self.0, filter => filter.arrived(now_ns));
    }

    /// Admission is asked for pages that tier 2 has and would write over, too.
    #[inline]
    pub fn counts_overwrites(&self) -> bool {
        each!(&self.0, filter => filter.counts_overwrites())
    }

    /// A page was written to flash without an offer that admission was asked for.
    #[inline]
    pub fn wrote_unasked(&mut self) {
        each!(&mut self.0, filter => filter.wrote_unasked());
    }

    /// The last offer was declined by a limit of the rate alone.
    #[inline]
    pub fn was_over_cap(&self) -> bool {
        each!(&self.0, filter => filter.was_over_cap())
    }

    /// A trim: the page's offers are forgotten. Counts of accesses stay.
    pub fn forget(&mut self, page: Page) {
        each!(&mut self.0, filter => filter.forget(page));
    }
}

/// The catalogue entry of a filter.
///
/// # Errors
///
/// [`BuildError::Unknown`], with the nearest name and all names.
pub fn info(name: &str) -> Result<&'static AdmissionInfo, BuildError> {
    ADMISSIONS.iter().copied().find(|info| info.name == name).ok_or_else(|| {
        let names = || ADMISSIONS.iter().map(|info| info.name);
        let meant = nearest(name, names()).map(|near| format!(", did you mean {near}?"));
        let (meant, known) = (meant.unwrap_or_default(), names().collect::<Vec<_>>().join(", "));
        BuildError::Unknown(format!("unknown admission {name:?}{meant} (known: {known})"))
    })
}

/// Checks a filter's parameters and fills in the defaults.
///
/// # Errors
///
/// [`BuildError`], which names the filter, and the key with what was expected and found.
pub fn check_params<'a>(
    name: &str,
    given: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> Result<Params, BuildError> {
    let declared = info(name)?.params;
    let params = Params::check(name, declared, given)?;
    let has = |key: &str| params.iter().any(|(known, _)| known == key);
    let is_needed = |param: &&Param| param.default == IfAbsent::Nothing && !has(param.name);
    match declared.iter().find(is_needed) {
        None => Ok(params),
        Some(Param { name: key, kind, .. }) => Err(BuildError::Unknown(format!(
            "{name}: {key} is missing: expected {kind}, as in {name}[{key}=300GB]"
        ))),
    }
}

/// A filter, the value of this key (`admit`), suits the policy of its tier (`tier2`;
/// `docs/spec/tiers.md` 2).
///
/// # Errors
///
/// A sentence that names both.
pub fn suits(
    (key, name, params): (&str, &str, &Params),
    (tier, policy): (&str, &str),
) -> Result<(), String> {
    let is_ordered = ORDERED.iter().any(|info| info.name == policy);
    if name != tiny_lfu::INFO.name || is_ordered || params.optional_int("threshold").is_some() {
        return Ok(());
    }
    let ordered: Vec<_> = ORDERED.iter().map(|info| info.name).collect();
    Err(format!(
        "{key}=tinylfu without threshold excludes {tier}={policy}, which has no eviction order: \
         there is no next victim to compare with. Give tinylfu[threshold=2], or one of {}",
        ordered.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Setup, dense};
    use destage_core::{Blind, Lookup, Lpn, Op, Plan, Request};

    fn filter(name: &str, given: &[(&str, Value)], frames: u32) -> Admission {
        let given = given.iter().map(|(key, value)| (*key, value));
        let params = check_params(name, given).expect("good parameters");
        Admission::new(name, &params, (frames, 100), 4096).expect("a filter of the table")
    }

    /// The offers that are taken, in front of a tier of two frames that takes them in.
    fn taken(filter: &mut Admission, offers: &[u64]) -> Vec<u64> {
        let mut tier2 = dense("lru", &Setup::new(2), 100).expect("a policy of the table");
        let mut plan = Plan::new();
        let mut taken = Vec::new();
        for &page in offers {
            if filter.admits(Page(page), &tier2) {
                taken.push(page);
                let r = Request::new(Page(page), Lpn(page), Op::Read);
                if let Lookup::Miss(mut miss) = tier2.request(&r) {
                    while tier2.resident() >= tier2.frames() {
                        tier2.evict(&mut miss, &Blind, &mut plan);
                    }
                    tier2.admit(&r, miss);
                }
            }
        }
        taken
    }

    #[test]
    fn the_nth_offer_is_taken_while_the_page_is_remembered() {
        let mut always = filter("nth", &[("n", Value::Int(1))], 2);
        assert_eq!(taken(&mut always, &[1, 2, 1]), [1, 2, 1]);
        // Two pages are remembered: 1 is forgotten for 3.
        assert_eq!(taken(&mut filter("nth", &[], 2), &[1, 2, 3, 1, 3, 2]), [3]);
        let third = [("n", Value::Int(3)), ("ghost_fraction", Value::Real(0.0))];
        assert_eq!(taken(&mut filter("nth", &third, 2), &[1, 1, 1, 1, 2, 1, 1, 1]), [1, 1]);
        let mut second = filter("nth", &[], 2);
        second.admits(Page(5), &dense("lru", &Setup::new(1), 100).expect("a policy"));
        second.forget(Page(5));
        assert_eq!(taken(&mut second, &[5, 5]), [5]);
    }

    #[test]
    fn counts_are_of_accesses_that_missed_and_are_halved_after_a_sample() {
        let params = [("threshold", Value::Int(2)), ("sample_factor", Value::Int(2))];
        let mut by_count = filter("tinylfu", &params, 2);
        assert_eq!(taken(&mut by_count, &[1, 1, 1]), [0; 0]);
        [1, 1, 2].iter().for_each(|&page| by_count.missed(Page(page)));
        assert_eq!(taken(&mut by_count, &[1, 2]), [1]);
        by_count.missed(Page(3)); // the fourth of a sample: 1, 0, 0
        assert_eq!(taken(&mut by_count, &[1, 2, 3]), [0; 0]);
        let mut by_victim = filter("tinylfu", &[], 2);
        [1, 3, 3].iter().for_each(|&page| by_victim.missed(Page(page)));
        assert_eq!(taken(&mut by_victim, &[1, 2, 4, 3]), [1, 2, 3], "4 ties with 1, 3 is above it");
    }

    #[test]
    fn mistakes_name_filter_key_and_range() {
        for (name, key, value, said) in [
            ("nht", "n", Value::Int(2), "unknown admission \"nht\", did you mean nth? (known:"),
            ("nth", "n", Value::Int(0), "nth: n = 0: expected"),
            ("probability", "p", Value::Real(1.5), "probability: p = 1.5: expected 0..1"),
            ("tinylfu", "threshold", Value::Int(16), "tinylfu: threshold = 16: expected"),
            ("always", "n", Value::Int(1), "always has no parameters"),
        ] {
            let error = check_params(name, [(key, &value)]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let params = check_params("tinylfu", []).expect("defaults");
        let filter = ("tier3_admit", "tinylfu", &params);
        assert!(suits(filter, ("tier3", "lru")).is_ok());
        let error = suits(filter, ("tier3", "arc")).unwrap_err();
        assert!(error.starts_with("tier3_admit=tinylfu without threshold excludes tier3=arc"));
    }
}
