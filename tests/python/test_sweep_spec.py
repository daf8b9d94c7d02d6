"""SPEC.toml: what a sweep is to run, and what is said of one that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Destage, msr_lines

import destage as ds
from destage.experiment.filter import rows_where
from destage.experiment.plan import Plan, planned
from destage.experiment.spec import load_spec
from destage.experiment.task import Task

LOOP = {"synth": "loop", "requests": 600, "pages": 60, "loop_pages": 30}


def plan_of(sweep: dict[str, Any], **tables: Any) -> Plan:
    return planned(load_spec({"sweep": {"traces": [LOOP], **sweep}, **tables}))


def asked(plan: Plan) -> list[tuple[str, str | None, str, str, int | None]]:
    """Every run by its names."""
    return [
        (task.trace_name.split()[1], task.device, entry.policy.label, size.given, task.seed)
        for task in plan.tasks
        for entry in task.entries
        for size in entry.sizes
    ]


def test_lists_are_a_grid_and_seeds_repeat_it() -> None:
    plan = plan_of({"policies": ["lru", "fifo"], "cache": ["5p", "10p", "20%"], "repeat": 2})
    found = asked(plan)
    assert plan.runs == len(found) == len(set(found)) == 12
    assert {(p, c, s) for _, _, p, c, s in found} == {
        (p, c, s) for p in ("lru", "fifo") for c in ("5p", "10p", "20%") for s in (1, 2)
    }


def test_seeds_are_those_that_are_named_or_follow_the_first() -> None:
    both = [
        plan_of({"policies": "lru", "cache": "5p", **more})
        for more in ({"seeds": [7, 8, 9]}, {"seeds": [7], "repeat": 3})
    ]
    assert asked(both[0]) == asked(both[1])
    assert both[0].id == both[1].id


def test_zipped_axes_go_together() -> None:
    other = {**LOOP, "requests": 500}
    plan = plan_of(
        {
            "traces": [LOOP, other],
            "policies": ["lru", "fifo"],
            "cache": ["5p", "10p"],
            "zip": ["traces", "cache"],
        }
    )
    assert [
        (t.trace.known["requests"], e.policy.label, e.sizes[0].given)
        for t in plan.tasks
        for e in t.entries
    ] == [
        (600, "lru", "5p"),
        (600, "fifo", "5p"),
        (500, "lru", "10p"),
        (500, "fifo", "10p"),
    ]


def test_a_table_has_values_for_each_parameter_of_its_policy() -> None:
    plan = plan_of(
        {"policies": ["lru", {"name": "cflru", "window_fraction": "0.25:0.75:0.25"}], "cache": "5p"}
    )
    assert [label for _, _, label, _, _ in asked(plan)] == [
        "lru",
        "cflru[window_fraction=0.25]",
        "cflru[window_fraction=0.5]",
        "cflru[window_fraction=0.75]",
    ]


def test_conditions_leave_runs_out() -> None:
    plan = plan_of(
        {
            "policies": ["lru", {"name": "cflru", "window_fraction": [0.25, 0.5]}],
            "cache": ["5p", "10p"],
            "where": ["policy != 'lru' or cache >= '10p'", "params.window_fraction != 0.5"],
        }
    )
    assert {(label, size) for _, _, label, size, _ in asked(plan)} == {
        ("lru", "10p"),
        ("cflru[window_fraction=0.25]", "5p"),
        ("cflru[window_fraction=0.25]", "10p"),
    }


def test_drives_take_keys_of_the_spec_and_grids_of_them() -> None:
    plan = plan_of(
        {
            "policies": "lru",
            "cache": "5p",
            "devices": ["ecr"],
            "device": {"gc_mode": ["foreground", "background"]},
            "queue_depth": [1, 4],
        },
        device={"precondition": "sequential"},
    )
    assert [
        (t.device, t.queue_depth, t.drive and t.drive.known["device"]["precondition"])
        for t in plan.tasks
    ] == [
        ("ecr[gc_mode=foreground]", 1, "sequential"),
        ("ecr[gc_mode=foreground]", 4, "sequential"),
        ("ecr[gc_mode=background]", 1, "sequential"),
        ("ecr[gc_mode=background]", 4, "sequential"),
    ]


def test_placements_are_an_axis_as_ftls_are() -> None:
    sweep = {"policies": "lru", "cache": "5p", "devices": ["fdp[precondition=none]"]}
    given = ["none", "sepbit", "sepbit[window=8]"]
    plan = plan_of({**sweep, "placements": given})
    assert [(t.device, t.drive and t.drive.placement) for t in plan.tasks] == [
        ("fdp[precondition=none;placement=none]", "none"),
        ("fdp[precondition=none;placement=sepbit]", "sepbit"),
        ("fdp[precondition=none;placement=sepbit;placement.window=8]", "sepbit[window=8]"),
    ]
    assert len({key[0] for task in plan.tasks for key in task.every_key()}) == 3
    left = plan_of({**sweep, "placements": given, "where": "placement != 'sepbit'"})
    assert [t.drive and t.drive.placement for t in left.tasks] == ["none", "sepbit[window=8]"]
    with pytest.raises(ds.UsageError, match="expected none, by-size"):
        plan_of({**sweep, "placements": "nosuch"})


def test_a_spec_may_describe_its_own_drive(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[sweep]\ntraces = [{synth = "loop", requests = 300, pages = 30}]\npolicies = "lru"\n'
        'cache = "5p"\nftls = ["page", "bast[log_blocks=8]"]\n'
        '[device]\npreset = "ecr"\nchannels = 2\nprecondition = "none"\n'
    )
    plan = planned(load_spec(path))
    assert [(t.device, t.ftl) for t in plan.tasks] == [
        ("mine", "page"),
        ("mine", "bast[log_blocks=8]"),
    ]
    assert all(t.drive and t.drive.known["device"]["channels"] == 2 for t in plan.tasks)
    assert plan.tasks[1].drive is not None
    assert plan.tasks[1].drive.known["ftl"]["log_blocks"] == 8


def test_paths_are_relative_to_the_spec_and_a_folder_is_all_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    for k in range(3):
        (tmp_path / "traces" / f"t{k}.csv").write_text("".join(msr_lines(60 + k)))
    spec = tmp_path / "s.toml"
    names = {}
    for given in (
        '"traces"',
        '"traces/*.csv"',
        '["traces/t0.csv", "traces/t1.csv", "traces/t2.csv"]',
    ):
        spec.write_text(f'[sweep]\ntraces = {given}\npolicies = "lru"\ncache = "4p"\n')
        names[given] = [t.trace_name for t in planned(load_spec(spec)).tasks]
    assert set(map(tuple, names.values())) == {("t0.csv", "t1.csv", "t2.csv")}


def test_an_id_depends_on_what_determines_the_result_and_on_nothing_else(tmp_path: Path) -> None:
    one, other = tmp_path / "a.csv", tmp_path / "deeper" / "b.csv"
    other.parent.mkdir()
    for path in (one, other):
        path.write_text("".join(msr_lines(80)))

    def ids(**changes: Any) -> list[str]:
        sweep = {"traces": str(one), "policies": "lru", "cache": "4p", **changes}
        return [key[0] for t in planned(load_spec({"sweep": sweep})).tasks for key in t.every_key()]

    base = ids()
    assert ids(traces=str(other)) == base
    assert ids(policies=["fifo", "lru"])[1:] == base
    four_of = planned(load_spec({"sweep": {"traces": str(one), "policies": "lru", "cache": "10%"}}))
    assert four_of.tasks[0].entries[0].sizes[0].frames == 4
    assert ids(cache="10%") == base
    for changes in (
        {"policies": "fifo"},
        {"cache": "5p"},
        {"seeds": 1},
        {"warmup": "10%"},
        {"devices": "ecr"},
        {"traces": [LOOP]},
    ):
        assert ids(**changes) != base, changes


def test_a_policy_in_a_file_is_known_by_what_the_file_says(tmp_path: Path) -> None:
    path = ds.new_policy("Mine", tmp_path)
    spec = tmp_path / "s.toml"
    spec.write_text(
        '[sweep]\ntraces = [{synth = "loop", requests = 300, pages = 30}]\n'
        'policies = ["mine.py:Mine", {name = "mine.py:Mine", clean_first = [2, 4]}]\ncache = "5p"\n'
    )
    plans = [planned(load_spec(spec), allow_code=True)]
    assert [label for _, _, label, _, _ in asked(plans[0])] == [
        "mine.py:Mine",
        "mine.py:Mine[clean_first=2]",
        "mine.py:Mine[clean_first=4]",
    ]
    path.write_text(path.read_text() + "\n# changed\n")
    assert planned(load_spec(spec), allow_code=True).id != plans[0].id


WRONG = {
    "[swep]\n": "unknown table 'swep', did you mean sweep?",
    "[trace]\n": "expected a table [sweep], found none",
    "[sweep]\n": "[sweep]: expected traces, found none",
    "[sweep]\ntraces = 3\n": "[sweep] traces: expected a path, or a table",
    '[sweep]\ntraces = ["none.csv"]\n': "trace none.csv: no such file",
    '[sweep]\ntrases = "a"\n': "unknown key 'trases', did you mean traces?",
    "@cache = [3]\n": "[sweep] cache: expected a size such as '32MiB', found 3",
    '@cache = "12 apples"\n': "[sweep] cache: ",
    "@policies = []\n": "[sweep] policies: expected at least one",
    "@policies = [{window = 3}]\n": "policies: expected a table with the name of one policy",
    '@policies = "lruu"\n': "did you mean lru?",
    "@seeds = [-1]\n": "[sweep] seeds: expected a whole number from 0, found -1",
    "@repeat = 0\n": "[sweep] repeat: expected a whole number from 1 to 1000000, found 0",
    "@repeat = 1000001\n": "repeat: expected a whole number from 1 to 1000000, found 1000001",
    '[sweep]\ntraces = [{synth = "zipf"}, {synth = "zipf"}]\n': (
        '[sweep] traces: "synth zipf" is there twice'
    ),
    "@seeds = [1, 2]\nrepeat = 2\n": "[sweep] repeat: [sweep] seeds names 2 seeds",
    "@seeds = [1, 1]\n": "[sweep] seeds: 1 is there twice",
    '@zip = ["traces", "cache"]\ncache = ["1p", "2p"]\n': (
        "[sweep] zip: expected axes of the same length: traces has 1, cache has 2"
    ),
    '@zip = ["traces", "cash"]\n': "[sweep] zip: unknown axis 'cash', did you mean cache?",
    '@where = "polic == 1"\n': "where: 'polic == 1' is not a condition: ",
    '@where = "policy =="\n': "is not a condition",
    '@where = "open(1)"\n': "is not a condition",
    "@where = \"policy == 'min'\"\n": "[sweep] where: no run is left",
    '@ftls = "bast"\n': "[sweep] ftls: it needs a simulated SSD, and there is none",
    '@placements = "sepbit"\n': "[sweep] placements: it needs a simulated SSD, and there is none",
    '[sweep]\ntraces = [{synth = "zipf", skew = 2}]\n': "spec.toml: trace synth zipf skew=2: skew:",
    '@warmup = "soon"\n': "run options: ",
    '@tier2_cache = "5%"\ntier2 = ["lru", "none"]\n': "tier2 = none: leave tier2 out",
    '@[trace]\nformaat = "msr"\n': "[trace]: unknown key 'formaat', did you mean format?",
    '@[cache]\nsize = "1p"\n': "[cache] size: a sweep has its policies and sizes in [sweep]",
    '@devices = "nosuch"\n': "nosuch",
    '@[host]\nmode = "closed"\n': "[host] mode: it needs a simulated SSD, and there is none",
    '@devices = "none"\n[ftl]\nname = "bast"\n': "[ftl] name: it needs a simulated SSD",
    '@cach = ["1p"]\n': "did you mean cache? (nearest of ",
    "@x = = 3\n": "expected a TOML file with a table [sweep]",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named_with_its_place(text: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    base = '[sweep]\ntraces = [{synth = "loop", requests = 100, pages = 20}]\n'
    path.write_text(text.replace("@", base))
    with pytest.raises((ds.DataError, ds.MissingFile, ds.UsageError)) as caught:
        planned(load_spec(path))
    assert WRONG[text] in str(caught.value)


def test_the_command_names_file_and_key(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[sweep]\ntraces = 3\n")
    done = destage("sweep", "bad.toml", "--store", "runs")
    assert done.status == 65
    assert "bad.toml: [sweep] traces: expected a path" in done.err
    assert not (tmp_path / "runs").exists()
    assert destage("sweep", "none.toml", "--store", "runs").status == 66
    assert destage("sweep", "bad.toml").status == 2
    assert destage("sweep", "bad.toml", "--store", "runs", "--shard", "3/2").status == 2


def test_a_dry_run_counts_and_says_time_and_memory(destage: Destage, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[sweep]\ntraces = [{synth = "loop", requests = 900, pages = 60}]\n'
        'policies = ["lru", "arc"]\ncache = ["5p", "10%"]\nrepeat = 3\n'
    )
    done = destage("sweep", "s.toml", "--dry-run")
    assert done.status == 0, done
    assert "12 runs in 3 tasks: about" in done.out
    assert "a task takes up to" in done.out
    assert not [p for p in tmp_path.iterdir() if p.name != "s.toml"]


def test_an_estimate_has_the_start_of_each_run_and_every_access(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a clock that opening, starting and accesses alone move."""
    from destage.experiment import estimate as module

    clock = 0.0
    planned = module.planned

    def plan(*args: Any, **kwargs: Any) -> Any:
        nonlocal clock
        clock += 7.0
        return planned(*args, **kwargs)

    def run(task: Task) -> None:
        nonlocal clock
        rate = {"lru": 1.0, "arc": 3.0}[task.entries[0].policy.label]
        clock += 0.25 + rate * task.trace.accesses / 1e6

    monkeypatch.setattr(module.time, "process_time", lambda: clock)
    monkeypatch.setattr(module, "planned", plan)
    monkeypatch.setattr(module, "finished", run)
    traces = [{"synth": "zipf", "requests": n, "pages": 500} for n in (100_000, 5_000)]
    spec = {"sweep": {"traces": traces, "policies": ["lru", "arc"], "cache": ["1%", "5%", "9%"]}}
    found = ds.estimate(spec, jobs=2)
    large, small = found.tasks
    assert large.seconds == pytest.approx(3 * (0.25 + 0.1) + 3 * (0.25 + 0.3))
    assert large.longest == pytest.approx(0.25 + 0.3)
    # One sample alone: what a run takes is what the trace took.
    assert small.seconds == pytest.approx(3 * (0.25 + 0.005) + 3 * (0.25 + 0.015))
    assert found.opening == 7.0
    assert found.processor_seconds == pytest.approx(large.seconds + small.seconds)
    assert found.seconds == pytest.approx(found.processor_seconds / 2)
    assert ds.estimate(spec, jobs=64).seconds == pytest.approx(large.longest)
    text = repr(found).replace("\N{NO-BREAK SPACE}", " ")
    assert "12 runs in 2 tasks: about 4.3 s of processor time, 2.1 s on 2 cores" in text
    assert "took 7 s of processor time; the sweep reuses both" in text


