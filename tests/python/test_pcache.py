"""SQLite's page cache under a policy: the library that `destage pcache` names, in real SQLite."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from conftest import Destage

import destage as ds

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the library is preloaded on Linux here"
)

#: Rows, an index, deletions: more pages than any cache of these tests has.
FILL = """
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 6000)
    insert into t select x, hex(randomblob(50)) from c;
create index i on t(b);
"""
QUERY = """
select count(*), sum(length(b)) from t where b > '8';
delete from t where a % 3 = 0;
update t set b = b || 'x' where a % 7 = 0;
select count(*) from t where b like '%x';
"""


@pytest.fixture(scope="module")
def library() -> Path:
    path = Path(ds.__file__).with_name("libdestage_pcache.so")
    assert path.is_file(), "`make pcache` builds it"
    return path


def environment(library: Path, policy: str = "", **variables: Path | str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "PRELOAD" not in name}
    named = {f"DESTAGE_PCACHE_{name.upper()}": str(value) for name, value in variables.items()}
    return {**kept, **({"DESTAGE_PCACHE": policy} if policy else {}), **named} | {
        "LD_PRELOAD": str(library)
    }


def shell() -> str:
    """The `sqlite3` program, if it has the shared library."""
    found = shutil.which("sqlite3")
    if found is None or shutil.which("ldd") is None:
        pytest.skip("sqlite3 or ldd is not installed: the shell of SQLite is not tried")
    linked = subprocess.run(["ldd", found], capture_output=True, text=True).stdout
    if "libsqlite3" not in linked:
        pytest.skip("sqlite3 has a copy of SQLite of its own: the library does not reach it")
    return found


def ran(command: list[str], env: dict[str, str], text: str = "", said: str = "") -> str:
    done = subprocess.run(
        command, env=env, input=text, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(said, done.stderr), done.stderr
    return done.stdout


def python(code: str, env: dict[str, str]) -> str:
    """Run Python, whose module is a client of the shared library as well."""
    native = getattr(sys.modules.get("_sqlite3"), "__file__", None)
    linked = native and subprocess.run(["ldd", native], capture_output=True, text=True).stdout
    if "libsqlite3" not in (linked or ""):
        pytest.skip("Python has a copy of SQLite of its own: the library does not reach it")
    return ran([sys.executable, "-c", textwrap.dedent(code)], env)


def caches(stats: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stats.read_text().splitlines()]


def replayed(record: Path, cache: dict[str, Any]) -> dict[str, int]:
    """Counters of `destage compare` on the part of a record that is of one cache."""
    results = ds.compare(
        ds.open_trace(record, volume=cache["cache"], page_size=4096),
        policies=[cache["policy"]],
        cache=f"{cache['frames']}p",
        trim="drop",
        warmup="none",
    )
    (run,) = results
    return {name: run.counters[name] for name in cache["counters"]}


@pytest.mark.parametrize("policy", ["lru", "s3-fifo", "lirs", "lru-k[k=3]", "2q", "cflru", "ace"])
def test_a_record_of_sqlite_replayed_has_its_counters(
    library: Path, tmp_path: Path, policy: str
) -> None:
    record, stats = tmp_path / "app.csv", tmp_path / "stats.jsonl"
    env = environment(library, policy, record=record, stats=stats)
    text = f"pragma cache_size = 60; {FILL} {QUERY} vacuum; pragma integrity_check;"
    said = ran([shell(), str(tmp_path / "my.db")], env, text)
    assert said.splitlines()[-1] == "ok"
    told = caches(stats)
    busy = max(told, key=lambda cache: cache["counters"]["evictions"])
    assert busy["policy"] == policy
    assert busy["frames"] == 60
    assert busy["counters"]["evictions"] > 1000
    assert busy["trims"]["trim_requests"] > 100, "VACUUM truncates"
    # SQLite sets the size of a cache before it fills it: nothing was evicted until then.
    for cache in told:
        assert replayed(record, cache) == cache["counters"]
    lines = [line.split(",") for line in record.read_text().splitlines()[1:]]
    trims = [line for line in lines if line[1] == busy["cache"] and line[2] == "trim"]
    assert len(trims) == busy["trims"]["trim_requests"]
    assert [int(line[0]) for line in lines] == sorted(int(line[0]) for line in lines)


@pytest.mark.parametrize("mode", ["delete", "wal", "persist"])
def test_the_database_is_what_sqlite_alone_makes(library: Path, tmp_path: Path, mode: str) -> None:
    text = f"""
    pragma page_size = 1024; pragma auto_vacuum = full; pragma journal_mode = {mode};
    pragma cache_size = 12;
    {FILL.replace("hex(randomblob(50))", "printf('%040d', x * 7919 % 6007)")}
    begin; {QUERY} savepoint one; delete from t; rollback to one; commit;
    delete from t where a > 3000; pragma incremental_vacuum; vacuum;
    pragma integrity_check; select a, b from t order by b, a; pragma page_count;
    """
    plain = {name: value for name, value in os.environ.items() if "PRELOAD" not in name}
    expected = ran([shell(), str(tmp_path / "plain.db")], plain, text)
    stats = tmp_path / "stats.jsonl"
    for policy in ("lirs", "clock-pro"):
        env = environment(library, policy, stats=stats)
        assert ran([shell(), str(tmp_path / f"{policy}.db")], env, text) == expected
    assert "\nok\n" in expected
    assert {cache["policy"] for cache in caches(stats)} == {"lirs", "clock-pro"}


def test_a_transaction_larger_than_the_cache_spills(library: Path, tmp_path: Path) -> None:
    """Dirty pages stay pinned: at nine tenths of the frames SQLite writes some first."""
    file = tmp_path / "my.db"
    code = f"""
    import os, sqlite3
    db = sqlite3.connect({str(file)!r}, isolation_level=None)
    db.execute("pragma cache_size = 40")
    db.execute("create table t(a integer primary key, b)")
    db.execute("begin")
    db.executemany("insert into t values (?, zeroblob(3000))", ((n,) for n in range(400)))
    print(os.path.getsize({str(file)!r}) // 4096)
    db.execute("commit")
    print(db.execute("pragma integrity_check").fetchone()[0])
    print(db.execute("select count(*) from t").fetchone()[0])
    """
    stats = tmp_path / "stats.jsonl"
    spilled, whole, rows = python(code, environment(library, "s3-fifo", stats=stats)).split()
    assert int(spilled) > 300, "written before the commit"
    assert (whole, rows) == ("ok", "400")
    (cache,) = [cache for cache in caches(stats) if cache["frames"] == 40]
    assert cache["counters"]["evictions"] > 300


def test_connections_of_several_threads_and_memory(library: Path, tmp_path: Path) -> None:
    code = f"""
    import sqlite3, threading
    file, faults = {str(tmp_path / "my.db")!r}, []
    def work(number):
        try:
            db = sqlite3.connect(file, timeout=120)
            db.execute("pragma cache_size = 20")
            for turn in range(30):
                with db:
                    rows = ((number, turn, bytes(500)) for _ in range(40))
                    db.executemany("insert into t values (?, ?, ?)", rows)
                db.execute("select sum(length(c)) from t where a <> ?", (turn,)).fetchone()
            db.close()
        except Exception as error:
            faults.append(error)
    first = sqlite3.connect(file)
    first.execute("pragma journal_mode = wal")
    first.execute("create table t(a, b, c)")
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not faults, faults
    assert first.execute("select count(*) from t").fetchone()[0] == 4 * 30 * 40
    memory = sqlite3.connect(":memory:")
    first.backup(memory)
    memory.execute("delete from t where a = 1")
    assert memory.execute("select count(*) from t").fetchone()[0] == 3 * 30 * 40
    for db in (first, memory):
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
        db.close()
    """
    record, stats = tmp_path / "app.csv", tmp_path / "stats.jsonl"
    python(code, environment(library, "arc", record=record, stats=stats))
    told = caches(stats)
    names = [cache["cache"] for cache in told]
    assert len(set(names)) == len(names)
    small = [cache for cache in told if cache["frames"] == 20]
    assert len(small) == 4
    assert all(replayed(record, cache) == cache["counters"] for cache in small)
    # A database in memory keeps all its pages; it has no policy and no accesses.
    without = [cache for cache in told if cache["policy"] is None]
    assert without
    assert all(cache["frames"] is cache["counters"] is cache["trims"] is None for cache in without)
    recorded = {line.split(",")[1] for line in record.read_text().splitlines()[1:]}
    assert not recorded & {cache["cache"] for cache in without}


def test_a_forked_process_records_into_a_file_of_its_own(library: Path, tmp_path: Path) -> None:
    code = """
    import os, sqlite3
    def use(name):
        db = sqlite3.connect(name)
        db.execute("create table t(a)")
        db.close()
    use("one.db")
    child = os.fork()
    if child == 0:
        use("two.db")
        raise SystemExit
    assert os.waitpid(child, 0)[1] == 0
    use("three.db")
    """
    env = environment(library, "lru", record=tmp_path / "app.csv")
    python(f"import os; os.chdir({str(tmp_path)!r})\n" + textwrap.dedent(code), env)
    (own,) = tmp_path.glob("app.csv.*")
    first, second = (tmp_path / "app.csv").read_text(), own.read_text()
    heads = [text.splitlines()[0] for text in (first, second)]
    assert heads[0] == heads[1]
    times = [int(line.split(",")[0]) for line in first.splitlines()[1:]]
    assert times == sorted(times)
    assert ds.open_trace(own).requests > 0


@pytest.mark.parametrize(
    ("policy", "part"),
    [
        ("lrru", "did you mean lru?"),
        ("min", "future"),
        ("ecr", "device-aware"),
        ("larc", "bypass"),
        ("fab", "write buffer"),
        ("lru-k[k=0]", "k"),
        ("acr-h", "file_pages"),
    ],
)
def test_a_policy_that_does_not_fit_is_one_line_and_sqlite_works(
    library: Path, tmp_path: Path, policy: str, part: str
) -> None:
    stats = tmp_path / "stats.jsonl"
    env = environment(library, policy, stats=stats)
    said = rf"destage-pcache: DESTAGE_PCACHE: .*{re.escape(part)}.*SQLite keeps its own[^\n]*\n"
    assert ran([shell(), str(tmp_path / "my.db")], env, f"{FILL} select 7;", said) == "7\n"
    assert not stats.exists()


def test_files_are_never_overwritten_and_faults_name_them(library: Path, tmp_path: Path) -> None:
    kept = tmp_path / "app.csv"
    kept.write_text("mine\n")
    env = environment(library, "lru", record=kept)
    ran([shell(), str(tmp_path / "my.db")], env, "create table t(a);")
    assert kept.read_text() == "mine\n"
    (made,) = tmp_path.glob("app.csv.*")
    assert made.read_text().startswith("time_ns,device,op,")
    absent = tmp_path / "absent"
    env = environment(library, "lru", record=absent / "app.csv", stats=absent / "stats.jsonl")
    said = (
        rf"destage-pcache: DESTAGE_PCACHE_RECORD: {absent}/app.csv: No such file[^\n]*\n"
        rf"destage-pcache: DESTAGE_PCACHE_STATS: {absent}/stats.jsonl: No such file[^\n]*\n"
    )
    assert ran([shell(), str(tmp_path / "my.db")], env, "select 7;", said) == "7\n"


def test_without_a_policy_the_library_does_nothing(library: Path, tmp_path: Path) -> None:
    record, stats = tmp_path / "app.csv", tmp_path / "stats.jsonl"
    env = environment(library, record=record, stats=stats)
    assert ran([shell(), str(tmp_path / "my.db")], env, f"{FILL} select 7;") == "7\n"
    assert ran(["true"], environment(library, "lrru")) == "", "a program without SQLite"
    assert not record.exists()
    assert not stats.exists()


def test_the_command_prints_the_path(
    library: Path, destage: Destage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert destage("pcache").out == f"{library}\n"
    monkeypatch.setattr(ds, "__file__", str(tmp_path / "__init__.py"))
    done = destage("pcache")
    assert done.status == 69
    assert str(tmp_path / "libdestage_pcache.so") in done.err
    assert done.err.count("\n") == 1
    assert sqlite3.sqlite_version_info >= (3, 7, 14)
