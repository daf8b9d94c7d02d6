"""Tables of results: one layout, drawn as plain text, with rich, as HTML or as Markdown."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from destage.results import Metric, Results, Run
    from destage.runs import Curves
    from destage.tuning import Tuned

__all__ = ["Cell", "Column", "Table", "curves_table", "results_table", "tuned_table"]

#: Values closer together than this share of the best are not told apart by a mark.
MARK_FROM = 0.01

#: Text is folded to this width, and no further, before columns go to another part.
FOLDED = 12

#: Beside the best value of a column; colour alone is not enough on paper.
MARK = "*"


@dataclass(frozen=True)
class Cell:
    """Text, and whether it is the best of its group."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A heading, and on which side its cells are aligned."""

    title: str
    right: bool = True
    spare: bool = False
    """A terminal that is too narrow goes without it: other columns say the same."""
    key: bool = False
    """It says what a row is about: every part of a table that is too wide has it."""


@dataclass
class Table:
    """Rows in groups, which a line separates."""

    title: str
    columns: Sequence[Column]
    groups: list[list[list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def rows(self) -> Iterable[list[Cell]]:
        """All rows, group after group."""
        return (row for group in self.groups for row in group)

    def _heads(self) -> list[list[str]]:
        """The headings in lines: a heading over numbers is no wider than it has to be."""
        widths = [0] * len(self.columns)
        for row in self.rows():
            widths = [max(w, len(cell.text)) for w, cell in zip(widths, row, strict=True)]
        heads = [
            _broken(c.title, w) if c.right else c.title.split("\n")
            for c, w in zip(self.columns, widths, strict=True)
        ]
        height = max(map(len, heads))
        # A short heading stands on the line above the rule.
        return [[""] * (height - len(h)) + h for h in heads]

    def _widths(self, heads: Sequence[Sequence[str]]) -> list[int]:
        """Width of each column, its mark not counted."""
        widths = [max(map(len, h)) for h in heads]
        for row in self.rows():
            widths = [max(w, len(cell.text)) for w, cell in zip(widths, row, strict=True)]
        return widths

    def _only(self, keep: Sequence[int]) -> Table:
        """The table with these columns."""
        groups = [[[row[k] for k in keep] for row in group] for group in self.groups]
        return Table(self.title, [self.columns[k] for k in keep], groups, self.notes)

    def parts(self, width: int) -> list[Table]:
        """Return the table in parts that a terminal of this width has room for, as far as can be.

        Spare columns go first. Then columns go to a part of their own, each part beginning with the
        key columns. Text may be folded; numbers never are.
        """
        whole = self._widths(self._heads())
        if _room(whole) <= width:
            return [self]
        keep = [k for k, c in enumerate(self.columns) if not c.spare]
        least = [w if c.right else min(w, FOLDED) for c, w in zip(self.columns, whole, strict=True)]
        if _room([least[k] for k in keep]) <= width:
            return [self._only(keep)]
        keys = [k for k in keep if self.columns[k].key] or keep[:1]
        split: list[list[int]] = [list(keys)]
        for k in keep:
            if k in keys:
                continue
            if len(split[-1]) > len(keys) and _room([least[j] for j in [*split[-1], k]]) > width:
                split.append(list(keys))
            split[-1].append(k)
        tables = [self._only(part) for part in split]
        for table in tables[1:]:
            table.title = ""
        for table in tables[:-1]:
            table.notes = []
        return tables

    def text(self) -> str:
        """Plain text, one space and a mark to the right of each number."""
        heads = self._heads()
        height = len(heads[0])
        widths = self._widths(heads)

        def line(cells: Iterable[tuple[str, str]]) -> str:
            parts = [
                (text.rjust(w) if c.right else text.ljust(w)) + mark
                for (text, mark), w, c in zip(cells, widths, self.columns, strict=True)
            ]
            return " ".join(parts).rstrip()

        rule = "-" * (sum(widths) + 2 * len(widths) - 1)
        lines = [self.title] if self.title else []
        lines += [line((h[k], " ") for h in heads) for k in range(height)]
        for group in self.groups:
            lines.append(rule)
            lines.extend(line((c.text, MARK if c.best else " ") for c in row) for row in group)
        lines.extend(self.notes)
        return "\n".join(lines)

    def rich(self) -> RichTable:
        """Return it for a terminal, see `parts`: numbers are never cut, names go on several lines.

        Like plain text it has one space and a mark to the right of each cell.
        """
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        heads = self._heads()
        drawn = RichTable(
            title=Text(self.title, style="bold") if self.title else None,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=0,
            caption=Text("\n".join(self.notes), style="dim") if self.notes else None,
            caption_justify="left",
        )
        for column, head, least in zip(self.columns, heads, self._widths(heads), strict=True):
            drawn.add_column(
                "\n".join(f"{line} " for line in head),
                justify="right" if column.right else "left",
                no_wrap=column.right,
                min_width=least + 1 if column.right else min(least, FOLDED) + 1,
                overflow="fold",
            )
        for group in self.groups:
            for row in group:
                drawn.add_row(
                    *(
                        Text(
                            c.text + (MARK if c.best else " "),
                            style="bold green" if c.best else "",
                        )
                        for c in row
                    )
                )
            drawn.add_section()
        return drawn

    def markdown(self) -> str:
        """Return it as a Markdown table; the best values are bold."""

        def row(cells: Iterable[str]) -> str:
            return "| " + " | ".join(cells) + " |"

        def shown(cell: Cell) -> str:
            text = cell.text.replace("|", "\\|")
            return f"**{text}**" if cell.best else text

        lines = [row(c.title.replace("\n", " ") for c in self.columns)]
        lines.append("|" + "|".join("--:" if c.right else "---" for c in self.columns) + "|")
        lines.extend(row(shown(c) for c in r) for r in self.rows())
        if self.notes:
            lines += ["", *self.notes]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return it as an HTML table, for notebooks."""
        out = [f"<table><caption>{html.escape(self.title)}</caption><thead><tr>"]
        out += [f"<th>{html.escape(c.title).replace(chr(10), ' ')}</th>" for c in self.columns]
        out.append("</tr></thead>")
        for group in self.groups:
            out.append("<tbody>")
            for row in group:
                out.append("<tr>")
                for cell, column in zip(row, self.columns, strict=True):
                    align = "right" if column.right else "left"
                    text = html.escape(cell.text)
                    text = f"<b>{text}</b>" if cell.best else text
                    out.append(f'<td style="text-align:{align}">{text}</td>')
                out.append("</tr>")
            out.append("</tbody>")
        out.append("</table>")
        out += [f"<p>{html.escape(note)}</p>" for note in self.notes]
        return "".join(out)


def _room(widths: Sequence[int]) -> int:
    """Columns of a terminal that a table with these takes: a space and a mark beside each."""
    return sum(widths) + 2 * len(widths) + 1


def _broken(title: str, width: int) -> list[str]:
    """A heading in lines of this width, or of its longest word."""
    title = title.replace(" %", "\u00a0%")  # One word.
    width = max(width, *map(len, title.replace("\n", " ").split(" ")))
    lines: list[str] = []
    for line in title.split("\n"):
        lines.append("")
        for word in line.split(" "):
            longer = f"{lines[-1]} {word}".strip()
            if len(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
    return [line.replace("\u00a0", " ") for line in lines]


#: Numbers that a table 80 columns wide has no room for; the report shows them.
_ROOMY = frozenset({"read_hit_ratio", "write_hit_ratio"})


def _shown(runs: Sequence[Run]) -> list[Metric]:
    """The numbers that a table of these runs shows: those that say anything."""
    from destage.results import metrics

    places = {"always", *("with_device" if r.device else "without_device" for r in runs)}
    found = [m for m in metrics() if m.shown in places and m.name not in _ROOMY]
    said = [m for m in found if any(r[m.name] for r in runs)]
    return said or [m for m in found if m.shown == "always"]


#: Units of a time, the largest first, with their length in nanoseconds.
TIME_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


def time_unit(values: Iterable[float | None]) -> tuple[str, float, int]:
    """A unit for a whole column of times in nanoseconds: its name, its length, and the decimals.

    It is the largest in which the smallest time that is any is at least a tenth.
    """
    smallest = min((v for v in values if v), default=0.0)
    for unit, length in TIME_UNITS:
        if smallest >= length / 10:
            digits = 3 if smallest < length else 2 if smallest < 10 * length else 1
            whole = unit == "ns" or smallest >= 100 * length
            return unit, length, 0 if whole else digits
    return "ns", 1.0, 0


@dataclass(frozen=True)
class _Numbers:
    """A metric as a column."""

    metric: Metric
    title: str
    text: Callable[[float | None], str]

    @classmethod
    def of(cls, metric: Metric, runs: Sequence[Run]) -> _Numbers:
        """Choose the unit that suits all runs."""
        title = metric.title[0].lower() + metric.title[1:]
        title = metric.title if metric.title.isupper() else title
        if metric.kind == "ratio":
            return cls(metric, f"{title.removesuffix(' ratio')} %", percent)
        if metric.kind == "time":
            unit, length, digits = time_unit(r[metric.name] for r in runs)
            return cls(
                metric,
                f"{title}\n({unit})",
                lambda v: "-" if v is None else f"{v / length:,.{digits}f}",
            )
        if metric.kind == "real":
            return cls(metric, title, lambda v: "-" if v is None else f"{v:,.2f}")
        return cls(metric, title, number)


def number(value: float | None) -> str:
    """Return a count with thousands separators; `-` for none."""
    return "-" if value is None else f"{value:,}"


def counted(count: int, what: str) -> str:
    """Return `1 page`, `1,024 pages`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def percent(ratio: float | None) -> str:
    """Return a ratio in per cent."""
    return "-" if ratio is None else f"{100 * ratio:.2f}"


@functools.cache
def _offline() -> frozenset[str]:
    """Policies that know the future: a bound, and no competitor for the mark."""
    import json

    from destage import _destage

    return frozenset(p["name"] for p in json.loads(_destage.policies()) if p["offline"])


def _best(runs: Sequence[Run], metric: Metric) -> Run | None:
    """The run that is better than all others by more than can be overlooked."""
    rivals = [r for r in runs if r.policy not in _offline() and r[metric.name] is not None]
    if len(rivals) < 2 or metric.better == "neither":
        return None
    ranked = sorted(rivals, key=lambda r: r[metric.name] or 0, reverse=metric.better == "higher")
    first, second = (float(r[metric.name] or 0) for r in ranked[:2])
    return ranked[0] if abs(first - second) >= MARK_FROM * max(first, second) > 0 else None


def results_table(results: Results) -> Table:
    """Return one row per run, grouped by trace and cache size, the best of each group marked."""
    runs = list(results)
    several = len(_by_identity(runs)) > 1
    drives = len({r.device for r in runs}) > 1
    shown = [_Numbers.of(m, runs) for m in _shown(runs)]
    columns = [Column("trace", right=False, key=True)] if several else []
    columns += [Column("drive", right=False, key=True)] if drives else []
    columns += [Column("policy", right=False, key=True), Column("cache", key=True)]
    columns += [Column("pages", spare=True)]
    columns += [Column(s.title) for s in shown]
    table = Table(_title(runs), columns)
    by_size: dict[tuple[str, str | None, int], list[Run]] = {}
    for run in runs:
        identity = run.trace.fingerprint + run.trace.name
        by_size.setdefault((identity, run.device, run.frames), []).append(run)
    one_each = all(len(group) == 1 for group in by_size.values())
    groups = [list(by_size.values())] if one_each else [[group] for group in by_size.values()]
    for members in groups:
        rows = []
        for group in members:
            best = {s.metric.name: _best(group, s.metric) for s in shown}
            for run in group:
                row = [Cell(run.trace.name)] if several else []
                row += [Cell(run.device or "none")] if drives else []
                # No cache has no size; its row stands for comparison at each.
                sizes = ("-", "-") if run.policy == "none" else (run.cache, number(run.frames))
                row += [Cell(text) for text in (run.label, *sizes)]
                for s in shown:
                    name = s.metric.name
                    row.append(Cell(s.text(run[name]), best=best[name] is run))
                rows.append(row)
        table.groups.append(rows)
    if any(c.best for row in table.rows() for c in row):
        table.notes.append(f"{MARK} best of its size, by 1 % or more")
    cost = next((r.config.get("cost") for r in runs if r.config.get("cost")), None)
    if cost and any(s.metric.name == "running_time" for s in shown):
        table.notes.append(
            f"running time = flash reads x {number(cost['read'])}"
            f" + flash writes x {number(cost['write'])}"
        )
    return table


def _by_identity(runs: Sequence[Run]) -> list[Run]:
    """One run for each trace."""
    return list({r.trace.fingerprint + r.trace.name: r for r in runs}.values())


def _title(runs: Sequence[Run]) -> str:
    traces = [r.trace for r in _by_identity(runs)]
    if not traces:
        return "no runs"
    if len(traces) > 1:
        return f"{len(runs)} runs over {len(traces)} traces"
    trace = traces[0]
    drives = list(dict.fromkeys(r.device for r in runs))
    front = f", in front of {drives[0]}" if len(drives) == 1 and drives[0] else ""
    depths = {r.queue_depth for r in runs}
    depth = depths.pop() if len(depths) == 1 else None
    loop = f", {depth} outstanding" if depth is not None else ""
    return (
        f"{trace.name}: {counted(trace.requests, 'request')},"
        f" {trace.accesses:,} page {'access' if trace.accesses == 1 else 'accesses'},"
        f" {counted(trace.unique_pages, 'page')} of {trace.page_bytes:,} bytes{front}{loop}"
    )


def tuned_table(tuned: Tuned) -> Table:
    """Return one row per combination of values; of several points of a size the best is marked."""
    metric = tuned.objective.metric
    numbers = _Numbers.of(metric, [point.run for point in tuned.points])
    columns = [Column(key, key=True) for key in ("cache", *tuned.ranges)]
    columns += [Column(numbers.title)]
    goal = "largest" if tuned.objective.largest else "smallest"
    table = Table(f"{tuned.policy}: {metric.title}, {goal} wanted ({tuned.search})", columns)
    for size, points in tuned.by_size().items():
        best = tuned.best[size]
        table.groups.append(
            [
                [
                    Cell(size),
                    *(Cell(str(value)) for value in point.values.values()),
                    Cell(numbers.text(point.run[metric.name]), point is best.point),
                ]
                for point in points
            ]
        )
    for size, best in tuned.best.items():
        values = ", ".join(f"{key} = {value}" for key, value in best.point.values.items())
        also = f"; {best.equal} others are equal" if best.equal else ""
        table.notes.append(f"best at {size}: {values}{also}")
    return table


def curves_table(curves: Curves) -> Table:
    """Return one row per size and one column per policy: hit ratios in per cent."""
    rows = curves.to_dicts()
    labels = list(dict.fromkeys(r["label"] for r in rows))
    trace = curves.data["trace"]
    names = [s.rsplit("/", 1)[-1] or s for s in trace["sources"]]
    sample = curves.data["mrc"]["sample"]
    title = f"{', '.join(names)}: hit % over cache size"
    if sample:
        title += f", from a sample of {sample['pages']:,} pages"
    columns = [Column("cache"), Column("pages"), *(Column(label) for label in labels)]
    by_size: dict[tuple[int, str], dict[str, float | None]] = {}
    for r in rows:
        by_size.setdefault((r["frames"], r["cache"]), {})[r["label"]] = r["hit_ratio"]
    table = Table(title, columns, [[]])
    for (frames, cache), ratios in by_size.items():
        cells = [Cell(cache), Cell(number(frames))]
        table.groups[0].append(cells + [Cell(percent(ratios.get(label))) for label in labels])
    table.notes.extend(curves.warnings)
    return table
