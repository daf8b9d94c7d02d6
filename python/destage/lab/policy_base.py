"""A policy of your own, in Python: the same three calls as the Rust trait, in the same order.

::

    request(r) ── HIT ──────────────────────────────▶ done
               ── Miss(m) ─▶ evict(m, …) ─▶ admit(r, m) ─▶ done
                             while no frame is free
               ── BYPASS ───────────────────────────▶ done

The engine owns the clock, the "until there is room" loop and every counter; a policy only says
which pages stay. It runs some sixty times slower than one written in Rust (LRU: 1.5 M accesses a
second): good for trying an idea, and `destage.conform` then shows whether a port decides alike.
Several runs go side by side, each in a process of its own (`jobs=1`: here, one after another).

A class in a file is named wherever a policy's name is: `mine.py:Mine[sample=16]`.
"""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NoReturn, TypeVar

from destage import _destage
from destage._destage import (
    Bypass,
    DeviceView,
    GhostList,
    Hit,
    Miss,
    PageList,
    Plan,
    Request,
    Shelf,
)
from destage.base.errors import UsageError
from destage.lab.user_policies.files import blame, load, source_sha256, split
from destage.lab.user_policies.trust import is_in_a_file, may_run
from destage.model.naming import GROUPS, canonical, excluded_by, members, need_a_drive, parts

__all__ = [
    "BYPASS",
    "HIT",
    "MISS",
    "Bypass",
    "DeviceView",
    "GhostList",
    "Hit",
    "ListPolicy",
    "Miss",
    "PageList",
    "Plan",
    "Policy",
    "PolicyLike",
    "Request",
    "Spec",
    "expanded",
    "is_none",
    "policy_specs",
    "spec_label",
]

#: What `request` returns for a resident page.
HIT = Hit()
#: What `request` returns for a page that is not resident and is not to be taken in.
BYPASS = Bypass()
#: Result of `request` for a miss that remembers nothing; see `Miss` for the other.
MISS = Miss()


class Policy(ABC):
    """Base class of policies written in Python.

    ::

        class Fifo(destage.Policy):
            def __init__(self, frames: int) -> None:
                super().__init__(frames)
                self.pages: dict[int, bool] = {}  # page -> dirty, oldest first

            def request(self, r):
                if r.page not in self.pages:
                    return destage.MISS
                self.pages[r.page] |= r.is_write
                return destage.HIT

            def evict(self, miss, device, plan):
                page = next(iter(self.pages))
                plan.evict(page, dirty=self.pages.pop(page))

            def admit(self, r, miss):
                self.pages[r.page] = r.is_write

    A run with `trim="drop"` calls `forget(self, page)` when the host trims a page: it leaves every
    list, resident or ghost, without a write.

    A method `idle(self, unit, device, plan)` is called in front of a device, for each idle unit.
    It may write dirty pages, which stay and become clean:
    `plan.open_group()`, then `plan.flush_and_keep(page)` for each. None may leave.

    Parameters of the policy are keyword arguments of `__init__`. One object is made for each run.
    A keyword argument `pages_per_block` gets the pages of an erase block: a write buffer that
    writes whole groups needs it (`Plan.open_group`, docs/add-a-policy.md).
    """

    #: Set it to have `r.next_use`, as MIN does.
    NEEDS_NEXT_USE: ClassVar[bool] = False

    #: Set it if the policy cannot do without `device`: a run without one is then refused.
    NEEDS_DEVICE: ClassVar[bool] = False

    #: Set it if a write that is answered with `BYPASS` goes through to flash. Where it is not set,
    #: such an answer is an error: the write would be lost.
    WRITES_THROUGH: ClassVar[bool] = False

    def __init__(self, frames: int) -> None:
        """Keep `frames`, the number of pages that the buffer has room for, at least 1."""
        self.frames = frames

    @abstractmethod
    def request(self, r: Request) -> Hit | Miss | Bypass:
        """Look the page up, and run the hit rule if it is resident. Never evicts.

        Returns `HIT`; `MISS`, or `Miss(value)` with what `evict` and `admit` should know; or
        `BYPASS` if the page is not to be taken in. A write hit makes the page dirty.
        """

    @abstractmethod
    def evict(self, miss: Any, device: DeviceView | None, plan: Plan) -> None:
        """Give up at least one page, by `plan.evict(page, dirty)`. Called while no frame is free.

        `miss` is the value of the `Miss`, the same object that `admit` gets: what is changed in it
        here arrives there. `device` says how busy the device is, unit by unit; which units a page
        belongs to is in the request that it comes with (`r.unit_if_clean`, `r.unit_if_dirty`). In
        a run without a device all three are None.
        """

    @abstractmethod
    def admit(self, r: Request, miss: Any) -> None:
        """Take the page in: clean after a read, dirty after a write. A frame is free."""


