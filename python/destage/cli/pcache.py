"""`destage pcache`: where the library is that gives SQLite a page cache of Destage."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

import destage
from destage.base.errors import Unavailable
from destage.cli.options import COMMON, Command, apply

__all__ = ["pcache"]

EPILOG = """\b
Example:
  export DESTAGE_PCACHE=s3-fifo DESTAGE_PCACHE_RECORD=app.csv
  LD_PRELOAD=$(destage pcache) sqlite3 my.db

\b
Variables that the library reads:
  DESTAGE_PCACHE         policy, such as lru-k[k=3]; unset: SQLite's own cache
  DESTAGE_PCACHE_RECORD  page references as a trace; FILE.PID if it exists
  DESTAGE_PCACHE_STATS   counters of each cache, a line of JSON, appended
"""


@click.command(cls=Command, epilog=EPILOG)
@apply(COMMON)
def pcache(**_: Any) -> None:
    """Print the path of the page-cache library to preload.

    A program that uses the shared libsqlite3 then runs its page caches under a policy, and records
    its page references (docs/record.md).
    """
    suffix = "dylib" if sys.platform == "darwin" else "so"
    path = Path(destage.__file__).with_name(f"libdestage_pcache.{suffix}")
    if not path.is_file():
        raise Unavailable(
            f"SQLite's page cache is not in this installation: {path} is missing (expected on"
            " Linux and macOS, from a wheel; in a checkout type: make pcache)"
        )
    click.echo(path)
