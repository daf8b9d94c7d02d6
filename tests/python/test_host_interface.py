"""Current SSDs from the command and from Python: placement, flushes, SLC caches, provenance."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.base.errors import ExcludedError
from destage.model.host_interface import handle_wafs, slc_developments
from destage.model.naming import without_placement
from destage.model.results import ResultSet

PAGE = 4096

#: Two handles, nearly full.
HANDLES = """
[device]
channels = 2
planes_per_die = 2
blocks_per_plane = 40
pages_per_block = 16
logical_pages = 1700
queue_level = "plane"
precondition = "sequential"
handles = 2
isolation = "persistent"
"""

#: An SLC cache of 1024 pages, ten times as fast as what is behind it.
SLC = """
[device]
planes_per_die = 8
blocks_per_plane = 80
pages_per_block = 96
op_permille = 200
queue_level = "plane"
program_ns = [600_000]
bus_ps_per_byte = 0
slc_blocks = 4
slc_program_ns = 60_000
slc_idle = false
link_ps_per_byte = 298
buffer_pages = 64
"""

CLOSED = ["--queue-depth", "4", "--quiet"]


def iolog(requests: list[tuple[str, int, int]]) -> str:
    lines = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]
    for time, (op, first, pages) in enumerate(requests):
        extent = "" if op == "sync" else f" {first * PAGE} {pages * PAGE}"
        lines.append(f"{1000 * (time + 1)} /dev/x {op}{extent}")
    return "\n".join([*lines, f"{10**9} /dev/x close", ""])


def requests(count: int, ops: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """Hot pages one by one and cold ones by sixteen, in no order but always the same."""
    found, state = [], 5
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        op, hot = ops[(state >> 60) % len(ops)], state >> 55 & 3 > 0
        first = (state >> 20) % 170 * 10 if hot else (state >> 20) % 1680
        found.append((op, first, 1 if hot else 16))
    return found


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(HANDLES)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.log"
    path.write_text(iolog(requests(3000, ("write", "write", "write", "read"))))
    return path


def sets(destage: Destage, *args: object) -> list[dict[str, Any]]:
    done = destage("compare", *args, "--json", "-", *CLOSED)
    assert done.status == 0, done
    found = json.loads(done.out)
    return found if isinstance(found, list) else [found]


def counters(one: dict[str, Any], run: int = 0) -> dict[str, Any]:
    return dict(one["runs"][run]["timing"]["counters"])


# ---- placement as a question

WAYS = "none,by-size[thresholds=[65536]],by-cache,sepbit,fk"


def test_placement_policies_are_a_grid(destage: Destage, trace: Path, drive: Path) -> None:
    command = ["compare", trace, "-d", drive, "-p", "lru", "-c", "64p", "--placement", WAYS]
    done = destage(*command, "--json", "r.json", "--csv", "-", *CLOSED)
    assert done.status == 0, done
    rows = list(csv.DictReader(io.StringIO(done.out)))
    names = ["none", "by-size[thresholds=[65536]]", "by-cache", "sepbit", "fk"]
    assert [row["placement"] for row in rows] == names
    assert len({row["device"] for row in rows}) == 5
    assert {without_placement(row["device"]) for row in rows} == {"two"}
    found = json.loads((trace.parent / "r.json").read_text())
    assert [s["runs"][0]["config"].get("placement") for s in found] == [None, *names[1:]]
    # What the host writes is the same for all; where it lies is not.
    assert len({counters(s)["flash_programs"] for s in found}) == 1
    assert counters(found[0])["handle_programs"][1] == 0
    assert all(counters(s)["handle_programs"] != [0, 0] for s in found)
    assert counters(found[1])["handle_programs"][1] > 1000
    # Each of them is what a run of it alone is.
    alone = sets(destage, trace, "-d", f"{drive}[placement=sepbit]", "-p", "lru", "-c", "64p")
    assert counters(alone[0]) == counters(found[3])
    again = destage("rerun", "r.json", "--json", "-", "--quiet")
    assert again.status == 0, again


def test_the_table_has_a_column_for_placement_and_marks_what_knows_the_future(
    destage: Destage, trace: Path, drive: Path
) -> None:
    command = ["compare", trace, "-d", drive, "-p", "lru", "-c", "64p"]
    done = destage(*command, "--placement", "none,sepbit,fk", "--view", "endurance", *CLOSED)
    assert done.status == 0, done
    assert re.search(r"^placement +policy +cache", done.out, re.M)
    assert re.search(r"^fk \(offline\) +lru", done.out, re.M)
    assert "fk uses future accesses" in done.out
    assert "handle" in done.out  # WAF by handle stands in this view, where there are handles
    assert "SLC" not in done.out  # and what no run has does not
    one = destage(*command, "--view", "endurance", *CLOSED)
    assert "placement" not in one.out
    assert "years" in one.out


def test_a_dry_run_counts_the_grid(destage: Destage, trace: Path, drive: Path) -> None:
    command = ["compare", trace, "-d", drive, "-p", "lru,ecr", "-c", "64p,128p", "--dry-run"]
    done = destage(*command, "--placement", WAYS, "--queue-depth", "4")
    assert done.status == 0, done
    assert len(re.findall(r"^t\.log ", done.out, re.M)) == 2 * (2 * 5 - 1)
    assert "each twice to know the future" in done.out
    assert "left out: ecr in front of two[placement=fk]: " in done.err


def test_what_excludes_itself_is_left_out_of_a_grid_with_a_sentence(
    destage: Destage, trace: Path, drive: Path
) -> None:
    grid = ["-p", "lru", "-c", "64p", "--ftl", "page,bast", "--placement", "none,sepbit"]
    done = destage("compare", trace, "-d", f"{drive},small", *grid, "--queue-depth", "4", "--csv",
                   "-", "--wrap", "modulo")  # fmt: skip
    assert done.status == 0, done
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["device"], row["placement"]) for row in rows] == [
        ("two[ftl=page]", "none"),
        ("two[ftl=page;placement=sepbit]", "sepbit"),
        ("small[ftl=page]", "none"),
        ("small[ftl=bast]", "none"),
    ]
    left = [line for line in done.err.splitlines() if "left out: " in line]
    assert len(left) == 3
    assert "handles excludes ftl" in left[0]
    assert "policy = sepbit excludes handles = 1" in left[1]


def test_a_drive_that_is_none_without_a_placement_gets_it(
    destage: Destage, trace: Path, drive: Path
) -> None:
    spec = f"{drive}[isolation=assigned;handles=4;blocks_per_plane=60]"
    [one] = sets(destage, trace, "-d", spec, "-p", "lru", "-c", "64p", "--placement", "none,sepbit")
    assert one["runs"][0]["config"]["placement"] == "sepbit"
    assert one["device"]["device"]["isolation"] == "assigned"


def test_the_same_holds_of_a_file_and_of_one_that_is_the_config(
    destage: Destage, trace: Path, tmp_path: Path
) -> None:
    text = HANDLES.replace("handles = 2", "handles = 4").replace("persistent", "assigned")
    path = tmp_path / "assigned.toml"
    path.write_text(text.replace("blocks_per_plane = 40", "blocks_per_plane = 60"))
    placed = ("-p", "lru", "-c", "64p", "--placement")
    [one] = sets(destage, trace, "-d", path, *placed, "none,by-cache,sepbit")
    assert one["runs"][0]["config"]["placement"] == "sepbit"
    config = tmp_path / "config.toml"
    config.write_text("[cache]\nsize = '64p'\n" + path.read_text())
    [two] = sets(destage, trace, "--config", config, "-p", "lru", "--placement", "sepbit[window=4]")
    assert two["runs"][0]["config"]["placement"] == "sepbit[window=4]"
    alone = destage("compare", trace, "-d", path, "-p", "lru", "-c", "64p")
    assert alone.status == 65
    assert "policy = none excludes isolation = assigned" in alone.err
    other = destage("compare", trace, "-d", path, *placed, "by-cache")
    assert other.status == 2, other
    assert "policy = by-cache excludes isolation = assigned" in other.err


#: Asked for alone, each is an error that names both keys.
EXCLUDED = [
    (["-d", "small", "--placement", "sepbit"], ["policy = sepbit", "handles = 1"]),
    (["-d", "two.toml", "--placement", "fk", "-p", "ecr"], ["policy = fk", "ecr"]),
    (["-d", "two.toml", "--ftl", "bast", "--placement", "sepbit"], ["handles", "ftl = page"]),
    (["-d", "small", "--ftl", "dftl", "--flush", "drain"], ["flush = drain", "ftl"]),
    (["-d", "two.toml[isolation=assigned]"], ["policy = none", "isolation = assigned"]),
    (["-d", "two.toml[gc_stream=own;isolation=assigned]"], ["gc_stream", "isolation"]),
    (["-d", "two.toml[writer=trickle]", "--placement", "fk"], ["writer = trickle", "policy = fk"]),
]


@pytest.mark.parametrize(("flags", "both"), EXCLUDED, ids=lambda x: " ".join(x))
def test_two_keys_that_exclude_each_other_are_both_named(
    destage: Destage, trace: Path, drive: Path, flags: list[str], both: list[str]
) -> None:
    policy = [] if "-p" in flags else ["-p", "lru"]
    wrap = ["--wrap", "modulo", "--queue-depth", "4"]
    done = destage("compare", trace, "-c", "64p", *policy, *flags, *wrap)
    assert done.status == 2, done
    assert all(key in done.err for key in both), done.err


WRONG = [
    (["--placement", "sepbits"], 'unknown placement policy "sepbits", did you mean sepbit?'),
    (["--placement", "by-size"], "the key thresholds is missing: expected 1 ascending"),
    (["--placement", "by-size[thresholds=[8,4]]"], "thresholds = [8, 4]: expected 1 ascending"),
    (["--placement", "sepbit[windows=3]"], 'unknown key "windows", did you mean window?'),
    (["--placement", "none,"], 'unknown placement policy ""'),
    (["--flush", "wait"], 'flush: expected ignore or drain, got "wait"'),
    (["--trim", "discard"], 'trim: expected ignore or drop, got "discard"'),
]


@pytest.mark.parametrize(("flags", "says"), WRONG, ids=lambda x: " ".join(x))
def test_a_mistake_says_what_was_expected(
    destage: Destage, trace: Path, drive: Path, flags: list[str], says: str
) -> None:
    for command in ("compare", "run"):
        done = destage(command, trace, "-p", "lru", "-c", "64p", "-d", drive, *flags)
        assert done.status == 2, done
        assert says in done.err, done.err


def test_what_is_of_a_drive_needs_one_and_one_run_takes_one(
    destage: Destage, trace: Path, drive: Path
) -> None:
    for flags in (["--placement", "sepbit"], ["--flush", "drain"]):
        done = destage("compare", trace, "-p", "lru", *flags)
        assert done.status == 2
        assert f"{flags[0]} needs a simulated SSD: add --device" in done.err
    for command in (["run", trace, "-p", "lru"], ["why", "lru", "arc", "--trace", trace]):
        done = destage(*command, "-c", "64p", "-d", drive, "--placement", "none,sepbit")
        assert done.status == 2
        assert "expected one device, FTL and placement, got 2" in done.err


# ---- from Python


def test_python_says_the_same_as_the_command(destage: Destage, trace: Path, drive: Path) -> None:
    opened = ds.open_trace(trace, device=drive)
    with pytest.warns(UserWarning, match="left out: ecr in front of two.placement=fk"):
        found = ds.compare(
            opened,
            "lru,ecr",
            cache="64p",
            device=drive,
            queue_depth=4,
            placement=["sepbit", "fk"],
            flush="drain",
        )
    assert [(r.policy, r.placement) for r in found] == [
        ("lru", "sepbit"), ("ecr", "sepbit"), ("lru", "fk"),
    ]  # fmt: skip
    ways = ["--placement", "sepbit,fk", "--flush", "drain"]
    command = sets(destage, trace, "-p", "lru,ecr", "-c", "64p", "-d", drive, *ways)
    assert [s["runs"] for s in command] == [s["runs"] for s in found.sets]
    planned = ds.plan(opened, "lru,ecr", cache="64p", device=drive, placement=["sepbit", "fk"])
    assert [(p.policy, p.placement) for p in planned] == [(r.policy, r.placement) for r in found]
    alone = ds.run(opened, "lru", cache="64p", device=drive, queue_depth=4, placement="sepbit")
    assert alone.run["waf_handle_1"] == found[0]["waf_handle_1"] is not None
    with pytest.raises(ExcludedError, match="policy = fk excludes the cache policy ecr"):
        ds.compare(opened, "ecr", cache="64p", device=drive, queue_depth=4, placement="fk")
    with pytest.raises(ds.UsageError, match="placement: it needs a simulated SSD"):
        ds.compare(opened, "lru", placement="sepbit")
    with pytest.raises(ds.UsageError, match="placement: expected at least one"):
        ds.compare(opened, "lru", device=drive, placement=[])


def test_tune_and_why_take_them_too(trace: Path, drive: Path) -> None:
    opened = ds.open_trace(trace, device=drive)
    where: Any = {"cache": "64p", "device": drive, "queue_depth": 4, "placement": "sepbit"}
    tuned = ds.tune(opened, "cflru", {"window_fraction": "0.2:0.4:0.2"}, "waf", **where)
    plain = ds.compare(opened, "cflru[window_fraction=0.2]", **where)
    assert tuned.points[0].run["waf"] == plain[0]["waf"]
    assert all(point.run.placement == "sepbit" for point in tuned.points)
    found = ds.why(opened, "lru", "cflru", **where)
    assert (found.a.placement, found.b.placement) == ("sepbit", "sepbit")


# ---- trims and flushes


def test_a_flag_goes_before_the_drive_s_file_and_min_knows_what_is_trimmed(
    destage: Destage, tmp_path: Path, drive: Path
) -> None:
    log = tmp_path / "trims.log"
    log.write_text(iolog(requests(2000, ("write", "read", "trim", "read"))))
    dropping = tmp_path / "dropping.toml"
    dropping.write_text(f'{HANDLES}\n[host]\ntrim = "drop"\n')
    base = [log, "-p", "lru,min", "-c", "64p"]
    ignored, dropped = (sets(destage, *base, "-d", d)[0] for d in (drive, dropping))
    flags = {
        which: sets(destage, *base, "-d", d, "--trim", which)[0]
        for which, d in (("drop", drive), ("ignore", dropping))
    }
    for run in (0, 1):
        assert counters(ignored, run) == counters(flags["ignore"], run)
        assert counters(dropped, run) == counters(flags["drop"], run)
        assert counters(dropped, run)["trimmed_pages"] > 100
        assert counters(ignored, run)["flash_programs"] > counters(dropped, run)["flash_programs"]
    # What a result says of itself makes it again, whoever asked for it.
    for one in (dropped, flags["drop"], flags["ignore"]):
        (tmp_path / "one.json").write_text(json.dumps(one))
        again = destage("rerun", "one.json", "--quiet")
        assert again.status == 0, again


def test_nothing_to_trim_or_to_flush_changes_nothing(
    destage: Destage, trace: Path, drive: Path
) -> None:
    base = [trace, "-p", "lru,arc", "-c", "64p", "-d", drive]
    plain = sets(destage, *base)[0]
    both = sets(destage, *base, "--trim", "drop", "--flush", "drain")[0]
    for run in (0, 1):
        assert counters(both, run) == counters(plain, run)
        assert counters(both, run)["flush_requests"] == counters(both, run)["trim_requests"] == 0


def test_a_flush_is_a_request_that_waits_for_what_was_written(
    destage: Destage, tmp_path: Path, drive: Path
) -> None:
    log = tmp_path / "flushes.log"
    log.write_text(iolog(requests(1000, ("write", "write", "read", "sync"))))
    # A read ends when its data are there; a flush then still waits for the writes before it.
    done = destage("run", log, "-p", "none", "-d", drive, "--flush", "drain", "--all", *CLOSED)
    assert done.status == 0, done
    assert "Trims and flushes: a trimmed page leaves" in done.out
    count, wait = (re.search(rf"^  {name} +([\d.,]+)", done.out, re.M) for name in
                   ("flush_requests", "flush_wait_ns_mean"))  # fmt: skip
    assert count
    assert int(count[1].replace(",", "")) > 200
    assert wait
    assert float(wait[1]) > 0
    [one] = sets(destage, log, "-p", "none", "-d", drive)
    assert counters(one)["flush_requests"] == 0


def test_an_empty_file_is_an_error_with_these_flags_too(
    destage: Destage, tmp_path: Path, drive: Path
) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    flags = ["--placement", "none,sepbit", "--trim", "drop", "--flush", "drain"]
    done = destage("compare", "empty.csv", "-p", "lru", "-c", "64p", "-d", drive, *flags)
    assert done.status == 65, done
    assert "empty" in done.err, done


# ---- what is shown


def sequential(tmp_path: Path, drive: str) -> ds.Results:
    """4096 pages in order, sixteen at a time."""
    path, log = tmp_path / "slc.toml", tmp_path / "s.log"
    path.write_text(drive)
    log.write_text(iolog([("write", 16 * k, 16) for k in range(256)]))
    opened = ds.open_trace(log, device=path)
    return ds.compare(opened, "none,lru", cache="64p", device=path, queue_depth=8, profile=True)


def test_the_end_of_an_slc_cache_shows_over_time(tmp_path: Path) -> None:
    results = sequential(tmp_path, SLC)
    [row, _] = slc_developments(ResultSet.of(results.sets[0]))
    # Eight planes: 546 MB/s into the cache, a tenth of that beyond.
    full = row["filled"].index(1.0)
    assert row["filled"] == sorted(row["filled"])
    assert min(row["mb_s"][:full]) > 0.9 * 546
    beyond = row["mb_s"][full + 1 : -1]
    assert sum(beyond) / len(beyond) == pytest.approx(54.6, rel=0.05)
    page = tmp_path / "page.html"
    ds.write_report(page, results)
    html = page.read_text(encoding="utf-8")
    assert "Its SLC cache, at 256" in html
    assert "Write throughput over time" in html
    assert {"throughput_over_time", "slc_over_time"} <= set(results.plot.names())
    assert "SLC" in html.partition("Over-provisioning")[0]  # among the device's facts
    plain = sequential(tmp_path, SLC.replace("slc_blocks = 4", "slc_blocks = 0"))
    assert "slc_over_time" not in plain.plot.names()
    assert "slc_programs" not in json.dumps(plain.sets[0]["runs"][0]["profile"])


def test_waf_of_each_handle_is_a_figure_and_its_parts_sum_up(trace: Path, drive: Path) -> None:
    opened = ds.open_trace(trace, device=drive)
    where: Any = {"cache": "64p", "device": drive, "queue_depth": 4}
    placement = "by-size[thresholds=[65536]]"
    results = ds.compare(opened, "none,lru", placement=placement, **where)
    for run in results:
        rows = [r for r in handle_wafs(ResultSet.of(results.sets[0])) if r["label"] == run.label]
        assert [r["handle"] for r in rows] == ["handle 0", "handle 1"]
        assert sum(r["waf"] * r["share"] for r in rows) == pytest.approx(run["waf"], rel=1e-3)
    assert "handle_wafs" in results.plot.names()
    assert "handle_wafs" not in ds.compare(opened, "lru", **where).plot.names()


def test_the_waf_of_handles_that_are_alike_is_that_of_the_device(
    destage: Destage, trace: Path, drive: Path
) -> None:
    """One handle writes all: its WAF is the device's, and a column of it would say nothing."""
    base = (trace, "-p", "lru", "-c", "64p", "-d", drive, *CLOSED)
    two = ("--placement", "by-size[thresholds=[65536]]")
    for more, is_shown in (((), False), (two, True)):
        done = destage("run", *base, *more, "--all")
        assert ("waf_handle_" in done.out) is is_shown
        assert re.search(r"^  waf +[1-9]", done.out, re.M)
        table = destage("compare", *base, *more, "--view", "endurance").out
        assert ("handle" in table) is is_shown, table
        destage("compare", *base, *more, "--report", "page.html")
        page = (trace.parent / "page.html").read_text(encoding="utf-8")
        assert ("WAF of handle" in page) is is_shown
    done = destage("run", *base, "--json", "-")
    assert json.loads(done.out)["runs"][0]["metrics"]["waf_handle_0"] is not None, "data have it"


