//! Reader of the libCacheSim formats `oracle-general` and `lcs`: object ids, operations, tenants.
//!
//! A 64-bit id names the accessed object. Its meaning depends on the converter of the trace,
//! and the file does not say it: `object = "page"` (it counts blocks of 4 KiB), `"sector"`, or
//! `"opaque"` (a hash: each id is one page, sizes are ignored). Without the option, files in which
//! every size is 4096 are taken as pages, and any other size is a question to the user.

use rustc_hash::FxHashMap;

use super::binary::*;
use crate::options::{Object, ReaderOptions};

/// The clock of these formats.
pub(crate) const TICK_NS: u64 = 1_000_000_000;

/// Bytes that an id counts in with `object = "page"`, and of an opaque object unless `page_bytes`
/// is given.
const PAGE_BYTES: u64 = 4096;
/// Bytes that an id counts in with `object = "sector"`.
const SECTOR_BYTES: u64 = 512;

/// Opaque ids below this are page numbers as they are; those above get the page numbers from here
/// on, in the order of their first appearance, since no disk could hold them. It leaves 2^18 bytes
/// a page.
const FIRST_GIVEN_PAGE: u64 = 1 << 44;
/// A page or sector number below this has its whole request within 2^63 bytes.
const FIRST_DOUBTFUL_ID: u64 = 1 << 50;

/// The operation behind a code; `None` for codes without a meaning.
pub(crate) fn operation(code: u8) -> Option<RecordOp> {
    match code {
        // none, get, gets; read
        0..=2 | 12 => Some(RecordOp::Read),
        // delete
        9 => Some(RecordOp::Trim),
        // set, add, cas, replace, append, prepend; incr, decr; write, update
        3..=8 | 10 | 11 | 13 | 14 => Some(RecordOp::Write),
        _ => None,
    }
}

/// Turns ids and sizes into extents.
#[derive(Debug)]
struct Objects {
    object: Option<Object>,
    page_bytes: u64,
    max_request_bytes: u64,
    given: FxHashMap<u64, u64>,
}

impl Objects {
    /// As the options `object` and `page_bytes` say.
    fn new(options: &ReaderOptions) -> Objects {
        Objects {
            object: options.object,
            page_bytes: options.page_bytes.unwrap_or(PAGE_BYTES),
            // A simple extent ends below 2^63 whatever limit the user sets.
            max_request_bytes: options.max_request_bytes.min(1 << 32),
            given: FxHashMap::default(),
        }
    }

    /// Size of one reference, where a reference is one page.
    fn page_bytes(&self) -> Option<u64> {
        (self.object == Some(Object::Opaque)).then_some(self.page_bytes)
    }

    /// Whether `simple_extent` gives the extent of this access and every rule holds for it.
    #[inline]
    fn is_simple(&self, id: u64, size_bytes: u32) -> bool {
        match self.object {
            None => {
                size_bytes == PAGE_BYTES as u32
                    && id < FIRST_DOUBTFUL_ID
                    && PAGE_BYTES <= self.max_request_bytes
            }
            Some(Object::Opaque) => {
                size_bytes > 0
                    && id < FIRST_GIVEN_PAGE
                    && self.page_bytes <= self.max_request_bytes.min(1 << 18)
            }
            Some(_) => {
                size_bytes > 0
                    && u64::from(size_bytes) <= self.max_request_bytes
                    && id < FIRST_DOUBTFUL_ID
            }
        }
    }

    /// Offset and length of an access that `is_simple`.
    #[inline]
    fn simple_extent(&self, id: u64, size_bytes: u32) -> (u64, u64) {
        match self.object {
            None | Some(Object::Page) => (id * PAGE_BYTES, u64::from(size_bytes)),
            Some(Object::Sector) => (id * SECTOR_BYTES, u64::from(size_bytes)),
            Some(Object::Opaque) => (id * self.page_bytes, self.page_bytes),
        }
    }

    /// Offset and length of any access; `None` where the offset passes 2^64.
    fn extent(&mut self, id: u64, size_bytes: u64) -> Option<(u64, u64)> {
        match self.object {
            None | Some(Object::Page) => Some((id.checked_mul(PAGE_BYTES)?, size_bytes)),
            Some(Object::Sector) => Some((id.checked_mul(SECTOR_BYTES)?, size_bytes)),
            // An object of no bytes is no access, also where sizes are ignored.
            Some(Object::Opaque) if size_bytes == 0 => Some((0, 0)),
            Some(Object::Opaque) => {
                let page = if id < FIRST_GIVEN_PAGE { id } else { self.give(id) };
                Some((page.checked_mul(self.page_bytes)?, self.page_bytes))
            }
        }
    }

