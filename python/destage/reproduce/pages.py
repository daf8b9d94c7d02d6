"""The report of an evaluation: HTML for reading, Markdown for a repository, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from destage.base.io.extras import need_extra
from destage.base.io.files import made_folder, write_whole
from destage.reproduce.conditions import verdict_text
from destage.reproduce.document import document
from destage.reproduce.evaluation import Evaluation
from destage.reproduce.first_screen import (
    coarse_claims,
    cut,
    first_screen,
    measured_briefly,
    scaled_note,
    statuses_in_words,
)
from destage.reproduce.panels import inline, svg
from destage.reproduce.plain_words import MATCHED
from destage.reproduce.sums import sums
from destage.reproduce.wording import VERDICTS, number
from destage.show.pages.plain import policy

__all__ = [
    "Cells",
    "markdown_table",
    "rendered",
    "short_of",
    "style",
    "write",
    "write_behind",
    "write_data",
]

#: A table as text, the first row being its head.
Cells = list[list[str]]
#: Parts of a page by the id of the figure.
Parts = Mapping[str, Any]


#: The Markdown pages behind the first screen, in a folder of the paper's name.
BEHIND = {
    "claims": "All claims",
    "figures": "Figures and tables",
    "setup": "Configuration",
    "sensitivity": "Sensitivity",
}


def write(
    evaluation: Evaluation, folder: Path, *, pages: Path | None = None, indexed: bool = False
) -> list[Path]:
    """Write a paper's first screen, figures and numbers, and return the files.

    `NAME.md` is the first screen, `NAME/*.svg` are the figures, `NAME.html` has all in one file,
    `NAME.json` every number. The Markdown pages behind the screen go into `pages`. With `indexed`
    the HTML page links to the `index.html` beside it. Each file appears when it is whole. Raises
    `OutputError`, `MissingExtra` without `report`.
    """
    need_extra("the report")
    name, drawings = evaluation.paper.name, evaluation.drawings
    pictures = {
        d.figure.id: svg(d, sums(d, evaluation.verdicts))
        for d in drawings
        if not d.empty and d.figure.mark != "table"
    }
    data = document(evaluation)
    page = page_of(data, pictures)
    written = _write_below(folder / name, {f"{one}.svg": text for one, text in pictures.items()})
    if pages is not None:
        written += write_behind(data, pages, pictures)
    text = rendered("reproduce.md.j2", part="screen", **page)
    return [*written, *write_data(folder, name, data, text, html(page, indexed=indexed))]


def write_behind(
    data: Mapping[str, Any], folder: Path, pictures: Parts | None = None
) -> list[Path]:
    """Write the Markdown pages behind a first screen, `NAME/*.md`, from a document or its JSON.

    They show the figures beside them; `pictures` puts them there, too. Raises `OutputError`.
    """
    drawn = {f["id"]: "" for f in data["figures"] if f["points"] and f["mark"] != "table"}
    page = page_of(data, pictures or dict.fromkeys(drawn, "drawn"))
    files = {f"{part}.md": text for part, text in behind(page).items()}
    files |= {f"{one}.svg": text for one, text in (pictures or {}).items()}
    return _write_below(folder / data["paper"]["name"], files)


def _write_below(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files into a folder, which is made with those above it."""
    made_folder(folder.parent)
    made_folder(folder)
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def write_data(
    folder: Path, name: str, data: Mapping[str, Any], markdown: str, html: str
) -> list[Path]:
    """Write a page's `NAME.json`, `NAME.md` and `NAME.html`; return them. Raises `OutputError`."""
    text = json_lines(data)
    paths = [folder / f"{name}{suffix}" for suffix in (".json", ".md", ".html")]
    for path, content in zip(paths, (text, markdown, html), strict=True):
        write_whole(path, content)
    return paths


