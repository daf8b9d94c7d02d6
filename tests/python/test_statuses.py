"""Every input of a user ends with a status and a sentence, never as a bug of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from conftest import Destage
from test_path_conflicts import commands

import destage as ds
from destage.cli.root import root

HUGE = 1 << 70


def numbers_of(command: click.Command) -> list[str]:
    """Flags of a command that take a whole number."""
    whole = [p for p in command.params if isinstance(p.type, (click.types.IntParamType,))]
    return [max(p.opts, key=len) for p in whole]


def test_every_flag_for_a_number_says_what_is_none_of_ours() -> None:
    flags = 0
    for path, command in commands(root):
        for flag in numbers_of(command):
            flags += 1
            words = [flag, str(HUGE)]
            words += ["x"] * sum(isinstance(p, click.Argument) for p in command.params)
            with pytest.raises(click.UsageError, match="is not in the range"):
                command.make_context(path, words)
    assert flags > 20


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "small.csv", "-p", "lru", "-c", "4p", "--jobs", str(HUGE)),
        ("compare", "small.csv", "-p", "lru", "-c", "4p", "--jobs", str(1 << 40)),
        ("compare", "small.csv", "-p", "fab", "-c", "4p", "--pages-per-block", str(1 << 62)),
        ("compare", "small.csv", "-p", "fab", "-c", "4p", "--device-pages", str(-(1 << 62))),
        ("compare", "small.csv", "-p", "lru", "-c", "4p", "-d", "small", "--queue-depth", "-1"),
        ("compare", "small.csv", "-p", "lru", "-c", "4p", "--json", ""),
        ("compare", "", "-p", "lru", "-c", "4p"),
        ("mrc", "small.csv", "--seed", str(-1)),
        ("trace", "head", "small.csv", "-n", "-5"),
        ("trace", "profile", "small.csv", "--epochs", str(1 << 62)),
        ("run", "small.csv", "-p", "lru", "-c", "4p", "--series", "s.csv", "--period", "-3"),
    ],
    ids=" ".join,
)
def test_a_number_or_name_that_cannot_be_is_a_usage_error(
    destage: Destage, msr: Path, words: tuple[str, ...]
) -> None:
    done = destage(*words)
    assert done.status == 2, done
    assert "bug" not in done.err


def test_settings_and_results_that_are_none_are_data_errors(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    compare = ("compare", "small.csv", "-p", "lru", "-c", "4p", "--config")
    assert destage(*compare, "/dev/zero").status == 65
    (tmp_path / "deep.toml").write_text(f"[trace]\nformat = {'[' * 5000}{']' * 5000}\n")
    assert destage(*compare, "deep.toml").status == 65
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    assert destage(*compare[:-1], "-d", "zero.toml").status == 65
    for text in ("[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000):
        (tmp_path / "deep.json").write_text(text)
        for command in ("report", "rerun"):
            done = destage(command, "deep.json")
            assert done.status == 65, done
            assert "deep.json" in done.err
    for command in ("report", "rerun"):
        assert destage(command, "/dev/zero").status == 65


def test_a_name_with_characters_of_control_is_shown_escaped(
    destage: Destage, msr: Path, tmp_path: Path
) -> None:
    evil = "a\x1b[31mb\nc\r.csv"
    (tmp_path / evil).write_bytes(msr.read_bytes())
    for words in (
        ("compare", evil, "-p", "lru", "-c", "4p"),
        ("trace", "info", evil),
        ("compare", evil, "-p", "lru", "-c", "4p", "--csv", f"no/{evil}"),
        ("compare", evil, "-p", "lru", "-c", "4p", "--csv", evil),
        ("compare", f"missing{evil}", "-p", "lru", "-c", "4p"),
        ("report", evil),
        ("rerun", evil),
        ("conform", evil),
        ("compare", evil, "--config", evil),
        ("compare", evil, "-d", f"{evil}.toml"),
    ):
        done = destage(*words)
        shown = done.out + done.err
        assert "\x1b" not in shown, (words, done)
        assert "\r" not in shown, (words, done)
        assert "\\x1b[31mb" in shown, (words, done)


def test_python_raises_what_it_documents(msr: Path, tmp_path: Path) -> None:
    trace = ds.open_trace(msr)
    calls: list[Any] = [
        lambda: ds.open_trace(""),
        lambda: ds.open_trace("a\0b"),
        lambda: ds.open_trace("\ud800.csv"),
        lambda: ds.open_device("a\0b.toml"),
        lambda: ds.Results.load(""),
        lambda: ds.conform("\ud800"),
        lambda: ds.convert(msr, "", to="csv"),
        lambda: ds.compare(trace, "lru", cache="4p", jobs=HUGE),
        lambda: ds.compare(trace, "lru", cache="4p", pages_per_block=HUGE),
        lambda: ds.compare(trace, "lru", cache="4p", device_pages=-1),
        lambda: ds.compare(trace, "lru", cache="4p").to_csv("\ud800"),
        lambda: ds.compare(trace, "lru", cache="4p").to_json(""),
        lambda: ds.trace_head(msr, count=HUGE),
        lambda: ds.mrc(trace, "lru", seed=HUGE),
        lambda: ds.run(trace, "lru", cache="4p", series=HUGE),
        lambda: ds.open_trace(msr, page_size=HUGE),
    ]
    for call in calls:
        with pytest.raises(ds.DestageError):
            call()


@pytest.mark.parametrize("page", [-1, HUGE])
def test_a_policy_of_one_s_own_that_names_no_page_is_told_so(msr: Path, page: int) -> None:
    class Wrong(ds.Policy):
        def __init__(self, frames: int) -> None:
            self.frames = frames

        def request(self, r: ds.Request) -> Any:
            return ds.MISS

        def evict(self, miss: Any, device: Any, plan: ds.Plan) -> None:
            plan.evict(page, dirty=False)

        def admit(self, r: ds.Request, miss: Any) -> None:
            pass

    with pytest.raises(ds.UsageError, match=f"page: expected 0.*got {page}"):
        ds.run(ds.open_trace(msr), Wrong, cache="4p")
