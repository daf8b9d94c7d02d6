//! Positions of the extents of a surrogate trace.
//!
//! By default groups of extents lie in a random order, without gaps. For SAC (Chen, Xiao, Liu 2012)
//! they are put so that the reads of a drive's channels are as unbalanced as its table 1 says, and
//! those reads that miss in a cache as its table 3: channel k gets a share in proportion to r^k,
//! where r is solved for the deviation; hits have what is left. Units that have most hits are
//! placed first, each at the channel that lacks most hits; then those without hits by their misses,
//! and those that are never read by their writes. Units are groups, or single extents where the
//! channels are to be unbalanced. No two lie on the same pages: a channel that has much needs a
//! longer address space.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::load::{RequestTarget, SurrogateTrace};
use super::recipe::RecipeKind;
use crate::random::below;

/// Above this deviation SAC calls channels unbalanced (section 3): units are single extents then.
const UNBALANCED: f64 = 0.3;
/// Placing has random numbers of its own.
const PLACING: u64 = 0x706c_6163_696e_6721;

/// Read load of the channels of a drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Channels {
    /// Channels, from 1.
    pub count: u64,
    /// Consecutive pages of one channel, from 1.
    pub stretch_pages: u64,
    /// (max - min) / mean of the channels' reads: SAC's formula 1.
    pub deviation: f64,
    /// The same of the reads that miss in a cache.
    pub missed_deviation: f64,
    /// Pages of this cache, which replaces by LRU.
    pub cache_pages: u64,
}

/// Placement of extents and log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// First page of each extent.
    pub starts: Vec<u64>,
    /// First page of the log, behind them all.
    pub log: u64,
}

/// Shares of the channels in proportion to r^k that deviate so much.
pub fn shares_of(count: u64, deviation: f64) -> Vec<f64> {
    let powers = |r: f64| -> Vec<f64> { (0..count).map(|k| r.powi(k as i32)).collect() };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let r = f64::midpoint(low, high);
        let found = powers(r);
        let off = (1.0 - found[found.len() - 1]) * count as f64 / found.iter().sum::<f64>();
        if off > deviation {
            low = r;
        } else {
            high = r;
        }
    }
    let found = powers(high);
    let sum: f64 = found.iter().sum();
    found.iter().map(|power| power / sum).collect()
}

/// Gives every extent its pages, and the log those behind them.
pub fn place(surrogate: &SurrogateTrace, seed: u64, channels: Option<Channels>) -> Placement {
    if surrogate.recipe.kind == RecipeKind::Apart {
        let count = surrogate.extents.pages.len() as u64;
        return Placement { starts: (0..count).collect(), log: count };
    }
    let mut random = Pcg64::seed_from_u64(seed ^ PLACING);
    match channels {
        None => side_by_side(surrogate, &mut random),
        Some(on) => on_channels(surrogate, &mut random, on),
    }
}

/// Extents by their groups: those of group k are `members[first[k]..first[k + 1]]`.
struct Units {
    first: Vec<usize>,
    members: Vec<u32>,
}

impl Units {
    fn groups(groups: &[u32]) -> Self {
        let count = groups.iter().max().map_or(0, |last| *last as usize + 1);
        let mut first = vec![0; count + 1];
        groups.iter().for_each(|group| first[*group as usize + 1] += 1);
        (0..count).for_each(|k| first[k + 1] += first[k]);
        let (mut at, mut members) = (first.clone(), vec![0; groups.len()]);
        for (extent, group) in groups.iter().enumerate() {
            members[at[*group as usize]] = extent as u32;
            at[*group as usize] += 1;
        }
        Units { first, members }
    }

    fn single(count: usize) -> Self {
        Units { first: (0..=count).collect(), members: (0..count as u32).collect() }
    }

    fn len(&self) -> usize {
        self.first.len() - 1
    }

    fn of(&self, unit: usize) -> &[u32] {
        &self.members[self.first[unit]..self.first[unit + 1]]
    }
}

fn shuffled(count: usize, random: &mut Pcg64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for k in (1..count).rev() {
        order.swap(k, below(random, k as u64 + 1) as usize);
    }
    order
}

fn side_by_side(surrogate: &SurrogateTrace, random: &mut Pcg64) -> Placement {
    let pages = &surrogate.extents.pages;
    let units = Units::groups(&surrogate.extents.groups);
    let (mut starts, mut at) = (vec![0; pages.len()], 0);
    for unit in shuffled(units.len(), random) {
        for extent in units.of(unit) {
            starts[*extent as usize] = at;
            at += u64::from(pages[*extent as usize]);
        }
    }
    Placement { starts, log: at }
}

