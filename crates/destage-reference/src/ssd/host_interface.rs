//! The keys of `docs/spec/device-today.md` 3, and what excludes what (2).

use super::collectors;
use super::config::{Config, Section};
use super::placement;
use serde_json::Value;

/// Where collected pages go (7.3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    Initial,
    Persistent,
    Assigned,
}

/// What the device section says of them, with every default filled in.
pub(crate) struct Today {
    pub(crate) command_ns: u64,
    pub(crate) firmware_read_ns: u64,
    pub(crate) firmware_write_ns: u64,
    pub(crate) page_link_ns: u64, // x_L
    pub(crate) half_duplex: bool,
    pub(crate) buffer_pages: u64,        // P
    pub(crate) slc_blocks: u64,          // S, of a plane
    pub(crate) slc_pages_per_block: u64, // N_s
    pub(crate) slc_read_ns: u64,
    pub(crate) slc_program_ns: u64,
    pub(crate) slc_erase_ns: u64,
    /// A host program has a block folded where the SLC cache is full.
    pub(crate) slc_folds: bool,
    slc_idle: bool,
    pub(crate) handles: usize, // H
    pub(crate) isolation: Isolation,
    pub(crate) own_gc_stream: bool,
    pub(crate) by_generation: bool, // `docs/spec/collectors.md` 6
}

pub(crate) const DEVICE_KEYS: &[&str] = &[
    "command_ns",
    "firmware_read_ns",
    "firmware_write_ns",
    "link_ps_per_byte",
    "link_duplex",
    "buffer_pages",
    "slc_blocks",
    "slc_pages_per_block",
    "slc_read_ns",
    "slc_program_ns",
    "slc_erase_ns",
    "slc_policy",
    "slc_idle",
    "handles",
    "isolation",
    "gc_stream",
];

impl Today {
    pub(crate) fn of(
        s: &Section<'_>,
        page_bytes: u64,
        pages_per_block: u64,
    ) -> Result<Today, String> {
        let slc_pages_per_block =
            s.integer("slc_pages_per_block", (pages_per_block / 3).max(1), 1)?;
        if slc_pages_per_block > pages_per_block {
            return Err("device: slc_pages_per_block: more than pages_per_block".to_string());
        }
        let handles = s.integer("handles", 1, 1)?;
        if handles > 8 {
            return Err(format!("device: handles: expected 1 to 8, found {handles}"));
        }
        let link_ps_per_byte = s.integer("link_ps_per_byte", 0, 0)?;
        Ok(Today {
            command_ns: s.integer("command_ns", 0, 0)?,
            firmware_read_ns: s.integer("firmware_read_ns", 0, 0)?,
            firmware_write_ns: s.integer("firmware_write_ns", 0, 0)?,
            page_link_ns: (page_bytes * link_ps_per_byte).div_ceil(1000),
            half_duplex: s.word("link_duplex", &["full", "half"])? == "half",
            buffer_pages: s.integer("buffer_pages", 0, 0)?,
            slc_blocks: s.integer("slc_blocks", 0, 0)?,
            slc_pages_per_block,
            slc_read_ns: s.integer("slc_read_ns", 25_000, 0)?,
            slc_program_ns: s.integer("slc_program_ns", 150_000, 0)?,
            slc_erase_ns: s.integer("slc_erase_ns", 1_500_000, 0)?,
            slc_folds: s.word("slc_policy", &["direct", "fold"])? == "fold",
            slc_idle: s.flag("slc_idle", true)?,
            handles: usize::try_from(handles).expect("at most 8"),
            isolation: match s.word("isolation", &["initial", "persistent", "assigned"])? {
                "persistent" => Isolation::Persistent,
                "assigned" => Isolation::Assigned,
                _ => Isolation::Initial,
            },
            own_gc_stream: collectors::stream(s)? == "own",
            by_generation: collectors::stream(s)? == "by-generation",
        })
    }

