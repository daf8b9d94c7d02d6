//! The trace formats: one file each, listed once, in [`FORMATS`].
//!
//! Two kinds of readers. A **text** format parses one line; the shared reader (`text.rs`) splits
//! lines, counts, builds messages with their place and applies `on_error`. A **binary** format
//! implements [`RecordReader`](crate::RecordReader) over an [`Input`](crate::Input) itself. Neither
//! sorts, rebases, filters or splits: that is `stream`'s. The words that they share are those of
//! `format.rs` and `sample.rs`.

pub mod alibaba;
pub mod arc;
pub mod bin;
pub(crate) mod binary;
pub mod biosnoop;
pub mod blkparse;
pub mod blktrace;
pub mod csv;
pub mod diskmon;
pub mod disksim;
pub mod fio_iolog;
pub mod fiu;
pub mod io_tracer;
pub mod iosnoop;
pub mod k5cloud;
pub mod lcs;
pub mod lmcache;
pub(crate) mod mapping;
pub mod moe_routing;
pub mod mooncake;
pub mod mqsim;
pub mod ms_etw;
pub mod msr;
pub(crate) mod object;
pub mod oracle_general;
pub mod pages;
pub mod parquet;
mod parquet_column;
pub mod qwen_bailian;
pub mod spc;
pub mod srt;
pub mod strace;
pub mod systor17;
pub mod tencent;
#[cfg(test)]
pub(crate) mod testing;
mod text_format;
pub mod tracefs;
pub mod vscsi;
pub mod vscsi_text;

use crate::format::Format;

/// Every format, in the order of help and documentation.
pub static FORMATS: &[&Format] = &[
    &msr::FORMAT,
    &spc::FORMAT,
    &systor17::FORMAT,
    &ms_etw::FORMAT,
    &srt::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &vscsi::FORMAT,
    &vscsi_text::FORMAT,
    &oracle_general::FORMAT,
    &oracle_general::FORMAT_OP,
    &lcs::FORMAT,
    &blkparse::FORMAT,
    &blktrace::FORMAT,
    &fio_iolog::FORMAT,
    &disksim::FORMAT,
    &mqsim::FORMAT,
    &fiu::FORMAT,
    &k5cloud::FORMAT,
    &biosnoop::FORMAT,
    &iosnoop::FORMAT,
    &tracefs::FORMAT,
    &io_tracer::FORMAT,
    &diskmon::FORMAT,
    &strace::FORMAT,
    &arc::FORMAT,
    &pages::FORMAT,
    &mooncake::FORMAT,
    &qwen_bailian::FORMAT,
    &moe_routing::FORMAT,
    &lmcache::FORMAT,
    &csv::FORMAT,
    &parquet::FORMAT,
    &bin::FORMAT,
];

/// The format of this name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.name.eq_ignore_ascii_case(name)).copied()
}
