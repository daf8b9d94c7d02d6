"""Advice from runs: the smallest cache and the policy near the best, with confidence.

Calculated from finished runs; `destage.advise` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from destage.base.errors import UsageError
from destage.model.deployed import System
from destage.model.goals import Goal
from destage.model.metrics import BASELINE, LARGEST_PENDING, WRITES
from destage.model.run import Run

__all__ = [
    "PARTS",
    "VISIBLE",
    "Choice",
    "Rival",
    "Setting",
    "SizePoint",
    "Wrong",
    "choose",
    "deployable",
    "front_of",
    "in_front",
    "joint",
    "rival_of",
    "rivals",
]

#: Equal parts of the trace, by requests, in which two policies are compared.
PARTS = 5
#: Share of pending writes from which on they change what is printed.
VISIBLE = 0.0005


@dataclass(frozen=True)
class SizePoint:
    """A cache size on the curve."""

    run: Run
    """Best policy at this size."""
    value: float
    """Its value of the objective."""
    judged: float
    """`value` with pending writes counted."""
    near: bool
    """Whether it is within the share of the best run."""
    ties: tuple[str, ...]
    """Policies not significantly worse at this size."""
    baseline: Run | None
    """Run of LRU at this size."""


@dataclass(frozen=True)
class Wrong:
    """Another choice of policy or size, and how much worse it is."""

    what: str
    """`the usual`, `the worst`, `smaller`, `larger`."""
    run: Run
    """Its run."""
    worse_by: float | None
    """Change of the objective against the advised run, as a share of it; below 0 it is better."""
    significant: bool
    """Whether the difference from the advised run is significant."""
    interval: tuple[float, float] | None = None
    """95 % confidence interval of advised run less this one, without pending writes, or None."""


@dataclass(frozen=True)
class Rival:
    """The second-best policy at the advised size, and the evidence that it is worse."""

    run: Run
    """Run of the second-best policy."""
    interval: tuple[float, float] | None
    """95 % confidence interval of advised run less rival, without pending writes, or None."""
    significant: bool
    """Whether the difference from the advised run is significant."""
    parts_name: str
    """Heading of the column that compares parts of the trace."""
    parts: tuple[tuple[float | None, float | None], ...]
    """Values of both in equal parts of the trace, one warm run each."""
    seeds: tuple[tuple[float | None, float | None], ...] = ()
    """Values of both by seed, pending writes counted; empty without random numbers."""
    seeds_of: str = ""
    """Source of randomness that the seeds vary."""

    def ahead(self, largest: bool) -> int:
        """Number of parts in which the advised run is better."""
        return sum(_ahead(pair, largest) for pair in self.parts)

    def ahead_by_seed(self, largest: bool) -> int:
        """Number of seeds with which the advised run is no worse."""
        return sum(not _ahead((b, a), largest) for a, b in self.seeds)


def _ahead(pair: tuple[float | None, float | None], largest: bool) -> bool:
    mine, theirs = pair
    if mine is None or theirs is None:
        return False
    return mine > theirs if largest else mine < theirs


@dataclass(frozen=True)
class Setting:
    """A deployed system with the setting nearest to the advice."""

    system: System
    """The system."""
    run: Run | None
    """Run of its nearest policy at `size_bytes`; None where it could not be run."""
    why_not: str
    """Why there is no run."""
    size_bytes: int
    """Cache size of the setting."""
    values: tuple[float | None, ...]
    """Values by objective, pending writes counted."""
    worse_by: tuple[float | None, ...]
    """By objective, share by which it is worse than the best run; None where not comparable."""
    significant: tuple[bool, ...]
    """By objective, whether the difference from the advised run is significant."""
    near_from: tuple[Run | None, ...]
    """By objective, the smallest run of its policy within the share of the best."""
    typed: str = ""
    """Configuration line to type; empty where nothing needs to change."""


@dataclass(frozen=True)
class Choice:
    """The advice for one objective."""

    goal: Goal
    run: Run
    """Advised run: policy and size."""
    best: Run
    """The best of all runs."""
    curve: tuple[SizePoint, ...]
    """Points by cache size, ascending."""
    plain: Run
    """Advised run if pending writes were not counted."""
    skipped: tuple[Run, ...]
    """Candidates without a value, or with too many pending writes for one."""
    rival: Rival | None = None
    wrong: tuple[Wrong, ...] = ()

    @property
    def value(self) -> float:
        """Value of the objective in the advised run, pending writes counted."""
        return self.point.judged

    @property
    def best_value(self) -> float:
        """Best value of the objective among all runs, pending writes counted."""
        found = self.goal.judged(self.best)
        assert found is not None
        return found

    @property
    def has_pending(self) -> bool:
        """Whether pending writes change a value of the curve visibly."""
        return any(self.goal.put_off(point.run) > VISIBLE for point in self.curve)

    @property
    def point(self) -> SizePoint:
        """Point of the curve that is advised."""
        return next(p for p in self.curve if p.run is self.run)


def choose(runs: Sequence[Run], every: Sequence[Run], goal: Goal, within: float) -> Choice:
    """The smallest cache, and the best policy there, within a share of the best of all.

    Parameters:
        runs: the candidates.
        every: all runs, candidates or not: lru is looked up among them.
        goal: the objective.
        within: the share, 0..1.

    Raises `UsageError` where no candidate has a number.
    """
    judged = [(run, j) for run in runs if (j := goal.judged(run)) is not None]
    if not judged:
        raise UsageError(_nothing(runs, goal))
    best, top = _first(judged, goal)
    curve = []
    for frames in sorted({run.frames for run, _ in judged}):
        here = [(run, j) for run, j in judged if run.frames == frames]
        first, value = _first(here, goal)
        ties = [r.label for r, _ in here if r is not first and goal.ties(first, r)]
        lru = next((r for r in every if r.frames == frames and r.label == BASELINE), None)
        number = goal.value(first)
        assert number is not None
        near = goal.near(value, top, within)
        curve.append(SizePoint(first, number, value, near, tuple(ties), lru))
    chosen = next(point.run for point in curve if point.near)
    skipped = tuple(run for run in runs if goal.judged(run) is None)
    choice = Choice(goal, chosen, best, tuple(curve), _plain(runs, goal, within), skipped)
    return choice if len(judged) == 1 else _with_wrong(choice, judged, every)


def _first(judged: Sequence[tuple[Run, float]], goal: Goal) -> tuple[Run, float]:
    """The best; of equals the smallest cache, then the first that was asked for."""
    best = judged[0]
    for run, value in judged[1:]:
        smaller = value == best[1] and run.frames < best[0].frames
        if smaller or goal.better(value, best[1]):
            best = (run, value)
    return best


def _plain(runs: Sequence[Run], goal: Goal, within: float) -> Run:
    """The choice from the numbers as they are."""
    known = [(run, v) for run in runs if (v := goal.value(run)) is not None]
    _, top = _first(known, goal)
    near = [(run, v) for run, v in known if goal.near(v, top, within)]
    least = min(run.frames for run, _ in near)
    return _first([(run, v) for run, v in near if run.frames == least], goal)[0]


def _nothing(runs: Sequence[Run], goal: Goal) -> str:
    """Why no run has a number."""
    if all(goal.value(run) is None for run in runs):
        return f"objective {goal.name}: no run has this metric: it has nothing to count"
    least = min(goal.put_off(run) for run in runs)
    return (
        f"objective {goal.name}: in every run {least:.0%} of the flash writes or more are pending"
        " at the end, too many for a comparison: add --flush-at-end, or take a longer trace"
    )


def _with_wrong(
    choice: Choice, judged: Sequence[tuple[Run, float]], every: Sequence[Run]
) -> Choice:
    """Add what other choices cost."""
    goal, mine = choice.goal, choice.run
    here = [pair for pair in judged if pair[0].frames == mine.frames]
    found: list[tuple[str, Run]] = []
    lru = choice.point.baseline
    if lru is not None and lru is not mine:
        found.append(("the usual", lru))
    # A run with many pending writes is judged by the few that it made: no verdict on it.
    sure = [pair for pair in here if goal.put_off(pair[0]) <= LARGEST_PENDING] or here
    worst = sure[0]
    for pair in sure[1:]:
        if goal.better(worst[1], pair[1]):
            worst = pair
    if worst[0] not in (mine, lru):
        found.append(("the worst", worst[0]))
    sizes = [point.run.frames for point in choice.curve]
    place = sizes.index(mine.frames)
    if place > 0:
        found.append(("smaller", choice.curve[place - 1].run))
    if place + 1 < len(sizes):
        found.append(("larger", choice.curve[place + 1].run))
    wrong = [_wrong(what, run, choice) for what, run in found]
    return Choice(
        *(goal, mine, choice.best, choice.curve, choice.plain, choice.skipped),
        rival=rival_of(choice, [run for run, _ in here]),
        wrong=tuple(w for w in wrong if w is not None),
    )


def _wrong(what: str, run: Run, choice: Choice) -> Wrong | None:
    value = choice.goal.judged(run)
    if value is None:
        return None
    return Wrong(
        what,
        run,
        choice.goal.worse_by(value, choice.value),
        choice.goal.is_significant(choice.run, run),
        _interval(choice.goal, choice.run, run),
    )


def rivals(choice: Choice, here: Sequence[Run]) -> list[Run]:
    """The others at the size that is advised, the best first."""
    goal = choice.goal
    known = [(run, goal.judged(run)) for run in here if run is not choice.run]
    order = [(run, j) for run, j in known if j is not None]
    order.sort(key=lambda pair: pair[1], reverse=goal.largest)
    return [run for run, _ in order]


def rival_of(choice: Choice, here: Sequence[Run]) -> Rival | None:
    """The next best there, with the intervals that the runs have."""
    order = rivals(choice, here)
    if not order:
        return None
    goal, mine, other = choice.goal, choice.run, order[0]
    name, parts = _in_parts(goal, mine, other)
    return Rival(other, _interval(goal, mine, other), goal.is_significant(mine, other), name, parts)


def _interval(goal: Goal, mine: Run, other: Run) -> tuple[float, float] | None:
    """The 95 % confidence interval of a run less another; pending writes are not counted."""
    if goal.metric is not None:
        return mine.minus(other, goal.metric.name)
    counted = WRITES if goal.prices.tbw is not None else "erases"
    found, value = mine.minus(other, counted), goal.value(mine)
    if found is None or value is None or not mine[counted]:
        return None
    # At one size the memory is the same: dollars are proportional to the wear.
    dollars = (value - goal.prices.memory(mine.cache_bytes)) / mine[counted]
    return found[0] * dollars, found[1] * dollars


#: What the parts of a run have counted of a metric: the sum, and what it is divided by.
_COUNTED: Mapping[str, tuple[str, str]] = {
    "hit_ratio": ("hits", "accesses"),
    "token_hit_ratio": ("hits", "accesses"),  # whose windows count tokens
    "read_hit_ratio": ("read_hits", "read_accesses"),
    "overall_hit_ratio": ("overall_hits", "accesses"),
    "response_ns_mean": ("response_ns_sum", "requests"),
    "read_response_ns_mean": ("read_response_ns_sum", "read_requests"),
    "waf": ("programs", "host_programs"),
    "erases": ("erases", ""),
    "flash_programs": ("programs", ""),
    "physical_reads": ("physical_reads", ""),
    "physical_writes": ("physical_writes", ""),
    WRITES: ("physical_writes", ""),
}


def _in_parts(
    goal: Goal, mine: Run, other: Run
) -> tuple[str, tuple[tuple[float | None, float | None], ...]]:
    """A number of both in equal parts of the trace; of percentiles, the mean beside them."""
    if goal.metric is None:
        name = WRITES if goal.prices.tbw is not None else "erases"
    else:
        name = goal.metric.name
        if name not in _COUNTED and "response_ns" in name:
            read = name.startswith("read_")
            name = "read_response_ns_mean" if read else "response_ns_mean"
    if name not in _COUNTED or mine.windows is None or other.windows is None:
        return "", ()
    # The parts have written pages, and no pending ones.
    shown = "physical_writes" if name == WRITES else name
    both = [_parts(run.windows or {}, *_COUNTED[name]) for run in (mine, other)]
    if not both[0] or not both[1]:
        return "", ()
    return shown, tuple(zip(*both, strict=True))


def _parts(windows: Mapping[str, object], top: str, below: str) -> list[float | None]:
    flash = windows.get("flash")
    known = {**windows, **(flash if isinstance(flash, Mapping) else {})}
    above = known.get(top)
    divided = known.get(below) if below else None
    if not isinstance(above, list) or (below and not isinstance(divided, list)):
        return []
    found: list[float | None] = []
    for k in range(PARTS):
        part = slice(k * len(above) // PARTS, (k + 1) * len(above) // PARTS)
        count = sum(divided[part]) if isinstance(divided, list) else 1
        found.append(sum(above[part]) / count if count else None)
    return found


def in_front(run: Run, other: Run, goals: Sequence[Goal]) -> bool:
    """Whether a run is nowhere worse than another, and somewhere better."""
    better = False
    for goal in goals:
        mine, theirs = goal.judged(run), goal.judged(other)
        assert mine is not None
        assert theirs is not None
        if goal.better(theirs, mine):
            return False
        better = better or goal.better(mine, theirs)
    return better


def front_of(runs: Sequence[Run], goals: Sequence[Goal]) -> tuple[Run, ...]:
    """The runs that no other beats in every objective, by the first one, the best first.

    Of runs that are equal in all objectives the smallest cache stands for all.
    """
    known = [r for r in runs if all(goal.judged(r) is not None for goal in goals)]
    kept: dict[tuple[float | None, ...], Run] = {}
    for run in known:
        if any(in_front(other, run, goals) for other in known):
            continue
        key = tuple(goal.judged(run) for goal in goals)
        if key not in kept or run.frames < kept[key].frames:
            kept[key] = run
    first = goals[0]
    return tuple(
        sorted(
            kept.values(),
            key=lambda run: (first.judged(run) or 0.0) * (-1 if first.largest else 1),
        )
    )


def deployable(
    runs: Sequence[Run], products: Sequence[System], now: Mapping[str, int] | None = None
) -> list[Run]:
    """The runs that a product can be set to: by its policy, its writer, and its least size."""
    least: dict[str, int] = {}
    for system in products:
        if not system.reads_only:
            mine = system.least(now)
            least[system.label] = min(least.get(system.label, mine), mine)
    return [r for r in runs if r.label in least and r.cache_bytes >= least[r.label]]


def joint(choices: Sequence[Choice], runs: Sequence[Run], within: float) -> Run | None:
    """The smallest run that is within the share of the best in every objective; None if none is."""
    near = []
    for run in runs:
        judged = [(c.goal, c.goal.judged(run), c.goal.judged(c.best)) for c in choices]
        if all(j is not None and b is not None and g.near(j, b, within) for g, j, b in judged):
            near.append(run)
    if not near:
        return None
    least = min(run.frames for run in near)
    first = choices[0].goal
    here = [
        (run, j) for run in near if run.frames == least and (j := first.judged(run)) is not None
    ]
    return _first(here, first)[0]
