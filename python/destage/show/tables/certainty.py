"""How sure a choice is, in sentences: the next best policy, parts of the trace, other choices."""

from __future__ import annotations

from collections.abc import Iterator

from destage.model.advice import VISIBLE, Choice, Rival, Wrong
from destage.model.goals import Goal
from destage.model.metrics import METRICS
from destage.model.run import Run
from destage.model.words import NBSP, significant
from destage.show.tables.products import sign, signed_share
from destage.show.tables.words import FACTOR, factor, far_text, place, tail_text, title_of

__all__ = ["behind", "held_back", "no_rival", "sure_lines", "tail_of", "wrong_lines"]


def behind(share: float | None, than: str) -> str:
    """How much worse a number is, as the end of a sentence."""
    if share is None:
        return f"worse than {than}"
    if share == 0:
        return f"as {than}"
    if 1 + abs(share) >= FACTOR:
        return f"{far_text(share)} {than}"
    word = "worse" if share > 0 else "better"
    return f"{far_text(share)} {word} than {than}"


def tail_of(goal: Goal, run: Run) -> str:
    """`p99 1.83 ms` of a run in parentheses, if it has one."""
    tail = tail_text(goal, run)
    return f" ({tail})" if tail else ""


def no_rival(choice: Choice) -> str:
    """Why the choice has no other policy to be compared with."""
    others = [run.label for run in choice.skipped if run.frames == choice.run.frames]
    if not others:
        return "No other candidate ran at that size: significance is unknown."
    who = f"{others[0]} is" if len(others) == 1 else f"{len(others)} other policies are"
    return f"{who} not judged at that size ({choice.goal.unjudged}): significance is unknown."


def _signed(goal: Goal, value: float) -> str:
    if goal.metric is not None and goal.metric.kind == "ratio":
        return f"{sign(value)}{significant(100 * abs(value), 2)} points"
    return f"{sign(value)}{goal.text(abs(value))}"


def sure_lines(choice: Choice) -> list[str]:
    """Significance: the interval, the parts of the trace, other seeds."""
    rival, goal = choice.rival, choice.goal
    if rival is None:
        return [no_rival(choice)]
    tail = tail_text(goal, rival.run)
    theirs = goal.text(goal.judged(rival.run)) + (f", {tail}" if tail else "")
    differs = f"is {'' if rival.significant else 'not '}significantly different"
    held = goal.is_held_back(choice.run, rival.run)
    if held:
        differs = f"is {_held_back(choice, rival.run, rival.interval)}"
    said = [f"The next best at that size, {rival.run.label} ({theirs}), {differs}"]
    if rival.interval is not None and not held:
        said[0] += _interval_text(choice, rival.run, rival.interval)
    elif rival.significant:
        said[0] += " (by more than 1\u00a0%; the run is too short for an interval)"
    said[0] += "."
    said += [*_of_parts(choice, rival), *_of_seeds(choice, rival)]
    return said


def held_back(choice: Choice, other: Run) -> str:
    """That only pending writes keep the order of two runs open."""
    ahead, values = _without_pending(choice, other)
    goal = choice.goal
    judged = " against ".join(goal.text(goal.judged(run)) for run in (other, choice.run))
    return (
        f"{other.label} is significantly {ahead} without pending writes ({values}); with them the"
        f" order is undecided ({judged})."
    )


def _held_back(choice: Choice, other: Run, interval: tuple[float, float] | None) -> str:
    """The same as the end of a sentence, with the interval."""
    ahead, values = _without_pending(choice, other)
    said = ""
    if interval is not None:
        low, high = (_signed(choice.goal, one) for one in interval)
        said = f"; this choice minus it: {low} to {high}, 95{NBSP}% CI"
    return (
        f"significantly {ahead} without pending writes ({values}{said}); with them the order is"
        " undecided"
    )


def _without_pending(choice: Choice, other: Run) -> tuple[str, str]:
    """Whether a run is ahead of the choice without pending writes, and the values of both."""
    goal = choice.goal
    theirs, mine = (goal.value(run) for run in (other, choice.run))
    is_worse = theirs is not None and mine is not None and goal.better(mine, theirs)
    return "behind" if is_worse else "ahead", f"{goal.text(theirs)} against {goal.text(mine)}"


