//! Planes, units and channels, and which plane a page calls its home (`docs/spec/device.md` 4.1,
//! 5.2).
//!
//! ```text
//!  chip   = channel * W + chip of the channel
//!  die    = chip * dies + die of the chip
//!  plane  = die * planes + plane of the die       numbered over the whole drive
//!  block  = plane * B + block of the plane        ditto
//!  page   = block * N + index in the block        a physical page number
//! ```

use crate::config::{DeviceConfig, QueueLevel};
use crate::divisor::Divisor;
use destage_core::{Lpn, PlaneId, UnitId};

/// Number of a physical page.
pub type Ppn = u32;

/// Where a plane belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its unit: what has the queue.
    pub unit: u32,
    /// Its channel.
    pub channel: u32,
}

/// Sizes of a drive, and its striping.
#[derive(Clone, PartialEq, Debug)]
pub struct Geometry {
    /// C.
    pub channels: u32,
    /// Units of the whole drive.
    pub units: u32,
    /// Planes of the whole drive.
    pub planes: u32,
    /// Planes of one unit; they are numbered in a row.
    pub planes_per_unit: u32,
    /// B, blocks per plane.
    pub blocks_per_plane: u32,
    /// N, pages per block, the summary page included.
    pub pages_per_block: u32,
    /// D, data pages per block.
    pub data_pages: u32,
    /// L, logical pages.
    pub logical_pages: u32,
    /// s, consecutive pages that stay together.
    stripe_pages: u32,
    by_planes: Divisor,
    by_stripe_pages: Divisor,
    places: Vec<Place>,
    // The striping order has the period `planes`: one entry per stripe of a period.
    homes: Vec<u32>,
}

impl Geometry {
    /// Of a checked configuration.
    pub(crate) fn new(config: &DeviceConfig) -> Self {
        let sizes = config.sizes();
        let planes: u32 = sizes.iter().product();
        let [channels, chips, dies, planes_per_die] = sizes;
        let planes_per_unit = match config.queue_level {
            QueueLevel::Channel => chips * dies * planes_per_die,
            QueueLevel::Chip => dies * planes_per_die,
            QueueLevel::Die => planes_per_die,
            QueueLevel::Plane => 1,
        };
        let planes_per_channel = planes / channels;
        let place =
            |plane| Place { unit: plane / planes_per_unit, channel: plane / planes_per_channel };
        Geometry {
            channels,
            units: planes / planes_per_unit,
            planes,
            planes_per_unit,
            blocks_per_plane: config.blocks_per_plane,
            pages_per_block: config.pages_per_block,
            data_pages: config.data_pages(),
            logical_pages: config.logical_pages,
            stripe_pages: config.stripe_pages,
            by_planes: Divisor::new(planes),
            by_stripe_pages: Divisor::new(config.stripe_pages),
            places: (0..planes).map(place).collect(),
            homes: (0..planes).map(|stripe| home(stripe, config)).collect(),
        }
    }

    /// Unit and channel of a plane.
    #[inline(always)]
    pub fn place(&self, plane: u32) -> Place {
        self.places[plane as usize]
    }

    /// The unit of a plane.
    #[inline(always)]
    pub fn unit_of(&self, plane: PlaneId) -> UnitId {
        UnitId(self.place(plane.0).unit)
    }

    /// Planes of a unit.
    pub fn planes_of(&self, unit: u32) -> std::ops::Range<u32> {
        unit * self.planes_per_unit..(unit + 1) * self.planes_per_unit
    }

    /// The home plane of a page `0..L`.
    #[inline(always)]
    pub fn home(&self, lpn: u32) -> u32 {
        self.home_and_rank(lpn).0
    }

    /// The home plane of a page `0..L`, and how many lower pages call it their home, too.
    #[inline(always)]
    pub fn home_and_rank(&self, lpn: u32) -> (u32, u32) {
        let (stripe, rest) =
            if self.stripe_pages == 1 { (lpn, 0) } else { self.by_stripe_pages.split(lpn) };
        let (period, at) = self.by_planes.split(stripe);
        (self.homes[at as usize], period * self.stripe_pages + rest)
    }

    /// Most pages that call one plane their home.
    pub fn most_homed_pages(&self) -> u64 {
        let stripes = self.logical_pages.div_ceil(self.stripe_pages);
        u64::from(stripes.div_ceil(self.planes)) * u64::from(self.stripe_pages)
    }

