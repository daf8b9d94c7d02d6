"""Everything that can go wrong, one class for each exit status of the command line.

Catch `DestageError` for all of them, or the built-in that a class also is.
"""

from __future__ import annotations

__all__ = [
    "CheckFailed",
    "DataError",
    "DestageError",
    "ExcludedError",
    "InternalError",
    "MissingExtra",
    "MissingFile",
    "NotPermitted",
    "OutputError",
    "Unavailable",
    "UsageError",
]


class DestageError(Exception):
    """Base of all errors that Destage raises on purpose."""

    #: Exit status of the command line when this error ends it.
    exit_status = 70


class UsageError(DestageError, ValueError):
    """An impossible request: an unknown policy, a parameter out of range. Status 2."""

    exit_status = 2


class ExcludedError(UsageError):
    """Two things that exclude each other, which a grid leaves out. Status 2."""


class MissingExtra(DestageError, ImportError):
    """An optional package is not installed; the message says which one. Status 2."""

    exit_status = 2


class DataError(DestageError, ValueError):
    """A trace, vector file, result or TOML file is malformed; the message has the place. 65."""

    exit_status = 65


class MissingFile(DestageError, FileNotFoundError):
    """A file is not there, or cannot be read. Status 66."""

    exit_status = 66

    def __str__(self) -> str:
        # OSError would show an error number that there is none of.
        return str(self.args[0]) if self.args else ""


class Unavailable(DestageError):
    """The system does not have what a command needs. Status 69."""

    exit_status = 69


class NotPermitted(DestageError, PermissionError):
    """The system does not let this user do it. Status 77."""

    exit_status = 77

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OutputError(DestageError, OSError):
    """An output could not be written. Status 74."""

    exit_status = 74

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class CheckFailed(DestageError):
    """A policy violates an invariant (`check=True`) or differs from its vectors. Status 1."""

    exit_status = 1


class InternalError(DestageError):
    """A bug of Destage. Status 70."""

    exit_status = 70
