#!/usr/bin/env python3
"""Hold what the workspace depends on to `deny.toml`: licences, bans, versions, where it comes from.

`cargo deny check` does the same and more; this stands in where it is not installed. It looks at all
of `Cargo.lock`, for every platform. Status 1 and a line for each fault.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: The one place that crates may come from, by the scheme of its name in a lock file.
REGISTRY = "registry+"


def main() -> int:
    """Check the workspace; return the exit status."""
    table = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if said.returncode:
        print(f"supply: cargo metadata: {said.stderr.strip()}", file=sys.stderr)
        return 1
    packages = json.loads(said.stdout)["packages"]
    found = faults(packages, table)
    for fault in found:
        print(f"supply: {fault}", file=sys.stderr)
    others = sum(1 for p in packages if p["source"])
    if not found:
        print(f"supply: {others} crates of others, as deny.toml allows")
    return 1 if found else 0


def faults(packages: list[dict[str, Any]], table: dict[str, Any]) -> list[str]:
    """Return what is against the table, a sentence each, in the order of the crates' names."""
    others = sorted((p for p in packages if p["source"]), key=lambda p: (p["name"], p["version"]))
    allowed = set(table["licenses"]["allow"])
    banned = {b["crate"]: b["reason"] for b in table["bans"]["deny"]}
    found = []
    for p in others:
        what = f"{p['name']} {p['version']}"
        if not p["source"].startswith(REGISTRY):
            found.append(f"{what}: comes from {p['source'].partition('+')[0]}, not from a registry")
        if p["name"] in banned:
            found.append(f"{what}: not available here: {banned[p['name']]}")
        if not p["license"]:
            found.append(f"{what}: names no licence")
        elif not permitted(p["license"], allowed):
            found.append(f"{what}: licence {p['license']}, of which deny.toml allows none")
    return found + repeated(others, [s["crate"] for s in table["bans"]["skip"]])


def repeated(packages: list[dict[str, Any]], skip: list[str]) -> list[str]:
    """Crates in several versions, but for those that the table skips; skips without a crate."""
    versions = defaultdict(set)
    for p in packages:
        versions[p["name"]].add(p["version"])
    found, used = [], set()
    for name, all_of in sorted(versions.items()):
        left = set(all_of)
        for entry in skip:
            crate, _, begins = entry.partition("@")
            if crate == name and (here := {v for v in all_of if f"{v}.".startswith(f"{begins}.")}):
                used.add(entry)
                left -= here
        if len(left) > 1:
            found.append(f"{name}: in versions {', '.join(sorted(left))}, expected one")
    return found + [f"{s}: deny.toml skips it, and it is not there" for s in skip if s not in used]


def permitted(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met by licences of `allowed`."""
    words = re.findall(r"[()]|[^\s()]+", re.sub(r"\s*/\s*", " OR ", expression))

    def either() -> bool:
        met = both()
        while words and words[0] == "OR":
            words.pop(0)
            met = both() or met
        return met

    def both() -> bool:
        met = one()
        while words and words[0] == "AND":
            words.pop(0)
            met = one() and met
        return met

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            met = either()
            words.pop(0)
            return met
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return word in allowed

    return either()


if __name__ == "__main__":
    sys.exit(main())
