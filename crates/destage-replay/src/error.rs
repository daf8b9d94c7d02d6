//! Why a run gave no result.

use destage_policies::BuildError;

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The policy cannot be built (exit status 2).
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run asks for what it does not have (exit status 2).
    #[error("{0}")]
    Impossible(String),
    /// A law was broken (exit status 1).
    #[error("{0}")]
    Broken(String),
    /// It cannot be true (exit status 70).
    #[error("{0}: this is a bug of Destage")]
    Bug(String),
    /// It was stopped (exit status 130).
    #[error("interrupted")]
    Interrupted,
}
