"""One cache for all experts of a model against a cache for each layer, and what would gain more."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from conftest import DATA, Destage

import destage as ds
from destage.model.partition import Layer, Point, TokenTime, gains_of, token_time_of

#: Reads of a layer: its number and the expert.
Reads = list[tuple[int, int]]


def log(path: Path, reads: Reads) -> Path:
    lines = [json.dumps({"layer": layer, "topk_ids": [expert]}) for layer, expert in reads]
    path.write_text("\n".join(lines) + "\n")
    return path


def skewed(layers: int, count: int) -> Reads:
    """Reads in turn by layer, whose experts differ in number and in popularity."""
    chance = random.Random(5)
    found = []
    for k in range(count):
        layer = k % layers
        found.append((layer, int(chance.random() ** (1.5 + layer) * (20 + 10 * layer))))
    return found


def looped(experts: int, rounds: int) -> Reads:
    return [(0, expert) for _ in range(rounds) for expert in range(experts)]


def test_each_layer_has_its_share_of_the_cache(tmp_path: Path) -> None:
    reads = skewed(3, 3_000)
    trace = ds.open_trace(log(tmp_path / "log.jsonl", reads))
    found = ds.partition(trace, "lru,lfu,sampled-lru[k=2]", cache=["16p", "31p"])
    assert [layer.reads for layer in found.layers] == [1000, 1000, 1000]
    for size, shares in (("16p", (6, 5, 5)), ("31p", (11, 10, 10))):
        points = {point.policy: point for point in found.points if point.cache == size}
        assert list(points) == ["lru", "lfu", "sampled-lru[k=2]", "min"]
        for policy, point in points.items():
            pages = [layer * 4096 + expert for layer, expert in reads]
            one = ds.compare(ds.open_trace(pages), policy, cache=size)[0]
            assert (point.misses, point.frames) == (one.misses, one.frames)
            for layer, share in enumerate(shares):
                own = ds.open_trace([expert for of, expert in reads if of == layer])
                alone = ds.compare(own, policy, cache=f"{share}p")[0]
                assert point.layer_misses[layer] == alone.misses, (policy, layer)
            # MIN in one cache is the bound of both arrangements.
            assert points["min"].misses <= min(point.misses, sum(point.layer_misses))


def test_of_one_layer_both_arrangements_are_the_same(tmp_path: Path) -> None:
    trace = ds.open_trace(log(tmp_path / "log.jsonl", skewed(1, 800)))
    for point in ds.partition(trace, cache="3p,9p").points:
        assert point.layer_misses == (point.misses,)


@pytest.mark.parametrize(
    ("cache", "verdict", "by_policy", "by_size"),
    [
        # LRU never hits a loop over 20 experts that is one larger than its cache or more; MIN does.
        ("8p", "policy failure", None, 0),
        ("15p", "working-set failure", None, 9 * 20),
        ("20p", "neither", 0, 0),
    ],
)
def test_the_larger_gain_names_the_failure(
    tmp_path: Path, cache: str, verdict: str, by_policy: int | None, by_size: int
) -> None:
    trace = ds.open_trace(log(tmp_path / "log.jsonl", looped(20, 10)))
    (gains,) = ds.partition(trace, "lru", cache=cache).gains
    assert (gains.verdict, gains.by_size, gains.policy) == (verdict, by_size, "lru")
    least = ds.compare(trace, "min", cache=cache)[0].misses
    lru = ds.compare(trace, "lru", cache=cache)[0].misses
    assert least is not None
    assert lru is not None
    assert gains.by_policy == lru - least
    assert by_policy is None or gains.by_policy == by_policy


@pytest.mark.parametrize(
    ("by_policy", "by_size", "verdict"),
    [
        (30, 20, "policy failure"),
        (20, 30, "working-set failure"),
        (29, 20, "both alike"),
        (20, 29, "both alike"),
        (10, 9, "both alike"),
        (9, 9, "neither"),
        (0, 9, "neither"),
        (0, 10, "working-set failure"),
    ],
)
def test_a_difference_below_a_point_decides_nothing(
    by_policy: int, by_size: int, verdict: str
) -> None:
    point = Point("lru", False, "8p", 8, False, 500, (500,))
    bound = Point("min", True, "8p", 8, False, 500 - by_policy, (0,))
    assert gains_of([point, bound], 500 - by_size, 1000).verdict == verdict


def test_a_mark_is_that_of_compare(tmp_path: Path) -> None:
    trace = ds.open_trace(log(tmp_path / "log.jsonl", skewed(2, 2_000)))
    found = ds.partition(trace, "lru,lfu,arc,random", cache="6p,12p")
    runs = ds.compare(trace, "lru,lfu,arc,random,min", cache="6p,12p")
    best = {(r["label"], r["cache"]) for r in runs.to_dicts() if "hit_ratio" in r["best"]}
    assert best
    assert {(p.policy, p.cache) for p in found.points if p.is_best} == best
    table = found.as_table().text()
    assert table.count("*") == len(best) + bool(best)


def test_the_best_online_policy_is_asked_again_at_twice_the_size(tmp_path: Path) -> None:
    trace = ds.open_trace(log(tmp_path / "log.jsonl", skewed(2, 2_000)))
    found = ds.partition(trace, "random,lru,lfu,arc", cache="6p")
    (gains,) = found.gains
    misses = {point.policy: point.misses for point in found.points}
    assert gains.policy == min(("random", "lru", "lfu", "arc"), key=misses.__getitem__)
    twice = ds.compare(trace, gains.policy, cache="12p")[0].misses
    assert twice is not None
    assert gains.by_size == misses[gains.policy] - twice
    assert gains.by_policy == misses[gains.policy] - misses["min"]


def test_a_miss_takes_the_time_of_an_expert() -> None:
    time = token_time_of("expert=20MB, read=4GB/s, top=2")
    assert time == TokenTime(20_000_000, 4e9, 2)
    layers = [Layer(0, 100, 9), Layer(1, 100, 7)]
    assert time.tokens(layers) == 50
    # 30 misses of 20 MB at 4 GB/s are 150 ms, of 50 tokens.
    assert time.ms(30, 50) == pytest.approx(3.0)
    assert token_time_of("read=1GiB/s,top=8,expert=1.5MiB").expert_bytes == 3 << 19


def test_times_are_null_without_a_read_rate(tmp_path: Path) -> None:
    trace = ds.open_trace(log(tmp_path / "log.jsonl", skewed(2, 400)))
    rows = ds.partition(trace, "lru", cache="10p").to_dicts()
    assert [row["ms_per_token_one"] for row in rows] == [None, None]
    timed = ds.partition(trace, "lru", cache="10p", token_time="expert=3MB,read=3GB/s,top=2")
    row = timed.to_dicts()[0]
    assert row["ms_per_token_one"] == pytest.approx(row["misses_one"] / 100)
    assert row["ms_per_token_per_layer"] == pytest.approx(row["misses_per_layer"] / 100)


def test_the_first_line_is_the_answer(destage: Destage, tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", looped(20, 10))
    done = destage("mrc", str(path), "--partition", "layer", "-p", "lru", "-c", "8p", "-q")
    assert done.status == 0, done
    first, blank, *table = done.out.splitlines()
    assert first.startswith("8p (8 of 20 experts): policy failure. MIN gains ")
    assert first.endswith(" points of hits over lru, twice the cache 0.0.")
    assert blank == ""
    assert any(line.startswith("8p     min") for line in table)


def test_files_have_the_answer_and_every_layer(destage: Destage, tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", skewed(3, 900))
    words = ("mrc", str(path), "--partition", "layer", "-p", "lru,min", "-c", "9p", "-q")
    data = json.loads(destage(*words, "--json", "-").out)
    assert (data["schema"], data["token_time"]) == ("destage.partition", None)
    assert [len(point["layer_misses"]) for point in data["points"]] == [3, 3]
    assert data["gains"][0]["verdict"] in ("policy failure", "working-set failure")
    head, *rows = destage(*words, "--csv", "-").out.splitlines()
    assert head.startswith("policy,cache,cache_pages,layers,reads,misses_one,hit_ratio_one,")
    assert [row.partition(",")[0] for row in rows] == ["lru", "min"]


TIME = "expert=18MB,read=3GB/s,top=8"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--partition", "volume"], "--partition: expected layer, got 'volume'"),
        (["--token-time", TIME], "--token-time goes with --partition layer: add that"),
        (["--partition", "layer", "--sample", "1%"], "--sample does not go with --partition"),
        (["--partition", "layer", "--warmup", "10%"], "--warmup does not go with --partition"),
        (["--partition", "layer", "--store", "s"], "--store does not go with --partition"),
        (["--partition", "layer", "--page-size", "8192"], "--page-size does not go with"),
        (["--partition", "layer", "-p", "min"], "name a policy that does not know the future"),
        (["--partition", "layer", "-c", "all"], "cache all: a partition is of named sizes"),
        (["--partition", "layer", "-c", "2p"], "2 experts for 3 layers: expected at least one"),
        (["--partition", "layer", "--token-time", "exprt=1MB"], "did you mean expert?"),
        (["--partition", "layer", "--token-time", "top=8"], "expert is missing: expected expert="),
        (["--partition", "layer", "--token-time", TIME + ",top=1"], "top is given twice"),
        (
            ["--partition", "layer", "--token-time", TIME[:-1] + "0"],
            "expected a value such as top=8",
        ),
        (["--partition", "layer", "--token-time", TIME], "layer 0 has 300 reads, expected a mult"),
        (
            ["--partition", "layer", "--token-time", "expert=18MB,read=3GB,top=2"],
            "read: expected a value such as read=3GB/s, got '3GB'",
        ),
        (
            ["--partition", "layer", "--token-time", "expert=18,read=3GB/s,top=2"],
            "expert: expected a value such as expert=18MB, got '18'",
        ),
    ],
)
def test_what_cannot_be_is_an_error(
    destage: Destage, tmp_path: Path, flags: list[str], said: str
) -> None:
    path = log(tmp_path / "log.jsonl", skewed(3, 900))
    done = destage("mrc", str(path), *flags)
    assert (done.status, said in done.err) == (2, True), done


def test_another_trace_has_no_layers(destage: Destage) -> None:
    done = destage("mrc", str(DATA / "msr.csv"), "--partition", "layer")
    assert done.status == 2
    assert "expected a trace of format moe-routing, found msr" in done.err
    trace = ds.open_trace(DATA / "moe-routing.jsonl", page_size=8192)
    with pytest.raises(ds.UsageError, match="expected a page for each expert"):
        ds.partition(trace, cache="4p")
