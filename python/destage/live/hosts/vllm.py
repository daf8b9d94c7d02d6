"""Eviction policies for vLLM's CPU tier: each policy of the catalogue as a class by its contract.

vLLM 0.33 takes `getattr(module, eviction_policy)` of `cache_policy_module_path`::

    {"eviction_policy": "s3-fifo", "cache_policy_module_path": "destage.live.hosts.vllm"}

docs/spec/tiers.md 11 has the contract and what the classes do; docs/vllm.md how to switch them on.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

from destage import _destage
from destage.base.errors import MissingExtra, UsageError
from destage.lab.catalogue import policies, policy
from destage.model.naming import canonical

__all__ = ["CONTRACT", "EvictionPolicy"]

#: The version of vLLM whose contract the classes keep.
CONTRACT = "0.33"

#: Where vLLM has the base class of eviction policies.
_BASE_MODULE = "vllm.v1.kv_offload.cpu.policies.base"
#: vLLM finds its own `lru` and `arc` first; with this before it, each name is one of ours.
_PREFIX = "destage-"


class Chunk(Protocol):
    """A chunk of vLLM's memory."""

    ref_cnt: int
    """-1: being written; 0: idle; above: so many transfers read it."""


class Request(Protocol):
    """vLLM's context of a request."""

    def get_offload_key_position(self, key: bytes, /) -> int | None:
        """Position of a key in the prompt, if it is known."""


class EvictionPolicy:
    """The behaviour of all classes; vLLM's `CachePolicy` is the second base of each."""

    #: The policy as `destage.Cache` takes it.
    POLICY: ClassVar[str]

    def __init__(self, cache_capacity: int) -> None:
        """An empty cache of so many chunks."""
        self.cache_capacity = cache_capacity
        self._cache = _destage.Cache(self.POLICY, max(cache_capacity, 1))
        info = policy(self.POLICY.partition("[")[0])
        self._lru_of_reads = info.lru_of_reads
        self._is_ordered = info.ordered
        self._chunks: dict[bytes, Chunk] = {}  # what vLLM has stored: the truth
        self._limbo: dict[bytes, None] = {}  # stored, and given up by the policy; oldest first
        self._coming: dict[bytes, None] = {}  # accessed for a store, not stored yet
        self._last: dict[bytes, None] = {}  # all of these by last access, oldest first

    def _access(self, key: bytes) -> None:
        access = self._cache.access(key)
        self._last.pop(key, None)
        self._last[key] = None
        if access.hit or access.admitted:
            self._limbo.pop(key, None)
        elif key in self._chunks:
            self._enter_limbo(key)
        for victim in access.evicted:
            if victim in self._chunks:
                self._enter_limbo(victim)

    def _enter_limbo(self, key: bytes) -> None:
        self._limbo.pop(key, None)
        self._limbo[key] = None

    def _drop_coming(self, keys: Collection[bytes]) -> None:
        for key in keys:
            del self._coming[key]
            if key not in self._chunks:
                self._cache.forget(key)
                self._last.pop(key, None)

    def get(self, key: bytes) -> Chunk | None:
        """The chunk of a stored key."""
        return self._chunks.get(key)

    def on_store_miss(self, keys: Iterable[bytes], req_context: Request) -> None:
        """Access the keys before vLLM asks for room, tail first: the policy names the victims."""
        # Keys of an earlier store that vLLM gave up, and the policy since then.
        self._drop_coming([key for key in self._coming if key not in self._cache])
        for key in reversed(list(keys)):
            self._coming[key] = None
            self._access(key)

    def insert(self, key: bytes, chunk: Chunk, req_context: Request) -> None:
        """Map a key to its chunk."""
        self._chunks[key] = chunk
        if key in self._coming:
            del self._coming[key]
        else:
            self._access(key)
        if key not in self._cache:
            self._enter_limbo(key)

    def evict(self, n: int, protected: Container[bytes]) -> list[tuple[bytes, Chunk]] | None:
        """Give up exactly `n` idle chunks that are not protected; None if there are fewer."""
        victims: list[tuple[bytes, Chunk]] = []
        for key in self._candidates():
            if len(victims) == n:
                break
            chunk = self._chunks.get(key)
            if chunk is not None and chunk.ref_cnt == 0 and key not in protected:
                victims.append((key, chunk))
        if len(victims) < n:
            self._drop_coming(list(self._coming))
            return None
        for key, _ in victims:
            if key not in self._limbo:  # what the policy gave up by itself may be its ghost
                self._cache.forget(key)
            self._unmap(key)
        return victims

    def _candidates(self) -> Iterator[bytes]:
        yield from self._limbo
        if self._is_ordered:
            yield from self._in_order_of_eviction()
        else:
            yield from (key for key in self._last if key not in self._limbo)

    def _in_order_of_eviction(self) -> Iterator[bytes]:
        given, asked = 0, 16
        while True:
            order = self._cache.next_victims(asked)
            yield from order[given:]  # type: ignore[misc]
            if len(order) < asked:
                return
            given, asked = asked, 2 * asked

    def remove(self, key: bytes) -> None:
        """Unmap a key whose store failed; the policy forgets it."""
        self._cache.forget(key)
        self._unmap(key)

    def _unmap(self, key: bytes) -> None:
        for state in (self._chunks, self._limbo, self._coming, self._last):
            state.pop(key, None)

    def touch(self, keys: Iterable[bytes], req_context: Request) -> None:
        """Access the stored ones of these keys, tail first."""
        for key in reversed(list(keys)):
            if key in self._chunks:
                self._access(key)

    def on_request_access(self, keys: Iterable[bytes], req_context: Request) -> None:
        """Nothing: a request's accesses are counted at its end."""

    def on_request_finished(
        self,
        key_groups: Sequence[Sequence[bytes]],
        insertion_only_keys: Container[bytes],
        reused_keys: Container[bytes],
        req_context: Request,
    ) -> None:
        """Access the reused blocks of a request, tail first; for LRU also the stored ones."""
        for key in reversed(_head_to_tail(key_groups, req_context)):
            counts = key in reused_keys or (self._lru_of_reads and key in insertion_only_keys)
            if counts and key in self._chunks:
                self._access(key)

    def clear(self) -> None:
        """Forget everything, chunks that are in use too."""
        for state in (self._chunks, self._limbo, self._coming, self._last):
            state.clear()
        self._cache.clear()


