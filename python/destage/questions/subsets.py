"""The fewest traces that rank policies as all traces of a store do: `destage.trace_subset`.

A policy's place on a trace is its mean rank over the cells there: size, device, queue depth, seed.
Its rank on several traces is the mean of these. Traces are added greedily: each time the trace with
which the ranking is nearest the full one, by Kendall's tau-b. Traces left out check it: for
each fifth of the traces a subset of the others is chosen, and both rank the policies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from destage.base.errors import UsageError
from destage.base.io.files import Destination
from destage.experiment.results import Results
from destage.model.choice import metric_named
from destage.model.estimates import kendall, ranks
from destage.model.metrics import Metric, offline
from destage.model.provenance import document
from destage.model.words import counted
from destage.questions.difference import finished_rows
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.table import Cell, Column, Table

__all__ = ["HeldOut", "TraceSubset", "trace_subset"]

#: Parts of the traces that are held out in turn.
FOLDS = 5
#: Fewest traces of which a part is held out: of two a fold.
LEAST = 2 * FOLDS
#: Columns of a cell: policies are ranked among runs that share them.
CELL = ("device", "ftl", "queue_depth", "cache", "options", "seed")

#: Mean rank of each policy on a trace, 1 the best; policies in one order for all traces.
Places = Sequence[float]


@dataclass(frozen=True)
class HeldOut:
    """A fifth of the traces, and how a subset of the others ranks policies there."""

    traces: tuple[str, ...]
    """Traces held out."""
    subset: tuple[str, ...]
    """Traces chosen from the others."""
    tau: float | None
    """Kendall's tau-b between the rankings by the subset and by the traces held out."""
    tau_of_others: float | None
    """The same for all the others: no subset of them is expected to do better."""


class TraceSubset(Tabled):
    """The fewest traces that rank policies as all do; a row for each."""

    def __init__(
        self,
        metric: Metric,
        goal: float,
        every: Mapping[str, Places],
        chosen: Sequence[tuple[str, float]],
        policies: Sequence[str],
        left_out: Sequence[str],
        held_out: Sequence[HeldOut],
    ) -> None:
        """Hold a result of `trace_subset`."""
        self.metric, self.goal = metric, goal
        self.traces = tuple(name for name, _ in chosen)
        """The subset, in the order in which traces were added."""
        self.taus = tuple(tau for _, tau in chosen)
        """Kendall's tau-b between the rankings by this many traces and by all."""
        self.every = tuple(every)
        """Names of all traces."""
        places = _mean(every, self.every)
        order = sorted(zip(places, policies, strict=True))
        self.ranking = tuple((name, place) for place, name in order)
        """Policies with their places on all traces, best first."""
        self.left_out = tuple(left_out)
        """Policies without a value in some cell, which are not ranked."""
        self.held_out = tuple(held_out)
        """Checks on traces left out; empty with fewer than ten traces."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row a trace of the subset."""
        both = zip(self.traces, self.taus, strict=True)
        return [{"trace": trace, "tau": tau} for trace, tau in both]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    def _everything(self) -> Any:
        found = {
            "metric": self.metric.name,
            "goal": self.goal,
            "traces": list(self.every),
            "subset": self.to_dicts(),
            "ranking": [{"policy": name, "mean_rank": place} for name, place in self.ranking],
            "left_out": list(self.left_out),
            "held_out": [vars(one) for one in self.held_out],
        }
        return document("trace_subset", found)

    def _provenance(self) -> Mapping[str, str]:
        asked = {"metric": self.metric.name, "tau": self.goal}
        return {"destage.trace_subset": json.dumps(asked)}

    def as_table(self) -> Table:
        """Return the table that the command line prints."""
        columns = [Column("trace", right=False, key=True), Column("tau of the ranking so far")]
        both = zip(self.traces, self.taus, strict=True)
        rows = [[Cell(trace), Cell(f"{tau:.3f}")] for trace, tau in both]
        return Table("", columns, [rows], [*self._notes()])

    def _notes(self) -> list[str]:
        few, ranked = len(self.traces), len(self.ranking)
        notes = [
            f"{few} of {counted(len(self.every), 'trace')} {'gives' if few == 1 else 'give'} about"
            f" the same ranking of {ranked} policies by {self.metric.name} as all of them"
            f" (Kendall's tau {self.taus[-1]:.3f})"
        ]
        taus = [one.tau for one in self.held_out if one.tau is not None]
        others = [one.tau_of_others for one in self.held_out if one.tau_of_others is not None]
        if taus and others:
            notes.append(
                f"held out, a fifth of the traces at a time: tau {min(taus):.3f} to"
                f" {max(taus):.3f}, mean {fmean(taus):.3f}; of all other traces"
                f" {min(others):.3f} to {max(others):.3f}, mean {fmean(others):.3f}"
            )
        else:
            notes.append(f"not checked on other traces: that takes {LEAST} traces")
        if self.left_out:
            names = ", ".join(self.left_out[:5]) + (", ..." if len(self.left_out) > 5 else "")
            notes.append(f"without a value somewhere, and not ranked: {names}")
        return notes


