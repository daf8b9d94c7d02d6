"""Pages of devices: a fit's (`docs/spec/fit.md` 11.2), and a bench's (17)."""

from __future__ import annotations

import base64
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from destage.fit.bench import Bench, BenchPoint
from destage.fit.comparison import Compared, median_residual, residuals
from destage.fit.devicefile import Value
from destage.model.words import NONE, duration, number, plain, plain_value, significant, size

__all__ = ["bench_page", "page"]

#: Curves: title, beginning of the step's name, what the number behind it is.
CURVES = (
    ("Random reads over depth", "read-qd", "Requests in flight"),
    ("Reads over stride, depth 8", "read-stride-", "Stride (pages)"),
    ("Reads over length, depth 1", "read-bs", "Length (KiB)"),
    ("Write bursts, depth 1", "burst-", "Burst (MiB)"),
    ("Uniform writes, half a capacity each", "uniform-", "Half capacity"),
    ("80 % of the writes to 20 %", "zones80-", "Half capacity"),
    ("95 % of the writes to 5 %", "zones95-", "Half capacity"),
)
_KEY = "Rates by Little's law; both axes are logarithmic."
_BENCH_KEY = "Both axes are logarithmic; write amplification's own begins at 0."
_RESIDUALS = ("group", "steps", "least (%)", "median (%)", "largest (%)")
_COLUMNS = (
    *("step", "rw", "depth", "measured (1/s)", "simulated (1/s)", "mean", "mean, simulated"),
    *("p99", "p99, simulated", "difference (%)", "fitted"),
)
_POINTS = (
    *("device", "state", "pattern", "block", "depth", "jobs", "requests/s", "MB/s"),
    *("mean", "p99", "p99.99", "WAF", "erases", "requests"),
)

#: What the style of every page does not have.
_STYLE = """
.pair { display: inline-block; width: calc(50% - 1rem); min-width: 24rem; margin-right: 1rem;
  vertical-align: top }
.pair img { width: 100%; background: white }
"""


def page(
    title: str,
    steps: Sequence[Compared],
    values: Sequence[Value],
    command: str,
    parts: Mapping[str, Sequence[Compared]] | None = None,
) -> str:
    """The whole page, which opens offline and has no script. Needs the extra `report`.

    With `parts`, each of them has charts of its own.
    """
    pictures = [
        (f"{part}: {name}" if part else name, chart)
        for part, some in (parts or {"": steps}).items()
        for name, chart in _charts(some)
    ]
    return _document(
        title,
        [
            *(f"<p>{escape(line)}</p>" for line in _summary(steps)),
            _section("Measured against simulated", _KEY, pictures),
            _table("Differences by group", _RESIDUALS, _groups(steps)),
            _table("Values", ("key", "value", "status"), _values(values)) if values else "",
            _table("Steps", _COLUMNS, map(_row, steps)),
        ],
        command,
    )


def bench_page(bench: Bench, command: str) -> str:
    """The data sheet of devices: charts over requests in flight, and every point."""
    names = dict.fromkeys(point.device for point in bench.points)
    plots = bench.plot
    pictures = [(plots.title(name), plots(name)) for name in plots.names()]
    return _document(
        ", ".join(names),
        [
            *(f"<p>{escape(line)}</p>" for line in bench.warnings),
            _section("Over requests in flight", _BENCH_KEY, pictures),
            _table("Points", _POINTS, map(_point, bench.points)),
        ],
        command,
    )


def _document(title: str, sections: Iterable[str], command: str) -> str:
    from destage.show.pages.layout import asset, style_variables
    from destage.show.pages.plain import policy

    style = "\n".join([style_variables(), asset("report.css"), _STYLE])
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy([style], []))}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)} - Destage</title>\n<style>{style}</style>\n</head>",
        '<body><div class="wrap"><header><p class="eyebrow">Destage, devices</p>',
        f"<h1>{escape(title)}</h1></header><main>",
        *sections,
        f'<section><h3>Command</h3><pre class="command">{escape(command)}</pre></section>'
        if command
        else "",
        "</main></div></body></html>\n",
    ]
    html = "\n".join(part for part in parts if part)
    return html.encode("utf-8", "backslashreplace").decode("utf-8")


def _section(title: str, key: str, pictures: Sequence[tuple[str, Any]]) -> str:
    if not pictures:
        return ""
    shown = "".join(
        f'<div class="pair"><h3>{escape(name)}</h3>'
        f'<img src="{picture(chart)}" alt="{escape(name)}"></div>'
        for name, chart in pictures
    )
    return f'<section><h2>{escape(title)}</h2><p class="quiet">{key}</p>{shown}</section>'