def _head_to_tail(key_groups: Sequence[Sequence[bytes]], req_context: Request) -> list[bytes]:
    keys = [key for group in key_groups for key in group]
    positions = {key: req_context.get_offload_key_position(key) for key in keys}
    known = {key: position for key, position in positions.items() if position is not None}
    if len(known) == len(positions):
        keys.sort(key=known.__getitem__)
    return keys


def __getattr__(name: str) -> type[EvictionPolicy]:
    """The class of a policy, with or without parameters: `s3-fifo`, `destage-lru`."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    policy_text = _policy_of(name)
    bases = (EvictionPolicy, _base_class())
    made = type(name, bases, {"POLICY": policy_text, "__module__": __name__})
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    """The names of the policies, and what else there is."""
    return sorted([*__all__, *_names()])


def _names() -> list[str]:
    """The policies that suit: no device, no future, any key."""
    return [
        info.name
        for info in policies()
        if not (info.needs_device or info.offline or info.by_page_number or info.family == "over")
    ]


def _policy_of(name: str) -> str:
    """The policy that a name of a class stands for. Raises `AttributeError`."""
    text = canonical(name.strip().removeprefix(_PREFIX))
    try:
        made = _destage.Cache(text, 1)._given
    except UsageError as refused:
        raise AttributeError(f"{__name__}: {name!r}: {refused}") from None
    plain = made.partition("[")[0]
    if plain not in _names():
        raise AttributeError(
            f"{__name__}: {name!r}: {plain} looks at page numbers, and vLLM's keys are hashes"
        )
    return made


def _base_class() -> type[Any]:
    """vLLM's base class. Raises `MissingExtra`; warns where the version is another."""
    try:
        base: type[Any] = importlib.import_module(_BASE_MODULE).CachePolicy
    except (ImportError, AttributeError) as missing:
        raise MissingExtra(
            f"{__name__} needs vLLM {CONTRACT} ({missing}): pip install 'vllm=={CONTRACT}.*'"
        ) from missing
    try:
        version = importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    if version and not f"{version}.".startswith(f"{CONTRACT}."):
        _warn_of(version)
    return base


_warned: set[str] = set()


def _warn_of(version: str) -> None:
    if version not in _warned:
        _warned.add(version)
        warnings.warn(
            f"{__name__} keeps the contract of vLLM {CONTRACT}, which vLLM calls experimental; "
            f"installed is {version}",
            stacklevel=2,
        )
