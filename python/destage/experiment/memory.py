"""How much memory a task takes, known before it runs."""

from __future__ import annotations

from destage.experiment.task import Task

__all__ = ["memory_of"]

#: Bytes of the columns of a decoded trace, for each access. They are mapped, and the system may
#: take them back; a run goes through all of them.
_AN_ACCESS = 9
#: Bytes of a touched page: the policy's table of pages, and counters.
_A_PAGE = 24
#: Of a page that the cache holds or remembers.
_A_FRAME = 96
#: Of a physical page of a device: its state, and the copy that each run works on.
_OF_A_DRIVE = 8
#: Of a page in a policy written in Python.
_AN_OWN_PAGE = 600
#: What a run takes that does nothing: histograms, windows.
_LEAST = 4 << 20
#: What a task takes for its results, and the first one for what makes them.
_RESULTS = 24 << 20


def memory_of(task: Task, threads: int = 1) -> int:
    """Bytes that a task takes at most, about."""
    unique = task.trace.unique_pages
    frames = max(min(size.frames, unique) for entry in task.entries for size in entry.sizes)
    run = unique * _A_PAGE + frames * _A_FRAME + _LEAST
    if task.has_own:
        run += frames * _AN_OWN_PAGE
    shared = task.trace.accesses * _AN_ACCESS + _RESULTS
    if task.drive is not None:
        # `raw_pages` is not in the record; an open device knows it, and opening one fills nothing.
        raw = int(task.drive.open().size["raw_pages"])
        run += raw * _OF_A_DRIVE
        shared += raw * _OF_A_DRIVE
    return shared + run * threads
