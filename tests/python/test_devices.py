"""Runs in front of a device: on the command line, in Python, and what they refuse."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage, Done, shipped_excerpt
from test_own_policy import Lru

import destage as ds
from destage.lab.ssd import restored

GOLDEN = ROOT / "tests" / "golden"
DEMO = shipped_excerpt()
POLICIES = "none,lru,arc,cflru-e,ecr,ecr-e,gcar-lru,gcar-cflru,sac"

#: Small enough to fill in no time; `msr` fits into it.
TINY = (
    "small[channels=2;planes_per_die=1;blocks_per_plane=20;pages_per_block=8;logical_pages=128"
    ";gc_low_pages=16;precondition=sequential]"
)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def refused(done: Done, status: int, *parts: str) -> None:
    """The command ended with this status and one message, which holds these parts."""
    assert done.status == status, done
    assert done.out == "", done
    for part in parts:
        assert part in done.err, done
    assert "Traceback" not in done.err, done
    assert done.err.count("destage: ") == 1, done


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """The golden device's file, in the folder that the command runs in."""
    return Path(shutil.copy(GOLDEN / "drive.toml", tmp_path / "drive.toml"))


def golden(destage: Destage, *args: object) -> Done:
    """The golden comparison, on the command line."""
    measured = ("--warmup", "none", "--csv", "-")
    done = destage("compare", DEMO, "-p", POLICIES, "-q", *measured, *args)
    assert done.status == 0, done
    return done


def test_a_comparison_is_what_it_was(destage: Destage, drive: Path) -> None:
    # Any number that is another one is a change of results, and belongs into the changelog.
    now = rows(golden(destage, "-d", drive.name).out)
    before = rows((GOLDEN / "device-compare.csv").read_text())
    assert [(r["label"], r["cache"]) for r in now] == [(r["label"], r["cache"]) for r in before]
    for new, old in zip(now, before, strict=True):
        # There may be more columns by now.
        assert {k: new[k] for k in old} == old
    assert (
        golden(destage, "-d", drive.name, "--jobs", "1").out
        == golden(destage, "-d", drive.name, "--jobs", "3", "--no-trace-cache").out
    )


def test_the_laws_hold_on_it() -> None:
    for row in rows((GOLDEN / "device-compare.csv").read_text()):
        number = {k: float(v) for k, v in row.items() if v.replace(".", "", 1).isdigit()}
        programs = number["flash_programs"] + number["gc_moves"] + number["summary_programs"]
        assert number["waf"] == pytest.approx(programs / number["flash_programs"])
        assert number["flash_programs"] == number["physical_writes"]
        assert number["flash_reads"] == number["physical_reads"]
        assert number["requests"] == 20_000
        assert number["response_ns_p50"] <= number["response_ns_p99"] <= number["response_ns_max"]
        assert 0 < number["utilisation_mean"] <= number["utilisation_max"] <= 1


def but_for_the_command(path: Path) -> list[bytes]:
    """The lines of a result, without that which says what was typed."""
    lines = path.read_bytes().splitlines()
    kept = [line for line in lines if not line.startswith(b' "command": ')]
    assert len(kept) == len(lines) - 1
    return kept


def test_a_result_is_made_again_byte_by_byte(destage: Destage, drive: Path, tmp_path: Path) -> None:
    golden(destage, "-d", drive.name, "--queue-depth", "4", "--json", "first.json")
    # The file may change: the result keeps what it was.
    drive.write_text('[device]\npreset = "acr"\n')
    again = destage("rerun", "first.json", "--json", "again.json")
    assert again.status == 0, again
    assert but_for_the_command(tmp_path / "again.json") == but_for_the_command(
        tmp_path / "first.json"
    )
    changed = json.loads((tmp_path / "first.json").read_text())
    changed["runs"][1]["timing"]["counters"]["gc_runs"] += 1
    (tmp_path / "first.json").write_text(json.dumps(changed))
    again = destage("rerun", "first.json")
    assert again.status == 1, again
    assert "gc_runs was" in again.err


