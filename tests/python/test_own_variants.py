"""Variants of the files that people have: no plausible number without a word."""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage
from own_file import BY_NUMBER, accepted, case, info, numbers, refused, rows, sector

MSR = "128166372003061629"


def rw(k: int) -> str:
    return "RW"[k % 2]


#: Text of a file, and what the draft's command reads: its first request, and how many are reads.
DRAFTED: list[tuple[str, str, tuple[str, int, int], int]] = [
    (
        "an index in front of alibaba's columns in another order",
        rows(60, lambda k: f"{k},{rw(k)},{sector(k) * 512},4096,{1577808000000000 + k * 900}"),
        ("read", 4096, 4096),
        30,
    ),
    (
        "an index from 1",
        rows(60, lambda k: f"{k + 1},{rw(k)},{sector(k) * 512},4096,{1577808000000 + k}"),
        ("read", 4096, 4096),
        30,
    ),
    (
        "times of records that complete out of order",
        rows(60, lambda k: f"{rw(k)},{sector(k) * 512},4096,{1577808000000000 + 900 * (k ^ 1)}"),
        ("write", 3768320, 4096),
        30,
    ),
    (
        "k5cloud's places with whole microseconds",
        rows(60, lambda k: f"{k},{1577808000000000 + k * 900},{rw(k)},{sector(k) * 512},4096"),
        ("read", 4096, 4096),
        30,
    ),
    (
        "names by their last word, and commands of SCSI",
        "issue_ns,command,byte_off,nbytes\n"
        + rows(60, lambda k: f"{k},{'WRITE(10)' if k % 2 else 'READ_16'},{sector(k) * 512},512"),
        ("read", 4096, 512),
        30,
    ),
]


