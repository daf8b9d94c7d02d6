//! Options of a profile.

use destage_trace::{Result, TraceError};
use serde::{Deserialize, Serialize};

/// Accesses that count as references.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Page writes: what a write buffer sees, and what BPAC's figures show.
    #[default]
    Writes,
    /// Page reads and page writes.
    All,
}

/// Options of a profile. Defaults are the papers'.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileOptions {
    /// Pages of an erase block; 1..=1048576. Default 64, as in both papers.
    pub pages_per_block: u32,
    /// Accesses that count as references.
    pub counted: Counted,
    /// Epochs of the heat map; 1..=2000. Default 20 (BPAC, figure 2).
    pub epochs: u32,
    /// Most rows of the heat map; 1..=2000. Default 128, chosen.
    pub rows: u32,
    /// Requests of a period of the read ratio; from 1. Default 10 000 (AALRU, figure 1).
    pub period_requests: u64,
    /// Hottest blocks to look into; 0..=10000. Default 24 (AALRU, figure 2).
    pub hottest_blocks: u32,
    /// A page accessed more often than this is hot. Default 10 000 (AALRU, section II).
    pub hot_accesses: u64,
    /// A page accessed less often than this is cold. Default 100 (AALRU, section II).
    pub cold_accesses: u64,
}

impl Default for ProfileOptions {
    fn default() -> Self {
        ProfileOptions {
            pages_per_block: 64,
            counted: Counted::Writes,
            epochs: 20,
            rows: 128,
            period_requests: 10_000,
            hottest_blocks: 24,
            hot_accesses: 10_000,
            cold_accesses: 100,
        }
    }
}

impl ProfileOptions {
    /// Whether all is within its range.
    ///
    /// # Errors
    ///
    /// `Usage`, which names the key, what was found and what was expected.
    pub fn check(&self) -> Result<()> {
        let ranges = [
            ("pages_per_block", u64::from(self.pages_per_block), 1, 1 << 20),
            ("epochs", self.epochs.into(), 1, 2000),
            ("rows", self.rows.into(), 1, 2000),
            ("period_requests", self.period_requests, 1, u64::MAX),
            ("hottest_blocks", self.hottest_blocks.into(), 0, 10_000),
        ];
        for (key, found, low, high) in ranges {
            if !(low..=high).contains(&found) {
                let message = match high {
                    u64::MAX => format!("{key}: expected {low} or more, found {found}"),
                    _ => format!("{key}: expected {low}..{high}, found {found}"),
                };
                return Err(TraceError::usage(message));
            }
        }
        if self.cold_accesses > self.hot_accesses.saturating_add(1) {
            let (cold, hot) = (self.cold_accesses, self.hot_accesses);
            return Err(TraceError::usage(format!(
                "cold_accesses: expected at most {}, found {cold}: a page accessed {} times would \
                 be hot and cold",
                hot.saturating_add(1),
                hot + 1,
            )));
        }
        Ok(())
    }
}
