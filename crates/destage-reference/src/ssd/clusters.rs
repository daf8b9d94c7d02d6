//! Policies that think in erase blocks, in front of the device (`docs/spec/device.md` 12): the
//! reference models of `docs/spec/block-policies.md`, told of what has ended.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::config::Config;
use super::operation::Kind;
use super::policies::{Answer, Cache};
use super::queue::Ssd;
use crate::block::{BlockModel, NAMES, Shape, Step, model};
use crate::{Op, Params};

/// A policy with the operations that the buffer issued and that have not been reported.
pub(crate) struct Clusters {
    model: Box<dyn BlockModel>,
    /// Only AALRU takes read misses in (1.2).
    write_only: bool,
    /// It is told which pages have their unit in GC.
    gc_aware: bool,
    /// AALRU is told what the unit worked for an operation, unless `latency = response` (1.7).
    service_only: bool,
    issued: Vec<usize>,
}

impl Clusters {
    /// Blocks and pages are the drive's (1.9), and so are F_r and F_w (6.3).
    pub(crate) fn new(
        policy: &str,
        frames: usize,
        mut params: Map<String, Value>,
        device: &Config,
    ) -> Clusters {
        let gc_aware = policy == "gcar-bplru";
        let policy = if gc_aware { "bplru" } else { policy };
        assert!(NAMES.contains(&policy));
        let service_only = params.remove("latency").is_none_or(|value| value == "service");
        if policy == "aalru" {
            let c = device.cmd_ns + device.page_transfer_ns;
            params.entry("page_read_ns").or_insert((c + device.read_ns[0]).into());
            params.entry("page_write_ns").or_insert((c + device.program_ns[0]).into());
        }
        let shape = Shape {
            pages_per_block: device.pages_per_block,
            device_pages: Some(device.logical_pages),
        };
        let model = model(policy, frames as u64, shape, &Params(&params));
        Clusters {
            model: model.expect("a policy of the table"),
            write_only: policy != "aalru",
            gc_aware,
            service_only,
            issued: Vec::new(),
        }
    }

    /// Latencies of what has ended by now, of reads and of writes (1.7).
    fn ended(&mut self, ssd: &Ssd) -> (Vec<Option<u64>>, Vec<Option<u64>>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        self.issued.retain(|&number| {
            let operation = &ssd.operations[number];
            let Some(done) = operation.done_by(ssd.now) else { return true };
            let latency = Some(match self.service_only {
                true => ssd.service(number),
                false => done - operation.submitted,
            });
            match operation.kind {
                Kind::R { .. } => reads.push(latency),
                _ => writes.push(latency),
            }
            false
        });
        (reads, writes)
    }
}

impl Cache for Clusters {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, ssd: &Ssd) -> Answer {
        if self.gc_aware {
            // Each list is asked once: to ask per page costs a look at every plane for each.
            let mut lists = BTreeMap::new();
            let in_gc = |page: &u64| {
                let list = ssd.list_of(*page, true);
                *lists.entry(list).or_insert_with(|| ssd.list_in_gc(list))
            };
            self.model.collecting((0..ssd.config.logical_pages).filter(in_gc).collect());
        }
        let Step { hit, group, dropped } = self.model.access(op, page);
        let (reads, writes) = self.ended(ssd);
        self.model.after(&reads, &writes);
        let bypassed = self.write_only && op == Op::Read;
        Answer { hit, admitted: !hit && !bypassed, dropped, group, ..Answer::miss(None) }
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.model.forget(page)
    }

    fn submitted(&mut self, operation: usize) {
        self.issued.push(operation);
    }
}