_Call = TypeVar("_Call", bound=Callable[..., Any])


def _native(call: _Call) -> _Call:
    """Mark a call that the engine does itself where a policy leaves it as it is."""
    vars(call)["native"] = True
    return call


class ListPolicy(Policy):
    """Base class of policies made of lists that the engine keeps: several times as fast.

    ::

        class Lru(destage.ListPolicy):
            def __init__(self, frames: int) -> None:
                super().__init__(frames)
                self.pages = self.new_list(on_hit="front")

        class CleanFirst(Lru):  # as CFLRU with a window of 64 pages
            def evict(self, miss, device, plan):
                clean = self.pages.oldest_clean(within=64)
                self.pages.evict(self.pages.back if clean is None else clean, plan)

    Every resident page is on one of the policy's lists. The engine looks a page up on them and
    applies the list's hit rule without a call of Python; Python sees misses only. A policy
    overrides the calls that it needs: `request` (pages on no list only) to pass a value with the
    miss (`Miss(value)`) or to bypass (`BYPASS`); `evict`; `admit`.
    """

    def __init__(self, frames: int) -> None:
        """Keep `frames`; call it before `new_list`."""
        super().__init__(frames)
        self.shelf = Shelf()

    def __getattr__(self, name: str) -> NoReturn:
        if name == "shelf":
            raise UsageError("super().__init__(frames) has not been called")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def new_list(
        self,
        on_hit: Literal["front", "stay", "mark"] | PageList = "front",
        *,
        marks: int = 1,
        limit: int | None = None,
        overflow: PageList | None = None,
    ) -> PageList:
        """Make another list of resident pages, newest at the front, oldest at the back.

        Parameters:
            on_hit: what a hit does to its page: move it to the `"front"`, let it `"stay"`, `"mark"`
                it (once more, up to `marks`), or move it to the front of another list. It may be
                set later: `probation.on_hit = protected`.
            limit, overflow: pages beyond `limit` go, oldest first, to the front of `overflow`, a
                list made before.
        """
        return self.shelf.new_list(on_hit, marks, limit, overflow)

    @_native
    def request(self, r: Request) -> Hit | Miss | Bypass:
        """Look the page up on the lists, and do what its list says of a hit.

        The engine calls an override for misses only.
        """
        return HIT if self.shelf.hit(r) else MISS

    @_native
    def evict(self, miss: Any, device: DeviceView | None, plan: Plan) -> None:
        """Give up the oldest page of the first list that has one."""
        self.shelf.evict(plan)

    @_native
    def admit(self, r: Request, miss: Any) -> None:
        """Take the page in, at the front of the list that was made first."""
        self.shelf.admit(r)

    @_native
    def forget(self, page: int) -> None:
        """Take a page that the host has trimmed off its list. Ghosts are the policy's to forget."""
        self.shelf.discard(page)


