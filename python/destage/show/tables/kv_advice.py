"""Advice for KV caches as text, table, rows and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from destage import _destage
from destage.model.kv_advice import ASSUMED_YEARS, DAY_NS, KvAdvised, KvConfiguration
from destage.model.kv_settings import KvSetting, kv_settings
from destage.model.words import (
    NONE,
    counted,
    duration,
    percent,
    plain,
    ratio,
    significant,
    size,
    volume,
)
from destage.show.tables.table import Cell, Column, Table

__all__ = [
    "answer_lines",
    "everything",
    "filters_table",
    "kv_table",
    "kv_text",
    "method_lines",
    "row_of",
    "settings_of",
]

#: Version of the JSON form.
SCHEMA_VERSION = 1


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
        "advised": _place(advised.chosen),
        "best": _place(advised.best),
        "without_flash": _place(advised.dram_only),
        "gain": advised.gain,
        "bound": advised.bound,
        "curve": [_place(one) for one in advised.curve],
        "filters": [_place(one) for one in advised.filters],
        "settings": [_setting(s) for s in settings_of(advised)],
        "ran": {
            "runs": advised.ran.runs,
            "warmup": advised.ran.warmup,
            "interrupted": advised.ran.interrupted,
        },
    }


def settings_of(advised: KvAdvised) -> Sequence[KvSetting]:
    """What one types into each host; nothing if it is withheld."""
    return () if advised.withheld else kv_settings(advised.chosen)


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
        "needed_tbw_bytes": one.needed_bytes,
        "sold_bytes": one.sold_bytes,
        "drive_writes_per_day": one.drive_writes_per_day,
        "drives": one.drives,
        "flash_read_bytes_per_s": one.flash_read_bytes_per_s,
    }


def _upper(one: KvConfiguration) -> str:
    """The policy of tier 1 as one types it."""
    return one.run.label.partition(" over ")[0]


def _filter(one: KvConfiguration) -> str:
    return str(one.run["admit"]) if one.flash_bytes else NONE


def answer_lines(advised: KvAdvised) -> Iterator[str]:
    """The answer: what it is worth and what wears out first; servers and recomputing if asked."""
    chosen = advised.chosen
    yield _worth(advised)
    yield _wear(chosen) + _extrapolated(advised, chosen)
    yield f"DRAM: {size(chosen.dram_bytes)}, policy {_upper(chosen)}{_rises(advised)}."
    yield _flash(advised) if chosen.flash_bytes else _no_flash(advised)
    yield from _fleet(advised)
    yield from _recomputing(advised)


def _rises(advised: KvAdvised) -> str:
    """Whether the largest sizes that were tried gain still."""
    if not advised.rises:
        return ""
    dram, flash = (size(max(one.sizes[k] for one in advised.candidates)) for k in (0, 1))
    return (
        f"; the curve still rises with {advised.rises} at the largest sizes tried ({dram} of DRAM,"
        f" {flash} of flash): try more (--cache, --tier2-cache)"
    )


def _extrapolated(advised: KvAdvised, chosen: KvConfiguration) -> str:
    """What a day's writes were extrapolated from."""
    length = advised.trace.duration_ns
    if not chosen.written_per_day or length is None or length >= DAY_NS:
        return ""
    return f" Extrapolated from {duration(length)}."


def _settings_line(advised: KvAdvised) -> str:
    if advised.withheld:
        return f"Settings: withheld, because {advised.withheld} (--force prints them)."
    hosts = ", ".join(setting.host for setting in settings_of(advised))
    return f"Settings: for {hosts} with --explain."


def _worth(advised: KvAdvised) -> str:
    chosen, alone = advised.chosen, advised.dram_only
    saves = f"cached prefixes save {percent(chosen.hits, 1)} of the prompt tokens"
    if not advised.worth:
        return f"Worth it: no; {saves}, and no configuration saves more than 1 %."
    if not chosen.flash_bytes:
        return f"Worth it: yes, without flash; {saves}."
    points = 100 * (chosen.hits - alone.hits)
    more = f"flash adds {points:.1f} points to DRAM alone"
    if advised.gain is not None:
        low, high = (100 * bound for bound in advised.gain)
        more += f" (95 % CI {low:.1f} to {high:.1f})"
    years = chosen.life_years
    if years is None or not chosen.wears_out:
        return f"Worth it: yes; {saves}, {more}."
    if chosen.dollars is not None:
        return f"Worth it: yes, with a new SSD every {_life(years)}; {saves}, {more}."
    return f"Worth it: only if the SSD may wear out in {_life(years)}; {saves}, {more}."


def _flash(advised: KvAdvised) -> str:
    """The flash tier; where its drive wears out, what another filter would write."""
    chosen = advised.chosen
    policy = chosen.run["tier2_policy"]
    line = f"Flash: {size(chosen.flash_bytes)}, policy {policy}, admission {_filter(chosen)}"
    sparing = [one for one in advised.filters if 0 < 2 * one.written <= chosen.written]
    if not chosen.wears_out or not sparing:
        return f"{line}."
    other = max(sparing, key=lambda one: one.hits)
    times, points = chosen.written / other.written, 100 * (chosen.hits - other.hits)
    less = f"{abs(points):.1f} points {'less' if points >= 0 else 'more'}"
    return f"{line}; {_filter(other)} writes {significant(times)} times less and hits {less}."


