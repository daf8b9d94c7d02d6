//! The Python face of Destage: argument conversion, error mapping, GIL release. No logic.
//!
//! Only strings, numbers, JSON and two classes, `Trace` and `Drive`, cross the boundary. The typed
//! interface for users is the Python package around it (`python/destage`).
//!
//! ```text
//!  catalogue  policies, formats, reader options, metrics
//!  trace      decoded traces: opened, made, described, converted; the cache folder
//!  standin    surrogates of traces that are not available
//!  arguments  policies, cache sizes, options of a call
//!  compare    runs side by side
//!  curves     curves over cache sizes, and padding
//!  run        one run with everything recorded; policies written in Python
//!  recorders  of a run: the decision log, the series, the timeline
//!  sets       result sets
//!  serve      a server of a block device
//!  policy     a policy written in Python, as one written in Rust
//!  policy_thread  the same, behind calls of any thread
//!  py_views   requests, device views and plans of such a policy
//!  cache      a policy that Python steps
//!  cache_arguments  its options
//!  blocks     lists of pages that it can be made of
//!  ghosts     and lists of pages that left
//!  convert    values of parameters out of JSON
//!  output     a file of a recording, whole at the end
//!  drive      drives: presets, files, prepared states
//!  conform    conformance vectors
//!  parquet    columns of a table as a Parquet file
//!  columns    long columns of counts as one
//!  interruptible  Ctrl-C and progress while the GIL is released
//!  signals    where Python cannot listen
//!  memory     message and status when memory runs out
//!  errors     errors as exceptions, by exit status
//! ```

mod arguments;
mod blocks;
mod cache;
mod cache_arguments;
mod catalogue;
mod columns;
mod compare;
mod conform;
mod convert;
mod curves;
mod drive;
mod errors;
mod ghosts;
mod interruptible;
#[cfg(unix)]
mod memory;
mod output;
mod parquet;
mod policy;
mod policy_thread;
mod py_views;
mod recorders;
mod run;
#[cfg(unix)]
mod serve;
mod sets;
mod signals;
mod standin;
mod steps;
mod trace;

use pyo3::prelude::*;

#[pymodule]
mod _destage {
    use pyo3::prelude::*;

    /// A damaged Parquet file can make the library assert; that becomes an error with a place, and
    /// the user should see that error only.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !destage_trace::formats::parquet::panic_is_guarded() {
                report(panic);
            }
        }));
        Ok(())
    }

    #[pymodule_export]
    use crate::arguments::{
        caches_full, check_needs, check_policy, check_run, check_suits, label_of, parse_policies,
        resolve_sizes, run_option_rows,
    };
    #[pymodule_export]
    use crate::blocks::{PageList, Shelf};
    #[pymodule_export]
    use crate::cache::{Access, Cache};
    #[pymodule_export]
    use crate::catalogue::{
        formats, ftls, meant, metrics, nearest, policies, policy, reader_options,
    };
    #[pymodule_export]
    use crate::columns::counts_parquet;
    #[pymodule_export]
    use crate::compare::compare;
    #[pymodule_export]
    use crate::conform::{conform, conform_emit, conform_own};
    #[pymodule_export]
    use crate::curves::{check_every_size, mrc, padding};
    #[pymodule_export]
    use crate::drive::{
        Drive, device_options, drive_from_record, drive_keys, drives, open_drive, open_shared_drive,
    };
    #[pymodule_export]
    use crate::ghosts::GhostList;
    #[pymodule_export]
    use crate::output::TraceOutput;
    #[pymodule_export]
    use crate::parquet::{parquet_bytes, parquet_columns};
    #[pymodule_export]
    use crate::py_views::{Bypass, Hit, Miss, PyDeviceView, PyPlan, Request};
    #[pymodule_export]
    use crate::run::{run_one, run_own_policy};
    #[cfg(unix)]
    #[pymodule_export]
    use crate::serve::Server;
    #[pymodule_export]
    use crate::sets::{assembled, read_result};
    #[pymodule_export]
    use crate::signals::{end_at_second_signal, when_stuck};
    #[pymodule_export]
    use crate::standin::{StandIn, draw_standin};
    #[pymodule_export]
    use crate::steps::play_steps;
    #[pymodule_export]
    use crate::trace::{
        Trace, convert, convert_targets, convert_workload, open_trace, page_bytes,
        report_shrunk_files, synth, trace_cache, trace_cache_clear, trace_head, workloads,
    };
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    /// Empty where the build did not know it.
    #[pymodule_export]
    const COMMIT: &str = crate::sets::COMMIT;
}
