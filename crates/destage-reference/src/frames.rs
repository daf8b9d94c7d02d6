//! Additions of `docs/spec/further-policies.md`, 2 to the common model: frames with numbers, random
//! draws, samples, and the answer of a policy that does not admit a page.

use crate::{Decision, Op, Params};

/// Numbered frames (2.2): which page stands in which.
///
/// Kept apart from the [`Buffer`](crate::Buffer), which knows what is dirty: only policies that
/// look at frames have these.
#[derive(Clone)]
pub(crate) struct Frames(Vec<Option<u64>>);

impl Frames {
    pub(crate) fn new(frames: usize) -> Frames {
        Frames(vec![None; frames])
    }

    /// The frame of a resident page.
    pub(crate) fn of(&self, page: u64) -> usize {
        self.0.iter().position(|&other| other == Some(page)).expect("a resident page has a frame")
    }

    /// The page of a taken frame.
    pub(crate) fn page(&self, frame: usize) -> u64 {
        self.0[frame].expect("the frame is taken")
    }

    /// Puts a page into the free frame with the lowest number, and says which that is.
    pub(crate) fn place(&mut self, page: u64) -> usize {
        let free = self.0.iter().position(Option::is_none).expect("a frame is free");
        self.0[free] = Some(page);
        free
    }

    pub(crate) fn free(&mut self, page: u64) {
        let frame = self.of(page);
        self.0[frame] = None;
    }

    /// All frames in order, each as `entry` shows its page; free ones as `-`.
    pub(crate) fn show(&self, entry: impl Fn(u64) -> String) -> Vec<String> {
        self.0.iter().map(|page| page.map_or("-".to_string(), &entry)).collect()
    }
}

/// SplitMix64, with the two ways in which policies draw from it (2.4).
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// With the seed of the parameters, by default 1.
    pub(crate) fn of(params: &Params) -> Draws {
        Draws::new(params.integer("seed").unwrap_or(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An integer in 0..n-1.
    pub(crate) fn draw(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A real in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2.0_f64.powi(-53)
    }
}

/// How many frames an eviction looks at; none = all (2.5).
pub(crate) struct Sample(Option<usize>);

impl Sample {
    /// So many frames.
    pub(crate) fn new(frames: u64) -> Sample {
        Sample(Some(frames as usize))
    }

    pub(crate) fn of(params: &Params, default: u64) -> Sample {
        Sample(params.optional_integer("sample", default).map(|n| n as usize))
    }

    /// The frames whose pages are candidates. A frame may come twice.
    pub(crate) fn frames(&self, draws: &mut Draws, s: usize) -> Vec<usize> {
        match self.0 {
            Some(n) if n < s => (0..n).map(|_| draws.draw(s)).collect(),
            _ => (0..s).collect(),
        }
    }
}

/// The decision of a miss whose page is not admitted (2.1): a write goes through to flash.
pub(crate) fn bypass(op: Op, page: u64) -> Decision {
    let flushed = if op == Op::Write { vec![vec![page]] } else { Vec::new() };
    Decision { hit: false, evicted: Vec::new(), flushed }
}

#[cfg(test)]
mod tests {
    use super::Draws;

    /// The outputs that section 2.4 gives.
    #[test]
    fn first_outputs_are_those_of_the_specification() {
        let mut one = Draws::new(1);
        let outputs = [one.next(), one.next(), one.next()];
        assert_eq!(outputs, [10451216379200822465, 13757245211066428519, 17911839290282890590]);
        let mut seven = Draws::new(7);
        let draws: Vec<usize> = (0..9).map(|_| seven.draw(3)).collect();
        assert_eq!(draws, [1, 0, 2, 1, 1, 0, 1, 0, 0]);
    }
}
