"""The report of a comparison: which sections there are, and what stands in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from altair.utils.schemapi import debug_mode

from destage.model.marks import baseline_of, device_of
from destage.model.metrics import METRICS
from destage.model.profile import warnings_of
from destage.model.results import ResultSet
from destage.model.run import prompts_of
from destage.model.run import warnings_of as warnings_of_runs
from destage.model.series import names
from destage.model.trace_identity import trace_name
from destage.model.values import cell
from destage.model.words import counted, duration, join, number, percent, printable, size
from destage.show.charts.comparison import same_axes
from destage.show.charts.series_plots import series_chart, series_title
from destage.show.charts.theme import PAGE
from destage.show.pages.blocks import Part, article, charts, fact, pairs, section, table
from destage.show.pages.comparison import chart_part, comparison, group_of, over_size
from destage.show.pages.drive import device_section, drive_name
from destage.show.pages.layout import page_of
from destage.show.pages.part_names import named_parts
from destage.show.pages.parts import parts_of_run
from destage.show.pages.phases import phases_of_run
from destage.show.pages.provenance import configuration
from destage.show.pages.tables import all_runs, best_by_size
from destage.show.pages.trace import facts, profile_charts
from destage.show.pages.workload import workload
from destage.show.tables.against import against_table
from destage.show.tables.curves import curves_summary
from destage.show.tables.stability import stability
from destage.show.tables.summary import summary
from destage.show.tables.verdict import verdict

__all__ = ["page"]

#: What goes with a result set, if anything.
Given = Mapping[str, Any] | None


def page(
    results: Sequence[ResultSet],
    infos: Sequence[Mapping[str, Any]],
    curves: Sequence[ResultSet],
    profiles: Sequence[Mapping[str, Any]],
    series: Sequence[Sequence[Mapping[str, int | float]]],
    command: str | None,
) -> str:
    """Return the whole page."""
    articles: list[Part] = []
    groups: list[Part] = []
    # Altair would hold every chart, and every part of it, against its schema: most of the time that
    # a report takes. The tests do that.
    with debug_mode(False), same_axes(results):
        for k, parts in enumerate(_matched(results, infos, curves, profiles)):
            periods = series[k] if k < len(results) and k < len(series) else ()
            articles.append(_article(k, *parts, periods, groups, results))
    title, named = named_parts([a["title"] for a in articles], results) if articles else ("", [])
    for one, name in zip(articles, named, strict=True):
        one["title"] = name
    return page_of(
        articles,
        {"groups": groups},
        eyebrow="Destage report",
        title=title or "No results",
        lead=articles[0]["lead"] if len(articles) == 1 else "",
        version=next((str(r.source.get("version", "")) for r in results), ""),
        command=command,
    )


def _matched(
    results: Sequence[ResultSet],
    infos: Sequence[Mapping[str, Any]],
    curves: Sequence[ResultSet],
    profiles: Sequence[Mapping[str, Any]],
) -> list[tuple[ResultSet | None, Given, ResultSet | None, Given]]:
    """Results, facts, curves and profile of each trace, side by side."""
    parts: list[list[Any]] = [[r, None, None, None] for r in results]
    marks = [r.trace.fingerprint for r in results]
    kinds: tuple[Sequence[Mapping[str, Any] | ResultSet], ...] = (infos, curves, profiles)
    for place, given in enumerate(kinds, start=1):
        for i, item in enumerate(given):
            mark = _fingerprint(item)
            # The two kinds of fingerprint have different lengths.
            known = [k for k, m in enumerate(marks) if m and (mark.startswith(m) or m == mark)]
            if not known and not mark and i < len(parts):
                known = [i]
            free = [k for k in known if parts[k][place] is None]
            if not free:
                parts.append([None, None, None, None])
                marks.append(mark)
                free = [len(parts) - 1]
            parts[free[0]][place] = item
    return [(p[0], p[1], p[2], p[3]) for p in parts]


def _fingerprint(item: Mapping[str, Any] | ResultSet) -> str:
    if isinstance(item, ResultSet):
        return item.trace.fingerprint
    trace = item.get("trace")
    source = trace if isinstance(trace, Mapping) else item
    return str(source.get("fingerprint") or "")


def _article(
    k: int,
    result: ResultSet | None,
    info: Given,
    curve: ResultSet | None,
    profile: Given,
    periods: Sequence[Mapping[str, int | float]],
    groups: list[Part],
    every: Sequence[ResultSet],
) -> Part:
    """One trace: its comparison, its profile, its curves, as far as they are there."""
    sections: list[Part | None] = []
    lines: list[str] = []
    warnings: list[str] = []
    if result is not None:
        stable = [f"{line[:1].upper()}{line[1:]}." for line in stability(result.runs)]
        lines += verdict(result) + summary(result) + stable
        warnings += _warnings(result)
        sections += comparison(f"c{k}", result, groups)
        sections += [
            _over_time(f"o{k}", periods, result, groups),
            phases_of_run(result),
            parts_of_run(result),
            best_by_size(result),
            *_against(result, every),
            all_runs(result),
        ]
    if curve is not None:
        sections.append(_curves(k, curve, groups))
        lines += curves_summary(curve)
        warnings += [printable(w) for w in curve.source["mrc"].get("warnings") or []]
    if info is not None:
        sections.append(_trace(f"p{k}", info, groups))
    if profile is not None:
        sections += workload(f"w{k}", profile, groups)
        warnings += warnings_of(profile)
    if result is not None:
        sections += [device_section(result), configuration(result)]
    return article(
        f"t{k}",
        _name(result, info, curve),
        sections,
        lead=_lead(result) if result is not None else "",
        summary=[lines],
        warnings=warnings,
        tiles=_tiles(result) if result is not None and len(result.runs) == 1 else None,
    )


def _against(result: ResultSet, every: Sequence[ResultSet]) -> list[Part]:
    """Differences from the baseline, where one was asked for, and from the trace's first device."""
    made = []
    if result.baseline is not None and baseline_of(result.runs, result.baseline) is not None:
        made.append(against_table(result.runs, result.baseline))
    first = next(one for one in every if one.trace == result.trace)
    reference, device = (device_of(one.runs[0]) if one.runs else None for one in (first, result))
    if reference is not None and device not in (None, reference):
        made.append(against_table([*first.runs, *result.runs], reference))
    return [part for one in made if one.groups and (part := section(one.title, table(one)))]