    fn give(&mut self, id: u64) -> u64 {
        let next = FIRST_GIVEN_PAGE + self.given.len() as u64;
        *self.given.entry(id).or_insert(next)
    }
}

/// Position of a record's operation and tenant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpField {
    /// Nowhere.
    None,
    /// A byte and the 16 bits behind it.
    Byte(usize),
    /// Bits 0..7 and 8..31 of a word.
    Word(usize),
}

/// Layout of a record: u32 time (s) at 0, u64 object id at 4, size at 12.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) record_bytes: usize,
    /// The size has 64 bits and a sign, not 32 without.
    pub(crate) wide_size: bool,
    pub(crate) op: OpField,
}

/// Reads records of one layout.
pub(crate) struct ObjectReader {
    records: Records,
    decoder: Decoder,
    facts: Facts,
}

/// Turns the bytes of one record into a request.
struct Decoder {
    layout: Layout,
    objects: Objects,
    /// Operation of records that carry none.
    plain_op: RecordOp,
    file_name: String,
    by_tenant: bool,
    file: Option<u32>,
    tenants: FxHashMap<u32, u32>,
}

impl ObjectReader {
    /// A reader of the records from where `input` stands; `facts` holds what the layout says.
    pub(crate) fn boxed(
        input: Input,
        opening: &Opening,
        layout: Layout,
        facts: Facts,
    ) -> Box<dyn RecordReader> {
        let options = &opening.options;
        let decoder = Decoder {
            layout,
            objects: Objects::new(options),
            plain_op: options.default_op.unwrap_or(RecordOp::Read),
            file_name: input.device_name(),
            by_tenant: options.tenant_is_volume && layout.op != OpField::None,
            file: None,
            tenants: FxHashMap::default(),
        };
        Box::new(ObjectReader { records: Records::new(input, opening), decoder, facts })
    }
}

impl Decoder {
    /// The device of an access without a tenant.
    fn file_device(&mut self, devices: &mut DeviceTable) -> u32 {
        *self.file.get_or_insert_with(|| devices.index(self.file_name.as_bytes()))
    }

    /// The device of an access of `tenant`.
    fn device(&mut self, tenant: u32, devices: &mut DeviceTable) -> u32 {
        if !self.by_tenant {
            return self.file_device(devices);
        }
        *self.tenants.entry(tenant).or_insert_with(|| devices.index(tenant.to_string().as_bytes()))
    }

    /// Whether every record of a batch `is_simple`.
    fn are_simple(&self, batch: &[u8]) -> bool {
        self.layout.op == OpField::None
            && !self.layout.wide_size
            && batch
                .chunks_exact(self.layout.record_bytes)
                .all(|r| self.objects.is_simple(u64_le(r, 4), u32_le(r, 12)))
    }

    /// Takes, counts or refuses one record, by every rule.
    fn careful(
        &mut self,
        bytes: &[u8],
        records: &Records,
        place: Location,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<()> {
        let coded = match self.layout.op {
            OpField::None => None,
            OpField::Byte(at) => Some((bytes[at], u32::from(u16_le(bytes, at + 1)))),
            OpField::Word(at) => Some((bytes[at], u32_le(bytes, at) >> 8)),
        };
        let (op, device) = match coded {
            None => (self.plain_op, self.file_device(devices)),
            Some((code, tenant)) => match operation(code) {
                Some(op) => (op, self.device(tenant, devices)),
                None => {
                    let message = format!("op: expected 0 (none) to 14 (update), found {code}");
                    return records.reject(tally, place, Category::UnknownOp, message);
                }
            },
        };
        let size_bytes = match self.layout.wide_size {
            false => u64::from(u32_le(bytes, 12)),
            true => match u64::try_from(i64::from_le_bytes(field(bytes, 12))) {
                Ok(size_bytes) => size_bytes,
                Err(_) => {
                    let found = i64::from_le_bytes(field(bytes, 12));
                    let message = format!("size: expected a number of bytes, found {found}");
                    return records.reject(tally, place, Category::OutOfRange, message);
                }
            },
        };
        if self.objects.object.is_none() && size_bytes != PAGE_BYTES && size_bytes != 0 {
            return Err(ask(records, place, size_bytes));
        }
        let id = u64_le(bytes, 4);
        let Some((offset_bytes, length_bytes)) = self.objects.extent(id, size_bytes) else {
            let message = format!(
                "object id: {id} lies past 2^63 bytes; --object opaque takes ids as names of pages"
            );
            return records.reject(tally, place, Category::OutOfRange, message);
        };
        let time_ns = u64::from(u32_le(bytes, 0)) * TICK_NS;
        let record = Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY };
        records.take(record, place, out, tally)
    }
}

