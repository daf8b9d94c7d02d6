//! Workloads with a name.
//!
//! T1 to T4 are the synthetic traces of Tang and Meng: ACR, an adaptive cost-aware buffer
//! replacement algorithm for flash storage devices, table II, over the simulated database of its
//! section IV.A: 64 MB, 32 K pages of 2 KB.
//!
//! Readings. The paper says that x % of the operations go to "a certain" y % of the pages and
//! nothing of where these lie or of the other operations: here they are the first pages of the
//! file, asked for alike, and the other operations ask alike for the other pages. Requests have one
//! page. The counts of reads and writes are drawn, not exact. Times are not in the paper: the
//! default of 1,000 requests/s.

use destage_keys::Unknown;

use super::description::{Workload, WorkloadKind, usage};
use destage_trace::Result;

/// A named workload.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Preset {
    /// Name of the preset.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Source of the preset.
    pub source: &'static str,
    /// Share of requests that read.
    pub read_ratio: f64,
    /// Share of requests that go to the hot pages.
    pub access_share: f64,
    /// Share of pages that are hot.
    pub page_share: f64,
}

/// A row of ACR's table II.
const fn acr(
    name: &'static str,
    about: &'static str,
    [read_ratio, access_share, page_share]: [f64; 3],
) -> Preset {
    Preset { name, about, source: "ACR, table II", read_ratio, access_share, page_share }
}

/// All presets: 3,000,000 requests over 32,768 pages of 2 KiB.
pub const PRESETS: &[Preset] = &[
    acr("t1", "90 % reads, 60 % of the requests to 40 % of the pages", [0.9, 0.6, 0.4]),
    acr("t2", "80 % reads, 50 % of the requests to 50 % of the pages", [0.8, 0.5, 0.5]),
    acr("t3", "60 % reads, 60 % of the requests to 40 % of the pages", [0.6, 0.6, 0.4]),
    acr("t4", "80 % reads, 80 % of the requests to 20 % of the pages", [0.8, 0.8, 0.2]),
];

impl Workload {
    /// A preset by name (`t1` to `t4`, in any letter case).
    ///
    /// # Errors
    ///
    /// `Usage` that names the nearest preset.
    pub fn preset(name: &str) -> Result<Self> {
        let Some(preset) = PRESETS.iter().find(|p| p.name.eq_ignore_ascii_case(name)) else {
            let known =
                Unknown { name: name.into(), known: PRESETS.iter().map(|p| p.name).collect() };
            return Err(usage(format!("preset: there is no workload {name:?}; {}", known.hint())));
        };
        Ok(Workload {
            requests: 3_000_000,
            pages: 32 * 1024,
            page_bytes: 2048,
            read_ratio: preset.read_ratio,
            access_share: preset.access_share,
            page_share: preset.page_share,
            ..Workload::new(WorkloadKind::Locality)
        })
    }
}
