"""The answer of `advise`: no run beats it; it is short, and withheld where it must be."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.model.deployed import sizes_now, systems
from destage.model.metrics import LARGEST_PENDING
from destage.model.words import plain, size
from destage.questions.advice import running
from destage.questions.runs import Interrupted
from destage.show.tables.advice import choice_lines
from destage.show.tables.answer import _is_possible, answer_lines, answer_table
from destage.show.tables.words import far_text

DRIVE = ds.open_device("small")
OBJECTIVES = ("hit", "mean", "p99", "waf", "cost")
SIZES = {"3%": 0.03, "12%": 0.12, "40%": 0.4}
#: By workload, the part that is measured: from a full cache on, which is the default, or all of it.
WORKLOADS: dict[str, dict[str, str]] = {"zipf": {}, "oltp": {}, "whole": {"warmup": "none"}}
CASES = [*itertools.product(("zipf", "oltp"), OBJECTIVES), ("whole", "mean"), ("whole", "waf")]
PRICE = "dram=3.0/GiB,tbw=600TB,device=60"


def trace(kind: str, **more: object) -> ds.Trace:
    given = {"requests": 3_000, "pages": 700, "read_ratio": 0.5, "seed": 4, "page_size": 4096}
    return ds.synth(kind, **(given | more))


def judged(row: dict[str, Any], name: str) -> float | None:
    return row[f"{name}_judged"]


@pytest.fixture(scope="module")
def advices() -> dict[tuple[str, str], ds.Advice]:
    """Advice with the usual candidates, by workload and objective."""
    made = {}
    for kind, name in CASES:
        how: dict[str, Any] = {"device": DRIVE, "cache": list(SIZES), "seeds": 1}
        how |= WORKLOADS[kind]
        how |= {"price": PRICE} if name == "cost" else {}
        made[kind, name] = ds.advise(trace("zipf" if kind == "whole" else kind), name, **how)
    return made


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_no_run_beats_the_advice_within_its_own_rule(
    advices: dict[tuple[str, str], ds.Advice], kind: str, name: str
) -> None:
    advice = advices[kind, name]
    largest = name == "hit"
    rows = advice.to_dicts()
    # Every policy that ran is a candidate, unless its cache was not full when measurement began.
    left = [r for r in rows if not r["candidate"] and r["label"] != "none"]
    assert all(r["cache_full"] is False for r in left)
    assert not (left and kind == "whole")
    assert not any(r["cache_full"] is False for r in rows if r["candidate"])
    # At each size that was asked for, every policy that ran is one.
    asked = {round(share * advice.trace.unique_pages) for share in SIZES.values()}
    assert len(asked) == len(SIZES)
    assert asked <= {r["frames"] for r in rows}
    assert not asked & {r["frames"] for r in left}
    known = [r for r in rows if r["candidate"] and judged(r, name) is not None]
    least: dict[str, int] = {}
    for system in systems():
        if not system.reads_only:
            at = least.get(system.label, system.least_bytes)
            least[system.label] = min(at, system.least_bytes)
    sold = [r for r in known if r["cache_bytes"] >= least.get(r["label"], 1 << 62)]
    for runs, choice in ((sold, advice.deployed[0]), (known, advice.choices[0])):
        sign = 1 if largest else -1
        best = max(sign * judged(r, name) for r in runs) * sign
        (mine,) = [
            r for r in runs if (r["label"], r["frames"]) == (choice.run.label, choice.run.frames)
        ]
        ours = judged(mine, name)
        bound = best * (1 - advice.within) if largest else best * (1 + advice.within)
        near = [r for r in runs if sign * judged(r, name) >= sign * bound]
        assert sign * ours >= sign * bound
        assert choice.run.frames == min(r["frames"] for r in near)
        here = [r for r in near if r["frames"] == choice.run.frames]
        assert sign * ours == max(sign * judged(r, name) for r in here)
    assert advice.run is advice.deployed[0].run


def test_printed_values_count_pending_writes_as_the_choice_does(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    advice = advices["oltp", "mean"]
    choice = advice.first
    goal = choice.goal
    assert choice.has_pending
    shown = plain(goal.text(goal.judged(advice.run)))
    assert shown != plain(goal.text(goal.value(advice.run)))
    assert plain(goal.text(choice.best_value)) in answer_lines(advice)[0]
    assert f" gives {shown}" in plain(" ".join(choice_lines(choice, advice.within)))
    table = answer_table(advice)
    names = [column.title for column in table.columns]
    points = {plain(size(p.run.cache_bytes)): p for p in choice.curve}
    for row in list(table.rows())[1:]:
        point = points[plain(row[0].text).rstrip("*")]
        assert plain(row[names.index("mean")].text) == plain(goal.text(point.judged))
        far = (point.judged - choice.best_value) / choice.best_value
        assert plain(row[names.index("from best")].text) == plain(far_text(far))
    assert "mean: with pending writes, each at the mean cost of the others" in table.notes
    worst = next(wrong for wrong in choice.wrong if wrong.what == "the worst")
    assert goal.put_off(worst.run) <= LARGEST_PENDING
    assert any(goal.put_off(run) > LARGEST_PENDING for run in advice.candidates)


def test_the_writer_and_those_that_look_at_the_drive_are_candidates(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    labels = {run.label for run in advices["zipf", "mean"].candidates}
    assert {"lru + writer", "clock-sweep + writer", "gcar-cflru", "ecr-e", "ace"} <= labels
    alone = ds.advise(trace("zipf"), "hit", cache="10%", seeds=1)
    assert not any("writer" in r.label or r.label == "ace" for r in alone.candidates)
    # Its run is the one that `compare` has in front of such a device, measured from there on.
    writing = next(r for r in advices["zipf", "mean"].results if r.label == "lru + writer")
    assert writing.warmup_requests > 0
    run = ds.compare(
        trace("zipf"),
        "lru",
        cache=f"{writing.frames}p",
        device="small[writer=trickle]",
        warmup=f"{writing.warmup_requests}r",
    )[0]
    assert writing.metrics == run.metrics


def test_a_run_without_a_cache_stands_in_every_advice(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    for advice in advices.values():
        assert advice.nothing is not None
        assert advice.nothing.hit_ratio == 0
    lines = advices["zipf", "mean"].text().splitlines()
    (worth,) = " ".join(lines).split("Worth it: ")[1:]
    assert re.match(r"yes; a cache of 796 KiB saves \d+ % of mean response: ", worth), worth
    assert " in place of " in worth
    assert any("no cache" in line for line in lines)


def test_the_answer_is_five_lines_and_a_table(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    from destage.show.tables.answer import answer_lines, answer_table

    for advice in advices.values():
        lines = answer_lines(advice)
        assert 1 <= len(lines) <= 5, lines
        if not advice.worth:
            continue
        assert lines[1].startswith("Take ")
        marked = [row for row in answer_table(advice).rows() if row[0].best]
        assert len(marked) == 1
        assert max(map(len, advice.text(width=80).splitlines())) <= 100
        assert len(advice.text()) < len(advice.text(explain=True))


def test_the_answer_has_the_number_of_each_product_and_names_none_as_the_only_one(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    """An owner of any product finds it in the first lines, whichever is ahead."""
    from destage.show.tables.answer import answer_lines

    advice = advices["zipf", "hit"]
    take = answer_lines(advice)[1]
    head, _, values = take.partition(" At that size: ")
    assert "products' policies" in head
    assert not any(system.name in head for system in systems())
    near = 1.05 * advice.run.cache_bytes
    fits = {s.system.name: 0.0 for s in advice.settings if s.run and s.size_bytes <= near}
    for setting in advice.settings:
        if setting.system.name in fits and setting.values[0] is not None:
            best = max(fits[setting.system.name], setting.values[0])
            fits[setting.system.name] = best
    named = {name: value for name, value in fits.items() if value}
    assert len(named) > 1
    assert {"dm-cache", "PostgreSQL"} <= named.keys()
    for name, value in named.items():
        # One text for those that are alike: `Open-CAS and bcache 42.96 %`.
        assert re.search(rf"{name}\b[^%]* {100 * value:.2f} %", values), (name, values)
    order = [float(text) for text in re.findall(r"([\d.]+) %", values)]
    assert order == sorted(order, reverse=True)
    # One product to enlarge: it is named.
    alone = ds.advise(trace("zipf"), "hit", seeds=1, force=True, now="shared_buffers=1GB")
    assert "(PostgreSQL, shared_buffers" in answer_lines(alone)[1]


def test_the_largest_size_that_was_tried_is_said_with_the_flag_that_tries_more(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    """Of products' policies few sizes may have been run: a larger budget would try no more."""
    from destage.show.tables.advice import choice_lines
    from destage.show.tables.answer import answer_lines

    advice = advices["zipf", "mean"]
    top = advice.deployed[0].curve[-1]
    for points, says in (
        (2, "candidate size with products' policies (--finalists)"),
        (3, "--budget"),
    ):
        curve = advice.deployed[0].curve[:points]
        choice = replace(advice.deployed[0], curve=curve, best=curve[-1].run, run=curve[-1].run)
        cut = replace(advice, deployed=(choice,))
        line = answer_lines(cut)[0]
        assert not cut.rises or says in line, line
        largest = max(run.frames for run in advice.candidates)
        said = " ".join(choice_lines(choice, 0.02, largest))
        assert ("(--finalists)" in said) is (curve[-1] is not top), said


