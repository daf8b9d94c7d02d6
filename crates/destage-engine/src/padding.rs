//! Padding: the pages that a policy adds to complete blocks, destage by destage.
//!
//! Yao et al. An advanced adaptive least recently used buffer management algorithm for SSD. IEEE
//! Access 2019, figure 3, of BPLRU.

use crate::run::{RunOptions, run};
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use destage_core::{Plan, Request};
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::observe::Observer;
use serde::{Deserialize, Serialize};

/// Padding of one policy at one cache size over one trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Padding {
    /// Label of the policy in tables.
    pub policy: String,
    /// Cache size, pages.
    pub frames: u32,
    /// Flush groups.
    pub destages: u64,
    /// Pages of them that were dirty.
    pub destaged_pages: u64,
    /// Pages that were read to complete blocks.
    pub padding_reads: u64,
    /// Pages that were written to complete blocks.
    pub padding_writes: u64,
    /// Pages padded in a destage, ascending, and how many destages had so many. Without those that
    /// none had.
    pub padded_pages: Vec<(u32, u64)>,
}

impl Padding {
    /// Runs a policy without a device. Blocks have so many pages.
    ///
    /// # Errors
    ///
    /// Errors of [`run`].
    pub fn of(
        input: &Input<'_>,
        spec: &PolicySpec,
        frames: &Frames,
        pages_per_block: u32,
        control: &Control,
    ) -> Result<Self, RunError> {
        let options =
            RunOptions { pages_per_block: Some(pages_per_block), ..RunOptions::default() };
        let mut seen = Seen::default();
        run(input, spec, frames, &options, control, &mut seen)?;
        let destages = seen.by_padded.iter().sum();
        let by_padded = seen.by_padded.iter().enumerate();
        let padded_pages: Vec<(u32, u64)> = by_padded
            .filter(|(_, destages)| **destages > 0)
            .map(|(padded, destages)| (padded as u32, *destages))
            .collect();
        Ok(Padding {
            policy: spec.label(),
            frames: frames.frames,
            destages,
            destaged_pages: seen.destaged_pages,
            padding_reads: seen.padding_reads,
            padding_writes: padded_pages.iter().map(|(k, count)| u64::from(*k) * count).sum(),
            padded_pages,
        })
    }
}

#[derive(Default)]
struct Seen {
    by_padded: Vec<u64>,
    destaged_pages: u64,
    padding_reads: u64,
}

impl Observer for Seen {
    fn access(&mut self, _: &Request, _: bool, plan: Option<&Plan>) {
        for (pages, padded) in plan.iter().flat_map(|plan| plan.groups()) {
            if self.by_padded.len() <= padded.len() {
                self.by_padded.resize(padded.len() + 1, 0);
            }
            self.by_padded[padded.len()] += 1;
            self.destaged_pages += pages.len() as u64;
            self.padding_reads += padded.iter().filter(|pad| !pad.in_buffer).count() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_replay::observe::Unobserved;
    use destage_synth::Workload;
    use destage_trace::decode::{DecodeOptions, NoHooks};
    use destage_trace::{Trace, decode_records};
    use serde_json::json;
    use std::sync::Arc;

    fn trace(description: serde_json::Value) -> Arc<Trace> {
        let workload: Workload = serde_json::from_value(description).expect("a good description");
        let mut source = workload.source().expect("a good workload");
        decode_records(&mut source, "made", &DecodeOptions::default(), &mut NoHooks)
            .expect("decodes")
    }

    fn padding(trace: &Trace, policy: &str, frames: u32) -> Padding {
        let spec = PolicySpec::parse(policy).expect("a policy");
        let frames = Frames { frames, given: format!("{frames}p") };
        Padding::of(&Input::new(trace, None), &spec, &frames, 8, &Control::default()).expect("runs")
    }

    #[test]
    fn a_walk_over_whole_blocks_pads_nothing() {
        let walk = json!({ "kind": "loop", "requests": 640, "pages": 640, "read_ratio": 0.0 });
        let found = padding(&trace(walk), "bplru", 32);
        // All but the last four blocks went, whole.
        let whole = (640 - 32) / 8;
        assert_eq!((found.destages, found.destaged_pages), (whole, 8 * whole));
        assert_eq!(found.padded_pages, [(0, whole)]);
    }

    #[test]
    fn scattered_pages_pad_the_rest_of_their_blocks() {
        // One frame: every write but the last goes alone, with seven pages that were not there.
        let scattered = json!({
            "kind": "loop", "requests": 100, "pages": 800, "read_ratio": 0.0, "size": "1"
        });
        let found = padding(&trace(scattered), "bplru", 1);
        assert_eq!((found.destages, found.destaged_pages), (99, 99));
        assert_eq!(found.padded_pages, [(7, 99)]);
        assert_eq!((found.padding_reads, found.padding_writes), (693, 693));
    }

    #[test]
    fn it_adds_up_to_the_counters_of_the_run() {
        let trace = trace(json!({
            "kind": "zipf", "requests": 4000, "pages": 900, "read_ratio": 0.3, "size": "1-4",
        }));
        for policy in ["bplru", "bplru[padding=false]", "fab", "lru"] {
            let found = padding(&trace, policy, 100);
            let spec = PolicySpec::parse(policy).expect("a policy");
            let frames = Frames { frames: 100, given: "100p".into() };
            let options = RunOptions { pages_per_block: Some(8), ..RunOptions::default() };
            let (input, control) = (Input::new(&trace, None), Control::default());
            let counters = run(&input, &spec, &frames, &options, &control, &mut Unobserved)
                .expect("runs")
                .counters;
            assert_eq!(found.destages, counters.destages, "{policy}");
            assert_eq!(found.destaged_pages, counters.destaged_pages, "{policy}");
            assert_eq!(found.padding_reads, counters.padding_reads, "{policy}");
            assert_eq!(found.padding_writes, counters.padding_writes, "{policy}");
            assert_eq!(found.padding_writes > 0, policy == "bplru", "{policy}");
        }
    }
}
