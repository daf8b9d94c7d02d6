"""The answer of advice: five lines and one table; `tables.advice` has the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from destage.model.advice import Choice, deployable
from destage.model.advised import HITS, Advised, KvAdvised
from destage.model.configuration import ASSUMED_YEARS, DAY_NS, Configuration
from destage.model.deployed import KvSetting, System, kv_settings
from destage.model.run import Run, measured_text
from destage.model.words import (
    NBSP,
    NONE,
    counted,
    duration,
    join,
    percent,
    plain,
    ratio,
    significant,
    size,
    volume,
)
from destage.show.tables.table import Cell, Column, Table
from destage.show.tables.words import far_text, place, share_text, title_of

__all__ = [
    "answer_lines",
    "answer_table",
    "filters_table",
    "kv_answer_lines",
    "kv_table",
    "settings_line",
    "settings_of",
]

#: How to record a trace that says more.
RECORD = "Record a longer one: `destage record DEVICE -o trace.csv.zst` for a day."
#: A product's size is about the advised one up to this ratio.
ROUNDED = 1.05
#: Percentiles that are one garbage collection: all runs within this share of each other.
ALIKE = 0.05


def products_of(advised: Advised, run: Run) -> list[System]:
    """The deployed systems that a run stands for."""
    return [
        s
        for s in advised.products
        if s.label == run.label and s.least_bytes <= run.cache_bytes and not s.reads_only
    ]


def _count(runs: Sequence[Run]) -> str:
    """`the best of 214 runs`."""
    return f"the best of {counted(len(runs), 'run')}"


def _worth(advised: Advised) -> str:
    """Whether a cache is worth it: the first line."""
    choice = advised.first
    goal, run = choice.goal, advised.run
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    rises = ""
    if advised.rises:
        rises = (
            f"; a larger one may be better: {size(choice.curve[-1].run.cache_bytes)} is the largest"
            f" size tried{_of_few(advised)}"
        )
    value, here = goal.text(goal.value(run)), size(run.cache_bytes)
    said = f"Worth it: {'yes' if advised.worth else 'no'}; a cache of {here}"
    mine = goal.value(run)
    without = None if advised.nothing is None else goal.value(advised.nothing)
    if advised.nothing is None or not without or mine is None or not goal.judged(advised.nothing):
        # Nothing is hit without a cache; of other objectives that number is not known.
        return f"{said} gives {title} {value}{rises}."
    before = goal.text(without)
    if goal.largest or mine >= without:
        return f"{said} gives {title} {value}; without one it is {before}{rises}."
    share = percent((without - mine) / without, 0)
    return f"{said} saves {share} of {title}: {value} in place of {before}{rises}."


def _of_few(advised: Advised) -> str:
    """Which flag tries larger sizes: of products' policies, few sizes may have been run."""
    largest = max(run.frames for run in advised.candidates)
    if advised.deployed and largest > advised.first.curve[-1].run.frames:
        return " with products' policies (--finalists)"
    return " (--budget)"


def not_worth(advised: Advised) -> str:
    """The one sentence where no cache helps."""
    choice = advised.first
    goal, best = choice.goal, choice.best
    if goal.column in HITS or advised.nothing is None:
        most = goal.text(goal.value(best))
        who = "both tiers serve" if advised.below else "a cache serves"
        return (
            f"Worth it: no, or the trace is too short; {who} at most {most} of the"
            f" accesses at any size up to {size(choice.curve[-1].run.cache_bytes)}."
        )
    title = "cost" if goal.metric is None else title_of(goal.metric.name)
    return (
        "Worth it: no, or the trace is too short; no cache"
        f"{' of a product' if advised.deployed else ''} up to"
        f" {size(choice.curve[-1].run.cache_bytes)} improves {title} significantly"
        f" ({goal.text(goal.value(advised.nothing))} without one, {goal.text(choice.best_value)} at"
        " best)."
    )


def _take(advised: Advised) -> str:
    """The recommended cache, with the product that has it."""
    run = advised.run
    within = f"within {share_text(advised.within)} of"
    if len(advised.goals) > 1:
        names = join([goal.name for goal in advised.goals])
        if advised.joint is not None:
            return f"Take {place(run)}, the smallest size {within} the best in each of {names}."
        first = advised.first.goal.name
        return f"No run is near the best in each of {names}. For {first} take {place(run)}."
    products = products_of(advised, run) if advised.deployed else []
    if products:
        runs = counted(len(deployable(advised.candidates, advised.products)), "run")
        best = f"the smallest size {within} the best of {runs} of products' policies"
        values = _of_products(advised)
        if values:
            return f"Take {place(run)}, {best}. At that size: {values}."
        names = " or ".join(dict.fromkeys(one.title for one in products))
        return f"Take {place(run)} ({names}), {best}."
    return f"Take {place(run)}, the smallest size {within} {_count(advised.candidates)}."


