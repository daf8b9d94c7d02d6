"""What does over-provisioning buy, and what a policy that looks at the drive?

The trace that ships with Destage, in front of a small simulated SSD with 7 % and 28 % of spare
space. Run it with `python examples/drive.py`.
"""

from __future__ import annotations

import destage

#: A preset with changes; a TOML file does as well (`destage devices small --toml > my.toml`).
DRIVES = ["small[op_permille=70]", "small[op_permille=280]"]


def main() -> None:
    """Run three policies in front of either drive, and compare."""
    for name in DRIVES:
        drive = destage.open_device(name)
        print(drive)
        # The trace is read for its drive: its page size, and whether it fits into it.
        trace = destage.demo_trace(drive)
        results = destage.compare(trace, ["lru", "cflru", "ecr"], cache="64MiB", device=drive)
        for run in results:
            mean, p99 = run["response_ns_mean"] or 0, run["response_ns_p99"] or 0
            print(
                f"  {run.label:6} mean {mean / 1e6:5.2f} ms, 99 % within {p99 / 1e6:5.1f} ms,"
                f" {run.writes:,} pages written ({run['pending_writes']:,} pending),"
                f" write amplification {run.waf or 0:.2f}"
            )


if __name__ == "__main__":
    main()
