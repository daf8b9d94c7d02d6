"""A cache step by step: what each access found, and the policy's lists after it."""

from __future__ import annotations

import html
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from destage.model.card import Card

if TYPE_CHECKING:
    from destage._destage import Cache

__all__ = ["Step", "Steps", "card", "steps"]

#: After a key that is dirty.
_DIRTY = "*"
#: Keys of a list that are shown at most.
_MOST = 20


@dataclass(frozen=True)
class Step:
    """An access, and the state of the cache after it."""

    key: Hashable
    write: bool
    result: str
    """`hit`, `miss`, or `bypass` for a page that was not taken in."""
    evicted: tuple[Hashable, ...]
    destaged: tuple[Hashable, ...]
    state: dict[str, str]
    """The policy's lists, newest first, and its adapted parameters, as text; `*`: dirty."""


class Steps(Sequence[Step]):
    """Accesses of a cache, one a row: `print` it, or let a notebook show it."""

    def __init__(self, title: str, steps: Sequence[Step]) -> None:
        """Take what `steps` has seen."""
        self._title = title
        self._steps = tuple(steps)

    def __getitem__(self, index: Any) -> Any:
        """Return an access."""
        return self._steps[index]

    def __len__(self) -> int:
        """Return the number of accesses."""
        return len(self._steps)

    def _rows(self) -> Iterator[list[str]]:
        names = list(dict.fromkeys(name for step in self._steps for name in step.state))
        yield ["access", "result", "evicted", "destaged", *names]
        for step in self._steps:
            row = [f"{'write' if step.write else 'read'} {step.key}", step.result]
            row += [" ".join(map(str, step.evicted)), " ".join(map(str, step.destaged))]
            yield row + [step.state.get(name, "") for name in names]

    def __repr__(self) -> str:
        """Return the rows as a table of text."""
        rows = list(self._rows())
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join([self._title, *lines])

    def _repr_html_(self) -> str:
        """Return the rows as a table of a notebook."""
        head, *rows = self._rows()

        def line(cells: Iterable[str], tag: str) -> str:
            kept = (f'<{tag} style="text-align:left">{html.escape(c)}</{tag}>' for c in cells)
            return f"<tr>{''.join(kept)}</tr>"

        body = "".join(line(row, "td") for row in rows)
        return (
            f"<div><b>{html.escape(self._title)}</b><table>{line(head, 'th')}{body}</table></div>"
        )


def steps(
    cache: Cache, keys: Iterable[Hashable], write: bool | Container[Hashable] | None
) -> Steps:
    """Access the keys in turn; `write`: all of them, none, or those whose accesses are writes."""
    found = []
    for key in keys:
        writes = write if isinstance(write, bool) else key in (write or ())
        access = cache.access(key, write=writes)
        result = "hit" if access.hit else "miss" if access.admitted else "bypass"
        state = _state(cache)
        found.append(Step(key, writes, result, access.evicted, access.destaged, state))
    return Steps(f"{cache.policy}, {cache.frames} frames", found)


def card(cache: Cache) -> Card:
    """The cache in a few lines, with the policy's lists."""
    facts = [("Resident", f"{len(cache)} of {cache.frames} frames, {len(cache.dirty)} dirty")]
    return Card(f"Cache {cache.policy}", [*facts, *_state(cache).items()])


def _state(cache: Cache) -> dict[str, str]:
    dirty = set(cache.dirty)
    state = {name: _text(part, dirty) for name, part in cache.lists.items()}
    return state | {name: f"{value:.4g}" for name, value in cache.gauges.items()}


def _text(part: Any, dirty: set[Hashable]) -> str:
    """A list as it is read, or a list of lists in brackets; long ones end with dots.

    A list beside numbers has the pages of a block; the numbers are of the block, and no pages.
    """
    if not isinstance(part, list):
        return str(part)
    has_pages = not any(isinstance(one, list) for one in part)
    shown = [
        f"[{_text(one, dirty)}]"
        if isinstance(one, list)
        else f"{one}{_DIRTY if has_pages and one in dirty else ''}"
        for one in islice(part, _MOST)
    ]
    return " ".join([*shown, "..."] if len(part) > _MOST else shown)
