"""What the papers claim and how it is checked: experiments, figures, claims, open questions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "PAPERS",
    "Check",
    "Claim",
    "Composite",
    "Expectation",
    "Figure",
    "OwnWorkload",
    "Paper",
    "RunSet",
    "Sensitivity",
    "Variant",
]

SCHEMA = 1
#: The papers, in the order of `all`.
PAPERS = ("ecr", "sac", "bpac", "acr", "aalru")
#: What distinguishes cases; `to` and `of` where a check compares with several policies.
AXES = ("workload", "device", "ftl", "cache")
KINDS = (
    "compare",
    "order",
    "trend",
    "extreme",
    "spread",
    "agree",
    "near",
    "rank",
    "steady",
    "none",
)
MARKS = ("bar", "line", "stack", "cdf", "table")
FORMS = ("value", "ratio", "reduction", "gain", "difference", "share")

#: A paper's single value counts as met by what is within a quarter of it.
NEAR = 0.25


@dataclass(frozen=True)
class Expectation:
    """What a quantity is expected to be: `>0`, `0.2..0.5`, or `~0.34`, a value of the paper."""

    text: str
    """As the file has it."""
    low: float
    high: float
    open_low: bool
    open_high: bool
    value: float | None
    """The paper's value, if it is one."""

    @classmethod
    def parse(cls, text: str) -> Expectation | None:
        """Return what a text says, None if it says nothing."""
        try:
            if text.startswith("~"):
                v = float(text[1:])
                reach = NEAR * abs(v)
                return cls(text, v - reach, v + reach, False, False, v)
            if ".." in text:
                low, high = (float(part) for part in text.split("..", 1))
                return cls(text, low, high, False, False, None) if low <= high else None
            for sign in (">=", "<=", ">", "<"):
                if text.startswith(sign):
                    bound = float(text[len(sign) :])
                    opened = len(sign) == 1
                    if sign[0] == ">":
                        return cls(text, bound, math.inf, opened, True, None)
                    return cls(text, -math.inf, bound, True, opened, None)
        except ValueError:
            return None
        return None

    def met(self, value: float) -> bool:
        """Say whether a value meets it."""
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below

    def direction(self, value: float, neutral: float) -> bool:
        """Say whether a value at least lies on the expected side of `neutral`.

        Only an expectation that lies on one side of it wholly has a direction.
        """
        if self.low >= neutral and self.high > neutral:
            return value > neutral
        if self.high <= neutral and self.low < neutral:
            return value < neutral
        return False

    def reached(self, value: float, neutral: float) -> bool:
        """Say whether a value has at least half and at most twice the amount that is expected.

        Amounts count from `neutral`; a value on the other side of it has none.
        """
        if not self.direction(value, neutral):
            return False
        low, high = (self.low, self.high) if self.value is None else (self.value, self.value)
        near, far = sorted((abs(low - neutral), abs(high - neutral)))
        return near / 2 <= abs(value - neutral) <= 2 * far


@dataclass(frozen=True)
class Check:
    """How a claim is decided."""

    kind: str
    runs: tuple[str, ...] = ()
    base: str | None = None
    """Runs that `to` is taken from, if they are not those of `of`."""
    metric: str = ""
    with_: str = ""
    of: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    than: str | None = None
    form: str = "value"
    over: str = "each"
    per: str | None = None
    """Axis whose values keep a case each under `over`."""
    by: str | None = None
    """Axis whose value chooses the expectation."""
    at: Mapping[str, tuple[str, ...]] | None = None
    skip: Mapping[str, tuple[str, ...]] | None = None
    order: tuple[tuple[str, ...], ...] = ()
    among: tuple[str, ...] = ()
    sense: str = "lower"
    along: str = ""
    against: str = ""
    mean: str | None = None
    """Axis that an extreme's quantity is averaged over."""
    pick: str = "max"
    relative: str | None = None
    within: float = 0.05
    need: float = 1.0
    """Share of the cases that must be met for the claim to hold; below 1 more than it is needed."""
    originals: bool = False
    """Only original traces can tell: on stand-ins the claim cannot be tested."""
    expect: Mapping[str, Expectation] | None = None
    """By value of `by`; under the empty text the expectation of all."""
    names: tuple[str, ...] = ()
    """What an extreme or a trend is expected to be."""
    why: str = ""
    """Why nothing can be checked (kind `none`)."""

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of all policies that it needs."""
        found = [*self.of, *(t for t in self.to if t != "self"), *self.among]
        found += [label for group in self.order for label in group]
        found += [self.than] if self.than else []
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, in our words."""

    id: str
    where: str
    """Section, figure or table."""
    says: str
    check: Check
    headline: bool = False


