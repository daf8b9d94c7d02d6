//! Words that keys of a device accept: one enum per key.

use destage_keys::{AsValue, Value, words};
use serde::{Serialize, Serializer};

words! {
    /// The level of the hierarchy that has the queue: what a unit is.
    QueueLevel {
        /// All chips of a channel share a queue (SAC).
        Channel = "channel",
        /// Each chip has a queue (ECR).
        Chip = "chip",
        /// Each die has a queue.
        Die = "die",
        /// Each plane has a queue.
        Plane = "plane",
    }
}

words! {
    /// In which order a unit serves its queue.
    Sched {
        /// First come, first served (4.2).
        Fcfs = "fcfs",
        /// Reads first (4.3).
        ReadFirst = "read_first",
    }
}

words! {
    /// Scope of a bus transfer: which units wait for it.
    Bus {
        /// The unit alone.
        Private = "private",
        /// All units of the channel (4.4).
        Shared = "shared",
    }
}

words! {
    /// Where a written page goes (5.2).
    Alloc {
        /// To its home plane.
        Static = "static",
        /// To the unit with the least work.
        Dynamic = "dynamic",
    }
}

words! {
    /// When blocks are collected (5.4, 5.5).
    GcMode {
        /// Before the program that needs the room.
        Foreground = "foreground",
        /// After the program that used it up.
        Background = "background",
        /// As foreground, and when a unit has been idle for a while.
        Idle = "idle",
    }
}

words! {
    /// Collection operations by which a unit is in GC (4.6).
    InGc {
        /// Those in service, and those that wait in its queue.
        Queued = "queued",
        /// Those in service.
        Executing = "executing",
    }
}

words! {
    /// Treatment of page numbers beyond the device's capacity.
    AddressMode {
        /// It is taken modulo L.
        Wrap = "wrap",
        /// It is an error.
        Error = "error",
    }
}

words! {
    /// Cost of reading a page that was never written.
    UnmappedRead {
        /// A read of page index 0 on the home plane.
        Home = "home",
        /// Nothing.
        Free = "free",
    }
}

words! {
    /// Content of the device before the run (5.6).
    Precondition {
        /// Nothing.
        None = "none",
        /// Every page, written in order.
        Sequential = "sequential",
        /// Every page in order, then random writes.
        Random = "random",
        /// Every page in order, then random writes until write amplification is steady.
        Steady = "steady",
    }
}

words! {
    /// How many pages are free at time 0 where idle units collect (5.6).
    PreconditionEnd {
        /// As many as the last write left.
        Low = "low",
        /// As many as idle collection stops at.
        High = "high",
    }
}

words! {
    /// Event at which a page that needs a frame gets it (7.4).
    EvictWait {
        /// The end of the victim's program.
        Program = "program",
        /// The end of its transfer.
        Transfer = "transfer",
        /// Nothing.
        None = "none",
        /// A staging page of the host, of which there are `staging_pages`.
        Staged = "staged",
    }
}

words! {
    /// When the data of a missed read may go to the host (7.4).
    ReadWait {
        /// When the page has its frame.
        Frame = "frame",
        /// When the data are read.
        Data = "data",
    }
}

words! {
    /// When requests are issued (7.5, 7.6).
    HostMode {
        /// At their arrivals.
        Open = "open",
        /// When a place among the outstanding ones is free.
        Closed = "closed",
    }
}

words! {
    /// Background writer, which destages pages while units are idle (`docs/spec/writer.md`).
    Writer {
        /// No background writer.
        None = "none",
        /// The host: the next dirty victims, one page for each idle unit.
        Trickle = "trickle",
    }
}

words! {
    /// Whose the host link is (`docs/spec/device-today.md` 5.2).
    LinkDuplex {
        /// Each direction has one of its own.
        Full = "full",
        /// Both directions share one.
        Half = "half",
    }
}

words! {
    /// Placement of a host program when the SLC cache of its plane is full
    /// (`docs/spec/device-today.md` 9.2).
    /// (`docs/spec/device-today.md` 9.2).
    SlcPolicy {
        /// It goes to the main area.
        Direct = "direct",
        /// A block is folded first.
        Fold = "fold",
    }
}

