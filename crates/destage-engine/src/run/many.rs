//! Runs side by side.

use super::one::{Blocks, run_beside, run_together};
use super::requirements::supplies;
use crate::options::RunOptions;
use crate::result::RunResult;
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::observe::Unobserved;
use destage_replay::shared::{self, at_once, windows_pay};
use destage_replay::warmup::Warmup;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs every policy at every size on `jobs` threads.
///
/// The result's order is that of policies, then sizes, whatever the number of threads. With the
/// warm-up `auto` each size is measured from the request at which it is full, so that a run has the
/// same numbers alone and beside others.
pub fn compare(
    input: &Input<'_>,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &RunOptions,
    jobs: usize,
    control: &Control,
) -> Result<Vec<RunResult>, RunError> {
    compare_each(input, specs, sizes, options, jobs, control)?.into_iter().collect()
}

/// As [`compare`], with an outcome for each run: when it is stopped, those that ended are kept.
pub fn compare_each(
    input: &Input<'_>,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &RunOptions,
    jobs: usize,
    control: &Control,
) -> Result<Vec<Result<RunResult, RunError>>, RunError> {
    // All are built once before the first runs: a typing error shows at once, not after an hour.
    for spec in specs {
        spec.params(&options.says())?;
        options.suit(spec)?;
        supplies(spec, options.shows(spec))?;
        super::tiered::suits(spec, options)?;
    }
    for size in sizes {
        options.tiers.have_room(size.frames).map_err(RunError::Impossible)?;
    }
    let moments = Moments::of(input, sizes, options);
    let tasks = tasks(input, specs, sizes, options, &moments, jobs);
    let (next, blocks) = (AtomicUsize::new(0), Blocks::default());
    let results: Mutex<Vec<Option<Result<RunResult, RunError>>>> =
        Mutex::new((0..specs.len() * sizes.len()).map(|_| None).collect());
    let work = || {
        while !control.stop.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(k) else { break };
            let options = &moments.options(options, task.first % sizes.len());
            let found = task.run(input, options, control, &blocks);
            let mut results = results.lock().expect("no thread panics while it holds the lock");
            for (at, result) in (task.first..).zip(found) {
                results[at] = Some(result);
            }
        }
    };
    in_threads(jobs.clamp(1, tasks.len().max(1)), &work);
    let results = results.into_inner().expect("all threads have ended");
    Ok(results.into_iter().map(|r| r.unwrap_or(Err(RunError::Interrupted))).collect())
}

/// Where measurement begins at each size.
struct Moments(Vec<Warmup>);

impl Moments {
    fn of(input: &Input<'_>, sizes: &[Frames], options: &RunOptions) -> Self {
        let of_size = |size: &Frames| options.with_moment(input, &[size.frames]).warmup;
        Moments(sizes.iter().map(of_size).collect())
    }

    /// The options of the runs at a size.
    fn options(&self, options: &RunOptions, size: usize) -> RunOptions {
        RunOptions { warmup: self.0[size], ..options.clone() }
    }

    /// Whether all sizes are measured from the same request.
    fn are_alike(&self) -> bool {
        let requests = |warmup: &Warmup| match warmup {
            Warmup::Auto(Some(found)) => Some(found.requests),
            _ => None,
        };
        self.0.windows(2).all(|two| requests(&two[0]) == requests(&two[1]))
    }
}

/// A policy at one size, or at some that share a pass.
struct Task<'a> {
    spec: &'a PolicySpec,
    sizes: &'a [Frames],
    /// Index of its first run among all runs.
    first: usize,
}

impl Task<'_> {
    /// A result for each size; none where it was stopped before it ended.
    fn run(
        &self,
        input: &Input<'_>,
        options: &RunOptions,
        control: &Control,
        blocks: &Blocks,
    ) -> Vec<Result<RunResult, RunError>> {
        let Task { spec, sizes, .. } = self;
        let mut unobserved = Unobserved;
        match sizes {
            [size] => {
                vec![run_beside(input, spec, size, options, control, &mut unobserved, blocks)]
            }
            sizes => match run_together(input, spec, sizes, options, control) {
                Ok(results) => results,
                Err(error) => vec![Err(error)],
            },
        }
    }
}

