"""The native module: what crosses the boundary is plain. Use the package `destage` around it."""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from destage.lab.stepper import Steps

__all__ = [
    "Access",
    "Bypass",
    "Cache",
    "DeviceView",
    "Drive",
    "GhostList",
    "Hit",
    "Miss",
    "PageList",
    "Plan",
    "Request",
    "Server",
    "Shelf",
    "StandIn",
    "Trace",
    "TraceOutput",
    "COMMIT",
    "VERSION",
    "assembled",
    "check_every_size",
    "caches_full",
    "check_needs",
    "check_policy",
    "check_run",
    "check_suits",
    "compare",
    "conform",
    "conform_emit",
    "conform_own",
    "convert",
    "convert_targets",
    "convert_workload",
    "counts_parquet",
    "device_options",
    "draw_standin",
    "drive_from_record",
    "drive_keys",
    "drives",
    "end_at_second_signal",
    "formats",
    "ftls",
    "label",
    "metrics",
    "mrc",
    "meant",
    "nearest",
    "open_drive",
    "open_shared_drive",
    "open_trace",
    "padding",
    "page_bytes",
    "parquet_bytes",
    "parquet_columns",
    "parse_policies",
    "play_steps",
    "policies",
    "policy",
    "read_result",
    "reader_options",
    "report_shrunk_files",
    "resolve_sizes",
    "run_one",
    "run_options",
    "run_own_policy",
    "synth",
    "trace_cache",
    "trace_cache_clear",
    "trace_head",
    "when_stuck",
    "workloads",
]

COMMIT: str
VERSION: str

_Progress = Callable[[int, int | None, str], object] | None
_Spec = tuple[str, str]
_EverySize = list[tuple[int, tuple[int, bytes, bytes, bytes | None]]]

@final
class Trace:
    @property
    def end_page(self) -> int: ...
    @property
    def from_cache(self) -> bool: ...
    def identity(self) -> str: ...
    def meta(self) -> str: ...
    def overview(self) -> str: ...
    def rows(self, start: int, count: int) -> list[bytes]: ...
    def info(self, progress: _Progress = None) -> str: ...
    def profile(self, options: str, progress: _Progress = None) -> str: ...

@final
class StandIn:
    def __len__(self) -> int: ...
    def open(
        self,
        channels: tuple[int, int, float, float, int] | None,
        intensity: float,
        page_size: str | None,
        progress: _Progress = None,
    ) -> tuple[Trace, list[str]]: ...

@final
class Server:
    def __new__(cls, settings: str, drive: Drive | None = None, own: Any = None) -> Server: ...
    @property
    def uri(self) -> str: ...
    @property
    def export_bytes(self) -> int: ...
    @property
    def frames(self) -> int: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def warning(self) -> str | None: ...
    @property
    def replayed(self) -> str: ...
    def snapshot(self) -> str: ...
    def complaints(self) -> tuple[int, str | None]: ...
    def lost_file(self) -> str | None: ...
    def check_policy(self) -> None: ...
    def device_metrics(self) -> str | None: ...
    def stop(self) -> tuple[str, str | None]: ...

