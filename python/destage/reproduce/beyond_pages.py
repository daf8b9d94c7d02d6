"""The page beyond the papers: winners, rank reversals, padding, optimum, then all policies."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from destage.io.files import made_folder, write_whole
from destage.model.metrics import BASELINE, ORACLE
from destage.model.naming import default_padding
from destage.report.plain import policy
from destage.reproduce.digits import number
from destage.reproduce.pages import markdown_table, style, template
from destage.reproduce.tabled import Cells

__all__ = [
    "UNPADDED",
    "optimum_told",
    "padding_rows",
    "reversal_rows",
    "winner_rows",
    "write_beyond",
]

#: BPLRU as it is, and without the pages that it reads and writes to fill blocks.
PADDED = default_padding()
UNPADDED = f"{PADDED}[padding=false]"
#: Means this close to the best are level with it.
LEVEL = 0.01
#: So many policies are named where ranks are most apart.
NAMED = 5


def _online(table: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Policies that could run: none that knows the future."""
    return (row for row in table["rows"] if row["policy"] not in table["offline"])


def _means(table: Mapping[str, Any], ftl: str) -> dict[str, float]:
    """Mean responses behind an FTL, the lowest first; what could not run is not among them."""
    found = {
        row["policy"]: float(row["ftls"][ftl]["response_ns_mean"])
        for row in _online(table)
        if not isinstance(row["ftls"][ftl], str) and row["ftls"][ftl]["response_ns_mean"]
    }
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def winner_rows(data: Mapping[str, Any]) -> Cells:
    """For each load and FTL the lowest mean response, what is level with it, and LRU's place."""
    rows: Cells = [
        ["load", "FTL", "lowest mean response", f"within {100 * LEVEL:g} %", "LRU needs", "LRU is"]
    ]
    for table in data["tables"]:
        for ftl in data["ftls"]:
            means = _means(table, ftl)
            if not means:
                continue
            best, least = next(iter(means.items()))
            level = [p for p, mean in means.items() if p != best and mean <= least * (1 + LEVEL)]
            lru = f"{means[BASELINE] / least:.3f} of it" if BASELINE in means else "-"
            place = "-"
            if BASELINE in means:
                place = f"{list(means).index(BASELINE) + 1} of {len(means)}"
            level_ = ", ".join(level[:NAMED]) + (
                f" and {len(level) - NAMED} more" if len(level) > NAMED else ""
            )
            rows.append(
                [
                    table["load"],
                    ftl,
                    f"{best} ({number(least / 1e6)} ms)",
                    level_ or "-",
                    lru,
                    place,
                ]
            )
    return rows


def reversal_rows(data: Mapping[str, Any]) -> Cells:
    """The policies whose ranks by mean response differ most from FTL to FTL, load by load."""
    rows: Cells = [["load", "policy", *(f"rank behind {ftl}" for ftl in data["ftls"])]]
    for table in data["tables"]:
        ranks = _ranks(table, list(data["ftls"]))
        apart = sorted(ranks, key=lambda p: (min(ranks[p]) - max(ranks[p]), p))
        for name in apart[:NAMED]:
            if max(ranks[name]) > min(ranks[name]):
                rows.append([table["load"], name, *(str(rank) for rank in ranks[name])])
    return rows


def _ranks(table: Mapping[str, Any], ftls: Sequence[str]) -> dict[str, list[int]]:
    """Ranks of the policies that ran behind every FTL, among themselves."""
    means = [_means(table, ftl) for ftl in ftls]
    everywhere = set(means[0]).intersection(*means[1:])
    orders = [[p for p in found if p in everywhere] for found in means]
    return {p: [order.index(p) + 1 for order in orders] for p in sorted(everywhere)}


