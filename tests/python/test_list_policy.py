"""Policies made of lists that the engine keeps: they decide as native ones, under the same laws."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from conftest import VECTORS

import destage as ds


class Lru(ds.ListPolicy):
    """All of it is done by the engine."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")


class SaidLru(Lru):
    """The same in words, as one that differs in something would be."""

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        assert r.page not in self.pages, "only misses are asked about"
        return ds.Miss(r.page)

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        assert miss is not None
        self.pages.evict_back(plan)

    def admit(self, r: ds.Request, miss: Any) -> None:
        assert miss == r.page
        self.pages.admit(r)


class Fifo(ds.ListPolicy):
    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages = self.new_list(on_hit="stay")


class Clock(ds.ListPolicy):
    """Second chance: a page that was hit goes round once more."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.pages = self.new_list(on_hit="mark")

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        self.pages.spare_marked()
        self.pages.evict_back(plan)


class Cflru(Lru):
    def __init__(self, frames: int, *, window_fraction: float = 0.5) -> None:
        super().__init__(frames)
        self.window = int(window_fraction * frames + 0.5)

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        clean = self.pages.oldest_clean(within=self.window)
        if clean is None:
            self.pages.evict_back(plan)
        else:
            self.pages.evict(clean, plan)


class Slru(ds.ListPolicy):
    """Two segments: a hit protects; what the protected one has no room for is on probation."""

    def __init__(self, frames: int, *, protected: int) -> None:
        super().__init__(frames)
        self.probation = self.new_list()
        self.protected = self.new_list(on_hit="front", limit=protected, overflow=self.probation)
        self.probation.on_hit = self.protected


class Arc(ds.ListPolicy):
    """ARC as its paper writes it, cases I to IV."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.t2 = self.new_list(on_hit="front")
        self.t1 = self.new_list(on_hit=self.t2)
        self.b1, self.b2 = ds.GhostList(2 * frames), ds.GhostList(2 * frames)
        self.p = 0.0

    def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
        c = self.frames
        if r.page in self.b1:
            self.p = min(c, self.p + max(len(self.b2) / len(self.b1), 1))
            return ds.Miss("b1")
        if r.page in self.b2:
            self.p = max(0, self.p - max(len(self.b1) / len(self.b2), 1))
            return ds.Miss("b2")
        return ds.Miss("new")

    def evict(self, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
        l1 = len(self.t1) + len(self.b1)
        if miss == "new" and l1 == self.frames:
            if len(self.t1) == self.frames:
                self.t1.evict_back(plan)
                return
            self.b1.pop_back()
        elif miss == "new" and l1 + len(self.t2) + len(self.b2) >= 2 * self.frames:
            self.b2.pop_back()
        n = len(self.t1)
        if n and (n > self.p or (miss == "b2" and n == self.p)):
            self.b1.push(self.t1.evict_back(plan))
        else:
            self.b2.push(self.t2.evict_back(plan))

    def admit(self, r: ds.Request, miss: Any) -> None:
        if miss == "new":
            self.t1.admit(r)
        else:
            (self.b1 if miss == "b1" else self.b2).discard(r.page)
            self.t2.admit(r)


@pytest.fixture(scope="module")
def trace() -> ds.Trace:
    return ds.synth("zipf", requests=6_000, pages=700, read_ratio=0.5, size="1-3", seed=3)


@pytest.mark.parametrize(
    ("native", "own"),
    [("lru", Lru), ("lru", SaidLru), ("fifo", Fifo), ("clock", Clock), ("cflru", Cflru)],
)
def test_a_policy_of_lists_decides_as_the_native_one(
    native: str, own: Any, trace: ds.Trace
) -> None:
    sizes = ["1p", "2p", "7p", "10%"]
    runs = list(ds.compare(trace, [native, own], cache=sizes, flush_at_end=True))
    assert [r.counters for r in runs[:4]] == [r.counters for r in runs[4:]]
    report = ds.conform(VECTORS / "page-policies.jsonl", policy=own, only=native)
    assert report.ok, report
    assert report.passed > 5


def test_arc_of_lists_and_ghosts_decides_as_the_native_one(trace: ds.Trace) -> None:
    report = ds.conform(VECTORS / "page-policies.jsonl", policy=Arc, only="arc")
    assert report.ok, report
    native, own = ds.compare(trace, ["arc", Arc], cache="10%")
    assert own.counters == native.counters


def test_a_list_overflows_into_another(trace: ds.Trace) -> None:
    (native,) = ds.compare(trace, "slru[segments=2;protected_fraction=0.5]", cache="40p")
    (own,) = ds.compare(trace, (Slru, {"protected": 20}), cache="40p")
    assert own.misses == native.misses


def test_a_hit_never_enters_python(trace: ds.Trace) -> None:
    calls = {"request": 0, "evict": 0, "admit": 0}

    class Counting(SaidLru):
        def request(self, r: ds.Request) -> ds.Hit | ds.Miss | ds.Bypass:
            calls["request"] += 1
            return super().request(r)

        def admit(self, r: ds.Request, miss: Any) -> None:
            calls["admit"] += 1
            super().admit(r, miss)

    (run,) = ds.compare(trace, Counting, cache="10%")
    assert calls["request"] == calls["admit"] == run.misses < run["accesses"]


def test_lists_do_as_a_model_of_them(trace: ds.Trace) -> None:
    model: OrderedDict[int, bool] = OrderedDict()  # oldest first
    policy = Lru(8)
    pages = policy.pages
    state = 5
    for _ in range(5_000):
        state = (state * 1103515245 + 12345) % 2**31
        page, act, dirty = state >> 8 & 15, state >> 16 & 7, bool(state >> 20 & 1)
        if page in model:
            if act == 0:
                assert pages.remove(page) == model.pop(page)
            elif act == 1:
                pages.move_to_front(page)
                model.move_to_end(page)
            else:
                r = ds.Request(page, "write" if dirty else "read")
                assert policy.request(r) is ds.HIT
                model[page] |= dirty
                model.move_to_end(page)
        elif act == 2 and model:
            assert pages.pop_back() == model.popitem(last=False)
        elif act == 3 and model:
            assert pages.pop_front() == model.popitem(last=True)
        elif act == 4:
            pages.push_back(page, dirty)
            model[page] = dirty
            model.move_to_end(page, last=False)
        else:
            pages.push_front(page, dirty)
            model[page] = dirty
        assert pages.oldest() == list(model)
        assert (len(pages), pages.back) == (len(model), next(iter(model), None))
        assert pages.oldest_clean() == next((p for p, d in model.items() if not d), None)
        assert pages.oldest_clean(2) == next((p for p in list(model)[:2] if not model[p]), None)
        assert (page in pages) == (page in policy.shelf) == (page in model)
        if page in model:
            assert pages.is_dirty(page) == model[page]


def test_ghosts_are_forgotten_oldest_first() -> None:
    ghosts = ds.GhostList(3)
    for page in (1, 2, 3, 1, 4):
        ghosts.push(page)
    assert [page in ghosts for page in (1, 2, 3, 4)] == [True, False, True, True]
    assert ghosts.discard(3)
    assert not ghosts.discard(3)
    ghosts.capacity = 1
    assert (len(ghosts), ghosts.capacity, 4 in ghosts, 1 in ghosts) == (1, 1, True, False)
    assert ghosts.pop_back() == 4
    with pytest.raises(ds.UsageError, match="the list is empty"):
        ghosts.pop_back()
    assert repr(ghosts) == "<GhostList of 0 pages, at most 1>"


def test_a_list_refuses_what_cannot_be() -> None:
    policy, other = Lru(4), Lru(4)
    policy.pages.push_front(1)
    for wrong, words in (
        (lambda: policy.pages.push_back(1), "page 1 is on a list already"),
        (lambda: policy.pages.remove(2), "page 2 is not on this list"),
        (lambda: policy.pages.evict(2, ds.Plan()), "page 2 is not on this list"),
        (lambda: policy.pages.demote_back(other.pages), "of this policy"),
        (lambda: policy.new_list(other.pages), "of this policy"),
        (lambda: policy.new_list("back"), 'expected "front", "stay", "mark"'),
        (lambda: policy.new_list(limit=3), "limit and overflow go together"),
        (lambda: other.pages.pop_back(), "the list is empty"),
        (lambda: other.pages.push_front(1 << 64), "page: expected 0"),
    ):
        with pytest.raises(ds.UsageError, match=words):
            wrong()
    for _ in range(31):
        policy.new_list()
    with pytest.raises(ds.UsageError, match="at most 32 lists"):
        policy.new_list()
    assert repr(policy.pages) == "<PageList of 1 pages>"


def breaking(**methods: Any) -> type[Lru]:
    return type("Broken", (Lru,), methods)


def _keeps(self: Any, miss: Any, device: ds.DeviceView | None, plan: ds.Plan) -> None:
    plan.evict(self.pages.back, self.pages.is_dirty(self.pages.back))


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        ({"evict": _keeps}, "resident"),
        ({"evict": lambda s, m, d, plan: s.pages.pop_back()}, "gives up no page"),
        ({"admit": lambda s, r, m: s.pages.push_front(r.page)}, "it is"),
        ({"admit": lambda s, r, m: s.pages.push_front(r.page + 10_000)}, "on none of"),
        ({"request": lambda s, r: ds.HIT}, "it is not resident"),
        ({"request": lambda s, r: ds.BYPASS}, "bypassed"),
        ({"request": lambda s, r: s.pages.push_front(r.page) or ds.MISS}, "request"),
    ],
    ids=["keeps", "forgets", "lies", "elsewhere", "hits", "loses", "takes early"],
)
def test_the_laws_hold_for_lists_too(methods: dict[str, Any], law: str, trace: ds.Trace) -> None:
    with pytest.raises((ds.CheckFailed, ds.UsageError), match=law) as raised:
        ds.compare(trace, breaking(**methods), cache="10p")
    assert "Broken" in str(raised.value)
    assert "access " in str(raised.value)


def test_a_trimmed_page_leaves_its_list(tmp_path: Path) -> None:
    lines = ["time_ns,device,op,offset_bytes,length_bytes,response_ns"]
    state = 11
    for k in range(2_000):
        state = (state * 1103515245 + 12345) % 2**31
        op = ("read", "write", "write", "trim")[state >> 8 & 3]
        lines.append(f"{k * 1000},d,{op},{(state >> 12) % 60 * 4096},4096,")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    trace = ds.open_trace(tmp_path / "t.csv")
    native, engine, said = ds.compare(trace, ["lru", Lru, SaidLru], cache="20p", trim="drop")
    kept = ds.compare(trace, Lru, cache="20p", trim="ignore")[0]
    assert engine.counters == said.counters == native.counters
    assert kept.counters != native.counters
