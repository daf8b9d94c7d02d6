"""The exact offline optimum against an exhaustive search without any pruning, and against MIN."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

import destage as ds
from destage.reproduce.offline import least_cost

Access = tuple[bool, int]


def exhaustive(accesses: list[Access], frames: int, read: int, write: int) -> int:
    """Every victim is tried at every eviction."""

    @cache
    def best(k: int, resident: frozenset[int], dirty: frozenset[int]) -> int:
        if k == len(accesses):
            return 0
        writes, page = accesses[k]
        after = dirty | {page} if writes else dirty
        if page in resident:
            return best(k + 1, resident, after)
        cost = 0 if writes else read
        if len(resident) < frames:
            return cost + best(k + 1, resident | {page}, after)
        return cost + min(
            (write if v in dirty else 0)
            + best(k + 1, (resident - {v}) | {page}, (after - {v}) | ({page} if writes else set()))
            for v in resident
        )

    return best(0, frozenset(), frozenset())


accesses_of_few_pages = st.lists(
    st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=14
)


@settings(max_examples=300, deadline=None)
@given(
    accesses_of_few_pages, st.integers(1, 4), st.sampled_from([(1, 1), (1, 2), (1, 118), (3, 2)])
)
def test_the_bounds_meet_at_the_optimum(
    accesses: list[Access], frames: int, costs: tuple[int, int]
) -> None:
    read, write = costs
    found = least_cost(accesses, frames, read=read, write=write)
    least = exhaustive(accesses, frames, read, write)
    assert found.low <= least <= found.high
    # So few accesses never need more branches than there are.
    assert found.exact


def test_without_writes_it_is_min() -> None:
    trace = ds.synth("zipf", requests=400, pages=40, read_ratio=1.0, seed=5)
    (best,) = ds.compare(trace, "min", cache="8p")
    heads = accesses(trace)
    found = least_cost(heads, 8, read=1, write=100)
    assert found.low == found.high == best.misses


def test_no_policy_is_below_it() -> None:
    trace = ds.synth("oltp", requests=250, pages=60, read_ratio=0.5, seed=2)
    found = least_cost(accesses(trace), 8, read=1, write=8)
    assert found.low <= found.high
    for run in ds.compare(trace, "lru,cflru,acr-h,min", cache="8p", cost="read=1,write=8"):
        assert run.cost is not None
        assert found.low <= run.cost, run.label


def test_bounds_hold_before_they_meet() -> None:
    trace = ds.synth("oltp", requests=60, pages=30, read_ratio=0.5, seed=2)
    heads = accesses(trace)
    loose = least_cost(heads, 4, read=1, write=8, steps=1, branches=0)
    tight = least_cost(heads, 4, read=1, write=8)
    assert loose.low <= tight.low <= tight.high <= loose.high


def accesses(trace: ds.Trace) -> list[Access]:
    from destage.reproduce.beyond import page_accesses

    return page_accesses(trace)
