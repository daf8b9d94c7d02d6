"""The installation: its versions, the machine that it is on, its folder of decoded traces."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import tempfile
from pathlib import Path

from destage import _destage
from destage.doctor.finding import Finding
from destage.lab.decoded_traces import trace_cache

__all__ = ["cache_folder", "extras", "machine", "versions"]

#: Less room than this in the cache folder, and a trace of a day hardly fits.
LITTLE_BYTES = 1 << 30

#: Packages that extras bring: imported modules by extra.
EXTRAS = {
    "report": ("altair", "vl-convert-python", "jinja2"),
    "tune": ("optuna",),
    "polars": ("polars",),
    "pandas": ("pandas",),
}


def versions(_: Path) -> Finding:
    """Whether package and native library are of one version."""
    package, native = _version("destage"), _destage.VERSION
    data = {"package": package, "native": native, "python": platform.python_version()}
    said = f"destage {package}, native library {native}, Python {data['python']}"
    if package is None:
        said = f"destage {native}, run from its sources, Python {data['python']}"
        return Finding("versions", "ok", said, data)
    if package != native:
        return Finding("versions", "wrong", f"{said}: the versions differ, install it again", data)
    return Finding("versions", "ok", said, data)


def extras(_: Path) -> Finding:
    """Which optional packages are there, and how to get those that are not."""
    there: dict[str, str] = {}
    missing = []
    for extra, packages in EXTRAS.items():
        versions = {name: _version(name) for name in packages}
        there |= {name: version for name, version in versions.items() if version}
        if not all(versions.values()):
            missing.append(extra)
    data = {"installed": there, "missing": missing}
    said = ", ".join(f"{name} {version}" for name, version in there.items()) or "none"
    if missing:
        said += f"; without {', '.join(missing)}: pip install 'destage[{','.join(missing)}]'"
    return Finding("extras", "note" if missing else "ok", said, data)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def machine(_: Path) -> Finding:
    """Facts of the machine, for bug reports."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = _memory_bytes()
    features = _features()
    data = {
        "architecture": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": cores,
        "memory_bytes": memory,
        "features": features,
    }
    room = f", {memory / 2**30:.1f} GiB of memory" if memory else ""
    has = f", with {' '.join(features)}" if features else ""
    plural = "" if cores == 1 else "s"
    said = f"{data['architecture']}, {data['system']}, {cores} core{plural}{room}{has}"
    return Finding("machine", "ok", said, data)


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


#: What a processor may have that decides how fast pages are looked up and text is read.
WANTED = ("sse4_2", "popcnt", "avx2", "bmi2", "avx512bw", "asimd", "sve")


def _features() -> list[str]:
    """Which of `WANTED` the processor has; none where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            has = set(words.split())
            return [feature for feature in WANTED if feature in has]
    return []


def cache_folder(_: Path) -> Finding:
    """Whether decoded traces can be kept, and how much room there is for them."""
    cache = trace_cache()
    cache.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=cache.folder, prefix=".doctor-") as file:
        file.write(b"destage")
        file.flush()
        os.fsync(file.fileno())
    free = shutil.disk_usage(cache.folder).free
    data = {
        "folder": os.fspath(cache.folder),
        "entries": len(cache.entries),
        "bytes": cache.bytes,
        "limit_bytes": cache.limit_bytes,
        "free_bytes": free,
    }
    said = (
        f"{cache.folder} can be written; {len(cache.entries)} decoded traces,"
        f" {cache.bytes / 2**20:,.0f} of at most {cache.limit_bytes / 2**20:,.0f} MiB;"
        f" {free / 2**30:,.1f} GiB free"
    )
    if free < LITTLE_BYTES:
        return Finding("cache folder", "note", f"{said}: that is little for decoded traces", data)
    return Finding("cache folder", "ok", said, data)
