"""The charts of one result set: which there are, in which order, under which headings.

Without a device: the metrics over cache size. With one: response times over cache size, at one
size in detail, what lies behind them, and what the device did.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from destage.model.drive import (
    destage_curves,
    developments,
    response_curves,
    unbalance_curves,
    utilisations,
    wear,
)
from destage.model.host_interface import handle_wafs, slc_developments
from destage.model.metrics import ALL_HITS, BASELINE, METRICS, ORACLE, Metric
from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.model.run import Run
from destage.model.winners import winners
from destage.model.words import number, size
from destage.show.charts.comparison import Charts
from destage.show.charts.comparison_rows import chart_rows
from destage.show.charts.drive import DeviceCharts
from destage.show.charts.engine import engine
from destage.show.charts.host_interface import HostInterfaceCharts
from destage.show.charts.theme import MARKERS, PAGE, VEGA_LITE, styles
from destage.show.pages.blocks import Part, bar, legend, section, select, text
from destage.show.pages.blocks import charts as charts_block
from destage.show.pages.plain import lines, means, points

__all__ = ["alone", "chart_part", "comparison", "group_of", "looks", "over_size"]

#: Up to so many policies are all drawn in colour unasked.
FEW = 8

#: Most runs that are drawn over time; of more, the policies in colour.
MOST_DEVELOPMENTS = 48

#: Bars whose longest is less than this share above the shortest look alike: none are drawn.
ALIKE = 0.01


def comparison(group: str, result: ResultSet, groups: list[Part]) -> list[Part | None]:
    """The sections of a comparison: charts, with the legend they share.

    Adds to `groups` what the page's script has to know of them.
    """
    if not result.by_size:
        return []
    shown = highlighted(result)
    model = group_of(group, (), chart_rows(result), shown)
    if result.timed:
        sections = _with_device(model, result, shown)
    elif len(result.by_size) > 1:
        sections = _without_device(model, result, shown)
    else:
        return []
    groups.append(model)
    return sections


def over_size(
    group: str,
    title: str,
    result: ResultSet,
    names: Iterable[str],
    groups: list[Part],
    file: str = "",
    note: str = "",
) -> Part | None:
    """A section of charts over cache size, each as wide as the page."""
    shown = highlighted(result)
    charts = Charts(result, PAGE, page=True, shown=shown)
    known = {metric.name: metric for metric in result.metrics()}
    drawn = [
        chart_part(group, name, known[name].title, charts.over_size(known[name]), file)
        | {"note": charts.intervals_note(known[name])}
        for name in names
        if name in known
    ]
    if not drawn:
        return None
    drawn = [part | {"wide": True} for part in drawn]
    # All are of the same rows.
    drawn[-1]["points"] = points(chart_rows(result))
    groups.append(group_of(group, drawn, chart_rows(result), shown))
    chosen = legend(group, chips(result, shown))
    return section(title, chosen, charts_block(drawn), text("note", note))


def alone(groups: list[Part], part: Part, note: str, rows: Sequence[Row] = ()) -> Part:
    """A chart in a group of its own, as wide as the page; `rows` if it has none of its own."""
    part |= {"wide": True, "note": note} | ({"points": points(rows)} if rows else {})
    groups.append(group_of(part["id"].partition("-")[0], [part]))
    return part


def group_of(name: str, charts: Sequence[Part], rows: Any = (), shown: Any = ()) -> Part:
    """Charts as the scripts of the page take them."""
    charts = list(charts)
    return {"id": name, "rows": list(rows), "shown": list(shown), "data": {}, "charts": charts}


def _section(
    model: Part,
    title: str,
    drawn: list[Part],
    chosen: list[Part],
    choices: Sequence[Part] = (),
    note: str = "",
) -> Part | None:
    """Charts of the group of `model`, their legend, their selectors; nothing without charts."""
    if not drawn:
        return None
    model["charts"] += drawn
    controls = bar(*choices) if choices else None
    shown = legend(model["id"], chosen)
    return section(title, controls, shown, charts_block(drawn), text("note", note))


def _over(result: ResultSet, joint: str = "", several: str = "over cache size") -> str:
    """The end of a heading: the one cache size, or that there are several; nothing without one."""
    if not result.has_cache:
        return ""
    one = len(result.sizes) == 1
    return joint + (f"at {size(result.by_size[0].cache_bytes)}" if one else several)


def _legend(result: ResultSet, shown: Sequence[str], *, lines: bool) -> list[Part]:
    """Chips; none where bars have their names beside them."""
    return chips(result, shown) if lines or len(result.sizes) > 1 else []


def _over_sizes(
    group: str, charts: Charts, metrics: Mapping[str, Metric], names: Iterable[str]
) -> list[Part]:
    """A chart for each of these metrics that says something."""
    drawn = []
    rows = charts.result.by_size
    for name in names:
        # A line at zero all along is better said: the summary does.
        if name not in metrics or not (name in _HITS or any(row[name] for row in rows)):
            continue
        if name not in _ALWAYS and len(charts.result.sizes) == 1 and _alike(rows, name):
            continue
        chart = charts.over_size(metrics[name])
        part = chart_part(group, name, metrics[name].title, chart, charts.result.name)
        drawn.append(part | {"note": charts.intervals_note(metrics[name])})
    return drawn


#: Metrics that a reader looks for, even where all policies are alike.
_HITS = ("hit_ratio", ALL_HITS)
_ALWAYS = (*_HITS, "response_ns_mean")


def _alike(rows: Sequence[Run], name: str, more: Sequence[float] = ()) -> bool:
    """Whether bars of these values have the same length to the eye; the table has the numbers."""
    values = [*more, *(row[name] for row in rows if row[name] is not None)]
    return len(values) > 1 and max(values) - min(values) < ALIKE * max(map(abs, values))


def _relative_writes(group: str, charts: Charts, metrics: Mapping[str, Metric]) -> Part | None:
    result = charts.result
    if "writes_vs_lru" not in metrics or len(result.labels) < 2 or len(result.sizes) < 2:
        return None
    if _alike(result.by_size, "writes_vs_lru", [1.0]):
        return None
    chart = charts.relative_writes(metrics["writes_vs_lru"])
    title = f"Flash writes relative to {BASELINE}"
    return chart_part(group, "writes_vs_lru", title, chart) | {"note": "below 1 is better"}


#: What clusters of pages make of destages, and what that costs.
_GROUPED = ("destages", "mean_destage_pages", "padding_writes")

#: What an FTL does beyond collecting: merges of log blocks, translation pages.
_OF_FTL = (
    *("full_merges", "partial_merges", "switch_merges", "merge_copies", "log_blocks_used_max"),
    *("cmt_hit_ratio", "translation_reads", "translation_writes"),
)


def _written_back(model: Part, charts: DeviceCharts) -> Part | None:
    """How large destages are; nothing where every destage is one page."""
    result, group = charts.result, model["id"]
    curves = destage_curves(result)
    if not curves:
        return None
    one = len(result.sizes) == 1
    metrics = {m.name: m for m in result.metrics()}
    drawn = [] if len(result.by_size) == 1 else _over_sizes(group, charts, metrics, _GROUPED)
    model["data"]["destages"] = curves
    cdf = chart_part(group, "destage_cdf", "Pages in a destage", charts.destage_cdf(), result.name)
    note = "policies that write page by page are left out"
    drawn.append(cdf | {"note": note, "points": lines(curves)})
    _arrange(drawn, hero=False)
    choices = [] if one else [_sizes_choice(group, charts, "Cache size of the distribution")]
    chosen = _legend(result, charts.shown, lines=True)
    title = f"How pages are written back{_over(result, ', ')}"
    return _section(model, title, drawn, chosen, choices=choices)


def _sizes_choice(group: str, charts: DeviceCharts, title: str) -> Part:
    """The selector of the cache size that detailed charts look at."""
    page_bytes = charts.result.trace.page_bytes
    sizes = [(str(f), size(f * page_bytes), "") for f in charts.result.sizes]
    return select(title, sizes, str(charts.frames), data_group=group, data_signal="frames")


def _without_device(model: Part, result: ResultSet, shown: Sequence[str]) -> list[Part | None]:
    group = model["id"]
    charts = DeviceCharts(result, PAGE, page=True, shown=shown)
    metrics = {m.name: m for m in result.metrics()}
    hits = dict.fromkeys((result.hits_metric, "hit_ratio"))
    names = (*hits, "physical_reads", result.writes_metric, "cost")
    drawn = _over_sizes(group, charts, metrics, names)
    for part in drawn:
        if part["name"] == "cost":
            part["note"] = "; ".join(filter(None, (_cost(result), part["note"])))
    relative = _relative_writes(group, charts, metrics)
    drawn += [relative] if relative else []
    if drawn:
        _arrange(drawn, hero=len(result.sizes) > 1)
    over = _over(result)
    overview = _section(
        model, over[:1].upper() + over[1:], drawn, _legend(result, shown, lines=False)
    )
    return [overview, _written_back(model, charts)]


def _arrange(drawn: list[Part], *, hero: bool) -> None:
    """Two abreast, the first across if it is a `hero`, and no gap at the end."""
    if not drawn:
        return
    drawn[0]["wide"] = hero or len(drawn) % 2 == 1
    if drawn[0]["wide"] and len(drawn) % 2 == 0:
        drawn[-1]["wide"] = True


def _with_device(model: Part, result: ResultSet, shown: Sequence[str]) -> list[Part | None]:
    """Parts: response times, the same in detail, what lies behind them, the device."""
    group = model["id"]
    charts = HostInterfaceCharts(result, PAGE, page=True, shown=shown)
    metrics = {m.name: m for m in result.metrics()}
    one = len(result.sizes) == 1
    single = len(result.by_size) == 1

    def bars(names: Iterable[str]) -> list[Part]:
        return [] if single else _over_sizes(group, charts, metrics, names)

    responses = bars(_RESPONSES)
    _arrange(responses, hero=not one)
    behind = bars(dict.fromkeys((result.hits_metric, "hit_ratio")))
    if not one and "hit_ratio" in metrics and "response_ns_mean" in metrics:
        drawn = charts.response_over_hits()
        note = "down and to the right is better"
        behind.append(
            chart_part(group, "response_over_hits", "Response over hits", drawn, result.name)
            | {"note": note}
        )
    behind += bars(("eviction_wait_ns_mean", "victim_in_gc_ratio"))
    _arrange(behind, hero=False)
    drive = bars((result.writes_metric, "waf", "erases", "gc_moves"))
    relative = None if single else _relative_writes(group, charts, metrics)
    drive += [relative] if relative else []
    _arrange(drive, hero=False)
    ftl = bars(_OF_FTL)
    _arrange(ftl, hero=False)
    chosen = _legend(result, shown, lines=False)
    return [
        _section(model, f"Response time{_over(result, ' ')}", responses, chosen),
        _in_detail(model, charts),
        _section(model, f"Related metrics{_over(result, ', ')}", behind, chosen),
        _written_back(model, charts),
        _section(model, f"Device activity{_over(result, ', ')}", drive, chosen),
        _host_interface(model, charts),
        _section(model, f"Other work of the FTL{_over(result, ', ')}", ftl, chosen),
        _units(model, charts),
    ]


#: Response times over cache size, the first one large.
_RESPONSES = (
    *("response_ns_mean", "read_response_ns_mean", "write_response_ns_mean"),
    *("response_ns_p99", "response_ns_p999"),
)


def _in_detail(model: Part, charts: DeviceCharts) -> Part | None:
    """Distributions and the run over time, at the size that the reader chooses."""
    group, result, data = model["id"], charts.result, model["data"]
    drawn: list[Part] = []

    def add(
        name: str, title: str, chart: Any, table: Any, note: str = "", *, wide: bool = False
    ) -> None:
        part = chart_part(group, name, title, chart, result.name)
        drawn.append(part | {"note": note, "wide": wide, "points": table})

    responses = response_curves(result)
    kinds = [kind for kind in ("all", "read", "write") if any(r["kind"] == kind for r in responses)]
    if responses:
        data["responses"] = responses
        idle = any(r["us"][0] == 0 for r in responses)
        note = "the curves begin at the share of requests that took no time" if idle else ""
        add("response_cdf", "Distribution", charts.response_cdf(), lines(responses), note)
        slow, note = lines([_slow(row) for row in responses]), "to the left is better"
        add("response_tail", "Upper half of response times", charts.response_tail(), slow, note)
    several = len(result.by_size) > MOST_DEVELOPMENTS
    spans = developments(result, charts.shown if several else None)
    if spans:
        data["developments"] = spans
        left_out = several and len(charts.shown) < len(result.labels)
        note = "policies in colour at first only" if left_out else ""
        title = "Mean response over time"
        chart = charts.over_time("mean_us")
        add("response_over_time", title, chart, _over_time(spans, "mean_us"), note, wide=True)
        if any(share for r in spans for share in r["collecting"]):
            chart, table = charts.over_time("collecting"), _over_time(spans, "collecting")
            add("collections_over_time", "GC", chart, table, "share of the units' time")
        longest = charts.over_time("max_us")
        add("longest_over_time", "Longest response", longest, _over_time(spans, "max_us"))
    unbalances = unbalance_curves(result)
    if unbalances:
        data["unbalances"] = unbalances
        chart, note = charts.unbalance_cdf(), "at dirty evictions; 1 is even"
        add("unbalance_cdf", "Unbalance of the queues", chart, lines(unbalances), note)
    worn = wear(result)
    if worn and len(result.by_size) > 1:
        data["wear"] = worn
        note = "line: least to most; bar: deviation"
        add("wear", "Wear of the blocks", charts.wear(), points(worn), note)
    _pair(drawn)
    choices = _choices(group, charts, kinds)
    title = f"In detail{_over(result, ', ', 'at one cache size')}"
    return _section(model, title, drawn, _legend(result, charts.shown, lines=True), choices=choices)


def _host_interface(model: Part, charts: HostInterfaceCharts) -> Part | None:
    """The SLC cache over time, and WAF by handle, at the size that the reader chooses."""
    group, result, data = model["id"], charts.result, model["data"]
    drawn: list[Part] = []
    several = len(result.by_size) > MOST_DEVELOPMENTS
    slc = slc_developments(result, charts.shown if several else None)
    if slc:
        data["slc"] = slc
        for what, name, title in (
            ("mb_s", "throughput_over_time", "Write throughput over time"),
            ("filled", "slc_over_time", "The SLC cache, over time"),
        ):
            part = chart_part(group, name, title, charts.slc_over_time(what), result.name)
            other = {"mb_s": "filled", "filled": "mb_s"}[what]
            table = lines([{k: v for k, v in row.items() if k != other} for row in slc])
            drawn.append(part | {"wide": True, "points": table})
    handles = handle_wafs(result)
    if handles:
        data["handles"] = handles
        chart = charts.handle_wafs()
        part = chart_part(group, "handle_wafs", "WAF of each handle", chart, result.name)
        note = "a moved page counts for the handle that it was last written with; 1 is none moved"
        drawn.append(part | {"wide": True, "points": points(handles), "note": note})
    if not drawn:
        return None
    one = len(result.sizes) == 1
    title = "Its SLC cache" if slc else "Its handles"
    choices = [] if one else [_sizes_choice(group, charts, "Cache size")]
    chosen = _legend(result, charts.shown, lines=True)
    title += _over(result, ", ", "at one cache size")
    return _section(model, title, drawn, chosen, choices=choices)


def _pair(drawn: Sequence[Part]) -> None:
    """See to it that none of half the page's width stands alone."""
    half = [part for part in drawn if not part["wide"]]
    if len(half) % 2:
        half[-1]["wide"] = True


