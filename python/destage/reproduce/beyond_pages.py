"""The pages beyond the papers: statements, then winners, rank reversals, padding, optimum."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from destage.base.io.files import made_folder, write_whole
from destage.model.estimates import Estimate
from destage.model.metrics import BASELINE, ORACLE
from destage.model.words import supported
from destage.reproduce.findings import (
    LEVEL,
    PADDED,
    UNPADDED,
    Findings,
    ahead,
    online_means,
    picture,
    saved,
)
from destage.reproduce.pages import KINDS, Cells, rendered, write_data
from destage.reproduce.wording import number

__all__ = ["write_all", "write_beyond"]

#: Policies that are named where ranks differ most, and of a cell of winners.
NAMED, WINNERS = 5, 3

Data = Mapping[str, Any]


def write_beyond(data: Data, folder: Path, *, pages: Path | None = None) -> list[Path]:
    """Write `beyond.md` and its figures, `beyond.html` and `beyond.json`; return them.

    The page of all tables, `beyond/all.md`, goes into `pages`. Raises `OutputError`.
    """
    from markupsafe import Markup

    from destage.reproduce.panels import inline

    found = Findings(data)
    pictures = {one.id: picture(one) for one in found.figures}
    sections = list(_sections(data))
    page = _page_of(data, found)
    made_folder(folder)
    made_folder(folder / "beyond")
    files = {f"{name}.svg": text for name, text in pictures.items()}
    for name, text in files.items():
        write_whole(folder / "beyond" / name, text)
    markdown = rendered("beyond.md.j2", part="screen", sections=(), **page)
    shown = {name: Markup(inline(text)) for name, text in pictures.items()}
    html = rendered("beyond.html.j2", sections=sections, pictures=shown, **page)
    written = [folder / "beyond" / name for name in files]
    written += [write_all(data, pages)] if pages is not None else []
    return [*written, *write_data(folder, "beyond", data, markdown, html)]


def write_all(data: Data, folder: Path) -> Path:
    """Write `beyond/all.md`, the page of all tables, from the tables or their JSON.

    Raises `OutputError`.
    """
    made_folder(folder)
    made_folder(folder / "beyond")
    sections, page = list(_sections(data)), _page_of(data, Findings(data))
    text = rendered("beyond.md.j2", part="all", sections=sections, **page)
    write_whole(folder / "beyond" / "all.md", text)
    return folder / "beyond" / "all.md"


def _page_of(data: Data, found: Findings) -> dict[str, Any]:
    """The parts of the pages, as their templates take them."""
    return {
        "data": data,
        "ftls": f"`{'`, `'.join(data['ftls'].values())}`",
        "requests": max((t["requests"] for t in data["tables"]), default=0),
        "statements": found.statements,
        "variants": variant_rows(data),
        "compared": len(compared(data)),
    }


def compared(data: Data) -> set[str]:
    """The online policies in front of every variant of the device; the preset has all."""
    return {
        row["policy"]
        for table in data["tables"]
        for row in table["rows"]
        if row["policy"] not in table["offline"]
        and all(len(row[axis]) == len(data[axis]) for axis in ("waits", "collectors"))
    }


def variant_rows(data: Data) -> Cells:
    """Who wins by eviction wait and by collector, behind the FTL `page`, and its lead over LRU."""
    rows: Cells = [["device", *(table["load"] for table in data["tables"])]]
    for axis, what in (("waits", "eviction wait"), ("collectors", "collector")):
        for k, label in enumerate(data[axis]):
            if k == 0 and axis == "collectors":
                continue  # The preset itself, which is the first row.
            cells = [f"{what} {label}" if k else "preset (staged, greedy in steps)"]
            for table in data["tables"]:
                cells.append(_winners(table, axis, label, compared(data)))
            rows.append(cells)
    return rows


def _winners(table: Data, axis: str, label: str, among: Collection[str]) -> str:
    """The fastest of some policies, those that are level with it, and its lead over LRU."""
    online = [p for p in online_means(table, axis, label) if p in among]
    if BASELINE not in online:
        return "-"
    best, *others = online
    leads = {p: saved(table, axis, label, best, p) for p in others}
    level = [p for p, lead in leads.items() if not ahead(lead)]
    names = " or ".join([best, *level][:WINNERS])
    more = f" and {len(level) + 1 - WINNERS} more" if len(level) >= WINNERS else ""
    return f"{names}{more}, {_with_interval(saved(table, axis, label, best))}"


def _with_interval(share: Estimate) -> str:
    """A share in per cent with half its interval, where it has one."""
    digits = 1 if abs(share.mean) >= 0.1 else 2
    shown, half = supported(100 * share.mean, 100 * share.half, digits)
    return f"{shown} ± {half} %" if share.half else f"{shown} %"


def _sections(data: Data) -> Iterator[tuple[str, str, Cells]]:
    """Title, remark and table of each section: conclusions, then all policies."""
    yield (
        "Who wins",
        "The online policy with the lowest mean response time for each workload and FTL, the"
        " policies within 1 %, and LRU's place.",
        winner_rows(data),
    )
    yield (
        "Rank reversals",
        "The policies whose rank by mean response time depends most on the FTL. Ranks are among"
        " the policies that ran behind all.",
        reversal_rows(data),
    )
    yield (
        "Cost of padding",
        "BPLRU fills each destaged block with pages that it reads first. Cost and savings: with"
        " padding over without.",
        padding_rows(data),
    )
    if data["optimum"]:
        yield (
            "Distance to the optimum",
            "Costs over the least possible cost with the future known, on a part of each workload."
            " The last section has all policies and the method.",
            optimum_cells(data, data["tables"][0]["offline"] if data["tables"] else []),
        )
    for table in data["tables"]:
        remark = (
            f"{KINDS.get(table['kind'], table['kind'])}: {table['title']}."
            f" {table['requests']:,} requests,"
            f" {table['accesses']:,} page accesses, {table['unique_pages']:,} pages; a cache of"
            f" {table['cache']}."
        )
        yield f"All policies: {table['load']}", remark, table_rows(table)
    if data["optimum"]:
        first = data["optimum"][0]
        yield (
            "Distance to the optimum, all policies",
            f"Costs of {first['accesses']:,} page accesses from the middle of each load with"
            f" {first['frames']} frames, divided by the least that any policy can have, future"
            " known: a read and a write cost as on ACR's two disks. The least comes from"
            " minimum-cost flows and branching (`destage/reproduce/offline.py`); where two numbers"
            " stand, it lies between them, and costs are divided by the lower. MIN hits most and is"
            " not the cheapest: it does not ask what a write costs.",
            optimum_rows(data),
        )


def winner_rows(data: Data) -> Cells:
    """The lowest mean response by workload and FTL, the policies within `LEVEL`, and LRU."""
    level = f"within {100 * LEVEL:g} %"
    rows: Cells = [["workload", "FTL", "lowest mean response", level, "LRU needs", "LRU is"]]
    for table in data["tables"]:
        for ftl in data["ftls"]:
            means = online_means(table, "ftls", ftl)
            if not means:
                continue
            best, least = next(iter(means.items()))
            near = [p for p, mean in means.items() if p != best and mean <= least * (1 + LEVEL)]
            more = f" and {len(near) - NAMED} more" if len(near) > NAMED else ""
            cells = [f"{best} ({number(least / 1e6)} ms)", ", ".join(near[:NAMED]) + more or "-"]
            if BASELINE in means:
                place = f"{list(means).index(BASELINE) + 1} of {len(means)}"
                cells += [f"{means[BASELINE] / least:.3f} of it", place]
            rows.append([table["load"], ftl, *cells, *["-"] * (4 - len(cells))])
    return rows


def reversal_rows(data: Data) -> Cells:
    """The policies whose ranks by mean response differ most between FTLs, by workload."""
    ftls = list(data["ftls"])
    rows: Cells = [["workload", "policy", *(f"rank behind {ftl}" for ftl in ftls)]]
    for table in data["tables"]:
        means = [online_means(table, "ftls", ftl) for ftl in ftls]
        everywhere = set(means[0]).intersection(*means[1:])
        orders = [[p for p in found if p in everywhere] for found in means]
        ranks = {p: [order.index(p) + 1 for order in orders] for p in sorted(everywhere)}
        apart = sorted(ranks, key=lambda p, r=ranks: (min(r[p]) - max(r[p]), p))  # type: ignore[misc]
        for name in apart[:NAMED]:
            if max(ranks[name]) > min(ranks[name]):
                rows.append([table["load"], name, *map(str, ranks[name])])
    return rows


def padding_rows(data: Data) -> Cells:
    """The cost of filling blocks in BPLRU: with padding over without."""
    rows: Cells = [["workload", "FTL", "mean response", "erases", "WAF with", "WAF without"]]
    for table in data["tables"]:
        by_name = {row["policy"]: row["ftls"] for row in table["rows"]}
        for ftl in data["ftls"]:
            both = [by_name.get(name, {}).get(ftl, "") for name in (PADDED, UNPADDED)]
            if any(isinstance(one, str) for one in both):
                continue
            times = [_times(*(n[key] for n in both)) for key in ("response_ns_mean", "erases")]
            rows.append([table["load"], ftl, *times, *(_shown(n["waf"], ".2f") for n in both)])
    return rows


def _times(of: float | None, to: float | None) -> str:
    if of is None or to is None:
        return "-"
    if not to:
        return "none in both" if not of else f"{of:,.0f} against none"
    return f"{of / to:.2f} times"


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def optimum_cells(data: Data, offline: Sequence[str]) -> Cells:
    """The distance of the best policy, LRU and MIN from the least possible cost."""
    rows: Cells = [["workload", "read : write", "best policy", "costs", "LRU", "MIN"]]
    for load in data["optimum"]:
        for cost in load["costs"]:
            costs = cost["costs"]
            online = {p: c for p, c in costs.items() if p not in offline}
            if not online or not cost["least"]:
                continue
            best = min(online, key=lambda p, o=online: (o[p], p))  # type: ignore[misc]
            over = {p: f"{c / cost['least']:.3f} of the least" for p, c in costs.items()}
            ends = [over.get(p, "-") for p in (best, BASELINE, ORACLE)]
            rows.append([load["load"], f"{cost['read']} : {cost['write']}", best, *ends])
    return rows


def table_rows(table: Data) -> Cells:
    """One row per policy, the lowest mean response over the page map first."""
    ftls = list(table["rows"][0]["ftls"])
    rows: Cells = [["policy", "hits", "of MIN's"]]
    for ftl in ftls:
        rows[0] += [f"{ftl}: mean (ms)", "p99 (ms)", "WAF", "erases"]

    def order(row: Data) -> float:
        first = row["ftls"]["page"]
        # A policy that did not run comes last.
        return math.inf if isinstance(first, str) else float(first["response_ns_mean"] or 0.0)

    for row in sorted(table["rows"], key=order):
        cells = [row["policy"] + (" (offline)" if row["policy"] in table["offline"] else "")]
        for key in ("hit_ratio", "of_min"):
            cells.append("-" if row[key] is None else number(row[key], share=True))
        for ftl in ftls:
            n = row["ftls"][ftl]
            if isinstance(n, str):
                cells += ["device full" if "device full" in n else n, "", "", ""]
                continue
            times = (n["response_ns_mean"], n["response_ns_p99"])
            cells += ["-" if value is None else number(value / 1e6) for value in times]
            cells += [_shown(n["waf"], ".2f"), _shown(n["erases"], ",")]
        rows.append(cells)
    return rows


def optimum_rows(data: Data) -> Cells:
    """Costs over the least possible: one row per policy, a column for each workload and cost."""
    rows: Cells = [["policy"], ["least possible"]]
    columns = []
    for load in data["optimum"]:
        for cost in load["costs"]:
            columns.append(cost)
            rows[0].append(f"{load['load']}, {cost['read']}:{cost['write']}")
            exact = cost["least"] == cost["least_at_most"]
            rows[1].append(
                f"{cost['least']:,}" + ("" if exact else f" to {cost['least_at_most']:,}")
            )
    ratios: list[tuple[float, list[str]]] = []
    for name in columns[0]["costs"]:
        found = [c["costs"][name] / c["least"] if c["least"] else 1.0 for c in columns]
        ratios.append((sum(found), [name, *(f"{ratio:.3f}" for ratio in found)]))
    return rows + [cells for _, cells in sorted(ratios)]
