"""Charts in a notebook: drawn here, without scripts that a browser would have to load."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("altair")

import destage as ds
from destage.show.charts.plots import Plots
from destage.show.charts.profile_plots import ProfilePlots


def charts() -> Iterator[tuple[str, Any]]:
    """A chart of every place that gives one."""
    trace = ds.synth("zipf", requests=2_000, pages=400, seed=1)
    results = ds.compare(trace, ["lru", "arc"], cache=["5%", "20%"])
    for name in results.plot.names():
        yield f"results.plot.{name}", getattr(results.plot, name)()
    yield "results.plot.over_size", results.plot.over_size("physical_reads")
    yield "changed", results.plot.mrc().properties(width=300)
    timed = ds.compare(
        ds.synth("zipf", requests=500, pages=200, seed=1),
        ["lru", "cflru"],
        cache="20%",
        device="small",
        warmup="none",
    )
    for name in ("response_cdf", "response_over_time", "units"):
        if name in timed.plot.names():
            yield f"timed.plot.{name}", getattr(timed.plot, name)()
    yield "curves.plot.mrc", ds.mrc(trace, "lru", cache=["5%", "20%"]).plot.mrc()
    profile = trace.profile()
    yield "profile.plot.read_ratio", profile.plot.read_ratio()
    recorded = ds.run(trace, "lru", cache="5%", series=200)
    yield "recorded.plot", recorded.plot("hit_ratio")
    yield "tuned.plot", ds.tune(trace, "cflru", {"window_fraction": [0.1, 0.5]}, cache="5%").plot()


def test_a_chart_in_a_notebook_loads_nothing() -> None:
    seen = []
    for name, chart in charts():
        bundle = chart._repr_mimebundle_()
        assert set(bundle) == {"image/svg+xml", "text/plain"}, name
        svg = bundle["image/svg+xml"]
        assert svg.startswith("<svg"), name
        outside = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?\s*(?:https?:)?//""", svg)
        assert not outside, name
        assert "<script" not in svg, name
        seen.append(name)
    assert len(seen) >= 10


@pytest.mark.parametrize("plots", [Plots, ProfilePlots])
def test_a_chart_has_its_name_and_says_what_it_is(plots: type) -> None:
    own = {name: made for name, made in vars(plots).items() if not name.startswith("_")}
    assert len(own) > 10
    for name, made in own.items():
        assert inspect.getdoc(made), name
        assert next(iter(inspect.signature(made).parameters)) in ("self", "plots"), name
