"""`destage.live.hosts.vllm`: the contract of docs/spec/tiers.md 11, and vLLM's own manager.

The contract is tested always, with a base class and a manager that are written from the table of
11.1. vLLM's own manager devices the classes too where `DESTAGE_VLLM` names a wheel of vLLM 0.33, or
a folder that has the package: nothing of it is installed, and what it imports of torch is stubbed.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import json
import os
import random
import sys
import types
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import destage as ds
from destage.live.hosts import vllm as host
from destage.model.deployed import kv_settings

BASE = "vllm.v1.kv_offload.cpu.policies.base"
#: Read before the fixture that takes such variables away.
REAL = os.environ.get("DESTAGE_VLLM")
SUITED = host._names()
#: Those without admission control: a key that is bypassed is stored, and in limbo.
TAKES_ALL = [name for name in SUITED if not ds.policy(name).admission and name != "acr-h"]


class CachePolicy(ABC):
    """The base class, with the abstract methods of vLLM 0.33."""

    def __init__(self, cache_capacity: int) -> None:
        self.cache_capacity = cache_capacity

    @abstractmethod
    def get(self, key: Any) -> Any: ...
    @abstractmethod
    def insert(self, key: Any, chunk: Any, req_context: Any) -> None: ...
    @abstractmethod
    def remove(self, key: Any) -> None: ...
    @abstractmethod
    def touch(self, keys: Any, req_context: Any) -> None: ...
    @abstractmethod
    def evict(self, n: int, protected: Any) -> Any: ...
    @abstractmethod
    def clear(self) -> None: ...


def forget_classes() -> None:
    """Classes that were made are kept as attributes of the module."""
    for name, value in list(vars(host).items()):
        if isinstance(value, type) and host.EvictionPolicy in value.__bases__:
            delattr(host, name)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = types.ModuleType(BASE)
    module.CachePolicy = CachePolicy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, BASE, module)
    forget_classes()
    yield
    forget_classes()


class Chunk:
    def __init__(self, chunk_id: int) -> None:
        self.ref_cnt, self.chunk_id = -1, chunk_id


class Context:
    """A request: the positions of its keys, if they are known."""

    def __init__(self, chain: list[bytes], known: bool = True) -> None:
        self.positions = {key: at for at, key in enumerate(chain)} if known else {}

    def get_offload_key_position(self, key: bytes) -> int | None:
        return self.positions.get(key)


class Manager:
    """Memory, reference counts and the order of calls, from the table of 11.1."""

    def __init__(self, policy: host.EvictionPolicy) -> None:
        self.policy = policy
        self.capacity = policy.cache_capacity
        self.free = list(range(self.capacity))
        self.known: dict[bytes, Chunk] = {}

    def prefix(self, chain: list[bytes]) -> list[bytes]:
        held = []
        for key in chain:
            chunk = self.policy.get(key)
            assert chunk is self.known.get(key)
            if chunk is None or chunk.ref_cnt < 0:
                break
            held.append(key)
        return held

    def evict(self, n: int, protected: set[bytes]) -> bool:
        before = dict(self.known)
        idle = [k for k, c in before.items() if c.ref_cnt == 0 and k not in protected]
        evicted = self.policy.evict(n, protected)
        if evicted is None:
            assert len(idle) < n, "enough chunks were idle and unprotected"
        else:
            assert len({key for key, _ in evicted}) == n
            for key, chunk in evicted:
                assert chunk is self.known.pop(key)
                assert chunk.ref_cnt == 0
                assert key not in protected
                self.free.append(chunk.chunk_id)
        assert {key: self.policy.get(key) for key in before} == {
            key: self.known.get(key) for key in before
        }
        return evicted is not None

    def store(self, keys: list[bytes], context: Context) -> list[bytes]:
        """What is stored of the keys; they are not ready yet."""
        new = [key for key in keys if self.policy.get(key) is None]
        if new:
            self.policy.on_store_miss(new, context)
        missing = len(new) - len(self.free)
        if missing > 0 and not self.evict(missing, set(keys)):
            return []
        for key in new:
            self.known[key] = Chunk(self.free.pop())
            self.policy.insert(key, self.known[key], context)
        return new

    def complete(self, keys: list[bytes]) -> None:
        for key in keys:
            self.known[key].ref_cnt = 0

    def fail(self, keys: list[bytes]) -> None:
        for key in keys:
            self.policy.remove(key)
            self.free.append(self.known.pop(key).chunk_id)

    def serve(self, chain: list[bytes]) -> int:
        """One request at a time, stored in one call; how many blocks of its prefix were there."""
        context = Context(chain)
        prefix = self.prefix(chain)
        reused = [key for key in chain if key in self.known]
        self.policy.on_request_access(prefix, context)
        stored = self.store(chain, context)
        self.complete(stored)
        self.policy.on_request_finished([chain], set(stored), set(reused), context)
        return len(prefix)


def block(name: int) -> bytes:
    return name.to_bytes(8, "big")


def chains(seed: int, count: int, longest: int) -> list[list[bytes]]:
    """Requests over a few trees of prefixes."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        tree = int(draw.paretovariate(1.0)) % 12
        length = draw.randint(1, longest)
        turns = draw.randint(0, length)
        chain = [tree * 1000 + at for at in range(turns)]
        branch = draw.randint(1, 3)
        chain += [tree * 1000 + branch * 100 + at for at in range(turns, length)]
        found.append([block(name) for name in chain])
    return found


