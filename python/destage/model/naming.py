"""Names of policies as users type them: in any case, and by groups.

Groups follow from the catalogue, so that a new policy is in its groups as soon as it is in the
table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from destage import _destage
from destage.base.io.names import text_of

__all__ = [
    "EXCLUDING",
    "FAMILIES",
    "GROUPS",
    "PREFIX_MIN",
    "canonical",
    "catalogue",
    "default_padding",
    "default_policies",
    "excluded_by",
    "is_foreseeing",
    "members",
    "need_a_drive",
    "parts",
    "skipped",
    "without_placement",
]

#: Families of policies, in the order of lists and of the README: key, and what they have in common.
FAMILIES: Mapping[str, str] = {
    "classic": "General purpose",
    "flash": "Clean/dirty-aware",
    "admission": "Admission control",
    "drive": "Device-aware",
    "over": "Wrapper, batched destages",
    "blocks": "Write buffers that destage whole erase blocks",
}

#: The bound of cached prefixes (`kv`): no policy of the catalogue, but run beside them.
PREFIX_MIN = "prefix-min"

#: Groups that `-p` accepts, and their policies.
GROUPS: Mapping[str, str] = {
    "all": "every policy",
    "flash": "clean/dirty-aware, device-aware, write buffers, ace",
    "classic": "general-purpose policies",
}


#: Options of a run that exclude policies.
EXCLUDING = ("tier2", "kv", "touch", "ttl", "pin", "offer", "fetch_on_write_miss")


@cache
def catalogue() -> tuple[Mapping[str, Any], ...]:
    """Every policy as the engine declares it, in the order of the catalogue."""
    return tuple(json.loads(_destage.policies()))


@cache
def members(group: str) -> tuple[str, ...]:
    """The policies of a group, in the order of the catalogue."""
    chosen = [p for p in catalogue() if group != "flash" or p["flash_aware"]]
    if group == "classic":
        chosen = [p for p in chosen if p["family"] == "classic"]
    return tuple(p["name"] for p in chosen)


def default_policies(call: str) -> str:
    """The policies that a call runs by default: those with a place in `compared` or `advised`."""
    placed = [p for p in catalogue() if p[call] is not None]
    return ",".join(p["name"] for p in sorted(placed, key=lambda p: int(p[call])))


@cache
def default_padding() -> str:
    """The first policy that pads whatever the run, and runs without a device."""
    padding = (p["name"] for p in catalogue() if p["pads"] == "always" and not p["needs_device"])
    return str(next(padding))


@cache
def need_a_drive() -> frozenset[str]:
    """Policies that look at the device behind the cache."""
    return frozenset(p["name"] for p in catalogue() if p["needs_device"])


def excluded_by(options: Mapping[str, object]) -> frozenset[str]:
    """Policies of the catalogue that the options of `EXCLUDING` exclude."""
    return frozenset(_exclusions(options))


def _each(value: object) -> list[str]:
    """The values of an option, of which a grid has several."""
    if isinstance(value, str):
        return [part.strip() for part in parts(value)]
    return [str(one) for one in value] if isinstance(value, Iterable) else []


def _exclusions(options: Mapping[str, object]) -> dict[str, str]:
    """These policies, each with the option that excludes it."""
    offers = _each(options.get("offer"))
    feeds = any(offer.startswith("feed") for offer in offers)
    feeds_one_list = any("lists=mfu" in offer for offer in offers)

    def why(p: Mapping[str, Any]) -> str | None:
        several = p["admission"] or p["needs_device"] or p["family"] == "over"
        can_feed = p["two_lists"] or (p["ordered"] and not feeds_one_list)
        excludes = {
            "tier2": p["clusters"] or several,
            "kv": p["clusters"],
            "ttl": p["clusters"] or p["admission"] or p["offline"],
            "pin": p["clusters"],
            "touch": p["tail_first"] and options.get("touch") == "head-first",
            "offer": feeds and not can_feed,
            "fetch_on_write_miss": p["clusters"],
        }
        given = {name for name, value in options.items() if value and value != "none"}
        return next((name for name, does in excludes.items() if does and name in given), None)

    found = {p["name"]: why(p) for p in catalogue()}
    return {name: option for name, option in found.items() if option is not None}


def skipped(
    left: Iterable[str], options: Mapping[str, object], prefix: str = ""
) -> dict[str, dict[str, None]]:
    """Policies that a group leaves out, by the reason; an option is named with this prefix."""
    excluded, found = _exclusions(options), dict[str, dict[str, None]]()
    for name in left:
        needing = "they need a simulated SSD (--device)" if prefix else "they need a simulated SSD"
        option = excluded.get(name, "").replace("_", "-" if prefix else "_")
        why = f"{prefix}{option} excludes them" if option else needing
        found.setdefault(f"skipped, since {why}", {})[name] = None
    return found


@cache
def _names() -> frozenset[str]:
    return frozenset(p["name"] for p in catalogue()) | {"none", PREFIX_MIN}


def parts(text: str) -> Iterator[str]:
    """The policies of a list; commas inside brackets separate nothing."""
    depth, start = 0, 0
    for k, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if c == "," and depth <= 0:
            yield text[start:k]
            start = k + 1
    yield text[start:]


@cache
def _placement_keys() -> frozenset[str]:
    """Keys of `[placement]`, as the name of a device has them."""
    keys = json.loads(_destage.drive_keys())
    return frozenset(k["name"] for k in keys if k["table"] == "placement") | {"placement"}


def without_placement(drive: str) -> str:
    """The name of a device without its placement: `fdp[placement=sepbit]` is `fdp`."""
    base, bracket, rest = drive.partition("[")
    if not bracket or not rest.endswith("]"):
        return drive
    changes = rest[:-1].split(";")

    def is_of_placement(change: str) -> bool:
        key = change.partition("=")[0]
        return key.startswith("placement.") or (key != "policy" and key in _placement_keys())

    kept = [change for change in changes if not is_of_placement(change)]
    return f"{base}[{';'.join(kept)}]" if kept else base


def is_foreseeing(placement: str | None) -> bool:
    """A placement policy that uses future accesses: a reference, nothing to build."""
    return placement is not None and placement.partition("[")[0] == "fk"


def canonical(text: str) -> str:
    """The same list with the names of policies as the catalogue writes them: `LRU` is `lru`.

    Other names are left as they are.
    """
    return ",".join(_one(part) for part in parts(text_of(text, "policy")))


def _one(part: str) -> str:
    name, bracket, rest = part.partition("[")
    lower = name.strip().lower()
    return f"{lower}{bracket}{rest}" if lower in _names() else part
