//! Steady state under random writes: write amplification of greedy collection in closed form, and
//! the rate of page writes that saturates the device.
//!
//! Pages that collection keeps free are no room for old versions of pages: a drive with 7 % of its
//! pages to spare that keeps 5 % free works like one with 2 %.

use crate::config::{Bus, DeviceConfig};
use crate::ftl::{AnyFtl, Ftl};
use destage_core::Nanos;
use serde::Serialize;

/// Write amplification of greedy collection under uniform random writes, in a steady state; 1 and
/// more, and infinite without any room.
///
/// Desnoyers, Analytic modeling of SSD write performance, SYSTOR 2012: with N pages a block and
/// alpha = blocks / blocks' worth of valid data, the victim has `X0 - 1` valid pages,
/// `X0 = 1/2 - N / alpha W(-(1 + 1/2N) alpha exp(-(1 + 1/2N) alpha))`, W being Lambert's function,
/// and the amplification is `N / (N - (X0 - 1))`. For N to infinity this is the expression of Xiang
/// and Kurkoski (2011).
///
/// With `y = X0 - 1/2` the first equation says `y = (N + 1/2) exp(-alpha (1 + 1/2N - y / N))`,
/// which is iterated from 0 to its smaller solution; the larger one, N + 1/2, is W's trivial
/// branch.
pub fn greedy_waf(pages_per_block: f64, alpha: f64) -> f64 {
    let n = pages_per_block;
    if alpha <= 1.0 {
        return f64::INFINITY;
    }
    let mut y = 0.0;
    for _ in 0..10_000 {
        let next = (n + 0.5) * f64::exp(-alpha * (1.0 + 0.5 / n - y / n));
        if next <= y {
            break; // it only grows, to the last bit
        }
        y = next;
    }
    (n / (n - (y - 0.5))).max(1.0)
}

/// A drive whose pages are written at random, one like the other.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Saturation {
    /// Over-provisioning that collection can use: the share of the pages left to it that the host
    /// does not see, 0 to 1.
    pub effective_op: f64,
    /// Pages programmed per page that the host writes ([`greedy_waf`]), summary pages left out.
    pub greedy_waf: f64,
    /// Pages that the host can write a second, with nothing else to do and every unit at work.
    pub page_writes_per_s: f64,
}

impl Saturation {
    /// Saturation of a checked configuration. `None` for an FTL without greedy collection, or with
    /// a map on flash, which no formula covers.
    pub fn of(config: &DeviceConfig) -> Option<Saturation> {
        let alpha = AnyFtl::collected_pages(config)? / f64::from(config.logical_pages);
        let waf = greedy_waf(config.data_pages().into(), alpha);
        Some(Saturation {
            effective_op: (1.0 - 1.0 / alpha).max(0.0),
            greedy_waf: waf,
            page_writes_per_s: page_writes_per_s(config, waf),
        })
    }
}

/// At this write amplification, whatever its cause: the units, and where the bus is shared the
/// channels, are busy all the time.
pub fn page_writes_per_s(config: &DeviceConfig, waf: f64) -> f64 {
    let mean = |times: &[Nanos]| times.iter().sum::<Nanos>() as f64 / times.len() as f64;
    let (read, program) = (mean(&config.read_ns), mean(&config.program_ns));
    let transfer = |bytes: u64| (bytes * config.bus_ps_per_byte).div_ceil(1000) as f64;
    let page = transfer(config.page_bytes.into());
    let moved = if config.copyback { 0.0 } else { 2.0 * page };
    let command = config.cmd_ns as f64;
    // For each page of the host: its program, the moves, and its share of an erase and a summary.
    let moves = waf - 1.0;
    let blocks = waf / f64::from(config.data_pages());
    let (mut unit_ns, mut bus_ns) = (command + page + program, page);
    unit_ns += moves * (2.0 * command + read + program + moved);
    bus_ns += moves * moved;
    unit_ns += blocks * (command + config.erase_ns as f64);
    if config.summary_page {
        let summary = transfer(config.summary_bytes);
        unit_ns += blocks * (command + summary + program);
        bus_ns += blocks * summary;
    }
    let units = f64::from(config.units()) / unit_ns;
    let channels = f64::from(config.channels) / bus_ns;
    let per_ns = if config.bus == Bus::Shared { units.min(channels) } else { units };
    per_ns * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Table;

    #[test]
    fn a_block_costs_its_pages_an_erase_and_a_summary() {
        let plain = DeviceConfig::from_table(&Table::new()).expect("the default drive");
        let config = DeviceConfig { bus: Bus::Private, summary_page: true, ..plain };
        let [program_ns] = config.program_ns[..] else { panic!("one time for all pages") };
        let transfer_ns = |bytes: u64| (bytes * config.bus_ps_per_byte).div_ceil(1000);
        let page_ns = config.cmd_ns + transfer_ns(config.page_bytes.into()) + program_ns;
        let summary_ns = config.cmd_ns + transfer_ns(config.summary_bytes) + program_ns;
        let block_ns = u64::from(config.data_pages()) * page_ns
            + (config.cmd_ns + config.erase_ns)
            + summary_ns;
        let writes = page_writes_per_s(&config, 1.0) * block_ns as f64 / 1e9;
        let pages = f64::from(config.units() * config.data_pages());
        assert!((writes / pages - 1.0).abs() < 1e-12, "{writes} of {pages}");
    }
}