/// Kinds of load of a channel: reads that hit in the cache, reads that miss, writes.
const HITS: usize = 0;
const MISSES: usize = 1;
const WRITES: usize = 2;

fn on_channels(surrogate: &SurrogateTrace, random: &mut Pcg64, on: Channels) -> Placement {
    let pages = &surrogate.extents.pages;
    let asked = asked(surrogate, on.cache_pages);
    let even = on.deviation.max(on.missed_deviation) <= UNBALANCED;
    let units = if !even || on.deviation != on.missed_deviation {
        Units::single(pages.len())
    } else {
        Units::groups(&surrogate.extents.groups)
    };
    let weigh = |unit: usize, what: usize| -> u64 {
        let of = |e: &u32| asked[*e as usize][what] * u64::from(pages[*e as usize]);
        units.of(unit).iter().map(of).sum()
    };
    let all = asked.iter().zip(pages);
    let [hits, misses, writes] = all.fold([0; 3], |sums: [u64; 3], (asked, &pages)| {
        std::array::from_fn(|what| sums[what] + asked[what] * u64::from(pages))
    });
    let (hits, misses, writes) = (hits as f64, misses as f64, writes as f64);
    // Pages that are never asked for need no place. As a rule most are: they are found in
    // order here, since in the random order each look at an extent is a miss of the caches.
    let is_asked = |e: &u32| asked[*e as usize] != [0; 3];
    let wanted: Vec<bool> =
        (0..units.len()).map(|unit| units.of(unit).iter().any(is_asked)).collect();
    let of = |deviation: f64, sum: f64| -> Vec<f64> {
        shares_of(on.count, deviation).iter().map(|share| share * sum).collect()
    };
    let missed = of(on.missed_deviation, misses);
    let read = of(on.deviation, hits + misses);
    let hit = read.iter().zip(&missed).map(|(read, missed)| read - missed).collect();
    let mut lacking: [Vec<f64>; 3] = [hit, missed, of(on.deviation, writes)];
    let mut room = Room::new(on);
    let mut starts = vec![0; pages.len()];
    let mut order: Vec<([u64; 3], usize)> = shuffled(units.len(), random)
        .into_iter()
        .filter(|unit| wanted[*unit])
        .map(|unit| ([HITS, MISSES, WRITES].map(|what| weigh(unit, what)), unit))
        .collect();
    // Stable: those of one weight stay in their random order.
    order.sort_by_key(|(weights, _)| std::cmp::Reverse(*weights));
    for (weights, unit) in order {
        let Some(first) = weights.iter().position(|weight| *weight > 0) else { break };
        let by = &lacking[first];
        let channel = (1..by.len()).fold(0, |most, k| if by[k] > by[most] { k } else { most });
        let length = units.of(unit).iter().map(|e| u64::from(pages[*e as usize])).sum();
        let mut at = room.take(channel as u64, length);
        for extent in units.of(unit).iter().map(|e| *e as usize) {
            starts[extent] = at;
            for (what, lack) in lacking.iter_mut().enumerate() {
                serve(lack, on, at, u64::from(pages[extent]), asked[extent][what]);
            }
            at += u64::from(pages[extent]);
        }
    }
    Placement { starts, log: room.end() }
}

/// How often each extent is asked for: reads that hit, reads that miss, writes. Every page of the
/// log takes a place in the cache of its own.
fn asked(surrogate: &SurrogateTrace, cache_pages: u64) -> Vec<[u64; 3]> {
    let mut asked = vec![[0; 3]; surrogate.extents.pages.len()];
    // The request that last asked for an extent, from 1; 0: it is not in the cache.
    let mut last = vec![0; asked.len()];
    let (mut queue, mut held) = (VecDeque::new(), 0);
    for (at, request) in (1..).zip(&surrogate.requests) {
        let pages = u64::from(request.pages);
        queue.push_back((at, request.asked, pages));
        held += pages;
        if let RequestTarget::Extent(extent) = request.asked {
            let known = std::mem::replace(&mut last[extent as usize], at);
            held -= if known > 0 { pages } else { 0 };
            let what = match (request.writes, known > 0) {
                (true, _) => WRITES,
                (false, true) => HITS,
                (false, false) => MISSES,
            };
            asked[extent as usize][what] += 1;
        }
        while held > cache_pages {
            let Some((then, target, pages)) = queue.pop_front() else { break };
            match target {
                // Asked for again since: it stands further behind.
                RequestTarget::Extent(extent) if last[extent as usize] != then => {}
                RequestTarget::Extent(extent) => {
                    last[extent as usize] = 0;
                    held -= pages;
                }
                RequestTarget::Log(_) => held -= pages,
            }
        }
    }
    asked
}

