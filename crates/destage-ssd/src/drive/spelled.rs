//! Keys of `[device]` as people write them: `page = "16KiB"`, `read = "60us"`, `op = "7%"`,
//! `link = "7GB/s"`, `capacity = "960GB"`. Each stands for an exact key, and is turned into it
//! before the table is checked.

use crate::config::{ConfigError, Table, Value};
use crate::tables::key_of;
use destage_keys::AsValue;

/// Meaning of a value with a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Time,
    Share,
    Rate,
    /// Bytes of the write buffer, in pages.
    Pages,
    /// Bytes that the host sees: pages, and the blocks that they take with the over-provisioning.
    Capacity,
}

/// A key with a unit, and the exact keys that it decides.
struct Spelled {
    name: &'static str,
    exact: &'static [&'static str],
    unit: Unit,
}

const fn spelled(name: &'static str, exact: &'static [&'static str], unit: Unit) -> Spelled {
    Spelled { name, exact, unit }
}

static SPELLED: &[Spelled] = &[
    spelled("page", &["page_bytes"], Unit::Bytes),
    spelled("cmd", &["cmd_ns"], Unit::Time),
    spelled("read", &["read_ns"], Unit::Time),
    spelled("program", &["program_ns"], Unit::Time),
    spelled("erase", &["erase_ns"], Unit::Time),
    spelled("gc_idle", &["gc_idle_ns"], Unit::Time),
    spelled("command", &["command_ns"], Unit::Time),
    spelled("command_read", &["command_read_ns"], Unit::Time),
    spelled("command_write", &["command_write_ns"], Unit::Time),
    spelled("firmware_read", &["firmware_read_ns"], Unit::Time),
    spelled("firmware_write", &["firmware_write_ns"], Unit::Time),
    spelled("slc_read", &["slc_read_ns"], Unit::Time),
    spelled("slc_program", &["slc_program_ns"], Unit::Time),
    spelled("slc_erase", &["slc_erase_ns"], Unit::Time),
    spelled("op", &["op_permille"], Unit::Share),
    spelled("link", &["link_ps_per_byte"], Unit::Rate),
    spelled("channel", &["bus_ps_per_byte"], Unit::Rate),
    spelled("buffer", &["buffer_pages"], Unit::Pages),
    spelled("capacity", &["logical_pages", "blocks_per_plane"], Unit::Capacity),
];

/// A key with a unit has this name.
pub(super) fn is_spelled(name: &str) -> bool {
    SPELLED.iter().any(|key| key.name == name)
}

/// The spelling with a unit of an exact key of `[device]`: `read` of `read_ns`.
pub fn spelling_of(exact: &str) -> Option<&'static str> {
    SPELLED.iter().find(|key| key.exact[0] == exact).map(|key| key.name)
}

/// Takes away keys that the upper table decides in the other spelling.
pub(super) fn give_way(lower: &mut Table, upper: &Table) {
    for Spelled { name, exact, .. } in SPELLED {
        if upper.contains_key(*name) {
            exact.iter().for_each(|&key| _ = lower.remove(key));
        }
        if exact.iter().any(|&key| upper.contains_key(key)) {
            lower.remove(*name);
        }
    }
}

/// The table in exact keys.
pub(super) fn exact(given: &Table) -> Result<Table, ConfigError> {
    let mut table = given.clone();
    for Spelled { name, exact, unit } in SPELLED {
        let Some(value) = table.get(*name).cloned() else { continue };
        if let Some(&other) = exact.iter().find(|&&key| given.contains_key(key)) {
            let need = "one of the two";
            return Err(ConfigError::Together { table: "device", one: name, other, need });
        }
        table.remove(*name);
        let wrong = || ConfigError::Value {
            table: "device",
            key: name,
            expected: expected(name, *unit).into(),
            found: value.to_string(),
        };
        let one = |value: &Value| read(value, *unit, &table).ok_or_else(wrong);
        let number = match (&value, unit) {
            (Value::List(values), Unit::Time) => {
                Value::List(values.iter().map(one).collect::<Result<_, _>>()?)
            }
            (value, Unit::Capacity) => {
                let pages = read(value, *unit, &table).ok_or_else(wrong)?;
                insert_capacity(&mut table, pages)?;
                continue;
            }
            (value, _) if takes_list(exact[0]) => Value::List(vec![one(value)?]),
            (value, _) => one(value)?,
        };
        table.insert(exact[0].into(), number);
    }
    Ok(table)
}

