//! Admission to the flash tier: which offered pages tier 2 takes in (`docs/spec/tiers.md` 5).
//!
//! ```text
//!  nth          at the n-th offer     tiny_lfu  by accesses that missed tier 1
//!  probability  at random             larc      at the second offer, by a memory that adapts
//!  info         catalogue entry
//! ```

pub mod info;
mod larc;
mod nth;
mod probability;
mod tiny_lfu;

use crate::params::{Params, Value, nearest};
use crate::{BuildError, ORDERED};
use destage_core::{Page, Policy};
use info::AdmissionInfo;
use larc::LarcAdmission;
use nth::Nth;
use probability::Probability;
use tiny_lfu::TinyLfu;

/// Entries between the naming of a remembered page, for a prefetch, and its turn to be forgotten.
const POPS_AHEAD: u32 = 8;

/// Catalogue entry of `always`.
static ALWAYS: AdmissionInfo = AdmissionInfo {
    name: "always",
    title: "Admission of every page",
    source: "",
    about: "Take every offer.",
    params: &[],
};

/// The filters, in the order of lists.
pub static ADMISSIONS: &[&AdmissionInfo] =
    &[&ALWAYS, &nth::INFO, &probability::INFO, &tiny_lfu::INFO, &larc::INFO];

/// An admission filter in a run.
pub enum Admission {
    /// Takes every offer.
    Always,
    /// Counts offers.
    Nth(Nth),
    /// Takes at random.
    Probability(Probability),
    /// Counts accesses.
    TinyLfu(TinyLfu),
    /// Remembers offers.
    Larc(LarcAdmission),
}

impl Admission {
    /// The filter of this name, for a tier of `frames` frames, over pages numbered from 0.
    ///
    /// # Errors
    ///
    /// [`BuildError::Unknown`] if no filter has this name.
    pub fn new(name: &str, params: &Params, frames: u32, pages: u32) -> Result<Self, BuildError> {
        Ok(match info(name)?.name {
            "nth" => Admission::Nth(Nth::new(params, frames, pages)),
            "probability" => Admission::Probability(Probability::new(params)),
            "tinylfu" => Admission::TinyLfu(TinyLfu::new(params, frames, pages)),
            "larc" => Admission::Larc(LarcAdmission::new(params, frames, pages)),
            _ => Admission::Always,
        })
    }

    /// Hint: this page is about to be looked up.
    #[inline(always)]
    pub fn prefetch_missed(&self, page: Page) {
        if let Admission::TinyLfu(filter) = self {
            filter.prefetch(page);
        }
    }

    /// Hint: this page is about to be offered.
    #[inline(always)]
    pub fn prefetch_offer(&self, page: Page) {
        match self {
            Admission::Always | Admission::Probability(_) => {}
            Admission::Nth(filter) => filter.prefetch(page),
            Admission::TinyLfu(filter) => filter.prefetch(page),
            Admission::Larc(filter) => filter.prefetch(page),
        }
    }

    /// An access missed tier 1.
    #[inline]
    pub fn missed(&mut self, page: Page) {
        if let Admission::TinyLfu(filter) = self {
            filter.missed(page);
        }
    }

    /// A look-up found its page in tier 2.
    #[inline]
    pub fn tier2_hit(&mut self) {
        if let Admission::Larc(filter) = self {
            filter.tier2_hit();
        }
    }

    /// Answers an offer of a page that tier 2 does not have.
    #[inline]
    pub fn admits<P: Policy>(&mut self, page: Page, tier2: &P) -> bool {
        match self {
            Admission::Always => true,
            Admission::Nth(filter) => filter.admits(page),
            Admission::Probability(filter) => filter.admits(),
            Admission::TinyLfu(filter) => filter.admits(page, tier2),
            Admission::Larc(filter) => filter.admits(page, tier2.resident() < tier2.frames()),
        }
    }

    /// A trim: the page's offers are forgotten. Counts of accesses stay.
    pub fn forget(&mut self, page: Page) {
        match self {
            Admission::Nth(filter) => filter.forget(page),
            Admission::Larc(filter) => {
                filter.forget(page);
            }
            _ => {}
        }
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
    Ok(Params::check(name, info(name)?.params, given)?)
}

/// A filter suits the policy of tier 2 (`docs/spec/tiers.md` 2).
///
/// # Errors
///
/// A sentence that names both.
pub fn suits(name: &str, params: &Params, tier2: &str) -> Result<(), String> {
    let is_ordered = ORDERED.iter().any(|info| info.name == tier2);
    if name != tiny_lfu::INFO.name || is_ordered || params.optional_int("threshold").is_some() {
        return Ok(());
    }
    let ordered: Vec<_> = ORDERED.iter().map(|info| info.name).collect();
    Err(format!(
        "admit=tinylfu without threshold excludes tier2={tier2}, which shows no order of eviction: \
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
        Admission::new(name, &params, frames, 100).expect("a filter of the table")
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
        assert!(suits("tinylfu", &params, "lru").is_ok());
        assert!(suits("tinylfu", &params, "arc").unwrap_err().contains("excludes tier2=arc"));
    }
}
