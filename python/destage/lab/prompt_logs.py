"""Prompts of a language model's server, from its log, as a trace of KV blocks (`mooncake`).

A block is the hash of its tokens and of the block before it, as servers name blocks for prefix
caching (vLLM: Automatic Prefix Caching; Mooncake, FAST 2025). Written are numbers of blocks in the
order in which they first appear: no token, no text.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from destage.base.errors import DataError, UsageError
from destage.base.io.files import Destination, lines_of, written_whole
from destage.base.io.names import PathLike, paths_of, printable

__all__ = ["Prompts", "read_prompts"]

#: What stands before the tokens of a prompt, the last time in a line: a prompt may quote a log.
TOKENS = re.compile(r".*prompt_token_ids: |Receive: obj=\w*Generate\w*\(.*\binput_ids=")
#: vLLM's line of a request whose tokens, if they are logged, have a line of their own.
RECEIVED = re.compile(r"Received request \S+: params")
#: Such a line of tokens.
DETAILS = re.compile(r"Request \S+ details: ")
#: Time of a line: SGLang writes the year, vLLM does not.
TIME = re.compile(r"(?:(\d{4})-)?(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(\.\d+)?")
#: Keys of a prompt's tokens in lines of JSON.
KEYS = ("prompt_token_ids", "input_ids", "token_ids")
#: A year for times that have none: a leap year, which has every day.
YEAR, YEAR_S = 2000, 366 * 86_400
#: A step back of half a year is a new year.
NEW_YEAR_S = YEAR_S / 2
#: Times in JSON lie below it (the year 5138); larger ones are no seconds.
LATEST_S = 1e11

#: Time in seconds and tokens of a request; None where its line has none.
Asked = tuple[float, list[int] | None]


@dataclass(frozen=True)
class Prompts:
    """The written trace: file and counts."""

    path: Path
    requests: int
    tokens: int
    blocks: int
    """Blocks of all prompts."""
    unique_blocks: int
    without_tokens: int
    """Requests in the log without their tokens, left out."""


@dataclass
class _Numbers:
    """Numbers of blocks by the hash of a block and of what came before it."""

    block_tokens: int
    known: dict[bytes, int]

    def of(self, tokens: Sequence[int]) -> list[int]:
        before, found = b"", []
        for first in range(0, len(tokens), self.block_tokens):
            block = array("q", tokens[first : first + self.block_tokens])
            before = hashlib.blake2b(before + block.tobytes(), digest_size=16).digest()
            found.append(self.known.setdefault(before, len(self.known)))
        return found


def read_prompts(
    paths: PathLike | Sequence[PathLike], output: Destination, *, block_tokens: int = 16
) -> Prompts:
    """Write the prompts of a server's log as a trace for `--kv`.

    Parameters:
        paths: logs in their order, also as `.gz` or `.xz`. Lines of vLLM (`--enable-log-requests`,
            `VLLM_LOGGING_LEVEL=DEBUG`), of SGLang (`--log-requests --log-requests-level 3`), or
            JSON objects with `timestamp` (seconds) and `prompt_token_ids`, `input_ids` or
            `token_ids`. Other lines are skipped.
        output: file in the layout `mooncake`.
        block_tokens: tokens of a block, 1 to 65,536; vLLM's default is 16.

    Raises `UsageError`, `MissingFile`, `DataError` (no prompt with tokens; a list that the server
    cut; times that go back) and `OutputError`.
    """
    if not 1 <= block_tokens <= 65_536:
        raise UsageError(f"block_tokens: expected 1 to 65,536 tokens, found {block_tokens}")
    if os.fspath(output) == "-":
        raise UsageError(
            "output: expected a file, such as prompts.jsonl, found - (standard output)"
        )
    logs = [str(path) for path in paths_of(paths)]
    for path in logs:
        # Before the output is begun: a missing log is no fault of the output.
        with lines_of(path):
            pass
    numbers = _Numbers(block_tokens, {})
    log = _Log()
    requests = tokens = blocks = 0
    with written_whole(output) as temporary, open(temporary, "w", encoding="ascii") as out:
        for at_s, ids in log.prompts(logs):
            chained = numbers.of(ids)
            record = {
                "timestamp": round(at_s * 1000),
                "input_length": len(ids),
                "block_size": block_tokens,
                "hash_ids": chained,
            }
            out.write(json.dumps(record) + "\n")
            requests, tokens, blocks = requests + 1, tokens + len(ids), blocks + len(chained)
        if requests == 0:
            raise DataError(_nothing(logs, log.without_tokens))
    unique = len(numbers.known)
    return Prompts(Path(output), requests, tokens, blocks, unique, log.without_tokens)


def _nothing(logs: Sequence[str], without: int) -> str:
    names = ", ".join(map(printable, logs))
    if without:
        return (
            f"{names}: {without:,} requests, none with its tokens: start vLLM with"
            " VLLM_LOGGING_LEVEL=DEBUG --enable-log-requests, SGLang with --log-requests"
            " --log-requests-level 3"
        )
    return (
        f"{names}: no prompt in it: expected lines of vLLM with 'prompt_token_ids: [...]', of"
        " SGLang with 'Receive: obj=GenerateReqInput(... input_ids=[...]', or JSON objects with"
        " timestamp and token_ids"
    )


class _Log:
    """A server's log as it is read."""

    def __init__(self) -> None:
        self.bare = 0
        """Requests in a line without tokens."""
        self.details = 0
        """Lines of tokens whose request has another line."""

    @property
    def without_tokens(self) -> int:
        return max(0, self.bare - self.details)

    def prompts(self, paths: Sequence[str]) -> Iterator[tuple[float, list[int]]]:
        """Seconds since the first prompt, and its tokens. Raises `DataError`."""
        start = last = None
        years_s = 0.0
        for path in paths:
            with lines_of(path) as lines:
                for row, line in enumerate(lines, 1):
                    place = f"{printable(path)}, line {row}"
                    for at_s, ids in self._asked(line, place):
                        if ids is None:
                            self.bare += 1
                            continue
                        if last is not None and at_s + years_s < last - NEW_YEAR_S:
                            years_s += YEAR_S
                        at_s += years_s
                        if last is not None and at_s < last:
                            raise DataError(
                                f"{place}: the time goes back by {last - at_s:g} s: give one"
                                " server's logs, in their order"
                            )
                        last = at_s
                        start = at_s if start is None else start
                        yield at_s - start, ids

    def _asked(self, line: str, place: str) -> list[Asked]:
        if line.startswith("{") and any(f'"{key}"' in line for key in KEYS):
            return _of_json(line, place)
        found = TOKENS.search(line)
        if found is None:
            return [(0.0, None)] if RECEIVED.search(line) else []
        self.details += DETAILS.search(line) is not None
        at_s = _time(line, place)
        if line.startswith("None", found.end()):
            return [(at_s, None)]
        try:
            ids, end = json.JSONDecoder().raw_decode(line, found.end())
        except ValueError:
            ids, end = None, 0
        if ids is None or line.startswith(" ...", end):
            raise DataError(
                f"{place}: the list of tokens is cut: start vLLM without --max-log-len, SGLang with"
                " --log-requests-level 3"
            )
        # SGLang logs a batch as a list of prompts.
        several = isinstance(ids, list) and ids and all(isinstance(one, list) for one in ids)
        return [(at_s, _tokens(one, place)) for one in (ids if several else [ids])]


