"""Names of a page's parts: their trace, or the settings in which parts over one trace differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from destage.model.axes import device_keys
from destage.model.results import ResultSet
from destage.show.pages.drive import drive_name

__all__ = ["named_parts"]


def named_parts(names: Sequence[str], results: Sequence[ResultSet]) -> tuple[str, list[str]]:
    """The page's title, and the names of its parts, of which the first have these results."""
    traces = list(dict.fromkeys(names))
    title = traces[0] if len(traces) == 1 else f"{len(traces)} traces"
    if len(traces) == len(names) or len(results) < len(names):
        return title, list(names)
    drives = [drive_name(result) or "no device" for result in results]
    if len(traces) == 1 and len(set(drives)) == len(names):
        return f"{title}: {len(names)} devices", drives
    settings = [_settings(result) for result in results]
    keys = list(dict.fromkeys(key for some in settings for key in some))
    keys = [key for key in keys if len({some.get(key) for some in settings}) > 1]
    found = []
    for name, some in zip(names, settings, strict=True):
        words = [name] if len(traces) > 1 else []
        words += [some[key] if key == "device" else f"{key} {some.get(key, '-')}" for key in keys]
        found.append(", ".join(words))
    # Parts that differ in nothing that is known here.
    counts, seen = Counter(found), Counter[str]()
    for k, name in enumerate(found):
        seen[name] += 1
        found[k] = f"{name or names[k]} ({seen[name]})" if counts[name] > 1 else name
    if len(traces) == 1:
        kind = _PLURAL.get(keys[0], "settings") if len(keys) == 1 else "settings"
        title += f": {len(names)} {kind if keys else 'results'}"
    return title, found


_PLURAL = {"device": "devices", "queue depth": "queue depths"}


def _settings(result: ResultSet) -> dict[str, str]:
    """The settings of a part beside its trace, policies and cache sizes."""
    name = drive_name(result)
    if name is None:
        return {"device": "no device"}
    base, keys = device_keys(name)
    depths = {run.queue_depth for run in result.runs}
    depth = next(iter(depths), None)
    placement = next((run.placement for run in result.runs if run.placement), "none")
    found = {"device": base, "queue depth": "of the trace" if depth is None else str(depth)}
    known = ("host.queue_depth", "placement")
    return found | {"placement": placement} | {k: v for k, v in keys.items() if k not in known}
