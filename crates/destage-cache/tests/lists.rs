//! Lists of pages and of ghosts beside vectors.

use destage_cache::{Ghosts, ListError, Lists, OnHit, Overflow, Tag};
use destage_core::Page;
use proptest::prelude::*;

const MARKS: u16 = 2;

/// A page, its dirty bit and its mark.
type Resident = (Page, bool, u16);

/// Three lists, newest first: a hit moves to the front, marks, and goes to the first.
#[derive(Default)]
struct Model([Vec<Resident>; 3]);

impl Model {
    fn place(&self, page: Page) -> Option<(usize, usize)> {
        let at = |list: &Vec<Resident>| list.iter().position(|one| one.0 == page);
        (0..3).find_map(|list| at(&self.0[list]).map(|place| (list, place)))
    }

    fn push_front(&mut self, list: usize, one: Resident) {
        self.0[list].insert(0, one);
        // The third overflows into the second.
        if list == 2 && self.0[2].len() > 3 {
            let oldest = self.0[2].pop().unwrap();
            self.push_front(1, oldest);
        }
    }

    fn hit(&mut self, page: Page, write: bool) -> bool {
        let Some((list, place)) = self.place(page) else { return false };
        self.0[list][place].1 |= write;
        match list {
            0 => {
                let one = self.0[0].remove(place);
                self.0[0].insert(0, one);
            }
            1 => self.0[1][place].2 = (self.0[1][place].2 + 1).min(MARKS),
            _ => {
                let one = self.0[2].remove(place);
                self.push_front(0, one);
            }
        }
        true
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Hit(u64, bool),
    PushFront(usize, u64, bool),
    PushBack(usize, u64, bool),
    Pop(usize, bool),
    Take(usize, u64),
    Front(usize, u64),
    Demote(usize, usize),
    Spare(usize),
    Mark(usize, u64),
    Evict,
    Clean(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (list, page) = (0..3usize, 0..20u64);
    let step = prop_oneof![
        (page.clone(), any::<bool>()).prop_map(|(p, w)| Step::Hit(p, w)),
        (list.clone(), page.clone(), any::<bool>()).prop_map(|(l, p, w)| Step::PushFront(l, p, w)),
        (list.clone(), page.clone(), any::<bool>()).prop_map(|(l, p, w)| Step::PushBack(l, p, w)),
        (list.clone(), any::<bool>()).prop_map(|(l, newest)| Step::Pop(l, newest)),
        (list.clone(), page.clone()).prop_map(|(l, p)| Step::Take(l, p)),
        (list.clone(), page.clone()).prop_map(|(l, p)| Step::Front(l, p)),
        (list.clone(), list.clone()).prop_map(|(a, b)| Step::Demote(a, b)),
        list.clone().prop_map(Step::Spare),
        (list, page.clone()).prop_map(|(l, p)| Step::Mark(l, p)),
        Just(Step::Evict),
        page.prop_map(Step::Clean),
    ];
    prop::collection::vec(step, 1..150)
}

fn lists() -> (Lists, [Tag; 3]) {
    let mut lists = Lists::default();
    assert_eq!(lists.first(), Err(ListError::NoList));
    let first = lists.new_list(OnHit::Front, 1, None).unwrap();
    let second = lists.new_list(OnHit::Stay, MARKS, None).unwrap();
    lists.set_on_hit(second, OnHit::Mark);
    let overflow = Some(Overflow { limit: 3, to: second });
    let third = lists.new_list(OnHit::To(first), 1, overflow).unwrap();
    (lists, [first, second, third])
}

fn step(lists: &mut Lists, tags: &[Tag; 3], model: &mut Model, step: Step) {
    match step {
        Step::Hit(page, write) => {
            let hit = lists.hit(Page(page), write).is_some();
            assert_eq!(hit, model.hit(Page(page), write));
        }
        Step::PushFront(list, page, dirty) => {
            let pushed = lists.push_front(tags[list], Page(page), dirty);
            match model.place(Page(page)) {
                Some(_) => assert_eq!(pushed, Err(ListError::Resident(Page(page)))),
                None => model.push_front(list, (Page(page), dirty, 0)),
            }
        }
        Step::PushBack(list, page, dirty) => {
            let pushed = lists.push_back(tags[list], Page(page), dirty);
            match model.place(Page(page)) {
                Some(_) => assert_eq!(pushed, Err(ListError::Resident(Page(page)))),
                None => model.0[list].push((Page(page), dirty, 0)),
            }
        }
        Step::Pop(list, newest) => {
            let held = &mut model.0[list];
            let expected = match held.is_empty() {
                true => Err(ListError::Empty),
                false => Ok(held.remove(if newest { 0 } else { held.len() - 1 })),
            };
            let popped = lists.pop(tags[list], newest);
            assert_eq!(popped, expected.map(|(page, dirty, _)| (page, dirty)));
        }
        Step::Take(list, page) => {
            let taken = lists.take(tags[list], Page(page));
            match model.place(Page(page)).filter(|&(on, _)| on == list) {
                Some((_, place)) => assert_eq!(taken, Ok(model.0[list].remove(place).1)),
                None => assert_eq!(taken, Err(ListError::NotHere(Page(page)))),
            }
        }
        other => step_within(lists, tags, model, other),
    }
}

/// The steps that take no page in or out but by eviction.
fn step_within(lists: &mut Lists, tags: &[Tag; 3], model: &mut Model, step: Step) {
    match step {
        Step::Front(list, page) => {
            let moved = lists.move_to_front(tags[list], Page(page));
            match model.place(Page(page)).filter(|&(on, _)| on == list) {
                Some((_, place)) => {
                    let one = model.0[list].remove(place);
                    model.0[list].insert(0, one);
                    assert_eq!(moved, Ok(()));
                }
                None => assert_eq!(moved, Err(ListError::NotHere(Page(page)))),
            }
        }
        Step::Demote(list, to) => {
            let expected = model.0[list].pop();
            let moved = lists.demote(tags[list], tags[to]);
            assert_eq!(moved.ok(), expected.map(|(page, ..)| page));
            if let Some(one) = expected {
                model.push_front(to, one);
            }
        }
        Step::Spare(list) => {
            let held = &mut model.0[list];
            let mut spared = 0;
            while held.last().is_some_and(|one| one.2 > 0) {
                let (page, dirty, mark) = held.pop().unwrap();
                held.insert(0, (page, dirty, mark - 1));
                spared += 1;
            }
            assert_eq!(lists.spare_marked(tags[list]), spared);
        }
        Step::Mark(list, page) => {
            let set = lists.set_mark(tags[list], Page(page), 1);
            match model.place(Page(page)).filter(|&(on, _)| on == list) {
                Some((_, place)) => model.0[list][place].2 = 1,
                None => assert_eq!(set, Err(ListError::NotHere(Page(page)))),
            }
        }
        Step::Evict => {
            let expected = model.0.iter_mut().find_map(Vec::pop);
            assert_eq!(lists.evict().ok(), expected.map(|(page, dirty, _)| (page, dirty)));
        }
        Step::Clean(page) => {
            lists.clean(Page(page));
            if let Some((list, place)) = model.place(Page(page)) {
                model.0[list][place].1 = false;
            }
        }
        _ => unreachable!("`step` has these"),
    }
}

fn check(lists: &Lists, tags: &[Tag; 3], model: &Model) {
    lists.check();
    for (&tag, held) in tags.iter().zip(&model.0) {
        let pages: Vec<Page> = held.iter().map(|one| one.0).collect();
        assert_eq!(lists.newest_first(tag), pages);
        let oldest: Vec<_> = lists.oldest_first(tag).collect();
        assert_eq!(oldest, held.iter().rev().map(|one| (one.0, one.1)).collect::<Vec<_>>());
        assert_eq!(
            (lists.front(tag), lists.back(tag)),
            (pages.first().copied(), pages.last().copied())
        );
        assert_eq!(lists.list_len(tag) as usize, held.len());
        for &(page, dirty, mark) in held {
            assert!(lists.contains(tag, page));
            assert_eq!((lists.dirty_here(tag, page), lists.mark(tag, page)), (Ok(dirty), Ok(mark)));
        }
    }
    let mut resident = Vec::new();
    lists.for_each(&mut |page, dirty| resident.push((page, dirty)));
    let expected: Vec<_> = model.0.iter().flatten().map(|one| (one.0, one.1)).collect();
    assert_eq!(resident, expected);
    assert_eq!(lists.len() as usize, expected.len());
}

proptest! {
    #[test]
    fn lists_move_pages_as_vectors_do(steps in steps()) {
        let (mut lists, tags) = lists();
        let mut model = Model::default();
        for one in steps {
            step(&mut lists, &tags, &mut model, one);
            check(&lists, &tags, &model);
        }
    }

    #[test]
    fn ghosts_are_the_newest_pages(
        steps in prop::collection::vec((0..12u64, 0..4u8), 1..100),
        capacity in 0..6u32,
    ) {
        let mut ghosts = Ghosts::new(capacity);
        let mut model: Vec<Page> = Vec::new();
        for (page, what) in steps {
            let page = Page(page);
            match what {
                0 => prop_assert_eq!(ghosts.discard(page), model.contains(&page)),
                1 => {
                    let oldest = model.pop();
                    prop_assert_eq!(ghosts.pop(), oldest);
                    continue;
                }
                _ => ghosts.push(page),
            }
            model.retain(|&other| other != page);
            if what > 1 {
                model.insert(0, page);
                model.truncate(capacity as usize);
            }
            prop_assert_eq!(ghosts.len() as usize, model.len());
            for page in (0..12).map(Page) {
                prop_assert_eq!(ghosts.contains(page), model.contains(&page));
            }
        }
        ghosts.set_capacity(1);
        prop_assert!(ghosts.len() <= 1 && ghosts.capacity() == 1);
    }
}

#[test]
fn a_policy_has_at_most_32_lists() {
    let mut lists = Lists::default();
    for _ in 0..32 {
        lists.new_list(OnHit::Stay, 1, None).unwrap();
    }
    let refused = lists.new_list(OnHit::Stay, 1, None);
    assert_eq!(refused, Err(ListError::TooMany));
    assert!(refused.unwrap_err().to_string().contains("at most 32 lists"));
}

#[test]
fn a_page_comes_in_on_the_first_list() {
    let mut lists = Lists::default();
    assert!(lists.admit(Page(1), true).is_err());
    let first = lists.new_list(OnHit::Stay, 1, None).unwrap();
    lists.admit(Page(1), true).unwrap();
    assert_eq!(lists.dirty_here(first, Page(1)), Ok(true));
    assert_eq!(
        (lists.is_dirty(Page(1)), lists.remove(Page(1)), lists.remove(Page(1))),
        (Some(true), Some(true), None)
    );
    assert!(lists.is_empty());
}
