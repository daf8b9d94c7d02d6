"""The reference of the Rust crates: rustdoc's own pages, and one of the site that leads to them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from assemble import ROOT, Assembly

#: Where rustdoc leaves its pages.
MADE = ROOT / "target" / "doc"
LINK = re.compile(r'href="(https?://[^"]+)"')


def crates() -> list[dict[str, Any]]:
    """Return the manifests of the public crates, those that others stand on first."""
    found = [
        tomllib.loads(path.read_text(encoding="utf-8")) for path in ROOT.glob("crates/*/Cargo.toml")
    ]
    public = [crate for crate in found if crate["package"].get("publish", True)]

    def depth(crate: dict[str, Any]) -> int:
        under = [c for c in public if c["package"]["name"] in crate["dependencies"]]
        return 1 + max((depth(c) for c in under), default=0)

    return sorted(public, key=lambda crate: (depth(crate), crate["package"]["name"]))


def names() -> list[str]:
    """Return the names of the public crates."""
    return [crate["package"]["name"] for crate in crates()]


def write(site: Assembly, *, built: bool) -> None:
    """Write the page that lists the crates; it leads to rustdoc's pages where they are built."""
    rows = []
    for crate in crates():
        name = crate["package"]["name"]
        shown = f"`{name}`"
        if built:
            shown = f'<a href="../rust/{name.replace("-", "_")}/index.html">{shown}</a>'
        rows.append(f"| {shown} | {crate['package']['description']} |")
    told = "Pages of rustdoc, with their own search." if built else NOT_BUILT
    site.write(
        "api/rust.md",
        f"# Rust API\n\n{told}\n\n| crate | |\n|---|---|\n" + "\n".join(rows) + f"\n\n{REST}\n",
    )


NOT_BUILT = "`cargo doc --no-deps --open -p destage-policies` makes the pages of a crate."
REST = """A policy to run in a program of yours: `destage-policies`, whose first page has the loop,
and `crates/destage-policies/examples/embed_in_a_pool.rs` a pool around it;
`destage-pool` is one with guards, durability and threads, `destage-nbd` a block device before it.
One to write: the trait `Policy` of `destage-core`, and [how to add it](../add-a-policy.md).
Replays, devices and results from Rust: `destage-engine`, `destage-mrc`, `destage-replay`,
`destage-ssd`, `destage-trace`; workloads and trace statistics: `destage-synth`,
`destage-profile`."""


def build(html: Path) -> set[str]:
    """Have rustdoc make the pages, put them into `html/rust`; return the links out of them."""
    chosen = [word for name in names() for word in ("-p", name)]
    flags = f"{os.environ.get('RUSTDOCFLAGS', '')} -D warnings".strip()
    command = ["cargo", "doc", "--no-deps", "--locked", "--quiet", *chosen]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "RUSTDOCFLAGS": flags}, check=True)
    out = html / "rust"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(MADE, out, ignore=_of_others)
    pages = (page.read_text(encoding="utf-8") for page in out.rglob("*.html"))
    return {link for page in pages for link in LINK.findall(page)}


def _of_others(folder: str, entries: list[str]) -> set[str]:
    """Of what rustdoc left in a folder: pages of crates that somebody had documented besides."""
    ours = {name.replace("-", "_") for name in names()}
    here = Path(folder)
    found = {entry for entry in entries if entry.startswith(".")}
    if here == MADE:
        found |= {e for e in entries if (here / e / "all.html").exists()} - ours
    elif here == MADE / "src":
        found |= {e for e in entries if (here / e).is_dir()} - ours
    return found
