//! Instants that may not be known yet.
//!
//! First come, first served, every end is known at submission. When reads go first, the end of a
//! program depends on reads that are still to come, and so do the frames that wait for it
//! (`spec/device.md` 7.4). Decisions never ask for such an instant; so it is only a name until then, and
//! all names are resolved at the end, in the order in which they were given.

use destage_core::Nanos;

const NAMED: u64 = 1 << 63;

/// An instant: nanoseconds, or the name of an instant that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct When(u64);

impl When {
    /// A known instant.
    #[inline(always)]
    pub fn at(ns: Nanos) -> When {
        debug_assert!(ns < NAMED, "times stay below 2^63 ns");
        When(ns)
    }

    /// The instant, if it is known without looking it up.
    #[inline(always)]
    pub fn known(self) -> Option<Nanos> {
        (self.0 & NAMED == 0).then_some(self.0)
    }
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Known(Nanos),
    Later(When, When),
    Before(When, Nanos),
}

/// The named instants of a run.
#[derive(Clone, Default, Debug)]
pub struct Times {
    nodes: Vec<Node>,
}

impl Times {
    fn name(&mut self, node: Node) -> When {
        self.nodes.push(node);
        When(NAMED | (self.nodes.len() - 1) as u64)
    }

    /// A new name; [`set`](Times::set) says what it is.
    pub(crate) fn unknown(&mut self) -> When {
        self.name(Node::Known(Nanos::MAX))
    }

    /// Says what a name stands for.
    pub(crate) fn set(&mut self, name: When, ns: Nanos) {
        debug_assert!(name.known().is_none(), "only a name can be given a meaning");
        self.nodes[(name.0 & !NAMED) as usize] = Node::Known(ns);
    }

    /// The later one of two.
    #[inline(always)]
    pub fn later(&mut self, a: When, b: When) -> When {
        if (a.0 | b.0) & NAMED == 0 { When(a.0.max(b.0)) } else { self.name(Node::Later(a, b)) }
    }

    /// So many nanoseconds before an instant.
    pub(crate) fn before(&mut self, when: When, ns: Nanos) -> When {
        match when.known() {
            Some(known) => When(known - ns),
            None => self.name(Node::Before(when, ns)),
        }
    }

    /// Resolves all names; every operation has ended.
    pub fn resolve(&self) -> Resolved {
        let mut resolved = Resolved(Vec::with_capacity(self.nodes.len()));
        for node in &self.nodes {
            let ns = match *node {
                Node::Known(ns) => ns,
                Node::Later(a, b) => resolved.ns(a).max(resolved.ns(b)),
                Node::Before(when, ns) => resolved.ns(when) - ns,
            };
            resolved.0.push(ns);
        }
        resolved
    }
}

/// What the names of a run stand for.
pub struct Resolved(Vec<Nanos>);

impl Resolved {
    /// An instant, nanoseconds.
    pub fn ns(&self, when: When) -> Nanos {
        when.known().unwrap_or_else(|| self.0[(when.0 & !NAMED) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_resolved_through_each_other() {
        let mut times = Times::default();
        let program = times.unknown();
        let transfer = times.before(program, 200);
        let frame = times.later(transfer, When::at(500));
        let ready = times.later(frame, When::at(900));
        times.set(program, 1000);
        let resolved = times.resolve();
        assert_eq!(
            [program, transfer, frame, ready].map(|when| resolved.ns(when)),
            [1000, 800, 800, 900]
        );
    }

    #[test]
    fn known_instants_need_no_name() {
        let mut times = Times::default();
        assert_eq!(times.later(When::at(3), When::at(8)).known(), Some(8));
        assert_eq!(times.before(When::at(8), 2).known(), Some(6));
        assert!(times.nodes.is_empty());
    }
}