def _trace(group: str, info: Mapping[str, Any], groups: list[Part]) -> Part | None:
    """The numbers of a trace, and three small charts."""
    made = [chart_part(group, name, title, chart) for name, title, chart in profile_charts(info)]
    if made:
        groups.append(group_of(group, made))
    return section("The trace", pairs("facts", facts(info)), charts(made, css="charts three"))


def _over_time(
    group: str,
    periods: Sequence[Mapping[str, int | float]],
    result: ResultSet,
    groups: list[Part],
) -> Part | None:
    """A single run, period by period; `None` if it was not recorded."""
    starts = ((run.measured or {}).get("first_access", 0) for run in result.runs)
    first = min(starts, default=0)
    made, tier1 = [], any(run.counts_tier_1 for run in result.runs)
    for name in names(periods):
        chart = series_chart(periods, name, PAGE, page=True, first_access=first, tier1=tier1)
        made.append(chart_part(group, name, series_title(name, tier1=tier1), chart))
    if not made:
        return None
    made[0]["wide"] = len(made) % 2 == 1
    groups.append(group_of(group, made))
    return section("Over the run", charts(made))


def _name(result: ResultSet | None, info: Given, curve: ResultSet | None) -> str:
    known = result or curve
    if known is not None:
        return known.name
    if info is None:
        return "trace"
    options = info.get("options")
    sources = [s.get("name", "") if isinstance(s, Mapping) else s for s in info.get("sources", ())]
    return trace_name(sources, options if isinstance(options, Mapping) else {})


def _lead(result: ResultSet) -> str:
    trace = result.trace
    parts = [counted(len(result.labels), "policy", "policies")]
    sizes = [size(frames * trace.page_bytes) for frames in result.sizes]
    if not result.has_cache:
        parts.append("no cache")
    elif len(sizes) == 1:
        parts.append(f"{sizes[0]} of cache")
    elif sizes:
        parts.append(f"{len(sizes)} cache sizes from {sizes[0]} to {sizes[-1]}")
    drive = drive_name(result)
    if drive is not None:
        parts.append(f"in front of {drive}")
    prompts = prompts_of(result.runs)
    if prompts is None:
        parts.append(f"{number(trace.requests)} requests")
        parts.append(f"{number(trace.accesses)} page accesses")
        parts.append(f"{number(trace.unique_pages)} pages of {size(trace.page_bytes)}")
    else:
        parts.append(f"{number(prompts)} prompts")
        parts.append(f"{number(trace.accesses)} blocks")
        parts.append(f"{number(trace.unique_pages)} different, of {size(trace.page_bytes)}")
    return " \u00b7 ".join(parts)


def _warnings(result: ResultSet) -> list[str]:
    """Each warning once, with the policies that have it unless all do."""
    found = []
    for message, labels in warnings_of_runs(result.runs).items():
        warning = printable(message)
        everyone = len(labels) == len(result.labels) > 1
        # A warning that names its policy needs no label.
        named = len(labels) == 1 and labels[0] in warning
        found.append(warning if everyone or named else f"{join(labels)}: {warning}")
    return found


def _tiles(result: ResultSet) -> Part | None:
    """A single run: its numbers, large."""
    run = result.runs[0]
    tiles = []
    for metric in METRICS:
        value = run[metric.name]
        asked = metric.is_core(result.timed) and metric.name != "writes_vs_lru"
        if not asked or value is None:
            continue
        if metric.kind == "ratio":
            tiles.append(fact(metric.title, percent(value)))
        elif metric.kind == "time":
            tiles.append(fact(metric.title, duration(value)))
        else:
            tiles.append(fact(metric.title, cell(metric, value), metric.unit))
    return pairs("tiles", tiles)


def _curves(k: int, curved: ResultSet, groups: list[Part]) -> Part | None:
    """The section of the curves of `mrc`; `None` without one."""
    if not curved.runs:
        return None
    sample = curved.source["mrc"].get("sample")
    note = ""
    if isinstance(sample, Mapping):
        note = (
            f"Estimated from a sample of {percent(sample.get('rate'))} of the pages "
            f"({number(sample.get('pages'))} pages, {number(sample.get('accesses'))} accesses); "
            "the bands are 95 % intervals."
        )
    elif samples := curved.source["mrc"].get("samples"):
        exact = sum(not run.sampled for run in curved.runs)
        note = (
            f"Estimated from {counted(len(samples), 'sample')} of {percent(samples[-1]['rate'])}"
            f" to {percent(samples[0]['rate'])} of the pages, {exact} of {len(curved.runs)} points"
            " from the whole trace; the bands are 95 % intervals."
        )
    names, file = ("hit_ratio", "physical_writes"), f"{curved.name}-mrc"
    return over_size(f"m{k}", "Hit-ratio curves", curved, names, groups, file, note)
