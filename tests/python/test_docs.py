"""Examples in docstrings run, and every public name is described."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import destage as ds

MODULES = [
    "destage",
    *(
        f"destage.{m}"
        for m in ("catalogue", "demo", "device", "results", "runs", "trace", "tuning")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0


def test_every_public_name_is_described() -> None:
    for name in ds.__all__:
        value = getattr(ds, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
