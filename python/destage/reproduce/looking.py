"""A check in front of its rows: its cases, their quantities, and the status of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from destage.model.estimates import Estimate
from destage.reproduce.claims import AXES, Check, Expectation
from destage.reproduce.quantities import UNDEFINED, ZERO, Quantity, Seeds, quantity, within
from destage.reproduce.rows import Cell, Rows

__all__ = [
    "MET",
    "PARTIAL",
    "SMALL",
    "STATUSES",
    "UNDECIDED",
    "UNMET",
    "Case",
    "Judgement",
    "Look",
    "judged",
]

#: A case: meets the claim; has the paper's direction and half to twice its amount; has the right
#: direction, but too small an effect; is not significant; does not meet the claim.
MET, PARTIAL, SMALL, UNDECIDED, UNMET = "met", "in part", "too small", "undecided", "not met"
#: All statuses, in the order of reports.
STATUSES = (MET, PARTIAL, SMALL, UNDECIDED, ZERO, UNDEFINED, UNMET)
#: Parts of the names of metrics that are times; time of merges is work, and waits for nothing.
TIMES = ("response_ns", "latency_ns", "wait_ns")


@dataclass(frozen=True)
class Case:
    """One case of a claim."""

    label: str
    status: str
    measured: Estimate | None
    expected: str
    note: str = ""
    kind: str = ""
    """Kind of its workload, if it is a case of one."""
    cell: Cell | None = None
    """Its configuration, if it is a case of one."""

    @property
    def decidable(self) -> bool:
        """Whether it has numbers to decide by."""
        return self.status not in (ZERO, UNDEFINED)


@dataclass(frozen=True)
class Judgement:
    """The verdict of a claim on some workloads."""

    verdict: str
    cases: tuple[Case, ...] = ()
    loads: tuple[str, ...] = ()
    """Kinds of the workloads behind it."""
    why: str = ""
    """Why it cannot be tested."""
    supposed: str = ""
    """The configurations that fulfil the claim's condition, if it has one."""
    saturated: str = ""
    """The configurations that are left out as saturated."""
    coarse: str = ""
    """The configurations that are left out as scaled too far."""
    open: int = 0
    """Undecided cases, if the verdict would be a better one were they met; 0: it cannot change."""

    @property
    def met(self) -> int:
        """Cases that meet the claim."""
        return sum(c.status == MET for c in self.cases)


