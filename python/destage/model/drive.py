"""Data for charts of a run in front of a device: distributions, periods, units over time.

Rows are few and hold lists, which a chart takes apart: so a page stays small. Times are in
microseconds to four digits, one more than the engine's histograms have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from destage.model.metrics import BASELINE, METRICS
from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.model.run import Run
from destage.model.series import MOST_PERIODS
from destage.model.winners import winners
from destage.model.words import finite, size

__all__ = [
    "KINDS",
    "destage_curves",
    "developments",
    "flat",
    "response_curves",
    "telling_runs",
    "telling_size",
    "unbalance_curves",
    "utilisations",
    "wear",
]

#: Kinds of requests, and the fields of `timing` that have their response times.
KINDS = {"all": "response_ns", "read": "read_response_ns", "write": "write_response_ns"}

#: Most rows of a heat map; of more units, neighbours are drawn as one.
MOST_UNITS = 64

#: Percentiles beyond the evenly spaced ones, by their field.
_TAIL = {"p99": 0.99, "p999": 0.999, "p9999": 0.9999}


def _runs(result: ResultSet) -> Iterable[tuple[Row, Run]]:
    """Every run by cache size, with what identifies it in a chart."""
    for run in result.by_size:
        yield {"label": run.label, "frames": run.frames, "size": size(run.cache_bytes)}, run


def _part(data: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    value = (data or {}).get(key)
    return value if isinstance(value, Mapping) else {}


def _digits(value: float, digits: int) -> float | int:
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) else rounded


def _curve(summary: Mapping[str, Any], scale: float) -> tuple[list[float], list[float]] | None:
    """Values and the shares at or below them, ascending; without what lies on a straight line."""
    pairs = summary.get("quantiles")
    if not isinstance(pairs, Sequence) or not pairs:
        return None
    points = [(float(share), float(value)) for share, value in pairs]
    count = finite(summary.get("count")) or 1
    for field, share in _TAIL.items():
        # Beyond the last value but one a percentile is the maximum, whatever its name.
        if finite(summary.get(field)) is not None and (1 - share) * count >= 1:
            points.append((share, float(summary[field])))
    points.sort()
    values = [_digits(value / scale, 4) for _, value in points]
    shares = [_digits(share, 6) for share, _ in points]
    keep = [
        k
        for k in range(len(points))
        if k == len(points) - 1
        # A curve begins at the share that took no time.
        or (
            (values[k] > 0 or values[k + 1] > 0)
            and (k == 0 or not values[k - 1] == values[k] == values[k + 1])
        )
    ]
    return [values[k] for k in keep], [shares[k] for k in keep]


def response_curves(result: ResultSet) -> list[Row]:
    """A row for each run and kind of request: `us`, and the cumulative `share`."""
    rows = []
    for who, run in _runs(result):
        for kind, field in KINDS.items():
            curve = _curve(_part(run.timing, field), 1000)
            if curve:
                rows.append(who | {"kind": kind, "us": curve[0], "share": curve[1]})
    return rows


def unbalance_curves(result: ResultSet) -> list[Row]:
    """A row a run: `rate`, and the `share` of the dirty evictions with at most that."""
    rows = []
    for who, run in _runs(result):
        curve = _curve(_part(run.timing, "unbalance_permille"), 1000)
        if curve:
            rows.append(who | {"rate": curve[0], "share": curve[1]})
    return rows


def destage_curves(result: ResultSet) -> list[Row]:
    """A row a run that destages in groups: `pages`, and the `share` of groups with at most that."""
    rows = []
    for who, run in _runs(result):
        curve = _curve(run.destage_pages or {}, 1)
        if curve:
            rows.append(who | {"pages": curve[0], "share": curve[1]})
    return rows


def developments(result: ResultSet, labels: Sequence[str] | None = None) -> list[Row]:
    """A row a run: per period `mean_us`, `max_us`, `collecting` (share of the units' time).

    Periods are `step_s` long, the first begins at 0. Only of these `labels`, if they are given.
    """
    rows = []
    for who, run in _runs(result):
        profile = run.profile or {}
        periods, step_ns = profile.get("periods"), finite(profile.get("period_ns"))
        if not periods or not step_ns or (labels is not None and who["label"] not in labels):
            continue
        times = -(-len(periods) // MOST_PERIODS)
        units = profile.get("unit_collecting_ns") or []
        mean: list[float | None] = []
        longest: list[float | None] = []
        collecting = []
        for k in range(0, len(periods), times):
            some = periods[k : k + times]
            requests = sum(p["requests"] for p in some)
            total = sum(p["response_ns_sum"] for p in some)
            mean.append(_digits(total / requests / 1000, 4) if requests else None)
            most = max(p["response_ns_max"] for p in some)
            longest.append(_digits(most / 1000, 4) if requests else None)
            spent = sum(sum(unit[k : k + times]) for unit in units)
            collecting.append(_share(spent, len(some) * step_ns * max(1, len(units))))
        rows.append(
            who
            | {
                "step_s": times * step_ns / 1e9,
                "mean_us": mean,
                "max_us": longest,
                "collecting": collecting,
            }
        )
    return rows


def _share(part: float, whole: float, digits: int = 3) -> float | int:
    return _digits(min(1.0, part / whole), digits) if whole else 0


def warmup_ends_s(result: ResultSet) -> dict[int, float]:
    """By frames, the seconds over which no run of that size was measured.

    All runs of one size in an open loop have the same.
    """
    found: dict[int, float] = {}
    for run in result.runs:
        start_s = ((run.measured or {}).get("start_ns") or 0) / 1e9
        found[run.frames] = min(found.get(run.frames, start_s), start_s)
    return found


def utilisations(result: ResultSet, runs: Sequence[tuple[str, int]] | None) -> list[Row]:
    """A row for each unit of these runs (label, frames), or of all: shares of time per period.

    `host` is the unit's work for the host, `collecting` its work for collections; a row of
    several neighbouring units (`unit` to `last`) has their mean.
    """
    rows = []
    for who, run in _runs(result):
        profile = run.profile or {}
        busy, collected = profile.get("unit_busy_ns"), profile.get("unit_collecting_ns")
        step_ns = finite(profile.get("period_ns"))
        if not busy or not collected or not step_ns:
            continue
        if runs is not None and (who["label"], who["frames"]) not in runs:
            continue
        together, times = -(-len(busy) // MOST_UNITS), -(-len(busy[0]) // MOST_PERIODS)
        for unit in range(0, len(busy), together):
            last = min(unit + together, len(busy)) - 1
            host, collecting = [], []
            for k in range(0, len(busy[0]), times):
                periods = min(times, len(busy[0]) - k)
                whole = periods * step_ns * (last + 1 - unit)
                spent = sum(sum(u[k : k + times]) for u in collected[unit : last + 1])
                all_of_it = sum(sum(u[k : k + times]) for u in busy[unit : last + 1])
                host.append(_share(all_of_it - spent, whole, 2))
                collecting.append(_share(spent, whole, 2))
            rows.append(
                who
                | {
                    "unit": unit,
                    "last": last,
                    "step_s": times * step_ns / 1e9,
                    "host": host,
                    "collecting": collecting,
                }
            )
    return rows


def wear(result: ResultSet) -> list[Row]:
    """A row a run: erases of a block of the device, mean, deviation, least and most.

    Empty if no block was erased more often than another.
    """
    fields = [f"block_erases_{what}" for what in ("mean", "std", "min", "max")]
    rows = [
        who | {field: run[field] for field in fields}
        for who, run in _runs(result)
        if all(run[field] is not None for field in fields)
    ]
    return rows if any(r["block_erases_max"] for r in rows) else []


def flat(rows: Iterable[Row]) -> list[Row]:
    """One row for each point of rows that hold lists, as a data file has them."""
    found = []
    for row in rows:
        lists = [key for key, value in row.items() if isinstance(value, list)]
        plain = {key: value for key, value in row.items() if key not in lists}
        step_s = plain.pop("step_s", None)
        for k in range(len(row[lists[0]])):
            at = {} if step_s is None else {"from_s": _digits(k * step_s, 9)}
            found.append(plain | at | {key: row[key][k] for key in lists})
    return found


def telling_size(result: ResultSet) -> int | None:
    """The cache size, frames, that shows most: where the fastest policy is furthest before lru.

    Without lru, or where no policy is before it, the largest. `None` without response times.
    """
    found = _fastest(result)
    if not found:
        timed = [r.frames for r in result.by_size if r["response_ns_mean"] is not None]
        return max(timed, default=None)
    base = {r.frames: r["response_ns_mean"] for r in result.by_size if r.label == BASELINE}
    gains = {
        frames: 1 - mean / base[frames]
        for frames, (label, mean) in found.items()
        if base.get(frames) and label != BASELINE
    }
    best = max(gains, key=lambda frames: (gains[frames], frames), default=None)
    return best if best is not None and gains[best] > 0.01 else max(found)


def telling_runs(result: ResultSet, frames: int) -> list[tuple[str, int]]:
    """The runs at one size that are worth a heat map each: lru's and the fastest."""
    at = [r for r in result.at(frames) if r["response_ns_mean"] is not None]
    labels = [r.label for r in at if r.label == BASELINE]
    found = _fastest(result).get(frames)
    if found and found[0] not in labels:
        labels.append(found[0])
    if not labels:
        labels = [r.label for r in at[:1]]
    if len(labels) == 1:
        labels += [r.label for r in at if r.label not in labels and not r.knows_the_future][:1]
    return [(label, frames) for label in labels]


def _fastest(result: ResultSet) -> dict[int, tuple[str, float]]:
    """By frames, the policy with the shortest mean response, and that response, ns."""
    found = winners(result, next(m for m in METRICS if m.name == "response_ns_mean"))
    return {w.frames: (w.labels[0], float(w.value)) for w in found}
