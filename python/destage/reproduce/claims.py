"""The papers' claims as data: experiments, figures, claims with their checks, open questions.

The classes are the tables of `papers/*.toml`, which `reading` loads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from destage.reproduce.data_files import Declared, Texts

__all__ = [
    "AXES",
    "OURS",
    "PAPERS",
    "Check",
    "Claim",
    "Composite",
    "Condition",
    "Expectation",
    "Fact",
    "Faithful",
    "Figure",
    "OwnWorkload",
    "Paper",
    "RunSet",
    "Sensitivity",
    "Variant",
]

#: The papers, in the order of `all`.
PAPERS = ("ecr", "sac", "bpac", "acr", "aalru", "gcar")
#: The file of the claims that Destage's own pages make; no part of `all`.
OURS = "destage"
#: The axes of a configuration.
AXES = ("workload", "device", "ftl", "cache")

Axis = Literal["workload", "device", "ftl", "cache"]
PolicyAxis = Literal["workload", "device", "ftl", "cache", "policy"]
PairAxis = Literal["workload", "device", "ftl", "cache", "policy", "to", "of"]
Form = Literal["value", "ratio", "reduction", "gain", "difference", "share"]
Sense = Literal["lower", "higher"]
# fmt: off
Kind = Literal[
    "compare", "order", "trend", "extreme", "spread", "agree", "near", "rank", "steady", "none"
]
# fmt: on
Drawn = Literal["recency", "independent"]
Positive = Annotated[float, Meta(gt=0)]
Whole = Annotated[int, Meta(ge=0)]
Parameters = Mapping[str, Any]
#: Values of axes.
Places = Mapping[Axis, Texts]

#: A paper's number counts as met within a quarter of it.
NEAR = 0.25
#: The smallest effect that counts where the paper states only that there is one.
LEAST = 0.01


@dataclass(frozen=True)
class Expectation:
    """The expected value of a quantity.

    `>0`, `0.2..0.5`: bounds; `~0.34`: a number of the paper; `~0.26..0.60`: a range of the paper,
    its least and its greatest number.
    """

    text: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    value: float | None = None
    """The paper's number, if it is one."""
    ends: tuple[Expectation, Expectation] | None = None
    """The ends of the paper's range, if it is one: each a number of the paper."""

    @classmethod
    def parse(cls, text: str) -> Expectation | None:
        """Return the expectation of a text, None if it is none."""
        sign = next((s for s in (">=", "<=", ">", "<", "~") if text.startswith(s)), "")
        low, dots, high = text.removeprefix(sign).partition("..")
        try:
            if dots and sign in ("", "~"):
                ends = (cls._number(float(low)), cls._number(float(high))) if sign else None
                found = cls(text, float(low), float(high), ends=ends)
                return found if found.low <= found.high else None
            bound, opened = float(text.removeprefix(sign)), len(sign) == 1
        except ValueError:
            return None
        if sign == "~":
            return cls._number(bound)
        if sign[:1] == ">":
            return cls(text, low=bound, open_low=opened)
        return cls(text, high=bound, open_high=opened) if sign else None

    @classmethod
    def _number(cls, v: float) -> Expectation:
        reach = NEAR * abs(v)
        return cls(f"~{v:g}", v - reach, v + reach, value=v)

    @property
    def of_the_paper(self) -> bool:
        """Whether it is a number of the paper, which is about the paper's workloads."""
        return self.value is not None or self.ends is not None

    def met(self, value: float) -> bool:
        """Whether a value meets it."""
        return not self.below(value) and not self.above(value)

    def below(self, value: float) -> bool:
        """Whether a value is too small."""
        is_bound = math.isfinite(self.low)
        return is_bound and (value <= self.low if self.open_low else value < self.low)

    def above(self, value: float) -> bool:
        """Whether a value is too large."""
        is_bound = math.isfinite(self.high)
        return is_bound and (value >= self.high if self.open_high else value > self.high)

    def any_effect(self, neutral: float) -> bool:
        """Whether it only asks for an effect, however small."""
        more = self.low == neutral and self.open_low and self.high == math.inf
        return more or (self.high == neutral and self.open_high and self.low == -math.inf)

    def direction(self, value: float, neutral: float) -> bool:
        """Whether it lies on one side of `neutral`, and a value on the same side."""
        if self.low >= neutral and self.high > neutral:
            return value > neutral
        return self.high <= neutral and self.low < neutral and value < neutral

    def reached(self, value: float, neutral: float) -> bool:
        """Whether a value has half to twice the expected amount, counted from `neutral`."""
        low, high = (self.low, self.high) if self.value is None else (self.value, self.value)
        near, far = sorted((abs(low - neutral), abs(high - neutral)))
        return self.direction(value, neutral) and near / 2 <= abs(value - neutral) <= 2 * far


