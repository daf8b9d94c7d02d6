//! The host section of a recorded vector (`docs/spec/device.md` 3, `docs/spec/writer.md` 1,
//! `docs/spec/device-today.md` 3).

use crate::Params;

/// How requests are issued (7.5, 7.6): `None` at their arrivals, else with this queue depth.
pub(crate) fn queue_depth(host: &Params<'_>) -> Option<u64> {
    host.integer("queue_depth").filter(|_| host.text("mode") == Some("closed"))
}

/// The background writer (`docs/spec/writer.md`, 1): n_low and n_b.
pub(crate) struct Writer {
    pub(crate) low_pages: u64,
    pub(crate) batch: u64,
}

/// The writer of a vector, if it has one.
pub(crate) fn writer(host: &Params<'_>) -> Option<Writer> {
    host.text("writer").filter(|&writer| writer == "trickle")?;
    Some(Writer {
        low_pages: host.integer("writer_low_pages")?,
        batch: host.integer("writer_batch")?,
    })
}

/// Whether trims and flushes are part of the run (`docs/spec/device-today.md` 3).
pub(crate) fn part_of_the_run(host: &Params<'_>) -> (bool, bool) {
    (host.text("trim") == Some("drop"), host.text("flush") == Some("drain"))
}
