//! The decoder against a slow and obvious one: a sorted set of (device, page).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use destage_trace::decode::{DecodeOptions, NoHooks, RecordSource};
use destage_trace::decode_records;
use destage_trace::next_use::NextUses;
use destage_trace::record::{DeviceTable, natural_cmp};
use destage_trace::{ControlKind, Extent, Trace};
use destage_trace::{NO_RESPONSE, Record, RecordOp, Result};
use proptest::prelude::*;

/// Records in memory, handed out a few at a time.
struct Given {
    records: Vec<Record>,
    devices: DeviceTable,
    at: usize,
    batch: usize,
}

impl Given {
    fn new(names: &[&str], records: &[Record], batch: usize) -> Self {
        let mut devices = DeviceTable::new();
        for name in names {
            devices.index(name.as_bytes());
        }
        Given { records: records.to_vec(), devices, at: 0, batch }
    }
}

impl RecordSource for Given {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        let end = (self.at + self.batch).min(self.records.len());
        batch.extend_from_slice(&self.records[self.at..end]);
        self.at = end;
        Ok(end < self.records.len())
    }

    fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::json!({ "records": self.records.len() })
    }
}

fn decode(names: &[&str], records: &[Record], options: &DecodeOptions) -> Result<Arc<Trace>> {
    decode_records(&mut Given::new(names, records, 7), "given", options, &mut NoHooks)
}

/// One page access as the slow decoder sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Access {
    lpn: u64,
    write: bool,
    partial: bool,
    arrival_ns: u64,
    first_of_request: bool,
}

/// Base LPN of each device: spans in name order, each rounded up.
fn bases(names: &[&str], records: &[Record], page: u64, align: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|a, b| natural_cmp(names[*a].as_bytes(), names[*b].as_bytes()));
    let mut bases = vec![0; names.len()];
    let mut base = 0;
    for device in order {
        bases[device] = base;
        let ends = records
            .iter()
            .filter(|r| r.device as usize == device && replayed(r))
            .map(|r| r.offset_bytes + r.length_bytes);
        let span = ends.max().unwrap_or(0);
        base += (span.div_ceil(align) * align).div_ceil(page);
    }
    bases
}

fn replayed(record: &Record) -> bool {
    matches!(record.op, RecordOp::Read | RecordOp::Write)
}

fn slow(names: &[&str], records: &[Record], options: &DecodeOptions) -> Vec<Access> {
    let page = options.page_bytes.unwrap_or(4096);
    let bases = bases(names, records, page, options.span_align_bytes);
    let origin = records.iter().map(|r| r.time_ns).min().unwrap_or(0);
    let origin = if options.absolute_time { 0 } else { origin };
    let mut accesses = Vec::new();
    for r in records.iter().filter(|r| replayed(r)) {
        let end = r.offset_bytes + r.length_bytes;
        for number in r.offset_bytes / page..=(end - 1) / page {
            let covered = end.min((number + 1) * page) - r.offset_bytes.max(number * page);
            let lpn = bases[r.device as usize] + number;
            accesses.push(Access {
                lpn: options.wrap_pages.map_or(lpn, |n| lpn % n),
                write: r.op == RecordOp::Write,
                partial: covered < page,
                arrival_ns: r.time_ns - origin,
                first_of_request: number == r.offset_bytes / page,
            });
        }
    }
    accesses
}

/// The accesses of a decoded trace.
fn accesses(trace: &Trace) -> Vec<Access> {
    let continued: BTreeSet<u64> = trace.continuations().iter().copied().collect();
    let mut accesses = Vec::new();
    for (row, (&first, &ops)) in trace.first_ids().iter().zip(trace.pages_ops()).enumerate() {
        let extent = Extent(ops);
        for k in 0..extent.pages() {
            let lpn = trace.lpns()[(first + k) as usize];
            let partial = (k == 0 && extent.starts_inside())
                || (k + 1 == extent.pages() && extent.ends_inside());
            accesses.push(Access {
                lpn,
                write: extent.is_write(),
                partial,
                arrival_ns: trace.arrivals_ns()[row],
                first_of_request: k == 0 && !continued.contains(&(row as u64)),
            });
        }
    }
    accesses
}

/// A trim or flush: accesses before it, arrival, and the pages that it trims, each once.
type SlowControlCommand = (usize, u64, Option<Vec<u64>>);

