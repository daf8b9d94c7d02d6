"""The three pictures of the first pages: the stack, response times of policies, and one over time.

    python examples/pictures.py docs/img            # as they are in the repository
    python examples/pictures.py DIR --requests 20000

`stack.svg` shows the parts of a simulation, `waits.svg` the verdicts of `docs/papers/destage.json`
as points with 95 % confidence intervals, `response.svg` two policies on the trace that ships, with
the share of the SSD's units that collect garbage as shade.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

import destage
from destage.show.charts.engine import engine
from destage.show.charts.theme import LIGHT, VEGA_LITE, styles

#: The verdicts that `waits.svg` draws.
VERDICTS = Path(__file__).resolve().parents[1] / "docs" / "papers" / "destage.json"
#: Ends of its axis, which is logarithmic: LRU is 1.
LEAST, MOST = 0.05, 100.0
#: Points of a line over time, at most.
POINTS = 240
#: Policies over time, and their cache.
POLICIES, SIZE, DEVICE = ("lru", "ecr"), "256MiB", "small"

Row = dict[str, Any]


# -- The stack -------------------------------------------------------------------------------------

#: Layers from the host to flash: name, remark, and the boxes with the share of the width of each.
LAYERS = (
    ("Host", "requests of a trace", (("read 12 KiB", 1), ("write 4 KiB", 1), ("write 8 KiB", 1))),
    ("Cache", "one policy, one size", (("clean pages", 2), ("dirty pages", 3), ("staging", 1))),
    ("FTL", "maps pages, starts GC", (("logical to physical", 3), ("GC", 2))),
    ("Units", "one queue each", tuple((f"unit {k}", 1) for k in range(4))),
    ("Flash", "erase blocks", tuple((name, 1) for name in ("valid", "invalid", "free", "open"))),
)
#: What happens between a layer and the next one.
BETWEEN = ("page accesses", "misses are read, dirty victims written", "page operations", "in order")
WIDTH, HEIGHT, LEFT, STEP = 760, 48, 190, 84


def stack() -> str:
    """The parts of a simulation, as SVG."""
    parts = []
    for k, (name, remark, boxes) in enumerate(LAYERS):
        y = 16 + k * STEP
        parts.append(_text(16, y + 20, name, weight="bold"))
        parts.append(_text(16, y + 38, remark, size=12, fill=LIGHT.faint))
        parts += _boxes(y, boxes, LIGHT.series[k % len(LIGHT.series)])
        if k < len(BETWEEN):
            x = LEFT + (WIDTH - LEFT) // 2
            top = y + HEIGHT + 4
            line = f'<path d="M{x} {top}v{STEP - HEIGHT - 10}" stroke="{LIGHT.faint}" '
            parts.append(line + 'marker-end="url(#end)"/>')
            parts.append(_text(x + 12, top + 20, BETWEEN[k], size=12, fill=LIGHT.faint))
    height = 16 + len(LAYERS) * STEP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 16} {height}" role="img"'
        ' font-family="Helvetica, Arial, sans-serif" aria-label="A request goes from the host'
        " through the cache into the queues of the SSD's units and to flash.\">"
    )
    end = (
        '<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" '
        f'fill="{LIGHT.faint}"/></marker></defs>'
    )
    page = f'<rect width="{WIDTH + 16}" height="{height}" fill="{LIGHT.page}"/>'
    return "\n".join([head, end, page, *parts, "</svg>", ""])


def _boxes(y: int, boxes: Sequence[tuple[str, int]], color: str) -> Iterator[str]:
    whole = sum(share for _, share in boxes)
    x = float(LEFT)
    for text, share in boxes:
        width = (WIDTH - LEFT) * share / whole
        yield (
            f'<rect x="{x + 3:g}" y="{y}" width="{width - 6:.1f}" height="{HEIGHT}" rx="5"'
            f' fill="{color}" fill-opacity="0.15" stroke="{color}"/>'
        )
        yield _text(x + width / 2, y + HEIGHT / 2 + 5, text, anchor="middle")
        x += width


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 14,
    fill: str = LIGHT.ink,
    weight: str = "normal",
    anchor: str = "start",
) -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}"'
    return f'<text {place} text-anchor="{anchor}" fill="{fill}">{text}</text>'


# -- Response times of policies --------------------------------------------------------------------


def waits(verdicts: Mapping[str, Any]) -> str:
    """Mean response time over LRU's with intervals, at the trace's times and in a closed loop."""
    figure = next(f for f in verdicts["figures"] if f["id"] == "waits")
    rows = [
        {
            "load": point["x"],
            "policy": point["series"],
            "panel": point["panel"],
            "y": min(max(point["y"], LEAST), MOST),
            "low": LEAST if point["low"] is None else min(max(LEAST, point["low"]), MOST),
            "high": MOST if point["high"] is None else max(min(MOST, point["high"]), LEAST),
        }
        for point in figure["points"]
    ]
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    look = styles(policies, LIGHT)

    def scale(channel: str) -> alt.Scale:
        return alt.Scale(domain=policies, range=[getattr(look[p], channel) for p in policies])

    def panel(name: str) -> Any:
        here = [row for row in rows if row["panel"] == name]
        spread = [row["y"] for row in here]
        narrow = max(spread) / min(spread) < 3
        domain = [0.4, 1.25] if narrow else [LEAST, MOST]
        x = alt.X(
            "y:Q",
            title="Mean response time over LRU's (log scale)",
            scale=alt.Scale(type="log", domain=domain, nice=False, clamp=True),
            axis=alt.Axis(values=[0.5, 0.7, 1] if narrow else [0.1, 1, 10, 100], format="~g"),
        )
        base = alt.Chart(alt.InlineData(values=here))
        legend = alt.Legend(title=None, orient="bottom", columns=5, symbolSize=80)
        where = {
            "y": alt.Y("load:N", title=None, sort=None, axis=alt.Axis(grid=True, labelLimit=140)),
            "yOffset": alt.YOffset("policy:N", sort=policies),
            "color": alt.Color("policy:N", scale=scale("color"), legend=legend),
        }
        one = alt.Chart(alt.InlineData(values=[{"one": 1}]))
        shape = alt.Shape("policy:N", scale=scale("marker"), legend=legend)
        layers = alt.layer(
            one.mark_rule(stroke=LIGHT.ink, strokeDash=[4, 3]).encode(x=alt.X("one:Q")),
            base.mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q"), x2="high:Q", **where),
            base.mark_point(filled=True, size=46, opacity=1).encode(x=x, shape=shape, **where),
        )
        title = f"closed loop, {name}" if name.startswith("depth") else f"open: {name}"
        return layers.properties(width=290, height=300, title=title)

    panels = dict.fromkeys(row["panel"] for row in rows)
    return _svg(alt.hconcat(*(panel(name) for name in panels)))


# -- Response time over time -----------------------------------------------------------------------


def response(requests: int | None = None) -> str:
    """Mean response time of periods, and the share of the SSD's units that collect garbage."""
    trace = destage.demo_trace(DEVICE, requests=requests)
    runs = destage.compare(
        trace, list(POLICIES), cache=SIZE, device=DEVICE, profile=True, warmup="none"
    )
    rows = [row for run in runs for row in periods(run)]
    base = alt.Chart(alt.InlineData(values=[r for r in rows if r["policy"] == POLICIES[0]]))
    shade = base.mark_rect(fill=LIGHT.warn, strokeWidth=0).encode(
        x=alt.X("from:Q"),
        x2="to:Q",
        opacity=alt.Opacity(
            "collecting:Q",
            scale=alt.Scale(domain=[0, 1], range=[0, 0.55]),
            legend=alt.Legend(title=f"units in GC ({POLICIES[0]})", format=".0%"),
        ),
    )
    look = styles(POLICIES, LIGHT)
    scale = alt.Scale(domain=list(POLICIES), range=[look[p].color for p in POLICIES])
    lines = alt.Chart(alt.InlineData(values=[r for r in rows if r["ms"]])).mark_line(
        strokeWidth=1.5, interpolate="step-after"
    )
    lines = lines.encode(
        x=alt.X("from:Q", title="Time (s)", scale=alt.Scale(nice=False)),
        y=alt.Y("ms:Q", title="Mean response time (ms, log scale)", scale=alt.Scale(type="log")),
        color=alt.Color("policy:N", title=None, scale=scale),
    )
    return _svg(alt.layer(shade, lines).properties(width=620, height=260))


