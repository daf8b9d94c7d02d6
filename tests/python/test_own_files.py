"""Files of the kinds that people have: read right, refused with what to type, or doubted."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Destage
from own_file import BY_NUMBER, CSV, accepted, info, keywords, numbers, refused, rows, sector

import destage as ds


@pytest.mark.parametrize("offset", ["1e6", "-8", "12x", "0x1g"])
def test_a_first_record_is_no_header(destage: Destage, tmp_path: Path, offset: str) -> None:
    path = tmp_path / "io.csv"
    path.write_text(f"1,R,{offset},4096\n2,R,4096,4096\n3,W,8192,4096\n")
    refused(destage("trace", "info", path, *shlex.split(BY_NUMBER)), 65, "io.csv:1:5: offset")


def test_a_header_is_shown(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "io.csv"
    path.write_text("t,o,a,l\n1,R,0x1000,4096.0\n2,R,4096,4096\nt,o,a,l\n3,W,8192.0,4096\n")
    done = destage("trace", "info", path, *shlex.split(BY_NUMBER))
    assert done.status == 0, done
    assert "2 header lines" in done.out
    assert "requests            3:" in done.out


@pytest.mark.parametrize("flag", ["time-unit us", "offset-unit sector", "op-read 1", "spread none"])
def test_an_option_of_other_formats_is_an_error(
    destage: Destage, tmp_path: Path, flag: str
) -> None:
    path = tmp_path / "hm_0.csv"
    path.write_text("128166372003061629,hm,0,Read,8192,4096,10\n" * 3)
    key = flag.split()[0]
    name = key.replace("-", "_")
    done = destage("trace", "info", path, f"--{key}", flag.split()[1])
    refused(done, 2, f"{name} (--{key}): format msr (detected) does not have this option")
    refused(destage("compare", path, "-p", "lru", "-c", "8p", f"--{key}", flag.split()[1]), 2, name)
    with pytest.raises(ds.UsageError, match="format msr"):
        ds.open_trace(path, **{name: flag.split()[1]})
    config = tmp_path / "c.toml"
    config.write_text(f'[trace]\n{name} = "{flag.split()[1]}"\n')
    done = destage("trace", "info", path, "--config", config, "--verbose")
    assert done.status == 0, done
    assert f"format msr does not have {name}: no effect" in done.err


def test_the_way_is_named_and_works(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "hm_0.csv"
    path.write_text(
        "128166372003061629,hm,0,Read,1024,8,10\n128166372003061639,hm,1,Write,8,8,10\n"
    )
    done = destage("trace", "info", path, "--length-unit", "sector", "--offset-unit", "sector")
    way = re.search(r"to read the file so: (--format csv .*)", done.err)
    assert way, done.err
    found = info(destage, path, way[1])
    assert [v["name"] for v in found["volumes"]] == ["hm_0", "hm_1"]
    assert numbers(found)[2] == 8192


def test_a_result_records_what_was_applied(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "hm_0.csv"
    path.write_text("128166372003061629,hm,0,Read,8192,4096,10\n" * 3)
    config = tmp_path / "c.toml"
    config.write_text('[trace]\ntime_unit = "s"\nvolume = "hm_0"\n')
    done = destage("compare", path, "-p", "lru", "-c", "8p", "--config", config, "--json", "r.json")
    assert done.status == 0, done
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["trace"]["options"]["reader"] == {"volume": ["hm_0"]}
    assert destage("rerun", "r.json").status == 0


DOUBTED: list[tuple[str, str, str, str, str]] = [
    (
        "alibaba",
        rows(40, lambda k: f"{k % 3},R,{sector(k) * 512},4096,{1_577_808_000_000 + k}"),
        "before the year 2000",
        "--time-unit ms",
        "",
    ),
    (
        "spc",
        rows(40, lambda k: f"{k * 17},{sector(k)},4096,R,{k}.5"),
        "40 volumes for 40 requests",
        "--columns",
        "",
    ),
    (
        "k5cloud",
        rows(40, lambda k: f"{k * 17},{k * 3}.25,R,{sector(k) * 512},4096"),
        "volumes for 40 requests",
        "--columns",
        "",
    ),
    (
        "mqsim",
        rows(40, lambda k: f"{k * 300} 0 {sector(k)} 8 {k % 2}"),
        "requests/s in",
        "--time-unit us",
        "",
    ),
    (
        "disksim",
        rows(40, lambda k: f"{k * 600000}.5 0 {sector(k)} 8 {k % 2}"),
        "less than one a minute",
        "--time-unit us",
        "",
    ),
    (
        "disksim",
        rows(40, lambda k: f"{1_538_323_200 + k}.25 0 {sector(k)} 8 {k % 2}"),
        "seconds since 1970",
        "--time-unit s",
        "",
    ),
    (
        "mqsim",
        rows(40, lambda k: f"{k * 1_000_000} 0 {sector(k) * 512} 4096 {k % 2}"),
        "are they bytes?",
        "--offset-unit byte --length-unit byte",
        "",
    ),
    (
        "tencent",
        rows(40, lambda k: f"{1_538_323_200 + k},{sector(k) * 512},8,{k % 2},3"),
        "every address is a multiple of 512 units",
        "--offset-unit byte",
        "",
    ),
    (
        "systor17",
        rows(40, lambda k: f"{1_456_012_801 + k}.5,0.0004,R,1,{sector(k)},8"),
        "are the lengths sectors?",
        "--length-unit sector",
        "",
    ),
    (
        "csv",
        rows(40, lambda k: f"{k},R,{sector(k)},8"),
        "are the lengths sectors?",
        "--offset-unit sector --length-unit sector",
        BY_NUMBER,
    ),
    (
        "csv",
        rows(40, lambda k: f"{k * 1000},R,{sector(k) * 512},4096,900000"),
        "responses of",
        "--time-unit",
        f"--format csv --columns time=0,op=1,offset=2,length=3,response=4 {CSV} --response-unit ms",
    ),
    (
        "csv",
        rows(40, lambda k: f"{k * 7919 % 1000},R,{sector(k) * 512},4096"),
        "the time steps back at",
        "--columns",
        BY_NUMBER,
    ),
]


@pytest.mark.parametrize(
    ("name", "text", "cause", "remedy", "flags"), DOUBTED, ids=[f"{d[0]} {d[2]}" for d in DOUBTED]
)
def test_a_doubt_is_a_question_of_a_detected_format_and_a_warning_of_a_given_one(
    destage: Destage, tmp_path: Path, name: str, text: str, cause: str, remedy: str, flags: str
) -> None:
    path = tmp_path / "own.txt"
    path.write_text(text)
    if not flags:
        refused(destage("trace", "info", path), 65, f" {name}", cause)
    given = flags or f"--format {name}"
    done = destage("compare", path, "-p", "lru", "-c", "8p", *shlex.split(given))
    assert done.status == 0, done
    said = " ".join(done.err.split())
    assert cause in said, done.err
    assert remedy in said, done.err
    doubts = info(destage, path, given)["doubts"]
    assert any(cause in doubt["cause"] and remedy in doubt["remedy"] for doubt in doubts), doubts
    trace = ds.open_trace(path, **keywords(given))
    assert [dict(one) for one in trace.doubts] == doubts


def test_a_clock_of_32_bits_that_starts_again(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "wraps.csv"
    start = (1 << 32) - 1000
    path.write_text(rows(30, lambda k: f"{(start + 50 * k) % (1 << 32)},R,{sector(k) * 512},4096"))
    done = destage("compare", path, "-p", "lru", "-c", "8p", *shlex.split(BY_NUMBER))
    assert done.status == 0, done
    said = " ".join(done.err.split())
    assert "2^32 us" in said, done.err
    assert "--order file" in said, done.err


def test_two_runs_of_blkparse_in_one_file(destage: Destage, tmp_path: Path) -> None:
    line = "  8,16   0       11     {}.000120450   977  D  WS {} + 8 [job]\n"
    run = "".join(line.format(k, sector(k)) for k in range(8)) + "CPU0 (t):\n Reads Queued: 0\n"
    path = tmp_path / "two.txt"
    path.write_text(run + run)
    done = destage("trace", "info", path)
    assert done.status == 0, done
    assert "several runs in this file" in " ".join(done.err.split()), done.err


def test_key_values_without_times_and_with_names(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "kv.jsonl"
    path.write_text(
        '{"input_length": 1024, "hash_ids": ["9f3a", "77b0"]}\n'
        '{"input_length": 512, "hash_ids": ["9f3a"], "timestamp": null}\n'
    )
    found = info(destage, path, "--block-bytes 4096")
    assert (found["timed"], found["counts"]["requests"]) == (False, 3)
    assert found["counts"]["unique_pages"] == 2


@pytest.mark.parametrize(
    "lines",
    [
        ['{"layer": 0, "topk_experts": [[1, 2], [1, 3]]}', '{"layer": 1, "topk_experts": [[1]]}'],
        ['{"layer_id": 0, "topk_ids": [1, 2, 1, 3]}', '{"layer_id": 1, "topk_ids": [1]}'],
        ['{"tok": 5, "selected_ids": [[1, 2, 1, 3], [1]]}'],
    ],
)
def test_experts_are_pages(destage: Destage, tmp_path: Path, lines: Sequence[str]) -> None:
    path = tmp_path / "moe.jsonl"
    path.write_text("\n".join(lines) + "\n")
    found = info(destage, path)
    assert (found["counts"]["accesses"], found["counts"]["unique_pages"]) == (5, 4)
    assert found["timed"] is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"time": 1, "lba": 8}\n' * 3, "JSON lines with the keys time, lba"),
        ("I  04222c4,3\n S 1ffeffe7e,8\n L 1ffeffe80,8\n", "memory accesses of a program"),
        ("0x7f1200401000: W 0x7ffe12345678\n" * 3, "memory accesses of a program"),
        ("ts,key,op,size\n1,ab,get,3\n2,cd,set,5\n", "key-value trace"),
        ("ts,op,off,len\n1,R,0,8\n2,R,8,8\n" + "\0" * 64, "NUL bytes from byte 30 on, behind 3"),
        ("1219008 REST.PUT.OBJECT 8d4f 1056\n1219010 REST.GET.OBJECT 8d4f 1056\n", "key-value"),
    ],
)
def test_other_text_is_called_what_it_is(
    destage: Destage, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    done = destage("trace", "info", path)
    refused(done, 65, said)
    assert "--columns" not in done.err


# Dates, in every kind of table.

DATES = ["2024-01-15 10:30:45.123456", "2024-01-15 10:30:45.234567", "2024-01-15 10:30:46"]
ARRIVALS = [0, 111_111_000, 876_544_000]


def test_dates_of_a_file(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "io.csv"
    path.write_text("when,op,lba,bytes,note\n" + "".join(f"{d},R,8,512,x\n" for d in DATES))
    found = accepted(destage, destage("trace", "info", path))
    assert found["duration_ns"] == ARRIVALS[-1]


@pytest.mark.parametrize("kind", ["mapping", "pandas", "polars", "pyarrow", "numpy", "parquet"])
def test_dates_further_columns_and_units_of_frames(tmp_path: Path, kind: str) -> None:
    np = pytest.importorskip("numpy")
    when: Any = np.array(DATES, dtype="datetime64[ns]")
    columns = {"when": when, "rw": ["R", "W", "RA"], "lba": [8, 16, 8], "n": [8, 8, 8], "x": "abc"}
    columns["x"] = list("abc")
    given: Any = columns
    if kind == "mapping":
        given = {**columns, "when": DATES}
    elif kind == "pyarrow":
        given = pytest.importorskip("pyarrow").table(columns)
    elif kind in ("pandas", "polars", "parquet"):
        frame = pytest.importorskip("polars" if kind == "parquet" else kind)
        given = frame.DataFrame(columns)
    if kind == "parquet":
        given.write_parquet(tmp_path / "io.parquet")
        given = tmp_path / "io.parquet"
    trace = ds.open_trace(
        given,
        columns={"time": "when", "op": "rw", "offset": "lba", "length": "n"},
        offset_unit="sector",
        length_unit="sector",
        op_read=["R", "RA"],
        op_write="W",
    )
    assert [(r.time_ns, r.op, r.page) for r in trace] == [
        (ARRIVALS[0], "read", 1),
        (ARRIVALS[1], "write", 2),
        (ARRIVALS[2], "read", 1),
    ]


def test_further_columns_are_left_out_and_a_slip_is_named() -> None:
    assert len(ds.open_trace({"page": [1, 2], "comment": ["a", "b"]})) == 2
    with pytest.raises(ds.UsageError, match="did you mean length_bytes"):
        ds.open_trace({"offset_bytes": [0], "length_byte": [1]})
    with pytest.raises(ds.UsageError, match="columns="):
        ds.open_trace({"lba": [0], "n": [1]})


def test_of_many_volumes_ten_are_listed(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text(
        rows(
            600,
            lambda k: f"{k % 25},R,{sector(k) * 512},4096,{1_577_808_000_000_000 + k * 500}",
        )
    )
    out = destage("trace", "info", path).out
    listed = out.partition(" volumes, the 10 with the most requests:")[2]
    assert len(re.findall(r"^    \d+ ", listed, re.MULTILINE)) == 10


def test_no_cache_runs_once(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "hm_0.csv"
    path.write_text(
        rows(50, lambda k: f"{128166372003061629 + 10_000 * k},hm,0,Read,{sector(k) * 512},4096,10")
    )
    done = destage("compare", path, "-p", "none", "-d", "small", "--json", "-")
    assert done.status == 0, done
    assert len(json.loads(done.out)["runs"]) == 1


def test_no_real_trace_is_doubted() -> None:
    folder = Path(os.environ.get("DESTAGE_TRACES", Path(__file__).parents[3] / "shared" / "traces"))
    files = sorted([*folder.glob("*.xz"), *folder.glob("own/*.xz")])
    if not files:
        pytest.skip(f"no traces in {folder} (DESTAGE_TRACES)")
    for path in files:
        options: dict[str, Any] = {"bytes_per_token": 1024} if "mooncake" in path.name else {}
        if "DTRS" in path.name:
            options["time_unit"] = "us"
        if "blk" in path.name or "raw" in path.name:
            options["volumes"] = "stack"
        trace = ds.open_trace(path, **options)
        assert trace.doubts == (), path.name


@pytest.mark.parametrize(
    ("name", "requests", "trims", "flushes"),
    [
        ("biosnoop-libbpf.txt", 5, 1, 1),
        ("iosnoop.txt", 5, 1, 1),
        ("tracefs.txt", 4, 1, 1),
        ("io-tracer.csv", 4, 1, 1),
        ("moe-routing.jsonl", 14, 0, 0),
        ("lmcache.lct", 9, 0, 0),
    ],
)
def test_recorders_are_detected_and_not_doubted(
    destage: Destage, name: str, requests: int, trims: int, flushes: int
) -> None:
    found = info(destage, ROOT / "tests" / "data" / name)
    c = found["counts"]
    assert (c["requests"], c["trims"], c["flushes"]) == (requests, trims, flushes)
    assert found["doubts"] == []
