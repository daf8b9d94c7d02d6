"""The recordings of a release: `make samples-release FROM=recordings DIR=upload`.

    .venv/bin/python .ci/samples.py recordings upload

`upload` has the recordings as they lie in `recordings`, each checked, a README and SHA256SUMS: the
same bytes at every run. `destage trace fetch-samples --from` takes the folder, or the URL that
serves these files.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

from destage.base.errors import DestageError, MissingFile
from destage.reproduce.samples import PRESENT, TAKEN, fetch, samples

README = Path(__file__).resolve().parent.parent / "benches" / "record" / "recordings.md"


def release(source: str, folder: Path) -> None:
    """Fill the folder. Raises `MissingFile` for a source without one, and as `fetch`."""
    known = {name: one for name, one in samples().items() if one.kind == "recording"}
    found = fetch(folder, source, known=known)
    missing = [one.name for one in found if one.state not in (PRESENT, TAKEN)]
    if missing:
        raise MissingFile(f"{source}: expected {', '.join(missing)}")
    shutil.copyfile(README, folder / "README.md")
    files = sorted([*(one.path for one in found if one.path), folder / "README.md"])
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (folder / "SHA256SUMS").write_text("".join(sums))


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Collect the recordings of a release.")
    parser.add_argument("source", help="folder or URL of the recordings")
    parser.add_argument("folder", type=Path, help="folder to upload")
    given = parser.parse_args()
    try:
        release(given.source, given.folder)
    except (DestageError, OSError) as e:
        sys.exit(f"samples: {e}")


if __name__ == "__main__":
    main()