def periods(run: destage.Run) -> Iterator[Row]:
    """The periods of a run in at most `POINTS` steps: time, mean response, share of units in GC."""
    found: Any = run.profile
    every, units = found["periods"], found["unit_collecting_ns"]
    step = -(-len(every) // POINTS)
    for first in range(0, len(every), step):
        part = every[first : first + step]
        requests = sum(one["requests"] for one in part)
        waited = sum(one["response_ns_sum"] for one in part)
        busy = sum(sum(unit[first : first + step]) for unit in units)
        whole = len(units) * len(part) * found["period_ns"]
        yield {
            "policy": run.label,
            "from": first * found["period_ns"] / 1e9,
            "to": (first + len(part)) * found["period_ns"] / 1e9,
            "ms": waited / requests / 1e6 if requests else None,
            "collecting": busy / whole,
        }


def _svg(chart: Any) -> str:
    spec = chart.configure_view(stroke=LIGHT.line).configure_axis(
        gridColor=LIGHT.grid, labelColor=LIGHT.faint, titleColor=LIGHT.ink
    )
    text = engine().vegalite_to_svg(spec.to_dict(), vl_version=VEGA_LITE)
    return str(text)


def main(arguments: list[str] | None = None) -> None:
    """Write the three pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requests", type=int, help="of the trace, for a trial")
    parser.add_argument("--verdicts", type=Path, default=VERDICTS)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    verdicts = json.loads(given.verdicts.read_text(encoding="utf-8"))
    for name, text in (
        ("stack", stack()),
        ("waits", waits(verdicts)),
        ("response", response(given.requests)),
    ):
        (given.folder / f"{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
