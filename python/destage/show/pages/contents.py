"""The contents of a page: what its sections are called, with a link to each.

Made from the page itself, so that a section that is there is in the contents.
"""

from __future__ import annotations

import re

__all__ = ["with_contents"]

#: Where the contents of a trace stand.
PLACE = "<!--contents-->"
#: Fewer sections need no contents.
FEW = 2

_ARTICLE = re.compile(r'(<article class="trace" id="(\w+)">)(.*?)(</article>)', re.DOTALL)
_SECTION = re.compile(r'<section aria-label="[^"]*">\n<h3>(.*?)</h3>')


def with_contents(html: str) -> str:
    """The page with an id in each section, and links to them where the place for them is."""
    return _ARTICLE.sub(_article, html)


def _article(found: re.Match[str]) -> str:
    begin, name, inner, end = found.groups()
    links: list[str] = []

    def numbered(section: re.Match[str]) -> str:
        target = f"{name}-{len(links) + 1}"
        links.append(f'<a href="#{target}">{section[1]}</a>')
        return section[0].replace("<section ", f'<section id="{target}" ', 1)

    inner = _SECTION.sub(numbered, inner)
    nav = f'<nav class="contents" aria-label="Contents">{"".join(links)}</nav>'
    return begin + inner.replace(PLACE, nav if len(links) > FEW else "", 1) + end
