//! A policy of one's own in the pool.

use crate::equality::{FRAMES, PAGE, PAGES};
use crate::support::{Random, check_sums};
use destage_core::{DeviceView, Lookup, Page, Plan, Policy, Request, Requirements, Slot};
use destage_pool::{MemoryStore, OpenError, Options, Pool, PoolCounters, Writer};
use std::collections::VecDeque;

/// The oldest page leaves.
struct Oldest {
    frames: u32,
    pages: VecDeque<(Page, bool)>,
    needs: Requirements,
}

impl Oldest {
    fn new(frames: u32) -> Oldest {
        Oldest { frames, pages: VecDeque::new(), needs: Requirements::NONE }
    }
}

impl Policy for Oldest {
    type Miss = ();

    fn requirements(&self) -> Requirements {
        self.needs
    }

    fn request(&mut self, r: &Request) -> Lookup<()> {
        match self.pages.iter_mut().find(|(page, _)| *page == r.page) {
            Some((_, dirty)) => {
                *dirty |= r.op.is_write();
                Lookup::Hit(Slot(0))
            }
            None => Lookup::Miss(()),
        }
    }

    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let (page, dirty) = self.pages.pop_front().expect("every frame is taken");
        plan.evict(page, dirty);
    }

    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.pages.push_back((r.page, r.op.is_write()));
        Slot(0)
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    fn resident(&self) -> u32 {
        self.pages.len() as u32
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.pages.iter().for_each(|&(page, dirty)| visit(page, dirty));
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let at = self.pages.iter().position(|(other, _)| *other == page)?;
        self.pages.remove(at).map(|(_, dirty)| dirty)
    }
}

fn options() -> Options {
    let mut options = Options::new(FRAMES);
    options.page_bytes = PAGE as u32;
    options
}

fn store() -> MemoryStore {
    MemoryStore::new(PAGES, PAGE as u32)
}

/// Reads, writes, trims and flushes, each byte compared.
fn used(pool: &Pool<MemoryStore>) -> PoolCounters {
    let (mut random, bytes) = (Random::new(5), PAGES * PAGE);
    let mut model = vec![0; bytes as usize];
    for number in 0..4000 {
        let range = random.range(bytes, 3 * PAGE);
        let here = range.start as usize..range.end as usize;
        match random.below(20) {
            0 => pool.flush().unwrap(),
            1 => {
                let pages = range.start / PAGE..range.start / PAGE + 1;
                pool.forget(pages.clone()).unwrap();
                model[(pages.start * PAGE) as usize..(pages.end * PAGE) as usize].fill(0);
            }
            2..=9 => {
                model[here.clone()].fill(random.byte());
                pool.write_at(range.start, &model[here]).unwrap();
            }
            _ => {
                let mut found = vec![0; here.len()];
                pool.read_at(range.start, &mut found).unwrap();
                assert!(found == model[here], "operation {number}");
            }
        }
    }
    check_sums(&pool.counters());
    pool.counters()
}

#[test]
fn it_decides_as_the_same_policy_of_the_table() {
    let own = used(&Pool::open_with(store(), Oldest::new(FRAMES), options()).unwrap());
    let table = used(&Pool::open(store(), "fifo", options()).unwrap());
    assert_eq!((own.policy, own.trims), (table.policy, table.trims));
    assert!(own.policy.destaged_pages > 500, "{own:?}");
}

#[test]
fn what_cannot_decide_live_is_named() {
    let error = |policy: Oldest, options: Options| {
        Pool::open_with(store(), policy, options).err().expect("an error").to_string()
    };
    let needing = |needs| Oldest { needs, ..Oldest::new(FRAMES) };
    let future = error(needing(Requirements::NEXT_USE), options());
    assert!(future.contains("decides by future accesses"), "{future}");
    let device = error(needing(Requirements::GC_STATE), options());
    assert!(device.contains("needs a simulated SSD"), "{device}");
    let mut writing = options();
    writing.writer = Some(Writer::default());
    let order = error(Oldest::new(FRAMES), writing);
    assert!(order.contains("no eviction order"), "{order}");
    let frames = Pool::open_with(store(), Oldest::new(7), options()).err();
    assert!(matches!(frames, Some(OpenError::Frames { policy: 7, options: FRAMES })));
}
