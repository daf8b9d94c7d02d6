//! Pinned pages among the other options of a run (`docs/spec/tiers.md` 4.13).

use crate::options::RunOptions;
use crate::pin::{Addresses, NO_PINS, PinSpec, Pins, shown};
use crate::spec::PolicySpec;
use crate::tier_options::TierOptions;

impl TierOptions {
    /// The options of pinned pages that are given, and not `none`.
    pub(crate) fn pinning(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let given = [("pin", &self.pin), ("tier2_pin", &self.tier2_pin)].into_iter();
        given.filter_map(|(key, text)| Some((key, text.as_deref().filter(|&t| t != NO_PINS)?)))
    }

    /// Finds the pinned pages of a trace with these LPNs.
    ///
    /// # Errors
    ///
    /// Errors of [`PinSpec::resolve`].
    pub fn find_pins(&mut self, addresses: &Addresses, lpns: &[u64]) -> Result<(), String> {
        let find = |key: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => PinSpec::parse(text)?.resolve(key, addresses, lpns),
        };
        self.pins =
            Pins { tier1: find("pin", &self.pin)?, tier2: find("tier2_pin", &self.tier2_pin)? };
        Ok(())
    }

    /// Each cache has a frame for pages that are not pinned; the cache has `frames`, 0 if there is
    /// none.
    ///
    /// # Errors
    ///
    /// A sentence with the numbers.
    pub(crate) fn have_room(&self, frames: u32) -> Result<(), String> {
        let frames_of = |key| if key == "pin" { frames } else { self.tier2_frames.unwrap_or(0) };
        let pins_of = |key| if key == "pin" { &self.pins.tier1 } else { &self.pins.tier2 };
        for (key, text) in self.pinning() {
            let Some(pins) = pins_of(key) else {
                return Err(format!("{}: the addresses of the trace are not known", shown(key)));
            };
            let (pinned, frames) = (pins.count(), frames_of(key));
            if pinned >= frames {
                let size = if key == "pin" { "cache (-c)" } else { "tier2_cache (--tier2-cache)" };
                return Err(format!(
                    "{} = {text}: {pinned} pages of the trace are pinned, and {frames} frames \
                     have no room for another page: give a {size} of more than {pinned}p, or a \
                     smaller range",
                    shown(key)
                ));
            }
        }
        Ok(())
    }

    /// Pinned pages go with the other options.
    pub(crate) fn check_pins(&self) -> Result<(), String> {
        let Some((key, _)) = self.pinning().next() else { return Ok(()) };
        let key = shown(key);
        if self.kv {
            return Err(format!("{key} excludes kv (--kv): a block of a prompt has no address"));
        }
        if self.ttl.is_some() {
            return Err(format!("{key} excludes ttl (--ttl): a pinned page does not expire"));
        }
        Ok(())
    }
}

/// Pinned pages suit the policy of the run, and its options.
///
/// # Errors
///
/// A sentence that names both.
pub(crate) fn suits(spec: &PolicySpec, options: &RunOptions) -> Result<(), String> {
    let Some((key, _)) = options.tiers.pinning().next() else { return Ok(()) };
    let clusters = destage_policies::info(spec.name).is_ok_and(|info| info.clusters);
    let why = match () {
        () if key == "pin" && spec.is_none() => "none: there is no cache".to_owned(),
        () if key == "pin" && clusters => {
            format!("{}: its pages leave by erase blocks", spec.label())
        }
        () if options.check => "check: its laws are of a policy that has every frame".to_owned(),
        () => return Ok(()),
    };
    Err(format!("{} excludes {why}. Leave one of them out", shown(key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin::Volume;

    #[test]
    fn a_cache_has_a_frame_for_other_pages() {
        let volume =
            |name: &str, base_lpn, span_pages| Volume { name: name.into(), base_lpn, span_pages };
        let addresses = Addresses {
            volumes: vec![volume("sda", 0, 10), volume("sdb", 10, 20)],
            page_bytes: 4096,
            wrapped: 0,
        };
        let mut tiers = TierOptions { pin: Some("0-8KiB".into()), ..TierOptions::default() };
        assert!(tiers.have_room(9).unwrap_err().contains("are not known"));
        tiers.find_pins(&addresses, &[0, 1, 11, 20]).expect("they are there");
        assert_eq!(tiers.have_room(4), Ok(()));
        assert_eq!(
            tiers.have_room(3).unwrap_err(),
            "pin (--pin) = 0-8KiB: 3 pages of the trace are pinned, and 3 frames have no room for \
             another page: give a cache (-c) of more than 3p, or a smaller range"
        );
    }
}
