"""Differences between two stores, or files of results: `destage.diff`.

Runs are of one pair if they were asked for alike: trace, device, policy, cache, options. Where a
pair has several seeds, the difference of their means has a 95 % interval, from the differences
seed by seed where both have the same seeds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, variance
from typing import Any

from destage.base.errors import UsageError
from destage.base.io.files import Destination
from destage.experiment.results import Results, load_results
from destage.experiment.rows import DONE, options_of
from destage.experiment.store import is_store
from destage.lab.options import run_options
from destage.model.between_traces import apart
from destage.model.choice import metric_named
from destage.model.estimates import estimate, student_t
from destage.model.metrics import Metric, metrics
from destage.model.provenance import document
from destage.model.run import Run
from destage.model.values import cell
from destage.model.words import counted
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.table import Cell, Column, Table

__all__ = ["Difference", "Differences", "between_traces", "diff", "finished_rows"]

#: Columns by which runs are paired.
SHARED = ("trace", "device", "ftl", "queue_depth", "label", "cache", "options")


@dataclass(frozen=True)
class Difference:
    """A metric of two runs with the same configuration."""

    run: Mapping[str, Any]
    """Trace, device, policy, cache, options."""
    metric: str
    a: float | None
    """Its value in A; the mean of seeds if there are several."""
    b: float | None
    seeds: tuple[int, int]
    """Runs behind the two values."""
    low: float | None
    """95 % interval of B - A; None where single runs are compared."""
    high: float | None

    @property
    def difference(self) -> float | None:
        """B - A."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def relative(self) -> float | None:
        """The same over A."""
        gap = self.difference
        return None if gap is None or not self.a else gap / abs(self.a)

    @property
    def differs(self) -> bool:
        """Whether they differ; with an interval, whether it leaves out 0."""
        if self.low is not None and self.high is not None:
            return not self.low <= 0 <= self.high
        return self.a != self.b


