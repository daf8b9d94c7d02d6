"""What none of the papers has: every policy over every FTL, and its distance from the possible.

One drive, one cache size for a million requests and as much less for fewer, some loads; hit ratios
beside MIN's, and on short traces costs beside the least that any policy can have (`offline`).
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from destage import _destage
from destage.catalogue import policies
from destage.device import Drive, open_device
from destage.errors import UsageError
from destage.io.files import made_folder, write_whole
from destage.options import ProgressCallback
from destage.report.plain import policy
from destage.reproduce.claims import Head, Paper
from destage.reproduce.digits import number
from destage.reproduce.document import command
from destage.reproduce.evaluation import Options
from destage.reproduce.offline import Access, least_cost
from destage.reproduce.pages import markdown_table
from destage.reproduce.scaling import scaled_size
from destage.reproduce.tabled import Cells
from destage.reproduce.told import (
    UNPADDED,
    optimum_told,
    padding_rows,
    reversal_rows,
    winner_rows,
)
from destage.reproduce.workloads import Asked, Load, Loads
from destage.results import Run
from destage.runs import compare, run
from destage.trace import Trace

__all__ = ["Beyond", "beyond", "page_accesses", "write_beyond"]

#: The drive: 16 GiB, full, in the midst of collecting. Requests come as fast as a queue of eight
#: lets them: open arrivals that one FTL stands would drown another.
DEVICE = "small"
QUEUE_DEPTH = 8
CACHE = "16MiB"
#: Loads of the papers, and the recording that ships.
LOADS = ("hm_0", "proj_0", "Fin2")
RECORDING = "pgtpcb"
#: FTLs in the order of the table; `page-ideal` is an untimed yardstick. With DFTL's default of four
#: reserved blocks this full drive runs full under a dozen policies: collecting a block whose pages
#: have their entries on as many translation pages takes more pages than it frees.
FTLS = {
    "page": "page",
    "dftl": "dftl[gc_reserve_blocks=16]",
    "bast": "bast",
    "fast": "fast",
}
#: Requests of a load at scale 1.
MOST_REQUESTS = 1_000_000
#: The exact optimum: page accesses, frames, and costs as ACR's two disks have them.
SHORT_ACCESSES = 600
MOST_SKIPPED = 100_000
SHORT_FRAMES = 16
COSTS = ((1, 2), (1, 118))
#: How long the bounds are improved.
STEPS, BRANCHES = 40, 12

#: `conf` and counts of runs as JSON.
Json = dict[str, Any]


@dataclass(frozen=True)
class Beyond:
    """The table, and the distances to the optimum, as data."""

    data: Json


def beyond(
    options: Options,
    *,
    progress: ProgressCallback | None = None,
    began: Callable[[str], object] | None = None,
) -> Beyond:
    """Run every policy over every FTL. Raises what runs raise."""
    loads = Loads(traces=options.traces, recordings=options.recordings, scale=options.scale)
    paper = _no_paper()
    chosen = [loads.load(name, paper) for name in LOADS]
    chosen += _recording(loads)
    tables, exact = [], []
    for load in chosen:
        drive = open_device(DEVICE)
        trace = _short(loads, load, options, drive, progress)
        tables.append(_table(load, trace, options, progress, began))
        if began:
            began(f"beyond {load.name}, the optimum")
        exact.append(_distance(load, trace, options))
    return Beyond(
        {
            "schema": 1,
            "version": _destage.VERSION,
            "command": command("all", options),
            "device": DEVICE,
            "queue_depth": QUEUE_DEPTH,
            "cache": CACHE,
            "ftls": FTLS,
            "tables": tables,
            "optimum": exact,
        }
    )


def _no_paper() -> Paper:
    return Paper(Head("beyond", "", "", "", ()), 1)


def _recording(loads: Loads) -> list[Load]:
    from destage.reproduce.claims import RunSet

    runs = RunSet("beyond", (), (), (), recordings=(RECORDING,))
    return loads.recorded(runs)


def _short(
    loads: Loads, load: Load, options: Options, drive: Drive, progress: ProgressCallback | None
) -> Trace:
    """The load, cut so that the whole table takes minutes."""
    most = max(1000, round(MOST_REQUESTS * options.scale))
    if load.paths:
        given = {**load.options, "requests": min(most, load.options.get("requests", most))}
        cut = Load(load.name, load.kind, load.title, load.note, load.paths, given, load.spec)
        return loads.open(cut, seed=options.seed, drive=drive, progress=progress)
    asked = Asked(most_requests=most)
    return loads.open(load, seed=options.seed, drive=drive, asked=asked, progress=progress)


def _table(
    load: Load,
    trace: Trace,
    options: Options,
    progress: ProgressCallback | None,
    began: Callable[[str], object] | None,
) -> Json:
    """All policies over all FTLs for one load."""
    names = [*(p.name for p in policies()), UNPADDED]
    cache = scaled_size(CACHE, min(1.0, trace.requests / MOST_REQUESTS))
    rows: dict[str, Json] = {name: {"policy": name, "ftls": {}} for name in names}
    for ftl, named in FTLS.items():
        if began:
            began(f"beyond {load.name}, {ftl}")
        drive = (trace.drive or open_device(DEVICE)).closed(QUEUE_DEPTH)
        front = open_device(drive, ftl=named)
        for name, one in _each(trace, names, cache, front, options, progress):
            rows[name]["ftls"][ftl] = one if isinstance(one, str) else _numbers(one)
            # What is hit hardly depends on the FTL; that over the first one is shown.
            if not isinstance(one, str):
                rows[name].setdefault("hit_ratio", one.hit_ratio)
    best = rows["min"].get("hit_ratio") or 0.0
    for row in rows.values():
        hits = row.setdefault("hit_ratio", None) or 0.0
        row["of_min"] = hits / best if best else None
    return {
        "load": load.name,
        "kind": load.kind,
        "title": load.title,
        "requests": trace.requests,
        "cache": cache,
        "accesses": trace.accesses,
        "unique_pages": trace.unique_pages,
        "offline": [p.name for p in policies() if p.offline],
        "rows": list(rows.values()),
    }


def _each(
    trace: Trace,
    names: Sequence[str],
    cache: str,
    front: Drive,
    options: Options,
    progress: ProgressCallback | None,
) -> Iterator[tuple[str, Run | str]]:
    """Every policy's run; where an FTL cannot go on (device full), what it said."""
    try:
        results = compare(
            trace, names, cache=cache, device=front, jobs=options.jobs, progress=progress
        )
    except UsageError:
        for name in names:
            try:
                yield name, compare(trace, name, cache=cache, device=front, progress=progress)[0]
            except UsageError as e:
                yield name, str(e)
    else:
        yield from zip(names, results, strict=True)


