"""The list of commands; each is imported when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import click

__all__ = ["COMMANDS", "SECTIONS", "LazyGroup", "Place", "root"]


@dataclass(frozen=True)
class Place:
    """Where a command is, and what the list says of it."""

    module: str
    attribute: str
    about: str
    is_group: bool = False
    #: Commands whose name is this one's and a word: `devices fit`.
    words: Mapping[str, Place] = field(default_factory=dict)

    def command(self) -> click.Command:
        """Import the command."""
        command = getattr(importlib.import_module(self.module), self.attribute)
        assert isinstance(command, click.Command)
        return command


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, and that knows near misses."""

    def __init__(
        self,
        *args: Any,
        places: dict[str, Place],
        sections: Mapping[str, Sequence[str]] = MappingProxyType({}),
        **kwargs: Any,
    ) -> None:
        """Take the places of the commands, in the order of the list, and its sections."""
        super().__init__(*args, **kwargs)
        self.places = places
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of the list."""
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        place = self.places.get(cmd_name)
        return None if place is None else place.command()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say which command may have been meant; `help COMMAND` is `COMMAND --help`."""
        if args[:1] == ["help"]:
            if not args[1:]:
                click.echo(ctx.get_help(), color=ctx.color)
                ctx.exit()
            args = [*args[1:], "--help"]
        name = args[0] if args else ""
        place = self.places.get(name)
        word = place.words.get(args[1]) if place is not None and len(args) > 1 else None
        if word is not None:
            return f"{name} {args[1]}", word.command(), args[2:]
        if name and not name.startswith("-") and name not in self.places:
            from destage.base.unknown import unknown

            called = self._meant(name, ctx)
            if called is not None:
                raise click.UsageError(f"unknown command {name!r}, did you mean {called}?", ctx)
            raise click.UsageError(unknown("command", name, self.places), ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, name: str, ctx: click.Context) -> str | None:
        """The command that others call by this name, or that is one of a group's."""
        called = WORDS.get(name, "")
        if called.split(" ")[0] in self.places:
            return called
        for above, place in self.places.items():
            group = self.get_command(ctx, above) if place.is_group else None
            if isinstance(group, LazyGroup) and name in group.places:
                return f"{above} {name}"
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        left = dict(self.places)
        width = max(map(len, left))
        for title, names in self.sections.items():
            with formatter.section(title):
                rows = [(f"{n:<{width}}", left.pop(n).about) for n in names if n in left]
                formatter.write_dl(rows)
        if left:
            with formatter.section("More" if self.sections else "Commands"):
                formatter.write_dl([(name, place.about) for name, place in left.items()])


#: What other tools call the same.
WORDS = {
    **dict.fromkeys(("simulate", "sim", "bench"), "compare"),
    **dict.fromkeys(("replay",), "run"),
    **dict.fromkeys(("capture", "blktrace"), "record"),
    **dict.fromkeys(("stats", "analyze", "analyse", "describe"), "trace info"),
    **dict.fromkeys(("plot", "draw", "html"), "report"),
    **dict.fromkeys(("recommend", "size", "choose", "plan"), "advise"),
    **dict.fromkeys(("bibtex", "citation", "citations"), "cite"),
    **dict.fromkeys(("optimize", "optimise", "search"), "tune"),
    **dict.fromkeys(("drives", "presets", "ssds"), "devices"),
    **dict.fromkeys(("algorithms", "list"), "policies"),
    **dict.fromkeys(("check", "selftest", "self-test", "diagnose", "verify"), "doctor"),
}