impl RecordReader for ObjectReader {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        let (records, decoder) = (&mut self.records, &mut self.decoder);
        let size = decoder.layout.record_bytes;
        let count = records.whole(size, tally)?;
        let batch = &records.input.window()[..count * size];
        if count > 0 && decoder.are_simple(batch) {
            // Nothing in this batch can be wrong, so that it is converted in one sweep.
            let (device, op) = (decoder.file_device(devices), decoder.plain_op);
            out.extend(batch.chunks_exact(size).map(|r| {
                let (offset_bytes, length_bytes) =
                    decoder.objects.simple_extent(u64_le(r, 4), u32_le(r, 12));
                let time_ns = u64::from(u32_le(r, 0)) * TICK_NS;
                Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }
            }));
        } else {
            for (i, bytes) in batch.chunks_exact(size).enumerate() {
                let place = records.place(i, i * size);
                decoder.careful(bytes, records, place, out, devices, tally)?;
            }
        }
        self.records.advance(count, count * size, tally);
        Ok(count > 0)
    }

    fn facts(&self) -> Facts {
        Facts { page_bytes: self.decoder.objects.page_bytes(), ..self.facts }
    }
}

/// The question that only the user can answer.
fn ask(records: &Records, place: Location, size_bytes: u64) -> TraceError {
    let question = TraceError::data(
        records.name(),
        place,
        format!("size: {size_bytes} bytes, so that it must be said what an object id is"),
    )
    .with_hint(
        "--object page (it counts 4096-byte blocks), sector (it is a sector number) or opaque \
             (each id is \
             one page, sizes are ignored)",
    );
    TraceError::usage(question.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(object: Object) -> Objects {
        Objects::new(&ReaderOptions { object: Some(object), ..ReaderOptions::default() })
    }

    #[test]
    fn a_page_id_counts_blocks_and_a_sector_id_sectors() {
        assert_eq!(objects(Object::Page).extent(7, 512), Some((7 * 4096, 512)));
        assert_eq!(objects(Object::Sector).extent(7, 512), Some((7 * 512, 512)));
    }

    #[test]
    fn an_opaque_id_is_one_page_of_any_size() {
        let mut objects = objects(Object::Opaque);
        assert_eq!(objects.extent(7, 1), Some((7 * 4096, 4096)));
        assert_eq!(objects.extent(7, 1 << 40), Some((7 * 4096, 4096)));
        assert_eq!(objects.extent(7, 0), Some((0, 0)));
    }

    #[test]
    fn hashes_that_no_disk_could_hold_keep_their_identity() {
        let mut objects = objects(Object::Opaque);
        let first = objects.extent(u64::MAX, 1).unwrap().0;
        let second = objects.extent(u64::MAX - 1, 1).unwrap().0;
        let largest_direct = objects.extent(FIRST_GIVEN_PAGE - 1, 1).unwrap().0;
        assert_eq!(objects.extent(u64::MAX, 1).unwrap().0, first);
        assert!(largest_direct < first && first < second);
        assert!(second + 4096 < 1 << 63);
    }

    #[test]
    fn a_simple_access_is_one_that_every_rule_allows() {
        for object in [None, Some(Object::Page), Some(Object::Sector), Some(Object::Opaque)] {
            let mut objects = Objects::new(&ReaderOptions { object, ..ReaderOptions::default() });
            for id in
                [0, 1, FIRST_GIVEN_PAGE - 1, FIRST_GIVEN_PAGE, FIRST_DOUBTFUL_ID - 1, u64::MAX]
            {
                for size in [0, 1, 4096, 1 << 28, u32::MAX] {
                    if objects.is_simple(id, size) {
                        let extent = objects.extent(id, u64::from(size)).unwrap();
                        assert_eq!(objects.simple_extent(id, size), extent);
                        assert!(
                            extent.1 > 0 && extent.1 <= 256 << 20 && extent.0 + extent.1 <= 1 << 63
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_operation_of_the_specification_has_its_meaning() {
        let codes =
            |op| (0..=255u8).filter(|&code| operation(code) == Some(op)).collect::<Vec<_>>();
        assert_eq!(codes(RecordOp::Read), [0, 1, 2, 12]);
        assert_eq!(codes(RecordOp::Write), [3, 4, 5, 6, 7, 8, 10, 11, 13, 14]);
        assert_eq!(codes(RecordOp::Trim), [9]);
    }
}
