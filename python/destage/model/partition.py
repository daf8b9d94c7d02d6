"""Experts of a model under one cache, and under a cache for each layer: the numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from destage import _destage
from destage.base.errors import UsageError
from destage.model.prices import UNITS

__all__ = ["Gains", "Layer", "Point", "TokenTime", "gains_of", "token_time_of"]

#: How each key of a token's time is written.
_KEYS = {"expert": "18MB", "read": "3GB/s", "top": "8"}

#: The answer for a cache size.
Verdict = Literal["policy failure", "working-set failure", "both alike", "neither"]


@dataclass(frozen=True)
class TokenTime:
    """What turns misses into the time of a token: each miss reads one expert, one after another."""

    expert_bytes: int
    """Bytes of an expert."""
    bytes_per_s: float
    """Read rate of the device."""
    top: int
    """Experts that a token reads in each layer."""

    def tokens(self, layers: Sequence[Layer]) -> int:
        """Tokens of the trace. Raises `UsageError` if a layer has a part of one."""
        for layer in layers:
            if layer.reads % self.top:
                raise UsageError(
                    f"token-time: top={self.top}: layer {layer.layer} has {layer.reads:,} reads,"
                    f" expected a multiple of {self.top}: type the experts that a token reads in"
                    " each layer"
                )
        return max(layer.reads for layer in layers) // self.top

    def ms(self, misses: int, tokens: int) -> float:
        """Milliseconds of expert reads per token."""
        return 1e3 * misses * self.expert_bytes / self.bytes_per_s / tokens


def token_time_of(text: str) -> TokenTime:
    """Read `expert=18MB,read=3GB/s,top=8`. Raises `UsageError`, which names the key."""
    given: dict[str, str] = {}
    for part in text.split(","):
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in _KEYS:
            near = _destage.nearest(key, list(_KEYS))
            meant = f", did you mean {near}?" if near else ""
            raise UsageError(f"token-time: unknown key {key!r}{meant} (known: {_example()})")
        if key in given:
            raise UsageError(f"token-time: {key} is given twice")
        given[key] = value
    missing = [key for key in _KEYS if key not in given]
    if missing:
        raise UsageError(f"token-time: {missing[0]} is missing: expected {_example()}")
    rate = given["read"].removesuffix("/s")
    if rate == given["read"]:
        raise _wrong("read", given["read"])
    top = given["top"]
    if not re.fullmatch(r"[1-9][0-9]{0,3}", top):
        raise _wrong("top", top)
    return TokenTime(
        round(_bytes("expert", given["expert"], given["expert"])),
        _bytes("read", rate, given["read"]),
        int(top),
    )


def _example() -> str:
    return ",".join(f"{key}={value}" for key, value in _KEYS.items())


def _wrong(key: str, value: str) -> UsageError:
    return UsageError(
        f"token-time: {key}: expected a value such as {key}={_KEYS[key]}, got {value!r}"
    )


def _bytes(key: str, text: str, given: str) -> float:
    """A positive number of bytes with its unit."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)", text)
    unit = UNITS.get(match[2].upper()) if match else None
    value = float(match[1]) * unit if match and unit else 0.0
    if value < 1:
        raise _wrong(key, given)
    return value


@dataclass(frozen=True)
class Layer:
    """The experts of a layer that the trace reads."""

    layer: int
    reads: int
    """Reads of its experts."""
    experts: int
    """Experts read at least once."""


@dataclass(frozen=True)
class Point:
    """A policy at a cache size."""

    policy: str
    """Its label."""
    is_offline: bool
    """It uses future accesses: a bound, no candidate."""
    cache: str
    """The size, as it was given."""
    frames: int
    """Experts that the cache holds, of all layers together."""
    is_best: bool
    """It has the most hits of the online policies in one cache: significantly, and by 1 %."""
    misses: int
    """In one cache for all layers."""
    layer_misses: tuple[int, ...]
    """In a cache for each layer, in the order of the layers."""


@dataclass(frozen=True)
class Gains:
    """At a cache size, the gains in hits: of MIN over the best policy, and of twice the size."""

    cache: str
    frames: int
    policy: str
    """The best online policy of one cache for all layers; the first of equal ones."""
    reads: int
    """Reads of all layers, which the gains are shares of."""
    by_policy: int
    """Hits that MIN has more than it, at this size."""
    by_size: int
    """Hits that it has more at twice the size."""

    @property
    def verdict(self) -> Verdict:
        """The failure that costs more hits, by one point of the hit ratio or more."""
        point = self.reads / 100
        if abs(self.by_policy - self.by_size) < point:
            return "both alike" if max(self.by_policy, self.by_size) >= point else "neither"
        return "policy failure" if self.by_policy > self.by_size else "working-set failure"


def gains_of(points: Sequence[Point], misses_of_twice: int, reads: int) -> Gains:
    """Gains at one size: `points` are all policies there.

    `misses_of_twice` counts the misses of `best` at twice the size.
    """
    chosen = best(points)
    least = min(point.misses for point in points if point.is_offline)
    return Gains(
        chosen.cache,
        chosen.frames,
        chosen.policy,
        reads,
        by_policy=chosen.misses - least,
        by_size=chosen.misses - misses_of_twice,
    )


def best(points: Sequence[Point]) -> Point:
    """The online policy with the fewest misses in one cache; the first of equal ones."""
    return min((point for point in points if not point.is_offline), key=lambda p: p.misses)
