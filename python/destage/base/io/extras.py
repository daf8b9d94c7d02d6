"""The extra `report`: whether it is installed, and what to do if not."""

from __future__ import annotations

import importlib.util

from destage.base.errors import MissingExtra

__all__ = ["need_extra"]

_PACKAGES = {"altair": "altair", "vl_convert": "vl-convert-python", "jinja2": "jinja2"}


def need_extra(what: str) -> None:
    """Raise `MissingExtra` unless the packages of the extra `report` are installed.

    `what` begins the sentence: `the report`.
    """
    missing = [name for module, name in _PACKAGES.items() if not _installed(module)]
    if missing:
        raise MissingExtra(
            f"{what} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'}"
            " not installed: pip install 'destage[report]'"
        )


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # blocked in sys.modules
        return False
