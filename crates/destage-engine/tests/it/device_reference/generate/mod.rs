//! Random vectors of the device (`docs/spec/device.md` 10): small drives over all options, loads
//! that reach collections, bursts and idle gaps, and a policy with its parameters.
//!
//! Everything is drawn as small numbers without regard to one another and then fitted together, so
//! that a failing vector shrinks towards a small drive and few requests.

mod drive;
mod host_interface;
mod map_cache;

use destage_policies::params::{Kind, Param};
use destage_policies::{ORDERED, POLICIES, info};
use drive::{Drive, drive, ftl};
use host_interface::interface;
use map_cache::map_cache;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Policies that see the device, and `cflru-e`, which came with them.
pub const DEVICE_POLICIES: &[&str] = destage_reference::ssd::DEVICE_POLICIES;

/// Kinds of a vector's cache.
#[derive(Clone, Copy)]
pub enum Caches {
    None,
    Device,
    Page,
    Block,
    /// Those that may refuse a page.
    Admission,
    /// Those that cluster by erase block and see the device.
    DeviceBlock,
    /// Those that stand on another one, and write pages that stay.
    Over,
    /// Those with an order, and a host that writes ahead of it.
    Ahead,
}

/// Kinds of a vector's FTL.
#[derive(Clone, Copy)]
pub enum Ftls {
    /// The drive's own.
    Page,
    /// One of `docs/spec/ftl.md`.
    Other,
}

/// A vector that the specification allows.
pub fn vector(caches: Caches, ftls: Ftls) -> impl Strategy<Value = Value> {
    let ftl = match ftls {
        Ftls::Page => Just(None).boxed(),
        Ftls::Other => ftl().prop_map(Some).boxed(),
    };
    let drive = (drive(), ftl).prop_map(|(drive, ftl)| drive.with_ftl(ftl));
    let writer = match caches {
        Caches::Ahead => writer().prop_map(Some).boxed(),
        _ => Just(None).boxed(),
    };
    (drive, load(), cache(caches), writer).prop_map(|(drive, load, cache, writer)| {
        let device = drive.table();
        let logical_pages = drive.logical_pages();
        let mut vector = json!({
            "device": device,
            "cache": cache.table(drive.tick_ns()),
            "requests": load.requests(&drive, logical_pages),
        });
        if let Some(table) = drive.ftl_table() {
            vector["ftl"] = table;
        }
        // A writer excludes a closed loop where ends are known late.
        let closed = writer.is_none() || !(drive.read_first() || drive.orders());
        if let Some(depth) = load.queue_depth.filter(|_| closed) {
            vector["host"] = json!({"mode": "closed", "queue_depth": depth});
        }
        for (key, value) in writer.into_iter().flatten() {
            vector["host"][key] = value;
        }
        vector
    })
}

/// A vector of a current SSD that `docs/spec/device-today.md` 2 allows.
pub fn interface_vector(caches: Caches) -> impl Strategy<Value = Value> {
    let writer = match caches {
        Caches::Ahead => writer().prop_map(Some).boxed(),
        _ => Just(None).boxed(),
    };
    let parts = (drive(), interface(), load(), cache(caches), writer);
    parts.prop_map(|(drive, interface, load, mut cache, writer)| {
        let looks = cache.looks_at_the_drive() || writer.is_some();
        let interface = if looks { interface.without_future() } else { interface };
        let drive = drive.with_write_points(interface.write_points());
        if !interface.foresees() {
            cache.params.remove("cqct");
        }
        let requests = load.with_control_commands(&drive, drive.logical_pages());
        // Frames that trims leave may be free at instants whose order the model does not know.
        let interface = match cache.policy {
            "none" => interface,
            _ if drive.read_first() => interface.without_trims(),
            _ => interface,
        };
        let mut vector = json!({
            "device": drive.table(),
            "cache": cache.table(drive.tick_ns()),
            "requests": requests,
        });
        let closed = writer.is_none() || !drive.read_first();
        if let Some(depth) = load.queue_depth.filter(|_| closed) {
            vector["host"] = json!({"mode": "closed", "queue_depth": depth});
        }
        interface.add_to(&mut vector, &drive);
        for (key, value) in writer.into_iter().flatten() {
            vector["host"][key] = value;
        }
        vector
    })
}

