//! Collection in steps, and suspension (`docs/spec/gc-steps.md` 2).

use super::words::Suspend;
use destage_core::Nanos;
use destage_keys::{AsValue, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Most pages that a collection moves before a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepPages {
    /// All of a block, as often as needed.
    WholeBlocks,
    /// A fixed number of pages of one block.
    Pages(u32),
    /// Enough to free the block before one block of pages has been allocated.
    Auto,
}

impl AsValue for StepPages {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(0) => Some(StepPages::WholeBlocks),
            Value::Int(pages) => {
                u32::try_from(*pages).ok().filter(|&n| n < u32::MAX).map(StepPages::Pages)
            }
            Value::Text(text) if text == "auto" => Some(StepPages::Auto),
            // As a change on a command line has a number.
            Value::Text(text) => StepPages::of(&Value::Int(text.parse().ok()?)),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        match *self {
            StepPages::WholeBlocks => Value::Int(0),
            StepPages::Pages(pages) => Value::Int(pages.into()),
            StepPages::Auto => Value::Text("auto".into()),
        }
    }
}

/// The keys of `[device]` about both. A record has those that matter, so that a device that
/// collects whole blocks and suspends nothing is recorded without any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "named as their keys, which the list describes one by one")]
pub struct GcStepsConfig {
    pub gc_step_pages: StepPages,
    pub suspend: Suspend,
    pub suspend_ns: Nanos,
    pub resume_ns: Nanos,
    pub suspend_max: u32,
}

impl Serialize for GcStepsConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.gc_step_pages != StepPages::WholeBlocks {
            map.serialize_entry("gc_step_pages", &self.gc_step_pages.value())?;
        }
        if self.suspend != Suspend::None {
            map.serialize_entry("suspend", &self.suspend)?;
            map.serialize_entry("suspend_ns", &self.suspend_ns)?;
            map.serialize_entry("resume_ns", &self.resume_ns)?;
            map.serialize_entry("suspend_max", &self.suspend_max)?;
        }
        map.end()
    }
}
