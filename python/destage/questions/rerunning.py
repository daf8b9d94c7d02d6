"""Repeating a saved result, and comparing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from destage import _destage
from destage.base.errors import DataError, MissingFile, UsageError
from destage.base.io.files import Destination
from destage.base.io.names import printable
from destage.experiment.execute import result_set
from destage.experiment.result_sets import together
from destage.experiment.results import Results, load_results
from destage.experiment.store import is_store
from destage.experiment.task import Task
from destage.lab.catalogue import policies
from destage.lab.options import ProgressCallback, run_options, thread_count
from destage.lab.policy_base import OwnPolicy
from destage.lab.ssd import Device
from destage.lab.traces import PathLike, Trace, in_place, opened_again, paths_of
from destage.lab.user_policies.trust import from_data, is_in_a_file
from destage.model.trace_identity import stored_reader

__all__ = ["Rerun", "rerun"]


@dataclass(frozen=True)
class Rerun:
    """A repeated result, compared with the saved one."""

    results: Results
    """The new runs."""
    before: Results
    """The runs of the result."""
    differences: tuple[str, ...]
    """Differences from the first run, a sentence each; empty without any."""

    @property
    def same(self) -> bool:
        """True if every counter is equal."""
        return not self.differences


def rerun(
    result: Results | Destination,
    *,
    where: str | None = None,
    trace: PathLike | Sequence[PathLike] | None = None,
    jobs: int | None = None,
    cache: bool = True,
    allow_code: bool = False,
    progress: ProgressCallback | None = None,
) -> Rerun:
    """Repeat the runs of a result, and compare every counter.

    Parameters:
        result: results, a JSON file of them, or a store.
        where: condition on the runs to repeat, as `Results.where` takes: `"id == '...'"`.
        trace: new paths of the trace's files; by default those in the result, then the same names
            beside the result and in `$DESTAGE_TRACES`.
        jobs, progress: as in `compare`. cache: as in `open_trace`.
        allow_code: run the policies in Python files that the result names. A policy is a program:
            allow it for results whose origin you trust.

    Raises `MissingFile`, `DataError`, and the errors of `compare`. A difference is not an error.
    """
    beside, source = None, "the result"
    if isinstance(result, (str, os.PathLike)):
        beside, source = Path(result).parent, printable(result)
        result = load_results(result) if is_store(result) else Results.load(result)
    if not isinstance(result, Results):
        raise UsageError(f"result: expected results, a file of them or a store, got {result!r}")
    if where is not None:
        result = result.where(where)
    if result.stores:
        result = result.results()
    if not len(result):
        raise UsageError(f"{source}: no run to repeat{' fits the condition' if where else ''}")
    several = len({one["trace"]["fingerprint"] for one in result.sets}) > 1
    if trace is not None and several:
        raise UsageError(
            "--trace (trace=): the result is of several traces: set DESTAGE_TRACES to their folder"
        )
    sets: list[dict[str, Any]] = []
    differences: list[str] = []
    with from_data(source, allow_code=allow_code):
        owned = _in_files(result)
    for old in result.sets:
        opened = _open(old["trace"], trace, beside, cache, progress)
        if opened.fingerprint != old["trace"]["fingerprint"]:
            differences.append(
                f"the trace is another one: fingerprint {opened.fingerprint},"
                f" not {old['trace']['fingerprint']}"
            )
        drive = _drive(old.get("device"), cache)
        new = _run_again(opened, drive, old["runs"], owned, thread_count(jobs), progress)
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
    if "synth" in identity["options"]:
        return opened_again(identity, (), cache, progress)
    paths = (
        paths_of(given) if given is not None else [_found(s, beside) for s in identity["sources"]]
    )
    return opened_again(identity, paths, cache, progress)


def _drive(record: Mapping[str, Any] | None, cache: bool) -> Device | None:
    """The device that a result was made with, as it was then."""
    if record is None:
        return None
    if "trace" in record:
        record = {**record, "trace": stored_reader(record["trace"])}
    return Device(_destage.drive_from_record(json.dumps(record), cache))


def _found(source: str, beside: Path | None) -> Path:
    if source == "-":
        raise UsageError("the result has a trace from standard input: name its file")
    path = Path(source)
    if not path.exists() and beside is not None and (beside / path.name).exists():
        return beside / path.name
    try:
        return in_place(source)
    except MissingFile:
        raise MissingFile(
            f"{source}: no such file, and a store has no folder of it: give --trace FILE (trace=),"
            " or set DESTAGE_TRACES to its folder"
        ) from None


def _in_files(result: Results) -> dict[tuple[str, str], OwnPolicy]:
    """The policies in files, by name and parameters, before anything runs."""
    asked = dict.fromkeys(_asked(run)[:2] for old in result.sets for run in old["runs"])
    return {
        (name, given): OwnPolicy.in_file(name, json.loads(given))
        for name, given in asked
        if is_in_a_file(name)
    }


def _known(name: str, given: str) -> tuple[str, str]:
    """The policy as the boundary takes it. Raises `UsageError` for a user policy."""
    if name not in {policy.name for policy in policies()} | {"none"}:
        raise UsageError(
            f"{name} is no built-in policy: a result does not hold the code of a policy of your"
            " own; compare makes it again from the class"
        )
    return _destage.check_policy(name, given)


def _run_again(
    trace: Trace,
    drive: Device | None,
    runs: Sequence[Mapping[str, Any]],
    owned: Mapping[tuple[str, str], OwnPolicy],
    jobs: int,
    progress: ProgressCallback | None,
) -> dict[str, Any]:
    """Run again; neighbours that differ in size only share a call, and so its threads."""
    sets = []
    for (name, given, options), same in groupby(runs, key=_asked):
        configs = [run["config"] for run in same]
        sizes = [{"frames": one["frames"], "given": one["cache"]} for one in configs]
        spec = owned.get((name, given)) or _known(name, given)
        task = Task.of(trace, drive, [spec], json.dumps(sizes), options)
        sets.append(result_set(task, jobs, progress))
    if not sets:
        raise DataError("result: it has no runs")
    return together(sets)


def _asked(run: Mapping[str, Any]) -> tuple[str, str, str]:
    config = run["config"]
    options = {option.name: config.get(option.name) for option in run_options()}
    options["profile"] = run.get("profile") is not None
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
        sources = [run["config"].get("source_sha256") for run in (old, new)]
        if sources[0] is not None and sources[0] != sources[1]:
            found.append(
                f"{name}: the policy's file is another one: SHA-256 {sources[1]}, not {sources[0]}"
            )
        found += _changed(name, old["counters"], new["counters"])
        before_ns, after_ns = old.get("timing"), new.get("timing")
        if before_ns is None or after_ns is None:
            if before_ns is not after_ns:
                found.append(f"{name}: one of the two has response times, the other has none")
            continue
        found += _changed(name, before_ns["counters"], after_ns["counters"])
        rest = [k for k in before_ns if k != "counters" and before_ns[k] != after_ns.get(k)]
        found += [f"{name}: {key} is not as it was" for key in rest]
    return found


def _changed(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Counters that differ; a counter may be a list (per unit), or have others in it."""
    found: list[str] = []
    for key, value in before.items():
        now = after.get(key)
        if isinstance(value, Mapping) and isinstance(now, Mapping):
            found += _changed(name, value, now)
        elif value != now:
            plain = isinstance(value, int) and isinstance(now, int)
            what = f"was {value:,}, and is {now:,}" if plain else "is not as it was"
            found.append(f"{name}: {key} {what}")
    return found
