"""`destage devices fit`, `probe`, `compare`: recovery of hidden devices, refusals, real grids."""

from __future__ import annotations

import copy
import csv
import json
import math
import random
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA, Destage

import destage as ds
from destage.fit import collector
from destage.fit.miniature import miniature
from destage.fit.model import Model, base_of
from destage.fit.slc import classes_of
from destage.lab.ssd import restored

PAGE = 4096
MIB = 1 << 20


@dataclass(frozen=True)
class Hidden:
    """A device that the fit has to find."""

    units: int = 8
    stripe: int = 1
    read_ns: int = 60_000
    program_ns: int = 600_000
    erase_ns: int = 3_000_000
    block: int = 64
    link: int = 500
    command_ns: int = 0
    firmware_read_ns: int = 9_000
    firmware_write_ns: int = 7_000
    buffer: int = 512
    op: float = 0.15
    victim: str = "greedy"
    #: The least that `probe` takes: a fit plays the whole script many times.
    capacity: int = 256 * MIB
    slc_blocks: int = 0
    slc_program_ns: int = 150_000
    map_pages: int = 0
    steps: int | str = 0

    @property
    def pages(self) -> int:
        return self.capacity // PAGE

    @property
    def blocks(self) -> int:
        return round(self.pages / (1 - self.op) / (self.units * self.block))

    @property
    def effective_op(self) -> float:
        return 1 - self.pages / (self.units * self.block * (self.blocks - 2.5))

    def write(self, path: Path) -> Path:
        keys: dict[str, Any] = {
            "channels": self.units,
            "blocks_per_plane": self.blocks,
            "pages_per_block": self.block,
            "logical_pages": self.pages,
            "read_ns": [self.read_ns],
            "program_ns": [self.program_ns],
            "erase_ns": self.erase_ns,
            "bus_ps_per_byte": 625,
            "copyback": False,
            "stripe_pages": self.stripe,
            "queue_level": "chip",
            "bus": "private",
            "sched": "fcfs",
            "alloc": "static",
            "gc_mode": "foreground",
            "gc_step_pages": self.steps,
            "gc_low_pages": 2 * self.block,
            "gc_stream": "shared",
            "gc_victim": self.victim,
            "link_ps_per_byte": self.link,
            "command_ns": self.command_ns,
            "firmware_read_ns": self.firmware_read_ns,
            "firmware_write_ns": self.firmware_write_ns,
            "buffer_pages": self.buffer,
            "precondition": "none",
        }
        if self.slc_blocks:
            keys |= {
                "slc_blocks": self.slc_blocks,
                "slc_pages_per_block": self.block // 3,
                "slc_program_ns": self.slc_program_ns,
                "slc_policy": "direct",
            }
        if self.map_pages:
            keys |= {"map_cache": self.map_pages * PAGE, "gc_low_pages": 4 * self.block}
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        path.write_text("[device]\n" + "\n".join(lines) + "\n")
        return path


def drawn(seed: int) -> Hidden:
    """A random device of the ranges of `docs/spec/fit.md` 12."""
    draw = random.Random(seed)
    units = draw.choice([2, 4, 5, 8, 12, 16])
    program = draw.randint(200, 2000) * 1000
    # The link is at most 60 % busy when the flash is saturated.
    most = 0.6 * program / units / PAGE * 1000
    read = draw.randint(20, 100) * 1000
    return Hidden(
        units=units,
        stripe=draw.choice([1, 1, 2]),
        read_ns=read,
        program_ns=program,
        erase_ns=draw.randint(1500, 5000) * 1000,
        block=draw.choice([48, 64]),
        link=round(min(most, 0.6 * read / units / PAGE * 1000, draw.choice([143, 500, 2000]))),
        firmware_read_ns=draw.randint(0, 30_000),
        firmware_write_ns=draw.randint(2_000, 12_000),
        buffer=draw.choice([0, 200, 1000, 3000]),
        op=draw.uniform(0.1, 0.28),
        victim=draw.choice(["greedy", "fifo"]),
    )


def near(found: float, hidden: float, share: float, least: float = 0.0) -> bool:
    return abs(found - hidden) <= max(share * hidden, least)


