//! Write-back of dirty pages of tier 2 that stay, as people write it (`docs/spec/tiers.md` 4.9 and
//! 4.11): `none`, `dirty[max=0.2]` or `alru[staleness_time=30s]`.

use crate::spec::label;
use destage_keys::nearest;
use destage_policies::params::{IfAbsent, Kind, Param, Params, Value};
use destage_policies::{BuildError, written};
use destage_replay::tiers::rules::{AlruRule, Clean};

const NONE: &str = "none";
const DIRTY: &str = "dirty";
const ALRU: &str = "alru";
const SECOND_NS: u64 = 1_000_000_000;

/// Keys of `dirty`. The default is that of bcache's `writeback_percent`.
pub static DIRTY_KEYS: &[Param] = &[Param {
    name: "max",
    kind: Kind::Real { min: 0.0, max: 1.0 },
    default: IfAbsent::Real(0.1),
    unit: "of frames",
    about: "Largest share of dirty pages.",
    ..Param::BLANK
}];

/// Keys of `alru`. Defaults are those of ALRU's parameters in Open CAS (`inc/cleaning/alru.h` of
/// Open-CAS/ocf), but for `page_time`: the default of `backing_write_ns`.
pub static ALRU_KEYS: &[Param] = &[
    Param {
        name: "wake_up_time",
        kind: Kind::Duration,
        default: IfAbsent::Int(20 * SECOND_NS),
        about: "Time between two wake-ups.",
        ..Param::BLANK
    },
    Param {
        name: "staleness_time",
        kind: Kind::Duration,
        default: IfAbsent::Int(120 * SECOND_NS),
        about: "Age of its last write above which a dirty page is stale.",
        ..Param::BLANK
    },
    Param {
        name: "flush_max_buffers",
        kind: Kind::Int { min: 1, max: 10_000 },
        default: IfAbsent::Int(100),
        unit: "pages",
        about: "Largest batch.",
        ..Param::BLANK
    },
    Param {
        name: "activity_threshold",
        kind: Kind::Duration,
        default: IfAbsent::Int(10 * SECOND_NS),
        about: "Time without an access after which the tier is idle.",
        ..Param::BLANK
    },
    Param {
        name: "page_time",
        kind: Kind::Duration,
        default: IfAbsent::Int(1_000_000),
        about: "Time of writing back one page, after which the next batch begins.",
        ..Param::BLANK
    },
];

/// When dirty pages of tier 2 are written back and stay.
#[derive(Clone, PartialEq, Debug)]
pub enum CleanSpec {
    /// Never: they are written when they leave.
    None,
    /// Above a share of its frames, with these parameters given.
    Dirty(Vec<(String, Value)>),
    /// Stale ones while the tier is idle, with these parameters given.
    Alru(Vec<(String, Value)>),
}

impl CleanSpec {
    /// Reads `none`, `dirty`, `dirty[max=0.2]` or `alru[staleness_time=30s]`.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of an unknown name or a wrong parameter.
    pub fn parse(text: &str) -> Result<CleanSpec, BuildError> {
        let (name, given) = written::read(text).map_err(|error| {
            BuildError::Unknown(error.to_string().replacen("policy", "write-back", 1))
        })?;
        match name.as_str() {
            NONE if given.is_empty() => Ok(CleanSpec::None),
            DIRTY => {
                params(DIRTY, DIRTY_KEYS, &given)?;
                Ok(CleanSpec::Dirty(given))
            }
            ALRU => {
                params(ALRU, ALRU_KEYS, &given)?;
                Ok(CleanSpec::Alru(given))
            }
            _ => {
                let meant = nearest(&name, [NONE, DIRTY, ALRU]);
                let meant = meant.map(|near| format!(", did you mean {near}?"));
                let meant = meant.unwrap_or_default();
                Err(BuildError::Unknown(format!(
                    "unknown write-back {text:?}{meant} (known: {NONE}, {DIRTY}[max=0.1], {ALRU})"
                )))
            }
        }
    }

