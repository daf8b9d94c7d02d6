"""The engine that draws: Vega in V8, which ends the whole process where it cannot start.

V8 reserves tens of gigabytes of addresses. Under a limit on them (`ulimit -v`) that is tried in a
process of its own first, so that only the drawing is lost and not all that was computed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from destage.base.errors import OutputError
from destage.base.io.interruptible import interruptible

__all__ = ["Engine", "engine"]

#: Draws a point under a limit of so many bytes; the status of the process is the answer.
_TRY = """
import resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import vl_convert
values = {"values": [{"a": 1}]}
vl_convert.vegalite_to_svg({"data": values, "mark": "point", "encoding": {"x": {"field": "a"}}})
"""


class Engine:
    """The functions of vl-convert; Ctrl-C ends the wait for each."""

    def __init__(self, module: ModuleType) -> None:
        """Take the module."""
        self.module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function that draws in another thread."""
        draw = getattr(self.module, name)
        return lambda *args, **kwargs: interruptible(partial(draw, *args, **kwargs))


@cache
def engine() -> Engine:
    """The engine, which can be called. Raises `OutputError` where it cannot start."""
    limit = _limit()
    if limit is not None:
        left = limit - _used()
        tried = subprocess.run(
            [sys.executable, "-P", "-c", _TRY, str(max(left, 1))], capture_output=True, check=False
        )
        if tried.returncode != 0:
            raise OutputError(
                "charts cannot be drawn: their engine (V8) does not start in the"
                f" {limit:,} bytes of addresses that a process may have here (ulimit -v)"
            )
    import vl_convert

    return Engine(vl_convert)


def _limit() -> int | None:
    """Bytes of addresses that a process may have; None if they are not limited."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _used() -> int:
    """Bytes of addresses that this process has; 0 where that is not known."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    import resource

    return pages * resource.getpagesize()
