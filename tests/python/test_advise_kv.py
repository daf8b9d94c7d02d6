"""`advise --kv`: no run beats the advice by its own rule; the answer is short, or withheld."""

from __future__ import annotations

import html
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, opened
from conftest import ROOT, Destage

import destage as ds
from destage.model.configuration import SOLD
from destage.model.deployed import kv_settings
from destage.show.tables.kv_answer import kv_table

GRID: dict[str, Any] = {
    "policies": "lru,fifo",
    "cache": "3%,10%",
    "tier2": "lru",
    "tier2_cache": "10%,40%",
    "admit": "always,nth",
}


def write_prompts(path: Path, requests: int, apart_ms: int, seed: int) -> Path:
    """Prompts of some topics, each a random walk down a tree of blocks."""
    draw = random.Random(seed)
    lines = []
    known: dict[tuple[int, ...], int] = {}
    for k in range(requests):
        path_of = [draw.choices(range(30), weights=[1 / (r + 1) for r in range(30)])[0]]
        for _ in range(draw.randrange(1, 9)):
            path_of.append(draw.choice((0, 0, 1, draw.randrange(9_999))))
        chains = (tuple(path_of[: n + 1]) for n in range(len(path_of)))
        ids = [known.setdefault(chain, len(known)) for chain in chains]
        tokens = 512 * len(ids) - draw.randrange(100)
        lines.append(
            json.dumps({"timestamp": apart_ms * k, "input_length": tokens, "hash_ids": ids})
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_prompts(tmp_path_factory.mktemp("kv") / "prompts.jsonl", 1_500, 1_000, 1)


@pytest.fixture(scope="module")
def trace(prompts: Path) -> ds.Trace:
    return ds.open_trace(prompts, bytes_per_token=1024)


def test_the_most_hits_are_those_of_ssds_that_last(trace: ds.Trace) -> None:
    """Rows with more hits stand in the table, of SSDs that wear out: the note says which count."""
    seen = set()
    for tbw in ("1TB", "20TB", "100PB"):
        advice = ds.advise_kv(trace, price=f"tbw={tbw}", **GRID)
        more = any(one.hits > advice.best.hits for one in advice.candidates)
        assert ("with an SSD that lasts" in kv_table(advice).notes[0]) is more
        seen.add(more)
    assert seen == {True, False}


def key(row: dict[str, Any]) -> tuple[float, ...]:
    priced = () if row["dollars"] is None else (row["dollars"],)
    return (*priced, row["cache_bytes"], row["flash_bytes"], row["tier2_writes"] or 0)


@pytest.mark.parametrize(
    "price", [None, "tbw=5TB", "tbw=1GB", "dram=3.0/GiB,tbw=100GB,device=60", "dram=3.0/GiB"]
)
@pytest.mark.parametrize("within", [0.0, 0.05, 0.5])
def test_no_run_beats_the_advice_by_its_own_rule(
    trace: ds.Trace, price: str | None, within: float
) -> None:
    advice = ds.advise_kv(trace, price=price, within=within, **GRID)
    rows = advice.to_dicts()
    assert len(rows) == 2 * 2 * (1 + 2 * 2)
    (mine,) = [row for row in rows if row["advised"]]
    # Without a rating, life is that of a drive write a day; wear that is priced may be anything.
    lasting = [row for row in rows if row["dollars"] is not None or (row["life_years"] or 5.0) >= 5]
    assert [row["lasts"] for row in rows] == [row in lasting for row in rows]
    may_be = lasting if price is not None and "tbw" in price else rows
    best = max(row["token_hit_ratio"] for row in may_be)
    near = [row for row in may_be if row["token_hit_ratio"] >= best * (1 - within)]
    longest = max(row["life_years"] or 0.0 for row in near)
    durable = [row for row in near if row["lasts"]] or [
        row for row in near if row["life_years"] >= longest / 2
    ]
    assert mine in near
    assert key(mine) == min(map(key, durable))
    # The same rule at each pair of sizes, one row each.
    assert len(advice.curve) == 2 * (1 + 2)
    assert advice.chosen in advice.curve
    if price == "tbw=1GB":
        assert not any(row["lasts"] for row in rows if row["tier2_writes"])
        assert "no configuration that writes to flash lasts 5 years" in advice.text()


def test_the_answer_is_five_lines_and_a_table(trace: ds.Trace) -> None:
    advice = ds.advise_kv(trace, price="tbw=500TB", **GRID)
    answer, table = advice.text(width=200).split("\n\n")
    lines = answer.splitlines()
    starts = ("Worth it: yes", "SSD: ", "DRAM: ", "Flash: ", "Settings: ")
    assert [line.startswith(s) for line, s in zip(lines, starts, strict=True)] == [True] * 5
    notes = kv_table(advice).notes
    assert notes[1].startswith("an SSD lasts if it lives 5 years")
    assert len(table.splitlines()) == 3 + len(advice.curve) + len(notes)
    assert "Settings" not in table
    explained = advice.text(explain=True)
    for host in ("vLLM 0.33", "LMCache", "Dynamo KVBM"):
        assert f"\n{host}" in explained
    if advice.chosen.flash_bytes:
        assert advice.dram_only.dram_bytes <= advice.chosen.dram_bytes
        assert "flash adds" in answer
    assert advice.bound is not None
    assert advice.bound >= advice.best.hits


def test_settings_are_withheld_where_the_trace_says_little(tmp_path: Path) -> None:
    short = write_prompts(tmp_path / "short.jsonl", 400, 100, 2)
    trace = ds.open_trace(short, bytes_per_token=1024)
    advice = ds.advise_kv(trace, **GRID)
    assert "shorter than ten minutes" in advice.withheld
    assert "Settings: withheld" in advice.text()
    assert "vLLM" not in advice.text(explain=True)
    assert not ds.advise_kv(trace, **GRID, force=True).withheld
    new = tmp_path / "new.jsonl"
    lines = [{"timestamp": 1000 * k, "hash_ids": [2 * k, 2 * k + 1]} for k in range(900)]
    new.write_text("\n".join(map(json.dumps, lines)))
    advice = ds.advise_kv(ds.open_trace(new, bytes_per_token=1024), **GRID)
    assert advice.text().startswith("Worth it: no")
    assert "prompt tokens are hits" in advice.withheld


def test_a_budget_is_a_size_that_is_tried(trace: ds.Trace) -> None:
    grid = {key: value for key, value in GRID.items() if key != "cache"}
    advice = ds.advise_kv(trace, budget="3p", **grid)
    assert {one.dram_bytes for one in advice.candidates} == {3 * trace.page_bytes}
    with pytest.raises(ds.UsageError, match="no DRAM size that is tried is at most 3p"):
        ds.advise_kv(trace, budget="3p", cache="10%", **grid)


def test_each_host_takes_its_own_form(trace: ds.Trace) -> None:
    advice = ds.advise_kv(trace, **{**GRID, "policies": "s3-fifo", "admit": "nth"})
    flash = max(advice.candidates, key=lambda one: one.flash_bytes)
    vllm, lmcache, dynamo = kv_settings(flash)
    config = json.loads(vllm.typed.partition("'")[2].rstrip("'"))
    extra = config["kv_connector_extra_config"]
    assert extra["cpu_bytes_to_use"] == flash.dram_bytes
    assert (extra["eviction_policy"], extra["cache_policy_module_path"]) == (
        "s3-fifo",
        "destage.live.hosts.vllm",
    )
    assert extra["spec_name"] == "TieringOffloadingSpec"
    assert f"max_local_disk_size: {flash.flash_bytes / 2**30:.2f}" in lmcache.typed
    assert "no admission filter" in lmcache.lacks
    assert "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER=false" in dynamo.typed
    alone = next(one for one in advice.candidates if not one.flash_bytes)
    assert all("disk" not in one.typed.lower() for one in kv_settings(alone))


def test_the_command_prints_writes_and_plans(
    destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    grid = ("-p", "lru,fifo", "-c", "3%,10%", "--tier2", "lru", "--tier2-cache", "20%")
    base = ("advise", prompts, "--bytes-per-token", "1024", "--kv", "-q", *grid)
    plan = destage(*base, "--dry-run")
    assert plan.status == 0, plan.err
    assert f"{2 * 2 * (1 + 4)} runs on" in plan.out
    kept, rows = tmp_path / "advice.json", tmp_path / "advice.csv"
    done = destage(*base, "--json", kept, "--csv", rows)
    assert done.status == 0, done.err
    assert done.out.startswith("Worth it: ")
    found = json.loads(kept.read_text())
    assert found["schema"] == "destage.kv_advice"
    assert len(rows.read_text().splitlines()) == 1 + 2 * 2 * (1 + 4) == 1 + found["ran"]["runs"]
    again = destage(*base)
    assert again.out == done.out
    for flags, said in [
        (("--device", "small"), "--kv excludes --device"),
        (("--objective", "hit"), "--kv excludes --objective"),
    ]:
        wrong = destage(*base, *flags)
        assert wrong.status == 2, (flags, wrong.out)
        assert said in wrong.err
    wrong = destage(*("no" if one == "20%" else one for one in base))
    assert wrong.status == 2
    assert "no" in wrong.err
    wrong = destage("advise", prompts, "--bytes-per-token", "8", "--admit", "nth")
    assert wrong.status == 2
    assert "add tier2 (--tier2)" in wrong.err


def conversation() -> Path:
    """The first requests of Mooncake's conversation trace; skips where they are not."""
    folders = [os.environ.get("DESTAGE_TRACES"), ROOT.parent / "shared" / "traces"]
    for folder in folders:
        path = Path(folder or "/nowhere") / "mooncake_conversation_first2000.jsonl.xz"
        if path.exists():
            return path
    pytest.skip("mooncake_conversation_first2000.jsonl.xz is not here (DESTAGE_TRACES)")


def test_the_conversation_trace_has_an_answer(destage: Destage) -> None:
    base = ("advise", conversation(), "--bytes-per-token", "131072", "--kv", "-q")
    done = destage(*base, "--json", "-")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["worth_it"]
    assert found["flash_worth_it"]
    assert found["advised"]["token_hit_ratio"] >= 0.98 * found["best"]["token_hit_ratio"]
    assert found["bound"] >= found["best"]["token_hit_ratio"]
    # Taking every block wears a drive of 600 TB out in days.
    done = destage(*base, "--price", "tbw=600TB")
    assert "no configuration that writes to flash lasts 5 years" in done.out


def test_wear_is_in_the_first_lines_and_a_filter_that_spares_the_drive_is_preferred() -> None:
    trace = ds.open_trace(conversation(), bytes_per_token=131_072)
    advice = ds.advise_kv(trace)
    first = " ".join(advice.text().splitlines()[:4])
    life = advice.chosen.life_years
    assert life is not None
    assert f"Worth it: only if the SSD may wear out in {365.25 * life:.2f} days" in first
    assert " a day (assumed; --price tbw=) it lasts " in first
    # One write of the whole tier a day, for five years.
    assert advice.chosen.rated_bytes == 5 * 365.25 * advice.chosen.flash_bytes
    assert advice.chosen.run["admit"] == "always"
    assert " times less and hits " in advice.text(width=400)
    # Where a filter is near enough, the advice lives half as long as the longest-lived at least.
    spared = ds.advise_kv(trace, within="30%")
    near = [one for one in spared.candidates if one.hits >= 0.7 * spared.best.hits]
    assert not any(one.lasts for one in near)
    assert spared.chosen.run["admit"] != "always"
    longest = max(one.life_years or 0.0 for one in near)
    assert (spared.chosen.life_years or 0.0) >= longest / 2 > 2 * life
    # A life that is asked for is kept if it can be: it decides before the sizes.
    days = f"years={0.9 * (spared.chosen.life_years or 0.0)}"
    kept = ds.advise_kv(trace, within="30%", price=days)
    assert kept.chosen.lasts
    assert kept.text().startswith("Worth it: yes; ")


@pytest.fixture(scope="module")
def page(trace: ds.Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("altair")
    path = tmp_path_factory.mktemp("page") / "advice.html"
    ds.advise_kv(trace, **GRID).write_page(path, "destage advise <x>")
    return path


def test_the_page_has_the_answer_the_tables_and_the_settings(
    trace: ds.Trace, page: Path, destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    advice = ds.advise_kv(trace, **GRID)
    text = page.read_text(encoding="utf-8")
    again = tmp_path / "again.html"
    advice.write_page(again, "destage advise <x>")
    assert again.read_bytes() == page.read_bytes()
    shown = html.unescape(text.partition('<script type="application/json"')[0])
    for line in advice.text(width=999).splitlines()[:4]:
        assert line in shown
    for setting in kv_settings(advice.chosen):
        assert setting.typed in shown
        assert setting.source in shown
    assert shown.count("<table") >= 4  # the choice, the filters, and the points of two charts
    assert "destage advise &lt;x&gt;" in text
    grid = ("-p", "lru,fifo", "-c", "3%,10%", "--tier2", "lru", "--tier2-cache", "10%,40%")
    flags = ("--bytes-per-token", "1024", "--kv", "-q", "--admit", "always,nth", *grid)
    made = tmp_path / "made.html"
    done = destage("advise", prompts, *flags, "--html", made)
    assert done.status == 0, done.err
    assert done.out == advice.text()
    assert "Destage advice on KV caches" in made.read_text(encoding="utf-8")
    wrong = destage("advise", prompts, *flags, "--html", tmp_path / "made.pdf")
    assert wrong.status == 2, wrong.out


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_is_drawn_and_goes_beyond_no_side_of_the_screen(
    page: Path, dark: bool, width: int
) -> None:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: the page was made, and not looked at")
    with opened() as browser, browser.page(page, dark=dark, width=width) as seen:
        seen.wait("document.querySelectorAll('.vega svg').length >= 2")
        assert len(seen.each(".vega svg", "1")) == 2
        sides = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert seen.ask(sides)
        assert seen.complaints == []


def test_bytes_of_a_block_are_the_same_as_of_its_tokens(
    destage: Destage, prompts: Path, tmp_path: Path
) -> None:
    flags = ("--kv", "-q", "-p", "lru", "-c", "3%", "--tier2", "lru", "--tier2-cache", "20%")
    sizes = {"--bytes-per-token": "1024", "--block-bytes": "524288"}
    for command in ("advise", "compare"):
        seen = set()
        for flag, value in sizes.items():
            done = destage(command, prompts, flag, value, *flags)
            assert done.status == 0, done.err
            seen.add(done.out.replace(f"{flag} {value}", ""))
        assert len(seen) == 1, seen
    spec = tmp_path / "options.toml"
    spec.write_text(
        '[trace]\nblock_bytes = "512KiB"\n[tier2]\npolicy = "lru"\ncache = "20%"\n'
        "[kv]\nenabled = true\n"
    )
    done = destage("run", prompts, "-p", "lru", "-c", "3%", "-q", "--config", spec)
    assert done.status == 0, done.err
    assert ds.open_trace(prompts, block_bytes=70_001).page_bytes == 70_001
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        f'[sweep]\ntraces = ["{prompts}"]\npolicies = ["lru"]\ncache = ["3%"]\nkv = [true]\n'
        "[trace]\nblock_bytes = 524288\n"
    )
    done = destage("sweep", sweep, "--store", tmp_path / "store", "-q")
    assert done.status == 0, done.err
    assert [run["token_hit_ratio"] for run in ds.load_results(tmp_path / "store")] == [
        run["token_hit_ratio"]
        for run in ds.compare(
            ds.open_trace(prompts, bytes_per_token=1024), "lru", cache="3%", kv=True
        )
    ]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--block-bytes", "0"), "--block-bytes: expected a whole number of bytes, found"),
        (("--block-bytes", "-5"), "--block-bytes: expected a whole number of bytes, found"),
        (("--block-bytes", "many"), "--block-bytes: expected a whole number of bytes, found"),
        ((), "bytes_per_token (--bytes-per-token) or block_bytes (--block-bytes) must be given"),
        (
            ("--block-bytes", "512KiB", "--bytes-per-token", "1024"),
            "expected one of bytes_per_token (--bytes-per-token) and block_bytes (--block-bytes),"
            " found both (1024 and 524288)",
        ),
    ],
)
def test_a_wrong_size_of_blocks_is_one_error(
    destage: Destage, prompts: Path, flags: tuple[str, ...], said: str
) -> None:
    wrong = destage("compare", prompts, *flags, "--kv", "-p", "lru", "-c", "3%", "-q")
    assert wrong.status == 2, wrong.out
    assert said in wrong.err
    assert len(wrong.err.strip().splitlines()) <= 2, wrong.err


def test_a_curve_that_still_rises_is_said(trace: ds.Trace) -> None:
    grid = {**GRID, "cache": "1%,2%", "tier2_cache": "2%,4%"}
    rising = ds.advise_kv(trace, **grid)
    assert rising.rises in ("DRAM", "flash", "DRAM and flash")
    said = " ".join(rising.text().split())
    assert f"the curve still rises with {rising.rises} at the largest sizes tried" in said
    assert json.loads(rising.to_json())["rises"] == rising.rises
    whole = ds.advise_kv(trace, **{**GRID, "cache": "50%,90%", "tier2_cache": "60%,100%"})
    assert whole.rises == ""
    assert "still rises" not in whole.text()


def test_advice_without_a_flash_tier_is_of_dram_alone(trace: ds.Trace) -> None:
    advice = ds.advise_kv(trace, cache="1%,2%", tier2="none", force=True)
    assert {one.flash_bytes for one in advice.candidates} == {0}
    assert "the curve still rises at the largest size tried, " in " ".join(advice.text().split())
    assert "cpu_bytes_to_use" in advice.text(explain=True)
    with pytest.raises(ds.UsageError, match="there is no flash tier for tier2_cache"):
        ds.advise_kv(trace, cache="1%", tier2="none", tier2_cache="2%")


def test_a_flash_tier_that_nothing_is_written_to_lasts(trace: ds.Trace) -> None:
    # Each block is offered once, and a thousand offers are asked for.
    grid = {**GRID, "admit": "nth[n=1000]", "cache": "3%", "tier2_cache": "10%"}
    advice = ds.advise_kv(trace, price="tbw=1GB", **grid)
    idle = [one for one in advice.candidates if one.flash_bytes and not one.written]
    assert idle
    assert all(one.lasts and one.written_per_day == 0 for one in idle)
    assert "SSD: nothing is written to flash." in advice.text(explain=True)


def test_servers_drives_and_the_rate_of_recomputing(trace: ds.Trace) -> None:
    alone = ds.advise_kv(trace, price="tbw=500TB", **GRID)
    many = ds.advise_kv(trace, price="tbw=500TB", servers=16, prefill_tokens_per_s=1000.0, **GRID)
    assert many.chosen.run.label == alone.chosen.run.label
    text = " ".join(many.text().split())
    assert "16 servers: " in text
    assert "than a server recomputes (1,000 tokens/s)" in text
    assert "servers" not in alone.text()
    run = many.chosen.run
    tokens, blocks = int(run["tokens"] or 0), int(run["blocks"] or 0)
    assert many.worth_reading_bytes_per_s == pytest.approx(
        1000 * trace.page_bytes * blocks / tokens
    )
    for one in many.candidates:
        if one.flash_bytes and one.written_per_day:
            assert one.drives == -(-one.written_per_day * 365.25 * 5 // 500e12)
            # The smallest that is sold and holds it.
            assert one.sold_bytes in SOLD
            assert max((s for s in SOLD if s < one.sold_bytes), default=0) < one.flash_bytes
            assert one.flash_bytes <= one.sold_bytes
            assert one.drive_writes_per_day == one.written_per_day / one.sold_bytes
            read = one.flash_read_bytes_per_s
            assert read is not None
            # Blocks read over blocks written, at the rate of the writes.
            writes_per_s = one.written_per_day / 86_400
            reads, writes = int(one.run["tier2_reads"] or 0), int(one.run["tier2_writes"] or 0)
            assert read == pytest.approx(writes_per_s * reads / writes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--servers", "0", "--kv"], "--servers: expected a whole number from 1, got 0"),
        (["--prefill", "0", "--kv"], "expected a number above 0"),
        (["--servers", "2"], "--servers of advise needs --kv"),
        (["--prefill", "9"], "--prefill of advise needs --kv"),
    ],
)
def test_a_fleet_that_cannot_be_is_one_error(
    destage: Destage, prompts: Path, words: list[str], said: str
) -> None:
    done = destage("advise", str(prompts), "--bytes-per-token", "4096", *words)
    assert (done.status, said in done.err) == (2, True), done
