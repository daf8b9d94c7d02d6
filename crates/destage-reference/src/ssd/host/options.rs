//! The host section of a vector (`docs/spec/device.md` 3, `docs/spec/writer.md` 1,
//! `docs/spec/device-today.md` 3).

use crate::ssd::config::{Config, Section};
use serde_json::Value;

/// How requests are issued (7.5, 7.6): `None` at their arrivals, else with this queue depth.
pub(crate) fn queue_depth(vector: &Value, device: &Config) -> Result<Option<u64>, String> {
    let s = Section::of(vector, "host")?;
    s.only(&[
        "mode",
        "queue_depth",
        "writer",
        "writer_low_pages",
        "writer_batch",
        "trim",
        "flush",
    ])?;
    let depth = s.integer("queue_depth", 1, 1)?;
    if s.word("mode", &["open", "closed"])? == "open" {
        return Ok(None);
    }
    if device.read_first {
        return Err("host: mode=closed needs device: sched=fcfs".to_string());
    }
    Ok(Some(depth))
}

/// The background writer (`docs/spec/writer.md`, 1): n_low and n_b.
pub(crate) struct Writer {
    pub(crate) low_pages: u64,
    pub(crate) batch: u64,
}

/// The writer of a vector, if it has one.
pub(crate) fn writer(vector: &Value, device: &Config) -> Result<Option<Writer>, String> {
    let s = Section::of(vector, "host")?;
    let low_pages = s.integer("writer_low_pages", 64, 1)?;
    let batch = s.integer("writer_batch", device.units() as u64, 1)?;
    let is_on = s.word("writer", &["none", "trickle"])? == "trickle";
    Ok(is_on.then_some(Writer { low_pages, batch }))
}

/// Whether trims and flushes are part of the run (`docs/spec/device-today.md` 3).
pub(crate) fn part_of_the_run(vector: &Value) -> Result<(bool, bool), String> {
    let s = Section::of(vector, "host")?;
    let trims = s.word("trim", &["ignore", "drop"])? == "drop";
    let flushes = s.word("flush", &["ignore", "drain"])? == "drain";
    Ok((trims, flushes))
}
