//! A buffer pool that any policy runs, the one that was simulated before: no trace, no clock, no
//! I/O of the policy's own. The pool keeps the bytes, the policy says which page leaves.
//!
//! `cargo run -p destage-policies --example embed_in_a_pool -- cflru`

use destage_core::{Blind, Hashed, Lookup, Lpn, Op, Page, Plan, Policy, Request};
use destage_policies::{Setup, Visitor, build, check_params};
use std::collections::HashMap;
use std::process::ExitCode;

const PAGE_BYTES: usize = 4096;

/// Stands for the file below; pages never written are zeros.
type Disk = HashMap<u64, Vec<u8>>;

struct Pool<P: Policy> {
    policy: P,
    frames: HashMap<Page, Vec<u8>>, // every resident page
    plan: Plan,
    disk: Disk,
    writes: u64,
}

impl<P: Policy> Pool<P> {
    fn new(policy: P) -> Self {
        Pool { policy, frames: HashMap::new(), plan: Plan::new(), disk: Disk::new(), writes: 0 }
    }

    /// The bytes of a page, to be read or to be changed.
    fn page(&mut self, number: u64, op: Op) -> &mut Vec<u8> {
        // Over a hashed directory a page is its number.
        let (page, request) = (Page(number), Request::new(Page(number), Lpn(number), op));
        match self.policy.request(&request) {
            Lookup::Hit(_) => {}
            Lookup::Miss(mut miss) => {
                while self.policy.resident() == self.policy.frames() {
                    self.plan.clear();
                    self.policy.evict(&mut miss, &Blind, &mut self.plan);
                    self.destage();
                }
                self.frames.insert(page, self.fetched(number));
                self.policy.admit(&request, miss);
            }
            // A write buffer takes no page in that is only read: the pool hands out a copy.
            Lookup::Bypass => return self.disk.entry(number).or_insert_with(zeros),
        }
        self.frames.get_mut(&page).expect("resident")
    }

    /// Carries out what the policy has decided: write first, then give the frames up.
    fn destage(&mut self) {
        for (pages, _) in self.plan.groups() {
            for page in pages {
                self.disk.insert(page.0, self.frames[page].clone());
                self.writes += 1;
            }
        }
        for leaving in self.plan.evicted() {
            self.frames.remove(&leaving.page);
        }
    }

    fn fetched(&self, number: u64) -> Vec<u8> {
        self.disk.get(&number).cloned().unwrap_or_else(zeros)
    }

    /// Destages all dirty pages, as at a shutdown.
    fn flush(&mut self) {
        let Pool { policy, frames, disk, writes, .. } = self;
        policy.for_each_resident(&mut |page, dirty| {
            if dirty {
                disk.insert(page.0, frames[&page].clone());
                *writes += 1;
            }
        });
    }
}

fn zeros() -> Vec<u8> {
    vec![0; PAGE_BYTES]
}

/// Counts up in pages chosen by a small generator, and compares with plain counters.
struct Work;

impl Visitor for Work {
    type Output = (u64, u64);

    fn visit<P: Policy>(self, policy: P) -> (u64, u64) {
        let (mut pool, mut expected, mut wrong) = (Pool::new(policy), HashMap::new(), 0);
        let mut state = 1_u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (number, writes) = ((state >> 33) % 97 * ((state >> 40) % 13), state >> 63 == 1);
            let op = if writes { Op::Write } else { Op::Read };
            let counter: &mut u8 = expected.entry(number).or_default();
            let bytes = pool.page(number, op);
            wrong += u64::from(bytes[0] != *counter);
            if writes {
                *counter = counter.wrapping_add(1);
                bytes[0] = *counter;
            }
        }
        pool.flush();
        wrong += expected.iter().filter(|&(n, count)| pool.fetched(*n)[0] != *count).count() as u64;
        (pool.writes, wrong)
    }
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cflru".into());
    let worked = check_params(&name, []).and_then(|params| {
        let setup = Setup { params, ..Setup::new(64) };
        build(&name, &setup, Hashed::new(), Work)
    });
    match worked {
        Ok((writes, wrong)) => {
            println!("{name}: 100000 requests, {writes} pages written, {wrong} wrong pages");
            if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(e) => {
            eprintln!("embed_in_a_pool: {e}");
            ExitCode::from(2)
        }
    }
}
