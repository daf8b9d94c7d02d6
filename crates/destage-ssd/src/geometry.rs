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

/// A logical page of the drive, `0..L`. An [`Lpn`] is one of a trace, which may be beyond the
/// drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct DriveLpn(pub u32);

impl DriveLpn {
    /// The number as an index of a slice.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An erase block, numbered over the whole drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The number as an index of a slice.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a plane belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaneLocation {
    /// Unit of the plane: the smallest part with a queue of its own.
    pub unit: UnitId,
    /// Channel of the unit.
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
    places: Vec<PlaneLocation>,
    // The striping order has the period `planes`: one entry per stripe of a period.
    homes: Vec<PlaneId>,
    orders: Vec<u32>, // by plane: its place in a period
}

impl Geometry {
    /// Derives the geometry from a checked configuration.
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
        let place = |plane| PlaneLocation {
            unit: UnitId(plane / planes_per_unit),
            channel: plane / planes_per_channel,
        };
        let homes: Vec<PlaneId> = (0..planes).map(|stripe| home(stripe, config)).collect();
        let mut orders = vec![0; homes.len()];
        for (order, plane) in (0u32..).zip(&homes) {
            orders[plane.index()] = order;
        }
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
            homes,
            orders,
        }
    }

    /// Unit and channel of a plane.
    #[inline(always)]
    pub fn place(&self, plane: PlaneId) -> PlaneLocation {
        self.places[plane.index()]
    }

    /// The unit of a plane.
    #[inline(always)]
    pub fn unit_of(&self, plane: PlaneId) -> UnitId {
        self.place(plane).unit
    }

    /// Planes of a unit.
    pub fn planes_of(&self, unit: UnitId) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        let first = unit.0 * self.planes_per_unit;
        (first..first + self.planes_per_unit).map(PlaneId)
    }

    /// A block of a plane.
    #[inline(always)]
    pub fn block(&self, plane: PlaneId, local: u32) -> BlockId {
        BlockId(plane.0 * self.blocks_per_plane + local)
    }

    /// The first page of a block.
    #[inline(always)]
    pub fn first_page(&self, block: BlockId) -> Ppn {
        block.0 * self.pages_per_block
    }

    /// The home plane of a page.
    #[inline(always)]
    pub fn home(&self, lpn: DriveLpn) -> PlaneId {
        self.home_and_rank(lpn).0
    }

    /// The home plane of a page, and how many lower pages call it their home, too.
    #[inline(always)]
    pub fn home_and_rank(&self, DriveLpn(lpn): DriveLpn) -> (PlaneId, u32) {
        let (stripe, rest) =
            if self.stripe_pages == 1 { (lpn, 0) } else { self.by_stripe_pages.split(lpn) };
        let (period, at) = self.by_planes.split(stripe);
        (self.homes[at as usize], period * self.stripe_pages + rest)
    }

    /// The page of this rank among those that call a plane their home.
    pub(crate) fn homed_page(&self, plane: PlaneId, rank: u32) -> DriveLpn {
        let (period, rest) = self.by_stripe_pages.split(rank);
        let stripe = period * self.planes + self.orders[plane.index()];
        DriveLpn(stripe * self.stripe_pages + rest)
    }

    /// The home plane of a stripe of one page: of a map page.
    #[inline(always)]
    pub(crate) fn home_of_stripe(&self, stripe: u32) -> PlaneId {
        self.homes[self.by_planes.split(stripe).1 as usize]
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
            pages[plane.index()] = (stripes - at).div_ceil(self.planes) * self.stripe_pages;
        }
        // The last stripe may be a shorter one; u32 holds its end: a plane has room for all of it.
        let last = self.homes[((stripes - 1) % self.planes) as usize];
        let missing = u64::from(stripes) * u64::from(self.stripe_pages);
        pages[last.index()] -= (missing - u64::from(self.logical_pages)) as u32;
        pages
    }

    /// The drive's page of this number; numbers beyond the drive wrap.
    #[inline]
    pub fn wrapped(&self, lpn: Lpn) -> DriveLpn {
        DriveLpn((lpn.0 % u64::from(self.logical_pages)) as u32)
    }

    /// The home plane of a page as policies name it.
    #[inline]
    pub fn home_of(&self, lpn: Lpn) -> PlaneId {
        self.home(self.wrapped(lpn))
    }

    /// Physical pages of the whole drive, summary pages included.
    pub fn physical_pages(&self) -> u32 {
        self.planes * self.blocks_per_plane * self.pages_per_block
    }
}

/// Coordinates of a stripe, letter by letter: coordinate = q mod size, q = q / size.
fn home(stripe: u32, config: &DeviceConfig) -> PlaneId {
    let sizes = config.sizes();
    let mut coordinates = [0; 4];
    let mut q = stripe;
    for level in config.striping.levels() {
        coordinates[level] = q % sizes[level];
        q /= sizes[level];
    }
    let [_, chips, dies, planes] = sizes;
    let [channel, chip, die, plane] = coordinates;
    PlaneId(((channel * chips + chip) * dies + die) * planes + plane)
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
            let channel = |lpn| geometry.place(geometry.home(DriveLpn(lpn))).channel;
            assert!((0..run).all(|lpn| channel(lpn) == 0), "scheme {scheme}");
            assert_eq!(channel(run), 1, "scheme {scheme}");
        }
    }

    #[test]
    fn a_period_of_the_striping_meets_every_plane_once() {
        for order in ["CWDP", "PWCD", "DPWC", "WCPD"] {
            let geometry = geometry(order, "plane");
            let mut met: Vec<u32> =
                (0..geometry.planes).map(|lpn| geometry.home(DriveLpn(lpn)).0).collect();
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
                let (plane, rank) = geometry.home_and_rank(DriveLpn(lpn));
                assert_eq!(rank, ranks[plane.index()], "page {lpn}");
                assert_eq!(geometry.homed_page(plane, rank), DriveLpn(lpn));
                ranks[plane.index()] += 1;
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
            let (last, plane) = (UnitId(units - 1), PlaneId(127));
            assert_eq!(geometry.place(plane).unit, last);
            assert!(geometry.planes_of(last).any(|of_last| of_last == plane));
        }
    }
}
