"""How many faults the Rust tests notice: mutation testing of a random sample (docs/trust.md).

    python .ci/mutants.py [--seed N] [--each N] [--work DIR] [--jobs N]

`cargo mutants --list` says where a fault can be put and which (`cargo install cargo-mutants`). A
sample of them is built into one copy of the sources, each behind a switch that an environment
variable turns: one build serves them all. Then every test is run once alone, to learn its time and
which mutants it reaches, and each mutant is judged by the tests that reach it, the short ones
first, until one of them fails. The same seed and sources choose the same mutants.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: What is mutated: the area of the first pattern that a path under `crates/` matches.
AREAS: list[tuple[str, str]] = [
    ("", r".*/(check|testing|tests?)\.rs|.*/tests/.*"),  # assertions: a fault there hides no other
    ("counters", r"destage-ssd/src/(ftl/counters|queues/counts|records)\.rs"),
    (
        "counters",
        r"destage-engine/src/(counters|cost|series|windows|distribution|observe|warmup)\.rs",
    ),
    ("counters", r"destage-engine/src/timed/(counters|ledger|profile|timeline|course)\.rs"),
    ("counters", r"destage-engine/src/result/(metrics|metric|today|debt|steady)\.rs"),
    ("policies", r"destage-policies/src/.*"),
    ("ftls", r"destage-ssd/src/(ftl|placement)/.*"),
    ("drive", r"destage-ssd/src/(device|queues|interface)/.*"),
    (
        "drive",
        r"destage-ssd/src/(device|queues|interface|bus|when|timing|read_first|geometry|untimed"
        r"|filling|precondition|prepare|saturation|divisor)\.rs",
    ),
    ("drive", r"destage-engine/src/timed/.*"),
]
#: Functions that only tell the processor what to load next change no result.
ONLY_SPEED = re.compile(r"::(warm|warm_links|warm_\w+|prefetch\w*|near|hint\w*)$")
#: Whose tests judge.
PACKAGES = ["policies", "ssd", "engine"]

#: The switch, in the crate that all others know.
SWITCH = """
#[doc(hidden)]
pub mod mutant {
    #![allow(missing_docs)]
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    const UNREAD: u32 = u32::MAX;
    const RECORDING: u32 = u32::MAX - 1;
    static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
    static REACHED: [AtomicBool; 8192] = [const { AtomicBool::new(false) }; 8192];
    unsafe extern "C" {
        safe fn atexit(call: extern "C" fn()) -> i32;
    }
    #[inline]
    pub fn is(number: u32) -> bool {
        let active = ACTIVE.load(Relaxed);
        active == number || (active >= RECORDING && asked(number))
    }
    #[cold]
    fn asked(number: u32) -> bool {
        if ACTIVE.load(Relaxed) == UNREAD {
            let given = std::env::var("DESTAGE_MUTANT").unwrap_or_default();
            let active = if given == "record" { RECORDING } else { given.parse().unwrap_or(0) };
            if ACTIVE.swap(active, Relaxed) == UNREAD && active == RECORDING {
                atexit(written);
            }
            return is(number);
        }
        REACHED[number as usize].store(true, Relaxed);
        false
    }
    extern "C" fn written() {
        let numbers = (0..8192).filter(|&n: &usize| REACHED[n].load(Relaxed));
        let text: String = numbers.map(|n| format!("{n} ")).collect();
        if let Some(file) = std::env::var_os("DESTAGE_MUTANTS_REACHED") {
            let _ = std::fs::write(file, text);
        }
    }
}
"""


@dataclass
class Mutant:
    """A fault, and what became of it."""

    area: str
    name: str
    file: str
    replacement: str
    genre: str
    span: tuple[int, int]  # what is replaced: offsets in the file
    body: tuple[int, int]  # the block of its function
    number: int = 0
    verdict: str = ""
    by: str = ""


@dataclass
class Test:
    """One test of one executable."""

    executable: Path
    folder: Path
    name: str
    seconds: float = 0.0
    reaches: set[int] = field(default_factory=set)

    def run(self, environment: dict[str, str], patience: float) -> str:
        """`passed`, `failed` or `timeout`."""
        call = [self.executable, "--exact", self.name, "--test-threads=1"]
        env = {k: v for k, v in os.environ.items() if not k.startswith("DESTAGE_")}
        env |= {"PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
        env |= {"PROPTEST_RNG_SEED": "20", "RUST_BACKTRACE": "0", "CARGO_TERM_COLOR": "never"}
        try:
            done = subprocess.run(
                call,
                cwd=self.folder,
                env=env | environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=patience,
                preexec_fn=_limited,
            )
        except subprocess.TimeoutExpired:
            return "timeout"
        return "passed" if done.returncode == 0 else "failed"


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def area_of(file: str) -> str:
    """The area that a source file belongs to, or nothing."""
    path = file.removeprefix("crates/")
    return next((area for area, pattern in AREAS if re.fullmatch(pattern, path)), "")


def opening(text: str, start: int) -> int:
    """Where the block of the function at `start` opens: the first brace outside of brackets."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|r(#+)".*?"\1|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[()\[\]{}]', re.S
    )
    depth, at = 0, start
    while found := token.search(text, at):
        at = found.end()
        match found.group():
            case "{" if depth == 0:
                return found.start()
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth -= 1
    raise ValueError(f"no block after {text[start : start + 80]!r}")


