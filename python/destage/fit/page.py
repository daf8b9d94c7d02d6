"""The page of a fit: residuals, pairs of lines, values (`docs/spec/fit.md` 11.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from destage.fit.comparison import Compared, median_residual, residuals
from destage.fit.devicefile import Value
from destage.model.words import NONE, duration, number, plain, plain_value, significant, size

__all__ = ["page"]

#: Curves: title, beginning of the step's name, what the number behind it is.
CURVES = (
    ("Random reads over depth", "read-qd", "requests in flight"),
    ("Reads over stride, depth 8", "read-stride-", "stride (pages)"),
    ("Reads over length, depth 1", "read-bs", "length (KiB)"),
    ("Write bursts, depth 1", "burst-", "burst (MiB)"),
    ("Uniform writes, half a capacity each", "uniform-", "half capacity"),
    ("80 % of the writes to 20 %", "zones80-", "half capacity"),
    ("95 % of the writes to 5 %", "zones95-", "half capacity"),
)
WIDTH, HEIGHT, MARGIN = 520, 220, 44
MEASURED, SIMULATED = "#1f6fb4", "#c8501e"
_KEY = "Solid: measured. Dashed: simulated. Rates by Little's law; both axes are logarithmic."
_RESIDUALS = ("group", "steps", "median (%)", "largest (%)")
_COLUMNS = (
    *("step", "rw", "depth", "measured (1/s)", "simulated (1/s)", "mean", "mean, simulated"),
    *("p99", "p99, simulated", "difference (%)", "fitted"),
)


#: What the style of every page does not have.
_STYLE = """
svg text { fill: currentColor; font-size: 11px }
svg { max-width: 100%; height: auto }
.pair { display: inline-block; width: 32rem; max-width: 100%; margin: 0 1rem 1rem 0 }
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
    from destage.show.pages.layout import asset, style_variables
    from destage.show.pages.plain import policy

    style = "\n".join([style_variables(), asset("report.css"), _STYLE])
    charts = "".join(
        f'<div class="pair"><h3>{escape(f"{part}: {name}" if part else name)}</h3>{svg}</div>'
        for part, some in (parts or {"": steps}).items()
        for name, svg in _charts(some)
    )
    sections = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy([style], []))}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)} - Destage</title>\n<style>{style}</style>\n</head>",
        '<body><div class="wrap"><header><p class="eyebrow">Destage, fit</p>',
        f"<h1>{escape(title)}</h1></header><main>",
        *(f"<p>{escape(line)}</p>" for line in _summary(steps)),
        f'<section><h2>Measured against simulated</h2><p class="quiet">{_KEY}</p>',
        f"{charts}</section>",
        _table("Residuals by group", _RESIDUALS, _groups(steps)),
        _table("Values", ("key", "value", "status"), _values(values)) if values else "",
        _table("Steps", _COLUMNS, map(_row, steps)),
        f'<section><h3>Make it again</h3><pre class="command">{escape(command)}</pre></section>'
        if command
        else "",
        "</main></div></body></html>\n",
    ]
    html = "\n".join(section for section in sections if section)
    return html.encode("utf-8", "backslashreplace").decode("utf-8")


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


def _groups(steps: Sequence[Compared]) -> list[list[str]]:
    """Median and largest residual of each group of steps."""
    groups: dict[str, list[float]] = {}
    for step in steps:
        groups.setdefault(re.sub(r"[-]?\d+(x\d+)?$", "", step.step), []).append(step.residual)
    rows = []
    for name, all_values in groups.items():
        ordered = sorted(all_values, key=abs)
        middle, most = ordered[len(ordered) // 2], ordered[-1]
        rows.append([name, number(len(ordered)), f"{100 * middle:+.2f}", f"{100 * most:+.2f}"])
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
        f"{100 * step.residual:+.2f}",
        "yes" if step.fitted else "no",
    ]


def _charts(steps: Sequence[Compared]) -> list[tuple[str, str]]:
    charts = []
    for title, prefix, axis in CURVES:
        points = []
        for step in steps:
            rest = step.step.removeprefix(prefix)
            if step.step.startswith(prefix) and rest.isdecimal():
                points.append((float(rest), step))
        if len(points) > 1:
            charts.append((title, _lines(sorted(points, key=_x), axis)))
    grid = [step for step in steps if not re.match(r"[a-z0-9]+-", step.step)]
    for rw, block in sorted({(step.rw, step.bs) for step in grid}):
        own = [step for step in grid if (step.rw, step.bs) == (rw, block)]
        points = [(float(step.iodepth * step.numjobs), step) for step in own]
        if len(points) > 1:
            title = f"{rw} of {plain(size(block))} over depth"
            charts.append((title, _lines(sorted(points, key=_x), "requests in flight")))
    return charts


def _x(point: tuple[float, Compared]) -> float:
    return point[0]


def _lines(points: Sequence[tuple[float, Compared]], axis: str) -> str:
    """Two lines over a logarithmic axis, as SVG."""
    xs = [math.log(x) for x, _ in points]
    rates = [
        math.log(max(float(side["iops"] or 1), 1e-9))
        for _, s in points
        for side in (s.measured, s.simulated)
    ]
    low_x, high_x, low, high = min(xs), max(xs), min(rates), max(rates)
    low, high = low - 0.1, high + 0.1

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / (high_x - low_x or 1)
        up = (y - low) / (high - low)
        return (
            MARGIN + across * (WIDTH - 2 * MARGIN),
            HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN),
        )

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{axis}">',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">{axis}</text>',
    ]
    for side, colour in (("measured", MEASURED), ("simulated", SIMULATED)):
        marks = [
            place(x, math.log(max(float(getattr(s, side)["iops"] or 1), 1e-9)))
            for x, (_, s) in zip(xs, points, strict=True)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in marks)
        dash = "" if side == "measured" else ' stroke-dasharray="5 3"'
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}"{dash}/>')
        for (x, y), (number_, step) in zip(marks, points, strict=True):
            rate = significant(getattr(step, side)["iops"])
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}">'
                f"<title>{side}, {number_:g}: {rate}/s</title></circle>"
            )
    for value, y in ((low + 0.1, HEIGHT - MARGIN), (high - 0.1, MARGIN)):
        parts.append(f'<text x="2" y="{y}">{significant(math.exp(value))}/s</text>')
    for x, at in ((points[0][0], MARGIN), (points[-1][0], WIDTH - MARGIN)):
        parts.append(f'<text x="{at}" y="{HEIGHT - MARGIN + 16}" text-anchor="middle">{x:g}</text>')
    return "".join([*parts, "</svg>"])