/// A vector of a drive with a map cache, with and without what `docs/spec/device-today.md` has.
pub fn vector_with_map_cache(caches: Caches) -> impl Strategy<Value = Value> {
    let writer = match caches {
        Caches::Ahead => writer().prop_map(Some).boxed(),
        _ => Just(None).boxed(),
    };
    let interface = prop_oneof![1 => Just(None), 1 => interface().prop_map(Some)];
    let parts = (drive(), map_cache(), interface, load(), cache(caches), writer);
    parts.prop_map(|(drive, map, interface, load, mut cache, writer)| {
        let looks = cache.looks_at_the_drive() || writer.is_some();
        let interface =
            interface.map(|interface| if looks { interface.without_future() } else { interface });
        let drive = match &interface {
            Some(interface) => drive.with_write_points(interface.write_points()),
            None => drive,
        };
        let drive = drive.with_map_cache(map);
        cache.params.remove("cqct");
        let requests = match interface {
            Some(_) => load.with_control_commands(&drive, drive.logical_pages()),
            None => load.requests(&drive, drive.logical_pages()),
        };
        // Frames that trims leave may be free at instants whose order the model does not know.
        let interface = interface.map(|interface| match cache.policy {
            "none" => interface,
            _ => interface.without_trims(),
        });
        let mut vector = json!({
            "device": drive.table(),
            "cache": cache.table(drive.tick_ns()),
            "requests": requests,
        });
        // A writer excludes a closed loop.
        let closed = writer.is_none();
        if let Some(depth) = load.queue_depth.filter(|_| closed) {
            vector["host"] = json!({"mode": "closed", "queue_depth": depth});
        }
        if let Some(interface) = interface {
            interface.add_to(&mut vector, &drive);
        }
        for (key, value) in writer.into_iter().flatten() {
            vector["host"][key] = value;
        }
        vector
    })
}

/// Keys of a background writer; those that it can do without may be absent.
fn writer() -> impl Strategy<Value = Map<String, Value>> {
    let pages = || prop_oneof![1 => Just(None), 3 => (1..20_u64).prop_map(Some)];
    (pages(), pages()).prop_map(|(low_pages, batch)| {
        let given = [
            ("writer", Some(json!("trickle"))),
            ("writer_low_pages", low_pages.map(Value::from)),
            ("writer_batch", batch.map(Value::from)),
        ];
        given.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))).collect()
    })
}

/// Requests by shape; how they meet the drive is settled in [`Load::requests`].
#[derive(Clone, Debug)]
struct Load {
    /// How much longer than a burst's the gaps are.
    stretch: u64,
    written_percent: u8,
    hot: Index,
    requests: Vec<Shape>,
    queue_depth: Option<u64>,
}

#[derive(Clone, Debug)]
struct Shape {
    gap: (u8, u64),
    op: u8,
    /// Near a few pages, anywhere, or where the request before it ended.
    place: (u8, Index),
    pages: u64,
    /// Where in its first page it begins and in its last page it ends, in eighths.
    edges: (u64, u64),
    /// Whether it is a trim or a flush, where there are any.
    control_command: u8,
}

fn load() -> impl Strategy<Value = Load> {
    let pages = prop_oneof![1 => Just(0), 8 => Just(1), 4 => 2..8_u64];
    let edges = prop_oneof![2 => Just((0, 8)), 1 => (0..8_u64, 1..9_u64)];
    let ops = (0..100_u8, 0..100_u8);
    let shape = ((0..10_u8, 0..32_u64), ops, (0..10_u8, any::<Index>()), pages, edges);
    let shape = shape.prop_map(|(gap, (op, control_command), place, pages, edges)| Shape {
        gap,
        op,
        place,
        pages,
        edges,
        control_command,
    });
    let requests = prop_oneof![
        1 => prop::collection::vec(shape.clone(), 1..40),
        3 => prop::collection::vec(shape, 100..400),
    ];
    let written = prop_oneof![1 => Just(0_u8), 2 => Just(100), 8 => 10..100_u8];
    let depth = prop_oneof![4 => Just(None), 1 => (1..9_u64).prop_map(Some)];
    (select(vec![0, 1, 2, 5, 20]), written, any::<Index>(), requests, depth).prop_map(
        |(stretch, written_percent, hot, requests, queue_depth)| Load {
            stretch,
            written_percent,
            hot,
            requests,
            queue_depth,
        },
    )
}

