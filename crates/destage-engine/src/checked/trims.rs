//! Trims: what a policy drops, and what it must not remember.

use super::{Checked, state};
use destage_core::{Page, Policy};

impl<P: Policy> Checked<P> {
    /// Holds what a trim has dropped against the shadow.
    pub(super) fn trimmed(
        &mut self,
        page: Page,
        held: Option<bool>,
        forgotten: Option<bool>,
    ) -> Result<(), String> {
        if held != forgotten {
            let said = |held: Option<bool>| held.map_or("not resident", state);
            let (page, says, is) = (page.0, said(forgotten), said(held));
            return Err(format!("page {page} is trimmed as {says}: it is {is}"));
        }
        self.shadow.remove(page);
        self.trimmed.insert(page);
        self.counts()
    }

    /// No page that was trimmed, and not accessed since, is on a list that the policy shows.
    pub(super) fn shows_no_trimmed_page(&self) -> Result<(), String> {
        if self.trimmed.is_empty() {
            return Ok(());
        }
        let shown = self.inner.inside();
        let found = shown.iter().find_map(|(list, part)| {
            let page = part.find_page(&mut |page| self.trimmed.contains(&page))?;
            Some(format!("page {} is in {list}: it was trimmed", page.0))
        });
        found.map_or(Ok(()), Err)
    }
}
