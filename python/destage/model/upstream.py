"""Known differences of other programs from the specifications here (`data/upstream.toml`)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["Upstream", "upstream_of"]


@dataclass(frozen=True)
class Upstream:
    """What another program does differently."""

    policy: str
    whose: str
    """The program."""
    text: str
    variant: str | None = None
    """The policy here with parameters that have the same rules; None where none has."""


def upstream_of(policy: str) -> tuple[Upstream, ...]:
    """The known differences in a policy, by its name without parameters."""
    return tuple(one for one in _all() if one.policy == policy)


@cache
def _all() -> tuple[Upstream, ...]:
    text = resources.files("destage.data").joinpath("upstream.toml").read_text(encoding="utf-8")
    return tuple(Upstream(**row) for row in tomllib.loads(text)["known"])
