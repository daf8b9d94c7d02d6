"""`destage trace`: look at, convert and make traces."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import click

from destage.base.errors import UsageError
from destage.base.io.files import write_whole
from destage.base.unknown import unknown
from destage.cli.load import TRACES, load
from destage.cli.options import COMMON, Command, Decorated, apply, flag, reader_values
from destage.cli.output import JSON, file_flag, look_at, print_table, wrote_json
from destage.cli.reading import TRACE_ALONE
from destage.cli.root import LazyGroup, Place
from destage.cli.screen import note, progress, warn, wrapped
from destage.lab.catalogue import FormatInfo, workloads
from destage.lab.catalogue import formats as all_formats
from destage.lab.conversion import convert as convert_trace
from destage.lab.conversion import trace_head, write_workload
from destage.lab.decoded_traces import trace_cache
from destage.lab.options import ReaderOption, reader_options
from destage.lab.traces import synth as make
from destage.model.provenance import document
from destage.model.words import plain, size
from destage.show.tables.table import Cell, Column, Table

__all__ = ["trace"]

HERE = "destage.cli.trace"

trace = LazyGroup(
    name="trace",
    help="Describe, convert and generate traces.",
    places={
        "info": Place(HERE, "info", "Describe a trace."),
        "profile": Place(
            "destage.cli.profile",
            "profile",
            "Draw block heat, reuse distances, hot and cold pages.",
        ),
        "head": Place(HERE, "head", "Print the first requests as a run replays them."),
        "convert": Place(HERE, "convert", "Write a trace in another format."),
        "split": Place("destage.cli.split", "split", "Split a trace into several files."),
        "prompts": Place(
            "destage.cli.prompts", "prompts", "Make a trace of prompts from a server's log."
        ),
        "fetch-samples": Place(
            "destage.cli.samples",
            "fetch_samples",
            "Fetch and check the recordings that reproductions use.",
        ),
        "synth": Place(HERE, "synth", "Generate a workload from a seed."),
        "formats": Place(HERE, "formats", "List the trace formats, or describe one."),
        "options": Place(HERE, "options", "List every reader option."),
        "cache": Place(HERE, "cache", "Show or clear the decoded traces."),
    },
)

#: Without the options that only matter to decoded traces.
READING = TRACE_ALONE[1:]


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  destage trace info hm_0.csv.gz\n"
    "  destage trace info hm_0.csv.gz --json info.json\n"
    "  destage trace info big.csv --from 1h --for 30m --volume hm_0",
)
@TRACES
@apply(JSON, TRACE_ALONE, COMMON)
def info(trace: tuple[str, ...], json_file: str | None, **arguments: Any) -> None:
    """Describe a trace: requests, sizes, rate, reuse of pages."""
    if json_file not in (None, "-"):
        look_at(str(json_file))
    # What the plausibility line says is in the description.
    traces = load(trace, {**arguments, "quiet": True})
    with progress(arguments["quiet"]) as callback:
        infos = [t.info(progress=callback) for t in traces]
    if json_file is not None:
        data = [i.data for i in infos]
        content = {"traces": data} if len(data) > 1 else data[0]
        write_whole(json_file, json.dumps(document("trace_info", content), indent=1) + "\n")
    if json_file != "-":
        click.echo("\n\n".join(map(repr, infos)))


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  destage trace head hm_0.csv.gz\n  destage trace head -n 3 t.spc",
)
@TRACES
@apply(
    [flag("-n", "--count", type=int, default=10, metavar="N", help="Number of requests. [10]")],
    JSON,
    READING,
    COMMON,
)
def head(trace: tuple[str, ...], count: int, json_file: str | None, **arguments: Any) -> None:
    """Print the first requests as a run replays them."""
    rows = trace_head(list(trace), count=count, **reader_values(arguments))
    if json_file is not None:
        text = json.dumps(document("trace_head", {"requests": rows}), indent=1)
        write_whole(json_file, text + "\n")
        if json_file == "-":
            return
    responses = any(r["response_ns"] is not None for r in rows)
    columns = [Column("time (s)"), Column("volume", right=False), Column("op", right=False)]
    columns += [Column("offset (bytes)"), Column("length (bytes)")]
    columns += [Column("response (µs)")] if responses else []
    cells = []
    for r in rows:
        row = [f"{r['time_ns'] / 1e9:.9f}", r["volume"], r["op"]]
        row += [f"{r['offset_bytes']:,}", f"{r['length_bytes']:,}"]
        if responses:
            response = r["response_ns"]
            row.append("-" if response is None else f"{response / 1e3:,.1f}")
        cells.append([Cell(text) for text in row])
    print_table(Table("", columns, [cells]))


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  destage trace convert hm_0.csv.gz --to parquet -o hm_0.parquet\n"
    "  destage trace convert hm_0.csv.gz --to fio -o - | head\n"
    "  destage trace convert t.blkparse --to mqsim -o t.trace --lossy",
)
@TRACES
@apply(
    [
        flag(
            "--to",
            required=True,
            metavar="FORMAT",
            help="Target format: mqsim, disksim, fio, blktrace, ...",
        ),
        file_flag(
            "-o", "--output", required=True, section="Flags", help="Output file; - for stdout."
        ),
        flag("--lossy", is_flag=True, help="Drop and count fields that FORMAT cannot express."),
        flag("--target-time-unit", metavar="ns|us|ps", help="Time unit of mqsim. [ns]"),
    ],
    READING,
    COMMON,
)
def convert(
    trace: tuple[str, ...],
    to: str,
    output: str,
    lossy: bool,
    target_time_unit: str | None,
    quiet: bool,
    **arguments: Any,
) -> None:
    """Write a trace in another format."""
    if output != "-":
        look_at(output)
    with progress(quiet) as callback:
        written = convert_trace(
            list(trace),
            output,
            to=to,
            lossy=lossy,
            target_time_unit=target_time_unit,
            progress=callback,
            **reader_values(arguments),
        )
    for what, count in written.losses.items():
        warn(f"{count:,} requests: {what}")
    if not quiet:
        for message in written.notes:
            note(message)
        note(f"{output}: {written.records:,} records of format {written.format}")


#: Before the name of a workload's parameter in the command's arguments, so that none collides.
PARAMETER = "workload_"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parameter_flags() -> list[Decorated]:
    """One flag for each parameter of the table, whichever kinds have it."""
    by_key: dict[str, list[dict[str, Any]]] = {}
    for p in workloads()["parameters"]:
        by_key.setdefault(p["key"], []).append(p)
    flags = []
    for key, rows in by_key.items():
        defaults = list(dict.fromkeys(p["default"] for p in rows))
        kinds = dict.fromkeys(k for p in rows for k in p["kinds"])
        everywhere = any(not p["kinds"] for p in rows)
        only = "" if everywhere or not kinds else f" ({', '.join(kinds)})"
        named = not rows[0]["unit"] or rows[0]["unit"] in rows[0]["about"]
        unit = "" if named else f", {rows[0]['unit']}"
        default = defaults[0] if len(defaults) == 1 else "by type, see --list"
        flags.append(
            flag(
                f"--{key.replace('_', '-')}",
                PARAMETER + key,
                metavar="VALUE",
                section="Parameters",
                help=f"{_capital(rows[0]['about'])}{unit}. [{default}]{only}",
            )
        )
    return flags


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n"
    "  destage trace synth zipf --requests 1000000 --alpha 0.9 \\\n"
    "      --to parquet -o z.parquet\n"
    "  destage trace synth t1 --seed 3 -o t1.csv\n"
    "  destage trace synth --list",
)
@click.argument("kind", required=False)
@apply(
    [flag("--list", "listed", is_flag=True, help="List workload types, presets and parameters.")],
    [
        file_flag("-o", "--output", section="Flags", help="Output file; - for stdout."),
        flag("--to", metavar="FORMAT", default="csv", help="Output format. [csv]"),
    ],
    JSON,
    _parameter_flags(),
    COMMON,
)
def synth(
    kind: str | None,
    listed: bool,
    output: str | None,
    to: str,
    json_file: str | None,
    quiet: bool,
    **arguments: Any,
) -> None:
    """Generate a workload from a seed; describe or write it."""
    if listed:
        _list_workloads(json_file)
        return
    if kind is None:
        raise click.UsageError("a kind is missing, such as zipf; --list shows all")
    parameters = {
        name.removeprefix(PARAMETER): value
        for name, value in arguments.items()
        if name.startswith(PARAMETER) and value is not None
    }
    if output is not None:
        if output != "-":
            look_at(output)
        with progress(quiet) as callback:
            written = write_workload(kind, output, to=to, progress=callback, **parameters)
        if not quiet:
            note(f"{output}: {written.records:,} records of format {written.format}")
        return
    with progress(quiet) as callback:
        made = make(kind, progress=callback, **parameters)
        described = made.info(progress=callback)
    if json_file is not None:
        described.to_json(json_file)
    if json_file != "-":
        click.echo(repr(described))


def _list_workloads(json_file: str | None) -> None:
    data = workloads()
    if json_file is not None:
        write_whole(json_file, json.dumps(data, indent=1) + "\n")
        if json_file == "-":
            return
    for title, rows in (("Kinds", data["kinds"]), ("Presets", data["presets"])):
        click.echo(title)
        for row in rows:
            click.echo(f"  {row['name']:<12} {row['about']}")
    click.echo("Parameters")
    for p in data["parameters"]:
        unit = f", {p['unit']}" if p["unit"] else ""
        kinds = f" ({', '.join(p['kinds'])})" if p["kinds"] else ""
        click.echo(f"  {p['key']}: {p['range']}{unit}; default {p['default']}{kinds}")
        click.echo(wrapped(p["about"], indent=6))


@click.command(
    cls=Command, epilog="\b\nExamples:\n  destage trace formats\n  destage trace formats msr"
)
@click.argument("name", required=False)
@apply(JSON, COMMON)
def formats(name: str | None, json_file: str | None, **_: Any) -> None:
    """List the trace formats, or describe one with its options."""
    found = all_formats()
    if name is not None:
        found = tuple(f for f in found if f.name == name)
        if not found:
            names = [f.name for f in all_formats()]
            raise UsageError(unknown("format", name, names, lists="destage trace formats"))
    if wrote_json(json_file, "formats", found if name is None else found[0]):
        return
    if name is not None:
        _describe(found[0])
        return
    rows = [[Cell(f.name), Cell(f.kind), Cell(f.title)] for f in found]
    columns = [Column(c, right=False) for c in ("format", "kind", "description")]
    print_table(Table("", columns, [rows]))
    click.echo("destage trace formats NAME describes one, with its options.")


#: What lies in the cache folder beside decoded traces, by kind.
KEPT = {"flash": "a filled device", "next": "next uses of pages"}

#: How a table without a format of its own is read.
MAPPING = """
Example: columns ts (milliseconds), rw (R or W), lba (sectors) and bytes
  destage trace info mine.{name} --format {name} \\
      --columns time=ts,op=rw,offset=lba,length=bytes --time-unit ms \\
      --offset-unit sector --length-unit byte --op-read R --op-write W