def said_of(root: Path) -> str:
    """What cargo-mutants lists, kept for these sources beside them."""
    sources = b"".join(path.read_bytes() for path in sorted(root.glob("crates/*/src/**/*.rs")))
    kept = root.parent / f"list-{hashlib.sha256(sources).hexdigest()[:16]}.json"
    if not kept.exists():
        call = ["cargo", "mutants", "--list", "--json", "--colors=never"]
        done = subprocess.run(call, cwd=root, capture_output=True, text=True, check=True)
        kept.write_text(done.stdout)
    return kept.read_text()


def listed(root: Path) -> list[Mutant]:
    """Every mutant that cargo-mutants names in the areas, less those that a switch cannot hold."""
    texts: dict[str, str] = {}
    found = []
    for one in json.loads(said_of(root)):
        area, function = area_of(one["file"]), one["function"]
        if not area or function is None or ONLY_SPEED.search(function["function_name"]):
            continue
        text = texts.setdefault(one["file"], (root / one["file"]).read_text())
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        first, last = (
            [starts[s[end]["line"] - 1] + s[end]["column"] - 1 for end in ("start", "end")]
            for s in (one["span"], function["span"])
        )
        block = opening(text, last[0])
        head = text[last[0] : block]
        if re.search(r"\bconst fn\b", head) or "impl " in function["return_type"]:
            continue  # cannot look at a switch; two branches would be two types
        span, body = (first[0], first[1]), (block, last[1])
        found.append(
            Mutant(area, one["name"], one["file"], one["replacement"], one["genre"], span, body)
        )
    return found


def chosen(mutants: list[Mutant], each: int, seed: int, out: set[str]) -> list[Mutant]:
    """So many of each area, at random; none whose name is in `out`."""
    found = []
    for area in dict.fromkeys(area for area, _ in AREAS if area):
        own = sorted((m for m in mutants if m.area == area), key=lambda m: (m.name, m.replacement))
        random.Random(f"{seed} {area}").shuffle(own)
        found += [m for m in own if m.name not in out][:each]
    for number, mutant in enumerate(found, 1):
        mutant.number = number
    return found


def mutated(text: str, mutants: list[Mutant]) -> tuple[str, list[tuple[int, int, Mutant]]]:
    """A file with all its mutants behind switches, and which lines are whose."""
    blocks: dict[tuple[int, int], list[Mutant]] = {}
    for mutant in mutants:
        holders = [m.body for m in mutants if _holds(m.body, mutant.body)]
        blocks.setdefault(min(holders), []).append(mutant)
    places: list[tuple[int, int, Mutant]] = []
    out, at = "", 0
    for (start, end), own in sorted(blocks.items()):
        out += text[at:start] + "{\n"
        for mutant in own:
            first, last = mutant.span
            body = text[start:first] + mutant.replacement + " " + text[last:end]
            if mutant.genre == "FnValue" and mutant.body == (start, end):
                body = "{ " + mutant.replacement + " }"
            line = out.count("\n") + 1
            out += f"if ::destage_core::mutant::is({mutant.number}) {body} else\n"
            places.append((line, out.count("\n"), mutant))
        out += text[start:end] + "\n}"
        at = end
    return out + text[at:], places


def _holds(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def build(
    root: Path, tree: Path, mutants: list[Mutant], files: set[str]
) -> tuple[list[dict[str, Any]], set[str]]:
    """The test executables with these mutants, or the names of those that do not compile."""
    places: dict[str, list[tuple[int, int, Mutant]]] = {}
    files |= {m.file for m in mutants}  # and those that have none any more
    for file in files:
        own = [m for m in mutants if m.file == file]
        text, places[file] = mutated((root / file).read_text(), own)
        _written(tree / file, text.encode())
    core = "crates/destage-core/src/lib.rs"
    _written(tree / core, (root / core).read_bytes() + SWITCH.encode())
    packages = [word for p in PACKAGES for word in ("-p", f"destage-{p}")]
    call = ["cargo", "test", "--no-run", "--message-format=json", "--lib", "--tests"]
    done = subprocess.run([*call, *packages], cwd=tree, capture_output=True, text=True)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode == 0:
        return [m for m in said if m.get("executable") and m["profile"]["test"]], set()
    bad = set()
    for one in said:
        message = one.get("message", {})
        if one["reason"] != "compiler-message" or message["level"] != "error":
            continue
        for span in message["spans"]:
            for first, last, mutant in places.get(span["file_name"], []):
                if first <= span["line_start"] <= last:
                    bad.add(mutant.name)
    if not bad:
        sys.exit(f"mutants: the copy does not build:\n{done.stderr[-3000:]}")
    return [], bad


def _written(path: Path, content: bytes) -> None:
    if path.read_bytes() != content:  # what has not changed is not compiled again
        path.write_bytes(content)


def copied(root: Path, tree: Path) -> None:
    """The files that git knows, as they are now."""
    known = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    )
    for name in filter(None, known.stdout.split("\0")):
        source, target = root / name, tree / name
        if source.is_file() and not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        elif source.is_file():
            _written(target, source.read_bytes())


