//! Presets, files, changes, and what is said of mistakes in them.

use super::*;
use crate::config::{EvictWait, FlushMode, GcMode, HostMode, QueueLevel, ReadWait, Sched};
use crate::geometry::DriveLpn;
use std::fs;
use std::path::PathBuf;

/// A file of this content, gone with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Scratch {
        let path = std::env::temp_dir().join(format!("destage-{}-{name}", std::process::id()));
        fs::write(&path, content).expect("a place for temporary files");
        Scratch(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a plain path")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn parsed(text: &str) -> Drive {
    Drive::parse(text, "my.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn spec(text: &str) -> Drive {
    Drive::from_spec(text).unwrap_or_else(|error| panic!("{error}"))
}

fn wrong_spec(text: &str) -> (String, Fault) {
    let error = Drive::from_spec(text).expect_err(text);
    (error.to_string(), error.fault())
}

#[test]
fn another_ftl_warns_of_given_keys_without_effect_and_of_no_other() {
    let asked = "bpac[ftl=page;gc_low_pages=640]";
    for (drive, expected) in [("bpac[ftl=page]", vec![]), (asked, vec!["gc_low_pages = 640"])] {
        let changed = spec(drive).with_ftl("bast").unwrap();
        assert_eq!(changed.notes.len(), expected.len(), "{:?}", changed.notes);
        for (note, part) in changed.notes.iter().zip(expected) {
            assert!(note.starts_with(part), "{note}");
        }
    }
}

#[test]
fn what_a_preset_says_of_itself_is_no_fault_of_who_takes_another_ftl() {
    for (spec_text, ftl) in [("ecr", "bast"), ("tlc-nvme", "fast"), ("sac", "dftl")] {
        let changed = spec(spec_text).with_ftl(ftl).unwrap();
        assert_eq!(changed.notes, Vec::<String>::new(), "{spec_text} with {ftl}");
    }
    assert!(spec("ecr[ftl=bast]").notes.is_empty());
    assert!(parsed("[device]\npreset = \"ecr\"\nftl = \"bast\"\n").notes.is_empty());
    let asked = parsed("[device]\npreset = \"ecr\"\nftl = \"bast\"\ngc_low_pages = 9000\n");
    assert_eq!(asked.notes.len(), 1, "{:?}", asked.notes);
    assert!(asked.notes[0].starts_with("gc_low_pages = 9000 has no effect"), "{:?}", asked.notes);
}

#[test]
fn a_file_may_have_keys_that_are_not_the_drives() {
    let text = "[device]\npreset = \"small\"\n[cache]\ncost = { read = 1 }\nhit_ns = 5\nsize = 3\n";
    let file = Scratch::new("shared.toml", text);
    let others = [("cache", "cost"), ("cache", "size")];
    let drive = Drive::from_shared(file.path(), &others).unwrap();
    assert_eq!((drive.cache.hit_ns, drive.cache.frames.len()), (5, 0));
    let error = Drive::from_shared(file.path(), &others[..1]).unwrap_err().to_string();
    assert!(error.contains(":6:1: cache: unknown key \"size\""), "{error}");
}

#[test]
fn every_preset_is_a_drive_of_its_own_name_and_bounded_memory() {
    for preset in PRESETS {
        let drive = Drive::preset(preset.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(drive.name, preset.name);
        assert_eq!(drive.preset.as_deref(), Some(preset.name));
        assert!(drive.size().raw_pages < 1 << 28, "{}: 8 bytes a page", preset.name);
        assert!(!preset.about.is_empty() && !preset.source.is_empty());
    }
}

#[test]
fn the_presets_of_the_papers_are_those_of_section_9() {
    const GIB: u64 = 1 << 30;
    let drive = |name| Drive::preset(name).expect("a preset");

    let ecr = drive("ecr");
    let size = ecr.size();
    assert_eq!((size.units, size.planes, size.raw_bytes), (64, 512, 64 * GIB));
    assert_eq!(size.logical_pages, 14_260_224, "85% in whole stripes of 512 planes");
    assert_eq!(ecr.device.precondition_writes, 2 * size.logical_pages);
    assert_eq!((ecr.device.data_pages(), ecr.device.bus_ps_per_byte), (63, 25_000));
    assert_eq!(
        (ecr.cache.frames, ecr.cache.evict_wait),
        (vec!["8192p".into()], EvictWait::Program)
    );

    let sac = drive("sac");
    let size = sac.size();
    assert_eq!((size.units, size.planes, size.raw_bytes), (8, 128, 32 * GIB));
    assert_eq!(sac.device.queue_level, QueueLevel::Channel);
    assert_eq!((&*sac.device.read_ns, &*sac.device.program_ns), (&[150_000][..], &[300_000][..]));
    assert_eq!((sac.cache.evict_wait, sac.cache.read_wait), (EvictWait::None, ReadWait::Data));
    assert_eq!(
        sac.cache.frames.first().zip(sac.cache.frames.last()).map(|(a, b)| (&**a, &**b)),
        Some(("131072p", "655360p"))
    );

    let bpac = drive("bpac").size();
    assert_eq!((bpac.units, bpac.raw_pages, bpac.logical_bytes), (1, 19_276 * 64, 4 * GIB));
    let aalru = drive("aalru").size();
    assert_eq!((aalru.raw_pages, aalru.logical_bytes), (39_322 * 64, 4 * GIB));
    assert!((aalru.raw_bytes as f64 / aalru.logical_bytes as f64 - 1.2).abs() < 1e-4);
    let acr = drive("acr");
    assert_eq!((acr.device.logical_pages, acr.device.page_bytes), (32_768, 2048));
    assert_eq!((&*acr.device.read_ns, &*acr.device.program_ns), (&[1][..], &[118][..]));
}

#[test]
fn page_types_of_the_modern_drives_fill_their_blocks_and_average_what_was_published() {
    for (name, mean_ns) in
        [("small", 50_000), ("tlc-sata", 58_000), ("tlc-nvme", 50_000), ("qlc-nvme", 85_000)]
    {
        let device = Drive::preset(name).expect("a preset").device;
        let types = device.read_ns.len() as u64;
        assert_eq!(u64::from(device.pages_per_block) % types, 0, "{name}");
        let mean = device.read_ns.iter().sum::<u64>() / types;
        assert!(mean.abs_diff(mean_ns) < 100, "{name}: {mean}");
    }
}

#[test]
fn a_full_small_drive_collects_from_its_first_writes_on() {
    // Fewer random writes than the preset has: as many as use up what is free.
    let device = spec("small[precondition_writes=1000000]").device;
    assert_eq!(u64::from(device.logical_pages) * u64::from(device.page_bytes), 16 << 30);
    let mut drive = crate::Device::new(&device);
    for lpn in 0..1000 {
        drive.write(DriveLpn(lpn * 4001));
    }
    assert!(drive.counters().gc_runs > 0);
}

#[test]
fn a_depth_needs_a_closed_loop() {
    for depth in ["small[queue_depth=8]", "small[queue_depth=1]", "small[mode=open;queue_depth=8]"]
    {
        let (text, _) = wrong_spec(depth);
        let expected = "queue_depth excludes mode = open: it needs mode = closed (or the option \
                        --queue-depth, queue_depth=)";
        assert_eq!(text, format!("device \"{depth}\": {expected}"));
    }
    let bad = Scratch::new("open.toml", b"[device]\npreset = \"small\"\n[host]\nqueue_depth = 8\n");
    let (text, fault) = wrong_spec(bad.path());
    assert_eq!(fault, Fault::Data);
    assert!(text.contains("open.toml:4:1: queue_depth excludes mode = open"), "{text}");
    let closed = spec(&format!("{}[mode=closed]", bad.path()));
    assert_eq!((closed.host.mode, closed.host.queue_depth), (HostMode::Closed, 8));
    let printed = spec("small[mode=open;queue_depth=1]");
    assert_eq!(Drive::from_json(&printed.to_json()).unwrap().host, printed.host);
}

#[test]
fn a_file_says_all_or_builds_on_a_preset() {
    let drive = parsed(
        "[device]\nchannels = 4\nread_ns = [1, 2]\nprecondition_seed = 0xFFFF_FFFF_FFFF_FFFF\n\
         [cache]\npolicy = \"cflru\"\nwindow_fraction = 0.5\nframes = [\"32MiB\", 9]\nhit_ns = 7\n\
         [host]\nmode = \"closed\"\nqueue_depth = 3\n\
         [trace]\nformat = \"csv\"\ncolumns = { time = \"ts\", offset = 3 }\n[ftl]\n",
    );
    assert_eq!((drive.name.as_str(), drive.preset.as_deref()), ("my", None));
    assert_eq!((drive.device.channels, &*drive.device.read_ns), (4, &[1, 2][..]));
    assert_eq!(drive.device.precondition_seed, u64::MAX);
    assert_eq!(drive.cache.frames, ["32MiB", "9p"]);
    assert_eq!((drive.cache.policy.as_deref(), drive.cache.hit_ns), (Some("cflru"), 7));
    assert_eq!(drive.cache.params["window_fraction"], Value::Real(0.5));
    assert_eq!((drive.host.mode, drive.host.queue_depth), (HostMode::Closed, 3));
    assert_eq!(drive.trace["columns"]["offset"], 3);

    let drive = parsed("[device]\npreset = \"sac\"\nchannels = 2\n[cache]\nhit_ns = 9\n");
    assert_eq!(drive.preset.as_deref(), Some("sac"));
    assert_eq!((drive.device.channels, drive.device.chips_per_channel), (2, 4));
    assert_eq!((drive.cache.hit_ns, drive.cache.read_wait), (9, ReadWait::Data));
}

/// Faulty files, and the beginning of the error message of each.
const MISTAKES: &[(&str, &str)] = &[
    ("[device]\nchannels = ", "my.toml:2:12: expected a value, found the end of the line"),
    ("[device]\nchannels = # 4\n", "my.toml:2:12: expected a value, found the end of the line"),
    (
        "[device]\ngc_mode = foreground",
        "my.toml:2:11: expected a value, found the word foreground without quotation marks",
    ),
    ("[device]\nchannels = 1 2", "my.toml:2:12: "),
    ("[device]\nread_ns = [1, 2", "my.toml:2:16: unclosed array, expected `]`"),
    ("[device]\nchannels 3", "my.toml:2:10: key with no value, expected `=`"),
    ("[device\nchannels = 1", "my.toml:1:"),
    ("[device]\nchannels = 1\nchannels = 2\n", "my.toml:3:1: duplicate key channels"),
    ("[device]\nchannels = 1\n[device]\n", "my.toml:3:"),
    ("channels = 4", "my.toml:1:1: expected a table before the key \"channels\" (tables: [device]"),
    ("[devise]", "my.toml:1:2: unknown table [devise], did you mean device? (tables: [device]"),
    ("device = 4", "my.toml:1:1: expected a table [device], found device = .."),
    ("", "my.toml: expected a table [device], found none"),
    ("[cache]\nhit_ns = 1", "my.toml: expected a table [device], found [cache]"),
    (
        "[device]\n\n  chanels = 4",
        "my.toml:3:3: device: unknown key \"chanels\", did you mean channels?",
    ),
    ("[device]\n\"é\" = 1", "my.toml:2:1: device: unknown key \"é\" (`destage devices"),
    ("[device]\nchannels = 0", "my.toml:2:1: device: channels = 0: expected integer 1.."),
    (
        "[device]\nchannels = 1979-05-27",
        "my.toml:2:12: device: channels: expected a number, text, true, false or a list of \
         these, found a date",
    ),
    (
        "[device.sub]\nchannels = 1",
        "my.toml:1:9: device: sub: expected a number, text, true, false or a list of these, \
         found a table",
    ),
    ("[device]\nchannels = 0xfffffffffffffffffffffffffffffffff", "my.toml:2:12: "),
    ("[device]\npreset = \"ecrr\"", "my.toml:2:1: no preset \"ecrr\", did you mean ecr?"),
    ("[device]\npreset = 3", "my.toml:2:1: device: preset = 3: expected the name of a preset"),
    (
        "[device]\n[cache]\nfrmes = 1",
        "my.toml:3:1: cache: unknown key \"frmes\", did you mean frames?",
    ),
    (
        "[device]\n[cache]\nframes = 0",
        "my.toml:3:1: cache: frames = 0: expected pages, a size such as",
    ),
    ("[device]\n[cache]\nframes = []", "my.toml:3:1: cache: frames = []: expected pages"),
    (
        "[device]\n[host]\nmode = \"shut\"",
        "my.toml:3:1: host: mode = \"shut\": expected open, closed",
    ),
    (
        "[device]\nsched = \"read_first\"\nbus = \"shared\"",
        "my.toml:2:1: sched = read_first excludes bus = shared: it needs bus = private",
    ),
    (
        "[device]\nsched = \"read_first\"\n[host]\nmode = \"closed\"\nwriter = \"trickle\"",
        "my.toml:5:1: writer = trickle excludes mode = closed",
    ),
    (
        "[ftl]\na = 1\n[device]",
        "my.toml:2:1: ftl: unknown key \"a\" (known: none, ftl = page has no parameters)",
    ),
    (
        "[device]\n[cache]\nchannels = 4",
        "my.toml:3:1: cache: unknown key \"channels\": it belongs in [device]",
    ),
    (
        "[device]\nlog_blocks = 4",
        "my.toml:2:1: device: unknown key \"log_blocks\": it belongs in [ftl] (ftl = bast",
    ),
    ("[host]\n[device]\nop_permille = 0", "my.toml:2:2: device: no room for GC"),
];

#[test]
fn a_files_mistakes_have_line_and_column() {
    for &(text, expected) in MISTAKES {
        let error = Drive::parse(text, "my.toml").expect_err(text);
        assert_eq!(error.fault(), Fault::Data);
        let error = error.to_string();
        assert!(error.starts_with(expected), "{text:?}:\n  {error}\n  {expected}");
    }
}

#[test]
fn a_file_that_is_not_there_differs_from_a_bad_one() {
    let (text, fault) = wrong_spec("/no/such/drive.toml");
    assert_eq!((text.as_str(), fault), ("/no/such/drive.toml: no such file", Fault::Missing));
    let (_, fault) = wrong_spec("/no/such/drive.toml[channels=2]");
    assert_eq!(fault, Fault::Missing);
    let bad = Scratch::new("bad.toml", b"[device]\n# \xff\n");
    let (text, fault) = wrong_spec(bad.path());
    assert_eq!(fault, Fault::Data);
    assert!(
        text.ends_with("bad.toml:2:3: expected TOML, found a byte that is not UTF-8"),
        "{text}"
    );
}

#[test]
fn changes_go_before_what_a_preset_or_file_gives() {
    let drive = spec(
        " ecr[gc_mode = background; op_permille=200;read_ns=1_000; mode=closed; \
         host.queue_depth=8] ",
    );
    assert_eq!(
        drive.name,
        "ecr[gc_mode=background;op_permille=200;read_ns=1_000;mode=closed;host.queue_depth=8]"
    );
    assert_eq!((drive.device.gc_mode, &*drive.device.read_ns), (GcMode::Background, &[1000][..]));
    assert!((drive.size().op - 0.2).abs() < 1e-3);
    assert_eq!(drive.host.queue_depth, 8);
    // A key of another table needs no dot where no other table has it.
    let drive = spec("ecr[evict_wait=none;frames=32MiB;program_ns=[1,2];trace.format=msr]");
    assert_eq!(
        (drive.cache.evict_wait, &*drive.cache.frames),
        (EvictWait::None, &["32MiB".into()][..])
    );
    assert_eq!(&*drive.device.program_ns, [1, 2]);
    assert_eq!(drive.trace["format"], "msr");
    assert_eq!(spec("sac[striping=3]").device.striping.name(), "PDWC");
    assert_eq!(spec("ecr[]").name, "ecr");

    let file = Scratch::new("good.toml", "[device]\nsched = \"read_first\"\n");
    assert_eq!(spec(file.path()).device.sched, Sched::ReadFirst);
    let changed = spec(&format!("{}[sched=fcfs]", file.path()));
    assert_eq!((changed.device.sched, changed.preset), (Sched::Fcfs, None));
}

#[test]
fn a_change_of_over_provisioning_is_not_lost_behind_logical_pages() {
    let drive = spec("bpac[op_permille=500]");
    assert_eq!(drive.size().logical_pages, 19_276 * 64 / 2);
    let drive = spec("bpac[op_permille=500;logical_pages=1000]");
    assert_eq!(drive.size().logical_pages, 1000);
    let drive = parsed("[device]\npreset = \"bpac\"\nop_permille = 500\n");
    assert_eq!(drive.size().logical_pages, 19_276 * 64 / 2);
}

#[test]
fn another_policy_takes_no_parameters_from_the_last() {
    let file =
        Scratch::new("policy.toml", "[device]\n[cache]\npolicy = \"cflru\"\nw = 3\nhit_ns = 5\n");
    let drive = spec(&format!("{}[cache.policy=lru-k;cache.k=3]", file.path()));
    assert_eq!(drive.cache.params.keys().collect::<Vec<_>>(), ["k"]);
    assert_eq!(drive.cache.hit_ns, 5);
}

#[test]
fn mistakes_in_a_change_are_the_command_lines() {
    for (text, expected) in [
        ("ecrr", "no preset \"ecrr\", did you mean ecr? (presets: small, ecr,"),
        ("", "no preset \"\" (presets: "),
        ("ecr[channels=2", "the closing ] is missing"),
        ("ecr[channels]", "\"channels\" is no key=value"),
        ("ecr[handles=2,channels=4]", "keys are separated by ; as in ecr[handles=2;channels=4]"),
        ("ecr[channels=2;channels=3]", "channels is given twice"),
        ("ecr[channels=2;device.channels=3]", "device.channels is given twice"),
        ("ecr[chanels=2]", "unknown key \"chanels\", did you mean channels?"),
        ("ecr[device.chanels=2]", "device: unknown key \"chanels\", did you mean channels?"),
        ("ecr[devise.channels=2]", "unknown table \"devise\", did you mean device?"),
        ("ecr[channels=two]", "device: channels = \"two\": expected integer 1.."),
        ("ecr[channels=]", "device: channels = \"\": expected integer 1.."),
        ("ecr[read_ns=[]]", "device: read_ns = []: expected a non-empty list of integers"),
        ("ecr[sched=true]", "device: sched = \"true\": expected fcfs, read_first"),
        ("ecr[preset=sac]", "unknown key \"preset\""),
        ("ecr[ftl.log_blocks=3]", "ftl: unknown key \"log_blocks\""),
        ("ecr[op_permille=20]", "device: no room for GC"),
        ("ecr[cache.w=2]", "cache: unknown key \"w\""),
    ] {
        let (error, fault) = wrong_spec(text);
        assert_eq!(fault, Fault::Usage);
        assert!(error.contains(expected), "{text:?}:\n  {error}\n  {expected}");
    }
}

#[test]
fn the_record_makes_the_same_drive_again() {
    let specs =
        ["ecr[op_permille=200;cache.policy=cflru;cache.w=3;trace.format=msr]", "sac", "qlc-nvme"];
    let drives = specs.map(spec).into_iter();
    for drive in drives.chain([parsed("[device]\nprecondition_seed = 18446744073709551615\n")]) {
        let record = drive.to_json();
        assert_eq!(Drive::from_json(&record).as_ref(), Ok(&drive), "{record}");
        let text = record.to_string();
        let again = serde_json::from_str(&text).expect("JSON");
        assert_eq!(Drive::from_json(&again).as_ref(), Ok(&drive), "{text}");
    }
}

#[test]
fn a_parameter_that_no_policy_takes_is_left_to_the_policy_and_stands_in_the_record() {
    let large = "1".repeat(30);
    let record = spec(&format!("ecr[cache.policy=lru-k;cache.k={large};cache.x=nan]")).to_json();
    assert_eq!(record["cache"]["k"], large.parse::<f64>().expect("a number"));
    assert_eq!(record["cache"]["x"], "nan");
}

#[test]
fn a_broken_record_names_the_key() {
    let mut record = Drive::preset("ecr").expect("a preset").to_json();
    record["device"]["channels"] = "eight".into();
    let error = Drive::from_json(&record).expect_err("no number");
    assert_eq!(error.fault(), Fault::Data);
    assert!(
        error.to_string().contains("device: channels = \"eight\": expected integer"),
        "{error}"
    );
    let error = Drive::from_json(&Json::Null).expect_err("no record").to_string();
    assert!(error.starts_with("record of a device: "), "{error}");
}

#[test]
fn any_part_of_a_file_is_a_drive_or_an_error_with_a_place() {
    let text =
        "[device]\npreset = \"ecr\" # \u{e9}\nread_ns = [1, 2]\n[cache]\nframes = \"\u{1F4BE}\"\n";
    for from in (0..text.len()).filter(|&byte| text.is_char_boundary(byte)) {
        for to in (from..=text.len()).filter(|&byte| text.is_char_boundary(byte)) {
            let parts = [text[from..to].to_string(), [&text[..from], &text[to..]].concat()];
            for part in parts {
                if let Err(error) = Drive::parse(&part, "my.toml") {
                    assert!(error.to_string().starts_with("my.toml:"), "{part:?}: {error}");
                    assert_eq!(error.fault(), Fault::Data);
                }
            }
        }
    }
}

#[test]
fn another_placement_policy_takes_the_place_of_the_drives_with_its_keys() {
    let two = "fdp[handles=2;placement=sepbit;window=4]";
    assert_eq!(spec(two).device.placement_label(), "sepbit[window=4]");
    for (placement, name, label) in [
        ("none", "fdp[handles=2]", "none"),
        ("sepbit", "fdp[handles=2;placement=sepbit]", "sepbit"),
        ("fk[steps=linear]", "fdp[handles=2;placement=fk;steps=linear]", "fk[steps=linear]"),
        (
            " by-size[thresholds=[65536]] ",
            "fdp[handles=2;placement=by-size;thresholds=[65536]]",
            "by-size[thresholds=[65536]]",
        ),
    ] {
        let changed = spec(two).with_placement(placement).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((&changed.name[..], &changed.device.placement_label()[..]), (name, label));
        // The name is one that can be typed, and all but the policy is as it was.
        let typed = spec(name);
        assert_eq!(typed.device, changed.device);
        assert_eq!((&changed.host, &changed.cache), (&spec(two).host, &spec(two).cache));
        assert_eq!(Drive::from_json(&changed.to_json()).unwrap().device, changed.device);
    }
    let file = parsed("[device]\nhandles = 2\n[placement]\npolicy = \"sepbit\"\n");
    let none = file.with_placement("none").unwrap();
    assert_eq!(none.name, format!("{}[placement=none]", file.name), "the file says otherwise");
}

#[test]
fn what_excludes_itself_is_told_from_what_is_wrong() {
    let error = |drive: &str, placement: &str| spec(drive).with_placement(placement).unwrap_err();
    for (drive, placement, excludes, part) in [
        ("small", "sepbit", true, "policy = sepbit excludes handles = 1"),
        ("fdp[handles=3]", "by-size[thresholds=[7]]", false, "thresholds = [7]: expected 2"),
        ("fdp", "sepbit[steps=linear]", false, "steps is a key of policy = fk"),
        ("fdp", "fkk", false, "unknown placement policy \"fkk\", did you mean fk?"),
        ("fdp", "sepbit[window=1", false, "the closing ] is missing"),
    ] {
        let error = error(drive, placement);
        assert_eq!(error.excludes(), excludes, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let flush = spec("small[ftl=dftl]").with_flush(FlushMode::Drain).unwrap_err();
    assert!(flush.excludes() && flush.to_string().contains("flush = drain"), "{flush}");
    assert_eq!(spec("fdp").with_flush(FlushMode::Drain).unwrap().host.flush, FlushMode::Drain);
}

#[test]
fn a_change_may_put_right_what_a_file_alone_excludes() {
    let text = "[device]\npreset = \"fdp\"\nisolation = \"assigned\"\n";
    let file = Scratch::new("assigned.toml", text);
    let with = |changes: &str| Drive::from_spec(&format!("{}{changes}", file.path()));
    let alone = with("").unwrap_err();
    assert_eq!(alone.fault(), Fault::Data);
    assert!(alone.to_string().contains("policy = none excludes isolation = assigned"), "{alone}");
    assert_eq!(
        with("[placement=fk;steps=linear]").unwrap().device.placement_label(),
        "fk[steps=linear]"
    );
    // Another one that it excludes is the change's fault, and so is none at all.
    for policy in ["none", "by-cache"] {
        let error = with(&format!("[placement={policy}]")).unwrap_err();
        assert!(error.excludes(), "{error}");
        assert!(error.to_string().contains(&format!("policy = {policy} excludes")), "{error}");
    }
    // What has nothing to do with it leaves the file's own fault, with its place.
    assert_eq!(with("[read_ns=1000]").unwrap_err().to_string(), alone.to_string());
    let nonsense = Scratch::new("nonsense.toml", format!("{text}nonsense = 1\n"));
    let error = Drive::from_spec(&format!("{}[placement=fk]", nonsense.path())).unwrap_err();
    assert!(error.to_string().contains(":4:1: device: unknown key"), "{error}");
}
