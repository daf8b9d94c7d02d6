//! Members of archives: those to be read, and those left out with the reason.

use wildmatch::WildMatch;

use crate::input::stream_spool::SpoolBudget;
use destage_keys::printable;

/// Members that a message names where none was the one meant.
const NAMED: usize = 10;

/// The members that the user asked for, and those that were not taken.
pub(super) struct Catalogue {
    /// Name of the file in messages.
    pub(super) file: String,
    glob: Option<WildMatch>,
    /// Members that are no traces, with the reason.
    pub(super) left_out: Vec<String>,
    /// The first members that the glob does not name.
    passed: Vec<String>,
    passed_more: bool,
    /// Memory and disk that archives may still take.
    pub(super) budget: SpoolBudget,
}

impl Catalogue {
    /// An empty catalogue of the members of `file`, or of those that `glob` names.
    pub(super) fn new(file: &str, glob: Option<&str>, budget: SpoolBudget) -> Self {
        Catalogue {
            file: file.to_owned(),
            glob: glob.map(WildMatch::new),
            left_out: Vec::new(),
            passed: Vec::new(),
            passed_more: false,
            budget,
        }
    }

    /// Whether the user named members.
    pub(super) fn is_named(&self) -> bool {
        self.glob.is_some()
    }

    /// Notes a member, or an archive, that holds no trace.
    pub(super) fn leave_out(&mut self, name: &str, reason: &str) {
        self.left_out.push(format!("{name} ({reason})"));
    }

    /// Whether a member is to be looked into; says so in the list if not.
    pub(super) fn wanted(&mut self, archive: &str, member: &str) -> bool {
        let name = format!("{archive}!{member}");
        let base = member.rsplit('/').next().unwrap_or(member);
        if let Some(glob) = &self.glob {
            let inside = name.strip_prefix(&self.file).and_then(|n| n.strip_prefix('!'));
            let hit = glob.matches(inside.unwrap_or(member))
                || glob.matches(base)
                || glob.matches(member);
            if !hit && self.passed.len() < NAMED {
                self.passed.push(member.to_owned());
            } else if !hit {
                self.passed_more = true;
            }
            return hit;
        }
        match no_trace_by_name(member, base) {
            None => true,
            Some(reason) => {
                self.leave_out(&name, reason);
                false
            }
        }
    }

    /// Why there is no trace in any of it.
    pub(super) fn nothing(&self) -> String {
        if let (Some(glob), false) = (&self.glob, self.passed.is_empty()) {
            let more = if self.passed_more { ", ..." } else { "" };
            let members = self.passed.join(", ");
            let glob = printable(glob.to_string().as_bytes());
            return format!("0 requests: no member is called {glob}; there are {members}{more}");
        }
        if self.left_out.is_empty() {
            return "0 requests: the archive holds no files".to_owned();
        }
        format!("0 requests: no trace among its members: {}", self.left_out.join("; "))
    }
}

/// Why a member is no trace, where its name says so.
fn no_trace_by_name(member: &str, base: &str) -> Option<&'static str> {
    const TEXTS: [&str; 8] =
        ["readme", "license", "licence", "copying", "md5", "sha1", "sha256", "checksum"];
    let lower = base.to_ascii_lowercase();
    if base.starts_with("._") || member.split('/').any(|part| part == "__MACOSX") {
        return Some("of macOS");
    }
    let text = TEXTS.iter().any(|t| lower.starts_with(t) || lower.ends_with(&format!(".{t}")));
    text.then_some("no trace by its name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_names_at_once() {
        let wanted = |glob: &str, name: &str| {
            Catalogue::new("t.zip", Some(glob), SpoolBudget::default()).wanted("t.zip", name)
        };
        for (glob, name, hit) in [
            ("*.csv", "a/b.csv", true),
            ("hm_?.csv*", "hm_0.csv.gz", true),
            ("hm_?.csv", "hm_10.csv", false),
            ("a*b*c", "aXXbYYc", true),
            ("a*b*c", "aXXbYY", false),
            ("in.tar!*.csv", "in.tar!x.csv", true),
            ("[ab].csv", "a.csv", false),
            ("[ab].csv", "[ab].csv", true),
        ] {
            assert_eq!(wanted(glob, name), hit, "{glob} {name}");
        }
        // A matcher that tries every way of the stars would not end in a lifetime.
        assert!(!wanted(&format!("{}b", "a*".repeat(30)), &"a".repeat(60)));
    }

    #[test]
    fn a_glob_that_names_nothing_is_answered_with_the_names_there_are() {
        let mut catalogue = Catalogue::new("t.zip", Some("x*"), SpoolBudget::default());
        for k in 0..12 {
            assert!(!catalogue.wanted("t.zip", &format!("d/m{k}")));
        }
        let text = catalogue.nothing();
        assert!(text.contains("no member is called x*; there are d/m0, d/m1,"), "{text}");
        assert!(text.ends_with("d/m9, ..."), "{text}");
    }
}