    /// Label in tables: `dirty[max=0.2]`.
    pub fn label(&self) -> String {
        match self {
            CleanSpec::None => NONE.into(),
            CleanSpec::Dirty(given) => labelled(DIRTY, given),
            CleanSpec::Alru(given) => labelled(ALRU, given),
        }
    }

    /// The rule of a tier of so many frames; `None`: a dirty page is written when it leaves.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of a wrong parameter.
    pub fn rule(&self, frames: u32) -> Result<Option<Clean>, BuildError> {
        Ok(match self {
            CleanSpec::None => None,
            CleanSpec::Dirty(given) => {
                let share = params(DIRTY, DIRTY_KEYS, given)?.real("max");
                Some(Clean::Above((share * f64::from(frames)).floor() as u64))
            }
            CleanSpec::Alru(given) => {
                let of = params(ALRU, ALRU_KEYS, given)?;
                Some(Clean::Stale(AlruRule {
                    wake_up_ns: of.int("wake_up_time"),
                    staleness_ns: of.int("staleness_time"),
                    flush_max_buffers: of.int("flush_max_buffers"),
                    activity_ns: of.int("activity_threshold"),
                    page_ns: of.int("page_time"),
                }))
            }
        })
    }
}

fn labelled(name: &str, given: &[(String, Value)]) -> String {
    label(name, given.iter().map(|(key, value)| (key.as_str(), value.spelled())))
}

fn params(
    name: &str,
    keys: &'static [Param],
    given: &[(String, Value)],
) -> Result<Params, BuildError> {
    let given = given.iter().map(|(key, value)| (key.as_str(), value));
    Ok(Params::check(name, keys, given)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_frames_may_be_dirty() {
        for (text, label, most) in [
            ("none", "none", None),
            ("dirty", "dirty", Some(1)),
            (" dirty[max=0.25]", "dirty[max=0.25]", Some(4)),
            ("dirty[max=1]", "dirty[max=1]", Some(19)),
            ("dirty[max=0]", "dirty[max=0]", Some(0)),
        ] {
            let spec = CleanSpec::parse(text).expect(text);
            let most = most.map(Clean::Above);
            assert_eq!((spec.label().as_str(), spec.rule(19).unwrap()), (label, most));
        }
    }

    #[test]
    fn alru_has_the_defaults_of_open_cas() {
        let mut rule = AlruRule {
            wake_up_ns: 20 * SECOND_NS,
            staleness_ns: 120 * SECOND_NS,
            flush_max_buffers: 100,
            activity_ns: 10_000_000_000,
            page_ns: 1_000_000,
        };
        let spec = CleanSpec::parse("alru").expect("it is known");
        assert_eq!(spec.rule(19).expect("defaults"), Some(Clean::Stale(rule)));
        assert_eq!(spec.label(), "alru");
        let text = "alru[staleness_time=30s;flush_max_buffers=7]";
        let spec = CleanSpec::parse(text).expect("it is known");
        (rule.staleness_ns, rule.flush_max_buffers) = (30 * SECOND_NS, 7);
        assert_eq!(spec.rule(19).expect("two given"), Some(Clean::Stale(rule)));
        assert_eq!(spec.label(), text);
    }

    #[test]
    fn mistakes_name_the_key_and_what_is_known() {
        for (text, said) in [
            ("dirtz", "unknown write-back \"dirtz\", did you mean dirty? (known: none, dirty["),
            ("alur", "unknown write-back \"alur\", did you mean alru?"),
            ("alru[wake_up_time=0s]", "alru: wake_up_time = \"0s\": expected a duration"),
            (
                "alru[flush_max_buffers=0]",
                "alru: flush_max_buffers = 0: expected integer 1..10000, pages",
            ),
            ("alru[wake=5s]", "alru: unknown parameter \"wake\""),
            ("none[max=1]", "unknown write-back \"none[max=1]\""),
            ("dirty[max=10%]", "dirty: max = \"10%\": expected 0..1, of frames"),
            ("dirty[most=0.1]", "dirty: unknown parameter \"most\""),
            ("dirty[max=0.1", "write-back \"dirty[max=0.1\": the closing ] is missing"),
        ] {
            let error = CleanSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
