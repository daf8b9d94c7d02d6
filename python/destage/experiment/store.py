"""A store: a folder of Parquet parts, one for each finished task, and a manifest.

::

    manifest.json           says that the folder is a store, and of which version
    sweep-ID.json           the runs that a sweep planned, so that holes can be told
    part-SUM.parquet        rows of a task; SUM is a checksum of the file
    times-HOST-PID-N.jsonl  who did which task, when, how long: nothing else depends on it

Every file but the last is written under another name, synced and renamed, and never changed. So a
process may be killed at any moment, nothing needs a lock, and the folder may lie on NFS. Two
processes that do the same task write the same bytes under the same name. Rows are known by what was
asked for: the same run in two parts counts once.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from destage import _destage
from destage.base.errors import DataError, MissingFile, OutputError, UsageError
from destage.base.io.files import Destination, made_folder
from destage.base.io.names import path_of, printable
from destage.base.io.stale_files import host_mark, is_alive
from destage.experiment.rows import columns_of, key_of_row
from destage.experiment.task import Key, Plan
from destage.model.columns import CONTEXT, stored_kinds
from destage.model.metrics import RENAMED
from destage.model.rows import Row

__all__ = ["FORMAT", "Store", "StoredSweep", "is_store", "part_bytes"]

FORMAT = "destage.store"
#: Version 1 has the context of a run in each row.
VERSION, READ = 2, (1, 2)

MANIFEST = "manifest.json"
_PART, _SWEEP, _TIMES, _TEMPORARY = "part-", "sweep-", "times-", ".tmp-"
#: A temporary file of another host is left behind if it is as old as this, seconds.
_ABANDONED_S = 24 * 3600
_numbers = count()


@dataclass(frozen=True)
class StoredSweep:
    """Plan of a sweep, as the store keeps it."""

    id: str
    called: str
    tasks: tuple[Mapping[str, Any], ...]

    def keys(self) -> Iterator[Key]:
        """The runs that it planned."""
        for task in self.tasks:
            for run, label, cache in task["runs"]:
                yield (run, task["trace"], task["device"] or "", label, cache)


def is_store(path: Destination) -> bool:
    """Whether a folder is a store."""
    return os.path.isfile(os.path.join(path_of(path, "store"), MANIFEST)) or _has_parts(path)


def _has_parts(path: Destination) -> bool:
    with suppress(OSError):
        return any(_is_part(name) for name in os.listdir(path))
    return False


def _is_part(name: str) -> bool:
    return name.startswith(_PART) and name.endswith(".parquet")


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        """Take a folder; use `open` or `begin`."""
        self.folder = folder
        self._times: Path | None = None
        # Parts never change: each is looked at once.
        self._whole: set[str] = set()

    @classmethod
    def open(cls, path: Destination) -> Store:
        """An existing store. Raises `MissingFile`, and `DataError` for another folder."""
        folder = Path(path_of(path, "store"))
        shown = printable(folder)
        if not folder.exists():
            raise MissingFile(f"store {shown}: no such folder")
        if not folder.is_dir():
            raise DataError(f"store {shown}: expected a folder, found a file")
        if not is_store(folder):
            raise DataError(f"store {shown} is not a result store: it has no {MANIFEST}")
        store = cls(folder)
        store._check_version()
        return store

    @classmethod
    def begin(cls, path: Destination) -> Store:
        """A store, made if it is not there.

        Raises `UsageError` for a folder with other files, and `OutputError`.
        """
        folder = Path(path_of(path, "store"))
        if folder.exists() and folder.is_dir() and not is_store(folder):
            others = [name for name in os.listdir(folder) if not name.startswith(".")]
            if others:
                raise UsageError(
                    f"store {printable(folder)}: the folder has other files"
                    f" ({printable(sorted(others)[0])}, ...): name an empty one, or none"
                )
        store = cls(made_folder(folder))
        if not (folder / MANIFEST).exists() or store._check_version() != VERSION:
            store._write(MANIFEST, _json({"format": FORMAT, "version": VERSION}))
        store._sweep_up()
        return store

    def _check_version(self) -> int | None:
        """The version of the store, if its manifest says it. Raises `DataError` for another one."""
        path = self.folder / MANIFEST
        try:
            found = json.loads(path.read_bytes())
            version = int(found["version"]) if found["format"] == FORMAT else 0
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            # It follows from the parts: it is written again.
            with suppress(OutputError):
                self._write(MANIFEST, _json({"format": FORMAT, "version": VERSION}))
            return VERSION
        if version not in READ:
            raise DataError(
                f"store {printable(self.folder)}: {MANIFEST}: expected version {VERSION} of a"
                f" store, found {printable(found)}"
            )
        return version

    # Contents

    def parts(self) -> list[Path]:
        """Its parts by name, whole or not."""
        try:
            names = sorted(name for name in os.listdir(self.folder) if _is_part(name))
        except OSError as e:
            raise MissingFile(f"store {printable(self.folder)}: {e.strerror or e}") from e
        return [self.folder / name for name in names]

    def whole_parts(self) -> tuple[list[Path], list[Path]]:
        """Its parts, and those that are damaged."""
        whole: list[Path] = []
        damaged: list[Path] = []
        for path in self.parts():
            if path.name in self._whole:
                whole.append(path)
                continue
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # Packed by another process just now.
            except OSError:
                damaged.append(path)
                continue
            is_whole = path.name == _part_name(data)
            (whole if is_whole else damaged).append(path)
            if is_whole:
                self._whole.add(path.name)
        return whole, damaged

    def rows(
        self,
        names: Sequence[str] | None = None,
        parts: Iterable[Path] | None = None,
        without: Sequence[str] = (),
    ) -> Iterator[Row]:
        """Every run once, part by part, with these columns, or all of them but some."""
        wanted = None
        if names is not None:
            wanted = list(dict.fromkeys([*names, *_KEY_COLUMNS]))
        seen: dict[Key, bool] = {}
        later: list[Row] = []
        for path in self.whole_parts()[0] if parts is None else parts:
            for row in _rows_of(path, wanted, without):
                key, failed = key_of_row(row), row["status"] != "done"
                if key not in seen or (seen[key] and not failed):
                    # A failure counts only until the run is done after all.
                    seen[key] = failed
                    if failed:
                        later.append(row)
                    else:
                        yield row
        for row in later:
            if seen[key_of_row(row)]:
                seen[key_of_row(row)] = False
                yield row

    def rows_of(self, keys: Collection[Key]) -> list[Row]:
        """The rows of these runs, whole; a failed one only where it was never done."""
        parts = [
            path
            for path in self.whole_parts()[0]
            if any(key_of_row(row) in keys for row in _rows_of(path, _KEY_COLUMNS))
        ]
        return [row for row in self.rows(parts=parts) if key_of_row(row) in keys]

    def keys(self, failed_too: bool = True) -> set[Key]:
        """The runs that it has."""
        rows = self.rows(["status"])
        return {key_of_row(row) for row in rows if failed_too or row["status"] == "done"}

    def sweeps(self) -> list[StoredSweep]:
        """Plans of the sweeps; one whose file is damaged is left out."""
        found = []
        for path in sorted(self.folder.glob(f"{_SWEEP}*.json")):
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                found.append(_sweep_of(json.loads(path.read_bytes())))
        return found

    def has_sweep(self, plan: Plan) -> bool:
        """Whether the sweep has been begun here."""
        return any(sweep.id == plan.id for sweep in self.sweeps())

    # Adding to it

    def plan(self, plan: Plan, called: str) -> None:
        """Keep what a sweep is to run."""
        tasks = [
            {
                "trace": task.trace_name,
                "device": task.device,
                "ftl": task.ftl,
                "queue_depth": task.queue_depth,
                "options": task.row_options,
                "seed": task.seed,
                "page_bytes": task.trace.page_bytes,
                "unique_pages": task.trace.unique_pages,
                "frames": {s.given: s.row["frames"] for e in task.entries for s in e.sizes},
                "policies": [entry.policy.label for entry in task.entries],
                "runs": [(key[0], key[3], key[4]) for key in task.every_key()],
            }
            for task in plan.tasks
        ]
        data = {"id": plan.id, "called": called, "runs": plan.runs, "tasks": tasks}
        self._write(f"{_SWEEP}{plan.id}.json", json.dumps(data, sort_keys=True).encode() + b"\n")

    def add(self, rows: Sequence[Row]) -> Path:
        """Keep the rows of a task. Raises `OutputError`; the store is then as it was."""
        data = part_bytes(rows)
        return self.add_part(data)

    def add_part(self, data: bytes) -> Path:
        """Keep a part that was made elsewhere."""
        return self._write(_part_name(data), data)

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove parts: damaged ones, or those that were packed."""
        for path in paths:
            with suppress(FileNotFoundError):
                path.unlink()

    def note(self, told: Mapping[str, Any]) -> None:
        """Say who did a task, and how long it took; no result depends on it."""
        if self._times is None:
            host = "".join(c if c.isalnum() else "_" for c in socket.gethostname())[:40]
            stamp = f"{os.getpid()}-{time.time_ns()}"
            self._times = self.folder / f"{_TIMES}{host}-{stamp}.jsonl"
        line = json.dumps(told, sort_keys=True) + "\n"
        with suppress(OSError), self._times.open("a", encoding="utf-8") as file:
            file.write(line)

    def times(self) -> list[dict[str, Any]]:
        """Notes of every process (`note`); a line that was cut off is left out."""
        found: list[dict[str, Any]] = []
        for path in sorted(self.folder.glob(f"{_TIMES}*.jsonl")):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                with suppress(ValueError, RecursionError):
                    told = json.loads(line)
                    found += [told] if isinstance(told, dict) else []
        return found

    def side_files(self) -> list[Path]:
        """Files beside the parts: planned sweeps, and times."""
        each = (self.folder.glob(pattern) for pattern in (f"{_SWEEP}*.json", f"{_TIMES}*.jsonl"))
        return sorted(path for paths in each for path in paths)

    def copy(self, path: Path) -> None:
        """Take a side file of another store."""
        with suppress(FileNotFoundError):
            self._write(path.name, path.read_bytes())

    def _write(self, name: str, data: bytes) -> Path:
        """Write a file whole: another name, synced, renamed."""
        target = self.folder / name
        temporary = self.folder / f"{_TEMPORARY}{host_mark()}-{os.getpid()}-{next(_numbers)}"
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, target)
            except BaseException:
                with suppress(OSError):
                    temporary.unlink()
                raise
            _sync_folder(self.folder)
        except OSError as e:
            raise OutputError(f"store {printable(self.folder)}: {e.strerror or e}") from e
        return target

    def _sweep_up(self) -> None:
        """Remove what killed processes have begun to write."""
        for path in self.folder.glob(f"{_TEMPORARY}*"):
            host, _, rest = path.name.removeprefix(_TEMPORARY).partition("-")
            with suppress(OSError, ValueError):
                old = time.time() - path.stat().st_mtime > _ABANDONED_S
                if old or (host == host_mark() and not is_alive(int(rest.partition("-")[0]))):
                    path.unlink()


