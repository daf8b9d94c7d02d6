"""Numbers of a device, each against another one of the same run: by hand, or by conservation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds
from destage.model.between_traces import apart
from destage.model.life import life

#: Four planes: another FTL than `page` moves some pages between them.
SMALL = """[device]
channels = 2
chips_per_channel = 2
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 32
pages_per_block = 32
page_bytes = 4096
logical_pages = 3200
read_ns = [50_000]
program_ns = [200_000]
erase_ns = 1_500_000
precondition = "random"
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("devices") / "d.toml"
    path.write_text(SMALL)
    return path


def written(requests: int, apart_ns: int) -> ds.Trace:
    """Writes of single pages at random."""
    lpns = [(7919 * k * k + 31 * k) % 3200 for k in range(requests)]
    return ds.open_trace(
        {
            "time_ns": [k * apart_ns for k in range(requests)],
            "page": lpns,
            "op": ["w"] * requests,
        }
    )


FTLS: dict[str, dict[str, Any]] = {
    "page": {},
    "page-ideal": {"ftl": "page-ideal"},
    "dftl": {"ftl": "dftl"},
    "bast": {"ftl": "bast[log_blocks=8]"},
    "fast": {"ftl": "fast[log_blocks=8]"},
}


@pytest.mark.parametrize("ftl", list(FTLS))
def test_windows_have_the_host_programs_of_the_run_and_moves_explain_waf(
    device: Path, ftl: str
) -> None:
    trace = written(2000, 100_000)
    run = ds.run(trace, "lru", cache="64p", device=str(device), warmup="none", **FTLS[ftl])
    flash: Any = (run.windows or {})["flash"]
    programs = run.metrics["flash_programs"]
    assert sum(flash["host_programs"]) == programs
    assert sum(flash["programs"]) / programs == pytest.approx(run["waf"])
    moved = run["gc_moves"]
    assert moved > 0
    if ftl != "dftl":  # which programs translation pages, too
        assert run["waf"] == pytest.approx(1 + moved / programs)
    assert 0 < run["utilisation_mean"] <= run["utilisation_max"] <= 1


def test_a_map_cache_counts_a_program_and_its_moves_at_one_instant(device: Path) -> None:
    runs = [
        ds.run(
            written(2000, gap),
            "lru",
            cache="64p",
            warmup="none",
            device=f"{device}[map_cache=4096]",
        )
        for gap in (20_000, 200_000)
    ]
    for run in runs:
        flash: Any = (run.windows or {})["flash"]
        assert sum(flash["host_programs"]) == run.metrics["flash_programs"]
    low, high = apart("waf", *runs) or (1.0, -1.0)
    assert low <= runs[1]["waf"] - runs[0]["waf"] <= high


def test_rates_and_utilisation_leave_out_what_is_no_response(
    destage: Destage, device: Path, tmp_path: Path
) -> None:
    (tmp_path / "f.csv").write_text(
        "t,op,offset,length\n0,W,0,4096\n100000,F,0,0\n200000,W,4096,4096\n300000,R,0,4096\n"
    )
    trace = ds.open_trace(
        tmp_path / "f.csv",
        format="csv",
        columns="time=t,op=op,offset=offset,length=length",
        time_unit="ns",
        offset_unit="byte",
        length_unit="byte",
        op_read="R",
        op_write="W",
        op_flush="F",
    )
    rates = []
    for flush in ("ignore", "drain"):
        run = ds.run(trace, "none", device=str(device), warmup="none", flush=flush)
        assert run["requests"] == 3
        rates.append(run["iops"] * run["makespan_ns"])
    assert rates[0] == pytest.approx(rates[1]) == pytest.approx(3e9)


def test_work_after_the_last_request_makes_no_unit_busier_than_busy(device: Path) -> None:
    run = ds.run(written(300, 1000), "lru", cache="1p", device=str(device), warmup="none")
    assert run["utilisation_max"] == 1.0


def test_a_closed_loop_and_a_run_whose_writes_are_pending_have_no_years() -> None:
    timing = {
        "counters": {"makespan_ns": 1e15, "flash_programs": 3000, "erases": 200},
        "block_erases": {"blocks": 100},
    }
    drive: dict[str, Any] = {"device": {"logical_pages": 1000, "pe_cycles": 10}}
    assert life(drive, timing, None, {}) is not None
    assert life({**drive, "host": {"mode": "closed"}}, timing, None, {}) is None
    assert life(drive, timing, None, {"flash_writes": 9, "physical_writes": 0}) is None


def test_years_of_a_closed_loop_cannot_be_asked_for(destage: Destage, msr: Path) -> None:
    asked = ("compare", msr, "-p", "lru", "-c", "4p", "-d", "small", "--pe-cycles", "3000")
    refused = destage(*asked, "--queue-depth", "8")
    assert refused.status == 2
    assert "--pe-cycles: a closed loop runs as fast as the device" in refused.err
    both = destage(*asked, "--queue-depth", "8,trace", "--view", "endurance")
    assert both.status == 0, both.err
