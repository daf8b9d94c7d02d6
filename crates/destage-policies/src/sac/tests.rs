//! Tests of the rules at the head of `sac.rs`: the paper's own cases, then the corners.

use super::*;
use crate::dual_queue::DualQueue;
use crate::params::Value;
use crate::testing::{drive, mixed, reads, setup, show};
use destage_core::{Blind, Dense, Lpn, Op, Op::*};

/// SAC in front of a device whose operations end when a test says so.
struct Host {
    sac: Sac<Dense>,
    submitted: Vec<(u64, Op)>, // page and kind of each flash operation
}

impl Host {
    fn new(frames: u32, params: &[(&str, Value)]) -> Self {
        let sac = Sac::new(&setup("sac", frames, params), Dense::new(128));
        Host { sac, submitted: Vec::new() }
    }

    /// Accesses the page. The stamp of the read that fetches it, and the victim.
    fn access(&mut self, op: Op, page: u64) -> (u64, Option<u64>) {
        let mut r = Request::new(Page(page), Lpn(page), op);
        let mut plan = Plan::new();
        if let Lookup::Miss(()) = self.sac.request(&r) {
            if op == Read {
                r.fetch = self.submit(page, Read);
            }
            if self.sac.resident() == self.sac.frames() {
                self.sac.evict(&mut (), &Blind, &mut plan);
            }
            self.sac.admit(&r, ());
        }
        let victim = plan.evicted().first().map(|evicted| evicted.page.0);
        if let [page] = plan.flushed() {
            self.submit(page.0, Write);
        }
        self.sac.check();
        (r.fetch, victim)
    }

    fn read(&mut self, page: u64) -> (u64, Option<u64>) {
        self.access(Read, page)
    }

    fn submit(&mut self, page: u64, op: Op) -> u64 {
        self.submitted.push((page, op));
        self.submitted.len() as u64 - 1
    }

    fn end(&mut self, submission: u64) {
        let (page, op) = self.submitted[submission as usize];
        let done = Completion { page: Some(Page(page)), submission, latency_ns: 1, service_ns: 1 };
        match op {
            Read => self.sac.fetched(&done),
            Write => self.sac.destaged(&done),
        }
        self.sac.check();
    }

    /// Reads a page that is not resident while `2^priority` earlier operations wait, none if
    /// the priority is 0; then everything ends. The victim.
    fn read_as(&mut self, page: u64, priority: u32) -> Option<u64> {
        let first = self.submitted.len() as u64;
        for _ in 0..(1_u64 << priority) * u64::from(priority > 0) {
            self.submit(120, Write);
        }
        let (fetch, victim) = self.read(page);
        self.end(fetch);
        let others = (first..self.submitted.len() as u64).filter(|&stamp| stamp != fetch);
        others.for_each(|stamp| self.end(stamp));
        victim
    }

    /// Pages with their reuse marks, heads first, of PQ and of every queue that is not empty.
    fn lists(&self) -> String {
        let Sac { pages, pq, q, target, .. } = &self.sac;
        let page = |slot: Slot| {
            let mark = if pages[slot].mark & REUSED != 0 { "*" } else { "" };
            format!("{}{mark}", slot.0)
        };
        let mut lists = format!("T={target} PQ[{}]", show(pq.iter(pages).map(page)));
        for (j, queue) in q.iter().enumerate().filter(|(_, queue)| !queue.is_empty()) {
            lists += &format!(" Q{j}[{}]", show(queue.iter(pages).map(page)));
        }
        lists
    }
}

fn first_fraction(fraction: f64) -> (&'static str, Value) {
    ("first_fraction", Value::Real(fraction))
}

#[test]
fn figure_4_page_9_leaves_six_earlier_pages_waiting() {
    let mut waiting = Waiting::default();
    for page in 0..3 {
        waiting.end(page); // marked C in figure 4(a); page 3 is the first waiting page
    }
    assert_eq!(waiting.end(9), 6);
    assert_eq!(waiting.end(7), 4);
    assert_eq!(waiting.end(3), 0);
    assert_eq!(waiting.end(8), 4, "4 waits; 7, which has ended, counts");
}

#[test]
fn stamps_are_counted_over_any_distance_and_forgotten_behind_the_first_that_waits() {
    let mut waiting = Waiting::default();
    for stamp in 1..1000 {
        assert_eq!(waiting.end(stamp), stamp);
        waiting.check();
    }
    assert_eq!(waiting.ended.len(), 16);
    assert_eq!(waiting.end(0), 0);
    assert_eq!((waiting.first, waiting.ended.len()), (1000, 1));
    assert_eq!(waiting.end(1063), 63);
    assert_eq!(waiting.end(999), 0, "it has ended before");
    for stamp in 1000..1063 {
        assert_eq!(waiting.end(stamp), 0);
        waiting.check();
    }
    assert_eq!(waiting.first, 1064);
}