fn slow_control_commands(
    names: &[&str],
    records: &[Record],
    options: &DecodeOptions,
) -> Vec<SlowControlCommand> {
    let page = options.page_bytes.unwrap_or(4096);
    let bases = bases(names, records, page, options.span_align_bytes);
    let origin = if options.absolute_time { 0 } else { records[0].time_ns };
    let mut control_commands = Vec::new();
    for (k, r) in records.iter().enumerate().filter(|(_, r)| !replayed(r)) {
        let before = slow(names, &records[..k], options).len();
        if r.op == RecordOp::Flush {
            control_commands.push((before, r.time_ns - origin, None));
            continue;
        }
        let own = |o: &&Record| o.device == r.device && replayed(o);
        let end = records.iter().filter(own).map(|o| o.offset_bytes + o.length_bytes).max();
        let align = options.span_align_bytes;
        let span = (end.unwrap_or(0).div_ceil(align) * align).div_ceil(page);
        let mut lpns: Vec<u64> = Vec::new();
        for number in r.offset_bytes / page..=(r.offset_bytes + r.length_bytes) / page {
            let whole = number * page >= r.offset_bytes
                && (number + 1) * page <= r.offset_bytes + r.length_bytes;
            let lpn = bases[r.device as usize] + number;
            let lpn = options.wrap_pages.map_or(lpn, |n| lpn % n);
            if whole && (names.len() == 1 || number < span) && !lpns.contains(&lpn) {
                lpns.push(lpn);
            }
        }
        control_commands.push((before, r.time_ns - origin, Some(lpns)));
    }
    control_commands
}

/// The trims and flushes of a decoded trace.
fn control_commands(trace: &Trace) -> Vec<SlowControlCommand> {
    let pages = |row| u64::from(Extent(trace.pages_ops()[row]).pages());
    let logical = trace.meta().wrap.as_ref().map(|wrap| wrap.logical_pages);
    let one = |control_command: &destage_trace::ControlCommand| {
        let before = (0..control_command.row as usize).map(pages).sum::<u64>();
        let lpns = control_command.ranges(logical).into_iter().flatten().collect();
        let trims = control_command.kind() == ControlKind::Trim;
        (before as usize, control_command.arrival_ns, trims.then_some(lpns))
    };
    trace.control_commands().iter().map(one).collect()
}

fn agrees(names: &[&str], records: &[Record], options: &DecodeOptions) {
    let trace = decode(names, records, options).expect("decodes");
    assert_eq!(control_commands(&trace), slow_control_commands(names, records, options));
    let continues = |control_command: &destage_trace::ControlCommand| {
        trace.continuations().contains(&control_command.row)
    };
    assert!(!trace.control_commands().iter().any(continues), "no aside cuts a request in two");
    let want = slow(names, records, options);
    let got = accesses(&trace);
    assert_eq!(got, want);

    // Ids are ranks: the table of LPNs is the sorted set, without gaps.
    let pages: BTreeSet<u64> = want.iter().map(|a| a.lpn).collect();
    assert!(trace.lpns().iter().eq(pages.iter()));
    assert_eq!(trace.pages() as usize, pages.len());

    let counts = &trace.meta().counts;
    let number = |f: &dyn Fn(&Access) -> bool| want.iter().filter(|a| f(a)).count() as u64;
    let pages_of = |write: bool| -> BTreeSet<u64> {
        want.iter().filter(|a| a.write == write).map(|a| a.lpn).collect()
    };
    let of = |op: RecordOp| records.iter().filter(|r| r.op == op).count() as u64;
    let (read, written) = (pages_of(false), pages_of(true));
    assert_eq!((counts.reads, counts.writes), (of(RecordOp::Read), of(RecordOp::Write)));
    assert_eq!((counts.trims, counts.flushes), (of(RecordOp::Trim), of(RecordOp::Flush)));
    assert_eq!(counts.requests, counts.reads + counts.writes);
    assert_eq!(counts.accesses, want.len() as u64);
    assert_eq!(counts.write_accesses, number(&|a| a.write));
    assert_eq!(counts.partial_reads, number(&|a| a.partial && !a.write));
    assert_eq!(counts.partial_writes, number(&|a| a.partial && a.write));
    assert_eq!(counts.unique_pages, pages.len() as u64);
    assert_eq!(counts.unique_read, read.len() as u64);
    assert_eq!(counts.unique_written, written.len() as u64);
    assert_eq!(counts.unique_both, read.intersection(&written).count() as u64);

    // Next uses.
    let mut later = BTreeMap::new();
    let mut uses = vec![u64::MAX; want.len()];
    for (k, access) in want.iter().enumerate().rev() {
        uses[k] = later.insert(access.lpn, k as u64).unwrap_or(u64::MAX);
    }
    let next_use = trace.next_uses().expect("makes next uses");
    assert!(matches!(next_use.uses(), NextUses::Narrow(_)));
    let got: Vec<u64> = (0..want.len()).map(|k| next_use.uses().get(k)).collect();
    assert_eq!(got, uses);
    for (before, _, lpns) in slow_control_commands(names, records, options) {
        for lpn in lpns.into_iter().flatten() {
            for (k, use_) in uses[..before].iter_mut().enumerate() {
                if want[k].lpn == lpn && *use_ != u64::MAX && *use_ >= before as u64 {
                    *use_ = u64::MAX; // trimmed in between
                }
            }
        }
    }
    let next_use = trace.next_uses_trimmed_with(&mut NoHooks).expect("makes next uses");
    let got: Vec<u64> = (0..want.len()).map(|k| next_use.uses().get(k)).collect();
    assert_eq!(got, uses);
}

