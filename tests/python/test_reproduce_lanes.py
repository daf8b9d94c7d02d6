"""Comparisons of an evaluation side by side: in order, one failure, one bar."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from destage.reproduce.lanes import Lanes, Watch, lanes_of


def numbers(until: int, made: list[int], in_making: threading.Lock) -> Iterator[int]:
    """What comes, which must be made by one lane at a time."""
    for number in range(until):
        assert in_making.acquire(blocking=False), "two lanes made what comes at once"
        made.append(number)
        in_making.release()
        yield number


@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_is_done_side_by_side_comes_back_in_order(count: int) -> None:
    made: list[int] = []
    waiting = threading.Barrier(count)

    def work(number: int) -> int:
        # As many at once as there are lanes: none of the first could end alone.
        if number < count:
            waiting.wait(timeout=60)
        return number * number

    coming = numbers(23, made, threading.Lock())
    found = Lanes(count, 1).each(coming, work, threading.Event())
    assert found == [number * number for number in range(23)]
    assert made == list(range(23))


@pytest.mark.parametrize("count", [1, 3])
def test_a_failure_ends_the_other_lanes_and_is_the_one_that_is_told(count: int) -> None:
    made: list[int] = []
    stop = threading.Event()

    def work(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        if count > 1 and number < 2:
            # Goes on until it is told to leave off, as a comparison does.
            assert stop.wait(timeout=60)
            raise InterruptedError("not wanted any more")
        return number

    with pytest.raises(ValueError, match="two"):
        Lanes(count, 1).each(numbers(1000, made, threading.Lock()), work, stop)
    assert len(made) < 1000


def test_what_cannot_be_made_is_told() -> None:
    def coming() -> Iterator[int]:
        yield 0
        raise ValueError("no load")

    with pytest.raises(ValueError, match="no load"):
        Lanes(2, 1).each(coming(), lambda number: number, threading.Event())


def test_all_processors_have_work() -> None:
    assert lanes_of(1) == Lanes(1, 1)
    for threads in range(2, 200):
        lanes = lanes_of(threads)
        assert lanes.count >= 2
        assert threads <= lanes.count * lanes.jobs <= threads + lanes.count


def test_the_bar_is_of_the_comparison_that_has_gone_on_longest() -> None:
    told: list[tuple[int, str]] = []
    watch = Watch(lambda done, _, stage: told.append((done, stage)))
    watch.opening(1, None, "decoding")
    with watch.told_of("second") as second:
        with watch.told_of("third") as third:
            second(2, 10, "replaying")
            third(3, 10, "replaying")
        watch.opening(4, None, "decoding")
    with watch.told_of("fourth") as fourth:
        fourth(5, 10, "replaying")
        watch.stop.set()
        with pytest.raises(InterruptedError):
            fourth(6, 10, "replaying")
    assert told == [(1, "decoding"), (2, "second"), (5, "fourth")]
    with Watch(None).told_of("nobody looks") as silent:
        assert silent(1, 2, "replaying") is None