def test_the_page_of_a_grid_tells_its_drives_apart(trace: Path, drive: Path) -> None:
    opened = ds.open_trace(trace, device=drive)
    ways = ["none", "by-size[thresholds=[65536]]"]
    results = ds.compare(opened, "lru", cache="64p", device=drive, queue_depth=4, placement=ways)
    page = trace.parent / "page.html"
    ds.write_report(page, results)
    html = page.read_text(encoding="utf-8")
    assert "<h2>two</h2>" in html
    assert "<h2>two[placement=by-size;thresholds=[65536]]</h2>" in html
    assert "<title>t.log: 2 devices - Destage</title>" in html
    assert "WAF of each handle" in html


def test_a_run_prints_these_numbers_in_groups_of_their_own(
    destage: Destage, trace: Path, drive: Path
) -> None:
    keys = "buffer_pages=8;link_ps_per_byte=298;command_ns=2000"
    placement = ["--placement", "by-size[thresholds=[65536]]"]
    done = destage("run", trace, "-p", "lru", "-c", "64p", "-d", f"{drive}[{keys}]", *placement,
                   "--all", *CLOSED)  # fmt: skip
    assert done.status == 0, done
    for group, names in (
        ("Host interface: ", ("commands", "buffer_wait_ns_mean", "link_wait_ns_mean")),
        ("Placement handles: ", ("waf_handle_0", "waf_handle_1")),
    ):
        part = done.out.partition(group)[2].partition("\n\n")[0]
        assert all(re.search(rf"^  {name} ", part, re.M) for name in names), part
    assert "SLC cache: " not in done.out
    assert "Counters of the policy" not in done.out
    (trace.parent / "slc.toml").write_text(SLC.replace("slc_idle", 'slc_policy = "fold"\nslc_idle'))
    done = destage("run", trace, "-p", "none", "-d", "slc.toml", "--all", *CLOSED)
    part = done.out.partition("SLC cache: ")[2].partition("\n\n")[0]
    for name in ("slc_programs", "slc_folds", "slc_migrations"):
        assert re.search(rf"^  {name} +[1-9]", part, re.M), part
