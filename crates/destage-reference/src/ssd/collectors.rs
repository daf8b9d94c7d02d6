//! The rules that choose the victim of a collection (`docs/spec/collectors.md`), from sealed blocks
//! that are looked at one by one each time.

use super::config::Section;
use super::queue::Ssd;

/// The keys of section 2 that choose the victim, with every default filled in.
pub(crate) struct Rule {
    victim: &'static str,
    choices: u64,
    window_permille: u64,
    limit_permille: u64,
    pub(crate) seed: u64,
}

pub(crate) const DEVICE_KEYS: &[&str] =
    &["gc_victim", "gc_choices", "gc_window_permille", "gc_limit_permille", "gc_seed"];

const RULES: &[&str] =
    &["greedy", "fifo", "random", "d-choices", "windowed-greedy", "cost-benefit", "2r-fifo"];

/// `gc_stream`, whose default the rule decides.
pub(crate) fn stream(s: &Section<'_>) -> Result<&'static str, String> {
    let given = s.word("gc_stream", &["shared", "own", "by-generation"])?;
    let by_default = s.get("gc_stream").is_none() && s.word("gc_victim", RULES)? == "2r-fifo";
    Ok(if by_default { "by-generation" } else { given })
}

impl Rule {
    pub(crate) fn of(s: &Section<'_>) -> Result<Rule, String> {
        let victim = s.word("gc_victim", RULES)?;
        let window = if victim == "2r-fifo" { 700 } else { 250 };
        let ranged = |key: &str, default, least, most| {
            let value = s.integer(key, default, least)?;
            if value > most {
                return Err(format!("device: {key}: expected {least} to {most}, found {value}"));
            }
            Ok(value)
        };
        Ok(Rule {
            victim,
            choices: ranged("gc_choices", 10, 1, 1024)?,
            window_permille: ranged("gc_window_permille", window, 0, 1000)?,
            limit_permille: ranged("gc_limit_permille", 700, 1, 1000)?,
            seed: s.integer("gc_seed", 1, 0)?,
        })
    }

    pub(crate) fn is_greedy(&self) -> bool {
        self.victim == "greedy"
    }
}

/// What a rule sees of a sealed block.
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
        let victim = match rule.victim {
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
