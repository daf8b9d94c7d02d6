//! Pinned pages as people write them (`docs/spec/tiers.md` 4.13): `volume=3`,
//! `volume=3:0-1GiB`, `0-1GiB`, several with `+`.

use destage_keys::{amount, bytes, nearest};
use destage_replay::pinned::PinnedPages;
use std::sync::Arc;

pub(crate) const NO_PINS: &str = "none";
const EXPECTED: &str = "expected volume=NAME, volume=NAME:0-1GiB, 0-1GiB, several with +, or none";

/// A volume of a trace, and its place in the address space of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Volume {
    /// Name.
    pub name: String,
    /// LPN of its first page.
    pub base_lpn: u64,
    /// Pages that it takes.
    pub span_pages: u64,
}

/// The addresses of a trace.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Addresses {
    /// Volumes, at least one.
    pub volumes: Vec<Volume>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Accesses whose address was wrapped into a smaller device.
    pub wrapped: u64,
}

/// A range of pinned bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PinRange {
    volume: Option<String>,     // of all volumes without one
    within: Option<(u64, u64)>, // bytes from, to; all without it
}

/// Pages that are pinned, before the trace is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinSpec {
    text: String,
    ranges: Vec<PinRange>,
}

impl PinSpec {
    /// Reads `none`, or ranges with `+` between them.
    ///
    /// # Errors
    ///
    /// A sentence with the range and the form that is expected.
    pub fn parse(text: &str) -> Result<PinSpec, String> {
        let text = text.trim();
        if text == NO_PINS {
            return Ok(PinSpec { text: text.to_owned(), ranges: Vec::new() });
        }
        let ranges = text.split('+').map(PinRange::parse).collect::<Result<_, _>>()?;
        Ok(PinSpec { text: text.to_owned(), ranges })
    }

    /// As it was written.
    pub fn label(&self) -> &str {
        &self.text
    }

    /// The pages of a trace with these LPNs that the option `key` pins; `None` of `none`.
    ///
    /// # Errors
    ///
    /// A sentence that names the option and its range, and the volumes that there are.
    pub fn resolve(
        &self,
        key: &str,
        addresses: &Addresses,
        lpns: &[u64],
    ) -> Result<Option<Arc<PinnedPages>>, String> {
        if self.ranges.is_empty() {
            return Ok(None);
        }
        let option = shown(key);
        if addresses.wrapped > 0 {
            return Err(format!(
                "{option}: {} page accesses of the trace were wrapped into the device, so that a \
                 page has several addresses: take a device that holds the trace (wrap = extend)",
                addresses.wrapped
            ));
        }
        let mut spans = Vec::new();
        for range in &self.ranges {
            let found = range.pages(addresses).map_err(|error| format!("{option}: {error}"))?;
            let touched = |&(from, to): &(u64, u64)| {
                lpns.partition_point(|&lpn| lpn < from) < lpns.partition_point(|&lpn| lpn < to)
            };
            if !found.iter().any(touched) {
                return Err(format!(
                    "{option}: no request of the trace reaches {}: it has {}",
                    range.label(),
                    addresses.label()
                ));
            }
            spans.extend(found);
        }
        let is_pinned = |lpn| spans.iter().any(|&(from, to)| (from..to).contains(&lpn));
        Ok(Some(Arc::new(PinnedPages::of(lpns, is_pinned))))
    }
}

impl PinRange {
    fn parse(text: &str) -> Result<PinRange, String> {
        let text = text.trim();
        let wrong = || format!("pinned range {text:?}: {EXPECTED}");
        let Some(volume) = text.strip_prefix("volume=") else {
            return match text.split_once('-') {
                Some(_) => Ok(PinRange { volume: None, within: Some(within(text)?) }),
                None => Err(wrong()),
            };
        };
        // A name may have a colon, as 8:16 has.
        let (name, within) = match volume.rsplit_once(':') {
            Some((name, range)) if range.contains('-') => (name, Some(within(range)?)),
            _ => (volume, None),
        };
        if name.is_empty() {
            return Err(wrong());
        }
        Ok(PinRange { volume: Some(name.to_owned()), within })
    }

    /// First page, and one past the last, in each volume that it is of.
    fn pages(&self, addresses: &Addresses) -> Result<Vec<(u64, u64)>, String> {
        let volumes = &addresses.volumes;
        let is_meant = |volume: &&Volume| self.volume.as_ref().is_none_or(|v| *v == volume.name);
        if let Some(name) = &self.volume
            && !volumes.iter().any(|volume| volume.name == *name)
        {
            let near = nearest(name, volumes.iter().map(|volume| volume.name.as_str()));
            let near = near.map(|near| format!(", did you mean {near}?")).unwrap_or_default();
            return Err(format!("no volume {name:?}{near}: the trace has {}", addresses.label()));
        }
        let pages_of = |volume: &Volume| {
            let (from, to) = self.within.unwrap_or((0, u64::MAX));
            let first = (from / addresses.page_bytes).min(volume.span_pages);
            let end = to.div_ceil(addresses.page_bytes).min(volume.span_pages);
            (volume.base_lpn + first, volume.base_lpn + end)
        };
        Ok(volumes.iter().filter(is_meant).map(pages_of).collect())
    }