def json_lines(data: Mapping[str, Any]) -> str:
    """Return data as JSON, a line for each entry of its lists."""
    dumps = partial(json.dumps, allow_nan=False, ensure_ascii=False)
    parts = []
    for key, value in data.items():
        text = dumps(value)
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(dumps(entry) for entry in value) + "\n ]"
        parts.append(f" {dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


#: How to read verdicts.
HOW = (
    "Each claim has two independent verdicts: on the paper's workloads (original or surrogate"
    " traces), and on independent traces (our recordings and excerpts). Intervals are 95 %"
    " confidence intervals (Student's t). A case meets a claim if its whole interval does, with an"
    " effect of at least 1 % unless the paper's is smaller. A number of the paper, and each end of"
    " a range, is met within a quarter of it. A claim holds if every case meets it, and partly if"
    " at least half do. It is undecided if it would hold with its undecided cases met. Zero"
    " (0 against 0) and undefined cases meet nothing. A verdict on surrogate traces says how the"
    " policies behave on workloads of that kind, not what the authors measured."
)
#: Head of the verdicts under all interpretations that are closest to the paper at once.
FAITHFUL = "paper-exact configuration"
FAITHFUL_LEAD = (
    f"The {FAITHFUL} combines the interpretations closest to the paper's text and to its"
    " simulator, on the paper's workloads. It differs from the main runs in this:"
)
CHANNELS_LEAD = (
    "Maximum deviation of the channels' reads without a cache (SAC, table 1), mean over the seeds."
    " Under dynamic allocation only pages that are never written keep their place."
)
#: Heads of the verdicts: each is followed by its own cases.
COLUMNS = ("paper's workloads", "cases", "independent traces", "cases")
#: Kinds of workload as pages name them.
KINDS = {
    "surrogate": "surrogate trace",
    "recording": "our recording",
    "repeated": "repeated recording",
    "ours": "our workload",
}


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first being its head."""
    lines = [
        "| " + " | ".join(c.replace("|", "\\|").replace("<", "&lt;") for c in row) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


# -- Tables ----------------------------------------------------------------------------------------


def table_of(figure: Mapping[str, Any]) -> Cells:
    """A table of the paper: the head, then a row for each place on its x axis."""
    points = figure["points"]
    found = {(p["x"], p["series"]): p for p in points}
    heads, places = ([*dict.fromkeys(p[axis] for p in points)] for axis in ("series", "x"))

    def cell(x: str, series: str) -> str:
        point = found.get((x, series))
        if point is None:
            return "-"
        printed = point.get("paper")
        paper = "" if printed is None else f" (paper: {number(printed)})"
        return number(point["y"]) + paper

    return [["", *heads], *([x, *(cell(x, s) for s in heads)] for x in places)]


def sums_rows(data: Mapping[str, Any]) -> Cells:
    """The number of claims with each verdict, figure by figure."""
    rows = [["figure or table", "claims", *VERDICTS]]
    for figure in data["figures"]:
        counts = [str(figure["verdicts"].get(w) or "-") for w in VERDICTS]
        called = f"{figure['where'].capitalize()}: {figure['title']}"
        rows.append([called, str(len(figure["claims"]) or "-"), *counts])
    named = {name for figure in data["figures"] for name in figure["claims"]}
    rest = [c for c in data["claims"] if c["id"] not in named]
    if rest:
        counts = [str(sum(c["verdict"] == w for c in rest) or "-") for w in VERDICTS]
        rows.append(["in the text, or without a figure", str(len(rest)), *counts])
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
    places = (("", claim), ("Independent traces: ", claim["elsewhere"]))
    for place, one in (*places, (f"{FAITHFUL.capitalize()}: ", claim["faithful"])):
        if one is None:
            continue
        condition, which, saturated = one["condition"], one["which"], one["saturated"]
        undecided = one["cases_open"]
        plural = "s" if undecided > 1 else ""
        parts = [
            (f"condition: {condition}", condition is not None and condition not in which),
            (f"measured {one['measured']}", one["measured"] != "-"),
            (which, which),
            (saturated, saturated and saturated != which),
            (one.get("coarse"), one.get("coarse") and one["coarse"] != which),
            (f"on {one['loads']}", one["loads"] != "-"),
            (f"open: its {undecided} undecided case{plural} could turn this verdict", undecided),
        ]
        text = "; ".join(part for part, is_there in parts if is_there)
        found += [place + (text if place else text[:1].upper() + text[1:])] if text else []
    return found


def loads_rows(data: Mapping[str, Any]) -> Cells:
    """The workloads and their origin."""
    rows = [["workload", "kind", "source"]]
    for load in data["loads"]:
        rows.append([load["name"], KINDS.get(load["kind"], load["kind"]), load["title"]])
    return rows


def loads_remarks(data: Mapping[str, Any]) -> list[str]:
    """Choices and assumptions about workloads, each remark once."""
    found: dict[str, list[str]] = {}
    for load in data["loads"]:
        ours = f"ours: {load['ours']}" if load["ours"] else ""
        remarks = "; ".join(text for text in (load["note"], ours) if text)
        if remarks:
            found.setdefault(remarks, []).append(load["name"])
    return [f"{', '.join(names)}: {remarks}" for remarks, names in found.items()]


def matched_rows(data: Mapping[str, Any]) -> Cells:
    """Which published counts each workload has, and which it has not."""
    rows = [["workload", "matched within 5 %", "not matched (has, published)"]]
    for load in data["loads"]:
        pairs = [r for r in load["fit"] if r["published"] is not None]
        near = [
            r["what"]
            for r in pairs
            if abs(r["has"] - r["published"]) <= MATCHED * abs(r["published"])
        ]
        far = [
            f"{r['what']} ({number(r['has'])}, {number(r['published'])})"
            for r in pairs
            if r["what"] not in near
        ]
        if pairs:
            rows.append([load["name"], ", ".join(near) or "-", ", ".join(far) or "-"])
    return rows if len(rows) > 1 else []


def fit_rows(data: Mapping[str, Any]) -> Cells:
    """The counts of workloads beside the published ones."""
    fitted = [load for load in data["loads"] if load["fit"]]
    if not fitted:
        return []
    heads = [row["what"] for row in fitted[0]["fit"]]
    rows = [["workload", "", *heads]]
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
    rows = [["workload", *(f"{d}: {what}" for d in drives for what in ("published", "has"))]]
    for load in dict.fromkeys(c["load"] for c in data["channels"]):
        cells = [found.get((load, drive)) for drive in drives]
        rows.append(
            [load, *(number(c[w]) if c else "" for c in cells for w in ("published", "has"))]
        )
    return rows


def setup_rows(data: Mapping[str, Any]) -> Cells:
    """The sets of runs."""
    rows = [["runs", "device", "FTL", "cache", "policies", "workloads", "other"]]
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
        cells = [r["id"], devices or "none: counts only", ftls or "-", ", ".join(r["cache"])]
        cells += [
            cut(", ".join(r["policies"])),
            ", ".join(r["loads"]),
            "; ".join(k for k, v in more.items() if v),
        ]
        rows.append(cells)
    return rows


def policy_rows(data: Mapping[str, Any]) -> Cells:
    """The policies by label."""
    return [
        ["policy", "configuration"],
        *([p, f"`{spec}`"] for p, spec in data["policies"].items()),
    ]


def swing_rows(knob: Mapping[str, Any]) -> Cells:
    """A knob's claims by its values."""
    rows = [["claim", *knob["claims"][0]["values"], ""]]
    for claim in knob["claims"]:
        cells = [claim["id"]]
        for v in claim["values"].values():
            counts = f" ({v['cases_met']}/{v['cases_all']})" if v["cases_all"] else ""
            shown = f"; {measured_briefly(v['measured'])}" if v["measured"] != "-" else ""
            cells.append(f"{v['verdict']}{counts}{shown}")
        only = claim["only_under"]
        rows.append([*cells, f"holds only under {only}" if only else ""])
    return rows


# -- Sentences -------------------------------------------------------------------------------------


def differences(data: Mapping[str, Any]) -> list[str]:
    """The differences from the paper, and the runs that failed."""
    smallest, scale = data["smallest_cache"], data["options"]["scale"]
    scaled = []
    if smallest and scale != 1:
        scaled = [
            f"At {scale:g} of the requests, footprints, caches and devices shrink by as much. The"
            f" smallest cache in front of a device has {smallest['pages']:,.0f} pages,"
            f" {smallest['blocks']:g} of its erase blocks."
        ]
    return [*data["paper"]["differs"], *scaled, *(f"Not run: {text}" for text in data["failed"])]


def _share(scale: float) -> str:
    return "all requests" if scale == 1 else f"{scale:g} of the requests"


def sensitivity_lead(data: Mapping[str, Any]) -> str:
    """The extent of the sensitivity runs."""
    found = data["sensitivity"]
    loads = f" on {', '.join(found['loads'])}" if found["loads"] else ""
    seeds = "One seed" if found["seeds"] == 1 else f"{found['seeds']} seeds"
    shares = f"{_share(found['scale'])} of surrogate traces"
    if any(load["kind"] == "specified" for load in data["loads"]):
        shares += f", {_share(found['specified_share'])} of specified workloads"
    return (
        "The headline claims, and other claims that turn, under other interpretations of what the"
        f" paper leaves open. {seeds}, {shares}{loads}, without independent traces. Where the base"
        " column differs from the table of claims, compare columns with each other only."
    )


# -- Pages -----------------------------------------------------------------------------------------


def page_of(data: Mapping[str, Any], pictures: Parts) -> dict[str, Any]:
    """The parts of a paper's pages, as their templates take them."""
    figures = [
        {
            **f,
            "svg": pictures.get(f["id"]),
            "table": table_of(f) if f["mark"] == "table" else None,
            "numbers": printed_rows(f),
            "by_claim": [c for c in data["claims"] if c["id"] in f["claims"]],
        }
        for f in data["figures"]
    ]
    faithful = data["faithful"]
    knobs = data["sensitivity"]
    claims = []
    for c in data["claims"]:
        columns = verdict_cells(c, *([c["faithful"]] if faithful else ()))
        columns[0] = cut(verdict_text(c, knobs))
        claims.append(c | {"texts": texts_of(c), "columns": columns, "evidence": evidence(c)})
    return {
        "data": data,
        "screen": first_screen(data),
        "title": short_of(data["paper"]["name"]),
        "pictured": next(
            (f for f in figures if f["svg"] and f["id"] == data["paper"]["figure"]), None
        ),
        "behind": {p: t for p, t in BEHIND.items() if p != "sensitivity" or knobs["knobs"]},
        "heads": [*COLUMNS, *((FAITHFUL, "cases") if faithful else ())],
        "claims": claims,
        "faithful": faithful,
        "faithful_lead": FAITHFUL_LEAD,
        "channels_lead": CHANNELS_LEAD,
        "lead": sensitivity_lead(data),
        "scaled": scaled_note(
            data["options"]["scale"], coarse_claims(data), data["options"]["seeds"]
        ),
        "scaled_knobs": scaled_note(knobs["scale"], seeds=knobs["seeds"]),
        "figures": figures,
        "sums": sums_rows(data),
        "setup": setup_rows(data),
        "policies": policy_rows(data),
        "loads": loads_rows(data),
        "remarks": loads_remarks(data),
        "matched": matched_rows(data),
        "fit": fit_rows(data),
        "channels": channel_rows(data),
        "knobs": [{**k, "rows": swing_rows(k)} for k in knobs["knobs"]],
        "differs": differences(data),
    }


def evidence(claim: Mapping[str, Any]) -> str:
    """A claim's evidence in a cell: cases by status, and the range with its interval."""
    parts = [statuses_in_words(claim)]
    if claim["measured"] != "-":
        parts.append(measured_briefly(claim["measured"]))
    return cut("; ".join(p for p in parts if p) or claim["which"] or "-")


def behind(page: Mapping[str, Any]) -> dict[str, str]:
    """The Markdown pages behind the first screen, by name."""
    return {part: rendered("reproduce.md.j2", part=part, **page) for part in page["behind"]}


def html(page: Mapping[str, Any], *, indexed: bool = False) -> str:
    """Return the HTML page, which loads nothing."""
    from markupsafe import Markup

    figures = [
        {**f, "svg": Markup(inline(f["svg"])) if f["svg"] else None} for f in page["figures"]
    ]
    drawn_at = {name: f["id"] for f in reversed(figures) for name in f["claims"]}
    main = next(
        (f for f in figures if f["svg"] and f["id"] == page["data"]["paper"]["figure"]), None
    )
    more = {"indexed": indexed, "drawn_at": drawn_at, "main": main}
    return rendered("reproduce.html.j2", **{**page, "figures": figures}, **more)


def short_of(name: str) -> str:
    """A paper's policy as people write it."""
    return "GCaR" if name == "gcar" else name.upper()


def rendered(name: str, **page: Any) -> str:
    """Return a page of the package's templates."""
    if name.endswith(".html.j2"):
        page |= {"policy": policy([style()]), "css": style()}
    text: str = template(name).render(how=HOW, **page)
    return text if name.endswith(".html.j2") else text.rstrip() + "\n"


def style() -> Any:
    """Return the style sheet of these pages."""
    from markupsafe import Markup

    from destage.show.pages.layout import asset, style_variables

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
    environment.filters |= {"table": markdown_table, "cut": cut}
    return environment.from_string(source)