if TYPE_CHECKING:
    Expectations = Mapping[str, Expectation] | None
else:
    # Its form depends on the kind of check: `reading` parses it.
    Expectations = Any


class Condition(Declared, frozen=True, rename={"is_": "is"}):
    """A precondition of a claim: a fact of a workload that the runs measure."""

    metric: str
    of: str
    """The policy of whose runs it is a fact."""
    is_: str
    says: str
    runs: str = ""
    """The runs that measure it; empty: the claim's."""

    @property
    def bounds(self) -> Expectation:
        """The bounds of the fact. Raises `ValueError`."""
        found = Expectation.parse(self.is_)
        if found is None or found.of_the_paper:
            raise ValueError("bounds such as >0.3 or 0.2..0.5")
        return found


class Check(Declared, frozen=True, rename={"form": "as", "with_": "with"}):
    """How a claim is decided."""

    kind: Kind
    runs: Texts = ()
    base: str | None = None
    """Runs that `to` is taken from, if they differ from `of`'s."""
    metric: str = ""
    with_: str = ""
    of: Texts = ()
    to: Texts = ()
    than: str | None = None
    form: Form = "value"
    over: Literal["each", "mean", "average", "max", "min"] = "each"
    """`mean`: the ratio of the sums; `average`: the mean of the cases' quantities."""
    per: PairAxis | None = None
    """Axis whose values keep a case each under `over`."""
    by: PairAxis | None = None
    """Axis whose value chooses the expectation."""
    at: Mapping[Axis, Texts] = {}
    skip: Mapping[Axis, Texts] = {}
    order: tuple[Texts, ...] = ()
    among: Texts = ()
    sense: Sense = "lower"
    along: Axis | Literal[""] = ""
    mean: PairAxis | None = None
    """Axis that an extreme's quantity is averaged over."""
    pick: Literal["max", "min"] = "max"
    within: float = 0.05
    need: float = 1.0
    """Share of the cases that must meet the claim; below 1, more than it."""
    least: float = LEAST
    """The smallest effect that counts, as a share: smaller only if the paper's is."""
    when: tuple[Condition, ...] = ()
    """Only workloads that fulfil all of these are cases."""
    originals: bool = False
    """Only original traces can decide it."""
    expect: Expectations = None
    """By value of `by`, and under the empty text for all: an `Expectation`."""
    names: Texts = ()
    """The expected extreme or trend."""
    why: str = ""
    """Why nothing can be checked (kind `none`)."""

    @property
    def needed_runs(self) -> Texts:
        """Ids of all runs that it takes numbers from."""
        found = [*self.runs, *([self.base] if self.base else [])]
        return tuple(dict.fromkeys([*found, *(c.runs for c in self.when if c.runs)]))

    @property
    def policies(self) -> Texts:
        """Labels of all policies that it needs."""
        found = [*self.of, *(t for t in self.to if t != "self"), *self.among]
        found += [label for group in self.order for label in group]
        found += [self.than] if self.than else []
        return tuple(dict.fromkeys([*found, *(condition.of for condition in self.when)]))


class Claim(Declared, frozen=True):
    """A statement of the paper, in our words."""

    id: str
    where: str
    """Section, figure or table."""
    says: str
    check: Check
    headline: bool = False
    paper: str = ""
    """The paper's numbers, where the check asks only for a relation."""
    text: str = ""
    """The sentence on pages of ours, with places for numbers of the verdict; `told` fills it."""
    pages: Texts = ()
    """The pages that have it."""


