"""A page for each policy: from its file, the catalogue, its micro-trace and the beyond table."""

from __future__ import annotations

import html
import re
import tempfile
from pathlib import Path

import beyond
import micro
from assemble import ROOT, Assembly

import destage
from destage.model.naming import FAMILIES

SOURCES = ROOT / "crates" / "destage-policies" / "src"
#: Words that open a paragraph of a policy's file, set bold.
OPENERS = re.compile(r"^([A-Z][\w]*(?: [\w-]+){0,3})\. (?=\S)", re.M)
KNOWN = {"Rules", "Readings", "State", "Cost", "Costs", "Evict", "Adjust", "Victim", "Hit", "Miss"}


def write(site: Assembly) -> None:
    """Write the pages of all policies, and the page that lists them."""
    stand = beyond.places(site.source / "papers/beyond/all.md")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        lru = micro.play(destage.policy("lru"), folder)
        for policy in destage.policies():
            played = micro.play(policy, folder)
            parts = [
                _head(policy),
                _parameters(policy),
                _counted(policy),
                _module(policy),
                _steps(policy, played, lru),
                _standing(policy, stand.get(policy.name, [])),
            ]
            site.write(f"policies/{policy.name}.md", "\n\n".join(p for p in parts if p) + "\n")
    site.write("policies/index.md", _index())


def source_of(name: str) -> Path:
    """The file of a policy; variants are in that of their family."""
    marker = re.compile(rf'name: "{re.escape(name)}"')
    for path in sorted(SOURCES.glob("*.rs")):
        text = path.read_text(encoding="utf-8")
        if "INFO: Info" in text and marker.search(text):
            return path
    stem = name.replace("-", "_")
    while not (path := SOURCES / f"{stem}.rs").is_file():
        stem, _, _ = stem.rpartition("_")
        assert stem, f"{name}: no file in {SOURCES}"
    return path


