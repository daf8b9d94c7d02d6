"""Is this installation right, and how fast is this machine?

Every finding is made now, on this machine: conformance vectors are run, a trace is replayed in
front of a device and compared with what is stored, a file is written into the cache folder. What
cannot be right or wrong, such as a speed, is stated beside the recorded one and never fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from destage.base.errors import DestageError
from destage.doctor.finding import Finding
from destage.doctor.installation import cache_folder, extras, machine, versions
from destage.doctor.proof import DATA, drive, speed, vectors

__all__ = ["Checkup", "Finding", "doctor"]


@dataclass(frozen=True)
class Checkup:
    """Findings of `doctor`."""

    findings: tuple[Finding, ...]
    """In the order in which they were made."""

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return all(f.status != "wrong" for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        found = [
            {"about": f.about, "status": f.status, "said": f.said, **f.data} for f in self.findings
        ]
        return {"ok": self.ok, "findings": found}

    def __str__(self) -> str:
        """Return a line for each finding, and the verdict."""
        width = max(len(f.about) for f in self.findings)
        lines = [f"{f.status:<5}  {f.about:<{width}}  {f.said}" for f in self.findings]
        wrong = [f.about for f in self.findings if f.status == "wrong"]
        verdict = "All checks passed." if self.ok else f"Wrong: {', '.join(wrong)}."
        return "\n".join([*lines, "", verdict])


def doctor(*, data: Path | None = None) -> Checkup:
    """Check this installation and this machine; takes a few seconds.

    `data` is the folder with the vectors and the stored numbers, the package's own by default.
    Raises nothing: an error is a finding.

    >>> destage.doctor().ok
    True
    """
    folder = data or DATA
    checks: tuple[Callable[[Path], Finding], ...] = (
        versions,
        extras,
        machine,
        cache_folder,
        vectors,
        drive,
        speed,
    )
    return Checkup(tuple(_made(check, folder) for check in checks))


def _made(check: Callable[[Path], Finding], folder: Path) -> Finding:
    """The finding, or what kept it from being made."""
    try:
        return check(folder)
    except (DestageError, OSError, ValueError, KeyError) as e:
        about = check.__name__.replace("_", " ")
        return Finding(about, "wrong", f"it could not be looked at: {type(e).__name__}: {e}", {})
