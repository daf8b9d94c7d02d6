"""The reference of the Python API: every public name, from its signature and its docstring."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from pathlib import Path
from typing import Any

from assemble import Assembly

import destage

#: Titles of the pages, by the words that head each group in `destage/__init__.pyi`.
TITLES = {
    "traces": "Traces",
    "devices": "Devices",
    "runs": "Runs",
    "results": "Results",
    "sweeps": "Sweeps",
    "catalogues": "Catalogues",
    "conformance": "Conformance",
    "this installation": "This installation",
    "policies of one's own": "Your own policies",
    "errors": "Errors",
}


def write(site: Assembly) -> None:
    """Write a page for each group of names."""
    rows, pages = [], []
    for group, names in groups().items():
        title = TITLES.get(group, group.capitalize())
        page = re.sub(r"\W+", "-", group)
        pages.append(page)
        shown = [name for name in names if not name.startswith("__")]
        rows.append(f"| [{title}]({page}.md) | {', '.join(f'`{n}`' for n in shown)} |")
        parts = [f"# {title}", *(_described(name) for name in shown)]
        site.write(f"api/{page}.md", "\n\n".join(parts) + "\n")
    tree = "\n".join(pages)
    site.write(
        "api/index.md",
        "# Python API\n\n```python\nimport destage\n```\n\nEvery name is in `destage`; "
        "each command is a call that returns data.\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + "\n\nThe same engine, policies and devices from Rust: [Rust API](rust.md).\n\n"
        f"```{{toctree}}\n:hidden:\n\n{tree}\nrust\n```\n",
    )


def groups() -> dict[str, list[str]]:
    """The public names, under the remarks that part them in the source."""
    text = Path(str(destage.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    group = ""
    for line in text.splitlines():
        if line.startswith("from "):
            found.setdefault(group, []).append(line.split()[3])
        elif line.startswith("# "):
            group = line.removeprefix("# ")
    all_of = [name for names in found.values() for name in names]
    assert sorted([*all_of, "__version__"]) == sorted(destage.__all__), "names outside the groups"
    return found


def _described(name: str) -> str:
    value = getattr(destage, name)
    if inspect.isclass(value):
        return _class(name, value)
    if inspect.isfunction(value):
        return _directive("function", name + _signature(value), _prose(value))
    about = {"HIT": "A `Hit`.", "MISS": "A `Miss`.", "BYPASS": "A `Bypass`."}.get(name, "")
    return _directive("data", name, about or f"`{_unquoted(str(value))}`")


def _class(name: str, value: type) -> str:
    fields = _fields(value)
    own = [
        _directive(*_member(key, member), fence=3)
        for key, member in vars(value).items()
        if not key.startswith("_") and key not in fields and inspect.getdoc(member)
        if isinstance(member, (property, classmethod, staticmethod)) or inspect.isfunction(member)
    ]
    rows = [f"| `{key}` | {_cell(text)} |" for key, text in fields.items()]
    table = "| | |\n|---|---|\n" + "\n".join(rows) if rows else ""
    made = _signature(value) if _made_by_users(value) else ""
    body = "\n\n".join(p for p in (_prose(value), table, *own) if p)
    return _directive("class", name + made, body, fence=4)


def _made_by_users(value: type) -> bool:
    return value.__module__ in ("destage.policy",) or issubclass(value, destage.Policy)


def _member(key: str, member: Any) -> tuple[str, str, str]:
    if isinstance(member, property):
        return "property", key, _prose(member)
    kind = "method"
    if isinstance(member, (classmethod, staticmethod)):
        kind = "classmethod" if isinstance(member, classmethod) else "staticmethod"
        member = member.__func__
    return kind, key + _signature(member), _prose(member)


def _directive(kind: str, head: str, body: str, fence: int = 4) -> str:
    ticks = ":" * fence
    return f"{ticks}{{py:{kind}}} {head}\n{body}\n{ticks}"


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parts = list(found.parameters.values())
    if parts and parts[0].name in ("self", "cls"):
        parts = parts[1:]
    shown = found.replace(parameters=parts, return_annotation=inspect.Signature.empty)
    back = found.return_annotation
    arrow = "" if back is inspect.Signature.empty or inspect.isclass(value) else f" -> {back}"
    return _unquoted(str(shown)) + _unquoted(arrow)


def _unquoted(text: str) -> str:
    return re.sub(r"'([\w\[\]., |\"]+)'(?=[,)=]| =|$)", r"\1", text)


def _fields(value: type) -> dict[str, str]:
    """Fields of a class with the texts below them."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found = {}
    for field, below in itertools.pairwise(body):
        named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if named and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            assert isinstance(field, ast.AnnAssign)
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = " ".join(str(below.value.value).split())
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _prose(value: Any) -> str:
    """A docstring as Markdown: lists of parameters as lists, examples as code."""
    lines: list[str] = []
    example = listed = False
    for line in (inspect.getdoc(value) or "").splitlines():
        if line.startswith(">>>") and not example:
            lines += ["```pycon"]
            example = True
        elif example and not line:
            lines += ["```"]
            example = False
        if not example and (head := re.match(r"([A-Z][\w ]+):$", line)):
            lines += [f"**{head[1]}**", ""]
            listed = True
            continue
        if listed and line and not line.startswith(" "):
            listed = False
        if listed and (item := re.match(r" {4}([\w, *]+): (.*)", line)):
            names = ", ".join(f"`{n.strip()}`" for n in item[1].split(","))
            line = f"- {names}: {item[2]}"
        elif listed and line.startswith("        "):
            line = "  " + line.strip()
        lines.append(line)
    return "\n".join([*lines, "```"] if example else lines)
