"""`destage serve --device`: a simulated SSD behind the cache, and replies when it would answer."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from test_serve import needed, ran, replay_of, served

import destage as ds
from destage import _destage

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="serve needs Unix")

#: A miniature SSD of 8 MiB, full.
DEVICE = """
[device]
channels = 2
blocks_per_plane = 80
pages_per_block = 16
logical_pages = 2048
precondition = "sequential"
read_ns = [{read_ns}]
"""

#: Metrics of the windows of a run, which a server does not cut: it knows no end.
OF_WINDOWS = {"queue_share", "outstanding_mean", "outstanding_max"}


def miniature(folder: Path, read_ns: int = 40_000) -> Path:
    path = folder / "device.toml"
    path.write_text(DEVICE.format(read_ns=read_ns))
    return path


def fio(uri: str, *flags: str) -> None:
    needed("fio")
    if "nbd" not in ran("fio", "--enghelp").split():
        pytest.skip("fio is built without NBD: what it would show is not looked at")
    job = ["--name=job", "--ioengine=nbd", f"--uri={uri}", "--size=8M", "--randseed=7"]
    ran("fio", *job, *flags)


@pytest.mark.parametrize(
    ("policy", "flush"), [("gcar-lru", "ignore"), ("sac", "drain"), ("none", "drain")]
)
def test_the_record_has_the_counters_and_times_of_the_simulated_ssd(
    tmp_path: Path, policy: str, flush: str
) -> None:
    record, stats = tmp_path / "record.csv", tmp_path / "stats.json"
    cache = [] if policy == "none" else ["-c", "1MiB"]
    flags = [*cache, "-p", policy, "-d", miniature(tmp_path), "--flush", flush, "--emulate"]
    with served(":memory:", *flags, "--record", record, "--stats", stats) as (ready, _):
        assert ready["export_bytes"] == 8 << 20
        verify = ["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0", "--fsync=64"]
        fio(ready["uri"], "--iodepth=16", "--rw=randrw", "--bs=12k", *verify)
    told = json.loads(stats.read_text())
    run = replay_of(told, tmp_path)
    assert {key: run["counters"][key] for key in told["counters"]} == told["counters"]
    late = {key: told["device"].pop(key) for key in ("late_replies", "lateness_ns_max")}
    assert set(late) == {"late_replies", "lateness_ns_max"}
    assert told["device"]["flash_programs"] > 500
    same = {name: value for name, value in run["metrics"].items() if name not in OF_WINDOWS}
    windows = {name for name, value in same.items() if value != told["device"][name]}
    assert not windows, {name: (run["metrics"][name], told["device"][name]) for name in windows}


def test_a_reply_comes_when_the_simulated_ssd_has_answered(tmp_path: Path) -> None:
    device = miniature(tmp_path, 3_000_000)
    with ds.serve(":memory:", policy="none", device=device, emulate=True, speed=0.5) as server:
        fio(server.uri, "--rw=randread", "--bs=4k", "--number_ios=40")
        told = server.stats()
    assert told["requests"]["read"] >= 40
    assert told["device"]["response_ns_mean"] >= 3_000_000
    assert told["response_ns"]["p50"] >= 2 * 3_000_000


@pytest.mark.parametrize(
    ("keywords", "part"),
    [
        ({"size": "1MiB", "emulate": True}, "--emulate needs a simulated SSD"),
        ({"size": "1MiB", "flush": "drain"}, "--flush needs a simulated SSD"),
        ({"size": "1MiB", "speed": 2.0}, "--speed needs a simulated SSD"),
        ({"device": "small", "pages_per_block": 8}, "the erase block is the device's"),
        ({"device": "small", "size": "1MiB", "page_size": "8KiB"}, "its pages have 4096 bytes"),
        ({"device": "small", "size": "32GiB"}, "4194304 pages"),
        ({"device": "small", "size": "1MiB", "speed": 0.0}, "speed: expected a number above 0"),
        ({"device": "small", "size": "1MiB", "flush": "often"}, "often"),
        ({"device": "small[sched=read_first]", "size": "1MiB"}, "read_first"),
        ({"device": "smal", "size": "1MiB"}, "smal"),
    ],
)
def test_what_a_simulated_ssd_cannot_serve_is_named(keywords: dict[str, Any], part: str) -> None:
    if "small" in str(keywords.get("device")):
        device, empty = keywords["device"].removesuffix("]"), "precondition=none]"
        keywords = {**keywords, "device": f"{device}{';' if '[' in device else '['}{empty}"}
    with pytest.raises((ds.UsageError, ds.MissingFile), match=part):
        ds.serve(":memory:", **keywords)


def test_serving_adds_at_most_a_mebibyte_to_the_extension() -> None:
    needed("nm")
    mine = re.compile(r"destage_(pool|nbd)|(timed|engine)::live|serve::Server")
    lines = ran("nm", "-S", "--defined-only", "-C", _destage.__file__).splitlines()
    symbols = [line.split(None, 3) for line in lines]
    sizes = [int(one[1], 16) for one in symbols if len(one) == 4 and mine.search(one[3])]
    if len(sizes) < 100:
        pytest.skip("the extension has no symbols: its parts are not measured")
    assert sum(sizes) < 1 << 20
