"""A process that does one task: it comes in on standard input, its rows go to standard output."""

from __future__ import annotations

import os
import pickle
import sys

from destage.errors import DestageError
from destage.experiment.execute import execute

__all__ = ["main"]


def main() -> None:
    """Do it."""
    # What a policy prints is not among the rows.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = pickle.loads(sys.stdin.buffer.read())
    try:
        answer: object = execute(task)
    except DestageError as e:
        answer = e
    with out:
        pickle.dump(answer, out)


if __name__ == "__main__":
    main()
