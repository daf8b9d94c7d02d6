"""A row of results: one run, period, block or byte range, by column."""

from __future__ import annotations

from typing import Any

__all__ = ["Row"]

Row = dict[str, Any]