def test_a_rerun_makes_a_drive_large_again(destage: Destage, msr: Path, tmp_path: Path) -> None:
    tiny = TINY.replace("logical_pages=128", "logical_pages=16")
    args = ("-p", "lru,ecr", "-c", "3p", "-d", tiny, "--wrap", "extend")
    done = destage("compare", msr, *args, "--json", "r.json")
    assert done.status == 0, done
    assert "was made larger" in done.err
    again = destage("rerun", "r.json", "--json", "again.json")
    assert again.status == 0, again
    assert but_for_the_command(tmp_path / "again.json") == but_for_the_command(tmp_path / "r.json")


def test_the_table_shows_times_and_names_the_drive(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "-p", "none,lru,ecr", "-c", "10%", "-d", TINY)
    assert done.status == 0, done
    head = done.out.splitlines()[0]
    assert "in front of small[" in head
    for word in ("response", "eviction", "WAF", "writes"):
        assert word in done.out, done
    run = destage("run", msr, "-p", "none", "-d", TINY, "-q", "--all")
    assert run.status == 0, run
    assert "cache" not in run.out.splitlines()[0]
    assert "makespan_ns" in run.out


def test_a_timeline_opens_in_perfetto(destage: Destage, msr: Path, tmp_path: Path) -> None:
    args = ("-p", "ecr", "-c", "5p", "-d", TINY, "--warmup", "none", "-q")
    plain = destage("run", msr, *args, "--csv", "-")
    done = destage("run", msr, *args, "--timeline", "t.json", "--csv", "-")
    assert done.status == 0, done
    assert done.out == plain.out
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    units = {e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == 1}
    assert len(units) == 2
    (row,) = rows(done.out)
    spans = [e for e in events if e["ph"] == "X" and e["pid"] == 1]
    kinds = {kind: sum(e["name"].startswith(kind) for e in spans) for kind in ("read", "program")}
    assert kinds["read"] == int(row["flash_reads"])
    assert kinds["program"] == int(row["flash_programs"])
    # Packed it is the same, the same bytes each time, and nothing else is left beside it.
    packed = [destage("run", msr, *args, "--timeline", f"{k}.json.gz").status for k in (1, 2)]
    assert packed == [0, 0]
    first, second = ((tmp_path / f"{k}.json.gz").read_bytes() for k in (1, 2))
    assert first == second
    assert gzip.decompress(first) == (tmp_path / "t.json").read_bytes()
    assert len(first) < len(gzip.decompress(first)) / 5
    assert not list(tmp_path.glob(".*"))
    # On standard output it is alone there.
    alone = destage("run", msr, *args, "--timeline", "-")
    assert json.loads(alone.out)["traceEvents"] == events


def test_a_closed_loop_needs_no_times(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "pages.lis").write_text("".join(f"{k * 37 % 500} 8 0 {k}\n" for k in range(200)))
    args = ("pages.lis", "--format", "arc", "-p", "lru", "-c", "4p", "-q")
    device = ("-d", TINY)
    refused(destage("compare", *args, *device), 2, "has no times", "--queue-depth")
    deep = [
        float(
            rows(destage("compare", *args, *device, "--queue-depth", n, "--csv", "-").out)[0][
                "makespan_ns"
            ]
        )
        for n in (1, 8)
    ]
    assert deep[1] < deep[0]


@pytest.mark.parametrize(
    ("device", "parts"),
    [
        ("smal", ('no preset "smal", did you mean small?',)),
        ("", ("--device", "an empty one")),
        ("small[chanels=4]", ('unknown key "chanels", did you mean channels?',)),
        ("small[cache.frmes=4]", ("frmes",)),
        ("small[channels]", ("no key=value",)),
        ("small[channels=4", ("]",)),
        ("small[channels=0]", ("channels = 0", "expected integer 1..")),
        ("small[channels=4000000000]", ("a device has at most",)),
        ("small[pages_per_block=1;summary_page=true]", ("pages_per_block = 1",)),
        ("small[op_permille=1]", ("no room for GC", "op_permille")),
        ("small[op_permille=1000]", ("op_permille = 1000", "0..999")),
        ("small[gc_low_pages=1]", ("gc_low_pages = 1", "expected integer 96")),
        ("small[read_ns=-1]", ("read_ns = [-1]",)),
        ("small[read_ns=1e30]", ("read_ns",)),
        ("small[program_ns=99999999999999]", ("program_ns", "0..10000000000")),
        (
            "small[read_ns=0;program_ns=0;erase_ns=0;bus_ps_per_byte=0]",
            ("nothing would take any time",),
        ),
        ("small[gc_mode=never]", ("gc_mode", "foreground, background, idle")),
        ("small[sched=read_first;bus=shared]", ("excludes bus = shared", "bus = private")),
    ],
)
def test_an_impossible_drive_is_usage(
    device: str, parts: tuple[str, ...], destage: Destage, msr: Path
) -> None:
    for command in (("compare", "-c", "10p"), ("run", "-c", "10p")):
        done = destage(command[0], msr, "-p", "lru", *command[1:], "-d", device, "-q")
        refused(done, 2, *parts)


