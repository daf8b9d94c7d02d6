"""Over-provisioning against device-aware eviction: which lowers response times and wear more?

Replays the trace that ships with Destage in front of a small simulated SSD with 7 % and with 28 %
of spare space. Run it with `python examples/over_provisioning.py`.
"""

from __future__ import annotations

import destage

#: A preset with changes, or a TOML file (`destage devices small --toml > my.toml`).
DEVICES = ["small[op_permille=70]", "small[op_permille=280]"]


def main() -> None:
    """Run three policies in front of each device, and print their results."""
    for name in DEVICES:
        device = destage.open_device(name)
        print(device)
        # Opened for the device: with its page size, and checked to fit.
        trace = destage.demo_trace(device)
        results = destage.compare(trace, ["lru", "cflru", "ecr"], cache="64MiB", device=device)
        for run in results:
            mean, p99 = run["response_ns_mean"] or 0, run["response_ns_p99"] or 0
            print(
                f"  {run.label:6} mean {mean / 1e6:5.2f} ms, 99 % within {p99 / 1e6:5.1f} ms,"
                f" {run.writes:,} pages written ({run['pending_writes']:,} pending),"
                f" write amplification {run.waf or 0:.2f}"
            )


if __name__ == "__main__":
    main()
