"""A new policy in Rust, inside the repository: whatever a policy has there, to begin with.

It begins as FIFO, from the files of FIFO as they are: so it compiles as they do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from destage.base.errors import DataError, OutputError, UsageError
from destage.base.io.names import printable
from destage.lab.user_policies.template import checked_name, write_new

__all__ = ["new_rust_policy"]

POLICIES, MODELS = "crates/destage-policies", "crates/destage-reference"
VECTORS = "tests/vectors/page-policies.jsonl"


def new_rust_policy(name: str, folder: str | Path = ".") -> list[str]:
    """Add a policy to the repository around `folder`; return the changes, a line each.

    Its file, its row in the table, its reference model, the tests that compare the two with trims
    and without, a vector, and the number in the README. Raises `UsageError` outside the repository,
    for an invalid name and where there is such a policy; then nothing is written.
    """
    module = checked_name(name).lower()
    root = _root(Path(folder).resolve())
    new = [root / f"{crate}/src/{module}.rs" for crate in (POLICIES, MODELS)]
    for path in new:
        if path.exists():
            raise UsageError(f"{printable(path)}: it is there already, and is left as it is")
    names = _Names(module)
    edits: dict[str, Callable[[str], str]] = {
        f"{POLICIES}/src/lib.rs": names.table,
        f"{MODELS}/src/lib.rs": names.models,
        f"{MODELS}/tests/it/lists.rs": names.lists,
        f"{POLICIES}/tests/it/reference.rs": names.test,
        f"{POLICIES}/tests/it/trims.rs": names.trims,
        VECTORS: names.vector,
        "README.md": names.readme,
    }
    # All is made before anything is written.
    texts = {root / path: edit(_read(root / path)) for path, edit in edits.items()}
    fresh = [
        names.policy(_read(root / f"{POLICIES}/src/fifo.rs")),
        names.model(_read(root / f"{MODELS}/src/fifo.rs")),
    ]
    for path, text in zip(new, fresh, strict=True):
        write_new(path, text)
    for path, text in texts.items():
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as e:
            raise OutputError(f"{printable(path)}: {e.strerror or e}") from e
    return [
        f"wrote {POLICIES}/src/{module}.rs: {names.struct}, which begins as FIFO",
        f"wrote {MODELS}/src/{module}.rs: its reference model, to be written from the paper alone",
        *(f"added {names.name} to {path}" for path in edits),
        "Try it:",
        f"  cargo test -p destage-policies {module}",
        f"  cargo test -p destage-reference && make setup && destage conform {VECTORS}",
    ]


def _root(folder: Path) -> Path:
    for root in (folder, *folder.parents):
        if (root / POLICIES / "src" / "lib.rs").is_file() and (root / VECTORS).is_file():
            return root
    raise UsageError(
        f"new-policy --rust: {printable(folder)} is not inside the repository: a policy in Rust is"
        " part of it (without --rust: a class in Python, anywhere)"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise DataError(f"{printable(path)}: it cannot be read: {e}") from e


class _Names:
    """A policy's names, and the files of FIFO with them."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.name = module.replace("_", "-").strip("-")
        self.struct = "".join(part[:1].upper() + part[1:] for part in module.split("_"))

    def named(self, text: str) -> str:
        """A text about FIFO as one about this policy."""
        text = re.sub(r'(["/])fifo\b', rf"\1{self.name}", text)
        return re.sub(r"\bFifo\b", self.struct, text)

    def policy(self, fifo: str) -> str:
        """Its file: rules and source are to be written.

        It has no order, which ACE would need, and nothing that was found out about FIFO: how its
        samples vary, how one pass runs it at several sizes.
        """
        body = fifo[fifo.index("use crate::") :]
        body = re.sub(r"use crate::info::[^;]*;\n", "", body)
        body = re.sub(r"    (?:interval_frames|multi_size): [^\n]*,\n", "", body)
        for start, end in (
            ("    const ORDERED", "\n\n"),
            ("    fn next_victims(", "\n    }\n\n"),
            ("    fn cleaned(", "\n    }\n\n"),
        ):
            first = _found(body, start)
            body = body[:first] + body[body.index(end, first) + len(end) :]
        for key, value in (
            ("title", self.struct),
            ("source", "chosen: a policy of our own"),
            ("about", "Evict the page loaded longest ago."),
        ):
            body = re.sub(rf'(    {key}: )"[^"]*"', rf'\1"{value}"', body, count=1)
        return (
            f"//! {self.struct}: its rule, in one line.\n//!\n"
            "//! Where it is from: authors, title, where and when it was published.\n//!\n"
            "//! Rules. As FIFO, to begin with: a hit changes nothing; the oldest page is evicted."
            "\n//!\n//! Readings. What the paper leaves open, and what we chose.\n//!\n"
            "//! Cost. O(1).\n\n" + self.named(body)
        )

    def model(self, fifo: str) -> str:
        """Its reference model."""
        body = fifo[fifo.index("use std::") :]
        body = re.sub(r"use crate::ace::Base;\n", "", body)
        first = _found(body, "impl Base for Fifo")
        body = body[:first] + body[body.index("\n}\n\n", first) + 4 :]
        return (
            f"//! {self.struct}, slow and obvious: as FIFO, to begin with. Write it from the paper"
            " alone.\n\n" + self.named(body)
        )

    def table(self, text: str) -> str:
        """The module, and the row below FIFO's."""
        row = next((x for x in text.splitlines() if x.startswith("    fifo::INFO")), None)
        if row is None:
            raise DataError("the table of policies has no row of FIFO")
        new = f"    {self.module}::INFO => plain({self.module}::{self.struct}::new);"
        return _module(_below(text, row, new), f"pub mod {self.module};", "pub mod fifo;")

    def models(self, text: str) -> str:
        """The module, the name, and how it is made."""
        arm = '        "fifo" => Box::new(fifo::Fifo::new(frames)),'
        new = f'        "{self.name}" => Box::new({self.module}::{self.struct}::new(frames)),'
        text = _below(_below(text, '    "fifo",', f'    "{self.name}",'), arm, new)
        return _module(text, f"mod {self.module};", "mod fifo;")

    def lists(self, text: str) -> str:
        """The row of what its lists hold."""
        return self._like(text, r'    \("fifo", .*\),')

    def test(self, text: str) -> str:
        """The test that compares it with its reference model."""
        line = f'    {self.module}_decides_as_its_model: "{self.name}";'
        return _below(text, '    fifo_decides_as_its_model: "fifo";', line)

    def trims(self, text: str) -> str:
        """Its name among the policies whose trims are compared with their models."""
        return _behind(text, 'queues_in_arrays_lose_trimmed_pages: ["fifo"', f', "{self.name}"')

    def vector(self, text: str) -> str:
        """The first vector: FIFO's."""
        for line in text.splitlines():
            if line.startswith('{"name":"fifo/'):
                vector = json.loads(line)
                vector["name"] = vector["name"].replace("fifo", self.name)
                vector["policy"] = self.name
                return text + json.dumps(vector, separators=(",", ":")) + "\n"
        raise DataError(f"{VECTORS}: it has no vector of FIFO")

    def readme(self, text: str) -> str:
        """The number of policies."""
        return re.sub(r"\b(\d+) policies\b", lambda n: f"{int(n[1]) + 1} policies", text)

    def _like(self, text: str, pattern: str) -> str:
        line = re.search(f"^{pattern}$", text, re.MULTILINE)
        if line is None:
            raise DataError(f"there is no line like {pattern} to put another one beside")
        return _below(text, line[0], self.named(line[0]))


