"""Columns of a run: those before its metrics, the metrics, and what options fill.

The engine declares metrics and options; a store, a table and a data frame have these columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from destage import _destage
from destage.model.metrics import metrics

__all__ = [
    "CONTEXT",
    "MEASURED",
    "RECORD",
    "OptionColumn",
    "kinds",
    "option_columns",
    "option_values",
    "stored_kinds",
]

#: Columns before the metrics, with their types.
_BEFORE: Mapping[str, str] = {
    "id": "text",
    "status": "text",
    "reason": "text",
    "trace": "text",
    "device": "text",
    "ftl": "text",
    "queue_depth": "int",
    "policy": "text",
    "label": "text",
    "params": "text",
    "cache": "text",
    "frames": "int",
    "cache_bytes": "int",
    "cache_share": "real",
    "seed": "int",
}

#: The part of a run that was measured.
MEASURED: Mapping[str, str] = {
    "warmup_requests": "int",
    "first_request": "int",
    "last_request": "int",
    "cache_full": "bool",
}

#: Columns behind the options.
_OF_THE_TRACE: Mapping[str, str] = {
    "options": "text",
    "page_bytes": "int",
    "trace_requests": "int",
    "trace_accesses": "int",
    "trace_unique_pages": "int",
    "trace_fingerprint": "text",
    "warnings": "text",
}


@dataclass(frozen=True)
class OptionColumn:
    """A column that an option fills, from the configuration in a run's result."""

    name: str
    """Name of the column."""
    kind: str
    """Type of its values: `int`, `text` or `bool`."""
    key: str
    """Key of the configuration, a dot before a key within."""
    default: str
    """Value where the configuration has none; empty: unknown."""
    host: str
    """Key of the device's `host` table whose value comes before the default; may be empty."""
    needs: tuple[str, ...]
    """Keys of the configuration without which the column has no value."""

    def value(self, config: Mapping[str, Any], host: Mapping[str, Any]) -> Any:
        """Return the value in a run; None where the option does not apply, or is not known."""
        if not all(config.get(key) for key in self.needs):
            return None
        found: Any = config
        for key in self.key.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is None and self.host:
            found = host.get(self.host)
        if found is None and self.default:
            found = self.default if self.kind == "text" else json.loads(self.default)
        return _spelled(found) if isinstance(found, Mapping) else found


def _spelled(warmup: Mapping[str, Any]) -> str:
    """A warm-up as one types it; results have it by its kind."""
    ((kind, value),) = warmup.items()
    if kind == "auto":
        return str(kind)
    if kind == "nanos":
        return f"{value / 1e9:g}s"
    return f"{value:g}%" if kind == "percent" else f"{value}r"


#: Columns of a stored row with the whole result as JSON: the run, and the part that the runs of a
#: set have in common.
RECORD, CONTEXT = "record", "context"


@cache
def option_columns() -> tuple[OptionColumn, ...]:
    """Every column of an option of a run, in the order of the options."""
    rows = [row for option in json.loads(_destage.run_options()) for row in option["columns"]]
    return tuple(OptionColumn(**{**row, "needs": tuple(row["needs"])}) for row in rows)


#: Options of a device that no column before the metrics has, and what a device without them does.
_OF_THE_DEVICE: Mapping[str, str] = {"placement": "none", "flush": "ignore"}


def option_values(config: Mapping[str, Any], drive: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns of a run's options, from its configuration and its device's record."""
    host = (drive or {}).get("host") or {}
    of_device = {"placement": config.get("placement"), "flush": host.get("flush")}
    row: dict[str, Any] = {
        name: None if drive is None else of_device[name] or default
        for name, default in _OF_THE_DEVICE.items()
    }
    return row | {column.name: column.value(config, host) for column in option_columns()}


@cache
def kinds() -> Mapping[str, str]:
    """Every column of a run and its type (`int`, `real`, `text`, `bool`), in order."""
    return {
        **_BEFORE,
        **{metric.name: "int" if metric.whole else "real" for metric in metrics()},
        **dict.fromkeys(_OF_THE_DEVICE, "text"),
        **{column.name: column.kind for column in option_columns()},
        **MEASURED,
        **_OF_THE_TRACE,
    }


def stored_kinds() -> dict[str, str]:
    """Return every column of a stored row and its type, in order."""
    return {**kinds(), RECORD: "text", CONTEXT: "text"}
