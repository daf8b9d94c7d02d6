//! Amounts of bytes, and durations, as people write them.

/// Name, and power, of the units above a byte.
const UNITS: [(&str, u32); 4] = [("k", 1), ("m", 2), ("g", 3), ("t", 4)];

/// Bytes of a unit, in any case: `B`; powers of 1000 for `KB`, `MB`, `GB`, `TB`; powers of 1024 for
/// `KiB` and so on, and for the bare letters `k`, `m`, `g` and `t`, as dd, fio and head have them.
pub fn unit_bytes(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit == "b" {
        return Some(1);
    }
    let (base, letter) = match unit.strip_suffix("ib") {
        Some(letter) => (1024u64, letter),
        None => match unit.strip_suffix('b') {
            Some(letter) => (1000, letter),
            None => (1024, unit.as_str()),
        },
    };
    let (_, power) = UNITS.iter().find(|(name, _)| *name == letter)?;
    Some(base.pow(*power))
}

/// An amount in the unit that makes it shortest: `32MiB`, `16MB`, `1537KiB`, `100B`. Of two that
/// are as short, the binary one.
pub fn bytes(bytes: u64) -> String {
    let whole = |base: u64| {
        let powers = UNITS.iter().rev().map(|&(name, power)| (name, base.pow(power)));
        powers.into_iter().find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit))
    };
    let spelled = |unit: Option<(&str, u64)>, suffix: &str| match unit {
        Some((name, unit)) => format!("{}{}{suffix}", bytes / unit, name.to_ascii_uppercase()),
        None => format!("{bytes}B"),
    };
    let (binary, decimal) = (spelled(whole(1024), "iB"), spelled(whole(1000), "B"));
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    if digits(&decimal) < digits(&binary) { decimal } else { binary }
}

/// A number with its unit, in whole parts of it that are `unit` long: no more than nine decimals.
fn scaled(text: &str, unit: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let text = text.trim();
    let end = text.bytes().take_while(|c| c.is_ascii_digit() || *c == b'.').count();
    let unit = u128::from(unit(&text[end..])?);
    let (whole, fraction) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    if whole.is_empty() || fraction.len() > 9 {
        return None;
    }
    let mut sum = u128::from(whole.parse::<u64>().ok()?) * unit;
    if !fraction.is_empty() {
        sum += fraction.parse::<u128>().ok()? * unit / 10u128.pow(fraction.len() as u32);
    }
    u64::try_from(sum).ok()
}

/// Bytes of an amount with its unit: `300GB`, `1.5TiB`.
pub fn amount(text: &str) -> Option<u64> {
    scaled(text, unit_bytes)
}

/// Nanoseconds of `90s`, `1.5h`, `250ms`. A bare number has no unit and is refused.
pub fn duration_ns(text: &str) -> Option<u64> {
    scaled(text, |unit| {
        Some(match unit {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_b_alone_makes_powers_of_ten_and_the_rest_powers_of_two() {
        for (units, base) in [(["KiB", "k"], 1024u64), (["KB", "kb"], 1000)] {
            for unit in units {
                assert_eq!(unit_bytes(unit), Some(base), "{unit}");
                let larger = |letter| unit.replace(['K', 'k'], letter);
                assert_eq!(unit_bytes(&larger("M")), Some(base.pow(2)), "{unit}");
                assert_eq!(unit_bytes(&larger("g")), Some(base.pow(3)), "{unit}");
                assert_eq!(unit_bytes(&larger("T")), Some(base.pow(4)), "{unit}");
            }
        }
        assert_eq!(unit_bytes("B"), Some(1));
        for wrong in ["", "i", "iB", "bb", "p", "KBB", "kilo", "Ki"] {
            assert_eq!(unit_bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_amount_is_spelled_in_its_shortest_unit() {
        for (amount, spelled) in [
            (0, "0B"),
            (100, "100B"),
            (4096, "4KiB"),
            (1 << 25, "32MiB"),
            (1537 << 10, "1537KiB"),
            (1000, "1KB"),
            (16_000_000, "16MB"),
            (1_500_000_000, "1500MB"),
            (3 << 40, "3TiB"),
            (u64::MAX, "18446744073709551615B"),
        ] {
            assert_eq!(bytes(amount), spelled);
        }
    }
}