#[test]
fn a_page_with_eight_prior_pages_is_of_priority_3() {
    for (earlier, queue) in [(0, 0), (1, 0), (2, 1), (3, 1), (7, 2), (8, 3), (15, 3), (16, 4)] {
        let mut host = Host::new(4, &[first_fraction(0.25)]);
        for _ in 0..earlier {
            host.submit(120, Write);
        }
        let (fetch, _) = host.read(1);
        host.end(fetch);
        host.read(2);
        assert_eq!(host.lists(), format!("T=1 PQ[2] Q{queue}[1]"), "{earlier} earlier");
    }
}

#[test]
fn priority_is_read_when_the_page_enters_part_2() {
    let mut host = Host::new(4, &[first_fraction(0.25)]);
    host.submit(120, Write);
    host.submit(120, Write);
    let (fetch, _) = host.read(1);
    host.read(2); // pushes 1 on while its read is still out
    host.end(fetch);
    host.read(3);
    assert_eq!(host.lists(), "T=1 PQ[3] Q0[2 1]");
    host.read(1); // marked: at its turn it goes back to PQ, and enters again
    host.read(4);
    assert_eq!(host.read(5).1, Some(2));
    assert_eq!(host.lists(), "T=1 PQ[5] Q0[4 3] Q1[1]");
}

#[test]
fn a_written_page_is_of_priority_0_even_if_a_read_of_it_comes_back() {
    let mut host = Host::new(3, &[first_fraction(0.0)]);
    host.submit(120, Write);
    host.submit(120, Write);
    let (fetch, _) = host.read(1);
    host.read(2);
    host.read(3);
    assert_eq!(host.read(4).1, Some(1));
    host.access(Write, 1); // in place of 2; the read of 1 is still out
    host.end(fetch);
    assert_eq!(host.lists(), "T=0 PQ[] Q0[1 4 3]");
    assert!(host.sac.pages[Slot(1)].mark >> PRIORITY == 0);
}

#[test]
fn the_end_of_an_earlier_read_of_a_page_is_not_that_of_its_own() {
    let mut host = Host::new(2, &[first_fraction(0.5)]);
    for _ in 0..8 {
        host.submit(120, Write);
    }
    let (early, _) = host.read(1);
    host.read(2);
    assert_eq!(host.read(3).1, Some(1));
    let (own, victim) = host.read(1);
    assert_eq!(victim, Some(2));
    host.end(early); // the page is resident, by another read
    assert_eq!(host.sac.pages[Slot(1)].mark >> PRIORITY, 0);
    host.end(own);
    assert_eq!(host.sac.pages[Slot(1)].mark >> PRIORITY, 3, "N = 11");
    host.end(9); // page 2, which is gone
}

#[test]
fn the_highest_queue_is_emptied_first_and_each_from_its_tail() {
    let mut host = Host::new(7, &[first_fraction(0.1)]);
    for (page, priority) in [(1, 0), (2, 3), (3, 1), (4, 3), (5, 1), (6, 0), (7, 0)] {
        host.read_as(page, priority);
    }
    assert_eq!(host.lists(), "T=1 PQ[7] Q0[6 1] Q1[5 3] Q3[4 2]");
    let victims: Vec<_> = (8..14).filter_map(|page| host.read_as(page, 0)).collect();
    assert_eq!(victims, [2, 4, 3, 5, 1, 6]);
}

#[test]
fn a_reused_tail_of_part_2_loses_its_mark_in_pq_and_pushes_another_on() {
    let mut host = Host::new(4, &[first_fraction(0.25)]);
    for (page, priority) in [(1, 2), (2, 0), (3, 0), (4, 0)] {
        host.read_as(page, priority);
    }
    host.read(1);
    assert_eq!(host.lists(), "T=1 PQ[4] Q0[3 2] Q2[1*]");
    assert_eq!(host.read(5).1, Some(2));
    assert_eq!(host.lists(), "T=1 PQ[5] Q0[4 3] Q2[1]");
    assert_eq!(host.read(6).1, Some(1));
}

#[test]
fn a_reused_tail_of_pq_goes_round_without_its_mark() {
    let mut host = Host::new(4, &[first_fraction(0.5)]);
    for page in [1, 2, 1, 3] {
        host.read(page);
    }
    assert_eq!(host.lists(), "T=2 PQ[1 3] Q0[2]");
}