def _of_products(advised: Advised) -> str:
    """The objective with each product at about the advised size, the best first.

    Empty where there are not several products of that size.
    """
    goal, most = advised.first.goal, ROUNDED * advised.run.cache_bytes
    best: dict[str, float] = {}
    for setting in advised.settings:
        value, name = setting.values[0], setting.system.name
        is_near = setting.run is not None and setting.size_bytes <= most
        if value is None or not is_near or setting.system not in advised.products:
            continue
        if name not in best or goal.better(value, best[name]):
            best[name] = value
    if len(best) < 2:
        return ""
    ranked = sorted(best.items(), key=lambda item: item[1], reverse=goal.largest)
    alike: dict[str, list[str]] = {}
    for name, value in ranked:
        alike.setdefault(goal.text(value), []).append(name)
    return ", ".join(f"{join(names)} {text}" for text, names in alike.items())


def _possible(advised: Advised) -> str | None:
    """Value of a better policy that no product has."""
    if not advised.deployed:
        return None
    choice, mine = advised.choices[0], advised.run
    goal, run = choice.goal, choice.run
    judged, ours = goal.judged(run), goal.judged(mine)
    if judged is None or ours is None or run is mine or products_of(advised, run):
        return None
    if not _is_possible(advised, run):
        if run.cache_bytes >= mine.cache_bytes:
            return None
        return f"Not in any product: {place(run)}, smaller and not significantly different."
    if not goal.better(judged, ours):
        return None
    return (
        f"Not in any product: {place(run)} gives {goal.text(goal.value(run))} (curve: --explain)."
    )


def _is_possible(advised: Advised, run: Run) -> bool:
    """Whether a policy's lead is significant; of two sizes at one of them, as the table has it.

    Runs of different sizes have no interval.
    """
    choice, mine = advised.choices[0], advised.run
    if run.frames != mine.frames:
        here = [p.run for p in advised.first.curve if p.run.frames == run.frames]
        there = [p.run for p in choice.curve if p.run.frames == mine.frames]
        mine, run = (here[0], run) if here else (mine, (there or [run])[0])
    return choice.goal.is_significant(run, mine)


def _sure(choice: Choice) -> str:
    rival, goal = choice.rival, choice.goal
    if rival is None:
        return "No other candidate ran at that size: significance is unknown."
    theirs = f"{rival.run.label} ({goal.text(goal.value(rival.run))})"
    if rival.significant:
        return f"The next best at that size, {theirs}, is significantly different."
    return f"The next best at that size, {theirs}, is not significantly different."


def _type(advised: Advised) -> str | None:
    """The command, or why there is none."""
    if advised.withheld and not advised.below:
        return f"No settings printed: {advised.withheld} (override: --force). {RECORD}"
    names = {one.name + one.setting for one in products_of(advised, advised.run)}
    mine = [s for s in advised.settings if s.system.name + s.system.setting in names and s.typed]
    if not mine:
        return None
    if all(one.name == mine[0].system.name for one in advised.products):
        return f"Type: {mine[0].typed}" + (f" (--explain: {len(mine) - 1} more)" * bool(mine[1:]))
    return f"Type, for {mine[0].system.name}: {mine[0].typed} (other products: --explain)"


def _one_collection(advised: Advised) -> str | None:
    """Where a percentile is the length of one garbage collection in every run."""
    goal = advised.goals[0]
    if goal.metric is None or "_p9" not in goal.metric.name or advised.drive is None:
        return None
    found = [v for run in advised.candidates if (v := goal.value(run)) is not None]
    if len(found) < 3 or max(found) - min(found) > ALIKE * max(found):
        return None
    return (
        f"{goal.title} is {goal.text(min(found))} to {goal.text(max(found))} in every run: the"
        " length of one garbage collection. Use --objective mean, or a device with gc_step_pages,"
        " to distinguish caches."
    )


