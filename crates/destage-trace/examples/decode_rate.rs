//! How fast a trace is read: gigabytes of text (or records) per second of CPU time.
//!
//! ```sh
//! cargo run --release -p destage-trace --example decode_rate -- FILE [KEY=VALUE...]
//! ```
//! `KEY=VALUE` are reader options, such as `time_unit=us`. CPU time is that of the whole process,
//! which has one thread; bytes are those of the file as stored, so give an unpacked file to time
//! parsing.

use std::path::PathBuf;
use std::process::ExitCode;

use destage_trace::{ReaderOptions, with_stream};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: decode_rate FILE [KEY=VALUE...]");
        return ExitCode::from(2);
    };
    match measure(PathBuf::from(path), arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_status())
        }
    }
}

fn measure(path: PathBuf, settings: impl Iterator<Item = String>) -> destage_trace::Result<()> {
    let mut options = ReaderOptions::default();
    for setting in settings {
        let (key, value) = setting.split_once('=').unwrap_or((&setting, "true"));
        options.set_text(key, value)?;
    }
    let bytes = std::fs::metadata(&path).map_or(0, |facts| facts.len());
    let (wall, cpu) = (std::time::Instant::now(), cpu_seconds());
    let mut check = 0u64;
    let summary =
        with_stream(std::slice::from_ref(&path), &options, Default::default(), |stream| {
            let mut batch = Vec::new();
            check = 0;
            while stream.next_batch(&mut batch)? {
                for record in &batch {
                    check = check
                        .wrapping_add(record.time_ns ^ record.offset_bytes ^ record.length_bytes);
                }
            }
            Ok(stream.summary())
        })?;
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("{}", summary.plausibility_line());
    println!(
        "{:.3} s CPU, {wall:.3} s wall; {:.3} GB/s and {:.1} M requests/s per CPU second (check \
         {check:016x})",
        cpu,
        bytes as f64 / 1e9 / cpu,
        summary.requests as f64 / 1e6 / cpu
    );
    for line in summary.notes.iter().chain(&summary.warnings) {
        println!("{line}");
    }
    Ok(())
}

/// User and system time of this process, from /proc; 0 where there is none, and rates are then by
/// wall clock in effect infinite.
fn cpu_seconds() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    let tail = stat.rsplit(')').next().unwrap_or("");
    let ticks = |i: usize| {
        tail.split_whitespace().nth(i).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0)
    };
    // Fields 14 and 15 of the line, the third being the first behind the name; 100 ticks a second.
    (ticks(11) + ticks(12)) / 100.0
}