@pytest.mark.usefixtures("stand_in")
def test_every_policy_of_a_live_cache_is_a_class_but_for_those_of_page_numbers() -> None:
    assert {"lru", "arc", "s3-fifo", "w-tinylfu", "larc"} <= set(SUITED)
    for name in SUITED:
        if name == "acr-h":  # needs file_pages
            continue
        made = getattr(host, f"destage-{name}")
        assert issubclass(made, CachePolicy)
        assert made is getattr(host, f"destage-{name}"), "it is made once"
        assert name == made(8).POLICY
    assert getattr(host, "cflru[window_fraction=0.50]").POLICY == "cflru[window_fraction=0.5]"
    for name, said in (
        ("s3-fifoo", "did you mean s3-fifo"),
        ("min", "the future"),
        ("ecr", "has no device"),
        ("bplru", "page numbers"),
        ("cflru[window_fraction=7]", "0..1"),
        ("__path__", "no attribute"),
    ):
        with pytest.raises(AttributeError, match=said):
            getattr(host, name)
    assert set(SUITED) <= set(dir(host))


def test_without_vllm_the_module_imports_and_a_class_is_a_missing_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, BASE, None)
    forget_classes()
    with pytest.raises(ds.MissingExtra, match=r"needs vLLM 0\.33"):
        getattr(host, "s3-fifo")


@pytest.mark.usefixtures("stand_in")
def test_another_version_is_a_warning_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.33.2")
    assert getattr(host, "s3-fifo")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.34.0")
    with pytest.warns(UserWarning, match=r"contract of vLLM 0\.33.*installed is 0\.34\.0"):
        assert host.lirs  # type: ignore[attr-defined]
    assert host.sieve  # type: ignore[attr-defined]


steps = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 10_000), st.integers(1, 7)),
    min_size=5,
    max_size=60,
)


@pytest.mark.parametrize("policy", SUITED)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=steps, capacity=st.integers(1, 9))
def test_the_contract_holds_whatever_vllm_does(
    stand_in: None, policy: str, steps: list[tuple[int, int, int]], capacity: int
) -> None:
    name = f"{policy}[file_pages=64]" if policy == "acr-h" else policy
    made = getattr(host, name)(capacity)
    manager = Manager(made)
    pinned: list[list[bytes]] = []
    writing: list[list[bytes]] = []
    for kind, seed, length in steps:
        chain = chains(seed, 1, length)[0]
        context = Context(chain, known=seed % 3 > 0)
        if kind <= 1:
            manager.serve(chain)
        elif kind == 2:  # a load is under way
            prefix = manager.prefix(chain)
            for key in prefix:
                manager.known[key].ref_cnt += 1
            pinned.append(prefix)
            made.on_request_finished([prefix[::2], prefix[1::2]], set(), set(prefix), context)
        elif kind == 3:  # a store is under way
            writing.append(manager.store(chain, context))
        elif kind == 4:
            made.touch([*chain, block(99_999)], context)
            for prefix in pinned:
                for key in prefix:
                    manager.known[key].ref_cnt -= 1
            pinned.clear()
        elif seed % 5 == 0:
            made.clear()
            manager, pinned, writing = Manager(made), [], []
        elif writing:
            stored = writing.pop()
            manager.fail(stored) if seed % 2 else manager.complete(stored)
        check(made, manager)


