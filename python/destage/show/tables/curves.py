"""Tables of hit-ratio curves: hits by size, and the sizes that are enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.model.metrics import METRICS, ORACLE
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.winners import Winner, winner
from destage.model.words import (
    NBSP,
    NONE,
    join,
    number,
    percent,
    ratio,
    significant,
    size,
    uncertain,
)
from destage.show.tables.summary import outcome
from destage.show.tables.table import Cell, Column, Table

__all__ = ["curves_summary", "curves_table", "sizes_table"]


def curves_table(curves: ResultSet, drawn: Mapping[str, Any], warnings: Sequence[str]) -> Table:
    """Return one row per size and one column per policy: hit ratios in per cent.

    `drawn` describes the sample, if there is one.
    """
    title = f"{curves.name}: hit % over cache size{_sampled(curves, drawn)}"
    sample = drawn.get("sample") or drawn.get("samples")
    labels = curves.labels
    columns = [Column(title) for title in ("cache", "pages", "size", *labels)]
    by_size: dict[tuple[int, str], dict[str, Run]] = {}
    for run in curves.runs:
        by_size.setdefault((run.frames, run.cache), {})[run.label] = run
    ahead = _ahead(curves) if sample and len(labels) > 1 else {}
    if ahead:
        columns.append(Column("lead in points (over)", right=False))
    page_bytes = curves.trace.page_bytes
    table = Table(title, columns, [[]])
    for (frames, cache), runs in by_size.items():
        cells = [Cell(cache), Cell(number(frames)), Cell(size(frames * page_bytes))]
        best, said = ahead.get(frames, (None, "± ?"))
        cells += [Cell(_hits(runs.get(label)), best=label == best) for label in labels]
        table.groups[0].append(cells + [Cell(said)] * bool(ahead))
    if sample:
        marked = any(best is not None for best, _ in ahead.values())
        table.notes += [note] if (note := _how_sure(curves, marked)) else []
    table.notes.extend(warnings)
    return table


def _sampled(curves: ResultSet, drawn: Mapping[str, Any]) -> str:
    """The sample that curves were made from; empty for the whole trace."""
    samples = [drawn["sample"]] if drawn.get("sample") else drawn.get("samples") or ()
    if not samples:
        return ""
    if not any(run.sampled for run in curves.runs):
        return ", exact (no sample is precise enough)"
    pages = [sample["pages"] for sample in samples]
    several = f"samples of {number(min(pages))} to {number(max(pages))}"
    of = several if len(pages) > 1 else f"a sample of {number(pages[0])}"
    beside = ", and LRU over the whole trace" if drawn.get("control") else ""
    return f", from {of} pages{beside}"


def _ahead(curves: ResultSet) -> dict[int, tuple[str | None, str]]:
    """By size, the policy that is ahead of all others, and how far the best two are apart.

    Of exact ones a lead below 0.03 points is none: one run takes one way of many.
    """
    found: dict[int, tuple[str | None, str]] = {}
    for won in _won(curves):
        best = won.runs[0]
        rivals = [run for run in _sure(curves, won.frames) if run.label != best.label]
        next_best = max(rivals, key=lambda run: run.hit_ratio or 0.0)
        lead = best.minus(next_best, "hit_ratio")
        off = (best.hit_ratio or 0.0) - (next_best.hit_ratio or 0.0)
        shown = "± ?" if lead is None else uncertain(100 * off, 100 * lead[0], 100 * lead[1], 2)
        if not best.sampled and not next_best.sampled:
            shown = ratio(off)
        if won.sole:
            found[won.frames] = (best.label, f"{shown} ({next_best.label})")
        elif next_best.label in won.labels:
            both = join((best.label, next_best.label))
            why = "not significant" if lead is None or lead[0] <= 0 else "below 1 %"
            found[won.frames] = (None, f"{why} ({both}: {shown})")
        else:
            others = join([label for label in won.labels if label != best.label])
            said = f"{shown} ({next_best.label}), not significant against {others}"
            found[won.frames] = (None, said)
    return found


def _sure(curves: ResultSet, frames: int) -> list[Run]:
    """The runs at a size that can be compared: exact ones, and samples with an interval."""
    runs = [run for run in curves.at(frames) if run.hit_ratio is not None]
    return [r for r in runs if not r.knows_the_future and (r.bounds or not r.sampled)]


def _won(curves: ResultSet) -> list[Winner]:
    """The best of these at every size at which there are two of them."""
    metric = next(m for m in METRICS if m.name == "hit_ratio")
    found = (winner(_sure(curves, frames), metric) for frames in curves.sizes)
    return [won for won in found if won is not None]


def _hits(run: Run | None) -> str:
    """Hits in per cent; of a sample, with how far they may be off, and not one digit more."""
    if run is None or run.hit_ratio is None:
        return NONE
    if (bounds := run.bounds.get("hit_ratio")) is not None:
        return uncertain(100 * run.hit_ratio, 100 * bounds[0], 100 * bounds[1], 2)
    return f"{ratio(run.hit_ratio, 0)} ± ?" if run.sampled else ratio(run.hit_ratio)


def _how_sure(curves: ResultSet, marked: bool) -> str:
    """Notes on intervals, and on marks where one is printed."""
    star = "* ahead of every other policy"
    if not any(run.sampled for run in curves.runs):
        return f"{star}." if marked else ""
    said = "±: 95 % confidence interval"
    if any(run.sampled and not run.bounds for run in curves.runs):
        said += "; ± ?: no interval for this policy or sample (docs/sampling.md)"
    if any(run.sampled and run.hit_ratio is None for run in curves.runs):
        said += "; no number: the sample has less than one page of such a cache"
    if exact := sum(not run.sampled for run in curves.runs):
        said += f"; without ±: exact, of the whole trace ({exact} of {len(curves.runs)})"
    if marked:
        said += f". {star} with an interval"
    return f"{said}."


def sizes_table(curves: ResultSet) -> Table:
    """Return one row per policy: its most hits, the sizes that reach most of them, its knees."""
    exact = _every_size(curves)
    shares = (0.9, 0.95, 0.99)
    columns = [Column("policy", right=False, key=True), Column("max hit %")]
    columns += [Column(f"size for {share * 100:g} %") for share in shares]
    table = Table(
        "cache size for a share of the highest hit ratio", [*columns, Column("knees", right=False)]
    )
    rows = []
    for label in curves.labels:
        every = exact.get(label)
        runs = [run for run in curves.by_size if run.label == label and run.hit_ratio is not None]
        if every is not None:
            best, reached = ratio(every["best_hit_ratio"]), {}
            reached = {at["share"]: _bytes(curves, at["frames"]) for at in every["enough"]}
            knees = ", ".join(_bytes(curves, at["frames"]) for at in every["knees"]) or NONE
        elif runs:
            top = max(runs, key=lambda run: run.hit_ratio or 0.0)
            best, knees = f"≥ {_hits(top)}", NONE
            reached = {share: f"≤ {size(_least(runs, top, share).cache_bytes)}" for share in shares}
        else:
            continue
        texts = [label, best, *(reached.get(share, NONE) for share in shares), knees]
        rows.append([Cell(text) for text in texts])
    table.groups = [rows] if rows else []
    if any(row[-1].text != NONE for row in rows):
        table.notes.append("knee: above this size a page adds fewer hits")
    if len(exact) < len(rows):
        table.notes.append("≥, ≤: from the simulated sizes only")
    return table


def _least(runs: Sequence[Run], top: Run, share: float) -> Run:
    """The smallest run with this share of the most hits."""
    return next(run for run in runs if (run.hit_ratio or 0.0) >= share * (top.hit_ratio or 0.0))


def _bytes(curves: ResultSet, frames: int) -> str:
    return size(frames * curves.trace.page_bytes)


def _every_size(curves: ResultSet) -> dict[str, Mapping[str, Any]]:
    """Values at every size, by label."""
    found = {}
    for curve in curves.source["mrc"].get("curves") or ():
        every = curve.get("every_size")
        if isinstance(every, Mapping) and every.get("enough"):
            found[str(curve.get("label"))] = every
    return found


def curves_summary(curves: ResultSet, *, sizes: bool = True) -> list[str]:
    """Findings from the curves, a sentence each; without `sizes` only which policies are best."""
    said: list[str] = []
    for label, every in _every_size(curves).items() if sizes else ():
        said += _of_every_size(curves, label, every)
    metric = next(m for m in METRICS if m.name == "hit_ratio")
    sure = [
        [run for run in curves.at(size) if not run.sampled or run.bounds] for size in curves.sizes
    ]
    found = [w for w in (winner(runs, metric) for runs in sure) if w is not None]
    if found:
        said.append(f"Highest hit ratio: {outcome(curves, found)}.")
        if ORACLE in curves.policies.values():
            said.append("min uses future accesses: an upper bound, not a contender.")
    said += _unranked(curves, sure)
    return said or (_of_points(curves) if sizes else [])


def _unranked(curves: ResultSet, sure: Sequence[Sequence[Run]]) -> list[str]:
    """The policies without an interval, and at how many sizes."""
    if len(curves.labels) < 2:
        return []
    counts = {
        label: sum(all(run.label != label for run in runs) for runs in sure)
        for label in curves.labels
    }
    if not any(counts.values()):
        return []
    of = len(curves.sizes)
    names = [label for label, n in counts.items() if n]
    there = ""
    if any(0 < n < of for n in counts.values()):
        at = {n: f"{n} of {of} sizes" for n in range(of)} | {of: "every size"}
        names, there = [f"{label} at {at[counts[label]]}" for label in names], " there"
    return [f"No interval is known for {join(names)}: the sample cannot rank them{there}."]


def _place(curves: ResultSet, frames: int) -> str:
    """`64 MiB (16,384 pages, 12 % of the trace's)`."""
    trace = curves.trace
    unique = trace.unique_pages
    share = f", {significant(100 * frames / unique)}{NBSP}% of the trace's" if unique else ""
    return f"{size(frames * trace.page_bytes)} ({number(frames)} pages{share})"


def _of_every_size(curves: ResultSet, label: str, every: Mapping[str, Any]) -> list[str]:
    """How large is enough, and where the curve bends, exactly."""
    wants = [
        f"{_place(curves, at['frames'])} for {percent(at['share'], 0)}" for at in every["enough"]
    ]
    best = percent(every["best_hit_ratio"])
    said = [f"{label}: at most {best} hits. Size for a share of these: {join(wants)}."]
    knees = [
        f"{_place(curves, at['frames'])}, hits {percent(at['hit_ratio'])}" for at in every["knees"]
    ]
    if knees:
        said.append(f"{label}: knees, above which a page adds fewer hits, at {join(knees)}.")
    else:
        said.append(f"{label}: no knee; each page adds about as many hits as the previous one.")
    return said


def _of_points(curves: ResultSet) -> list[str]:
    """Of one curve that is known at some sizes only: what these say."""
    runs = [run for run in curves.by_size if run.hit_ratio is not None]
    top = max(runs, key=lambda run: run.hit_ratio or 0.0, default=None)
    if top is None or not (best := top.hit_ratio):
        return []
    near = next(run for run in runs if (run.hit_ratio or 0.0) >= 0.95 * best)
    return [
        f"{near.label}: at most {_percent(top)} hits at these sizes; {size(near.cache_bytes)}"
        f" reaches 95{NBSP}% of that."
    ]


def _percent(run: Run) -> str:
    """A hit ratio in a sentence: `39.63 %`, `(39.6 ± 2.2) %` of a sample."""
    return f"({_hits(run)}){NBSP}%" if run.sampled else percent(run.hit_ratio)