def test_a_drive_that_the_machine_cannot_hold_is_refused_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = ds.synth("zipf", requests=10, pages=10)
    drive = ds.open_device("small")  # 4.2 M physical pages
    memory = {"SC_PHYS_PAGES": 8_000, "SC_PAGE_SIZE": 4_096}
    monkeypatch.setattr(os, "sysconf", memory.__getitem__)
    with pytest.raises(ds.UsageError, match=r"physical pages.* this machine has 0 GiB"):
        ds.compare(trace, "lru", cache="5p", device=drive)
    memory["SC_PHYS_PAGES"] = 8_000_000
    assert len(ds.compare(trace, "lru", cache="5p", device=drive, jobs=1)) == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("expected a table [device]",)),
        ("[device]\nchanels = 4\n", (":2:1: ", "did you mean channels?")),
        ("[device]\nchannels = 4\n[hots]\n", (":3:", "did you mean host?")),
        ("[device]\nchannels = \n", (":2:", "expected a value")),
        ("[device]\npreset = 'smal'\n", (":2:1: ", "did you mean small?")),
        ("[device]\nop_permille = 0\n", ("no room for GC",)),
        ("[device]\n[cache]\nframes = ['many']\npolicy = 'lru'\n", ("many",)),
        ("[device]\n[cache]\npolicy = 'lur'\nframes = 4\n", ("lur", "did you mean")),
        ("[device]\n[cache]\npolicy = 'lru'\nk = 4\nframes = 4\n", ("[cache]",)),
        ("[device]\n[host]\nqueue_depth = 0\n", ("queue_depth = 0",)),
        ("[device]\n[ftl]\nspeed = 3\n", ('unknown key "speed"',)),
    ],
)
def test_a_drives_file_that_cannot_be_is_data(
    text: str, parts: tuple[str, ...], destage: Destage, msr: Path, tmp_path: Path
) -> None:
    (tmp_path / "my.toml").write_text(text)
    refused(destage("compare", msr, "-d", "my.toml", "-q"), 65, *parts)


def test_flags_that_need_or_exclude_a_drive(destage: Destage, msr: Path) -> None:
    def with_args(*args: object, status: int = 2, command: str = "compare") -> Done:
        done = destage(command, msr, "-c", "10p", *args, "-q")
        assert done.status == status, done
        return done

    refused(with_args("-d", "no.toml", status=66), 66, "no.toml: no such file")
    refused(with_args("-p", "ecr"), 2, "ecr is device-aware", "--device")
    refused(with_args("-p", "none"), 2, "add a device")
    refused(with_args("--ftl", "page"), 2, "--ftl needs a simulated SSD")
    refused(with_args("--queue-depth", 4), 2, "--queue-depth needs a simulated SSD")
    refused(
        with_args("-d", TINY, "--queue-depth", 0), 2, "--queue-depth: expected a whole number 1.."
    )
    refused(with_args("-d", TINY, "--ftl", "pagee"), 2, "did you mean page?")
    refused(with_args("-d", TINY, "--ftl", "page[x=1]"), 2, 'unknown key "x"')
    refused(with_args("-d", TINY, "--page-size", "8KiB"), 2, "pages of 4096 bytes")
    refused(with_args("-d", TINY, "--wrap", "round"), 2, "expected error, modulo, extend")
    refused(with_args("-d", TINY, "--volumes", "separate"), 2, "one after another (stack)")
    refused(with_args("-p", "lru", "--timeline", "t.json", command="run"), 2, "add --device")
    refused(with_args("-p", "none,lru", "-d", TINY, command="run"), 2, "compare takes several")
    refused(with_args("-p", "ecr", command="mrc"), 2, "use compare")
    same = with_args("-p", "lru", "-d", TINY, "--page-size", "4KiB", "--ftl", "page", status=0)
    assert "ftl=page" in same.out


