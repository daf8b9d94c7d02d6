"""`destage serve`: a file as a block device behind a cache, live."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from typing import Any

import click

from destage.base.errors import OutputError
from destage.base.io.files import write_whole
from destage.cli.file_types import Input
from destage.cli.options import (
    COMMON,
    OUTPUT,
    Command,
    apply,
    flag,
    no_size_without_a_cache,
)
from destage.cli.output import look_at
from destage.cli.screen import warn
from destage.live.nbd.serving import Server
from destage.live.nbd.serving import serve as start
from destage.live.record.quantities import seconds_of

__all__ = ["serve"]

EPILOG = """\b
Examples:
  destage serve disk.img --size 1GiB -p s3-fifo -c 64MiB
  destage serve :memory: --size 256MiB --listen 10809
  destage serve disk.img --record app.csv.gz --stats stats.json --for 10m
  destage serve :memory: -d small -p gcar-lru --emulate

Clients connect to the URI of the first line: `nbdinfo URI`, `nbdcopy`, `fio --ioengine=nbd`,
`qemu-io`, `nbdfuse`, `nbd-client`. The cache is volatile: a client's flush writes all of it.
"""

SERVING = [
    flag("-p", "--policy", metavar="NAME", help="Policy or FILE.py:CLASS; none: no cache. [LRU]"),
    flag("-c", "--cache", default="64MiB", metavar="SIZE", help="64MiB, 8192p, 10%. [64MiB]"),
    flag("--size", metavar="SIZE", help="Make FILE, sparse, with this size. [the device's]"),
    flag("--page-size", metavar="SIZE", help="Size of a page. [4KiB, or the device's]"),
    flag("--pages-per-block", type=int, metavar="N", help="Pages per erase block. [64]"),
    flag(
        "-d",
        "--device",
        type=Input("the device"),
        metavar="DEVICE",
        help="Simulated SSD behind the cache: preset or FILE.toml.",
    ),
    flag("--flush", metavar="MODE", help="Flushes of the simulated SSD: ignore, drain. [ignore]"),
    flag("--emulate", is_flag=True, help="Reply when the simulated SSD would have answered."),
    flag(
        "--speed",
        type=float,
        default=1.0,
        metavar="X",
        help="Speed of simulated time: 2 is twice real time. [1]",
    ),
    flag("--listen", metavar="ADDRESS", help="unix:PATH, HOST:PORT or PORT. [a Unix socket]"),
    flag("--export", default="", metavar="NAME", help="Name of the export. [empty]"),
    flag("--read-only", is_flag=True, help="Reject writes."),
    flag(
        "--max-connections",
        type=int,
        default=64,
        metavar="N",
        help="Maximum number of connections. [64]",
    ),
    flag("--direct", is_flag=True, help="Bypass the operating system's page cache."),
    flag("--checksums", is_flag=True, help="Compare each fetched page with the written one."),
    flag("--for", "for_s", metavar="TIME", help="End after 60s, 10m. [until a signal]"),
    flag("--every", default="1s", metavar="TIME", help="Time between status lines; 0: none. [1s]"),
    flag(
        "--record",
        type=OUTPUT,
        metavar="FILE",
        help="Record requests as a trace; .gz compresses it.",
    ),
    flag("--stats", type=OUTPUT, metavar="FILE", help="Write counters at the end, as JSON."),
]

#: Seconds between two looks at what went wrong.
LOOK_S = 1.0


class _Served(Input):
    """The file that is served, unless it is memory."""

    def names(self, given: Any) -> Any:
        """No file where there is none."""
        return [name for name in given if name != ":memory:"]


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", type=_Served("the file that is served"))
@apply(SERVING, COMMON)
def serve(
    file: str,
    for_s: str | None,
    every: str,
    stats: str | None,
    record: str | None,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Serve a file as a block device (NBD) behind a cache.

    FILE may be :memory:.

    FILE holds the raw contents. SIGTERM, SIGHUP, SIGQUIT, Ctrl-C and --for end the
    server: it finishes requests under way, flushes, and exits with status 0, or 74 if the flush
    failed.
    """
    no_size_without_a_cache(options["policy"])
    period_s = 0.0 if every.strip() in ("0", "0s") else seconds_of(every, "--every")
    seconds = math.inf if for_s is None else seconds_of(for_s, "--for")
    for name in (record, stats):
        if name not in (None, "-"):
            look_at(str(name))
    server: Server | None = None
    ended = "signal"
    try:
        server = start(file, record=record, **options)
        if server.warning is not None:
            warn(server.warning)
        ready = {"ready": True, "uri": server.uri, "export_bytes": server.export_bytes}
        _say({**ready, "pid": os.getpid()})
        _watch(server, period_s, time.monotonic() + seconds)
        ended = "time"
    except KeyboardInterrupt:
        if server is None:
            raise
    except BaseException:
        if server is not None:
            server.stop("error")
        raise
    try:
        server.stop(ended)
    finally:
        if sys.stdout.isatty():
            click.echo()
        _complain(server)
        if (lost := server.lost_file()) is not None:
            warn(lost)
        if stats is not None:
            write_whole(stats, json.dumps(server.stats(), indent=1) + "\n")


def _watch(server: Server, period_s: float, end: float) -> None:
    """Say what happens, until the end."""
    now = time.monotonic()
    next_look, next_line = now + LOOK_S, now + (period_s or math.inf)
    while (now := time.monotonic()) < end:
        if now < min(next_look, next_line):
            time.sleep(min(next_look, next_line, end) - now)
            continue
        if now >= next_look:
            next_look += LOOK_S
            _complain(server)
            server.check()
        if now >= next_line:
            next_line += period_s
            _line(*server.interval())


def _complain(server: Server) -> None:
    count, last = server.complaints()
    if last is not None:
        warn(last + (f" (and {count - 1} more)" if count > 1 else ""))


def _line(told: dict[str, Any], interval: dict[str, Any]) -> None:
    policy, store = told["counters"], told["pool"]
    hits = policy["read_hits"] + policy["write_hits"]
    said = {key: interval[key] for key in ("t_s", "requests", "p50_ns", "p99_ns", "connections")}
    said["accesses"] = hits + policy["read_misses"] + policy["write_misses"]
    said["hits"] = hits
    for key in ("store_reads", "store_writes", "flushes", "pending_writes"):
        said[key] = store[key]
    for key in ("erases", "waf", "flash_programs", "late_replies"):
        if told["device"] is not None:
            said[key] = told["device"][key]
    if sys.stdout.isatty():
        text = "  ".join(f"{key} {value}" for key, value in said.items() if value is not None)
        width = os.get_terminal_size().columns - 1
        sys.stdout.write("\r" + text[:width].ljust(width))
        sys.stdout.flush()
    else:
        _say(said)


def _say(line: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as e:
        raise OutputError(f"standard output: {e.strerror or e}") from e
