"""Destage: a trace-driven lab for flash-aware cache and write-buffer management.

>>> import destage
>>> trace = destage.synth("zipf", requests=20_000, pages=2_000, read_ratio=0.6, seed=1)
>>> results = destage.compare(trace, ["lru", "cflru", "arc"], cache=["1%", "10%"])
>>> len(results), results[0].policy
(6, 'lru')

`open_trace` reads a trace of your own; `device="small"` puts an SSD behind the cache. `results` is
a sequence of runs, and one tidy table: `results.to_polars()`, `.to_pandas()`, `.to_json(path)`,
`.to_csv(path)`, `.to_parquet(path)`.
"""

from __future__ import annotations

import sys

# The stub has the names of the API and their modules, a line each. `typing` and `importlib` would
# take longer to import than all else here.
_lines = __loader__.get_data(__file__ + "i").decode().splitlines()  # type: ignore[name-defined]
_HOME_OF = {words[3]: words[1] for words in map(str.split, _lines) if words[:1] == ["from"]}
__all__ = [*_HOME_OF, "__version__"]

#: Names of before, and what they are called now.
_RENAMED = {
    "StoredResults": "Results",
    "Swept": "SweepResult",
    "Drive": "Device",
    "Foretold": "SweepEstimate",
    "foretell": "estimate",
}


def __getattr__(name: str) -> object:
    """Import what is first asked for, and keep it: `import destage` alone is quick."""
    from importlib import import_module

    if name == "__version__":
        found: object = import_module("destage._destage").VERSION
    elif name == "reproduce":
        return import_module("destage.reproduce")
    elif name in _HOME_OF:
        found = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'destage' has no attribute {name!r}{_meant(name)}")
    globals()[name] = found
    return found


def _meant(name: str) -> str:
    """The nearest name of the API; nothing for the names that Python asks for by itself."""
    if name.startswith("_"):
        return ""
    if name in _RENAMED:
        return f": it is {_RENAMED[name]!r} now"
    from destage import _destage

    near = _destage.nearest(name, __all__)
    return f", did you mean {near!r}?" if near else ""


def __dir__() -> list[str]:
    """The API, and nothing else."""
    return sorted(__all__)


class _Api(type(sys)):  # type: ignore[misc]
    """A package whose calls stay what they are when a module of the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        """Keep a module from taking the place of a call: `destage.policy`, `destage.demo`."""
        if not (isinstance(value, type(sys)) and name in _HOME_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Api
