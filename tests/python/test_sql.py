"""Queries over a store: DuckDB answers from the table `runs`, and reaches nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Destage

import destage as ds

pytest.importorskip("duckdb", reason="needs the extra sql")


CONSOLE = (sys.executable, "-c", "from destage.cli import main; main()")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "runs"
    loop = {"synth": "loop", "requests": 200, "pages": 40}
    ds.sweep({"sweep": {"traces": [loop], "policies": ["lru", "arc"], "cache": ["5p"]}}, folder)
    return folder


#: Queries that read, write, load or change something beside the table. `HERE` is a folder.
ATTACKS = [
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/etc/passwd')",
    "select * from '/etc/passwd'",
    "select * from 'HERE/bait.csv'",
    "select * from read_json('HERE/bait.csv')",
    "select * from read_parquet('HERE/*.parquet')",
    "select * from parquet_metadata('HERE/bait.parquet')",
    "select * from sniff_csv('HERE/bait.csv')",
    "select * from glob('/etc/*')",
    "select * from query('select * from read_text(''/etc/passwd'')')",
    "prepare p as select * from read_text('/etc/passwd'); execute p",
    "create macro f() as table select * from read_text('/etc/passwd'); from f()",
    "set variable x = (select content from read_text('/etc/passwd'))",
    "copy runs from 'HERE/bait.csv'",
    "copy runs to 'HERE/out.csv'",
    "copy (select 1) to 'HERE/out.parquet' (format parquet)",
    "copy (select 1) to '/dev/stdout'",
    "export database 'HERE/out'",
    "import database 'HERE'",
    "attach 'HERE/out.db' as other",
    "attach 'HERE/out.db' as other (read_only)",
    "attach 'https://127.0.0.1:1/x.db' as other",
    "install httpfs",
    "force install spatial from community",
    "install 'HERE/x.duckdb_extension'",
    "load httpfs",
    "load 'HERE/x.duckdb_extension'",
    "select * from read_csv('https://127.0.0.1:1/a.csv')",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "reset lock_configuration",
    "set memory_limit = '1TB'",
    "reset memory_limit",
    "set threads = 512",
    "set temp_directory = 'HERE'",
    "set allowed_directories = ['/']",
    "set autoload_known_extensions = true",
    "set extension_directory = 'HERE'",
    "set log_query_path = 'HERE/out.log'",
    "pragma enable_profiling = 'json'",
    "pragma profiling_output = 'HERE/out.json'",
    "pragma database_list; copy (select 1) to 'HERE/out.csv'",
    "call enable_logging(storage = 'file', storage_path = 'HERE/out')",
    "create persistent secret s (type s3, key_id 'a', secret 'b')",
    "select * from loaded_secret",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_query_reaches_nothing_but_the_table(
    store: Path, tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded_secret = {"a": [1]}  # DuckDB takes variables of its caller for tables.
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bait.csv").write_text("a,b\n1,2\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ds.UsageError, match=r"^sql: "):
        ds.load_results(store).sql(attack.replace("HERE", str(tmp_path)))
    assert sorted(tmp_path.rglob("*")) == before
    assert loaded_secret


def test_the_sentence_names_the_ways_out(destage: Destage, store: Path) -> None:
    done = destage("results", store, "--sql", "copy runs to 'out.csv'")
    assert done.status == 2, done
    for word in ("--csv", "--parquet", "--sql-unrestricted", "runs"):
        assert word in done.err, done


def test_answers_go_to_files_by_flags(destage: Destage, store: Path, tmp_path: Path) -> None:
    query = "select label, count(*) as n from runs group by label order by label"
    files = ["--csv", "a.csv", "--json", "a.json", "--parquet", "a.parquet"]
    done = destage("results", store, "--sql", query, *files)
    assert done.status == 0, done
    assert (tmp_path / "a.csv").read_text() == "label,n\narc,1\nlru,1\n"
    assert json.loads((tmp_path / "a.json").read_text())["rows"][1] == {"label": "lru", "n": 1}
    assert (tmp_path / "a.parquet").stat().st_size > 0


def test_sql_unrestricted_is_duckdb_whole(destage: Destage, store: Path, tmp_path: Path) -> None:
    (tmp_path / "bait.csv").write_text("a,b\n1,2\n")
    query = "copy (select a from 'bait.csv') to 'out.csv'"
    done = destage("results", store, "--sql", query, "--sql-unrestricted")
    assert done.status == 0, done
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"
    alone = destage("results", store, "--sql-unrestricted")
    assert alone.status == 2, alone
    assert "add --sql" in alone.err


def test_memory_and_threads_of_a_query_are_bounded(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A query that needs more than there is: half of 24 GiB would take half a minute to fill.
    free = 2**29
    monkeypatch.setattr("destage.experiment.answer.available", lambda: free)
    answer = ds.load_results(store).sql(
        "select current_setting('threads'), current_setting('temp_directory'),"
        " value from duckdb_settings() where name = 'memory_limit'"
    )
    threads, folder, limit = answer.rows[0]
    assert 1 <= threads <= (os.cpu_count() or 1)
    assert folder == ""
    number, unit = limit.split()
    size = float(number) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
    assert size == pytest.approx(free / 2, rel=0.01)
    with pytest.raises(ds.UsageError, match=r"(?i)memory|values"):
        ds.load_results(store).sql("select * from range(1_000_000_000_000) order by range desc")


def until_it_computes(process: subprocess.Popen[bytes]) -> None:
    """Wait until the query runs: DuckDB is loaded, and a second of processor time went by since."""
    place, hertz = Path(f"/proc/{process.pid}"), os.sysconf("SC_CLK_TCK")

    def used() -> float:
        fields = (place / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / hertz

    while process.poll() is None and "duckdb" not in (place / "maps").read_text():
        time.sleep(0.01)
    begun = used()
    while process.poll() is None and used() < begun + 1:
        time.sleep(0.01)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
def test_ctrl_c_ends_a_query(store: Path) -> None:
    query = (
        "select count(*) from range(10_000_000) a, range(10_000_000) b where a.range * b.range = 7"
    )
    process = subprocess.Popen(
        [*CONSOLE, "results", str(store), "--sql", query],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        until_it_computes(process)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert err.decode() == "destage: interrupted\n"


#: Would be three statements.
ATTACK_ON_A_CONDITION = "1 = 1); copy runs to '/tmp/x'; select (1 = 1"


def test_a_refused_condition_says_why_and_nothing_of_queries(destage: Destage, store: Path) -> None:
    file = "policy = (select content from read_text('/etc/passwd'))"
    for condition in (file, "nothing_such = 3", "frames > (", ATTACK_ON_A_CONDITION):
        done = destage("results", store, "--where", condition)
        assert done.status == 2, done
        assert "is not a condition: " in done.err, done
        for word in ("--sql", "unrestricted", "SELECT", "LINE 1"):
            assert word not in done.err, done


def test_only_queries_are_taken_and_errors_name_the_table(destage: Destage, store: Path) -> None:
    done = destage("results", store, "--sql", "drop table runs")
    assert (done.status, done.out) == (2, "")
    assert "expected a query, found DROP" in done.err
    done = destage("results", store, "--sql", "select * from run")
    assert done.status == 2
    assert "no table run: the table is runs" in done.err
    done = destage("results", store, "--where", "seed <=")
    assert done.status == 2
    assert 'near ")"' not in done.err
    assert destage("results", store, "--sql", "describe runs").status == 0
    assert destage("results", store, "--sql", "explain select * from runs").status == 0
