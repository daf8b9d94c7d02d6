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

import os as _os
import sys as _sys

if _os.path.basename((_sys.argv or [""])[0]) == "destage":
    # The command is imported: Ctrl-C ends it without a traceback here too.
    import signal as _signal

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, lambda number, _: _os._exit(128 + number))

import lazy_loader

# The stub has the names of the API and their modules, a line each.
_of_the_stub, _, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [*_names, "__version__"]

#: Names of before, and what they are called now.
_RENAMED = {
    "StoredResults": "Results",
    "Swept": "SweepResult",
    "Drive": "Device",
    "Foretold": "SweepEstimate",
    "foretell": "estimate",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first used, and keep it: `import destage` alone is quick."""
    from importlib import import_module

    if name == "__version__":
        return import_module("destage._destage").VERSION
    if name == "reproduce":
        return import_module("destage.reproduce")
    if name not in _names:
        raise AttributeError(f"module 'destage' has no attribute {name!r}{_meant(name)}")
    return _of_the_stub(name)


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