The same in a file for --config: a table [trace] with these keys, - as _."""

#: How records without names are read.
FIELDS = """
Examples: times in ms, sectors, an operation, 3 bytes of no use; page numbers alone
  destage trace info mine.bin --format bin --fields "<u32 time,u64 offset,u32 length,u8 op,x3" \\
      --time-unit ms --offset-unit sector --length-unit sector --op-read 0 --op-write 1
  destage trace info pages.bin --format bin --fields "<u32 page\""""


def _has(f: FormatInfo) -> str:
    has = {"times": f.has_times, "ops": f.has_ops, "volumes": f.has_volumes}
    return ", ".join(k for k, v in (has | {"responses": f.has_response}).items() if v)


def _describe(f: FormatInfo) -> None:
    click.echo(f"{f.name}: {f.title}")
    click.echo(wrapped(f.about))
    click.echo(f"  Stored as {f.kind}; has {_has(f)}")
    if f.coarse_ns is not None:
        click.echo(f"  Clock of {f.coarse_ns / 1e9:g} s: many requests share a stamp (--spread)")
    if not f.confirmed:
        click.echo("  Unconfirmed: not checked against a real file")
    options = [o for o in reader_options() if f.name in o.formats]
    if options:
        click.echo("\nOptions of this format")
        for o in options:
            _say_option(o)
    if any(o.key == "columns" for o in options):
        click.echo(MAPPING.format(name=f.name))
    if any(o.key == "fields" for o in options):
        click.echo(FIELDS)