def _found(text: str, what: str) -> int:
    at = text.find(what)
    if at < 0:
        raise DataError(f"a file of FIFO is not as it was: there is no {what!r} in it")
    return at


def _behind(text: str, what: str, new: str) -> str:
    """The text with something right behind something else."""
    at = _found(text, what) + len(what)
    return text[:at] + new + text[at:]


def _below(text: str, line: str, new: str) -> str:
    """The text with a line below another one."""
    return _behind(text, line + "\n", new + "\n")


def _module(text: str, line: str, fifo: str) -> str:
    """The text with the declaration of a module among those around FIFO's, in their order."""
    lines = text.split("\n")
    if fifo not in lines:
        raise DataError(f"a file of FIFO is not as it was: there is no {fifo!r} in it")

    def declares(k: int) -> bool:
        return 0 <= k < len(lines) and lines[k].startswith(("mod ", "pub mod "))

    first = last = lines.index(fifo)
    while declares(first - 1):
        first -= 1
    while declares(last + 1):
        last += 1

    def key(declared: str) -> str:
        return declared.removeprefix("pub ").removeprefix("mod ").rstrip(";")

    after = (k for k in range(first, last + 1) if key(lines[k]) > key(line))
    lines.insert(next(after, last + 1), line)
    return "\n".join(lines)
