"""The answer of advice on KV caches: a few lines and one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from destage.model.advised import KvAdvised
from destage.model.configuration import ASSUMED_YEARS, DAY_NS, Configuration
from destage.model.deployed import KvSetting, kv_settings
from destage.model.words import NONE, counted, duration, percent, ratio, significant, size, volume
from destage.show.tables.table import Cell, Column, Table

__all__ = ["filters_table", "kv_answer_lines", "kv_table", "settings_line", "settings_of"]


def _upper(one: Configuration) -> str:
    """The policy of tier 1 as one types it."""
    return one.run.label.partition(" over ")[0]


def _filter(one: Configuration) -> str:
    return str(one.run["admit"]) if one.flash_bytes else NONE


def kv_answer_lines(advised: KvAdvised) -> Iterator[str]:
    """The answer: worth and wear first; servers and recomputing if asked."""
    chosen = advised.chosen
    yield _kv_worth(advised)
    yield _wear(chosen) + _extrapolated(advised, chosen)
    yield f"DRAM: {size(chosen.dram_bytes)}, policy {_upper(chosen)}{_rises(advised)}."
    yield _flash(advised) if chosen.flash_bytes else _no_flash(advised)
    yield from _fleet(advised)
    yield from _recomputing(advised)


def _rises(advised: KvAdvised) -> str:
    """Note that hits still rise at the largest sizes tried."""
    if not advised.rises:
        return ""
    most = [max(one.sizes[k] for one in advised.candidates) for k in (0, 1)]
    dram, flash = map(size, most)
    if not most[1]:
        return f"; the curve still rises at the largest size tried, {dram}: try more (--cache)"
    return (
        f"; the curve still rises with {advised.rises} at the largest sizes tried ({dram} of DRAM,"
        f" {flash} of flash): try more (--cache, --tier2-cache)"
    )


def _extrapolated(advised: KvAdvised, chosen: Configuration) -> str:
    """Length of the trace from which a day's writes were extrapolated."""
    length = advised.trace.duration_ns
    if not chosen.written_per_day or length is None or length >= DAY_NS:
        return ""
    return f" Extrapolated from {duration(length)}."


def settings_of(advised: KvAdvised) -> Sequence[KvSetting]:
    """Settings of each host; none if they are withheld."""
    return () if advised.withheld else kv_settings(advised.chosen)


def settings_line(advised: KvAdvised) -> str:
    """Where the settings are, or why they are withheld."""
    if advised.withheld:
        return f"Settings: withheld, because {advised.withheld} (override: --force)."
    hosts = ", ".join(setting.host for setting in settings_of(advised))
    return f"Settings: for {hosts} with --explain."


def _kv_worth(advised: KvAdvised) -> str:
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
        judged = "" if low > 0 else ": not significant"
        more += f" (95 % CI {low:.1f} to {high:.1f}{judged})"
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
        rating = " at one write of it a day (assumed)" if advised.prices.tbw is None else ""
        none = f"no configuration that writes to flash lasts {years} years"
        return f"Flash: none; {none}{rating} (the longest {life}).{_extrapolated(advised, longest)}"
    return "Flash: none."


def _fleet(advised: KvAdvised) -> Iterator[str]:
    """Needs of several servers together."""
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
        f"Recomputing: flash above {volume(least)}/s reads faster than a server recomputes ({rate}"
        f" tokens/s)"
    )
    if read is not None:
        line += f"; {volume(read)}/s were read from it on average"
    yield f"{line}."


def _life(years: float) -> str:
    """Years, or days where they are fewer than that."""
    if years < 1:
        return f"{significant(365.25 * years)} days"
    return f"{significant(years)} years"


def _lasts(one: Configuration) -> str:
    """The life of the drive in a table's cell."""
    if one.life_years is not None:
        return _life(one.life_years)
    return "lasts" if one.flash_bytes and not one.written else NONE


def _wear(chosen: Configuration) -> str:
    per_day, years = chosen.written_per_day, chosen.life_years
    if not chosen.flash_bytes:
        return "SSD: nothing is written to flash."
    if not chosen.written:
        return "SSD: nothing was written to flash."
    if per_day is None:
        return "SSD: no lifetime, because the trace has no times."
    wear = f"SSD: {volume(per_day)} written a day"
    if years is None:
        return f"{wear}."
    if chosen.prices.tbw is None:
        once = f"at one write of its {size(chosen.flash_bytes)} a day"
        wear += f"; {once} (assumed; --price tbw=) it lasts {_life(years)}"
    else:
        wear += f"; the rated writes last {_life(years)}"
    return f"{wear}. {_endurance(chosen)}"


def _endurance(chosen: Configuration) -> str:
    """The rating that the years take, and how many drives have it."""
    years, needed = significant(chosen.prices.years), chosen.needed_bytes
    writes = significant(chosen.drive_writes_per_day)
    assert needed is not None, "asked only where the writes of a day are known"
    line = f"To last {years} years, a {volume(chosen.sold_bytes)} SSD must endure {writes}"
    line += f" drive writes a day ({volume(needed)})"
    if chosen.drives is not None:
        each = " each" * (chosen.drives != 1)
        line += f": {counted(chosen.drives, 'drive')} rated {volume(chosen.rated_bytes)}{each}"
    return f"{line}."


def _table(advised: KvAdvised, rows: Sequence[Configuration]) -> Table:
    """Configurations as a table; the advice is marked."""
    columns = [
        Column("DRAM", key=True),
        Column("flash", key=True),
        Column("policy", right=False),
        Column("tier 2", right=False),
        Column("admission", right=False),
        Column("token hit %"),
        Column("stranded %"),
        Column("writes a day"),
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
    near = f"within {100 * advised.within:g} % of the most hits"
    if any(one.hits > advised.best.hits for one in advised.candidates):
        near += " with an SSD that lasts"
    near += f" ({percent(advised.best.hits, 2)})"
    prices = advised.prices
    if advised.chosen.dollars is not None:
        notes = [f"* the advice: {near}, the lowest cost a year"]
    else:
        least = "the least DRAM, then the least flash, then the fewest flash writes"
        lasts = f"an SSD lasts if it lives {significant(prices.years)} years"
        notes = [
            f"* the advice: {near}; {least}",
            f"{lasts}; of the near ones, if none does, at least half of the longest life",
        ]
    table.notes[:0] = notes
    if any(one.run["stranded_ratio"] for one in advised.curve):
        table.notes.append("stranded: cached blocks behind a missing one, which cannot be used")
    if prices.tbw is None and any(one.life_years is not None for one in advised.curve):
        table.notes.append(_ASSUMED)
    return table


#: The assumed rating behind the life of a drive.
_ASSUMED = (
    f"life: at one write of the whole flash a day for {ASSUMED_YEARS:g} years, assumed (--price"
    " tbw=600TB gives the rating)"
)


def filters_table(advised: KvAdvised) -> Table | None:
    """The advice with each other filter; None without a flash tier."""
    return _table(advised, advised.filters) if advised.filters else None
