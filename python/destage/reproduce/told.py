"""What the tables beyond the papers say, told before them: winners, reversals, padding, optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from destage.reproduce.digits import number

__all__ = ["UNPADDED", "optimum_told", "padding_rows", "reversal_rows", "winner_rows"]

#: BPLRU as it is, and without the pages that it reads and writes to fill blocks.
PADDED, UNPADDED = "bplru", "bplru[padding=false]"
#: Means this close to the best are level with it.
LEVEL = 0.01
#: So many policies are named where ranks are most apart.
NAMED = 5

Cells = list[list[str]]


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
            lru = f"{means['lru'] / least:.3f} of it" if "lru" in means else "-"
            place = f"{list(means).index('lru') + 1} of {len(means)}" if "lru" in means else "-"
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
        for policy in apart[:NAMED]:
            if max(ranks[policy]) > min(ranks[policy]):
                rows.append([table["load"], policy, *(str(rank) for rank in ranks[policy])])
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
                for p in (best, "lru", "min")
            ]
            rows.append([load["load"], f"{cost['read']} : {cost['write']}", best, *shown])
    return rows