@dataclass(frozen=True)
class OwnPolicy:
    """A class as `compare`, `run` and `conform` take it: its name, and a function that makes it."""

    name: str
    factory: Callable[..., Policy]
    params: dict[str, Any]
    needs_next_use: bool
    needs_device: bool = False
    source_sha256: str | None = None
    """Of the file that it is in."""

    def make(self, frames: int, pages_per_block: int) -> Policy:
        """Return a fresh policy; `__init__` gets the size of an erase block if it takes it."""
        params = self.params
        if "pages_per_block" in (self._takes() or ()):
            params = {"pages_per_block": pages_per_block} | params
        try:
            return self.factory(frames, **params)
        except (TypeError, UsageError) as e:
            where = f"policy {self.name}: __init__, before the first access"
            raise UsageError(f"{where}: {e}{self._parameters()}") from e
        except Exception as e:
            blame(e, f"policy {self.name}: in __init__, before the first access")
            raise

    def _parameters(self) -> str:
        """Parameters in brackets, where they differ from the defaults."""
        takes = self._takes()
        if takes is None:
            return ""
        any_other = any(p.kind is p.VAR_KEYWORD for p in takes.values())
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        known = [name for name, p in takes.items() if p.kind in named]
        if any_other or all(name in known for name in self.params):
            return ""
        return f" (it has: {', '.join(known) or 'no parameters'})"

    def _takes(self) -> dict[str, inspect.Parameter] | None:
        """Parameters of `__init__` beside `frames`; None where they cannot be found."""
        try:
            return dict(list(inspect.signature(self.factory).parameters.items())[1:])
        except (TypeError, ValueError):
            return None

    @classmethod
    def of(cls, given: object, params: dict[str, Any] | None = None) -> OwnPolicy | None:
        """Return what a class or a factory stands for; None if it is neither."""
        if isinstance(given, OwnPolicy):
            return replace(given, params={**given.params, **(params or {})})
        if isinstance(given, Policy):
            name = type(given).__name__
            raise UsageError(
                f"policy {name}: expected the class, got an object; every run makes its own"
            )
        if isinstance(given, str) or not callable(given):
            return None
        made = getattr(given, "func", given)
        name = str(getattr(made, "__name__", "own"))
        return cls(
            name=name,
            factory=given,
            params=dict(params or {}),
            needs_next_use=bool(getattr(made, "NEEDS_NEXT_USE", False)),
            needs_device=bool(getattr(made, "NEEDS_DEVICE", False)),
        )

    @classmethod
    def in_file(cls, text: str, params: Mapping[str, Any] | None = None) -> OwnPolicy:
        """Return what `mine.py:Mine[sample=16]` stands for; it is called by file and class.

        Raises `MissingFile`, `DataError` for a file that does not run, and `UsageError`, also for
        a file that only data name (`user_policies.trust`).
        """
        path, name, given = split(text)
        params = {**given, **(params or {})}
        if not may_run(path, name):
            return cls(path if name is None else f"{path}:{name}", _not_run, params, False)
        made = load(path, name)
        own = cls.of(made, params)
        assert own is not None
        called = f"{path}:{own.name if name is None else name}"
        return replace(own, name=called, source_sha256=source_sha256(path))


def live_policy(given: object) -> OwnPolicy | None:
    """Return what a class, or the name of one in a file, stands for; None for any other policy.

    Raises `UsageError` for a policy that needs the future or a device.
    """
    if isinstance(given, str):
        own = OwnPolicy.in_file(given) if is_in_a_file(given) else None
    else:
        own = OwnPolicy.of(given)
    if own is not None and own.needs_next_use:
        raise UsageError(f"policy {own.name}: a live cache does not know the future")
    if own is not None and own.needs_device:
        raise UsageError(f"policy {own.name}: it needs a device, and a live cache has none")
    return own


def _not_run(frames: int, **params: Any) -> Policy:
    """The factory of a policy that a dry run counts and does not load."""
    raise AssertionError("a dry run does not run a policy")


#: A policy: `"lru"`, `"2q[in_fraction=0.3]"`, `("2q", {"in_fraction": 0.3})`, a class of your own,
#: `"mine.py:Mine[sample=16]"`: a class in a file.
PolicyLike = (
    str | tuple[str | Callable[..., Policy] | OwnPolicy, Mapping[str, Any]] | Callable[..., Policy]
)

