"""`destage.Cache`: the API of docs/spec/tiers.md 10, and decisions equal to those of a run."""

from __future__ import annotations

import copy
import doctest
import gc
import json
import pickle
import tempfile
import threading
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st

import destage as ds

#: Policies that a live cache can have, each as it is typed.
LIVE = [
    p.name + ("[file_pages=40]" if p.name == "acr-h" else "")
    for p in ds.policies()
    if not p.needs_device and not p.offline and p.family != "over"
]
ORDERED = ["lru", "fifo", "clock", "cflru", "lru-wsr", "clock-sweep"]
INTEGERS = {p.name for p in ds.policies() if p.by_page_number and p.name in LIVE}


def name_of(policy: str) -> str:
    return policy.partition("[")[0]


Stream = list[tuple[int, bool]]


def recorded(policy: str, frames: int, stream: Stream) -> tuple[list[dict[str, Any]], ds.Run]:
    """Decisions and result of `destage run` on a stream of single pages."""
    with tempfile.TemporaryDirectory() as folder:
        trace, log = Path(folder, "t.csv"), Path(folder, "decisions.jsonl")
        lines = [
            f"{128166372000000000 + k},demo,0,{'Write' if write else 'Read'},{page * 4096},4096,1\n"
            for k, (page, write) in enumerate(stream)
        ]
        trace.write_text("".join(lines))
        opened = ds.open_trace(trace, format="msr")
        done = ds.run(opened, policy, cache=f"{frames}p", decisions=str(log), pages_per_block=4)
        return [json.loads(line) for line in log.read_text().splitlines()], done


streams = st.lists(st.tuples(st.integers(0, 25), st.booleans()), min_size=1, max_size=160)


@pytest.mark.parametrize("policy", LIVE)
@settings(max_examples=12, deadline=None)
@given(stream=streams, frames=st.integers(1, 9))
@example(stream=[(page % 13, page % 3 == 0) for page in range(150)], frames=8)
def test_decisions_and_counters_are_those_of_a_run(
    policy: str, stream: Stream, frames: int
) -> None:
    cache = ds.Cache(policy, frames, pages_per_block=4)
    decisions, run = recorded(cache.policy, frames, stream)
    # Objects as keys where the policy takes them: their order and their hashes are others.
    keys = {page: page if name_of(policy) in INTEGERS else f"page {page}" for page in range(26)}
    pages = {key: page for page, key in keys.items()}
    held: dict[Any, str] = {}
    for (page, write), decision in zip(stream, decisions, strict=True):
        access = cache.access(keys[page], write)
        assert access.hit == bool(access) == decision["hit"]
        assert [pages[key] for key in access.evicted] == decision["evicted"]
        assert [[pages[key] for key in group] for group in access.groups] == decision["flushed"]
        assert access.destaged == tuple(key for group in access.groups for key in group)
        if access.hit or access.admitted:
            dirty = write or held.get(keys[page]) == "dirty"
            held[keys[page]] = "dirty" if dirty else "clean"
        for key in access.destaged:
            if key in held:
                held[key] = "clean"
        for key in access.evicted:
            del held[key]
        assert {key: cache.get(key) for key in cache} == held
    assert sorted(cache.dirty, key=pages.get) == sorted(  # type: ignore[arg-type]
        (key for key, state in held.items() if state == "dirty"), key=pages.__getitem__
    )
    assert {name: run[name] for name in cache.counters} == cache.counters


@pytest.mark.parametrize("policy", LIVE)
@settings(max_examples=8, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 30), st.sampled_from("rwf")), max_size=200))
def test_keys_live_as_long_as_the_policy_knows_them(
    policy: str, steps: list[tuple[int, str]]
) -> None:
    """With keys that come and go, the lists never name a key twice and never one that is gone."""
    frames = 3
    cache, twin = (ds.Cache(policy, frames, pages_per_block=4) for _ in range(2))
    fresh = name_of(policy) not in INTEGERS
    for page, kind in steps:
        # The twin's keys are all kept by us; the other cache's keys are objects of their own.
        ours = ("key", page) if fresh else page
        if kind == "f":
            assert cache.forget(ours) == twin.forget(page)
        else:
            done, there = cache.access(ours, kind == "w"), twin.access(page, kind == "w")
            assert done.hit == there.hit
            assert [k[1] if fresh else k for k in done.evicted] == list(there.evicted)
    assert cache.counters == twin.counters
    cache.clear()
    assert (len(cache), cache._known) == (0, 0)  # type: ignore[attr-defined]
    assert not any(cache.counters.values())


