"""The numbers that claims are about: a run's metrics and counters, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from destage.experiment.results import Run

__all__ = ["DERIVED", "GAUGES", "gauges", "measures"]

#: Columns of a time series with adaptive state; the values of the last at a run's end do not count.
GAUGES = ("alpha_mean", "pird_thd", "bird_thd", "wf")

#: A run in numbers, by name.
Numbers = Mapping[str, float]


def _sum(n: Numbers, *names: str) -> float:
    """The sum of the numbers that a run has. Raises `KeyError` if it has none of them."""
    found = [n[name] for name in names if name in n]
    return sum(found) if found else n[names[0]]


#: Derived numbers in this order: later ones may use earlier ones.
DERIVED: Mapping[str, Callable[[Numbers], float]] = {
    "merges": lambda n: _sum(n, "switch_merges", "partial_merges", "full_merges"),
    "copies_per_merge": lambda n: n["merge_copies"] / n["merges"],
    # BPAC 5.2.2: time of copying valid pages and erasing in merges; reading them is left out.
    "merge_overhead_ns": lambda n: (
        n["merge_copies"] * n["program_ns"] + n["erases"] * n["erase_ns"]
    ),
    # BPAC 5.2.2: the share of reading valid pages in the time of merges.
    "merge_read_share": lambda n: (
        n["merge_copies"]
        * n["read_ns"]
        / (n["merge_overhead_ns"] + n["merge_copies"] * n["read_ns"])
    ),
    # ACR, section IV: without the pages that are dirty at the end.
    "running_time": lambda n: (
        n["physical_reads"] * n["cost_read"] + n["physical_writes"] * n["cost_write"]
    ),
    "padding_per_page": lambda n: n["padding_writes"] / n["destaged_pages"],
    # BPAC, figure 8: "sequential" is full and done, "LC" the largest expired and the fallback.
    "evictions_sequential": lambda n: _sum(n, "evictions_full", "evictions_done"),
    "evictions_lc": lambda n: _sum(
        n, "evictions_largest", "evictions_fallback", "evictions_p_list"
    ),
    "evictions_lc_share": lambda n: (
        n["evictions_lc"] / (n["evictions_lc"] + n["evictions_sequential"])
    ),
    "p_list_share": lambda n: n["p_list_hits"] / (n["p_list_hits"] + n["b_list_hits"]),
}


def measures(run: Run, device: Mapping[str, Any] | None) -> dict[str, float]:
    """Return every number of a run by name: metrics, counters, latencies, and derived ones.

    `device` has the keys of the device.
    """
    found: dict[str, float] = {}
    _flatten(run.params, found, "params.")
    if run.timing is not None:
        _flatten(run.timing, found)
    _flatten(run.counters, found)
    _flatten(run.metrics, found)
    if device is not None:
        found["read_ns"] = _first(device.get("read_ns", [25_000]))
        found["program_ns"] = _first(device.get("program_ns", [200_000]))
        found["erase_ns"] = float(device.get("erase_ns", 1_500_000))
    for operation, each in (run.config.get("cost") or {}).items():
        found[f"cost_{operation}"] = float(each)
    if "params.alpha" in found:
        found["alpha"] = found["params.alpha"]
    for name, derive in DERIVED.items():
        with suppress(KeyError, ZeroDivisionError):
            found[name] = derive(found)
    return found


def gauges(series: Sequence[Mapping[str, float]], run: Numbers) -> dict[str, float]:
    """Return what a policy had adapted to at the end, and how it varied on the way.

    `run` has the numbers of the same run. `wf_over_true` is AALRU's equation 5, the mean over its
    periods, over equation 4: what buffer and collection wrote over what the buffer wrote; `wf_mean`
    is that mean. `alpha` is BPAC's mean over its periods (figure 10). A variation is the standard
    deviation over the mean; the first period, before anything is known, does not count.
    """
    if not series:
        return {}
    last = series[-1]
    found = {k: float(v) for k, v in last.items() if k in GAUGES[:3]}
    if "alpha_mean" in found:
        found["alpha"] = found["alpha_mean"]
    values = [float(period["pird_thd"]) for period in series[1:] if "pird_thd" in period]
    mean = sum(values) / len(values) if values else 0.0
    if len(values) > 1 and mean:
        variance = sum((v - mean) ** 2 for v in values) / len(values)
        found["pird_thd_variation"] = math.sqrt(variance) / mean
    told = [float(period["wf"]) for period in series[1:] if "wf" in period]
    if told:
        found["wf_mean"] = sum(told) / len(told)
    if told and run.get("physical_writes") and "gc_writes" in run:
        true = 1 + run["gc_writes"] / run["physical_writes"]
        found["wf_over_true"] = sum(told) / len(told) / true
    return found


def _first(value: Any) -> float:
    return float(value[0] if isinstance(value, list) else value)


def _flatten(data: Mapping[str, Any], into: dict[str, float], prefix: str = "") -> None:
    """Collect the numbers of nested tables; in a distribution its name is before each."""
    for key, value in data.items():
        if isinstance(value, bool):
            continue
        if isinstance(value, (int, float)):
            into[prefix + key] = float(value)
        elif isinstance(value, Mapping):
            distribution = "p50" in value or "mean" in value
            _flatten(value, into, f"{prefix}{key}_" if distribution else prefix)
