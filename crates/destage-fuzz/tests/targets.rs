//! Every target over what was found before, over its samples, and over a few hundred inputs; and
//! the driver notices what it is there to notice.

use destage_fuzz::{Mutator, TARGETS, Target, Watch, regressions};
use std::sync::mpsc;
use std::time::Duration;

/// Inputs of a target whose samples are files, and of one whose inputs are drawn and cost more.
const FILES: usize = 300;
const DRAWN: usize = 20;

fn survives(target: &'static Target) {
    for (_, bytes) in regressions(target) {
        (target.run)(&bytes);
    }
    let samples = target.beginnings();
    for bytes in &samples {
        (target.run)(bytes);
    }
    let mut mutator = Mutator::new(20, 1 << 14);
    for _ in 0..if samples.is_empty() { DRAWN } else { FILES } {
        (target.run)(&mutator.input(&samples));
    }
}

macro_rules! targets {
    ($($test:ident: $name:literal;)*) => {
        $(#[test]
        fn $test() {
            survives(destage_fuzz::target($name).expect("a target"));
        })*

        #[test]
        fn every_target_is_run() {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

targets! {
    readers: "readers";
    chains: "chains";
    opening: "opening";
    decoded: "decoded";
    options: "options";
    drive_files: "drive-file";
    specs: "specs";
    conformance: "conformance";
    conversations: "nbd";
    policies: "policies";
    ftls: "ftls";
    drives: "drives";
    drives_of_other_ftls: "drives-ftl";
    current_drives: "drives-interface";
    drives_with_a_map_cache: "drives-map";
}

/// Breaks on `!`, works long on `?`, waits long on `.`.
static FRAGILE: Target = Target {
    name: "fragile",
    takes: "",
    holds: "",
    run: |bytes| {
        assert!(!bytes.contains(&b'!'), "a cry");
        if bytes.contains(&b'?') {
            let began = cpu_time::ProcessTime::now();
            while began.elapsed() < Duration::from_secs(1) {
                std::hint::spin_loop();
            }
        }
        if bytes.contains(&b'.') {
            std::thread::sleep(Duration::from_secs(4));
        }
    },
    samples: Vec::new,
};

#[test]
fn a_panic_is_a_find_and_its_input_is_cut_down() {
    let watch = Watch::new(&FRAGILE, Duration::from_secs(60), |_| {});
    assert!(watch.feed(b"nothing to see").is_none());
    let find = watch.feed(b"a long input with a ! in its middle").expect("it breaks");
    assert_eq!((find.bytes.as_slice(), find.said.as_str()), (&b"!"[..], "a cry"));
}

#[test]
fn an_input_that_takes_too_long_is_told() {
    for input in [&b"why?"[..], b"wait."] {
        let (tell, told) = mpsc::channel();
        let hangs = move |bytes: &[u8]| tell.send(bytes.to_vec()).expect("somebody listens");
        let watch = Watch::new(&FRAGILE, Duration::from_millis(200), hangs);
        assert!(watch.feed(input).is_none());
        assert_eq!(told.recv_timeout(Duration::from_secs(60)).as_deref(), Ok(input));
    }
}

#[test]
fn the_same_seed_draws_the_same_inputs() {
    let samples = vec![b"one sample".to_vec(), b"2,another,17".to_vec()];
    let inputs = |seed| {
        let mut mutator = Mutator::new(seed, 1000);
        (0..50).map(|_| mutator.input(&samples)).collect::<Vec<_>>()
    };
    assert_eq!(inputs(7), inputs(7));
    assert_ne!(inputs(7), inputs(8));
}
