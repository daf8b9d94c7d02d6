//! Snapshot of a policy's state, for conformance and plots.
//!
//! It is not taken during a run and decides nothing.

use crate::types::Page;

/// A value, or a list of them, in the terms of the policy's own description.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// A whole number: a block, a time.
    Count(u64),
    /// A real number: a threshold.
    Real(f64),
    /// A state that has a name.
    Word(&'static str),
    /// A page, as the policy's directory names it.
    Page(Page),
    /// Several.
    List(Vec<Part>),
}

impl Part {
    /// The first page that is so, wherever it stands.
    pub fn find_page(&self, is_so: &mut dyn FnMut(Page) -> bool) -> Option<Page> {
        match self {
            Part::Page(page) => is_so(*page).then_some(*page),
            Part::List(parts) => parts.iter().find_map(|part| part.find_page(is_so)),
            Part::Count(_) | Part::Real(_) | Part::Word(_) => None,
        }
    }

    /// A list.
    pub fn list(parts: impl IntoIterator<Item = Part>) -> Part {
        Part::List(parts.into_iter().collect())
    }

    /// A list of pages.
    pub fn pages(pages: impl IntoIterator<Item = Page>) -> Part {
        Part::list(pages.into_iter().map(Part::Page))
    }
}