def test_a_trace_beyond_the_drive(destage: Destage, msr: Path) -> None:
    small = TINY.replace("logical_pages=128", "logical_pages=32")

    def compare(device: str, *args: object) -> Done:
        return destage("compare", msr, "-p", "lru", "-c", "4p", "-d", device, *args)

    for device in (small, f"{small[:-1]};address_mode=error]"):
        refused(compare(device, "-q"), 2, "small.csv: its pages go up to 41", "has 32", "--wrap")
    assert compare(f"{small[:-1]};address_mode=wrap]").status == 0
    wrapped = compare(small, "--wrap", "modulo")
    assert wrapped.status == 0, wrapped
    assert "were wrapped into it" in wrapped.err
    assert " 32 pages of 4,096 bytes" in wrapped.out
    refused(compare(small, "--wrap", "error", "-q"), 2, "--wrap modulo")


def test_a_drives_file_speaks_to_runs(destage: Destage, drive: Path, tmp_path: Path) -> None:
    several = destage("run", DEMO, "-p", "lru", "-d", drive.name, "-q")
    refused(several, 2, "the device drive names 2 sizes (1MiB, 4MiB)")
    text = drive.read_text().replace('frames = ["1MiB", "4MiB"]', 'frames = "1MiB"\npolicy = "ecr"')
    drive.write_text(text)
    one = destage("run", DEMO, "-d", drive.name, "-q")
    assert one.status == 0, one
    assert "ecr, cache 1 MiB (256 pages)" in one.out
    # A flag goes before the file, and its wrap and requests are the reader's.
    flags = ("-p", "lru", "-c", "2MiB", "--requests", "1000", "--csv", "-")
    (row,) = rows(destage("run", DEMO, "-d", drive.name, "-q", *flags).out)
    assert (row["label"], row["frames"], row["trace_requests"]) == ("lru", "512", "1000")


def test_one_file_for_everything(destage: Destage, msr: Path, tmp_path: Path) -> None:
    text = """
[trace]
requests = 200
[device]
preset = "small"
channels = 2
planes_per_die = 1
blocks_per_plane = 20
pages_per_block = 8
logical_pages = 128
gc_low_pages = 16
precondition = "sequential"
[cache]
policy = "lru,ecr"
size = ["4p", "8p"]
hit_ns = 700
cost = { read = 1, write = 9 }
[host]
mode = "closed"
queue_depth = 3
"""
    (tmp_path / "all.toml").write_text(text)
    found = rows(destage("compare", msr, "--config", "all.toml", "-q", "--csv", "-").out)
    assert [(r["label"], r["frames"]) for r in found] == [
        ("lru", "4"),
        ("lru", "8"),
        ("ecr", "4"),
        ("ecr", "8"),
    ]
    for row in found:
        assert (row["device"], row["queue_depth"], row["cost_write"]) == ("all", "3", "9")
        assert row["trace_requests"] == "200"
    # Flags go before it; a device that is given takes the place of its device.
    args = ("--config", "all.toml", "-p", "none", "-d", TINY, "-q", "--csv", "-")
    first = rows(destage("compare", msr, *args).out)[0]
    assert first["device"].startswith("small[")
    assert first["queue_depth"] == ""
    # A policy whose parameters stand beside it is the device's.
    (tmp_path / "all.toml").write_text(text.replace('"lru,ecr"', '"lru-k"\nk = 3'))
    row = rows(destage("compare", msr, "--config", "all.toml", "-q", "--csv", "-").out)[0]
    assert json.loads(row["params"])["k"] == 3
    # A command without a device takes what is for it.
    assert destage("mrc", msr, "--config", "all.toml", "-p", "lru", "-q").status == 0
    for wrong, part in (
        ("[host]\nmode = 'closed'\n", "needs a table [device]"),
        (text + "[hosts]\n", "did you mean host?"),
        (text.replace("hit_ns", "hits_ns").replace('"lru,ecr"', '"none"'), "hit_ns"),
        (text.replace("requests", "requets"), "did you mean requests?"),
    ):
        (tmp_path / "all.toml").write_text(wrong)
        refused(destage("compare", msr, "--config", "all.toml", "-q"), 65, "all.toml", part)


