//! Options of a device: what commands, Python and sweeps take beside the device itself.

use super::{Drive, DriveError};
use crate::config::{FlushMode, nearest};
use destage_keys::Word;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// An option of a device. Its row in [`DEVICE_OPTIONS`] is the flag of the command line, the
/// keyword in Python, the axis of a sweep, the check of its value and what it does.
#[derive(Clone, Copy, Serialize)]
pub struct DeviceOption {
    /// Keyword in Python; the flag has hyphens in place of underscores.
    pub name: &'static str,
    /// Key of a device's file that it sets, with its table.
    pub key: &'static str,
    /// Axis of a sweep.
    pub axis: &'static str,
    /// A comparison takes several values: they are a grid.
    pub several: bool,
    /// Placeholder of the value in the help.
    pub metavar: &'static str,
    /// Help of the flag.
    pub about: &'static str,
    /// Type of its value, and its effect.
    #[serde(rename = "kind", serialize_with = "kind")]
    apply: Apply,
}

/// Effect of an option, by the type of its value.
#[derive(Clone, Copy)]
enum Apply {
    Text(fn(&Drive, &str) -> Result<Drive, DriveError>),
    /// A whole number from 1, as a number or as text, or [`ARRIVALS`], which is `None`.
    Depth(fn(&Drive, Option<u32>) -> Result<Drive, DriveError>),
}

/// Word for no queue depth: requests arrive at the trace's times.
const ARRIVALS: &str = "trace";

/// `text` or `depth`.
fn kind<S: Serializer>(apply: &Apply, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match apply {
        Apply::Text(_) => "text",
        Apply::Depth(_) => "depth",
    })
}

/// Every option of a device, in the order of the help; they take effect in this order.
pub static DEVICE_OPTIONS: &[DeviceOption] = &[
    DeviceOption {
        name: "ftl",
        key: "device.ftl",
        axis: "ftls",
        several: true,
        metavar: "NAME",
        about: "Flash translation layer; `destage ftls` lists them.",
        apply: Apply::Text(Drive::with_ftl),
    },
    DeviceOption {
        name: "queue_depth",
        key: "host.queue_depth",
        axis: "queue_depth",
        several: true,
        metavar: "N|trace",
        about: "Closed loop with N requests; trace: open loop.",
        apply: Apply::Depth(Drive::with_queue_depth),
    },
    DeviceOption {
        name: "placement",
        key: "placement.policy",
        axis: "placements",
        several: true,
        metavar: "NAME",
        about: "Data placement (FDP): how writes get a handle.",
        apply: Apply::Text(Drive::with_placement),
    },
    DeviceOption {
        name: "flush",
        key: "host.flush",
        axis: "flush",
        several: false,
        metavar: "ignore|drain",
        about: "Effect of the trace's flushes: none, or a wait for writes.",
        apply: Apply::Text(flushed),
    },
];

fn flushed(drive: &Drive, flush: &str) -> Result<Drive, DriveError> {
    let mode = FlushMode::parse(flush).ok_or_else(|| {
        let known = FlushMode::NAMES.join(" or ");
        DriveError::Option(format!("flush: expected {known}, got {flush:?}"))
    })?;
    drive.with_flush(mode)
}

impl Drive {
    /// The device with options, by their names in [`DEVICE_OPTIONS`]; null stands for one that is
    /// not given.
    ///
    /// # Errors
    ///
    /// [`DriveError::Option`] for an unknown name or a value of another type, and what the option
    /// itself returns.
    pub fn with_options(&self, options: &Map<String, Value>) -> Result<Drive, DriveError> {
        let names = || DEVICE_OPTIONS.iter().map(|option| option.name);
        if let Some(unknown) = options.keys().find(|&key| names().all(|name| name != key)) {
            let (meant, known) =
                (nearest(unknown, names()), names().collect::<Vec<_>>().join(", "));
            let what = format!("unknown option {unknown:?} of a device{meant} (known: {known})");
            return Err(DriveError::Option(what));
        }
        let mut given = DEVICE_OPTIONS.iter().filter_map(|option| {
            let value = options.get(option.name).filter(|value| !value.is_null())?;
            Some((option, value))
        });
        given.try_fold(self.clone(), |drive, (option, value)| option.applied(&drive, value))
    }
}

impl DeviceOption {
    fn applied(&self, drive: &Drive, value: &Value) -> Result<Drive, DriveError> {
        let number = || value.as_u64().or_else(|| value.as_str()?.parse().ok());
        let depth = || match value.as_str() {
            Some(ARRIVALS) => Some(None),
            _ => u32::try_from(number()?).ok().filter(|&depth| depth > 0).map(Some),
        };
        let (found, expected) = match self.apply {
            Apply::Text(apply) => (value.as_str().map(|text| apply(drive, text)), "text"),
            Apply::Depth(apply) => {
                (depth().map(|depth| apply(drive, depth)), "a whole number 1..4294967295, or trace")
            }
        };
        found.unwrap_or_else(|| {
            Err(DriveError::Option(format!("{}: expected {expected}, got {value}", self.name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HostMode;
    use crate::tables::key_of;
    use serde_json::json;

    fn with(options: &Value) -> Result<Drive, DriveError> {
        Drive::preset("fdp").expect("a preset").with_options(options.as_object().expect("a map"))
    }

    #[test]
    fn every_option_sets_the_key_that_it_names() {
        let values =
            json!({"ftl": "page", "queue_depth": 7, "placement": "sepbit", "flush": "drain"});
        for option in DEVICE_OPTIONS {
            let (table, name) = option.key.split_once('.').expect("a table and a key");
            assert!(key_of(table, name).is_some(), "{}", option.key);
            let record =
                with(&json!({ option.name: values[option.name] })).expect(option.name).to_json();
            assert_eq!(record[table][name], values[option.name], "{}", option.name);
        }
        assert_eq!(with(&json!({"ftl": null})), with(&json!({})));
        for depth in [json!(7), json!("7")] {
            let closed = with(&json!({"queue_depth": depth})).unwrap();
            assert_eq!((closed.host.mode, closed.host.queue_depth), (HostMode::Closed, 7));
            let open = closed.with_options(json!({"queue_depth": "trace"}).as_object().unwrap());
            assert_eq!(open.unwrap().host.mode, HostMode::Open);
        }
    }

    #[test]
    fn a_mistake_names_the_option_and_what_was_expected() {
        for (given, expected) in [
            (json!({"ftll": "page"}), "unknown option \"ftll\" of a device, did you mean ftl?"),
            (json!({"ftl": 7}), "ftl: expected text, got 7"),
            (
                json!({"queue_depth": 0}),
                "queue_depth: expected a whole number 1..4294967295, or trace, got 0",
            ),
            (json!({"queue_depth": true}), "queue_depth: expected a whole number"),
            (json!({"flush": "drian"}), "flush: expected ignore or drain, got \"drian\""),
        ] {
            let error = with(&given).expect_err("a mistake").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
