//! LB-CLOCK: the fullest of the blocks not used lately goes. Mirrors
//! `docs/spec/further-policies.md`, 4.

use std::collections::BTreeSet;

use super::{BlockModel, Group, Shape, Step};
use crate::{Op, Params};
use serde_json::{Value, json};

struct Block {
    number: u64,
    pages: BTreeSet<u64>,
    hot: bool,
}

pub(crate) struct LbClock {
    ring: Vec<Block>, // from the hand on: the hand moves by the first one becoming the last
    frames: u64,
    shape: Shape,
    read_recency: bool,
}

impl LbClock {
    pub(crate) fn new(frames: u64, shape: Shape, params: &Params<'_>) -> LbClock {
        LbClock { ring: Vec::new(), frames, shape, read_recency: params.flag("read_recency") }
    }

    fn block(&mut self, page: u64) -> Option<&mut Block> {
        let number = self.shape.block(page);
        self.ring.iter_mut().find(|block| block.number == number)
    }

    fn evict(&mut self) -> Group {
        let all_hot = self.ring.iter().all(|block| block.hot);
        let mut victim: Option<usize> = None;
        for (at, block) in self.ring.iter().enumerate() {
            let candidate = !block.hot || all_hot;
            let larger = victim.is_none_or(|v| block.pages.len() > self.ring[v].pages.len());
            if candidate && larger {
                victim = Some(at);
            }
        }
        let victim = self.ring.remove(victim.expect("a full buffer has a block"));
        if !self.ring.is_empty() {
            while self.ring[0].hot {
                self.ring[0].hot = false;
                self.ring.rotate_left(1);
            }
            self.ring.rotate_left(1);
        }
        Group { pages: victim.pages, ..Group::default() }
    }

    fn write_miss(&mut self, page: u64) -> Option<Group> {
        let group = (self.dirty() == self.frames).then(|| self.evict());
        if let Some(block) = self.block(page) {
            block.pages.insert(page);
            block.hot = true;
        } else {
            let number = self.shape.block(page);
            self.ring.push(Block { number, pages: [page].into(), hot: false });
        }
        group
    }
}

impl BlockModel for LbClock {
    fn access(&mut self, op: Op, page: u64) -> Step {
        let read_recency = self.read_recency;
        let hit = match self.block(page) {
            Some(block) if block.pages.contains(&page) => {
                block.hot |= op == Op::Write || read_recency;
                true
            }
            _ => false,
        };
        let group = if !hit && op == Op::Write { self.write_miss(page) } else { None };
        Step { hit, group, dropped: None }
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let held = self.block(page)?.pages.remove(&page);
        self.ring.retain(|block| !block.pages.is_empty()); // the hand is on the next one then
        held.then_some(true)
    }

    fn dirty(&self) -> u64 {
        self.ring.iter().map(|block| block.pages.len() as u64).sum()
    }

    fn last(&self) -> Value {
        let blocks = self.ring.iter();
        let ring = blocks.map(|block| json!([block.number, block.pages, u8::from(block.hot)]));
        json!({"ring": ring.collect::<Vec<_>>()})
    }
}
