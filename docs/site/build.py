#!/usr/bin/env python3
"""Build the site: bring the pages together, make those that come from the catalogues, run Sphinx.

`make docs` calls it; the pages are in `docs/_build/html`, those of the Rust crates below them in
`rust`. The page that runs Destage is part of it where `make page` has built that. Nothing is
fetched, and the built site needs no network.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

import api
import browser_page
import catalogues
import notebooks
import papers
import policies
import rust
from assemble import BESIDE, DOCS, ROOT, Assembly

#: Pages below a page of the sidebar.
BELOW = {
    "install": ("reference/packages",),
    "tutorial": ("notebooks/index", "reference/coming-from", "reference/comparison"),
    "model": ("reference/how-it-works",),
    "start-builder": ("cache-object",),
    "validity": ("reference/measured",),
    "record": ("traces", "reference/public-traces"),
    "advise": ("reference/advise",),
    "add-a-policy": ("reference/policy-calls",),
    "curves": ("sampling", "reference/experts"),
    "report": ("reference/report-sections", "reference/profile-figures"),
    "sweeps": ("reference/sweep-spec",),
    "kv-on-flash": ("tiers", "reference/tiers", "vllm"),
    "troubleshooting": ("reference/trust",),
    "reference/devices": (
        *("reference/device-keys", "drives/index", "reference/ftls", "layers/index"),
    ),
    "papers/README": ("reproduce", "asking", "reference/policies-wanted"),
}
#: The page below which every page goes that no list names.
REST = "repository/CONTRIBUTING"
#: Most entries of the sidebar.
ENTRIES = 32
#: The page that runs Destage, what the sidebar calls it, the entry that it follows.
BROWSER, CALLED, BEHIND = "browser", "In the browser", "tutorial"
#: Where its files are in the site.
BROWSER_FILES = "_static/browser"


def assemble(source: Path, *, with_rust: bool, with_browser: bool) -> Assembly:
    """Lay out all pages under `source`."""
    site = Assembly(source)
    for pages in ("*.md", "reference/*.md", "spec/*.md", "papers/*.md"):
        for path in sorted(DOCS.glob(pages)):
            site.take(path)
    for name in BESIDE:
        site.take(ROOT / name)
    papers.write(site)
    policies.write(site)
    catalogues.write(site)
    api.write(site)
    rust.write(site, built=with_rust)
    notebooks.write(site)
    site.take(DOCS / "site" / "index.md")
    if with_browser:
        _add_browser(site)
    _name_the_rest(site)
    return site


def _add_browser(site: Assembly) -> None:
    """Add the page that runs Destage, its entry in the sidebar, and a link on the first page."""
    site.write(f"{BROWSER}.md", browser_page.site_page(BROWSER_FILES))
    index = site.source / "index.md"
    text = index.read_text(encoding="utf-8")
    entry, install = f"\n{BEHIND}\n", "\n[Install]("
    link = f"\nNothing to install: {{doc}}`run Destage in the browser <{BROWSER}>`."
    for place, new in (
        (entry, f"{entry}{CALLED} <{BROWSER}>\n"),
        (install, f"{link}\n{install}"),
    ):
        assert text.count(place) == 1, f"the first page has {place!r} {text.count(place)} times"
        text = text.replace(place, new)
    index.write_text(text, encoding="utf-8")


def _name_the_rest(site: Assembly) -> None:
    """Every page is in some list: one that no list names goes to the last."""
    text = (site.source / "index.md").read_text(encoding="utf-8")
    trees = "".join(re.findall(r"^```\{toctree\}(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    lines = [line.strip() for line in trees.splitlines() if line and not line.startswith(":")]
    named = {line.partition("<")[2].rstrip(">") or line for line in lines}
    assert len(lines) <= ENTRIES, f"the sidebar has {len(lines)} entries"
    below = {page: list(pages) for page, pages in BELOW.items()}
    for section in ("papers", "spec"):
        pages = [p for p in site.pages() if p.startswith(f"{section}/") and p not in named]
        below.setdefault(f"{section}/README", []).extend(pages)
    named |= {page for pages in below.values() for page in pages}
    made = ("policies/", "formats/", "layers/", "drives/", "api/", "notebooks/")
    rest = [p for p in site.pages() if p not in named and p != "index" and not p.startswith(made)]
    below[REST] = rest
    for page, pages in below.items():
        _list_below(site.source / f"{page}.md", pages)


def _list_below(page: Path, pages: list[str]) -> None:
    """Append a hidden list of pages to a page."""
    listed = "\n".join(["```{toctree}", ":hidden:", "", *(f"/{name}" for name in pages), "```"])
    page.write_text(f"{page.read_text(encoding='utf-8')}\n{listed}\n", encoding="utf-8")


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
    with_browser = browser_page.is_built()
    if not with_browser:
        print("docs: without the page that runs Destage in a browser: `make page` builds it")
    site = assemble(out / "source", with_rust=not given.no_rust, with_browser=with_browser)
    if not given.no_rust:
        site.outside |= rust.build(out / "html")
    (out / "outside.txt").write_text("\n".join(sorted(site.outside)) + "\n", encoding="utf-8")
    folders = [str(site.source), str(out / "html")]
    configured = ["-c", str(DOCS / "site"), "-d", str(out / "doctrees")]
    status = build_main(["-q", "-W", "--keep-going", "-b", "html", *configured, *folders])
    if status == 0 and with_browser:
        files = out / "html" / BROWSER_FILES
        shutil.copytree(browser_page.BUILT, files, dirs_exist_ok=True)
        (files / "index.html").unlink()
    if status == 0:
        print(f"docs: {out / 'html' / 'index.html'}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
