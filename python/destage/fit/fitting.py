"""The chain of estimates, and its result (`docs/spec/fit.md` 6 to 8)."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from destage.base.errors import UsageError
from destage.base.io.names import path_of
from destage.fit.collector import (
    LEAST_SLOPE,
    SLOPE,
    Collected,
    averaged,
    block_of,
    collected,
    first_op,
)
from destage.fit.comparison import Compared, compared, median_residual, worst_residual
from destage.fit.curve import Curve, Hosts, curve_of, hosts_of, points_of, writes_over_depth
from destage.fit.devicefile import Value, device_file
from destage.fit.fio import Measurement, read_fio
from destage.fit.intervals import errors_of, intervals
from destage.fit.maps import MapCache, map_cache_of, without_misses
from destage.fit.model import Model, base_of
from destage.fit.reads import (
    Period,
    command_of,
    command_of_writes,
    link_of,
    period_of,
    unit_read_ns,
)
from destage.fit.refusals import check
from destage.fit.script import GRAIN
from destage.fit.steps import SHOWN_BY, steps_of
from destage.fit.writes import Written, refined, sampled, writes_of
from destage.model.words import duration, plain

__all__ = ["Fit", "fit"]

#: How often collector and block are found in turn.
ROUNDS = 3

#: A curve shows how these times add up on the fitted units, not each.
LUMPED = "lumped: right together, not each a time of the flash"


@dataclass(frozen=True)
class Fit:
    """A fitted SSD."""

    device_toml: str
    """The device file, with a status for every key."""
    values: tuple[Value, ...]
    steps: tuple[Compared, ...]
    """Measured against simulated, step by step."""
    model: Model = field(repr=False)
    collected: Collected | None = field(repr=False, default=None)
    hosts: Hosts = field(default_factory=Hosts)
    """What one job submits at most, where a grid shows it."""
    warnings: tuple[str, ...] = ()
    not_used: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        worst = worst_residual(self.steps, fitted=True)
        return {
            "values": [value.data for value in self.values],
            "steps": [step.data for step in self.steps],
            "median_abs_residual": median_residual(self.steps, fitted=True),
            "median_abs_residual_not_fitted": median_residual(self.steps, fitted=False),
            "worst": worst.data if worst else None,
            "job_limit_reads_per_s": self.hosts.read,
            "job_limit_writes_per_s": self.hosts.write,
            "collectors": [c.__dict__ for c in self.collected.tried] if self.collected else [],
            "warnings": list(self.warnings),
            "not_used": list(self.not_used),
        }


@dataclass
class _Chain:
    """The estimates in order; each uses those before it."""

    made: Measurement
    model: Model
    values: dict[str, Value] = field(default_factory=dict)
    period: Period | None = None
    curve: Curve | None = None
    hosts: Hosts = field(default_factory=Hosts)
    written: Written | None = None
    collected: Collected | None = None
    map_cache: MapCache | None = None
    hits: Measurement | None = None
    """The measurement without the map reads of `map_cache`."""

    def say(self, key: str, status: str, steps: str = "", note: str = "") -> None:
        """Say how a key was found."""
        self.values[key] = Value(key, status, steps, note)

    def maps(self) -> None:
        """The map cache; what follows of the reads is without its misses."""
        if not self.made.series("read-range-"):
            return
        self.map_cache = found = map_cache_of(self.made)
        if found is None:
            self.say("map_cache", "not identifiable", "read-range-N", "no range shows misses")
            return
        self.hits = without_misses(self.made, found)
        pages = max(1, round(found.share * self.model.pages_of_map))
        self.model = self.model.with_(map_pages=pages)
        note = f"a miss takes {plain(duration(found.miss_ns))} more"
        self.say("map_cache", "measured", "read-range-N", note)

    @property
    def _hits(self) -> Measurement:
        return self.made if self.hits is None else self.hits

    def reads(self) -> None:
        """Units, stripe, read time, link, command processor, firmware."""
        self.maps()
        self.period = period_of(self._hits, self.model)
        if self.period is None:
            self._from_curve()
            return
        units, stripe = self.period.units, self.period.stripe
        self.model = self.model.with_(
            units=units, stripe=stripe, unit_read_ns=self.period.unit_read_ns
        )
        for key in ("channels", "stripe_pages"):
            self.say(key, "measured", "read-stride-N")
        bus = f"bus time of a page from {self.model.record['name']}"
        self.say("read_ns", "measured", "read-stride-N", bus)
        link = link_of(self._hits, units, stripe)
        if link is None:
            self.say("link_ps_per_byte", "not identifiable", "", "too few points of read-bsN")
        else:
            self.say("link_ps_per_byte", "measured", "read-bsN", "no link seen" * (link == 0))
        self.model = self.model.with_(link_ns=link or 0.0)
        self._command(link or 0.0)

    def _command(self, link: float) -> None:
        model = self.model
        found = command_of(self._hits, model.units, model.stripe, link)
        if found is None:
            self.say("command_ns", "not identifiable", "", "no read-batch step fits the units")
        elif found[0]:
            self.say("command_ns", "measured", found[1])
        else:
            self.say("command_ns", "not identifiable", found[1], f"at most {link:.0f} ns")
        command = found[0] if found else 0.0
        first = self._hits.get("read-qd1")
        rest = (first.mean_ns if first else 0.0) - model.unit_read_ns - link - command
        self.model = model.with_(command_ns=command, firmware_read_ns=max(0.0, rest))
        self.say("firmware_read_ns", "measured", "read-qd1", "with command_ns as a sum")

    def _from_curve(self) -> None:
        points = points_of(self.made, "read")
        self.hosts = hosts_of([*points, *points_of(self.made, "write")])
        self.curve = curve_of(points, self.model, self.hosts) if points else None
        if self.curve is None:
            for key in ("channels", "read_ns", "command_ns", "firmware_read_ns"):
                self.say(key, "not identifiable", "", "one depth alone")
            first = self.made.get("read-qd1")
            known = self.made.grid["read"]
            step = first or (known[0] if known else None)
            if step is not None:
                self.model = self.model.with_(unit_read_ns=step.mean_ns)
            return
        curve = self.curve
        others = f"{', '.join(map(str, curve.others))} units fit as well" if curve.others else ""
        self.model = self.model.with_(
            units=curve.units,
            stripe=int(self.model.base["stripe_pages"]),
            unit_read_ns=curve.unit_ns,
            link_ns=curve.link_ns,
            command_ns=curve.command_ns,
            firmware_read_ns=curve.fixed_ns,
        )
        steps = "random reads over depth"
        self.say("channels", "inferred", steps, others)
        for key in ("read_ns", "command_ns", "firmware_read_ns"):
            self.say(key, "inferred", steps, LUMPED)
        if curve.link_ns:
            self.say("link_ps_per_byte", "inferred", "random reads by length", "at most that")

    def writes(self) -> None:
        """Program time, buffer, SLC cache, erase; or what a grid says."""
        if self.made.get("fill-2") is None and self.made.grid["write"]:
            self._writes_from_curve()
            return
        self.written = writes_of(self.made, self.model)
        self.model = self.written.model
        for key, said in self.written.said.items():
            status, _, note = said.partition(": ")
            if status.startswith("measured as"):
                status, note = "measured", f"as {status.removeprefix('measured as ')}"
            elif status not in ("measured", "inferred", "not identifiable"):
                status, note = "not identifiable", said
            self.say(key, status, self.written.steps.get(key, ""), note)

    def _writes_from_curve(self) -> None:
        curve = writes_over_depth(points_of(self.made, "write"), self.model, self.hosts)
        if curve is None:
            return
        self.model = self.model.with_(
            unit_program_ns=curve.unit_ns,
            command_write_ns=curve.command_ns,
            firmware_write_ns=curve.fixed_ns,
            buffer_pages=curve.buffer_pages,
            erase_page_ns=0.0,
        )
        steps = "random writes over depth"
        self.say("program_ns", "inferred", steps, f"GC included; {LUMPED}")
        for key in ("command_write_ns", "firmware_write_ns"):
            self.say(key, "inferred", steps, LUMPED)

    def collection(self, steady: bool) -> None:
        """Over-provisioning and collector."""
        if not steady or self.made.get("fill-2") is None:
            return
        first = first_op(self.made, self.model)
        slope = first[1] if first is not None else SLOPE
        if first is not None and self.written is not None:
            refined(self.written, self.made, first[0])
            self.model = self.written.model
            slope = self._steps(first)[1]
        is_open = self._says("pages_per_block", "inferred")
        self.collected = found = collected(self.made, self.model, slope, is_last=not is_open)
        if found is None:
            return
        if found.nearest is not None and is_open:
            found = self._block(found)
        self.collected = found = averaged(self.made, self.model, found)
        chosen = found.chosen
        self.model = self.model.with_(
            op=chosen.op, gc_victim=chosen.gc_victim, gc_stream=chosen.gc_stream
        )
        if self.written is not None:
            self.written.model = self.model
            refined(self.written, self.made, chosen.op)
            self.model = self.written.model
        self.say("blocks_per_plane", "inferred", "uniform-5..8")
        others = [one.name for one in found.alike]
        note = f"not distinguishable: {', '.join(others)}" if others else _margin(found)
        status = "inferred" if found.is_identified else "not identifiable"
        if not found.is_identified:
            note = "no GC policy fits" if len(found.tried) > 1 else "zones were not measured"
        for key in ("gc_victim", "gc_stream"):
            self.say(key, status, "uniform, zones", note)

    def _steps(self, first: tuple[float, float]) -> tuple[float, float]:
        """Whole blocks or steps; over-provisioning and its slope with them."""
        assert self.written is not None, "the caller has looked"
        found = steps_of(self.made, self.model, first)
        if found is None:
            note = f"{SHOWN_BY} does not show it"
            self.say("gc_step_pages", "not identifiable", "", f"whole blocks: {note}")
            return first
        if found[0].gc_step_pages != self.model.gc_step_pages:
            self.written.model = found[0]
            refined(self.written, self.made, found[1][0])
            self.model = self.written.model
        note = "the nearer one of whole blocks and auto"
        self.say("gc_step_pages", "inferred", SHOWN_BY, note)
        return found[1]

    def _says(self, key: str, status: str) -> bool:
        value = self.values.get(key)
        return value is not None and value.status == status

    def _block(self, found: Collected) -> Collected:
        """Pages of a block, and with them the collector and over-provisioning once more."""
        assert self.written is not None, "the block was looked for"
        self.written.block_known = True
        others: tuple[int, ...] = ()
        for _ in range(ROUNDS):
            # With a wrong block none may fit: then the nearest says which block to try.
            chosen = found.chosen if found.is_identified else found.nearest
            if chosen is None:
                break
            trial = self.model.with_(gc_victim=chosen.gc_victim, gc_stream=chosen.gc_stream)
            count, others = block_of(self.made, trial, chosen, is_whole=found.is_whole)
            if count == self.model.pages_per_block:
                break
            self.written.model = trial.with_(pages_per_block=count)
            refined(self.written, self.made, chosen.op)
            self.model = self.written.model
            found = collected(self.made, self.model, chosen.slope, is_last=False) or found
        if not found.is_whole:
            found = collected(self.made, self.model, found.chosen.slope) or found
        note = f"{', '.join(map(str, others))} fit as well" if others else ""
        self.say("pages_per_block", "inferred", "tail-erase, uniform, zones", note)
        return found

    def bound(self, seed: int, steps: Sequence[Compared]) -> None:
        """Intervals of the closed forms."""
        errors = errors_of(self.made, steps)
        offs = intervals(errors, self._closed, seed)
        buffer = self.written.buffer if self.written is not None else None
        if buffer is not None and "buffer_pages" in offs:
            low, high = offs["buffer_pages"]
            low, high = low + buffer.low - buffer.pages, high + buffer.high - buffer.pages
            offs["buffer_pages"] = (low, high)
        for key, (low, high) in offs.items():
            value = self.values.get(key)
            if value is not None and value.status != "not identifiable":
                self.values[key] = value.with_interval(low, high)
        found, value = self.collected, self.values.get("blocks_per_plane")
        if found is not None and value is not None:
            steady = [errors[f"uniform-{part}"] for part in (5, 6, 7, 8)]
            chosen = found.chosen
            error = math.sqrt(sum(e * e for e in steady)) / 4
            off = 2 * math.hypot(error / max(abs(chosen.slope), LEAST_SLOPE), chosen.luck)
            low, high = found.spread[0] - off, found.spread[1] + off
            self.values["blocks_per_plane"] = value.with_interval(
                low - found.chosen.op, high - found.chosen.op
            )

    def _closed(self, scale: Mapping[str, float]) -> dict[str, float]:
        """The closed forms once more, with every step's rate multiplied."""
        made, model = self._hits, self.model
        values: dict[str, float] = {}
        if self.period is not None:
            units, stripe = self.period.units, self.period.stripe
            strides = made.series("read-stride-")
            values["read_ns"] = busy = unit_read_ns(strides, units * stripe, scale)
            link = link_of(made, units, stripe, scale) or 0.0
            values["link_ps_per_byte"] = 1000 * link / model.page_bytes
            command = command_of(made, units, stripe, link, scale)
            values["command_ns"] = command[0] if command else 0.0
            values["command_write_ns"] = command_of_writes(made, link, scale) or 0.0
            first = made.get("read-qd1")
            if first is not None:
                alone = first.mean_ns * math.exp(-scale.get(first.name, 0.0))
                values["firmware_read_ns"] = alone - busy - link
        if self.written is not None:
            found = sampled(made, model, scale)
            names = {"unit_program_ns": "program_ns", "buffer_pages": "buffer_pages"}
            names |= {"firmware_write_ns": "firmware_write_ns"}
            values |= {names[key]: value for key, value in found.items() if key in names}
            if "erase_page_ns" in found:
                values["erase_ns"] = found["erase_page_ns"] * model.pages_per_block
            if "slc_unit_program_ns" in found:
                own = found["slc_unit_program_ns"] * model.slc_unit_program_ns
                values["slc_program_ns"] = own
        return values


