//! Parts shared by the binary readers: fixed-width fields, and a window that moves record by record
//! and
//! knows the place of each.

pub(super) use crate::error::{Category, Location, Result, TraceError};
pub(super) use crate::format::{
    BATCH_RECORDS, Facts, Format, Opening, RecordReader, Sample, Tally, Verdict,
};
pub(super) use crate::input::Input;
pub(super) use crate::record::{DeviceTable, NO_RESPONSE, Record, RecordOp};

/// Bytes that a batch of large records takes at most, but for a record that is larger.
const MOST_WINDOW_BYTES: usize = 4 << 20;

/// The `N` bytes from `at` on. The caller has checked that they are there.
#[inline]
pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// The little-endian u16 at byte `at`.
#[inline]
pub(crate) fn u16_le(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(field(bytes, at))
}

/// The little-endian u32 at byte `at`.
#[inline]
pub(crate) fn u32_le(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(field(bytes, at))
}

/// The little-endian u64 at byte `at`.
#[inline]
pub(crate) fn u64_le(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}

/// The big-endian u32 at byte `at`.
#[inline]
pub(crate) fn u32_be(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(field(bytes, at))
}

/// A file of records: where it stands, and what its messages say.
pub(crate) struct Records {
    /// The bytes.
    pub(crate) input: Input,
    /// Number of the record that the window begins with, from 0.
    pub(crate) number: u64,
    name: String,
    hint: String,
}

impl Records {
    /// Records from where `input` stands.
    pub(crate) fn new(input: Input, opening: &Opening) -> Records {
        Records { name: input.name().to_owned(), input, number: 0, hint: opening.hint() }
    }

    /// Name of the file in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The place of the record `ahead` records and `bytes` bytes after the window's begin.
    pub(crate) fn place(&self, ahead: usize, bytes: usize) -> Location {
        Location::Record {
            record: self.number + ahead as u64,
            byte: self.input.position() + bytes as u64,
        }
    }

    /// Moves past `count` records that take `bytes` bytes, and counts them.
    pub(crate) fn advance(&mut self, count: usize, bytes: usize, tally: &mut Tally) {
        self.input.consume(bytes);
        self.number += count as u64;
        tally.lines += count as u64;
    }

    /// Number of whole records of `record_bytes` bytes in the buffer, at most a batch; 0 at the
    /// end, where a rest shorter than a record is malformed.
    pub(crate) fn whole(&mut self, record_bytes: usize, tally: &mut Tally) -> Result<usize> {
        let batch = BATCH_RECORDS.min(MOST_WINDOW_BYTES / record_bytes).max(1);
        let at_hand = self.input.ensure(record_bytes * batch)?;
        let count = (at_hand / record_bytes).min(batch);
        if count == 0 {
            if at_hand > 0 {
                self.short(record_bytes, tally)?;
            }
            self.ended(tally);
        }
        Ok(count)
    }

    /// The end of the file: says whether it was cut off.
    pub(crate) fn ended(&self, tally: &mut Tally) {
        tally.truncated |= self.input.truncated();
    }

    /// The window holds the last bytes of the file, fewer than the `expected` ones of a record.
    ///
    /// Where a compressed stream was cut off and that is allowed, this is its end and no fault.
    pub(crate) fn short(&mut self, expected: usize, tally: &mut Tally) -> Result<()> {
        let rest = self.input.window().len();
        let place = self.place(0, 0);
        self.input.consume(rest);
        if self.input.truncated() {
            return Ok(());
        }
        tally.lines += 1;
        let message =
            format!("the file ends inside a record: expected {expected} bytes, found {rest}");
        self.reject(tally, place, Category::TruncatedRecord, message)
    }

    /// Applies the rules that every format shares, and keeps, counts or refuses the record.
    #[inline]
    pub(crate) fn take(
        &self,
        record: Record,
        place: Location,
        out: &mut Vec<Record>,
        tally: &mut Tally,
    ) -> Result<()> {
        match tally.keep(record, out) {
            Ok(()) => Ok(()),
            Err((category, message)) => self.reject(tally, place, category, message),
        }
    }

    /// Counts a bad record, or ends the run with it.
    #[cold]
    pub(crate) fn reject(
        &self,
        tally: &mut Tally,
        place: Location,
        category: Category,
        message: impl Into<String>,
    ) -> Result<()> {
        tally.reject_record(&self.name, place, category, message, Some(self.hint.clone()))
    }

    /// An error after which the begin of the next record is not known, so that nothing can be
    /// skipped.
    #[cold]
    pub(crate) fn lost(
        &self,
        place: Location,
        message: impl Into<String>,
        hint: Option<&str>,
    ) -> TraceError {
        TraceError::Data {
            file: self.name.clone(),
            place,
            message: message.into(),
            hint: hint.map(str::to_owned),
        }
    }
}
