"""`destage cite`: BibTeX of the policies that were used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from destage.base.errors import MissingFile
from destage.base.io.files import write_whole
from destage.cli.options import COMMON, Command, apply
from destage.cli.output import file_flag
from destage.experiment.results import Results, load_results
from destage.experiment.store import is_store
from destage.model.citations import bibtex

__all__ = ["cite"]

EPILOG = """\b
Examples:
  destage cite lru cflru ecr
  destage cite results.json -o policies.bib    # the policies of these results
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("name", nargs=-1, metavar="POLICY|RESULT|STORE...")
@apply(
    [file_flag("-o", "bib_file", metavar="FILE.bib", help="Output file. [standard output]")],
    COMMON,
)
def cite(name: tuple[str, ...], bib_file: str | None, **_: Any) -> None:
    """Print BibTeX of policies or results, and of Destage."""
    write_whole(bib_file or "-", bibtex(policy for one in name for policy in _policies(one)))


def _policies(name: str) -> Iterator[str]:
    """The policies of a file or store of results, without those of users; or the name itself."""
    if is_store(name):
        yield from (run.policy for run in load_results(name) if ".py" not in run.policy)
    elif os.path.isfile(name):
        yield from (run.policy for run in Results.load(name) if ".py" not in run.policy)
    elif os.path.splitext(name)[1] in (".json", ".gz") or os.sep in name:
        raise MissingFile(f"{name}: no such file")
    else:
        yield name.strip(",")
