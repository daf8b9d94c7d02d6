//! Lists of resident pages that a policy can be made of.
//!
//! All lists of a policy lie together, so that one look-up says whether a page is resident and on
//! which list. A hit's effect is a property of the list.

use destage_core::{List, Near, Page, Pages, Slot};

/// Most lists of a policy.
const MOST_LISTS: u8 = 32;

/// A list of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(u8); // 1 for the first

impl Tag {
    fn index(self) -> usize {
        usize::from(self.0) - 1
    }
}

/// Move of a page at a hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnHit {
    /// None.
    Stay,
    /// To the front of its list.
    Front,
    /// None; its mark is raised by one, up to the list's most.
    Mark,
    /// To the front of another list.
    To(Tag),
}

/// Pages beyond `limit` go, oldest first, to the front of another list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow {
    /// Most pages that stay.
    pub limit: u32,
    /// A list that was made before, so that this ends.
    pub to: Tag,
}

/// A call that the lists cannot do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ListError {
    /// The page is not on the list that was named.
    #[error("page {} is not on this list", .0.0)]
    NotHere(Page),
    /// The page is on a list already.
    #[error("page {} is on a list already", .0.0)]
    Resident(Page),
    /// There is no page to take.
    #[error("the list is empty")]
    Empty,
    /// There is no list to put a page on.
    #[error("the policy has no list: make one in __init__ (new_list)")]
    NoList,
    /// There is no room for another list.
    #[error("new_list: a policy has at most {MOST_LISTS} lists")]
    TooMany,
}

/// A list, and its rules.
struct Kept {
    list: List,
    on_hit: OnHit,
    marks: u16,
    overflow: Option<Overflow>,
}

/// All resident pages of a policy, each on one list.
pub struct Lists {
    pages: Pages<Near>,
    lists: Vec<Kept>,
}

impl Default for Lists {
    fn default() -> Self {
        Lists { pages: Pages::new(Near::new(), MOST_LISTS), lists: Vec::new() }
    }
}

impl Lists {
    /// Another list.
    ///
    /// # Errors
    ///
    /// [`ListError::TooMany`].
    pub fn new_list(
        &mut self,
        on_hit: OnHit,
        marks: u16,
        overflow: Option<Overflow>,
    ) -> Result<Tag, ListError> {
        if self.lists.len() == usize::from(MOST_LISTS) {
            return Err(ListError::TooMany);
        }
        let tag = self.lists.len() as u8 + 1;
        let list = List::new(&self.pages, tag);
        self.lists.push(Kept { list, on_hit, marks, overflow });
        Ok(Tag(tag))
    }

    /// Sets what a hit on a list does.
    pub fn set_on_hit(&mut self, tag: Tag, on_hit: OnHit) {
        self.lists[tag.index()].on_hit = on_hit;
    }

    fn list(&self, tag: Tag) -> &List {
        &self.lists[tag.index()].list
    }

    /// The page's slot if it is on a list.
    pub fn find(&self, page: Page) -> Option<Slot> {
        self.pages.find(page)
    }

    /// The hit rule of the page's list, if it is on one.
    #[inline]
    pub fn hit(&mut self, page: Page, write: bool) -> Option<Slot> {
        let slot = self.pages.find(page)?;
        let node = &mut self.pages[slot];
        node.dirty |= write;
        let tag = node.list;
        let kept = &mut self.lists[usize::from(tag) - 1];
        match kept.on_hit {
            OnHit::Stay => {}
            OnHit::Front => kept.list.touch(&mut self.pages, slot),
            OnHit::Mark => node.mark = (node.mark + 1).min(kept.marks),
            OnHit::To(other) => {
                kept.list.unlink(&mut self.pages, slot);
                self.put_first(other, slot);
            }
        }
        Some(slot)
    }

    fn put_first(&mut self, tag: Tag, slot: Slot) {
        let kept = &mut self.lists[tag.index()];
        kept.list.push_mru(&mut self.pages, slot);
        if let Some(Overflow { limit, to }) = kept.overflow
            && kept.list.len() > limit
            && let Some(oldest) = kept.list.pop_lru(&mut self.pages)
        {
            self.put_first(to, oldest);
        }
    }

