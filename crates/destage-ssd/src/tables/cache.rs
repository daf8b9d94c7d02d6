//! The table `[cache]`: of one run, and of a drive file, which speaks to many runs.

use super::keys::reader;
use crate::config::{ConfigError, EvictWait, MOST_PAGES, ReadWait, Reader, Table, Value};
use destage_core::Nanos;
use serde::{Serialize, Serializer};

/// The table `[cache]`: the policy's own parameters are left to the policy.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheConfig {
    /// Name of the policy; `None` for `none`, no cache.
    pub policy: Option<String>,
    /// Frames; 0 without a cache.
    pub frames: u32,
    /// DRAM access, nanoseconds, charged to every page access of a cached run.
    pub hit_ns: Nanos,
    /// Event at which a frame becomes free for the page that needs it.
    pub evict_wait: EvictWait,
    /// Staging pages of the host, for [`EvictWait::Staged`].
    pub staging_pages: u32,
    /// When a missed read's data may go to the host.
    pub read_wait: ReadWait,
    /// The policy's parameters: the table's other keys, not checked.
    pub params: Table,
}

impl CacheConfig {
    /// Reads and checks the table of a conformance vector, but for the policy's name and
    /// parameters. Without `evict_wait` it has the specification's default, `program`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn from_table(table: &Table) -> Result<Self, ConfigError> {
        let table = &with_specified_wait(table.clone());
        let keys = reader("cache", table);
        let policy = policy_name(&keys)?;
        let frames = keys.or("frames", 1, 0)?;
        if policy.is_some() && frames == 0 {
            return Err(keys.impossible("the key frames is missing: a cache has a size".into()));
        }
        if policy.is_none() && frames > 0 {
            return Err(ConfigError::Together {
                table: "cache",
                one: "policy = none",
                other: "frames",
                need: "a policy, or no frames",
            });
        }
        let params = parameters(&keys, policy.as_ref())?;
        Ok(CacheConfig {
            policy,
            frames,
            hit_ns: keys.get("hit_ns")?,
            evict_wait: keys.get("evict_wait")?,
            staging_pages: keys.get("staging_pages")?,
            read_wait: keys.get("read_wait")?,
            params,
        })
    }
}

/// Defaults for runs that name no policy or size, from a device file's table `[cache]`.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheDefaults {
    /// Name of the policy; `None` if the run has to name one.
    pub policy: Option<String>,
    /// Cache sizes as on a command line, such as `8192p` or `32MiB`; empty if the run has to
    /// name them. Not checked.
    pub frames: Vec<String>,
    /// Service time of a hit, nanoseconds.
    pub hit_ns: Nanos,
    /// Event at which a frame becomes free for the page that needs it.
    pub evict_wait: EvictWait,
    /// Staging pages of the host, for [`EvictWait::Staged`].
    pub staging_pages: u32,
    /// When a missed read's data may go to the host.
    pub read_wait: ReadWait,
    /// The policy's parameters, not checked; empty without a policy.
    pub params: Table,
}

impl CacheDefaults {
    /// Reads and checks the table, but for the policy's name, its parameters and the sizes.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn from_table(table: &Table) -> Result<Self, ConfigError> {
        let keys = reader("cache", table);
        let policy = policy_name(&keys)?;
        let params = parameters(&keys, policy.as_ref())?;
        let evict_wait = keys.get("evict_wait")?;
        if evict_wait != EvictWait::Staged && table.contains_key("staging_pages") {
            return Err(ConfigError::Together {
                table: "cache",
                one: "staging_pages",
                other: match evict_wait {
                    EvictWait::Program => "evict_wait = program",
                    EvictWait::Transfer => "evict_wait = transfer",
                    _ => "evict_wait = none",
                },
                need: "evict_wait = staged",
            });
        }
        let frames = match table.get("frames") {
            None => Vec::new(),
            Some(given) => sizes(given).ok_or_else(|| {
                keys.value("frames", "pages, a size such as \"32MiB\", or a list of these", given)
            })?,
        };
        Ok(CacheDefaults {
            policy,
            frames,
            hit_ns: keys.get("hit_ns")?,
            evict_wait,
            staging_pages: keys.get("staging_pages")?,
            read_wait: keys.get("read_wait")?,
            params,
        })
    }

    /// The table that [`from_table`](Self::from_table) reads as this.
    pub fn to_table(&self) -> Table {
        let text = |text: &str| Value::Text(text.into());
        let mut table = self.params.clone();
        table.extend(self.policy.iter().map(|policy| ("policy".into(), text(policy))));
        if !self.frames.is_empty() {
            let sizes = self.frames.iter().map(|size| text(size)).collect();
            table.insert("frames".into(), Value::List(sizes));
        }
        table.insert("hit_ns".into(), Value::Int(self.hit_ns.into()));
        table.insert("evict_wait".into(), text(self.evict_wait.name()));
        if self.evict_wait == EvictWait::Staged {
            table.insert("staging_pages".into(), Value::Int(self.staging_pages.into()));
        }
        table.insert("read_wait".into(), text(self.read_wait.name()));
        table
    }

    /// The cache of one run: this policy, or none, with so many frames.
    pub fn with_policy(&self, policy: Option<String>, frames: u32, params: Table) -> CacheConfig {
        let frames = if policy.is_some() { frames } else { 0 };
        let CacheDefaults { hit_ns, evict_wait, staging_pages, read_wait, .. } = *self;
        CacheConfig { policy, frames, hit_ns, evict_wait, staging_pages, read_wait, params }
    }
}

impl Serialize for CacheDefaults {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_table().serialize(serializer)
    }
}

/// Sizes, each as on a command line.
fn sizes(given: &Value) -> Option<Vec<String>> {
    match given {
        Value::Int(pages) => {
            (1..=i128::from(MOST_PAGES)).contains(pages).then(|| vec![format!("{pages}p")])
        }
        Value::Text(size) => Some(vec![size.clone()]),
        Value::List(all) if !all.is_empty() => {
            let each = all.iter().filter(|size| !matches!(size, Value::List(_))).map(sizes);
            let each: Vec<String> = each.collect::<Option<Vec<_>>>()?.concat();
            (each.len() == all.len()).then_some(each)
        }
        _ => None,
    }
}

/// The table with the eviction wait of the specification, if it gives none: what vectors and the
/// records of earlier versions mean.
pub(crate) fn with_specified_wait(mut table: Table) -> Table {
    let wait = || Value::Text(EvictWait::Program.name().into());
    table.entry("evict_wait".into()).or_insert_with(wait);
    table
}

fn policy_name(keys: &Reader<'_>) -> Result<Option<String>, ConfigError> {
    let name: String = keys.get("policy")?;
    Ok(Some(name).filter(|name| name != "none"))
}

/// The keys that are the policy's. Without a policy nothing else can have a meaning.
fn parameters(keys: &Reader<'_>, policy: Option<&String>) -> Result<Table, ConfigError> {
    if policy.is_none() {
        keys.end()?;
    }
    Ok(keys.rest())
}
