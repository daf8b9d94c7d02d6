"""A file of one's own through the command: what it says, and the command that it prints."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage, Done

CASES = Path(os.environ.get("DESTAGE_CASES", Path(__file__).parents[3] / "shared" / "cases"))
CSV = "--time-unit us --offset-unit byte --length-unit byte --op-read R --op-write W"
BY_NUMBER = f"--format csv --columns time=0,op=1,offset=2,length=3 {CSV}"


def case(name: str) -> Path:
    """A case, or a skip that says what is missing."""
    found = sorted(CASES.glob(f"{name}*"))
    if not found:
        pytest.skip(f"no case {name} in {CASES} (DESTAGE_CASES)")
    return found[0]


def info(destage: Destage, path: Path, flags: str = "") -> dict[str, Any]:
    """What `trace info` says of a file, as JSON."""
    done = destage("trace", "info", str(path), *shlex.split(flags), "--json", "-")
    assert done.status == 0, done
    data: dict[str, Any] = json.loads(done.out)
    return data


def numbers(data: dict[str, Any]) -> tuple[int, int, int, int]:
    """Requests, reads, bytes, page accesses."""
    c = data["counts"]
    return c["requests"], c["reads"], c["read_bytes"] + c["write_bytes"], c["accesses"]


def hits(destage: Destage, path: Path, flags: str = "") -> tuple[int, int]:
    """Hits and accesses of LRU with 64 pages."""
    words = [str(path), "-p", "lru", "-c", "64p", "--warmup", "none", "--json", "-"]
    done = destage("compare", *words, "--quiet", *shlex.split(flags))
    assert done.status == 0, done
    counters = json.loads(done.out)["runs"][0]["counters"]
    both = [counters[f"read_{what}"] + counters[f"write_{what}"] for what in ("hits", "misses")]
    return both[0], sum(both)


def refused(done: Done, status: int, *said: str) -> None:
    """The command failed with this status and these words."""
    assert done.status == status, done
    for words in said:
        assert words in done.err, (words, done.err)


def printed(done: Done) -> list[str]:
    """The command that a draft prints, as words behind `destage`."""
    line = next(line for line in done.err.splitlines() if ": destage trace info" in line)
    return shlex.split(line.partition(": destage ")[2])


def accepted(destage: Destage, done: Done, **units: str) -> dict[str, Any]:
    """What follows from the printed command, where open units are said."""
    words = printed(done)
    for k, word in enumerate(words):
        if word == "UNIT":
            words[k] = units[words[k - 1].removeprefix("--").replace("-", "_")]
    again = destage(*words, "--json", "-")
    assert again.status == 0, again
    data: dict[str, Any] = json.loads(again.out)
    return data


def rows(count: int, line: Callable[[int], str]) -> str:
    """A file of so many lines."""
    return "".join(line(k) + "\n" for k in range(count))


def sector(k: int) -> int:
    """An address, in sectors, that jumps about."""
    return (k * 7919 % 1000) * 8 + 8


def keywords(flags: str) -> dict[str, str]:
    words = shlex.split(flags)
    return {
        k.removeprefix("--").replace("-", "_"): v for k, v in zip(*[iter(words)] * 2, strict=True)
    }