    /// A page that comes in, on no list yet.
    fn insert(&mut self, page: Page, dirty: bool) -> Result<Slot, ListError> {
        if self.find(page).is_some() {
            return Err(ListError::Resident(page));
        }
        let slot = self.pages.insert(page);
        self.pages[slot].dirty = dirty;
        Ok(slot)
    }

    /// Puts a page that is on no list at the front of one.
    ///
    /// # Errors
    ///
    /// [`ListError::Resident`].
    pub fn push_front(&mut self, tag: Tag, page: Page, dirty: bool) -> Result<Slot, ListError> {
        let slot = self.insert(page, dirty)?;
        self.put_first(tag, slot);
        Ok(slot)
    }

    /// Puts a page that is on no list at the back of one.
    ///
    /// # Errors
    ///
    /// [`ListError::Resident`].
    pub fn push_back(&mut self, tag: Tag, page: Page, dirty: bool) -> Result<Slot, ListError> {
        let slot = self.insert(page, dirty)?;
        self.lists[tag.index()].list.push_lru(&mut self.pages, slot);
        Ok(slot)
    }

    /// Puts a page that was looked for, and is on no list, at the front of the first list.
    ///
    /// # Errors
    ///
    /// [`ListError::NoList`].
    pub fn admit(&mut self, page: Page, dirty: bool) -> Result<Slot, ListError> {
        let first = self.first()?;
        let slot = self.pages.insert(page);
        self.pages[slot].dirty = dirty;
        self.put_first(first, slot);
        Ok(slot)
    }

    /// The list that was made first.
    ///
    /// # Errors
    ///
    /// [`ListError::NoList`].
    pub fn first(&self) -> Result<Tag, ListError> {
        if self.lists.is_empty() { Err(ListError::NoList) } else { Ok(Tag(1)) }
    }

    /// Takes the oldest page of the first list that has one, with its dirty bit.
    ///
    /// # Errors
    ///
    /// [`ListError::Empty`] if no list has a page.
    pub fn evict(&mut self) -> Result<(Page, bool), ListError> {
        let pages = &mut self.pages;
        let slot = self.lists.iter_mut().find_map(|kept| kept.list.pop_lru(pages));
        let slot = slot.ok_or(ListError::Empty)?;
        let dirty = self.pages[slot].dirty;
        Ok((self.pages.remove(slot), dirty))
    }

    /// Takes a page off its list; whether it was dirty, and `None` if it is on none.
    pub fn remove(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let node = self.pages[slot];
        self.lists[usize::from(node.list) - 1].list.unlink(&mut self.pages, slot);
        self.pages.remove(slot);
        Some(node.dirty)
    }

    /// The page was written and stays.
    pub fn clean(&mut self, page: Page) {
        if let Some(slot) = self.pages.find(page) {
            self.pages[slot].dirty = false;
        }
    }

    /// The dirty bit of a page that is on a list.
    pub fn is_dirty(&self, page: Page) -> Option<bool> {
        self.find(page).map(|slot| self.pages[slot].dirty)
    }

    /// Resident pages.
    pub fn len(&self) -> u32 {
        self.lists.iter().map(|kept| kept.list.len()).sum()
    }

    /// True if no page is resident.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every resident page with its dirty bit.
    pub fn for_each(&self, visit: &mut dyn FnMut(Page, bool)) {
        for kept in &self.lists {
            for slot in kept.list.iter(&self.pages) {
                visit(self.pages.page(slot), self.pages[slot].dirty);
            }
        }
    }

    /// Asserts the invariants of all lists.
    pub fn check(&self) {
        self.lists.iter().for_each(|kept| kept.list.check(&self.pages));
    }
}

/// One list.
impl Lists {
    /// The slot of a page of this list.
    fn slot(&self, tag: Tag, page: Page) -> Result<Slot, ListError> {
        let here = self.find(page).filter(|&slot| self.pages[slot].list == tag.0);
        here.ok_or(ListError::NotHere(page))
    }

    /// Takes the page at an end of a list, with its dirty bit.
    ///
    /// # Errors
    ///
    /// [`ListError::Empty`].
    pub fn pop(&mut self, tag: Tag, newest: bool) -> Result<(Page, bool), ListError> {
        let slot = self.end(tag, newest).ok_or(ListError::Empty)?;
        self.lists[tag.index()].list.unlink(&mut self.pages, slot);
        let dirty = self.pages[slot].dirty;
        Ok((self.pages.remove(slot), dirty))
    }

