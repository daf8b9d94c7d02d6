"""The site builds without a warning, needs no network, and every link inside it leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT

import destage as ds

pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
pytest.importorskip("myst_parser", reason="the extra 'docs' is not installed")
pytest.importorskip("furo", reason="the extra 'docs' is not installed")


class Names(HTMLParser):
    """What a page refers to, what it loads, and the places in it that others can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.places.update(given[key] for key in ("id", "name") if key in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "source", "iframe") and "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and "href" in given and given.get("rel") != "canonical":
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built once."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "docs" / "site" / "build.py"), "--out", str(out)]
    # Rustdoc checks its links itself, in `make docs` and `make lint`; here it would cost a minute.
    command += ["--no-rust"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Names]:
    html = site / "html"
    return {p: Names(p.read_text(encoding="utf-8")) for p in sorted(html.rglob("*.html"))}


@pytest.mark.slow
def test_there_is_a_page_for_everything_of_the_catalogues(site: Path) -> None:
    html = site / "html"
    wanted = [
        *(f"policies/{p.name}" for p in ds.policies()),
        *(f"formats/{f.name}" for f in ds.formats()),
        *(f"layers/{f.name}" for f in ds.ftls()),
        *(f"drives/{d.name}" for d in ds.devices()),
        *(p.stem for p in (ROOT / "docs").glob("*.md")),
        *(f"notebooks/{p.stem}" for p in (ROOT / "docs" / "notebooks").glob("*.ipynb")),
    ]
    assert [name for name in wanted if not (html / f"{name}.html").is_file()] == []


def broken(pages: dict[Path, Names]) -> Iterator[str]:
    for page, names in pages.items():
        for link in (*names.links, *names.loads):
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                yield f"{page.name}: {link}"
                continue
            fragment = unquote(parts.fragment)
            if fragment and target in pages and fragment not in pages[target].places:
                yield f"{page.name}: {link}"


@pytest.mark.slow
def test_every_link_inside_leads_somewhere(pages: dict[Path, Names]) -> None:
    assert sum(len(names.links) for names in pages.values()) > 5000
    assert list(broken(pages)) == []


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    for page in (one, two):
        page.write_text("")
    found = {
        one: Names('<a href="two.html#here"><a href="two.html#no"><a href="three.html">'),
        two: Names('<p id="here"><img src="gone.png">'),
    }
    assert list(broken(found)) == [
        "one.html: two.html#no",
        "one.html: three.html",
        "two.html: gone.png",
    ]


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[Path, Names]) -> None:
    loads = {load for names in pages.values() for load in names.loads}
    assert [load for load in loads if urlsplit(load).scheme not in ("", "data")] == []
    for sheet in (site / "html").rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", sheet.read_text()), sheet.name


@pytest.mark.slow
def test_links_to_outside_are_listed(site: Path, pages: dict[Path, Names]) -> None:
    listed = set((site / "outside.txt").read_text().split())
    made = {"https://github.com/pradyunsg/furo"}
    found = {link for names in pages.values() for link in names.links if urlsplit(link).scheme}
    assert {link for link in found if not link.startswith("mailto:")} - listed - made == set()


@pytest.mark.slow
def test_search_knows_the_policies(site: Path) -> None:
    index = (site / "html" / "searchindex.js").read_text(encoding="utf-8")
    for word in ("policies/cflru", "formats/msr", "api/runs"):
        assert word in index


@pytest.mark.slow
def test_a_step_table_says_what_the_policy_does(site: Path) -> None:
    """LRU over its eighteen accesses, reckoned here with a list."""
    page = (site / "html" / "policies" / "lru.html").read_text(encoding="utf-8")
    table = page[page.index('class="docutils steps"') :].partition("</table>")[0]
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    order: list[int] = []
    for row in rows:
        page_number = int(row[1].split()[1])
        hit = page_number in order
        evicted = "" if hit or len(order) < 4 else str(order.pop(0))
        if hit:
            order.remove(page_number)
        order.append(page_number)
        assert ("hit" in row[2], row[3]) == (hit, evicted), row
        resident = {int(n) for n in re.sub(r"<[^>]*>", "", row[5]).split()}
        assert resident == set(order), row
    assert len(rows) == 18
