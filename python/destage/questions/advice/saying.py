"""Advice as JSON and rows, and notes on its method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from destage import _destage
from destage.model.advice import Choice, Setting, SizePoint, choose
from destage.model.advised import Advised, KvAdvised
from destage.model.configuration import Configuration
from destage.model.deployed import KvSetting
from destage.model.goals import COST, Goal
from destage.model.metrics import BASELINE
from destage.model.run import Run
from destage.model.words import counted, join, plain, size
from destage.show.tables.kv_answer import settings_of

__all__ = [
    "SCHEMA_VERSION",
    "everything",
    "kv_everything",
    "kv_row_of",
    "notes_of",
    "row_of",
]

#: Version of the JSON form of advice.
SCHEMA_VERSION = 1


def row_of(advised: Advised, run: Run) -> dict[str, Any]:
    """A run as a row: its place in the advice, then all of the run."""
    row: dict[str, Any] = {
        "candidate": any(run is other for other in advised.candidates),
        "advised": run is advised.run,
    }
    for choice in advised.choices:
        goal = choice.goal
        judged, top = goal.judged(run), goal.judged(choice.best)
        near = None
        if judged is not None and top is not None:
            near = goal.near(judged, top, advised.within)
        row |= {
            f"{goal.name}_value": goal.value(run),
            f"{goal.name}_judged": judged,
            f"{goal.name}_near": near,
        }
    return row | run.to_dict()


def everything(advised: Advised) -> dict[str, Any]:
    """All of it but the runs themselves."""
    prices = advised.goals[0].prices
    return {
        "schema": "destage.advice",
        "schema_version": SCHEMA_VERSION,
        "version": _destage.VERSION,
        "trace": {
            "name": advised.trace.name,
            "fingerprint": advised.trace.fingerprint,
            "duration_ns": advised.trace.duration_ns,
            "unique_pages": advised.trace.unique_pages,
            "page_bytes": advised.trace.page_bytes,
        },
        "doubts": [dict(doubt) for doubt in advised.doubts],
        "device": advised.drive,
        "tier2": advised.below or None,
        "objectives": [_goal(goal) for goal in advised.goals],
        "within": advised.within,
        "budget_bytes": advised.budget_bytes,
        "queue_depth": advised.run.queue_depth,
        "loop": advised.loop or None,
        "prices": {
            "dram_dollars_a_byte": prices.dram,
            "tbw_bytes": prices.tbw,
            "drive_dollars": prices.drive,
            "drive_assumed": prices.assumed,
            "years": prices.years,
        },
        "advised": _place(advised.run),
        "joint": None if advised.joint is None else _place(advised.joint),
        "choices": [_choice(choice) for choice in advised.choices],
        "deployable": [_choice(choice) for choice in advised.deployed],
        "without_a_cache": None
        if advised.nothing is None
        else {goal.name: goal.value(advised.nothing) for goal in advised.goals},
        "worth_it": advised.worth,
        "withheld": advised.withheld or None,
        "front": [_with_values(run, advised.goals) for run in advised.front],
        "life": advised.life_said,
        "life_years": advised.run.life.years if advised.run.life else None,
        "settings": [_setting(setting, advised.goals) for setting in advised.settings],
        "ran": {
            "runs": advised.ran.runs,
            "policies": advised.ran.policies,
            "sizes": advised.ran.sizes,
            "screened": list(advised.ran.screened),
            "interrupted": advised.ran.interrupted,
        },
        "notes": list(advised.notes),
    }


def _goal(goal: Goal) -> dict[str, Any]:
    way = "max" if goal.largest else "min"
    return {"name": goal.name, "column": goal.column, "goal": way}


def _place(run: Run) -> dict[str, Any]:
    return {
        "policy": run.policy,
        "label": run.label,
        "frames": run.frames,
        "cache_bytes": run.cache_bytes,
        "cache_share": run.cache_share,
    }


def _valued(run: Run, goal: Goal) -> dict[str, Any]:
    return _place(run) | {"value": goal.value(run), "judged": goal.judged(run)}


def _with_values(run: Run, goals: Sequence[Goal]) -> dict[str, Any]:
    return _place(run) | {"values": {goal.name: goal.value(run) for goal in goals}}


def _point(point: SizePoint, goal: Goal) -> dict[str, Any]:
    lru = point.baseline
    return _place(point.run) | {
        "value": point.value,
        "judged": point.judged,
        "near": point.near,
        "ties": list(point.ties),
        BASELINE: None if lru is None else goal.value(lru),
        "hit_ratio": point.run.hit_ratio,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    goal, rival = choice.goal, choice.rival
    return {
        "objective": goal.name,
        "advised": _valued(choice.run, goal),
        "best": _valued(choice.best, goal),
        "as_counted": _place(choice.plain),
        "curve": [_point(point, goal) for point in choice.curve],
        "rival": None
        if rival is None
        else _valued(rival.run, goal)
        | {
            "interval": rival.interval,
            "significant": rival.significant,
            "parts_of": rival.parts_name or None,
            "parts": rival.parts,
            "seeds_of": rival.seeds_of or None,
            "seeds": rival.seeds,
        },
        "wrong": [
            _valued(w.run, goal)
            | {
                "what": w.what,
                "worse_by": w.worse_by,
                "interval": w.interval,
                "significant": w.significant,
            }
            for w in choice.wrong
        ],
        "not_judged": [_place(run) for run in choice.skipped],
    }


def _setting(setting: Setting, goals: Sequence[Goal]) -> dict[str, Any]:
    system, run = setting.system, setting.run

    def by_goal(values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip((goal.name for goal in goals), values, strict=True))

    return {
        "system": system.name,
        "setting": system.setting,
        "type": setting.typed or None,
        "size_bytes": setting.size_bytes,
        "simulated_as": None if run is None else _place(run) | {"writer": system.writer},
        "why_not": setting.why_not or None,
        "values": by_goal(setting.values),
        "worse_by": by_goal(setting.worse_by),
        "significant": by_goal(setting.significant),
        "near_from": by_goal([None if r is None else r.cache_bytes for r in setting.near_from]),
        "hit_ratio": None if run is None else run.hit_ratio,
        "lacks": system.lacks,
        "source": system.source,
    }


def notes_of(
    advised: Advised,
    of_sizes: Sequence[str],
    flushed: bool,
    warnings: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    """Notes on how the advice was made."""
    ran = advised.ran
    where = "in front of the device" if advised.drive else "without a device"
    said = [
        f"{counted(ran.runs, 'exact run')} of the whole trace, {where}:"
        f" {counted(ran.policies, 'policy', 'policies')}, {counted(ran.sizes, 'cache size')}"
    ]
    if ran.screened:
        said.append(
            f"{join(ran.screened)}: run at a few sizes only, where other policies were better"
            " (--finalists runs more)"
        )
    if ran.interrupted:
        said.append("interrupted: some runs are missing")
    said += [advised.loop] if advised.loop else []
    said += of_sizes
    if flushed:
        said.append("the caches were flushed at the end: no write is pending")
    for choice in advised.choices:
        said += _of_choice(choice)
    said += _of_cost(advised)
    for message, labels in warnings.items():
        several = len(labels) > 3
        who = f"{counted(len(labels), 'policy', 'policies')}" if several else join(labels)
        said.append(f"{who}: {message}")
    return tuple(plain(one) for one in said)


def _of_cost(advised: Advised) -> list[str]:
    """The prices; where the device's is assumed, the advice at half and twice of it."""
    choice = next((c for c in advised.choices if c.goal.name == COST), None)
    if choice is None:
        return []
    prices = choice.goal.prices
    said = [f"cost: {prices.said()}"]
    worn = [run.life for run in advised.candidates if run.life is not None]
    unworn = sum(life.years is None for life in worn)
    if prices.tbw is None and unworn:
        said.append(
            f"cost: in {counted(unworn, 'run')} of {len(worn)} nothing was erased, so"
            " their cost has no wear (--price tbw= charges host writes instead)"
        )
    if prices.assumed and prices.drive is not None:
        told = []
        for word, times in (("half", 0.5), ("twice", 2.0)):
            goal = replace(choice.goal, prices=replace(prices, drive=times * prices.drive))
            other = choose(advised.candidates, advised.candidates, goal, advised.within).run
            same = other is choice.run
            what = "the same" if same else f"{size(other.cache_bytes)} of {other.label}"
            told.append(f"{what} at {word} the price")
        said.append(f"cost: the device price is assumed; the advice is {', '.join(told)}")
    return said