    /// Takes a page off this list; its dirty bit.
    ///
    /// # Errors
    ///
    /// [`ListError::NotHere`].
    pub fn take(&mut self, tag: Tag, page: Page) -> Result<bool, ListError> {
        self.slot(tag, page)?;
        self.remove(page).ok_or(ListError::NotHere(page))
    }

    fn end(&self, tag: Tag, newest: bool) -> Option<Slot> {
        let list = self.list(tag);
        if newest { list.mru(&self.pages) } else { list.lru(&self.pages) }
    }

    /// The newest page of a list.
    pub fn front(&self, tag: Tag) -> Option<Page> {
        self.end(tag, true).map(|slot| self.pages.page(slot))
    }

    /// The oldest page of a list.
    pub fn back(&self, tag: Tag) -> Option<Page> {
        self.end(tag, false).map(|slot| self.pages.page(slot))
    }

    /// Moves a page of this list to its front.
    ///
    /// # Errors
    ///
    /// [`ListError::NotHere`].
    pub fn move_to_front(&mut self, tag: Tag, page: Page) -> Result<(), ListError> {
        let slot = self.slot(tag, page)?;
        self.lists[tag.index()].list.touch(&mut self.pages, slot);
        Ok(())
    }

    /// Moves the oldest page to the front of another list.
    ///
    /// # Errors
    ///
    /// [`ListError::Empty`].
    pub fn demote(&mut self, tag: Tag, to: Tag) -> Result<Page, ListError> {
        let slot = self.end(tag, false).ok_or(ListError::Empty)?;
        self.lists[tag.index()].list.unlink(&mut self.pages, slot);
        self.put_first(to, slot);
        Ok(self.pages.page(slot))
    }

    /// The dirty bit of a page of this list.
    ///
    /// # Errors
    ///
    /// [`ListError::NotHere`].
    pub fn dirty_here(&self, tag: Tag, page: Page) -> Result<bool, ListError> {
        self.slot(tag, page).map(|slot| self.pages[slot].dirty)
    }

    /// The mark of a page of this list.
    ///
    /// # Errors
    ///
    /// [`ListError::NotHere`].
    pub fn mark(&self, tag: Tag, page: Page) -> Result<u16, ListError> {
        self.slot(tag, page).map(|slot| self.pages[slot].mark)
    }

    /// Sets the mark of a page of this list.
    ///
    /// # Errors
    ///
    /// [`ListError::NotHere`].
    pub fn set_mark(&mut self, tag: Tag, page: Page, mark: u16) -> Result<(), ListError> {
        let slot = self.slot(tag, page)?;
        self.pages[slot].mark = mark;
        Ok(())
    }

    /// Second chances: marked pages at the back lose a mark and go to the front. Their number.
    pub fn spare_marked(&mut self, tag: Tag) -> usize {
        let Lists { pages, lists } = self;
        let list = &mut lists[tag.index()].list;
        let mut spared = 0;
        while let Some(slot) = list.lru(pages).filter(|&slot| pages[slot].mark > 0) {
            pages[slot].mark -= 1;
            list.touch(pages, slot);
            spared += 1;
        }
        spared
    }

    /// Pages of a list, oldest first, each with its dirty bit.
    pub fn oldest_first(&self, tag: Tag) -> impl Iterator<Item = (Page, bool)> + '_ {
        let slots = self.list(tag).oldest_first(&self.pages);
        slots.map(|slot| (self.pages.page(slot), self.pages[slot].dirty))
    }

    /// Pages of a list, newest first.
    pub fn newest_first(&self, tag: Tag) -> Vec<Page> {
        self.list(tag).iter(&self.pages).map(|slot| self.pages.page(slot)).collect()
    }

    /// Whether a page is on this list.
    pub fn contains(&self, tag: Tag, page: Page) -> bool {
        self.slot(tag, page).is_ok()
    }

    /// Pages of a list.
    pub fn list_len(&self, tag: Tag) -> u32 {
        self.list(tag).len()
    }
}
