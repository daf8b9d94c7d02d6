//! The store below all tiers, as people write it (`docs/spec/tiers.md` 6.1): `constant`, or
//! `disk[rpm=5400]`.

use crate::spec::label;
use destage_keys::nearest;
use destage_policies::params::{IfAbsent, Kind, Param, Params, Value};
use destage_policies::{BuildError, written};
use destage_replay::error::RunError;
use destage_replay::timed::DiskTimes;

/// The store whose times are the same for every page.
const CONSTANT: &str = "constant";

/// The store with one actuator.
const DISK: &str = "disk";

/// A second, in nanoseconds: the longest seek.
const SECOND_NS: u64 = 1_000_000_000;

/// Bytes a second: the slowest disk.
const LEAST_RATE: u64 = 1_000_000;

/// Keys of a disk; `docs/spec/tiers.md` 6.1 has the source of the defaults, a disk of 7,200 rpm.
pub static DISK_KEYS: &[Param] = &[
    Param {
        name: "rpm",
        kind: Kind::Int { min: 100, max: 1_000_000 },
        default: IfAbsent::Int(7_200),
        unit: "turns a minute",
        about: "Speed of rotation; a page that is not sequential waits for half a turn.",
        ..Param::BLANK
    },
    Param {
        name: "seek_min",
        kind: Kind::Duration,
        default: IfAbsent::Int(230_000),
        about: "Seek to the next track.",
        ..Param::BLANK
    },
    Param {
        name: "seek_max",
        kind: Kind::Duration,
        default: IfAbsent::Int(13_670_000),
        about: "Seek over the whole disk.",
        ..Param::BLANK
    },
    Param {
        name: "rate",
        kind: Kind::Bytes,
        default: IfAbsent::Int(200_000_000),
        unit: "a second",
        about: "Bytes transferred in a second.",
        ..Param::BLANK
    },
    Param {
        name: "capacity",
        kind: Kind::Bytes,
        default: IfAbsent::Int(6_000_000_000_000),
        about: "Size of the disk, over which distances are measured.",
        ..Param::BLANK
    },
];

/// The store below all tiers.
#[derive(Clone, PartialEq, Debug)]
pub enum BackingSpec {
    /// Times that are the same for every page.
    Constant,
    /// A disk with these parameters given.
    Disk(Vec<(String, Value)>),
}

impl BackingSpec {
    /// Reads `constant`, `disk` or `disk[key=value;key=value]`.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of an unknown name or a wrong parameter.
    pub fn parse(text: &str) -> Result<BackingSpec, BuildError> {
        let (name, given) = written::read(text).map_err(|error| {
            BuildError::Unknown(error.to_string().replacen("policy", "backing store", 1))
        })?;
        match name.as_str() {
            CONSTANT if given.is_empty() => Ok(BackingSpec::Constant),
            CONSTANT => Err(BuildError::Unknown(
                "backing store constant has no keys: its times are backing_read_ns and \
                 backing_write_ns (--backing-read-ns, --backing-write-ns)"
                    .into(),
            )),
            DISK => BackingSpec::disk(given),
            _ => {
                let meant = nearest(&name, [CONSTANT, DISK]);
                let meant = meant.map(|near| format!(", did you mean {near}?"));
                let meant = meant.unwrap_or_default();
                Err(BuildError::Unknown(format!(
                    "unknown backing store {name:?}{meant} (known: {CONSTANT}, {DISK})"
                )))
            }
        }
    }

    /// A disk with these parameters; names and ranges are checked.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of a wrong parameter.
    pub fn disk(given: Vec<(String, Value)>) -> Result<BackingSpec, BuildError> {
        let params = params(&given)?;
        let (least, most) = (params.int("seek_min"), params.int("seek_max"));
        if params.int("rate") < LEAST_RATE {
            return Err(BuildError::Unknown(format!(
                "{DISK}: rate = {} bytes a second: expected at least 1MB, as in \
                 {DISK}[rate=200MB]",
                params.int("rate")
            )));
        }
        if most > SECOND_NS {
            return Err(BuildError::Unknown(format!(
                "{DISK}: seek_max = {most} ns: expected at most 1s, as in {DISK}[seek_max=20ms]"
            )));
        }
        if least > most {
            return Err(BuildError::Unknown(format!(
                "{DISK}: seek_min = {least} ns is above seek_max = {most} ns: expected at most \
                 that, as in {DISK}[seek_min=200us;seek_max=20ms]"
            )));
        }
        Ok(BackingSpec::Disk(given))
    }

