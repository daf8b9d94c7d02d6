"""The report of an evaluation: HTML for reading, Markdown for a repository, JSON; and its index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from destage import _destage
from destage.io.extras import need_extra
from destage.io.files import made_folder, write_whole
from destage.report.plain import policy
from destage.reproduce.document import document
from destage.reproduce.evaluation import Evaluation
from destage.reproduce.figures import Drawing
from destage.reproduce.panels import inline, svg
from destage.reproduce.sums import sums
from destage.reproduce.wording import VERDICTS, number, verdicts_in_words

__all__ = ["Cells", "markdown_table", "rendered", "style", "write", "write_data", "write_index"]

#: A table as text, the first row being its head.
Cells = list[list[str]]
#: Parts of a page by the id of the figure.
Parts = Mapping[str, Any]


def write(evaluation: Evaluation, folder: Path, *, indexed: bool = False) -> list[Path]:
    """Write `NAME.html`, `NAME.md`, `NAME.json` and the figures `NAME/*.svg`; return the files.

    With `indexed` the page links to the `index.html` beside it. Each file appears when it is whole.
    Raises `OutputError`, `MissingExtra` without `report`.
    """
    need_extra("the report")
    name, drawings = evaluation.paper.name, evaluation.drawings
    pictures = {
        d.figure.id: svg(d, sums(d, evaluation.verdicts))
        for d in drawings
        if not d.empty and d.figure.mark != "table"
    }
    tables = {d.figure.id: table_of(d) for d in drawings if d.figure.mark == "table"}
    made_folder(folder)
    if pictures:
        made_folder(folder / name)
    written = [folder / name / f"{figure}.svg" for figure in pictures]
    for path, picture in zip(written, pictures.values(), strict=True):
        write_whole(path, picture)
    data = document(evaluation)
    text, page = markdown(data, pictures, tables), html(data, pictures, tables, indexed=indexed)
    return [*written, *write_data(folder, name, data, text, page)]


def write_data(
    folder: Path, name: str, data: Mapping[str, Any], markdown: str, html: str
) -> list[Path]:
    """Write a page's `NAME.json`, `NAME.md` and `NAME.html`; return them. Raises `OutputError`."""
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    paths = [folder / f"{name}{suffix}" for suffix in (".json", ".md", ".html")]
    for path, content in zip(paths, (text, markdown, html), strict=True):
        write_whole(path, content)
    return paths


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
#: Head of the verdicts under all interpretations that are closest to the paper at once.
FAITHFUL = "most faithful set-up"
FAITHFUL_LEAD = (
    f"The {FAITHFUL} has all readings at once that are closest to the paper's text and to its"
    " simulator, on the paper's loads. Other than by default there:"
)
CHANNELS_LEAD = (
    "Maximum deviation of the channels' reads without a cache (SAC, table 1), mean over the draws."
    " Under dynamic allocation only what is never written stays where it is put."
)
#: Heads of the verdicts: each is followed by its own cases.
COLUMNS = ("the paper's loads", "cases", "elsewhere", "cases")


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first being its head."""
    lines = [
        "| " + " | ".join(c.replace("|", "\\|").replace("<", "&lt;") for c in row) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


# -- Tables ----------------------------------------------------------------------------------------


def table_of(drawn: Drawing) -> Cells:
    """A table of the paper: the head, then a row for each place on its x axis."""
    found = {(p.x, p.series): p for p in drawn.points}

    def cell(x: str, series: str) -> str:
        point = found.get((x, series))
        if point is None:
            return "-"
        paper = "" if point.printed is None else f" (paper: {number(point.printed)})"
        return number(point.y) + paper

    rows = [[x, *(cell(x, s) for s in drawn.series_order)] for x in drawn.x_order]
    return [["", *drawn.series_order], *rows]


def sums_rows(data: Mapping[str, Any]) -> Cells:
    """The number of claims with each verdict, figure by figure."""
    rows = [["figure or table", "claims", *VERDICTS]]
    for figure in data["figures"]:
        counts = [str(figure["verdicts"][w] or "-") for w in VERDICTS]
        called = f"{figure['where'].capitalize()}: {figure['title']}"
        rows.append([called, str(len(figure["claims"]) or "-"), *counts])
    named = {name for figure in data["figures"] for name in figure["claims"]}
    rest = [c for c in data["claims"] if c["id"] not in named]
    if rest:
        counts = [str(sum(c["verdict"] == w for c in rest) or "-") for w in VERDICTS]
        rows.append(["in the text, or about what is not drawn", str(len(rest)), *counts])
    return rows


def printed_rows(figure: Mapping[str, Any]) -> Cells:
    """The paper's numbers beside ours; none where its table has both already."""
    if not figure["printed"] or (figure["mark"] == "table" and figure["printed_in_table"]):
        return []
    rows = [["claim", "case", "the paper's", "ours", "ours over the paper's", "status"]]
    for p in figure["printed"]:
        paper, ours, low, high = (
            number(p[k], p["share"]) for k in ("paper", "mean", "low", "high")
        )
        ours += f" [{low}, {high}]" if p["low"] < p["high"] else ""
        rows.append(
            [p["claim"], p["case"], paper, ours, f"{p['mean'] / p['paper']:.2f}", p["status"]]
        )
    return rows


