#!/usr/bin/env python3
"""Build the site: bring the pages together, make those that come from the catalogues, run Sphinx.

`make docs` calls it; the pages are in `docs/_build/html`, those of the Rust crates below them in
`rust`. Nothing is fetched, and the built site needs no network.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import api
import catalogues
import notebooks
import policies
import rust
from assemble import BESIDE, DOCS, ROOT, Assembly

#: Where a page goes that no list of `index.md` names.
REST = "<!-- every page that is not named above -->"


def assemble(source: Path, *, with_rust: bool) -> Assembly:
    """Lay out all pages under `source`."""
    site = Assembly(source)
    for path in [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("spec/*.md"))]:
        site.take(path)
    for path in sorted(DOCS.glob("papers/**/*.md")):
        site.take(path)
    for name in BESIDE:
        site.take(ROOT / name)
    policies.write(site)
    catalogues.write(site)
    api.write(site)
    rust.write(site, built=with_rust)
    notebooks.write(site)
    site.take(DOCS / "site" / "index.md")
    _name_the_rest(site)
    return site


def _name_the_rest(site: Assembly) -> None:
    """Every page is in some list: one that was added without a word goes to the last."""
    path = site.source / "index.md"
    text = path.read_text(encoding="utf-8")
    named = {
        line.strip().partition("<")[2].rstrip(">") or line.strip() for line in text.splitlines()
    }
    for section in ("papers", "spec"):
        pages = [p for p in site.pages() if p.startswith(f"{section}/") and p not in named]
        _list_below(site.source / section / "README.md", pages)
        named |= set(pages)
    made = ("policies/", "formats/", "layers/", "drives/", "api/", "notebooks/")
    rest = [p for p in site.pages() if p not in named and p != "index" and not p.startswith(made)]
    assert REST in text, "index.md has no place for pages that it does not name"
    path.write_text(text.replace(REST, "\n".join(rest)), encoding="utf-8")


def _list_below(index: Path, pages: list[str]) -> None:
    """Append a hidden list of the other pages of its folder to an index page."""
    names = [name.partition("/")[2] for name in pages if name.partition("/")[2] != "README"]
    listed = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
    index.write_text(f"{index.read_text(encoding='utf-8')}\n{listed}\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Build; return the exit status, 1 if a page has a fault."""
    parser = argparse.ArgumentParser(description="Build the documentation as a site.")
    parser.add_argument("--out", type=Path, default=DOCS / "_build", help="folder [docs/_build]")
    parser.add_argument("--no-rust", action="store_true", help="leave the Rust API out")
    given = parser.parse_args(arguments)
    out = given.out
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        print("docs: Sphinx is missing: pip install 'destage[docs]'", file=sys.stderr)
        return 1
    site = assemble(out / "source", with_rust=not given.no_rust)
    if not given.no_rust:
        site.outside |= rust.build(out / "html")
    (out / "outside.txt").write_text("\n".join(sorted(site.outside)) + "\n", encoding="utf-8")
    folders = [str(site.source), str(out / "html")]
    configured = ["-c", str(DOCS / "site"), "-d", str(out / "doctrees")]
    status = build_main(["-q", "-W", "--keep-going", "-b", "html", *configured, *folders])
    if status == 0:
        print(f"docs: {out / 'html' / 'index.html'}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
