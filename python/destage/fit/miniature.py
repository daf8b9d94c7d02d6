"""The same SSD with fewer blocks: a miniature measures in minutes (`docs/spec/fit.md` 10.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["LARGE_PAGES", "miniature", "planes", "write_points"]

#: Devices with more raw pages are played as miniatures.
LARGE_PAGES = 1 << 22
#: A miniature has at least that many raw pages, blocks a plane, and raw pages for each of the
#: buffer.
RAW_PAGES, BLOCKS, BUFFERS = 1 << 18, 160, 32

Keys = Mapping[str, Any]


def write_points(keys: Keys) -> int:
    """A: write points of a plane (T 7.1), with that of map pages."""
    handles = int(keys.get("handles", 1))
    victim = keys.get("gc_victim", "greedy")
    stream = keys.get("gc_stream") or ("by-generation" if victim == "2r-fifo" else "shared")
    more = {"shared": 0, "own": 1, "by-generation": 2}[stream]
    own = 1 if keys.get("map_cache") else 0
    return own + handles + more * (handles if keys.get("isolation") == "persistent" else 1)


def planes(keys: Keys) -> int:
    """Planes of the device."""
    sizes = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
    return math.prod(int(keys.get(key, 1)) for key in sizes)


def miniature(keys: Keys) -> dict[str, Any]:
    """A `[device]` table with fewer blocks, and the same effective over-provisioning.

    What a plane keeps free, the threshold and half a block a write point, is as many blocks here as
    there: so the logical pages follow from the rest of the blocks.
    """
    count, pages = planes(keys), int(keys["pages_per_block"])
    blocks = int(keys["blocks_per_plane"])
    raw = max(RAW_PAGES, BUFFERS * int(keys.get("buffer_pages", 0)))
    fewer = min(blocks, max(BLOCKS, -(-raw // (count * pages))))
    if fewer == blocks:
        return dict(keys)
    data = pages - (1 if keys.get("summary_page") else 0)
    points = write_points(keys)
    threshold = int(keys.get("gc_low_pages") or 2 * data * points)
    # A large device's threshold can be a share of it: it shrinks with the blocks.
    small_threshold = max(2 * data * points, threshold * fewer // blocks)

    def left(blocks: int, low: int) -> float:
        return blocks - low / data - points / 2

    share = int(keys["logical_pages"]) / (count * data) / left(blocks, threshold)
    stripe = count * int(keys.get("stripe_pages", 1))
    logical = int(share * left(fewer, small_threshold) * count * data) // stripe * stripe
    small = {**keys, "blocks_per_plane": fewer, "gc_low_pages": small_threshold}
    small["logical_pages"] = logical
    small.pop("gc_high_pages", None)
    if keys.get("slc_blocks"):
        small["slc_blocks"] = max(2, round(int(keys["slc_blocks"]) * fewer / blocks))
    if keys.get("map_cache"):
        page = int(keys["page_bytes"])
        own = int(keys["map_cache"]) * logical / int(keys["logical_pages"])
        small["map_cache"] = max(1, round(own / page)) * page
    return small
