"""The requests that every simulator is given, as files in the peers' own formats.

Made once by the command `destage`; page-aligned, because DiskSim's SSD takes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from peers.drives import Device

SMALL = Device(channels=8, chips_per_channel=1, blocks=1024)  # 2 GiB raw
LARGE = Device(channels=32, chips_per_channel=1, blocks=2048)  # 16 GiB raw


@dataclass(frozen=True)
class Workload:
    """Requests, the drive they go to, and what we promise for them."""

    name: str
    about: str
    drive: Device
    make: tuple[str, ...]
    """Arguments of `destage` before `--to FORMAT --output FILE`."""
    promised: dict[str, float]
    """Requests per CPU second in multiples of a peer's, whole processes at about a million requests;
    a peer that is missing is not run."""
    source: str | None = None
    """A recorded trace, in the folder `own` of the traces; without it the workload is skipped."""


def uniform(read_ratio: float, requests: int = 1_000_000, gap_ns: int = 600_000) -> tuple[str, ...]:
    return (
        *("trace", "synth", "uniform", "--requests", str(requests), "--pages", "400000"),
        *("--read-ratio", str(read_ratio), "--gap-ns", str(gap_ns), "--size", "1", "--seed", "1"),
    )


WORKLOADS = (
    Workload(
        name="syn1m",
        about="1 M pages, 90 % writes, uniform over 400,000 pages, gaps of 600 us on average",
        drive=SMALL,
        make=uniform(0.1),
        promised={"disksim": 10.0},
    ),
    Workload(
        name="syn1m-reads",
        about="the same with reads only, gaps of 50 us",
        drive=SMALL,
        make=uniform(1, gap_ns=50_000),
        promised={"disksim": 20.0, "mqsim": 4.0},
    ),
    Workload(
        name="syn1m-writes",
        about="the same with writes only",
        drive=SMALL,
        make=uniform(0),
        promised={"disksim": 10.0, "mqsim": 4.0},
    ),
    Workload(
        name="pgread",
        about="PostgreSQL, 72.5 % reads, recorded; light collection",
        drive=LARGE,
        make=("trace", "convert"),
        promised={"disksim": 20.0, "mqsim": 4.0},
        source="pgread.csv.xz",
    ),
    Workload(
        name="pgtpcb",
        about="PostgreSQL, 55.4 % reads, write-heavy in bytes, recorded",
        drive=LARGE,
        make=("trace", "convert"),
        promised={"disksim": 20.0, "mqsim": 4.0},
        source="pgtpcb.csv.xz",
    ),
)


def file_of(
    workload: Workload,
    form: str,
    folder: Path,
    traces: Path,
    destage: Callable[..., None],
) -> Path | None:
    """The workload in a format, made if it is not there; None if its recording is not."""
    path = folder / f"{workload.name}.{form}"
    if path.exists():
        return path
    source: tuple[str, ...] = ()
    if workload.source is not None:
        recording = traces / "own" / workload.source
        if not recording.exists():
            return None
        source = (str(recording),)
    folder.mkdir(parents=True, exist_ok=True)
    kept = ("--lossy",) if source else ()  # measured responses have no place in these formats
    destage("--quiet", *workload.make, *source, *kept, "--to", form, "--output", str(path))
    return path