#: A policy as the boundary takes it: name and parameters as JSON, or one of one's own.
Spec = tuple[str, str] | OwnPolicy


def policy_specs(
    policies: str | PolicyLike | Sequence[PolicyLike],
) -> list[Spec]:
    """Policies as the boundary takes them. Raises `UsageError`."""
    given: Sequence[PolicyLike]
    if isinstance(policies, (str, Policy)) or callable(policies):
        given = [policies]
    elif isinstance(policies, tuple) and len(policies) == 2 and isinstance(policies[1], Mapping):
        given = [(policies[0], policies[1])]
    elif isinstance(policies, Sequence):
        given = policies  # type: ignore[assignment]
    else:
        raise UsageError(f"policies: expected names or classes, got {policies!r}")
    specs: list[Spec] = []
    for one in given:
        if isinstance(one, str):
            specs.extend(_named(one))
        elif isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Mapping):
            name, params = one
            in_file = isinstance(name, str) and is_in_a_file(name)
            own = (OwnPolicy.in_file if in_file else OwnPolicy.of)(name, dict(params))  # type: ignore[arg-type]
            given_as = params_json(params, "params")
            specs.append(own or _destage.check_policy(canonical(str(name)), given_as))
        else:
            own = OwnPolicy.of(one)
            if own is None:
                raise UsageError(
                    f"policies: expected a name, (name, parameters) or a class, got {one!r}"
                )
            specs.append(own)
    if not specs:
        raise UsageError("policies: expected at least one")
    seen: set[str] = set()
    for spec in specs:
        label = spec_label(spec)
        if label in seen:
            raise UsageError(f"policies: {label} is given twice")
        seen.add(label)
    return specs


def _named(text: str) -> list[Spec]:
    """The policies of a list, some of which may be in files."""
    listed = list(parts(text))
    if not any(is_in_a_file(part) for part in listed):
        return [*_destage.parse_policies(canonical(text))]
    specs: list[Spec] = []
    for part in listed:
        if is_in_a_file(part):
            specs.append(OwnPolicy.in_file(part))
        else:
            specs.extend(_destage.parse_policies(canonical(part)))
    return specs


def expanded(
    policies: str | PolicyLike | Sequence[PolicyLike],
    has_drive: bool,
    options: Mapping[str, object] = MappingProxyType({}),
) -> tuple[str | PolicyLike | Sequence[PolicyLike], tuple[str, ...]]:
    """Policies with every group (`"all"`, `"flash"`, `"classic"`) as its members.

    Returns also the policies left out: device-aware ones for lack of a device, and those that the
    options exclude (`model.naming.EXCLUDING`). A policy named beside its group is there once.
    """
    given = [policies] if isinstance(policies, str) else policies
    if not isinstance(given, list):
        return policies, ()
    words = [p.strip() for one in given if isinstance(one, str) for p in parts(canonical(one))]
    if not any(word.lower() in GROUPS for word in words):
        return policies, ()
    seen, left, found = set(words), dict[str, None](), list[PolicyLike]()
    excluded = excluded_by(options)
    for one in given:
        for part in parts(one) if isinstance(one, str) else (one,):
            group = part.strip().lower() if isinstance(part, str) else ""
            if group not in GROUPS:
                found.append(part)
                continue
            for name in members(group):
                if name in excluded or (name in need_a_drive() and not has_drive):
                    left[name] = None
                elif name not in seen:
                    seen.add(name)
                    found.append(name)
    return found, tuple(name for name in left if name not in words)


def spec_label(spec: Spec) -> str:
    """The policy with the parameters that were given, as one types it."""
    if isinstance(spec, OwnPolicy):
        return _destage.label(spec.name, params_json(spec.params, f"{spec.name}: parameters"))
    return _destage.label(*spec)


def params_json(value: object, what: str) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UsageError(f"{what}: {e}") from e


def is_none(spec: Spec) -> bool:
    """No cache at all."""
    return not isinstance(spec, OwnPolicy) and spec[0] == "none"