def padding_rows(data: Mapping[str, Any]) -> Cells:
    """What BPLRU pays for filling blocks: with padding over without."""
    rows: Cells = [["load", "FTL", "mean response", "erases", "WAF with", "WAF without"]]
    for table in data["tables"]:
        by_name = {row["policy"]: row["ftls"] for row in table["rows"]}
        for ftl in data["ftls"]:
            padded = by_name.get(PADDED, {}).get(ftl, "")
            plain = by_name.get(UNPADDED, {}).get(ftl, "")
            if isinstance(padded, str) or isinstance(plain, str):
                continue
            rows.append(
                [
                    table["load"],
                    ftl,
                    _times(padded["response_ns_mean"], plain["response_ns_mean"]),
                    _times(padded["erases"], plain["erases"]),
                    "-" if padded["waf"] is None else f"{padded['waf']:.2f}",
                    "-" if plain["waf"] is None else f"{plain['waf']:.2f}",
                ]
            )
    return rows


def _times(of: float | None, to: float | None) -> str:
    if of is None or to is None:
        return "-"
    if not to:
        return "none in both" if not of else f"{of:,.0f} against none"
    return f"{of / to:.2f} times"


def optimum_told(data: Mapping[str, Any], offline: Sequence[str]) -> Cells:
    """How far the best policy, LRU and MIN are from the least possible cost."""
    rows: Cells = [["load", "read : write", "best policy", "costs", "LRU", "MIN"]]
    for load in data["optimum"]:
        for cost in load["costs"]:
            online = {p: c for p, c in cost["costs"].items() if p not in offline}
            if not online or not cost["least"]:
                continue
            best = min(online, key=lambda p: (online[p], p))
            shown = [
                f"{cost['costs'][p] / cost['least']:.3f} of the least"
                if p in cost["costs"]
                else "-"
                for p in (best, BASELINE, ORACLE)
            ]
            rows.append([load["load"], f"{cost['read']} : {cost['write']}", best, *shown])
    return rows


def table_rows(table: Mapping[str, Any]) -> Cells:
    """One row per policy, the lowest mean response over the page map first."""
    ftls = list(table["rows"][0]["ftls"])
    head = ["policy", "hits", "of MIN's"]
    for ftl in ftls:
        head += [f"{ftl}: mean (ms)", "p99 (ms)", "WAF", "erases"]

    def order(row: Mapping[str, Any]) -> float:
        first = row["ftls"]["page"]
        # What did not run comes last.
        return math.inf if isinstance(first, str) else float(first["response_ns_mean"] or 0.0)

    rows: Cells = [head]
    for row in sorted(table["rows"], key=order):
        mark = " (offline)" if row["policy"] in table["offline"] else ""
        cells = [row["policy"] + mark, _share(row["hit_ratio"]), _share(row["of_min"])]
        for ftl in ftls:
            n = row["ftls"][ftl]
            if isinstance(n, str):
                cells += ["device full" if "device full" in n else n, "", "", ""]
                continue
            cells += [_ms(n["response_ns_mean"]), _ms(n["response_ns_p99"])]
            cells += ["-" if n["waf"] is None else f"{n['waf']:.2f}"]
            cells += ["-" if n["erases"] is None else f"{n['erases']:,}"]
        rows.append(cells)
    return rows


def _share(value: float | None) -> str:
    return "-" if value is None else number(value, share=True)


def _ms(value: float | None) -> str:
    return "-" if value is None else number(value / 1e6)


def optimum_rows(data: Mapping[str, Any]) -> Cells:
    """Costs over the least possible: one row per policy, a column for each load and cost."""
    head = ["policy"]
    columns = []
    for load in data["optimum"]:
        for cost in load["costs"]:
            head.append(f"{load['load']}, {cost['read']}:{cost['write']}")
            columns.append(cost)
    if not columns:
        return [head]
    rows: Cells = [head, ["least possible"]]
    for c in columns:
        exact = c["least"] == c["least_at_most"]
        text = f"{c['least']:,}" + ("" if exact else f" to {c['least_at_most']:,}")
        rows[1].append(text)
    ratios: list[tuple[float, list[str]]] = []
    for name in columns[0]["costs"]:
        found = [c["costs"][name] / c["least"] if c["least"] else 1.0 for c in columns]
        ratios.append((sum(found), [name, *(f"{ratio:.3f}" for ratio in found)]))
    return rows + [cells for _, cells in sorted(ratios)]


