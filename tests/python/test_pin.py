"""Pages that stay in a cache (`docs/spec/tiers.md` 4.13): command, Python, files, errors."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from test_own_policy import Lru

import destage as ds

PAGE = 4096
#: Pages of volume 1: its first.
PINNED = range(3)


@pytest.fixture
def accesses(tmp_path: Path) -> tuple[Path, list[tuple[int, str, int, int]]]:
    """Three hundred accesses to two volumes, of eight pages and of sixteen, one a second."""
    rows = []
    for k in range(300):
        volume = k * k % 3 % 2
        page = (k * 7 + k * k // 5) % (16 if volume else 8)
        rows.append((k, "w" if k * 7 % 5 == 0 else "r", volume, page))
    path = tmp_path / "volumes.spc"
    path.write_text("".join(f"{v},{8 * p},{PAGE},{op},{t}.0\n" for t, op, v, p in rows))
    return path, rows


def lru(rows: list[tuple[int, str, int, int]], frames: int) -> dict[str, int]:
    """LRU beside pinned pages, counted by hand."""
    pinned: dict[int, bool] = {}
    cache: OrderedDict[tuple[int, int], bool] = OrderedDict()
    hits = pinned_hits = written = 0
    for _, op, volume, page in rows:
        dirty = op == "w"
        if volume == 1 and page in PINNED:
            pinned_hits += page in pinned
            pinned[page] = pinned.get(page, False) or dirty
            continue
        key = (volume, page)
        hits += key in cache
        if key not in cache and len(cache) == frames - len(PINNED):
            written += cache.popitem(last=False)[1]
        cache[key] = cache.pop(key, False) or dirty
    left = sum(pinned.values()) + sum(cache.values())
    return {
        "all_hits": hits + pinned_hits,
        "pinned_hits": pinned_hits,
        "pinned_pages": len(pinned),
        "destaged_pages": written,
        "pending": left,
    }


def counted(run: ds.Result) -> dict[str, int]:
    return {
        "all_hits": run["read_hits"] + run["write_hits"],
        "pinned_hits": run["pinned_hits"],
        "pinned_pages": run["pinned_pages"],
        "destaged_pages": run["destaged_pages"],
        "pending": run["pending_writes"],
    }


RANGE = f"volume=1:0-{len(PINNED) * 4}KiB"


def read(path: Path) -> ds.Trace:
    return ds.open_trace(path, format="spc")


def test_python_and_command_count_as_by_hand(
    destage: Destage, accesses: tuple[Path, list[tuple[int, str, int, int]]]
) -> None:
    path, rows = accesses
    expected = lru(rows, 8)
    assert expected["pinned_hits"] > 20
    (run,) = ds.compare(read(path), "lru", cache="8p", pin=RANGE)
    assert counted(run) == expected
    (flushed,) = ds.compare(read(path), "lru", cache="8p", pin=RANGE, flush_at_end=True)
    assert flushed["end_flushes"] == expected["pending"]
    flags = ("--format", "spc", "-p", "lru", "-c", "8p", "--pin", f"none,{RANGE}", "--json", "-")
    done = destage("compare", path, *flags)
    assert done.status == 0, done.err
    plain, found = json.loads(done.out)["runs"]
    assert found["pin"] == {k: expected[k] for k in ("pinned_pages", "pinned_hits")}
    assert found["config"]["pin"] == RANGE
    assert "pin" not in plain
    (without,) = ds.compare(read(path), "lru", cache="8p")
    assert plain["counters"] == without.counters
    names = ("pinned_pages", "pinned_hits", "tier2_pinned_pages", "tier2_pinned_hits")
    assert [without[name] for name in names] == [None] * 4


def test_a_warm_up_is_left_out_of_the_hits(
    accesses: tuple[Path, list[tuple[int, str, int, int]]],
) -> None:
    path, _ = accesses
    runs = [
        ds.compare(read(path), "lru", cache="8p", pin=RANGE, warmup=warmup)[0]
        for warmup in ("none", "150r", "auto", "full")
    ]
    assert [run["pinned_pages"] for run in runs] == [3] * 4
    assert 0 < runs[1]["pinned_hits"] < runs[0]["pinned_hits"]


def test_the_other_pages_are_as_in_a_trace_without_the_pinned_ones(
    accesses: tuple[Path, list[tuple[int, str, int, int]]], tmp_path: Path
) -> None:
    path, rows = accesses
    others = [row for row in rows if row[2] == 0]
    alone = tmp_path / "others.spc"
    alone.write_text("".join(f"{v},{8 * p},{PAGE},{op},{t}.0\n" for t, op, v, p in others))
    pinned = len({page for _, _, volume, page in rows if volume == 1})
    for policy in ("lru", "arc", "s3-fifo", "min", "w-tinylfu", "larc"):
        (run,) = ds.compare(read(path), policy, cache=f"{pinned + 4}p", pin="volume=1")
        (same,) = ds.compare(read(alone), policy, cache="4p")
        hits = run["read_hits"] + run["write_hits"] - run["pinned_hits"]
        assert hits == same["read_hits"] + same["write_hits"], policy
        assert run["evictions"] == same["evictions"]


def test_a_device_and_two_tiers_have_it(
    destage: Destage, accesses: tuple[Path, list[tuple[int, str, int, int]]], tmp_path: Path
) -> None:
    path, rows = accesses
    (timed,) = ds.compare(read(path), "lru", cache="8p", pin=RANGE, device="small", warmup="none")
    assert counted(timed) == lru(rows, 8)
    config = tmp_path / "pin.toml"
    config.write_text(
        f'[cache]\npolicy = "lru"\nsize = "6p"\npin = "{RANGE}"\n'
        '[tier2]\npolicy = "lru"\ncache = "9p"\nadmit = "nth"\npin = "volume=0:0-8KiB"\n'
    )
    done = destage("compare", path, "--format", "spc", "--config", config, "--json", "-")
    assert done.status == 0, done.err
    (run,) = json.loads(done.out)["runs"]
    tiers: dict[str, Any] = {"tier2": "lru", "tier2_cache": "9p", "admit": "nth", "cache": "6p"}
    (same,) = ds.compare(read(path), "lru", **tiers, pin=RANGE, tier2_pin="volume=0:0-8KiB")
    names = ("pinned_pages", "pinned_hits", "tier2_pinned_pages", "tier2_pinned_hits")
    assert run["pin"] == {name: same[name] for name in names}
    assert (same["pinned_pages"], same["tier2_pinned_pages"]) == (3, 2)
    assert same["tier2_pinned_hits"] > 0
    assert same.label == f"lru, pin {RANGE} over lru 9p, admit nth, pin volume=0:0-8KiB"
    (behind,) = ds.compare(
        read(path), "lru", **tiers, pin=RANGE, tier2_pin="volume=0:0-8KiB", device="small",
        warmup="none",
    )  # fmt: skip
    assert [behind[name] for name in names] == [same[name] for name in names]
    kept = tmp_path / "kept.json"
    done = destage("compare", path, "--format", "spc", "--config", config, "--json", kept)
    assert done.status == 0, done.err
    done = destage("rerun", kept)
    assert done.status == 0, (done.out, done.err)


def test_a_sweep_has_it_as_an_axis(
    accesses: tuple[Path, list[tuple[int, str, int, int]]], tmp_path: Path
) -> None:
    path, _ = accesses
    asked: dict[str, Any] = {"traces": [str(path)], "policies": ["lru"], "cache": ["8p", "10p"]}
    spec = {"sweep": {**asked, "pin": ["none", RANGE]}, "trace": {"format": "spc"}}
    swept = ds.sweep(spec, tmp_path / "runs")
    assert (swept.done, swept.failed) == (4, 0), swept
    stored = ds.load_results(tmp_path / "runs")
    assert {row["pin"] for row in stored.rows} == {"none", RANGE}
    assert {row["pinned_pages"] for row in stored.rows} == {None, 3}


def test_groups_leave_out_what_it_excludes(
    destage: Destage, accesses: tuple[Path, list[tuple[int, str, int, int]]]
) -> None:
    path, _ = accesses
    done = destage("compare", path, "--format", "spc", "-p", "all", "-c", "8p", "--pin", RANGE)
    assert done.status == 0, done.err
    assert "skipped, since --pin excludes them: gcar-bplru, fab" in " ".join(done.err.split())
    assert "cflru" in done.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("--pin", "volume=7"),
            'pin (--pin): no volume "7", did you mean 0?: the trace has volume=0:0-1MiB',
        ),
        (("--pin", "volume=1:1GiB-2GiB"), "no request of the trace reaches volume=1:1GiB-2GiB"),
        (("--pin", "volume=1:0-5"), "expected two addresses in bytes with units, as 0-1GiB"),
        (("--pin", "metadata"), 'pinned range "metadata": expected volume=NAME'),
        (("--pin", "volume=1"), "16 pages of the trace are pinned, and 8 frames have no room"),
        (("--pin", RANGE, "--check"), "pin (--pin) excludes check"),
        (("--pin", RANGE, "--ttl", "5s"), "pin (--pin) excludes ttl (--ttl)"),
        (("--pin", RANGE, "-p", "bplru"), "pin (--pin) excludes bplru: its pages leave by erase"),
        (("--pin", RANGE, "-p", "none", "-d", "small"), "excludes none: there is no cache"),
        (("--tier2-pin", RANGE), "tier2_pin (--tier2-pin) needs a flash tier: add tier2"),
        (
            ("--tier2", "lru", "--tier2-cache", "2p", "--tier2-pin", RANGE),
            "give a tier2_cache (--tier2-cache) of more than 3p",
        ),
        (
            ("--tier2", "lru", "--tier2-cache", "9p", "--tier2-pin", RANGE, "--promote", "move"),
            "promote = move (--promote) excludes tier2_pin (--tier2-pin)",
        ),
        (
            ("--tier2", "lru", "--tier2-cache", "9p", "--tier2-pin", RANGE, "--offer", "feed"),
            "offer = feed (--offer) excludes tier2_pin (--tier2-pin)",
        ),
    ],
)
def test_an_option_that_does_not_apply_is_an_error(
    destage: Destage,
    accesses: tuple[Path, list[tuple[int, str, int, int]]],
    flags: tuple[str, ...],
    said: str,
) -> None:
    path, _ = accesses
    policy = () if "-p" in flags else ("-p", "lru")
    done = destage("compare", path, "--format", "spc", "-c", "8p", *policy, *flags)
    assert done.status == 2, done.out
    assert said in " ".join(done.err.split())


def test_a_curve_a_wrapped_trace_and_a_policy_of_ones_own_have_none(
    destage: Destage, accesses: tuple[Path, list[tuple[int, str, int, int]]], tmp_path: Path
) -> None:
    path, _ = accesses
    done = destage("mrc", path, "--format", "spc", "--pin", RANGE)
    assert (done.status, "--pin" in done.err) == (2, True)
    far = tmp_path / "far.spc"
    far.write_text(f"0,0,{PAGE},r,0.0\n0,{1 << 36},{PAGE},r,1.0\n" * 20)
    wrapped = ("--format", "spc", "-d", "small", "--wrap", "modulo", "-c", "8p")
    done = destage("compare", far, *wrapped, "-p", "lru", "--pin", "0-4KiB")
    assert done.status == 2, done.out
    assert "page accesses of the trace were wrapped" in " ".join(done.err.split())

    with pytest.raises(ds.UsageError, match="excludes a policy of one's own"):
        ds.compare(read(path), Lru, cache="8p", pin=RANGE)
