//! The rules that choose the victim of a collection (`docs/spec/collectors.md`), from sealed blocks
//! that are looked at one by one each time.

use super::queue::Ssd;
use crate::Params;

/// The keys of section 2 that choose the victim, with every default filled in.
pub(crate) struct Rule {
    victim: String,
    choices: u64,
    window_permille: u64,
    limit_permille: u64,
    pub(crate) seed: u64,
}

/// `gc_stream`, whose default the rule decides; a record has nothing of defaults.
pub(crate) fn stream<'a>(s: &'a Params<'_>) -> &'a str {
    let by_default =
        if s.text("gc_victim") == Some("2r-fifo") { "by-generation" } else { "shared" };
    s.text("gc_stream").unwrap_or(by_default)
}

impl Rule {
    pub(crate) fn of(s: &Params<'_>) -> Rule {
        let victim = s.text("gc_victim").unwrap_or("greedy");
        let window = if victim == "2r-fifo" { 700 } else { 250 };
        Rule {
            victim: victim.to_string(),
            choices: s.integer("gc_choices").unwrap_or(10),
            window_permille: s.integer("gc_window_permille").unwrap_or(window),
            limit_permille: s.integer("gc_limit_permille").unwrap_or(700),
            seed: s.integer("gc_seed").unwrap_or(1),
        }
    }
}

/// A sealed block as a rule sees it.
#[derive(Clone, Copy)]
struct Sealed {
    block: usize,
    valid: u64,
    erases: u64,
    touched: u64,
}

impl Sealed {
    fn greedy_order(&self) -> (u64, u64, usize) {
        (self.valid, self.erases, self.block)
    }
}

impl Ssd {
    /// The victim that the rule names at this clock; `draws` is the plane's generator, or a copy.
    pub(crate) fn choose(&self, plane: usize, clock: u64, draws: &mut u64) -> Option<usize> {
        let d = self.config.data_pages;
        let queue: Vec<Sealed> =
            self.planes[plane].queue.iter().map(|&b| self.look(plane, b)).collect();
        let has_invalid = |block: &&Sealed| block.valid < d;
        let candidates: Vec<&Sealed> = queue.iter().filter(has_invalid).collect();
        if candidates.is_empty() {
            return None;
        }
        let least = |among: &[&Sealed]| among.iter().map(|block| block.greedy_order()).min();
        let rule = &self.config.rule;
        let window = (self.config.blocks_per_plane * rule.window_permille / 1000).max(1) as usize;
        let victim = match rule.victim.as_str() {
            "greedy" => least(&candidates)?.2,
            "fifo" => candidates[0].block,
            "random" | "d-choices" => {
                let mut by_index = candidates;
                by_index.sort_by_key(|block| block.block);
                let times = if rule.victim == "random" { 1 } else { rule.choices };
                let drawn: Vec<&Sealed> = (0..times)
                    .map(|_| {
                        let next = u128::from(super::flash::split_mix_64(draws));
                        by_index[((next * by_index.len() as u128) >> 64) as usize]
                    })
                    .collect();
                least(&drawn)?.2
            }
            "windowed-greedy" => least(&candidates[..window.min(candidates.len())])?.2,
            "cost-benefit" => match least(&candidates)? {
                (0, _, block) => block,
                _ => {
                    let better = |a: &Sealed, b: &Sealed| {
                        let side = |of: &Sealed, other: &Sealed| {
                            u128::from(clock - of.touched)
                                * u128::from(d - of.valid)
                                * u128::from(other.valid)
                        };
                        let by_benefit = side(b, a).cmp(&side(a, b));
                        by_benefit.then(a.greedy_order().cmp(&b.greedy_order()))
                    };
                    candidates.iter().min_by(|a, b| better(a, b))?.block
                }
            },
            _ => {
                let mut limit = rule.limit_permille;
                let in_window = &queue[..window.min(queue.len())];
                loop {
                    let below = |block: &&Sealed| block.valid < d && 1000 * block.valid < limit * d;
                    if let Some(found) = in_window.iter().find(below) {
                        break found.block;
                    }
                    if limit == 1000 {
                        break candidates[0].block;
                    }
                    limit = (limit + 50).min(1000);
                }
            }
        };
        Some(victim)
    }

    fn look(&self, plane: usize, block: usize) -> Sealed {
        let state = &self.planes[plane].blocks[block];
        Sealed {
            block,
            valid: self.valid_pages(plane, block).len() as u64,
            erases: state.erases,
            touched: state.touched,
        }
    }
}