def _slow(row: Row) -> Row:
    """The half of a distribution that took longest."""
    first = next((k for k, share in enumerate(row["share"]) if share >= 0.5), 0)
    return row | {"us": row["us"][first:], "share": row["share"][first:]}


def _over_time(rows: Sequence[Row], key: str) -> Part | None:
    """One number of runs over time, as a table."""
    others = {"mean_us", "max_us", "collecting"} - {key}
    return lines([{k: v for k, v in row.items() if k not in others} for row in rows])


def _choices(group: str, charts: DeviceCharts, kinds: Sequence[str]) -> list[Part]:
    """The selectors of detailed charts: a cache size, and a kind of requests."""
    choices = []
    if len(charts.result.sizes) > 1:
        choices.append(_sizes_choice(group, charts, "Cache size"))
    if len(kinds) > 2:
        names = {"all": "all", "read": "reads", "write": "writes"}
        kinds_of = [(json.dumps(k), names[k], "") for k in kinds]
        title = "Requests in the distributions"
        choices.append(
            select(title, kinds_of, json.dumps("all"), data_group=group, data_signal="kind")
        )
    return choices


def _units(model: Part, charts: DeviceCharts) -> Part | None:
    """The heat maps."""
    result, drawn = charts.result, []
    runs = charts.heat_runs()
    units = utilisations(result, runs) if runs else []
    if runs:
        model["data"]["units"] = units
    for k, run in enumerate(runs):
        for what, title in (("host", "for the host"), ("collecting", "in GC")):
            chart = charts.heat_panel(run, what)
            name = f"units_{what}_{k}"
            part = chart_part(model["id"], name, f"{run[0]}: {title}", chart, result.name)
            table = means([row for row in units if (row["label"], row["frames"]) == run], what)
            drawn.append(part | {"points": table})
    at = f", at {size(runs[0][1] * result.trace.page_bytes)}" if runs and result.has_cache else ""
    note = "A row is a unit of the device, a column a span of time; the stronger the colour,"
    note += " the busier."
    if any(run.config.get("warmup") not in (None, "none") for run in result.runs):
        note += " Time starts with the warm-up, which is shaded and not measured."
    return _section(model, f"Units over time{at}", drawn, [], note=note)