def _sweep_of(data: Any) -> StoredSweep:
    """The plan of a sweep out of its file. Raises `ValueError`, `KeyError`, `TypeError`."""

    def checked(value: Any, *kinds: type) -> Any:
        if not isinstance(value, kinds):
            raise TypeError
        return value

    absent = type(None)
    tasks = []
    for task in checked(data["tasks"], list):
        checked(task["trace"], str)
        checked(task["device"], str, absent)
        for run, label, cache in checked(task["runs"], list):
            checked(run, str)
            checked(label, str)
            checked(cache, str, absent)
        checked(json.loads(checked(task.get("options"), str, absent) or "{}"), dict)
        for frames in (checked(task.get("frames"), dict, absent) or {}).values():
            checked(frames, int, absent)
        for name in ("page_bytes", "unique_pages", "seed", "queue_depth"):
            checked(task.get(name), int, absent)
        checked(task.get("ftl"), str, absent)
        tasks.append(task)
    return StoredSweep(checked(data["id"], str), checked(data["called"], str), tuple(tasks))


#: Key of a part's metadata: the contexts that its rows name by their number.
CONTEXTS = "contexts"
#: Columns that distinguish rows.
_KEY_COLUMNS = ("id", "trace", "device", "label", "cache", "status")


def part_bytes(rows: Sequence[Row]) -> bytes:
    """Rows as the bytes of a part; always the same schema, whatever is in them."""
    columns = columns_of(rows)
    known = {name: kind for name, kind in stored_kinds().items() if name in columns}
    for name, values in columns.items():
        if known.get(name) == "int" and any(isinstance(v, float) for v in values):
            known[name] = "real"
        if all(value is None for value in values):
            known.setdefault(name, "text")
    # The context of runs, which many share, is there once.
    contexts = dict.fromkeys(text for text in columns[CONTEXT] if text is not None)
    number = {text: str(k) for k, text in enumerate(contexts)}
    columns[CONTEXT] = [None if text is None else number[text] for text in columns[CONTEXT]]
    told = {FORMAT: str(VERSION), "columns": json.dumps(list(columns))}
    told[CONTEXTS] = json.dumps(list(contexts))
    return _destage.parquet_bytes(list(columns.items()), told, known)