    fn label(&self) -> String {
        let within = self.within.map(|(from, to)| format!("{}-{}", bytes(from), bytes(to)));
        match (&self.volume, within) {
            (Some(volume), Some(within)) => format!("volume={volume}:{within}"),
            (Some(volume), None) => format!("volume={volume}"),
            (None, within) => within.unwrap_or_default(),
        }
    }
}

/// Bytes from and to, of `0-1GiB`.
fn within(text: &str) -> Result<(u64, u64), String> {
    let bound = |text: &str| match text.trim() {
        "0" => Some(0),
        text => amount(text),
    };
    let ends = text.split_once('-').and_then(|(from, to)| Some((bound(from)?, bound(to)?)));
    match ends {
        Some((from, to)) if from < to => Ok((from, to)),
        Some(_) => Err(format!("pinned range {text:?}: its end is not behind its beginning")),
        None => Err(format!(
            "pinned range {text:?}: expected two addresses in bytes with units, as 0-1GiB"
        )),
    }
}

impl Addresses {
    /// The volumes, each with the end of its last page.
    fn label(&self) -> String {
        const MOST: usize = 8;
        let volume = |volume: &Volume| {
            let end = bytes(volume.span_pages.saturating_mul(self.page_bytes));
            if volume.name.is_empty() {
                format!("one volume, 0-{end}")
            } else {
                format!("volume={}:0-{end}", volume.name)
            }
        };
        let mut all: Vec<String> = self.volumes.iter().take(MOST).map(volume).collect();
        if self.volumes.len() > MOST {
            all.push(format!("{} more", self.volumes.len() - MOST));
        }
        all.join(", ")
    }
}

/// `pin (--pin)`.
pub(crate) fn shown(key: &str) -> String {
    format!("{key} (--{})", key.replace('_', "-"))
}

/// Pinned pages of the caches of a run, once the trace is known.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Pins {
    /// In the cache, or tier 1.
    pub tier1: Option<Arc<PinnedPages>>,
    /// In the flash tier.
    pub tier2: Option<Arc<PinnedPages>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two volumes with pages of 4 KiB: sda has pages 0 to 9, 8:16 pages 10 to 29.
    fn addresses() -> Addresses {
        let volume =
            |name: &str, base_lpn, span_pages| Volume { name: name.into(), base_lpn, span_pages };
        Addresses {
            volumes: vec![volume("sda", 0, 10), volume("8:16", 10, 20)],
            page_bytes: 4096,
            wrapped: 0,
        }
    }

    fn pinned(text: &str) -> Result<Vec<u64>, String> {
        let lpns: Vec<u64> = (0..30).filter(|lpn| lpn % 3 == 0).collect();
        let found = PinSpec::parse(text)?.resolve("pin", &addresses(), &lpns)?;
        let found = found.expect("ranges");
        let has = |id: &u64| found.has(destage_core::Page(*id));
        Ok((0..lpns.len() as u64).filter(has).map(|id| lpns[id as usize]).collect())
    }

    #[test]
    fn ranges_are_of_a_volume_or_of_all_and_are_widened_to_pages() {
        for (text, expected) in [
            ("volume=sda", vec![0, 3, 6, 9]),
            ("volume=8:16", vec![12, 15, 18, 21, 24, 27]),
            ("volume=8:16:0-12KiB", vec![12]),
            ("volume=8:16:12KiB-24577B", vec![15]),
            ("0-1B", vec![0]),
            (" 4095B-12289B ", vec![0, 3, 12]),
            ("8KiB-1TiB", vec![3, 6, 9, 12, 15, 18, 21, 24, 27]),
            ("volume=sda:0-4KiB + volume=8:16:0-12KiB", vec![0, 12]),
        ] {
            assert_eq!(pinned(text), Ok(expected), "{text}");
        }
        let none = PinSpec::parse(" none").expect("it is known");
        assert_eq!(none.resolve("pin", &addresses(), &[1]), Ok(None));
        assert_eq!(none.label(), "none");
    }

    #[test]
    fn mistakes_name_the_range_what_was_expected_and_the_volumes() {
        for (text, said) in [
            ("", "pinned range \"\": expected volume=NAME, volume=NAME:0-1GiB, 0-1GiB"),
            ("sda", "pinned range \"sda\": expected volume=NAME"),
            ("volume=", "pinned range \"volume=\": expected volume=NAME"),
            ("volume=sda+", "pinned range \"\": expected volume=NAME"),
            ("0-1", "pinned range \"0-1\": expected two addresses in bytes with units, as 0-1GiB"),
            ("volume=sda:0-5", "pinned range \"0-5\": expected two addresses"),
            ("1GiB-1GiB", "its end is not behind its beginning"),
            (
                "volume=sdb",
                "pin (--pin): no volume \"sdb\", did you mean sda?: the trace has \
                 volume=sda:0-40KiB, volume=8:16:0-80KiB",
            ),
            (
                "volume=sda:1GiB-2GiB",
                "pin (--pin): no request of the trace reaches volume=sda:1GiB-2GiB: it has \
                 volume=sda:0-40KiB",
            ),
            ("0-4KiB+volume=sda:16KiB-20KiB", "reaches volume=sda:16KiB-20KiB"),
        ] {
            let error = pinned(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
        let wrapped = Addresses { wrapped: 7, ..addresses() };
        let error = PinSpec::parse("0-1GiB").and_then(|spec| spec.resolve("pin", &wrapped, &[1]));
        let error = error.unwrap_err();
        assert!(error.starts_with("pin (--pin): 7 page accesses of the trace were wrapped"));
    }
}
