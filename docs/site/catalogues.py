"""Pages of trace formats, FTLs and devices, from the catalogues and the text of their files."""

from __future__ import annotations

from assemble import ROOT, Assembly
from policies import module_text

import destage

FORMATS = ROOT / "crates" / "destage-trace" / "src" / "formats"
FTLS = ROOT / "crates" / "destage-ssd" / "src" / "ftl"
SAMPLES = ROOT / "tests" / "data"
#: Lines of a sample that a page shows, and columns at most.
LINES, COLUMNS = 6, 110


def write(site: Assembly) -> None:
    """Write the pages, and one that lists each kind."""
    for made in destage.formats():
        site.write(f"formats/{made.name}.md", _format(made))
    for layer in destage.ftls():
        site.write(f"layers/{layer.name}.md", _ftl(layer))
    for drive in destage.devices():
        site.write(f"drives/{drive.name}.md", _drive(drive))
    formats = [(f.name, f"{f.title} ({f.kind})") for f in destage.formats()]
    site.write(
        "formats/index.md",
        _list(
            "Trace formats",
            "The format is detected from the file's content; compressed files and archives are "
            "unpacked. Tables of your own need [a mapping](../traces.md).",
            formats,
        ),
    )
    ftls = [(f.name, f.about.split(":")[0]) for f in destage.ftls()]
    site.write(
        "layers/index.md",
        _list(
            "Flash translation layers",
            "Flash translation layers map logical pages to flash pages. How they compare: "
            "[FTLs](../reference/ftls.md).",
            ftls,
        ),
    )
    drives = [(d.name, d.about) for d in destage.devices()]
    site.write(
        "drives/index.md",
        _list(
            "Device presets",
            "Presets of simulated SSDs, and starting points of a device file: "
            "[how to use them](../reference/devices.md), [every key](../reference/device-keys.md).",
            drives,
        ),
    )


def _list(title: str, about: str, rows: list[tuple[str, str]]) -> str:
    table = "\n".join(f"| [{name}]({name}.md) | {_cell(text)} |" for name, text in rows)
    names = "\n".join(name for name, _ in rows)
    return (
        f"# {title}\n\n{about}\n\n| | |\n|---|---|\n{table}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def _format(made: destage.FormatInfo) -> str:
    has = {"times": made.has_times, "operations": made.has_ops, "volumes": made.has_volumes}
    has["response times"] = made.has_response
    facts = ", ".join(name for name, there in has.items() if there) or "page numbers only"
    parts = [
        f"# {made.name}: {made.title}",
        _cell(made.about),
        f"Stored as {made.kind}; has {facts}.",
    ]
    file = FORMATS / f"{made.name.removesuffix('-op').replace('-', '_')}.rs"
    if file.is_file() and (text := module_text(file).strip()):
        parts += ["## Layout", text]
    if sample := _sample(made.name):
        parts += ["## A sample", "Written for the tests:", f"```text\n{sample}\n```"]
    own = [o for o in destage.reader_options() if made.name in o.formats]
    if own:
        rows = [
            f"| `{o.flag}` | {_cell(o.values)} | {_cell(o.default) or '-'} | {_cell(o.about)} |"
            for o in own
        ]
        head = "| flag | values | default | |\n|---|---|---|---|"
        parts += ["## Options", head + "\n" + "\n".join(rows)]
    parts.append("Exact rules: [the specification](../spec/trace-formats.md).")
    return "\n\n".join(parts) + "\n"


def _sample(name: str) -> str:
    """The first lines of a format's sample, if it is text."""
    for path in sorted(SAMPLES.glob(f"{name}.*")):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        if all(line.isprintable() or "\t" in line for line in lines):
            return "\n".join(line[:COLUMNS] for line in lines[:LINES])
    return ""


def _ftl(layer: destage.FtlInfo) -> str:
    parts = [f"# {layer.name}: {layer.title}", _cell(layer.about), f"Source: {_cell(layer.source)}"]
    shown = f"destage compare my_trace.csv.gz -p lru -c 16MiB --device small --ftl {layer.name}"
    parts.append(f"```bash\n{shown}\n```")
    if layer.params:
        rows = [
            f"| `{p.name}` | {_cell(p.values)} | {_cell(p.default)} | {p.unit or '-'} "
            f"| {_cell(p.about)} |"
            for p in layer.params
        ]
        head = "| key of `[ftl]` | values | default | unit | |\n|---|---|---|---|---|"
        parts += ["## Parameters", head + "\n" + "\n".join(rows)]
    file = FTLS / f"{layer.name.replace('-', '_')}.rs"
    if text := module_text(file).strip():
        parts += ["## Rules", text]
    parts.append("Exact rules: [the specification](../spec/ftl.md).")
    return "\n\n".join(parts) + "\n"


def _drive(drive: destage.DeviceInfo) -> str:
    size = drive.size
    rows = [
        ("Units", f"{size['units']:,}"),
        ("Capacity", f"{size['logical_bytes'] / 2**30:,.2f} GiB"),
        ("Raw flash", f"{size['raw_bytes'] / 2**30:,.2f} GiB"),
        ("Over-provisioning", f"{size['op']:.1%} of the flash"),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return (
        f"# {drive.name}\n\n{_cell(drive.about)}\n\n| | |\n|---|---|\n{table}\n\n"
        f"```bash\ndestage devices {drive.name} --toml > my.toml\n```\n\n"
        f"Its file ([every key](../reference/device-keys.md)):\n\n"
        f"```toml\n{drive.toml.strip()}\n```\n"
    )