    /// Pages that call each plane their home.
    pub(crate) fn homed_pages(&self) -> Vec<u32> {
        let mut pages = vec![0; self.planes as usize];
        let stripes = self.logical_pages.div_ceil(self.stripe_pages);
        for (at, &plane) in (0u32..).zip(&self.homes).take(stripes as usize) {
            pages[plane as usize] = (stripes - at).div_ceil(self.planes) * self.stripe_pages;
        }
        // The last stripe may be a shorter one; u32 holds its end: a plane has room for all of it.
        let last = self.homes[((stripes - 1) % self.planes) as usize];
        let missing = u64::from(stripes) * u64::from(self.stripe_pages);
        pages[last as usize] -= (missing - u64::from(self.logical_pages)) as u32;
        pages
    }

    /// The home plane of a page as policies name it; page numbers beyond the drive wrap.
    pub fn home_of(&self, lpn: Lpn) -> PlaneId {
        PlaneId(self.home((lpn.0 % u64::from(self.logical_pages)) as u32))
    }

    /// Physical pages of the whole drive, summary pages included.
    pub fn physical_pages(&self) -> u32 {
        self.planes * self.blocks_per_plane * self.pages_per_block
    }
}

/// Coordinates of a stripe, letter by letter: coordinate = q mod size, q = q / size.
fn home(stripe: u32, config: &DeviceConfig) -> u32 {
    let sizes = config.sizes();
    let mut coordinates = [0; 4];
    let mut q = stripe;
    for level in config.striping.levels() {
        coordinates[level] = q % sizes[level];
        q /= sizes[level];
    }
    let [_, chips, dies, planes] = sizes;
    let [channel, chip, die, plane] = coordinates;
    ((channel * chips + chip) * dies + die) * planes + plane
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Table, Value};

    fn geometry(striping: &str, level: &str) -> Geometry {
        let mut table = Table::new();
        for (key, size) in [
            ("channels", 8),
            ("chips_per_channel", 4),
            ("dies_per_chip", 2),
            ("planes_per_die", 2),
            ("blocks_per_plane", 64),
        ] {
            table.insert(key.into(), Value::Int(size));
        }
        table.insert("striping".into(), Value::Text(striping.into()));
        table.insert("queue_level".into(), Value::Text(level.into()));
        Geometry::new(&DeviceConfig::from_table(&table).expect("a good configuration"))
    }

    #[test]
    fn runs_of_pages_share_a_channel_as_the_table_of_striping_schemes_says() {
        for (scheme, run) in [("0", 1), ("1", 2), ("2", 4), ("3", 16)] {
            let geometry = geometry(scheme, "chip");
            let channel = |lpn| geometry.place(geometry.home(lpn)).channel;
            assert!((0..run).all(|lpn| channel(lpn) == 0), "scheme {scheme}");
            assert_eq!(channel(run), 1, "scheme {scheme}");
        }
    }

    #[test]
    fn a_period_of_the_striping_meets_every_plane_once() {
        for order in ["CWDP", "PWCD", "DPWC", "WCPD"] {
            let geometry = geometry(order, "plane");
            let mut met: Vec<u32> = (0..geometry.planes).map(|lpn| geometry.home(lpn)).collect();
            met.sort_unstable();
            assert_eq!(met, (0..128).collect::<Vec<_>>(), "{order}");
        }
    }

    #[test]
    fn the_pages_of_a_plane_are_ranked_by_number() {
        for (stripe, logical) in [(1, 1000), (3, 1000), (7, 128 * 7)] {
            let mut geometry = geometry("PCWD", "plane");
            geometry.stripe_pages = stripe;
            geometry.by_stripe_pages = Divisor::new(stripe);
            geometry.logical_pages = logical;
            let mut ranks = vec![0; geometry.planes as usize];
            for lpn in 0..logical {
                let (plane, rank) = geometry.home_and_rank(lpn);
                assert_eq!(rank, ranks[plane as usize], "page {lpn}");
                ranks[plane as usize] += 1;
            }
            let most = ranks.iter().copied().max().map(u64::from);
            assert!(most <= Some(geometry.most_homed_pages()));
            assert_eq!(geometry.homed_pages(), ranks);
        }
    }

    #[test]
    fn units_are_numbered_by_the_level_that_has_the_queue() {
        for (level, units) in [("channel", 8), ("chip", 32), ("die", 64), ("plane", 128)] {
            let geometry = geometry("0", level);
            assert_eq!(geometry.units, units);
            assert_eq!(geometry.place(127).unit, units - 1);
            assert!(geometry.planes_of(units - 1).contains(&127));
        }
    }
}