    /// A, of a plane (7.1).
    pub(crate) fn write_points(&self) -> usize {
        match (self.own_gc_stream, self.isolation) {
            (_, Isolation::Persistent) if self.by_generation => 3 * self.handles,
            _ if self.by_generation => self.handles + 2,
            (false, _) => self.handles,
            (true, Isolation::Persistent) => 2 * self.handles,
            (true, _) => self.handles + 1,
        }
    }

    pub(crate) fn folds_when_idle(&self) -> bool {
        self.slc_idle && self.slc_blocks > 0
    }
}

/// A key of section 3 that is at work in a vector; another FTL and reads first exclude all of them.
fn at_work(vector: &Value, today: &Today) -> Result<Option<&'static str>, String> {
    let host = Section::of(vector, "host")?;
    let keys = [
        ("command_ns", today.command_ns > 0),
        ("firmware_read_ns", today.firmware_read_ns > 0),
        ("firmware_write_ns", today.firmware_write_ns > 0),
        ("link_ps_per_byte", today.page_link_ns > 0),
        ("buffer_pages", today.buffer_pages > 0),
        ("slc_blocks", today.slc_blocks > 0),
        ("handles", today.handles > 1),
        ("gc_stream", today.own_gc_stream || today.by_generation),
        ("trim", host.word("trim", &["ignore", "drop"])? == "drop"),
        ("flush", host.word("flush", &["ignore", "drain"])? == "drain"),
        ("placement.policy", placement::policy(vector)? != "none"),
    ];
    Ok(keys.into_iter().find(|&(_, at_work)| at_work).map(|(key, _)| key))
}

/// Policies that look at the drive: what they write depends on it.
fn looks_at_the_drive(policy: &str) -> bool {
    // AALRU is told how long operations take (`docs/spec/block-policies.md` 1.7).
    matches!(policy, "ecr" | "ecr-e" | "sac" | "aalru") || policy.starts_with("gcar-")
}

/// The table of section 2.
pub(crate) fn refuse(vector: &Value, config: &Config) -> Result<(), String> {
    let today = &config.today;
    if let Some(key) = at_work(vector, today)? {
        if config.ftl.is_some() {
            return Err(format!("device: {key} needs ftl=page"));
        }
        if config.read_first {
            return Err(format!("device: {key} needs sched=fcfs"));
        }
    }
    let placement = placement::policy(vector)?;
    let assigned = today.isolation == Isolation::Assigned;
    let apart = today.own_gc_stream || today.by_generation;
    let cache = Section::of(vector, "cache")?;
    let cache_policy = cache.get("policy").and_then(Value::as_str).unwrap_or("none");
    let foresees = matches!(cache.get("cqct").and_then(Value::as_str), Some("wait" | "eq1"));
    let host = Section::of(vector, "host")?;
    let writes_ahead = host.get("writer").and_then(Value::as_str) == Some("trickle");
    let by_handles = today.handles == 1;
    let excluded = [
        (config.ftl.is_some() && !config.rule.is_greedy(), "gc_victim needs ftl=page"),
        (today.slc_blocks > 0 && today.handles > 1, "slc_blocks excludes handles"),
        (today.slc_blocks > 0 && apart, "slc_blocks excludes gc_stream"),
        (apart && assigned, "gc_stream excludes isolation=assigned"),
        (
            assigned && !matches!(placement, "sepbit" | "fk"),
            "isolation=assigned needs placement.policy=sepbit or fk",
        ),
        (
            assigned && placement == "sepbit" && today.handles < 4,
            "isolation=assigned with placement.policy=sepbit needs four handles",
        ),
        (placement != "none" && by_handles, "placement.policy needs handles > 1"),
        (
            placement == "fk" && looks_at_the_drive(cache_policy),
            "placement.policy=fk excludes a cache policy that looks at the drive",
        ),
        // It writes when units are idle, so that what is written depends on the drive.
        (placement == "fk" && writes_ahead, "placement.policy=fk excludes host.writer=trickle"),
        (
            foresees && (today.write_points() > 1 || today.slc_blocks > 0),
            "cqct does not foresee collections with several write points or slc_blocks",
        ),
    ];
    match excluded.iter().find(|&&(excluded, _)| excluded) {
        Some((_, why)) => Err(format!("device: {why}")),
        None => Ok(()),
    }
}
