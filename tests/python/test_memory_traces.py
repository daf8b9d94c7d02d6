"""Traces from memory, and requests of a trace as rows and columns."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import destage as ds


def test_page_numbers_are_a_trace_of_reads() -> None:
    trace = ds.open_trace([1, 2, 3, 1])
    assert (len(trace), trace.unique_pages, trace.requests) == (4, 3, 4)
    assert [r.page for r in trace] == [1, 2, 3, 1]
    assert [r.op for r in trace.head(2)] == ["read", "read"]
    assert ds.compare(trace, "lru", cache="3p")[0].hit_ratio == 0.25
    assert ds.open_trace((1, 2, 3, 1)).fingerprint == trace.fingerprint
    assert pickle.loads(pickle.dumps(trace)).fingerprint == trace.fingerprint


COLUMNS: dict[str, list[Any]] = {
    "time_s": [0.0, 0.5, 1.25],
    "op": ["read", "write", "read"],
    "offset_bytes": [8192, 0, 4096],
    "length_bytes": [4096, 8192, 4096],
    "device": ["a", "a", "a"],
}


def frames() -> dict[str, Any]:
    """The same columns as everything that holds columns here."""
    made: dict[str, Any] = {"mapping": COLUMNS}
    for name, make in (("polars", "DataFrame"), ("pandas", "DataFrame"), ("pyarrow", "table")):
        try:
            made[name] = getattr(__import__(name), make)(COLUMNS)
        except ImportError:
            continue
    return made


@pytest.mark.parametrize("given", frames().values(), ids=frames())
def test_columns_are_a_trace(given: Any) -> None:
    trace = ds.open_trace(given)
    assert [tuple(r) for r in trace] == [
        (0, "read", 2, 1),
        (500_000_000, "write", 0, 2),
        (1_250_000_000, "read", 1, 1),
    ]
    assert trace.volumes == ("a",)


def test_a_comparison_of_many_volumes_describes_none_of_them() -> None:
    """A description of each takes a kilobyte, of 10^6 volumes a gigabyte."""
    volumes = [f"v{number:03}" for number in range(300)]
    columns = {"offset_bytes": [4096 * n for n in range(300)], "length_bytes": [4096] * 300}
    trace = ds.open_trace({**columns, "device": volumes})
    assert len(ds.compare(trace, "lru", cache="4p").to_json()) > 0
    said = dict(trace.overview)
    assert "meta" not in vars(trace)
    assert (said.pop("volumes"), trace.volumes) == (
        {"count": 300, "first": "v000", "span_bytes": 4096 * 300 * 301 // 2},
        tuple(volumes),
    )
    assert said.items() <= trace.meta.items()


def test_numpy_columns_and_pages() -> None:
    np = pytest.importorskip("numpy")
    assert len(ds.open_trace(np.array([5, 6, 5], dtype=np.uint32))) == 3
    trace = ds.open_trace({"page": np.arange(4), "op": np.array([0, 1, 1, 0])})
    assert [r.op for r in trace] == ["read", "write", "write", "read"]


def test_a_trace_is_a_data_frame() -> None:
    pytest.importorskip("polars")
    trace = ds.synth("zipf", requests=500, pages=100, seed=1)
    frame = trace.to_polars()
    assert frame.columns == ["time_ns", "op", "page", "pages"]
    assert len(frame) == len(trace) == 500
    again = ds.open_trace(frame)
    assert [tuple(r) for r in again] == [tuple(r) for r in trace]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1, -2], "item 1: expected a page number from 0"),
        ([1, 2.5], "item 1: expected a page number from 0"),
        ({"pgae": [1]}, "unknown column 'pgae', did you mean page?"),
        ({"op": ["r"]}, "expected a column page or offset_bytes"),
        ({"page": [1], "op": []}, "expected columns of one length, got page 1, op 0"),
        ({"page": [1], "offset_bytes": [1]}, "columns page and offset_bytes mean the same"),
        ({"offset_bytes": [1]}, "offset_bytes needs length_bytes"),
        (b"trace.csv", r"expected a path as text, got b'trace.csv': os.fsdecode\(path\)"),
    ],
)
def test_columns_that_are_no_trace_are_named(given: Any, said: str) -> None:
    with pytest.raises(ds.UsageError, match=said):
        ds.open_trace(given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"page": [1, None, 3]}, 'item 1: offset: expected a whole number, found ""'),
        ({"page": ["", "2"]}, 'item 0: offset: expected a whole number, found ""'),
        ({"page": [1, 2, 2.5]}, 'item 2: offset: expected a whole number, found "2.5"'),
        ({"page": [1, 2], "op": ["r", "x"]}, "item 1: op: expected one of "),
    ],
    ids=str,
)
def test_an_item_that_is_no_request_is_named_by_its_number(given: Any, said: str) -> None:
    with pytest.raises(ds.DataError) as found:
        ds.open_trace(given)
    assert str(found.value).startswith(f"trace in memory: {said}")
    kept = ds.open_trace(given, on_error="skip")
    assert len(kept) == len(next(iter(given.values()))) - 1


@pytest.mark.parametrize("name", ["a,b", 'a"b', 0])
def test_names_of_columns_are_as_given(name: Any) -> None:
    how: dict[str, Any] = {"offset_unit": "page", "default_op": "read"}
    assert ds.open_trace({name: [5, 6]}, columns={"offset": name}, **how).unique_pages == 2


def test_a_column_of_durations_is_named_with_its_conversion() -> None:
    polars = pytest.importorskip("polars")
    times = polars.Series([1, 2]).cast(polars.Duration("us"))
    with pytest.raises(ds.UsageError, match=r"got a column of Duration.*total_nanoseconds"):
        ds.open_trace({"page": [1, 2], "time": times})
