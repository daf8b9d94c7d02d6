"""Another program's hits and misses beside the specification's: `check-sim`."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Unpack

from destage import _destage
from destage.base.errors import DataError, UsageError
from destage.base.io.files import lines_of
from destage.lab.catalogue import policies
from destage.lab.checks import asked_once, one_trace
from destage.lab.options import ProgressCallback, RunOptions
from destage.lab.policy_base import OwnPolicy
from destage.lab.traces import Trace
from destage.model.upstream import Upstream, upstream_of
from destage.questions.runs import run
from destage.show.tables.simulators import checked_text

__all__ = ["CheckedSimulator", "Leaving", "Variant", "check_simulator"]

#: How programs write a hit and a miss.
WORDS = {
    **dict.fromkeys(("1", "h", "hit", "true", "yes"), True),
    **dict.fromkeys(("0", "m", "miss", "false", "no"), False),
}
#: Columns of a table that say it, and whether 1 stands for a hit there.
HIT_COLUMNS = {"hit": True, "is_hit": True, "result": True, "outcome": True, "miss": False}
PAGE_COLUMNS = ("page", "lpn", "key", "id", "obj_id", "object")


@dataclass(frozen=True)
class Leaving:
    """The first access at which the list leaves the specification."""

    access: int
    """Its number, from 0."""
    op: str
    """`read` or `write`."""
    page: int
    hit: bool
    """Of the specification; the list has the other."""
    last_access: int | None
    """The page's access before; None if there is none."""
    evicted_at: int | None
    """The access at which the page was evicted here since then; None if it is resident, or never
    was."""
    evicted_for: int | None
    """The page of that access."""
    lists: dict[str, Any] | None
    """The policy's lists before the access, newest first; None for a policy that cannot be stepped
    (`destage.Cache`)."""


@dataclass(frozen=True)
class Variant:
    """A known variant of the policy, run beside the list."""

    policy: str
    whose: str
    """The program that has it."""
    differing: int
    """Accesses at which the list differs from it."""


@dataclass(frozen=True)
class CheckedSimulator:
    """A list of hits and misses beside a policy's specification."""

    trace: str
    policy: str
    frames: int
    accesses: int
    hits: int
    """Of the specification."""
    listed_hits: int
    differing: int
    """Accesses at which the list differs."""
    first: Leaving | None
    """None if the list agrees throughout."""
    variants: tuple[Variant, ...]
    """Known variants, closest first; empty if the list agrees."""
    known: tuple[Upstream, ...]
    """Known differences of other programs from the specification of this policy."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return what the command prints."""
        return checked_text(self.to_dict())


