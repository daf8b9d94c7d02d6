"""A check in front of its rows: its cases, what each of them measures, and how one is judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from destage.reproduce.claims import AXES, Check, Expectation
from destage.reproduce.frame import Cell, Frame
from destage.reproduce.quantities import UNDEFINED, ZERO, Quantity, quantity
from destage.reproduce.statistics import Estimate

__all__ = [
    "MET",
    "PARTIAL",
    "SMALL",
    "STATUSES",
    "UNDECIDED",
    "UNMET",
    "Case",
    "Look",
    "judged",
    "side",
]

#: A case: meets the claim; has the paper's direction and half to twice its amount; has the right
#: direction, but too small an effect to count; cannot be told from chance; does not meet it.
MET, PARTIAL, SMALL, UNDECIDED, UNMET = "met", "in part", "too small", "undecided", "not met"
#: All statuses, in the order in which they are told.
STATUSES = (MET, PARTIAL, SMALL, UNDECIDED, ZERO, UNDEFINED, UNMET)


@dataclass(frozen=True)
class Case:
    """One case of a claim."""

    label: str
    status: str
    measured: Estimate | None
    expected: str
    note: str = ""
    kind: str = ""
    """Kind of its load, if it is a case of one."""

    @property
    def decidable(self) -> bool:
        """Whether its numbers say anything."""
        return self.status not in (ZERO, UNDEFINED)


#: What is a time, by a part of its name; time that merges take is work, and waits for nothing.
TIMES = ("response_ns", "latency_ns", "wait_ns")


@dataclass
class Look:
    """A check in front of the rows of some kinds of load."""

    check: Check
    frame: Frame
    base: Frame
    fulfilled: Callable[[Cell], bool] = lambda _: True
    """Whether a place fulfils the claim's condition."""
    kinds: Sequence[str] | None = None
    """Kinds of load to look at; None: all."""
    cells: list[Cell] = field(init=False)
    refused: list[Cell] = field(init=False)
    """Places that do not fulfil the claim's condition."""
    saturated: list[Cell] = field(init=False)
    """Places at which a time says how long the trace is: a run there is saturated."""

    def __post_init__(self) -> None:
        cells = [
            cell
            for cell in self.frame.places(self.check.at, self.check.skip)
            if self.kinds is None or self.kind(cell) in self.kinds
        ]
        fulfilling = [cell for cell in cells if self.fulfilled(cell)]
        self.refused = [cell for cell in cells if cell not in fulfilling]
        self.saturated = [cell for cell in fulfilling if self._saturated(cell)]
        self.cells = [cell for cell in fulfilling if cell not in self.saturated]

    def _saturated(self, cell: Cell) -> bool:
        """Whether the check is about time, and a run of its policies was saturated there."""
        if not any(word in f"{self.check.metric} {self.check.with_}" for word in TIMES):
            return False
        facts = [self.frame.values(cell, p, "saturated") for p in self.check.policies]
        return any(value > 0 for values in facts for value in values.values())

    def parts(
        self, cell: Cell, metric: str, of: str, to: str = ""
    ) -> dict[str, Mapping[int | None, float]]:
        """The numbers that a quantity of a cell is made of, by the name of the policy."""
        check = self.check
        found: dict[str, Mapping[int | None, float]] = {of: self.frame.values(cell, of, metric)}
        if check.form != "value":
            name = f"{of} in {check.base}" if to in ("self", of) else to
            found[name] = self.base.values(cell, of if to == "self" else to, metric)
        if check.form == "share":
            found[check.than or ""] = self.frame.values(cell, check.than or "", metric)
        return found

    def quantity(self, cell: Cell, metric: str, of: str, to: str = "") -> Quantity:
        """The quantity of a cell, one value a seed."""
        return quantity(self.check.form, self.parts(cell, metric, of, to))

    def kind(self, cell: Cell) -> str:
        """Kind of the load of a cell."""
        return self.frame.kinds[cell[0]]

    @property
    def known(self) -> bool:
        """Whether any run gives what is looked at."""
        metrics = [m for m in (self.check.metric, self.check.with_) if m]
        policies = [*self.check.policies]
        return all(
            any(self.frame.values(c, p, m) for c in self.cells for p in policies) for m in metrics
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Policies that are compared, `of` with `to`."""
        return [(of, to) for of in self.check.of for to in self.check.to or ("",)]

    def label(self, cell: Cell, of: str = "", to: str = "", but: Sequence[str] = ()) -> str:
        """Names a case by what differs between cases."""
        words = [
            value
            for k, (axis, value) in enumerate(zip(AXES, cell, strict=True))
            if axis not in but and (axis == "workload" or len({c[k] for c in self.cells}) > 1)
        ]
        if of and len(self.check.of) > 1:
            words.append(of)
        if to and to != "self" and len(self.check.to) > 1:
            words.append(f"against {to}")
        return " ".join(words) or of or "all"

    def place(self, cell: Cell) -> str:
        """Names a place by what differs between all places, those that are left out included."""
        every = [*self.cells, *self.refused, *self.saturated]
        return " ".join(
            value
            for k, value in enumerate(cell)
            if AXES[k] == "workload" or len({c[k] for c in every}) > 1
        )

    def expected(self, cell: Cell | None, of: str, to: str) -> Expectation | None:
        """What is expected of a case; None if the paper says nothing of it."""
        expect = self.check.expect or {}
        if self.check.by is None:
            return expect.get("")
        named = dict(zip(AXES, cell, strict=True)) if cell else {}
        return expect.get({**named, "of": of, "to": to}[self.check.by])


def side(measured: Estimate, least: float) -> str:
    """Say what an effect is that should be above 0: `MET`, or why it is not.

    It counts if its whole interval is above 0 and it is at least `least`.
    """
    if measured.low > 0:
        return MET if measured.mean >= least else SMALL
    return UNMET if measured.high < 0 or measured.mean == measured.high == 0 else UNDECIDED


def judged(label: str, found: Quantity, e: Expectation, check: Check, form: str) -> Case:
    """A case of an expectation in numbers: the whole interval meets it, or it is not met."""
    if found.status:
        return Case(label, found.status, None, e.text, found.why)
    measured = found.estimate
    neutral = {"value": None, "ratio": 1.0}.get(form, 0.0)
    if e.met(measured.low) and e.met(measured.high):
        status = MET
        if neutral is not None and e.any_effect(neutral):
            status = MET if abs(measured.mean - neutral) >= check.least else SMALL
    elif e.below(measured.high) or e.above(measured.low):
        status = UNMET
    else:
        status = UNDECIDED
    if status in (UNMET, UNDECIDED) and neutral is not None and math.isfinite(measured.mean):
        one_sided = e.direction(measured.low, neutral) and e.direction(measured.high, neutral)
        if one_sided and e.reached(measured.mean, neutral):
            status = PARTIAL
    note = "against 0" if math.isinf(measured.mean) else ""
    return Case(label, status, measured, e.text, note)