def _interval_text(choice: Choice, other: Run, interval: tuple[float, float]) -> str:
    """The interval of a difference, in parentheses."""
    low, high = (_signed(choice.goal, one) for one in interval)
    return f" (this choice minus it{_without(choice, other)}: {low} to {high}, 95{NBSP}% CI)"


def _without(choice: Choice, other: Run) -> str:
    """That numbers leave pending writes out, where that changes them."""
    shares = (choice.goal.put_off(run) for run in (choice.run, other))
    return ", without pending writes" if max(shares) > VISIBLE else ""


def _of_parts(choice: Choice, rival: Rival) -> Iterator[str]:
    if not rival.parts:
        yield "Parts of the trace are not compared: the run is too short, or the metric has none."
        return
    largest = choice.goal.largest
    whole = choice.goal.metric is not None and rival.parts_name != choice.goal.metric.name
    of = title_of(rival.parts_name)
    ahead, parts = rival.ahead(largest), len(rival.parts)
    mine, theirs = choice.run.label, rival.run.label
    said = f"{mine} is ahead of {theirs} in {ahead} of {parts} equal parts of the trace"
    said += f" ({of}{_without(choice, rival.run)}{_apart(rival)})"
    if whole and "response_ns" in rival.parts_name and choice.goal.metric is not None:
        said += f"; {title_of(choice.goal.metric.name)} of the parts does not add up to the whole's"
    yield said + "."


def _apart(rival: Rival) -> str:
    """The least and the largest difference in a part: in points of a ratio, else as a share."""
    metric = next((m for m in METRICS if m.name == rival.parts_name), None)
    pairs = [(a, b) for a, b in rival.parts if a is not None and b is not None]
    if metric is not None and metric.kind == "ratio" and pairs:
        low, high = (end(100 * (a - b) for a, b in pairs) for end in (min, max))
        return f": {_points(low)} to {_points(high)} points"
    shares = [(a - b) / b for a, b in pairs if b]
    return f": {_span(min(shares), max(shares))}" if shares else ""


def _points(value: float) -> str:
    return f"{sign(value)}{significant(abs(value), 2)}"


def _span(low: float, high: float) -> str:
    """Two differences as shares of a value; both as factors of it if one is far."""
    if 1 + high >= FACTOR:
        return f"{factor(1 + low)} to {factor(1 + high)} times"
    return f"{signed_share(low)} to {signed_share(high)}"


def _randomness(rival: Rival) -> str:
    """What the seeds are of, in words."""
    filled = "the preconditioning"
    return rival.seeds_of.replace(filled, f"{filled} (random writes before the trace)")


def _of_seeds(choice: Choice, rival: Rival) -> Iterator[str]:
    if not rival.seeds and rival.seeds_of:
        yield f"One seed of {_randomness(rival)} was run (--seeds runs more)."
        return
    if not rival.seeds:
        yield "Both policies are deterministic."
        return
    goal = choice.goal
    values = [a for a, _ in rival.seeds if a is not None]
    ends = list(dict.fromkeys(goal.text(v) for v in (min(values), max(values)))) if values else []
    spread = f": {' to '.join(ends)}" if ends else ""
    yield (
        f"{choice.run.label} is ahead or equal with {rival.ahead_by_seed(goal.largest)} of"
        f" {len(rival.seeds)} seeds of {_randomness(rival)}{spread}."
    )


def wrong_lines(choice: Choice) -> list[str]:
    """Costs of other choices."""
    return [_wrong(choice, wrong) for wrong in choice.wrong]


def _wrong(choice: Choice, wrong: Wrong) -> str:
    goal, run = choice.goal, wrong.run
    value = goal.text(goal.judged(run)) + tail_of(goal, run)
    far = behind(wrong.worse_by, "this choice")
    if run.frames == choice.run.frames and goal.is_held_back(choice.run, run):
        far = _held_back(choice, run, wrong.interval)
    elif not wrong.significant and run.frames == choice.run.frames:
        found = wrong.interval
        alike = "not significantly different from this choice"
        far = f"{alike}{_interval_text(choice, run, found)}" if found else f"{far} (no interval)"
    names = {
        "the usual": f"{run.label}, the usual choice, at that size",
        "the worst": f"{run.label}, the worst at that size",
        "smaller": f"The next smaller size ({place(run)})",
        "larger": f"The next larger size ({place(run)})",
    }
    return f"{names[wrong.what]}: {value}, {far}."