#[test]
fn pq_grows_when_queue_0_starves_and_returns_when_it_is_reached() {
    let params =
        [first_fraction(0.25), ("starve_limit", Value::Int(2)), ("resize_step", Value::Int(2))];
    let mut host = Host::new(8, &params);
    for page in 1..=8 {
        host.read_as(page, u32::from(page > 2) * 2); // 1 and 2 wait in Q[0]
    }
    assert_eq!(host.lists(), "T=2 PQ[8 7] Q0[2 1] Q2[6 5 4 3]");
    assert_eq!(host.read_as(11, 2), Some(3));
    assert_eq!((host.sac.starved, host.sac.target), (1, 2));
    assert_eq!(host.read_as(12, 2), Some(4));
    assert_eq!((host.sac.starved, host.sac.target), (0, 4));
    assert_eq!(host.lists(), "T=4 PQ[12 11 8] Q0[2 1] Q2[7 6 5]");
    for (page, victim) in [(13, 5), (14, 6), (15, 7)] {
        assert_eq!(host.read_as(page, 2), Some(victim));
    }
    assert_eq!(host.lists(), "T=6 PQ[15 14 13 12 11 8] Q0[2 1]");
    // Queue 0 is reached: the parts return to their sizes.
    assert_eq!(host.read_as(16, 2), Some(1));
    assert_eq!(host.lists(), "T=2 PQ[16 15] Q0[2] Q2[14 13 12 11 8]");
    assert_eq!(host.sac.starved, 0);
}

#[test]
fn evictions_while_queue_0_is_empty_do_not_starve_it() {
    let params = [first_fraction(0.34), ("starve_limit", Value::Int(2))];
    let mut host = Host::new(3, &params);
    for page in 1..=20 {
        host.read_as(page, 1);
        assert_eq!((host.sac.starved, host.sac.target), (0, 1));
    }
    host.read_as(21, 0);
    host.read_as(22, 1);
    assert_eq!(host.lists(), "T=1 PQ[22] Q0[21] Q1[20]");
    assert_eq!(host.sac.starved, 0, "page 21 came after the victim had gone");
    assert_eq!(host.read_as(23, 1), Some(20));
    assert_eq!((host.sac.starved, host.sac.target), (1, 1));
    assert_eq!(host.read_as(24, 1), Some(22));
    assert_eq!((host.sac.starved, host.sac.target), (0, 2));
}

#[test]
fn pq_leaves_a_frame_to_part_2_however_it_grows() {
    let params = [
        first_fraction(1.0),
        ("starve_limit", Value::Int(1)),
        ("resize_step", Value::Int(i128::from(u64::MAX))),
    ];
    let mut host = Host::new(3, &params);
    assert_eq!(host.sac.target, 2);
    for (page, priority) in [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1), (7, 1)] {
        host.read_as(page, priority);
    }
    assert_eq!(host.sac.target, 2);
    let params = [first_fraction(0.25), params[1].clone(), params[2].clone()];
    let mut host = Host::new(4, &params);
    for (page, priority) in [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1)] {
        host.read_as(page, priority);
    }
    assert_eq!(host.lists(), "T=3 PQ[5 4] Q0[1] Q1[3]");
}

#[test]
fn if_everything_comes_back_in_order_it_is_dual_queue() {
    let trace = mixed(3000, 48);
    for frames in [1, 2, 7, 24] {
        let mut host = Host::new(frames, &[]);
        let mut dual_queue = DualQueue::new(&setup("dual-queue", frames, &[]), Dense::new(128));
        let mut ended = 0;
        for &access in &trace {
            let (_, victim) = host.access(access.0, access.1);
            let step = &drive(&mut dual_queue, &[access])[0];
            assert_eq!(victim, step.evicted.first().map(|&(page, _)| page));
            while ended + 5 < host.submitted.len() as u64 {
                host.end(ended);
                ended += 1;
            }
        }
    }
}

#[test]
fn starve_limit_and_step_follow_the_frames() {
    for (frames, step) in [(1, 1), (15, 1), (31, 1), (32, 2), (1000, 62)] {
        let sac = Sac::new(&setup("sac", frames, &[]), Dense::new(1));
        assert_eq!((sac.starve_limit, sac.resize_step), (u64::from(frames), step));
    }
}

#[test]
fn without_completions_pages_are_of_priority_0() {
    let mut sac = Sac::new(&setup("sac", 3, &[first_fraction(0.0)]), Dense::new(128));
    drive(&mut sac, &reads(&[1, 2, 3, 4]));
    assert_eq!(sac.q[0].len(), 3);
}
