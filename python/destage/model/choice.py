"""Which numbers of a run are looked at: short names, views, and the groups they stand in.

One set of names for everything that takes a metric: columns and order of a table, what `tune` makes
small or large, and items of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from destage import _destage
from destage.errors import UsageError
from destage.model.metrics import METRICS, WRITES, Metric

__all__ = [
    "LIFE",
    "SHORT",
    "VIEWS",
    "Group",
    "chosen",
    "full_name",
    "grouped",
    "is_rare",
    "metric_named",
    "of_a_drive",
]

#: Short names of the numbers that people ask for most.
SHORT: Mapping[str, str] = {
    "hit": "hit_ratio",
    "mean": "response_ns_mean",
    "p50": "response_ns_p50",
    "p90": "response_ns_p90",
    "p95": "response_ns_p95",
    "p99": "response_ns_p99",
    "p99.9": "response_ns_p999",
    "p99.99": "response_ns_p9999",
    "max": "response_ns_max",
    "writes": WRITES,
    "wear": "block_erases_max",
}

#: Stands for two columns that take the erases that a block endures: drive writes a day, years.
LIFE = "life"

#: What `--view` shows.
VIEWS: Mapping[str, tuple[str, ...]] = {
    "latency": (
        *("mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"),
        *("buffer_wait_ns_mean", "link_wait_ns_mean"),
    ),
    "endurance": (
        *("writes", "waf", *(f"waf_handle_{k}" for k in range(8)), "erases", "gc_moves"),
        *("slc_programs", "slc_migrations", "slc_folds", "wear", "block_erases_mean", LIFE),
    ),
    "hits": ("hit", "read_hit_ratio", "write_hit_ratio", "misses", "physical_reads", "writes"),
}


@dataclass(frozen=True)
class Group:
    """Numbers that belong together, and what a reader should know of them."""

    title: str
    about: str
    of_a_drive: bool
    #: Names, or how they begin.
    begins: tuple[str, ...]
    #: What few drives have: left out where all of it is 0.
    is_rare: bool = False

    def holds(self, name: str) -> bool:
        """Whether a metric stands here."""
        return name.startswith(self.begins)


_HITS = ("hit_", "read_hit", "write_hit", "read_miss", "write_miss", "misses", "accesses")
_FLASH = ("physical_", "running_time", "dirty_left", "write_debt", "padding_", "end_flushes")
_PIECES = ("destage", "mean_destage", "evictions", "clean_evictions", "bypasses", "written_")
_VICTIMS = ("eviction_wait", "dirty_victim", "victim_", "unbalance_", "max_deviation")
_MERGES = ("switch_", "partial_", "full_", "merge_", "log_block", "translation_", "cmt_")
_WAY = ("commands", "buffer_", "link_")
_SLC = ("slc_",)
_ASIDE = ("trim", "flush_")
_DRIVE = ("waf", "flash_reads", "flash_programs", "gc_", "summary_", "utilisation", "makespan")

#: Groups in the order in which `destage run` shows them; the first that holds a number has it.
_GROUPS = (
    Group("Response times", "from arrival (in a closed loop: from issue) to the last page's end. "
          "p99 is what 99 % of all requests took at most", True, ("response_", "requests")),
    Group("Response times of reads", "", True, ("read_response_",)),
    Group("Response times of writes", "", True, ("write_response_",)),
    Group("Hits", "an access is one page of a request; a hit finds its page in the cache", False,
          _HITS),
    Group("Reads and writes of flash", "what the cache asked the drive for. A page left dirty at "
          "the end is a write that is still owed", False, _FLASH),
    Group("What left the cache", "a page leaves by eviction; a dirty one is destaged, written to "
          "flash. What goes in one piece is a flush group; a bypass is a miss that was not taken "
          "in", False, _PIECES),
    Group("Where write-backs met the drive", "a unit is what has a queue of its own, a chip, say; "
          "it collects when it moves pages to free a block. Unbalance (ECR) is how much longer the "
          "longest queue is than the mean one: 1 is even, the number of units is all in one. "
          "Deviation (SAC) is how unevenly channels share the work: 0 is even", True, _VICTIMS),
    Group("SAC's latencies", "of reads that the cache did not answer, and spread over all reads",
          True, ("missed_latency", "average_latency")),
    Group("From the host to the drive", "a write waits for a slot of the drive's write buffer, "
          "then for the link; the slot is free again when the page is programmed", True,
          _WAY, True),
    Group("SLC cache", "writes go to blocks in SLC mode first; a fold moves what is still valid of "
          "one to the rest, and erases it", True, _SLC, True),
    Group("Placement handles", "pages that the host writes with unlike handles lie in "
          "unlike blocks; a moved page counts for the handle that it was last written with", True,
          ("waf_handle_",), True),
    Group("Trims and flushes", "a trimmed page leaves cache and drive unwritten; a flush waits for "
          "the programs before it", True, _ASIDE, True),
    Group("Inside the drive", "the host is whoever is in front of the drive, here the cache; the "
          "drive's own writes are collections (gc), merges of log blocks, and its mapping table",
          True, (*_DRIVE, *_MERGES)),
    Group("Wear", "a block endures so many erases (--pe-cycles); those before the run count", True,
          ("erases", "block_erases")),
)  # fmt: skip

_OTHER = Group("What only this policy counts", "", False, ("",))


def of_a_drive(metric: Metric) -> bool:
    """Whether only a run in front of a drive has this number."""
    return _group_of(metric).of_a_drive


def is_rare(metric: Metric) -> bool:
    """Whether few drives have it: a table that was not asked for it by name has no column of 0."""
    return _group_of(metric).is_rare


def _group_of(metric: Metric) -> Group:
    return next((g for g in _GROUPS if g.holds(metric.name)), _OTHER)


#: How response times are read: from the middle to the tail.
_TAIL = ("mean", "std", "p50", "p90", "p95", "p99", "p999", "p9999", "max")


def _place(metric: Metric) -> int:
    """Where a response time stands among others; all else stays where it is, behind them."""
    _, is_time, what = metric.name.partition("response_ns_")
    return _TAIL.index(what) if is_time and what in _TAIL else len(_TAIL)


def grouped(metrics: Iterable[Metric]) -> list[tuple[Group, list[Metric]]]:
    """Metrics in their groups; groups without one are left out."""
    found: dict[str, tuple[Group, list[Metric]]] = {}
    for metric in metrics:
        group = _group_of(metric)
        found.setdefault(group.title, (group, []))[1].append(metric)
    for _, members in found.values():
        members.sort(key=_place)
    return [found[g.title] for g in (*_GROUPS, _OTHER) if g.title in found]


@cache
def _known() -> dict[str, Metric]:
    return {metric.name: metric for metric in METRICS}


def full_name(name: str) -> str:
    """The name of the column that a short name stands for; another one is left as it is."""
    return SHORT.get(name.strip().lower(), name.strip())


def metric_named(name: str, what: str = "metric") -> Metric:
    """The metric of this name, short or whole. Raises `UsageError` with the nearest name."""
    known = _known()
    found = known.get(full_name(name))
    if found is None:
        near = _destage.nearest(name.strip(), [*SHORT, *known])
        meant = f", did you mean {near}?" if near else ""
        raise UsageError(
            f"unknown {what} {name.strip()!r}{meant} (for short: {', '.join(SHORT)}, and whatever"
            " `destage run` prints, such as waf or erases)"
        )
    return found


def chosen(
    show: str | Sequence[str] | None, view: str | None, sort: str | None
) -> tuple[list[Metric] | None, bool]:
    """The columns of a table, None for the usual ones, and whether `life` is among them.

    What a table is sorted by is among them.
    """
    if view is not None and show is not None:
        raise UsageError("show and view both say which columns: give one")
    if view is not None and view not in VIEWS:
        near = _destage.nearest(view, list(VIEWS))
        meant = f", did you mean {near}?" if near else ""
        raise UsageError(f"unknown view {view!r}{meant} (known: {', '.join(VIEWS)})")
    words = VIEWS[view] if view else [show] if isinstance(show, str) else show
    if words is None:
        return None, False
    names = [n.strip() for word in words for n in word.split(",") if n.strip()]
    if not names:
        raise UsageError("show: expected at least one metric, such as p99.9")
    life = LIFE in names
    names = [n for n in names if n != LIFE] + ([sort] if sort else [])
    return list(dict.fromkeys(metric_named(n) for n in names)), life
