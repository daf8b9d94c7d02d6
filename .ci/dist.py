#!/usr/bin/env python3
"""Make what users install into `dist/`, and try the wheel where there is no Rust.

In this order: the sdist; the wheel, built out of the unpacked sdist, which shows that nothing is
missing there; the public crates, each compiled out of its package; then an empty environment,
without cargo and rustc on its PATH, that installs the wheel and runs `destage demo` and `destage
doctor` outside of the repository. `make dist` calls it. Nothing is published.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "dist"
#: The oldest glibc that zig is asked to link for: what pip has known as manylinux since 2014.
GLIBC = "manylinux2014"
#: What a wheel must have beside the modules.
NEEDED = (
    *("destage/__init__.py", "destage/__init__.pyi", "destage/_destage.pyi"),
    *("destage/py.typed", "destage/cli/root.py"),
)


def manifest(path: Path) -> dict[str, Any]:
    """Return a manifest as tables."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def public_crates() -> list[str]:
    """Return the crates that are meant for a registry, in the order of their names."""
    packages = (manifest(p)["package"] for p in sorted(ROOT.glob("crates/*/Cargo.toml")))
    return [p["name"] for p in packages if p.get("publish", True)]


def wheel_faults(names: Iterable[str], tracked: set[str]) -> list[str]:
    """Return what a wheel has too much or too little.

    `tracked` are the files of `python/` that the repository knows: nothing else belongs into the
    package but the compiled module and, outside of Windows, SQLite's page cache.
    """
    names = set(names)
    modules = {n for n in names if n.startswith("destage/_destage.") and not n.endswith(".pyi")}
    libraries = {n for n in names if n.startswith("destage/libdestage_pcache.")}
    licence = [n for n in names if n.endswith(".dist-info/licenses/LICENSE")]
    rest = {n for n in names - modules - libraries if ".dist-info/" not in n}
    found = [f"has {n}, which the repository does not" for n in sorted(rest - tracked)]
    found += [f"lacks {n}" for n in sorted((tracked | set(NEEDED)) - rest)]
    if len(modules) != 1 or not all(".abi3." in n or n.endswith(".pyd") for n in modules):
        found.append(f"expected one compiled module of the stable ABI, found {sorted(modules)}")
    if len(libraries) != (not any(n.endswith(".pyd") for n in modules)):
        found.append(f"expected SQLite's page cache outside of Windows, found {sorted(libraries)}")
    if not any(".dist-info/sboms/" in n and n.endswith(".cyclonedx.json") for n in names):
        found.append("lacks the list of its crates (SBOM)")
    return found if licence else [*found, "lacks the licence"]


def tracked() -> set[str]:
    """Return the files of `python/` that git knows, as they are named in a wheel."""
    said = run(["git", "ls-files", "-z", "python"], quiet=True)
    return {name.removeprefix("python/") for name in said.split("\0") if name}


def without_rust() -> dict[str, str]:
    """Return an environment whose PATH leads to no cargo and no rustc, and that knows no cache."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    tools = ("cargo", "rustc")
    kept = [f for f in folders if not any(shutil.which(tool, path=f) for tool in tools)]
    left = {k: v for k, v in os.environ.items() if not k.startswith(("CARGO", "RUST", "PYTHON"))}
    return {**left, "PATH": os.pathsep.join(kept), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run(
    command: list[str],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> str:
    """Run a command; return what it printed. End with its own words where it fails."""
    if not quiet:
        print(f"dist: {' '.join(Path(c).name if c == command[0] else c for c in command)}")
        sys.stdout.flush()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise SystemExit(f"dist: {Path(command[0]).name} ended with status {done.returncode}")
    return done.stdout


def has_zig() -> bool:
    """Whether zig can link for an older glibc than this machine's."""
    return sys.platform == "linux" and importlib.util.find_spec("ziglang") is not None