impl Load {
    /// `[arrival_ns, op, offset_bytes, length_bytes]`.
    fn requests(&self, drive: &Drive, logical_pages: u64) -> Vec<Value> {
        self.lines(drive, logical_pages, false)
    }

    /// Requests with trims and flushes among them.
    fn with_control_commands(&self, drive: &Drive, logical_pages: u64) -> Vec<Value> {
        self.lines(drive, logical_pages, true)
    }

    fn lines(&self, drive: &Drive, logical_pages: u64, control_commands: bool) -> Vec<Value> {
        let tick = drive.tick_ns();
        let page_bytes = drive.page_bytes();
        let hot = self.hot.index(logical_pages as usize) as u64 + 1;
        let mut now = 0;
        let mut next = 0;
        let mut requests = Vec::new();
        for shape in &self.requests {
            let (kind, amount) = shape.gap;
            let ticks = match kind {
                0..4 => 0,
                4..8 => amount % 4 * self.stretch,
                8 => amount * self.stretch,
                _ => amount * 20,
            };
            let odd = if drive.is_round() || ticks == 0 { 0 } else { amount * 97 };
            now += ticks * tick + odd;

            let (kind, place) = shape.place;
            let mut first = match kind {
                0..5 => place.index(hot as usize) as u64,
                5..8 => place.index(logical_pages as usize) as u64,
                8 => next,
                // Beyond the drive's last page, where that is allowed.
                _ => place.index(4 * logical_pages as usize) as u64,
            };
            let access = if shape.op < self.written_percent { "w" } else { "r" };
            let op = match shape.control_command {
                0..10 if control_commands => "t",
                10..14 if control_commands => "f",
                _ => access,
            };
            let mut pages = shape.pages;
            if op == "t" {
                pages *= 1 + place.index(4) as u64;
            }
            if drive.is_strict() {
                pages = pages.min(logical_pages);
                first = (first % logical_pages).min(logical_pages - pages);
            }
            next = first + pages;
            let (from, to) = shape.edges;
            let from = from * page_bytes / 8;
            let to = pages.saturating_sub(1) * page_bytes + (to * page_bytes).div_ceil(8);
            let length = if pages == 0 { 0 } else { to.saturating_sub(from).max(1) };
            requests.push(json!([now, op, first * page_bytes + from, length]));
        }
        requests
    }
}

/// A cache section; times in ticks.
#[derive(Clone, Debug)]
struct Cache {
    policy: &'static str,
    params: Map<String, Value>,
    frames: u64,
    hit: u64,
    evict_wait: &'static str,
    staging_pages: u64,
    read_wait: &'static str,
}

fn cache(caches: Caches) -> impl Strategy<Value = Cache> {
    let policies = match caches {
        Caches::None => vec!["none"],
        // Those with more parameters more often.
        Caches::Device => {
            [DEVICE_POLICIES, &["ecr", "ecr", "ecr-e", "ecr-e", "sac", "sac"]].concat()
        }
        Caches::Page => page_policies(),
        Caches::Block => destage_reference::block::NAMES.to_vec(),
        Caches::Admission => destage_reference::ADMISSION.to_vec(),
        Caches::DeviceBlock => vec!["gcar-bplru"],
        Caches::Over => destage_reference::WRAPPERS.to_vec(),
        Caches::Ahead => ORDERED.iter().map(|info| info.name).collect(),
    };
    let policy = select(policies).prop_flat_map(|policy| (Just(policy), params(policy)));
    let frames = prop_oneof![1 => 1..4_u64, 4 => 4..24_u64, 1 => 24..80_u64];
    let evict_wait = select(vec!["program", "transfer", "none", "staged", "staged"]);
    let staging_pages = prop_oneof![3 => 1..6_u64, 1 => 6..100_u64];
    let read_wait = select(vec!["frame", "data"]);
    (policy, frames, 0..3_u64, (evict_wait, staging_pages), read_wait).prop_map(
        |((policy, params), frames, hit, (evict_wait, staging_pages), read_wait)| Cache {
            policy,
            params,
            frames,
            hit,
            evict_wait,
            staging_pages,
            read_wait,
        },
    )
}

