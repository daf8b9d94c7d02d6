"""Policies written in Python: they decide as native ones do, and their mistakes are named."""

from __future__ import annotations

import functools
import runpy
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, VECTORS

import destage as ds


class Lru(ds.Policy):
    """LRU, as one would port it."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages: OrderedDict[int, bool] = OrderedDict()

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        if r.page not in self.pages:
            return ds.MISS
        self.pages[r.page] |= r.is_write
        self.pages.move_to_end(r.page)
        return ds.HIT

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        page, dirty = self.pages.popitem(last=False)
        plan.evict(page, dirty)

    def admit(self, r: ds.Request, miss: Any) -> None:
        self.pages[r.page] = r.is_write


class Min(Lru):
    """The page that is used last goes."""

    NEEDS_NEXT_USE = True

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.next: dict[int, float] = {}

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        self.next[r.page] = float("inf") if r.next_use is None else r.next_use
        return super().request(r)

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        page = max(self.pages, key=lambda p: (self.next[p], -p))
        plan.evict(page, self.pages.pop(page))


class Cflru(Lru):
    """Clean pages of the window go first; what is left in the group stays clean."""

    def __init__(self, frames: int, *, window_fraction: float = 0.5) -> None:
        super().__init__(frames)
        self.window = int(window_fraction * frames + 0.5)

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        window = list(self.pages)[: self.window]
        page = next((p for p in window if not self.pages[p]), next(iter(self.pages)))
        plan.evict(page, self.pages.pop(page))


class Larc(Lru):
    """A page comes in at its second access; until then writes go through."""

    WRITES_THROUGH = True

    def __init__(
        self, frames: int, *, admit_while_filling: bool = False, admit_writes: bool = False
    ) -> None:
        super().__init__(frames)
        self.ghosts: OrderedDict[int, None] = OrderedDict()
        self.wanted = 0.1 * frames
        self.admit_while_filling = admit_while_filling
        self.admit_writes = admit_writes

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        s = self.frames
        if r.page in self.pages:
            self.wanted = max(0.1 * s, self.wanted - s / (s - self.wanted))
            return super().request(r)
        self.wanted = min(0.9 * s, self.wanted + s / self.wanted)
        if r.page in self.ghosts:
            del self.ghosts[r.page]
            return ds.MISS
        filling = self.admit_while_filling and len(self.pages) < s
        if filling or (self.admit_writes and r.is_write):
            return ds.MISS
        self.ghosts[r.page] = None
        if len(self.ghosts) > max(1.0, self.wanted):
            self.ghosts.popitem(last=False)
        return ds.BYPASS


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=4_000, pages=500, read_ratio=0.5, size="1-3", seed=9)


@pytest.mark.parametrize(
    ("native", "own"),
    [("lru", Lru), ("cflru", Cflru), ("min", Min), ("larc", Larc)],
    ids=["lru", "cflru", "min", "larc"],
)
def test_a_port_decides_as_the_native_policy(native: str, own: Any, trace: ds.Trace) -> None:
    results = ds.compare(trace, [native, own], cache=["1p", "7p", "10%"], flush_at_end=True)
    runs = list(results)
    for a, b in zip(runs[:3], runs[3:], strict=True):
        assert (a.frames, a.misses) == (b.frames, b.misses)
        if native != "min":  # which of two pages never used again goes may differ
            assert a.counters == b.counters
    assert [r.policy for r in runs] == [native] * 3 + [own.__name__] * 3


def test_a_refused_write_goes_through_and_is_counted(trace: ds.Trace) -> None:
    for run in ds.compare(trace, ["larc", Larc], cache="10%"):
        assert 0 < run["written_through"] < run["bypasses"] == run["refused"]
        assert run["physical_writes"] == run["destaged_pages"] + run["written_through"]
        admitted = run.misses - run["bypasses"]
        assert run["flash_writes_per_admission"] == pytest.approx(run["physical_writes"] / admitted)
    report = ds.conform(VECTORS / "further-policies.jsonl", policy=Larc, only="larc")
    assert report.ok, report
    assert report.passed == 11


def test_conform_says_whether_a_port_decides_alike() -> None:
    path = VECTORS / "page-policies.jsonl"
    report = ds.conform(path, policy=Lru, only="lru")
    assert report.ok, report
    assert report.passed > 5
    report = ds.conform(path, policy=Cflru, only="cflru")
    assert report.ok, report
    assert report.passed > 5
    report = ds.conform(path, policy=Lru, only="fifo")
    assert report.failed > 0
    assert "expected" in report.files[0].differences[0]


def test_native_and_own_policies_keep_their_order(trace: ds.Trace) -> None:
    results = ds.compare(trace, [Lru, "lru", ("cflru", {}), Cflru], cache=["5%", "10%"])
    assert [(r.policy, r.cache) for r in results] == [
        ("Lru", "5%"),
        ("Lru", "10%"),
        ("lru", "5%"),
        ("lru", "10%"),
        ("cflru", "5%"),
        ("cflru", "10%"),
        ("Cflru", "5%"),
        ("Cflru", "10%"),
    ]


def test_parameters_go_to_the_class(trace: ds.Trace) -> None:
    pair, partial, native = ds.compare(
        trace,
        [
            (Cflru, {"window_fraction": 0.9}),
            functools.partial(Cflru, window_fraction=0.9),
            "cflru[window_fraction=0.9]",
        ],
        cache="10%",
    )
    assert pair.counters == partial.counters == native.counters
    assert pair.label == "Cflru[window_fraction=0.9]"
    with pytest.raises(ds.UsageError, match="wndow"):
        ds.compare(trace, (Cflru, {"wndow": 1}), cache="10%")


def test_a_run_of_an_own_policy_is_recorded(trace: ds.Trace, tmp_path: Path) -> None:
    own = ds.run(trace, Lru, cache="10%", decisions=tmp_path / "own.jsonl", series=500)
    native = ds.run(trace, "lru", cache="10%", decisions=tmp_path / "native.jsonl", series=500)
    assert (tmp_path / "own.jsonl").read_bytes() == (tmp_path / "native.jsonl").read_bytes()
    assert own.series == native.series


def breaking(**methods: Any) -> type[Lru]:
    return type("Broken", (Lru,), methods)


def _keeps(self: Any, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
    pass


def _stranger(self: Any, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
    plan.evict(10**9, False)


def _lies(self: Any, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
    page, dirty = self.pages.popitem(last=False)
    plan.evict(page, not dirty)


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        ({"evict": _keeps}, "gives up no page"),
        ({"evict": _stranger}, "not resident"),
        ({"evict": _lies}, "it is"),
        ({"request": lambda self, r: ds.HIT}, "it is not resident"),
        ({"request": lambda self, r: ds.BYPASS}, "bypassed"),
    ],
    ids=["evicts nothing", "evicts a stranger", "lies about dirt", "hits always", "loses writes"],
)
def test_a_broken_law_is_named(methods: dict[str, Any], law: str, trace: ds.Trace) -> None:
    with pytest.raises(ds.CheckFailed, match=law) as raised:
        ds.compare(trace, breaking(**methods), cache="10p")
    assert "Broken" in str(raised.value)


def _raises(self: Any, *_: Any) -> Any:
    raise ZeroDivisionError("in the policy")


@pytest.mark.parametrize("method", ["request", "evict", "admit"])
def test_an_exception_of_the_policy_comes_out_whole(method: str, trace: ds.Trace) -> None:
    with pytest.raises(ZeroDivisionError, match="in the policy") as raised:
        ds.compare(trace, breaking(**{method: _raises}), cache="10p")
    assert any(frame.name == "_raises" for frame in raised.traceback)
    with pytest.raises(ZeroDivisionError):
        ds.conform(
            VECTORS / "page-policies.jsonl", policy=breaking(**{method: _raises}), only="lru"
        )


def test_what_is_no_policy_is_refused(trace: ds.Trace) -> None:
    with pytest.raises(ds.UsageError, match="expected HIT"):
        ds.compare(trace, breaking(request=lambda self, r: True), cache="10p")
    with pytest.raises(ds.UsageError, match="the class"):
        ds.compare(trace, Lru(3), cache="10p")  # type: ignore[arg-type]
    with pytest.raises(ds.UsageError, match="no method"):
        ds.compare(trace, lambda frames: object(), cache="10p")  # type: ignore[arg-type, return-value]

    def ungrouped(self: Any, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        plan.flush_and_evict(1)

    with pytest.raises(ds.UsageError, match="plan: open_group comes before"):
        ds.compare(trace, breaking(evict=ungrouped), cache="10p")

    def ended(self: Any, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        plan.open_group()
        plan.evict(7, False)
        plan.flush_and_evict(8)

    with pytest.raises(ds.UsageError, match=r"plan\.evict\(7\) ended the group: open_group comes"):
        ds.compare(trace, breaking(evict=ended), cache="10p")


def test_groups_and_kept_pages_are_counted() -> None:
    def all_of_it(self: Any, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        # Writes everything dirty as one group; only the oldest page leaves.
        oldest, was_dirty = self.pages.popitem(last=False)
        dirty = sorted([p for p, d in self.pages.items() if d] + [oldest] * was_dirty)
        if not was_dirty:
            plan.evict(oldest, False)
        if dirty:
            plan.open_group()
        for page in dirty:
            if page == oldest:
                plan.flush_and_evict(page)
            else:
                plan.flush_and_keep(page)
                self.pages[page] = False

    trace = ds.synth("uniform", requests=2_000, pages=100, read_ratio=0.2, seed=4)
    (run,) = ds.compare(trace, breaking(evict=all_of_it), cache="20p", flush_at_end=True)
    (lru,) = ds.compare(trace, "lru", cache="20p")
    assert run.misses == lru.misses
    assert run.counters["destages"] < lru.counters["destages"]
    assert run.counters["destaged_pages"] > run.counters["destages"]


def test_the_write_buffer_of_the_examples_writes_whole_groups() -> None:
    scope = runpy.run_path(str(ROOT / "examples" / "write_buffer.py"))
    trace = ds.synth("locality", requests=2_000, pages=200, read_ratio=0.2, seed=4)
    runs = ds.compare(trace, [scope["BlockLru"], "lru"], cache="40p", pages_per_block=8, jobs=1)
    groups = {run.policy: run["destaged_pages"] / run["destages"] for run in runs}
    assert 1.5 < groups["BlockLru"] <= 8
    assert groups["lru"] == 1
    drive = ds.open_device("small")
    (driven,) = ds.compare(trace, scope["BlockLru"], cache="40p", device=drive, jobs=1)
    assert driven["destaged_pages"] / driven["destages"] >= groups["BlockLru"]


def test_requests_and_plans_can_be_made_to_try_a_policy() -> None:
    policy = Lru(1)
    assert policy.request(ds.Request(7, "write")) is ds.MISS
    policy.admit(ds.Request(7, "write"), None)
    plan = ds.Plan()
    policy.evict(None, None, plan)
    assert plan.evicted == [(7, True)]
    assert ds.Miss("ghost").value == "ghost"
    with pytest.raises(ds.UsageError, match="read or write"):
        ds.Request(7, "erase")


@pytest.mark.parametrize("name", ["quickstart", "own_policy", "over_provisioning", "write_buffer"])
def test_the_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [name])
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    assert "lru" in capsys.readouterr().out


class Ecr(Lru):
    """ECR with its Clean list, ported line by line: `cqct` is the remaining work of the unit."""

    NEEDS_DEVICE = True

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.unit: dict[int, int] = {}  # of dirty pages

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        answer = super().request(r)
        if answer is ds.HIT and r.is_write:
            self.unit[r.page] = self.written_to(r)
        return answer

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        assert device is not None
        oldest: dict[int | None, int] = {}  # of the Clean list, and of every unit's dirty list
        for page, dirty in self.pages.items():
            oldest.setdefault(self.unit[page] if dirty else None, page)
        page = oldest.pop(None, None)
        if page is None:
            # Among units with equal work the older page goes: `min` takes the first.
            page = oldest[min((u for u in oldest if u is not None), key=device.backlog_ns)]
        self.unit.pop(page, None)
        plan.evict(page, self.pages.pop(page))

    def admit(self, r: ds.Request, miss: Any) -> None:
        super().admit(r, miss)
        if r.is_write:
            self.unit[r.page] = self.written_to(r)

    def written_to(self, r: ds.Request) -> int:
        assert r.unit_if_dirty is not None
        return r.unit_if_dirty


@pytest.fixture(scope="module")
def drive() -> ds.Device:
    return ds.open_device("small")


@pytest.fixture(scope="module")
def busy(drive: ds.Device) -> ds.Trace:
    """Writes that come faster than the device takes them, so that queues differ."""
    return ds.synth(
        "zipf", requests=6_000, pages=20_000, read_ratio=0.3, gap_ns=25_000, seed=5, device=drive
    )


def test_a_port_of_ecr_sees_the_drive_as_the_native_one_does(
    busy: ds.Trace, drive: ds.Device
) -> None:
    native, own, lru = ds.compare(busy, ["ecr", Ecr, "lru"], cache="64p", device=drive)
    assert own.counters == native.counters
    assert own.metrics == native.metrics
    assert own["response_ns_mean"] != lru["response_ns_mean"]


def test_a_policy_that_needs_a_drive_is_refused_without_one(
    busy: ds.Trace, trace: ds.Trace
) -> None:
    for call in (ds.compare, ds.run):
        with pytest.raises(ds.UsageError, match=r"Ecr is device-aware: add a device"):
            call(trace, Ecr, cache="10p")


def test_what_a_policy_is_told_with_a_drive_and_without(
    busy: ds.Trace, trace: ds.Trace, drive: ds.Device
) -> None:
    told: list[tuple[int | None, int | None]] = []
    views: list[ds.DeviceView | None] = []

    class Curious(Lru):
        def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
            told.append((r.unit_if_clean, r.unit_if_dirty))
            return super().request(r)

        def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
            views.append(device)
            super().evict(miss, device, plan)

    ds.compare(trace, Curious, cache="10p")
    assert set(told) == {(None, None)}
    assert set(views) == {None}
    told.clear()
    views.clear()
    ds.compare(busy, Curious, cache="64p", device=drive)
    units = drive.size["units"]
    assert {clean for clean, _ in told} == {dirty for _, dirty in told} == set(range(units))
    seen = [view for view in views if view is not None]
    assert len(seen) == len(views) > 0
    for view in seen[:50]:
        assert view.units() == units
        assert view.backlogs_ns() == [view.backlog_ns(u) for u in range(units)]
        with pytest.raises(IndexError, match=f"unit {units}: the device has {units}"):
            view.in_gc(units)
    assert any(view.in_gc(u) for view in seen for u in range(units))
    told.clear()
    ds.compare(busy, Curious, cache="64p", device=drive.with_options(ftl="page-ideal"))
    assert {dirty for _, dirty in told} == {None}
    assert None not in {clean for clean, _ in told}


def test_a_view_of_a_drive_can_be_made_to_try_a_policy() -> None:
    policy = Ecr(2)
    for page, unit in ((1, 0), (2, 1)):
        request = ds.Request(page, "write", unit_if_dirty=unit)
        assert policy.request(request) is ds.MISS
        policy.admit(request, None)
    plan = ds.Plan()
    policy.evict(None, ds.DeviceView([900, 10], [True, False]), plan)
    assert plan.evicted == [(2, True)]
    with pytest.raises(ds.UsageError, match="as many"):
        ds.DeviceView([1, 2], [True])


def test_own_policies_stand_beside_no_cache_at_several_sizes(
    busy: ds.Trace, drive: ds.Device
) -> None:
    policies = ["none", Lru, "lru", "clock"]
    results = ds.compare(busy, policies, cache=["16p", "64p"], device=drive)
    with_cache = [(r.policy, r.frames) for r in results if r.policy != "none"]
    assert with_cache == [(name, k) for name in ("Lru", "lru", "clock") for k in (16, 64)]
    assert len(results) == len(with_cache) + 1
    by_name = {(r.policy, r.frames): r.counters for r in results}
    assert by_name["Lru", 16] == by_name["lru", 16]
    assert by_name["Lru", 64] == by_name["lru", 64]


def test_the_parameters_of_an_own_policy_are_tuned_like_any(trace: ds.Trace) -> None:
    values = {"window_fraction": "0:1:0.25"}
    native = ds.tune(trace, "cflru", values, "min:physical_writes", cache="40p")
    own = ds.tune(trace, Cflru, values, "min:physical_writes", cache="40p")
    assert own.policy == "Cflru"
    assert [p.objective for p in own.points] == [p.objective for p in native.points]
    searched = ds.tune(trace, Cflru, {"window_fraction": "0.1:0.9"}, cache="40p", trials=3)
    assert len(searched.points) == 3
    with pytest.raises(ds.UsageError, match=r"Cflru.*unexpected keyword argument 'window'"):
        ds.tune(trace, Cflru, {"window": "0:1:0.5"}, cache="40p")
    with pytest.raises(ds.UsageError, match="given and tuned"):
        ds.tune(trace, (Cflru, {"window_fraction": 0.5}), values, cache="40p")
    with pytest.raises(ds.UsageError, match=r"nothing to tune: name a parameter$"):
        ds.tune(trace, Cflru, {}, cache="40p")


def test_a_result_of_an_own_policy_says_that_it_cannot_be_made_again_from_a_file(
    trace: ds.Trace, tmp_path: Path
) -> None:
    ds.compare(trace, ["lru", Lru], cache="10p").to_json(tmp_path / "r.json")
    with pytest.raises(ds.UsageError, match="Lru is no built-in policy"):
        ds.rerun(tmp_path / "r.json")


def test_what_an_eviction_leaves_in_the_miss_the_admission_finds(trace: ds.Trace) -> None:
    told: list[int] = []

    class Remembering(Lru):
        def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
            return ds.Miss([]) if super().request(r) is ds.MISS else ds.HIT

        def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
            miss.append(next(iter(self.pages)))
            super().evict(miss, device, plan)

        def admit(self, r: ds.Request, miss: Any) -> None:
            assert r.page not in miss
            told.extend(miss)
            super().admit(r, miss)

    (run,) = ds.compare(trace, Remembering, cache="10p").runs
    assert len(told) == run.counters["evictions"] > 0
