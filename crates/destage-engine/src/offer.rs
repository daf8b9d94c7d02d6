//! Pages that are offered to tier 2, as people write them (`docs/spec/tiers.md` 4.3 and 4.12):
//! `evicted`, `inserted` or `feed[headroom=4]`.

use crate::spec::label;
use destage_keys::{Word, nearest};
use destage_policies::params::{IfAbsent, Kind, Param, Params, Value};
use destage_policies::{BuildError, written};
use destage_replay::tiers::rules::{FeedLists, FeedRule, Offer};

const SECOND_NS: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// Keys of `feed`. Defaults are those of the parameters of L2ARC in OpenZFS 2.1 (`man/man4/zfs.4`).
pub static FEED_KEYS: &[Param] = &[
    Param {
        name: "interval",
        kind: Kind::Duration,
        default: IfAbsent::Int(SECOND_NS),
        about: "Time between two passes.",
        ..Param::BLANK
    },
    Param {
        name: "min_interval",
        kind: Kind::Duration,
        default: IfAbsent::Int(SECOND_NS / 5),
        about: "The same after a pass that fed more than half of its limit.",
        ..Param::BLANK
    },
    Param {
        name: "write_max",
        kind: Kind::Bytes,
        default: IfAbsent::Int(8 * MIB),
        about: "Most bytes that a pass feeds.",
        ..Param::BLANK
    },
    Param {
        name: "write_boost",
        kind: Kind::OptionalBytes,
        default: IfAbsent::Int(8 * MIB),
        about: "As many more until tier 1 has evicted a page.",
        ..Param::BLANK
    },
    Param {
        name: "headroom",
        kind: Kind::Int { min: 0, max: u32::MAX as u64 },
        default: IfAbsent::Int(2),
        unit: "times what a pass may feed; 0: no limit",
        about: "Pages of each list that a pass looks at.",
        ..Param::BLANK
    },
    Param {
        name: "lists",
        kind: Kind::Choice(FeedLists::NAMES),
        default: IfAbsent::Word("all"),
        about: "All lists of tier 1, or that of pages which were used again.",
        ..Param::BLANK
    },
];

/// Which pages are offered to tier 2.
#[derive(Clone, PartialEq, Debug)]
pub enum OfferSpec {
    /// Those that tier 1 evicts, or that come in.
    At(Offer),
    /// Those that a thread copies from the tails of the lists of tier 1, with these parameters
    /// given.
    Feed(Vec<(String, Value)>),
}

impl OfferSpec {
    /// Reads `evicted`, `inserted`, `feed` or `feed[headroom=4]`.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of an unknown name or a wrong parameter.
    pub fn parse(text: &str) -> Result<OfferSpec, BuildError> {
        let (name, given) = written::read(text).map_err(|error| {
            BuildError::Unknown(error.to_string().replacen("policy", "offer", 1))
        })?;
        match Offer::parse(&name) {
            Some(Offer::Feed) => {
                params(&given)?;
                Ok(OfferSpec::Feed(given))
            }
            Some(offer) if given.is_empty() => Ok(OfferSpec::At(offer)),
            _ => {
                let meant = nearest(&name, Offer::NAMES.iter().copied());
                let meant = meant.map(|near| format!(", did you mean {near}?"));
                let meant = meant.unwrap_or_default();
                Err(BuildError::Unknown(format!(
                    "unknown offer {text:?}{meant} (known: {})",
                    Offer::NAMES.join(", ")
                )))
            }
        }
    }

    /// Label in tables: `feed[headroom=4]`.
    pub fn label(&self) -> String {
        match self {
            OfferSpec::At(offer) => offer.name().into(),
            OfferSpec::Feed(given) => {
                let given = given.iter().map(|(key, value)| (key.as_str(), value.spelled()));
                label(Offer::Feed.name(), given)
            }
        }
    }

    /// Its word.
    pub fn offer(&self) -> Offer {
        match self {
            OfferSpec::At(offer) => *offer,
            OfferSpec::Feed(_) => Offer::Feed,
        }
    }

    /// The feed of a tier of so many frames, over pages of so many bytes, if there is one.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of a wrong parameter.
    pub fn feed(&self, frames: u32, page_bytes: u64) -> Result<Option<FeedRule>, BuildError> {
        let OfferSpec::Feed(given) = self else { return Ok(None) };
        let of = params(given)?;
        let most = |bytes: u64| (bytes / page_bytes).clamp(1, frames.into());
        let (write_max, boost) = (of.int("write_max"), of.optional_int("write_boost").unwrap_or(0));
        Ok(Some(FeedRule {
            interval_ns: of.int("interval"),
            min_interval_ns: of.int("min_interval"),
            warm_pages: most(write_max),
            cold_pages: most(write_max.saturating_add(boost)),
            headroom: of.int("headroom"),
            lists: FeedLists::parse(of.word("lists")).expect("it was checked"),
        }))
    }
}

fn params(given: &[(String, Value)]) -> Result<Params, BuildError> {
    let given = given.iter().map(|(key, value)| (key.as_str(), value));
    Ok(Params::check(Offer::Feed.name(), FEED_KEYS, given)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_has_the_defaults_of_openzfs_in_pages() {
        let mut rule = FeedRule {
            interval_ns: 1_000_000_000,
            min_interval_ns: 200_000_000,
            warm_pages: 2048,
            cold_pages: 4096,
            headroom: 2,
            lists: FeedLists::All,
        };
        let feed = |text: &str, frames, bytes| {
            let spec = OfferSpec::parse(text).expect(text);
            assert_eq!((spec.label().as_str(), spec.offer()), (text, Offer::Feed));
            spec.feed(frames, bytes).expect("its parameters are right")
        };
        assert_eq!(feed("feed", 5000, 4096), Some(rule));
        rule.cold_pages = 3000;
        assert_eq!(feed("feed", 3000, 4096), Some(rule), "a pass feeds no page twice");
        let text = "feed[write_max=9KiB;write_boost=none;headroom=0;lists=mfu]";
        (rule.warm_pages, rule.cold_pages) = (2, 2);
        (rule.headroom, rule.lists) = (0, FeedLists::Mfu);
        assert_eq!(feed(text, 3000, 4096), Some(rule));
        (rule.warm_pages, rule.cold_pages) = (1, 1);
        assert_eq!(feed(text, 3000, 1 << 20), Some(rule), "at least a page");
        for (text, offer) in [("evicted", Offer::Evicted), ("inserted", Offer::Inserted)] {
            let spec = OfferSpec::parse(text).expect(text);
            assert_eq!((spec.label().as_str(), spec.offer()), (text, offer));
            assert_eq!(spec.feed(9, 4096).expect("none"), None);
        }
    }

    #[test]
    fn mistakes_name_the_key_and_what_is_known() {
        for (text, said) in [
            ("fead", "unknown offer \"fead\", did you mean feed? (known: evicted, inserted, feed)"),
            ("evicted[a=1]", "unknown offer \"evicted[a=1]\""),
            ("feed[interval=1]", "feed: interval = 1: expected a duration"),
            ("feed[lists=mru]", "feed: lists = \"mru\": expected"),
            ("feed[write_max=0]", "feed: write_max = 0: expected an amount"),
            ("feed[boost=1]", "feed: unknown parameter \"boost\""),
            ("feed[headroom=2", "offer \"feed[headroom=2\": the closing ] is missing"),
        ] {
            let error = OfferSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
