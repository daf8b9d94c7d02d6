//! Why there is no such drive, and whose fault that is.

use crate::config::ConfigError;
use destage_keys::printable;
use std::path::PathBuf;

/// Whose fault an error is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An unknown name, key or value in a device specification (exit status 2).
    Usage,
    /// The content of a file or record (65).
    Data,
    /// The file is not there or cannot be read (66).
    Missing,
}

impl DriveError {
    /// Whether two keys exclude each other, each of which is valid alone.
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
        /// The user's spelling.
        name: String,
        /// The nearest preset, as a question; empty if none is near.
        meant: String,
        /// All presets.
        known: String,
    },
    /// Changes that cannot be made out: brackets, `key=value`, a key given twice or unknown.
    #[error("device {spec:?}: {what}")]
    Spec {
        /// The user's spelling.
        spec: String,
        /// The fault, as a clause.
        what: String,
    },
    /// Changes that make an impossible drive.
    #[error("device {spec:?}: {error}")]
    Change {
        /// The user's spelling.
        spec: String,
        /// The fault, as the check of the configuration reports it.
        error: ConfigError,
    },
    /// An option beside the device that there is not, or a value of another type.
    #[error("{0}")]
    Option(String),
    /// The file cannot be read.
    #[error("{}: {why}", printable(path.as_os_str().as_encoded_bytes()))]
    Missing {
        /// The user's spelling.
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
        /// The user's spelling.
        file: String,
        /// Line and column in characters, from 1; none if the file as a whole is meant.
        place: Option<(usize, usize)>,
        /// Found and expected, as a clause.
        what: String,
    },
    /// A record that [`Drive::to_json`](super::Drive::to_json) did not write.
    #[error("record of a device: {0}")]
    Record(String),
}

impl DriveError {
    /// Exit status class of the error.
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
