"""A new policy: a file that runs as it is written, to be changed from there."""

from __future__ import annotations

import keyword
import os
from pathlib import Path

from destage.base.errors import OutputError, UsageError
from destage.base.io.names import printable

__all__ = ["checked_name", "new_policy", "write_new"]

TEMPLATE = '''"""{name}: a policy of your own. It begins as LRU: describe its own rule here.

Beside others, on all processors:

    destage compare TRACE -p lru,{file}:{name} -c 1%,10%
    destage compare TRACE -p '{file}:{name},{file}:{name}[clean_first=64]' -c 10%
    destage why lru '{file}:{name}[clean_first=64]' --trace TRACE -c 10%
"""

from __future__ import annotations

from typing import Any

import destage


class {name}(destage.ListPolicy):
    """Evict the oldest page; of the `clean_first` oldest, a clean one before any dirty one."""

    # Parameters are keyword arguments with a default: {file}:{name}[clean_first=64].
    def __init__(self, frames: int, *, clean_first: int = 0) -> None:
        super().__init__(frames)
        self.clean_first = clean_first
        # All resident pages. The engine looks pages up on the lists of a policy, and does there
        # what is said of a hit: "front", "stay", "mark", or another list to go to.
        self.pages = self.new_list(on_hit="front")

    # Called only for a page that is on no list. Not needed while every miss is taken in and has
    # nothing to remember:
    #
    # def request(self, r: destage.Request) -> destage.Hit | destage.Miss | destage.Bypass:
    #     return destage.MISS  # or destage.Miss(value) for evict and admit, or destage.BYPASS

    def evict(self, miss: Any, device: destage.DeviceView | None, plan: destage.Plan) -> None:
        """Give up at least one page; every frame is taken."""
        clean = self.pages.oldest_clean(within=self.clean_first)
        if clean is not None:
            self.pages.evict(clean, plan)
        else:
            self.pages.evict_back(plan)

    # A page that comes in goes to the front of the first list, dirty if it is written. Elsewhere:
    #
    # def admit(self, r: destage.Request, miss: Any) -> None:
    #     self.pages.push_back(r.page, dirty=r.is_write)
'''


def checked_name(name: str) -> str:
    """A name that a class can have. Raises `UsageError`."""
    if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(
            f"new-policy {printable(name)}: expected the name of a class, such as Hyperbolic:"
            " letters, digits and _, no digit first"
        )
    if keyword.iskeyword(name.lower()) or not name.strip("_"):
        raise UsageError(f"new-policy {name}: no file of Python can be called {name.lower()}.py")
    return name


def new_policy(name: str, folder: str | os.PathLike[str] = ".") -> Path:
    """Write `name.py`, the name in lower case, with a class `name` that runs; return its path.

    Parameters:
        name: of the class, such as `"Hyperbolic"`.
        folder: where to write it.

    Raises `UsageError` for an invalid name, and where there is such a file already: it is left as
    it is. Raises `OutputError` if it cannot be written.
    """
    path = Path(folder) / f"{checked_name(name).lower()}.py"
    write_new(path, TEMPLATE.format(name=name, file=path.name))
    return path


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet."""
    try:
        # Never over an existing file, also if it was just made.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as e:
        raise UsageError(f"{printable(path)}: it is there already, and is left as it is") from e
    except OSError as e:
        raise OutputError(f"{printable(path)}: {e.strerror or e}") from e
