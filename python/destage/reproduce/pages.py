"""Writes the report of an evaluation: HTML for reading, Markdown for a repository, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from destage.io.files import made_folder, write_whole
from destage.report.plain import policy
from destage.reproduce.digits import number
from destage.reproduce.document import document
from destage.reproduce.evaluation import Evaluation
from destage.reproduce.panels import inline, svg
from destage.reproduce.sums import sums
from destage.reproduce.tabled import Cells, about_figure, printed_rows, sums_rows, table_of
from destage.reproduce.words import verdicts_in_words

__all__ = ["HOW", "markdown_table", "style", "template", "verdict_cells", "write"]


def write(evaluation: Evaluation, folder: Path, *, indexed: bool = False) -> list[Path]:
    """Write `NAME.html`, `NAME.md`, `NAME.json` and the figures `NAME/*.svg`; return the files.

    If there will be an `index.html` beside it (`indexed`) the page leads back there.

    Each file appears when it is whole. Raises `OutputError`, `MissingExtra` without `report`.
    """
    from destage.io.extras import need_extra

    need_extra("the report")
    name = evaluation.paper.name
    data = document(evaluation)
    pictures = {
        d.figure.id: svg(d, sums(d, evaluation.verdicts))
        for d in evaluation.drawings
        if not d.empty and d.figure.mark != "table"
    }
    tables = {d.figure.id: table_of(d) for d in evaluation.drawings if d.figure.mark == "table"}
    made_folder(folder)
    written = []
    if pictures:
        made_folder(folder / name)
    for figure, picture in pictures.items():
        path = folder / name / f"{figure}.svg"
        write_whole(path, picture)
        written.append(path)
    for suffix, text in (
        (".json", json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"),
        (".md", markdown(data, pictures, tables)),
        (".html", html(data, pictures, tables, indexed=indexed)),
    ):
        path = folder / f"{name}{suffix}"
        write_whole(path, text)
        written.append(path)
    return written


#: How to read verdicts.
HOW = (
    "Each claim has two verdicts, which do not change each other: on the paper's loads, which are"
    " the originals or what stands in for them, and elsewhere, on recordings and excerpts."
    " Intervals are 95 % of Student's t; a case meets a claim if the whole interval does, and an"
    " effect of less than 1 % counts as none unless the paper's is smaller. A number of the paper,"
    " and each end of a range, counts as met within a quarter of it. A claim holds partly if at"
    " least half of its cases meet it. Cases that are zero (0 against 0) or undefined meet nothing."
    " A verdict on stand-ins says what these policies do on loads of that kind, not what the"
    " authors measured."
)

#: What the table of channels has.
CHANNELS = (
    "Maximum deviation of the channels' reads without a cache (SAC, table 1), mean over the draws."
    " Under dynamic allocation only what is never written stays where it is put."
)

#: Head of the verdicts under all readings that are closest to the paper at once.
FAITHFUL = "most faithful set-up"

#: Heads of the verdicts: each is followed by its own cases.
COLUMNS = ("the paper's loads", "cases", "elsewhere", "cases")


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first being its head."""

    def line(cells: Iterable[str]) -> str:
        texts = (c.replace("|", "\\|").replace("<", "&lt;") for c in cells)
        return "| " + " | ".join(texts) + " |"

    rule = "|" + "---|" * len(rows[0])
    return "\n".join([line(rows[0]), rule, *(line(r) for r in rows[1:])]) + "\n"


def claims_rows(data: Mapping[str, Any]) -> Cells:
    """The table of claims: a sentence, its verdicts, each with its cases, and the evidence."""
    rows = [["claim", *columns_of(data), "evidence"]]
    for c in data["claims"]:
        mark = f"**{c['id']}**" if c["headline"] else c["id"]
        evidence = ". ".join(texts_of(c))
        cells = all_cells(c, data)
        rows.append([f"{mark}, {c['where']}: {c['claim']}", *cells, evidence])
    return rows


def columns_of(data: Mapping[str, Any]) -> list[str]:
    """Heads of the verdicts of a paper."""
    return [*COLUMNS, *((FAITHFUL, "cases") if data["faithful"] else ())]