def tests_of(artefacts: list[dict[str, Any]]) -> list[Test]:
    """Every test of the executables."""
    found = []
    for one in artefacts:
        executable = Path(one["executable"])
        call = [str(executable), "--list", "--format=terse"]
        said = subprocess.run(call, capture_output=True, text=True, check=True).stdout
        folder = Path(one["manifest_path"]).parent
        for line in said.splitlines():
            if line.endswith(": test"):
                found.append(Test(executable, folder, line.removesuffix(": test")))
    return found


def learn(test: Test, folder: Path) -> None:
    """Run a test alone: how long it takes, and which mutants it reaches."""
    file = Path(tempfile.mkstemp(dir=folder)[1])
    began = time.monotonic()
    environment = {"DESTAGE_MUTANT": "record", "DESTAGE_MUTANTS_REACHED": str(file)}
    result = test.run(environment, 900)
    test.seconds = time.monotonic() - began
    if result != "passed":
        print(f"mutants: {test.name} {result} without a mutant: left out", file=sys.stderr)
    else:
        test.reaches = set(map(int, file.read_text().split()))
    file.unlink()


def judge(mutant: Mutant, tests: list[Test]) -> None:
    """Let the tests that reach a mutant judge it, the short ones first."""
    reaching = sorted((t for t in tests if mutant.number in t.reaches), key=lambda t: t.seconds)
    mutant.verdict = "survived" if reaching else "not reached"
    for test in reaching:
        result = test.run({"DESTAGE_MUTANT": str(mutant.number)}, 20 + 10 * test.seconds)
        if result != "passed":
            mutant.verdict = "killed" if result == "failed" else "timeout"
            mutant.by = test.name
            break


def together(jobs: int, call: Callable[[Any], None], many: list[Any]) -> None:
    """Call it with each, several at once; a word now and then."""
    with ThreadPoolExecutor(jobs) as pool:
        for done, _ in enumerate(pool.map(call, many), 1):
            if done % 50 == 0 or done == len(many):
                print(f"  {done} of {len(many)}", file=sys.stderr, flush=True)


def table(mutants: list[Mutant], population: dict[str, int]) -> str:
    """What became of them, by area, as rows of Markdown; then those that no test noticed."""
    rows = [
        "| area | mutants | of | killed | timeouts | survived | noticed |",
        "|---|" + "--:|" * 6,
    ]
    for area, all_of_them in population.items():
        own = [m.verdict for m in mutants if m.area == area]
        noticed = own.count("killed") + own.count("timeout")
        lives = len(own) - noticed
        share = f"{100 * noticed / max(len(own), 1):.1f} %"
        numbers = [len(own), all_of_them, own.count("killed"), own.count("timeout"), lives, share]
        rows.append(f"| {area} | " + " | ".join(map(str, numbers)) + " |")
    lives = [m for m in mutants if m.verdict in ("survived", "not reached")]
    return "\n".join([*rows, "", *(f"{m.verdict}: {m.name}" for m in lives)])


def main() -> int:
    """Sample, build, learn, judge; print the table and keep every verdict as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=20, help="of the sample (20)")
    parser.add_argument("--each", type=int, default=90, help="mutants of each area (90)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="tests at once")
    parser.add_argument("--work", type=Path, default=ROOT / "target" / "mutants")
    parser.add_argument("--name", default="", help="only mutants whose name has this in it")
    asked = parser.parse_args()
    # One copy to read from, whatever is edited meanwhile, and one to build in.
    root, tree = asked.work / "sources", asked.work / "tree"
    copied(ROOT, root)
    copied(ROOT, tree)
    everything = [m for m in listed(root) if asked.name in m.name]
    out: set[str] = set()
    files: set[str] = set()
    while True:
        mutants = chosen(everything, asked.each, asked.seed, out)
        print(f"{len(mutants)} mutants, {len(out)} do not compile", file=sys.stderr, flush=True)
        artefacts, bad = build(root, tree, mutants, files)
        if not bad:
            break
        out |= bad
    tests = tests_of(artefacts)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{len(tests)} tests, each alone", file=sys.stderr, flush=True)
        together(asked.jobs, lambda test: learn(test, Path(folder)), tests)
    together(asked.jobs, lambda mutant: judge(mutant, tests), mutants)
    population = {a: sum(m.area == a for m in everything) for a, _ in AREAS if a}
    print(table(mutants, population))
    kept = [{k: v for k, v in vars(m).items() if k not in ("span", "body")} for m in mutants]
    (asked.work / "mutants.json").write_text(json.dumps(kept, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
