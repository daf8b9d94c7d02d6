"""The Python environment of CI: what `make setup` installs, each package in one version.

    .venv/bin/python .ci/locked.py            whether this environment is the locked one
    .venv/bin/python .ci/locked.py --write    lock what is installed here

`constraints.txt` has every package that the extras and the development group bring with them, by
name and version. It has no hashes, because one list serves all systems and processors, whose wheels
differ; and no index, because that is the user's.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / ".ci" / "constraints.txt"
HEAD = """\
# Every package that `make setup` installs, in the version that CI has; `.ci/locked.py` writes it.
"""
#: Named by the Makefile and not by `pyproject.toml`; pip is of every environment.
TOOLS = ("maturin", "pip")
#: What others need on systems where the lock is not written: macOS, Windows.
ELSEWHERE = {"appnope": "0.1.4", "colorama": "0.4.6"}


def asked() -> list[Requirement]:
    """The requirements of the package, its extras and the development group."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [words for name, words in project["project"]["optional-dependencies"].items()]
    lists = [project["project"]["dependencies"], project["dependency-groups"]["dev"], *extras]
    named = [Requirement(word) for words in lists for word in words]
    return [r for r in named if r.name != "destage"] + [Requirement(name) for name in TOOLS]


def installed(requirements: Iterable[Requirement]) -> dict[str, str]:
    """The version of each of these and of all that they need, by name."""
    found: dict[str, str] = {}
    open_, seen = list(requirements), set()
    while open_:
        one = open_.pop()
        name = canonicalize_name(one.name)
        for extra in ("", *sorted(one.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                there = metadata.distribution(name)
            except metadata.PackageNotFoundError:
                sys.exit(f"{name} is not installed: make setup")
            found[name] = there.version
            environment = {**default_environment(), "extra": extra}
            needs = map(Requirement, there.requires or ())
            open_ += [n for n in needs if n.marker is None or n.marker.evaluate(environment)]
    return dict(sorted(found.items()))


def locked(text: str) -> dict[str, str]:
    """The versions that a lock names; nothing else may stand in it."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        match = re.fullmatch(r"([a-z0-9-]+)==([0-9a-z.!+]+)", line)
        if match is None or match[1] in found:
            sys.exit(f"{LOCK.name}:{number}: expected name==version, once each, found {line!r}")
        found[match[1]] = match[2]
    return found


def differences(there: dict[str, str], lock: dict[str, str]) -> list[str]:
    """The differences between an environment and the lock."""
    return [
        f"{name} {version} is installed, {lock.get(name, 'nothing')} is locked"
        for name, version in there.items()
        if lock.get(name) != version
    ]


def main() -> int:
    """Write the lock, or hold the environment to it."""
    there = installed(asked())
    if sys.argv[1:] == ["--write"]:
        lines = sorted(f"{name}=={version}\n" for name, version in (ELSEWHERE | there).items())
        LOCK.write_text(HEAD + "".join(lines))
        return 0
    wrong = differences(there, locked(LOCK.read_text()))
    for line in wrong:
        print(f"locked: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
