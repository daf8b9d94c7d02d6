#!/usr/bin/env python3
"""The results data set: all policies at eight sizes over real and generated traces.

    make dataset                            everything: hours
    python benches/dataset.py DIR --part untimed
    python benches/dataset.py DIR --part closed --device small --collector greedy

DIR gets a store (what was begun goes on), and from it `runs.parquet` with the command that repeats
each run, `subset-*.json`, a page a trace, and README.md, the data sheet. Traces come from
$DESTAGE_TRACES (files, and those of its folder `own`); generated ones are always there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import destage as ds
from destage.base.errors import DestageError, UsageError
from destage.base.io.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
SIZES = ["1%", "2%", "5%", "10%", "15%", "20%", "30%", "40%"]
DEVICES = ["small", "sac", "tlc-sata"]
COLLECTORS = ["greedy", "cost-benefit", "d-choices"]
PARTS = ("untimed", "closed", "open")
#: What the files of public traces do not say themselves.
READ: Mapping[str, Mapping[str, Any]] = {
    "ms_DTRS_5min.ssdsim.trace.xz": {"time_unit": "us"},
    "disksim_ascii.trace.xz": {"format": "disksim"},
    "disksim_ssd-iozone-aligned2-100K.trace.xz": {"format": "disksim"},
}
#: Not block I/O, or a prefix of another file here.
LEFT_OUT = ("mooncake_conversation_first2000.jsonl.xz", "financial1_first948.spc.xz")
#: Generated traces: each family at the skew, or the footprint, that makes it another trace.
SYNTH: Sequence[Mapping[str, Any]] = [
    *({"synth": "zipf", "alpha": alpha} for alpha in (0.6, 0.8, 1.0, 1.2)),
    *({"synth": "zipf", "alpha": 0.9, "read_ratio": share} for share in (0.1, 0.5, 0.9)),
    {"synth": "uniform"},
    {"synth": "normal"},
    {"synth": "locality"},
    {"synth": "loop"},
    {"synth": "scan"},
    {"synth": "bursts"},
    {"synth": "oltp"},
    *({"synth": name} for name in ("t1", "t2", "t3", "t4")),
]
#: Subsets that are looked for: name, condition on the runs, metric.
RANKED = (
    ("hit", "device is null", "hit"),
    ("mean", "queue_depth == 8", "mean"),
    ("writes", "queue_depth == 8", "writes"),
)
HEAD = '<!doctype html><meta charset="utf-8"><title>Results by trace</title>\n<h1>Results by trace</h1>\n'
SHEET = """\
# Cache policies over block traces

Made by `make dataset` of Destage {version}. Simulated: no number here was measured on an SSD.

| | count |
|---|--:|
{table}

| file | content |
|---|---|
| `runs.parquet` | a row for each run: configuration, every metric, `rerun`: the command that repeats it (`DESTAGE_TRACES` names the folder of its trace) |
| `store/` | the same with whole results; `destage results store`, `destage report store` |
| `subset-*.json` | the fewest traces that rank policies as all do |
| `pages/` | a page for each trace |

**How.** Cache sizes {sizes} of each trace's pages; warm-up until the cache is full where there is a
device, none without. Devices: {devices}, preconditioned as their presets say, each with the
collectors named in `device`. Closed loop: eight requests outstanding. Open loop: the trace's times.
Addresses beyond a device wrap around.

{ranked}

**Licence.** These results have Destage's (Apache-2.0). The traces have their owners' and are not
part of it; `trace_fingerprint` tells which file a row needs.

**What not to conclude.**

* A rank holds for these traces. Public traces are short, old, or prefixes; generated ones are ours.
* Sizes in per cent differ in bytes from trace to trace: compare within a trace.
* In an open loop response times are mostly waiting in a queue where the device does not keep up
  (`queue_share`).
* Policies have their papers' parameters. None is tuned for a trace.
* `min` uses future accesses and ignores dirty pages: a bound for hits, not for times or writes.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Make what is asked for, and say where it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; repeatable")
    parser.add_argument("--device", action="append", help="only this preset; repeatable")
    parser.add_argument("--collector", action="append", help="only this; repeatable")
    parser.add_argument("--traces", type=Path, help="folder of traces [$DESTAGE_TRACES]")
    parser.add_argument("--requests", type=int, default=300_000, help="of generated traces")
    parser.add_argument("--jobs", type=int, help="threads [number of processors]")
    parser.add_argument("--dry-run", action="store_true", help="say what it takes, and stop")
    asked = parser.parse_args(words)
    try:
        traces = [*recorded(asked.traces), *generated(asked.requests)]
        for part in asked.part or PARTS:
            spec = spec_of(part, traces, asked.device or DEVICES, asked.collector or COLLECTORS)
            if asked.dry_run:
                print(f"{part}: {ds.estimate(spec)}")
            else:
                ds.sweep(spec, asked.folder / "store", resume=True, jobs=asked.jobs)
        if not asked.dry_run:
            publish(asked.folder)
    except DestageError as e:
        print(f"dataset: {e}", file=sys.stderr)
        return e.exit_status
    return 0


