"""The answer and the table of `destage mrc --partition layer`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from destage.model.partition import Gains, Layer, Point, TokenTime
from destage.model.words import counted, number, plain, ratio, significant
from destage.show.tables.table import Cell, Column, Table

__all__ = ["partition_answer", "partition_table"]


def partition_answer(gains: Sequence[Gains], layers: Sequence[Layer]) -> str:
    """A line for each cache size: the failure, and what each remedy would gain."""
    reads = sum(layer.reads for layer in layers)
    experts = sum(layer.experts for layer in layers)

    def said(one: Gains) -> str:
        head = f"{one.cache} ({number(one.frames)} of {counted(experts, 'expert')})"
        by_policy = f"MIN gains {ratio(one.by_policy / reads, 1)} points of hits over {one.policy}"
        by_size = f"twice the cache {ratio(one.by_size / reads, 1)}"
        return f"{head}: {one.verdict}. {by_policy}, {by_size}."

    return plain("\n".join(map(said, gains)))


def partition_table(
    points: Sequence[Point], layers: Sequence[Layer], time: TokenTime | None
) -> Table:
    """Hits of both arrangements by size and policy; with a token's time also that."""
    reads = sum(layer.reads for layer in layers)
    tokens = time.tokens(layers) if time else 0
    columns = [
        Column("cache", right=False, key=True),
        Column("policy", right=False, key=True),
        Column("one cache: hit %"),
        Column("per layer: hit %"),
    ]
    if time:
        columns += [Column("one cache: ms per token"), Column("per layer: ms per token")]
    table = Table("", columns)
    for _, group in groupby(points, key=lambda point: point.cache):
        size = list(group)
        rows = []
        for point in size:
            both = _misses(point)
            row = [Cell(point.cache), Cell(point.policy)]
            one, per_layer = (ratio(1 - misses / reads, 1) for misses in both)
            row += [Cell(one, best=point.is_best), Cell(per_layer)]
            if time:
                row += [Cell(significant(time.ms(misses, tokens))) for misses in both]
            rows.append(row)
        table.groups.append(rows)
    table.notes = _notes(layers, time, tokens)
    if any(point.is_best for point in points):
        mark = "* best of one cache at this size: significant (95 %), and by 1 % or more"
        table.notes.insert(1, mark)
    return table


def _misses(point: Point) -> tuple[int, int]:
    return point.misses, sum(point.layer_misses)


def _notes(layers: Sequence[Layer], time: TokenTime | None, tokens: int) -> list[str]:
    reads = sum(layer.reads for layer in layers)
    notes = [
        f"{counted(len(layers), 'layer')}, {counted(reads, 'read')} of"
        f" {counted(sum(layer.experts for layer in layers), 'expert')};"
        " per layer: a cache for each, with equal shares of the size",
    ]
    if time:
        notes.append(
            f"ms per token: {counted(tokens, 'token')}; each miss reads"
            f" {number(time.expert_bytes)} bytes at {significant(time.bytes_per_s / 1e9)} GB/s,"
            " one after another; no computation"
        )
    return notes
