//! A policy that a program steps with keys of its own, and lists of pages that a policy can be made
//! of: what `destage.Cache` and `destage.ListPolicy` are, without Python.
//!
//! ```text
//!  keyed   a stepped policy whose pages are keys      keys     keys and their pages
//!  lists   lists of resident pages                    ghosts   a list of pages that left
//! ```

mod ghosts;
mod keyed;
mod keys;
mod lists;

pub use ghosts::Ghosts;
pub use keyed::{Keyed, Released};
pub use keys::{Found, Kept, Keys, State};
pub use lists::{ListError, Lists, OnHit, Overflow, Tag};
