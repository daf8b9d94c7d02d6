"""Data for charts of an SLC cache over time and of placement handles.

Rows have the form of `model.drive`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from destage.model.metrics import Metric
from destage.model.results import ResultSet
from destage.model.rows import Row
from destage.model.run import Run
from destage.model.series import MOST_PERIODS
from destage.model.words import counted, finite, number, percent, plain, printable, size

__all__ = ["handle_wafs", "interface_facts", "repeats_waf", "slc_developments", "steady_rule"]

#: How the name of the WAF of each placement handle begins.
OF_HANDLE = "waf_handle_"


def steady_rule(device: Mapping[str, Any]) -> str:
    """The rule of `precondition = steady` (`docs/spec/device.md` 5.6)."""
    through = " through the SLC cache" if device.get("slc_blocks") else ""
    return (
        f"random writes{through}, until the page programs of two quarters of the capacity in a row"
        " differ by less than 1 %"
    )


def interface_facts(device: Mapping[str, Any], placement: str = "none") -> dict[str, str]:
    """The device's parts of `docs/spec/device-today.md`, each in words; empty if it has none."""
    found: dict[str, str] = {}
    front = []
    front += _commands(device)
    if ps := finite(device.get("link_ps_per_byte")):
        duplex = printable(device.get("link_duplex", "full"))
        front.append(f"link of {number(round(1e6 / ps))} MB/s, {duplex} duplex")
    if pages := finite(device.get("buffer_pages")):
        front.append(f"write buffer of {counted(int(pages), 'page')}")
    if front:
        found["Interface"] = "; ".join(front)
    if room := _slc_pages(device) * (finite(device.get("page_bytes")) or 0):
        ways = {"direct": "past it", "fold": "a block is folded first"}
        policy = str(device.get("slc_policy", "direct"))
        full = ways.get(policy, printable(policy))
        found["SLC"] = f"{plain(size(int(room)))}; when it is full: {full}"
    handles = int(finite(device.get("handles")) or 1)
    if handles > 1 or device.get("gc_stream"):
        kept = [f"{handles}, {printable(device.get('isolation', 'initial'))}"]
        kept.append(f"gc_stream {printable(device.get('gc_stream', 'shared'))}")
        if blocks := finite(device.get("blocks_per_plane")):
            # At the threshold of collection, and in what a plane may hold.
            kept.append(f"each takes up to {plain(percent(2 / blocks, 1))} of the device")
        found["Handles"] = "; ".join(kept)
    if placement != "none":
        found["Placement"] = printable(placement)
    return found


def _commands(device: Mapping[str, Any]) -> list[str]:
    """Commands a second, apart for reads and writes where they differ."""
    common = finite(device.get("command_ns"))
    read, write = (finite(device.get(f"command_{one}_ns", common)) for one in ("read", "write"))
    pairs = [("commands", read)] if read == write else [("reads", read), ("writes", write)]
    return [f"{number(round(1e9 / ns))} {name}/s" for name, ns in pairs if ns]


def slc_developments(result: ResultSet, labels: Sequence[str] | None = None) -> list[Row]:
    """A row for each run whose device has an SLC cache: per period `mb_s`, `filled`.

    `mb_s` is the host's programs in 10^6 bytes a second; `filled` the share of the
    SLC cache's pages that have been programmed, valid or not, at the period's end. Periods are
    `step_s` long, the first begins at 0; of the last one it is not known how much it took. Only of
    these `labels`, if they are given.
    """
    device = (result.drive or {}).get("device")
    block_pages = finite((device or {}).get("slc_pages_per_block"))
    pages = _slc_pages(device or {})
    rows = []
    for run in result.by_size:
        profile = run.profile or {}
        periods, step_ns = profile.get("periods"), finite(profile.get("period_ns"))
        if not pages or not block_pages or not periods or not step_ns:
            continue
        if labels is not None and run.label not in labels:
            continue
        times = -(-len(periods) // MOST_PERIODS)
        mb_s: list[float | None] = []
        filled, held = [], 0.0
        for k in range(0, len(periods), times):
            some = periods[k : k + times]
            programs = sum(p["flash_programs"] for p in some)
            bytes_per_ns = programs * result.trace.page_bytes / (len(some) * step_ns)
            mb_s.append(float(f"{1000 * bytes_per_ns:.4g}"))
            # A block is folded when it is full, and erased then.
            held += sum(p.get("slc_programs", 0) for p in some)
            held -= sum(p.get("slc_erases", 0) for p in some) * block_pages
            filled.append(float(f"{min(1.0, max(0.0, held / pages)):.4g}"))
        if len(mb_s) > 1:
            mb_s[-1] = None  # The run has ended in it.
        rows.append(_of(run) | {"step_s": times * step_ns / 1e9, "mb_s": mb_s, "filled": filled})
    return rows


def _slc_pages(device: Mapping[str, Any]) -> float:
    """Pages of the SLC cache; 0 without one."""
    levels = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
    pages = 1.0
    for key in (*levels, "slc_blocks", "slc_pages_per_block"):
        pages *= finite(device.get(key)) or 0
    return pages


def repeats_waf(metric: Metric, runs: Iterable[Run]) -> bool:
    """Whether a metric is the WAF of a handle, and in every run that of all handles is the same.

    The device's own WAF says it then: tables leave out these columns.
    """
    if not metric.name.startswith(OF_HANDLE):
        return False
    wafs = ({v for k, v in run.metrics.items() if k.startswith(OF_HANDLE)} for run in runs)
    return all(len(some - {None}) < 2 for some in wafs)


def handle_wafs(result: ResultSet) -> list[Row]:
    """A row for each handle of runs that wrote with several: `waf`, `share` of the programs."""
    rows = []
    for run in result.by_size:
        counters = (run.timing or {}).get("counters") or {}
        programs = counters.get("handle_programs") or []
        if sum(map(bool, programs)) < 2:
            continue  # The device's own WAF says it.
        for handle, count in enumerate(programs):
            waf = run.metrics.get(f"{OF_HANDLE}{handle}")
            if waf is None:
                continue
            share = float(f"{count / sum(programs):.4g}")
            rows.append(_of(run) | {"handle": f"handle {handle}", "waf": waf, "share": share})
    return rows


def _of(run: Run) -> Row:
    return {"label": run.label, "frames": run.frames, "size": size(run.cache_bytes)}
