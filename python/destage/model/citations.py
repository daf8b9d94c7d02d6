"""Citations: BibTeX of policies, from the sources in the catalogue, and of Destage."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from destage import _destage
from destage.model.naming import canonical, catalogue

__all__ = ["bibtex"]

#: Points that end no sentence, while a source is cut into sentences.
_KEPT = re.compile(r"\b(Trans|al|J|Proc)\. ")
#: Venues that are journals.
_JOURNALS = ("Journal", "Transactions", "Trans.", "TPDS", "TOS", "PVLDB", "Access", "Computer ")
#: Journals without such a word.
_ALSO_JOURNALS = ("Data & Knowledge Engineering", "Concurrency and Computation")


#: Titles of papers that the catalogue names without one, by first author and year.
_TITLES = {
    "Belady 1966": "A study of replacement algorithms for a virtual-storage computer",
    "Corbato 1968": "A paging experiment with the Multics system",
    "O'Neil 1993": "The LRU-K page replacement algorithm for database disk buffering",
    "Johnson 1994": "2Q: a low overhead high performance buffer management replacement algorithm",
    "Megiddo 2003": "ARC: a self-tuning, low overhead replacement cache",
    "Jiang 2002": "LIRS: an efficient low inter-reference recency set replacement policy to improve"
    " buffer cache performance",
    "Zhou 2001": "The multi-queue replacement algorithm for second level buffer caches",
    "Yang 2023": "FIFO queues are all you need for cache eviction",
    "Zhang 2024": "SIEVE is simpler than LRU: an efficient turn-key eviction algorithm for web"
    " caches",
    "Einziger 2017": "TinyLFU: a highly efficient cache admission policy",
    "Ou 2010": "Clean first or dirty first? A cost-aware self-adaptive buffer replacement policy",
    "Vöhringer 2023": "Write-aware timestamp tracking: effective and efficient page replacement"
    " for modern hardware",
    "Huang 2013": "Improving flash-based disk cache with lazy adaptive replacement",
    "Bansal 2004": "CAR: clock with adaptive replacement",
    "Karedla 1994": "Caching strategies to improve disk system performance",
    "Blankstein 2017": "Hyperbolic caching: flexible caching for web applications",
    "Vietri 2018": "Driving cache replacement with ML-based LeCaR",
    "Psounis 2002": "Efficient randomized Web-cache replacement schemes using samples from past"
    " eviction times",
    "Jiang 2005": "CLOCK-Pro: an effective improvement of the CLOCK replacement",
}


@dataclass(frozen=True)
class _Source:
    """A source of the catalogue, cut into its parts."""

    authors: str
    title: str | None
    venue: str
    year: str
    note: str


def _source(text: str) -> _Source | None:
    """`A, B. Title. Venue 2010; note`, `A, B, Venue 2010`; None if it is not a publication."""
    text, _, note = text.partition("; ")
    years = re.findall(r"(?<![\d-])(?:19|20)\d\d(?!\d)", text)
    if not years:
        return None
    year = str(years[-1])
    before, _, behind = text.rpartition(year)
    note = "; ".join(part for part in (behind.strip(" ,."), note) if part)
    kept = _KEPT.sub(lambda m: m[0].replace(" ", "\u00a0"), before.strip(" ,"))
    authors, *rest = kept.split(". ")
    if rest:
        *title, venue = rest
        return _Source(authors, ". ".join(title) or None, venue.strip(" ,"), year, note)
    names = authors.split(", ")
    # Authors are single words; the venue begins with the first part of several, or of capitals.
    places = (k for k, name in enumerate(names) if " " in name and not name.endswith("al."))
    acronyms = (k for k, name in enumerate(names) if k and name.isupper())
    at = min([*places, *acronyms], default=len(names) - 1)
    return _Source(", ".join(names[:at]), None, ", ".join(names[at:]), year, note)


def _entry(name: str, about: str, text: str) -> str:
    """One BibTeX entry."""
    found = _source(text.replace("\u00a0", " "))
    if found is None:
        return _written("misc", name, {"title": about, "howpublished": text})
    authors = re.sub(r" et al\.?$", ", others", found.authors.replace("\u00a0", " "))
    venue = found.venue.replace("\u00a0", " ")
    is_journal = any(word in venue for word in (*_JOURNALS, *_ALSO_JOURNALS))
    fields = {
        "author": " and ".join(authors.split(", ")),
        "title": found.title or _TITLES.get(f"{_first(authors)} {found.year}", about),
        "journal" if is_journal else "booktitle": venue,
        "year": found.year,
    }
    volume = re.search(r" (\d+)(?:\((\d+)\))?$", venue) if is_journal else None
    if volume:
        fields["journal"] = venue[: volume.start()]
        fields["volume"] = volume[1]
        fields |= {"number": volume[2]} if volume[2] else {}
    if found.note:
        fields["note"] = found.note
    return _written("article" if is_journal else "inproceedings", name, fields)


def _first(authors: str) -> str:
    return authors.split(", ")[0]


def _written(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = [f"@{kind}{{{key},"]
    for name, value in fields.items():
        braced = f"{{{_escaped(value)}}}"
        # Capitals of a title are its own.
        lines.append(f"  {name} = {{{braced}}}," if name == "title" else f"  {name} = {braced},")
    return "\n".join([*lines, "}"])


def _escaped(text: str) -> str:
    return re.sub(r"([&%#_])", r"\\\1", text)


def bibtex(policies: Iterable[str] = ()) -> str:
    """BibTeX of these policies' sources, each once, and of Destage.

    Authors are surnames, as the catalogue has them. Raises `UsageError` for an unknown policy.
    """
    known = {str(one["name"]): one for one in catalogue()}
    entries: dict[str, str] = {}
    for name in dict.fromkeys(policies):
        if name == "none":
            continue
        info = known.get(name) or known[str(_described(name)["name"])]
        source = str(info["source"])
        if source not in entries:
            entries[source] = _entry(str(info["name"]), str(info["title"]), source)
    tool = {
        "author": "{The Destage developers}",
        "title": "Destage: a trace-driven lab for flash-aware cache and write-buffer management",
        "version": _destage.VERSION,
        "license": "Apache-2.0",
    }
    return "\n\n".join([*entries.values(), _written("software", "destage", tool)]) + "\n"


def _described(name: str) -> dict[str, object]:
    import json

    found: dict[str, object] = json.loads(_destage.policy(canonical(name)))
    return found
