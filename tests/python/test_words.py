"""First words of a newcomer: names in any case, groups, helpful words, help that fits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from conftest import ROOT, Destage

import destage as ds
from destage.cli.options import Flag
from destage.cli.root import COMMANDS, SECTIONS, root


def test_the_help_of_compare_is_short_and_points_to_the_reader_options(destage: Destage) -> None:
    lines = destage("compare", "--help").out.splitlines()
    assert len(lines) <= 128
    assert "-9223372036854775808" not in "\n".join(lines)
    assert any("destage trace options" in line for line in lines)


def every_command(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield above
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*above, name))
        else:
            yield (*above, name)


@pytest.mark.parametrize(
    "words", list(every_command(root)), ids=lambda words: " ".join(words) or "root"
)
def test_the_help_of_every_command_fits_80_columns(words: tuple[str, ...]) -> None:
    done = CliRunner(env={"COLUMNS": "80"}).invoke(root, [*words, "--help"], terminal_width=80)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert len(lines) <= 128
    assert [line for line in lines if len(line) > 80] == []
    assert "\x1b" not in done.output


def help_lines() -> Iterator[tuple[str, str]]:
    """The line of each command, and the first sentence on each flag without its default."""
    for words in every_command(root):
        command: click.Command = root
        for word in words:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
        name = " ".join(("destage", *words))
        if words:
            yield name, command.get_short_help_str(1000)
        for param in command.params:
            text = getattr(param, "help", None) or ""
            if not text:
                continue
            text = re.split(r"\.? \[|\.(?: |$)", text, maxsplit=1)[0]
            yield f"{name} {param.opts[-1]}", re.sub(r" \([a-z, -]*\)$", "", text)


def test_a_line_of_help_is_short_and_no_question() -> None:
    found = list(help_lines())
    assert len(found) > 300
    for place, text in found:
        assert 2 < len(text) <= 60, (place, text)
        assert not re.match("(what|who|which|whose|how|where|when|that|those) ", text.lower()), (
            place
        )


def test_each_command_has_its_place_in_the_help(destage: Destage) -> None:
    out = destage("--help").out
    assert [name for names in SECTIONS.values() for name in names] != []
    assert {name for names in SECTIONS.values() for name in names} == set(COMMANDS)
    for title, names in SECTIONS.items():
        listed = out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in listed.splitlines()] == list(names)
    advanced = destage("compare", "--help").out.partition("\nAdvanced:\n")[2]
    assert "--device-pages" in advanced.partition("\n\n")[0]


def test_help_before_a_command_is_its_help(destage: Destage) -> None:
    assert destage("help").out == destage("--help").out
    assert destage("help", "trace", "info").out == destage("trace", "info", "--help").out
    wrong = destage("help", "compar")
    assert wrong.status == 2
    assert "did you mean compare?" in wrong.err


def test_a_number_that_is_none_is_said_in_our_words(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "--device-pages", "x", "-p", "lru")
    assert done.status == 2
    assert "'--device-pages': expected a whole number, found 'x'" in done.err


def test_one_place_lists_every_reader_option(destage: Destage) -> None:
    out = destage("trace", "options").out
    for option in ds.reader_options():
        assert re.search(rf"^  {option.flag}: ", out, re.MULTILINE), option.flag
    as_json = destage("trace", "options", "--json", "-").out
    assert as_json.count('"key"') == len(ds.reader_options())


def test_a_reader_option_that_the_help_leaves_out_is_taken(destage: Destage, msr: Path) -> None:
    assert "--offset-to" not in destage("compare", "--help").out
    cut = destage("compare", msr, "-p", "lru", "-c", "2p", "--offset-to", "40960")
    assert cut.status == 0, cut
    assert cut.out != destage("compare", msr, "-p", "lru", "-c", "2p").out


@pytest.mark.parametrize("command", ["run", "compare", "advise"])
def test_the_help_says_how_to_see_the_flags_that_it_leaves_out(
    command: str, destage: Destage
) -> None:
    short, whole = (destage(command, flag).out for flag in ("--help", "--help-all"))
    found = root.get_command(click.Context(root), command)
    assert found is not None
    options = [param for param in found.params if isinstance(param, click.Option)]
    # The others are refused: a flag that says where it belongs, and `--help-all` itself.
    rest = [max(p.opts, key=len) for p in options if p.hidden and isinstance(p, Flag)]
    assert "--ttl" in rest
    assert "--ttl" not in short
    counts = [int(n) for n in re.findall(r"^  and (\d+) more ", short, re.MULTILINE)]
    assert sum(counts) == len(rest)
    assert re.search(rf"and \d+ more +`destage {command} --help-all` shows them", short)
    assert [name for name in rest if not re.search(rf"^  {name}\b", whole, re.MULTILINE)] == []
    assert " more " not in whole.partition("Advanced:")[2].partition("Common flags")[0]


def test_a_misspelt_rare_flag_leads_to_it(destage: Destage, msr: Path) -> None:
    slips = (("--tier3-cahce", "tier3-cache"), ("--tier2-chace", "tier2-cache"))
    for typed, meant in (*slips, ("--tlt", "ttl"), ("--ttl-s", "ttl")):
        done = destage("run", msr, "-p", "lru", "-c", "1%", typed, "9p")
        assert done.status == 2
        assert f"unknown flag {typed}, did you mean --{meant}?" in done.err


def test_a_curve_that_no_flag_draws_leads_to_its_commands(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "--curve", "writes")
    assert done.status == 2
    said = " ".join(done.err.split())
    assert "unknown flag --curve: destage mrc draws hits over cache size" in said
    assert "destage advise --budget-writes hits over bytes written a day" in said


def test_the_help_has_the_default_of_the_warm_up(destage: Destage) -> None:
    for command, default in (("run", "none; auto with -d"), ("mrc", "none")):
        out = " ".join(destage(command, "--help").out.split())
        assert f"--warmup AMOUNT Warm-up: auto (until full), 10%, 60s. [{default}]" in out


def test_equal_values_of_a_list_run_once(destage: Destage, msr: Path) -> None:
    done = destage("compare", msr, "-p", "lru", "-c", "5p, 5p", "--csv", "-", "-q")
    assert done.out == destage("compare", msr, "-p", "lru", "-c", "5p", "--csv", "-", "-q").out
    trace = ds.open_trace(msr, device="small")
    devices = ds.compare(trace, "lru", cache=["5p", "5p"], device=["small", "ecr", "small"])
    assert [run.device for run in devices] == ["small", "ecr"]


def test_names_of_policies_are_taken_in_any_case(destage: Destage, msr: Path) -> None:
    given = ("compare", msr, "-c", "4p", "--csv", "-", "-q", "-p")
    capital = destage(*given, "LRU,CFLRU[window_fraction=0.5]")
    assert capital.status == 0, capital
    assert capital.out == destage(*given, "lru,cflru[window_fraction=0.5]").out
    assert ds.policy("ARC").name == "arc"
    trace = ds.open_trace(msr)
    assert ds.run(trace, ("CFLRU", {"window_fraction": 0.5}), cache="4p").run.policy == "cflru"
    assert destage("policies", "LRU").out.startswith("lru: ")


def test_a_name_that_is_none_in_any_case_is_said_as_it_was_typed(
    destage: Destage, msr: Path
) -> None:
    done = destage("compare", msr, "-p", "CFLRUX")
    assert done.status == 2
    assert "CFLRUX" in done.err


def test_a_group_stands_for_its_policies_and_says_what_it_leaves_out(
    destage: Destage, msr: Path
) -> None:
    done = destage("compare", msr, "-p", "All", "-c", "4p", "--csv", "-")
    assert done.status == 0, done
    ran = [line.split(",")[4] for line in done.out.splitlines()[1:]]
    drive = [p.name for p in ds.policies() if p.needs_device]
    assert ran == [p.name for p in ds.policies() if not p.needs_device]
    assert f"skipped, since they need a simulated SSD (--device): {', '.join(drive)}" in done.err
    quiet = destage("compare", msr, "-p", "all", "-c", "4p", "--csv", "-", "-q")
    assert "left out" not in quiet.err


def test_a_group_leaves_out_policies_whose_write_misses_never_fetch(
    destage: Destage, msr: Path
) -> None:
    flags = ("compare", msr, "-c", "4p", "--csv", "-", "--fetch-on-write-miss", "-p")
    done = destage(*flags, "all")
    assert done.status == 0, done
    grouping = [p.name for p in ds.policies() if p.clusters and not p.needs_device]
    assert not set(grouping) & {line.split(",")[4] for line in done.out.splitlines()}
    said = f"skipped, since --fetch-on-write-miss excludes them: {', '.join(grouping)}"
    assert said in " ".join(done.err.split()).replace("gcar-bplru, ", "")
    assert destage(*flags, "fab").status == 2


def test_in_front_of_a_drive_a_group_is_whole(msr: Path) -> None:
    trace = ds.open_trace(msr, device="small")
    results = ds.compare(trace, "flash", cache="4p", device="small")
    assert [r.policy for r in results] == [p.name for p in ds.policies() if p.flash_aware]


def test_what_is_named_beside_its_group_runs_once(msr: Path) -> None:
    trace = ds.open_trace(msr)
    results = ds.compare(trace, ["min", "classic", "CFLRU"], cache="4p")
    names = [r.policy for r in results]
    assert names[0] == "min"
    assert names[-1] == "cflru"
    assert sorted(names[:-1]) == sorted(p.name for p in ds.policies() if p.family == "classic")


def test_curves_take_groups_too(destage: Destage, msr: Path) -> None:
    done = destage("mrc", msr, "-p", "flash", "-c", "4p", "--csv", "-")
    assert done.status == 0, done
    assert "skipped, since they need a simulated SSD" in done.err
    flash = [p.name for p in ds.policies() if p.flash_aware and not p.needs_device]
    assert [line.split(",")[0] for line in done.out.splitlines()[1:]] == flash


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("info", "t.csv"), "trace info"),
        (("synth",), "trace synth"),
        (("replay", "t.csv"), "run"),
        (("stats", "t.csv"), "trace info"),
        (("compare", "t.csv", "--cachesize", "1%"), "--cache"),
        (("compare", "t.csv", "--output", "x.csv"), "--csv"),
        (("compare", "t.csv", "--cache-size", "1%"), "--cache"),
        (("compare", "t.csv", "--threads", "2"), "--jobs"),
        (("run", "t.csv", "--drive", "small"), "--device"),
        (("mrc", "t.csv", "--algo", "lru"), "--policy"),
    ],
)
def test_words_of_other_tools_lead_to_ours(
    typed: tuple[str, ...], meant: str, destage: Destage
) -> None:
    done = destage(*typed)
    assert done.status == 2
    assert f"did you mean {meant}?" in done.err


def test_policies_are_listed_by_family_with_year_and_source(destage: Destage) -> None:
    out = destage("policies").out
    assert len(re.split(r"\n\n", out)[:-1]) == 6
    assert re.search(r"^  cflru +2006 +Clean-First LRU\. Park et al\., CASES$", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_make_demo_says_what_it_builds_and_is_quiet_when_that_is_there(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "progress.awk", tmp_path / ".ci")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "Cargo.toml").touch()
    (tmp_path / "Cargo.lock").touch()
    (tmp_path / "crates").mkdir()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "activate").write_text(f'PATH="{programs}:$PATH"\n')
    crates = 'for i in $(seq 61); do echo "   Compiling crate-$i v1"; done'
    crates = f'case "$*" in *--skip-install*) {crates};; esac'  # nothing is left to compile then
    for name, says in (("python", "pip speaks: $*"), ("maturin", crates), ("destage", "the demo")):
        program = programs / name
        quiet = '[ "$3" = --quiet ] || [ "$2" = compileall ] && exit 0\n'
        quiet = quiet if name == "python" else ""
        program.write_text(f"#!/bin/sh\n{quiet}{says if name == 'maturin' else f'echo {says}'}\n")
        program.chmod(0o755)

    def make() -> list[str]:
        command = ["make", "--no-print-directory", "demo", "PYTHON=python3", "CARGO=true"]
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)
        return done.stdout.decode().splitlines()

    first = make()
    assert [line.split()[0] for line in first] == ["Setting", "Building", "30", "60", "the"]
    assert "minutes" in first[1]
    assert first[3].endswith("now crate-60")
    assert make() == ["the demo"]
    (programs / "maturin").write_text("#!/bin/sh\necho 'error: no compiler'\nexit 101\n")
    (tmp_path / "Cargo.lock").touch()
    with pytest.raises(subprocess.CalledProcessError) as failed:
        make()
    assert b"error: no compiler" in failed.value.stderr


def test_records_that_the_reader_skipped_are_said_to_be(destage: Destage) -> None:
    prompts = ROOT / "tests" / "data" / "mooncake.jsonl"
    out = destage("trace", "info", prompts, "--block-bytes", "2MiB").out
    assert re.search(r"^  reading +1 skipped \(no block\)$", out, re.MULTILINE)
