//! Keys of a stepped policy, for every policy that can be stepped, beside a map.

use destage_cache::{Found, Keyed, State};
use destage_core::{Op, Page};
use destage_engine::options::RunOptions;
use destage_engine::spec::PolicySpec;
use destage_engine::stepped::{Ended, Stepped};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const FRAMES: u32 = 6;

fn stepped(policy: &str) -> Option<Stepped> {
    let spec = PolicySpec::parse(policy).ok()?;
    Stepped::new(spec, FRAMES, RunOptions::default()).ok()
}

/// Every policy that can be stepped with its defaults.
fn all() -> Vec<&'static str> {
    let names = destage_policies::POLICIES.iter().map(|info| info.name);
    names.filter(|name| stepped(name).is_some()).collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Access(u64, Op),
    Forget(u64),
    Evict,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0..24u64, any::<bool>())
            .prop_map(|(key, write)| Step::Access(key, if write { Op::Write } else { Op::Read })),
        2 => (0..24u64).prop_map(Step::Forget),
        1 => Just(Step::Evict),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 1..200)
}

/// State of a cache as the test keeps it: resident keys, and whose page a number has been.
#[derive(Default)]
struct Model {
    resident: BTreeMap<u64, bool>,
    owner: BTreeMap<Page, u64>,
}

struct Pair {
    cache: Keyed<u64>,
    by_number: bool,
    model: Model,
}

impl Pair {
    fn new(policy: &str) -> Pair {
        let policy = stepped(policy).unwrap();
        let by_number = policy.info().is_some_and(|info| info.by_page_number());
        Pair { cache: Keyed::new(policy), by_number, model: Model::default() }
    }

    /// Hashes that many keys share, so that keys are compared.
    fn find(&self, key: u64) -> Found {
        let number = if self.by_number { key } else { key % 3 };
        self.cache.keys().find(number, |known| *known == key)
    }

    fn key(&self, page: Page) -> u64 {
        self.cache.keys().kept(page).key
    }

    fn access(&mut self, key: u64, op: Op) {
        let found = self.find(key);
        let was_resident = self.model.resident.contains_key(&key);
        let (page, ended) = self.cache.access(found, || key, op);
        assert_eq!(ended == Ended::Hit, was_resident);
        let owner = *self.model.owner.entry(page).or_insert(key);
        assert_eq!(owner, key, "a number is never another key's");
        let plan = self.cache.policy().plan();
        let flushed: Vec<u64> = plan.flushed().iter().map(|&page| self.key(page)).collect();
        let evicted: Vec<u64> = plan.evicted().iter().map(|one| self.key(one.page)).collect();
        for key in flushed {
            self.model.resident.entry(key).and_modify(|dirty| *dirty = false);
        }
        for key in evicted {
            self.model.resident.remove(&key);
        }
        if ended != Ended::Bypassed {
            *self.model.resident.entry(key).or_default() |= op.is_write();
        }
        drop(self.cache.settle(found, page, ended, op));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Access(key, op) => self.access(key, op),
            Step::Forget(key) => {
                let Some(page) = self.find(key).page else { return };
                if self.cache.policy().forgets() {
                    let held = self.cache.forget(page);
                    assert_eq!(held, self.model.resident.remove(&key));
                    drop(self.cache.settle_forgotten(page));
                }
            }
            Step::Evict => {
                let mut first = None;
                let shown = self.cache.policy().next_victims(&mut |page| {
                    first = Some(page);
                    false
                });
                if let (Ok(()), Some(page)) = (shown, first) {
                    self.model.resident.remove(&self.key(page));
                    drop(self.cache.evict(&[page]));
                }
            }
            Step::Clear => {
                self.cache.clear(None);
                self.model = Model::default();
            }
        }
    }

    fn check(&self) {
        let mut resident = BTreeMap::new();
        self.cache.policy().for_each_resident(&mut |page, dirty| {
            resident.insert(self.key(page), dirty);
        });
        assert_eq!(resident, self.model.resident);
        for key in 0..24 {
            let state = match self.model.resident.get(&key) {
                None => State::Remembered,
                Some(true) => State::Dirty,
                Some(false) => State::Clean,
            };
            assert_eq!(self.cache.state(self.find(key)), state, "key {key}");
        }
        let mut shown = BTreeSet::new();
        self.cache.for_each_resident(true, |&key| {
            shown.insert(key);
        });
        let dirty = self.model.resident.iter().filter(|(_, dirty)| **dirty);
        assert_eq!(shown, dirty.map(|(&key, _)| key).collect());
    }
}

proptest! {
    #[test]
    fn keys_are_as_the_policy_has_their_pages(steps in steps()) {
        for policy in all() {
            let mut pair = Pair::new(policy);
            for &step in &steps {
                pair.step(step);
                pair.check();
            }
        }
    }
}

#[test]
fn more_than_half_of_the_policies_can_be_stepped() {
    assert!(all().len() > destage_policies::POLICIES.len() / 2, "{:?}", all());
}

#[test]
fn keys_of_a_policy_that_remembers_nothing_end_with_their_pages() {
    let mut pair = Pair::new("lru");
    (0..1000).for_each(|key| pair.access(key % 24, Op::Read));
    assert_eq!(pair.cache.keys().len(), FRAMES as usize);
    let mut shown = 0;
    let ended: Result<(), ()> = pair.cache.keys().try_for_each(|_| {
        shown += 1;
        if shown == 3 { Err(()) } else { Ok(()) }
    });
    assert_eq!((ended, shown), (Err(()), 3));
    assert_eq!(pair.cache.clear(None).len(), FRAMES as usize);
    assert!(pair.cache.keys().is_empty());
}
