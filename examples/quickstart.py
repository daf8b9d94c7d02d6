"""Compare policies on the trace that ships with Destage, and look at the numbers.

Run it with `python examples/quickstart.py`; give it a trace file of your own if you have one.
"""

from __future__ import annotations

import sys

import destage


def main(paths: list[str]) -> None:
    """Compare, print, and save."""
    trace = destage.open_trace(paths) if paths else destage.demo_trace()
    print(trace)

    # Three policies at two sizes: six runs, on all processors.
    results = destage.compare(
        trace,
        ["lru", "arc", ("cflru", {"window_fraction": 0.25})],
        cache=["1%", "10%"],
        cost="read=1,write=3",
    )
    print(results)

    # Every run is typed data.
    # Writes with those that pages left dirty in the cache still cost.
    fewest = min(results, key=lambda run: run.writes or 0)
    print(f"fewest flash writes: {fewest.label} at {fewest.cache}: {fewest.writes:,}")

    # One tidy table, one row per run: for polars, pandas, DuckDB, a spreadsheet.
    results.to_parquet("quickstart.parquet")
    results.to_csv("quickstart.csv")
    print("written: quickstart.parquet, quickstart.csv")


if __name__ == "__main__":
    main(sys.argv[1:])