/// Takes what an extent gives the channels from what they lack.
fn serve(lacking: &mut [f64], on: Channels, at: u64, pages: u64, times: u64) {
    let (mut first, end) = (at, at + pages);
    while times > 0 && first < end {
        let stretch = first / on.stretch_pages;
        let behind = end.min((stretch + 1) * on.stretch_pages);
        lacking[(stretch % on.count) as usize] -= (times * (behind - first)) as f64;
        first = behind;
    }
}

/// Pages that are taken, and where each channel goes on.
struct Room {
    on: Channels,
    taken: Vec<bool>,
    /// The page of each channel behind what came to it last. Gaps before it stay: to look for them
    /// would take as long as there are pages.
    next: Vec<u64>,
}

impl Room {
    fn new(on: Channels) -> Self {
        let next = (0..on.count).map(|channel| channel * on.stretch_pages).collect();
        Room { on, taken: Vec::new(), next }
    }

    /// Finds this many free pages, the first of them on a channel; inside one stretch, if they fit
    /// there.
    fn take(&mut self, channel: u64, pages: u64) -> u64 {
        let stretch = self.on.stretch_pages;
        let mut at = self.next[channel as usize];
        loop {
            let into = at % stretch;
            let fits = into == 0 || into + pages <= stretch;
            if fits && !(at..at + pages).any(|page| self.is_taken(page)) {
                break;
            }
            at = self.from(channel, at + 1);
        }
        let end = at + pages;
        if self.taken.len() < end as usize {
            self.taken.resize(end as usize, false);
        }
        self.taken[at as usize..end as usize].fill(true);
        self.next[channel as usize] = self.from(channel, end);
        at
    }

    fn is_taken(&self, page: u64) -> bool {
        self.taken.get(page as usize).copied().unwrap_or(false)
    }

    /// The first page of a channel from `page` on.
    fn from(&self, channel: u64, page: u64) -> u64 {
        let cycle = self.on.count * self.on.stretch_pages;
        let first = page / cycle * cycle + channel * self.on.stretch_pages;
        if page < first + self.on.stretch_pages { page.max(first) } else { first + cycle }
    }

