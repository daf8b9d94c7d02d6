//! The commit that the extension is built from, for results to name.
//!
//! `DESTAGE_COMMIT` of a packager wins; else it is that of this repository. A source package that
//! lies in somebody else's repository has none.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=DESTAGE_COMMIT");
    let commit = std::env::var("DESTAGE_COMMIT").ok().or_else(of_repository);
    if let Some(commit) = commit.filter(|commit| !commit.is_empty()) {
        println!("cargo:rustc-env=DESTAGE_BUILD_COMMIT={commit}");
    }
}

fn of_repository() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let git = |words: &[&str]| -> Option<String> {
        let done = Command::new("git").current_dir(&root).args(words).output().ok()?;
        let said = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| said.trim().to_owned())
    };
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // Every commit and every checkout adds a line to the log; a change of the crates may make the
    // tree differ from the commit.
    let log = root.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    for watched in [log, root.join("crates")].iter().filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
    git(&["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"])
}
