"""A terminal recording as a picture that moves: commands are run, and what they print is drawn.

Nothing of the output is written here. The picture is one SVG without scripts; it stands still for
who asked for less motion.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The recording that ships with the package, under the name that the picture shows.
TRACE = ROOT / "python" / "destage" / "data" / "pgtpcb_first100k.csv.xz"
COMMANDS = (
    "destage trace info oltp.csv.xz",
    "destage compare oltp.csv.xz -p lru,cflru,arc,ecr -c 16MiB -d small",
    "destage why lru ecr --trace oltp.csv.xz -c 16MiB -d small",
)
COLUMNS, ROWS = 92, 22
#: Seconds: all of it, for typing a command, for reading what it printed.
SECONDS, TYPING = 20.0, 1.2
WIDE, HIGH, LEFT, TOP = 8.4, 18.0, 16.0, 46.0
COLOURS = {"1": "bold", "2": "dim", "32": "green", "33": "yellow", "36": "cyan", "31": "red"}

STYLE = """
.t{font:13.5px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e4e0da}
.t .bold{font-weight:bold;fill:#fff}.t .dim{fill:#9a948c}.t .green{fill:#7fd49a}
.t .yellow{fill:#e8c86a}.t .cyan{fill:#83c5e0}.t .red{fill:#f08a7a}.p{fill:#f2a76b}
.s{opacity:0}
@media (prefers-reduced-motion:reduce){*{animation:none!important}.last{opacity:1!important}}
"""


@dataclass(frozen=True)
class Scene:
    """A command and the lines that it printed."""

    command: str
    lines: tuple[str, ...]


def record(out: Path) -> None:
    """Run the commands and write the picture."""
    with tempfile.TemporaryDirectory() as made:
        desk = Path(made)
        shutil.copyfile(TRACE, desk / "oltp.csv.xz")
        scenes = [Scene(command, _printed(command, desk)) for command in COMMANDS]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(draw(scenes), encoding="utf-8")


def _printed(command: str, desk: Path) -> tuple[str, ...]:
    name, *rest = command.split()
    assert name == "destage"
    code = "import sys; from destage.cli import main; sys.argv[0] = 'destage'; main()"
    path = os.pathsep.join([str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environ = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONPATH": path}
    environ |= {"DESTAGE_CACHE": str(desk / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code, "--color", *rest],
        cwd=desk,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: status {done.returncode}: {done.stderr}")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    while lines and not _bare(lines[-1]).strip():
        lines.pop()
    return tuple(lines)


def _bare(line: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", line)


def draw(scenes: list[Scene]) -> str:
    """The picture of these scenes, one after the other."""
    length = SECONDS / len(scenes)
    rules, groups = [], []
    for number, scene in enumerate(scenes):
        begin, end = number * length, (number + 1) * length
        last = " last" if number == len(scenes) - 1 else ""
        rules.append(_shown(f"c{number}", begin, end))
        rules.append(_shown(f"o{number}", begin + TYPING, end))
        width = len(scene.command) * WIDE
        rules.append(_typed(number, begin, len(scene.command)))
        command = html.escape(scene.command)
        lines = scene.lines[:ROWS]
        left_out = len(scene.lines) - len(lines)
        rows = [_line(line, row + 2) for row, line in enumerate(lines)]
        if left_out:
            rows.append(_line(f"\x1b[2m... and {left_out} lines more\x1b[0m", len(lines) + 2))
        groups.append(
            f'<g class="s c{number}{last}"><text class="t" x="{LEFT}" y="{TOP}">'
            f'<tspan class="p">$ </tspan></text><g clip-path="url(#k{number})">'
            f'<text class="t" x="{LEFT + 2 * WIDE:g}" y="{TOP}" xml:space="preserve" '
            f'textLength="{width:g}">{command}</text></g></g>'
            f'<clipPath id="k{number}"><rect class="w{number}" x="{LEFT + 2 * WIDE:g}" '
            f'y="{TOP - 20}" width="{width + 4:g}" height="30"/></clipPath>'
            f'<g class="s o{number}{last}">' + "".join(rows) + "</g>"
        )
    wide, high = LEFT * 2 + COLUMNS * WIDE, TOP + (ROWS + 3) * HIGH
    dots = "".join(
        f'<circle cx="{18 + 18 * n}" cy="16" r="5.5" fill="{colour}"/>'
        for n, colour in enumerate(("#e06c5e", "#e0b45e", "#7fb86e"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" role="img" '
        f'aria-label="A terminal: {html.escape("; ".join(s.command for s in scenes))}">'
        f"<style>{STYLE}{''.join(rules)}</style>"
        f'<rect width="{wide:g}" height="{high:g}" rx="9" fill="#1f1d1b"/>{dots}'
        + "".join(groups)
        + "</svg>\n"
    )


def _shown(name: str, begin: float, end: float) -> str:
    """A rule that shows a group from `begin` to `end` of every round."""
    start, stop = begin / SECONDS * 100, end / SECONDS * 100
    before = f"0%,{start:.2f}%{{opacity:0}}" if start else ""
    after = f"{stop - 0.01:.2f}%{{opacity:1}}{stop:.2f}%,100%{{opacity:0}}" if stop < 100 else ""
    here = f"{start + 0.01:.2f}%{{opacity:1}}" if start else "0%{opacity:1}"
    end_of = after or "100%{opacity:1}"
    return (
        f"@keyframes {name}{{{before}{here}{end_of}}}"
        f".{name}{{animation:{name} {SECONDS:g}s infinite}}"
    )


def _typed(number: int, begin: float, letters: int) -> str:
    """A rule that uncovers a command letter by letter."""
    start, stop = begin / SECONDS * 100, (begin + TYPING * 0.8) / SECONDS * 100
    return (
        f"@keyframes w{number}{{0%,{start:.2f}%{{transform:scaleX(0);"
        f"animation-timing-function:steps({letters})}}{stop:.2f}%,100%{{transform:none}}}}"
        f".w{number}{{transform-origin:{LEFT + 2 * WIDE:g}px 0;"
        f"animation:w{number} {SECONDS:g}s infinite}}"
    )


def _line(line: str, row: int) -> str:
    """A line of output, with its colours."""
    spans = "".join(
        f'<tspan class="{kind}">{html.escape(text)}</tspan>' if kind else html.escape(text)
        for kind, text in _parts(line)
    )
    bare = _bare(line).rstrip()
    if not bare.strip():
        return ""
    return (
        f'<text class="t" x="{LEFT:g}" y="{TOP + row * HIGH:g}" xml:space="preserve">{spans}</text>'
    )


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """Stretches of a line that are set alike: their classes and their text."""
    kind = ""
    for escape, text in re.findall(r"(\x1b\[[\d;]*m)|([^\x1b]+)", line):
        if escape:
            codes = escape[2:-1].split(";")
            kind = " ".join(COLOURS[code] for code in codes if code in COLOURS)
        else:
            yield kind, text


if __name__ == "__main__":
    record(Path(sys.argv[1]))