def _rows_of(path: Path, names: Sequence[str] | None, without: Sequence[str] = ()) -> list[Row]:
    if names is None and without:
        _, told = _destage.parquet_columns(path, [])
        every = json.loads(told.get("columns", "[]")) or list(stored_kinds())
        names = [name for name in every if name not in without]
    if names is not None:
        names = [*names, *(old for old, new in RENAMED.items() if new in names)]
    columns, told = _destage.parquet_columns(path, names)
    there = {name for name, _ in columns}
    if CONTEXTS in told and CONTEXT in there:
        contexts = json.loads(told[CONTEXTS])
        columns = [
            (name, [v and contexts[int(v)] for v in values] if name == CONTEXT else values)
            for name, values in columns
        ]
    columns = [(_present_name(name, there), values) for name, values in columns]
    keys = [name for name, _ in columns]
    each = zip(*(values for _, values in columns), strict=True)
    return [dict(zip(keys, row, strict=True)) for row in each]


def _present_name(name: str, there: Collection[str]) -> str:
    """The present name of a column of an earlier version, unless the part has that too."""
    now = RENAMED.get(name)
    return name if now is None or now in there else now


def _part_name(data: bytes) -> str:
    return f"{_PART}{hashlib.blake2b(data, digest_size=12).hexdigest()}.parquet"


def _json(data: object) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()


def _sync_folder(folder: Path) -> None:
    """Make a rename last; where folders cannot be synced, it is up to the system."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
