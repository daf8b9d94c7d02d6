"""A trace's profile as rows: what each figure shows, point by point.

A row has some of `series`, `x`, `x_to`, `y`, `y_to`, `value`. Of an interval `x_to` is the first
number that is not in it any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from destage import _destage
from destage.model.rows import Row

__all__ = ["DISTANCES", "FIGURES", "TEMPERATURES", "merged_periods", "rows_of", "warnings_of"]

Data = Mapping[str, Any]

#: The kinds of distance, and what one sequence of them belongs to.
DISTANCES = {"pird": "page", "bird": "block"}

#: Pages of a block, hottest first: key of the data, and name of the series.
TEMPERATURES = ("hot", "warm", "cold", "untouched")


def _block_heat(data: Data) -> list[Row]:
    heat = data["heat"]
    epochs, references = heat["epochs"], data["references"]
    rows = []
    for cell in heat["cells"]:
        first, last = heat["rows"][cell["row"]]
        place = {
            "x": cell["epoch"] * references / epochs,
            "x_to": (cell["epoch"] + 1) * references / epochs,
            "y": first,
            "y_to": last + 1,
        }
        rows.append({"series": "references"} | place | {"value": cell["references"]})
        if cell["mean_distance"] is not None:
            rows.append({"series": "mean_distance"} | place | {"value": cell["mean_distance"]})
    return rows


#: How pages are ranked, and the name of the series.
RANKINGS = {
    "blocks_by_distance": "by_distance",
    "blocks_by_frequency": "by_frequency",
    "blocks_at_least": "at_least",
}


def _unique_blocks(data: Data) -> list[Row]:
    return [
        {"series": series, "x": point["pages"], "value": point[key]}
        for key, series in RANKINGS.items()
        for point in data["ranked"]
    ]


def _deviations(kind: str) -> Callable[[Data], list[Row]]:
    def rows(data: Data) -> list[Row]:
        buckets = data[f"{kind}_deviations"]["buckets"]
        return [{"series": kind, "x": x, "x_to": to, "value": count} for x, to, count in buckets]

    return rows


def _distribution(kind: str) -> Callable[[Data], list[Row]]:
    def rows(data: Data) -> list[Row]:
        buckets = data[kind]["buckets"]
        return [{"series": kind, "x": x, "x_to": to, "value": count} for x, to, count in buckets]

    return rows


def _sparseness(kind: str) -> Callable[[Data], list[Row]]:
    """`x` is the cover in per cent, `y` the distance that covers it, `value` its step."""

    def rows(data: Data) -> list[Row]:
        cover = data[kind]["cover"]
        # The first step has nothing before it.
        return [
            {"series": kind, "x": p, "y": cover[p - 1], "value": cover[p - 1] - cover[p - 2]}
            for p in range(2, len(cover) + 1)
        ]

    return rows


def _inflection(data: Data) -> list[Row]:
    found = []
    for kind in DISTANCES:
        inflection = data[kind]["inflection"]
        if inflection:
            row = {"series": kind, "x": inflection["percent"], "value": inflection["threshold"]}
            found.append(row)
    return found


def _frequency(data: Data) -> list[Row]:
    return [
        {
            "series": "pird",
            "x": cell["pird_from"],
            "x_to": cell["pird_to"],
            "y": cell["references_from"],
            "y_to": cell["references_to"],
            "value": cell["pages"],
        }
        for cell in data["frequency"]
    ]


def _read_ratio(data: Data) -> list[Row]:
    rows, at = [], 0
    for requests, reads in data["read_ratio"]:
        rows.append(
            {"series": "read_ratio", "x": at, "x_to": at + requests, "value": reads / requests}
        )
        at += requests
    return rows


def _hottest_blocks(data: Data) -> list[Row]:
    return [
        {"series": series, "x": rank, "y": block["block"], "value": block[series]}
        for rank, block in enumerate(data["hottest"], 1)
        for series in TEMPERATURES
    ]


def _padding(data: Data) -> list[Row]:
    """Destages by the pages that padding added to them."""
    padding = data.get("padding")
    if not padding:
        return []
    return [
        {"series": padding["policy"], "x": padded, "value": destages}
        for padded, destages in padding["padded_pages"]
    ]


def _padding_writes(data: Data) -> list[Row]:
    """Pages that padding wrote, and pages that were dirty."""
    padding = data.get("padding")
    if not padding or not padding["destages"]:
        return []
    return [
        {"series": series, "value": padding[series]}
        for series in ("padding_writes", "destaged_pages")
    ]


#: Every figure, and the rows of it.
FIGURES: dict[str, Callable[[Data], list[Row]]] = {
    "block_heat": _block_heat,
    "unique_blocks": _unique_blocks,
    "pird_deviation": _deviations("pird"),
    "bird_deviation": _deviations("bird"),
    "pird_distribution": _distribution("pird"),
    "bird_distribution": _distribution("bird"),
    "pird_frequency": _frequency,
    "pird_sparseness": _sparseness("pird"),
    "bird_sparseness": _sparseness("bird"),
    "inflection": _inflection,
    "read_ratio": _read_ratio,
    "hottest_blocks": _hottest_blocks,
    "padding": _padding,
    "padding_writes": _padding_writes,
}


def rows_of(data: Data, figure: str) -> list[Row]:
    """The rows of one figure; empty if the trace has nothing for it."""
    return FIGURES[figure](data)


def merged_periods(rows: list[Row], most: int = 1500) -> list[Row]:
    """Neighbouring periods of the read ratio as one, so that at most `most` are drawn."""
    together = -(-len(rows) // most)
    if together < 2:
        return rows
    merged = []
    for k in range(0, len(rows), together):
        some = rows[k : k + together]
        whole = some[-1]["x_to"] - some[0]["x"]
        reads = sum(r["value"] * (r["x_to"] - r["x"]) for r in some)
        merged.append(
            {
                "series": some[0]["series"],
                "x": some[0]["x"],
                "x_to": some[-1]["x_to"],
                "value": reads / whole,
            }
        )
    return merged


def _who_pads() -> str:
    """Which policies pad whatever the run, and which in front of a device."""
    policies = json.loads(_destage.policies())
    always, with_device = (
        " and ".join(p["name"] for p in policies if p.get("pads") == when)
        for when in ("always", "with_device")
    )
    does = "do" if " and " in always else "does"
    return f"{always} {does}, and {with_device} in front of a device, by its latencies"


def warnings_of(data: Data) -> list[str]:
    """Warnings about the figures."""
    options = data["options"]
    if data["references"] == 0:
        what = "writes" if options["counted"] == "writes" else "accesses"
        also = "; --counted all (counted= in Python) takes reads, too" if what == "writes" else ""
        return [f"the trace has no {what}: there are no distances{also}"]
    found = []
    padding = data.get("padding")
    if padding and padding["destages"] and not padding["padding_writes"]:
        found.append(f"{padding['policy']}: it pads nothing here; {_who_pads()}: compare, run")
    if padding and not padding["destages"]:
        found.append(
            f"{padding['policy']}: a cache of {padding['frames']:,} pages destages nothing"
            " of this trace: no padding is shown"
        )
    if data["hottest"] and not any(b["hot"] or b["warm"] for b in data["hottest"]):
        found.append(
            f"no page of the hottest blocks is accessed {options['cold_accesses']:,} times:"
            " hot_accesses and cold_accesses are made for longer traces"
        )
    return found
