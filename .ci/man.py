"""Write the manual pages of `destage`, made of the help of its commands.

    .venv/bin/python .ci/man.py [FOLDER]          into FOLDER, by default `dist/man/man1`

`make man` calls it; `man -M dist/man destage-compare` shows a page. The same commands give the same
bytes: the date is that of the release.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

import destage
from destage.cli.root import LazyGroup, Place, root

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = ROOT / "dist" / "man" / "man1"
Rows = Sequence[tuple[str, str]]

#: Statuses that scripts look at; docs/reference/command-line.md has all.
STATUSES = (
    ("0", "Success."),
    ("1", "A check, a claim or a comparison failed, or runs of a sweep are missing."),
    ("2", "Usage error, unknown policy or parameter, impossible configuration."),
    ("65", "Bad input: a trace, a vector, a result or a TOML file."),
    ("66", "A file is missing or cannot be read."),
    ("70", "A bug in Destage; the message shows how to report it."),
    ("74", "An output could not be written."),
    ("130", "Interrupted."),
)
ENVIRONMENT = (
    ("DESTAGE_CACHE", "Folder of decoded traces and prepared devices."),
    ("DESTAGE_FLAG", "Value of --flag; DESTAGE_CACHE_SIZE of --cache. Flags take precedence."),
    ("NO_COLOR", "No colours."),
)


class Sections(click.HelpFormatter):
    """Help as its sections, each with its rows."""

    def __init__(self) -> None:
        """Begin without sections."""
        super().__init__()
        self.found: list[tuple[str, Rows]] = []
        self._title = ""

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Keep the title for the rows."""
        self._title = name
        yield

    def write_dl(self, rows: Rows, col_max: int = 30, col_spacing: int = 2) -> None:
        """Keep the rows."""
        self.found.append((self._title, rows))


def commands() -> dict[str, click.Command]:
    """Every command, by its words after `destage`."""
    found: dict[str, click.Command] = {"": root}

    def take(name: str, place: Place) -> None:
        command = found[name] = place.command()
        for word, below in place.words.items():
            take(f"{name} {word}", below)
        if isinstance(command, LazyGroup):
            for word, below in command.places.items():
                take(f"{name} {word}", below)

    for name, place in root.places.items():
        take(name, place)
    return found


def title(name: str) -> str:
    """The name of a command's page: `destage-trace-info`."""
    return "-".join(["destage", *name.split()])


def text(words: str) -> str:
    """Words as troff takes them literally."""
    lines = words.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def paragraphs(words: str) -> str:
    """Click's help: a paragraph that begins with `\\b` keeps its lines."""
    parts = []
    for part in re.split(r"\n\s*\n", words.strip()):
        if part.startswith("\b"):
            parts.append(f".PP\n.nf\n{text(part.lstrip(chr(8)).strip(chr(10)))}\n.fi")
        else:
            parts.append(f".PP\n{text(' '.join(part.split()))}")
    return "\n".join(parts)


def listed(rows: Rows) -> str:
    """Terms with their descriptions."""
    return "\n".join(f".TP\n.B {text(term)}\n{text(about)}" for term, about in rows)


def page(name: str, command: click.Command, above: Sequence[str], date: str) -> str:
    """The manual page of a command."""
    called = " ".join(filter(None, ("destage", name)))
    helps = list(root.context_settings.get("help_option_names", ["--help"]))
    with click.Context(command, info_name=called, help_option_names=helps) as ctx:
        usage = " ".join(command.collect_usage_pieces(ctx))
        formatter = Sections()
        command.format_options(ctx, formatter)
    about = (command.help or "").strip()
    first = command.get_short_help_str(limit=200).rstrip(".")
    parts = [
        f'.TH "{title(name).upper()}" "1" "{date}" "Destage {destage.__version__}" "Destage"',
        f".SH NAME\n{text(title(name))} \\- {text(first)}",
        f".SH SYNOPSIS\n.B {text(called)}\n{text(usage)}",
        f".SH DESCRIPTION\n{paragraphs(about)}",
    ]
    parts += [f'.SH "{text(head.upper())}"\n{listed(rows)}' for head, rows in formatter.found]
    if command.epilog:
        shown = command.epilog.replace("\b\nExamples:\n", "\b\n")
        parts.append(f".SH EXAMPLES\n{paragraphs(shown)}")
    if not name:
        parts.append(f".SH ENVIRONMENT\n{listed(ENVIRONMENT)}")
        parts.append(f".SH EXIT STATUS\n{listed(STATUSES)}")
    if above:
        parts.append(".SH SEE ALSO\n" + ",\n".join(f".BR {text(title(n))} (1)" for n in above))
    return "\n".join(parts).replace("(1),", "(1) ,") + "\n"


def beside(name: str, names: Sequence[str]) -> list[str]:
    """The commands that a page points to: the one above, and those below."""
    above = [name.rpartition(" ")[0]] if name else []
    below = [n for n in names if n and n.rpartition(" ")[0] == name]
    return [*above, *below]


def write(folder: Path) -> list[Path]:
    """Write all pages; return them."""
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    date = re.search(r"^date-released: (\S+)$", cited, re.MULTILINE)
    assert date is not None
    folder.mkdir(parents=True, exist_ok=True)
    found = commands()
    written = []
    for name, command in found.items():
        path = folder / f"{title(name)}.1"
        path.write_text(page(name, command, beside(name, list(found)), date[1]), encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(f"man: expected at most one folder, got {' '.join(sys.argv[1:])}")
    made = write(Path(sys.argv[1]) if len(sys.argv) == 2 else DEFAULT)
    print(f"man: {len(made)} pages in {made[0].parent}")