def check(made: host.EvictionPolicy, manager: Manager) -> None:
    """What is stored is in limbo, or the policy holds it; nothing is kept of what is not."""
    assert made._chunks == manager.known
    held = set(made._cache)
    assert not held & set(made._limbo)
    assert set(made._chunks) == set(made._limbo) | held & set(made._chunks)
    assert set(made._last) == set(made._chunks) | set(made._coming)
    assert len(made._coming) <= manager.capacity + 7


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("seed", range(6))
def test_lru_has_the_hits_of_prefix_semantics(seed: int) -> None:
    """Step 1 and step 2 of 7.2, written out: look-up, then touches from the tail."""
    capacity = 24
    manager, cache = Manager(host.lru(capacity)), ds.Cache("lru", capacity)  # type: ignore[attr-defined]
    hits = 0
    for chain in chains(seed, 400, 20):
        expected = 0
        while expected < len(chain) and chain[expected] in cache:
            expected += 1
        for key in reversed(chain):
            cache.access(key)
        assert manager.serve(chain) == expected
        assert set(manager.known) == set(cache)
        hits += expected
    assert hits > 400


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("policy", TAKES_ALL)
def test_others_have_them_too_as_long_as_limbo_is_empty(policy: str) -> None:
    capacity, compared = 40, 0
    manager, cache = Manager(getattr(host, policy)(capacity)), ds.Cache(policy, capacity)
    for chain in chains(7, 300, 6):
        prefix = manager.prefix(chain)
        if any(key in cache for key in chain[len(prefix) :]):
            continue  # a stranded block is accessed after those that are stored, not among them
        hits = [bool(cache.access(key)) for key in reversed(chain)]
        assert manager.serve(chain) == len(prefix)
        if manager.policy._limbo or sum(hits) < len(prefix):
            break  # or the request evicted its own prefix, which vLLM protects
        assert set(manager.known) == set(cache)
        compared += 1
    assert compared >= 10


# vLLM's own manager, where there is one.


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that vLLM imports here and does not use."""

    NAMES = ("torch", "zmq", "psutil", "prometheus_client", "transformers", "cloudpickle")

    def find_spec(self, name: str, path: object, target: object = None) -> Any:
        if name.partition(".")[0] in self.NAMES and name.partition(".")[0] not in sys.modules:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        return stub(spec.name, spec)

    def exec_module(self, module: Any) -> None:
        pass


def stub(name: str, spec: Any = None) -> Any:
    module = MagicMock(name=name)
    module.__path__, module.__spec__ = [], spec or importlib.machinery.ModuleSpec(name, None)
    return module


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """vLLM's manager, with none of the rest of it."""
    if REAL is None:
        pytest.skip("DESTAGE_VLLM names no wheel of vLLM 0.33: its own manager is not tried")
    pytest.importorskip("numpy", reason="vLLM's manager needs numpy")
    before = set(sys.modules)
    package = types.ModuleType("vllm")
    package.__path__ = [os.path.join(REAL, "vllm")]
    monkeypatch.setitem(sys.modules, "vllm", package)
    monkeypatch.setitem(sys.modules, "vllm.logger", stub("vllm.logger"))
    path = "vllm.distributed"
    for part in ("", "kv_transfer", "kv_connector", "v1", "offloading", "metrics"):
        path = f"{path}.{part}" if part else path
        monkeypatch.setitem(sys.modules, path, stub(path))
    monkeypatch.setattr(sys, "meta_path", [Stubs(), *sys.meta_path])
    forget_classes()
    yield importlib.import_module("vllm.v1.kv_offload.cpu.manager").CPUOffloadingManager
    forget_classes()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("vllm", *Stubs.NAMES):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("policy", [name for name in SUITED if name != "acr-h"])
def test_vllms_manager_serves_requests_with_each_class(real: Any, policy: str) -> None:
    base = importlib.import_module("vllm.v1.kv_offload.base")
    manager = real(24, f"destage-{policy}", "destage.live.hosts.vllm", enable_events=True)
    draw, loading = random.Random(5), list[tuple[list[bytes], Any]]()
    stored: set[bytes] = set()
    for number, blocks in enumerate(chains(3, 300, 12)):
        chain = [base.make_offload_key(key, 0) for key in blocks]
        context = base.ReqContext(req_id=str(number))
        for at, key in enumerate(chain):
            context.set_offload_key_position(key, 16 * at)
        manager.on_new_request(context)
        prefix = []
        for key in chain:
            if manager.lookup(key, context) is not base.LookupResult.HIT:
                break
            prefix.append(key)
        if prefix:
            manager.prepare_load(prefix, context)
            loading.append((prefix, context))
        while loading and draw.random() < 0.7:
            manager.complete_load(*loading.pop(0))
        output = manager.prepare_store(chain, context)
        if output is not None:
            assert len(output.evicted_keys) == len(set(output.evicted_keys))
            assert not set(output.evicted_keys) & set(chain)
            stored -= set(output.evicted_keys)
            success = draw.random() < 0.9
            manager.complete_store(output.keys_to_store, context, success=success)
            stored |= set(output.keys_to_store) if success else set()
        manager.on_request_finished(context)
        assert {k for k in stored if manager.lookup(k, context) is base.LookupResult.HIT} == stored
        assert len(stored) <= 24
    assert sum(event.removed for event in manager.take_events()) > 20
    manager.reset_cache()
    assert not any(manager._policy.get(key) for key in stored)


