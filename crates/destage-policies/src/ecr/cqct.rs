//! CQCT, the time until a chip has completed its queue, in the four readings of `ecr.rs`
//! (`docs/spec/device-policies.md` 3.2 and 3.3).

use crate::info::OneWritePoint;
use crate::params::{IfAbsent, Kind, Param, Params};
use destage_core::{DeviceView, Lpn, Nanos, NominalTimes, PlaneId, Unfinished, UnitId};

/// The parameter.
pub(crate) const CQCT: Param = Param {
    name: "cqct",
    symbol: "CQCT",
    kind: Kind::Choice(&["backlog", "wait", "eq1_strict", "eq1"]),
    default: IfAbsent::Word("backlog"),
    about: "Chip queue complete time. backlog: remaining work, as in table 1; wait: also the GC \
            that the destage causes; eq1_strict: unfinished operations at nominal times (equation \
            1); eq1: also that GC.",
    ..Param::BLANK
};

/// With several write points a plane the next collection is not that of the fullest block.
pub(crate) const ONE_WRITE_POINT: Option<OneWritePoint> = Some(OneWritePoint {
    param: "cqct",
    values: &["wait", "eq1"],
    instead: "cqct = backlog or eq1_strict",
});

/// The reading of CQCT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cqct {
    Backlog,
    Wait,
    Eq1Strict,
    Eq1,
}

impl Cqct {
    /// As the parameter says.
    pub(crate) fn of(params: &Params) -> Self {
        match params.word("cqct") {
            "wait" => Cqct::Wait,
            "eq1_strict" => Cqct::Eq1Strict,
            "eq1" => Cqct::Eq1,
            _ => Cqct::Backlog,
        }
    }

    /// Whether it asks for the operations of a queue by kind.
    pub(crate) fn counts_operations(self) -> bool {
        matches!(self, Cqct::Eq1Strict | Cqct::Eq1)
    }

    /// CQCT of every unit, list U after the last of them; of one without a candidate, any.
    /// `dynamic`: under dynamic allocation only list U says where its pages go.
    #[inline(always)]
    pub(crate) fn costs_ns(
        self,
        device: &dyn DeviceView,
        costs: &mut [Nanos],
        dynamic: bool,
        candidate: impl Fn(UnitId) -> Option<Lpn>,
    ) {
        match self {
            Cqct::Backlog => device.backlogs_ns(costs),
            _ => self.look_further(device, costs, dynamic, candidate),
        }
    }

    /// The readings that look further than a queue's work. Where the queue alone is longer than the
    /// smallest CQCT before, the collection to come is left out: to predict one takes a look at
    /// every page of its block.
    #[inline(never)]
    fn look_further(
        self,
        device: &dyn DeviceView,
        costs: &mut [Nanos],
        dynamic: bool,
        candidate: impl Fn(UnitId) -> Option<Lpn>,
    ) {
        let mut least = Nanos::MAX;
        for (unit, cost) in (0..).map(UnitId).zip(costs) {
            let Some(lpn) = candidate(unit) else { continue };
            *cost = self.queue_ns(device, unit);
            let has_target = !dynamic || unit.0 >= device.units();
            if has_target && *cost <= least {
                *cost += self.collection_ns(device, lpn);
            }
            least = least.min(*cost);
        }
    }

    /// CQCT of the operations in the queue.
    fn queue_ns(self, device: &dyn DeviceView, unit: UnitId) -> Nanos {
        match device.nominal_times().filter(|_| self.counts_operations()) {
            Some(times) => equation_1_ns(device.unfinished(unit), times),
            None => device.backlog_ns(unit),
        }
    }

    /// CQCT of the collection that a write-back of this page would set off.
    fn collection_ns(self, device: &dyn DeviceView, lpn: Lpn) -> Nanos {
        match self {
            Cqct::Backlog | Cqct::Eq1Strict => 0,
            Cqct::Wait => device.gc_cost_ns(device.target(lpn)),
            Cqct::Eq1 => equations_3_and_4_ns(device, device.target(lpn)),
        }
    }
}

/// Equation 1 without S: L_r N_r + L_w N_w and the collections that are queued, in which a move
/// counts as a read and a write ("imposed by GC").
pub(super) fn equation_1_ns(n: Unfinished, l: NominalTimes) -> Nanos {
    let Unfinished { reads, writes, moves, erases, summaries } = n;
    l.read_ns * (Nanos::from(reads) + Nanos::from(moves))
        + l.program_ns * (Nanos::from(writes) + Nanos::from(moves))
        + l.erase_ns * Nanos::from(erases)
        + l.summary_ns.unwrap_or(0) * Nanos::from(summaries)
}

/// S times T_gc: equation 3 with N_v the valid pages of the block that would be collected, and the
/// summary pages of equation 4, in whole numbers and with N_w = 0, since queued writes have theirs
/// in the queue.
pub(super) fn equations_3_and_4_ns(device: &dyn DeviceView, plane: PlaneId) -> Nanos {
    let (Some(valid), Some(l)) = (device.gc_victim_pages(plane), device.nominal_times()) else {
        return 0;
    };
    let t_gc = l.erase_ns + Nanos::from(valid) * (l.read_ns + l.program_ns);
    let Some(l_sp) = l.summary_ns else { return t_gc };
    // What the active block takes before it is full and its summary page due.
    let room = device.active_block_free_pages(plane).saturating_sub(1);
    let data_pages = device.pages_per_block().saturating_sub(1).max(1);
    let n_sp = if valid < room { 0 } else { 1 + (valid - room) / data_pages };
    t_gc + l_sp * Nanos::from(n_sp)
}
