//! Files that this crate writes: room on the disk, temporary names, writing in the background,
//! mapping.

pub(crate) mod disk_space;
pub(crate) mod mapped;
pub(crate) mod temporary;
pub(crate) mod write_behind;
