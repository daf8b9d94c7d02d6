//! The commit that the extension is built from, for results to name.
//!
//! `DESTAGE_COMMIT` of a packager wins; else it is that of this repository. A source package that
//! lies in somebody else's repository has none.
//!
//! With the feature `pcache`, which wheels are built with, also the library of
//! `crates/destage-pcache`: a wheel takes it from `OUT_DIR` (`pyproject.toml`). A library that
//! SQLite loads is not part of an extension module, and cargo builds no second one beside it. It
//! compiles all policies once more, so that `make setup` leaves it out (`make pcache`).

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    if env::var_os("CARGO_FEATURE_PCACHE").is_some() && env::var_os("CARGO_CFG_UNIX").is_some() {
        page_cache();
    }
    println!("cargo:rerun-if-env-changed=DESTAGE_COMMIT");
    let commit = env::var("DESTAGE_COMMIT").ok().or_else(of_repository);
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

/// Builds the page cache of SQLite with the same compiler, target and profile, in a folder of its
/// own: cargo holds a lock on the one that this build uses.
fn page_cache() {
    let given = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["pcache", "policies", "core", "keys"] {
        println!("cargo:rerun-if-changed={}", crates.join(format!("destage-{name}")).display());
    }
    let out = PathBuf::from(given("OUT_DIR"));
    let profile = match given("PROFILE").as_str() {
        "release" => "release",
        _ => "dev",
    };
    let (target, folder) = (given("TARGET"), out.join("pcache"));
    let mut cargo = Command::new(given("CARGO"));
    cargo
        .args(["build", "--quiet", "--locked", "--profile", profile, "--target", &target])
        .arg("--manifest-path")
        .arg(crates.join("destage-pcache/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        // What this build asks of its own compiler calls is not meant for another crate.
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    if target.ends_with("musl") {
        cargo.env("RUSTFLAGS", "-C target-feature=-crt-static"); // else it makes no libraries
    }
    let status = cargo.status();
    assert!(status.is_ok_and(|status| status.success()), "destage-pcache was not built");
    let built = folder.join(&target).join(if profile == "dev" { "debug" } else { profile });
    let suffix = if given("CARGO_CFG_TARGET_VENDOR") == "apple" { "dylib" } else { "so" };
    let name = format!("libdestage_pcache.{suffix}");
    let copied = std::fs::copy(built.join(&name), out.join(&name));
    copied.unwrap_or_else(|error| panic!("{name}: {error}"));
}