def _margin(found: Collected) -> str:
    others = [one.rms for one in found.tried if one is not found.chosen]
    if not others or not found.chosen.rms:
        return ""
    return f"the next GC policy is {min(others) / found.chosen.rms:.1f} times worse"


def fit(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    base: str = "tlc-nvme",
    seed: int = 1,
    capacity: int | None = None,
    assume_written: bool = False,
    steady: bool = True,
    name: str | None = None,
    where: Mapping[str, str] | None = None,
) -> Fit:
    """Fit a simulated SSD to fio's measurements of a real one.

    Parameters:
        paths: fio's JSON, JSON+ or normal output, made with `fit_script`, or grids of random reads
            and writes, also as CSV.
        base: the preset that gives every key that is not identified.
        seed: of the samples behind the intervals.
        capacity: bytes of the device, where the file does not have it.
        assume_written: the addresses that were read had been written.
        steady: fit over-provisioning and collector.
        name: name of the device in the file.
        where: columns of a CSV, and the values of the rows that count.

    Raises `DataError` for measurements that would mislead, with a remedy.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise UsageError("fit: expected fio's JSON")
    made = read_fio([path_of(os.fspath(path)) for path in given], where=where)
    check(made, assume_written=assume_written, steady=steady, capacity=capacity)
    whole = capacity or made.capacity
    assert whole is not None, "checked"
    return fitted(made, whole, base=base, seed=seed, steady=steady, name=name)


def fitted(
    made: Measurement,
    capacity: int,
    *,
    base: str = "tlc-nvme",
    seed: int = 1,
    steady: bool = True,
    name: str | None = None,
) -> Fit:
    """Fit measurements that were read and checked, of a device of so many bytes."""
    chain = _Chain(made, _start(base_of(base), capacity))
    chain.reads()
    chain.writes()
    chain.collection(steady)
    if chain.collected is None:
        chain.model = chain.model.with_room()
    steps = compared(chain.model, made, chain.hosts)
    chain.bound(seed, steps)
    header = {"name": name, "base": base, "seed": seed, "hosts": chain.hosts}
    toml, values = device_file(chain.model, chain.values, made, header)
    return Fit(
        toml,
        tuple(values),
        tuple(steps),
        chain.model,
        chain.collected,
        chain.hosts,
        tuple(made.warnings),
        tuple(made.not_used),
    )


def _start(record: Mapping[str, Any], whole: int) -> Model:
    """The base with the capacity that was measured."""
    keys = record["device"]
    pages = max(1, whole // GRAIN) * GRAIN // int(keys["page_bytes"])
    own = keys["cmd_ns"] + -(-keys["page_bytes"] * keys["bus_ps_per_byte"] // 1000)
    return Model(
        record,
        pages=pages,
        units=1,
        stripe=int(keys["stripe_pages"]),
        unit_read_ns=float(keys["read_ns"][0] + own),
        unit_program_ns=float(keys["program_ns"][0] + own),
        pages_per_block=int(keys["pages_per_block"]),
        erase_page_ns=keys["erase_ns"] / keys["pages_per_block"],
        op=max(0.03, 1 - keys["logical_pages"] / _raw(keys)),
    )


def _raw(keys: Mapping[str, Any]) -> int:
    counts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
    product = math.prod(int(keys[key]) for key in counts)
    return product * int(keys["blocks_per_plane"]) * int(keys["pages_per_block"])
