//! Runs fuzz targets on the stable toolchain:
//! `destage-fuzz [--time SECONDS] [--seed N] [TARGET...]`.
//!
//! Inputs follow from the seed alone. What breaks a target is cut down and written to
//! `fuzz/finds/TARGET/`, and the status is 1; `destage-fuzz TARGET --input FILE` feeds one file.

use destage_fuzz::{Find, Mutator, TARGETS, Target, Watch, regressions, root, target};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Longest input; what a reader does with more it does with the next part of it.
const MOST_BYTES: usize = 1 << 16;
/// An input that takes longer, in processor time, hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Seconds for each target where nothing is said.
const SECONDS: f64 = 10.0;

struct Asked {
    targets: Vec<&'static Target>,
    time: Duration,
    seed: u64,
    input: Option<PathBuf>,
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
    // What a panic says is kept with the input; it need not be said twice.
    std::panic::set_hook(Box::new(|_| {}));
    let mut finds = 0;
    for target in &asked.targets {
        finds += run(target, &asked);
    }
    if finds > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn asked(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked =
        Asked { targets: Vec::new(), time: Duration::from_secs_f64(SECONDS), seed: 1, input: None };
    while let Some(arg) = args.next() {
        let mut value = |what: &str| args.next().ok_or(format!("{arg}: expected {what}"));
        match arg.as_str() {
            "--time" => {
                let given = value("seconds")?;
                let seconds = given.parse().ok().filter(|s: &f64| (0.0..1e6).contains(s));
                let seconds = seconds.ok_or(format!("--time: expected seconds, got {given}"))?;
                asked.time = Duration::from_secs_f64(seconds);
            }
            "--seed" => {
                let given = value("a number")?;
                asked.seed = given.parse().map_err(|_| format!("--seed: not a number: {given}"))?;
            }
            "--input" => asked.input = Some(value("a file")?.into()),
            name => asked.targets.push(target(name).ok_or_else(|| unknown(name))?),
        }
    }
    if asked.targets.is_empty() {
        asked.targets.extend(TARGETS);
    }
    Ok(asked)
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    format!("unknown target {name} (known: {})", names.join(", "))
}

fn feed_one(asked: &Asked, file: &Path) -> ExitCode {
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

/// Feeds a target for its time; returns how often it broke in different ways.
fn run(target: &'static Target, asked: &Asked) -> usize {
    let samples = target.beginnings();
    let mut mutator = Mutator::new(asked.seed, MOST_BYTES);
    let watch = Watch::new(target, PATIENCE, |bytes| {
        let said = format!("it takes longer than {} s", PATIENCE.as_secs());
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