def verdict_cells(claim: Mapping[str, Any], *more: Mapping[str, Any] | None) -> list[str]:
    """A claim's verdicts, each followed by its own cases."""
    cells = []
    for found in (claim, claim["elsewhere"], *more):
        every = found["cases_all"] if found else 0
        cells.append(found["verdict"] if found else "-")
        cells.append(f"{found['cases_met']} of {every}" if found and every else "-")
    return cells


def texts_of(claim: Mapping[str, Any]) -> list[str]:
    """The evidence of a claim, a sentence for each part of it."""
    found = [f"Expected: {claim['expected']}"] if claim["expected"] != "-" else []
    places = (("", claim), ("Elsewhere: ", claim["elsewhere"]))
    for place, one in (*places, (f"{FAITHFUL.capitalize()}: ", claim["faithful"])):
        if one is None:
            continue
        condition, which, saturated = one["condition"], one["which"], one["saturated"]
        undecided = one["cases_open"]
        plural = "s" if undecided > 1 else ""
        parts = [
            (f"supposed is {condition}", condition is not None and condition not in which),
            (f"measured {one['measured']}", one["measured"] != "-"),
            (which, which),
            (saturated, saturated and saturated != which),
            (f"on {one['loads']}", one["loads"] != "-"),
            (f"open: its {undecided} undecided case{plural} could turn this verdict", undecided),
        ]
        text = "; ".join(part for part, is_there in parts if is_there)
        found += [place + (text if place else text[:1].upper() + text[1:])] if text else []
    return found


def loads_rows(data: Mapping[str, Any]) -> Cells:
    """The workloads and their origin."""
    rows = [["load", "what it is", "of", "remark"]]
    for load in data["loads"]:
        ours = f"ours: {load['ours']}" if load["ours"] else ""
        remarks = "; ".join(text for text in (load["note"], ours) if text)
        rows.append([load["name"], load["kind"], load["title"], remarks])
    return rows


def fit_rows(data: Mapping[str, Any]) -> Cells:
    """The counts of workloads beside the published ones."""
    fitted = [load for load in data["loads"] if load["fit"]]
    if not fitted:
        return []
    heads = [row["what"] for row in fitted[0]["fit"]]
    rows = [["load", "", *heads]]
    for load in fitted:
        by_what = {row["what"]: row for row in load["fit"]}
        for key in ("published", "aimed_at", "has"):
            if key != "aimed_at" or load["kind"] != "original":
                cells = [by_what.get(h, {}).get(key) for h in heads]
                texts = ["" if v is None else number(v) for v in cells]
                rows.append([load["name"], key.replace("_", " "), *texts])
    return rows


def channel_rows(data: Mapping[str, Any]) -> Cells:
    """The imbalance of the channels, published and here: a row for each workload."""
    drives = list(dict.fromkeys(c["drive"] for c in data["channels"]))
    if not drives:
        return []
    found = {(c["load"], c["drive"]): c for c in data["channels"]}
    rows = [["load", *(f"{d}: {what}" for d in drives for what in ("published", "has"))]]
    for load in dict.fromkeys(c["load"] for c in data["channels"]):
        cells = [found.get((load, drive)) for drive in drives]
        rows.append(
            [load, *(number(c[w]) if c else "" for c in cells for w in ("published", "has"))]
        )
    return rows


