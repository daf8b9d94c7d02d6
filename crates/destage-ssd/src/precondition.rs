//! What the drive holds before time 0 (`docs/spec/device.md` 5.6).

use crate::config::{DeviceConfig, Precondition};
use crate::filling::{Interrupted, Progress, Writing};
use crate::ftl::Ftl;
use crate::geometry::DriveLpn;
pub use destage_core::SplitMix64;

/// Random writes that an FTL gets at once: enough that each of some hundred planes has a few
/// thousand, and 16 MiB of page numbers.
const AT_ONCE: u64 = 1 << 22;

/// Fills the drive as its configuration says, and sets what the FTL counts to zero.
pub(crate) fn precondition(
    ftl: &mut impl Ftl,
    config: &DeviceConfig,
    progress: Progress,
) -> Result<(), Interrupted> {
    fill(ftl, config, progress)?;
    ftl.begin();
    Ok(())
}

fn fill(ftl: &mut impl Ftl, config: &DeviceConfig, progress: Progress) -> Result<(), Interrupted> {
    let random = match config.precondition {
        Precondition::None => return Ok(()),
        Precondition::Sequential => 0,
        Precondition::Random => config.precondition_writes,
    };
    let pages = config.logical_pages;
    let mut writing = Writing::new(random.saturating_add(pages.into()), progress);
    writing.tell()?;
    ftl.fill(pages, &mut writing)?;
    let mut source = SplitMix64::new(config.precondition_seed);
    let mut left = random;
    while left > 0 {
        let now = left.min(AT_ONCE);
        let mut numbers = source.clone();
        let lpns =
            std::iter::repeat_with(move || DriveLpn(numbers.below(pages))).take(now as usize);
        ftl.write_ahead(lpns, &mut writing)?;
        source.skip(now);
        left -= now;
    }
    Ok(())
}
