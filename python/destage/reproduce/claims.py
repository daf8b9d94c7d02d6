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
    "Condition",
    "Expectation",
    "Faithful",
    "Figure",
    "OwnWorkload",
    "Paper",
    "RunSet",
    "Sensitivity",
    "Variant",
]

SCHEMA = 1
#: The papers, in the order of `all`.
PAPERS = ("ecr", "sac", "bpac", "acr", "aalru", "gcar")
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

#: A paper's number counts as met by what is within a quarter of it.
NEAR = 0.25
#: The least effect that counts where the paper only says that there is one.
LEAST = 0.01


@dataclass(frozen=True)
class Expectation:
    """What a quantity is expected to be.

    `>0`, `0.2..0.5`: bounds; `~0.34`: a number of the paper; `~0.26..0.60`: a range of the paper,
    its least and its greatest number.
    """

    text: str
    """As the file has it."""
    low: float
    high: float
    open_low: bool
    open_high: bool
    value: float | None
    """The paper's value, if it is one."""
    ends: tuple[Expectation, Expectation] | None = None
    """The ends of the paper's range, if it is one: each a number of the paper."""

    @classmethod
    def parse(cls, text: str) -> Expectation | None:
        """Return what a text says, None if it says nothing."""
        try:
            if ".." in text:
                low, high = (float(part) for part in text.lstrip("~").split("..", 1))
                if not low <= high:
                    return None
                if text.startswith("~"):
                    ends = (cls._number(low), cls._number(high))
                    return cls(text, low, high, False, False, None, ends)
                return cls(text, low, high, False, False, None)
            if text.startswith("~"):
                return cls._number(float(text[1:]))
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

    @classmethod
    def _number(cls, v: float) -> Expectation:
        reach = NEAR * abs(v)
        return cls(f"~{v:g}", v - reach, v + reach, False, False, v)

    @property
    def of_the_paper(self) -> bool:
        """Whether it is a number of the paper, which is about the paper's loads."""
        return self.value is not None or self.ends is not None

    def met(self, value: float) -> bool:
        """Say whether a value meets it."""
        return not self.below(value) and not self.above(value)

    def below(self, value: float) -> bool:
        """Say whether a value is too small."""
        if self.low == -math.inf:
            return False
        return value <= self.low if self.open_low else value < self.low

    def above(self, value: float) -> bool:
        """Say whether a value is too large."""
        if self.high == math.inf:
            return False
        return value >= self.high if self.open_high else value > self.high

    def any_effect(self, neutral: float) -> bool:
        """Say whether it only asks for an effect, however small."""
        more = self.low == neutral and self.open_low and self.high == math.inf
        less = self.high == neutral and self.open_high and self.low == -math.inf
        return more or less

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
class Condition:
    """What the paper supposes of a load: a fact that the runs measure."""

    runs: str
    """The runs that measure it; empty: those of the claim."""
    metric: str
    of: str
    """The policy of whose runs it is a fact."""
    is_: Expectation
    says: str
    """What is supposed, in words."""


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
    least: float = LEAST
    """The least effect that counts, as a share: smaller only if the paper's is."""
    when: tuple[Condition, ...] = ()
    """Only loads that fulfil all of these are cases."""
    originals: bool = False
    """Only original traces can tell: on stand-ins the claim cannot be tested."""
    expect: Mapping[str, Expectation] | None = None
    """By value of `by`; under the empty text the expectation of all."""
    names: tuple[str, ...] = ()
    """What an extreme or a trend is expected to be."""
    why: str = ""
    """Why nothing can be checked (kind `none`)."""

    @property
    def needed_runs(self) -> tuple[str, ...]:
        """Ids of all runs that it looks at."""
        found = [*self.runs, *([self.base] if self.base else [])]
        found += [c.runs for c in self.when if c.runs]
        return tuple(dict.fromkeys(found))

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of all policies that it needs."""
        found = [*self.of, *(t for t in self.to if t != "self"), *self.among]
        found += [label for group in self.order for label in group]
        found += [self.than] if self.than else []
        found += [condition.of for condition in self.when]
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
    channels: str = ""
    """How stand-ins load a drive's channels: `published` or `balanced`; empty: as it comes."""
    busiest: float = 0.0
    """Share of the time that the busiest channel works without a cache; `intensity` is solved for
    it, load by load, if it is not 0."""
    cache_whole: bool = False
    """The cache is that small that it does not shrink with the requests."""
    gauges: tuple[str, ...] = ()
    """Policies that are also run for what they adapt to, period by period."""
    gauges_with_device: bool = False
    """What they adapt to depends on the drive."""


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
    draw: str | None = None
    """How stand-ins are drawn."""
    burst: float | None = None
    """Requests of a burst of the stand-ins, on average; 1: no bursts."""

    @property
    def changes(self) -> bool:
        """False for the value that the main runs have."""
        changed = (self.policies, self.device, self.ftls, self.intensity, self.warmup, self.synth)
        more = (self.fetch_on_write_miss, self.draw, self.burst)
        return any(changed) or any(value is not None for value in more)


@dataclass(frozen=True)
class Sensitivity:
    """A thing that the paper leaves open, and the claims that may hang on it."""

    knob: str
    about: str
    claims: tuple[str, ...]
    values: tuple[Variant, ...]


@dataclass(frozen=True)
class Faithful:
    """All readings at once that are closest to the paper's text and to its simulator."""

    readings: tuple[str, ...]
    """What is read in another way than by default, one sentence each."""
    variant: Variant


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
    faithful: Faithful | None = None

    def run_set(self, name: str) -> RunSet:
        """Return the runs of a name."""
        return next(r for r in self.runs if r.id == name)

    def claim(self, name: str) -> Claim:
        """Return the claim of an id."""
        return next(c for c in self.claims if c.id == name)
