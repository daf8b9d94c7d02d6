"""`advise --smart`: host and NAND writes, WAF and life left, from the JSON of two programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

TB = 10**12


def nvme(path: Path, **changed: Any) -> Path:
    """A reading as `smartctl -j -a` writes it of an NVMe SSD."""
    log = {"data_units_written": 100_000_000, "percentage_used": 10, "power_on_hours": 8766}
    log |= {key: value for key, value in changed.items() if key in log}
    reading = {
        "model_name": "Example 1TB",
        "serial_number": changed.get("serial", "S1"),
        "user_capacity": {"blocks": 1, "bytes": TB},
        "nvme_smart_health_information_log": log,
        "power_on_time": {"hours": log["power_on_hours"]},
    }
    reading |= changed.get("more", {})
    path.write_text(json.dumps(reading))
    return path


def sata(path: Path, hours: int, **raw: int) -> Path:
    """A reading as `smartctl -j -a` writes it of a SATA SSD."""
    table = [{"name": name, "value": 100, "raw": {"value": value}} for name, value in raw.items()]
    reading = {"power_on_time": {"hours": hours}, "ata_smart_attributes": {"table": table}}
    path.write_text(json.dumps(reading))
    return path


def test_one_reading_is_of_the_whole_life(tmp_path: Path) -> None:
    found = ds.read_smart(nvme(tmp_path / "a.json"), price="tbw=600TB")
    assert found.host_bytes == 51_200_000_000_000
    assert found.bytes_per_day == pytest.approx(51.2e12 / 365.25)
    assert found.drive_writes_per_day == pytest.approx(51.2 / 365.25)
    assert found.years_by_wear == pytest.approx(9.0), "a tenth a year"
    assert found.years_by_rating == pytest.approx((600 - 51.2) / 51.2)
    assert (found.waf, found.nand_bytes) == (None, None), "unknown, not 0"


def test_two_readings_are_of_the_time_between_them_in_any_order(tmp_path: Path) -> None:
    ocp = {"ocp": {"Physical media units written": {"hi": 0, "lo": 80 * TB}}}
    later = {"ocp": {"Physical media units written": {"hi": 0, "lo": 84 * TB}}}
    first = nvme(tmp_path / "a.json", more=ocp)
    last = nvme(
        tmp_path / "b.json",
        data_units_written=103_125_000,
        percentage_used=11,
        power_on_hours=8766 + 240,
        more=later,
    )
    for pair in ([first, last], [last, first]):
        found = ds.read_smart(pair)
        assert found.host_bytes == 1_600_000_000_000
        assert found.nand_bytes == 4 * TB
        assert found.waf == pytest.approx(2.5)
        assert found.bytes_per_day == pytest.approx(160e9)
        assert found.years_by_wear == pytest.approx(89 * 10 / 365.25)
        assert found.years_by_rating is None


def test_the_clock_of_the_readings_comes_before_powered_on_hours(tmp_path: Path) -> None:
    def at(name: str, seconds: int, units: int, hours: int) -> Path:
        clock = {"local_time": {"time_t": seconds}}
        return nvme(tmp_path / name, data_units_written=units, power_on_hours=hours, more=clock)

    # Switched off half of the two days.
    found = ds.read_smart([at("a", 0, 0, 100), at("b", 172_800, 1_953_125, 124)])
    assert found.hours == pytest.approx(48)
    assert found.bytes_per_day == pytest.approx(0.5e12)


@pytest.mark.parametrize(
    ("raw", "host", "waf"),
    [
        ({"Total_LBAs_Written": 2_000_000}, 1_024_000_000, None),
        ({"Host_Writes_32MiB": 3, "NAND_Writes_32MiB": 6}, 96 << 20, 2.0),
        (
            {
                "Total_LBAs_Written": 8,
                "Host_Program_Page_Count": 100,
                "FTL_Program_Page_Count": 50,
            },
            4096,
            1.5,
        ),
    ],
)
def test_attributes_of_sata_have_the_units_in_their_names(
    tmp_path: Path, raw: dict[str, int], host: int, waf: float | None
) -> None:
    found = ds.read_smart(sata(tmp_path / "s.json", 10, **raw))
    assert found.host_bytes == host
    assert found.waf == (None if waf is None else pytest.approx(waf))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"NAND_Writes_1GiB": 2000, "Total_Writes_GB": 3}, "has no host writes under a known name"),
        ({"Total_LBAs_Written": 3}, "this reading has no NAND writes; nvme ocp smart-add-log"),
        ({"Total_LBAs_Written": 0, "NAND_Writes_1GiB": 2}, "WAF: the host wrote nothing"),
        (
            {"Total_LBAs_Written": 30_000, "NAND_Writes_1GiB": 2000},
            "WAF 139,810 is doubtful, as it is not from 0.5 to 100: the units of the two attributes"
            " do not match",
        ),
        ({"Host_Writes_GiB": 100, "NAND_Writes_32MiB": 100}, "WAF 0.0312 is doubtful"),
    ],
)
def test_a_waf_that_is_absent_or_doubtful_has_its_reason(
    tmp_path: Path, raw: dict[str, int], said: str
) -> None:
    text = " ".join(repr(ds.read_smart(sata(tmp_path / "s.json", 10, **raw))).split())
    assert said in text
    assert ("has no NAND writes" in text) == ("NAND" not in str(raw))
    assert ("Total_LBAs_Written, Lifetime_Writes_GiB" in text) == ("known name" in said)


def test_a_short_time_between_readings_may_have_a_high_waf(tmp_path: Path) -> None:
    first = sata(tmp_path / "a.json", 10, Host_Writes_32MiB=10, NAND_Writes_32MiB=10)
    last = sata(tmp_path / "b.json", 11, Host_Writes_32MiB=11, NAND_Writes_32MiB=160)
    text = " ".join(repr(ds.read_smart([first, last])).split())
    assert "do not match, or too little was written between the readings" in text
    usual = sata(tmp_path / "c.json", 11, Host_Writes_32MiB=110, NAND_Writes_32MiB=310)
    assert "doubtful" not in repr(ds.read_smart([first, usual]))
    pages = {"Host_Program_Page_Count": 1, "FTL_Program_Page_Count": 500}
    counted = sata(tmp_path / "d.json", 10, Total_LBAs_Written=8, **pages)
    assert "doubtful" not in repr(ds.read_smart(counted)), "pages are of one unit"


def test_nvme_cli_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    log = {"data_units_written": "1,000", "percent_used": 3, "power_on_hours": 100}
    nand = {"Device stats": {"nand_bytes_written": {"normalized": 100, "raw": 32}}}
    path.write_text(json.dumps(log | nand))
    found = ds.read_smart(path)
    assert (found.host_bytes, found.last.used) == (512_000_000, 0.03)
    assert found.nand_bytes == 32 * (32 << 20)


@pytest.mark.parametrize("odd", ["1e400", '"\u00b2"', "NaN", "[1]"])
def test_a_counter_that_is_no_number_is_absent(odd: str, tmp_path: Path) -> None:
    path = nvme(tmp_path / "a.json", data_units_written=123_454_321)
    path.write_text(path.read_text().replace("123454321", odd))
    assert ds.read_smart(path).host_bytes is None


def test_readings_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    good = nvme(tmp_path / "a.json")
    bad: list[tuple[Any, str]] = [
        ([good, nvme(tmp_path / "b", serial="S2")], "serial S2, and"),
        ([good, good], "take the second one later"),
        (
            [good, nvme(tmp_path / "c", data_units_written=1, power_on_hours=9000)],
            "host writes of 512,000 bytes are below the 51,200,000,000,000",
        ),
        ([good, good, good], "got 3 files"),
        (nvme(tmp_path / "d", power_on_hours=0), "give a second reading"),
        (sata(tmp_path / "e", 10), "no counter of writes or wear"),
    ]
    (tmp_path / "f").write_text("smartctl 7.4\n")
    (tmp_path / "g").write_text("[]")
    bad += [(tmp_path / "f", "smartctl -j -a DEVICE"), (tmp_path / "g", "smartctl -j -a DEVICE")]
    for readings, said in bad:
        with pytest.raises(ds.DestageError) as error:
            ds.read_smart(readings)
        assert said in str(error.value)


def test_the_command_prints_a_line_a_number_and_writes_files(
    destage: Destage, tmp_path: Path
) -> None:
    reading, file = nvme(tmp_path / "a.json"), tmp_path / "out.json"
    done = destage("advise", "--smart", reading, "--price", "tbw=600TB", "--json", file)
    assert done.status == 0, done.err
    assert done.out.startswith("Example 1TB: 9 years left at 140 GB a day, by wear\n")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["host", "writes", "51.2", "TB"] in lines
    assert ["years", "left,", "by", "wear", "9"] in lines
    found = json.loads(file.read_text())
    assert found["waf"] is None
    assert found["host_bytes"] == 51_200_000_000_000
    for wrong, said in [
        (("x.csv", "--smart", reading), "--smart excludes a trace"),
        (("--smart", reading, "-c", "1GiB"), "--smart excludes --cache"),
        ((), "missing argument 'TRACE...'"),
    ]:
        done = destage("advise", *wrong)
        assert done.status == 2
        assert said in done.err


@pytest.mark.parametrize("content", [b"", b"smartctl 7.4\n", b"[" * 100_000, b'{"a": '])
def test_what_is_no_json_is_said_in_one_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "reading.json"
    path.write_bytes(content)
    with pytest.raises(ds.DataError, match="it is not a SMART reading: expected the JSON of"):
        ds.read_smart([path])
