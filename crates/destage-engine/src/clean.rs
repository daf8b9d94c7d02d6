//! Write-back of tier 2 above a share of dirty pages, as people write it (`docs/spec/tiers.md`
//! 4.9): `none`, or `dirty[max=0.2]`.

use crate::spec::label;
use destage_keys::nearest;
use destage_policies::params::{IfAbsent, Kind, Param, Params, Value};
use destage_policies::{BuildError, written};

const NONE: &str = "none";
const DIRTY: &str = "dirty";

/// Keys of `dirty`. The default is that of bcache's `writeback_percent`.
pub static DIRTY_KEYS: &[Param] = &[Param {
    name: "max",
    kind: Kind::Real { min: 0.0, max: 1.0 },
    default: IfAbsent::Real(0.1),
    unit: "of frames",
    about: "Largest share of dirty pages.",
    ..Param::BLANK
}];

/// When dirty pages of tier 2 are written back and stay.
#[derive(Clone, PartialEq, Debug)]
pub enum CleanSpec {
    /// Never: they are written when they leave.
    None,
    /// Above a share of its frames, with these parameters given.
    Dirty(Vec<(String, Value)>),
}

impl CleanSpec {
    /// Reads `none`, `dirty` or `dirty[max=0.2]`.
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
                params(&given)?;
                Ok(CleanSpec::Dirty(given))
            }
            _ => {
                let meant = nearest(&name, [NONE, DIRTY]);
                let meant = meant.map(|near| format!(", did you mean {near}?"));
                let meant = meant.unwrap_or_default();
                Err(BuildError::Unknown(format!(
                    "unknown write-back {text:?}{meant} (known: {NONE}, {DIRTY}[max=0.1])"
                )))
            }
        }
    }

    /// Label in tables: `dirty[max=0.2]`.
    pub fn label(&self) -> String {
        match self {
            CleanSpec::None => NONE.into(),
            CleanSpec::Dirty(given) => {
                label(DIRTY, given.iter().map(|(k, v)| (k.as_str(), v.spelled())))
            }
        }
    }

    /// Dirty pages that may stay in a tier of so many frames; `None`: all.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of a wrong parameter.
    pub fn most_dirty(&self, frames: u32) -> Result<Option<u64>, BuildError> {
        let CleanSpec::Dirty(given) = self else { return Ok(None) };
        Ok(Some((params(given)?.real("max") * f64::from(frames)).floor() as u64))
    }
}

fn params(given: &[(String, Value)]) -> Result<Params, BuildError> {
    let given = given.iter().map(|(key, value)| (key.as_str(), value));
    Ok(Params::check(DIRTY, DIRTY_KEYS, given)?)
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
            assert_eq!((spec.label().as_str(), spec.most_dirty(19).unwrap()), (label, most));
        }
    }

    #[test]
    fn mistakes_name_the_key_and_what_is_known() {
        for (text, said) in [
            ("dirtz", "unknown write-back \"dirtz\", did you mean dirty? (known: none, dirty["),
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