def picture(chart: Any) -> str:
    """A chart as the address of an image that has it all."""
    from destage.show.charts.engine import engine
    from destage.show.charts.figures import numbered
    from destage.show.charts.theme import VEGA_LITE

    svg = numbered(engine().vegalite_to_svg(chart.to_dict(), vl_version=VEGA_LITE))
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _point(point: BenchPoint) -> list[str]:
    return [
        *(point.device, point.state, point.rw, plain(size(point.block_bytes))),
        *(number(point.depth), number(point.jobs)),
        *(significant(point.iops), significant(point.mb_per_s)),
        *(duration(point.mean_ns), duration(point.p99_ns), duration(point.p9999_ns)),
        number(point.waf, 2),
        number(point.erases),
        number(point.requests),
    ]


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f'<section><h2>{escape(title)}</h2><div class="scroll" tabindex="0">'
        f'<table class="data plain"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></section>"
    )


def _values(values: Sequence[Value]) -> list[list[str]]:
    return [[v.key, plain_value(v.value), v.comment] for v in values]


def _group(step: Compared) -> str:
    """The beginning of a step's name; of a point of a grid its pattern and length."""
    if re.match(r"[a-z0-9]+-", step.step):
        return re.sub(r"[-]?\d+(x\d+)?$", "", step.step)
    return f"{step.rw} of {plain(size(step.bs))}"


def _groups(steps: Sequence[Compared]) -> list[list[str]]:
    """Signed differences of each group of steps: least, median, largest."""
    groups: dict[str, list[float]] = {}
    for step in steps:
        groups.setdefault(_group(step), []).append(math.expm1(step.residual))
    rows = []
    for name, values in sorted(groups.items()):
        ordered = sorted(values)
        shown = (ordered[0], statistics.median(ordered), ordered[-1])
        rows.append([name, number(len(ordered)), *(f"{100 * one:+.1f}" for one in shown)])
    return rows


def _summary(steps: Sequence[Compared]) -> list[str]:
    lines = []
    for fitted, name in ((True, "Fitted steps"), (False, "Steps that were not fitted")):
        values = residuals(steps, fitted=fitted)
        middle = median_residual(steps, fitted=fitted)
        if middle is not None:
            ninety = values[min(len(values) - 1, int(0.9 * len(values)))]
            lines.append(
                f"{name}: {len(values)}; difference in rate {100 * middle:.2g} % (median),"
                f" {100 * ninety:.2g} % (90 % point), {100 * values[-1]:.2g} % (worst)"
            )
    return lines


def _row(step: Compared) -> list[str]:
    def ns(value: float | None) -> str:
        return duration(value) if value is not None else NONE

    one, other = step.measured, step.simulated
    return [
        step.step,
        step.rw,
        number(step.iodepth * step.numjobs),
        significant(one["iops"]),
        significant(other["iops"]),
        ns(one["lat_mean_ns"]),
        ns(other["lat_mean_ns"]),
        ns(one["lat_p99_ns"]),
        ns(other["lat_p99_ns"]),
        f"{100 * math.expm1(step.residual):+.2f}",
        "yes" if step.fitted else "no",
    ]


def _charts(steps: Sequence[Compared]) -> list[tuple[str, Any]]:
    charts = []
    for title, prefix, axis in CURVES:
        points = []
        for step in steps:
            rest = step.step.removeprefix(prefix)
            if step.step.startswith(prefix) and rest.isdecimal():
                points.append((float(rest), step))
        charts.append((title, axis, points))
    grid = [step for step in steps if not re.match(r"[a-z0-9]+-", step.step)]
    for rw, block in sorted({(step.rw, step.bs) for step in grid}):
        own = [step for step in grid if (step.rw, step.bs) == (rw, block)]
        title = f"{rw} of {plain(size(block))} over depth"
        points = [(float(step.iodepth * step.numjobs), step) for step in own]
        charts.append((title, "Requests in flight", points))
    return [
        (title, _lines(title, axis, points))
        for title, axis, points in charts
        if len({x for x, _ in points}) > 1
    ]


def _lines(title: str, axis: str, points: Sequence[tuple[float, Compared]]) -> Any:
    from destage.show.charts.depth import over_chart

    rows = [
        {"line": side, "kind": side, "x": x, "y": rate}
        for x, step in points
        for side in ("measured", "simulated")
        if (rate := getattr(step, side)["iops"])
    ]
    return over_chart(rows, "rates", (axis, "Requests a second"), title)