class Series(Declared, frozen=True):
    """Workloads that differ in one parameter."""

    key: str
    axis: str
    at: Parameters


class OwnWorkload(Declared, frozen=True):
    """A workload that the paper specifies exactly, or one of ours beside it."""

    name: str
    synth: Parameters
    note: str
    ours: bool = False
    vary: Series | None = None
    at: str = ""
    """The place on the axis, for one of a series."""


class RunSet(Declared, frozen=True):
    """Runs of every policy on every workload, device, FTL and cache size."""

    id: str
    workloads: Texts
    policies: Texts
    cache: Texts
    devices: Mapping[str, str] = {}
    """Label and device; empty: no device, counts only."""
    ftls: Mapping[str, str] = {}
    """Label and FTL; empty: the device's."""
    recordings: Texts = ()
    recordings_queue_depth: Whole | None = None
    cost: str | None = None
    fetch_on_write_miss: bool = False
    warmup: str | None = None
    intensity: Positive = 1.0
    channels: Literal["", "published", "balanced"] = ""
    """Distribution of a surrogate trace over a device's channels; empty: as generated."""
    deviation: Annotated[float, Meta(ge=0)] = 0.0
    """Maximum deviation of the channels' traffic in workloads of ours, where they are published."""
    busiest: Annotated[float, Meta(ge=0, lt=2)] = 0.0
    """Share of the time that the busiest channel works without a cache, from 1 on of its capacity
    that is asked for; if it is not 0, each workload's `intensity` is solved for it."""
    cache_whole: bool = False
    """The cache is so small that it does not shrink with the requests."""
    gauges: Texts = ()
    """Policies that are also run for their adaptive state, period by period."""
    gauges_with_device: bool = False
    """The adaptive state depends on the device."""
    as_compare: bool = False
    """As `destage compare` does them: each size measured from full caches, differences with
    intervals over the trace; the seeds fill the device. Workloads may be recordings."""
    seeds: Annotated[int, Meta(ge=0)] = 0
    """Most seeds; 0: all."""
    most_requests: Annotated[int, Meta(ge=0)] = 0
    """Requests of a recording, from its beginning; 0: all."""
    options: Mapping[str, Any] = {}
    """Other options of `destage compare`, such as a flash tier's."""
    variants: Mapping[str, Parameters] = {}
    """Options by label, in the place of devices, if there are none."""


class Figure(Declared, frozen=True, rename={"form": "as"}):
    """A figure or table of the paper, drawn from our runs in its axes."""

    id: str
    where: str
    title: str
    runs: str
    x: PolicyAxis
    mark: Literal["bar", "line", "stack", "cdf", "table"] = "bar"
    metric: str = ""
    metrics: Mapping[str, str] = {}
    """Label and metric; one, unless the parts of a bar or the columns of a table differ in it."""
    columns: Mapping[str, str] = {}
    series: PolicyAxis = "policy"
    panels: PolicyAxis | None = None
    policies: Texts = ()
    workloads: Texts = ()
    relative: str | None = None
    form: Form = "ratio"
    x_title: str = ""
    y_title: str = ""
    unit: Literal["", "s", "ms", "us"] = ""
    note: str = ""
    at: Mapping[Axis, Texts] = {}
    pages: Texts = ()
    """Our pages that show it as a table."""


class Fact(Declared, frozen=True):
    """A statement of our pages that no run can judge: a count, a version, a measured speed."""

    pages: Texts
    by: str
    """The file that it rests on: a test, a record, an example that repeats it."""
    text: str = ""
    section: str = ""
    """Instead of a text: everything below the heading of this name."""


class Composite(Declared, frozen=True, rename={"among": "from"}):
    """The best of some policies, case by case: what a paper tuned by hand."""

    among: Texts
    metric: str
    sense: Sense