@click.command(
    cls=Command, epilog="\b\nExamples:\n  destage trace options\n  destage trace options --json -"
)
@apply(JSON, COMMON)
def options(json_file: str | None, **_: Any) -> None:
    """List every reader option: flags, and keys of [trace]."""
    found = reader_options()
    if wrote_json(
        json_file, "reader_options", [dataclasses.asdict(o) | {"flag": o.flag} for o in found]
    ):
        return
    groups: dict[str, list[ReaderOption]] = {"Every format": []}
    for option in found:
        groups.setdefault(", ".join(option.formats) or "Every format", []).append(option)
    for formats_of, members in groups.items():
        click.echo(f"{formats_of}:")
        for option in members:
            _say_option(option)
        click.echo()
    click.echo(
        "As flags of every command that reads a trace (--on-error skip), as keys of [trace] in"
    )
    click.echo('a --config file (on_error = "skip"), in Python by keyword (on_error="skip").')


def _say_option(option: ReaderOption) -> None:
    """Flag, values and default, and effect."""
    default = f"; default {option.default}" if option.default else ""
    values = option.values
    if values == "true or false":
        values = f"a switch, off with --no-{option.flag[2:]}; in files {values}"
    click.echo(wrapped(f"{option.flag}: {values}{default}"))
    click.echo(wrapped(option.about.replace(f" (flag: {option.flag})", ""), indent=6))