def recorded(folder: Path | None) -> list[dict[str, Any]]:
    """The files of a folder, and of `own` in it, as the traces of a SPEC."""
    given = folder or os.environ.get("DESTAGE_TRACES")
    if given is None:
        print("dataset: no $DESTAGE_TRACES: generated traces alone", file=sys.stderr)
        return []
    place = Path(given)
    files = sorted([*place.glob("*.xz"), *place.glob("own/*.csv.xz")])
    if not files:
        raise UsageError(f"{place}: no .xz file is in it; give the folder of traces (--traces)")
    return [
        {"path": str(file), **READ.get(file.name, {})}
        for file in files
        if file.name not in LEFT_OUT
    ]


def generated(requests: int) -> list[dict[str, Any]]:
    """The generated traces as a SPEC has them, named by their parameters."""
    return [
        {
            **one,
            "name": " ".join(str(value) for value in one.values()),
            "requests": requests,
            "pages": max(100, requests // 6),
        }
        for one in SYNTH
    ]


def spec_of(
    part: str,
    traces: Sequence[Mapping[str, Any]],
    devices: Sequence[str],
    collectors: Sequence[str],
) -> dict[str, Any]:
    """The SPEC of a part: without a device, in a closed loop of eight, at the traces' times."""
    timed = part != "untimed"
    policies = [p.name for p in ds.policies() if timed or not p.needs_device]
    sweep: dict[str, Any] = {"traces": list(traces), "policies": policies, "cache": SIZES}
    if not timed:
        return {"sweep": sweep}
    sweep |= {"devices": list(devices), "device": {"gc_victim": list(collectors)}}
    reading = {"wrap": "modulo"}
    if part == "closed":
        return {"sweep": {**sweep, "queue_depth": [8]}, "trace": reading}
    with_times = [one for one in traces if "synth" in one or has_times(one)]
    return {"sweep": {**sweep, "traces": with_times}, "trace": reading}


def has_times(one: Mapping[str, Any]) -> bool:
    """Whether a file says when its requests came."""
    options = {key: value for key, value in one.items() if key != "path"}
    return bool(ds.open_trace(one["path"], **options).duration_ns)


def publish(folder: Path) -> None:
    """Write what is taken from the store: Parquet, subsets, pages, data sheet."""
    import polars

    found = ds.load_results(folder / "store")
    rows = found.to_polars()
    lines = [f"destage rerun store --where \"id == '{run}'\"" for run in rows["id"]]
    rows.with_columns(polars.Series("rerun", lines)).write_parquet(folder / "runs.parquet")
    subsets = {
        name: ds.trace_subset(runs, metric)
        for name, condition, metric in RANKED
        if len(runs := found.where(condition))
    }
    for name, subset in subsets.items():
        subset.to_json(folder / f"subset-{name}.json")
    pages = folder / "pages"
    pages.mkdir(exist_ok=True)
    names = sorted({row["trace"] for row in found.rows})
    for name in names:
        found.only(trace=name).report(pages / f"{page_of(name)}.html", title=name)
    links = "".join(f'<li><a href="{page_of(name)}.html">{name}</a></li>\n' for name in names)
    write_whole(pages / "index.html", f"{HEAD}<ul>\n{links}</ul>\n")
    write_whole(folder / "README.md", data_sheet(found, subsets, names))
    print(f"{folder}: {len(found.rows):,} runs over {len(names)} traces", file=sys.stderr)


def page_of(name: str) -> str:
    """File name of a trace's page."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)


def data_sheet(
    found: ds.Results, subsets: Mapping[str, ds.TraceSubset], names: Sequence[str]
) -> str:
    """README.md of the data set."""
    rows = found.rows
    devices = sorted({row["device"] for row in rows if row["device"]})
    counts = {
        "runs": len(rows),
        "failed": len(found.failed),
        "traces": len(names),
        "policies": len({row["label"] for row in rows}),
        "devices": len(devices),
    }
    table = "\n".join(f"| {name} | {count:,} |" for name, count in counts.items())
    ranked = "\n".join(
        f"* `subset-{name}.json`: {len(one.traces)} of {len(one.every)} traces rank"
        f" {len(one.ranking)} policies by `{one.metric.name}` as all do"
        f" (tau {one.taus[-1]:.3f}): {', '.join(one.traces)}"
        for name, one in subsets.items()
    )
    return SHEET.format(
        version=ds.__version__,
        table=table,
        sizes=", ".join(SIZES),
        devices=", ".join(devices) or "none",
        ranked=ranked,
    )


if __name__ == "__main__":
    sys.exit(main())