class Differences(Tabled):
    """Difference of two stores or results."""

    def __init__(
        self, every: Sequence[Difference], only_a: int, only_b: int, names: tuple[str, str]
    ) -> None:
        """Take differences; `diff` makes them."""
        self.every = tuple(every)
        self.only_a, self.only_b = only_a, only_b
        """Runs that the other has not."""
        self.names = names

    def __len__(self) -> int:
        """Return the number of comparisons."""
        return len(self.every)

    def __iter__(self) -> Iterator[Difference]:
        """Iterate over the comparisons."""
        return iter(self.every)

    @property
    def differing(self) -> tuple[Difference, ...]:
        """Comparisons that differ."""
        return tuple(one for one in self.every if one.differs)

    @property
    def same(self) -> bool:
        """Whether nothing differs, and both have the same runs."""
        return not self.differing and not self.only_a and not self.only_b

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row a comparison."""
        return [
            {
                **one.run,
                "metric": one.metric,
                "a": one.a,
                "b": one.b,
                "difference": one.difference,
                "relative": one.relative,
                "low": one.low,
                "high": one.high,
                "runs_a": one.seeds[0],
                "runs_b": one.seeds[1],
                "differs": one.differs,
            }
            for one in self.every
        ]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        only = {"only_a": self.only_a, "only_b": self.only_b}
        names = {"a": self.names[0], "b": self.names[1]}
        return document("diff", {**names, **only, "comparisons": self.to_dicts()})

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.diff": json.dumps({"a": self.names[0], "b": self.names[1]})}

    def as_table(self) -> Table:
        """Return the table that the command line prints: what differs."""
        return _table(self)


def diff(
    a: Destination | Results,
    b: Destination | Results,
    *,
    show: str | Sequence[str] | None = None,
) -> Differences:
    """Compare two stores or results.

    Parameters:
        a, b: each a store, what `load_results` gives, results, or a JSON file of them.
        show: metrics, by name; by default those that tables show.

    Raises `UsageError` if no run of the two has the same configuration, `MissingFile` and
    `DataError`.
    """
    rows = [finished_rows(one, "diff") for one in (a, b)]
    if not all("id" in row for some in rows for row in some):
        # A store has the options that were typed, a result the values that runs had.
        rows = [[{**row, "options": _options(row)} for row in some] for some in rows]
    grouped = [_grouped(one) for one in rows]
    both = [key for key in grouped[0] if key in grouped[1]]
    names = (_name(a), _name(b))
    if not both:
        raise UsageError(
            f"{names[0]} and {names[1]} have no run in common: trace, device, policy, cache and"
            " options must be the same"
        )
    shown = _metrics(show, [row for key in both for row in grouped[0][key]])
    every = [
        _compared(key, metric.name, grouped[0][key], grouped[1][key])
        for key in both
        for metric in shown
    ]
    only = [sum(len(g[key]) for key in g if key not in both) for g in grouped]
    return Differences([one for one in every if one], only[0], only[1], names)


def between_traces(
    results: Results, *, show: str | Sequence[str] | None = None
) -> list[Differences]:
    """Compare the runs of each further trace with the first's, policy by policy.

    Runs are compared that have the same policy, device and cache as typed (`10%` of each trace's
    pages). Ratios and means have a 95 % interval; totals, which grow with a trace's length, and
    percentiles have none. `show` as in `diff`.

    >>> import destage
    >>> traces = [destage.synth("zipf", requests=5000, pages=500, alpha=a) for a in (0.6, 1.2)]
    >>> (found,) = destage.between_traces(destage.compare(traces, "lru", cache="10%"))
    >>> hits = next(one for one in found if one.metric == "hit_ratio")
    >>> 0 < hits.low < hits.difference < hits.high
    True
    """
    traces: dict[str, list[Run]] = {}
    for run in results:
        traces.setdefault(run.trace.name + run.trace.fingerprint, []).append(run)
    first, *others = traces.values() if traces else [[]]
    return [_between(first, other, show) for other in others]


def _between(
    first: Sequence[Run], other: Sequence[Run], show: str | Sequence[str] | None
) -> Differences:
    def key(run: Run) -> tuple[str, ...]:
        return run.label, run.cache, run.device or "", run.placement or ""

    theirs = {key(run): run for run in other}
    pairs = [(run, theirs[key(run)]) for run in first if key(run) in theirs]
    names = first[0].trace.name, other[0].trace.name
    timed = any(run.device for run in first)
    shown = [m for m in metrics() if m.is_core(timed)] if show is None else _metrics(show, ())
    every = [
        Difference(
            run=dict.fromkeys(SHARED)
            | {"label": run.label, "cache": run.cache, "device": run.device},
            metric=metric.name,
            a=run[metric.name],
            b=also[metric.name],
            seeds=(1, 1),
            low=None if (found := apart(metric.name, run, also)) is None else found[0],
            high=None if found is None else found[1],
        )
        for run, also in pairs
        for metric in shown
        if run[metric.name] is not None and also[metric.name] is not None
    ]
    only = [len(runs) - len(pairs) for runs in (first, other)]
    return Differences(every, only[0], only[1], names)


def _name(given: object) -> str:
    if isinstance(given, (str, os.PathLike)):
        return Path(given).name or str(given)
    stores = given.stores if isinstance(given, Results) else ()
    return stores[0].folder.name if stores else "results"


def finished_rows(given: Destination | Results, asks: str) -> list[dict[str, Any]]:
    """Rows that did not fail, of a store, results or a JSON file of them; `asks` names the call."""
    if isinstance(given, (str, os.PathLike)):
        given = load_results(given) if is_store(given) else Results.load(given)
    if not isinstance(given, Results):
        raise UsageError(f"{asks}: expected a store or results, got {given!r}")
    if given.stores:
        return [row for row in given.to_dicts() if row["status"] == DONE]
    return [{"seed": None, "options": options_of(row), **row} for row in given.to_dicts()]


def _options(row: Mapping[str, Any]) -> str:
    """Values of the run options that a row has, the same in stores and results."""
    names = [option.name for option in run_options()]
    values = {name: row[name] for name in names if row.get(name) not in (None, False)}
    return json.dumps({**json.loads(options_of(row)), **values}, sort_keys=True)


def _grouped(rows: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) for name in SHARED), []).append(row)
    return found


def _metrics(show: str | Sequence[str] | None, rows: Sequence[Mapping[str, Any]]) -> list[Metric]:
    if show is not None:
        words = show.split(",") if isinstance(show, str) else list(show)
        return [metric_named(word) for word in words if word.strip()]
    timed = any(row["device"] for row in rows)
    return [m for m in metrics() if m.is_core(timed)]


def _compared(
    key: tuple[Any, ...],
    metric: str,
    rows_a: Sequence[Mapping[str, Any]],
    rows_b: Sequence[Mapping[str, Any]],
) -> Difference | None:
    values = [
        {k if row["seed"] is None else row["seed"]: row.get(metric) for k, row in enumerate(rows)}
        for rows in (rows_a, rows_b)
    ]
    a, b = ({k: float(v) for k, v in one.items() if v is not None} for one in values)
    if not a and not b:
        return None
    low, high = _interval(a, b)
    return Difference(
        run=dict(zip(SHARED, key, strict=True)),
        metric=metric,
        a=fmean(a.values()) if a else None,
        b=fmean(b.values()) if b else None,
        seeds=(len(a), len(b)),
        low=low,
        high=high,
    )


def _interval(
    a: Mapping[Any, float], b: Mapping[Any, float]
) -> tuple[float, float] | tuple[None, None]:
    """95 % interval of B's mean minus A's: paired by seed, else by Welch's formula."""
    if a.keys() == b.keys() and len(a) > 1:
        gaps = estimate([b[seed] - a[seed] for seed in a])
        return gaps.low, gaps.high
    if len(a) < 2 or len(b) < 2:
        return None, None
    parts = [variance(one.values()) / len(one) for one in (a, b)]
    middle, spread = fmean(b.values()) - fmean(a.values()), sum(parts)
    if spread == 0:
        return middle, middle
    freedom = spread**2 / sum(p**2 / (len(o) - 1) for p, o in zip(parts, (a, b), strict=True))
    half = student_t(math.floor(freedom)) * math.sqrt(spread)
    return middle - half, middle + half