@final
class Drive:
    def fill(self, progress: _Progress = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def page_bytes(self) -> int: ...
    @property
    def logical_pages(self) -> int: ...
    @property
    def block_bytes(self) -> int: ...
    @property
    def address_mode(self) -> str | None: ...
    @property
    def placement(self) -> str: ...
    def record(self) -> str: ...
    def size(self) -> str: ...
    def extended(self, pages: int) -> Drive: ...
    def with_options(self, options: str) -> Drive: ...

@final
class Request:
    """One page access, as a policy is told of it."""

    def __new__(
        cls,
        page: int,
        op: str = "read",
        *,
        lpn: int | None = None,
        first_of_request: bool = True,
        next_use: int | None = None,
        unit_if_clean: int | None = None,
        unit_if_dirty: int | None = None,
    ) -> Request: ...
    @property
    def page(self) -> int:
        """The page as the run names it."""

    @property
    def lpn(self) -> int:
        """Its logical page number: what clusters and stripes."""

    @property
    def op(self) -> str:
        """`read` or `write`."""

    @property
    def is_write(self) -> bool:
        """True for a write."""

    @property
    def first_of_request(self) -> bool:
        """First page of its host request."""

    @property
    def next_use(self) -> int | None:
        """Number of the next access to this page, if the policy says `NEEDS_NEXT_USE`."""

    @property
    def unit_if_clean(self) -> int | None:
        """Unit of the drive that holds the page's copy on flash; None without a drive."""

    @property
    def unit_if_dirty(self) -> int | None:
        """Unit that a write-back of the page will go to.

        None without a drive, and where the drive says it only when the page is written
        (`alloc = dynamic`, or an FTL other than `page`).
        """

@final
class DeviceView:
    """The drive at the instant of an eviction, unit by unit; a copy that may be kept."""

    def __new__(cls, backlogs_ns: Sequence[int], in_gc: Sequence[bool]) -> DeviceView: ...
    def units(self) -> int:
        """Units of the drive: what has a queue."""

    def backlog_ns(self, unit: int) -> int:
        """Remaining work of a unit, nanoseconds; 0 if it is idle. Raises `IndexError`."""

    def backlogs_ns(self) -> list[int]:
        """The same of all units, in one call."""

    def in_gc(self, unit: int) -> bool:
        """Whether a collection is in the unit's queue or in service there."""

@final
class Hit:
    """The look-up found the page."""

    def __new__(cls) -> Hit: ...

@final
class Bypass:
    """The page is not resident and is not taken in."""

    def __new__(cls) -> Bypass: ...

@final
class Miss:
    """The page is not resident; `value` goes on to `evict` and `admit`."""

    def __new__(cls, value: object = None) -> Miss: ...
    @property
    def value(self) -> Any:
        """What the look-up learned."""

@final
class Plan:
    """What a policy gives up."""

    def __new__(cls) -> Plan: ...
    @property
    def evicted(self) -> list[tuple[int, bool]]:
        """Pages that leave, with their dirty bits, in the order of leaving."""

    def evict(self, page: int, dirty: bool) -> None:
        """One page leaves; if dirty, it is flushed as a group of its own."""

    def open_group(self) -> None:
        """Open a flush group; the `flush_*` and `pad` calls that follow belong to it."""

    def flush_and_evict(self, page: int) -> None:
        """A dirty page leaves with the open group. Pages of a group come in ascending order."""

    def flush_and_keep(self, page: int) -> None:
        """A dirty page is written with the open group and stays, clean."""

    def pad(self, lpn: int, in_buffer: bool = False) -> None:
        """A page that completes the open group's block, in ascending order."""

@final
class Shelf:
    """Where the lists of a policy are (`ListPolicy.shelf`): one look-up for all."""

    def __new__(cls) -> Shelf: ...
    def __contains__(self, page: int, /) -> bool: ...
    def __len__(self) -> int: ...
    def new_list(
        self,
        on_hit: str | PageList,
        marks: int = 1,
        limit: int | None = None,
        overflow: PageList | None = None,
    ) -> PageList:
        """`ListPolicy.new_list`."""

    def evict(self, plan: Plan) -> None:
        """`ListPolicy.evict`."""

    def admit(self, r: Request) -> None:
        """`ListPolicy.admit`."""

    def discard(self, page: int) -> bool:
        """`ListPolicy.forget`; whether the page was on a list."""

    def hit(self, r: Request) -> bool:
        """Do what the page's list says of a hit; false if the page is on none."""

@final
class PageList:
    """A list of resident pages with their dirty bits, newest at the front; see `ListPolicy`.

    A page is on one list of its policy at most. `UsageError` where that would be broken.
    """

    @property
    def back(self) -> int | None:
        """The oldest page; None if the list is empty."""

    @property
    def front(self) -> int | None:
        """The newest page; None if the list is empty."""

    on_hit: str | PageList
    """What a hit does; can be set, not read."""

    def __contains__(self, page: int, /) -> bool: ...
    def __len__(self) -> int: ...
    def admit(self, r: Request) -> None:
        """The page of a request comes to the front, dirty if it is written."""

    def push_front(self, page: int, dirty: bool = False) -> None:
        """A page that is on no list comes to the front."""

    def push_back(self, page: int, dirty: bool = False) -> None:
        """A page that is on no list comes to the back."""

    def evict_back(self, plan: Plan) -> int:
        """The oldest page leaves, as `plan.evict`; return it."""

    def evict(self, page: int, plan: Plan) -> None:
        """A page of this list leaves, as `plan.evict`."""

    def pop_back(self) -> tuple[int, bool]:
        """Take the oldest page off; return it with its dirty bit."""

    def pop_front(self) -> tuple[int, bool]:
        """Take the newest page off; return it with its dirty bit."""

    def remove(self, page: int) -> bool:
        """Take a page of this list off it; return its dirty bit."""

    def move_to_front(self, page: int) -> None:
        """A page of this list becomes its newest."""

    def demote_back(self, to: PageList) -> int:
        """The oldest page goes to the front of another list; return it."""

    def is_dirty(self, page: int) -> bool:
        """Whether a page of this list is dirty."""

    def mark(self, page: int) -> int:
        """The marks of a page of this list, 0 when it came in."""

    def set_mark(self, page: int, mark: int) -> None:
        """Set the marks of a page of this list, 0..65535."""

    def spare_marked(self) -> int:
        """Second chances: marked pages at the back lose a mark and go to the front; how many."""

    def oldest_clean(self, within: int | None = None) -> int | None:
        """The oldest clean page, of the `within` oldest if that is given."""

    def oldest(self, count: int | None = None) -> list[int]:
        """Pages, oldest first; all of them unless `count` is given."""

@final
class GhostList:
    """Numbers of pages that were evicted, newest at the front; beyond `capacity` the oldest go."""

    capacity: int
    """Most pages that are remembered; may be changed."""

    def __new__(cls, capacity: int) -> GhostList: ...
    def __contains__(self, page: int, /) -> bool: ...
    def __len__(self) -> int: ...
    def push(self, page: int) -> None:
        """Remember a page as the newest, also one that was remembered already."""

    def discard(self, page: int) -> bool:
        """Forget a page; whether it was remembered."""

    def pop_back(self) -> int:
        """Forget the oldest; return it."""

@final
class TraceOutput:
    def __new__(cls, path: Path | str) -> TraceOutput: ...
    def put(self, bytes: bytes) -> None: ...
    def sync(self) -> int: ...
    @property
    def left(self) -> list[Path]: ...
    def keep_whole(self) -> int: ...
    def finish(self) -> None: ...
    def discard(self) -> None: ...

def play_steps(device: Drive, steps: str, progress: _Progress = None) -> str: ...

@final
class Access:
    """One page access: what it found and what left the cache. True if it was a hit."""

    hit: bool
    """The page was resident."""
    admitted: bool
    """This access took it in."""
    evicted: tuple[Hashable, ...]
    """Keys that left the cache, in order."""
    destaged: tuple[Hashable, ...]
    """Keys that were written to flash, in order; a bypassed write is its own key."""
    groups: tuple[tuple[Hashable, ...], ...]
    """The same, a tuple for each flush group."""

    def __bool__(self) -> bool: ...

@final
class Cache:
    """A policy that a program steps, one access at a time (docs/cache-object.md).

    It holds no values. Equal keys are one key, as in a dict. One thread at a time. A key is kept
    alive as long as the policy knows it, resident or remembered; with a policy of your own, a class
    or `mine.py:Mine`, until `clear`. `lirs` and `lru-k`, whose papers set no limit, remember 8
    times the frames; `lirs[ghost_max=none]` takes the limit away.
    """

    policy: str
    """The policy as a user would type it for a run that decides the same."""
    _given: str
    frames: int
    """Frames of the cache."""
    counters: dict[str, int]
    """Counters under the names of a run's result, the policy's own among them."""
    gauges: dict[str, float]
    """Values that the policy adapts, such as ARC's `p`, by name."""
    dirty: list[Hashable]
    """The resident keys that are dirty, in any order."""
    lists: dict[str, Any]
    """Lists of the policy and other state, by name; newest first, a clock from its hand on."""

    def __new__(
        cls,
        policy: str | Callable[..., Any],
        frames: int,
        *,
        pages_per_block: int | None = None,
        device_pages: int | None = None,
        cost: str | Mapping[str, int] | None = None,
    ) -> Cache: ...
    def access(self, key: Hashable, write: bool = False) -> Access:
        """One page access: a read, or a write of the whole page."""

    def __contains__(self, key: Hashable, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Hashable]: ...
    def get(self, key: Hashable, default: Any = None) -> Any:
        """`"clean"` or `"dirty"` for a resident key, else the default."""

    def forget(self, key: Hashable) -> bool | None:
        """The key leaves without being written: its dirty bit, None if it was not resident."""

    def next_victims(self, n: int) -> list[Hashable]:
        """The first `n` keys that would leave, one by one, if only new pages were written.

        For policies with an order of eviction; others raise `UsageError`, which lists these.
        """

    def evict(self, n: int, protected: Container[Hashable] | None = None) -> list[Hashable] | None:
        """Evict the first `n` of `next_victims` that are not in `protected`; return them.

        None, and nothing has changed, if there are fewer.
        """

    def clear(self) -> None:
        """As new: history, targets, counters and random numbers too."""

    def steps(
        self, keys: Iterable[Hashable], write: bool | Container[Hashable] | None = None
    ) -> Steps:
        """Access the keys in turn; each is shown with the policy's lists after it.

        `write`: whether all of them are writes, or the keys whose accesses are.
        """

    def _repr_html_(self) -> str: ...

def open_drive(spec: str, keep: bool) -> Drive: ...
def open_shared_drive(path: str, others: Sequence[tuple[str, str]], keep: bool) -> Drive: ...
def drive_from_record(record: str, keep: bool) -> Drive: ...
def drives() -> str: ...
def device_options() -> str: ...
def drive_keys() -> str: ...
def policies() -> str: ...
def policy(name: str) -> str: ...
def formats() -> str: ...
def ftls() -> str: ...
def reader_options() -> str: ...
def metrics() -> str: ...
def meant(word: str, known: Sequence[str]) -> tuple[str, str]: ...
def nearest(word: str, known: Sequence[str]) -> str | None: ...
def parse_policies(text: str) -> list[_Spec]: ...
def check_policy(name: str, params: str) -> _Spec: ...
def check_needs(name: str, params: str, has_device: bool) -> None: ...
def check_suits(spec: _Spec | None, drive: Drive) -> None: ...
def check_run(sizes: str, options: str) -> None: ...
def label(name: str, params: str) -> str: ...
def run_options() -> str: ...
def resolve_sizes(trace: Trace, sizes: str) -> str: ...
def caches_full(
    trace: Trace,
    frames: Sequence[int],
    drops_trims: bool,
    least_requests: int,
) -> tuple[int, int]: ...
def compare(
    trace: Trace,
    specs: Sequence[_Spec],
    sizes: str,
    options: str,
    jobs: int,
    progress: _Progress = None,
    partial: Callable[[str], object] | None = None,
    drive: Drive | None = None,
) -> str: ...
def padding(
    trace: Trace,
    spec: tuple[str, str],
    sizes: str,
    pages_per_block: int,
    progress: _Progress = None,
) -> str: ...
def mrc(
    trace: Trace,
    specs: Sequence[_Spec],
    sizes: str,
    every_size: bool,
    options: str,
    sample: float | None,
    within: float | None,
    has_lru_control: bool,
    seed: int,
    jobs: int,
    progress: _Progress = None,
    partial: Callable[[str, _EverySize, int, int], object] | None = None,
) -> tuple[str, _EverySize]: ...
def check_every_size(spec: _Spec, options: str) -> None: ...
def run_one(
    trace: Trace,
    spec: _Spec,
    size: str,
    options: str,
    decisions: Path | None = None,
    period: int | None = None,
    progress: _Progress = None,
    drive: Drive | None = None,
    timeline: Path | None = None,
) -> str: ...
def run_own_policy(
    trace: Trace,
    name: str,
    params: str,
    factory: Callable[[int, int], object],
    needs_next_use: bool,
    size: str,
    options: str,
    decisions: Path | None = None,
    period: int | None = None,
    progress: _Progress = None,
    drive: Drive | None = None,
) -> str: ...
def read_result(text: str, name: str) -> str: ...
def assembled(text: str) -> str: ...
def open_trace(
    paths: Sequence[Path],
    options: str,
    page_size: str | None,
    keep: bool,
    progress: _Progress = None,
    wrap_pages: int | None = None,
    span_align_bytes: int | None = None,
) -> tuple[Trace, list[str]]: ...
def synth(
    workload: str,
    page_size: str | None,
    keep: bool,
    progress: _Progress = None,
    wrap_pages: int | None = None,
) -> tuple[Trace, list[str]]: ...
def draw_standin(recipe: str, seed: int, progress: _Progress = None) -> StandIn: ...
def page_bytes(text: str) -> int: ...
def workloads() -> str: ...
def trace_head(paths: Sequence[Path], options: str, count: int) -> str: ...
def convert_targets() -> str: ...
def convert(
    paths: Sequence[Path],
    options: str,
    to: str,
    destination: Path,
    lossy: bool,
    time_unit: str | None = None,
    progress: _Progress = None,
) -> str: ...
def convert_workload(
    workload: str, to: str, destination: Path, progress: _Progress = None
) -> str: ...
def trace_cache() -> str: ...
def trace_cache_clear() -> tuple[int, int]: ...
def report_shrunk_files() -> None: ...
def conform(files: Sequence[Path]) -> tuple[str, list[str]]: ...
def conform_own(
    files: Sequence[Path], factory: Callable[[str, int, int], object], only: str | None = None
) -> tuple[str, list[str]]: ...
def conform_emit(file: Path) -> bytes: ...
def counts_parquet(
    curves: Sequence[tuple[str, int]],
    columns: Sequence[tuple[str, Sequence[bytes | None]]],
    metadata: Mapping[str, str],
) -> bytes: ...
def parquet_columns(
    path: Path, names: Sequence[str] | None = None
) -> tuple[list[tuple[str, list[Any]]], dict[str, str]]: ...
def parquet_bytes(
    columns: Sequence[tuple[str, Sequence[Any]]],
    metadata: Mapping[str, str],
    kinds: Mapping[str, str] | None = None,
) -> bytes: ...
def end_at_second_signal(signals: Sequence[int]) -> int | None: ...
def when_stuck(call: Callable[[], object] | None) -> None: ...
