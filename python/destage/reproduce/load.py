"""A workload of an evaluation, and how it may differ from the published one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from destage.reproduce.published import TraceSpec

__all__ = ["Load", "LoadOptions"]


@dataclass(frozen=True)
class Load:
    """A workload of an evaluation, and its origin."""

    name: str
    kind: str
    """`original`, `surrogate`, `specified`, `ours`, `recording`, `excerpt` or `repeated`."""
    title: str
    note: str
    """For a surrogate the archive of the original."""
    paths: tuple[Path, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    spec: TraceSpec | None = None
    synth: Mapping[str, Any] | None = None
    share: float = 1.0
    """Share of the whole workload's requests."""

    @property
    def random(self) -> bool:
        """Whether it is generated from a seed."""
        return self.kind in ("surrogate", "specified", "ours")


@dataclass(frozen=True)
class LoadOptions:
    """Differences of a workload from the published one."""

    intensity: float = 1.0
    """All times are divided by it."""
    changes: Mapping[str, Any] | None = None
    """Other parameters of a workload that a paper specifies."""
    draw: str | None = None
    """Kind of references of surrogates, if not as their trace says: one of `standins.KINDS`."""
    channels: str = ""
    """`published` or `balanced`: distribution of surrogates over a device's channels."""
    burst: float | None = None
    """Mean requests of a surrogate's burst, if not as its trace says; 1: no bursts."""
    affinity: float | None = None
    """Correlation of successive operations on a surrogate's page, if not as its source says."""
    most_requests: int | None = None
    deviation: float = 0.0
    """Maximum deviation of the channels' traffic in a workload of ours."""
