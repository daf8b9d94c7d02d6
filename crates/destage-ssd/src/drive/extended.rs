//! A drive made large enough for a trace (`wrap = "extend"`, `docs/spec/trace-formats.md` 1): more
//! blocks in every plane, everything else in proportion.

use super::{Drive, DriveError};
use serde_json::Value as Json;

/// Keys of `[device]` that count pages of a whole drive or plane, and so grow with it.
const GROWING: [&str; 3] = ["gc_low_pages", "gc_high_pages", "precondition_writes"];

impl Drive {
    /// The drive with as many more blocks per plane as it takes to have `pages` logical pages; the
    /// drive itself if it has them. Over-provisioning, thresholds and preconditioning keep their
    /// proportion.
    ///
    /// # Errors
    ///
    /// [`DriveError::Change`] if no drive can be so large.
    pub fn extended(&self, pages: u64) -> Result<Drive, DriveError> {
        let old = u64::from(self.device.logical_pages);
        if pages <= old {
            return Ok(self.clone());
        }
        let grown = |count: u64| (u128::from(count) * u128::from(pages)).div_ceil(old.into());
        let mut record = self.to_json();
        let device = &mut record["device"];
        let blocks = grown(self.device.blocks_per_plane.into());
        device["blocks_per_plane"] = number(blocks);
        // Whole stripes of every plane, as the drive had.
        let period = u64::from(self.device.planes()) * u64::from(self.device.stripe_pages);
        device["logical_pages"] = number(u128::from(pages).next_multiple_of(period.into()));
        for key in GROWING {
            let count = device[key].as_u64().unwrap_or(0);
            // In proportion to the blocks, which were rounded up: the room for collection stays.
            let old_blocks = u128::from(self.device.blocks_per_plane);
            device[key] = number(u128::from(count) * blocks / old_blocks);
        }
        record["name"] = format!("{} ({pages} pages)", self.name).into();
        Drive::from_json(&record).map_err(|error| DriveError::Spec {
            spec: self.name.clone(),
            what: format!("it cannot be extended to {pages} pages: {error}"),
        })
    }
}

/// A JSON number. A count beyond 64 bits becomes `u64::MAX`, which every key's range excludes.
fn number(count: u128) -> Json {
    u64::try_from(count).unwrap_or(u64::MAX).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extended_drive_is_the_same_drive_with_more_blocks() {
        for preset in super::super::PRESETS {
            let drive = Drive::preset(preset.name).unwrap();
            let logical = u64::from(drive.device.logical_pages);
            assert_eq!(drive.extended(logical).unwrap(), drive);
            for pages in [logical + 1, logical * 3 / 2] {
                let large = match drive.extended(pages) {
                    Ok(large) => large,
                    Err(error) => {
                        assert!(error.to_string().contains("cannot be extended"), "{error}");
                        continue;
                    }
                };
                assert!(u64::from(large.device.logical_pages) >= pages, "{}", preset.name);
                let (old, new) = (drive.size().op, large.size().op);
                // Whole blocks: of few and large ones, one is more than a per cent.
                let block = 1.0 / f64::from(drive.device.blocks_per_plane);
                assert!((old - new).abs() < block.max(0.01), "{}: {old} {new}", preset.name);
                assert_eq!(large.device.planes(), drive.device.planes());
                assert_eq!(large.device.program_ns, drive.device.program_ns);
            }
        }
    }

    #[test]
    fn what_no_drive_can_hold_is_refused() {
        let error = Drive::preset("small").unwrap().extended(1 << 40).unwrap_err().to_string();
        assert!(error.contains("cannot be extended to 1099511627776 pages"), "{error}");
    }
}
