"""Shell completion after a flag: names of policies, devices, formats, metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["completed", "names_for"]


def _policies() -> Iterable[str]:
    from destage.lab.catalogue import policies
    from destage.model.naming import GROUPS

    return [*(one.name for one in policies()), "none", *GROUPS]


def _devices() -> Iterable[str]:
    from destage.lab.catalogue import devices

    return [one.name for one in devices()]


def _formats() -> Iterable[str]:
    from destage.lab.catalogue import formats

    return [one.name for one in formats()]


def _ftls() -> Iterable[str]:
    from destage.lab.catalogue import ftls

    return [one.name for one in ftls()]


def _metrics() -> Iterable[str]:
    from destage.model.choice import LIFE, SHORT
    from destage.model.metrics import METRICS

    return [*SHORT, LIFE, *(metric.name for metric in METRICS)]


def _views() -> Iterable[str]:
    from destage.model.choice import VIEWS

    return VIEWS


#: By the name of a command's argument.
_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "policy": _policies,
    "device": _devices,
    "reader_format": _formats,
    "ftl": _ftls,
    "show": _metrics,
    "sort": _metrics,
    "view": _views,
}

#: Arguments that may also be files.
_FILES = ("policy", "device")


def names_for(argument: str) -> list[str] | None:
    """The names that an argument takes; None where it takes other values."""
    found = _NAMES.get(argument)
    return None if found is None else list(dict.fromkeys(found()))


def completed(argument: str, incomplete: str) -> list[CompletionItem] | None:
    """Completions of the last part of a list with commas; None for other arguments."""
    from click.shell_completion import CompletionItem

    names = names_for(argument)
    if names is None:
        return None
    before, comma, last = incomplete.rpartition(",")
    found = [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(last)]
    if not found and argument in _FILES:
        return [CompletionItem(incomplete, type="file")]
    return found