LEAD = (
    "All policies over all FTLs, which no paper shows: mean and 99th percentile of response, write"
    " amplification, erases, hit ratio and its share of MIN's, which no policy can pass."
)
WINNERS = (
    "The policy that can run in practice (none that knows the future) with the lowest mean response"
    " for each load and FTL, what is level with it, and where LRU stands."
)
REVERSALS = (
    "The policies whose rank by mean response depends most on the FTL: whoever compares behind one"
    " FTL only gets another order. Ranks are among the policies that could run behind all."
)
PADDING = (
    "BPLRU fills each block that it writes back with pages that it reads first. What that costs"
    " and saves: with padding over without."
)
FAR = (
    "Costs over the least that any policy can have, the future known, on a stretch of each load;"
    " the last section has all policies and says how the least is found."
)
OPTIMUM = (
    "Costs of {accesses:,} page accesses from the middle of each load with {frames} frames, divided"
    " by the least that any policy can have, future known: a read and a write cost as on ACR's two"
    " disks. The least"
    " comes from minimum-cost flows and branching (`destage/reproduce/offline.py`); where two"
    " numbers stand, it lies between them, and costs are divided by the lower. MIN hits most and is"
    " not the cheapest: it does not ask what a write costs."
)


def write_beyond(data: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write `beyond.html`, `beyond.md` and `beyond.json`; return them. Raises `OutputError`."""
    made_folder(folder)
    written = []
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    for suffix, content in (
        (".json", text),
        (".md", markdown(data)),
        (".html", html(data)),
    ):
        path = folder / f"beyond{suffix}"
        write_whole(path, content)
        written.append(path)
    return written


def _sections(data: Mapping[str, Any]) -> list[tuple[str, str, Cells]]:
    """Title, remark and table of each part: what the tables say, then the tables."""
    parts: list[tuple[str, str, Cells]] = [
        ("Who wins", WINNERS, winner_rows(data)),
        ("Rank reversals", REVERSALS, reversal_rows(data)),
        ("What padding costs", PADDING, padding_rows(data)),
    ]
    if data["optimum"]:
        offline = data["tables"][0]["offline"] if data["tables"] else []
        parts.append(("How far from the optimum", FAR, optimum_told(data, offline)))
    for table in data["tables"]:
        remark = (
            f"{table['kind']}: {table['title']}. {table['requests']:,} requests,"
            f" {table['accesses']:,} page accesses, {table['unique_pages']:,} pages; a cache of"
            f" {table['cache']}."
        )
        parts.append((f"All policies: {table['load']}", remark, table_rows(table)))
    if data["optimum"]:
        first = data["optimum"][0]
        remark = OPTIMUM.format(accesses=first["accesses"], frames=first["frames"])
        parts.append(("Distance to the optimum, all policies", remark, optimum_rows(data)))
    return parts


#: Why DFTL has more reserve than by default.
RESERVE = (
    "DFTL has 16 blocks in reserve: with its default of four this full drive runs full under a"
    " dozen policies, since collecting a block whose pages have their entries on as many"
    " translation pages takes more pages than it frees."
)


def _setup(data: Mapping[str, Any]) -> str:
    return (
        f"Drive `{data['device']}`, a cache of {data['cache']} for a million requests and"
        f" as much less for fewer, {data['queue_depth']} requests"
        f" outstanding (closed loop). FTLs: `{'`, `'.join(data['ftls'].values())}`. {RESERVE}"
    )


def markdown(data: Mapping[str, Any]) -> str:
    """Return the Markdown page."""
    out = ["# Beyond the papers", "", LEAD, "", _setup(data), ""]
    out += [f"Made by `{data['command']}`, Destage {data['version']}.", ""]
    for title, remark, rows in _sections(data):
        out += [f"## {title}", "", remark, "", markdown_table(rows)]
    return "\n".join(out).rstrip() + "\n"


def html(data: Mapping[str, Any]) -> str:
    """Return the HTML page, which loads nothing."""
    text: str = template("beyond.html.j2").render(
        lead=LEAD,
        setup=_setup(data).replace("`", ""),
        sections=_sections(data),
        command=data["command"],
        version=data["version"],
        policy=policy([style()]),
        css=style(),
    )
    return text
