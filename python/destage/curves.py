"""Hit-ratio curves over cache sizes: `mrc`."""

from __future__ import annotations

import csv
import io
import json
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Unpack

from destage import _destage
from destage.checks import asked_curves, every_size_asked, one_trace, sizes_json
from destage.errors import UsageError
from destage.io.files import Destination, write_whole
from destage.model.every_size import EverySize
from destage.model.results import ResultSet
from destage.model.run import Run
from destage.model.words import plain
from destage.options import ProgressCallback, RunOptions, options_json, thread_count
from destage.policy import OwnPolicy, PolicyLike, Spec
from destage.results import Results, only_so_many
from destage.runs import Interrupted, compare
from destage.tables.curves import curves_summary, curves_table
from destage.tables.frames import Tabled, by_column
from destage.tables.table import Table
from destage.trace import Trace

if TYPE_CHECKING:
    from destage.charts.plots import Plots

__all__ = ["USUAL_ERROR", "Curves", "check_curves", "mrc"]

#: Half the width of a sampled hit ratio's interval, where `sample="auto"` is not told another one.
USUAL_ERROR = 0.005


@dataclass(frozen=True, repr=False)
class Curves(Tabled):
    """Hit ratio over cache size, for some policies; `data` has everything."""

    data: Mapping[str, Any]
    """`trace`: identity; `mrc`: sample, curves with their points, warnings. A curve of LRU over the
    whole trace has `every_size`: the best hit ratio, frames that are `enough` for 90, 95 and 99 %
    of its hits, its knees, and the points of the exact curve that a picture needs."""
    every_size: Mapping[str, EverySize] = field(default_factory=dict)
    """By label, what one pass over the whole trace counted at every size: an array a column."""
    has_all: bool = False
    """Every size was asked for (`cache="all"`): it is what columns, files and data frames hold, and
    tables and charts show the usual sizes."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of these numbers must know."""
        return tuple(self.data["mrc"]["warnings"])

    @cached_property
    def result_set(self) -> ResultSet:
        """The points as runs: what tables, charts and the report take."""
        return ResultSet.of_curves(self.data)

    @property
    def plot(self) -> Plots:
        """Charts of the curves: `curves.plot.mrc()`, `curves.plot.save("figures")`.

        Drawing raises `MissingExtra` without the extra `report`.
        """
        from destage.charts.plots import Plots

        return Plots(self.result_set)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per policy and size.

        Where a sample estimates a number, `_low` and `_high` of its name hold the 95 % interval;
        where it is exact they are None.
        """
        if self.has_all:
            columns = self.columns()
            each = zip(*columns.values(), strict=True)
            return [dict(zip(columns, row, strict=True)) for row in each]
        unique = self.data["trace"]["unique_pages"]
        return [
            _row(curve, point, unique)
            for curve in self.data["mrc"]["curves"]
            for point in curve["points"]
        ]

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        if not self.has_all:
            return by_column(self.to_dicts())
        columns: dict[str, list[Any]] = {name: [] for name in ("policy", "cache_pages", *_COUNTS)}
        for label, every in self.every_size.items():
            columns["policy"] += [label] * len(every.hits)
            columns["cache_pages"] += every.cache_pages
            for name in _COUNTS:
                counts = getattr(every, name)
                columns[name] += [None] * len(every.hits) if counts is None else counts
        return columns

    def to_csv(self, path: Destination | None = None) -> str:
        """Return the tidy table as CSV, and write it to `path` if given (`-`: standard output).

        Truth values are `true` and `false`; what is not there is empty. Raises `OutputError`.
        """
        if not self.has_all:
            return super().to_csv(path)
        # A row a page of the trace: without a look at each cell.
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        columns = self.columns()
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        if path is not None:
            write_whole(path, buffer.getvalue())
        return buffer.getvalue()

    def to_parquet(self, path: Destination) -> None:
        """Write the tidy table as Parquet (`-`: standard output); needs no other package.

        The file's metadata says where it is from, as JSON. Raises `OutputError`.
        """
        if not self.has_all:
            super().to_parquet(path)
            return
        curves = [(label, len(every.hits)) for label, every in self.every_size.items()]
        columns = [
            (name, [_bytes(getattr(every, name)) for every in self.every_size.values()])
            for name in _COUNTS
        ]
        metadata = dict(self._provenance())
        write_whole(path, lambda: _destage.counts_parquet(curves, columns, metadata))

    def _everything(self) -> Any:
        if not self.has_all:
            return self.data
        every = {
            label: {"accesses": every.accesses, "cache_pages": [1, len(every.hits)]}
            | {name: _list(getattr(every, name)) for name in _COUNTS}
            for label, every in self.every_size.items()
        }
        return {**self.data, "every_size": every}

    def _provenance(self) -> Mapping[str, str]:
        return {"destage.trace": json.dumps(self.data["trace"])}

    def as_table(self) -> Table:
        """Return the table that the command line prints, to be laid out otherwise."""
        table = curves_table(self.result_set, self.data["mrc"], self.warnings)
        table.notes[:0] = self.summary
        return table

    @property
    def summary(self) -> tuple[str, ...]:
        """How large a cache is enough, where curves bend, who is ahead: a sentence for each."""
        return tuple(plain(sentence) for sentence in curves_summary(self.result_set))


#: Columns of a curve at every size, beside its policy and the pages of the cache.
_COUNTS = ("hits", "misses", "physical_reads", "physical_writes")


def _list(counts: Sequence[int] | None) -> list[int] | None:
    return None if counts is None else list(counts)


def _bytes(counts: Sequence[int] | None) -> bytes | None:
    """As the engine takes them: 64 bits each, lowest byte first."""
    if counts is None:
        return None
    data = array("Q", counts)
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()


#: Numbers of a point, as its row has them.
_COUNTED = (
    "miss_ratio",
    "accesses",
    "misses",
    "read_misses",
    "write_misses",
    "physical_reads",
    "physical_writes",
    "evictions",
)


def _row(curve: Mapping[str, Any], point: Mapping[str, Any], unique: int) -> dict[str, Any]:
    sampled = point.get("sampled") or {}
    row = {
        "policy": curve["policy"],
        "label": curve["label"],
        "params": json.dumps(curve["params"], sort_keys=True),
        "method": curve["method"],
        "cache": point["cache"],
        "frames": point["frames"],
        "cache_bytes": point["cache_bytes"],
        "cache_share": point["frames"] / unique if unique else None,
        "hit_ratio": 1 - point["miss_ratio"] if point["accesses"] else None,
        **{name: point[name] for name in _COUNTED},
        "miss_ratio_error": sampled.get("miss_ratio_error"),
        "physical_writes_error": sampled.get("physical_writes_error"),
        "sample_frames": sampled.get("frames"),
    }
    low, high = sampled.get("miss_ratio_low"), sampled.get("miss_ratio_high")
    row["hit_ratio_low"] = None if high is None else 1 - high
    row["hit_ratio_high"] = None if low is None else 1 - low
    estimated = [name for name in _COUNTED if name != "accesses"]
    ends = [f"{name}_{end}" for name in estimated for end in ("low", "high")]
    return row | {end: sampled.get(end) for end in ends}


def mrc(
    trace: Trace,
    policies: str | PolicyLike | Sequence[PolicyLike] = "lru",
    *,
    cache: str | Sequence[str] = "auto",
    sample: float | Literal["auto"] | None = None,
    error: float | None = None,
    seed: int = 1,
    jobs: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunOptions],
) -> Curves:
    """Draw hit-ratio curves over cache sizes.

    LRU is exact at every size in one pass, also between those that are asked for (`every_size`, and
    the `summary`: how large is enough, where its knees are); other policies run once per size. With
    `sample`, a share of the pages is looked at, and every number is an estimate with a 95 %
    interval: `misses_low`, `misses_high` and so on; None where none has been shown to hold
    (docs/sampling.md). With `sample="auto"` each policy and size has the smallest sample whose
    interval of the hit ratio is as narrow as `error` wants, and runs over the whole trace where
    there is none.

    Parameters:
        cache: sizes, as in `compare`; `"all"` gives LRU and MIN at every size, an array a column:
            `curves.every_size["lru"].physical_writes[k]` is of a cache of k + 1 pages. Tables then
            show the sizes that are named beside it (`"all,64MiB"`), or `auto`.
        sample: share of the pages, above 0 and at most 1; None is the whole trace.
        error: with `sample="auto"`, half the width of the 95 % intervals of hit ratios: 0.005 (half
            a point) unless it is given.
        seed: of the sample.
        options: `RunOptions`, as in `compare`.
        others: as in `compare`; policies of your own are not sampled.

    Raises as `compare`; `Interrupted` on Ctrl-C has the points that were known by then.
    """
    one_trace("mrc", trace, policies)
    check_curves(policies, cache=cache, sample=sample, **options)
    specs = asked_curves(policies)
    has_all, cache = every_size_asked(cache)
    table = [spec for spec in specs if not isinstance(spec, OwnPolicy)]
    own: list[PolicyLike] = [(spec, {}) for spec in specs if isinstance(spec, OwnPolicy)]
    share, within = _check_sample(specs, sample, error, seed)
    sizes, text = sizes_json(cache), options_json("mrc", options)
    # Runs that policies of one's own will take.
    later = len(own) * len(json.loads(_destage.resolve_sizes(trace.raw, sizes))) if own else 0
    curves = Curves({})
    if table:

        def draw(keep: _Keep) -> tuple[str, _Every]:
            threads = thread_count(jobs)
            asked = (trace.raw, table, sizes, has_all, text, share, within, seed, threads)
            return _destage.mrc(*asked, progress, keep)

        curves = _of_the_table(draw, later, has_all)
    if own:

        def run() -> Results:
            return compare(trace, own, cache=cache, jobs=jobs, progress=progress, **options)

        data = _with_own({**curves.data}, specs, run, later)
        curves = replace(curves, data=data)
    return curves


#: By the place of a curve: accesses that were counted; hits, flash reads and writes at every size.
_Every = list[tuple[int, tuple[int, bytes, bytes, bytes | None]]]
#: Takes what was known when a signal came: curves, runs that had ended, runs in all.
_Keep = Callable[[str, _Every, int, int], None]


def _of_the_table(draw: Callable[[_Keep], tuple[str, _Every]], later: int, has_all: bool) -> Curves:
    """Curves of policies of the table. Raises `Interrupted`; so many runs were to follow."""
    known = Curves({})

    def keep(text: str, every_size: _Every, ended: int, planned: int) -> None:
        nonlocal known
        known = _with_every_size(text, every_size, has_all)
        known.data["mrc"]["warnings"].append(only_so_many(ended, planned + later))

    try:
        return _with_every_size(*draw(keep), has_all)
    except KeyboardInterrupt:
        raise Interrupted(known) from None


def _with_every_size(text: str, every_size: _Every, has_all: bool) -> Curves:
    """Curves as the engine tells them, those that are known at every size with it."""
    data: dict[str, Any] = json.loads(text)
    exact: dict[str, EverySize] = {}
    for place, columns in every_size:
        curve = data["mrc"]["curves"][place]
        exact[curve["label"]] = EverySize.of_bytes(*columns)
        curve["every_size"] = exact[curve["label"]].to_json()
    return Curves(data, exact, has_all)


def check_curves(
    policies: str | PolicyLike | Sequence[PolicyLike],
    *,
    cache: str | Sequence[str] = "auto",
    sample: float | Literal["auto"] | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Raise `UsageError` where every size is asked for, and one pass cannot tell of it."""
    if not every_size_asked(cache)[0]:
        return
    if sample is not None:
        raise UsageError("cache all: it is exact, and of the whole trace: leave out the sample")
    for spec in asked_curves(policies):
        if isinstance(spec, OwnPolicy):
            raise UsageError(f"cache all: {spec.name} is a policy of your own: name sizes for it")
        _destage.check_every_size(spec, options_json("mrc", options))