def _table(found: Differences) -> Table:
    by_name = {metric.name: metric for metric in metrics()}
    differing = found.differing
    several = [n for n in SHARED if len({one.run[n] for one in found.every}) > 1]
    keys = [n for n in SHARED if n in several or n in ("label", "cache")]
    columns = [Column({"label": "policy"}.get(n, n), right=False, key=True) for n in keys]
    columns += [Column("metric", right=False), Column("A"), Column("B"), Column("B\u00a0-\u00a0A")]
    columns += [Column("%"), Column("95 % interval")]
    rows = []
    for one in differing:
        metric = by_name[one.metric]
        gap = one.difference
        signed = "" if gap is None else ("-" if gap < 0 else "+") + cell(metric, abs(gap))
        relative = "" if one.relative is None else f"{one.relative * 100:+.2f}"
        texts = [str(one.run[n] or "") for n in keys]
        texts += [metric.title, cell(metric, one.a), cell(metric, one.b), signed, relative]
        texts.append(_range(metric, one))
        rows.append([Cell(text) for text in texts])
    sure = sum(one.low is not None for one in found.every)
    notes = [
        f"{len(differing):,} of {counted(len(found.every), 'value')} differ; {sure:,} have an"
        f" interval (A {found.names[0]}, B {found.names[1]})"
    ]
    for name, count in (("A", found.only_a), ("B", found.only_b)):
        if count:
            notes.append(f"{counted(count, 'run')} of {name} alone: a difference (status 1)")
    return Table("", columns, [rows] if rows else [], notes)


def _range(metric: Metric, one: Difference) -> str:
    if one.low is None or one.high is None:
        return "-"
    ends = (("-" if v < 0 else "+") + cell(metric, abs(v)) for v in (one.low, one.high))
    return " .. ".join(ends)
