"""PDFs that are the same each time.

The engine's writer numbers fonts and lists resources in the order of a hash table, which is another
one in every process. Nothing but that order differs: here objects are numbered as they are come
across from the root, and resources are listed by name.
"""

from __future__ import annotations

import re

__all__ = ["settled"]

_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
#: Lines `/name N 0 R` that stand together: entries of one dictionary.
_ENTRIES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n){2,}", re.MULTILINE)
_STREAM = b"\nstream\n"


def settled(data: bytes) -> bytes:
    """The PDF with its objects in an order that follows from their contents."""
    trailer, last = data.rfind(b"trailer\n"), data.rfind(b"startxref\n")
    if trailer < 0 or last < trailer:
        return data
    found = _found(data)
    bodies = {number: _sorted(body) for number, body in found.values()}
    root = _REFERENCE.findall(data[trailer:])
    order = _reached(bodies, [int(number) for number in root])
    place = {number: k for k, number in enumerate(order, start=1)}
    out, offsets = bytearray(data[: min(found)]), []
    for number in order:
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (place[number], _numbered(bodies[number], place))
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(order) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = _numbered(data[trailer:last], place)
    end = re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), end)
    return bytes(out + end + b"startxref\n%d\n%%%%EOF" % start)


def _found(data: bytes) -> dict[int, tuple[int, bytes]]:
    """Number and body of every object by its place, from the table: streams may hold anything."""
    table = int(data[data.rfind(b"startxref") :].split()[1])
    lines = data[table : data.rfind(b"trailer\n")].splitlines()[2:]
    starts = sorted(int(line[:10]) for line in lines if line[17:18] == b"n")
    found = {}
    for start, end in zip(starts, [*starts[1:], table], strict=True):
        number, _, body = data[start:end].partition(b" 0 obj\n")
        found[start] = (int(number), body[: body.rindex(b"\nendobj\n")])
    return found


def _sorted(body: bytes) -> bytes:
    head, mark, rest = body.partition(_STREAM)
    text = _ENTRIES.sub(lambda m: b"".join(sorted(m[0].splitlines(keepends=True))), head + b"\n")
    return text[:-1] + mark + rest


def _reached(bodies: dict[int, bytes], begin: list[int]) -> list[int]:
    """Every object that is referred to, in the order in which it is come across."""
    order: list[int] = []
    left = begin[::-1]
    while left:
        number = left.pop()
        if number in order or number not in bodies:
            continue
        order.append(number)
        head = bodies[number].partition(_STREAM)[0]
        left += [int(n) for n in reversed(_REFERENCE.findall(head))]
    return order


def _numbered(body: bytes, place: dict[int, int]) -> bytes:
    head, mark, rest = body.partition(_STREAM)
    return _REFERENCE.sub(lambda m: b"%d 0 R" % place[int(m[1])], head) + mark + rest
