//! Rates of two tiers beside one, and of a language model's requests, in accesses per second of CPU
//! time, LRU in both tiers.
//!
//! ```text
//! cargo bench -p destage-engine --bench tiers
//! ```

use destage_core::SplitMix64;
use destage_engine::spec::PolicySpec;
use destage_engine::tiers::{AdmissionSpec, LowerTierSpec, LowerTiersSpec};
use destage_policies::{Setup, dense};
use destage_replay::input::Input;
use destage_replay::kv::{Chains, KvReplay, Touch};
use destage_replay::tiers::{TierRules, untimed};
use destage_replay::warmup::Warmup;
use destage_replay::{Columns, Extent, NextUses, Replay, Unobserved};
use destage_trace::ChainMark;

/// Pages, accesses, and blocks of a chain.
const PAGES: u32 = 1 << 20;
const ACCESSES: usize = 1 << 24;
const CHAIN: usize = 16;

fn main() {
    let mut random = SplitMix64::new(1);
    // Skewed: the page is the larger, the less often it comes.
    let mut page = || (random.unit().powi(3) * f64::from(PAGES)) as u32;
    let pages: Vec<u32> = (0..ACCESSES).map(|_| page()).collect();
    let lpns: Vec<u64> = (0..u64::from(PAGES)).collect();
    let extents = vec![Extent::new(1, false, false, false).0; ACCESSES];
    let columns = Columns { first_ids: &pages, extents: &extents, lpns: &lpns };
    let replay = Replay::of(&Input::of(columns), Warmup::None);
    let (small, large) = (Setup::new(PAGES / 100), PAGES / 10);
    for _ in 0..3 {
        let one = rate(|| {
            replay.run_unwatched("lru", &small, &mut Unobserved).expect("a policy");
        });
        println!(r#"{{"case":"one tier","accesses_per_s":{one:.0}}}"#);
        for admit in ["always", "nth", "tinylfu", "larc"] {
            let tier2 = LowerTierSpec {
                policy: PolicySpec::parse("lru").expect("a policy"),
                frames: large,
                admit: AdmissionSpec::parse(admit).expect("a filter"),
                page_bytes: 4096,
                pins: None,
                rules: TierRules::default(),
            };
            let two = rate(|| {
                let lower = LowerTiersSpec { tier2: tier2.clone(), tier3: None };
                let lower = lower.parts(&lpns, &[]).expect("a tier");
                untimed::run_unwatched(&replay, "lru", &small, lower, &mut Unobserved)
                    .expect("a policy");
            });
            let share = two / one;
            println!(
                r#"{{"case":"two tiers, {admit}","accesses_per_s":{two:.0},"share":{share:.2}}}"#
            );
        }
        println!(r#"{{"case":"kv","blocks_per_s":{:.0}}}"#, requests(&columns));
    }
}

/// Chains of consecutive blocks, each request a prefix of one.
fn requests(columns: &Columns<'_>) -> f64 {
    let heads = columns.first_ids.iter().map(|page| page / CHAIN as u32 * CHAIN as u32);
    let ids: Vec<u32> = heads
        .take(ACCESSES / CHAIN)
        .flat_map(|head| (0..CHAIN as u32).map(move |block| head + block))
        .collect();
    let marks: Vec<ChainMark> =
        (0..ids.len()).map(|row| ChainMark::new(16, row % CHAIN == 0)).collect();
    let columns = Columns { first_ids: &ids, ..*columns };
    rate(|| {
        let replay = KvReplay {
            columns,
            chains: Chains::of(&columns, &marks).expect("chains of blocks"),
            next_uses: NextUses::None,
            arrivals_ns: &[],
            warmup: Warmup::None,
            touch: Touch::TailFirst,
            ttl_ns: None,
        };
        let lru = dense("lru", &Setup::new(PAGES / 10), PAGES).expect("a policy");
        replay.run(lru, None, &mut Unobserved).expect("no stop");
    })
}

/// Accesses per second of CPU time.
fn rate(run: impl FnOnce()) -> f64 {
    let before = cpu_time::ProcessTime::now();
    run();
    ACCESSES as f64 / before.elapsed().as_secs_f64()
}
