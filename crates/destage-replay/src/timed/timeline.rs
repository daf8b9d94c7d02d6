//! The timeline of a run in the form that Perfetto and `chrome://tracing` read: one track for each
//! unit with its operations, and the requests, each with an arrow to every operation it caused.
//!
//! JSON, one event a line, written as the run goes on. Times are microseconds with three digits
//! behind the point, which is what the format asks for and keeps every nanosecond.

use crate::control_commands::ControlKind;
use crate::observe::{Completed, Observer};
use destage_core::{NEVER, Nanos, Op, Plan, Request};
use destage_ssd::OperationRecord;
use destage_ssd::timing::OperationKind;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::io::{self, Write};

/// Groups of tracks: what the format calls processes.
const UNITS: u32 = 1;
const REQUESTS: u32 = 2;

/// Writes a timeline.
pub struct Timeline<W> {
    out: W,
    first: bool,
    // Host operations whose request has not completed: unit and start, by submission number.
    waiting: HashMap<u64, (u32, Nanos)>,
    lanes: Lanes,
    failed: Option<io::Error>,
}

/// Requests that overlap need tracks of their own: each takes the lowest that is free.
#[derive(Default)]
struct Lanes {
    busy: BinaryHeap<Reverse<(Nanos, u32)>>,
    free: BTreeSet<u32>,
    count: u32,
}

impl Lanes {
    /// A track from `start` to `end`, and whether it is a new one.
    fn take(&mut self, start: Nanos, end: Nanos) -> (u32, bool) {
        while let Some(&Reverse((until, lane))) = self.busy.peek()
            && until <= start
        {
            self.busy.pop();
            self.free.insert(lane);
        }
        let free = self.free.pop_first();
        let lane = free.unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.busy.push(Reverse((end, lane)));
        (lane, free.is_none())
    }
}

/// Nanoseconds as microseconds.
struct Micros(Nanos);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

fn name(op: &OperationRecord) -> (&'static str, &'static str) {
    let what = match op.kind {
        OperationKind::Read => "read",
        OperationKind::Write => "program",
        OperationKind::Move => "move",
        OperationKind::Summary => "summary page",
        OperationKind::Erase => "erase",
    };
    (what, if op.collection { "collection" } else { "host" })
}

impl<W: Write> Timeline<W> {
    /// Timeline of a device; `channels` has the channel of each unit. `out` should be buffered.
    pub fn new(out: W, channels: impl IntoIterator<Item = u32>) -> Self {
        let mut timeline = Timeline {
            out,
            first: true,
            waiting: HashMap::new(),
            lanes: Lanes::default(),
            failed: None,
        };
        let begun = timeline.begin(channels);
        timeline.failed = begun.err();
        timeline
    }

    fn begin(&mut self, channels: impl IntoIterator<Item = u32>) -> io::Result<()> {
        self.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        self.track(UNITS, None, "units of the device")?;
        self.track(REQUESTS, None, "requests")?;
        for (unit, channel) in channels.into_iter().enumerate() {
            self.track(UNITS, Some(unit as u32), &format!("unit {unit}, channel {channel}"))?;
        }
        Ok(())
    }

    /// Names a group of tracks, or a track of it.
    fn track(&mut self, group: u32, track: Option<u32>, name: &str) -> io::Result<()> {
        let (what, tid) = match track {
            None => ("process_name", 0),
            Some(track) => ("thread_name", track),
        };
        self.event(format_args!(
            r#""ph":"M","name":"{what}","pid":{group},"tid":{tid},"args":{{"name":"{name}"}}"#
        ))
    }

    fn event(&mut self, body: std::fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(self.out, "{comma}\n{{{body}}}")
    }

    fn operation(&mut self, op: &OperationRecord) -> io::Result<()> {
        if op.submission != NEVER {
            self.waiting.insert(op.submission, (op.unit, op.start_ns));
        }
        let (name, category) = name(op);
        let (start, took) = (Micros(op.start_ns), Micros(op.end_ns - op.start_ns));
        let waited = op.start_ns - op.submitted_ns;
        let (unit, plane, index) = (op.unit, op.plane, op.index);
        let block = op.block.map_or("null".to_string(), |block| block.to_string());
        self.event(format_args!(
            r#""ph":"X","name":"{name}","cat":"{category}","pid":{UNITS},"tid":{unit},"ts":{start},"dur":{took},"args":{{"waited_ns":{waited},"plane":{plane},"block":{block},"index":{index}}}"#
        ))
    }

