"""A synthetic routing log of a mixture-of-experts model, which `destage` reads as `moe-routing`.

    python examples/routing_trace.py routing.jsonl

Not a recording. Each layer has popular experts of its own (Zipf), and each prompt a topic that
prefers some of them, so that the experts of neighbouring tokens are alike.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

LAYERS, EXPERTS, TOP = 8, 64, 4
PROMPTS, TOKENS = 40, 25
#: Skew of the experts' popularity, and weight of a prompt's favourites against it.
SKEW, FAVOURITES, WEIGHT = 0.6, 10, 12.0


def write(path: str | Path, seed: int = 1) -> None:
    """Write the log: a line for each token and layer, in the order of the model's work."""
    chance = random.Random(seed)
    popular = [
        chance.sample([(rank + 1) ** -SKEW for rank in range(EXPERTS)], EXPERTS)
        for _ in range(LAYERS)
    ]
    with Path(path).open("w", encoding="utf-8") as file:
        for token in range(PROMPTS * TOKENS):
            if token % TOKENS == 0:
                topics = [chance.sample(range(EXPERTS), FAVOURITES) for _ in range(LAYERS)]
            for layer in range(LAYERS):
                weights = list(popular[layer])
                for expert in topics[layer]:
                    weights[expert] *= WEIGHT
                # The largest keys u^(1/w) are a sample without replacement, by weight.
                keys = [chance.random() ** (1 / weight) for weight in weights]
                chosen = sorted(range(EXPERTS), key=keys.__getitem__)[-TOP:]
                line = {"token": token, "layer": layer, "topk_ids": sorted(chosen)}
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else "routing.jsonl")
