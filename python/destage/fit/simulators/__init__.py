"""Configurations of other simulators as device files (`docs/spec/fit.md` 16)."""

from __future__ import annotations

import os

from destage.fit.importing import ImportedDevice, imported, one_of
from destage.fit.simulators import femu, mqsim, simplessd

__all__ = ["SIMULATORS", "import_device"]

_READERS = {"mqsim": mqsim, "femu": femu, "simplessd": simplessd}
SIMULATORS = tuple(_READERS)


def import_device(simulator: str, path: str | os.PathLike[str]) -> ImportedDevice:
    """Turn the configuration of another simulator into a device file.

    Parameters:
        simulator: `mqsim` (an ssdconfig.xml), `femu` (a run script or the options of `-device
            femu`), `simplessd` (an .xml or .cfg).
        path: its file.

    Every key is marked exact, approximated or refused, with the other simulator's key beside it.
    Raises `DataError` for a malformed file, or a device that Destage cannot describe.
    """
    one_of(simulator, SIMULATORS)
    reader = _READERS[simulator]
    return imported(simulator, path, reader.parse, reader.convert)