    /// Behind everything, at the first channel.
    fn end(&self) -> u64 {
        (self.taken.len() as u64).next_multiple_of(self.on.count * self.on.stretch_pages)
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::tests::{generated, plain};
    use super::super::recipe::Recipe;
    use super::*;

    #[test]
    fn shares_have_the_deviation_that_is_asked_for() {
        for deviation in [0.0, 0.061, 0.785, 3.741, 7.486] {
            let shares = shares_of(8, deviation);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(((shares[0] - shares[7]) * 8.0 - deviation).abs() < 1e-6, "{shares:?}");
        }
        assert!((shares_of(2, 1.0)[0] - 0.75).abs() < 1e-9);
    }

    /// Eight channels and no cache.
    fn even(stretch_pages: u64, deviation: f64) -> Channels {
        let missed_deviation = deviation;
        Channels { count: 8, stretch_pages, deviation, missed_deviation, cache_pages: 0 }
    }

    /// Requests of each channel, page by page: reads and writes.
    fn loads(load: &SurrogateTrace, placed: &Placement, on: Channels) -> [Vec<f64>; 2] {
        let mut found = [vec![0.0; on.count as usize], vec![0.0; on.count as usize]];
        for request in &load.requests {
            let RequestTarget::Extent(extent) = request.asked else { continue };
            let first = placed.starts[extent as usize];
            for page in first..first + u64::from(request.pages) {
                let channel = page / on.stretch_pages % on.count;
                found[usize::from(request.writes)][channel as usize] += 1.0;
            }
        }
        found
    }

    fn deviation(loads: &[f64]) -> f64 {
        let (sum, n) = (loads.iter().sum::<f64>(), loads.len() as f64);
        let most = loads.iter().copied().fold(f64::MIN, f64::max);
        let least = loads.iter().copied().fold(f64::MAX, f64::min);
        (most - least) * n / sum
    }

    #[test]
    fn channels_are_as_unbalanced_as_they_are_to_be() {
        let load = generated(&Recipe { write_ratio: 0.3, mean_pages: 1.2, ..plain() }, 3);
        for stretch_pages in [1, 2, 16] {
            for wanted in [0.0, 0.25, 0.785, 2.0] {
                let on = even(stretch_pages, wanted);
                let found = deviation(&loads(&load, &place(&load, 3, Some(on)), on)[0]);
                assert!((found - wanted).abs() < 0.05, "{stretch_pages} {wanted}: {found}");
            }
        }
    }

    /// Reads of each channel that miss in a list of the latest extents, which is searched.
    fn missed(load: &SurrogateTrace, placed: &Placement, on: Channels) -> Vec<f64> {
        let mut found = vec![0.0; on.count as usize];
        let (mut latest, mut log): (Vec<(RequestTarget, u64)>, u32) = (Vec::new(), 0);
        for request in &load.requests {
            let mut target = request.asked;
            if matches!(target, RequestTarget::Log(_)) {
                log += 1;
                target = RequestTarget::Log(log);
            }
            let at = latest.iter().position(|(held, _)| *held == target);
            if let (None, false, RequestTarget::Extent(extent)) = (at, request.writes, target) {
                let first = placed.starts[extent as usize];
                for page in first..first + u64::from(request.pages) {
                    found[(page / on.stretch_pages % on.count) as usize] += 1.0;
                }
            }
            at.map(|at| latest.remove(at));
            latest.push((target, u64::from(request.pages)));
            while latest.iter().map(|(_, pages)| pages).sum::<u64>() > on.cache_pages {
                latest.remove(0);
            }
        }
        found
    }

    #[test]
    fn reads_that_miss_have_a_deviation_of_their_own() {
        let kind = RecipeKind::Independent;
        let recipe = Recipe { kind, alpha: 0.9, write_ratio: 0.3, mean_pages: 1.2, ..plain() };
        let load = generated(&recipe, 3);
        for (deviation_all, missed_deviation) in [(1.5, 0.2), (0.3, 0.0), (1.7, 2.1)] {
            let on = Channels {
                count: 8,
                stretch_pages: 16,
                deviation: deviation_all,
                missed_deviation,
                cache_pages: 1_000,
            };
            let placed = place(&load, 3, Some(on));
            let all = deviation(&loads(&load, &placed, on)[0]);
            let of_missed = deviation(&missed(&load, &placed, on));
            let near = |found: f64, wanted: f64| (found - wanted).abs() < 0.05 + 0.1 * wanted;
            assert!(near(all, deviation_all), "{all} for {deviation_all}");
            assert!(near(of_missed, missed_deviation), "{of_missed} for {missed_deviation}");
        }
    }

    #[test]
    fn pages_that_are_never_read_are_spread_over_the_channels() {
        let load = generated(&Recipe { write_ratio: 1.0, mean_pages: 1.2, ..plain() }, 3);
        for wanted in [0.0, 1.0] {
            let on = even(2, wanted);
            let found = deviation(&loads(&load, &place(&load, 3, Some(on)), on)[1]);
            assert!((found - wanted).abs() < 0.05, "{wanted}: {found}");
        }
    }

    #[test]
    fn no_two_extents_lie_on_the_same_page() {
        let load = generated(&plain(), 1);
        for on in [None, Some(even(1, 7.0)), Some(even(16, 0.1)), Some(even(4, 1.0))] {
            let placed = place(&load, 1, on);
            let mut taken = vec![false; placed.log as usize];
            for (start, pages) in placed.starts.iter().zip(&load.extents.pages) {
                for page in *start..start + u64::from(*pages) {
                    assert!(!std::mem::replace(&mut taken[page as usize], true), "{on:?}: {page}");
                }
            }
        }
    }

    #[test]
    fn extents_of_a_group_lie_side_by_side() {
        let load = generated(&plain(), 1);
        let placed = place(&load, 1, None);
        let units = Units::groups(&load.extents.groups);
        for unit in 0..units.len() {
            for pair in units.of(unit).windows(2) {
                let pages = u64::from(load.extents.pages[pair[0] as usize]);
                let [one, next] = [pair[0], pair[1]].map(|e| placed.starts[e as usize]);
                assert_eq!(one + pages, next);
            }
        }
        assert_ne!(placed.starts, place(&load, 2, None).starts);
    }
}
