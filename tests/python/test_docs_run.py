"""The documentation's commands, Python and files run as printed."""

from __future__ import annotations

import gzip
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import MAIN, ROOT, msr_lines
from test_docs import PAGES, blocks, commands

import destage as ds
from destage.cli import invoke

DOCS = ROOT / "docs"

#: Commands that are not run here: what they are about, and where that is run instead.
ELSEWHERE = {
    "destage compare TRACE -p lru,ecr-e,gcar-cflru": "a large recording; test_asking.py",
    "destage advise my_trace.csv.gz -d small": "long where others run too; test_advise.py",
    "destage doctor": "test_doctor.py",
    "destage demo": "test_printed_output.py",
    "destage advise db.csv.zst": "a line that `destage record` prints; test_record.py",
    "destage mrc huge.csv.zst -p lru,arc,s3-fifo": "forty pages have no sample; test_sampling.py",
    "destage mrc huge.csv.zst -p lru,clock,cflru": "the same",
    "destage compare TRACE -p lru,arc,gcar-cflru,ecr-e,ecr,min": "a claim; test_own_claims.py",
    "destage reproduce": "hours; test_reproduce_runs.py runs each paper on a small scale",
    "destage sweep sweep.toml --store runs --engine dask": "test_sweep_cluster.py",
    "destage sweep sweep.toml --store runs --jobs 8 --shard": "a scheduler's variables; as below",
    "destage trace profile hm_0.csv.gz --figures": "half a minute; test_profile.py",
}

#: The specification of docs/sweeps.md with fewer runs: its own is counted, not run.
SMALLER = """
[sweep]
traces = ["traces/*.csv.xz", {synth = "zipf", requests = 400, pages = 60}]
policies = ["lru", "arc", {name = "cflru", window_fraction = [0.25, 0.5]}]
cache = ["1%", "10%"]
repeat = 2
"""


def elsewhere(line: str) -> str | None:
    return next((why for begin, why in ELSEWHERE.items() if line.startswith(begin)), None)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    text = "".join(msr_lines(300)).encode()
    for name in ("my_trace.csv.gz", "hm_0.csv.gz", "TRACE", "tencent.csv.gz"):
        (tmp_path / name).write_bytes(gzip.compress(text))
    for name in ("long.csv", "huge.csv.zst"):
        (tmp_path / name).write_bytes(text)  # The content says what it is, not the name.
    (tmp_path / "my.toml").write_text(blocks(DOCS / "reference" / "devices.md", "toml")[0])
    (tmp_path / "my-device.toml").write_text('[device]\npreset = "acr"\n')
    traces = tmp_path / "traces"
    traces.mkdir()
    shutil.copy(tmp_path / "long.csv", traces / "one.csv.xz")
    return tmp_path


def run_all(page: Path) -> int:
    """Run the commands of a page, in order; how many there were."""
    ran = 0
    for words in commands(page):
        line = " ".join(words)
        if elsewhere(line):
            continue
        assert invoke(words[1:]) == 0, line
        ran += 1
    return ran


RUN = [
    *("asking", "add-a-policy", "advise", "curves", "reference/devices", "reference/ftls"),
    *("sampling", "reference/profile-figures"),
    *("start-paper", "start-drive", "start-store"),
]


@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_page_run(name: str, desk: Path) -> None:
    pytest.importorskip("altair")
    assert run_all(DOCS / f"{name}.md") >= 1