    fn request(&mut self, request: &Completed) -> io::Result<()> {
        let Completed { number, op, control_command, issued_ns, completion_ns, ref operations } =
            *request;
        let (lane, new) = self.lanes.take(issued_ns, completion_ns);
        if new {
            self.track(REQUESTS, Some(lane), &format!("requests {lane}"))?;
        }
        let name = match (control_command, op) {
            (Some(ControlKind::Flush), _) => "flush",
            (Some(ControlKind::Trim | ControlKind::Empty), _) => "trim",
            (None, Op::Write) => "write",
            (None, Op::Read) => "read",
        };
        let (start, took) = (Micros(issued_ns), Micros(completion_ns - issued_ns));
        let count = operations.end - operations.start;
        self.event(format_args!(
            r#""ph":"X","name":"{name}","cat":"request","pid":{REQUESTS},"tid":{lane},"ts":{start},"dur":{took},"args":{{"number":{number},"operations":{count}}}"#
        ))?;
        for id in operations.clone() {
            let Some((unit, began_ns)) = self.waiting.remove(&id) else { continue };
            let began = Micros(began_ns);
            self.event(format_args!(
                r#""ph":"s","name":"caused","cat":"flow","id":{id},"pid":{REQUESTS},"tid":{lane},"ts":{start}"#
            ))?;
            self.event(format_args!(
                r#""ph":"f","bp":"e","name":"caused","cat":"flow","id":{id},"pid":{UNITS},"tid":{unit},"ts":{began}"#
            ))?;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// The first error of any write; the run was stopped there.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> Observer for Timeline<W> {
    fn wants_operations(&self) -> bool {
        true
    }

    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}

    fn completed(&mut self, request: &Completed) {
        if self.failed.is_none() {
            self.failed = self.request(request).err();
        }
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        for op in operations {
            if self.failed.is_none() {
                self.failed = self.operation(&op).err();
            }
        }
    }

    fn progress(&mut self, _: u64) -> bool {
        self.failed.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_overlap_lie_on_tracks_of_their_own() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.take(0, 10), (0, true));
        assert_eq!(lanes.take(5, 30), (1, true));
        assert_eq!(lanes.take(10, 12), (0, false), "one ends where the next begins");
        assert_eq!(lanes.take(11, 20), (2, true));
        assert_eq!(lanes.take(20, 20), (0, false));
    }

    #[test]
    fn the_file_is_json_with_every_operation_and_an_arrow_to_it() {
        let op = OperationRecord {
            number: 4,
            submission: 3,
            kind: OperationKind::Write,
            collection: false,
            unit: 1,
            channel: 0,
            plane: 2,
            block: Some(9),
            index: 7,
            submitted_ns: 1000,
            start_ns: 1500,
            end_ns: 251_501,
        };
        let erase = OperationRecord {
            submission: NEVER,
            kind: OperationKind::Erase,
            collection: true,
            block: None,
            ..op
        };
        let mut timeline = Timeline::new(Vec::new(), [0, 0]);
        timeline.operations(&mut [op, erase].into_iter());
        timeline.completed(&Completed {
            number: 0,
            op: Op::Write,
            control_command: None,
            issued_ns: 1000,
            completion_ns: 251_501,
            operations: 3..4,
        });
        let text = timeline.finish().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let of = |ph: &str| events.iter().filter(|e| e["ph"] == ph).collect::<Vec<_>>();
        assert_eq!(of("M").len(), 2 + 2 + 1);
        let slices = of("X");
        assert_eq!(slices.len(), 3);
        assert_eq!(slices[0]["ts"], 1.5);
        assert_eq!(slices[0]["dur"], 250.001);
        assert_eq!(slices[0]["args"]["waited_ns"], 500);
        assert_eq!(
            (&slices[1]["name"], &slices[1]["cat"]),
            (&"erase".into(), &"collection".into())
        );
        let (from, to) = (of("s"), of("f"));
        assert_eq!((from.len(), to.len()), (1, 1));
        assert_eq!((&from[0]["id"], &to[0]["tid"]), (&to[0]["id"], &1.into()));
    }
}