def recovered(made: ds.Fit, hidden: Hidden) -> list[str]:
    """The bars of the issue that a fit misses."""
    model = made.model
    own = model.transfer_ns
    erase = hidden.erase_ns / hidden.block
    checks = {
        "units": model.units == hidden.units,
        "stripe": model.stripe == hidden.stripe,
        "read": near(model.unit_read_ns - own, hidden.read_ns, 0.01),
        "program": near(model.unit_program_ns - own, hidden.program_ns, 0.01),
        "buffer": near(model.buffer_pages, hidden.buffer, 0.03, 16),
        "firmware": near(
            model.command_ns + model.firmware_read_ns,
            hidden.command_ns + hidden.firmware_read_ns,
            0.02,
            300,
        ),
        "firmware_write": near(model.firmware_write_ns, hidden.firmware_write_ns, 0.02, 500),
        "erase": near(model.erase_page_ns, erase, 0.05, 0.01 * hidden.program_ns),
    }
    return [f"{name}: {model}" for name, holds in checks.items() if not holds]


def probed(hidden: Hidden, folder: Path, **options: Any) -> Path:
    path = folder / "probe.json"
    path.write_text(json.dumps(ds.probe(hidden.write(folder / "hidden.toml"), **options)))
    return path


@pytest.mark.parametrize("seed", range(1, 7))
def test_what_is_timed_comes_back(seed: int, tmp_path: Path) -> None:
    hidden = drawn(seed)
    made = ds.fit(probed(hidden, tmp_path, collector=False), steady=False)
    assert recovered(made, hidden) == [], hidden
    # Without steady writes, over-provisioning is the base's.
    assert made.collected is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 26))
def test_over_provisioning_and_collector_come_back(seed: int, tmp_path: Path) -> None:
    assert collected(drawn(seed), tmp_path) == []


@pytest.mark.parametrize(("victim", "steps"), [("greedy", 0), ("fifo", 0), ("fifo", "auto")])
def test_a_collector_comes_back(victim: str, steps: int | str, tmp_path: Path) -> None:
    hidden = Hidden(victim=victim, steps=steps, units=4, op=0.2)
    assert collected(hidden, tmp_path) == []


def collected(hidden: Hidden, folder: Path) -> list[str]:
    made = ds.fit(probed(hidden, folder))
    missed = recovered(made, hidden)
    found = made.collected
    assert found is not None
    if made.model.gc_step_pages != hidden.steps:
        missed.append(f"steps: {made.model.gc_step_pages}")
    if found.chosen.gc_victim != hidden.victim:
        missed.append(f"collector: {found}")
    keys = made.model.keys()
    left = keys["blocks_per_plane"] - keys["gc_low_pages"] / keys["pages_per_block"] - 0.5
    effective = 1 - hidden.pages / (hidden.units * keys["pages_per_block"] * left)
    if abs(effective - hidden.effective_op) > 0.015:
        missed.append(f"effective over-provisioning: {effective} for {hidden.effective_op}")
    return missed


