"""Advice for KV caches as text, table, rows and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from destage import _destage
from destage.advise.kv_settings import KvSetting, kv_settings
from destage.model.kv_advice import KvAdvised, KvConfiguration
from destage.model.words import NONE, counted, percent, plain, ratio, significant, size
from destage.tables.table import Cell, Column, Table

__all__ = ["everything", "kv_table", "kv_text", "row_of"]

#: Version of the JSON form.
SCHEMA_VERSION = 1
#: Years that a drive is asked to last where no rating is given.
YEARS = 5


def row_of(advised: KvAdvised, one: KvConfiguration) -> dict[str, Any]:
    """A configuration as a row: what it is to the advice, then all of the run."""
    near = one.hits >= advised.best.hits * (1 - advised.within)
    row: dict[str, Any] = {"advised": one is advised.chosen, "near": near, "lasts": one.lasts}
    row["flash_bytes"] = one.flash_bytes
    return row | {"life_years": one.life_years, "dollars": one.dollars} | one.run.to_dict()


def everything(advised: KvAdvised) -> dict[str, Any]:
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
        "within": advised.within,
        "worth_it": advised.worth,
        "flash_worth_it": advised.flash_worth,
        "withheld": advised.withheld or None,
        "advised": _place(advised.chosen),
        "best": _place(advised.best),
        "without_flash": _place(advised.dram_only),
        "gain": advised.gain,
        "bound": advised.bound,
        "curve": [_place(one) for one in advised.curve],
        "filters": [_place(one) for one in advised.filters],
        "settings": [] if advised.withheld else [_setting(s) for s in _settings(advised)],
        "ran": {
            "runs": advised.ran.runs,
            "warmup": advised.ran.warmup,
            "interrupted": advised.ran.interrupted,
        },
    }


def _settings(advised: KvAdvised) -> Sequence[KvSetting]:
    return kv_settings(advised.chosen)


def _setting(setting: KvSetting) -> dict[str, Any]:
    lacks = setting.lacks or None
    return {"host": setting.host, "type": setting.typed, "lacks": lacks, "source": setting.source}


def _place(one: KvConfiguration) -> dict[str, Any]:
    return {
        "label": one.run.label,
        "dram_bytes": one.dram_bytes,
        "flash_bytes": one.flash_bytes,
        "token_hit_ratio": one.hits,
        "flash_bytes_per_day": one.written_per_day,
        "life_years": one.life_years,
        "dollars": one.dollars,
    }


def _upper(one: KvConfiguration) -> str:
    """The policy of tier 1 as one types it."""
    return one.run.label.partition(" over ")[0]


def _filter(one: KvConfiguration) -> str:
    return str(one.run["admit"]) if one.flash_bytes else NONE


def _decimal(size_bytes: float) -> str:
    """Bytes as makers of drives count them."""
    for unit, scale in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size_bytes >= scale:
            return f"{significant(size_bytes / scale)} {unit}"
    return f"{size_bytes:,.0f} bytes"


def _answer(advised: KvAdvised) -> Iterator[str]:
    """The answer, five lines."""
    chosen, alone = advised.chosen, advised.dram_only
    saves = f"cached prefixes save {percent(chosen.hits, 1)} of the prompt tokens"
    if not advised.worth:
        yield f"Worth it: no; {saves}, and no configuration saves more than 1 %."
    elif not chosen.flash_bytes:
        yield f"Worth it: yes, without flash; {saves}."
    else:
        points = 100 * (chosen.hits - alone.hits)
        more = f"flash adds {points:.1f} points to DRAM alone"
        if advised.gain is not None:
            low, high = (100 * bound for bound in advised.gain)
            more += f" (95 % CI {low:.1f} to {high:.1f})"
        yield f"Worth it: yes; {saves}, {more}."
    yield f"DRAM: {size(chosen.dram_bytes)}, policy {_upper(chosen)}."
    if chosen.flash_bytes:
        policy = chosen.run["tier2_policy"]
        yield f"Flash: {size(chosen.flash_bytes)}, policy {policy}, admission {_filter(chosen)}."
    else:
        yield _no_flash(advised)
    yield _wear(chosen)
    if advised.withheld:
        yield f"Settings: withheld, because {advised.withheld} (--force prints them)."
    else:
        hosts = ", ".join(setting.host for setting in _settings(advised))
        yield f"Settings: for {hosts} with --explain."


def _no_flash(advised: KvAdvised) -> str:
    """Why no flash is part of the advice."""
    flash = [one for one in advised.candidates if one.written]
    if flash and not any(one.lasts for one in flash):
        longest = max(one.life_years or 0.0 for one in flash)
        years = significant(advised.prices.years)
        return f"Flash: none; no configuration lasts {years} years (the longest {_life(longest)})."
    return "Flash: none."


def _life(years: float) -> str:
    """Years, or days where they are fewer than that."""
    if years < 1:
        return f"{significant(365.25 * years)} days"
    return f"{significant(years)} years"


def _wear(chosen: KvConfiguration) -> str:
    per_day, years = chosen.written_per_day, chosen.life_years
    if not chosen.flash_bytes:
        return "SSD: nothing is written to flash."
    if per_day is None:
        return "SSD: its life is not known, because the trace has no times."
    wear = f"SSD: {_decimal(per_day)} written a day"
    if years is not None:
        return f"{wear}; the rated writes last {_life(years)}."
    needs = _decimal(per_day * 365.25 * YEARS)
    return f"{wear}; {YEARS} years take rated writes of {needs} (--price tbw=)."


def _table(advised: KvAdvised, rows: Sequence[KvConfiguration]) -> Table:
    """Configurations as a table; the advice is marked."""
    columns = [
        Column("DRAM", key=True),
        Column("flash", key=True),
        Column("policy", right=False),
        Column("tier 2", right=False),
        Column("admission", right=False),
        Column("token hit %"),
        Column("stranded %"),
        Column("flash a day"),
    ]
    rated = advised.prices.tbw is not None
    columns += [Column("life")] if rated else []
    priced = any(one.dollars is not None for one in rows)
    columns += [Column("dollars a year")] if priced else []
    cells = []
    for one in rows:
        per_day, flash = one.written_per_day, one.flash_bytes
        texts = [
            size(one.dram_bytes),
            size(flash) if flash else NONE,
            _upper(one),
            str(one.run["tier2_policy"]) if flash else NONE,
            _filter(one),
            ratio(one.hits, 2),
            ratio(one.run["stranded_ratio"], 2),
            _decimal(per_day) if flash and per_day is not None else NONE,
        ]
        texts += [NONE if one.life_years is None else _life(one.life_years)] if rated else []
        texts += [NONE if one.dollars is None else significant(one.dollars)] if priced else []
        mine = one is advised.chosen
        cells.append([Cell(text, best=mine and k == 0) for k, text in enumerate(texts)])
    return Table("", columns, [cells])


def kv_table(advised: KvAdvised) -> Table:
    """The choice at each pair of sizes; a star marks the advice."""
    table = _table(advised, advised.curve)
    near = f"{100 * advised.within:g} %"
    rule = (
        "the lowest cost a year"
        if advised.chosen.dollars is not None
        else "the least DRAM, then the least flash, then the fewest flash writes"
    )
    table.notes.append(
        f"* the advice: {rule} within {near} of the most hits ({percent(advised.best.hits, 2)})"
    )
    return table


def _notes(advised: KvAdvised) -> Iterator[str]:
    ran = advised.ran
    yield (
        f"{counted(ran.runs, 'run')} of the whole trace, measured after a warm-up of {ran.warmup}"
        " of the requests. Computing missing blocks is not modelled."
    )
    if advised.bound is not None:
        yield f"No policy hits more than {percent(advised.bound, 2)} at the largest size tried."
    if advised.chosen.dollars is not None:
        yield f"Prices: {advised.prices.behind(advised.chosen.flash_bytes).said()}."
    if ran.interrupted:
        yield "Interrupted: other runs were to come."


def kv_text(
    advised: KvAdvised, *, explain: bool = False, markdown: bool = False, width: int = 100
) -> str:
    """The answer in five lines and its table; `explain` adds filters, settings and method."""
    out: list[str] = []

    def say(lines: Iterator[str]) -> None:
        for line in lines:
            text = plain(line)
            out.append(f"* {text}" if markdown else textwrap.fill(text, width))

    def draw(table: Table) -> None:
        out.extend(["", table.markdown() if markdown else table.text()])

    def head(title: str) -> None:
        out.extend(["", f"## {title}" if markdown else title])

    say(_answer(advised))
    draw(kv_table(advised))
    if explain:
        if advised.filters:
            head("Admission filters at these sizes")
            draw(_table(advised, advised.filters))
        if not advised.withheld:
            head("Settings")
            for setting in _settings(advised):
                lacks = f" ({setting.lacks})" if setting.lacks else ""
                out.extend(["", plain(f"{setting.host}{lacks}:")])
                block = f"```\n{setting.typed}\n```" if markdown else setting.typed
                out.extend([block, f"source: {setting.source}"])
        head("Method")
        say(_notes(advised))
    return "\n".join(out) + "\n"