class Key:
    """A key of its own, whose end can be seen."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return hash(self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other.number == self.number


@pytest.mark.parametrize("policy", [p for p in LIVE if name_of(p) not in INTEGERS])
def test_memory_is_bounded_by_what_the_policy_remembers(policy: str) -> None:
    """A scan of 20,000 new keys in between leaves no more keys alive than a constant number."""
    frames = 8
    cache = ds.Cache(policy, frames)
    alive: weakref.WeakSet[Key] = weakref.WeakSet()
    counts = []
    for number in range(20_000):
        key = Key(number if number % 3 else number % 24)
        alive.add(key)
        cache.access(key, number % 5 == 0)
        del key
        if number % 5000 == 4999:
            gc.collect()
            counts.append(len(alive))
            assert len(alive) == cache._known  # type: ignore[attr-defined]
    assert len(cache) <= frames
    # LRU-K keeps histories without an end unless it is told otherwise, as its paper says.
    if "retained" not in str(ds.policy(name_of(policy)).params):
        assert max(counts) <= 1200, counts
    del cache
    gc.collect()
    assert len(alive) == 0


def test_a_key_that_leaves_an_lru_is_released_at_once_and_a_ghost_is_not() -> None:
    lru, arc = ds.Cache("lru", 2), ds.Cache("arc", 2)
    for cache in (lru, arc):
        keys = [Key(n) for n in range(3)]
        first = weakref.ref(keys[0])
        cache.access(keys[0])
        cache.access(keys[0])  # in ARC's T2, from where it goes to B2
        cache.access(keys[1])
        cache.access(keys[1])
        cache.access(keys[2])
        del keys
        assert (first() is None) == (cache is lru)


def test_the_object_that_brought_a_page_in_comes_back() -> None:
    cache = ds.Cache("lru", 1)
    assert not cache.access(1)
    assert cache.access(1.0).hit
    assert cache.access(True).hit
    (gone,) = cache.access("x").evicted
    assert type(gone) is int
    assert cache.access(("a", 2)).evicted == ("x",)
    assert ("a", 2) in cache
    assert "x" not in cache


def test_errors_of_keys_come_through_and_nothing_has_changed() -> None:
    class Bad:
        def __init__(self, at: str) -> None:
            self.at = at

        def __hash__(self) -> int:
            if self.at == "hash":
                raise KeyError("hash")
            return hash("known")

        def __eq__(self, other: object) -> bool:
            raise ArithmeticError("eq")

    cache = ds.Cache("lru", 2)
    cache.access("known")
    before = (list(cache), cache.counters)
    with pytest.raises(KeyError, match="hash"):
        cache.access(Bad("hash"))
    for call in (cache.access, cache.forget, cache.get, cache.__contains__):
        with pytest.raises(ArithmeticError, match="eq"):
            call(Bad("eq"))
        with pytest.raises(TypeError, match="unhashable"):
            call([])  # type: ignore[arg-type]
    assert (list(cache), cache.counters) == before
    with pytest.raises(ZeroDivisionError):
        cache.evict(1, Odd())
    assert (list(cache), cache.counters) == before


class Odd:
    def __contains__(self, key: object) -> bool:
        raise ZeroDivisionError


@pytest.mark.parametrize("policy", sorted(INTEGERS))
def test_policies_that_look_at_page_numbers_take_integers(policy: str) -> None:
    cache = ds.Cache(policy, 4)
    cache.access(2**64 - 1, True)
    assert 2**64 - 1 in cache
    for key in ("x", 1.0, -1, 2**64, None):
        with pytest.raises(TypeError, match=f"{policy} looks at page numbers"):
            cache.access(key, True)
    assert len(cache) == 1


def test_what_cannot_be_is_refused_with_its_reason() -> None:
    for policy, said in (
        ("min", "the future"),
        ("ecr", "has no device"),
        ("sac", "has no device"),
        ("gcar-bplru", "has no device"),
        ("ace", "has no device"),
        ("none", "nothing to step"),
        ("acr-h", "file_pages"),
        ("lrru", "did you mean lru"),
        ("cflru[window_fraction=2]", "0..1"),
        (Key, "Key"),
        (7, "or a class of your own"),
        ("lru,arc", "unknown policy"),
    ):
        with pytest.raises(ds.UsageError, match=said):
            ds.Cache(policy, 4)  # type: ignore[arg-type]
    for frames in (0, -1, 2**32, 1.5, "8"):
        with pytest.raises(ds.UsageError, match="frames = "):
            ds.Cache("lru", frames)  # type: ignore[arg-type]
    for options, said in (
        ({"pages_per_block": 0}, "pages_per_block"),
        ({"device_pages": "x"}, "device_pages"),
        ({"cost": "read=1"}, "write is missing"),
        ({"cost": object()}, "expected numbers"),
    ):
        with pytest.raises(ds.UsageError, match=said):
            ds.Cache("lru", 4, **options)  # type: ignore[arg-type]


def test_it_says_what_it_was_made_as() -> None:
    cache = ds.Cache("CFLRU[window_fraction=0.50]", 4, cost={"read": 1, "write": 8})
    assert (cache.policy, cache.frames) == ("cflru[window_fraction=0.5]", 4)
    assert repr(cache) == 'Cache("cflru[window_fraction=0.5]", frames=4, resident=0)'
    with pytest.raises(AttributeError):
        cache.policy = "lru"
    with pytest.raises(TypeError):
        copy.copy(cache)
    with pytest.raises(TypeError, match="copied or pickled"):
        copy.deepcopy(cache)
    with pytest.raises(TypeError, match="copied or pickled"):
        pickle.dumps(cache)


def test_iterating_while_accessing_is_an_error() -> None:
    cache = ds.Cache("lru", 4)
    for key in "abc":
        cache.access(key)
    assert sorted(cache) == ["a", "b", "c"]  # type: ignore[type-var]
    keys = iter(cache)
    cache.access(next(keys))
    with pytest.raises(RuntimeError, match="changed during iteration"):
        next(keys)


def test_one_thread_at_a_time() -> None:
    cache = ds.Cache("lru", 4)
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        def __hash__(self) -> int:
            return hash("slow")

        def __eq__(self, other: object) -> bool:
            entered.set()
            assert leave.wait(20)
            return False

    cache.access("slow")
    other = threading.Thread(target=cache.access, args=(Slow(),))
    other.start()
    assert entered.wait(20)
    for call in (lambda: cache.access(1), lambda: len(cache), lambda: cache.counters):
        with pytest.raises(RuntimeError, match="one thread at a time"):
            call()
    leave.set()
    other.join()
    assert len(cache) == 2


def test_results_are_immutable_and_plain_ones_are_shared() -> None:
    cache = ds.Cache("lru", 8)
    misses = {id(cache.access(key)) for key in range(8)}
    hits = {id(cache.access(key, True)) for key in range(8)}
    assert (len(misses), len(hits)) == (1, 1)
    access = cache.access(9)
    assert (access.evicted, access.destaged, access.groups) == ((0,), (0,), ((0,),))
    assert repr(access).startswith("Access(hit=False, admitted=True, evicted=(0,)")
    with pytest.raises(AttributeError):
        access.hit = True


@pytest.mark.parametrize("policy", ORDERED)
@settings(max_examples=25, deadline=None)
@given(stream=streams, frames=st.integers(1, 9))
def test_the_order_of_eviction_is_that_of_writes_of_new_pages(
    policy: str, stream: Stream, frames: int
) -> None:
    cache = ds.Cache(policy, frames)
    for page, write in stream:
        cache.access(page, write)
    held = {key: cache.get(key) for key in cache}
    order = cache.next_victims(100)
    assert {key: cache.get(key) for key in cache} == held, "it changes nothing"
    assert sorted(order) == sorted(held)  # type: ignore[type-var]
    assert cache.next_victims(2) == order[:2]
    new = ("new", 0)
    left = [key for n in range(8 * frames + 8) for key in cache.access((*new, n), True).evicted]
    assert [key for key in left if key in held][: len(order)] == order


@pytest.mark.parametrize("policy", ORDERED)
def test_evict_leaves_out_what_is_protected_or_does_nothing(policy: str) -> None:
    cache = ds.Cache(policy, 4)
    for key in range(4):
        cache.access(key, key == 1)
    order = cache.next_victims(4)
    assert cache.evict(0) == []
    assert cache.evict(3, protected={order[0], order[2]}) is None
    assert cache.next_victims(4) == order
    assert cache.evict(2, protected=[order[0]]) == order[1:3]
    assert sorted(cache) == sorted((order[0], order[3]))  # type: ignore[type-var]
    counters = cache.counters
    assert (counters["evictions"], counters["destaged_pages"], counters["physical_writes"]) == (
        2,
        int(1 in order[1:3]),
        int(1 in order[1:3]),
    )
    assert cache.access("new").evicted == ()
    with pytest.raises(ds.UsageError, match="expected an integer >= 0"):
        cache.evict(-1)


def test_others_have_no_order_of_eviction() -> None:
    for policy in set(LIVE) - set(ORDERED):
        with pytest.raises(ds.UsageError, match="lru, fifo, clock, cflru, lru-wsr, clock-sweep"):
            ds.Cache(policy, 4).next_victims(1)
    with pytest.raises(ds.UsageError, match="no eviction order"):
        ds.Cache("arc", 4).evict(1)


def test_lists_are_those_of_the_paper() -> None:
    arc = ds.Cache("arc", 2)
    for key in "aabcbd":
        arc.access(key)
    assert arc.lists == {"T1": ["d", "c"], "T2": [], "B1": [], "B2": ["b", "a"]}
    assert arc.gauges == {"p": 1.0}
    two_q = ds.Cache("2q[in_fraction=0.25;out_fraction=0.5]", 4)
    for key in "abcdea":
        two_q.access(key)
    assert two_q.lists == {"A1in": ["e", "d", "c"], "Am": ["a"], "A1out": ["b"]}
    clock = ds.Cache("clock", 3)
    for key in "abcb":
        clock.access(key)
    assert clock.lists == {"ring": ["a", "b", "c"], "referenced": ["b"]}


@pytest.mark.parametrize("policy", LIVE)
def test_lists_hold_every_resident_key_or_there_are_none(policy: str) -> None:
    cache = ds.Cache(policy, 5)
    for n in range(60):
        cache.access(n * n % 17, n % 2 == 0)
    shown: set[object] = set()

    def gather(part: object) -> None:
        for one in part if isinstance(part, list) else [part]:
            gather(one) if isinstance(one, list) else shown.add(one)

    for part in cache.lists.values():
        gather(part)
    counted = {"lru-k", "lfu", "lfu-da", "pgdsf", "cfdc"}
    framed = {"random", "hyperbolic", "watt", "clock-sweep", "sampled-lru", "sampled-lfu"}
    without = counted | framed
    assert (name_of(policy) in without) == (not cache.lists)
    assert not cache.lists or set(cache) <= shown


def test_an_ordered_dict_gives_the_same_lru() -> None:
    """The yardstick of benches/cache_object.py does the same work."""
    lru, there = ds.Cache("lru", 50), OrderedDict[int, bool]()
    for n in range(5000):
        key, write = n * n % 211, n % 3 == 0
        hit = key in there
        left = ()
        if hit:
            there.move_to_end(key)
        elif len(there) == 50:
            left = (there.popitem(last=False)[0],)
        there[key] = there.get(key, False) or write
        access = lru.access(key, write)
        assert (access.hit, access.evicted) == (hit, left)


def test_the_page_shows_what_happens() -> None:
    page = ROOT / "docs" / "cache-object.md"
    done = doctest.testfile(str(page), module_relative=False)
    assert done.attempted > 12
    assert done.failed == 0


@pytest.mark.parametrize("policy", LIVE)
def test_no_policy_keeps_more_keys_the_longer_it_lives(policy: str) -> None:
    """Keys that do not come back; lru-k purges old histories in batches of a thousand."""
    cache = ds.Cache(policy, 16)
    most = []
    for begin in range(0, 16_000, 4_000):
        known = 0
        for key in range(begin, begin + 4_000):
            cache.access(key, key % 3 == 0)
            known = max(known, cache._known)  # type: ignore[attr-defined]
        most.append(known)
    assert most[-1] <= most[0] + 16, most


def test_memory_has_a_bound_that_the_policy_shows_and_that_can_be_taken_away() -> None:
    assert ds.Cache("lirs", 10).policy == "lirs[ghost_max=80]"
    assert ds.Cache("lru-k", 10).policy == "lru-k[retained_period=80]"
    assert ds.Cache("lirs[ghost_max=3]", 10).policy == "lirs[ghost_max=3]"
    assert ds.Cache("arc", 10).policy == "arc"
    unlimited = ds.Cache("lirs[ghost_max=none]", 10)
    for key in range(1000):
        unlimited.access(key)
    assert unlimited._known > 900  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", [p for p in LIVE if "bypasses" in ds.Cache(p, 1).counters])
def test_what_is_resident_is_the_same_by_every_question(policy: str) -> None:
    cache = ds.Cache(policy, 3)
    for number in range(400):
        key = number * number % 23
        cache.access(key, number % 2 == 0)
        inside = set(cache)
        assert len(cache) == len(inside)
        assert {key for key in range(23) if key in cache} == inside
        states = {key: cache.get(key) for key in range(23)}
        assert {key for key, state in states.items() if state} == inside
        assert {key for key, state in states.items() if state == "dirty"} == set(cache.dirty)


def test_a_bypassed_write_leaves_nothing_in_the_cache() -> None:
    larc = ds.Cache("larc", 4)
    access = larc.access("a", write=True)
    assert (access.admitted, access.destaged) == (False, ("a",))
    assert (len(larc), "a" in larc, larc.get("a")) == (0, False, None)


@pytest.mark.parametrize(
    ("bound", "most"), [("[retained_period=none]", 5_000), ("[retained_period=100]", 1_200)]
)
def test_lru_k_keeps_keys_for_its_retained_period(bound: str, most: int) -> None:
    """Old histories are purged in batches of a thousand; without a period, none is."""
    cache = ds.Cache(f"lru-k{bound}", 10)
    seen: list[weakref.ref[Key]] = []
    for number in range(5_000):
        key = Key(number)
        seen.append(weakref.ref(key))
        cache.access(key)
    del key
    gc.collect()
    kept = sum(one() is not None for one in seen)
    assert 100 < kept <= most
    assert (bound == "[retained_period=none]") == (kept == 5_000)
