//! The keys of `[device]` that `docs/spec/device-today.md` 3 adds, and what they exclude.

use crate::config::{
    ConfigError, DeviceConfig, GcStream, GcVictim, InterfaceConfig, Isolation, LONGEST_NS,
    MOST_PAGES, Reader, SlcConfig, StreamsConfig,
};
use destage_core::Nanos;

/// Command processor, link and buffer.
pub(super) fn interface(keys: &Reader<'_>) -> Result<InterfaceConfig, ConfigError> {
    let command_ns = keys.get("command_ns")?;
    let other = |key| -> Result<Option<Nanos>, ConfigError> {
        let own = keys.or(key, 0, command_ns)?;
        Ok((own != command_ns).then_some(own))
    };
    Ok(InterfaceConfig {
        command_ns,
        command_read_ns: other("command_read_ns")?,
        command_write_ns: other("command_write_ns")?,
        firmware_read_ns: keys.get("firmware_read_ns")?,
        firmware_write_ns: keys.get("firmware_write_ns")?,
        link_ps_per_byte: keys.get("link_ps_per_byte")?,
        link_duplex: keys.get("link_duplex")?,
        buffer_pages: keys.get("buffer_pages")?,
    })
}

/// The SLC cache of a drive whose main area has `raw` pages in `planes` planes of blocks of `pages`
/// pages. Without blocks there is none, whatever its other keys say.
pub(super) fn slc(
    keys: &Reader<'_>,
    (planes, pages, raw): (u64, u64, u64),
) -> Result<Option<SlcConfig>, ConfigError> {
    let slc_blocks: u64 = keys.get("slc_blocks")?;
    let slc_pages: u64 = keys.or("slc_pages_per_block", 1, (pages / 3).max(1))?;
    if slc_pages > pages {
        return Err(keys.impossible(format!(
            "slc_pages_per_block = {slc_pages} and pages_per_block = {pages}: a block has no more \
             pages in SLC mode"
        )));
    }
    let config = SlcConfig {
        slc_blocks: slc_blocks as u32, // at most MOST_PAGES, like slc_pages
        slc_pages_per_block: slc_pages as u32,
        slc_read_ns: keys.get("slc_read_ns")?,
        slc_program_ns: keys.get("slc_program_ns")?,
        slc_erase_ns: keys.get("slc_erase_ns")?,
        slc_policy: keys.get("slc_policy")?,
        slc_idle: keys.get("slc_idle")?,
    };
    let all = slc_blocks.checked_mul(slc_pages).and_then(|plane| plane.checked_mul(planes));
    if all.and_then(|slc| slc.checked_add(raw)).is_none_or(|all| all > MOST_PAGES) {
        return Err(keys.impossible(format!(
            "{planes} planes of slc_blocks x slc_pages_per_block = {slc_blocks} x {slc_pages} \
             pages beside {raw} others, but a device has at most {MOST_PAGES}"
        )));
    }
    Ok((slc_blocks > 0).then_some(config))
}

/// Handles, write points and the collector.
pub(super) fn streams(keys: &Reader<'_>) -> Result<StreamsConfig, ConfigError> {
    let default = StreamsConfig::of_collector(keys.get("gc_victim")?);
    Ok(StreamsConfig {
        handles: keys.get("handles")?,
        isolation: keys.get("isolation")?,
        gc_stream: keys.or("gc_stream", 0, default.gc_stream)?,
        gc_choices: keys.get("gc_choices")?,
        gc_window_permille: keys.or("gc_window_permille", 0, default.gc_window_permille)?,
        gc_limit_permille: keys.get("gc_limit_permille")?,
        gc_seed: keys.get("gc_seed")?,
        ..default
    })
}

impl DeviceConfig {
    /// The first key of `[device]` in `docs/spec/device-today.md` 3 that changes a run, if any.
    pub fn interface_key(&self) -> Option<&'static str> {
        let StreamsConfig { handles, isolation, gc_stream, .. } = self.streams;
        let streams = [
            ("handles", handles > 1),
            ("isolation", isolation != Isolation::Initial),
            ("gc_stream", gc_stream != GcStream::Shared),
        ];
        self.interface
            .acting_key()
            .or(self.slc.as_ref().map(|_| "slc_blocks"))
            .or(streams.into_iter().find_map(|(key, given)| given.then_some(key)))
    }

    /// A key of another table, or of this one, that no other FTL has
    /// (`docs/spec/device-today.md` 2).
    pub(super) fn takes(&self, table: &'static str, key: &'static str) -> Result<(), ConfigError> {
        let excluded = |other, need| Err(ConfigError::Together { table, one: key, other, need });
        if self.ftl.info().name != "page" {
            return excluded("ftl", "ftl = page, whose rules these are");
        }
        Ok(())
    }

    /// Rejects combinations of keys that `docs/spec/device-today.md` 3 excludes.
    pub(super) fn check_interface(&self, keys: &Reader<'_>) -> Result<(), ConfigError> {
        if let Some(key) = self.interface_key() {
            self.takes("device", key)?;
        }
        let excluded =
            |one, other, need| Err(ConfigError::Together { table: "device", one, other, need });
        if let Some(stream) = self.streams.collected_apart()
            && self.streams.isolation == Isolation::Assigned
        {
            let need = "gc_stream = shared: the placement policy names the write point";
            return excluded(stream, "isolation = assigned", need);
        }
        if self.streams.gc_victim != GcVictim::Greedy && self.ftl.info().name != "page" {
            let need = "ftl = page, or gc_victim = greedy: other FTLs have rules of their own";
            return excluded("gc_victim", "ftl", need);
        }
        let ps = u128::from(self.page_bytes) * u128::from(self.interface.link_ps_per_byte);
        if ps > u128::from(LONGEST_NS) * 1000 {
            return Err(keys.impossible(format!(
                "page_bytes = {} and link_ps_per_byte = {} make a transfer of more than \
                 {LONGEST_NS} ns",
                self.page_bytes, self.interface.link_ps_per_byte
            )));
        }
        Ok(())
    }
}