@click.command(
    cls=Command, epilog="\b\nExamples:\n  destage trace cache\n  destage trace cache --clear"
)
@apply([flag("--clear", is_flag=True, help="Remove all decoded traces.")], JSON, COMMON)
def cache(clear: bool, json_file: str | None, **_: Any) -> None:
    """Show or clear the decoded traces ($DESTAGE_CACHE)."""
    kept = trace_cache()
    if clear:
        files, count = kept.clear()
        click.echo(f"{kept.folder}: {files:,} files removed, {plain(size(count))}")
        return
    if wrote_json(json_file, "trace_cache", kept):
        return
    used = plain(f"{size(kept.bytes)} of at most {size(kept.limit_bytes)}")
    click.echo(f"{kept.folder}: {len(kept.entries)} files, {used}")
    rows = []
    for e in kept.entries:
        name = ", ".join(e.sources) or e.path.name
        what = f"{e.requests:,} requests" if e.requests else KEPT.get(e.kind, e.kind)
        rows.append(
            [Cell(name), Cell(what), Cell(size(e.bytes)), Cell("" if e.usable else "stale")]
        )
    if rows:
        columns = [
            Column("trace", right=False),
            Column("what"),
            Column("size"),
            Column("", right=False),
        ]
        print_table(Table("", columns, [rows]))
