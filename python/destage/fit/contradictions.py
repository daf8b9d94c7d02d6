"""fio's JSON that contradicts itself: refused, with the reason (`docs/spec/fit.md` 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from destage.base.errors import DataError
from destage.base.io.names import printable

__all__ = ["check_document", "check_rates", "last_document"]

#: Relative difference of fio's rate from requests in flight / latency that is refused.
MOST_DIFFERENCE = 0.2
#: Steps whose rate is no fixed one: requests in flight change, or the script waits between writes.
_CHANGING = (
    "write-qd1",
    "write-batch-",
    "burst-",
    "fill-",
    "overwrite-",
    "read-batch-",
    "tail-",
    "uniform-",
    "zones",
)
#: Options that keep a device waiting, or fio from measuring.
_LIMITS = ("rate", "rate_iops", "thinktime", "rate_process")
_SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap")
_NO_LATENCY = ("gtod_reduce", "disable_lat", "disable_clat")

Job = Mapping[str, Any]


def last_document(path: str, documents: Sequence[Any]) -> tuple[Mapping[str, Any], str | None]:
    """The document of a file to use, and a warning if it has several.

    `fio --status-interval` writes one each time, of which the last is of the whole run. Raises
    `DataError` where they are of different runs.
    """
    last: Any = documents[-1]
    if len(documents) == 1:
        return last, None
    names = [{str(job.get("jobname")) for job in _jobs(one)} for one in documents]
    if any(not name <= names[-1] for name in names):
        raise DataError(
            f"{printable(path)}: it holds {len(documents)} documents of fio, of different jobs:"
            " give each run in a file of its own"
        )
    return last, (
        f"{printable(path)}: {len(documents)} documents (fio --status-interval): the last one is"
        " of the whole run and is used"
    )


def _jobs(document: Any) -> list[Job]:
    jobs = document.get("jobs") if isinstance(document, Mapping) else None
    return [job for job in jobs if isinstance(job, Mapping)] if isinstance(jobs, list) else []


def check_document(path: str, data: Mapping[str, Any]) -> None:
    """Raise `DataError` for a document whose jobs are no steps of one device."""
    where = printable(path)
    if "client_stats" in data:
        raise DataError(
            f"{where}: this is of fio --client, whose jobs are in client_stats: run fio on the"
            " server itself, with --output-format=json+, and give that file"
        )
    groups: dict[Any, list[str]] = {}
    measured: dict[str, str] = {}
    for job in _jobs(data):
        name = str(job.get("jobname", "?"))
        if "mixed" in job:
            raise DataError(
                f"{where}: step {printable(name)}: reads and writes are reported as one"
                " (unified_rw_reporting): measure without it"
            )
        files = str(options_of(data, job).get("filename", ""))
        if ":" in files.replace("\\:", ""):
            raise DataError(
                f"{where}: step {printable(name)}: filename has several devices"
                f" ({printable(files)}): measure one device at a time"
            )
        if files:
            measured.setdefault(files, name)
        names = groups.setdefault(job.get("groupid"), [])
        names += [] if name in names else [name]
    if len(measured) > 1:
        shown = ", ".join(f"{printable(n)} of {printable(f)}" for f, n in [*measured.items()][:3])
        raise DataError(
            f"{where}: its steps measure {len(measured)} devices ({shown}): measure one device at"
            " a time"
        )
    for group, names in groups.items():
        if group is not None and len(names) > 1:
            shown = ", ".join(map(printable, names[:3])) + (", ..." if len(names) > 3 else "")
            raise DataError(
                f"{where}: {len(names)} jobs ran at once ({shown}: one groupid), so that each"
                " measured the others too: add stonewall to each job"
            )


def options_of(data: Mapping[str, Any], job: Job) -> dict[str, str]:
    """Options of a job, including the global ones."""
    common, own = data.get("global options"), job.get("job options")
    both = [one for one in (common, own) if isinstance(one, Mapping)]
    return {str(k): str(v) for one in both for k, v in one.items()}


def why_no_latency(options: Mapping[str, str]) -> str:
    """Why a job has no latencies."""
    named = [key for key in _NO_LATENCY if options.get(key, "0") != "0"]
    return (
        f"it has no latencies ({named[0]}: measure without it)" if named else "it has no latencies"
    )


def check_rates(
    path: str, data: Mapping[str, Any], steps: Sequence[tuple[str, float, int, Job]]
) -> None:
    """Raise `DataError` for a step whose rate, as fio has it, is not what its latency makes.

    `steps` are the name of each step, n / m (requests in flight over the mean latency, a second),
    how many jobs are in flight, and what fio printed of it: of all of them together, or, without
    `group_reporting`, of each (several with one name in one group).
    """
    together: dict[tuple[str, object], list[tuple[float, int, Job]]] = {}
    for at, (name, expected, jobs, job) in enumerate(steps):
        if not name.startswith(_CHANGING):
            group = job.get("groupid")
            key = str(job.get("jobname", "?")), ("alone", at) if group is None else group
            together.setdefault(key, []).append((expected, jobs, job))
    for (called, _), ones in together.items():
        apart = len(ones) > 1
        expected = sum(one / (jobs if apart else 1) for one, jobs, _ in ones)
        rate = sum(map(_iops, (job for _, _, job in ones)))
        if rate > 0 and abs(rate / expected - 1) > MOST_DIFFERENCE:
            raise DataError(
                f"{printable(path)}: step {printable(called)}: fio's iops ({rate:,.0f}) is not"
                f" requests in flight / latency ({expected:,.0f}):"
                f" {_cause(options_of(data, ones[0][2]))}"
            )


def _iops(job: Job) -> float:
    """Requests a second of both directions, as fio has them; 0 where it has none."""
    sides = [job.get(side) for side in ("read", "write")]
    found = [side.get("iops") for side in sides if isinstance(side, Mapping)]
    return sum(float(one) for one in found if isinstance(one, (int, float)))


def _cause(options: Mapping[str, str]) -> str:
    limits = [key for key in _LIMITS if options.get(key, "0") != "0"]
    if limits:
        return f"{limits[0]} keeps the device waiting: measure without it"
    engine = options.get("ioengine", "")
    if engine in _SYNCHRONOUS and options.get("iodepth", "1") != "1":
        return f"ioengine {engine} has one request in flight: use libaio or io_uring"
    return "the device did not have that many requests all the time: measure again without limits"
