"""When asking the device helps, and when it hurts: mean and p99 response time relative to LRU.

    python examples/asking.py                          # the trace that ships with the package
    python examples/asking.py TRACE.csv.xz --size 1GiB # another trace in the MSR layout
    python examples/asking.py --figure asking.svg

Every row changes one thing of the base case (rate 1, foreground GC, 256 MiB): the arrival rate, the
GC mode, or the cache size; each under three eviction waits. `benches/record/asking.md` shows the
result.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import lzma
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import destage
from destage.questions.demonstration import TRACE

POLICIES = ("lru", "ecr-e", "gcar-cflru", "sac", "cflru-e", "ecr")
WAITS = ("staged", "program", "none")
RATES = (0.25, 0.5, 1.0, 2.0, 4.0)
GC_MODES = ("background", "idle")
SIZES = ("64MiB", "1GiB")


@dataclass(frozen=True)
class Case:
    """One configuration: arrival rate, GC mode, cache size, eviction wait."""

    rate: float
    gc_mode: str
    size: str
    evict_wait: str

    @property
    def device(self) -> str:
        """The preset `small` with the case's keys."""
        return f"small[gc_mode={self.gc_mode};evict_wait={self.evict_wait}]"


def cases(size: str) -> Iterator[Case]:
    """The base case, and those that change one thing, under each eviction wait."""
    for wait in WAITS:
        base = Case(1.0, "foreground", size, wait)
        yield from (replace(base, rate=rate) for rate in RATES)
        yield from (replace(base, gc_mode=mode) for mode in GC_MODES)
        yield from (replace(base, size=other) for other in SIZES)


def at_rate(source: Path, rate: float, folder: Path) -> Path:
    """The trace (MSR layout) with its gaps divided by `rate`, as a file of its own."""
    if rate == 1.0:
        return source
    data = source.read_bytes()
    text = (lzma.decompress(data) if source.suffix == ".xz" else data).decode()
    path = folder / f"{rate:g}.csv"
    first = None
    with path.open("w") as scaled:
        for line in text.splitlines(keepends=True):
            stamp, _, rest = line.partition(",")
            first = int(stamp) if first is None else first
            scaled.write(f"{first + round((int(stamp) - first) / rate)},{rest}")
    return path


def measure(source: Path, size: str) -> list[dict[str, object]]:
    """A row for each case and policy: mean and p99, nanoseconds, and both over LRU's."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as made:
        for case in cases(size):
            trace = destage.open_trace(at_rate(source, case.rate, Path(made)), device=case.device)
            runs = destage.compare(trace, list(POLICIES), cache=case.size, device=case.device)
            lru = runs[0]
            for run in runs:
                shown: dict[str, object] = {
                    "rate": case.rate,
                    "gc_mode": case.gc_mode,
                    "size": case.size,
                    "evict_wait": case.evict_wait,
                    "policy": run.policy,
                    "hit_ratio": run["hit_ratio"],
                    "dirty_at_end": run["pending_writes"] / run.frames,
                }
                for metric in ("mean", "p99"):
                    shown[f"{metric}_ns"] = run[metric]
                    shown[f"{metric}_over_lru"] = run[metric] / lru[metric]
                rows.append(shown)
            print(f"{case}: done", file=sys.stderr)
    return rows


def draw(rows: list[dict[str, object]], size: str, path: Path) -> None:
    """One panel for each eviction wait: mean response time over LRU's by arrival rate."""
    import altair as alt

    shown = [
        {key: row[key] for key in ("rate", "evict_wait", "policy", "mean_over_lru")}
        for row in rows
        if row["gc_mode"] == "foreground" and row["size"] == size
    ]
    title = "mean response time relative to LRU"
    chart = (
        alt.Chart(alt.InlineData(values=shown))
        .mark_line(point=True)
        .encode(
            x=alt.X("rate:Q", title="arrival rate (1: as recorded)", scale=alt.Scale(type="log")),
            y=alt.Y("mean_over_lru:Q", title=title, scale=alt.Scale(type="log")),
            color=alt.Color("policy:N", title="policy"),
            strokeDash=alt.StrokeDash("policy:N", title="policy"),
        )
        .properties(width=220, height=220)
        .facet(column=alt.Column("evict_wait:N", title="an eviction waits for", sort=list(WAITS)))
    )
    chart.save(str(path))


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the rows as CSV, and draw them if asked."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    shipped = Path(destage.__file__).with_name("data") / TRACE
    parser.add_argument("trace", nargs="?", type=Path, default=shipped)
    parser.add_argument("--size", default="256MiB", help="cache size of the base case")
    parser.add_argument("--figure", type=Path, help="file for the figure, SVG or PNG")
    given = parser.parse_args(arguments)
    rows = measure(given.trace, given.size)
    out = io.StringIO()
    table = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    with contextlib.suppress(BrokenPipeError):
        print(out.getvalue(), end="")
    if given.figure:
        draw(rows, given.size, given.figure)


if __name__ == "__main__":
    main()