def module_text(path: Path) -> str:
    """The text above a module, as Markdown."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line[3:].removeprefix(" "))
    text = "\n".join(lines)
    # Links into Rust's own documentation: what they name stays.
    text = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", text)
    text = re.sub(r"^(#+) ", r"##\1 ", text, flags=re.M)

    def bold(match: re.Match[str]) -> str:
        known = match[1].split()[0] in KNOWN or match[1].startswith("Case ")
        return f"**{match[1]}.** " if known else match[0]

    fenced = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(p if p.startswith("```") else OPENERS.sub(bold, p) for p in fenced)


def _head(policy: destage.PolicyInfo) -> str:
    traits = {
        "clean/dirty-aware": policy.flash_aware,
        "remembers evicted pages": policy.ghosts,
        "destages erase blocks": policy.clusters,
        "admission control": policy.admission,
        "needs a device": policy.needs_device,
        "offline": policy.offline,
        f"pads to whole blocks: {policy.pads.replace('_', ' ')}": policy.pads != "never",
    }
    facts = [
        ("Source", policy.source),
        ("Time per access", policy.time),
        ("Traits", "; ".join(name for name, so in traits.items() if so)),
    ]
    rows = "\n".join(f"| {name} | {_cell(value)} |" for name, value in facts if value)
    device = " --device small" if policy.needs_device else ""
    others = "" if policy.baseline else "lru,"
    shown = f"destage compare my_trace.csv.gz -p {others}{policy.name} -c 16MiB{device}"
    return (
        f"# {policy.name}: {policy.title}\n\n{policy.about}\n\n| | |\n|---|---|\n{rows}\n\n"
        f"```bash\n{shown}\n```"
    )


def _parameters(policy: destage.PolicyInfo) -> str:
    if not policy.params:
        return "## Parameters\n\nNone."
    rows = [
        f"| `{p.name}` | {_cell(p.symbol) or '-'} | {_cell(p.values)} | {_cell(p.default)} "
        f"| {_cell(p.unit) or '-'} | {_cell(p.about)} |"
        for p in policy.params
    ]
    head = "| key | in the paper | values | default | unit | |\n|---|---|---|---|---|---|"
    example = policy.params[0].name
    return (
        f"## Parameters\n\n{head}\n" + "\n".join(rows) + "\n\n"
        f"Written `{policy.name}[{example}=...]`; `destage policies {policy.name}` prints the same."
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _counted(policy: destage.PolicyInfo) -> str:
    parts = []
    if policy.counters:
        rows = [f"| `{c.name}` | {_cell(c.about)} | {c.unit} |" for c in policy.counters]
        parts.append("| counter | meaning | unit |\n|---|---|---|\n" + "\n".join(rows))
    if policy.gauges:
        rows = [f"| `{g.name}` | {_cell(g.title)} | {g.unit or '-'} |" for g in policy.gauges]
        parts.append("| parameter | meaning | unit |\n|---|---|---|\n" + "\n".join(rows))
    return "## Counters and adapted parameters\n\n" + "\n\n".join(parts) if parts else ""


def _module(policy: destage.PolicyInfo) -> str:
    path = source_of(policy.name)
    name = path.relative_to(ROOT).as_posix()
    return (
        "## Rules and interpretations\n\nThe paper's rules, and our interpretation where it is "
        f"silent or contradicts itself, from the header of `{name}`.\n\n"
        f"{module_text(path)}"
    )


def _steps(policy: destage.PolicyInfo, played: micro.Played, lru: micro.Played) -> str:
    gauges = "".join(f"<th>{html.escape(g.name)}</th>" for g in policy.gauges)
    rows = "\n".join(_row(number, step) for number, step in enumerate(played.steps, 1))
    accesses = len(played.steps)
    note = f"A cache of {played.frames} pages and {accesses} accesses, from a run of the policy; "
    if policy.clusters:
        note += f"an erase block has {micro.OF_A_BLOCK} pages, so pages 0 to 3 are the first block."
    else:
        note += (
            f"the same accesses for every page policy. LRU has {lru.hits} hits here and writes "
            f"{lru.physical_writes} pages to flash"
        )
        own = f"; {policy.name} has {played.hits} and writes {played.physical_writes}"
        note += "." if policy.baseline else f"{own}."
    table = (
        '<div class="table-wrapper"><table class="docutils steps"><thead><tr><th>#</th>'
        "<th>access</th><th></th><th>evicted</th><th>written to flash</th><th>in the cache</th>"
        f"{gauges}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )
    drive = f"\n\nThe device behind it:\n\n```toml\n{micro.DRIVE}```" if played.drive else ""
    return (
        f"## Step by step\n\n{note} Pages set <span class='steps'><span class='dirty'>so"
        f"</span></span> are dirty.{drive}\n\n{table}"
    )


def _row(number: int, step: micro.Step) -> str:
    outcome = "hit" if step.hit else "miss" if step.taken else "miss, bypassed"
    kind = "hit" if step.hit else "miss"
    resident = " ".join(
        f'<span class="dirty">{page}</span>' if dirty else str(page)
        for page, dirty in step.resident
    )
    cells = [
        str(number),
        {"r": "read", "w": "write"}[step.access[0]] + step.access[1:],
        f'<span class="{kind}">{outcome}</span>',
        " ".join(map(str, step.evicted)),
        " | ".join(" ".join(map(str, group)) for group in step.flushed),
        resident,
        *(f"{gauge:g}" for gauge in step.gauges),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _standing(policy: destage.PolicyInfo, places: list[beyond.Place]) -> str:
    head = "## Where it wins and loses\n\n"
    if not places:
        why = "it uses future accesses" if policy.offline else "it is newer than that table"
        return f"{head}Not in [the table of all policies](/papers/beyond/all.md): {why}."
    traces = list(dict.fromkeys(p.trace for p in places))
    rows = []
    for trace in traces:
        here = [p for p in places if p.trace == trace]
        cells = "".join(f"<td>{_track(p)}</td>" for p in here)
        rows.append(f"<tr><td>{html.escape(trace)}</td>{cells}</tr>")
    measures = "".join(f"<th>{m}</th>" for m in dict.fromkeys(p.measure for p in places))
    best = min(places, key=lambda p: (p.place / p.of, p.trace))
    worst = max(places, key=lambda p: (p.place / p.of, p.trace))
    return (
        f"{head}Its rank among all policies over the page-mapped FTL; left is best. Source: "
        "[the table of all policies](/papers/beyond/all.md), with device, cache and traces. "
        f"Best: {_said(best)}. Worst: {_said(worst)}.\n\n"
        '<div class="table-wrapper"><table class="docutils ranks"><thead><tr><th>trace</th>'
        f"{measures}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table></div>"
    )


def _said(place: beyond.Place) -> str:
    return f"{place.measure} on {place.trace}, place {place.place} of {place.of} ({place.value})"


def _track(place: beyond.Place) -> str:
    share = (place.place - 1) / max(place.of - 1, 1) * 96
    return f'<span class="track"><i style="left:{share:.0f}%"></i></span>{place.place}/{place.of}'


def _index() -> str:
    parts = [
        "# Policies\n\nEach page has the idea, the paper, parameters, interpretations, 18 "
        "accesses step by step, and where it wins and loses. Not implemented: "
        "[policies wanted](../reference/policies-wanted.md)."
    ]
    for family, title in FAMILIES.items():
        members = [p for p in destage.policies() if p.family == family]
        rows = [
            f"| [{p.name}]({p.name}.md) | {p.year or ''} | {_cell(p.title)} | {_cell(p.about)} |"
            for p in members
        ]
        parts.append(f"## {title}\n\n| | | | |\n|---|---|---|---|\n" + "\n".join(rows))
    names = "\n".join(p.name for p in destage.policies())
    parts.append(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    return "\n\n".join(parts) + "\n"