VALUES = {
    "policy": "lru",
    "cache": "10%",
    "cache_bytes": 40960,
    "page_bytes": 4096,
    "unique_pages": 100,
    "frames": 10,
    "seed": None,
    "params.w": 0.5,
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("policy == 'lru' and frames > 9", True),
        ("policy in ['arc', 'fifo']", False),
        ('policy == "lru" and cache <= "10%"', True),
        ("policy IN ('arc', 'lru') AND frames BETWEEN 9 AND 11", True),
        ("cache == '10%'", True),
        ("cache <= '40KiB' and cache >= '10p' and '9%' < cache", True),
        ("cache_bytes / 4096 == frames", True),
        ("not (policy == 'lru') or params.w * 2 == 1", True),
        ("params.other != 0.5 and params.other == none", True),
        ("seed == none and seed is null", True),
        ("seed < 3", False),
        ("policy != 'params.w == none'", True),
        ("-frames == -10", True),
    ],
)
def test_conditions_compare_and_reckon(text: str, holds: bool) -> None:
    assert rows_where([VALUES, {**VALUES, "policy": None}], [text])[:1] == [0] * holds


def test_a_size_is_compared_as_it_was_asked_for() -> None:
    """10 % of 104 pages are 10 pages, and 41 KB are no whole number of pages."""
    values = {**VALUES, "unique_pages": 104}
    asked = "cache >= '10%' and cache <= '10%' and cache < '10.5%' and cache > '9%'"
    for text in (asked, "cache >= '41KB'", "cache >= '41KB' and cache < '46KB'"):
        assert rows_where([values], [text]) == [0], text


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "policy.__class__",
        "lambda: 1",
        "",
        "policy ==",
        "polic == 1",
        "EXISTS (SELECT * FROM read_text('/etc/hostname'))",
        "getenv('HOME') = 'x'",
    ],
)
def test_a_condition_can_do_nothing_else(text: str) -> None:
    with pytest.raises(ds.UsageError, match="is not a condition: "):
        rows_where([VALUES], [text])