@dataclass
class Look:
    """A check in front of the rows of some kinds of workload."""

    check: Check
    rows: Rows
    base: Rows
    fulfilled: Callable[[Cell], bool] = lambda _: True
    """Whether a cell fulfils the claim's condition."""
    kinds: Sequence[str] | None = None
    """Kinds of workload; None: all."""
    cells: list[Cell] = field(default_factory=list)
    refused: list[Cell] = field(default_factory=list)
    """Cells that do not fulfil the claim's condition."""
    saturated: list[Cell] = field(default_factory=list)
    """Cells with a saturated run, whose times depend on the length of the trace."""
    coarse: dict[Cell, str] = field(default_factory=dict)
    """Cells that have shrunk too far with `--scale`, and why."""

    def __post_init__(self) -> None:
        for cell in self.rows.places(self.check.at, self.check.skip):
            if self.kinds is None or self.kind(cell) in self.kinds:
                if why := self._why_coarse(cell):
                    self.coarse[cell] = why
                    continue
                place = self.saturated if self._is_saturated(cell) else self.cells
                (place if self.fulfilled(cell) else self.refused).append(cell)

    def _why_coarse(self, cell: Cell) -> str:
        policies = self.check.policies
        return self.rows.coarse(cell, policies) or self.base.coarse(cell, policies)

    def _is_saturated(self, cell: Cell) -> bool:
        if not any(word in f"{self.check.metric} {self.check.with_}" for word in TIMES):
            return False
        facts = [self.rows.values(cell, p, "saturated") for p in self.check.policies]
        return any(value > 0 for values in facts for value in values.values())

    def parts(self, cell: Cell, metric: str, of: str, to: str = "") -> dict[str, Seeds]:
        """The numbers that a quantity of a cell is made of, by the name of the policy."""
        check = self.check
        found: dict[str, Seeds] = {of: self.rows.values(cell, of, metric)}
        if check.form != "value":
            name = f"{of} in {check.base}" if to in ("self", of) else to
            found[name] = self.base.values(cell, of if to == "self" else to, metric)
        if check.form == "share":
            found[check.than or ""] = self.rows.values(cell, check.than or "", metric)
        return found

    def quantity(self, cell: Cell, metric: str, of: str, to: str = "") -> Quantity:
        """The quantity of a cell, one value a seed."""
        found = quantity(self.check.form, self.parts(cell, metric, of, to))
        return self._on_trace(found, cell, self.check.form, metric, of, to)

    def between(self, cell: Cell, form: str, of: str, to: str) -> Quantity:
        """A form of the check's metric of two policies, one value a seed."""
        metric = self.check.metric
        found = quantity(form, {p: self.rows.values(cell, p, metric) for p in (of, to)})
        return self._on_trace(found, cell, form, metric, of, to)

    def _on_trace(
        self, found: Quantity, cell: Cell, form: str, metric: str, of: str, to: str
    ) -> Quantity:
        """The quantity with the interval that the runs of a trace give, where they do."""
        if self.base is not self.rows or not to or to == "self":
            return found
        differences = self.rows.differences(cell, of, to, metric)
        if differences is None:
            return found
        return within(found, form, differences, self.rows.values(cell, to, metric))

    def kind(self, cell: Cell) -> str:
        """Kind of the workload of a cell."""
        return self.rows.kinds.get(cell[0], "")

    @property
    def known(self) -> bool:
        """Whether any run has the metrics of the check."""
        metrics = [m for m in (self.check.metric, self.check.with_) if m]
        return all(
            any(self.rows.values(c, p, m) for c in self.cells for p in self.check.policies)
            for m in metrics
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Policies that are compared, `of` with `to`."""
        return [(of, to) for of in self.check.of for to in self.check.to or ("",)]

    def label(self, cell: Sequence[str], of: str = "", to: str = "", but: str = "") -> str:
        """The name of a case: the values that differ between cases."""
        words = [
            value
            for k, (axis, value) in enumerate(zip(AXES, cell, strict=True))
            if axis != but and (axis == "workload" or len({c[k] for c in self.cells}) > 1)
        ]
        if of and len(self.check.of) > 1:
            words.append(of)
        if to and to != "self" and len(self.check.to) > 1:
            words.append(f"against {to}")
        return " ".join(words) or of or "all"

    def place(self, cell: Cell) -> str:
        """The name of a cell among all, those that are left out included."""
        every = [*self.cells, *self.refused, *self.saturated, *self.coarse]
        return " ".join(v for k, v in enumerate(cell) if not k or len({c[k] for c in every}) > 1)

    def axes(self, cell: Cell, of: str, to: str) -> Mapping[str, str]:
        """The values of a case by axis."""
        return {**dict(zip(AXES, cell, strict=True)), "of": of, "to": to}

    def expected(self, cell: Cell, of: str, to: str) -> Expectation | None:
        """The expectation of a case; None if the paper has none."""
        expect, by = self.check.expect or {}, self.check.by
        return expect.get("" if by is None else self.axes(cell, of, to)[by])

    def side(self, measured: Estimate, least: float = 1.0) -> str:
        """The status of an effect that should be above 0.

        It is met if its whole interval is above 0 and its mean reaches the check's least effect,
        which is multiplied by `least`.
        """
        if measured.low > 0:
            return MET if measured.mean >= self.check.least * least else SMALL
        return UNMET if measured.high < 0 or measured.mean == measured.high == 0 else UNDECIDED

    def size(self, *values: float) -> float:
        """The amount that the least effect is a share of."""
        return max(map(abs, values)) if self.check.form in ("value", "difference") else 1.0


def judged(
    label: str,
    found: Quantity,
    e: Expectation,
    check: Check,
    kind: str = "",
    form: str | None = None,
    cell: Cell | None = None,
) -> Case:
    """A case of an expectation in numbers: its whole interval meets it, or it is not met."""
    if found.status:
        return Case(label, found.status, None, e.text, found.why, kind, cell)
    measured = found.estimate
    neutral = {"value": None, "ratio": 1.0}.get(form or check.form, 0.0)
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
    return Case(label, status, measured, e.text, note, kind, cell)