def _time(line: str, place: str) -> float:
    found = TIME.search(line)
    if found is None:
        raise DataError(f"{place}: no time in it: expected MM-DD hh:mm:ss or YYYY-MM-DD hh:mm:ss")
    year, *rest, fraction = found.groups()
    try:
        month, day, hour, minute, second = map(int, rest)
        moment = datetime(int(year or YEAR), month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise DataError(f"{place}: {found[0]} is not a time: {error}") from None
    return moment.timestamp() + float(fraction or 0)


def _of_json(line: str, place: str) -> list[Asked]:
    try:
        record: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place}: expected a JSON object: {error}") from None
    ids = next((record[key] for key in KEYS if record.get(key) is not None), None)
    if ids is None:
        return []
    at_s: Any = record.get("timestamp")
    is_number = isinstance(at_s, int | float) and not isinstance(at_s, bool)
    time_s = at_s if is_number and abs(at_s) < LATEST_S else None
    if time_s is None:
        found = repr(at_s)[:60]
        raise DataError(f"{place}: timestamp: expected seconds, a number, found {found}")
    return [(float(time_s), _tokens(ids, place))]


def _tokens(given: object, place: str) -> list[int]:
    if not isinstance(given, list) or not given:
        raise DataError(f"{place}: expected a list of one token or more, found {str(given)[:60]}")
    wrong = [one for one in given if type(one) is not int or not 0 <= one < 1 << 63]
    if wrong:
        raise DataError(f"{place}: expected whole numbers from 0 as tokens, found {wrong[0]!r}")
    return given
