//! Variables of the environment, and the one line in which a fault is reported.

use destage_core::{AnyPolicy, Requirements};
use destage_policies::{BuildError, Family, Setup, check_params, info, requirements, written};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;

pub(crate) const POLICY: &str = "DESTAGE_PCACHE";
pub(crate) const RECORD: &str = "DESTAGE_PCACHE_RECORD";
pub(crate) const STATS: &str = "DESTAGE_PCACHE_STATS";

/// The user's settings.
pub(crate) struct Settings {
    /// The policy in the user's words, such as `lru-k[k=3]`.
    pub(crate) policy: String,
    pub(crate) record: Option<PathBuf>,
    pub(crate) stats: Option<PathBuf>,
}

impl Settings {
    /// The variables' values; `None` if no policy is named, an error if it does not fit.
    pub(crate) fn read() -> Option<Result<Settings, String>> {
        let policy = given(POLICY)?;
        let policy = policy.to_string_lossy().trim().to_string();
        let path = |name: &str| given(name).map(PathBuf::from);
        let settings = Settings { policy, record: path(RECORD), stats: path(STATS) };
        Some(build(&settings.policy, 100).map(|_| settings))
    }
}

/// A variable that is set and not empty.
fn given(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| value != OsStr::new(""))
}

/// The policy, with so many frames.
///
/// # Errors
///
/// A sentence: no such policy or parameter, or one that a page cache of SQLite cannot run.
pub(crate) fn build(words: &str, frames: u32) -> Result<AnyPolicy, String> {
    let fault = |error: BuildError| error.to_string();
    let (name, given) = written::read(words).map_err(fault)?;
    let needs = requirements(&name).map_err(fault)?;
    let unfit = match info(&name).map_err(fault)?.family(needs) {
        _ if needs.contains(Requirements::NEXT_USE) => Some("decides by future accesses"),
        Family::Drive => Some("is device-aware"),
        Family::Admission => Some("may bypass a page"),
        Family::Blocks => Some("is a write buffer"),
        Family::Classic | Family::Flash | Family::Over => None,
    };
    if let Some(why) = unfit {
        return Err(format!("{name} {why}: expected a page policy without (destage policies)"));
    }
    let params = check_params(&name, given.iter().map(|(k, v)| (&**k, v))).map_err(fault)?;
    let setup = Setup { params, ..Setup::new(frames) };
    destage_policies::hashed(&name, &setup).map_err(fault)
}

/// One line on standard error.
pub(crate) fn report(variable: &str, fault: &str) {
    let fault = fault.replace(['\n', '\r'], " ");
    let line = format!("destage-pcache: {variable}: {fault}\n");
    _ = std::io::stderr().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfit_policies_are_named_with_their_reason() {
        for (words, part) in [
            ("min", "future"),
            ("ecr", "device-aware"),
            ("larc", "bypass"),
            ("bplru", "write buffer"),
            ("lrru", "did you mean lru"),
            ("lru-k[k=0]", "k"),
            ("lru[", "closing ]"),
            ("acr-h", "file_pages"),
        ] {
            let fault = build(words, 8).map(|_| ()).unwrap_err();
            assert!(fault.contains(part), "{words}: {fault}");
        }
        assert!(build("acr-h[file_pages=100]", 8).is_ok());
        assert!(build("ace[base=clock]", 8).is_ok());
    }
}