def answer_lines(advised: Advised) -> list[str]:
    """The answer, in five lines at most; one line and how to go on where no cache is worth it.

    A line more says that the answer is for a closed loop.
    """
    lines: list[str | None]
    if not advised.worth and not advised.force:
        better = _possible(advised) if advised.worth_with_any_policy else None
        lines = [not_worth(advised), better, RECORD]
    else:
        possible = _possible(advised)
        third = _one_collection(advised) or possible
        lines = [_worth(advised), _take(advised), third, _sure(advised.first), _type(advised)]
    lines.append(advised.loop)
    if advised.ran.interrupted:
        lines[0] = f"Interrupted: from the runs finished by then. {lines[0]}"
    return [plain(line) for line in lines if line]


def answer_table(advised: Advised) -> Table:
    """A row a size: the best that a product can be set to, and the best there is."""
    choice, everything = advised.first, advised.choices[0]
    goal = choice.goal
    has_hits = goal.column != "hit_ratio"
    heads = ["size", "of pages", "policy", *["hit %"] * has_hits, goal.name, "from best"]
    columns = [Column(h, right=h != "policy", key=h == "size") for h in heads]
    apart = bool(advised.deployed)
    columns += [Column("possible", right=False), Column(goal.name)] if apart else []
    title = "no cache" if advised.nothing is not None else ""
    table = Table("", columns, [[]])
    best = {point.run.frames: point for point in everything.curve}
    top = goal.judged(choice.best)
    if title and advised.nothing is not None:
        row = [Cell("-"), Cell("-"), Cell(title), *[Cell("0.00")] * has_hits]
        row += [Cell(goal.text(goal.value(advised.nothing))), Cell(NONE)]
        table.groups[0].append(row + ([Cell(""), Cell("")] if apart else []))
    ran = Counter(run.frames for run in advised.candidates)
    for point in choice.curve:
        run = point.run
        # Sizes that deployed systems alone were run at would look better than they are.
        if 2 * ran[run.frames] < max(ran.values()) and run is not advised.run:
            continue
        far = None if top is None else goal.worse_by(point.judged, top)
        share = NONE if run.cache_share is None else percent(run.cache_share, 1)
        row = [Cell(size(run.cache_bytes), best=run is advised.run), Cell(share), Cell(run.label)]
        row += [Cell(ratio(run.hit_ratio, 2))] * has_hits
        row += [Cell(goal.text(point.value)), Cell(NONE if far is None else far_text(far))]
        if apart:
            there = best.get(run.frames)
            other = (
                there is not None and there.run is not run and goal.is_significant(there.run, run)
            )
            row += [
                Cell(there.run.label if there is not None and other else "="),
                Cell(goal.text(there.value) if there is not None and other else ""),
            ]
        table.groups[0].append(row)
    near = share_text(advised.within)
    if advised.run.warmup_requests:
        table.notes.append(f"measured: {measured_text(advised.run)}, the same at every size")
    table.notes.append(
        plain(f"* the smallest size within {near} of the best; --explain shows the rest")
    )
    if any(row[2].text.endswith("+ writer") for row in table.rows()):
        table.notes.append("+ writer: with background destages, as that product has")
    if apart:
        table.notes.append(
            "possible: a policy that no product has, if significantly better at that size; =: none"
        )
    if any(goal.put_off(point.run) > 0.0005 for point in choice.curve):
        table.notes.append("from best: pending writes are charged at the mean cost of the others")
    table.notes = [plain(note).replace(NBSP, " ") for note in table.notes]
    return table


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
        rating = " at one write of it a day (assumed)" if advised.prices.tbw is None else ""
        none = f"no configuration with flash lasts {years} years"
        return f"Flash: none; {none}{rating} (the longest {life})."
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
    drive = f"drive of {volume(chosen.sold_bytes)}"
    line = f"{years} years take {writes} drive writes a day ({drive}), {volume(needed)} in all"
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
    near = f"{100 * advised.within:g} % of the most hits ({percent(advised.best.hits, 2)})"
    if any(one.hits > advised.best.hits for one in advised.candidates):
        near += " with an SSD that lasts"
    prices = advised.prices
    if advised.chosen.dollars is not None:
        rule = "the lowest cost a year"
    else:
        rule = (
            f"an SSD life of {significant(prices.years)} years (if none: half of the longest life);"
            " then the least DRAM, the least flash, the fewest flash writes"
        )
    table.notes.insert(0, f"* the advice: within {near}; {rule}")
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
