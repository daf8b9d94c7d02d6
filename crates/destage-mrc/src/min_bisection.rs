//! How many frames each interval of a window needs under MIN, by halving the frames in question
//! ([`MinCurve`](super::min::MinCurve) says what that means).
//!
//! ```text
//!  events of a part, in time     a1  b1  c1  a2  d1  b2  c2  d2        frames in question: 5 to 8
//!  a run with 6 keeps a and d    a1  a2  d1  d2 | b1  c1  b2  c2       5 to 6 | 7 to 8
//! ```
//!
//! Either half lies where the part lay, so that memory is that of one copy.

use destage_replay::control::Control;
use std::sync::atomic::Ordering;

/// No instant lies between two events: any cache holds what is held over it.
pub(super) const NO_INSTANT: i32 = i32::MIN / 2;

/// Tag of an interval's end: 0 for a read hit, 1 for a write hit; from 2 on, its place among the
/// intervals that leave the window.
pub(super) const LEAVES: u32 = 2;

/// Where an interval begins or ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Event {
    /// The interval's other end: behind, if it begins here.
    pub(super) other: u32,
    /// Frames taken by what smaller caches hold, at the fullest instant since the event before.
    pub(super) taken: i32,
    /// At a beginning, the smallest cache that holds the page already; at an end, the hit
    /// ([`LEAVES`]).
    pub(super) tag: u32,
}

/// Events of intervals that need more than `low` frames and at most `high`.
#[derive(Clone, Copy)]
struct Part {
    from: usize,
    to: usize,
    low: u32,
    high: u32,
}

/// Asks how many frames each interval needs, by halving.
#[derive(Default)]
pub(super) struct MinBisection {
    pub(super) events: Vec<Event>,
    /// Where the events of a part go when it is divided.
    divided: Vec<Event>,
    /// Place of each event of a part in its half.
    places: Vec<u32>,
    /// The event's interval was kept until its end.
    kept: Vec<bool>,
    held: HeldEnds,
    /// By the frames needed: read and write hits.
    pub(super) hits: Vec<[u64; 2]>,
    /// Frames needed by those that leave the window.
    pub(super) needs: Vec<u32>,
}

impl MinBisection {
    /// Bisection for a trace of `pages` pages, the most frames that an interval can need.
    pub(super) fn new(pages: usize) -> Self {
        MinBisection { hits: vec![[0; 2]; pages + 1], ..MinBisection::default() }
    }

    /// All events, of intervals that need at most `high` frames.
    pub(super) fn solve(&mut self, high: u32, control: &Control) -> Option<()> {
        let events = self.events.len();
        self.divided.resize(events, Event::default());
        self.places.resize(events, 0);
        self.kept.resize(events, false);
        self.held.make_room(events);
        let mut parts = vec![Part { from: 0, to: events, low: 0, high }];
        while let Some(part) = parts.pop() {
            if part.high - part.low <= 1 {
                self.settle_all(part);
                continue;
            }
            if control.stop.load(Ordering::Relaxed) {
                return None;
            }
            // Needs lie as close in their logarithm as in their number.
            let middle = f64::from(part.low + 1) * f64::from(part.high);
            let middle = (middle.sqrt() as u32).clamp(part.low + 1, part.high - 1);
            let kept = self.keep(part, middle);
            let halves = self.divide(part, middle, kept);
            parts.extend(halves.into_iter().filter(|half| half.from < half.to));
        }
        Some(())
    }

    /// An interval with nothing of its kind between its ends is held wherever a frame is left.
    /// Returns the frames taken with it, at the fullest instant since the event before.
    #[inline(always)]
    pub(super) fn settle(&mut self, begin: Event, end: Event, low: u32) -> i32 {
        let needs = (low + 1).max(begin.tag).max((end.taken + 2).max(0) as u32);
        self.found(needs, end.tag);
        begin.taken.max(end.taken + 1)
    }

    fn settle_all(&mut self, part: Part) {
        for k in part.from..part.to {
            let Event { other, tag, .. } = self.events[k];
            if (other as usize) < k - part.from {
                self.found(part.high, tag);
            }
        }
    }

    #[inline(always)]
    fn found(&mut self, needs: u32, tag: u32) {
        if tag < LEAVES {
            self.hits[needs as usize][tag as usize] += 1;
        } else {
            self.needs[(tag - LEAVES) as usize] = needs;
        }
    }

    /// Runs MIN with so many frames; notes what it keeps, and returns how many events these have.
    fn keep(&mut self, part: Part, frames: u32) -> usize {
        let events = &self.events[part.from..part.to];
        let kept = &mut self.kept[..events.len()];
        let ends = &mut self.held;
        let (mut held, mut count) = (0, 0);
        for (k, &event) in events.iter().enumerate() {
            let room = (frames as i32 - 1 - event.taken).max(0);
            while held > room {
                ends.give_up_last();
                held -= 1;
            }
            // Without a branch to guess: both kinds of events set their end's bit, to what it is.
            let other = event.other as usize;
            let is_held = other > k && event.tag <= frames;
            let was_held = ends.set(other.max(k), is_held);
            held += i32::from(is_held) - i32::from(was_held);
            count += 2 * usize::from(was_held);
            kept[k] = was_held;
            kept[other.min(k)] = was_held;
        }
        count
    }