COMMANDS = {
    "demo": Place(
        "destage.cli.demo", "demo", "Compare policies on a small real trace: start here."
    ),
    "compare": Place("destage.cli.compare", "compare", "Compare policies over cache sizes."),
    "run": Place("destage.cli.run", "run", "Run one policy once and record everything."),
    "mrc": Place("destage.cli.mrc", "mrc", "Print hit ratios over cache sizes: miss-ratio curves."),
    "why": Place(
        "destage.cli.why", "why", "Show where two policies' decisions diverge, and the cost."
    ),
    "tune": Place("destage.cli.tune", "tune", "Find the best value of a policy's parameter."),
    "advise": Place("destage.cli.advise", "advise", "Recommend a policy and a cache size."),
    "sweep": Place(
        "destage.cli.sweep", "sweep", "Run a grid of configurations into a result store."
    ),
    "results": Place(
        "destage.cli.results",
        "results",
        "List, query, merge and compare result stores.",
        is_group=True,
    ),
    "trace": Place(
        "destage.cli.trace", "trace", "Describe, convert and generate traces.", is_group=True
    ),
    "record": Place(
        "destage.cli.record", "record", "Record a block device's requests as a trace (root)."
    ),
    "new-policy": Place(
        "destage.cli.new_policy", "new_policy", "Write a template for a policy of your own."
    ),
    "policies": Place("destage.cli.catalogue", "policies", "List the policies, or describe one."),
    "devices": Place(
        "destage.cli.devices",
        "devices",
        "List the device presets, describe one, or fit one.",
        words={
            "fit": Place("destage.cli.fit", "fit", "Fit a simulated SSD to fio measurements."),
            "probe": Place("destage.cli.fit", "probe", "Measure a simulated SSD as fio would."),
            "compare": Place(
                "destage.cli.fit", "compare", "Compare a simulated SSD with fio measurements."
            ),
            "bench": Place(
                "destage.cli.bench", "bench", "Rates and latencies over depth: a data sheet."
            ),
            "validate": Place(
                "destage.cli.fitting", "validate", "Fit a part of measurements, predict the rest."
            ),
            "import": Place(
                "destage.cli.fitting", "import_", "Import the SSD of another simulator."
            ),
        },
    ),
    "ftls": Place("destage.cli.devices", "ftls", "List the flash translation layers."),
    "schema": Place(
        "destage.cli.schema", "schema", "Print the JSON schema of a device or sweep file."
    ),
    "serve": Place("destage.cli.serve", "serve", "Serve a file as a block device behind a cache."),
    "pcache": Place("destage.cli.pcache", "pcache", "Print the path of a page cache for SQLite."),
    "check-sim": Place(
        "destage.cli.check_sim", "check_sim", "Compare another simulator with a specification."
    ),
    "conform": Place("destage.cli.conform", "conform", "Run conformance vectors."),
    "reproduce": Place("destage.cli.reproduce", "reproduce", "Reproduce a paper, claim by claim."),
    "rerun": Place("destage.cli.rerun", "rerun", "Repeat a saved result and compare."),
    "report": Place("destage.cli.report", "report", "Draw saved results as a page or figures."),
    "cite": Place("destage.cli.cite", "cite", "Print BibTeX of the policies of a result."),
    "doctor": Place("destage.cli.doctor", "doctor", "Check this installation and its speed."),
    "completion": Place("destage.cli.completion", "completion", "Print a shell completion script."),
}

#: Sections of the list.
SECTIONS = {
    "Analyse": ("demo", "compare", "run", "mrc", "why", "tune", "advise"),
    "Many runs": ("sweep", "results", "report", "cite"),
    "Trace": ("trace", "record"),
    "Live": ("serve", "pcache"),
    "Catalogue": ("policies", "devices", "ftls", "schema", "new-policy"),
    "Check": ("conform", "check-sim", "reproduce", "rerun", "doctor"),
    "Shell": ("completion",),
}

EPILOG = """\b
Examples:
  destage demo
  destage trace info hm_0.csv.gz
  destage compare hm_0.csv.gz -p lru,cflru,arc -c 1%,10%
  destage compare hm_0.csv.gz -p lru,arc --report report.html
  destage compare hm_0.csv.gz -p lru,ecr -c 32MiB --device small

Sizes are written 64MiB, 8192p (pages) or 10% (of the trace's pages).
"""


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from destage import __version__

        click.echo(f"destage {__version__}")
        ctx.exit()


def _for_all(ctx: click.Context, param: click.Parameter, value: bool | None) -> None:
    """Keep what stands before the command: it holds as if it stood behind."""
    if param.name == "color":
        ctx.color = value
    else:
        ctx.ensure_object(dict)[param.name] = value


root: click.Group = LazyGroup(
    name="destage",
    places=COMMANDS,
    sections=SECTIONS,
    help="A trace-driven lab for flash-aware cache and write-buffer management.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_version,
            help="Show the version and exit.",
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_for_all,
            help="Print no progress and no notes.",
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_for_all,
            help="Print notes on how the trace was read.",
        ),
        click.Option(
            ["--color/--no-color"],
            default=None,
            expose_value=False,
            callback=_for_all,
            help="Use colours, or none (also NO_COLOR). [on a terminal]",
        ),
    ],
)

#: What a command's function is decorated with.
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
