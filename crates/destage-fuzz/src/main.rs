//! Runs fuzz targets on the stable toolchain:
//! `destage-fuzz [--time SECONDS] [--patience SECONDS] [--seed N] [TARGET...]`.
//!
//! Inputs follow from the seed alone. What breaks a target is cut down and written to
//! `fuzz/finds/TARGET/`, and the status is 1; `destage-fuzz TARGET --input FILE` feeds one file,
//! `destage-fuzz TARGET --samples FOLDER` writes what a guided run begins with.

use destage_fuzz::{Find, Mutator, TARGETS, Target, Watch, regressions, root, target};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Longest input; what a reader does with more it does with the next part of it.
const MOST_BYTES: usize = 1 << 16;
/// An input that takes longer, in seconds of processor time, hangs, if nothing else is said.
const PATIENCE: f64 = 60.0;
/// Inputs of a corpus where there are no samples, and the longest of them.
const DRAWN: usize = 64;
const DRAWN_BYTES: usize = 1 << 12;
/// Seconds for each target where nothing is said.
const SECONDS: f64 = 10.0;

struct Arguments {
    targets: Vec<&'static Target>,
    time: Duration,
    patience: Duration,
    seed: u64,
    input: Option<PathBuf>,
    samples: Option<PathBuf>,
}

fn main() -> ExitCode {
    let asked = match asked(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(said) => {
            eprintln!("destage-fuzz: {said}");
            return ExitCode::from(2);
        }
    };
    if let Some(file) = &asked.input {
        return feed_one(&asked, file);
    }
    if let Some(folder) = &asked.samples {
        return write_samples(&asked, folder);
    }
    // What a panic says is kept with the input; it need not be said twice.
    std::panic::set_hook(Box::new(|_| {}));
    let mut finds = 0;
    for target in &asked.targets {
        finds += run(target, &asked);
    }
    if finds > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn asked(mut args: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut asked = Arguments {
        targets: Vec::new(),
        time: Duration::from_secs_f64(SECONDS),
        patience: Duration::from_secs_f64(PATIENCE),
        seed: 1,
        input: None,
        samples: None,
    };
    while let Some(arg) = args.next() {
        let mut value = |what: &str| args.next().ok_or(format!("{arg}: expected {what}"));
        match arg.as_str() {
            "--time" => asked.time = seconds(&arg, &value("seconds")?)?,
            "--patience" => asked.patience = seconds(&arg, &value("seconds")?)?,
            "--seed" => {
                let given = value("a number")?;
                asked.seed = given.parse().map_err(|_| format!("--seed: not a number: {given}"))?;
            }
            "--input" => asked.input = Some(value("a file")?.into()),
            "--samples" => asked.samples = Some(value("a folder")?.into()),
            name => asked.targets.push(target(name).ok_or_else(|| unknown(name))?),
        }
    }
    if asked.targets.is_empty() {
        asked.targets.extend(TARGETS);
    }
    Ok(asked)
}

fn seconds(flag: &str, given: &str) -> Result<Duration, String> {
    let seconds = given.parse().ok().filter(|s: &f64| (0.0..1e6).contains(s));
    let seconds = seconds.ok_or(format!("{flag}: expected seconds, got {given}"))?;
    Ok(Duration::from_secs_f64(seconds))
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    format!("unknown target {name} (known: {})", names.join(", "))
}

fn feed_one(asked: &Arguments, file: &Path) -> ExitCode {
    match (std::fs::read(file), asked.targets.as_slice()) {
        (Err(error), _) => {
            eprintln!("destage-fuzz: {}: {error}", file.display());
            ExitCode::from(66)
        }
        (Ok(bytes), [target]) => {
            (target.run)(&bytes);
            println!("{}: {} bytes taken", target.name, bytes.len());
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("destage-fuzz: --input takes one target");
            ExitCode::from(2)
        }
    }
}

/// Writes a corpus to begin from: a target's samples, or inputs where these are drawn, and what was
/// found in it before.
fn write_samples(asked: &Arguments, folder: &Path) -> ExitCode {
    let [target] = asked.targets.as_slice() else {
        eprintln!("destage-fuzz: --samples takes one target");
        return ExitCode::from(2);
    };
    let before = regressions(target).into_iter().map(|(_, bytes)| bytes);
    let mut samples = target.beginnings();
    if samples.is_empty() {
        let mut mutator = Mutator::new(asked.seed, DRAWN_BYTES);
        samples.extend((0..DRAWN).map(|_| mutator.input(&[])));
    }
    samples.extend(before);
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let mut files = samples.iter().enumerate();
        files.try_for_each(|(i, bytes)| std::fs::write(folder.join(format!("{i:05}")), bytes))
    });
    match written {
        Ok(()) => {
            println!("{}: {} samples", target.name, samples.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("destage-fuzz: {}: {error}", folder.display());
            ExitCode::from(73)
        }
    }
}

/// Feeds a target for its time; returns how often it broke in different ways.
fn run(target: &'static Target, asked: &Arguments) -> usize {
    let samples = target.beginnings();
    let mut mutator = Mutator::new(asked.seed, MOST_BYTES);
    let patience = asked.patience;
    let watch = Watch::new(target, patience, move |bytes| {
        let said = format!("it takes longer than {} s", patience.as_secs_f64());
        let find = Find { bytes: bytes.to_vec(), said };
        eprintln!("{}", keep(target, &find));
        std::process::exit(1);
    });
    let mut finds: Vec<Find> = Vec::new();
    let mut fed = 0_u64;
    let began = Instant::now();
    let before = regressions(target).into_iter().map(|(_, bytes)| bytes);
    let mut whole = before.chain(samples.iter().cloned()).collect::<Vec<_>>().into_iter();
    loop {
        let bytes = whole.next().unwrap_or_else(|| mutator.input(&samples));
        fed += 1;
        if let Some(find) = watch.feed(&bytes)
            && !finds.iter().any(|other| other.said == find.said)
        {
            eprintln!("{}", keep(target, &find));
            finds.push(find);
        }
        if began.elapsed() >= asked.time && whole.len() == 0 {
            break;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{:<12} {fed:>9} inputs, {:>8.0} a second, {} finds (seed {})",
        target.name,
        fed as f64 / seconds,
        finds.len(),
        asked.seed
    );
    finds.len()
}

/// Writes an input that breaks a target; returns what to say of it.
fn keep(target: &Target, find: &Find) -> String {
    let folder = root().join("fuzz/finds").join(target.name);
    // FNV-1a: the same input has the same name.
    let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let name = format!("{:016x}", find.bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(&name), &find.bytes));
    let place = match written {
        Ok(()) => format!("fuzz/finds/{}/{name}", target.name),
        Err(error) => format!("nowhere ({error}): {:?}", find.bytes),
    };
    format!("{}: {}\n  input of {} bytes in {place}", target.name, find.said, find.bytes.len())
}