/// Policies on which another one stands.
const BASES: &[&str] = &[
    "lru",
    "fifo",
    "clock",
    "cflru",
    "cflru[window_fraction=1.0]",
    "lru-wsr",
    "clock-sweep",
    "clock-sweep[max_usage=2;initial_usage=0]",
];

/// Policies that manage the pages of a unit.
const BASES_OF_UNITS: &[&str] = &[
    "lru",
    "cflru",
    "cflru[window_fraction=1.0]",
    "2q",
    "2q[in_fraction=0.6;out_fraction=2.0]",
    "arc",
    "arc",
];

/// The page policies that both sides have.
fn page_policies() -> Vec<&'static str> {
    let table = POLICIES.iter().map(|info| info.name);
    table.filter(|name| destage_reference::NAMES.contains(name)).collect()
}

/// Some of the parameters that the policy declares.
fn params(policy: &str) -> BoxedStrategy<Map<String, Value>> {
    let Ok(info) = info(policy) else { return Just(Map::new()).boxed() };
    let values: Vec<_> = info.params.iter().map(|param| value(policy, param)).collect();
    values
        .prop_map(|values| {
            let given = info.params.iter().zip(values);
            given.filter_map(|(param, value)| Some((param.name.to_string(), value?))).collect()
        })
        .boxed()
}

/// The default of a parameter, an end of its range, or something between.
fn value(policy: &str, param: &'static Param) -> BoxedStrategy<Option<Value>> {
    let int = |min: u64, max: u64| {
        let most = max.min(100);
        prop_oneof![min..=most.min(min + 8), min..=most].prop_map(Value::from)
    };
    let given = match param.kind {
        Kind::Int { min, max } | Kind::OptionalInt { min, max } => int(min, max).boxed(),
        Kind::Real { min, max } => {
            prop_oneof![Just(min), Just(max.min(4.0)), min..=max.min(1.0), min..=max.min(4.0)]
                .prop_map(Value::from)
                .boxed()
        }
        Kind::RealAbove { above } => (above..above + 8.0)
            .prop_filter("above", move |&r| r > above)
            .prop_map(Value::from)
            .boxed(),
        Kind::OptionalReal { min, .. } => (min..=min + 1.0).prop_map(Value::from).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Kind::Choice(words) => select(words).prop_map(Value::from).boxed(),
        Kind::Form(_) if policy == "ecr-over" => {
            select(BASES_OF_UNITS).prop_map(Value::from).boxed()
        }
        Kind::Form(_) => select(BASES).prop_map(Value::from).boxed(),
        Kind::Ints { .. }
        | Kind::OptionalBool
        | Kind::Bytes
        | Kind::OptionalBytes
        | Kind::Duration => {
            unreachable!("no policy has {}, of this kind", param.name)
        }
    };
    prop_oneof![1 => Just(None), 2 => given.prop_map(Some)].boxed()
}

impl Cache {
    /// Whether what it writes depends on the drive.
    fn looks_at_the_drive(&self) -> bool {
        self.policy == "aalru"
            || (DEVICE_POLICIES.contains(&self.policy) && self.policy != "cflru-e")
            || self.policy == "gcar-bplru"
    }

    fn table(&self, tick: u64) -> Value {
        if self.policy == "none" {
            return json!({"policy": "none"});
        }
        let mut table = self.params.clone();
        table.insert("policy".to_string(), self.policy.into());
        table.insert("frames".to_string(), self.frames.into());
        table.insert("hit_ns".to_string(), (self.hit * tick / 2).into());
        table.insert("evict_wait".to_string(), self.evict_wait.into());
        table.insert("staging_pages".to_string(), self.staging_pages.into());
        table.insert("read_wait".to_string(), self.read_wait.into());
        Value::Object(table)
    }
}