def test_vllms_own_lru_and_ours_evict_alike(real: Any) -> None:
    base = importlib.import_module("vllm.v1.kv_offload.base")
    managers = [real(24, "lru"), real(24, "destage-lru", "destage.live.hosts.vllm")]
    evicted: list[list[set[bytes]]] = [[], []]
    for number, blocks in enumerate(chains(11, 400, 12)):
        chain = [base.make_offload_key(key, 0) for key in blocks]
        for manager, left in zip(managers, evicted, strict=True):
            context = base.ReqContext(req_id=str(number))
            for at, key in enumerate(chain):
                context.set_offload_key_position(key, 16 * at)
            hits = [k for k in chain if manager.lookup(k, context) is base.LookupResult.HIT]
            prefix = [k for k, there in zip(hits, chain, strict=False) if k == there]
            if prefix:
                manager.prepare_load(prefix, context)
                manager.complete_load(prefix, context)
            output = manager.prepare_store(chain, context)
            left.append(set(output.evicted_keys))
            manager.complete_store(output.keys_to_store, context)
            manager.on_request_finished(context)
    assert evicted[0] == evicted[1]
    assert sum(map(len, evicted[0])) > 300


def released(name: str) -> str:
    """A module of the release, as text."""
    assert REAL is not None
    if zipfile.is_zipfile(REAL):
        with zipfile.ZipFile(REAL) as wheel:
            return wheel.read(name).decode()
    return (Path(REAL) / name).read_text(encoding="utf-8")


def test_the_release_has_the_contract_and_the_keys_that_advice_prints(
    real: Any, tmp_path: Path
) -> None:
    found = importlib.import_module(BASE).CachePolicy.__abstractmethods__
    assert found == CachePolicy.__abstractmethods__
    version = released("vllm/_version.py")
    assert f"'{host.CONTRACT}." in version
    prompts = tmp_path / "prompts.jsonl"
    lines = [{"timestamp": k, "hash_ids": [k % 7, 10 + k % 11]} for k in range(400)]
    prompts.write_text("\n".join(map(json.dumps, lines)))
    trace = ds.open_trace(prompts, bytes_per_token=1024)
    advice = ds.advise_kv(
        trace, policies="s3-fifo,arc", cache="3p,5p", tier2="lru", tier2_cache="9p", admit="nth"
    )
    folder = "vllm/v1/kv_offload/"
    reads = "".join(released(f"{folder}{name}/spec.py") for name in ("cpu", "tiering"))
    reads += released(f"{folder}factory.py")
    tier = next(
        node
        for node in ast.walk(ast.parse(released(f"{folder}tiering/fs/manager.py")))
        if isinstance(node, ast.ClassDef) and node.name == "FileSystemTierManager"
    )
    made = next(n for n in tier.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    parameters = {argument.arg for argument in made.args.args}
    factory = importlib.import_module("vllm.v1.kv_offload.cpu.policies.factory")
    seen = set()
    for one in advice.candidates:
        setting = kv_settings(one)[0]
        # The commit of the wheel, as its own version says.
        assert f"commit {version.partition('commit_id = ')[2][2:11]})" in setting.source
        extra = json.loads(setting.typed.partition("'")[2][:-1])["kv_connector_extra_config"]
        seen |= set(extra)
        for key in extra:
            assert f'.get("{key}"' in reads.replace("(\n            ", "("), key
        for entry in extra.get("secondary_tiers", ()):
            assert f'"{entry.pop("type")}"' in released(f"{folder}tiering/factory.py")
            assert set(entry) <= parameters
        name, module = extra["eviction_policy"], extra.get("cache_policy_module_path")
        made_class = factory.CachePolicyFactory.get_cache_policy_cls(name, module)
        assert made_class.__module__.startswith("destage" if name == "s3-fifo" else "vllm")
    assert seen == {
        "cpu_bytes_to_use",
        "eviction_policy",
        "cache_policy_module_path",
        "spec_name",
        "secondary_tiers",
    }