def build_wheel() -> Path:
    """Build the sdist, and the wheel from it."""
    expected = tracked()  # Now: the tree may move on while the compiler works.
    command = [sys.executable, "-m", "maturin", "build", "--release", "--strip", "--sdist"]
    command += ["--out", str(OUT)]
    if has_zig():
        command += ["--zig", "--compatibility", GLIBC]
    # This interpreter, which has zig; the folder that other builds use: crates of others need not
    # be compiled once more.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    run(command, env={**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(ROOT / "target")})
    (wheel,) = OUT.glob("*.whl")
    print(f"dist: {wheel.name}: {_runs_on(wheel)}")
    with zipfile.ZipFile(wheel) as opened:
        faults = wheel_faults(opened.namelist(), expected)
    if faults:
        raise SystemExit("\n".join(f"dist: {wheel.name} {fault}" for fault in faults))
    return wheel


def _runs_on(wheel: Path) -> str:
    tag = wheel.stem.split("-")[-1]
    if sys.platform != "linux":
        return f"for {tag}"
    if has_zig():
        return "for Linux with glibc 2.17 or later (linked by zig)"
    here = " ".join(platform.libc_ver())
    return f"for the oldest glibc that its symbols allow, {tag}; no zig here (this machine: {here})"


def unpacked_before(version: str) -> list[Path]:
    """Return what cargo unpacked of an earlier packaging of this version.

    While it packages, crates take each other from a registry without a host inside `target`. Cargo
    does not look whether a package there is another one under the same version, and would compile
    the next crate against the old one.
    """
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    names = [f"{name}-{version}" for name in public_crates()]
    return sorted(p for name in names for p in home.glob(f"registry/src/-*/{name}") if p.is_dir())


def package_crates(*, compile_each: bool) -> None:
    """Package the crates that are meant to be public; compile each out of its package."""
    command = ["cargo", "package", "--locked", "--quiet"]
    command += [word for name in public_crates() for word in ("-p", name)]
    version = manifest(ROOT / "Cargo.toml")["workspace"]["package"]["version"]
    # A folder of its own: what was compiled of this version before may be of another tree.
    with tempfile.TemporaryDirectory(prefix="destage-crates-") as name:
        for stale in unpacked_before(version):
            shutil.rmtree(stale)
        env = {**os.environ, "CARGO_TARGET_DIR": name}
        run(command if compile_each else [*command, "--no-verify"], env=env)
        for crate in public_crates():
            shutil.copy(Path(name) / "package" / f"{crate}-{version}.crate", OUT)


def try_wheel(wheel: Path) -> None:
    """Install the wheel into an empty environment without Rust, and run it from elsewhere."""
    with tempfile.TemporaryDirectory(prefix="destage-dist-") as name:
        folder = Path(name)
        env = {**without_rust(), "HOME": name, "DESTAGE_CACHE": str(folder / "cache")}
        for tool in ("cargo", "rustc"):
            if shutil.which(tool, path=env["PATH"]):
                raise SystemExit(f"dist: {tool} is still on the PATH")
        run([sys.executable, "-m", "venv", str(folder / "venv")], quiet=True)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = str(programs / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        run([*pip, str(wheel)], cwd=folder, env=env)
        destage = str(programs / "destage")
        commands = [["--version"], ["demo"], ["doctor"]]
        for words in [*commands, *([] if os.name == "nt" else [["pcache"]])]:
            print(run([destage, *words], cwd=folder, env=env))
        where = "import destage; print(destage.__file__)"
        imported = run([python, "-c", where], cwd=folder, env=env, quiet=True)
        if not Path(imported).is_relative_to(folder):
            raise SystemExit(f"dist: the package that ran was {imported.strip()}, not the wheel's")


def main() -> int:
    """Build everything and try it; return the exit status."""
    parser = argparse.ArgumentParser(description="Build wheel, sdist and crates into dist/.")
    parser.add_argument("--no-verify", action="store_true", help="do not compile packaged crates")
    parser.add_argument("--wheel-only", action="store_true", help="package no crates")
    parser.add_argument("--try-only", action="store_true", help="try the wheel that is in dist/")
    given = parser.parse_args()
    if given.try_only:
        (wheel,) = OUT.glob("*.whl")
    else:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir()
        wheel = build_wheel()
        if not given.wheel_only:
            package_crates(compile_each=not given.no_verify)
    try_wheel(wheel)
    for path in sorted(OUT.iterdir()):
        print(f"dist: {path.relative_to(ROOT)}  {path.stat().st_size:,} bytes")
    print("dist: nothing was published")
    return 0


if __name__ == "__main__":
    sys.exit(main())