def _of_choice(choice: Choice) -> list[str]:
    goal, said = choice.goal, []
    if choice.skipped:
        names = list(dict.fromkeys(run.label for run in choice.skipped))
        said.append(
            f"{goal.name}: {counted(len(choice.skipped), 'run')} of {join(names)} not judged:"
            f" {goal.unjudged}"
        )
    if choice.plain is not choice.run:
        said.append(
            f"{goal.name}: pending writes are charged at the mean cost of the others; if they were"
            f" free, {choice.plain.label} with {counted(choice.plain.frames, 'page')} would be"
            " advised"
        )
    return said


def kv_row_of(advised: KvAdvised, one: Configuration) -> dict[str, Any]:
    """A configuration as a row: its place in the advice, then all of the run."""
    near = one.hits >= advised.best.hits * (1 - advised.within)
    row: dict[str, Any] = {"advised": one is advised.chosen, "near": near, "lasts": one.lasts}
    row["flash_bytes"] = one.flash_bytes
    return row | {"life_years": one.life_years, "dollars": one.dollars} | one.run.to_dict()


def kv_everything(advised: KvAdvised) -> dict[str, Any]:
    """All of it but the runs themselves."""
    return {
        "schema": "destage.kv_advice",
        "schema_version": SCHEMA_VERSION,
        "version": _destage.VERSION,
        "trace": {
            "name": advised.trace.name,
            "fingerprint": advised.trace.fingerprint,
            "duration_ns": advised.trace.duration_ns,
            "page_bytes": advised.trace.page_bytes,
        },
        "doubts": [dict(doubt) for doubt in advised.doubts],
        "within": advised.within,
        "worth_it": advised.worth,
        "flash_worth_it": advised.flash_worth,
        "wears_out": advised.chosen.wears_out,
        "rating_assumed": advised.prices.tbw is None,
        "withheld": advised.withheld or None,
        "rises": advised.rises or None,
        "servers": advised.servers,
        "prefill_tokens_per_s": advised.prefill_tokens_per_s,
        "worth_reading_bytes_per_s": advised.worth_reading_bytes_per_s,
        "advised": _configuration(advised.chosen),
        "best": _configuration(advised.best),
        "without_flash": _configuration(advised.dram_only),
        "gain": advised.gain,
        "bound": advised.bound,
        "curve": [_configuration(one) for one in advised.curve],
        "filters": [_configuration(one) for one in advised.filters],
        "settings": [_host(s) for s in settings_of(advised)],
        "ran": {
            "runs": advised.ran.runs,
            "warmup": advised.ran.warmup,
            "interrupted": advised.ran.interrupted,
        },
    }


def _host(setting: KvSetting) -> dict[str, Any]:
    lacks = setting.lacks or None
    return {"host": setting.host, "type": setting.typed, "lacks": lacks, "source": setting.source}


def _configuration(one: Configuration) -> dict[str, Any]:
    return {
        "label": one.run.label,
        "dram_bytes": one.dram_bytes,
        "flash_bytes": one.flash_bytes,
        "token_hit_ratio": one.hits,
        "flash_bytes_per_day": one.written_per_day,
        "life_years": one.life_years,
        "dollars": one.dollars,
        "needed_tbw_bytes": one.needed_bytes,
        "sold_bytes": one.sold_bytes,
        "drive_writes_per_day": one.drive_writes_per_day,
        "drives": one.drives,
        "flash_read_bytes_per_s": one.flash_read_bytes_per_s,
    }
