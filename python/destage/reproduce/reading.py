"""The files of claims (`papers/*.toml`): one a paper.

Loading a file checks every name in it, so that a run cannot fail on one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from destage.base.errors import DataError, UsageError
from destage.base.unknown import unknown
from destage.lab.catalogue import policies
from destage.reproduce.claims import (
    OURS,
    PAPERS,
    Check,
    Claim,
    Expectation,
    Figure,
    OwnWorkload,
    Paper,
    RunSet,
)
from destage.reproduce.data_files import Texts, read

__all__ = ["load_paper", "paper"]


@cache
def paper(name: str) -> Paper:
    """Return one of the papers that ship with the package. Raises `UsageError` for another name."""
    if name not in (*PAPERS, OURS):
        raise UsageError(unknown("paper", name, [*PAPERS, OURS, "all"]))
    return load_paper(files("destage") / "papers" / f"{name}.toml")


def load_paper(path: Path | Traversable) -> Paper:
    """Read and check a file of claims. Raises `MissingFile`, `DataError` with file and key."""
    return _Checked(path.name, read(path, Paper)).paper()


class _Checked:
    """A file of claims whose names are checked against each other."""

    def __init__(self, file: str, found: Paper) -> None:
        found = _with_every(found)
        self.file, self.found = file, found
        self.policies = found.policies
        self.labels = (*self.policies, *found.composites)
        self.runs = {runs.id: runs for runs in found.runs}
        self.members = {own.name: [m.name for m in _each_of([own])] for own in found.workloads}

    def paper(self) -> Paper:
        found = self.found
        for kind, items in (
            ("runs", found.runs),
            ("figure", found.figures),
            ("claim", found.claims),
        ):
            ids = [item.id for item in items]
            for one in ids:
                if ids.count(one) > 1:
                    raise DataError(f"{self.file}: {kind}[{one}].id: it is used twice")
        for name, composite in found.composites.items():
            self.known(f"best.{name}.from", composite.among, self.policies, "policy")
        for runs in found.runs:
            self._runs(f"runs[{runs.id}]", runs)
        ids = [claim.id for claim in found.claims]
        for knob in found.sensitivity:
            place = f"sensitivity[{knob.knob}]"
            self.known(f"{place}.claims", knob.claims, ids, "claim")
            for label, variant in knob.values.items():
                changed = list(variant.policies)
                self.known(f"{place}.values.{label}.policies", changed, self.policies, "policy")
        self.known("paper.main", list(found.head.main.values()), ids, "claim")
        figures = [figure.id for figure in found.figures]
        self.known(
            "paper.figure", [found.head.figure] if found.head.figure else [], figures, "figure"
        )
        if found.faithful is not None:
            self.known("faithful.policies", list(found.faithful.policies), self.policies, "policy")
            if not found.faithful.changes:
                raise self.wrong("faithful.policies", "a difference from the default", "none")
        return replace(
            found,
            workloads=tuple(_each_of(found.workloads)),
            figures=tuple(self._figure(f"figure[{f.id}]", f) for f in found.figures),
            claims=tuple(self._claim(f"claim[{c.id}].check", c) for c in found.claims),
        )

    def wrong(self, place: str, expected: str, found: object) -> DataError:
        shown = found if found in ("nothing", "none") else repr(found)
        return DataError(f"{self.file}: {place}: expected {expected}, found {shown}")

    def known(
        self, place: str, names: Sequence[str], known: Mapping[str, Any] | Sequence[str], what: str
    ) -> None:
        for name in names:
            if name not in known:
                listed = ", ".join(known)
                raise DataError(
                    f"{self.file}: {place}: there is no {what} {name!r} (known: {listed})"
                )

    def chosen(self, place: str, name: str) -> RunSet:
        if name not in self.runs:
            raise self.wrong(place, f"one of {', '.join(self.runs)}", name)
        return self.runs[name]

    def _runs(self, place: str, runs: RunSet) -> None:
        if runs.ftls and not runs.devices:
            raise self.wrong(f"{place}.ftls", "devices beside it", dict(runs.ftls))
        self.known(f"{place}.policies", runs.policies, self.policies, "policy")
        self.known(f"{place}.gauges", runs.gauges, runs.policies, "policy of these runs")

    def _figure(self, place: str, figure: Figure) -> Figure:
        runs = self.chosen(f"{place}.runs", figure.runs)
        self.known(f"{place}.policies", figure.policies, self.labels, "policy")
        if figure.relative not in (None, "worst"):
            self.known(f"{place}.relative", [figure.relative], self.labels, "policy")
        known = "workload of these runs"
        self.known(f"{place}.workloads", figure.workloads, runs.workloads, known)
        workloads = tuple(m for w in figure.workloads for m in self.members.get(w, [w]))
        several = figure.columns if figure.mark == "table" else figure.metrics
        if bool(figure.metric) == bool(several):
            reason = "a metric, or several under metrics (a table's: columns)"
            raise self.wrong(f"{place}.metric", reason, figure.metric or "nothing")
        return replace(
            figure,
            policies=figure.policies or runs.policies,
            metrics=several or {"": figure.metric},
            at={**figure.at, "workload": workloads} if workloads else figure.at,
        )

    def _claim(self, place: str, claim: Claim) -> Claim:
        check = claim.check
        if check.kind == "none":
            if not check.why:
                raise self.wrong(f"{place}.why", "a text", "nothing")
            return claim
        for key in ("runs", "metric", *_NEEDS[check.kind]):
            if not getattr(check, {"with": "with_"}.get(key, key)):
                reason = f"a value: a check of kind {check.kind} needs it"
                raise self.wrong(f"{place}.{key}", reason, "nothing")
        self.known(f"{place}.runs", check.runs, self.runs, "runs")
        if check.base is not None:
            self.chosen(f"{place}.base", check.base)
        self.known(f"{place}.of", check.policies, self.labels, "policy")
        for condition in check.when:
            if condition.runs:
                self.chosen(f"{place}.when.runs", condition.runs)
            try:
                _ = condition.bounds
            except ValueError as e:
                raise self.wrong(f"{place}.when.is", str(e), condition.is_) from e
        if check.form != "value" and not check.to:
            raise self.wrong(f"{place}.to", f"policies that {check.form} compares with", "nothing")
        if check.form == "share" and check.than is None:
            raise self.wrong(f"{place}.than", "the policy of whose gain it is a share", "nothing")
        check = self._expected(place, check)
        if check.expect is not None and "" not in check.expect and check.by is None:
            raise self.wrong(f"{place}.by", "the axis of the values of expect", "nothing")
        return replace(claim, check=check)

    def _expected(self, place: str, check: Check) -> Check:
        """The check with its `expect` parsed: names for an extreme or a trend, else numbers."""
        given: Any = check.expect
        place = f"{place}.expect"
        if check.kind in ("order", "near", "steady"):
            return replace(check, expect=None)
        if check.kind in ("trend", "extreme") or (check.kind == "spread" and given == "larger"):
            names = tuple(given) if isinstance(given, list) else (given,)
            if not all(isinstance(name, str) for name in names):
                raise self.wrong(place, "a list of texts", given)
            if check.kind == "trend" and given not in ("rises", "falls", "flat"):
                raise self.wrong(place, "one of rises, falls, flat", given)
            return replace(check, names=names, expect=None)
        found = {}
        for key, text in (given if isinstance(given, dict) else {"": given}).items():
            parsed = Expectation.parse(text) if isinstance(text, str) else None
            if parsed is None:
                reason = "a value such as >0, <=0.1, 0.2..0.5 or ~0.34 (a number of the paper)"
                raise self.wrong(place, reason, given)
            found[key] = parsed
        return replace(check, expect=found)


#: The keys that each kind of check needs.
_NEEDS = {
    "compare": ("of",),
    "order": ("order",),
    "trend": ("of", "along"),
    "extreme": ("of", "along"),
    "spread": ("of", "along"),
    "agree": ("of", "with"),
    "near": ("of", "among"),
    "rank": ("of", "among"),
    "steady": ("order", "among"),
}


#: In runs all policies of the catalogue that do not know the future, by their own names, without a
#: device those that need none; in a check all others of its runs.
EVERY = "*"


def _with_every(found: Paper) -> Paper:
    """The file with policies in the place of `*`."""
    if not any(EVERY in runs.policies for runs in found.runs):
        return found
    online = [p for p in policies() if not p.offline]
    runs = {}
    for one in found.runs:
        suiting = [p.name for p in online if one.devices or not p.needs_device]
        runs[one.id] = replace(one, policies=_named(one.policies, suiting))
    claims = []
    for claim in found.claims:
        check = claim.check
        ran = runs[check.runs[0]].policies if check.runs and check.runs[0] in runs else ()
        others = [p for p in ran if p not in check.of]
        among, to = _named(check.among, ran), _named(check.to, others)
        claims.append(replace(claim, check=replace(check, among=among, to=to)))
    return replace(
        found,
        policies={**found.policies, **{p.name: p.name for p in online}},
        runs=tuple(runs.values()),
        claims=tuple(claims),
    )


def _named(labels: Texts, every: Sequence[str]) -> Texts:
    return tuple(p for label in labels for p in (every if label == EVERY else (label,)))


def _each_of(workloads: Sequence[OwnWorkload]) -> Iterator[OwnWorkload]:
    """Every workload, a series as its members."""
    for own in workloads:
        if own.vary is None:
            yield own
        else:
            for label, value in own.vary.at.items():
                synth = {**own.synth, own.vary.key: value}
                yield replace(own, name=f"{own.name} {label}", synth=synth, at=label)