@dataclass(frozen=True)
class OwnWorkload:
    """A load that the paper specifies exactly."""

    name: str
    synth: Mapping[str, Any]
    note: str
    axis: str = ""
    at: str = ""
    """The place on the axis, if it is one of a series."""


@dataclass(frozen=True)
class RunSet:
    """Runs that figures and claims look at: every policy on every load, drive, FTL and size."""

    id: str
    workloads: tuple[str, ...]
    policies: tuple[str, ...]
    cache: tuple[str, ...]
    devices: Mapping[str, str]
    """Label and drive; empty: no drive, counts only."""
    ftls: Mapping[str, str]
    """Label and FTL; empty: the drive's."""
    recordings: tuple[str, ...] = ()
    recordings_queue_depth: int | None = None
    cost: str | None = None
    fetch_on_write_miss: bool = False
    warmup: str | None = None
    intensity: float = 1.0
    cache_scales: bool = False
    """With fewer requests the cache and the stand-ins' footprints are smaller, too."""
    gauges: tuple[str, ...] = ()
    """Policies that are also run for what they adapt to, period by period."""


@dataclass(frozen=True)
class Figure:
    """A figure or table of the paper, drawn from our runs in its axes."""

    id: str
    where: str
    title: str
    runs: str
    mark: str
    metrics: Mapping[str, str]
    """Label and metric; one, unless the parts of a bar or the columns of a table differ in it."""
    x: str
    series: str
    panels: str | None
    policies: tuple[str, ...]
    relative: str | None
    form: str
    x_title: str
    y_title: str
    unit: str
    note: str
    at: Mapping[str, tuple[str, ...]] | None


@dataclass(frozen=True)
class Composite:
    """The best of some policies, case by case: what a paper tuned by hand."""

    name: str
    among: tuple[str, ...]
    metric: str
    sense: str


@dataclass(frozen=True)
class Variant:
    """What one value of a knob changes."""

    label: str
    policies: Mapping[str, str]
    device: str | None
    ftls: Mapping[str, str]
    intensity: float | None
    warmup: str | None
    fetch_on_write_miss: bool | None
    synth: Mapping[str, Any]

    @property
    def changes(self) -> bool:
        """False for the value that the main runs have."""
        changed = (self.policies, self.device, self.ftls, self.intensity, self.warmup, self.synth)
        return any(changed) or self.fetch_on_write_miss is not None


@dataclass(frozen=True)
class Sensitivity:
    """A thing that the paper leaves open, and the claims that may hang on it."""

    knob: str
    about: str
    claims: tuple[str, ...]
    values: tuple[Variant, ...]


@dataclass(frozen=True)
class Paper:
    """A paper's evaluation."""

    name: str
    title: str
    cite: str
    question: str
    differs: tuple[str, ...]
    policies: Mapping[str, str]
    composites: tuple[Composite, ...]
    workloads: tuple[OwnWorkload, ...]
    runs: tuple[RunSet, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    sensitivity: tuple[Sensitivity, ...]
    sensitivity_loads: tuple[str, ...] = ()
    """Loads of the sensitivity runs; all if empty."""
    sensitivity_share: float = 0.1
    """Share of the requests of the main runs that they have."""

    def run_set(self, name: str) -> RunSet:
        """Return the runs of a name."""
        return next(r for r in self.runs if r.id == name)

    def claim(self, name: str) -> Claim:
        """Return the claim of an id."""
        return next(c for c in self.claims if c.id == name)
