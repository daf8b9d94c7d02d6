//! Preconditioned drives that are kept between runs.

use destage_ssd::config::{Table, Value};
use destage_ssd::filling::Interrupted;
use destage_ssd::ftl::{AnyFtl, ImageError};
use destage_ssd::geometry::Geometry;
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Device, DeviceConfig, DriveLpn, Ftl, Origin, PageFtl};
use std::fs;
use std::path::{Path, PathBuf};

fn config(keys: &[(&str, Value)]) -> DeviceConfig {
    let mut table = Table::new();
    for (key, size) in [
        ("channels", 4),
        ("blocks_per_plane", 64),
        ("pages_per_block", 16),
        ("precondition_writes", 1 << 20),
    ] {
        table.insert(key.into(), Value::Int(size));
    }
    table.insert("precondition".into(), word("random"));
    table.extend(keys.iter().map(|(key, value)| (key.to_string(), value.clone())));
    DeviceConfig::from_table(&table).expect("a good configuration")
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

/// A folder of its own, gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("destage-ssd-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Folder(folder)
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).expect("it was made");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn prepare(config: &DeviceConfig, folder: &Path) -> (Device, Origin) {
    Device::prepare(config, Some(folder), &mut |_, _| true).expect("no interruption")
}

/// The effect of further random writes on the drive.
fn fate(mut device: Device) -> impl PartialEq + std::fmt::Debug {
    let mut random = SplitMix64::new(3);
    for now in 0..5000 {
        device.advance(now * 1000);
        device.write(DriveLpn(random.below(device.geometry().logical_pages)));
    }
    device.finish();
    device.ftl().check();
    assert_eq!(device.check_conservation(), Ok(()));
    device.counters()
}

#[test]
fn a_loaded_drive_goes_on_as_one_that_was_made() {
    let map = |bytes| ("map_cache", Value::Int(bytes));
    let (entries, slru) = (("map_granularity", word("entry")), ("map_policy", word("slru")));
    for (name, keys) in [
        ("static", vec![("summary_page", Value::Bool(true))]),
        ("dynamic", vec![("alloc", word("dynamic"))]),
        ("background", vec![("gc_mode", word("background")), ("pages_per_block", Value::Int(70))]),
        ("map", vec![map(4096), entries.clone(), ("map_batch_update", Value::Bool(false))]),
        ("map-slru", vec![map(4096), entries, slru.clone(), ("gc_mode", word("background"))]),
        ("map-pages", vec![map(8192), slru, ("alloc", word("dynamic"))]),
    ] {
        let folder = Folder::new(name);
        let config = config(&keys);
        let (made, origin) = prepare(&config, &folder.0);
        assert_eq!(origin, Origin::Made, "{name}");
        let (loaded, origin) = prepare(&config, &folder.0);
        assert_eq!(origin, Origin::Loaded, "{name}");
        assert_eq!(folder.files().len(), 1, "{name}: nothing else is left behind");
        loaded.ftl().check();
        let [saved, again] = [&made, &loaded].map(|device| {
            let mut image = Vec::new();
            device.ftl().save(&config, &mut image).expect("memory");
            image
        });
        assert_eq!(saved, again, "{name}");
        assert_eq!(fate(made), fate(loaded), "{name}");
    }
}

#[test]
fn a_damaged_file_is_noticed_wherever_it_is_damaged_and_made_anew() {
    let folder = Folder::new("damaged");
    let config = config(&[]);
    let (made, _) = prepare(&config, &folder.0);
    let file = folder.files().remove(0);
    let good = fs::read(&file).expect("written");
    let mut random = SplitMix64::new(1);
    for k in 0..40 {
        let mut bad = good.clone();
        match k {
            0 => bad.truncate(good.len() - 1),
            1 => bad.truncate(0),
            2 => bad.push(0),
            _ => bad[random.below(good.len() as u32) as usize] ^= 1 << random.below(8),
        }
        let loaded = PageFtl::load(&config, &mut &bad[..]);
        assert!(loaded.is_err(), "damage {k} is noticed");
    }
    let mut bad = good.clone();
    bad[1000] ^= 1;
    fs::write(&file, &bad).expect("writable");
    let (again, origin) = prepare(&config, &folder.0);
    assert_eq!(origin, Origin::Made);
    assert_eq!(fs::read(&file).expect("written again"), good);
    assert_eq!(fate(made), fate(again));
}

/// A saved state whose numbers can be changed; its checksum is made good again.
struct Image<'a> {
    bytes: Vec<u8>,
    geometry: &'a Geometry,
}

