//! Destage of a cluster: its pages in ascending order, and the padding of their block.

use super::{At, Block, Blocks, Chain, FRAMES_AHEAD, Linked, NIL, ResidentPage};
use destage_core::pages::prefetch;
use destage_core::{Directory, Lpn, Plan};

/// Padding of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Padding {
    /// Nothing.
    None,
    /// The other pages of the block, as far as they exist.
    WholeBlock,
}

/// A page that is about to be destaged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Leaving {
    offset: u32,
    frame: u32,
    slot: u32,
}

/// Fate of a page when its block's cluster is destaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// The page leaves.
    Leaves,
    /// The page is in the cluster and stays.
    Stays,
    /// The page is not in the cluster.
    Elsewhere,
}

impl<D: Directory, T: Copy, U: Copy + Default> Blocks<D, T, U> {
    /// Gathers those pages of a block's cluster that leave, at least one, for
    /// [`destage`](Blocks::destage).
    #[inline(always)]
    pub(crate) fn gather(&mut self, block: u32, share: impl Fn(&T) -> Share) {
        self.group.clear();
        self.present.clear();
        let Block { pages, len, id, .. } = self.blocks[block as usize];
        // Where the block's pages are is not asked for a few, since the answer is far away.
        let ids = if D::DENSE && len >= 4 { self.names.ids.ids(id) } else { 0..0 };
        if !ids.is_empty() && len as usize * 8 >= ids.len() {
            // The block's pages stand side by side in the table, in the order in which they leave;
            // its frames lie anywhere, and following their links would wait for one after another.
            for slot in ids {
                let At { frame, offset, .. } = self.at[slot];
                if frame == NIL {
                    continue;
                }
                match share(&self.frames[frame as usize].own) {
                    Share::Leaves => self.group.push(Leaving { offset, frame, slot: slot as u32 }),
                    Share::Stays => self.present.push(offset),
                    Share::Elsewhere => {}
                }
            }
        } else {
            let mut frame = pages.oldest().unwrap_or(NIL);
            while frame != NIL {
                let ResidentPage { offset, slot, links, own, .. } = &self.frames[frame as usize];
                match share(own) {
                    Share::Leaves => {
                        self.group.push(Leaving { offset: *offset, frame, slot: *slot });
                    }
                    Share::Stays => self.present.push(*offset),
                    Share::Elsewhere => {}
                }
                frame = links.newer;
            }
        }
        // Sequential writes come in the order in which they leave.
        if !self.group.is_sorted() {
            self.group.sort_unstable();
        }
    }

    /// Takes the pages that have been gathered off a list of the policy's own.
    #[inline(always)]
    pub(crate) fn unlink_gathered<const K: usize>(&mut self, list: &mut Chain<K>)
    where
        ResidentPage<T>: Linked<K>,
    {
        for leaving in &self.group {
            prefetch(&self.frames, leaving.frame as usize);
        }
        for k in 0..self.group.len() {
            if let Some(ahead) = self.group.get(k + FRAMES_AHEAD) {
                self.prefetch_linked::<K>(ahead.frame);
            }
            list.unlink(&mut self.frames, self.group[k].frame);
        }
    }

    /// Destages the pages that have been gathered as one group; they must be on none of the
    /// policy's lists. The block is forgotten if nothing of it stays resident, so it must be on
    /// none either; returns whether it was.
    #[inline(always)]
    pub(crate) fn destage(&mut self, block: u32, padding: Padding, plan: &mut Plan) -> bool {
        let whole = self.group.len() as u64 == self.size.pages;
        if padding == Padding::WholeBlock {
            plan.open_group();
            if !whole {
                self.pad(block, plan);
            }
        } else if self.group.len() > 1 {
            plan.open_group();
        }
        let alone = plan_alone(padding, self.group.len());
        for k in 0..self.group.len() {
            let Leaving { frame, slot, .. } = self.group[k];
            if !self.present.is_empty() {
                let pages = &mut self.blocks[block as usize].pages;
                pages.unlink(&mut self.frames, frame);
            }
            let page = self.free(frame, slot);
            if alone {
                plan.evict(page, true);
            } else {
                plan.flush_and_evict(page);
            }
        }
        let gone = self.group.len() as u32;
        let left = &mut self.blocks[block as usize];
        if self.present.is_empty() {
            left.pages = Chain::default();
        }
        left.len -= gone;
        left.resident -= gone;
        let forgotten = left.resident == 0;
        self.forget_if_empty(block);
        forgotten
    }

    /// Names the pages that complete the block, of which the group is collected.
    fn pad(&mut self, block: u32, plan: &mut Plan) {
        let first = self.number(block) * self.size.pages;
        // The pages that exist: those of the drive, and what a page number can name.
        let end = self.device_pages.map_or(u64::MAX, |pages| pages.saturating_sub(first));
        let end = end.min(self.size.pages).min((u64::MAX - first).saturating_add(1));
        self.present.sort_unstable();
        let mut present = self.present.iter().map(|&offset| u64::from(offset)).peekable();
        let mut from = 0;
        for offset in self.group.iter().map(|leaving| u64::from(leaving.offset)).chain([end]) {
            // From one page of the group to the next, with what the buffer has in between.
            while let Some(clean) = present.next_if(|&clean| clean < offset.min(end)) {
                if from < clean {
                    plan.pad_run(first + from..first + clean);
                }
                plan.pad(Lpn(first + clean), true);
                from = clean + 1;
            }
            if from < offset.min(end) {
                plan.pad_run(first + from..first + offset.min(end));
            }
            from = offset + 1;
        }
    }
}

/// A group of one page without padding is what [`Plan::evict`] makes of it.
#[inline(always)]
fn plan_alone(padding: Padding, pages: usize) -> bool {
    padding == Padding::None && pages == 1
}