    /// Divides a part into what `middle` frames keep, which has so many events, and what they do
    /// not.
    fn divide(&mut self, part: Part, middle: u32, count: usize) -> [Part; 2] {
        let bounds = [(middle, part.high), (part.low, middle)];
        let mut halves = [Half::at(count), Half::at(0)];
        for k in 0..part.to - part.from {
            let event = self.events[part.from + k];
            let half = usize::from(self.kept[k]);
            // What is kept takes frames from what is not.
            halves[0].taken = halves[0].taken.max(event.taken + halves[1].open);
            halves[1].taken = halves[1].taken.max(event.taken);
            let h = &mut halves[half];
            let taken = std::mem::replace(&mut h.taken, NO_INSTANT);
            h.fullest = h.fullest.max(taken + h.open);
            let place = (h.end - h.start) as u32;
            self.places[k] = place;
            let ends = (event.other as usize) < k;
            // A beginning points at itself until its end is met.
            let other = if ends { self.places[event.other as usize] } else { place };
            h.open += if ends { -1 } else { 1 };
            if ends && other + 1 == place {
                h.end -= 1;
                let (begin, end) = (self.divided[h.end], Event { taken, ..event });
                halves[half].taken = self.settle(begin, end, bounds[half].0);
                continue;
            }
            h.needs = h.needs.max(if ends { 0 } else { event.tag });
            self.divided[h.end] = Event { other, taken, tag: event.tag };
            self.divided[h.start + other as usize].other = place;
            h.end += 1;
        }
        for h in &halves {
            self.events[part.from + h.start..part.from + h.end]
                .copy_from_slice(&self.divided[h.start..h.end]);
        }
        std::array::from_fn(|k| halves[k].part(part.from, bounds[k]))
    }
}

/// One half of a part while it is divided.
struct Half {
    start: usize,
    end: usize,
    /// `taken` of the next [`Event`].
    taken: i32,
    /// Intervals that are open.
    open: i32,
    /// Frames taken at the fullest instant, its own included.
    fullest: i32,
    /// The most that an interval brought along.
    needs: u32,
}

impl Half {
    fn at(start: usize) -> Self {
        Half { start, end: start, taken: NO_INSTANT, open: 0, fullest: 0, needs: 0 }
    }

    /// The half as a part, with the most frames that its intervals need.
    fn part(&self, from: usize, (low, high): (u32, u32)) -> Part {
        let enough = (self.fullest.max(0) as u32 + 1).max(self.needs).max(low + 1);
        Part { from: from + self.start, to: from + self.end, low, high: high.min(enough) }
    }
}

/// Ends that are held, as bits. Upper levels say where a bit may be, and are put right when one
/// looks for the last.
#[derive(Default)]
struct HeldEnds {
    ends: Vec<u64>,
    words: Vec<u64>,
    nodes: Vec<u64>,
    last_node: usize,
}

impl HeldEnds {
    /// For ends numbered below `events`.
    fn make_room(&mut self, events: usize) {
        let mut room = events;
        for level in [&mut self.ends, &mut self.words, &mut self.nodes] {
            room = room.div_ceil(64).max(1);
            level.resize(room.max(level.len()), 0);
        }
    }

    /// Sets an end's bit; returns what it was.
    #[inline(always)]
    fn set(&mut self, end: usize, to: bool) -> bool {
        let bit = u64::from(to);
        let word = &mut self.ends[end >> 6];
        let was = *word >> (end & 63) & 1 != 0;
        *word = *word & !(1 << (end & 63)) | bit << (end & 63);
        self.words[end >> 12] |= bit << (end >> 6 & 63);
        self.nodes[end >> 18] |= bit << (end >> 12 & 63);
        self.last_node = self.last_node.max(if to { end >> 18 } else { 0 });
        was
    }

    /// Clears the last of the bits.
    #[inline(always)]
    fn give_up_last(&mut self) {
        let last = |word: u64| 63 - word.leading_zeros() as usize;
        loop {
            let node = self.nodes[self.last_node];
            if node == 0 {
                self.last_node -= 1;
                continue;
            }
            let at = self.last_node << 6 | last(node);
            if self.words[at] == 0 {
                self.nodes[self.last_node] &= !(1 << (at & 63));
                continue;
            }
            let word = at << 6 | last(self.words[at]);
            if self.ends[word] == 0 {
                self.words[at] &= !(1 << (word & 63));
                continue;
            }
            self.ends[word] &= !(1 << last(self.ends[word]));
            return;
        }
    }
}
