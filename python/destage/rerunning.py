"""Making a result again from what it says of itself, and comparing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from destage import _destage
from destage._files import Destination
from destage.errors import DataError, MissingFile, UsageError
from destage.results import Results
from destage.runs import ProgressCallback, thread_count
from destage.trace import PathLike, Trace, _paths, open_trace, synth

__all__ = ["Rerun", "rerun"]


@dataclass(frozen=True)
class Rerun:
    """A result that was made again."""

    results: Results
    """The new runs."""
    before: Results
    """The runs of the result."""
    differences: tuple[str, ...]
    """What is not as it was, a sentence each; empty if all is."""

    @property
    def same(self) -> bool:
        """True if every counter is as it was."""
        return not self.differences


def rerun(
    result: Results | Destination,
    *,
    trace: PathLike | Sequence[PathLike] | None = None,
    jobs: int | None = None,
    cache: bool = True,
    progress: ProgressCallback | None = None,
) -> Rerun:
    """Run again what a result says it ran, and compare every counter.

    Parameters:
        result: results, or a JSON file of them.
        trace: the trace's files, where they are no longer under the names in the result. Those are
            looked for as they were given, then beside the result.
        jobs, progress: as in `compare`. cache: as in `open_trace`.

    Raises `MissingFile`, `DataError`, and what `compare` raises. A difference is no error.
    """
    beside = None
    if isinstance(result, (str, os.PathLike)):
        beside = Path(result).parent
        result = Results.load(result)
    if not isinstance(result, Results):
        raise UsageError(f"result: expected results or a file of them, got {result!r}")
    if trace is not None and len(result.sets) > 1:
        raise UsageError("trace: the result is of several traces; their files must be in place")
    sets: list[dict[str, Any]] = []
    differences: list[str] = []
    for old in result.sets:
        opened = _open(old["trace"], trace, beside, cache, progress)
        if opened.fingerprint != old["trace"]["fingerprint"]:
            differences.append(
                f"the trace is another one: fingerprint {opened.fingerprint},"
                f" not {old['trace']['fingerprint']}"
            )
        new = _run_again(opened, old["runs"], thread_count(jobs), progress)
        sets.append(new)
        differences += _differences(old["runs"], new["runs"])
    return Rerun(Results(sets), result, tuple(differences))


def _open(
    identity: Mapping[str, Any],
    given: PathLike | Sequence[PathLike] | None,
    beside: Path | None,
    cache: bool,
    progress: ProgressCallback | None,
) -> Trace:
    options = identity["options"]
    page_size = identity["page_bytes"]
    if "synth" in options:
        workload = dict(options["synth"])
        kind = workload.pop("kind")
        return synth(kind, page_size=page_size, cache=cache, progress=progress, **workload)
    if "reader" not in options:
        raise DataError("result: trace.options: expected how the trace was read (reader or synth)")
    paths = _paths(given) if given is not None else [_found(s, beside) for s in identity["sources"]]
    return open_trace(
        paths, page_size=page_size, cache=cache, progress=progress, **options["reader"]
    )


def _found(source: str, beside: Path | None) -> Path:
    if source == "-":
        raise UsageError("the result is of a trace on standard input: give its file")
    path = Path(source)
    if not path.exists() and beside is not None and (beside / path.name).exists():
        return beside / path.name
    if not path.exists():
        raise MissingFile(f"{source}: no such file; give the trace's files if they have moved")
    return path


def _run_again(
    trace: Trace, runs: Sequence[Mapping[str, Any]], jobs: int, progress: ProgressCallback | None
) -> dict[str, Any]:
    """Run again; neighbours that differ in size only share a call, and so its threads."""
    whole: dict[str, Any] | None = None
    start = 0
    while start < len(runs):
        asked = _asked(runs[start]["config"])
        end = start
        while end < len(runs) and _asked(runs[end]["config"]) == asked:
            end += 1
        sizes = [
            {"frames": r["config"]["frames"], "given": r["config"]["cache"]}
            for r in runs[start:end]
        ]
        name, given, options = asked
        text = _destage.compare(
            trace.raw,
            [_destage.check_policy(name, given)],
            json.dumps(sizes),
            options,
            jobs,
            progress,
            None,
        )
        part = json.loads(text)
        if whole is None:
            whole = part
        else:
            whole["runs"] += part["runs"]
        start = end
    if whole is None:
        raise DataError("result: it has no runs")
    return whole


def _asked(config: Mapping[str, Any]) -> tuple[str, str, str]:
    cost = config["cost"]
    warmup = config["warmup"]
    options = {
        "cost": cost and f"read={cost['read']},write={cost['write']}",
        "warmup": warmup,
        "fetch_on_write_miss": config["fetch_on_write_miss"],
        "flush_at_end": config["flush_at_end"],
        "check": config["check"],
    }
    return config["policy"], json.dumps(config["given"]), json.dumps(options)


def _differences(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[str]:
    found = []
    for old, new in zip(before, after, strict=True):
        name = f"{old['config']['policy']} at {old['config']['cache']}"
        if old["config"]["params"] != new["config"]["params"]:
            found.append(
                f"{name}: parameters were {json.dumps(old['config']['params'])},"
                f" and are {json.dumps(new['config']['params'])}"
            )
        found += [
            f"{name}: {key} was {value:,}, and is {new['counters'].get(key, 0):,}"
            for key, value in old["counters"].items()
            if new["counters"].get(key) != value
        ]
    return found
