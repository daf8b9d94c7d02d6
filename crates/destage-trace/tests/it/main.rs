//! Integration tests: formats, opening, decoding and keeping traces.

mod adding;
mod arbitrary_bytes;
mod binary_formats;
mod cache;
mod decode;
mod decode_beside;
mod index_counts;
mod malformed;
mod opening;
mod ordering;
mod raw_tables;
mod real_binary;
mod real_traces;
mod support;
mod text_formats;
