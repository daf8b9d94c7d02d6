"""Signals at every moment: a command ends, and its outputs are all new or all as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

OUTPUTS = {"--json": "o.json", "--csv": "o.csv", "--parquet": "o.parquet", "--markdown": "o.md"}
OUTPUTS |= {"--report": "o.html"}
COMPARE = ["compare", "small.csv", "-p", "lru,arc", "-c", "4p,8p", "--quiet"]
COMPARE += [word for pair in OUTPUTS.items() for word in pair]
TWO_DEVICES = ["-d", "small", "--ftl", "page,bast"]

#: The engine's call, which a signal interrupts when the first device is done.
IN_THE_MIDDLE = """
import destage._destage as native
whole = native.compare
def first_then_stop(*args):
    if first_then_stop.called:
        signal.raise_signal(number)
    first_then_stop.called = True
    return whole(*args)
first_then_stop.called = False
native.compare = first_then_stop
"""
#: The third of five outputs.
WHILE_WRITING = """
import destage.experiment.results
def stop(*args):
    signal.raise_signal(number)
destage.experiment.results.Results.to_parquet = stop
"""
#: Files are being put in place; a second signal would end the process.
BETWEEN_RENAMES = """
import os
rename = os.replace
def stop(source, target):
    rename(source, target)
    if str(target).endswith("o.json"):
        signal.raise_signal(number)
os.replace = stop
"""
#: A finalizer, in which Python drops exceptions.
IN_A_FINALIZER = """
import destage.questions.runs
whole = destage.questions.runs.compare_pairs
class Stop:
    def __del__(self):
        signal.raise_signal(number)
def dropped(*args, **kwargs):
    Stop()
    import time
    time.sleep(60)
import destage.cli.compare
destage.cli.compare.compare_pairs = dropped
"""
#: The streams are being flushed: everything is written.
AT_THE_END = """
from destage.cli import streams
finish = streams.finish
def stop(status):
    streams.finish = finish
    signal.raise_signal(number)
    return finish(status)
streams.finish = stop
"""
#: The interpreter's own end would wait for this.
BEHIND_THE_END = """
import atexit, time
atexit.register(time.sleep, 600)
"""


def ended(
    folder: Path, what: str, number: signal.Signals, *more: str
) -> subprocess.CompletedProcess[bytes]:
    """How a command ends, with a signal at this moment, over outputs of an earlier run."""
    for name in OUTPUTS.values():
        (folder / name).write_text("OLD")
    code = f"import signal\nnumber = {int(number)}\n{what}\nfrom destage.cli import main\nmain()\n"
    return subprocess.run(
        [sys.executable, "-c", code, *COMPARE, *more],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )


def is_old(folder: Path) -> set[bool]:
    return {(folder / name).read_bytes() == b"OLD" for name in OUTPUTS.values()}


SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)


@SIGNALS
def test_all_outputs_say_what_is_missing(msr: Path, tmp_path: Path, number: signal.Signals) -> None:
    done = ended(tmp_path, IN_THE_MIDDLE, number, *TWO_DEVICES)
    assert done.returncode == 128 + number, done
    assert is_old(tmp_path) == {False}
    import polars

    warnings = polars.read_parquet(tmp_path / "o.parquet")["warnings"].to_list()
    texts = [(tmp_path / name).read_text() for kind, name in OUTPUTS.items() if kind != "--parquet"]
    for text in (*texts, *warnings):
        assert "interrupted: only 4 of 8 runs had ended" in text


@SIGNALS
def test_a_signal_while_outputs_are_written_leaves_all_as_they_were(
    msr: Path, tmp_path: Path, number: signal.Signals
) -> None:
    done = ended(tmp_path, WHILE_WRITING, number)
    assert done.returncode == 128 + number, done
    assert is_old(tmp_path) == {True}
    assert sorted(os.listdir(tmp_path)) == sorted([*OUTPUTS.values(), msr.name])


@SIGNALS
def test_a_signal_between_renames_waits_for_the_last(
    msr: Path, tmp_path: Path, number: signal.Signals
) -> None:
    done = ended(tmp_path, BETWEEN_RENAMES, number)
    assert done.returncode == 128 + number, done
    assert is_old(tmp_path) == {False}
    assert b"interrupted" not in (tmp_path / "o.csv").read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([*OUTPUTS.values(), msr.name])


@SIGNALS
def test_a_signal_in_a_finalizer_is_not_lost(
    msr: Path, tmp_path: Path, number: signal.Signals
) -> None:
    done = ended(tmp_path, IN_A_FINALIZER, number)
    assert done.returncode == 128 + number, done
    assert is_old(tmp_path) == {True}
    assert b"Traceback" not in done.stderr


@SIGNALS
def test_a_signal_when_all_is_written_ends_the_command(
    msr: Path, tmp_path: Path, number: signal.Signals
) -> None:
    done = ended(tmp_path, AT_THE_END, number)
    assert done.returncode == 128 + number, done
    assert is_old(tmp_path) == {False}
    assert done.stdout.count(b"lru") >= 2


def test_nothing_is_waited_for_behind_the_end(msr: Path, tmp_path: Path) -> None:
    done = ended(tmp_path, BEHIND_THE_END, signal.SIGINT)
    assert done.returncode == 0, done


#: What keeps the thread that it runs on, in native code that hears of no signal.
BLOCKED = "ctypes.CDLL(None).sleep(600)"
DRAWING = f"""
import ctypes, pathlib, vl_convert
def draw(*args, **kwargs):
    pathlib.Path("DRAWING").touch()
    {BLOCKED}
vl_convert.vegalite_to_vega = draw
"""
IMPORTING = """
import sys, pathlib
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "destage.cli.compare":
            pathlib.Path("DRAWING").touch()
            import time
            time.sleep(600)
sys.meta_path.insert(0, Slow())
"""


@SIGNALS
@pytest.mark.parametrize("moment", [DRAWING, IMPORTING], ids=["drawing", "importing"])
def test_a_signal_ends_a_command_that_is_busy(
    msr: Path, tmp_path: Path, number: signal.Signals, moment: str
) -> None:
    for name in OUTPUTS.values():
        (tmp_path / name).write_text("OLD")
    process = subprocess.Popen(
        [sys.executable, "-c", f"{moment}\nfrom destage.cli import main\nmain()\n", *COMPARE],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        while not (tmp_path / "DRAWING").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 128 + number, err
    assert is_old(tmp_path) == {True}
