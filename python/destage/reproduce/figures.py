"""The papers' figures from our rows, as data; `panels` draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from destage.model.estimates import estimate
from destage.reproduce.claims import AXES, Check, Figure, Paper
from destage.reproduce.quantities import Quantity, quantity, within
from destage.reproduce.rows import Cell, Rows

__all__ = ["SUFFIX", "Drawing", "Point", "drawing", "names_of"]

#: Nanoseconds in the unit of an axis.
_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3}
#: Points of a distribution that a result keeps, as suffix and share.
_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))
#: Recordings stand apart from the paper's own loads.
SUFFIX = {"recording": " (ours)", "excerpt": " (excerpt)", "repeated": " (repeated)"}


class Point(Struct, frozen=True, omit_defaults=True, rename={"printed": "paper"}):
    """A value of a figure, with the 95 % confidence interval of its mean."""

    panel: str
    x: str
    series: str
    y: float
    low: float
    high: float
    at: float | None = None
    """Place on a numerical axis (a distribution's)."""
    printed: float | None = None
    """The number of the paper; where it is one against another policy, put on top of our own."""


class Drawing(Struct, frozen=True):
    """The data of a figure."""

    figure: Figure
    points: tuple[Point, ...]
    x_order: tuple[str, ...]
    series_order: tuple[str, ...]
    panel_order: tuple[str, ...]
    percent: bool
    """Ratios are shown in per cent."""
    names: Mapping[str, str] = {}
    """The policy of each label, which decides its colour."""

    @property
    def empty(self) -> bool:
        """Whether the runs gave nothing to draw."""
        return not self.points


def drawing(figure: Figure, rows: Rows, paper: Paper) -> Drawing:
    """Collect a figure's data from its runs."""
    cells = list(rows.places(figure.at))
    points: list[Point] = []
    for cell in cells:
        for policy in figure.policies:
            for label, metric in figure.metrics.items():
                points += _points(figure, rows, paper, cell, policy, label, metric)
    percent = figure.relative is None and all(m.endswith("_ratio") for m in figure.metrics.values())
    return Drawing(
        figure,
        tuple(points),
        tuple(dict.fromkeys(p.x for p in points)),
        tuple(dict.fromkeys(p.series for p in points)),
        tuple(dict.fromkeys(p.panel for p in points)),
        percent,
        names_of(paper),
    )


def names_of(paper: Paper) -> dict[str, str]:
    """The policy of each label of a paper; of a best-of label, its first candidate."""
    found = {label: spec.partition("[")[0] for label, spec in paper.policies.items()}
    return found | {label: found[best.among[0]] for label, best in paper.composites.items()}


def _points(
    figure: Figure,
    rows: Rows,
    paper: Paper,
    cell: Cell,
    policy: str,
    label: str,
    metric: str,
) -> list[Point]:
    named = dict(zip(AXES, cell, strict=True)) | {"policy": policy}
    load = next((own.at for own in paper.workloads if own.name == cell[0] and own.at), cell[0])
    suffix = "" if rows.runs.as_compare else SUFFIX.get(rows.kinds[cell[0]], "")
    named["workload"] = load + suffix
    panel = named[figure.panels] if figure.panels else ""
    series = label or named[figure.series]
    if figure.mark == "cdf":
        return _distribution(rows, cell, policy, metric, panel, named["workload"])
    values = _values(figure, rows, cell, policy, metric)
    if not values:
        return []
    unit = _UNITS.get(figure.unit, 1.0)
    e = estimate([v / unit for v in values])
    differences = rows.differences(cell, policy, figure.relative or "", metric)
    if figure.relative and differences:
        against = rows.values(cell, figure.relative, metric)
        e = within(Quantity(dict(enumerate(values))), figure.form, differences, against).estimate
    paper_has = _printed(figure, rows, paper, cell, policy, metric)
    printed = paper_has / unit if paper_has is not None else None
    return [Point(panel, named[figure.x], series, e.mean, e.low, e.high, printed=printed)]


def _values(figure: Figure, rows: Rows, cell: Cell, policy: str, metric: str) -> list[float]:
    own = rows.values(cell, policy, metric)
    if figure.relative is None:
        return list(own.values())
    if figure.relative == "worst":
        rivals = [rows.values(cell, p, metric) for p in figure.policies]
        worst = max((estimate(list(r.values())).mean for r in rivals if r), default=0.0)
        return [v / worst for v in own.values()] if worst else []
    other = rows.values(cell, figure.relative, metric)
    # Values that are no numbers are left out of a chart; the claims' cases list them.
    found = quantity(figure.form, {"of": own, "to": other}).by_seed.values()
    return [v for v in found if math.isfinite(v)]


def _distribution(
    rows: Rows, cell: Cell, policy: str, metric: str, panel: str, series: str
) -> list[Point]:
    found = []
    for suffix, share in _PERCENTILES:
        values = rows.values(cell, policy, f"{metric}_{suffix}")
        if values:
            at = estimate(list(values.values())).mean / (1000 if "permille" in metric else 1)
            found.append(Point(panel, suffix, series, share, share, share, at))
    return found


def _printed(
    figure: Figure, rows: Rows, paper: Paper, cell: Cell, policy: str, metric: str
) -> float | None:
    """The number that the paper prints of a point, as the figure shows it; None if there is none.

    A number of one policy against another is put on top of what the other has here.
    """
    if rows.kinds[cell[0]] in SUFFIX:
        return None
    for claim in paper.claims:
        check = claim.check
        of_this = check.kind == "compare" and check.over == "each" and not check.base
        of_this = of_this and figure.runs in check.runs and check.metric == metric
        if not of_this or policy not in check.of or cell not in rows.places(check.at, check.skip):
            continue
        value = _number_of(check, cell, policy)
        found = None if value is None else _shown(figure, rows, check, cell, value)
        if found is not None:
            return found
    return None


def _number_of(check: Check, cell: Cell, policy: str) -> float | None:
    named = {
        **dict(zip(AXES, cell, strict=True)),
        "of": policy,
        "to": check.to[0] if check.to else "",
    }
    expected = (check.expect or {}).get(named[check.by] if check.by else "")
    return expected.value if expected else None


def _shown(figure: Figure, rows: Rows, check: Check, cell: Cell, value: float) -> float | None:
    """A number of a check in a figure's terms; None if it says something else."""
    if check.form == "value":
        return value if figure.relative is None else None
    if check.form not in ("ratio", "reduction", "gain") or len(check.to) != 1:
        return None
    ratio = {"ratio": value, "reduction": 1 - value, "gain": 1 + value}[check.form]
    if figure.relative == check.to[0]:
        return {"ratio": ratio, "reduction": 1 - ratio, "gain": ratio - 1}.get(figure.form)
    if figure.relative is not None:
        return None
    base = rows.values(cell, check.to[0], check.metric)
    return ratio * estimate(list(base.values())).mean if base else None
