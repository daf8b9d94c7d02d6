//! The input of a run: the columns of a decoded trace, and what is known of its future.

use crate::accesses::Columns;
use crate::control_commands::ControlCommands;
use destage_core::NEVER;
use destage_trace::next_use::NextUse;
use destage_trace::{ChainMark, Trace};

/// The input of a run.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The decoded trace.
    pub columns: Columns<'a>,
    /// Next uses of its accesses, if a policy of the run needs them.
    pub next_uses: NextUses<'a>,
    /// Arrivals of its rows, nanoseconds, not decreasing; for a warm-up by time, and for a device.
    pub arrivals_ns: &'a [u64],
    /// Rows that go on with the request of the row before them, ascending; for a device.
    pub continuations: &'a [u64],
    /// Length of the request of each row, bytes, for a device that classifies writes by it; empty:
    /// whole pages.
    pub request_bytes: &'a [u64],
    /// Place of each row in the chain of blocks of its request; empty without chains.
    pub chains: &'a [ChainMark],
    /// Trims and flushes; which of them are part of the run is for its options to say.
    pub control_commands: ControlCommands<'a>,
}

impl<'a> Input<'a> {
    /// Columns alone: nothing of the future, of times, of requests or of commands.
    pub const fn of(columns: Columns<'a>) -> Self {
        Input {
            columns,
            next_uses: NextUses::None,
            arrivals_ns: &[],
            continuations: &[],
            request_bytes: &[],
            chains: &[],
            control_commands: ControlCommands::NONE,
        }
    }

    /// A whole trace, and its next uses if a policy of the run needs them.
    pub fn new(trace: &'a Trace, next_use: Option<&'a NextUse>) -> Self {
        Input {
            next_uses: match next_use.map(NextUse::uses) {
                None => NextUses::None,
                Some(destage_trace::next_use::NextUses::Narrow(uses)) => NextUses::Short(uses),
                Some(destage_trace::next_use::NextUses::Wide(uses)) => NextUses::Long(uses),
            },
            arrivals_ns: trace.arrivals_ns(),
            continuations: trace.continuations(),
            chains: trace.chains(),
            control_commands: ControlCommands::of(trace),
            ..Input::of(Columns::of(trace))
        }
    }
}

/// The next use of each access, as wide as the trace is long.
#[derive(Clone, Copy, Debug)]
pub enum NextUses<'a> {
    /// No policy of the run needs them.
    None,
    /// Fewer than 2^32 - 1 accesses; `u32::MAX` is never.
    Short(&'a [u32]),
    /// More; `u64::MAX` is never.
    Long(&'a [u64]),
}

impl NextUses<'_> {
    /// Number of the next access to the page of this one; [`NEVER`] if there is none, or if no
    /// policy needs it.
    #[inline(always)]
    pub fn of(&self, access: usize) -> u64 {
        match self {
            NextUses::None => NEVER,
            NextUses::Short(next) => match next[access] {
                u32::MAX => NEVER,
                next => next.into(),
            },
            NextUses::Long(next) => next[access],
        }
    }
}
