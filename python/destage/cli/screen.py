"""Standard error: progress, notes, warnings. Nothing here touches standard output."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from destage.cli import signals
from destage.cli.streams import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from destage.lab.options import ProgressCallback

__all__ = ["note", "note_interrupted", "progress", "warn", "wrapped"]

#: Work that ends sooner shows no bar: it would only flicker.
PATIENCE_S = 0.3


def warn(message: str) -> None:
    """Print a warning."""
    say(f"warning: {message}")


def note(message: str) -> None:
    """Print a note."""
    say(message)


def note_interrupted() -> None:
    """Say that a signal was heard, and that what had ended is not lost."""
    say(f"{signals.said()}: finished runs are written; a second signal stops at once")


@contextmanager
def progress(quiet: bool) -> Iterator[ProgressCallback | None]:
    """Give a callback that draws a bar with rate and time left; None without a terminal.

    The bar is on standard error, and gone at the end.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.update
    finally:
        bar.close()


class _Bar:
    """Begins when the work turns out to take its time."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.drawn: Progress | None = None
        self.task: TaskID | None = None
        self.stage = ""
        self.stage_began = (0.0, 0)

    def update(self, done: int, total: int | None, stage: str) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.stage_began = stage, (now, done)
            if self.drawn is not None and self.task is not None:
                self.drawn.remove_task(self.task)
            self.task = None
        if self.drawn is None:
            if now - self.began < PATIENCE_S:
                return
            self.drawn = self._start()
        if self.task is None:
            self.task = self.drawn.add_task(stage, total=total, rate="")
        self.drawn.update(self.task, completed=done, total=total, rate=self._rate(now, done))

    def _rate(self, now: float, done: int) -> str:
        began, before = self.stage_began
        elapsed = now - began
        # The time of the work before the first look is unknown.
        if elapsed < PATIENCE_S or done <= before:
            return ""
        rate = (done - before) / elapsed
        for unit in ("", " k", " M"):
            if rate < 1000:
                return f"{rate:.3g}{unit}/s"
            rate /= 1000
        return f"{rate:.3g} G/s"

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        drawn = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        drawn.start()
        return drawn

    def close(self) -> None:
        if self.drawn is not None:
            self.drawn.stop()


def wrapped(text: str, indent: int = 2) -> str:
    """Return text as a paragraph of 80 columns."""
    pad = " " * indent
    return textwrap.fill(text, 80, initial_indent=pad, subsequent_indent=pad)