def check_simulator(
    trace: Trace,
    decisions: str | PathLike[str],
    policy: str,
    *,
    cache: str,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> CheckedSimulator:
    """Compare another program's hits and misses with the specification of a policy.

    Parameters:
        decisions: a file with one line per page access, in the trace's order: `1` or `0`, `hit` or
            `miss`; or a CSV file with a column `hit` (or `miss`, `result`) and, if it has one, a
            column `page` (`key`, `id`) that is checked against the trace; or the JSON lines of
            `destage run --decisions`. Also as `.gz` or `.xz`.
        policy: one policy, as in `run`; no device, and none of your own.
        cache: one size, as in `run`.
        options: as in `run`.

    Raises `DataError` for a line that is neither hit nor miss, that has another page than the
    trace, or for more or fewer lines than page accesses; else as `run`.
    """
    one_trace("check-sim", trace, policy)
    name = str(policy).partition("[")[0].lower()
    if any(known.name == name and known.needs_device for known in policies()):
        raise UsageError(
            f"policy: {policy} asks the device, which hits and misses do not show: expected a"
            " policy that runs without one"
        )
    spec, _ = asked_once(policy, cache, None)
    if isinstance(spec, OwnPolicy):
        raise UsageError(f"policy: {policy} has no specification here: expected a policy's name")
    log = _Log(trace, fspath(decisions), cache, progress, options)
    with tempfile.TemporaryDirectory(prefix="destage-check-sim-") as folder:
        made = log.against(policy, Path(folder) / "run.jsonl", first=True)
        known = upstream_of(made.policy.partition("[")[0])
        others = [one for one in known if one.variant is not None] if made.first else []
        fits = [
            Variant(one.variant, one.whose, log.against(one.variant, Path(folder) / "v").differing)
            for one in others
            if one.variant is not None
        ]
    fits.sort(key=lambda fit: fit.differing)
    return CheckedSimulator(
        trace=trace.name,
        policy=made.label,
        frames=made.frames,
        accesses=made.accesses,
        hits=made.hits,
        listed_hits=made.listed,
        differing=made.differing,
        first=made.first,
        variants=tuple(fits),
        known=known,
    )


@dataclass
class _Made:
    """A policy's run beside the list."""

    policy: str
    label: str
    frames: int
    accesses: int = 0
    hits: int = 0
    listed: int = 0
    differing: int = 0
    first: Leaving | None = None


@dataclass(frozen=True)
class _Log:
    """The list, and the runs that it is compared with."""

    trace: Trace
    path: str
    cache: str
    progress: ProgressCallback | None
    options: Any

    def against(self, policy: str, log: Path, *, first: bool = False) -> _Made:
        """Run a policy and compare; with `first`, find out about the first difference."""
        asked: Any = self.options
        done = run(
            self.trace,
            policy,
            cache=self.cache,
            decisions=log,
            progress=self.progress,
            **asked,
        )
        made = _Made(done.run.policy, done.run.label, done.run.frames)
        first_page = self._compared(log, made)
        if first and first_page is not None:
            made.first = _leaving(log, *first_page, made)
        return made

    def _compared(self, log: Path, made: _Made) -> tuple[int, int] | None:
        """Count hits and differences; access and page of the first difference."""
        first = None
        with lines_of(self.path) as lines, log.open("rb") as ours:
            listed = _listed(lines, self.path)
            for number, raw in enumerate(ours):
                line = json.loads(raw)
                row, hit, page = next(listed, (0, None, None))
                if hit is None:
                    raise DataError(
                        f"{self.path}: {number:,} decisions for {self.trace.accesses:,} page"
                        f" accesses ({self.trace.requests:,} requests): expected one line a page"
                        " access"
                    )
                if page is not None and page != line["page"]:
                    raise DataError(
                        f"{self.path}:{row}: page {page}, and access {number:,} of"
                        f" {self.trace.name} is of page {line['page']}: expected the trace's order"
                        " (--page-size, or a file of decisions without a page column)"
                    )
                made.accesses += 1
                made.hits += line["hit"]
                made.listed += hit
                if hit != line["hit"]:
                    made.differing += 1
                    first = (number, line["page"]) if first is None else first
            if next(listed, None) is not None:
                raise DataError(
                    f"{self.path}: more decisions than the {self.trace.accesses:,} page accesses of"
                    f" {self.trace.name}"
                )
        return first


def _leaving(log: Path, at: int, page: int, made: _Made) -> Leaving:
    """The state before an access, from the run's own decisions."""
    try:
        cache = _destage.Cache(made.label, made.frames)
    except UsageError:
        cache = None
    last = evicted = evicted_for = None
    with log.open("rb") as lines:
        for number, raw in enumerate(lines):
            line = json.loads(raw)
            if number == at:
                break
            if line["page"] == page:
                last, evicted, evicted_for = number, None, None
            if page in line["evicted"]:
                evicted, evicted_for = number, line["page"]
            if cache is not None:
                cache.access(line["page"], line["op"] == "w")
    lists = {} if cache is None else cache.lists
    return Leaving(
        access=at,
        op="write" if line["op"] == "w" else "read",
        page=page,
        hit=line["hit"],
        last_access=last,
        evicted_at=evicted,
        evicted_for=evicted_for,
        lists={n: list(v) for n, v in lists.items() if isinstance(v, list)} or None,
    )


def _listed(lines: Iterator[str], path: str) -> Iterator[tuple[int, bool, int | None]]:
    """Number of the line, hit, and page where the file has it."""
    first = next(lines, "")
    if not first.strip():
        raise DataError(
            f"{path}: no decisions in it: expected hit or miss, one line per page access"
        )
    second = next(lines, "")
    rest = chain([second] if second else [], lines)
    # `hit` above 1 and 0 is a heading, and above `miss` the first decision.
    heads = first.strip().lower() in HIT_COLUMNS and second.strip() in ("0", "1")
    if first.lstrip().startswith("{"):
        yield from _json_lines(chain([first], rest), path)
    elif "," in first or heads:
        yield from _table(first, rest, path)
    else:
        for row, line in enumerate(chain([first], rest), 1):
            yield row, _word(line, path, row), None


def _json_lines(lines: Iterable[str], path: str) -> Iterator[tuple[int, bool, int | None]]:
    for row, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
            if "idle_write" not in line:
                yield row, bool(line["hit"]), line.get("page")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(
                f'{path}:{row}: expected a line of `destage run --decisions`, such as {{"page":'
                f' 7, "hit": true}}, found {text.strip()[:60]!r}'
            ) from None


def _table(first: str, rest: Iterable[str], path: str) -> Iterator[tuple[int, bool, int | None]]:
    names = [name.strip().lower() for name in next(csv.reader([first]))]
    said = [name for name in names if name in HIT_COLUMNS]
    if len(said) != 1:
        raise DataError(
            f"{path}:1: columns {', '.join(names)}: expected one of {', '.join(HIT_COLUMNS)}"
        )
    at = names.index(said[0])
    pages = [names.index(name) for name in PAGE_COLUMNS if name in names][:1]
    for row, cells in enumerate(csv.reader(rest), 2):
        if len(cells) != len(names):
            raise DataError(f"{path}:{row}: {len(cells)} cells, expected {len(names)}")
        hit = _word(cells[at], path, row)
        yield row, hit is HIT_COLUMNS[said[0]], _page(cells[pages[0]], path, row) if pages else None


def _page(text: str, path: str, row: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"{path}:{row}: page {text!r}: expected a whole number") from None


def _word(text: str, path: str, row: int) -> bool:
    hit = WORDS.get(text.strip().lower())
    if hit is None:
        raise DataError(
            f"{path}:{row}: {text.strip()[:40]!r}: expected hit or miss (1 or 0), a line a page"
            " access"
        )
    return hit
