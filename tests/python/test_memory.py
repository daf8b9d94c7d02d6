"""Memory of a long-lived process: many runs and many opened traces leave nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import msr_lines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

#: A device whose copies are too small to stay in an arena of the allocator.
DRIVE = """
[device]
preset = "small"
blocks_per_plane = 24
logical_pages = 2048
"""

#: Prints what the process holds after each of four equal parts of the work.
WORK = """
import gc, json, os
import destage as ds

class Oldest(ds.ListPolicy):
    def __init__(self, frames):
        super().__init__(frames)
        self.pages = self.new_list(on_hit="front")

def held():
    gc.collect()
    memory, = (line for line in open("/proc/self/status") if line.startswith("RssAnon"))
    return {
        "memory": int(memory.split()[1]) * 1024,
        "files": len(os.listdir("/proc/self/fd")),
        "mappings": len(open("/proc/self/maps").readlines()),
        "objects": len(gc.get_objects()),
    }

for part in range(4):
    for _ in range(75):
        trace = ds.open_trace("small.csv")
        ds.compare(trace, ["lru", "min", Oldest], cache="25%").to_dicts()
        on_drive = ds.open_trace("small.csv", device="drive.toml")
        ds.compare(on_drive, ["lru", "ecr"], cache="25%", device="drive.toml", queue_depth=8)
        try:
            ds.compare(trace, "lru[x=1]", cache="25%")
        except ds.UsageError:
            pass
    print(json.dumps(held()))
"""


def test_memory_does_not_grow_with_runs_and_opened_traces(tmp_path: Path) -> None:
    """Run 1,500 policies and open 600 traces. A leak of 16 KB in each turn would be seen."""
    (tmp_path / "small.csv").write_text("".join(msr_lines(300)))
    (tmp_path / "drive.toml").write_text(DRIVE)
    command = [sys.executable, "-W", "ignore", "-c", WORK]
    text = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    first, *_, last = map(json.loads, text.splitlines())
    grown = {key: last[key] - first[key] for key in first}
    assert grown["objects"] <= 100, grown
    assert grown["files"] == 0, grown
    assert grown["mappings"] <= 16, grown
    assert grown["memory"] <= 225 * 16 * 1024, grown
