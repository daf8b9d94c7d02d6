//! Recorders of a single run: the decision log, the series, the timeline.

use crate::drive::Drive;
use crate::trace::Trace;
use destage_core::{Nanos, Page, Plan, Request};
use destage_engine::decisions::DecisionLog;
use destage_engine::result::RunResult;
use destage_engine::series::{Period, Series};
use destage_replay::kv::KvDecision;
use destage_replay::tiers::TierDecision;
use destage_replay::timed::Timeline;
use destage_replay::{Completed, Observer};
use destage_ssd::OperationRecord;
use destage_trace::TraceError;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Recorders of a run: the decision log, the series, the timeline.
pub struct Recorders<'a> {
    log: Option<DecisionLog<'a, Out>>,
    series: Option<Series>,
    timeline: Option<Timeline<Out>>,
}

/// Where a log goes.
type Out = BufWriter<Box<dyn Write + Send>>;

/// Recordings of a run.
pub struct RecordOptions<'a> {
    /// A file for every decision.
    pub decisions: Option<&'a Path>,
    /// Length of a period of the series, accesses.
    pub period: Option<u64>,
    /// A file for every operation of the drive.
    pub timeline: Option<&'a Path>,
    /// The drive, if there is one.
    pub drive: Option<&'a Drive>,
    /// There is a third tier.
    pub has_tier3: bool,
}

impl Observer for Recorders<'_> {
    fn watches(&self) -> bool {
        self.log.is_some() || self.series.is_some() || self.timeline.is_some()
    }

    fn wants_operations(&self) -> bool {
        self.timeline.is_some()
    }

    fn completed(&mut self, request: &Completed) {
        if let Some(timeline) = &mut self.timeline {
            timeline.completed(request);
        }
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        if let Some(log) = &mut self.log {
            log.idle_write(at_ns, page);
        }
        self.series.idle_write(at_ns, page);
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        if let Some(timeline) = &mut self.timeline {
            timeline.operations(operations);
        }
    }

    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if let Some(log) = &mut self.log {
            log.access(r, hit, plan);
        }
        if let Some(series) = &mut self.series {
            series.access(r, hit, plan);
        }
    }

    fn refused(&mut self, r: &Request, plan: &Plan) {
        if let Some(log) = &mut self.log {
            log.refused(r, plan);
        }
        self.series.refused(r, plan);
    }

    fn tiers(&mut self, decision: &TierDecision) {
        self.log.tiers(decision);
    }

    fn chain(&mut self, decision: &KvDecision) {
        self.log.chain(decision);
        self.series.chain(decision);
    }

    fn wants_gauges(&self) -> bool {
        self.series.wants_gauges()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.series.gauge(name, value);
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.log.as_mut().is_none_or(|log| log.progress(accesses))
            && self.series.as_mut().is_none_or(|series| series.progress(accesses))
            && self.timeline.as_mut().is_none_or(|timeline| timeline.progress(accesses))
    }
}

/// Opens a file for what is recorded; `-` is standard output.
fn open(path: &Path) -> Result<Out, TraceError> {
    if path == Path::new("-") {
        return Ok(BufWriter::new(Box::new(io::stdout())));
    }
    let file = File::create(path).map_err(|source| write_error(path, source))?;
    Ok(BufWriter::new(Box::new(file)))
}

fn write_error(path: &Path, source: io::Error) -> TraceError {
    TraceError::Write { path: path.to_owned(), source }
}

impl<'a> Recorders<'a> {
    fn new(trace: &'a Trace, wanted: &RecordOptions<'_>) -> Result<Self, TraceError> {
        let lpns = trace.trace.lpns();
        let log = wanted.decisions.map(open).transpose()?;
        let log = log.map(|out| DecisionLog::new(out, lpns).with_tier3(wanted.has_tier3));
        let timeline = match (wanted.timeline, wanted.drive) {
            (Some(path), Some(drive)) => {
                let (units, channels) = (drive.drive.device.units(), drive.drive.device.channels);
                let of_a_channel = units / channels; // they are numbered channel by channel
                Some(Timeline::new(open(path)?, (0..units).map(|unit| unit / of_a_channel)))
            }
            _ => None,
        };
        Ok(Recorders { log, series: wanted.period.map(Series::new), timeline })
    }

    /// Ends the logs, and gives the series.
    fn finish(self, wanted: &RecordOptions<'_>) -> Result<Vec<Period>, TraceError> {
        let failed =
            |path: Option<&Path>, source| write_error(path.unwrap_or(Path::new("-")), source);
        if let Some(log) = self.log {
            log.finish().map_err(|source| failed(wanted.decisions, source))?;
        }
        if let Some(timeline) = self.timeline {
            timeline.finish().map_err(|source| failed(wanted.timeline, source))?;
        }
        Ok(self.series.map_or(Vec::new(), Series::finish))
    }
}

/// Runs with lookers; an error of a log comes before the end that it caused.
pub fn looked_at<E>(
    trace: &Trace,
    wanted: &RecordOptions<'_>,
    work: impl FnOnce(&mut Recorders<'_>) -> Result<RunResult, E>,
) -> Result<RunResult, Ended<E>> {
    let mut lookers = Recorders::new(trace, wanted).map_err(Ended::Log)?;
    let result = work(&mut lookers);
    let mut series = lookers.finish(wanted).map_err(Ended::Log)?;
    let result = result.map_err(Ended::Run)?;
    if result.config.options.fetch_on_write_miss {
        series = series.into_iter().map(Period::fetched).collect();
    }
    Ok(RunResult { series, ..result })
}

/// Why a run with lookers ended early.
pub enum Ended<E> {
    /// A log could not be written.
    Log(TraceError),
    /// The run could not go on.
    Run(E),
}
