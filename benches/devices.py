"""Rates of the simulated drive, and the same requests through its peers. See README.md beside this file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from peers import disksim, mqsim
from peers.drives import Device
from peers.process import Served, run
from peers.workloads import WORKLOADS, Workload, file_of

Row = dict[str, object]
Say = Callable[[str], None]

PEERS: Mapping[str, tuple[str, str, Callable[[Path, Device, Path, Path], Served]]] = {
    "disksim": ("DESTAGE_BENCH_DISKSIM", "disksim", disksim.simulate),
    "mqsim": ("DESTAGE_BENCH_MQSIM", "mqsim", mqsim.simulate),
}


def steady(timed: Path, device: Path, rows: list[Row], say: Say) -> None:
    """The drive alone, and runs with and without a cache, on the preset `ecr`."""
    say("\ndrive: preset ecr (64 GiB raw, 64 chips), 4-KiB random writes, steady state")
    say("  page operations are R, W, M, S and E, each once (promised 5 M per CPU second)")
    for row in lines(device, "--writes", "4000000"):
        rows.append({"workload": "device", **row})
        say(f"  {row}")
    rates: dict[str, float] = {}
    for row in lines(timed, "--requests", "3000000", "--policies", "none,lru,ecr"):
        rows.append({"workload": "random-writes", **row})
        if row["case"] == "run":
            rates[str(row["policy"])] = float(str(row["page_operations_per_s"]))
            say(
                f"  {row['policy']:>5}: {rates[str(row['policy'])] / 1e6:5.2f} M page operations,"
                f" {float(str(row['requests_per_s'])) / 1e6:5.2f} M requests per CPU second,"
                f" WAF {row['waf']}"
            )
    slower = max(rates["lru"], rates["ecr"]) / min(rates["lru"], rates["ecr"])
    say(f"  lru and ecr are within {slower:.2f}x of one another (promised 1.5x)")


def ftls(program: Path, rows: list[Row], say: Say) -> None:
    """BAST, FAST, DFTL and the ideal page map, alone and on a drive."""
    say("\nFTLs: a million 4-KiB requests, 90 % writes, uniform over 400 000 pages, 2 GiB")
    say("  promised 3 M page operations per CPU second, and 50x the rate of FlashSim (C++, -O2)")
    for row in lines(program):
        rows.append({"workload": "ftls", **row})
        times = row["times_flashsim"]
        ratio = "" if times is None else f", {float(str(times)):,.0f}x FlashSim"
        say(
            f"  {row['case']:>10} {row['on']:>5}: {float(str(row['requests_per_s'])) / 1e6:5.1f} M"
            f" requests, {float(str(row['page_operations_per_s'])) / 1e6:6.0f} M page operations"
            f" per CPU second{ratio}"
        )


def compared(
    timed: Path, work: Path, destage: Callable[..., None], rows: list[Row], say: Say
) -> None:
    """The same requests on the same drive, through every peer that is found."""
    traces = Path(os.environ.get("DESTAGE_TRACES", "../shared/traces"))
    for workload in WORKLOADS:
        say(f"\n{workload.name}: {workload.about}")
        for peer, promised in workload.promised.items():
            variable, form, simulate = PEERS[peer]
            program = os.environ.get(variable)
            if not program:
                say(f"  no ratio to {peer}: set {variable} to its program")
                continue
            trace = file_of(workload, form, work, traces, destage)
            if trace is None:
                say("  skipped: its recording is not in DESTAGE_TRACES")
                break
            drive = workload.drive.for_mqsim() if peer == "mqsim" else workload.drive
            ours = our_run(timed, drive, workload, trace, form, work)
            theirs = simulate(Path(program).resolve(), drive, trace, work / peer)
            show(peer, ours, theirs, promised, say)
            rows.append(
                {
                    "workload": workload.name,
                    "policy": peer,
                    "cpu_s": ours["total_cpu_s"],
                    "peer_cpu_s": theirs.cpu_s,
                    "failed": theirs.failed,
                }
            )


def our_run(
    timed: Path, drive: Device, workload: Workload, trace: Path, form: str, work: Path
) -> Row:
    """A whole process of ours: drive prepared, text read, run; and the run alone."""
    file = work / f"{workload.name}-{form}.toml"
    file.write_text(drive.toml())
    arguments = (str(trace), "--format", form, "--device", str(file), "--policies", "none")
    ended = run([timed, "--bench", *arguments, "--rounds", "1", "--no-trace-cache"], work)
    if not ended.well:
        raise SystemExit(f"{workload.name}: {ended.why}")
    found = [json.loads(line) for line in ended.printed.splitlines()]
    row: Row = next(row for row in found if row["case"] == "run")
    return {**row, "total_cpu_s": ended.cpu_s}


def show(peer: str, ours: Row, theirs: Served, promised: float, say: Say) -> None:
    def side(name: str, requests: object, mean_ns: object, moves: object, erases: object) -> str:
        mean = f"{float(str(mean_ns)) / 1e6:10.4f} ms" if mean_ns is not None else "         -"
        return (
            f"  {name:>8}: {requests} served, mean response {mean}, {moves} moved, {erases} erased"
        )

    say(side("ours", ours["requests"], ours["mean_ns"], ours["moves"], ours["erases"]))
    if theirs.failed:
        say(f"  {peer:>8}: did not get through: {theirs.failed}")
        return
    say(side(peer, theirs.served, theirs.mean_ns, theirs.moves, theirs.erases))
    requests = float(str(ours["requests"]))
    total, alone = float(str(ours["total_cpu_s"])), float(str(ours["cpu_s"]))
    rates = f"{requests / total:,.0f} and {requests / theirs.cpu_s:,.0f} requests per CPU second"
    say(f"  {rates}: {theirs.cpu_s / total:.1f}x (promised {promised:.0f}x)")
    say(f"  without reading the text and preparing the drive: {theirs.cpu_s / alone:.1f}x")


def lines(binary: Path, *arguments: str) -> list[Row]:
    ended = run([binary, "--bench", *arguments], Path.cwd())
    if not ended.well:
        raise SystemExit(f"{binary.name}: {ended.why}")
    return [json.loads(line) for line in ended.printed.splitlines()]
