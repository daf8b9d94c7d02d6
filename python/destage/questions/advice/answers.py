"""The objects that advice is: rows, text, pages and JSON of it."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from destage.base.io.files import Destination
from destage.experiment.results import Results
from destage.model.advised import Advised, KvAdvised
from destage.questions.advice.saying import everything, kv_everything, kv_row_of, row_of
from destage.show.tables.advice import WIDE, advice_table, advice_text, kv_text
from destage.show.tables.frames import Tabled, by_column
from destage.show.tables.kv_answer import kv_table
from destage.show.tables.table import Table

__all__ = ["Advice", "Answer", "KvAdvice"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Answer(Tabled):
    """Advice with every run behind it."""

    #: The key of its JSON in files of tables.
    _schema: ClassVar[str]
    _has_many_runs = True

    results: Results = field(default_factory=Results)
    """Every run, candidates and others."""

    @abstractmethod
    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows."""

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows by column."""
        return by_column(self.to_dicts())

    @abstractmethod
    def _said(self) -> dict[str, Any]:
        """All of it as JSON but the runs themselves."""

    @abstractmethod
    def _page(self, command: str | None) -> str:
        """The page."""

    @abstractmethod
    def _text(self, *, explain: bool, width: int = WIDE, markdown: bool = False) -> str:
        """The answer as text."""

    def _everything(self) -> Any:
        return self._said() | {"results": self.results._everything()}

    def _provenance(self) -> Mapping[str, str]:
        return {self._schema: json.dumps(self._said())}

    def text(self, *, explain: bool = False, width: int = WIDE) -> str:
        """Return what the command line prints, without colours: the answer and its table.

        `explain` adds certainty, other choices, settings and method.
        """
        return self._text(explain=explain, width=width)

    def to_markdown(self, path: Destination | None = None) -> str:
        """Return all of it as Markdown, and write it to `path` if given (`-`: standard output).

        Raises `OutputError`.
        """
        from destage.base.io.files import write_whole

        text = self._text(explain=True, markdown=True)
        if path is not None:
            write_whole(path, text)
        return text

    def write_page(self, path: Destination, command: str | None = None) -> None:
        """Write a page that opens offline: the advice, its curves, and the settings to type.

        `command` is the command line that makes it again. Raises `MissingExtra` without the extra
        `report`, and `OutputError`.
        """
        from destage.base.io.files import write_whole
        from destage.base.io.names import check_page
        from destage.questions.reports import need_report

        need_report()
        check_page(path)
        write_whole(path, self._page(command))

    def __repr__(self) -> str:
        """Return what the command line prints."""
        return self.text()


@dataclass(frozen=True, repr=False, kw_only=True)
class Advice(Answer, Advised):
    """Advice with its reasons, its confidence and every run behind it.

    As a table it has one row a run.
    """

    _schema = "destage.advice"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per run: whether it is advised, the objectives, and every metric."""
        return [row_of(self, run) for run in self.results]

    def as_table(self) -> Table:
        """Return the curve of the first objective as a table, to be laid out otherwise."""
        return advice_table(self, self.first)

    def _said(self) -> dict[str, Any]:
        return everything(self)

    def _text(self, *, explain: bool, width: int = WIDE, markdown: bool = False) -> str:
        return advice_text(self, explain=explain, width=width, markdown=markdown)

    def _page(self, command: str | None) -> str:
        from destage.show.pages.advice import advice_page

        return advice_page(self, self.results.result_sets[0], command)


@dataclass(frozen=True, repr=False, kw_only=True)
class KvAdvice(Answer, KvAdvised):
    """Advice with every run behind it. As a table it has one row a configuration."""

    _schema = "destage.kv_advice"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per configuration: whether it is advised, and every metric."""
        return [kv_row_of(self, one) for one in self.candidates]

    def as_table(self) -> Table:
        """Return the choice at each pair of sizes."""
        return kv_table(self)

    def _said(self) -> dict[str, Any]:
        return kv_everything(self)

    def _text(self, *, explain: bool, width: int = WIDE, markdown: bool = False) -> str:
        return kv_text(self, explain=explain, width=width, markdown=markdown)

    def _page(self, command: str | None) -> str:
        from destage.show.pages.advice import kv_advice_page

        return kv_advice_page(self, self.results.result_sets, command)