def test_the_page_says_of_which_policies_each_choice_is(
    advices: dict[tuple[str, str], ds.Advice], tmp_path: Path
) -> None:
    from destage.show.tables.advice import shown_choices

    pytest.importorskip("altair")
    shown = {key: shown_choices(advice) for key, advice in advices.items()}
    key = next(key for key, some in shown.items() if len(some) == 2)
    assert [of for _, of in shown[key]] == ["products' policies", "all policies"]
    advices[key].write_page(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8").replace("&#39;", "'")
    for of in ("products' policies", "all policies"):
        assert f"Of {of}, for " in page
        assert f"<h3>Certainty: {of}" in page
    alike = next(key for key, some in shown.items() if len(some) == 1)
    advices[alike].write_page(tmp_path / "b.html")
    assert "Of all policies, " not in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_the_page_of_several_objectives_has_its_sentence_whole(tmp_path: Path) -> None:
    """It stood there letter by letter."""
    pytest.importorskip("altair")
    advice = ds.advise(trace("zipf", alpha=1.2), "hit,writes", cache="10%,40%", seeds=1)
    advice.write_page(tmp_path / "a.html")
    from destage.model.words import plain
    from destage.show.tables.advice import joint_line

    page = (tmp_path / "a.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert plain(joint_line(advice)) in plain(page)


def test_the_tail_stands_beside_the_advice_and_its_alternatives(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    from destage.model.metrics import METRICS
    from destage.model.values import valued
    from destage.show.tables.advice import choice_lines
    from destage.show.tables.certainty import sure_lines, wrong_lines

    (p99,) = (metric for metric in METRICS if metric.name == "response_ns_p99")
    for (_, name), advice in advices.items():
        choice = advice.choices[0]
        assert choice.rival is not None
        assert choice.wrong
        lines = [choice_lines(choice, advice.within)[0], sure_lines(choice)[0]]
        lines += wrong_lines(choice)
        runs = [choice.run, choice.rival.run, *(wrong.run for wrong in choice.wrong)]
        for line, run in zip(lines, runs, strict=True):
            assert (f"p99 {valued(p99, run[p99.name])})" in line) == (name != "p99"), line
    hits = ds.advise(trace("zipf"), "hit", cache="10%", seeds=1)
    assert "p99" not in hits.text(explain=True)


def test_a_lead_that_pending_writes_hold_back_is_not_called_insignificant(
    advices: dict[tuple[str, str], ds.Advice], monkeypatch: pytest.MonkeyPatch
) -> None:
    from destage.model import goals
    from destage.show.tables.certainty import held_back, sure_lines, wrong_lines

    choice = advices["zipf", "mean"].choices[0]
    assert choice.rival is not None
    rival = choice.rival.run
    monkeypatch.setattr(goals, "change", lambda *_, pending=True: None if pending else 0.1)
    assert choice.goal.is_held_back(choice.run, rival)
    theirs, mine = (choice.goal.text(choice.goal.value(run)) for run in (rival, choice.run))
    said = held_back(choice, rival)
    assert f"without pending writes ({theirs} against {mine})" in said
    assert "with them the order is undecided (" in said
    assert "with them the order is undecided" in sure_lines(choice)[0]
    assert "not significantly different" not in " ".join(wrong_lines(choice))
    monkeypatch.setattr(goals, "change", lambda *_, pending=True: None)
    assert "not significantly different" in sure_lines(choice)[0]


def test_a_policy_without_a_number_at_the_size_is_named(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    from destage.show.tables.certainty import sure_lines

    choice = advices["zipf", "mean"].choices[0]
    assert choice.rival is not None
    other = choice.rival.run
    (line,) = sure_lines(replace(choice, rival=None, skipped=(other,)))
    assert line.startswith(f"{other.label} is not judged at that size (no number, or every flash ")
    (line,) = sure_lines(replace(choice, rival=None, skipped=()))
    assert line == "No other candidate ran at that size: significance is unknown."


def test_parts_of_a_ratio_differ_in_points_and_settings_say_of_what_they_are() -> None:
    advice = ds.advise(trace("zipf"), "hit", policies="lru,fifo", cache=["85%"], force=True)
    text = plain(advice.text(explain=True))
    joined = " ".join(text.split())
    assert re.search(r"equal parts of the trace \(hit ratio: \S+ to \S+ points\)", joined)
    assert "their distance from the best of the candidates" in joined
    # No policy was named: of all.
    named = ds.advise(trace("zipf"), "hit", cache=["40%"], force=True).text(explain=True)
    assert "their distance from the best of all policies" in named


def test_a_far_distance_is_a_factor_and_a_tie_has_an_interval() -> None:
    loop = ds.synth("loop", requests=3000, pages=100, loop_pages=40, read_ratio=1.0, seed=1)
    how: dict[str, Any] = {"policies": "lru,lirs,arc", "cache": ["20p", "39p"], "force": True}
    text = ds.advise(loop, "min:physical_reads", **how).text(explain=True)
    assert re.search(r" 1,594 +747\.9 % ", text)
    assert "lru, the usual choice, at that size: 3,000, 16 times this choice." in text
    # The products ran apart from the candidates: these differences have no interval.
    assert re.search(r"bcache +fifo, writeback +\S+ KiB +fifo +3,000 +16 times +-", text)
    assert "(tie)" not in text
    table = ds.compare(loop, "min,lru,lirs", cache="39p").as_table(against="min")
    assert [row[-1].text for row in table.rows()] == [
        "115",
        "26 times (25 to 27)",
        "+63.5 (+57.4 to +70.6)",
    ]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (0.4863, "48.6 %"), (8.99, "899.0 %"), (9.0, "10 times"), (48.12, "49 times")],
)
def test_a_distance_from_ten_times_on_is_a_factor(share: float, text: str) -> None:
    from destage.model.words import plain
    from destage.show.tables.words import far_text

    assert plain(far_text(share)) == text


def test_what_is_not_worth_it_is_one_sentence(tmp_path: Path) -> None:
    once = ds.synth("sequential", requests=2_000, pages=4_000, read_ratio=1.0, seed=1)
    advice = ds.advise(once, "hit", cache="10%,40%", seeds=1)
    assert not advice.worth
    text = " ".join(advice.text().split())
    assert "a cache serves at most" in text
    assert "Worth it: no, or the trace is too short; " in text
    assert "Take" not in text
    assert "`destage record DEVICE -o trace.csv.zst`" in text
    advice.write_page(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<code>destage record DEVICE -o trace.csv.zst</code>" in page
    assert "`" not in page.partition('<script type="application/json"')[0].partition("<main>")[2]
    forced = " ".join(ds.advise(once, "hit", cache="10%,40%", seeds=1, force=True).text().split())
    assert "Worth it: no, fewer than 20 % of the accesses hit at any size; a cache of " in forced
    assert "If you add one, take " in forced


def test_a_policy_that_no_product_has_does_not_make_a_cache_worth_it(
    advices: dict[tuple[str, str], ds.Advice],
) -> None:
    """Of products alone the best is as good as none; of all policies one is better."""
    advice = advices["zipf", "mean"]
    assert advice.worth
    assert advice.nothing is not None
    no_better = replace(advice.deployed[0], best=advice.nothing)
    poor = replace(advice, deployed=(no_better,))
    assert not poor.worth
    text = " ".join(poor.text().split())
    assert "no cache of a product up to" in text
    assert " improves mean response significantly (" in text
    assert "Take" not in text


def test_nothing_is_typed_for_a_short_trace_unless_it_is_forced() -> None:
    short = trace("zipf")
    advice = ds.advise(short, "hit", cache="20%", seeds=1)
    assert "less than ten minutes" in advice.withheld
    assert not any(setting.typed for setting in advice.settings)
    assert "ALTER SYSTEM" not in advice.text(explain=True)
    forced = ds.advise(short, "hit", cache="20%", seeds=1, force=True)
    assert forced.withheld == ""
    assert "ALTER SYSTEM" in forced.text(explain=True)


def test_settings_grow_what_is_there() -> None:
    (pg, *_) = [one for one in systems() if one.key == "shared_buffers"]
    assert "'<present shared_buffers + 64MB>'" in pg.typed(64 << 20)
    assert "'16448MB'" in pg.typed(64 << 20, sizes_now("shared_buffers=16GB"))
    # Never below PostgreSQL's default.
    assert "'128MB'" in pg.typed(64 << 20, sizes_now("shared_buffers=16MB"))
    (zfs,) = [one for one in systems() if one.key == "zfs_arc_max"]
    assert f"echo {(8 << 30) + (1 << 20)} >" in zfs.typed(1 << 20, sizes_now("zfs_arc_max=8GB"))
    # Never below the least that ZFS takes, of which the present size is a part.
    assert f"echo {64 << 20} >" in zfs.typed(1 << 20, sizes_now("zfs_arc_max=16MB"))
    assert "<present zfs_arc_max + 64MB>" in zfs.typed(1 << 20)
    assert sizes_now({"shared_buffers": "128MB"}) == {"shared_buffers": 128 << 20}


def test_a_cache_that_grows_is_advised_for_its_own_system_and_may_hold_every_page() -> None:
    found = ds.advise(
        trace("zipf"), "hit", seeds=1, force=True, now="shared_buffers=1GB", within="1%"
    )
    assert found.run.label == "clock-sweep"
    assert {choice.run.label for choice in found.deployed} == {"clock-sweep"}
    assert "Type: ALTER SYSTEM SET shared_buffers" in " ".join(found.text().split())
    sizes = [point.run.frames for point in found.first.curve]
    assert sizes[-1] == found.trace.unique_pages
    assert not found.rises
    assert any("all pages that the trace touches" in note for note in found.notes)
    usual = ds.advise(trace("zipf"), "hit", seeds=1, force=True, policies="lru")
    assert max(point.run.frames for point in usual.first.curve) == sizes[-1] // 2


def test_a_small_cache_that_grows_has_its_least_setting_or_a_reason() -> None:
    """A trace of fewer pages than 64 MiB."""
    known: dict[str, Any] = {"seeds": 1, "force": True, "now": "zfs_arc_max=16MB"}
    found = ds.advise(trace("zipf"), "hit", **known)
    said = " ".join(found.text().split())
    assert found.trace.unique_pages * 4096 < 48 << 20
    assert found.run.label == "arc"
    assert "arc (ZFS ARC, zfs_arc_max), the smallest size" in said
    assert f"Type (64 MiB is the least zfs_arc_max): echo {64 << 20} >" in said
    larger = " ".join(
        ds.advise(trace("zipf"), "hit", **known | {"now": "zfs_arc_max=1GB"}).text().split()
    )
    assert f"Type: echo {(1 << 30) + found.run.cache_bytes} >" in larger
    poor = " ".join(ds.advise(trace("zipf"), "hit", budget="1MiB", **known).text().split())
    assert "zfs_arc_max: its smallest setting (48 MiB) is above the budget of 1 MiB." in poor
    other = " ".join(ds.advise(trace("zipf"), "hit", policies="lru", **known).text().split())
    assert "ZFS ARC, zfs_arc_max has no lru, only arc (its setting: --explain)." in other
    database = ds.advise(trace("zipf"), "hit", **known | {"now": "shared_buffers=16MB"})
    assert "Type (128 MiB is the default shared_buffers): ALTER" in " ".join(
        database.text().split()
    )


def test_a_size_that_a_product_rounds_up_a_little_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its sizes are two pages at a time: 33 pages become 34.
    (pg,) = [one for one in systems() if one.key == "shared_buffers" and not one.writer]
    product = replace(pg, unit_bytes=2 * 4096, least_bytes=4096)
    monkeypatch.setattr(running, "systems", lambda: (product,))
    found = ds.advise(trace("uniform"), "mean", device=DRIVE, cache="33p", seeds=1)
    (setting,) = found.settings
    assert setting.run is not None
    assert (setting.run.frames, setting.size_bytes) == (33, 34 * 4096)
    assert not setting.run.cache_not_full


def test_an_interrupt_answers_from_what_had_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = running.compare

    def compare(*args: Any, **kwargs: Any) -> ds.Results:
        calls.append(args)
        found = plain(*args, **kwargs)
        # The first looks for a queue, the second runs without a cache.
        if len(calls) == 3:
            raise Interrupted(found)
        return found

    monkeypatch.setattr(running, "compare", compare)
    advice = ds.advise(trace("zipf"), "mean", device=DRIVE, policies="lru,arc", cache="5%,20%")
    assert len(calls) == 3
    assert advice.ran.interrupted
    assert advice.text().splitlines()[2].startswith("Interrupted: ")
    assert advice.run.label in ("lru", "arc")

    def at_once(*_: Any, **__: Any) -> ds.Results:
        raise Interrupted(ds.Results())

    monkeypatch.setattr(running, "compare", at_once)
    with pytest.raises(KeyboardInterrupt):
        ds.advise(trace("zipf"), "mean", device=DRIVE, policies="lru,arc", cache="5%,20%")


def test_a_percentile_that_is_one_collection_is_said() -> None:
    from destage.show.tables.answer import answer_lines

    busy = trace("uniform", requests=6_000, pages=30_000, read_ratio=0.1)
    advice = ds.advise(busy, "p99", device=DRIVE, cache="2%,5%", policies="lru,arc,fifo", seeds=1)
    values = [run.response_ns_p99 for run in advice.candidates]
    alike = max(values) - min(values) <= 0.05 * max(values)
    assert any("one garbage collection" in line for line in answer_lines(advice)) == (
        alike and advice.worth
    )


def test_a_dry_run_lists_the_grid(destage: Destage, tmp_path: Any) -> None:
    ds.write_workload("zipf", tmp_path / "t.csv", requests=500, pages=80, seed=1)
    done = destage("advise", "t.csv", "-c", "10%,50%", "--dry-run", "-q")
    assert done.status == 0, done
    assert " runs on " in done.out
    assert "arc" in done.out


def test_several_objectives_have_one_answer() -> None:
    from destage.show.tables.answer import answer_lines

    advice = ds.advise(trace("zipf", alpha=1.2), "hit,writes", cache="10%,40%", seeds=1)
    lines = answer_lines(advice)
    assert len(lines) <= 5
    near = "the best in each of hit and writes" in lines[1]
    assert near == (advice.joint is not None)


def test_nothing_above_the_budget_is_advised_run_or_typed() -> None:
    oltp = trace("oltp", requests=20_000, pages=20_000)
    for megabytes in (1, 36, 70):
        budget = f"{megabytes}MiB"
        advice = ds.advise(oltp, "hit", budget=budget, policies=None, seeds=1, force=True)
        most = megabytes << 20
        assert advice.run.cache_bytes <= most
        assert all(run.cache_bytes <= most for run in advice.candidates)
        for setting in advice.settings:
            if setting.system.least_bytes > most:
                assert setting.run is None
                assert not setting.typed
                assert "is above the budget of" in setting.why_not
            else:
                assert setting.size_bytes <= most
                assert setting.typed
        zfs = [s for s in advice.settings if s.system.name == "ZFS ARC"]
        assert [s.run is not None for s in zfs] == [megabytes > 64]
        assert (
            any("zfs_arc_max" in line for line in advice.text(explain=True).splitlines())
            == (megabytes > 64)
            or megabytes <= 64
        )


def test_an_enlarged_cache_whose_default_is_beyond_the_budget_is_no_candidate() -> None:
    oltp = trace("oltp", requests=20_000, pages=20_000)
    small = ds.advise(oltp, "hit", budget="36MiB", now="shared_buffers=16MB", seeds=1, force=True)
    assert all("shared_buffers" not in setting.typed for setting in small.settings)
    large = ds.advise(oltp, "hit", budget="36MiB", now="shared_buffers=128MB", seeds=1, force=True)
    typed = [s.typed for s in large.settings if s.system.key == "shared_buffers" and s.typed]
    assert typed
    for line in typed:
        size = line.partition("'")[2].partition("'")[0]
        assert size.endswith("kB") or int(size.removesuffix("MB")) <= 128 + 36


def test_random_is_never_advised() -> None:
    mixed = trace("uniform", requests=4000, pages=500)
    for policies in (None, "random,fifo", "all"):
        advice = ds.advise(mixed, "hit", policies=policies, cache="10%", seeds=1)
        assert "random" not in {run.policy for run in advice.candidates}
        assert advice.run.policy != "random"
    with pytest.raises(ds.UsageError, match="random is the baseline"):
        ds.advise(mixed, "hit", policies="random", cache="10%")


def test_clock_pro_and_what_else_wins_are_candidates() -> None:
    names = {run.policy for run in ds.advise(trace("zipf"), "hit", cache="5%", seeds=1).candidates}
    assert {"clock-pro", "lru-k", "ad-lru", "acr-o", "aalru", "bpac", "bplru"} <= names
    fetching = ds.advise(trace("zipf"), "hit", cache="5%", fetch_on_write_miss=True, seeds=1)
    assert "bplru" not in {run.policy for run in fetching.candidates}


def test_a_device_that_nothing_is_written_to_lasts() -> None:
    reads = trace("zipf", requests=3000, pages=500, read_ratio=1.0)
    advice = ds.advise(
        reads, "mean", policies="lru", cache="10%", device="small", price="tbw=1TB", seeds=1
    )
    assert advice.life_said == "The device lasts: nothing was written to it."


def test_a_lead_over_another_size_is_checked_at_one_of_the_two() -> None:
    """Runs of different sizes have no interval: any 1 % between them would be significant."""
    mine, fifo = Made(frames=9), Made(frames=8)
    bplru: Any = Made(frames=8)
    pairs: list[tuple[Any, Any]] = []
    goal = Made(is_significant=lambda *pair: pairs.append(pair))
    first, larger = Made(curve=[Made(run=mine), Made(run=fifo)]), Made(frames=9)
    every = Made(goal=goal, curve=[Made(run=larger), Made(run=bplru)])
    advised: Any = Made(choices=[every], first=first, run=mine)
    _is_possible(advised, bplru)
    first.curve.pop()  # no product ran at that size
    _is_possible(advised, bplru)
    assert pairs == [(bplru, fifo), (larger, mine)]
