//! Structured inputs: what a strategy draws from the bytes.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A value of `strategy`; none if these bytes lead it nowhere.
///
/// The bytes are the seed of a generator. Taken as the numbers themselves they would run out: a
/// strategy splits what it has for each of its parts, and what is left of any input is zeros soon,
/// among which a filter looks for what it wants for ever.
pub fn draw<S: Strategy>(strategy: &S, bytes: &[u8]) -> Option<S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed(bytes));
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    Some(strategy.new_tree(&mut runner).ok()?.current())
}

/// All bytes, folded into as many as a seed has.
fn seed(bytes: &[u8]) -> [u8; 32] {
    let mut seed = [0_u8; 32];
    for (index, &byte) in bytes.iter().enumerate() {
        let place = &mut seed[index % 32];
        *place = place.rotate_left(3) ^ byte;
    }
    seed
}
