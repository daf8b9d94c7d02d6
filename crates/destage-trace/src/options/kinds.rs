//! The choices that options offer, as types.

/// What a malformed record does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Ends the run.
    #[default]
    Stop,
    /// Is skipped and counted.
    Skip,
}

/// What time 0 is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeOrigin {
    /// The smallest time over all files of the run (the decoder subtracts it).
    #[default]
    Run,
    /// Each file's own first record.
    File,
    /// As the format has it.
    Absolute,
}

/// In which order records come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Stable by time; ties keep file order, then the order of the files.
    #[default]
    Time,
    /// As stored; a late record gets its predecessor's time.
    File,
    /// As stored; a step back is an error.
    Strict,
}

/// What a coarse clock's tick does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Keeps the burst.
    None,
    /// The i-th of n requests of a tick comes at tick + i/n.
    Uniform,
}

/// What becomes of several devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// One after another in one address space.
    #[default]
    Stack,
    /// A run of its own for each.
    Separate,
}

/// What addresses past the end of the modelled device do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// An error.
    #[default]
    None,
    /// Page number modulo the device's logical pages.
    Modulo,
    /// The device gets as many more blocks per plane as it takes.
    Extend,
}

/// Unit of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// Picoseconds.
    Ps,
    /// 100-nanosecond ticks since 1601.
    Filetime,
    /// There is no time.
    None,
}

/// Which event of a block-layer trace is the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// Issued to the driver, after merging.
    #[default]
    D,
    /// Submitted to the block layer.
    Q,
    /// Completed.
    C,
}

impl Event {
    /// Its letter in blkparse's output.
    pub fn letter(self) -> char {
        match self {
            Event::D => 'D',
            Event::Q => 'Q',
            Event::C => 'C',
        }
    }
}

/// When an event of `ms-etw` happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EtwTime {
    /// TimeStamp minus ElapsedTime.
    #[default]
    Issue,
    /// TimeStamp.
    Completion,
}

/// What an object id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// Number of a 4096-byte block.
    Page,
    /// Number of a 512-byte sector.
    Sector,
    /// A name: each id is one page, sizes are ignored.
    Opaque,
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
    /// Device name.
    pub device: Option<Column>,
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
