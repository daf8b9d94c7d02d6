//! The choices that options offer, as types.

use destage_keys::{AsValue, words};

words! {
    /// Effect of a malformed record.
    #[derive(Default)]
    OnError {
        /// Ends the run.
        #[default]
        Stop = "stop",
        /// Is skipped and counted.
        Skip = "skip",
    }
}

words! {
    /// Origin of the times.
    #[derive(Default)]
    TimeOrigin {
        /// The smallest time over all files of the run (the decoder subtracts it).
        #[default]
        Run = "run",
        /// Each file's own first record.
        File = "file",
        /// Default of the format.
        Absolute = "absolute",
    }
}

words! {
    /// Order of the records.
    #[derive(Default)]
    Order {
        /// Stable by time; ties keep file order, then the order of the files.
        #[default]
        Time = "time",
        /// As stored; a late record gets its predecessor's time.
        File = "file",
        /// As stored; a step back is an error.
        Strict = "strict",
    }
}

words! {
    /// Treatment of the requests of one tick of a coarse clock.
    Spread {
        /// Keeps the burst.
        None = "none",
        /// The i-th of n requests of a tick comes at tick + i/n.
        Uniform = "uniform",
    }
}

words! {
    /// Treatment of several volumes.
    #[derive(Default)]
    Volumes {
        /// One after another in one address space.
        #[default]
        Stack = "stack",
        /// A run of its own for each.
        Separate = "separate",
    }
}

words! {
    /// Treatment of addresses past the end of the modelled device.
    #[derive(Default)]
    Wrap {
        /// An error.
        #[default]
        None = "error",
        /// Page number modulo the device's logical pages.
        Modulo = "modulo",
        /// The device gets as many more blocks per plane as it takes.
        Extend = "extend",
    }
}

words! {
    /// Unit of a time column.
    TimeUnit {
        /// Seconds.
        S = "s",
        /// Milliseconds.
        Ms = "ms",
        /// Microseconds.
        Us = "us",
        /// Nanoseconds.
        Ns = "ns",
        /// Picoseconds.
        Ps = "ps",
        /// 100-nanosecond ticks since 1601.
        Filetime = "filetime",
        /// Dates as text, such as `2024-01-15 10:30:45.123456`, in UTC unless they say otherwise.
        Date = "date",
        /// There is no time.
        None = "none",
    }
}

words! {
    /// Which event of a block-layer trace is the request.
    #[derive(Default)]
    Event {
        /// Issued to the driver, after merging.
        #[default]
        D = "D",
        /// Submitted to the block layer.
        Q = "Q",
        /// Completed.
        C = "C",
    }
}

impl Event {
    /// Letter of the event in blkparse's output.
    pub fn letter(self) -> char {
        match self {
            Event::D => 'D',
            Event::Q => 'Q',
            Event::C => 'C',
        }
    }
}

words! {
    /// When an event of `ms-etw` happened.
    #[derive(Default)]
    EtwTime {
        /// TimeStamp minus ElapsedTime.
        #[default]
        Issue = "issue",
        /// TimeStamp.
        Completion = "completion",
    }
}

words! {
    /// Meaning of an object id.
    Object {
        /// Number of a 4096-byte block.
        Page = "page",
        /// Number of a 512-byte sector.
        Sector = "sector",
        /// A name: each id is one page, sizes are ignored.
        Opaque = "opaque",
    }
}

/// Unit of an address or length column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// This many bytes.
    Bytes(u64),
    /// `page_bytes` (4096 unless given).
    Page,
}

/// A column of a mapped format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header.
    Name(String),
    /// By its number, from 0.
    Number(usize),
}

/// Which column is what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Arrival time.
    pub time: Option<Column>,
    /// Device name; several columns are one name, with `_` between.
    pub device: Vec<Column>,
    /// Operation.
    pub op: Option<Column>,
    /// Address.
    pub offset: Option<Column>,
    /// Length.
    pub length: Option<Column>,
    /// Measured service time.
    pub response: Option<Column>,
}

/// The roles that `columns` may name.
pub const COLUMN_ROLES: &[&str] = &["time", "device", "op", "offset", "length", "response"];

impl Columns {
    /// Sets a role; `None` if there is no such role, or not that many columns can have it.
    pub(super) fn set(&mut self, role: &str, mut columns: Vec<Column>) -> Option<()> {
        if role == "device" {
            self.device = columns;
            return Some(());
        }
        let place = match role {
            "time" => &mut self.time,
            "op" => &mut self.op,
            "offset" => &mut self.offset,
            "length" => &mut self.length,
            "response" => &mut self.response,
            _ => return None,
        };
        *place = columns.pop();
        columns.is_empty().then_some(())
    }

    /// The columns of each role, in the order of [`COLUMN_ROLES`].
    pub(crate) fn roles(&self) -> [&[Column]; 6] {
        let one = |column| Option::as_slice(column);
        [
            one(&self.time),
            &self.device,
            one(&self.op),
            one(&self.offset),
            one(&self.length),
            one(&self.response),
        ]
    }

    pub(super) fn value(&self) -> destage_keys::Value {
        let plain = |column: &Column| match column {
            Column::Name(name) => name.value(),
            Column::Number(number) => (*number as u64).value(),
        };
        let given = COLUMN_ROLES.iter().zip(self.roles()).filter_map(|(role, columns)| {
            let value = match columns {
                [] => return None,
                [one] => plain(one),
                several => destage_keys::Value::List(several.iter().map(plain).collect()),
            };
            Some((role.to_string(), value))
        });
        destage_keys::Value::Map(given.collect())
    }
}