def test_the_environment_gives_a_drive(destage: Destage, msr: Path) -> None:
    env = {"DESTAGE_DEVICE": TINY, "DESTAGE_QUEUE_DEPTH": "2"}
    done = destage("compare", msr, "-p", "lru", "-c", "4p", "-q", "--csv", "-", env=env)
    (row,) = rows(done.out)
    assert row["queue_depth"] == "2"
    assert float(row["response_ns_mean"]) > 0


def test_a_drive_of_ones_own_is_described_as_a_preset_is(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[device]\nop_permille = 70\n")
    told = destage("devices", "mine.toml").out
    assert "mine: a device of its own" in told
    assert "over-provisioning 7.0 %" in told
    sizes = json.loads(destage("devices", "mine.toml", "--json", "-").out)["size"]
    assert f"WAF {sizes['greedy_waf']:.2f}" in " ".join(told.split())
    changed = destage("devices", "small[op_permille=70]").out
    assert "small[op_permille=70]: on the preset small" in changed
    assert changed.endswith("--device 'small[op_permille=70]'\n")
    refused(destage("devices", "smal"), 2, "did you mean small?")
    refused(destage("devices", "none.toml"), 66, "none.toml: no such file")
    exact = destage("devices", "mine.toml", "--toml").out
    assert "mine: every key, in exact units" in exact


def test_names_with_control_characters_are_shown_escaped(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    for name in ("a\nb\x1b[31m.toml", "none\nb\x1b[31m.toml"):
        if name[0] == "a":
            (tmp_path / name).write_text("[device]\nchannels = 0\n")
        # A line feed is \x0a where the engine shows a name, \n where Python does.
        shown = re.compile(r"(a|none)(\\x0a|\\n)b\\x1b\[31m\.toml")
        for words in (("compare", msr, "-p", "lru", "-d", name), ("conform", name)):
            done = destage(*words)
            assert done.status in (65, 66)
            assert shown.search(done.err), done
            assert "\x1b" not in done.err
        with pytest.raises((ds.DataError, ds.MissingFile), match=shown):
            ds.open_device(tmp_path / name)
    # A device is called after its file, in every table.
    (tmp_path / "a\nb\x1b[31m.toml").write_text('[device]\npreset = "small"\n')
    done = destage("compare", msr, "-p", "lru", "-c", "4p", "-d", "a\nb\x1b[31m.toml")
    assert done.status == 0
    assert "\x1b" not in done.out + done.err
    assert "in front of a\\nb\\x1b[31m\n" in done.out


def test_catalogues_of_drives_and_ftls(destage: Destage, tmp_path: Path) -> None:
    listed = json.loads(destage("devices", "--json", "-").out)["devices"]
    assert [d["name"] for d in listed] == [d.name for d in ds.devices()]
    shown = destage("devices").out
    for info in ds.devices():
        assert info.name in shown
        assert destage("devices", info.name).status == 0
        (tmp_path / "mine.toml").write_text(destage("devices", info.name, "--toml").out)
        mine, preset = (ds.open_device(d).record for d in (tmp_path / "mine.toml", info.name))
        if preset["device"]["ftl"] != "page":  # free pages of a plane are nothing to other FTLs
            for key in ("gc_low_pages", "gc_high_pages"):
                mine["device"][key] = preset["device"][key]
        assert [mine[table] for table in ("device", "cache", "host")] == [
            preset[table] for table in ("device", "cache", "host")
        ]
    one = " ".join(destage("devices", "bpac").out.split())
    assert "1 channel x 1 chip x 1 die x 1 plane x 19,276 blocks x 64 pages of" in one
    assert "1 unit, " in one
    keys = destage("devices", "--keys").out
    for key in ds.device_keys():
        assert f"  {key.name}: " in keys
    for ftl in ds.ftls():
        done = destage("ftls", ftl.name)
        assert done.status == 0
        assert ftl.title in done.out
        for key in ftl.params:
            assert key.name in done.out
    for args, part in (
        (("devices", "smal"), "did you mean small?"),
        (("devices", "--toml"), "a name"),
        (("devices", "small", "--keys"), "no name"),
        (("ftls", "pgae"), "did you mean page?"),
    ):
        refused(destage(*args), 2, part)
    assert "needs --device" in destage("policies", "ecr").out


def test_python_and_the_command_line_agree(destage: Destage, drive: Path) -> None:
    opened = ds.open_device(drive)
    trace = ds.open_trace(DEMO, device=opened)
    results = ds.compare(trace, POLICIES, device=opened, warmup="none")
    assert results.to_csv() == golden(destage, "-d", drive.name).out
    assert trace.device is opened
    run = next(r for r in results if r.policy == "ecr")
    assert (run.device, run.ftl, run.queue_depth) == ("drive", "page", None)
    assert run.response_ns_mean == run["response_ns_mean"]
    # The device goes on as it was: a run works on a copy.
    again = ds.compare(trace, POLICIES, device=opened, warmup="none")
    assert again == results
    how: Any = {"cache": "1MiB", "device": opened, "warmup": "none"}
    one = ds.run(trace, "ecr", profile=True, **how)
    assert one.run.metrics == run.metrics
    assert one.run.profile is not None
    frame = pytest.importorskip("polars")
    table = results.to_polars()
    assert isinstance(table, frame.DataFrame)
    assert set(table.columns) >= {m.name for m in ds.metrics()} | {"device", "ftl", "queue_depth"}


def test_a_policy_of_ones_own_runs_in_front_of_a_drive(drive: Path) -> None:
    trace = ds.open_trace(DEMO, device=drive, requests=2000)
    own, table = ds.compare(trace, [Lru, "lru"], cache="1MiB", device=drive)
    for metric in ds.metrics():
        assert own[metric.name] == table[metric.name], metric.name


def test_what_python_refuses(msr: Path) -> None:
    trace = ds.open_trace(msr)
    with pytest.raises(ds.UsageError, match="expected a preset, a TOML file or a device"):
        ds.open_device(7)  # type: ignore[arg-type]
    with pytest.raises(ds.MissingFile, match=r"no\.toml: no such file"):
        ds.open_device("no.toml")
    with pytest.raises(ds.UsageError, match="queue_depth: expected a whole number"):
        ds.open_device("small", queue_depth="four")
    with pytest.raises(ds.UsageError, match="excludes"):
        ds.open_device("small[sched=read_first;bus=shared]", queue_depth=4)
    with pytest.raises(ds.UsageError, match="device qlc-nvme has 16384"):
        ds.compare(trace, "lru", cache="4p", device="qlc-nvme")
    with pytest.raises(ds.UsageError, match="add a device"):
        ds.compare(trace, "lru", cache="4p", ftl="page")
    with pytest.raises(ds.UsageError, match='wrap="modulo"'):
        ds.compare(trace, "lru", cache="4p", device=TINY.replace("128", "16"))
    for call in (
        lambda **given: ds.open_trace(msr, **given),
        lambda **given: ds.synth("zipf", **given),
    ):
        with pytest.raises(ds.UsageError, match="drive: this keyword is device= now"):
            call(drive="small")
    for before, now in (("devices", "volumes"), ("tenant_is_device", "tenant_is_volume")):
        with pytest.raises(ds.UsageError, match=rf"{before}: this key of \[trace\] is {now} now"):
            ds.open_trace(msr, **{before: "stack"})
    with pytest.raises(AttributeError, match="'drive': it is 'device' now"):
        trace.drive  # type: ignore[attr-defined]  # noqa: B018
    large = ds.open_trace(msr, device=TINY.replace("128", "16"), wrap="extend")
    with pytest.raises(ds.UsageError, match="its attribute device"):
        ds.compare(large, "lru", cache="4p", device=TINY.replace("128", "16"))
    assert ds.compare(large, "lru", cache="4p", device=large.device)
    with pytest.raises(ds.UsageError, match='unknown FTL "dtfl", did you mean dftl'):
        ds.open_device("small").with_options(ftl="dtfl")
    with pytest.raises(ds.UsageError, match="pages: expected"):
        ds.open_device("small").extended(-1)


def test_what_a_drive_says_of_itself() -> None:
    small = ds.open_device("small")
    assert small.logical_bytes == 16 << 30
    assert small.size["units"] == 32
    assert small.queue_depth is None
    assert small.with_options(queue_depth=7).queue_depth == 7
    assert small.with_options(ftl="page").record["device"] == small.record["device"]
    assert small.extended(small.logical_pages) is small
    assert small.extended(5_000_000).logical_pages >= 5_000_000
    assert ds.open_device("sac").cache == ("131072p", "262144p", "393216p", "524288p", "655360p")
    assert "Over-provisioning  15.0 %" in repr(small)
    assert ds.open_device(small) is small


def test_a_terminal_of_80_columns_shows_every_number(destage: Destage, msr: Path) -> None:
    args = ("-p", "lru,cflru[window_fraction=0.25],ecr", "-c", "4p,8p", "-d", TINY, "-q", "--color")
    done = destage("compare", msr, *args)
    assert done.status == 0, done
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.out)
    table = plain[plain.index("policy") :]
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= 80
    heads = re.sub(r"\((pages|blocks)\)", "", table.splitlines()[0])
    assert "pages" not in heads, "the column of frames is left out first"
    # Names go on several lines, numbers do not.
    for run in rows(destage("compare", msr, *args[:-1], "--csv", "-").out):
        assert f" {int(run['flash_writes']):,}" in table


def test_a_warning_of_all_runs_is_said_once(destage: Destage, msr: Path) -> None:
    device = f"{TINY[:-1]};ftl=page-ideal;summary_page=true]"
    done = destage("compare", msr, "-p", "lru,arc", "-c", "4p", "-d", device, "-q")
    assert done.status == 0, done
    assert done.err.count("summary_page = true has no effect") == 1
    assert "lru" not in done.err


def test_the_eviction_wait_is_of_the_drive_and_named_in_the_table(
    destage: Destage, msr: Path
) -> None:
    cache = {name: ds.open_device(name).record["cache"] for name in ("small", "fdp", "ecr", "sac")}
    assert {name: c["evict_wait"] for name, c in cache.items()} == {
        "small": "staged",
        "fdp": "staged",
        "ecr": "program",
        "sac": "none",
    }
    assert cache["small"]["staging_pages"] == 64
    assert "staging_pages" not in cache["ecr"]
    done = destage("compare", msr, "-p", "lru,arc", "-c", "4p", "-d", TINY)
    assert "evictions: 64-page staging buffer (evict_wait)" in done.out, done
    waits = TINY.replace("]", ";evict_wait=program]")
    done = destage("compare", msr, "-p", "lru,arc", "-c", "4p", "-d", waits)
    assert "evictions: wait for the program (evict_wait)\n" in done.out, done
    refused(
        destage("compare", msr, "-c", "4p", "-d", TINY.replace("]", ";staging_pages=0]")),
        2,
        "staging_pages = 0: expected integer 1..4294967295",
    )


def test_a_record_that_names_no_eviction_wait_has_that_of_the_specification() -> None:
    old = ds.open_device("small").record
    for key in ("evict_wait", "staging_pages"):
        del old["cache"][key]
    assert restored(json.dumps(old)).record["cache"]["evict_wait"] == "program"


def test_a_run_on_a_device_that_hardly_collects_says_so(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    def said(device: str) -> str:
        done = destage("compare", msr, "-p", "lru", "-c", "4p", "-d", device, "--json", "r.json")
        assert done.status == 0, done
        (run,) = json.loads((tmp_path / "r.json").read_text())["runs"]
        warnings = "; ".join(run["warnings"])
        assert ("not a steady state" in warnings) == ("not a steady state" in done.out + done.err)
        return warnings

    assert "not a steady state: " in said("small[precondition=none]")
    assert "GiB were free before GC begins" in said("small[precondition=sequential]")
    assert "not a steady state" not in said("small")


def test_suspensions_are_a_metric_of_devices_that_suspend_operations() -> None:
    trace = ds.synth("uniform", requests=6000, pages=20_000, read_ratio=0.5, gap_ns=30_000, seed=1)
    device = "small[sched=read_first;suspend={}]"
    runs: list[Any] = [
        ds.compare(trace, "lru", cache="1%", device=device.format(word)).runs[0].metrics
        for word in ("none", "erase", "program")
    ]
    assert runs[0].get("suspensions") is None
    assert 0 < runs[1]["suspensions"] < runs[2]["suspensions"]