def _check_sample(
    specs: Sequence[Spec],
    sample: float | Literal["auto"] | None,
    error: float | None,
    seed: int,
) -> tuple[float | None, float | None]:
    """The share of the pages, or the error that is wanted in place of one."""
    is_auto = sample == "auto"
    if not is_auto and sample is not None and not _is_number(sample):
        raise UsageError(
            f'sample: expected a share of the pages, above 0, or "auto", got {sample!r}'
        )
    if error is not None and not is_auto:
        raise UsageError('error: it chooses the samples of sample="auto": add that')
    if error is not None and not (_is_number(error) and 0 < error < 1):
        raise UsageError(f"error: expected a share above 0 and below 1, got {error!r}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise UsageError(f"seed: expected a whole number 0..2^64, got {seed!r}")
    own = [spec.name for spec in specs if isinstance(spec, OwnPolicy)]
    if own and sample is not None:
        raise UsageError(
            f"sample: {own[0]} is a policy of your own, and runs over the whole trace: leave out"
            " the sample"
        )
    if is_auto:
        return None, USUAL_ERROR if error is None else error
    return None if sample is None else float(sample), None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _with_own(
    data: dict[str, Any], specs: Sequence[Spec], run: Callable[[], Results], planned: int
) -> dict[str, Any]:
    """The curves with those of one's own policies among them. Raises `Interrupted`."""
    try:
        results = run()
    except Interrupted as e:
        known = _among(data, specs, e.results)
        if known:
            ended = sum(len(curve["points"]) for curve in known["mrc"]["curves"])
            said = only_so_many(ended, ended + planned - len(e.results))
            known["mrc"]["warnings"].append(said)
        raise Interrupted(Curves(known)) from None
    return _among(data, specs, results)


def _among(data: dict[str, Any], specs: Sequence[Spec], results: Results) -> dict[str, Any]:
    """The curves of the table with those of one's own policies among them, as `specs` has them.

    After an interrupt there may be fewer than it asks for.
    """
    if not results:
        return data
    own = sum(isinstance(spec, OwnPolicy) for spec in specs)
    each = len(results) // own
    whole = len(results) == own * each and not results.incomplete
    runs = (
        [results[k : k + each] for k in range(0, len(results), each)]
        if whole
        else [list(found) for _, found in groupby(results, key=lambda run: run.label)]
    )
    if not data:
        data = {"trace": results.sets[0]["trace"]}
        data["mrc"] = {"sample": None, "curves": [], "warnings": []}
    table, mine = iter(data["mrc"]["curves"]), map(_curve, runs)
    found = [next(mine if isinstance(spec, OwnPolicy) else table, None) for spec in specs]
    curves = [curve for curve in found if curve is not None]
    return {**data, "mrc": {**data["mrc"], "curves": curves}}


def _curve(runs: Sequence[Run]) -> dict[str, Any]:
    """The runs of a policy as its curve."""
    counted = ("accesses", "misses", "read_misses", "write_misses", "physical_reads")
    points = [
        {
            "frames": run.frames,
            "cache": run.cache,
            "cache_bytes": run.cache_bytes,
            "miss_ratio": run.misses / accesses if (accesses := run["accesses"]) else 0.0,
            "sampled": None,
            **{name: run[name] for name in (*counted, "physical_writes", "evictions")},
        }
        for run in runs
    ]
    first = runs[0]
    curve = {"policy": first.policy, "label": first.label, "params": dict(first.params)}
    return {**curve, "method": "runs", "points": points}