def setup_rows(data: Mapping[str, Any]) -> Cells:
    """The sets of runs."""
    rows = [["runs", "drive", "FTL", "cache", "policies", "loads", "else"]]
    for r in data["runs"]:
        busiest = f"rate such that the busiest channel works {r['busiest']:g} of the time"
        more = {
            f"cost {r['cost']}": r["cost"],
            "fetch_on_write_miss": r["fetch_on_write_miss"],
            f"warm-up {r['warmup']}": r["warmup"],
            f"rate x {r['intensity']:g}": r["intensity"] != 1,
            f"channels {r['channels']}": r["channels"],
            busiest: r["busiest"],
            "cache whole at any scale": r["cache_whole"],
            f"recordings in a closed loop of {r['recordings_queue_depth']}": r[
                "recordings_queue_depth"
            ],
            f"units busy {r['utilisation']}": r["utilisation"],
        }
        devices, ftls = (
            ", ".join(f"{k} = {v}" for k, v in r[x].items()) for x in ("devices", "ftls")
        )
        policies = ", ".join(f"{p} = {data['policies'][p]}" for p in r["policies"])
        cells = [r["id"], devices or "none: counts only", ftls or "-", ", ".join(r["cache"])]
        cells += [policies, ", ".join(r["loads"]), "; ".join(k for k, v in more.items() if v)]
        rows.append(cells)
    return rows


def swing_rows(knob: Mapping[str, Any]) -> Cells:
    """A knob's claims by its values."""
    rows = [["claim", *knob["claims"][0]["values"], ""]]
    for claim in knob["claims"]:
        cells = [claim["id"]]
        for v in claim["values"].values():
            counts = f" ({v['cases_met']}/{v['cases_all']})" if v["cases_all"] else ""
            shown = f"; {v['measured']}" if v["measured"] != "-" else ""
            cells.append(f"{v['verdict']}{counts}{shown}")
        only = claim["only_under"]
        rows.append([*cells, f"holds only under {only}" if only else ""])
    return rows


# -- Sentences -------------------------------------------------------------------------------------


def summary(data: Mapping[str, Any]) -> str:
    """The verdicts in a sentence."""
    counts, elsewhere = data["summary"], data["summary_elsewhere"]
    text = f"{sum(counts.values())} claims. On the paper's loads {verdicts_in_words(counts)}."
    if data["summary_open"]:
        text += (
            f" The verdicts of {data['summary_open']} are open: their undecided cases could turn"
            " them, and with more draws (--seeds) may."
        )
    if any(elsewhere.values()):
        several = sum(elsewhere.values())
        text += f" Elsewhere {several} are looked for: {verdicts_in_words(elsewhere)}."
    return text


def basis(data: Mapping[str, Any]) -> str:
    """The workloads behind the verdicts of a paper."""
    scale, seeds = data["options"]["scale"], data["options"]["seeds"]
    share = "with all their requests" if scale == 1 else f"at {scale:g} of their requests"
    texts = {
        "original": "original traces, checked against their published counts",
        "stand-in": "stand-ins: synthetic loads with the published counts of the originals, "
        + share,
        "specified": "loads made as the paper specifies them, in full; what it leaves open is told"
        " below",
        "recording": "elsewhere recordings of this project's own",
        "excerpt": "elsewhere excerpts of real traces that circulate",
    }
    kinds = {load["kind"] for load in data["loads"]}
    parts = "; ".join(text for kind, text in texts.items() if kind in kinds)
    drawn = "once" if seeds == 1 else f"{seeds} times"
    return f"The verdicts rest on {parts}. Random loads are drawn {drawn}. {HOW}"


def differences(data: Mapping[str, Any]) -> list[str]:
    """The differences from the paper, and the runs that failed."""
    smallest, scale = data["smallest_cache"], data["options"]["scale"]
    scaled = []
    if smallest and scale != 1:
        scaled = [
            f"At {scale:g} of the requests footprints, caches and drives are as much smaller; the"
            f" smallest cache in front of a drive has {smallest['pages']:,.0f} pages,"
            f" {smallest['blocks']:g} of the drive's erase blocks."
        ]
    return [*data["paper"]["differs"], *scaled, *(f"Not run: {text}" for text in data["failed"])]


def sensitivity_lead(data: Mapping[str, Any]) -> str:
    """The extent of the sensitivity runs."""
    loads = f" on {', '.join(data['loads'])}" if data["loads"] else ""
    seeds = "One draw" if data["seeds"] == 1 else f"{data['seeds']} draws"
    return (
        "What the headline claims, and others that they turn, become under other readings of what"
        f" the paper leaves open. {seeds}, {data['scale']:g} of the requests of stand-ins and"
        f" {data['specified_share']:g} of those of specified loads{loads}, recordings left out:"
        " compare the columns with each other, not with the table of claims."
    )


# -- Pages -----------------------------------------------------------------------------------------