/// Whether a policy's sizes can be run together, with these options, over so many pages.
pub fn can_share(spec: &PolicySpec, options: &RunOptions, pages: usize) -> bool {
    // A trim drops a page from the middle of lists; a cache is full elsewhere at each size; and
    // laws are checked of a policy that runs.
    let alike = options.warmup != Warmup::Full && !options.check && !options.drops_trims();
    let alike = alike && options.tiers.ttl.is_none() && options.tiers.pins.tier1.is_none();
    let one_tier = !options.tiers.kv && options.tiers.tier2.is_none();
    alike && one_tier && options.drive.is_none() && shared::can_share(spec.name, pages)
}

/// All runs, by policy, then size.
fn tasks<'a>(
    input: &Input<'_>,
    specs: &'a [PolicySpec],
    sizes: &'a [Frames],
    options: &RunOptions,
    moments: &Moments,
    jobs: usize,
) -> Vec<Task<'a>> {
    let pages = input.columns.lpns.len();
    let shares = |spec: &PolicySpec| {
        sizes.len() > 1
            && moments.are_alike()
            && can_share(spec, options, pages)
            && windows_pay(spec.name, input.columns.accesses(), pages)
    };
    let together = at_once(sizes.len(), specs.len() * sizes.len(), jobs);
    let mut tasks = Vec::new();
    let mut first = 0;
    for spec in specs {
        for some in sizes.chunks(if shares(spec) { together } else { 1 }) {
            tasks.push(Task { spec, sizes: some, first });
            first += some.len();
        }
    }
    tasks
}

/// Runs `work` in this thread and up to `threads - 1` others, fewer if the system refuses threads.
pub fn in_threads(threads: usize, work: &(impl Fn() + Sync)) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // The others do what one for which there is no memory would have done.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_replay::accesses::{Columns, Extent};

    /// How many sizes each task has, of a trace of ten pages used so often each.
    fn sizes_of_tasks(policies: &str, sizes: u32, uses: u32, jobs: usize) -> Vec<usize> {
        let first_ids: Vec<u32> = (0..10 * uses).map(|k| k % 10).collect();
        let extents = vec![Extent::new(1, true, false, false).0; first_ids.len()];
        let lpns: Vec<u64> = (0..10).collect();
        let columns = Columns { first_ids: &first_ids, extents: &extents, lpns: &lpns };
        let input = Input::of(columns);
        let sizes: Vec<Frames> =
            (1..=sizes).map(|frames| Frames { frames, given: format!("{frames}p") }).collect();
        let specs = PolicySpec::parse_list(policies).expect("policies of the table");
        let options = RunOptions::default();
        let moments = Moments::of(&input, &sizes, &options);
        let tasks = tasks(&input, &specs, &sizes, &options, &moments, jobs);
        let policy = |task: &Task<'_>| specs.iter().position(|one| std::ptr::eq(one, task.spec));
        for task in &tasks {
            let size = sizes.iter().position(|size| size.frames == task.sizes[0].frames);
            let place = policy(task).zip(size).map(|(policy, size)| policy * sizes.len() + size);
            assert_eq!(Some(task.first), place);
        }
        tasks.iter().map(|task| task.sizes.len()).collect()
    }

    #[test]
    fn sizes_are_run_together_where_the_policy_can_and_every_thread_has_a_task() {
        for policy in ["fifo", "clock", "sieve"] {
            assert_eq!(sizes_of_tasks(policy, 8, 20, 1), [8]);
            assert_eq!(sizes_of_tasks(policy, 8, 20, 2), [4, 4]);
            assert_eq!(sizes_of_tasks(policy, 1, 20, 1), [1]);
        }
        assert_eq!(sizes_of_tasks("arc", 3, 20, 1), [1, 1, 1]);
        assert_eq!(sizes_of_tasks("arc,sieve", 3, 20, 1), [1, 1, 1, 3]);
        // So few uses that the cuts of FIFO's windows would take longer than the runs.
        assert_eq!(sizes_of_tasks("fifo,clock", 2, 1, 1), [1, 1, 2]);
    }
}