words! {
    /// Where collected pages go (`docs/spec/device-today.md` 7.3).
    Isolation {
        /// All to one write point.
        Initial = "initial",
        /// Each to one of its handle.
        Persistent = "persistent",
        /// Where the placement policy says.
        Assigned = "assigned",
    }
}

words! {
    /// Whether collected pages have open blocks of their own (`docs/spec/device-today.md` 7.1).
    GcStream {
        /// They share those of the host's pages.
        Shared = "shared",
        /// They have their own.
        Own = "own",
        /// Pages collected once, and pages collected more often, each have their own.
        ByGeneration = "by-generation",
    }
}

words! {
    /// Which sealed block is collected next (`docs/spec/collectors.md` 4).
    GcVictim {
        /// That with the fewest valid pages.
        Greedy = "greedy",
        /// That which was sealed first.
        Fifo = "fifo",
        /// One that is drawn.
        Random = "random",
        /// The best of several that are drawn.
        DChoices = "d-choices",
        /// The best of the oldest.
        WindowedGreedy = "windowed-greedy",
        /// That with the most age and gain for its cost.
        CostBenefit = "cost-benefit",
        /// The oldest below a limit that grows.
        TwoRegionFifo = "2r-fifo",
    }
}

words! {
    /// Flash operations that a read may suspend (`docs/spec/gc-steps.md` 6).
    Suspend {
        /// Nothing.
        None = "none",
        /// Erases.
        Erase = "erase",
        /// Erases and programs.
        Program = "program",
    }
}

words! {
    /// Which item leaves the map cache (`docs/spec/map-cache.md` 4).
    MapPolicy {
        /// The least recently used.
        Lru = "lru",
        /// The same of a segment of items that were used once, then of the others.
        Slru = "slru",
    }
}

words! {
    /// Items of the map cache (`docs/spec/map-cache.md` 1).
    MapGranularity {
        /// Entries of single pages.
        Entry = "entry",
        /// Whole map pages.
        Page = "page",
    }
}

words! {
    /// Treatment of the trace's trims (`docs/spec/device-today.md` 4).
    TrimMode {
        /// The run skips them.
        Ignore = "ignore",
        /// The trimmed pages are dropped.
        Drop = "drop",
    }
}

words! {
    /// Treatment of the trace's flushes (`docs/spec/device-today.md` 6.4).
    FlushMode {
        /// The run skips them.
        Ignore = "ignore",
        /// They wait for the host's programs.
        Drain = "drain",
    }
}

words! {
    /// How the classes of `fk` grow (`docs/spec/device-today.md` 8.6).
    Steps {
        /// Each by the same factor.
        Geometric = "geometric",
        /// All alike.
        Linear = "linear",
    }
}

/// A permutation of `CWDP`; the first letter varies fastest (5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Striping([u8; 4]);

impl Serialize for Striping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl AsValue for Striping {
    fn of(value: &Value) -> Option<Self> {
        Striping::parse(value)
    }

    fn value(&self) -> Value {
        self.name().as_str().into()
    }
}

impl Striping {
    const LETTERS: [u8; 4] = *b"CWDP";
    const SCHEMES: [&'static [u8; 4]; 4] = [b"CWDP", b"PCWD", b"PDCW", b"PDWC"];

    /// A scheme's number, as number or text, or the letters.
    fn parse(value: &Value) -> Option<Striping> {
        let text = match value {
            Value::Int(scheme) => scheme.to_string(),
            Value::Text(text) => text.clone(),
            _ => return None,
        };
        if let Ok(scheme) = text.parse::<usize>() {
            return Striping::SCHEMES.get(scheme).map(|&&order| Striping(order));
        }
        let order: [u8; 4] = text.as_bytes().try_into().ok()?;
        Striping::LETTERS.iter().all(|letter| order.contains(letter)).then_some(Striping(order))
    }

    /// The levels in order: 0 channel, 1 chip, 2 die, 3 plane.
    pub(crate) fn levels(self) -> impl Iterator<Item = usize> {
        let level = |letter| Striping::LETTERS.iter().position(|&l| l == letter);
        self.0.into_iter().filter_map(level)
    }

    /// As a word, such as `CWDP`.
    pub fn name(self) -> String {
        self.0.iter().map(|&letter| char::from(letter)).collect()
    }
}