fn takes_list(key: &str) -> bool {
    key == "read_ns" || key == "program_ns"
}

fn expected(name: &str, unit: Unit) -> &'static str {
    match unit {
        Unit::Rate if name == "channel" => {
            "a rate such as \"1200MB/s\", at most 2TB/s; for the number of channels: channels"
        }
        Unit::Bytes | Unit::Capacity => "a size such as \"16KiB\" or \"960GB\"",
        Unit::Pages => "a size of at least a page, such as \"4MiB\", or \"0B\"",
        Unit::Time => "a time in whole nanoseconds, such as \"60us\" or \"1.5ms\"",
        Unit::Share => "a share in whole permille, such as \"7%\" or \"6.7%\"",
        Unit::Rate => "a rate such as \"7GB/s\" or \"1200MB/s\", at most 2TB/s",
    }
}

/// The number that the exact key has.
fn read(value: &Value, unit: Unit, table: &Table) -> Option<Value> {
    let Value::Text(text) = value else { return None };
    let text = text.trim();
    let number = match unit {
        Unit::Bytes => bytes(text)?,
        Unit::Time => decimal(text, &[("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", NS)])?,
        Unit::Share => decimal(text, &[("%", 10)])?,
        Unit::Rate => {
            let rate = bytes(text.strip_suffix("/s")?).filter(|&rate| rate > 0)?;
            // The nearest whole number of picoseconds; 0 would be no limit.
            Some((2_000_000_000_000 + rate) / (2 * rate)).filter(|&ps| ps > 0)?
        }
        Unit::Pages => {
            let (size, page) = (bytes(text)?, page_bytes(table)?);
            Some(size / page).filter(|&pages| pages > 0 || size == 0)?
        }
        Unit::Capacity => bytes(text)? / page_bytes(table)?,
    };
    Some(Value::Int(number as i128)) // at most u64::MAX
}

const NS: u64 = 1_000_000_000;

/// Bytes of a size, `16KiB` or `1.92TB`.
fn bytes(text: &str) -> Option<u128> {
    let (ki, k) = (1024u64, 1000u64);
    let units = [
        ("KiB", ki),
        ("MiB", ki.pow(2)),
        ("GiB", ki.pow(3)),
        ("TiB", ki.pow(4)),
        ("KB", k),
        ("kB", k),
        ("MB", k.pow(2)),
        ("GB", k.pow(3)),
        ("TB", k.pow(4)),
        ("B", 1),
    ];
    decimal(text, &units)
}

/// A decimal number with one of these units, whole in the smallest.
fn decimal(text: &str, units: &[(&str, u64)]) -> Option<u128> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(split);
    let unit = units.iter().find(|(name, _)| *name == unit.trim_start())?.1;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{whole}{part}").parse().ok()?;
    let scale = 10u128.checked_pow(part.len() as u32)?;
    let scaled = digits.checked_mul(unit.into())?;
    (scaled % scale == 0 && scaled / scale <= u64::MAX.into()).then(|| scaled / scale)
}

/// The value of an exact key as an integer, or its default.
fn int(table: &Table, key: &'static str) -> Option<u128> {
    let default = || key_of("device", key)?.default.value();
    let value = table.get(key).cloned().or_else(default)?;
    u64::of(&value).map(u128::from)
}

fn page_bytes(table: &Table) -> Option<u128> {
    int(table, "page_bytes").filter(|&bytes| bytes > 0)
}

