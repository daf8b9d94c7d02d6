"""Fuzz what the Python half reads: results, and the files that `--config` names.

    python fuzz/faces.py [--time SECONDS] [--seed N] [TARGET...]

Inputs are damaged samples and follow from the seed; SECONDS are of processor time. Anything but a
`DestageError` is a find: it is written to `fuzz/finds/TARGET/`, and the status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import destage
from destage.cli import invoke

HERE = Path(__file__).resolve().parent
#: What is written where programs go wrong.
WORDS = (b"0", b"-1", b"1e308", b"null", b"true", b"[]", b"{}", b'""', b"NaN", b"9" * 25, b"\xff")


def results(data: bytes) -> None:
    """Read them as a result; what is read draws a table and is written again."""
    found = destage.Results.from_json(data, "x.json")
    str(found)
    again = destage.Results.from_json(found.to_json(), "x.json")
    assert again.to_json() == found.to_json(), "what was read is not what is written"


def config(data: bytes) -> None:
    """Take them as the file of a drive, of which only a description is asked."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.toml"
        path.write_bytes(data)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = invoke(["devices", str(path)])
        assert status in (0, 2, 65), f"status {status}: {said.getvalue()}"
        destage.open_device(path)


def result_samples() -> list[bytes]:
    """A result without a drive, one with it, and one over sizes of a policy with parameters."""
    load = destage.synth("oltp", requests=2000, pages=500, seed=1)
    plain = destage.compare(load, "lru,cflru[window_fraction=0.75],min", cache="5%,20%")
    drive = destage.open_device("small")
    load = destage.synth("oltp", requests=300, pages=500, seed=1, device=drive)
    timed = destage.compare(load, "ecr,bplru", cache="20%", device=drive)
    return [r.to_json().encode() for r in (plain, timed)]


def config_samples() -> list[bytes]:
    """The files of the presets."""
    return [destage.device(d.name).toml.encode() for d in destage.devices()]


TARGETS: dict[str, tuple[Callable[[bytes], None], Callable[[], list[bytes]]]] = {
    "results": (results, result_samples),
    "config": (config, config_samples),
}


def damaged(chance: random.Random, samples: list[bytes]) -> bytes:
    """One of the samples, changed at a few places."""
    data = bytearray(chance.choice(samples))
    for _ in range(chance.randint(1, 5)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + chance.randint(1, 20))
        kind = chance.randint(0, 5)
        if kind == 0:
            del data[at:end]
        elif kind == 1:
            data[at:at] = data[at:end]
        elif kind == 2:
            data[at:at] = chance.choice(WORDS)
        elif kind == 3 and at < len(data):
            data[at] = chance.randint(0, 255)
        elif kind == 4:
            _renumber(chance, data, at)
        else:
            del data[at:]
            data += chance.choice(samples)[chance.randint(0, len(data)) :]
    return bytes(data)


def _renumber(chance: random.Random, data: bytearray, at: int) -> None:
    """Put a word into the place of the number at or after `at`."""
    first = next((i for i in range(at, len(data)) if 48 <= data[i] < 58), None)
    if first is None:
        return
    end = first
    while end < len(data) and 48 <= data[end] < 58:
        end += 1
    data[first:end] = chance.choice(WORDS)


def run(name: str, seconds: float, seed: int) -> int:
    """Feed a target for its time; return how often it broke in different ways."""
    target, made = TARGETS[name]
    samples, chance, fed = made(), random.Random(seed), 0
    finds: dict[str, Path] = {}
    began = time.process_time()
    while fed < len(samples) or time.process_time() - began < seconds:
        data = samples[fed] if fed < len(samples) else damaged(chance, samples)
        fed += 1
        try:
            target(data)
        except destage.InternalError as e:
            _keep(name, data, e, finds)
        except destage.DestageError:
            pass
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt):
                raise
            _keep(name, data, e, finds)
    rate = fed / (time.process_time() - began)
    print(f"{name:<12} {fed:>9} inputs, {rate:>8.0f} a second, {len(finds)} finds (seed {seed})")
    return len(finds)


def _keep(name: str, data: bytes, error: BaseException, finds: dict[str, Path]) -> None:
    said = f"{type(error).__name__}: {error}"
    if said in finds:
        return
    path = HERE / "finds" / name / hashlib.sha256(data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    finds[said] = path
    print(f"{name}: {said}\n  input in {path.relative_to(HERE.parent)}", file=sys.stderr)


def main() -> int:
    """Run the targets that are named, or all; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--time", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found = sum(run(name, asked.time, asked.seed) for name in asked.targets or TARGETS)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
