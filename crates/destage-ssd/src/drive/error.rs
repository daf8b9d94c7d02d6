//! Why there is no such drive, and whose fault that is.

use crate::config::ConfigError;
use destage_keys::printable;
use std::path::PathBuf;

/// Whose fault an error is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// What was asked for cannot be: a name, a change to a key (exit status 2).
    Usage,
    /// The content of a file or record (65).
    Data,
    /// The file is not there or cannot be read (66).
    Missing,
}

impl DriveError {
    /// It has two keys that exclude each other: each of them would do without the other one.
    pub fn excludes(&self) -> bool {
        matches!(self, DriveError::Change { error: ConfigError::Together { .. }, .. })
    }
}

/// Why there is no such drive.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DriveError {
    /// Neither a preset nor a file.
    #[error("no preset {name:?}{meant} (presets: {known}; a file ends in .toml)")]
    Name {
        /// As given.
        name: String,
        /// The nearest preset, as a question; empty if none is near.
        meant: String,
        /// All presets.
        known: String,
    },
    /// Changes that cannot be made out: brackets, `key=value`, a key given twice or unknown.
    #[error("drive {spec:?}: {what}")]
    Spec {
        /// As given.
        spec: String,
        /// What is wrong with it.
        what: String,
    },
    /// Changes that make an impossible drive.
    #[error("drive {spec:?}: {error}")]
    Change {
        /// As given.
        spec: String,
        /// What is wrong with it.
        error: ConfigError,
    },
    /// An option beside the device that there is not, or a value of another type.
    #[error("{0}")]
    Option(String),
    /// The file cannot be read.
    #[error("{}: {why}", printable(path.as_os_str().as_encoded_bytes()))]
    Missing {
        /// As given.
        path: PathBuf,
        /// `no such file`, or what the system said.
        why: String,
    },
    /// The file's content.
    #[error(
        "{}:{}{what}",
        printable(file.as_bytes()),
        place.map_or(" ".into(), |(line, column)| format!("{line}:{column}: "))
    )]
    Content {
        /// As given.
        file: String,
        /// Line and column in characters, from 1; none if the file as a whole is meant.
        place: Option<(usize, usize)>,
        /// What was found and what was expected.
        what: String,
    },
    /// A record that [`Drive::to_json`](super::Drive::to_json) did not write.
    #[error("record of a drive: {0}")]
    Record(String),
}

impl DriveError {
    /// What to tell the shell.
    pub fn fault(&self) -> Fault {
        match self {
            DriveError::Name { .. }
            | DriveError::Spec { .. }
            | DriveError::Change { .. }
            | DriveError::Option(_) => Fault::Usage,
            DriveError::Missing { .. } => Fault::Missing,
            DriveError::Content { .. } | DriveError::Record(_) => Fault::Data,
        }
    }
}
