"""Logs of vLLM and SGLang, and JSON, as traces of KV blocks."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds

SAMPLING = (
    "SamplingParams(n=1, temperature=0.7, stop_token_ids=[], prompt_logprobs=None,"
    " truncate_prompt_tokens=None)"
)


def vllm_details(at: str, tokens: Sequence[int], text: str = "Hi") -> str:
    """As vLLM logs a request at level DEBUG: its tokens, then its parameters."""
    first = (
        f"(APIServer pid=9) DEBUG {at} [logger.py:40] Request chatcmpl-1 details: prompt: {text!r}"
    )
    first += f", prompt_token_ids: {list(tokens)}, prompt_embeds shape: None.\n"
    second = f"(APIServer pid=9) INFO {at} [logger.py:49] Received request chatcmpl-1: params: "
    return f"{first}{second}{SAMPLING}, lora_request: None.\n"


def vllm_old(at: str, tokens: Sequence[int]) -> str:
    """As vLLM logged a request before, in one line."""
    return (
        f"INFO {at} logger.py:36] Received request cmpl-1-0: prompt: 'How to', params: {SAMPLING},"
        f" prompt_token_ids: {list(tokens)}, lora_request: None, prompt_adapter_request: None.\n"
    )


def sglang(at: str, tokens: object, text: object = None) -> str:
    return (
        f"[{at}] Receive: obj=GenerateReqInput(text={text!r}, input_ids={tokens},"
        " input_embeds=None, image_data=None, sampling_params={'stop_token_ids': None}, rid='c')\n"
        f"[{at} TP0] Prefill batch. #new-seq: 1, #new-token: 63, #cached-token: 1\n"
        f"[{at}] Finish: obj=GenerateReqInput(text=None, input_ids={tokens}), out={{'text': 'x'}}\n"
    )


def chains(prompts: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """Blocks by their tokens and everything before them, numbered as they come."""
    known: dict[tuple[int, ...], int] = {}
    return [
        [
            known.setdefault(tuple(tokens[: end + size]), len(known))
            for end in range(0, len(tokens), size)
        ]
        for tokens in prompts
    ]


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def some_prompts() -> list[list[int]]:
    draw = random.Random(3)
    shared = [draw.randrange(1000) for _ in range(40)]
    return [shared[: draw.randrange(41)] + [draw.randrange(9) for _ in range(5)] for _ in range(30)]


@pytest.mark.parametrize("layout", ["details", "old", "sglang", "json"])
@pytest.mark.parametrize("size", [1, 4, 16])
def test_blocks_are_chains_of_tokens(layout: str, size: int, tmp_path: Path) -> None:
    prompts, text = some_prompts(), ""
    for k, tokens in enumerate(prompts):
        at = f"07-10 12:{k:02}:30"
        if layout == "details":
            text += vllm_details(at, tokens)
        elif layout == "old":
            text += vllm_old(at, tokens)
        elif layout == "sglang":
            text += sglang(f"2025-{at}", tokens)
        else:
            text += json.dumps({"timestamp": 1e9 + 60 * k, "token_ids": tokens, "user": 3}) + "\n"
    log, out = tmp_path / "server.log", tmp_path / "prompts.jsonl"
    log.write_text("INFO 07-10 12:00:00 [api_server.py:9] vLLM API server version 0.11\n" + text)
    made = ds.read_prompts(log, out, block_tokens=size)
    found, expected = records(out), chains(prompts, size)
    assert [r["hash_ids"] for r in found] == expected
    assert [r["input_length"] for r in found] == [len(p) for p in prompts]
    assert [r["timestamp"] for r in found] == [60_000 * k for k in range(len(prompts))]
    assert made.without_tokens == 0
    assert made.requests == 30
    assert made.tokens == sum(map(len, prompts))
    assert made.blocks == sum(map(len, expected))
    assert made.unique_blocks == len({b for chain in expected for b in chain})
    # The reader of traces takes it, and counts what was written.
    run = ds.run(ds.open_trace(out, bytes_per_token=8), "lru", cache="100%", kv=True)
    assert (run["kv_requests"], run["blocks"], run["tokens"]) == (30, made.blocks, made.tokens)


def test_a_prompt_that_quotes_a_log_is_no_list_of_tokens(tmp_path: Path) -> None:
    log, out = tmp_path / "a.log", tmp_path / "o.jsonl"
    quoted = "prompt_token_ids: [9, 9, 9], and input_ids=[8, 8]"
    log.write_text(
        vllm_details("07-10 12:00:00", [1, 2], quoted)
        + sglang("2025-07-10 12:00:01", [1, 2], quoted)
    )
    # Two servers' lines in one file have two kinds of years: only the first is read here.
    log.write_text(vllm_details("07-10 12:00:00", [1, 2], quoted))
    assert ds.read_prompts(log, out).tokens == 2
    log.write_text(sglang("2025-07-10 12:00:01", [1, 2, 3], quoted))
    assert ds.read_prompts(log, out).tokens == 3


def test_several_logs_packed_a_new_year_and_a_batch(tmp_path: Path) -> None:
    first, second, out = tmp_path / "1.log.gz", tmp_path / "2.log", tmp_path / "o.jsonl"
    first.write_bytes(gzip.compress(vllm_old("12-31 23:59:59", [1, 2]).encode()))
    second.write_text(vllm_old("01-01 00:00:01", [1, 2, 3]))
    ds.read_prompts([first, second], out, block_tokens=2)
    assert [(r["timestamp"], r["hash_ids"]) for r in records(out)] == [(0, [0]), (2000, [0, 1])]
    second.write_text(sglang("2025-07-10 12:00:00", [[1, 2], [1, 3]]))
    ds.read_prompts(second, out, block_tokens=1)
    assert [(r["timestamp"], r["hash_ids"]) for r in records(out)] == [(0, [0, 1]), (0, [0, 2])]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no prompt in it: expected lines of vLLM"),
        (
            f"INFO 02-13 11:33:33 [logger.py:49] Received request c: params: {SAMPLING}.\n",
            "1 requests, none with its tokens: start vLLM with VLLM_LOGGING_LEVEL=DEBUG",
        ),
        (sglang("2025-07-10 12:00:00", "[1, 2] ... [5, 6]"), "line 1: the list of tokens is cut"),
        (
            vllm_old("07-10 12:00:00", [1, 2]).partition("2]")[0],
            "line 1: the list of tokens is cut",
        ),
        (
            vllm_old("07-10 12:00:09", [1]) + vllm_old("07-10 12:00:05", [1]),
            "line 2: the time goes back by 4 s",
        ),
        (vllm_old("13-40 12:00:00", [1]), "13-40 12:00:00 is not a time"),
        (vllm_old("soon", [1]), "line 1: no time in it"),
        (
            '{"timestamp": "now", "token_ids": [1]}\n',
            "timestamp: expected seconds, a number, found 'now'",
        ),
        ('{"timestamp": NaN, "token_ids": [1]}\n', "expected seconds, a number, found nan"),
        (
            '{"timestamp": 1700000000000, "token_ids": [1]}\n',
            "expected seconds, a number, found 1700000000000",
        ),
        (
            '{"timestamp": 1, "token_ids": [1.5]}\n',
            "expected whole numbers from 0 as tokens, found 1.5",
        ),
        ('{"timestamp": 1, "token_ids": []}\n', "expected a list of one token or more"),
        ('{"timestamp": 1, "token_ids": [1]\n', "line 1: expected a JSON object"),
    ],
)
def test_what_cannot_be_read_is_said(
    text: str, said: str, destage: Destage, tmp_path: Path
) -> None:
    (tmp_path / "server.log").write_text(text)
    done = destage("trace", "prompts", "server.log", "-o", "out.jsonl")
    assert done.status == 65, done
    assert said in " ".join(done.err.split())
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_says_what_it_wrote(destage: Destage, tmp_path: Path) -> None:
    bare = f"INFO 07-10 12:00:09 [logger.py:49] Received request c: params: {SAMPLING}.\n"
    (tmp_path / "server.log").write_text(vllm_details("07-10 12:00:00", range(40)) + bare)
    done = destage("trace", "prompts", "server.log", "-o", "out.jsonl", "--json", "-")
    assert done.status == 0, done
    assert "out.jsonl: 1 prompt, 40 tokens, 3 blocks of 16 tokens, 3 different" in done.err
    assert "1 request without tokens in the log, left out" in done.err
    data = json.loads(done.out)
    assert (data["schema"], data["requests"], data["without_tokens"]) == ("destage.prompts", 1, 1)
    assert destage("trace", "info", "out.jsonl", "--bytes-per-token", "8").status == 0
    assert destage("trace", "prompts", "server.log", "-o", "x", "--block-tokens", "0").status == 2
    assert destage("trace", "prompts", "none.log", "-o", "x").status == 66
    piped = destage("trace", "prompts", "server.log", "-o", "-")
    assert piped.status == 2
    assert "output: expected a file, such as prompts.jsonl, found -" in piped.err
    assert not (tmp_path / "-").exists()
