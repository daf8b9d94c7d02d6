"""The public cases of `../shared/cases`: read right, refused with what to type, or doubted.

The files come from public threads. They are skipped where they are missing (`$DESTAGE_CASES`).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Destage
from own_file import BY_NUMBER, CSV, accepted, case, hits, info, numbers, printed, refused


def test_h01_scsi_codes(destage: Destage) -> None:
    path = case("h01")
    done = destage("trace", "info", path)
    refused(done, 65, "--op-read 28 --op-write 2a", "the unit of time is not in the file")
    found = accepted(destage, done, time_unit="s")
    assert numbers(found)[:3] == (40, 28, 331_776)


def test_h02_rwbs(destage: Destage) -> None:
    done = destage("trace", "info", case("h02"))
    assert done.status == 65
    found = numbers(accepted(destage, done))
    assert (found[1], found[0] - found[1], found[2]) == (23, 17, 323_584)


def test_h03_key_value(destage: Destage) -> None:
    done = destage("trace", "info", case("h03"))
    refused(done, 65, "key-value trace", "key names an object", "oracle-general", "op_count")
    assert "--columns" not in done.err


def test_h04_io_tracer(destage: Destage) -> None:
    path = case("h04")
    done = destage("trace", "head", path, "--json", "-")
    rows = json.loads(done.out)["requests"]
    assert [row["op"] for row in rows] == ["write", "read", "flush", "trim"]
    # The date is that of the completion: arrival is the latency before.
    latencies = [1.234, 0.567, 2.345, 2.345]
    done_ms = [row["time_ns"] / 1e6 + ms for row, ms in zip(rows, latencies, strict=True)]
    assert [ms - done_ms[0] for ms in done_ms] == pytest.approx([0, 111.111, 222.222, 876.544])
    assert rows[0]["offset_bytes"] == 2_048_000 * 512
    assert rows[0]["length_bytes"] == 8192


def test_h05_open_cas(destage: Destage) -> None:
    done = destage("trace", "info", case("h05"))
    columns = "time=header.timestamp,op=io.operation,offset=io.lba,length=io.len,device=device.name"
    refused(done, 65, columns)
    words = ["ns" if word == "UNIT" else word for word in printed(done)]
    rows = json.loads(destage("trace", "head", *words[2:], "--json", "-").out)["requests"]
    extents = [(r["time_ns"], r["op"], r["offset_bytes"], r["length_bytes"]) for r in rows]
    assert extents == [(0, "write", 1_048_576, 4096), (300_000, "read", 41_943_040, 16_384)]


def test_h06_several_texts_of_an_operation(destage: Destage, tmp_path: Path) -> None:
    path = case("h06")
    right = (40, 27, 364_544)
    mapping = (
        "--format csv --columns time=time_us,op=op,offset=offset,length=length --time-unit us"
        " --offset-unit byte --length-unit byte"
    )
    lists = "--op-read R,Read,read,RA,RM --op-write W,Write,WS,WFS,WM"
    assert numbers(info(destage, path, f"{mapping} {lists}"))[:3] == right
    again = "--op-read R,Read --op-read read --op-read RA,RM --op-write W,Write,WS --op-write WFS"
    assert numbers(info(destage, path, f"{mapping} {again} --op-write WM"))[:3] == right
    config = tmp_path / "how.toml"
    config.write_text(
        '[trace]\nformat = "csv"\ntime_unit = "us"\noffset_unit = "byte"\nlength_unit = "byte"\n'
        'columns = { time = "time_us", op = "op", offset = "offset", length = "length" }\n'
        'op_read = ["R", "Read", "read", "RA", "RM"]\n'
        'op_write = ["W", "Write", "WS", "WFS", "WM"]\n'
    )
    assert numbers(info(destage, path, f"--config {config}"))[:3] == right
    draft = destage("trace", "info", path)
    assert numbers(accepted(destage, draft))[:3] == right


def test_h23_an_index_column(destage: Destage) -> None:
    done = destage("trace", "info", case("h23"))
    assert done.status == 65
    found = accepted(destage, done)
    assert [v["name"] for v in found["volumes"]] == ["usr_0", "usr_1"]
    assert found["response"]["max_ns"] == 4_128_600


def test_h07_a_first_record_that_looks_odd(destage: Destage) -> None:
    found = info(destage, case("h07"), f"{BY_NUMBER} --op-flush F")
    assert found["counts"]["requests"] == 30
    assert found["summary"]["header"] == 0


def test_h08_a_flush_comes_first(destage: Destage) -> None:
    counts = info(destage, case("h08"), f"{BY_NUMBER} --op-flush F")["counts"]
    assert (counts["requests"], counts["flushes"]) == (30, 3)


def test_h09_seconds_in_a_column_of_milliseconds(destage: Destage) -> None:
    path = case("h09")
    done = destage("trace", "info", path)
    refused(done, 65, "9 digits behind the point, as seconds have", "--time-unit s")
    done = destage("compare", path, "-p", "lru", "-c", "64p", "--format", "disksim")
    assert done.status == 0, done
    assert "as seconds have" in done.err
    assert info(destage, path, "--time-unit s")["duration_ns"] == 571_676_000_000


def test_h10_a_key_value_trace_in_seconds(destage: Destage) -> None:
    path = case("h10")
    blocks = "--block-bytes 2MiB"
    done = destage("trace", "info", path, *blocks.split())
    refused(done, 65, "digits behind the point, as seconds have", "--time-unit s")
    words = "--kv -c 512MiB --tier2-cache 4GiB --price tbw=600TB"
    refused(destage("advise", path, *blocks.split(), *words.split()), 65, "--time-unit s")
    given = info(destage, path, f"{blocks} --format mooncake")
    assert [doubt["about"] for doubt in given["doubts"]] == ["time_unit"]
    found = info(destage, path, f"{blocks} --time-unit s")
    assert (found["doubts"], found["duration_ns"]) == ([], 144_868_000_000)
    assert (found["counts"]["requests"], found["counts"]["unique_pages"]) == (1963, 1044)


def test_h11_bytes_in_a_column_of_sectors(destage: Destage) -> None:
    path = case("h11")
    refused(destage("trace", "info", path), 65, "are they bytes?", "--block-bytes 1")
    assert numbers(info(destage, path, "--block-bytes 1"))[2:] == (1_945_600, 475)
    assert hits(destage, path, "--block-bytes 1") == (100, 475)


def test_h12_sectors_in_a_column_of_bytes(destage: Destage) -> None:
    path = case("h12")
    done = destage("trace", "info", path)
    refused(done, 65, "are the lengths sectors?", "--offset-unit sector --length-unit sector")
    remedy = re.search(r"--format csv .*", done.err)
    assert remedy, done.err
    assert numbers(info(destage, path, remedy[0]))[2:] == (1_912_832, 467)
    assert hits(destage, path, remedy[0]) == (107, 467)


def test_h13_another_order_of_columns(destage: Destage) -> None:
    path = case("h13")
    done = destage("trace", "info", path)
    refused(done, 65, "it could be alibaba", "240 volumes for 240 requests", "--format csv")
    flags = f"--columns time=0,op=1,offset=2,length=3 {CSV}"
    found = info(destage, path, flags)
    assert (found["counts"]["requests"], len(found["volumes"])) == (240, 1)
    assert found["duration_ns"] == 244_087_000
    assert hits(destage, path, flags) == (100, 453)


def test_h14_an_operation_is_no_column_to_ignore(destage: Destage) -> None:
    done = destage("trace", "info", case("h14"))
    refused(done, 65, "it could be arc", "does not say which of them reads")
    c = accepted(destage, done, offset_unit="sector", length_unit="sector")["counts"]
    assert (c["reads"], c["writes"]) == (148, 92)


def test_h26_two_recordings_in_one_file(destage: Destage) -> None:
    path = case("h26")
    done = destage("compare", path, "-p", "lru", "-c", "64p")
    assert done.status == 0, done
    assert "are several recordings in one file?: --order file" in done.err
    assert hits(destage, path, "--order file")[0] == 0
    screen = destage("trace", "info", path)
    assert re.search(r"reading +1 stepped back \(at most", screen.out), screen.out


def test_h18_bpftrace(destage: Destage) -> None:
    found = numbers(info(destage, case("h18")))
    assert (found[0], found[1]) == (3, 2)


def test_h19_biosnoop_of_libbpf(destage: Destage) -> None:
    path = case("h19")
    c = info(destage, path)["counts"]
    assert (c["writes"], c["reads"], c["trims"], c["flushes"]) == (1, 2, 1, 1)


def test_h25_biosnoop_with_a_pattern(destage: Destage) -> None:
    head = destage("trace", "head", case("h25"), "--json", "-")
    first = json.loads(head.out)["requests"]
    assert len(first) == 4
    assert {row["response_ns"] for row in first} == {5_490_000, 6_680_000, 8_510_000, 800_000}


def test_h20_perf_script(destage: Destage) -> None:
    done = destage("trace", "head", case("h20"), "--json", "-")
    found = [
        (r["time_ns"], r["op"], r["offset_bytes"], r["length_bytes"])
        for r in json.loads(done.out)["requests"]
    ]
    assert found == [(0, "write", 1_048_576, 4096), (10_000_000, "read", 41_943_040, 16_384)]


def test_h21_hashes_of_64_bits(destage: Destage) -> None:
    found = info(destage, case("h21"), "--block-bytes 2MiB")
    assert (found["counts"]["requests"], found["counts"]["unique_pages"]) == (7, 4)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("h16", "fio's iops (1,000) is not requests in flight / latency"),
        ("h17", "6 jobs ran at once (randread-1-1, randread-4-1, randread-32-1, ...: one groupid)"),
        ("h24", "this is of fio --client, whose jobs are in client_stats"),
    ],
)
def test_fio_that_contradicts_itself_is_refused(destage: Destage, name: str, said: str) -> None:
    flags = "-o m.toml --assume-written --capacity 960GB"
    refused(destage("devices", "fit", case(name), *flags.split()), 65, said)


def test_h15_the_last_document_of_fio_counts(destage: Destage, tmp_path: Path) -> None:
    for name, out in (("h15_fio_status", "a.toml"), ("h15_fio_last", "b.toml")):
        flags = f"-o {out} --assume-written --capacity 960GB"
        done = destage("devices", "fit", case(name), *flags.split())
        assert done.status == 0, done
        assert ("2 documents (fio --status-interval)" in done.err) == (out == "a.toml")

    def times(name: str) -> list[str]:
        return re.findall(r"^\w+_ns = \d+", (tmp_path / name).read_text(), re.MULTILINE)

    assert times("a.toml") == times("b.toml") != []
