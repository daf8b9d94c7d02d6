//! Preconditioning: fills the device before time 0 (`docs/spec/device.md` 5.6).

use crate::config::{DeviceConfig, Precondition, PreconditionEnd};
use crate::filling::{Interrupted, Progress, Writing};
use crate::ftl::Ftl;
use crate::geometry::DriveLpn;
pub use destage_core::SplitMix64;

/// Random writes that an FTL gets at once: enough that each of some hundred planes has a few
/// thousand, and 16 MiB of page numbers.
const AT_ONCE: u64 = 1 << 22;

/// Rounds after which a drive counts as steady in any case: sixteen capacities.
const STEADY_ROUNDS: u64 = 64;

/// Fills the drive as its configuration says, and sets what the FTL counts to zero.
pub(crate) fn precondition(
    ftl: &mut impl Ftl,
    config: &DeviceConfig,
    progress: Progress,
) -> Result<(), Interrupted> {
    fill(ftl, config, progress)?;
    let ends_high = config.precondition_end == Some(PreconditionEnd::High);
    if ends_high && config.precondition != Precondition::None {
        ftl.collect_to_high();
    }
    ftl.begin();
    Ok(())
}

fn fill(ftl: &mut impl Ftl, config: &DeviceConfig, progress: Progress) -> Result<(), Interrupted> {
    let random = match config.precondition {
        Precondition::None => return Ok(()),
        Precondition::Sequential => 0,
        Precondition::Random => config.precondition_writes,
        Precondition::Steady => STEADY_ROUNDS * round_of(config),
    };
    let pages = config.logical_pages;
    let mut writing = Writing::new(random.saturating_add(pages.into()), progress);
    writing.tell()?;
    ftl.fill(pages, &mut writing)?;
    let mut source = SplitMix64::new(config.precondition_seed);
    if config.precondition == Precondition::Steady {
        return fill_steady(ftl, config, &mut source, &mut writing);
    }
    write_random(ftl, pages, random, &mut source, &mut writing)
}

/// Writes rounds of a quarter of the pages at random, until the WAF of two of them in a row, in
/// both of which blocks of the main area were erased, differs by less than 1 %. They go through the
/// SLC cache, if there is one.
fn fill_steady(
    ftl: &mut impl Ftl,
    config: &DeviceConfig,
    source: &mut SplitMix64,
    writing: &mut Writing,
) -> Result<(), Interrupted> {
    ftl.use_slc_cache();
    let erases = |ftl: &_| Ftl::erase_counts(ftl).iter().map(|&n| u64::from(n)).sum::<u64>();
    let (mut state, mut last) = ((ftl.flash_state().programs, erases(ftl)), None);
    for _ in 0..STEADY_ROUNDS {
        write_random(ftl, config.logical_pages, round_of(config), source, writing)?;
        let now = (ftl.flash_state().programs, erases(ftl));
        let programs = now.0 - state.0;
        let this = (now.1 > state.1).then_some(programs);
        if let (Some(this), Some(last)) = (this, last)
            && 100 * u64::abs_diff(this, last) < last
        {
            break;
        }
        (state, last) = (now, this);
    }
    Ok(())
}

/// Random writes of a round of `precondition = steady`.
fn round_of(config: &DeviceConfig) -> u64 {
    u64::from(config.logical_pages / 4).max(1)
}

fn write_random(
    ftl: &mut impl Ftl,
    pages: u32,
    writes: u64,
    source: &mut SplitMix64,
    writing: &mut Writing,
) -> Result<(), Interrupted> {
    let mut left = writes;
    while left > 0 {
        let now = left.min(AT_ONCE);
        let mut numbers = source.clone();
        let lpns =
            std::iter::repeat_with(move || DriveLpn(numbers.below(pages))).take(now as usize);
        ftl.write_ahead(lpns, writing)?;
        source.skip(now);
        left -= now;
    }
    Ok(())
}