impl Image<'_> {
    const MAP: usize = 32; // behind what it is and of which configuration

    fn number(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    fn set(&mut self, at: usize, number: u32) {
        self.bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }

    /// Where the place of a slot is: its page's number and 1, or 0.
    fn place(&self, slot: u32) -> usize {
        Self::MAP + 4 * slot as usize
    }

    /// Where it is said whether a block is free.
    fn free(&self, block: u32) -> usize {
        let blocks = self.geometry.blocks_per_plane * self.geometry.planes;
        self.bytes.len() - 8 - (8 * self.geometry.planes + blocks - block) as usize
    }

    /// Where the active block of plane 0 is, and behind it the next page of that.
    fn open(&self) -> usize {
        self.bytes.len() - 8 - 8 * self.geometry.planes as usize
    }

    fn load(self, config: &DeviceConfig) -> Result<AnyFtl, ImageError> {
        let Image { mut bytes, .. } = self;
        let end = bytes.len() - 8;
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        AnyFtl::load(config, &mut &bytes[..])
    }
}

#[test]
fn a_state_that_contradicts_itself_is_damaged_though_its_checksum_is_good() {
    let config = config(&[]);
    let device = Device::new(&config);
    let geometry = device.geometry();
    let mut bytes = Vec::new();
    device.ftl().save(&config, &mut bytes).expect("memory");
    let image = || Image { bytes: bytes.clone(), geometry };
    image().load(&config).expect("as it was saved");
    let (blocks, data) = (geometry.blocks_per_plane, geometry.data_pages);

    let whole = image();
    let block_of = |slot: u32| (whole.number(whole.place(slot)) - 1) / geometry.pages_per_block;
    let active = whole.number(whole.open());
    let next = whole.number(whole.open() + 4);
    assert!(active < blocks && next < data, "plane 0 has an active block with room");
    let is_free = |block: u32| whole.bytes[whole.free(block)] != 0;
    // A slot of plane 0 in a block that is not the active one.
    let slot = (0..geometry.logical_pages)
        .find(|&slot| block_of(slot) < blocks && block_of(slot) != active)
        .expect("plane 0 is used");
    let other = (slot + 1..geometry.logical_pages).find(|&s| block_of(s) == block_of(slot));
    let free = (0..blocks).find(|&block| is_free(block)).expect("a free block");
    let first = geometry.pages_per_block;

    type Damage<'a> = (&'a str, Box<dyn Fn(&mut Image<'_>) + 'a>);
    let damages: [Damage; 6] = [
        ("two slots on one page", {
            let other = other.expect("several pages of a block are valid");
            Box::new(move |i| i.set(i.place(slot), i.number(i.place(other))))
        }),
        (
            "a page beyond those written of the active block",
            Box::new(move |i| i.set(i.place(slot), active * first + next + 1)),
        ),
        ("a page of a free block", Box::new(move |i| i.set(i.place(slot), free * first + 1))),
        ("a block with valid pages is free", {
            let block = block_of(slot);
            Box::new(move |i| {
                let at = i.free(block);
                i.bytes[at] = 1;
            })
        }),
        (
            "the active block is free",
            Box::new(move |i| {
                let at = i.free(active);
                i.bytes[at] = 1;
            }),
        ),
        ("the next page is beyond the block", Box::new(move |i| i.set(i.open() + 4, data))),
    ];
    for (name, damage) in damages {
        let mut image = image();
        damage(&mut image);
        let loaded = image.load(&config).map(drop);
        assert!(matches!(loaded, Err(ImageError::Damaged)), "{name}: {loaded:?}");
    }
}

#[test]
fn one_wrong_number_is_damage_or_another_state_of_the_drive() {
    let map = ("map_cache", Value::Int(8192));
    for keys in [
        vec![],
        vec![map.clone(), ("map_policy", word("slru")), ("map_granularity", word("entry"))],
        vec![map, ("alloc", word("dynamic"))],
    ] {
        let config = config(&keys);
        let device = Device::new(&config);
        let mut bytes = Vec::new();
        device.ftl().save(&config, &mut bytes).expect("memory");
        let mut random = SplitMix64::new(5);
        let (mut damaged, numbers) = (0, (bytes.len() - Image::MAP - 8) / 4);
        for k in 0..600 {
            let mut image = Image { bytes: bytes.clone(), geometry: device.geometry() };
            // Half of them behind the map, where numbers of all kinds are.
            let first = if k % 2 == 0 { 0 } else { 2 * numbers / 3 };
            let at = first + random.below((numbers - first) as u32) as usize;
            let wrong = match k % 3 {
                0 => random.below(u32::MAX),
                1 => random.below(2 * numbers as u32),
                _ => image.number(Image::MAP + 4 * at) ^ 1 << random.below(9),
            };
            image.set(Image::MAP + 4 * at, wrong);
            match image.load(&config) {
                Ok(ftl) => ftl.check(),
                Err(error) => {
                    assert!(matches!(error, ImageError::Damaged), "{error}");
                    damaged += 1;
                }
            }
        }
        assert!((100..600).contains(&damaged), "{damaged} of 600 are noticed");
    }
}

