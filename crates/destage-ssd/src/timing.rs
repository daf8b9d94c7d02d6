//! Operations, their phases, and how long they take (`docs/spec/device.md` 4.1).

use crate::config::DeviceConfig;
use crate::geometry::Ppn;
use destage_core::{Nanos, NominalTimes, PlaneId};

/// Type of a flash operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// R: reads a page for the host.
    Read,
    /// W: programs a page for the host.
    Write,
    /// M: moves a page inside its plane.
    Move,
    /// S: programs a summary page.
    Summary,
    /// E: erases a block.
    Erase,
}

/// One entry of a unit's queue.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Operation type.
    pub kind: OperationKind,
    /// The FTL's own work, not the host's page (4.6).
    pub collection: bool,
    /// Plane, over the whole drive.
    pub plane: PlaneId,
    /// Index in its block of the page read or programmed; N for any page of an SLC block, and for
    /// the erase of one.
    pub index: u32,
    /// M: index of the page read; N as above.
    pub from: u32,
    /// The physical page read or programmed; E: the first of the block;
    /// [`NO_PAGE`](Operation::NO_PAGE) for the read of a page that was never written.
    pub ppn: Ppn,
}

impl Operation {
    /// No physical page.
    pub const NO_PAGE: Ppn = Ppn::MAX;
}

/// A part of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Occupies the unit, nanoseconds.
    Cell(Nanos),
    /// Occupies the unit and, if it is shared, the bus, nanoseconds.
    Bus(Nanos),
}

/// The times of a drive, nanoseconds.
#[derive(Clone, Debug)]
pub struct Timing {
    cmd: Nanos,               // c
    array_reads: Vec<Nanos>,  // t_R by index in the block, then that of SLC pages
    array_writes: Vec<Nanos>, // t_P, the same
    erase: Nanos,             // t_E
    slc_erase: Nanos,
    page_transfer: Nanos,    // X
    summary_transfer: Nanos, // X_s
    summary_pages: bool,
    copyback: bool,
    uniform: bool,
}

impl Timing {
    /// Derives the durations of operations from a checked configuration.
    pub(crate) fn new(config: &DeviceConfig) -> Self {
        let x = |bytes: u64| {
            let ps = u128::from(bytes) * u128::from(config.bus_ps_per_byte);
            ps.div_ceil(1000) as Nanos // at most LONGEST_NS, checked with the configuration
        };
        // The page at index i has page type i mod the number of types.
        let by_index = |types: &[Nanos], slc: Nanos| -> Vec<Nanos> {
            let pages = 0..config.pages_per_block as usize;
            pages.map(|i| types[i % types.len()]).chain([slc]).collect()
        };
        let slc = config.slc.map(|slc| [slc.slc_read_ns, slc.slc_program_ns, slc.slc_erase_ns]);
        let [slc_read, slc_program, slc_erase] = slc.unwrap_or_default();
        Timing {
            cmd: config.cmd_ns,
            array_reads: by_index(&config.read_ns, slc_read),
            array_writes: by_index(&config.program_ns, slc_program),
            erase: config.erase_ns,
            slc_erase,
            page_transfer: x(config.page_bytes.into()),
            summary_transfer: x(config.summary_bytes),
            summary_pages: config.summary_page,
            copyback: config.copyback,
            uniform: config.read_ns.len() == 1 && config.program_ns.len() == 1,
        }
    }

    /// One latency per kind: how long an operation takes does not depend on the page's index.
    pub fn is_uniform(&self) -> bool {
        self.uniform
    }

    /// t_P of the page at this index: what follows the transfer of a program.
    #[inline(always)]
    pub fn array_program_ns(&self, index: u32) -> Nanos {
        self.array_writes[index as usize]
    }

    /// Duration on a private bus.
    #[inline(always)]
    pub fn duration_ns(&self, op: &Operation) -> Nanos {
        let transfer = self.transfer_ns(op.kind);
        match op.kind {
            OperationKind::Read => self.cmd + self.array_reads[op.index as usize] + transfer,
            OperationKind::Write | OperationKind::Summary => {
                self.cmd + transfer + self.array_writes[op.index as usize]
            }
            OperationKind::Move => {
                let array =
                    self.array_reads[op.from as usize] + self.array_writes[op.index as usize];
                2 * self.cmd + array + transfer
            }
            OperationKind::Erase => self.cmd + self.erase_ns(op),
        }
    }

    /// t_E of the block.
    #[inline(always)]
    fn erase_ns(&self, op: &Operation) -> Nanos {
        if (op.index as usize) + 1 == self.array_reads.len() { self.slc_erase } else { self.erase }
    }