def _page(data: Mapping[str, Any], pictures: Parts, tables: Parts) -> dict[str, Any]:
    """The parts of a paper's page, as its templates take them."""
    figures = [
        {
            **f,
            "svg": pictures.get(f["id"]),
            "table": tables.get(f["id"]),
            "numbers": printed_rows(f),
            "by_claim": [c for c in data["claims"] if c["id"] in f["claims"]],
        }
        for f in data["figures"]
    ]
    faithful = data["faithful"]
    heads = [*COLUMNS, *((FAITHFUL, "cases") if faithful else ())]
    claims = []
    for c in data["claims"]:
        columns = verdict_cells(c, *([c["faithful"]] if faithful else ()))
        claims.append(c | {"texts": texts_of(c), "columns": columns})
    return {
        "data": data,
        "summary": summary(data),
        "basis": basis(data),
        "heads": heads,
        "claims": claims,
        "faithful": faithful,
        "faithful_lead": FAITHFUL_LEAD,
        "channels_lead": CHANNELS_LEAD,
        "lead": sensitivity_lead(data["sensitivity"]),
        "figures": figures,
        "sums": sums_rows(data),
        "setup": setup_rows(data),
        "loads": loads_rows(data),
        "fit": fit_rows(data),
        "channels": channel_rows(data),
        "knobs": [{**k, "rows": swing_rows(k)} for k in data["sensitivity"]["knobs"]],
        "differs": differences(data),
    }


def markdown(data: Mapping[str, Any], pictures: Parts, tables: Parts) -> str:
    """Return the Markdown page."""
    return rendered("reproduce.md.j2", **_page(data, pictures, tables))


def html(data: Mapping[str, Any], pictures: Parts, tables: Parts, *, indexed: bool = False) -> str:
    """Return the HTML page, which loads nothing."""
    from markupsafe import Markup

    themed = {name: Markup(inline(picture)) for name, picture in pictures.items()}
    drawn_at = {name: f["id"] for f in reversed(data["figures"]) for name in f["claims"]}
    page = _page(data, themed, tables)
    return rendered("reproduce.html.j2", indexed=indexed, drawn_at=drawn_at, **page)


def write_index(
    documents: Sequence[Mapping[str, Any]], with_beyond: bool, folder: Path
) -> tuple[Path, Path]:
    """Write `README.md` and `index.html`: the papers, their verdicts and their headline claims.

    `documents` are those of `document`, or what was read from their JSON. Returns the two files.
    """
    count = {1: "A paper", 5: "Five papers", 6: "Six papers"}
    papers = [
        {
            **d["paper"],
            "short": "GCaR" if d["paper"]["name"] == "gcar" else d["paper"]["name"].upper(),
            "page": f"{d['paper']['name']}.html",
            "counts": [(word, d["summary"][word]) for word in VERDICTS],
            "rests": ", ".join(dict.fromkeys(load["kind"] for load in d["loads"])),
            "command": d["command"],
            "headlines": [c | {"columns": verdict_cells(c)} for c in d["claims"] if c["headline"]],
        }
        for d in documents
    ]
    page = {
        "title": f"{count.get(len(documents), f'{len(documents)} papers')} re-run",
        "version": _destage.VERSION,
        "papers": papers,
        "verdicts": list(VERDICTS),
        "heads": COLUMNS,
        "beyond": with_beyond,
    }
    pages = folder / "README.md", folder / "index.html"
    for path, name in zip(pages, ("papers.md.j2", "papers.html.j2"), strict=True):
        write_whole(path, rendered(name, **page))
    return pages


def rendered(name: str, **page: Any) -> str:
    """Return a page of the package's templates."""
    if name.endswith(".html.j2"):
        page |= {"policy": policy([style()]), "css": style()}
    text: str = template(name).render(how=HOW, **page)
    return text if name.endswith(".html.j2") else text.rstrip() + "\n"


def style() -> Any:
    """Return the style sheet of these pages."""
    from markupsafe import Markup

    from destage.report.layout import asset, style_variables

    return Markup(style_variables() + asset("report.css") + asset("reproduce.css"))


@cache
def template(name: str) -> Any:
    """Return a template of the package; one of a Markdown page has a filter for tables."""
    from jinja2 import Environment, StrictUndefined

    source = (files("destage") / "templates" / name).read_text(encoding="utf-8")
    is_html = name.endswith(".html.j2")
    environment = Environment(
        autoescape=is_html,
        undefined=StrictUndefined,
        trim_blocks=not is_html,
        keep_trailing_newline=not is_html,
    )
    environment.filters["table"] = markdown_table
    return environment.from_string(source)