@pytest.mark.parametrize(("text", "first", "reads"), [d[1:] for d in DRAFTED], ids=lambda d: "")
def test_a_draft_takes_no_time_or_index_for_an_address(
    destage: Destage, tmp_path: Path, text: str, first: tuple[str, int, int], reads: int
) -> None:
    path = tmp_path / "own.csv"
    path.write_text(text)
    done = destage("trace", "info", path)
    assert done.status == 65, done
    found = accepted(destage, done, time_unit="us")
    assert numbers(found)[:2] == (60, reads)
    command = next(line for line in done.err.splitlines() if ": destage trace info" in line)
    flags = shlex.split(command.partition("own.csv ")[2].replace("UNIT", "us"))
    head = json.loads(destage("trace", "head", path, *flags, "--json", "-").out)
    row = head["requests"][0]
    assert (row["op"], row["offset_bytes"], row["length_bytes"]) == first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            rows(60, lambda k: f"{k},{sector(k) * 512},4096"),
            "no time, operation found: column 0 is left out; all requests are taken as reads",
        ),
        (
            rows(60, lambda k: f"{k * 10} {k % 3} {sector(k)} 8 {k % 4}"),
            "no operation found: columns 1, 4 are left out; all requests are taken as reads",
        ),
        (
            "time_us,operation,bytes\n" + rows(60, lambda k: f"{k},{rw(k)},4096"),
            "no column is named an address: put offset=NAME into --columns",
        ),
    ],
)
def test_a_draft_names_what_it_leaves_out(
    destage: Destage, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "own.txt"
    path.write_text(text)
    refused(destage("trace", "info", path), 65, said)


DOUBTED: list[tuple[str, str, str, str]] = [
    (
        "--format msr",
        rows(60, lambda k: f"{int(MSR) + k * 10000},hm,0,Read,4096,{sector(k) << 13},10"),
        "are the columns of address and length exchanged?",
        "length=4,offset=5",
    ),
    (
        "--format arc",
        rows(60, lambda k: f"{sector(k)} {k % 2} 0 {k}"),
        "30 of 60 requests have length 0",
        "--columns",
    ),
    (
        "--format fio-iolog",
        "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n"
        + rows(60, lambda k: f"/dev/sdb {'read' if k % 2 else 'write'} {sector(k)} 8"),
        "are the lengths sectors?",
        "awk",
    ),
    (
        BY_NUMBER.replace("us", "ms"),
        rows(60, lambda k: f"{k * 0.95:.9f},R,{sector(k) * 512},4096"),
        "9 digits behind the point, as seconds have",
        "--time-unit s",
    ),
    (
        BY_NUMBER.replace("us", "ms"),
        rows(60, lambda k: f"{1_700_000_000 + k},R,{sector(k) * 512},4096"),
        "begin like seconds since 1970",
        "--time-unit s",
    ),
    (
        BY_NUMBER,
        rows(60, lambda k: f"{1_700_000_000_000 + k},R,{sector(k) * 512},4096"),
        "begin like milliseconds since 1970",
        "--time-unit ms",
    ),
]


@pytest.mark.parametrize(("given", "text", "cause", "remedy"), DOUBTED)
def test_a_reading_as_given_is_doubted(
    destage: Destage, tmp_path: Path, given: str, text: str, cause: str, remedy: str
) -> None:
    path = tmp_path / "own.txt"
    path.write_text(text)
    done = destage("compare", path, "-p", "lru", "-c", "8p", *given.split())
    assert done.status == 0, done
    said = " ".join(done.err.split())
    assert cause in said, done.err
    assert remedy in said, done.err
    doubts = info(destage, path, given)["doubts"]
    assert any(cause in doubt["cause"] and remedy in doubt["remedy"] for doubt in doubts), doubts


@pytest.mark.parametrize("k", [0, 1, 3, 4, 5])
def test_the_remedy_of_a_doubt_ends_it(destage: Destage, tmp_path: Path, k: int) -> None:
    given, text, _, _ = DOUBTED[k]
    path = tmp_path / "own.txt"
    path.write_text(text)
    remedy = info(destage, path, given)["doubts"][0]["remedy"]
    if k == 1:
        remedy = BY_NUMBER.replace("time=0,op=1,offset=2,length=3", "offset=0,op=1") + (
            " --time-unit none --op-read 0 --op-write 1 --length-unit sector --offset-unit page"
        )
    # A flag is typed once: the remedy takes the place of what was given.
    typed = shlex.split(remedy if "--format" in remedy else f"{given} {remedy}")
    pairs = dict(zip(typed[::2], typed[1::2], strict=True))
    flags = shlex.join(word for pair in pairs.items() for word in pair)
    assert info(destage, path, flags)["doubts"] == [], flags


def test_fields_of_length_0_in_every_line_are_no_format(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text(rows(60, lambda k: f"{k * 1000000} {sector(k)} 8 0 {k % 2}"))
    done = destage("trace", "info", path)
    refused(done, 65, "length 0: is the column of the length another one?", "--columns")


def test_a_time_that_is_too_large_names_its_unit(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "kv.jsonl"
    line = '{{"timestamp": {}, "hash_ids": [{}]}}'
    path.write_text(rows(60, lambda k: line.format(1700000000000000000 + k * 10**9, k % 7)))
    flags = ["--block-bytes", "2MiB"]
    refused(destage("trace", "info", path, *flags), 65, "is the unit smaller?")
    assert info(destage, path, "--block-bytes 2MiB --time-unit ns")["doubts"] == []


def test_hashes_with_and_without_a_sign(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "kv.jsonl"
    line = '{{"timestamp": {}, "hash_ids": [{}, {}]}}'
    path.write_text(rows(60, lambda k: line.format(k * 200, 2**63 + k % 7, -(k % 5) - 1)))
    found = info(destage, path, "--block-bytes 2MiB")
    assert (found["counts"]["requests"], found["counts"]["unique_pages"]) == (120, 12)


@pytest.mark.parametrize(("event", "letter"), [("bio_queue", "Q"), ("rq_complete", "C")])
def test_other_events_are_named_with_their_option(
    destage: Destage, tmp_path: Path, event: str, letter: str
) -> None:
    path = tmp_path / "perf.txt"
    line = "fio 77 [002] {:.6f}: block:block_{}: 8,16 {} {}{} + 8 [fio]"
    middle = "() " if letter == "C" else ""
    path.write_text(
        rows(20, lambda k: line.format(100 + k * 0.001, event, rw(k), middle, sector(k)))
    )
    refused(destage("trace", "info", path), 65, f"--event {letter} reads the others")
    assert info(destage, path, f"--event {letter}")["counts"]["requests"] == 20


def test_what_a_terminal_prints_around_biosnoop(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "bio.txt"
    line = "{:<11.6f} my prog 123 sdb {} {} 4096 0.120"
    path.write_text(
        "Tracing block I/O... Hit Ctrl-C to end\n"
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n"
        + rows(20, lambda k: line.format(k * 0.001 + 1, rw(k), sector(k)))
        + "^C\n"
    )
    assert numbers(info(destage, path))[:2] == (20, 10)


def test_a_key_of_a_file_without_effect_is_said(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "hm_0.csv"
    path.write_text(rows(40, lambda k: f"{int(MSR) + k * 9},hm,0,Read,{sector(k) * 512},512,9"))
    said = "format msr does not have time_unit: no effect"
    config = tmp_path / "c.toml"
    config.write_text('[trace]\ntime_unit = "s"\n')
    for words in (["compare", path, "-p", "lru", "-c", "8p"], ["trace", "info", path]):
        done = destage(*words, "--config", config)
        assert done.status == 0, done
        assert said in done.err
    spec = tmp_path / "s.toml"
    spec.write_text(
        f'[sweep]\ntraces = ["{path.name}"]\npolicies = ["lru"]\ncache = ["8p"]\n'
        '[trace]\ntime_unit = "s"\n'
    )
    done = destage("sweep", spec, "--store", tmp_path / "store")
    assert done.status == 0, done
    assert said in done.err
    text = rows(60, lambda k: f"{int(MSR) + k * 10000},hm,0,Read,{sector(k)},8,10")
    path.write_text(text)
    spec.write_text(spec.read_text().replace("time_unit", 'format = "msr"\ntime_unit'))
    doubt = f"{path.name}: requests of 8.0 bytes on average are shorter than a sector"
    for more in (["--store", tmp_path / "other"], ["--dry-run", "--store", tmp_path / "other"]):
        done = destage("sweep", spec, *more)
        assert done.status == 0, done
        assert doubt in " ".join(done.err.split())


# fio's JSON.


def _think(data: dict[str, Any]) -> None:
    data["global options"]["thinktime"] = "1ms"
    for job in data["jobs"]:
        job["read"]["iops"] /= 4


def _drives(data: dict[str, Any]) -> None:
    for k, job in enumerate(data["jobs"]):
        job["job options"]["filename"] = f"/dev/nvme{k % 2}n1"


def _files(data: dict[str, Any]) -> None:
    for job in data["jobs"]:
        job["job options"]["filename"] = "/dev/sda:/dev/sdb"


def _mixed(data: dict[str, Any]) -> None:
    for job in data["jobs"]:
        job["job options"]["rw"] = "randrw"
        job["write"] = copy.deepcopy(job["read"])


def _reduced(data: dict[str, Any]) -> None:
    data["global options"]["gtod_reduce"] = "1"
    for job in data["jobs"]:
        for key in ("clat_ns", "slat_ns", "lat_ns"):
            job["read"][key] = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_think, "thinktime keeps the device waiting"),
        (_drives, "its steps measure 2 devices"),
        (_files, "filename has several devices"),
        (_mixed, "mixes reads and writes"),
        (_reduced, "gtod_reduce: measure without it"),
    ],
)
def test_fio_of_other_conditions_is_refused(
    destage: Destage, tmp_path: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    data = json.loads(case("h15_fio_last").read_text())
    change(data)
    (tmp_path / "fio.json").write_text(json.dumps(data))
    flags = ["-o", "m.toml", "--assume-written", "--capacity", "960GB"]
    refused(destage("devices", "fit", "fio.json", *flags), 65, said)


def test_a_last_document_that_is_cut_is_said(destage: Destage, tmp_path: Path) -> None:
    text = case("h15_fio_last").read_text()
    (tmp_path / "fio.json").write_text(text + "\n" + text[:3000])
    flags = ["-o", "m.toml", "--assume-written", "--capacity", "960GB"]
    done = destage("devices", "fit", "fio.json", *flags)
    assert done.status == 0, done
    assert re.search("its last document .* is not complete", " ".join(done.err.split()))


def test_advice_has_the_doubts_of_its_trace(destage: Destage, tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text(rows(400, lambda k: f"{k * 0.95:.9f},R,{sector(k) * 512},4096"))
    given = [*BY_NUMBER.replace("us", "ms").split(), "--json", "a.json"]
    done = destage("advise", path, "-p", "lru,arc", "-c", "8p,16p", *given)
    assert done.status == 0, done
    advice = json.loads((tmp_path / "a.json").read_text())
    assert [doubt["about"] for doubt in advice["doubts"]] == ["time_unit"]
    assert advice["doubts"][0]["remedy"] == "--time-unit s"