def _no_flash(advised: KvAdvised) -> str:
    """Why no flash is part of the advice."""
    flash = [one for one in advised.candidates if one.written]
    if flash and not any(one.lasts for one in flash):
        longest = max(flash, key=lambda one: one.life_years or 0.0)
        years, life = significant(advised.prices.years), _life(longest.life_years or 0.0)
        rating = " at one drive write a day (assumed)" if advised.prices.tbw is None else ""
        return f"Flash: none; no configuration lasts {years} years{rating} (the longest {life})."
    return "Flash: none."


def _fleet(advised: KvAdvised) -> Iterator[str]:
    """What several servers take together."""
    chosen, count = advised.chosen, advised.servers
    if count == 1:
        return
    line = f"{count} servers: {size(count * chosen.dram_bytes)} of DRAM"
    if chosen.flash_bytes:
        line += f" and {size(count * chosen.flash_bytes)} of flash"
    if chosen.written_per_day:
        line += f", {volume(count * chosen.written_per_day)} written a day"
    if chosen.drives is not None:
        line += f", {counted(count * chosen.drives, 'drive')}"
    yield f"{line}."


def _recomputing(advised: KvAdvised) -> Iterator[str]:
    """From which rate on flash is faster than computing the tokens."""
    least, read = advised.worth_reading_bytes_per_s, advised.chosen.flash_read_bytes_per_s
    if least is None:
        return
    rate = significant(advised.prefill_tokens_per_s)
    line = (
        f"Recomputing: where a server computes {rate} tokens/s, flash that reads more than"
        f" {volume(least)}/s is faster"
    )
    if read is not None:
        line += f"; {volume(read)}/s were read from it on average"
    yield f"{line}."


def _life(years: float) -> str:
    """Years, or days where they are fewer than that."""
    if years < 1:
        return f"{significant(365.25 * years)} days"
    return f"{significant(years)} years"


def _lasts(one: KvConfiguration) -> str:
    """The life of the drive in a table's cell."""
    if one.life_years is not None:
        return _life(one.life_years)
    return "lasts" if one.flash_bytes and not one.written else NONE


def _wear(chosen: KvConfiguration) -> str:
    per_day, years = chosen.written_per_day, chosen.life_years
    if not chosen.flash_bytes:
        return "SSD: nothing is written to flash."
    if not chosen.written:
        return "SSD: nothing was written to flash, so that it lasts."
    if per_day is None:
        return "SSD: its life is not known, because the trace has no times."
    wear = f"SSD: {volume(per_day)} written a day"
    if years is None:
        return f"{wear}."
    if chosen.prices.tbw is None:
        wear += f"; at one drive write a day (assumed; --price tbw=) it lasts {_life(years)}"
    else:
        wear += f"; the rated writes last {_life(years)}"
    return f"{wear}. {_endurance(chosen)}"


def _endurance(chosen: KvConfiguration) -> str:
    """The rating that the years take, and how many drives have it."""
    years, needed = significant(chosen.prices.years), chosen.needed_bytes
    writes = significant(chosen.drive_writes_per_day)
    assert needed is not None, "asked only where the writes of a day are known"
    drive = f"a drive of {volume(chosen.sold_bytes)}"
    line = f"{years} years take {writes} writes a day of {drive}, rated writes of {volume(needed)}"
    if chosen.drives is not None:
        line += f": {counted(chosen.drives, 'drive')} of {volume(chosen.rated_bytes)} each"
    return f"{line}."


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
    wears = any(one.life_years is not None for one in rows)
    columns += [Column("life")] if wears else []
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
            volume(per_day) if flash and per_day is not None else NONE,
        ]
        texts += [_lasts(one)] if wears else []
        texts += [NONE if one.dollars is None else significant(one.dollars)] if priced else []
        mine = one is advised.chosen
        cells.append([Cell(text, best=mine and k == 0) for k, text in enumerate(texts)])
    return Table("", columns, [cells])


def kv_table(advised: KvAdvised) -> Table:
    """The choice at each pair of sizes; a star marks the advice."""
    table = _table(advised, advised.curve)
    near = f"{100 * advised.within:g} % of the most hits ({percent(advised.best.hits, 2)})"
    prices = advised.prices
    if advised.chosen.dollars is not None:
        rule = "the lowest cost a year"
    else:
        rule = f"an SSD that lasts {significant(prices.years)} years, else half of the longest life"
        table.notes.append("then the least DRAM, the least flash, the fewest flash writes")
    table.notes.insert(0, f"* the advice: within {near}; {rule}")
    if prices.tbw is None and any(one.life_years is not None for one in advised.curve):
        table.notes.append(_ASSUMED)
    return table


#: What the life of a drive follows from where its rating is not given.
_ASSUMED = (
    f"life: at one drive write a day over {ASSUMED_YEARS:g} years, assumed (--price tbw=600TB"
    " gives the rating)"
)


def filters_table(advised: KvAdvised) -> Table | None:
    """The advice with each other filter; None without a flash tier."""
    return _table(advised, advised.filters) if advised.filters else None


def method_lines(advised: KvAdvised) -> Iterator[str]:
    """How the runs were made."""
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

    say(iter([*answer_lines(advised), _settings_line(advised)]))
    draw(kv_table(advised))
    if explain:
        filters = filters_table(advised)
        if filters is not None:
            head("Admission filters at these sizes")
            draw(filters)
        settings = settings_of(advised)
        if settings:
            head("Settings")
            for setting in settings:
                lacks = f" ({setting.lacks})" if setting.lacks else ""
                out.extend(["", plain(f"{setting.host}{lacks}:")])
                block = f"```\n{setting.typed}\n```" if markdown else setting.typed
                out.extend([block, f"source: {setting.source}"])
        head("Method")
        say(method_lines(advised))
    return "\n".join(out) + "\n"
