"""A policy of your own, compared with those that are built in.

Random replacement that spares dirty pages: it draws a few pages and evicts a clean one of them if
there is one. Run it with `python examples/own_policy.py`.
"""

from __future__ import annotations

import random
from typing import Any

import destage


class SampledCleanFirst(destage.Policy):
    """Draw `sample` pages; evict the first clean one, or else the first."""

    def __init__(self, frames: int, *, sample: int = 4, seed: int = 1) -> None:
        super().__init__(frames)
        self.sample = sample
        self.random = random.Random(seed)  # the same seed, the same decisions
        self.dirty: dict[int, bool] = {}  # resident pages
        self.pages: list[int] = []  # the same, to draw from

    def request(self, r: destage.Request) -> destage.Hit | destage.Miss:
        if r.page not in self.dirty:
            return destage.MISS
        self.dirty[r.page] |= r.is_write
        return destage.HIT

    def evict(self, miss: Any, device: destage.DeviceView | None, plan: destage.Plan) -> None:
        drawn = [self.random.randrange(len(self.pages)) for _ in range(self.sample)]
        at = next((k for k in drawn if not self.dirty[self.pages[k]]), drawn[0])
        page, self.pages[at] = self.pages[at], self.pages[-1]
        self.pages.pop()
        plan.evict(page, dirty=self.dirty.pop(page))

    def admit(self, r: destage.Request, miss: Any) -> None:
        self.dirty[r.page] = r.is_write
        self.pages.append(r.page)


def main() -> None:
    """Compare it on a workload of 50,000 requests."""
    trace = destage.synth("zipf", requests=50_000, pages=10_000, read_ratio=0.5, seed=7)
    # Every decision of a Python policy is checked: a violated invariant is an error that names it.
    policies: list[destage.PolicyLike] = [
        "lru",
        "cflru",
        SampledCleanFirst,
        (SampledCleanFirst, {"sample": 16}),
    ]
    print(destage.compare(trace, policies, cache="10%"))


if __name__ == "__main__":
    main()
