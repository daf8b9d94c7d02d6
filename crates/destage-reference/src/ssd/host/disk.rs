//! A disk as the backing store (`docs/spec/tiers.md` 6.1): a list of all pages that it was sent,
//! served from the first on whenever an end is asked for.

use super::pending_time::PendingTime;
use crate::ssd::queue::Ssd;
use serde_json::{Map, Value, json};

/// A disk, and what it was sent.
pub(super) struct Disk {
    pages: u64,
    seek_min_ns: u64,
    seek_max_ns: u64,
    half_turn_ns: u64,
    transfer_ns: u64,
    sent: Vec<(PendingTime, u64)>, // arrival, page
}

/// A page that was served.
struct Served {
    number: usize,
    arrival: u64,
    start: u64,
    end: u64,
    is_sequential: bool,
}

impl Disk {
    pub(super) fn of(keys: &Map<String, Value>) -> Disk {
        let of = |key: &str| keys[key].as_u64().expect("a number");
        Disk {
            pages: of("pages"),
            seek_min_ns: of("seek_min_ns"),
            seek_max_ns: of("seek_max_ns"),
            half_turn_ns: of("half_turn_ns"),
            transfer_ns: of("transfer_ns"),
            sent: Vec::new(),
        }
    }

    /// A page is sent at an instant; its number.
    pub(super) fn send(&mut self, arrival: PendingTime, page: u64) -> usize {
        self.sent.push((arrival, page));
        self.sent.len() - 1
    }

    /// The end of the page with this number, which has arrived.
    pub(super) fn end(&self, ssd: &Ssd, number: usize) -> u64 {
        let served = self.serve(ssd);
        let page = served.iter().find(|served| served.number == number);
        page.expect("it has arrived").end
    }

    /// (full - least) times the root of distance / pages, rounded down: the largest whole number
    /// whose square is not above the square of that.
    fn beyond(&self, distance: u64) -> u64 {
        let range = u128::from(self.seek_max_ns - self.seek_min_ns);
        let is_above = |root: u128| {
            root * root * u128::from(self.pages) > range * range * u128::from(distance)
        };
        let (mut low, mut high) = (0, range + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if is_above(middle) { high = middle } else { low = middle }
        }
        low as u64
    }

    /// All pages whose arrival is known, by arrival, then in the order in which they were sent.
    fn serve(&self, ssd: &Ssd) -> Vec<Served> {
        let mut arrived: Vec<(u64, usize, u64)> = Vec::new();
        for (number, (arrival, page)) in self.sent.iter().enumerate() {
            let known = arrival.known(ssd);
            if known.is_known() {
                arrived.push((known.at_least, number, *page));
            }
        }
        arrived.sort_unstable();
        let (mut head, mut free) = (0, 0);
        let mut served = Vec::new();
        for (arrival, number, page) in arrived {
            let is_sequential = page == head;
            let mut time = self.transfer_ns;
            if !is_sequential {
                time += self.half_turn_ns + self.seek_min_ns + self.beyond(page.abs_diff(head));
            }
            let start = u64::max(free, arrival);
            free = start + time;
            head = page + 1;
            served.push(Served { number, arrival, start, end: free, is_sequential });
        }
        served
    }

    /// Its counters, of a run whose requests took `makespan_ns` from 0 on.
    pub(super) fn counters(&self, ssd: &Ssd, makespan_ns: u64) -> Map<String, Value> {
        let served = self.serve(ssd);
        assert_eq!(served.len(), self.sent.len(), "everything has ended");
        let sequential = served.iter().filter(|page| page.is_sequential).count();
        let busy: u64 = served.iter().map(|page| page.end - page.start).sum();
        let wait: u64 = served.iter().map(|page| page.start - page.arrival).sum();
        let last = served.last().map_or(0, |page| page.end);
        let Value::Object(counters) = json!({
            "disk_seeks": served.len() - sequential, "disk_sequential": sequential,
            "disk_busy_ns": busy, "disk_wait_ns": wait, "disk_span_ns": last.max(makespan_ns),
        }) else {
            unreachable!("it is an object")
        };
        counters
    }
}
