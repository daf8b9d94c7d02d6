"""Our numbers over the paper's, below a figure; and how its parts are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.reproduce.looking import MET, PARTIAL, SMALL, UNDECIDED
from destage.reproduce.sums import Printed
from destage.show.charts.theme import LIGHT

__all__ = ["COLORS", "Spec", "over", "spec_of"]

#: Largest ratio of ours to the paper's that is drawn; larger ones are at the edge.
_BEYOND = 3.0
#: Colours of what became of a panel's cases, and of one case.
COLORS = {"holds": LIGHT.best, "partly": LIGHT.warn, "does not hold": LIGHT.series[3]}
#: Statuses that come near.
_LESS: Mapping[str, str] = dict.fromkeys((PARTIAL, SMALL, UNDECIDED), "partly")

#: A chart as its specification.
Spec = dict[str, Any]


def spec_of(chart: Any) -> Spec:
    """Specification of a part of a figure.

    Altair copies everything that is in a chart whenever that goes into another one: for figures of
    many panels most of the time. So parts are put together as what they specify.
    """
    return {k: v for k, v in chart.to_dict().items() if k not in ("$schema", "config")}


def over(numbers: Sequence[Printed]) -> Spec:
    """Our numbers over the paper's: 1 is the same, and within a quarter of it counts as met."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "label": p.label,
            "over": p.mean / p.paper,
            "low": min(p.low / p.paper, p.high / p.paper),
            "high": max(p.low / p.paper, p.high / p.paper),
            "status": "holds" if p.status == MET else _LESS.get(p.status, "does not hold"),
        }
        for p in numbers
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    least = min([0.0, *(max(-1.0, row["low"]) for row in rows)])
    scale = alt.Scale(domain=[least, _BEYOND], clamp=True, nice=False)
    axis = alt.Axis(title="Ours over the paper's number (shaded: met)", tickCount=6)
    y = alt.Y(
        "label:N",
        sort=None,
        axis=alt.Axis(title=None, labelLimit=520, ticks=False, domain=False, grid=True),
    )
    near = alt.Chart(alt.InlineData(values=[{"from": 0.75, "to": 1.25, "one": 1}]))
    color = alt.Color(
        "status:N",
        scale=alt.Scale(domain=list(COLORS), range=list(COLORS.values())),
        legend=None,
    )
    layers = [
        near.mark_rect(fill=LIGHT.line, opacity=0.7).encode(
            x=alt.X("from:Q", scale=scale), x2="to:Q"
        ),
        near.mark_rule(stroke=LIGHT.ink).encode(x=alt.X("one:Q")),
        base.mark_rule(strokeWidth=1.4).encode(x="low:Q", x2="high:Q", y=y, color=color),
        base.mark_point(filled=True, opacity=1, size=52).encode(
            x=alt.X("over:Q", axis=axis, scale=scale), y=y, color=color
        ),
    ]
    return spec_of(alt.layer(*layers).properties(width=300, height=max(40, 19 * len(rows))))