def test_the_sweep_of_the_docs_is_counted_and_a_smaller_one_goes_through_the_whole_page(
    desk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    printed = blocks(DOCS / "sweeps.md", "toml")[0]
    # Its devices are filled for each seed and mode, which takes long with `small`.
    for long, short in (('"small"', '"acr"'), ("1_000_000", "1_000"), ("repeat = 5", "repeat = 1")):
        assert long in printed
        printed = printed.replace(long, short)
    (desk / "sweep.toml").write_text(printed)
    assert invoke(["sweep", "sweep.toml", "--dry-run"]) == 0
    assert "160 runs in" in capfd.readouterr().out
    (desk / "sweep.toml").write_text(SMALLER)
    for shard in ("1", "2"):
        store = f"shard-{shard}"
        assert invoke(["sweep", "sweep.toml", "--store", store, "--shard", f"{shard}/2"]) == 0
    for store in ("before", "after", "runs-of-yesterday"):
        shutil.copytree(desk / "shard-1", desk / store)
    assert run_all(DOCS / "sweeps.md") >= 15
    # The same from Python, which begins it again.
    shutil.rmtree(desk / "runs")
    names: dict[str, object] = {"destage": ds}
    exec(blocks(DOCS / "sweeps.md", "python")[0], names)
    assert isinstance(names["results"], ds.Results)


def test_every_command_of_every_page_is_run_somewhere() -> None:
    here = {"install", "sweeps", *RUN}
    for page in PAGES:
        left = [" ".join(words) for words in commands(page) if page.stem not in here]
        assert [line for line in left if not elsewhere(line)] == [], page


def test_the_python_of_the_pages_runs(desk: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("polars")
    names: dict[str, object] = {"destage": ds}
    for block in blocks(DOCS / "reference" / "devices.md", "python"):
        exec(block, names)
    results = names["results"]
    assert isinstance(results, ds.Results)
    assert len(results) == 2
    exec(blocks(DOCS / "reference" / "profile-figures.md", "python")[0], names)
    # The chart's size is one that this small trace has no use for, and drawing all takes long.
    trace = ds.open_trace("TRACE", device="small")
    names["results"] = ds.compare(trace, "lru,ecr", cache="16p", device="small", profile=True)
    (block,) = blocks(DOCS / "report.md", "python")
    kept = [line for line in block.splitlines() if ".save(" not in line]
    exec("\n".join(kept).replace("frames=4096", "frames=16"), names)


def test_the_python_about_advice_and_curves_runs(desk: Path) -> None:
    pytest.importorskip("polars")
    names: dict[str, object] = {"destage": ds}
    (advice,) = blocks(DOCS / "advise.md", "python")
    # A device that is ready at once.
    exec(advice.replace('"small"', '"acr"'), names)
    assert (desk / "advice.html").stat().st_size > 1000
    (curves,) = blocks(DOCS / "curves.md", "python")
    exec(curves, names)


#: Blocks of the pages by language, where they are run: in this file and in `test_docs.py`.
HELD = {
    "python": {
        *("install", "add-a-policy", "advise", "curves", "report", "sweeps"),
        "cache-object",  # test_cache_object.py
    },
    "toml": {"choose-a-device", "sweeps"},
    # test_printed_output.py
    "console": {
        "README",
        "cookbook",
        "tutorial",
        "read-a-result",
        "start-store",
        "start-drive",
        "start-builder",
        "kv-on-flash",
    },
}
#: Blocks that no test runs, each with the reason.
NOT_RUN = {
    ("sweeps", "sh"): "a cluster's scheduler; test_sweep_schedulers.py reads them",
    ("choose-a-device", "sh"): "a device of 1 TB; test_docs.py opens it",
    ("install", "sh"): "installs a wheel; test_dist.py does",
    ("advise", "sh"): "a server's process; test_postgresql.py starts one",
    ("fit", "sh"): "erases a device; test_fit.py plays the script on simulated ones",
    ("fit", "toml"): "lines of a file that `devices fit` writes; test_fit.py runs such files",
    ("kv-on-flash", "sh"): "a downloaded trace; test_tiers.py has the flags",
    ("record", "sh"): "root and a device; test_record.py records where it may",
    ("serve", "python"): "a server; test_serve.py has one in a `with` block",
    ("serve", "rust"): "lines of crates/destage-pool/examples/records.rs",
    ("serve", "sh"): "a server until it is ended, and its clients; test_serve.py runs them",
    ("tiers", "sh"): "traces of some size; test_tiers.py has the flags",
    ("vllm", "sh"): "installs vLLM and serves a model; test_vllm_host.py",
}


def test_every_block_of_code_is_run_or_says_why_not() -> None:
    left = []
    for page in PAGES:
        for language in set(re.findall(r"^```(\w+)$", page.read_text("utf-8"), re.MULTILINE)):
            if page.stem not in HELD.get(language, ()) and (page.stem, language) not in NOT_RUN:
                left.append(f"{page.name}: {language}")
    assert left == []


#: Lines of blocks without a language that begin with another program, and where they are run.
OTHERS = {
    "make": "the Makefile",
    "python examples/asking.py": "minutes; test_asking.py runs a smaller one",
    "python examples/fdp.py": "minutes; test_waf.py runs a smaller one",
    "sudo": "root and a device, as the page says",
    "fio": "a device, as the page says",
    ". .venv/bin/activate": "a shell",
    "recording /dev/loop0": "what `destage record` prints; test_record.py",
    "python -c": "a file of the package is copied; test_printed_output.py does it",
}


def test_no_page_shows_a_program_that_nobody_looked_at() -> None:
    left = []
    for page in PAGES:
        for block in blocks(page):
            lines = block.replace("\\\n", " ").splitlines()
            first = next((line for line in lines if line.strip()), "")
            if re.match(r"(\$ )?[a-z.][\w./-]* ", first) and not first.startswith(
                ("destage ", *OTHERS)
            ):
                left.append(f"{page.name}: {first}")
    assert left == []


def test_the_classes_of_the_pages_run(desk: Path) -> None:
    names: dict[str, object] = {"destage": ds}
    mine, shortest = blocks(DOCS / "add-a-policy.md", "python")
    exec(mine, names)
    names |= runpy.run_path(str(ROOT / "examples" / "write_buffer.py"))
    trace = ds.open_trace("TRACE")
    ours = [names["Mine"], names["BlockLru"]]
    results = ds.compare(trace, ["lru", *ours], cache="8p", pages_per_block=4, check=True)
    assert all(0 < run.hit_ratio < 1 for run in results[1:])
    # What its dots stand for.
    rest = """
    def __init__(self, frames):
        super().__init__(frames)
        self.pages, self.unit = {}, {}

    def capacity(self):
        return self.frames

    def resident(self):
        return self.pages.items()

    def request(self, r):
        if r.page not in self.pages:
            return destage.Miss()
        self.admit(r, None)
        return destage.Hit()

    def admit(self, r, miss):
        self.pages[r.page] = self.pages.get(r.page, False) or r.is_write
        self.unit[r.page] = r.unit_if_dirty
"""
    exec(shortest.replace("    ...", rest + "    ...", 1), names)
    behind = ds.open_trace("TRACE", device="small")
    run = ds.run(behind, names["ShortestQueue"], cache="8p", device="small").run
    assert run.counters["evictions"] > 0


def test_the_example_of_the_csv_format_reads_such_a_file(desk: Path) -> None:
    """`destage trace formats csv` prints a command; a file as it says is read by it."""
    (desk / "mine.csv").write_text("ts,rw,lba,bytes\n0,R,8,4096\n2,W,16,8192\n")
    printed = subprocess.run(
        [*MAIN, "trace", "formats", "csv"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    example = printed[printed.index("destage trace info") :].replace("\\\n", " ").splitlines()[0]
    assert invoke(example.split()[1:]) == 0
