//! Files that this crate writes: room on the disk, temporary names, writing in the background,
//! mapping; and those that it reads where there is no system.

pub(crate) mod disk;
pub(crate) mod disk_space;
#[cfg(any(target_family = "wasm", test))]
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "tested where tests run"))]
pub mod in_memory;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod mapped;
#[cfg(target_family = "wasm")]
pub(crate) use in_memory as mapped;
pub(crate) mod temporary;
pub(crate) mod write_behind;
