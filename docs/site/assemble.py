"""Bring the pages of the repository together as Sphinx wants them, with links that hold there.

A page of `docs` keeps its place; any other Markdown file that a page links to comes in under
`repository/`, and a file that is no page is kept beside it, to be downloaded. In the repository
the same links work as they are written.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Pages that are no part of `docs`, and belong to the site with or without a link.
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^```\n(?=(?:#|destage|make|cargo|python|pip|\. |\$ |sudo|export|git))", re.M)


def place(path: Path) -> Path:
    """Where a file of the repository lies in the assembled tree."""
    if path == DOCS / "site" / "index.md":
        return Path("index.md")
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    folder = "repository" if path.suffix == ".md" else "files"
    return Path(folder) / path.relative_to(ROOT)


class Assembly:
    """The tree in the making: which files are in it, and which still have to be looked at."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.outside: set[str] = set()
        self._taken: set[Path] = set()
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir(parents=True)

    def write(self, name: str, text: str) -> None:
        """Write a page that is in no file of the repository."""
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def take(self, path: Path) -> None:
        """Take in a file and all that it links to."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            if path in self._taken:
                continue
            self._taken.add(path)
            target = self.source / place(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix != ".md":
                shutil.copyfile(path, target)
                continue
            text, linked = self.linked(path.read_text(encoding="utf-8"), path)
            target.write_text(FENCE.sub("```bash\n", text), encoding="utf-8")
            waiting += linked

    def linked(self, text: str, at: Path) -> tuple[str, list[Path]]:
        """The text with its links as they are in the tree, and the files that they mean."""
        found: list[Path] = []
        here = place(at).parent

        def moved(match: re.Match[str]) -> str:
            name, _, anchor = match[2].partition("#")
            if re.match(r"[a-z]+:", name):
                self.outside.add(match[2])
                return match[0]
            path = (at.parent / name).resolve()
            if not name or not path.is_file():
                return match[0]  # A page that is made; Sphinx says so if there is none.
            found.append(path)
            up = "../" * len(here.parts)
            new = f"{up}{place(path).as_posix()}" + (f"#{anchor}" if anchor else "")
            return match[1] + new + match[3]

        return LINK.sub(moved, text), found

    def pages(self) -> list[str]:
        """Names of all pages, without the ending."""
        return sorted(
            p.relative_to(self.source).with_suffix("").as_posix() for p in self.source.rglob("*.md")
        )
