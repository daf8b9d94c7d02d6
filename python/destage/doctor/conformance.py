"""Conformance vectors: tiny traces with every decision written out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from destage import _destage
from destage.base.errors import UsageError
from destage.base.io.path_conflicts import reading
from destage.lab.policy_base import OwnPolicy, Policy
from destage.lab.traces import PathLike, paths_of

__all__ = ["ConformanceReport", "VectorFile", "conform", "conform_emit"]


@dataclass(frozen=True)
class VectorFile:
    """Conformance to the vectors of one file."""

    path: str
    """The file, as it was named."""
    passed: int
    """Vectors that agreed in all that they list."""
    failed: int
    """Vectors that differed."""
    skipped: Mapping[str, int]
    """Vectors that were not run, by reason."""
    not_compared: Mapping[str, int]
    """Keys outside the layout, and how many vectors have them."""
    differences: tuple[str, ...]
    """Where each failed vector differs first, in a sentence."""

    def summary(self) -> str:
        """Return one line, or a few."""
        skipped = sum(self.skipped.values())
        line = f"{self.path}: {self.passed} passed, {self.failed} failed, {skipped} skipped"
        reasons = [f"{n} because {why}" for why, n in self.skipped.items()]
        keys = [
            f"key {key!r} of {n} vectors was not compared" for key, n in self.not_compared.items()
        ]
        return "\n  ".join([line + (f" ({'; '.join(reasons)})" if reasons else ""), *keys])


@dataclass(frozen=True)
class ConformanceReport:
    """Conformance to the vectors of several files."""

    files: tuple[VectorFile, ...]
    """One per file, in the order given."""
    data: Mapping[str, Any]
    """Everything, as the JSON form has it."""

    @property
    def passed(self) -> int:
        """Vectors that agreed."""
        return sum(f.passed for f in self.files)

    @property
    def failed(self) -> int:
        """Vectors that differed."""
        return sum(f.failed for f in self.files)

    @property
    def skipped(self) -> int:
        """Vectors that were not run."""
        return sum(sum(f.skipped.values()) for f in self.files)

    @property
    def ok(self) -> bool:
        """True if none differed."""
        return self.failed == 0

    def __str__(self) -> str:
        """Return the summary of each file, and where vectors differ."""
        return "\n".join("\n  ".join([f.summary(), *f.differences]) for f in self.files)


def conform(
    vectors: PathLike | Sequence[PathLike],
    *,
    policy: type[Policy] | Callable[..., Policy] | None = None,
    only: str | None = None,
) -> ConformanceReport:
    """Run vectors and compare every decision and counter.

    Parameters:
        vectors: files of vectors, one a line.
        policy: a policy of your own to run instead of the built-in ones; it is made for each vector
            with the vector's frames and parameters (`policy(frames, **params)`).
        only: with `policy`: only vectors of this name, such as `"arc"`.

    Raises `MissingFile`, and `DataError` for a line that is not a vector; a vector that differs is
    counted (`ok`, `failed`).
    """
    files = paths_of(vectors)
    reading("the vectors", *files)
    if policy is None:
        if only is not None:
            raise UsageError("only: it chooses vectors for a policy of your own (policy=)")
        text, sentences = _destage.conform(files)
    else:
        own = OwnPolicy.of(policy)
        if own is None:
            raise UsageError(f"policy: expected a class, got {policy!r}")
        name = own.name

        def make(params: str, frames: int, pages_per_block: int) -> Policy:
            own = OwnPolicy(name, policy, json.loads(params), needs_next_use=False)
            return own.make(frames, pages_per_block)

        text, sentences = _destage.conform_own(files, make, only)
    data = json.loads(text)
    found = iter(sentences)
    reports = tuple(
        VectorFile(
            path=f["path"],
            passed=f["passed"],
            failed=f["failed"],
            skipped=f["skipped"],
            not_compared=f["not_compared"],
            differences=tuple(next(found).removeprefix(f"{f['path']}: ") for _ in f["differences"]),
        )
        for f in data["files"]
    )
    return ConformanceReport(reports, data)


def conform_emit(vectors: PathLike) -> bytes:
    """Decisions of every line of a file of vectors, as JSON lines; compares nothing.

    Raises as `conform`.
    """
    (path,) = paths_of([vectors])
    reading("the vectors", path)
    return _destage.conform_emit(path)
