"""Conditions of `where`: which runs of a grid are wanted, and which rows of a store.

A condition is an expression of names, numbers and texts: `policy != "min" or cache <= "10%"`. It is
looked at piece by piece, and nothing but comparing and reckoning can be said in it.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from destage import _destage

__all__ = ["Condition", "NoCondition", "bytes_of"]


class NoCondition(ValueError):
    """The text is no condition; the message says why."""


#: Names that are values.
_WORDS = {"true": True, "false": False, "none": None, "null": None}

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_RECKON: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNITS = {"": 1, "b": 1} | {
    f"{letter}{ending}": base**power
    for power, letter in enumerate("kmgt", 1)
    for ending, base in (("b", 1000), ("ib", 1024))
}
_SIZE = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([a-zA-Z%]*)\s*")


def bytes_of(text: str, values: Mapping[str, Any]) -> float | None:
    """The bytes of `32MiB`, `8192p` or `10%`; None of a text that is no size."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    count, unit = float(found[1].replace("_", "")), found[2].lower()
    page = float(values.get("page_bytes") or 0)
    if unit == "p":
        return count * page
    if unit == "%":
        pages = count / 100 * float(values.get("unique_pages") or 0)
        return max(1, math.floor(pages + 0.5)) * page
    if unit not in _UNITS:
        return None
    # As sizes of caches are: whole pages, rounded down.
    size = count * _UNITS[unit]
    whole: float = size // page * page if page and size >= page else size
    return whole


@dataclass(frozen=True)
class Condition:
    """An expression that holds of some runs."""

    text: str
    tree: ast.expr

    @classmethod
    def of(cls, text: str, known: Iterable[str], prefixes: Iterable[str] = ()) -> Condition:
        """Read it; `known` are the names that it may have, `prefixes` those before a dot.

        Raises `NoCondition`.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise NoCondition(f"{text!r} is no condition: {getattr(e, 'msg', e)}") from None
        _check(tree, text, list(known), tuple(prefixes))
        return cls(text, tree)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it holds where the names have these values. Raises `NoCondition`."""
        try:
            return bool(_value(self.tree, values))
        except (TypeError, ZeroDivisionError) as e:
            raise NoCondition(f"{self.text!r} cannot be told: {e}") from None


def _dotted(node: ast.expr) -> str | None:
    """`device.gc_mode` as one name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None


def _check(node: ast.expr, text: str, known: list[str], prefixes: tuple[str, ...]) -> None:
    """Raise `NoCondition` for what is no part of a condition, and for names that there are not."""
    name = _dotted(node)
    if name is not None:
        if name not in known and name not in _WORDS and not name.startswith(prefixes or ("\0",)):
            near = _destage.nearest(name, known)
            meant = f", did you mean {near}?" if near else ""
            names = ", ".join(known)
            raise NoCondition(f"{text!r}: unknown name {name!r}{meant} (known: {names})")
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool)):
        return
    if isinstance(node, (ast.List, ast.Tuple)):
        parts: list[ast.expr] = list(node.elts)
    elif isinstance(node, ast.BoolOp):
        parts = list(node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp) and type(node.op) in _RECKON:
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare) and not any(
        isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops
    ):
        parts = [node.left, *node.comparators]
    else:
        shown = ast.unparse(node)
        raise NoCondition(
            f"{text!r}: {shown!r}: expected names, numbers, texts, lists, and, or, not, in,"
            " == != < <= > >= + - * /"
        )
    for part in parts:
        _check(part, text, known, prefixes)


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    name = _dotted(node)
    if name is not None:
        return values.get(name, _WORDS.get(name))
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(part, values) for part in node.elts]
    if isinstance(node, ast.BoolOp):
        each = (bool(_value(part, values)) for part in node.values)
        return all(each) if isinstance(node.op, ast.And) else any(each)
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, values)
        return not inner if isinstance(node.op, ast.Not) else -inner
    if isinstance(node, ast.BinOp):
        return _RECKON[type(node.op)](_value(node.left, values), _value(node.right, values))
    assert isinstance(node, ast.Compare)
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        if not _holds(op, left, right, values):
            return False
        left = right
    return True


def _holds(op: ast.cmpop, left: ast.expr, right: ast.expr, values: Mapping[str, Any]) -> bool:
    a, b = _value(left, values), _value(right, values)
    if isinstance(op, (ast.In, ast.NotIn)):
        found = a is not None and a in (b or ())
        return found == isinstance(op, ast.In)
    if isinstance(op, (ast.Eq, ast.NotEq)):
        return bool(a == b) == isinstance(op, ast.Eq)
    # What is not there is neither more nor less than anything.
    if a is None or b is None:
        return False
    if (isinstance(a, str) and isinstance(b, str)) or type(a) is not type(b):
        shares = _share(a), _share(b)
        if None not in shares:
            # As it was asked for: what 2 % come to in pages is rounded.
            return bool(_COMPARE[type(op)](*shares))
        a, b = _measured(left, a, values), _measured(right, b, values)
    return bool(_COMPARE[type(op)](a, b))


def _share(value: Any) -> float | None:
    """`10` of `10%`; None of anything else."""
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    return float(found[1].replace("_", "")) if found is not None and found[2] == "%" else None


def _measured(node: ast.expr, value: Any, values: Mapping[str, Any]) -> Any:
    """A text that is a size as bytes; the cache is as large as it turned out to be."""
    if _dotted(node) == "cache" and values.get("cache_bytes") is not None:
        return values["cache_bytes"]
    found = bytes_of(value, values) if isinstance(value, str) else None
    return value if found is None else found
