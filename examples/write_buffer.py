"""A write buffer of your own: it destages a whole erase block at once, as one flush group.

Run it with `python examples/write_buffer.py`.
"""

from __future__ import annotations

from typing import Any

import destage


class BlockLru(destage.Policy):
    """Evicts the block unused for longest, with its dirty pages as one group."""

    def __init__(self, frames: int, *, pages_per_block: int) -> None:
        super().__init__(frames)
        self.pages_per_block = pages_per_block
        self.blocks: dict[int, dict[int, bool]] = {}  # block -> {page: dirty}, oldest first

    def request(self, r: destage.Request) -> destage.Hit | destage.Miss:
        block = r.lpn // self.pages_per_block
        pages = self.blocks.get(block, {})
        if r.page not in pages:
            return destage.Miss(block)
        pages[r.page] |= r.is_write
        self.blocks[block] = self.blocks.pop(block)  # newest
        return destage.HIT

    def evict(self, block: Any, device: destage.DeviceView | None, plan: destage.Plan) -> None:
        pages = self.blocks.pop(next(iter(self.blocks)))
        for page in sorted(p for p, dirty in pages.items() if not dirty):
            plan.evict(page, dirty=False)
        dirty = sorted(p for p, dirty in pages.items() if dirty)
        if dirty:
            plan.open_group()
        for page in dirty:
            plan.flush_and_evict(page)

    def admit(self, r: destage.Request, block: Any) -> None:
        self.blocks[block] = self.blocks.pop(block, {}) | {r.page: r.is_write}


def main() -> None:
    """Compare its groups with LRU's single pages."""
    trace = destage.synth("locality", requests=2_000, pages=200, read_ratio=0.2, seed=4)
    print(destage.compare(trace, ["lru", BlockLru], cache="40p", pages_per_block=8))


if __name__ == "__main__":
    main()
