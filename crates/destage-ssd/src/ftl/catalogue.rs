//! Every FTL, for catalogues and documentation.

use crate::config::{FtlKind, Key, keys_of_ftl};

/// What a catalogue says of an FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// As in `[device] ftl`.
    pub name: &'static str,
    /// Its name in full.
    pub title: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// What it does, in a few sentences.
    pub about: &'static str,
    kind: FtlKind,
}

impl Info {
    /// Keys of `[ftl]`.
    pub fn params(&self) -> &'static [Key] {
        keys_of_ftl(self.kind)
    }
}

macro_rules! ftls {
    ($($kind:ident, $title:literal, $source:literal, $about:literal;)*) => {
        &[$(Info {
            name: FtlKind::$kind.name(),
            title: $title,
            source: $source,
            about: $about,
            kind: FtlKind::$kind,
        }),*]
    };
}

/// Every FTL, in the order of a catalogue.
pub static FTLS: &[Info] = ftls! {
    Page,
        "Page-mapped",
        "docs/spec/device.md, sections 5 and 6; greedy collection as in DiskSim's SSD extension",
        "Any logical page may be in any page of its plane (or, with alloc = dynamic, of any unit), \
         and the whole map is in memory. A plane that runs out of free pages collects the block \
         with the fewest valid ones. The keys gc_*, alloc, striping and summary_page of [device] \
         are its parameters.";
    Dftl,
        "DFTL",
        "Gupta, Kim, Urgaonkar, ASPLOS 2009",
        "A page map that lies on flash, of which a cached part is in memory: a page whose entry is \
         not there costs a read of a translation page, an entry that leaves and is newer than \
         flash a read and a program. Data and translation blocks are collected greedily.";
    Bast,
        "BAST",
        "Kim, Kim, Noh, Min, Cho, IEEE Transactions on Consumer Electronics 48(2), 2002",
        "Block-mapped data, and log blocks that belong to one logical block each. A log block \
         written in order becomes the data block (switch or partial merge); any other is merged \
         with it into a free block (full merge).";
    Fast,
        "FAST",
        "Lee, Park, Chung, Lee, Park, Song, ACM TECS 6(3), 2007",
        "Block-mapped data, and log blocks that take the updates of any logical block; one of them \
         is kept for sequential writes. Reclaiming a log block merges every logical block that \
         has a page in it.";
    PageIdeal,
        "Ideal page map",
        "docs/spec/ftl.md, section 5; the yardstick of DFTL's paper",
        "DFTL with the whole map in memory: one row of blocks over all planes, programmed in \
         order, and greedy collection. What DFTL costs beside it is the map's share.";
};