def trace_subset(
    results: Destination | Results, metric: str = "hit", *, tau: float = 0.95
) -> TraceSubset:
    """Return the fewest traces that rank policies as all do, chosen greedily.

    Parameters:
        results: a store, what `load_results` gives, results, or a JSON file of them: three traces
            or more, three policies or more.
        metric: metric to rank by, of those that `--sort` takes.
        tau: the least Kendall's tau-b with the ranking of all traces, above 0 and at most 1.

    Policies that know the future are not ranked; a trace on which all are equal is not chosen.

    Raises `UsageError`, `MissingFile` and `DataError`.

    >>> import destage
    >>> traces = [destage.synth("zipf", requests=3000, pages=300, alpha=a) for a in (0.6, 1, 1.4)]
    >>> found = destage.compare(traces, "lru,fifo,s3-fifo", cache="10%")
    >>> subset = destage.trace_subset(found, "hit")
    >>> subset.taus[-1] >= 0.95
    True
    """
    if not 0 < tau <= 1:
        raise UsageError(f"tau: expected a number above 0 and at most 1, found {tau:g}")
    which = metric_named(metric)
    if which.better == "neither":
        raise UsageError(f"{which.name} ranks nothing: neither more nor less of it is better")
    rows = [row for row in finished_rows(results, "subset") if row["label"] not in offline()]
    cells = _cells(rows, which)
    every = sorted({row["label"] for row in rows})
    policies = [name for name in every if all(name in cell for _, cell in cells)]
    places = _places(cells, policies)
    if len(places) < 3 or len(policies) < 3:
        raise UsageError(
            f"a subset needs three traces and three policies with {which.name} in every"
            f" configuration; there are {counted(len(places), 'trace')} and {len(policies)}"
            " such policies"
        )
    chosen = _greedy(places, tau)
    if not chosen:
        raise UsageError(f"{which.name} ranks nothing: all policies are equal on every trace")
    left_out = [name for name in every if name not in policies]
    return TraceSubset(which, tau, places, chosen, policies, left_out, _held_out(places, tau))


def _cells(rows: Sequence[Mapping[str, Any]], metric: Metric) -> list[tuple[str, dict[str, float]]]:
    """A trace and the values of its policies, smaller the better, for each configuration."""
    sign = -1.0 if metric.better == "higher" else 1.0
    named = _names(rows)
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        key = (named(row), *(row.get(name) for name in CELL))
        cell = found.setdefault(key, {})
        if row.get(metric.name) is not None:
            cell[row["label"]] = sign * float(row[metric.name])
    return [(str(key[0]), cell) for key, cell in found.items()]


def _names(rows: Sequence[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], str]:
    """Names of traces; several of one name, such as generated ones, are told by fingerprint."""
    prints: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        prints.setdefault((row["trace"], row["page_bytes"]), set()).add(row["trace_fingerprint"])
    shared = {name for (name, _), every in prints.items() if len(every) > 1}

    def name(row: Mapping[str, Any]) -> str:
        trace = str(row["trace"])
        return f"{trace} {row['trace_fingerprint'][:8]}" if trace in shared else trace

    return name


def _places(
    cells: Sequence[tuple[str, Mapping[str, float]]], policies: Sequence[str]
) -> dict[str, Places]:
    ranked: dict[str, list[list[float]]] = {}
    for trace, cell in cells:
        ranked.setdefault(trace, []).append(ranks([cell[name] for name in policies]))
    return {trace: _columns(ranked[trace]) for trace in sorted(ranked)}


def _columns(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(column) / len(column) for column in zip(*rows, strict=True)]


def _mean(places: Mapping[str, Places], traces: Sequence[str]) -> list[float]:
    return _columns([places[name] for name in traces])


def _greedy(places: Mapping[str, Places], goal: float) -> list[tuple[str, float]]:
    """Traces one by one, each with the tau that is reached with it."""
    whole = _mean(places, list(places))
    # Flash writes of a trace of reads: where all policies are equal, a trace ranks nothing.
    ranking = [name for name, row in places.items() if len(set(row)) > 1]
    chosen: list[tuple[str, float]] = []
    while len(chosen) < len(ranking):
        names = [name for name, _ in chosen]
        tried = [
            (kendall(_mean(places, [*names, name]), whole) or 0.0, name)
            for name in ranking
            if name not in names
        ]
        best = max(tau for tau, _ in tried)
        chosen.append(next((name, tau) for tau, name in tried if tau == best))
        if best >= goal:
            break
    return chosen


def _held_out(places: Mapping[str, Places], goal: float) -> list[HeldOut]:
    if len(places) < LEAST:
        return []
    found = []
    for fold in range(FOLDS):
        out = list(places)[fold::FOLDS]
        others = {name: row for name, row in places.items() if name not in out}
        subset = [name for name, _ in _greedy(others, goal)]
        there = _mean(places, out)
        taus = [
            kendall(_mean(places, names), there) if names else None
            for names in (subset, list(others))
        ]
        found.append(HeldOut(tuple(out), tuple(subset), *taus))
    return found