def all_cells(claim: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
    """A claim's verdicts with their cases; those of the most faithful set-up if there is one."""
    cells = verdict_cells(claim)
    if data["faithful"]:
        cells += _cells(claim["faithful"])
    return cells


def _cells(found: Mapping[str, Any] | None) -> list[str]:
    if not found:
        return ["-", "-"]
    all_ = found["cases_all"]
    return [found["verdict"], f"{found['cases_met']} of {all_}" if all_ else "-"]


def verdict_cells(claim: Mapping[str, Any]) -> list[str]:
    """A claim's verdicts, each followed by its own cases."""
    return [*_cells(claim), *_cells(claim["elsewhere"])]


def _open(undecided: int) -> str:
    plural = "s" if undecided > 1 else ""
    return f"open: its {undecided} undecided case{plural} could turn this verdict"


def texts_of(claim: Mapping[str, Any]) -> list[str]:
    """The evidence of a claim, a sentence for each part of it."""
    found = [f"Expected: {claim['expected']}"] if claim["expected"] != "-" else []
    places = (("", claim), ("Elsewhere: ", claim["elsewhere"]))
    for place, one in (*places, (f"{FAITHFUL.capitalize()}: ", claim["faithful"])):
        if one is None:
            continue
        told = (
            []
            if one["condition"] is None or one["condition"] in one["which"]
            else [f"supposed is {one['condition']}"]
        )
        told += [f"measured {one['measured']}"] if one["measured"] != "-" else []
        told += [one["which"]] if one["which"] else []
        told += [one["saturated"]] if one["saturated"] and one["saturated"] != one["which"] else []
        told += [f"on {one['loads']}"] if one["loads"] != "-" else []
        told += [_open(one["cases_open"])] if one["cases_open"] else []
        text = "; ".join(told)
        found += [place + (text if place else text[:1].upper() + text[1:])] if text else []
    return found


def loads_rows(data: Mapping[str, Any]) -> Cells:
    """What each load is."""
    rows = [["load", "what it is", "of", "remark"]]
    for load in data["loads"]:
        remarks = [load["note"]] if load["note"] else []
        if load["ours"]:
            remarks.append(f"ours: {load['ours']}")
        rows.append([load["name"], load["kind"], load["title"], "; ".join(remarks)])
    return rows


def fit_rows(data: Mapping[str, Any]) -> Cells:
    """How loads fit what is published of them: published, aimed at, has."""
    fitted = [load for load in data["loads"] if load["fit"]]
    if not fitted:
        return []
    heads = [row["what"] for row in fitted[0]["fit"]]
    rows = [["load", "", *heads]]
    for load in fitted:
        by_what = {row["what"]: row for row in load["fit"]}
        for title, key in (("published", "published"), ("aimed at", "aimed_at"), ("has", "has")):
            if key == "aimed_at" and load["kind"] == "original":
                continue
            cells = [by_what.get(h, {}).get(key) for h in heads]
            rows.append([load["name"], title, *("" if v is None else number(v) for v in cells)])
    return rows


def channel_rows(data: Mapping[str, Any]) -> Cells:
    """How unbalanced the channels are, published and here: a row for each load."""
    drives = list(dict.fromkeys(c["drive"] for c in data["channels"]))
    if not drives:
        return []
    found = {(c["load"], c["drive"]): c for c in data["channels"]}
    rows = [["load", *(f"{d}: {what}" for d in drives for what in ("published", "has"))]]
    for load in dict.fromkeys(c["load"] for c in data["channels"]):
        cells = [found.get((load, drive)) for drive in drives]
        texts = [number(c[w]) if c else "" for c in cells for w in ("published", "has")]
        rows.append([load, *texts])
    return rows


def setup_rows(data: Mapping[str, Any]) -> Cells:
    """What was run."""
    rows = [["runs", "drive", "FTL", "cache", "policies", "loads", "else"]]
    for runs in data["runs"]:
        more = [f"cost {runs['cost']}"] if runs["cost"] else []
        more += ["fetch_on_write_miss"] if runs["fetch_on_write_miss"] else []
        more += [f"warm-up {runs['warmup']}"] if runs["warmup"] else []
        more += [f"rate x {runs['intensity']:g}"] if runs["intensity"] != 1 else []
        depth = runs["recordings_queue_depth"]
        more += [f"channels {runs['channels']}"] if runs["channels"] else []
        if runs["busiest"]:
            more += [f"rate such that the busiest channel works {runs['busiest']:g} of the time"]
        more += ["cache whole at any scale"] if runs["cache_whole"] else []
        more += [f"recordings in a closed loop of {depth}"] if depth else []
        more += [f"units busy {runs['utilisation']}"] if runs["utilisation"] else []
        rows.append(
            [
                runs["id"],
                ", ".join(_named(runs["devices"])) or "none: counts only",
                ", ".join(_named(runs["ftls"])) or "-",
                ", ".join(runs["cache"]),
                ", ".join(f"{p} = {data['policies'][p]}" for p in runs["policies"]),
                ", ".join(runs["loads"]),
                "; ".join(more),
            ]
        )
    return rows


def _named(specs: Mapping[str, str]) -> list[str]:
    return [f"{label} = {spec}" for label, spec in specs.items()]


def swing_rows(knob: Mapping[str, Any]) -> Cells:
    """A knob's claims by its values."""
    values = list(knob["claims"][0]["values"])
    rows = [["claim", *values, ""]]
    for claim in knob["claims"]:
        cells = []
        for value in values:
            v = claim["values"][value]
            counts = f" ({v['cases_met']}/{v['cases_all']})" if v["cases_all"] else ""
            shown = f"; {v['measured']}" if v["measured"] != "-" else ""
            cells.append(f"{v['verdict']}{counts}{shown}")
        only = claim["only_under"]
        rows.append([claim["id"], *cells, f"holds only under {only}" if only else ""])
    return rows


def summary(data: Mapping[str, Any]) -> str:
    """The verdicts in a sentence."""
    counts = data["summary"]
    told = verdicts_in_words(counts)
    text = f"{sum(counts.values())} claims. On the paper's loads {told}."
    if data["summary_open"]:
        text += (
            f" The verdicts of {data['summary_open']} are open: their undecided cases could turn"
            " them, and with more draws (--seeds) may."
        )
    elsewhere = data["summary_elsewhere"]
    if any(elsewhere.values()):
        told = verdicts_in_words(elsewhere)
        text += f" Elsewhere {sum(elsewhere.values())} are looked for: {told}."
    return text


def basis(data: Mapping[str, Any]) -> str:
    """What the verdicts of a paper rest on."""
    kinds = {load["kind"] for load in data["loads"]}
    parts = []
    if "original" in kinds:
        parts.append("original traces, checked against their published counts")
    if "stand-in" in kinds:
        scale = data["options"]["scale"]
        parts.append(
            "stand-ins: synthetic loads with the published counts of the originals, "
            + ("with all their requests" if scale == 1 else f"at {scale:g} of their requests")
        )
    if "specified" in kinds:
        parts.append(
            "loads made as the paper specifies them, in full; what it leaves open is told below"
        )
    if "recording" in kinds:
        parts.append("elsewhere recordings of this project's own")
    if "excerpt" in kinds:
        parts.append("elsewhere excerpts of real traces that circulate")
    seeds = data["options"]["seeds"]
    drawn = "once" if seeds == 1 else f"{seeds} times"
    return f"The verdicts rest on {'; '.join(parts)}. Random loads are drawn {drawn}. {HOW}"


def markdown(
    data: Mapping[str, Any], pictures: Mapping[str, str], tables: Mapping[str, Cells]
) -> str:
    """Return the Markdown page."""
    paper = data["paper"]
    out = [f"# {paper['title']}", "", f"{paper['cite']}.", "", paper["question"], ""]
    out += [f"**{summary(data)}** {basis(data)}", "", f"Made by `{data['command']}`,"]
    out += [f"Destage {data['version']}.", "", "## Claims", ""]
    out += [
        "Headline claims are bold.",
        "",
        *faithful_lines(data),
        markdown_table(claims_rows(data)),
    ]
    out += ["## Figures and tables", ""]
    out += [markdown_table(sums_rows(data))]
    for figure in data["figures"]:
        out += [f"### {figure['where'].capitalize()}: {figure['title']}", ""]
        out += [about_figure(figure) + ".", ""]
        if figure["id"] in pictures:
            out += [f"![{figure['title']}]({paper['name']}/{figure['id']}.svg)", ""]
        elif figure["id"] in tables and len(tables[figure["id"]]) > 1:
            out += [markdown_table(tables[figure["id"]])]
        else:
            out += ["Nothing to draw: the runs gave no such numbers.", ""]
        out += [figure["note"], ""] if figure["note"] else []
        printed = printed_rows(figure)
        out += ["The paper's numbers and ours:", "", markdown_table(printed)] if printed else []
    out += ["## Set-up", "", markdown_table(setup_rows(data)), "### Loads", ""]
    out += [markdown_table(loads_rows(data))]
    fitted = fit_rows(data)
    if fitted:
        out += ["### How the loads fit", "", markdown_table(fitted)]
    channels = channel_rows(data)
    if channels:
        out += ["### How the channels fit", "", CHANNELS, "", markdown_table(channels)]
    out += ["## What differs from the paper", ""]
    out += [f"- {text}" for text in differences(data)] + [""]
    out += _sensitivity_markdown(data["sensitivity"])
    return "\n".join(out).rstrip() + "\n"


def differences(data: Mapping[str, Any]) -> list[str]:
    """What differs from the paper, and what could not be run."""
    smallest = data["smallest_cache"]
    scaled = []
    if smallest and data["options"]["scale"] != 1:
        scaled = [
            f"At {data['options']['scale']:g} of the requests footprints, caches and drives are as"
            f" much smaller; the smallest cache in front of a drive has {smallest['pages']:,.0f}"
            f" pages, {smallest['blocks']:g} of the drive's erase blocks."
        ]
    return [*data["paper"]["differs"], *scaled, *(f"Not run: {text}" for text in data["failed"])]


def faithful_lines(data: Mapping[str, Any]) -> list[str]:
    """What the most faithful set-up reads in another way than by default."""
    if not data["faithful"]:
        return []
    lead = (
        f"The {FAITHFUL} has all readings at once that are closest to the paper's text and to its"
        " simulator, on the paper's loads. Other than by default there:"
    )
    return [lead, "", *(f"- {text}" for text in data["faithful"]), ""]


def _sensitivity_markdown(data: Mapping[str, Any]) -> list[str]:
    if not data["knobs"]:
        return []
    out = ["## Sensitivity", "", sensitivity_lead(data), ""]
    for knob in data["knobs"]:
        out += [f"### {knob['knob']}", "", knob["about"], "", markdown_table(swing_rows(knob))]
    return out


def sensitivity_lead(data: Mapping[str, Any]) -> str:
    """What the sensitivity runs are."""
    loads = f" on {', '.join(data['loads'])}" if data["loads"] else ""
    seeds = "One draw" if data["seeds"] == 1 else f"{data['seeds']} draws"
    return (
        "What the headline claims, and others that they turn, become under other readings of what"
        f" the paper leaves open. {seeds}, {data['scale']:g} of the requests of stand-ins and"
        f" {data['specified_share']:g} of those of specified loads{loads}, recordings left out:"
        " compare the columns with each"
        " other, not with the table of claims."
    )


def html(
    data: Mapping[str, Any],
    pictures: Mapping[str, str],
    tables: Mapping[str, Cells],
    *,
    indexed: bool = False,
) -> str:
    """Return the HTML page, which loads nothing."""
    figures = [
        {
            **f,
            "svg": _inline(pictures.get(f["id"])),
            "table": tables.get(f["id"]),
            "numbers": printed_rows(f),
            "by_claim": [c for c in data["claims"] if c["id"] in f["claims"]],
        }
        for f in data["figures"]
    ]
    knobs = [{**k, "rows": swing_rows(k)} for k in data["sensitivity"]["knobs"]]
    drawn_at = {name: f["id"] for f in reversed(data["figures"]) for name in f["claims"]}
    text: str = template("reproduce.html.j2").render(
        data=data,
        indexed=indexed,
        drawn_at=drawn_at,
        summary=summary(data),
        basis=basis(data),
        claims=[c | {"texts": texts_of(c), "columns": all_cells(c, data)} for c in data["claims"]],
        faithful=faithful_lines(data),
        figures=figures,
        sums=sums_rows(data),
        setup=setup_rows(data),
        loads=loads_rows(data),
        fit=fit_rows(data),
        channels=channel_rows(data),
        channels_lead=CHANNELS,
        knobs=knobs,
        differs=differences(data),
        lead=sensitivity_lead(data["sensitivity"]),
        policy=policy([style()]),
        css=style(),
    )
    return text


def _inline(picture: str | None) -> Any:
    from markupsafe import Markup

    return Markup(inline(picture)) if picture else None


def style() -> Any:
    """Return the style sheet of these pages."""
    from markupsafe import Markup

    from destage.report.layout import asset, style_variables

    return Markup(style_variables() + asset("report.css") + asset("reproduce.css"))


@cache
def template(name: str) -> Any:
    """Return a template of the package."""
    from jinja2 import Environment, StrictUndefined

    source = (files("destage") / "templates" / name).read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(source)