fn record(time_ns: u64, device: u32, op: RecordOp, offset_bytes: u64, length_bytes: u64) -> Record {
    Record {
        time_ns,
        device,
        op,
        offset_bytes,
        length_bytes,
        response_ns: NO_RESPONSE,
        ..Record::EMPTY
    }
}

const NAMES: [&str; 4] = ["disk10", "disk2", "a", "disk2b"];

fn records() -> impl Strategy<Value = Vec<Record>> {
    use RecordOp::{Flush, Read, Trim, Write};
    let op = prop_oneof![4 => Just(Read), 4 => Just(Write), 1 => Just(Trim), 1 => Just(Flush)];
    let offset = prop_oneof![
        4 => 0u64..200_000,
        2 => (0u64..400).prop_map(|s| s * 512),
        1 => 0u64..1 << 36,
    ];
    let length = prop_oneof![3 => 1u64..30_000, 3 => (1u64..32).prop_map(|s| s * 512)];
    let one = (0u64..50, 0u32..4, op, offset, length);
    prop::collection::vec(one, 1..80).prop_map(|list| {
        let mut now = 1_000_000;
        let mut records: Vec<Record> = list
            .into_iter()
            .map(|(gap, device, op, offset, length)| {
                now += gap;
                let length = if op == Flush { 0 } else { length };
                record(now, device, op, offset, length)
            })
            .collect();
        records.push(record(now, 1, Read, 512, 512));
        records
    })
}

