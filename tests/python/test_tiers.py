"""A flash tier below the cache, and prompts of a language model: command, Python, files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.model.winners import change

PROMPTS = [
    ([1, 2, 3], 1300),
    ([1, 2, 4, 5], 2048),
    ([6, 7], 900),
    ([1, 2, 3], 1300),
    ([1, 8], 1024),
    ([6, 7, 9], 1500),
    ([1, 2, 4, 5], 2048),
]


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "kv.jsonl"
    lines = [
        json.dumps({"timestamp": 1000 * k, "input_length": tokens, "hash_ids": ids})
        for k, (ids, tokens) in enumerate(PROMPTS)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def zipf() -> ds.Trace:
    return ds.synth("zipf", requests=20_000, pages=2_000, seed=1)


def test_unknown_numbers_of_two_tiers_are_null_and_pending_writes_are_of_either(
    zipf: ds.Trace,
) -> None:
    how: dict[str, Any] = {"cache": "50p", "tier2": "lru", "tier2_cache": "400p"}
    for warmup in ("none", "50%"):
        (run,) = ds.compare(zipf, "lru", warmup=warmup, **how)
        for name in ("flash_writes", "physical_writes", "physical_reads", "pending_write_ratio"):
            assert run[name] is None, name
        assert run.writes is None
        assert run.physical_writes is None
        above, below = run["pending_tier1"], run["pending_tier2"]
        assert min(above, below) > 0
        assert max(above, below) <= run["pending_writes"] <= above + below
        assert run["pending_write_bytes"] == 4096 * run["pending_writes"]
        assert (run["pending_writes_at_start"] > 0) == (warmup != "none")
        (flushed,) = ds.compare(zipf, "lru", warmup=warmup, flush_at_end=True, **how)
        assert flushed["pending_writes"] == 0
        assert flushed.counters["end_flushes"] == run["pending_writes"]
    (timed,) = ds.compare(zipf, "lru", device="small", queue_depth=4, **how)
    assert timed["flash_reads"] is None
    assert timed["tier2_reads"] > 0
    table = ds.compare(zipf, "lru,arc", **how).as_table()
    titles = [column.title.replace("\n", " ") for column in table.columns]
    assert "tier 2 writes (pages)" in titles
    assert not any(title.startswith("flash writes") for title in titles)


def test_a_lead_in_writes_within_the_pending_ones_of_two_tiers_is_not_marked(
    zipf: ds.Trace,
) -> None:
    runs = ds.compare(
        zipf, "lru", cache="50p", tier2="lru", tier2_cache="400p", admit="always,nth[n=4]"
    ).runs
    assert change("tier2_writes", *runs) is not None
    late = [
        replace(run, metrics={**run.metrics, "pending_writes": 4 * run["tier2_writes"]})
        for run in runs
    ]
    assert change("tier2_writes", *late) is None


def test_every_combination_of_flash_tiers_runs(zipf: ds.Trace) -> None:
    results = ds.compare(
        zipf,
        "lru,arc",
        cache="50p,100p",
        tier2="lru,s3-fifo",
        tier2_cache="400p",
        admit="always,nth",
    )
    assert len(results) == 2 * 2 * 2 * 2
    assert len({(run.label, run.frames) for run in results}) == len(results)
    alone = {(r.policy, r.frames): r for r in ds.compare(zipf, "lru,arc", cache="50p,100p")}
    for run in results:
        one = alone[run.policy, run.frames]
        assert run.hit_ratio == one.hit_ratio, "tier 1 decides as without tier 2"
        hits = run.counters["read_hits"] + run.counters["write_hits"] + run["tier2_hits"]
        assert run["overall_hit_ratio"] == pytest.approx(hits / run["accesses"])
        assert run["tier2_hits"] + run["tier2_misses"] == run["read_misses"]
        assert run["tier2_writes"] > 0
        assert run["physical_reads"] is None
        assert (run["tier2_policy"], run["tier2_frames"]) in {("lru", 400), ("s3-fifo", 400)}
        assert (run["offer"], run["promote"]) == ("evicted", "copy")
    always, nth = (next(r for r in results if r["admit"] == a) for a in ("always", "nth"))
    assert always["admit_ratio"] == 1.0 > nth["admit_ratio"] > 0


def test_tables_files_and_decisions_show_the_flash_tier(
    destage: Destage, tmp_path: Path, trace_file: Path
) -> None:
    rows, log = tmp_path / "runs.csv", tmp_path / "log.jsonl"
    tier2 = ("--tier2", "lru", "--tier2-cache", "40p", "--admit", "nth[n=1]", "--offer", "inserted")
    tier2 = (*tier2, "--warmup", "none")
    grid = ("--tier2", "lru,arc", "--tier2-cache", "40p,80p", "--promote", "copy,move")
    done = destage("compare", trace_file, "-p", "lru", "-c", "10p", *grid, "--csv", rows)
    assert done.status == 0, done.err
    assert len(rows.read_text().splitlines()) == 1 + 2 * 2 * 2
    done = destage("compare", trace_file, "-p", "lru", "-c", "10p", *tier2, "--csv", rows)
    assert done.status == 0, done.err
    assert "lru over lru 40p, admit nth[n=1], offer inserted" in done.out
    with rows.open() as file:
        (row,) = csv.DictReader(file)
    assert (row["tier2_policy"], row["tier2_frames"], row["admit"]) == ("lru", "40", "nth[n=1]")
    done = destage("run", trace_file, "-p", "lru", "-c", "10p", *tier2, "--decisions", log)
    assert done.status == 0, done.err
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"tier", "admitted", "tier2_evicted", "written_back"} <= set(lines[0])
    assert sum(len(line["admitted"]) for line in lines) == int(row["admitted"])


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    path = tmp_path / "accesses.csv"
    lines = []
    for k in range(2_000):
        op = "Write" if k % 3 == 0 else "Read"
        lines.append(f"{128166372000000000 + k},demo,0,{op},{(k * k) % 97 * 4096},4096,0")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_what_excludes_what_is_an_error_that_names_both(
    destage: Destage, trace_file: Path, prompts: Path
) -> None:
    tier2 = ["--tier2", "lru", "--tier2-cache", "40p"]
    for flags, said in [
        (["--admit", "nth"], "add tier2 (--tier2)"),
        (["--touch", "head-first"], "add kv (--kv)"),
        (["--tier2", "lru"], "add tier2_cache (--tier2-cache)"),
        ([*tier2, "--promote", "move", "--offer", "inserted"], "excludes offer = inserted"),
        ([*tier2, "--admit", "nht"], "did you mean nth?"),
        ([*tier2, "--offer", "all"], 'unknown offer "all" (known: evicted, inserted, feed)'),
        (["--tier2", "arc", "--tier2-cache", "40p", "--admit", "tinylfu"], "without threshold"),
        (["--tier2", "min", "--tier2-cache", "40p"], "not known beforehand"),
        (["--kv"], "the trace has no chains of blocks"),
    ]:
        done = destage("compare", trace_file, "-p", "lru", "-c", "10p", *flags)
        assert done.status == 2, (flags, done.out, done.err)
        assert said in done.err.replace("\n", " "), (flags, done.err)
    done = destage("compare", trace_file, "-p", "larc", "-c", "10p", *tier2)
    assert done.status == 2
    assert "admit = larc" in done.err.replace("\n", " ")
    done = destage("run", trace_file, "-p", "lru", "-c", "10p", *tier2, "--admit", "always,nth")
    assert done.status == 2
    assert "admit: expected one value" in done.err
    done = destage("compare", prompts, "--bytes-per-token", "8", "-p", "prefix-min", "-c", "5p")
    assert done.status == 2
    assert "add kv (--kv)" in done.err


def test_prompts_hit_by_prefix_and_the_bound_is_run_beside_policies(
    destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    base = (prompts, "--bytes-per-token", "8", "-c", "5p", "--warmup", "none")
    done = destage("compare", *base, "--kv", "-p", "lru,prefix-min", "--json", "-")
    assert done.status == 0, done.err
    lru, bound = (run["metrics"] for run in json.loads(done.out)["runs"])
    # The vectors micro-lru-tail-first and micro-prefix-min (tests/vectors/kv.jsonl).
    assert (lru["hit_blocks"], lru["hit_tokens"], lru["insertions"]) == (7, 3584, 16)
    assert lru["token_hit_ratio"] == 3584 / 10120
    assert lru["hit_ratio"] is None
    assert lru["flash_writes"] == 16
    assert bound["hit_blocks"] >= lru["hit_blocks"]
    assert bound["stranded_blocks"] == 0
    done = destage("run", *base, "--kv", "-p", "lru", "--decisions", log, "--all")
    assert done.status == 0, done.err
    assert "Cached prefixes" in done.out
    # There is none; its heading would say that there is.
    assert "Flash tier" not in done.out
    second = json.loads(log.read_text().splitlines()[1])
    assert (second["hit_blocks"], second["tiers"], second["inserted"]) == (2, [1, 1], [5, 4])
    done = destage("compare", *base, "-p", "lru")
    assert done.status == 0
    assert "--kv" in done.err
    # Prompts are counted, not the blocks that a reader gives as requests.
    done = destage("compare", *base[:-2], "-p", "lru", "--kv", "--warmup", "50%")
    blocks = ds.open_trace(prompts, bytes_per_token=8)
    said = f"{len(PROMPTS)} prompts, {blocks.requests} blocks, {blocks.unique_pages} different, of"
    assert said in done.out
    done = destage("advise", *base[:3], "-p", "lru,arc", "-c", "2p,5p", "-q")
    assert done.status == 0, done.err
    assert "advise --kv" in done.err
    done = destage("compare", *base, "-p", "lru", "--kv", "--show", "life")
    assert done.status == 2
    assert "add --device, or use advise --kv --price tbw=" in done.err.replace("\n", " ")
    pytest.importorskip("altair")
    page = tmp_path / "report.html"
    done = destage("compare", *base, "-p", "lru", "--kv", "--report", page, "-q")
    assert done.status == 0, done.err
    assert f"{len(PROMPTS)} prompts \u00b7 {blocks.requests} blocks" in page.read_text("utf-8")


def test_a_file_may_name_the_flash_tier_and_the_semantics(
    destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    config = tmp_path / "kv.toml"
    config.write_text(
        '[trace]\nbytes_per_token = "8"\n[tier2]\npolicy = "lru"\ncache = "4p"\n'
        'offer = "inserted"\n[kv]\nenabled = true\n'
    )
    flags = ("-p", "lru", "-c", "3p", "--warmup", "none", "--json", "-")
    done = destage("compare", prompts, "--config", config, *flags)
    assert done.status == 0, done.err
    (run,) = json.loads(done.out)["runs"]
    # The vector micro-two-tiers-inserted-copy.
    vectors = Path(__file__).parents[1] / "vectors" / "kv.jsonl"
    expected = next(
        json.loads(line)["counters"]
        for line in vectors.read_text().splitlines()
        if '"micro-two-tiers-inserted-copy"' in line
    )
    named = {"requests": "kv_requests", "evictions": "kv_evictions"}
    assert {k: run["metrics"][named.get(k, k)] for k in expected} == expected


@pytest.mark.parametrize("name", ["tier2", "tier2_cache", "admit", "offer", "promote"])
def test_a_value_of_a_list_is_given_once(zipf: ds.Trace, name: str) -> None:
    values = {"tier2": "lru", "tier2_cache": "9p", "admit": "nth", "offer": "evicted"}
    tiers = values | {"promote": "copy"}
    twice = f"{tiers[name]}, {tiers[name]}"
    with pytest.raises(ds.UsageError, match=f"^{name}: {tiers[name]} is given twice$"):
        ds.compare(zipf, "lru", cache="5p", **{**tiers, name: twice})


def test_policies_below_are_written_in_any_case(zipf: ds.Trace, tmp_path: Path) -> None:
    tiers = {"tier2": "LRU, Sieve", "tier2_cache": "9p", "tier3": "Arc", "tier3_cache": "20p"}
    labels = ["lru over lru 9p over arc 20p", "lru over sieve 9p over arc 20p"]
    results = ds.compare(zipf, "LRU", cache="5p", **tiers)
    assert [run.label for run in results] == labels
    assert ds.run(zipf, "LRU", cache="5p", **{**tiers, "tier2": "Sieve"}).run.label == labels[1]
    path = tmp_path / "t.lis"
    path.write_text("".join(f"{k * k % 31} 1 0 {k}\n" for k in range(90)))
    grid = {"traces": [{"path": str(path)}], "policies": ["LRU"], "cache": ["5p"], **tiers}
    ds.sweep({"sweep": {**grid, "tier2": ["LRU", "Sieve"]}}, tmp_path / "store")
    kept = ds.load_results(tmp_path / "store")
    assert sorted(run.label for run in kept) == labels
    assert sorted(row["label"] for row in kept.to_dicts()) == labels


def test_results_are_read_and_run_again(
    zipf: ds.Trace, destage: Destage, trace_file: Path, tmp_path: Path
) -> None:
    results = ds.compare(zipf, "lru", cache="50p", tier2="lru", tier2_cache="10%")
    results.to_json(tmp_path / "r.json")
    (again,) = ds.Results.load(tmp_path / "r.json")
    assert dict(again.metrics) == dict(results[0].metrics)
    assert again.label == results[0].label == "lru over lru 10%"
    kept = tmp_path / "kept.json"
    flags = ("-p", "lru", "-c", "10p", "--tier2", "arc", "--tier2-cache", "40p", "--json", kept)
    assert destage("compare", trace_file, *flags).status == 0
    done = destage("rerun", kept)
    assert done.status == 0, (done.out, done.err)


@pytest.mark.parametrize("tier2", [{}, {"tier2": "lru", "tier2_cache": "4p"}])
def test_a_sweep_over_a_group_leaves_out_what_tiers_and_prompts_exclude(
    destage: Destage, prompts: Path, tmp_path: Path, tier2: dict[str, str]
) -> None:
    trace = {"path": str(prompts), "bytes_per_token": 8}
    grid = {"traces": [trace], "policies": ["all"], "cache": ["5p"], "kv": True, **tier2}
    said: list[str] = []
    ds.sweep({"sweep": grid}, tmp_path / "python", warn=said.append)
    kept = ds.load_results(tmp_path / "python")
    run = {row["policy"] for row in csv.DictReader(io.StringIO(kept.to_csv()))}
    left = {info.name for info in ds.policies()} - run
    assert {"lru", "min", "w-tinylfu"} <= run
    assert {"fab", "bplru", "sac"} <= left
    assert ("larc" in left) == bool(tier2)
    (by_option,) = [one for one in said if "excludes them" in one]
    assert by_option.startswith(f"skipped, since {'tier2' if tier2 else 'kv'} excludes them: ")
    assert left == {name for one in said for name in one.split(": ")[1].split(", ")}
    spec = tmp_path / "sweep.toml"
    lines = [f"{key} = {_toml(value)}" for key, value in grid.items()]
    spec.write_text("[sweep]\n" + "\n".join(lines))
    done = destage("sweep", spec, "--store", tmp_path / "command")
    assert done.status == 0, done.err
    assert all(one in done.err.replace("\n", " ") for one in said)
    named = {**grid, "policies": ["lru", "fab"]}
    assert ds.sweep({"sweep": named}, tmp_path / "named").failed == 1


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


@pytest.mark.parametrize("flags", [(), ("--tier2", "lru", "--tier2-cache", "4p")])
def test_a_group_of_policies_leaves_out_what_tiers_and_prompts_exclude(
    destage: Destage, prompts: Path, flags: tuple[str, ...]
) -> None:
    base = ("compare", prompts, "--bytes-per-token", "8", "-c", "5p", "--kv", "-p", "all", *flags)
    done = destage(*base, "--json", "-")
    assert done.status == 0, done.err
    run = {one["config"]["policy"] for one in json.loads(done.out)["runs"]}
    left = {info.name for info in ds.policies()} - run
    assert {"fab", "bplru", "sac"} <= left
    assert ("larc" in left) == bool(flags)
    assert {"lru", "min", "w-tinylfu"} <= run
    flag = "--tier2" if flags else "--kv"
    said = done.err.replace("\n", " ")
    assert f"skipped, since {flag} excludes them: " in said
    assert all(name in said for name in left)
    planned = destage(*base, "--dry-run")
    assert planned.status == 0, planned.err
    assert "fab" not in planned.out
    results = ds.compare(
        ds.open_trace(prompts, bytes_per_token=8), "all", cache="5p", kv=True, warmup="none"
    )
    assert not {"fab", "sac"} & {one.policy for one in results}
    # A policy that is named is no member of a group: it is an error.
    done = destage(*base[:6], "--kv", "-p", "lru,fab", *flags)
    assert done.status == 2
    assert "fab" in done.err


def test_hits_of_both_tiers_have_an_interval(zipf: ds.Trace) -> None:
    one, other = ds.compare(zipf, "lru,arc", cache="50p", tier2="lru", tier2_cache="400p")
    for run in (one, other):
        assert run.windows is not None
        hits = run.counters["read_hits"] + run.counters["write_hits"] + run["tier2_hits"]
        assert sum(run.windows["overall_hits"]) == hits
        assert sum(run.windows["backing_reads"]) == run["backing_reads"]
    for name in ("overall_hit_ratio", "tier2_hit_ratio", "backing_reads"):
        interval = other.minus(one, name)
        assert interval is not None
        low, high = interval
        assert low <= other[name] - one[name] <= high
        assert low < high
    alone = ds.compare(zipf, "lru", cache="50p")[0]
    assert alone.windows is not None
    assert "overall_hits" not in alone.windows


def test_tokens_and_blocks_are_not_added(tmp_path: Path) -> None:
    path = tmp_path / "kv.jsonl"
    line = '{{"timestamp": {0}, "input_length": 1024, "hash_ids": [{1}, {2}]}}\n'
    path.write_text("".join(line.format(1000 * k, k % 7, k % 5 + 9) for k in range(1000)))
    trace = ds.open_trace(path, bytes_per_token=8)
    (run,) = ds.compare(trace, "lru", cache="4p", kv=True, tier2="lru", tier2_cache="8p")
    assert run.windows is not None
    assert run["tier2_writes"] > 0
    assert "overall_hits" not in run.windows


def test_advice_above_a_flash_tier_is_what_the_table_has(zipf: ds.Trace) -> None:
    below = {"tier2": "lru", "tier2_cache": "400p", "admit": "nth"}
    grid = {"cache": "20p,100p,300p"}
    advice = ds.advise(zipf, policies="lru,arc,fifo", **grid, **below, within=0.0)
    assert [goal.column for goal in advice.goals] == ["overall_hit_ratio"]
    table = ds.compare(zipf, "lru,arc,fifo", **grid, **below, warmup=advice.run["warmup"])
    best = max(table, key=lambda run: (run["overall_hit_ratio"], -run.frames))
    assert advice.run["overall_hit_ratio"] == best["overall_hit_ratio"]
    assert (advice.run.label, advice.run.frames) == (best.policy, best.frames)
    assert advice.settings == ()
    assert advice.below == "over lru 400p, admit nth"
    assert "pages of 4,096 bytes, over lru 400p, admit nth" in advice.text()
    assert "Settings of products" not in advice.text(explain=True)
    written = {"tier2": "slru[protected_fraction=0.80]", "tier2_cache": "400p"}
    assert ds.advise(zipf, policies="lru", cache="100p", **written).below.startswith("over slru")
    left = {run.policy for run in ds.advise(zipf, cache="100p", **below).candidates}
    assert "s3-fifo" in left
    assert not left & {"larc", "bplru", "bpac", "ace", "none"}
    with pytest.raises(ds.UsageError, match="leave out dirty pages in DRAM"):
        ds.advise(zipf, "writes", policies="lru", cache="100p", **below)
    with pytest.raises(ds.UsageError, match="tier2: expected one value"):
        ds.advise(zipf, tier2="lru,fifo", tier2_cache="400p")


def test_the_command_advises_above_a_flash_tier(
    destage: Destage, tmp_path: Path, trace_file: Path
) -> None:
    flags = ("--tier2", "lru", "--tier2-cache", "40p", "-p", "lru,arc", "-c", "10p,20p")
    page = tmp_path / "advice.html"
    done = destage("advise", trace_file, *flags, "-o", page)
    assert done.status == 0, done.err
    assert "overall hits" in done.out
    assert "Settings of products" not in page.read_text()
    done = destage("advise", trace_file, "-d", "small", *flags)
    assert done.status == 0, done.err
    assert "mean response" in done.out
    for wrong, why in (
        (("--touch", "head-first"), "--touch of advise needs --kv"),
        ((*flags, "--now", "zfs_arc_max=8GB"), "now (--now) excludes tier2 (--tier2)"),
        (("--tier2", "lru,fifo", "--tier2-cache", "9p"), "--tier2: expected one value"),
    ):
        done = destage("advise", trace_file, *wrong)
        assert done.status == 2
        assert why in done.err


@pytest.mark.parametrize("count", [1, 3, 7, 9])
def test_requests_of_prompts_are_prompts(prompts: Path, count: int) -> None:
    trace = ds.open_trace(prompts, block_bytes=4096, requests=count, format="mooncake")
    (run,) = ds.compare(trace, "lru", cache="4p", kv=True)
    first = PROMPTS[:count]
    assert run["kv_requests"] == len(first)
    assert run["blocks"] == sum(len(ids) for ids, _ in first)
    assert run["tokens"] == sum(tokens for _, tokens in first)


def test_blocks_chosen_by_address_are_no_prompts(prompts: Path) -> None:
    trace = ds.open_trace(prompts, block_bytes=4096, offset_to="16KiB", format="mooncake")
    assert ds.compare(trace, "lru", cache="4p")[0]["accesses"] == 11
    with pytest.raises(ds.UsageError, match="no chain"):
        ds.compare(trace, "lru", cache="4p", kv=True)


def test_options_take_numbers_of_numpy_and_name_what_they_do_not_take(zipf: ds.Trace) -> None:
    numpy = pytest.importorskip("numpy")
    how: dict[str, Any] = {"cache": "50p", "tier2": "lru", "tier2_cache": "400p"}
    times = {"tier2_read_ns": 5, "backing_read_ns": 70}
    (plain,) = ds.compare(zipf, "lru", **how, **times)
    (same,) = ds.compare(zipf, "lru", **how, **{k: numpy.int64(v) for k, v in times.items()})
    assert plain["read_time_ns"] == same["read_time_ns"] > 5
    with pytest.raises(ds.UsageError, match=r"^ttl: expected a text, a number or a list .*\{1\}"):
        ds.compare(zipf, "lru", cache="50p", ttl={1})  # type: ignore[arg-type]