/// L, and as many blocks of each plane as leave the over-provisioning beside it.
fn insert_capacity(table: &mut Table, pages: Value) -> Result<(), ConfigError> {
    let of = |key| int(table, key).filter(|&size| size > 0);
    let sizes = ["channels", "chips_per_channel", "dies_per_chip", "planes_per_die"].map(of);
    let (in_block, stripe) = (of("pages_per_block"), of("stripe_pages"));
    let op = int(table, "op_permille").filter(|&op| op < 1000);
    // A value that is wrong is an error of its own key.
    let (Some(planes), Some(in_block), Some(stripe), Some(op), Value::Int(pages)) = (
        sizes.into_iter().try_fold(1u128, |all, size| all.checked_mul(size?)),
        in_block,
        stripe,
        op,
        pages,
    ) else {
        return Ok(());
    };
    let period = (planes * stripe).max(1);
    let logical = pages as u128 / period * period;
    if logical == 0 {
        return Err(ConfigError::Impossible {
            table: "device",
            what: format!(
                "capacity of {pages} pages: less than one stripe of {stripe} pages for each of \
                 {planes} planes"
            ),
        });
    }
    let raw = (logical * 1000).div_ceil(1000 - op);
    let blocks = raw.div_ceil(planes.saturating_mul(in_block));
    let number = |count: u128| Value::Int(count.min(u64::MAX.into()) as i128);
    table.insert("logical_pages".into(), number(logical));
    table.insert("blocks_per_plane".into(), number(blocks));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pairs: &[(&str, &str)]) -> Table {
        pairs.iter().map(|&(key, text)| (key.to_string(), Value::Text(text.into()))).collect()
    }

    #[test]
    fn keys_with_units_are_exact_keys() {
        let given = table(&[
            ("page", "16KiB"),
            ("read", "60us"),
            ("erase", "1.5ms"),
            ("op", "6.7%"),
            ("link", "7GB/s"),
            ("buffer", "1MiB"),
        ]);
        let exact = exact(&given).expect("good values");
        let found: Vec<(&str, String)> =
            exact.iter().map(|(key, value)| (key.as_str(), value.to_string())).collect();
        let expected = [
            ("buffer_pages", "64"),
            ("erase_ns", "1500000"),
            ("link_ps_per_byte", "143"),
            ("op_permille", "67"),
            ("page_bytes", "16384"),
            ("read_ns", "[60000]"),
        ];
        assert_eq!(found, expected.map(|(key, value)| (key, value.to_string())));
    }

    #[test]
    fn a_capacity_stays_and_the_flash_grows_with_over_provisioning() {
        let of = |op: &str| {
            let mut given = table(&[("capacity", "1GiB"), ("op", op)]);
            given.insert("channels".into(), Value::Int(8));
            let exact = exact(&given).expect("good values");
            (int(&exact, "logical_pages"), int(&exact, "blocks_per_plane"))
        };
        assert_eq!(of("0%"), (Some(1 << 18), Some(512)));
        assert_eq!(of("50%"), (Some(1 << 18), Some(1024)));
    }

    #[test]
    fn mistakes_name_the_key() {
        for (given, expected) in [
            (("read", "60"), "device: read = \"60\": expected a time in whole nanoseconds"),
            (("read", "1.5ns"), "device: read = \"1.5ns\": expected a time"),
            (("op", "7"), "device: op = \"7\": expected a share"),
            (("op", "6.75%"), "device: op = \"6.75%\": expected a share"),
            (("link", "7GB"), "device: link = \"7GB\": expected a rate"),
            (("channel", "4"), "device: channel = \"4\": expected a rate such as \"1200MB/s\""),
            (("link", "3TB/s"), "device: link = \"3TB/s\": expected a rate"),
            (("buffer", "4095B"), "device: buffer = \"4095B\": expected a size of at least a page"),
            (("page", "16kiB"), "device: page = \"16kiB\": expected a size"),
        ] {
            let error = exact(&table(&[given])).expect_err("a mistake").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let error = exact(&table(&[("page", "4KiB"), ("page_bytes", "4096")])).expect_err("both");
        assert_eq!(error.to_string(), "page excludes page_bytes: it needs one of the two");
    }
}
