"""Units, stripe, read time, link and command processor (`docs/spec/fit.md` 6.1, 6.3, 6.4)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from destage.fit.fio import Measured, Measurement
from destage.fit.model import Model
from destage.fit.script import BATCH, PAGE

__all__ = ["Period", "command_of", "command_of_writes", "link_of", "period_of", "unit_read_ns"]

STRIPES = (1, 2, 4, 8, 16)
DEPTH = 8
#: Strides that are compared, and their requests, of which the second half counts.
COMPARED, REQUESTS = 64, 240
#: A period is a candidate if its rate is that near the lowest.
NEAR = 0.12
#: Largest root mean square of the log differences of a period that is one.
MOST_RMS = 0.1


@dataclass(frozen=True)
class Period:
    """The period of units, found from strides."""

    units: int
    stripe: int
    unit_read_ns: float
    rms: float


def _strides(made: Measurement) -> dict[int, Measured]:
    return made.series("read-stride-")


def _logs(strides: Mapping[int, Measured], scale: Mapping[str, float]) -> dict[int, float]:
    return {n: math.log(s.rate) + scale.get(s.name, 0.0) for n, s in strides.items()}


def unit_read_ns(
    strides: Mapping[int, Measured], period: int, scale: Mapping[str, float] | None = None
) -> float:
    """S_R: strides that are multiples of the period meet one unit, which is always busy."""
    logs = _logs(strides, scale or {})
    chosen = [log for n, log in logs.items() if n % period == 0]
    return 1e9 / math.exp(sum(chosen) / len(chosen))


def period_of(made: Measurement, model: Model) -> Period | None:
    """Units and stripe from the strides; None if there are none, or no period is visible."""
    strides = _strides(made)
    first = made.get("read-qd1")
    if not strides or first is None or model.page_bytes != PAGE:
        return None
    logs = _logs(strides, {})
    lowest = sorted(logs.values())[: max(1, round(0.025 * len(logs)))]
    low = statistics.median(lowest)
    best: tuple[float, int, int, Period] | None = None
    for period in range(1, 65):
        chosen = [log for n, log in logs.items() if n % period == 0]
        if not chosen or sum(chosen) / len(chosen) > low + NEAR:
            continue
        for stripe in STRIPES:
            if period % stripe:
                continue
            units = period // stripe
            busy = unit_read_ns(strides, period)
            link = link_of(made, units, stripe) or 0.0
            trial = model.with_(
                units=units,
                stripe=stripe,
                unit_read_ns=busy,
                link_ns=link,
                firmware_read_ns=max(0.0, first.mean_ns - busy - link),
            )
            total, count = _distance(trial, logs)
            made_of = Period(units, stripe, busy, math.sqrt(total / count))
            # Within 0.1 % the smaller period, then the smaller stripe, which come first.
            if best is None or total < best[0] * 0.999:
                best = (total, period, stripe, made_of)
    if best is None or best[3].rms > MOST_RMS:
        return None
    return _corrected(best[3], made, model)


def _corrected(found: Period, made: Measurement, model: Model) -> Period:
    """Correction for the faster first requests of a step: the same strides, simulated."""
    strides = _strides(made)
    period = found.units * found.stripe
    chosen = {n: step for n, step in strides.items() if n % period == 0}
    link = link_of(made, found.units, found.stripe) or 0.0
    first = made.steps["read-qd1"]
    busy = found.unit_read_ns
    late = max(0.0, first.mean_ns - busy - link)
    trial = model.with_(
        units=found.units,
        stripe=found.stripe,
        unit_read_ns=busy,
        link_ns=link,
        firmware_read_ns=late,
    )
    pages = max(n * step.direction.requests for n, step in chosen.items())
    steps = [
        {**_stride(n), "requests": step.direction.requests, "uncounted": 0}
        for n, step in chosen.items()
    ]
    rates = [one.rate for one in trial.reads(steps, pages)]
    log = sum(math.log(1e9 / rate) for rate in rates) / len(rates)
    return replace(found, unit_read_ns=busy * busy / math.exp(log))


def _distance(trial: Model, logs: Mapping[int, float]) -> tuple[float, int]:
    """Sum of the squared log differences of the strides, and how many they are."""
    compared = [n for n in logs if n <= COMPARED]
    found = trial.reads([_stride(n) for n in compared])
    differences = [math.log(one.rate) - logs[n] for n, one in zip(compared, found, strict=True)]
    return sum(d * d for d in differences), len(differences)


def _stride(stride: int) -> dict[str, object]:
    return {
        "seed": 1,
        "requests": REQUESTS,
        "uncounted": REQUESTS // 2,
        "depth": DEPTH,
        "read_percent": 100,
        "random": [False, False],
        "block_bytes": PAGE,
        "skip_bytes": (stride - 1) * PAGE,
    }


def _slope(points: Sequence[tuple[float, float]]) -> float:
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    over = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return over / sum((x - mean_x) ** 2 for x, _ in points)


def link_of(
    made: Measurement, units: int, stripe: int, scale: Mapping[str, float] | None = None
) -> float | None:
    """x_L, ns a page; 0 where no link is seen, None where it is not identifiable."""
    scale = scale or {}
    steps = dict(made.series("read-bs"))
    first = made.get("read-qd1")
    if first is not None:
        steps[PAGE // 1024] = first
    points = []
    for kib, step in sorted(steps.items()):
        pages = kib * 1024 // PAGE
        if pages % stripe == 0 and stripe <= pages <= stripe * units:
            points.append((pages / stripe, step.mean_ns * math.exp(-scale.get(step.name, 0.0))))
    if len(points) < 2 or first is None:
        return None
    slope = _slope(points)
    return 0.0 if slope * units < 0.01 * first.mean_ns else slope


def command_of(
    made: Measurement,
    units: int,
    stripe: int,
    link_ns: float,
    scale: Mapping[str, float] | None = None,
) -> tuple[float, str] | None:
    """`command_ns` and the step that says so; 0 if the link hides it."""
    scale = scale or {}
    first = made.get("read-qd1")
    fitting = [k for k in (2, 4, 8) if k <= units and made.get(f"read-batch-{stripe}x{k}")]
    if first is None or not fitting:
        return None
    step = made.steps[f"read-batch-{stripe}x{fitting[-1]}"]
    return _between(first, step, fitting[-1], link_ns, scale), step.name


def command_of_writes(
    made: Measurement, link_ns: float, scale: Mapping[str, float] | None = None
) -> float | None:
    """The same for writes into a buffer: 0 if the link hides it, None if it was not measured."""
    first, step = made.get("write-qd1"), made.get(f"write-batch-{BATCH}")
    if first is None or step is None:
        return None
    return _between(first, step, BATCH, link_ns, scale or {})


def _between(
    first: Measured, step: Measured, count: int, link_ns: float, scale: Mapping[str, float]
) -> float:
    """Time between two requests of a batch, if longer than the link's transfer."""
    alone = first.mean_ns * math.exp(-scale.get(first.name, 0.0))
    batch = step.mean_ns * math.exp(-scale.get(step.name, 0.0))
    between = 2 * (batch - alone) / (count - 1)
    return between if between > 1.02 * link_ns + 20 else 0.0