fn options() -> impl Strategy<Value = DecodeOptions> {
    let page = prop::sample::select(vec![512, 4096, 8192, 1000, 12_345, 1 << 20]);
    let wrap =
        prop_oneof![2 => Just(None), 1 => (1u64..60).prop_map(Some), 1 => Just(Some(1 << 30))];
    let align = prop::sample::select(vec![1 << 20, 1, 3_000, 256 * 4096]);
    let spool = prop::sample::select(vec![0, 300, usize::MAX]);
    (page, wrap, align, any::<bool>(), spool).prop_map(|(page, wrap, align, absolute, spool)| {
        DecodeOptions {
            page_bytes: Some(page),
            wrap_pages: wrap,
            span_align_bytes: align,
            absolute_time: absolute,
            spool_limit_bytes: spool,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn columns_are_those_of_the_slow_decoder(records in records(), options in options()) {
        agrees(&NAMES, &records, &options);
    }
}

#[test]
fn page_sizes_from_one_byte_on_agree() {
    let records = [
        record(5, 0, RecordOp::Read, 3, 10),
        record(6, 0, RecordOp::Write, 4096, 4097),
        record(6, 0, RecordOp::Read, 511, 2),
    ];
    for page_bytes in [1, 2, 3, 7, 512, 4096, 8192, 1 << 40] {
        agrees(
            &["d"],
            &records,
            &DecodeOptions { page_bytes: Some(page_bytes), ..Default::default() },
        );
    }
}

#[test]
fn devices_stack_in_name_order_each_span_rounded_up() {
    use RecordOp::Read;
    let records = [
        record(0, 0, Read, 0, 4096),              // disk10
        record(0, 1, Read, (3 << 20) - 512, 512), // disk2: exactly 3 MiB
        record(0, 2, Read, 0, 1),                 // a: one byte
    ];
    let trace = decode(&NAMES[..3], &records, &DecodeOptions::default()).expect("decodes");
    let devices: Vec<_> = trace
        .meta()
        .devices
        .iter()
        .map(|d| (d.name.as_str(), d.base_lpn, d.span_bytes, d.span_pages))
        .collect();
    assert_eq!(
        devices,
        [("a", 0, 1, 256), ("disk2", 256, 3 << 20, 768), ("disk10", 1024, 4096, 256)]
    );
    assert_eq!(trace.lpns(), [0, 256 + 767, 1024]);
    assert_eq!(trace.first_ids(), [2, 1, 0]);
}

#[test]
fn wrapping_cuts_a_request_at_the_end_of_the_drive_and_counts() {
    let records = [
        record(0, 0, RecordOp::Write, 0, 4096),
        record(1, 0, RecordOp::Write, 6 * 4096 + 512, 4 * 4096), // pages 6..=10 of 8
        record(2, 0, RecordOp::Read, 20 * 4096, 4096),           // page 4
    ];
    let options = DecodeOptions { wrap_pages: Some(8), ..Default::default() };
    let trace = decode(&["d"], &records, &options).expect("decodes");
    agrees(&["d"], &records, &options);
    assert_eq!((trace.requests(), trace.rows()), (3, 4));
    assert_eq!(trace.continuations(), [2]);
    assert_eq!(trace.lpns(), [0, 1, 2, 4, 6, 7]);
    assert_eq!(trace.first_ids(), [0, 4, 0, 3]);
    let wrap = trace.meta().wrap.clone().expect("it was wrapped");
    assert_eq!((wrap.logical_pages, wrap.requests, wrap.accesses), (8, 2, 4));
    let extents: Vec<Extent> = trace.pages_ops().iter().map(|e| Extent(*e)).collect();
    assert!(extents[1].starts_inside() && !extents[1].ends_inside());
    assert!(!extents[2].starts_inside() && extents[2].ends_inside());
}

#[test]
fn responses_are_kept_where_there_are_any() {
    let mut records = vec![record(0, 0, RecordOp::Read, 0, 512); 3];
    let trace = decode(&["d"], &records, &DecodeOptions::default()).expect("decodes");
    assert_eq!(trace.responses_ns(), None);
    records[1].response_ns = 77;
    let trace = decode(&["d"], &records, &DecodeOptions::default()).expect("decodes");
    assert_eq!(trace.responses_ns(), Some(&[NO_RESPONSE, 77, NO_RESPONSE][..]));
}

#[test]
fn responses_that_begin_late_stay_with_their_rows_through_the_spool() {
    let mut records = vec![record(0, 0, RecordOp::Read, 0, 512); 150_000];
    for (k, record) in records.iter_mut().enumerate().skip(70_000) {
        record.response_ns = k as u64;
    }
    for spool_limit_bytes in [0, usize::MAX] {
        let options = DecodeOptions { spool_limit_bytes, ..Default::default() };
        let mut source = Given::new(&["d"], &records, 10_000);
        let trace = decode_records(&mut source, "given", &options, &mut NoHooks).expect("decodes");
        let responses = trace.responses_ns().expect("there are some");
        assert!(responses.iter().zip(&records).all(|(got, record)| *got == record.response_ns));
        assert_eq!(responses.len(), records.len());
    }
}

#[test]
fn the_fingerprint_is_that_of_the_accesses_not_of_their_names() {
    let records = [record(9, 0, RecordOp::Read, 0, 512), record(10, 0, RecordOp::Write, 8192, 512)];
    let of = |name: &str, records: &[Record], options: &DecodeOptions| {
        decode(&[name], records, options).expect("decodes").meta().fingerprint.clone()
    };
    let plain = of("x", &records, &DecodeOptions::default());
    assert_eq!(plain.len(), 32);
    assert_eq!(plain, of("y", &records, &DecodeOptions::default()));
    let mut other = records;
    other[1].op = RecordOp::Read;
    assert_ne!(plain, of("x", &other, &DecodeOptions::default()));
    let larger = DecodeOptions { page_bytes: Some(8192), ..Default::default() };
    assert_ne!(plain, of("x", &records, &larger));
}

#[test]
fn what_cannot_be_decoded_is_an_error() {
    let message = |records: &[Record], options: &DecodeOptions| {
        decode(&["d", "e"], records, options).expect_err("an error").to_string()
    };
    let trim = [record(0, 0, RecordOp::Trim, 0, 512)];
    assert_eq!(message(&trim, &DecodeOptions::default()), "given: 0 read or write requests");
    let read = [record(0, 0, RecordOp::Read, 0, 512)];
    let zero = DecodeOptions { page_bytes: Some(0), ..Default::default() };
    assert!(message(&read, &zero).contains("page size: expected 1 byte"));
    let none = DecodeOptions { wrap_pages: Some(0), ..Default::default() };
    assert!(message(&read, &none).contains("at least one page"));
    let far = [
        record(0, 0, RecordOp::Read, (1 << 63) - 1, 1),
        record(0, 1, RecordOp::Read, (1 << 63) - 1, 1),
        record(0, 1, RecordOp::Read, 0, 1),
    ];
    let bytes = DecodeOptions { page_bytes: Some(1), ..Default::default() };
    // 2^63 bytes each: the second ends just at 2^64.
    assert!(decode(&["d", "e"], &far, &bytes).is_ok());
    let third = [&far[..], &[record(0, 2, RecordOp::Read, 0, 1)]].concat();
    let error = decode(&["d", "e", "f"], &third, &bytes).expect_err("no room").to_string();
    assert!(error.contains("device f would reach page"), "{error}");
}

#[test]
fn decoding_stops_when_asked() {
    struct Stop;
    impl destage_trace::decode::Hooks for Stop {
        fn interrupted(&mut self) -> bool {
            true
        }
    }
    let records = [record(0, 0, RecordOp::Read, 0, 512)];
    let outcome = decode_records(
        &mut Given::new(&["d"], &records, 1),
        "given",
        &DecodeOptions::default(),
        &mut Stop,
    );
    assert!(matches!(outcome, Err(destage_trace::TraceError::Interrupted)));
}

#[test]
fn more_pages_than_can_be_numbered_are_refused_as_two_lines_ask_for_them() {
    let options = DecodeOptions { page_bytes: Some(1), ..DecodeOptions::default() };
    let long = |k: u64| Record {
        time_ns: k,
        offset_bytes: k << 34,
        length_bytes: 3 << 30,
        device: 0,
        op: RecordOp::Write,
        ..Record::EMPTY
    };
    let error = decode(&["d"], &[long(0), long(1)], &options).unwrap_err();
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().contains("different pages or more, at most"), "{error}");
}

#[test]
fn trims_and_flushes_are_kept_between_the_rows_and_change_none() {
    use RecordOp::{Flush, Read, Trim, Write};
    let all = [
        record(0, 0, Flush, 0, 0),
        record(1, 0, Write, 0, 3 * 4096),
        record(2, 0, Trim, 1, 3 * 4096),
        record(2, 0, Trim, 100, 200),
        record(2, 0, Read, 4096, 4096),
        record(9, 0, Trim, 1 << 40, 4096), // past the span: nothing there is ever accessed
    ];
    let trace = decode(&["d"], &all, &DecodeOptions::default()).expect("decodes");
    let got: Vec<_> = trace
        .control_commands()
        .iter()
        .map(|a| (a.kind(), a.row, a.arrival_ns, a.first_lpn, a.pages))
        .collect();
    assert_eq!(
        got,
        [
            (ControlKind::Flush, 0, 0, 0, 0),
            (ControlKind::Trim, 1, 2, 1, 2),
            (ControlKind::Trim, 1, 2, 1, 0),
            (ControlKind::Trim, 2, 9, 1 << 28, 1),
        ]
    );
    let rows: Vec<Record> = all.into_iter().filter(replayed).collect();
    let options = DecodeOptions { absolute_time: true, ..Default::default() };
    let bare = decode(&["d"], &rows, &options).expect("decodes");
    assert!(bare.control_commands().is_empty());
    assert_ne!(trace.meta().fingerprint, bare.meta().fingerprint, "runs may see them");
    assert_eq!((trace.first_ids(), trace.lpns()), (bare.first_ids(), bare.lpns()));
    // No more than the asides and a few digits of what the trace says of itself.
    let control_commands = 4 * size_of::<destage_trace::ControlCommand>() as u64;
    assert!(trace.file_bytes() <= bare.file_bytes() + control_commands + 256);
}