def test_an_slc_cache_comes_back(tmp_path: Path) -> None:
    # With half of it the fit finds another buffer.
    hidden = Hidden(program_ns=1_500_000, slc_blocks=40, slc_program_ns=400_000, capacity=512 * MIB)
    made = ds.fit(probed(hidden, tmp_path, collector=False), steady=False)
    assert recovered(made, hidden) == []
    model = made.model
    size = hidden.units * hidden.slc_blocks * (hidden.block // 3)
    assert near(model.slc_blocks * model.units * model.slc_pages_per_block, size, 0.05)
    assert near(model.slc_unit_program_ns - model.transfer_ns, 400_000, 0.03)
    assert "fold" not in made.device_toml  # direct is the default


def test_noise_of_a_third_of_a_percent(tmp_path: Path) -> None:
    hidden = Hidden()
    path = probed(hidden, tmp_path, collector=False)
    data = json.loads(path.read_text())
    draw = random.Random(3)
    for job in data["jobs"]:
        by = math.exp(draw.gauss(0, 0.003))
        for direction in ("read", "write"):
            job[direction]["lat_ns"]["mean"] *= by
    path.write_text(json.dumps(data))
    model = ds.fit(path, steady=False).model
    assert (model.units, model.stripe) == (hidden.units, hidden.stripe)
    assert near(model.unit_read_ns - model.transfer_ns, hidden.read_ns, 0.03)
    assert near(model.unit_program_ns - model.transfer_ns, hidden.program_ns, 0.03)
    assert near(model.buffer_pages, hidden.buffer, 0.1)
    assert near(model.erase_page_ns, hidden.erase_ns / hidden.block, 0.15)


# Files.


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A probe of a small device without the steps of the collector."""
    folder = tmp_path_factory.mktemp("small")
    return probed(Hidden(units=4), folder, collector=False)


def test_the_file_has_a_status_for_every_key_and_runs(
    small: Path, destage: Destage, tmp_path: Path, msr: Path
) -> None:
    words = ("devices", "fit", small, "-o", "mine.toml", "--json", "fit.json", "--no-steady")
    first = destage(*words)
    assert first.status == 0, first
    text = (tmp_path / "mine.toml").read_text()
    keys = [line for line in text.splitlines() if line and line[0] not in "#["]
    statuses = ("measured", "inferred", "not identifiable")
    assert all(line.partition("# ")[2].startswith(statuses) for line in keys)
    assert "read_ns = [60_" in text
    assert "program_ns" in text
    data = json.loads((tmp_path / "fit.json").read_text())
    assert data["median_abs_residual"] < 0.01
    assert {v["status"] for v in data["values"]} == set(statuses)
    assert destage("devices", "mine.toml").status == 0
    run = destage("compare", msr, "-p", "lru", "-c", "4p", "-d", "mine.toml", "--csv", "-")
    assert run.status == 0, run
    again = destage("devices", "compare", "mine.toml", small, "--csv", "steps.csv")
    assert again.status == 0, again
    rows = list(csv.DictReader((tmp_path / "steps.csv").read_text().splitlines()))
    assert len(rows) == len(json.loads(small.read_text())["jobs"])
    assert statistics.median(abs(float(row["residual"])) for row in rows) < 0.01
    before = text
    assert destage(*words).status == 0
    assert (tmp_path / "mine.toml").read_text() == before


def test_the_page_has_both_curves_and_no_script(
    small: Path, destage: Destage, tmp_path: Path
) -> None:
    pytest.importorskip("jinja2", reason="needs the extra report")
    words = ("devices", "fit", small, "-o", "m.toml", "--report", "fit.html", "--no-steady")
    assert destage(*words).status == 0
    page = (tmp_path / "fit.html").read_text()
    assert "Random reads over depth" in page
    assert page.count("data:image/svg+xml;base64,") >= 4
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_probe_is_the_same_twice_and_fio_s_own_shape(small: Path) -> None:
    hidden = Hidden(units=4)
    again = probed(hidden, small.parent / ".", collector=False)
    assert again.read_text() == small.read_text()
    data = json.loads(small.read_text())
    job = next(j for j in data["jobs"] if j["jobname"] == "read-qd8")
    lat = job["read"]["lat_ns"]
    assert lat["N"] == job["read"]["total_ios"] == sum(lat["bins"].values())
    assert job["iodepth_level"]["8"] == 100.0
    assert lat["percentile"]["50.000000"] <= lat["percentile"]["99.000000"] <= lat["max"] * 1.01


def test_miniatures_keep_the_effective_over_provisioning() -> None:
    keys = {
        **ds.open_device("tlc-nvme").record["device"],
        "blocks_per_plane": 100_000,
        "pages_per_block": 256,
        "gc_low_pages": 512,
    }
    keys["logical_pages"] = 700_000_000
    small_keys = miniature(keys)
    assert small_keys["blocks_per_plane"] >= 160

    def effective(of: dict[str, Any]) -> float:
        left = of["blocks_per_plane"] - 2.5
        return 1 - float(of["logical_pages"]) / (32 * 256 * left)

    assert abs(effective(small_keys) - effective(keys)) < 0.001


# What would mislead.


def changed(small: Path, folder: Path, change: Any) -> Path:
    data = json.loads(small.read_text())
    change({job["jobname"]: job for job in data["jobs"]}, data)
    path = folder / "changed.json"
    path.write_text("fio: a warning\n" + json.dumps(data))
    return path


def slower(job: dict[str, Any], by: float) -> None:
    for direction in ("read", "write"):
        job[direction]["lat_ns"]["mean"] *= by
        job[direction]["iops"] = job[direction].get("iops", 0) / by


def only_reads(jobs: dict[str, Any], data: dict[str, Any]) -> None:
    data["jobs"] = [job for name, job in jobs.items() if name.startswith("read-")]


def unwritten(jobs: dict[str, Any], data: dict[str, Any]) -> None:
    data["jobs"] = [j for n, j in jobs.items() if n.startswith("read-") or n == "write-qd1"]
    slower(jobs["write-qd1"], 8)


def unsteady(jobs: dict[str, Any], _: dict[str, Any]) -> None:
    for at in range(5, 9):
        slower(jobs[f"uniform-{at}"], 1 + 0.1 * at)


def short(jobs: dict[str, Any], data: dict[str, Any]) -> None:
    data["jobs"] = [job for name, job in jobs.items() if name.startswith("read-qd")]
    for job in data["jobs"]:
        job["read"]["total_ios"] = 999


def with_percentile(value: object) -> Any:
    def change(jobs: dict[str, Any], _: dict[str, Any]) -> None:
        jobs["read-qd1"]["read"]["lat_ns"]["percentile"] = value

    return change


REFUSED = {
    r"read-qd1: percentile: expected a table of numbers, found \{'99.0': None\}": with_percentile(
        {"99.0": None}
    ),
    r"read-qd1: percentile: expected a table of numbers, found \[1\]": with_percentile([1]),
    "without direct=1": lambda jobs, data: data["global options"].update(direct="0"),
    "one request in flight": lambda jobs, data: data["global options"].update(ioengine="psync"),
    "nothing shows that the addresses read were ever written": only_reads,
    "probably never written": unwritten,
    "the device became 23 % slower": lambda jobs, data: slower(jobs["read-again"], 1.23),
    "random writes were not steady": unsteady,
    "every read step has fewer than 1,000": short,
    "give --capacity": lambda jobs, data: data["global options"].pop("size"),
    "expected fio 3 or newer": lambda jobs, data: data.update({"fio version": "fio-2.21"}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_would_mislead_is_refused(said: str, small: Path, tmp_path: Path) -> None:
    with pytest.raises(ds.DataError, match=said):
        ds.fit(changed(small, tmp_path, REFUSED[said]))


def test_steps_that_the_host_limited_are_left_out(small: Path, tmp_path: Path) -> None:
    def change(jobs: dict[str, Any], _: dict[str, Any]) -> None:
        jobs["read-qd32"]["iodepth_level"] = {"1": 59.0, "32": 41.0}
        jobs["read-bs64"]["error"] = 5

    made = ds.fit(changed(small, tmp_path, change), steady=False)
    said = "\n".join(made.warnings)
    assert "read-qd32 is left out: only 41 % of its requests ran at depth 32" in said
    assert "read-bs64 is left out: fio reports error 5" in said
    assert made.model.units == 4


def test_a_missing_step_makes_its_keys_not_identifiable(small: Path, tmp_path: Path) -> None:
    def change(jobs: dict[str, Any], data: dict[str, Any]) -> None:
        gone = ("burst", "tail", "read-batch", "read-bs", "mix", "uniform")
        data["jobs"] = [job for name, job in jobs.items() if not name.startswith(gone)]

    made = ds.fit(changed(small, tmp_path, change))
    status = {value.key: value.status for value in made.values}
    assert status["link_ps_per_byte"] == status["buffer_pages"] == "not identifiable"
    assert status["read_ns"] == status["program_ns"] == "measured"


def test_a_file_that_is_none_names_the_place(destage: Destage, tmp_path: Path) -> None:
    for text, said in (
        ("", "expected fio's JSON"),
        ('{\n"jobs": [,]}', "bad.json:2:10: fio's JSON"),
        ('{"a": 1}', "expected fio's JSON with jobs"),
        ('{"jobs": []}', "no read step"),
    ):
        (tmp_path / "bad.json").write_text(text)
        done = destage("devices", "fit", "bad.json")
        assert (done.status, said in done.err) == (65, True), (text, done)
    assert destage("devices", "fit", "nowhere.json").status == 66
    assert destage("devices", "probe", "small", "-o", "p.json").status in (0, 2)


# The script.


def test_the_script_is_fio_s_own(destage: Destage, tmp_path: Path) -> None:
    script = destage("devices", "fit", "--script", "--capacity", "256MiB")
    assert script.status == 0
    lines = script.out.splitlines()
    assert lines[0].startswith("# THIS JOB FILE DESTROYS ALL DATA ON ${TARGET}.")
    assert "14 times over" in lines[0]
    reads = destage("devices", "fit", "--script", "--capacity", "1TB", "--read-only")
    assert "DESTROYS" not in reads.out
    assert "rw=write" not in reads.out
    assert destage("devices", "fit", "--script", "--capacity", "100MiB").status == 2
    if shutil.which("fio") is None:
        pytest.skip("no fio: the script is not given to it")
    (tmp_path / "fit.fio").write_text(script.out.replace("${TARGET}", "/dev/null"))
    parsed = subprocess.run(
        ["fio", "--parse-only", "fit.fio"], cwd=tmp_path, capture_output=True, check=False
    )
    assert parsed.returncode == 0, parsed.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fit --script --capacity 1TB --expect seq=0,random=1", "--expect: expected rates above 0"),
        ("fit --script --capacity 1TB --expect seq=nan,random=1", "--expect: expected rates above"),
        ("fit --script --capacity 1TB -o fit.fio", "--output excludes --script"),
        ("fit --script --capacity 1TB --seed 1", "--seed excludes --script"),
        ("fit --script", "expected the capacity of the device (--capacity) or the --target"),
        ("fit p.json --read-only", "--read-only needs --script"),
        ("fit p.json --engine libaio", "--engine needs --script"),
        ("probe small --script fit.fio --read-only", "read_only excludes a script"),
        ("probe small --script fit.fio --no-collector", "collector = False excludes a script"),
    ],
)
def test_flags_of_the_other_use_are_rejected(destage: Destage, words: str, said: str) -> None:
    found = destage("devices", *words.split())
    assert found.status == 2, found
    assert said in found.err
    assert found.out == ""


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (["nope=1"], "grid.csv has no column nope: it has drive, rw"),
        (["nope="], "grid.csv has no column nope: it has drive, rw"),
        (["drive=c"], "--where drive=c: grid.csv has a, b"),
        (["drive=a", "rw=randwrite"], "--where: grid.csv has no row with drive=a and rw=randwrite"),
    ],
    ids=str,
)
def test_rows_that_are_not_there_are_named(
    destage: Destage, tmp_path: Path, where: list[str], said: str
) -> None:
    head = "drive,rw,iodepth,numjobs,iops,clat_mean_us\n"
    rows = "a,randread,1,1,10000,90\nb,randwrite,1,1,20000,40\n"
    (tmp_path / "grid.csv").write_text(head + rows)
    words = [word for one in where for word in ("--where", one)]
    found = destage("devices", "compare", "small", "grid.csv", *words)
    assert found.status == 2, found
    assert said in found.err


def test_a_probe_plays_a_script(destage: Destage, tmp_path: Path, small: Path) -> None:
    script = destage("devices", "fit", "--script", "--capacity", "256MiB", "--no-collector").out
    (tmp_path / "fit.fio").write_text(script)
    hidden = Hidden(units=4).write(tmp_path / "h.toml")
    done = destage("devices", "probe", hidden, "--script", "fit.fio", "-o", "p.json")
    assert done.status == 0, done
    ours, theirs = (json.loads(p.read_text())["jobs"] for p in (tmp_path / "p.json", small))
    assert [j["read"]["lat_ns"] for j in ours] == [j["read"]["lat_ns"] for j in theirs]
    (tmp_path / "odd.fio").write_text("[global]\nsize=256m\n[a]\nrw=read\nverify=crc32c\n")
    odd = destage("devices", "probe", hidden, "--script", "odd.fio", "-o", "q.json")
    assert odd.status == 65
    assert "step a: probe does not play the option verify" in odd.err


# Grids of real devices.


def grids() -> dict[tuple[str, str, str], list[dict[str, str]]]:
    found: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    with (DATA / "fit" / "fio_grids.csv").open() as file:
        for row in csv.DictReader(file):
            found.setdefault((row["drive"], row["interface"], row["rw"]), []).append(row)
    return found


def grid_json(rows: list[dict[str, str]], path: Path) -> Path:
    jobs = []
    for row in rows:
        iops, in_flight = float(row["iops"]), int(row["iodepth"]) * int(row["numjobs"])
        lat = {"mean": in_flight * 1e9 / iops, "stddev": 0.0}
        one = {"total_ios": round(60 * iops), "iops": iops, "lat_ns": lat}
        options = {"rw": row["rw"], "iodepth": row["iodepth"], "numjobs": row["numjobs"]}
        direction = row["rw"].removeprefix("rand")
        jobs.append({"jobname": "g", "error": 0, "job options": options, direction: one})
    common = {"bs": "4k", "direct": "1", "ioengine": "libaio", "filename": "/dev/sdb"}
    common["size"] = "447g"
    path.write_text(json.dumps({"fio version": "fio-3.1", "global options": common, "jobs": jobs}))
    return path


@pytest.mark.parametrize("drive", ["intel-d3-s4610", "samsung-pm883"])
def test_reads_of_addresses_that_were_never_written_are_refused(drive: str, tmp_path: Path) -> None:
    rows = [row for key, rows in grids().items() if key[:2] == (drive, "ahci") for row in rows]
    with pytest.raises(ds.DataError, match="probably never written"):
        ds.fit(grid_json(rows, tmp_path / "g.json"))


def halves() -> Iterator[tuple[str, str]]:
    for drive, interface, rw in grids():
        if interface != "ahci":
            yield drive, rw


@pytest.mark.parametrize(("drive", "rw"), list(halves()))
def test_half_a_grid_predicts_the_other(drive: str, rw: str, tmp_path: Path) -> None:
    whole = grids()
    rows = copy.copy(whole[drive, "hba-m1015", rw])
    random.Random(1).shuffle(rows)
    other = "randread" if rw == "randwrite" else "randwrite"
    known = [*rows[:25], *whole[drive, "hba-m1015", other]]
    made = ds.fit(grid_json(known, tmp_path / "half.json"), assume_written=True)
    (tmp_path / "mine.toml").write_text(made.device_toml)
    steps = ds.compare_fio(tmp_path / "mine.toml", grid_json(rows[25:], tmp_path / "other.json"))
    assert len(steps) == 24
    assert statistics.median(abs(step.residual) for step in steps) <= 0.15


def test_classes_leave_out_the_first_requests() -> None:
    bins = ((1e5, 10), (1e7, 100), (5e7, 1900))
    found = classes_of(bins)
    assert found is not None
    assert (found.fast, found.fast_median_ns) == (110, 1e7)
    assert classes_of(((1e7, 1000),)) is None
    assert classes_of(((1e7, 1000), (1.1e7, 1000))) is None


def test_every_collector_of_the_table_is_tried_or_excluded_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (known,) = [k.values for k in ds.device_keys() if (k.table, k.name) == ("device", "gc_victim")]
    table = known.split(", ")
    assert collector.collectors() == tuple(table)
    tried = {victim for victim, _ in collector.candidates(table)}
    assert tried | collector.EXCLUDED.keys() == set(table)
    assert not tried & collector.EXCLUDED.keys()
    assert all(len(reason.split()) > 3 for reason in collector.EXCLUDED.values())
    # A new row is tried, after those that are known; an excluded one is not.
    assert collector.candidates([*table, "newest"])[-1] == ("newest", "shared")
    assert collector.candidates(["fifo"]) == [("fifo", "shared")]
    monkeypatch.setattr(collector, "EXCLUDED", {"newest": "it is like greedy on every drive"})
    assert "newest" not in dict(collector.candidates([*table, "newest"]))


@pytest.mark.parametrize("pages", [4096, 65_536, 1 << 20])
def test_a_device_that_collects_next_to_nothing_has_room_to_collect(pages: int) -> None:
    """As a loop device or a RAM disk fits: by the rates alone it would have no spare area."""
    record = base_of("tlc-nvme")
    for stream in ("shared", "by-generation"):
        model = Model(record, pages, 4, 1, 60_000.0, 600_000.0, gc_stream=stream, op=0.0)
        assert restored(json.dumps(model.device(model.keys()))).logical_pages == pages