    /// Sum of the bus phases.
    #[inline(always)]
    pub fn transfer_ns(&self, kind: OperationKind) -> Nanos {
        match kind {
            OperationKind::Read | OperationKind::Write => self.page_transfer,
            OperationKind::Move if self.copyback => 0,
            OperationKind::Move => 2 * self.page_transfer,
            OperationKind::Summary => self.summary_transfer,
            OperationKind::Erase => 0,
        }
    }

    /// The phases, in order.
    pub fn phases(&self, op: &Operation) -> impl Iterator<Item = Phase> {
        use Phase::{Bus, Cell};
        let none = Cell(0);
        let read = |index: u32| Cell(self.cmd + self.array_reads[index as usize]);
        let program = |index: u32| Cell(self.array_writes[index as usize]);
        let x = Bus(self.page_transfer);
        match op.kind {
            OperationKind::Read => [read(op.index), x, none, none, none],
            OperationKind::Write => [Cell(self.cmd), x, program(op.index), none, none],
            OperationKind::Move if self.copyback => {
                [Cell(self.duration_ns(op)), none, none, none, none]
            }
            OperationKind::Move => [read(op.from), x, Cell(self.cmd), x, program(op.index)],
            OperationKind::Summary => {
                [Cell(self.cmd), Bus(self.summary_transfer), program(op.index), none, none]
            }
            OperationKind::Erase => [Cell(self.cmd + self.erase_ns(op)), none, none, none, none],
        }
        .into_iter()
    }

    /// L_r, L_w, L_gc, L_sp: page type 0, nothing waiting (`docs/spec/device-policies.md` 3.2).
    pub fn nominal(&self) -> NominalTimes {
        NominalTimes {
            read_ns: self.cmd + self.array_reads[0] + self.page_transfer,
            program_ns: self.cmd + self.array_writes[0] + self.page_transfer,
            erase_ns: self.cmd + self.erase,
            summary_ns: self
                .summary_pages
                .then_some(self.cmd + self.array_writes[0] + self.summary_transfer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Table, Value};

    fn timing(copyback: bool) -> Timing {
        let list = |values: [i128; 2]| Value::List(values.map(Value::Int).to_vec());
        let mut table = Table::new();
        table.insert("cmd_ns".into(), Value::Int(7));
        table.insert("read_ns".into(), list([100, 300]));
        table.insert("program_ns".into(), list([1000, 5000]));
        table.insert("erase_ns".into(), Value::Int(90_000));
        table.insert("page_bytes".into(), Value::Int(3));
        table.insert("bus_ps_per_byte".into(), Value::Int(1667)); // 5.001 ns: 6
        table.insert("copyback".into(), Value::Bool(copyback));
        table.insert("summary_bytes".into(), Value::Int(1)); // 1.667 ns: 2
        Timing::new(&DeviceConfig::from_table(&table).expect("a good configuration"))
    }

    fn op(kind: OperationKind, index: u32, from: u32) -> Operation {
        Operation { kind, collection: false, plane: PlaneId(0), index, from, ppn: 0 }
    }

    #[test]
    fn durations_are_those_of_the_table_of_operations() {
        let timing = timing(true);
        assert_eq!(timing.duration_ns(&op(OperationKind::Read, 4, 0)), 7 + 100 + 6);
        assert_eq!(timing.duration_ns(&op(OperationKind::Write, 5, 0)), 7 + 6 + 5000);
        assert_eq!(timing.duration_ns(&op(OperationKind::Move, 2, 3)), 14 + 300 + 1000);
        assert_eq!(timing.duration_ns(&op(OperationKind::Summary, 63, 0)), 7 + 2 + 5000);
        assert_eq!(timing.duration_ns(&op(OperationKind::Erase, 0, 0)), 7 + 90_000);
        assert_eq!(
            self::timing(false).duration_ns(&op(OperationKind::Move, 2, 3)),
            14 + 300 + 12 + 1000
        );
    }

    #[test]
    fn phases_add_up_to_the_duration_and_to_the_transfer() {
        for copyback in [true, false] {
            let timing = timing(copyback);
            for kind in [
                OperationKind::Read,
                OperationKind::Write,
                OperationKind::Move,
                OperationKind::Summary,
                OperationKind::Erase,
            ] {
                let op = op(kind, 3, 6);
                let (mut all, mut bus) = (0, 0);
                for phase in timing.phases(&op) {
                    match phase {
                        Phase::Cell(ns) => all += ns,
                        Phase::Bus(ns) => (all, bus) = (all + ns, bus + ns),
                    }
                }
                assert_eq!((all, bus), (timing.duration_ns(&op), timing.transfer_ns(kind)));
            }
        }
    }
}