    /// Label in tables: `disk[rpm=5400]`.
    pub fn label(&self) -> String {
        match self {
            BackingSpec::Constant => CONSTANT.into(),
            BackingSpec::Disk(given) => {
                label(DISK, given.iter().map(|(k, v)| (k.as_str(), v.spelled())))
            }
        }
    }

    /// Times of the disk, of pages of this size; `None` without a disk.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] if the trace's last page, `last`, lies beyond the disk.
    pub fn disk_times(
        &self,
        page_bytes: u64,
        last: Option<u64>,
    ) -> Result<Option<DiskTimes>, RunError> {
        let BackingSpec::Disk(given) = self else { return Ok(None) };
        let params = params(given)?;
        let capacity = params.int("capacity");
        let pages = capacity / page_bytes;
        let needed = last.map_or(1, |last| u128::from(last) + 1);
        if needed > u128::from(pages) {
            let bytes = needed * u128::from(page_bytes);
            return Err(RunError::Impossible(format!(
                "backing (--backing): {DISK}: capacity = {capacity} bytes: the trace has addresses \
                 up to {bytes} bytes: type {DISK}[capacity={bytes}B]"
            )));
        }
        let transfer = u128::from(page_bytes) * u128::from(SECOND_NS);
        let transfer = transfer / u128::from(params.int("rate"));
        Ok(Some(DiskTimes {
            pages,
            seek_min_ns: params.int("seek_min"),
            seek_max_ns: params.int("seek_max"),
            half_turn_ns: 30 * SECOND_NS / params.int("rpm"),
            // A millisecond for each thousand bytes at most: it fits.
            transfer_ns: transfer as u64,
        }))
    }
}

fn params(given: &[(String, Value)]) -> Result<Params, BuildError> {
    let given = given.iter().map(|(key, value)| (key.as_str(), value));
    Ok(Params::check(DISK, DISK_KEYS, given)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_the_times_of_its_keys() {
        let spec = BackingSpec::parse("disk[rpm=5400; rate=100MB; capacity=1GB]").expect("a disk");
        assert_eq!(spec.label(), "disk[rpm=5400;rate=100MB;capacity=1GB]");
        assert_eq!(BackingSpec::parse(&spec.label()).unwrap(), spec);
        let times = spec.disk_times(4096, Some(244_139)).expect("it fits").expect("a disk");
        let expected = DiskTimes {
            pages: 244_140,
            seek_min_ns: 230_000,
            seek_max_ns: 13_670_000,
            half_turn_ns: 5_555_555,
            transfer_ns: 40_960,
        };
        assert_eq!(times, expected);
        let plain = BackingSpec::parse("disk").expect("a disk");
        let times = plain.disk_times(4096, None).expect("it fits").expect("a disk");
        assert_eq!((times.half_turn_ns, times.transfer_ns), (4_166_666, 20_480));
        let constant = BackingSpec::parse(" constant").expect("a store");
        assert_eq!(
            (constant.label().as_str(), constant.disk_times(1, None).unwrap()),
            (CONSTANT, None)
        );
        let error = spec.disk_times(4096, Some(244_140)).unwrap_err().to_string();
        assert!(error.contains("type disk[capacity=1000001536B]"), "{error}");
    }

    #[test]
    fn mistakes_name_the_key_and_what_to_type() {
        for (text, said) in [
            ("dsk", "unknown backing store \"dsk\", did you mean disk? (known: constant, disk)"),
            ("disk[rpm=0]", "disk: rpm = 0: expected integer 100..1000000, turns a minute"),
            ("disk[rmp=5400]", "disk: unknown parameter \"rmp\", did you mean rpm?"),
            ("disk[rate=1KB]", "disk: rate = 1000 bytes a second: expected at least 1MB"),
            ("disk[seek_max=2s]", "seek_max = 2000000000 ns: expected at most 1s"),
            ("disk[seek_min=20ms]", "seek_min = 20000000 ns is above seek_max = 13670000 ns"),
            ("disk[rpm=5400", "backing store \"disk[rpm=5400\": the closing ] is missing"),
            ("constant[read=1ms]", "backing store constant has no keys"),
        ] {
            let error = BackingSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