#[test]
fn latencies_share_a_file_and_what_decides_the_state_does_not() {
    let number = |n: i128| Value::Int(n);
    let hash = |keys: &[(&str, Value)]| PageFtl::fingerprint(&config(keys));
    let plain = hash(&[]);
    let same: [(&str, Value); 6] = [
        ("program_ns", Value::List(vec![number(7), number(9)])),
        ("page_bytes", number(16384)),
        ("bus", word("shared")),
        ("sched", word("read_first")),
        ("gc_mode", word("idle")),
        ("queue_level", word("plane")),
    ];
    for (key, value) in same {
        assert_eq!(hash(&[(key, value)]), plain, "{key}");
    }
    let other: [(&str, Value); 10] = [
        ("channels", number(2)),
        ("blocks_per_plane", number(65)),
        ("op_permille", number(160)),
        ("gc_low_pages", number(60)),
        ("gc_mode", word("background")),
        ("alloc", word("dynamic")),
        ("striping", word("PDWC")),
        ("summary_page", Value::Bool(true)),
        ("precondition_seed", number(2)),
        ("precondition_writes", number(5)),
    ];
    for (key, value) in other {
        assert_ne!(hash(&[(key, value)]), plain, "{key}");
    }
    let map = |more: &[(&str, Value)]| hash(&[&[("map_cache", number(8192))], more].concat());
    assert_ne!(map(&[]), plain);
    let other_map: [(&str, Value); 6] = [
        ("map_cache", number(16384)),
        ("page_bytes", number(8192)),
        ("map_entry_bytes", number(8)),
        ("map_granularity", word("entry")),
        ("map_policy", word("slru")),
        ("map_batch_update", Value::Bool(false)),
    ];
    for (key, value) in other_map {
        assert_ne!(map(&[(key, value)]), map(&[]), "{key}");
    }
    let level = [("alloc", word("dynamic")), ("queue_level", word("plane"))];
    assert_ne!(hash(&level), hash(&level[..1]));
}

#[test]
fn a_state_of_another_configuration_is_refused() {
    let device = Device::new(&config(&[]));
    let mut image = Vec::new();
    device.ftl().save(&config(&[]), &mut image).expect("memory");
    let other = config(&[("precondition_seed", Value::Int(2))]);
    let loaded = PageFtl::load(&other, &mut &image[..]);
    assert!(matches!(loaded, Err(ImageError::Stale)));
}

#[test]
fn a_folder_that_cannot_be_written_costs_no_result() {
    let folder = Folder::new("unwritable");
    fs::create_dir_all(&folder.0).expect("writable");
    let file = folder.0.join("a file");
    fs::write(&file, "").expect("writable");
    let (_, origin) = prepare(&config(&[]), &file.join("below"));
    assert_eq!(origin, Origin::Made);
    assert_eq!(folder.files(), [file]);
}

#[test]
fn little_work_is_not_kept() {
    let folder = Folder::new("little");
    fs::create_dir_all(&folder.0).expect("writable");
    for keys in [
        [("precondition", word("sequential"))],
        [("precondition_writes", Value::Int((1 << 20) - 1))],
    ] {
        prepare(&config(&keys), &folder.0);
    }
    assert!(folder.files().is_empty());
}

#[test]
fn progress_ascends_to_all_pages_and_stops_the_work() {
    for alloc in ["static", "dynamic"] {
        let config = config(&[("alloc", word(alloc))]);
        let total = (1 << 20) + u64::from(config.logical_pages);
        let mut told = Vec::new();
        let mut hear = |done, of| {
            assert_eq!(of, total);
            told.push(done);
            true
        };
        Device::prepare(&config, None, &mut hear).expect("no interruption");
        assert!(told.len() >= 8 && told.is_sorted(), "{told:?}");
        assert!(total - told[told.len() - 1] < total / 8);

        let folder = Folder::new(&format!("stopped-{alloc}"));
        let mut calls = 0;
        let mut stop = |_, _| {
            calls += 1;
            calls < 3
        };
        let stopped = Device::prepare(&config, Some(&folder.0), &mut stop);
        assert_eq!(stopped.err(), Some(Interrupted));
        assert_eq!(calls, 3, "it is not asked again");
        assert!(!folder.0.exists(), "half a state is not kept");
    }
}