def _cost(result: ResultSet) -> str:
    cost = result.runs[0].config.get("cost")
    if not isinstance(cost, Mapping):
        return ""
    return f"{number(cost.get('read'))} a page read, {number(cost.get('write'))} a page written"


def highlighted(result: ResultSet) -> list[str]:
    """The labels drawn in colour unasked: all of a few; of many, lru, min and who wins most."""
    if len(result.labels) <= FEW:
        return list(result.labels)
    keep = {label for label in result.labels if label in (BASELINE, ORACLE)}
    for metric in METRICS:
        asked = ("response_ns_mean", result.hits_metric, result.writes_metric, "cost")
        if metric.name in asked:
            found = winners(result, metric)
            # Without a leader at any size, those that come first.
            ahead = [w for w in found if w.sole] or found
            wins: dict[str, int] = {}
            for winner in ahead:
                wins[winner.labels[0]] = wins.get(winner.labels[0], 0) + 1
            best = sorted(wins, key=lambda label: (-wins[label], result.labels.index(label)))
            keep.update(best[:2])
    return [label for label in result.labels if label in keep]


def chips(result: ResultSet, shown: Sequence[str]) -> list[Part]:
    """The legend: one a policy, to be switched."""
    return [look | {"shown": look["label"] in shown} for look in looks(result.labels)]


def looks(labels: Sequence[str]) -> list[Part]:
    """Colour, dash and marker of policies, as style sheets and SVG have them."""
    return [
        {
            "label": label,
            "color": style.color,
            "dash": "" if style.dash == [1, 0] else " ".join(map(str, style.dash)),
            "marker": MARKERS[style.marker],
        }
        for label, style in styles(labels, PAGE).items()
    ]


def chart_part(group: str, name: str, title: str, chart: Any, file: str = "trace") -> Part:
    """A chart in its place: compiled to Vega, without its rows, which the page has once."""
    spec = engine().vegalite_to_vega(chart.to_dict(validate=False), vl_version=VEGA_LITE)
    spec.pop("$schema", None)
    drawn = (d.get("values") for d in spec.get("data", ()))
    own = next((v for v in drawn if isinstance(v, list) and v and isinstance(v[0], dict)), [])
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in file)[:80]
    return {
        "id": f"{group}-{name}",
        "name": name,
        "title": title,
        "note": "",
        "wide": False,
        "file": f"{stem}-{name}",
        "spec": spec,
        "points": points(own),
    }