class Variant(Declared, frozen=True):
    """The changes of one value of a knob; none: the value of the main runs."""

    policies: Mapping[str, str] = {}
    device: str | None = None
    ftls: Mapping[str, str] = {}
    intensity: Positive | None = None
    warmup: str | None = None
    fetch_on_write_miss: bool | None = None
    synth: Mapping[str, Any] = {}
    draw: Drawn | None = None
    """How surrogate traces are generated."""
    burst: Positive | None = None
    """Mean requests of a burst of the surrogate traces; 1: no bursts."""
    affinity: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Correlation of successive operations on a page of the surrogate traces."""
    busiest: Annotated[float, Meta(gt=0, lt=2)] | None = None
    """Another share of the time that the busiest channel works."""
    queue_depth: Annotated[int, Meta(ge=1)] | None = None
    """A closed loop of so many requests, in the place of the arrival times."""

    @property
    def changes(self) -> bool:
        """Whether anything differs from the main runs."""
        given = (getattr(self, name) for name in Variant.__struct_fields__)
        return any(value not in (None, {}) for value in given)

    @property
    def of_workload(self) -> bool:
        """Whether it changes the workloads."""
        changed = (self.intensity, self.draw, self.burst, self.affinity, self.busiest)
        return bool(self.synth) or any(value is not None for value in changed)


class Sensitivity(Declared, frozen=True):
    """A detail that the paper leaves open, and the claims that may depend on it."""

    knob: str
    about: str
    claims: Texts
    values: Mapping[str, Variant]
    phrase: str = ""
    """A value in a sentence, after `with`: `bursts of {}`; empty: the knob before the value."""

    @property
    def base(self) -> str:
        """The value of the main runs; empty if it is none of them."""
        return next((label for label, one in self.values.items() if not one.changes), "")


class Faithful(Variant, frozen=True, kw_only=True):
    """All interpretations at once that are closest to the paper's text and to its simulator."""

    readings: Texts
    """The differences from the default, one sentence each."""


class Head(Declared, frozen=True):
    """A paper, and the question of its evaluation."""

    name: str
    title: str
    cite: str
    question: str
    differs: Texts
    idea: str = ""
    """The policy in one line."""
    abstract: str = ""
    """The whole claim of the abstract, in our words."""
    main: Mapping[str, str] = {}
    """Its parts by label, as ids of claims; empty: the first headline claim."""
    figure: str = ""
    """Id of the figure on the first screen; empty: none."""
    minutes: Annotated[float, Meta(ge=0)] = 0.0
    """Processor time of all runs with all requests, in minutes; 0: not measured."""
    sensitivity_loads: Texts = ()
    """Workloads of the sensitivity runs; all if empty."""
    sensitivity_scale: Annotated[float, Meta(gt=0, le=1)] = 0.1
    """Share of the requests of the sensitivity runs, if the main runs have no smaller one."""


class Paper(
    Declared,
    frozen=True,
    rename={
        "head": "paper",
        "composites": "best",
        "workloads": "workload",
        "figures": "figure",
        "claims": "claim",
        "facts": "fact",
    },
):
    """A paper's evaluation."""

    head: Head
    schema: Literal[1]
    policies: Mapping[str, str] = {}
    composites: Mapping[str, Composite] = {}
    workloads: tuple[OwnWorkload, ...] = ()
    runs: tuple[RunSet, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
    facts: tuple[Fact, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    faithful: Faithful | None = None

    @property
    def name(self) -> str:
        """The name that commands take."""
        return self.head.name

    @property
    def title(self) -> str:
        """The title of the paper."""
        return self.head.title

    def run_set(self, name: str) -> RunSet:
        """Return the runs of a name."""
        return next(r for r in self.runs if r.id == name)

    def claim(self, name: str) -> Claim:
        """Return the claim of an id."""
        return next(c for c in self.claims if c.id == name)

    def compared(self, claims: Sequence[Claim]) -> frozenset[str]:
        """The policies that some claims compare: each candidate of a best-of policy."""
        named = {p for claim in claims for p in claim.check.policies}
        best = self.composites
        each = (best[p].among if p in best else (p,) for p in named)
        return frozenset(p for several in each for p in several)
