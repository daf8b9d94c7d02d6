"""Flags of samples that `mrc` and `compare` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import click

from destage.cli.options import flag

__all__ = ["ERROR", "SEED", "sampled"]

ERROR = flag(
    "--error",
    metavar="SHARE",
    help="Target half-width of the hit ratio's 95 % interval. [0.5%]",
)
SEED = flag("--seed", type=int, metavar="N", help="Seed of the sample. [1]")


def sampled(arguments: Mapping[str, Any]) -> tuple[float | Literal["auto"] | None, float | None]:
    """Arguments of `--sample` and `--error`."""
    text = arguments["sample"]
    error = _share("--error", arguments["error"])
    if error is not None and text != "auto":
        raise click.UsageError("--error chooses the samples of --sample auto: add that")
    if error is not None and not 0 < error < 1:
        raise click.UsageError(
            f"--error {arguments['error']}: expected a share above 0 and below 1, such as 0.5%"
        )
    share = None if text == "auto" else _share("--sample", text)
    if share is not None and not 0 < share <= 1:
        raise click.UsageError(f"--sample: expected above 0 % to 100 %, found {text}")
    return ("auto" if text == "auto" else share), error


def _share(name: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        or_auto = ", or auto" if name == "--sample" else ""
        raise click.UsageError(
            f"{name} {text}: expected a share such as 1% or 0.01{or_auto}"
        ) from None
