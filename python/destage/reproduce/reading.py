"""Papers, read from `papers/*.toml`; docs/reproduce.md is the key to the files.

They are data: experiments, figures, claims with their checks, and the questions that a paper leaves
open. Loading them checks every name they use, so that a run cannot stumble over one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from destage import _destage
from destage.errors import DataError, UsageError
from destage.reproduce.claims import (
    AXES,
    FORMS,
    KINDS,
    LEAST,
    MARKS,
    PAPERS,
    SCHEMA,
    Check,
    Claim,
    Composite,
    Condition,
    Expectation,
    Faithful,
    Figure,
    OwnWorkload,
    Paper,
    RunSet,
    Sensitivity,
    Variant,
)
from destage.reproduce.standins import KINDS as DRAWN
from destage.reproduce.toml import Table, read

__all__ = ["load_paper", "paper"]


@cache
def paper(name: str) -> Paper:
    """Return one of the papers that ship with the package. Raises `UsageError` for another name."""
    if name not in PAPERS:
        known = [*PAPERS, "all"]
        near = _destage.nearest(str(name), known)
        meant = f", did you mean {near}?" if near else ""
        raise UsageError(f"unknown paper {name!r}{meant} (known: {', '.join(known)})")
    return load_paper(files("destage") / "papers" / f"{name}.toml")


def load_paper(path: Path | Traversable) -> Paper:
    """Read and check a file of claims. Raises `MissingFile`, `DataError` with file and key."""
    top = read(path)
    if top.whole("schema") != SCHEMA:
        raise top.wrong("schema", str(SCHEMA))
    head = top.need("paper")
    policies = top.names("policies")
    own = _own_workloads(top.tables("workload"))
    composites = _composites(top.table("best"), policies)
    labels = (*policies, *(c.name for c in composites))
    runs = _unique([_runs(t, policies) for t in top.tables("runs")], top, "runs")
    known = {r.id: r for r in runs}
    found = Paper(
        name=head.text("name"),
        title=head.text("title"),
        cite=head.text("cite"),
        question=head.text("question"),
        differs=head.texts("differs"),
        policies=policies,
        composites=composites,
        workloads=own,
        runs=runs,
        figures=_unique([_figure(t, known, labels) for t in top.tables("figure")], top, "figure"),
        claims=_unique([_claim(t, known, labels) for t in top.tables("claim")], top, "claim"),
        sensitivity=tuple(_sensitivity(t, policies) for t in top.tables("sensitivity")),
        sensitivity_loads=head.texts("sensitivity_loads", ()),
        faithful=_faithful(top.table("faithful"), policies),
    )
    head.done()
    top.done()
    ids = {c.id for c in found.claims}
    for knob in found.sensitivity:
        for claim in knob.claims:
            if claim not in ids:
                raise DataError(
                    f"{top.file}: sensitivity[{knob.knob}].claims: there is no claim {claim!r}"
                )
    return found


def _unique(items: Sequence[Any], top: Table, what: str) -> tuple[Any, ...]:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise DataError(f"{top.file}: {what}[{item.id}].id: stands there twice")
        seen.add(item.id)
    return tuple(items)


def _own_workloads(tables: Sequence[Table]) -> tuple[OwnWorkload, ...]:
    found = []
    for table in tables:
        name, note = table.text("name"), table.text("note")
        synth = table.need("synth").data
        vary = table.table("vary")
        if vary is None:
            found.append(OwnWorkload(name, dict(synth), note))
        else:
            key, axis, at = vary.text("key"), vary.text("axis"), vary.need("at")
            found += [
                OwnWorkload(f"{name} {label}", {**synth, key: value}, note, axis, label)
                for label, value in at.data.items()
            ]
            vary.done()
        table.done()
    return tuple(found)


def _composites(table: Table | None, policies: Mapping[str, str]) -> tuple[Composite, ...]:
    if table is None:
        return ()
    found = []
    for name, one in table.children():
        among = one.texts("from")
        _known(one, "from", among, policies, "policy")
        metric, sense = one.text("metric"), one.word("sense", ("lower", "higher"))
        found.append(Composite(name, among, metric, sense))
        one.done()
    return tuple(found)


def _known(
    table: Table,
    key: str,
    names: Sequence[str],
    known: Mapping[str, Any] | Sequence[str],
    what: str,
) -> None:
    for name in names:
        if name not in known:
            raise DataError(
                f"{table.at(key)}: there is no {what} {name!r} (known: {', '.join(known)})"
            )


def _runs(t: Table, policies: Mapping[str, str]) -> RunSet:
    devices, ftls = t.names("devices", {}), t.names("ftls", {})
    if ftls and not devices:
        raise t.wrong("ftls", "devices beside it")
    labels = t.texts("policies")
    _known(t, "policies", labels, policies, "policy")
    depth = t.whole("recordings_queue_depth", 0)
    found = RunSet(
        id=t.text("id"),
        workloads=t.texts("workloads"),
        policies=labels,
        cache=t.texts("cache"),
        devices=devices,
        ftls=ftls,
        recordings=t.texts("recordings", ()),
        recordings_queue_depth=depth or None,
        cost=t.text("cost") if t.has("cost") else None,
        fetch_on_write_miss=t.flag("fetch_on_write_miss", False),
        warmup=t.text("warmup") if t.has("warmup") else None,
        intensity=_positive(t, "intensity", 1.0),
        channels=t.word("channels", ("published", "balanced")) if t.has("channels") else "",
        busiest=t.real("busiest", 0.0),
        cache_whole=t.flag("cache_whole", False),
        gauges=t.texts("gauges", ()),
        gauges_with_device=t.flag("gauges_with_device", False),
    )
    _known(t, "gauges", found.gauges, labels, "policy of these runs")
    if not 0 <= found.busiest < 1:
        raise t.wrong("busiest", "a share below 1")
    t.asked |= dict.fromkeys(("cost", "warmup", "channels"))
    t.done()
    return found


def _positive(t: Table, key: str, default: float) -> float:
    value = t.real(key, default)
    if not value > 0 or not math.isfinite(value):
        raise t.wrong(key, "a number above 0")
    return value


def _where(t: Table, key: str) -> dict[str, tuple[str, ...]] | None:
    table = t.table(key)
    if table is None:
        return None
    found = {axis: table.texts(axis) for axis in AXES if table.has(axis)}
    table.asked |= dict.fromkeys(AXES)
    table.done()
    return found


def _figure(t: Table, runs: Mapping[str, RunSet], labels: Sequence[str]) -> Figure:
    name = t.word("runs", list(runs))
    mark = t.word("mark", MARKS, "bar")
    metric = t.text("metric", "-")
    metrics = t.names("columns" if mark == "table" else "metrics", {})
    if (metric == "-") == (not metrics):
        raise t.wrong("metric", "a metric, or several under metrics (a table's: columns)")
    policies = t.texts("policies", runs[name].policies)
    _known(t, "policies", policies, labels, "policy")
    relative = t.text("relative", "-")
    if relative not in ("-", "worst"):
        _known(t, "relative", [relative], labels, "policy")
    axes = (*AXES, "policy")
    found = Figure(
        id=t.text("id"),
        where=t.text("where"),
        title=t.text("title"),
        runs=name,
        mark=mark,
        metrics=metrics or {"": metric},
        x=t.word("x", axes),
        series=t.word("series", axes, "policy"),
        panels=t.word("panels", axes) if t.has("panels") else None,
        policies=policies,
        relative=None if relative == "-" else relative,
        form=t.word("as", FORMS, "ratio"),
        x_title=t.text("x_title", "-"),
        y_title=t.text("y_title", "-"),
        unit=t.word("unit", ("-", "s", "ms", "us"), "-"),
        note=t.text("note", "-"),
        at=_where(t, "at"),
    )
    if t.has("workloads"):
        given = t.texts("workloads")
        _known(t, "workloads", given, runs[name].workloads, "load of these runs")
        found = Figure(**{**vars(found), "at": {**(found.at or {}), "workload": given}})
    t.asked |= dict.fromkeys(("panels", "workloads", "metrics", "columns"))
    t.done()
    return found


def _claim(t: Table, runs: Mapping[str, RunSet], labels: Sequence[str]) -> Claim:
    found = Claim(
        id=t.text("id"),
        where=t.text("where"),
        says=t.text("says"),
        check=_check(t.need("check"), runs, labels),
        headline=t.flag("headline", False),
    )
    t.done()
    return found


def _check(t: Table, runs: Mapping[str, RunSet], labels: Sequence[str]) -> Check:
    kind = t.word("kind", KINDS)
    if kind == "none":
        found = Check(kind, why=t.text("why"))
        t.done()
        return found
    sets = t.texts("runs")
    _known(t, "runs", sets, runs, "runs")
    base = t.word("base", list(runs)) if t.has("base") else None
    order = t.any("order") or ()
    if not all(isinstance(group, list) and group for group in order):
        raise t.wrong("order", "a list of lists of policies, best first")
    axes = (*AXES, "policy", "to", "of")
    expect, names = _expected(t, kind)
    found = Check(
        kind=kind,
        runs=sets,
        base=base,
        metric=t.text("metric"),
        with_=t.text("with", "-").strip("-"),
        of=t.texts("of", ()),
        to=t.texts("to", ()),
        than=t.text("than") if t.has("than") else None,
        form=t.word("as", FORMS, "value"),
        over=t.word("over", ("each", "mean", "max", "min"), "each"),
        per=t.word("per", axes) if t.has("per") else None,
        by=t.word("by", axes) if t.has("by") else None,
        at=_where(t, "at"),
        skip=_where(t, "skip"),
        order=tuple(tuple(group) for group in order),
        among=t.texts("among", ()),
        sense=t.word("sense", ("lower", "higher"), "lower"),
        along=t.text("along", "-").strip("-"),
        against=t.text("against", "-").strip("-"),
        mean=t.word("mean", axes) if t.has("mean") else None,
        pick=t.word("pick", ("max", "min"), "max"),
        relative=t.word("relative", ("worst",)) if t.has("relative") else None,
        within=t.real("within", 0.05),
        need=t.real("need", 1.0),
        least=t.real("least", LEAST),
        when=tuple(_condition(one, runs, labels) for one in t.tables("when")),
        originals=t.flag("originals", False),
        expect=expect,
        names=names,
    )
    t.asked |= dict.fromkeys(("base", "than", "per", "by", "mean", "relative"))
    t.done()
    _known(t, "of", found.policies, labels, "policy")
    _complete(t, found)
    return found


def _condition(t: Table, runs: Mapping[str, RunSet], labels: Sequence[str]) -> Condition:
    text = t.text("is")
    parsed = Expectation.parse(text)
    if parsed is None or parsed.of_the_paper:
        raise t.wrong("is", "bounds such as >0.3 or 0.2..0.5")
    of = t.text("of")
    _known(t, "of", [of], labels, "policy")
    measured = t.word("runs", list(runs)) if t.has("runs") else ""
    t.asked["runs"] = None
    found = Condition(measured, t.text("metric"), of, parsed, t.text("says"))
    t.done()
    return found


def _expected(t: Table, kind: str) -> tuple[Mapping[str, Expectation] | None, tuple[str, ...]]:
    """What stands under `expect`: names for an extreme or a trend, else numbers."""
    given = t.any("expect")
    if kind == "trend":
        return None, (t.word("expect", ("rises", "falls", "flat")),)
    if kind == "extreme":
        return None, t.texts("expect")
    if kind == "spread" and given == "larger":
        return None, ("larger",)
    if kind in ("order", "near", "steady"):
        return None, ()
    texts = given if isinstance(given, Mapping) else {"": given}
    found = {}
    for key, text in texts.items():
        parsed = Expectation.parse(text) if isinstance(text, str) else None
        if parsed is None:
            raise t.wrong("expect", "such as >0, <=0.1, 0.2..0.5 or ~0.34 (a number of the paper)")
        found[str(key)] = parsed
    return found, ()


#: What each kind of check cannot do without, as key and field.
_NEEDS = {
    "compare": (("of", "of"),),
    "order": (("order", "order"),),
    "trend": (("of", "of"), ("along", "along")),
    "extreme": (("of", "of"), ("along", "along")),
    "spread": (("of", "of"), ("along", "along")),
    "agree": (("of", "of"), ("with", "with_")),
    "near": (("of", "of"), ("among", "among")),
    "rank": (("of", "of"), ("among", "among")),
    "steady": (("order", "order"), ("among", "among")),
}


def _complete(t: Table, check: Check) -> None:
    for key, name in _NEEDS[check.kind]:
        if not getattr(check, name):
            raise t.wrong(key, f"something: a check of kind {check.kind} needs it")
    if check.form != "value" and not check.to:
        raise t.wrong("to", f"policies: {check.form} compares with them")
    if check.form == "share" and check.than is None:
        raise t.wrong("than", "a policy: a share is of what it gains")
    if check.expect is not None and "" not in check.expect and check.by is None:
        raise t.wrong("by", "the axis that expect goes by")


def _sensitivity(t: Table, policies: Mapping[str, str]) -> Sensitivity:
    values = [_variant(label, one, policies) for label, one in t.need("values").children()]
    found = Sensitivity(t.text("knob"), t.text("about"), t.texts("claims"), tuple(values))
    t.done()
    return found


def _faithful(t: Table | None, policies: Mapping[str, str]) -> Faithful | None:
    if t is None:
        return None
    readings = t.texts("readings")
    variant = _variant("most faithful", t, policies)
    if not variant.changes:
        raise t.wrong("policies", "what differs from the default: a reading changes something")
    return Faithful(readings, variant)


def _variant(label: str, one: Table, policies: Mapping[str, str]) -> Variant:
    changed = one.names("policies", {})
    _known(one, "policies", list(changed), policies, "policy")
    synth = one.table("synth")
    fetch = one.flag("fetch_on_write_miss") if one.has("fetch_on_write_miss") else None
    found = Variant(
        label=label,
        policies=changed,
        device=one.text("device") if one.has("device") else None,
        ftls=one.names("ftls", {}),
        intensity=_positive(one, "intensity", 1.0) if one.has("intensity") else None,
        warmup=one.text("warmup") if one.has("warmup") else None,
        fetch_on_write_miss=fetch,
        synth=dict(synth.data) if synth else {},
        draw=one.word("draw", DRAWN) if one.has("draw") else None,
        burst=_positive(one, "burst", 1.0) if one.has("burst") else None,
    )
    keys = ("device", "intensity", "warmup", "fetch_on_write_miss", "draw", "burst")
    one.asked |= dict.fromkeys(keys)
    one.done()
    return found
