//! Methods that many policies share: the resident pages, and the targets of hints.
//!
//! A policy says in its `impl Policy` what it keeps its pages in; the rest of the answer is here.
//!
//! ```text
//!   on_lists! { self.pages: [self.t1, self.t2]; frames: self.c }      resident: on these lists
//!   in_blocks! { self.pages: |own| own.dirty; frames: self.frames }   resident: in Blocks
//!   in_unit_lists! { self.lists; frames: self.frames }                resident: in UnitLists
//!   in_frames! { self.pages; frames: self.frames }                    resident: in Frames
//!   counted! { self: self.resident, of self.frames }                  resident: so many
//!   shows! { self.pages; "T1" => self.t1.iter(&self.pages) }          inside: these lists
//!   linked! { ClusterState: 1 => links }                              links of an entry, by list
//!   hints! { self.pages: prefetch, prefetch_links; beside: self.places }   each hint in turn
//! ```
//!
//! Macros, because the answers are methods of the policy's own `impl`: a trait between would be one
//! more thing to implement, for policies in other crates as well.

/// `frames`, `resident` and `for_each_resident` of a policy whose resident pages are those on some
/// lists over one table of nodes.
macro_rules! on_lists {
    ($self:ident.$pages:ident: [$($list:expr),+]; frames: $frames:expr) => {
        counted! { $self: [$($list.len()),+].iter().sum(), of $frames }

        fn for_each_resident(&$self, visit: &mut dyn FnMut(destage_core::Page, bool)) {
            let pages = &$self.$pages;
            for list in [$(&$list),+] {
                list.iter(pages).for_each(|slot| visit(pages.page(slot), pages[slot].dirty));
            }
        }

        fn dirty_pages(&$self) -> u64 {
            destage_core::List::dirty([$(&$list),+], &$self.$pages)
        }
    };
}

/// [`forget`](destage_core::Policy::forget) of such a policy: the page leaves the list that it is
/// on, one of resident pages or one of ghosts. `note` is set if the page was known.
macro_rules! forgets_on_lists {
    (
        $self:ident.$pages:ident: [$($list:expr),+]
        $(, ghosts: [$($ghosts:expr),+])?
        $(, note: $forgot:expr)?
    ) => {
        fn forget(&mut $self, page: destage_core::Page) -> Option<bool> {
            let slot = $self.$pages.find(page)?;
            let dirty = $self.$pages[slot].dirty;
            $($forgot = true;)?
            $(if $list.holds(&$self.$pages, slot) {
                $list.unlink(&mut $self.$pages, slot);
                $self.$pages.remove(slot);
                return Some(dirty);
            })+
            $($(if $ghosts.holds(&$self.$pages, slot) {
                $ghosts.unlink(&mut $self.$pages, slot);
                $self.$pages.remove(slot);
            })+)?
            None
        }
    };
}

/// [`inside`](destage_core::Policy::inside) of a policy: lists of slots, each under its name,
/// newest first; a clock's from its hand on.
macro_rules! shows {
    ($self:ident.$pages:ident; $($name:literal => $slots:expr),+) => {
        fn inside(&$self) -> Vec<(&'static str, destage_core::Part)> {
            let pages = &$self.$pages;
            let shown = |slots: &mut dyn Iterator<Item = destage_core::Slot>| {
                destage_core::Part::pages(slots.map(|slot| pages.page(slot)))
            };
            vec![$(($name, shown(&mut $slots))),+]
        }
    };
}

/// Numbers of a policy that keeps neither lists of nodes nor blocks: resident pages, and frames.
macro_rules! counted {
    ($self:ident: $resident:expr, of $frames:expr) => {
        fn frames(&$self) -> u32 {
            $frames
        }

        #[inline(always)]
        fn resident(&$self) -> u32 {
            $resident
        }
    };
}

/// Links of an entry, by list: the field that holds them.
macro_rules! linked {
    ($entry:ty: $($list:literal => $links:ident),+) => {
        $(impl crate::clusters::Linked<$list> for $entry {
            #[inline(always)]
            fn pair(&self) -> Pair {
                self.$links
            }
            #[inline(always)]
            fn pair_mut(&mut self) -> &mut Pair {
                &mut self.$links
            }
        })+
    };
}

/// Methods of a policy that keeps its pages in numbered [`Frames`](crate::frames::Frames).
macro_rules! in_frames {
    ($self:ident.$pages:ident; frames: $frames:expr) => {
        counted! { $self: $self.$pages.resident(), of $frames }

        fn for_each_resident(&$self, visit: &mut dyn FnMut(destage_core::Page, bool)) {
            $self.$pages.for_each_resident(visit);
        }

        fn forget(&mut $self, page: destage_core::Page) -> Option<bool> {
            $self.$pages.forget(page).map(|(_, dirty)| dirty)
        }
    };
}

/// Methods of a policy that keeps its pages in [`Blocks`](crate::clusters::Blocks); `dirty` says
/// of what it keeps of a page whether the page is.
macro_rules! in_blocks {
    ($self:ident.$pages:ident: $dirty:expr; frames: $frames:expr) => {
        counted! { $self: $self.$pages.resident(), of $frames }

        fn for_each_resident(&$self, visit: &mut dyn FnMut(destage_core::Page, bool)) {
            let dirty = $dirty;
            $self.$pages.for_each(&mut |page, own| visit(page, dirty(own)));
        }
    };
}

/// Methods of a policy that keeps its pages in [`UnitLists`](crate::unit_lists::UnitLists).
macro_rules! in_unit_lists {
    ($self:ident.$lists:ident; frames: $frames:expr) => {
        counted! { $self: $self.$lists.resident(), of $frames }

        fn for_each_resident(&$self, visit: &mut dyn FnMut(destage_core::Page, bool)) {
            $self.$lists.for_each(visit);
        }
    };
}

/// The hints, from the earliest to the last before the access: each is handed to a method of what
/// the policy keeps its pages in; the first one to columns beside it as well, by dense page.
macro_rules! hints {
    (
        $self:ident.$pages:ident: $prefetch:ident $(, $links:ident $(, $neighbours:ident)?)?
        $(; beside: $($beside:expr),+)?
    ) => {
        #[inline(always)]
        fn prefetch(&$self, page: destage_core::Page) {
            $self.$pages.$prefetch(page);
            $(if D::DENSE {
                $($beside.prefetch(page);)+
            })?
        }

        $(
            #[inline(always)]
            fn prefetch_links(&$self, page: destage_core::Page) {
                $self.$pages.$links(page);
            }

            $(
                #[inline(always)]
                fn prefetch_neighbours(&$self, page: destage_core::Page) {
                    $self.$pages.$neighbours(page);
                }
            )?
        )?
    };
}
