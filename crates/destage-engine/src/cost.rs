//! The cost of a run, from the cost of one page read and of one page write.
//!
//! After ACR's measure (section IV): `physical_reads * C_r + flash_writes * C_w`, in whatever unit
//! the costs have. Whole numbers, because ACR's decisions compare them exactly.

use destage_policies::FromRun;
use destage_policies::params::Value;
use serde::{Deserialize, Serialize};

/// Cost of one page read and of one page write, in the same unit; each 1..2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// C_r.
    pub read: u64,
    /// C_w.
    pub write: u64,
}

impl Cost {
    /// Reads `read=1,write=118`.
    pub fn parse(text: &str) -> Result<Cost, String> {
        let wrong = |why: String| {
            format!("cost {text:?}: {why}; expected e.g. read=1,write=118 (whole numbers)")
        };
        let (mut read, mut write) = (None, None);
        for pair in text.split([',', ';']) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| wrong(format!("{pair:?} is no key=value")))?;
            let whole = value.trim().parse::<u64>().ok().filter(|v| (1..1 << 32).contains(v));
            let whole = whole.ok_or_else(|| {
                wrong(format!(
                    "{} = {}: expected an integer 1..4294967295",
                    key.trim(),
                    value.trim()
                ))
            })?;
            let target = match key.trim() {
                "read" => &mut read,
                "write" => &mut write,
                other => return Err(wrong(format!("unknown key {other:?}"))),
            };
            if target.replace(whole).is_some() {
                return Err(wrong(format!("{} is given twice", key.trim())));
            }
        }
        match (read, write) {
            (Some(read), Some(write)) => Ok(Cost { read, write }),
            (None, _) => Err(wrong("read is missing".into())),
            (_, None) => Err(wrong("write is missing".into())),
        }
    }

    /// Cost of so many page reads and writes.
    pub fn of(&self, reads: u64, writes: u64) -> u128 {
        u128::from(reads) * u128::from(self.read) + u128::from(writes) * u128::from(self.write)
    }

    /// Parameters of policies that the cost model sets.
    pub fn says(cost: Option<Cost>) -> Vec<(FromRun, Value)> {
        cost.map_or(Vec::new(), |c| {
            vec![
                (FromRun::CostRead, Value::Int(c.read.into())),
                (FromRun::CostWrite, Value::Int(c.write.into())),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_weighs_reads_and_writes() {
        let cost = Cost::parse("read=1, write=118").unwrap();
        assert_eq!(cost.of(10, 2), 246);
    }

    #[test]
    fn the_greatest_counts_at_the_greatest_costs_are_exact() {
        let most = u64::from(u32::MAX);
        let cost = Cost { read: most, write: most };
        let (reads, writes) = (u64::MAX, u64::MAX - 1);
        let sum = u128::from(reads) + u128::from(writes);
        assert_eq!(cost.of(reads, writes), sum * u128::from(most));
    }

    #[test]
    fn costs_that_are_none_are_refused() {
        for text in [
            "",
            "read=1",
            "read=1,write=0",
            "read=1,write=1.5",
            "read=1,wirte=2",
            "1,2",
            "read=1,read=2,write=3",
        ] {
            assert!(Cost::parse(text).unwrap_err().contains("read=1,write=118"), "{text}");
        }
    }
}
