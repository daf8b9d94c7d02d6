"""`destage trace prompts`: a language model's server log as a trace of KV blocks."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from destage.base.io.files import write_whole
from destage.cli.file_types import Input
from destage.cli.options import (
    COMMON,
    OUTPUT,
    Command,
    apply,
    flag,
)
from destage.cli.output import JSON, look_at
from destage.cli.screen import note, warn
from destage.lab.prompt_logs import read_prompts
from destage.model.provenance import document
from destage.model.words import counted, number

__all__ = ["prompts"]

EPILOG = """\b
Examples:
  destage trace prompts vllm.log -o prompts.jsonl
  destage trace prompts sglang.log.gz -o prompts.jsonl --block-tokens 64
  destage advise prompts.jsonl --kv --bytes-per-token 131072

Lines of vLLM (VLLM_LOGGING_LEVEL=DEBUG --enable-log-requests), of SGLang
(--log-requests --log-requests-level 3), or JSON with timestamp (s) and token_ids.
No token is written: a block is a number.
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("log", nargs=-1, required=True, type=Input("the log"), metavar="LOG...")
@apply(
    [
        flag(
            "-o", "--output", type=OUTPUT, required=True, metavar="FILE.jsonl", help="Output file."
        ),
        flag(
            "--block-tokens",
            type=int,
            default=16,
            metavar="N",
            help="Tokens of a block; 16 is vLLM's default. [16]",
        ),
    ],
    JSON,
    COMMON,
)
def prompts(
    log: tuple[str, ...], output: str, block_tokens: int, json_file: str | None, **arguments: Any
) -> None:
    """Make a trace of prompts from a server's log."""
    look_at(output)
    made = read_prompts(log, output, block_tokens=block_tokens)
    if json_file is not None:
        content = {**asdict(made), "path": str(made.path), "block_tokens": block_tokens}
        write_whole(json_file, json.dumps(document("prompts", content), indent=1) + "\n")
    if made.without_tokens:
        warn(f"{counted(made.without_tokens, 'request')} without tokens in the log, left out")
    if not arguments["quiet"]:
        note(
            f"{output}: {counted(made.requests, 'prompt')}, {counted(made.tokens, 'token')},"
            f" {counted(made.blocks, 'block')} of {block_tokens} tokens,"
            f" {number(made.unique_blocks)} different"
        )