def _numbers(one: Run) -> Json:
    return {
        "response_ns_mean": one.response_ns_mean,
        "response_ns_p99": one.response_ns_p99,
        "waf": one.waf,
        "erases": one.erases,
    }


def page_accesses(trace: Trace, first: int = 0, most: int | None = None) -> list[Access]:
    """Return page accesses of a trace in order, as (writes, page): from `first`, at most `most`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.jsonl"
        run(trace, "fifo", cache="1p", decisions=path)
        found: list[Access] = []
        with path.open(encoding="utf-8") as lines:
            for line in islice(lines, first, None if most is None else first + most):
                one = json.loads(line)
                found.append((one["op"] in ("w", "write"), int(one["page"])))
    return found


def _distance(load: Load, trace: Trace, options: Options) -> Json:
    """Costs of all policies on the first accesses, beside the least possible."""
    # From the middle: many loads begin by reading everything once.
    first = min(trace.accesses // 2, MOST_SKIPPED)
    heads = page_accesses(trace, first, SHORT_ACCESSES)
    short = _rewritten(heads, trace.page_bytes)
    found = []
    for read, write in COSTS:
        best = least_cost(
            heads, SHORT_FRAMES, read=read, write=write, steps=STEPS, branches=BRANCHES
        )
        names = [p.name for p in policies() if not p.needs_device]
        results = compare(
            short,
            names,
            cache=f"{SHORT_FRAMES}p",
            cost={"read": read, "write": write},
            jobs=options.jobs,
        )
        costs = {name: one.running_time for name, one in zip(names, results, strict=True)}
        found.append(
            {
                "read": read,
                "write": write,
                "least": best.low,
                "least_at_most": best.high,
                "costs": costs,
            }
        )
    return {
        "load": load.name,
        "first": first,
        "accesses": len(heads),
        "frames": SHORT_FRAMES,
        "costs": found,
    }


def _rewritten(heads: Sequence[Access], page_bytes: int) -> Trace:
    """The accesses as a trace of their own."""
    from destage.trace import open_trace

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "head.csv"
        lines = ["time,op,offset,length\n"]
        lines += [
            f"{k},{'w' if writes else 'r'},{page * page_bytes},{page_bytes}\n"
            for k, (writes, page) in enumerate(heads)
        ]
        path.write_text("".join(lines), encoding="utf-8")
        columns = {"time": "time", "op": "op", "offset": "offset", "length": "length"}
        return open_trace(
            path,
            format="csv",
            columns=columns,
            time_unit="ns",
            offset_unit="byte",
            length_unit="byte",
            op_read="r",
            op_write="w",
            page_size=page_bytes,
            cache=False,
        )


# -- Pages ----------------------------------------------------------------------------------------


def table_rows(table: Mapping[str, Any]) -> Cells:
    """One row per policy, the lowest mean response over the page map first."""
    head = ["policy", "hits", "of MIN's"]
    for ftl in FTLS:
        head += [f"{ftl}: mean (ms)", "p99 (ms)", "WAF", "erases"]

    def order(row: Mapping[str, Any]) -> float:
        first = row["ftls"]["page"]
        # What did not run comes last.
        return math.inf if isinstance(first, str) else float(first["response_ns_mean"] or 0.0)

    rows: Cells = [head]
    for row in sorted(table["rows"], key=order):
        mark = " (offline)" if row["policy"] in table["offline"] else ""
        cells = [row["policy"] + mark, _share(row["hit_ratio"]), _share(row["of_min"])]
        for ftl in FTLS:
            n = row["ftls"][ftl]
            if isinstance(n, str):
                cells += ["device full" if "device full" in n else n, "", "", ""]
                continue
            cells += [_ms(n["response_ns_mean"]), _ms(n["response_ns_p99"])]
            cells += ["-" if n["waf"] is None else f"{n['waf']:.2f}"]
            cells += ["-" if n["erases"] is None else f"{n['erases']:,}"]
        rows.append(cells)
    return rows


def _share(value: float | None) -> str:
    return "-" if value is None else number(value, share=True)


def _ms(value: float | None) -> str:
    return "-" if value is None else number(value / 1e6)


def optimum_rows(data: Mapping[str, Any]) -> Cells:
    """Costs over the least possible: one row per policy, a column for each load and cost."""
    head = ["policy"]
    columns = []
    for load in data["optimum"]:
        for cost in load["costs"]:
            head.append(f"{load['load']}, {cost['read']}:{cost['write']}")
            columns.append(cost)
    if not columns:
        return [head]
    rows: Cells = [head, ["least possible"]]
    for c in columns:
        exact = c["least"] == c["least_at_most"]
        text = f"{c['least']:,}" + ("" if exact else f" to {c['least_at_most']:,}")
        rows[1].append(text)
    ratios: list[tuple[float, list[str]]] = []
    for name in columns[0]["costs"]:
        found = [c["costs"][name] / c["least"] if c["least"] else 1.0 for c in columns]
        ratios.append((sum(found), [name, *(f"{ratio:.3f}" for ratio in found)]))
    return rows + [cells for _, cells in sorted(ratios)]


LEAD = (
    "All policies over all FTLs, which no paper shows: mean and 99th percentile of response, write"
    " amplification, erases, hit ratio and its share of MIN's, which no policy can pass."
)
WINNERS = (
    "The policy that can run in practice (none that knows the future) with the lowest mean response"
    " for each load and FTL, what is level with it, and where LRU stands."
)
REVERSALS = (
    "The policies whose rank by mean response depends most on the FTL: whoever compares behind one"
    " FTL only gets another order. Ranks are among the policies that could run behind all."
)
PADDING = (
    "BPLRU fills each block that it writes back with pages that it reads first. What that costs"
    " and saves: with padding over without."
)
FAR = (
    "Costs over the least that any policy can have, the future known, on a stretch of each load;"
    " the last section has all policies and says how the least is found."
)
OPTIMUM = (
    "Costs of {accesses:,} page accesses from the middle of each load with {frames} frames, divided"
    " by the least that any policy can have, future known: a read and a write cost as on ACR's two"
    " disks. The least"
    " comes from minimum-cost flows and branching (`destage/reproduce/offline.py`); where two"
    " numbers stand, it lies between them, and costs are divided by the lower. MIN hits most and is"
    " not the cheapest: it does not ask what a write costs."
)


def write_beyond(found: Beyond, folder: Path) -> list[Path]:
    """Write `beyond.html`, `beyond.md` and `beyond.json`; return them. Raises `OutputError`."""
    made_folder(folder)
    written = []
    text = json.dumps(found.data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    for suffix, content in (
        (".json", text),
        (".md", markdown(found.data)),
        (".html", html(found.data)),
    ):
        path = folder / f"beyond{suffix}"
        write_whole(path, content)
        written.append(path)
    return written


def _sections(data: Mapping[str, Any]) -> list[tuple[str, str, Cells]]:
    """Title, remark and table of each part: what the tables say, then the tables."""
    parts: list[tuple[str, str, Cells]] = [
        ("Who wins", WINNERS, winner_rows(data)),
        ("Rank reversals", REVERSALS, reversal_rows(data)),
        ("What padding costs", PADDING, padding_rows(data)),
    ]
    if data["optimum"]:
        offline = data["tables"][0]["offline"] if data["tables"] else []
        parts.append(("How far from the optimum", FAR, optimum_told(data, offline)))
    for table in data["tables"]:
        remark = (
            f"{table['kind']}: {table['title']}. {table['requests']:,} requests,"
            f" {table['accesses']:,} page accesses, {table['unique_pages']:,} pages; a cache of"
            f" {table['cache']}."
        )
        parts.append((f"All policies: {table['load']}", remark, table_rows(table)))
    if data["optimum"]:
        first = data["optimum"][0]
        remark = OPTIMUM.format(accesses=first["accesses"], frames=first["frames"])
        parts.append(("Distance to the optimum, all policies", remark, optimum_rows(data)))
    return parts


#: Why DFTL has more reserve than by default.
RESERVE = (
    "DFTL has 16 blocks in reserve: with its default of four this full drive runs full under a"
    " dozen policies, since collecting a block whose pages have their entries on as many"
    " translation pages takes more pages than it frees."
)


def _setup(data: Mapping[str, Any]) -> str:
    return (
        f"Drive `{data['device']}`, a cache of {data['cache']} for a million requests and"
        f" as much less for fewer, {data['queue_depth']} requests"
        f" outstanding (closed loop). FTLs: `{'`, `'.join(data['ftls'].values())}`. {RESERVE}"
    )


def markdown(data: Mapping[str, Any]) -> str:
    """Return the Markdown page."""
    out = ["# Beyond the papers", "", LEAD, "", _setup(data), ""]
    out += [f"Made by `{data['command']}`, Destage {data['version']}.", ""]
    for title, remark, rows in _sections(data):
        out += [f"## {title}", "", remark, "", markdown_table(rows)]
    return "\n".join(out).rstrip() + "\n"


def html(data: Mapping[str, Any]) -> str:
    """Return the HTML page, which loads nothing."""
    from destage.reproduce.pages import style, template

    text: str = template("beyond.html.j2").render(
        lead=LEAD,
        setup=_setup(data).replace("`", ""),
        sections=_sections(data),
        command=data["command"],
        version=data["version"],
        policy=policy([style()]),
        css=style(),
    )
    return text
