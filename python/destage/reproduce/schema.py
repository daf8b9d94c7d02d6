"""JSON schema of a file of claims, from the types that it is read as."""

from __future__ import annotations

from typing import Any

import msgspec

from destage.reproduce.claims import Paper

__all__ = ["claims_schema"]


def claims_schema() -> dict[str, Any]:
    """Return the JSON schema of a file of claims (docs/contribute/add-a-paper.md)."""

    def texts(kind: type) -> dict[str, Any]:
        """A text, or several: a type that msgspec lacks."""
        text = {"type": "string"}
        return {"anyOf": [text, {"type": "array", "items": text}]}

    made = msgspec.json.schema(Paper, schema_hook=texts)
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "Claims of a paper, of Destage", **made}
