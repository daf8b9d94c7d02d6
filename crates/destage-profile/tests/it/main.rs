//! Integration tests: `trace info` and `trace profile`.

mod info;
mod profile;
