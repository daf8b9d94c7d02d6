"""The policies of a sweep: names, and tables with values for each of their parameters."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from destage.base.errors import DataError, UsageError
from destage.base.io.files import unreadable
from destage.base.io.names import home_path_of
from destage.lab.policy_base import OwnPolicy, PolicyLike, Spec, expanded, policy_specs, spec_label
from destage.lab.user_policies.files import split
from destage.lab.user_policies.trust import is_in_a_file, may_run
from destage.model.naming import parts
from destage.model.ranges import range_of

__all__ = ["PolicyAsked", "policies_asked", "policy_texts"]

Wrong = Callable[[str, object], Exception]

EXPECTED = "a name such as 'lru', or a table with a name and parameters"


def policy_texts(given: object, wrong: Wrong) -> list[str]:
    """Each policy as one types it; a table is as many as its parameters have combinations."""
    texts: list[str] = []
    for one in given if isinstance(given, list) else [given]:
        if isinstance(one, str) and one.strip():
            texts += [part.strip() for part in parts(one)]
        elif isinstance(one, Mapping):
            texts += _combined(one, wrong)
        else:
            raise wrong(EXPECTED, one)
    if not texts:
        raise wrong("at least one", given)
    return texts


def _combined(table: Mapping[str, Any], wrong: Wrong) -> Iterator[str]:
    params = dict(table)
    name = params.pop("name", None)
    if not isinstance(name, str) or "[" in name or "," in name:
        raise wrong("a table with the name of one policy (name = '2q')", table)
    columns = []
    for key, value in params.items():
        try:
            values = range_of(key, value if isinstance(value, (str, list)) else [value]).values
        except UsageError as e:
            raise wrong(f"values of {key}", value) from e
        if not values:
            raise wrong(f"values of {key}, or A:B:STEP", value)
        columns.append([(key, one) for one in values])
    for row in itertools.product(*columns):
        inside = ";".join(f"{key}={_typed(value)}" for key, value in row)
        yield f"{name}[{inside}]" if inside else name


def _typed(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class PolicyAsked:
    """One policy of a sweep, ready to be run anywhere."""

    name: str
    """Of the table, or `FILE.py:CLASS` as SPEC has it."""
    params: str
    """Those that were given, as JSON."""
    label: str
    """Both, as one types them."""
    file: str | None = None
    """Where a policy of one's own is: an absolute path."""
    content: str | None = None
    """Hash of that file."""
    may_run: bool = True
    """False in a dry run that does without it."""
    given: OwnPolicy | None = field(default=None, compare=False, repr=False)
    """A class of one's own, in the process that has it."""

    @classmethod
    def of(cls, spec: Spec) -> PolicyAsked:
        """The policy as `policy_specs` returns it."""
        if not isinstance(spec, OwnPolicy):
            return cls(spec[0], spec[1], spec_label(spec))
        params = json.dumps(spec.params, sort_keys=True)
        if not is_in_a_file(spec.name):
            return cls(spec.name, params, spec_label(spec), given=spec)
        file = home_path_of(split(spec.name)[0], "policy").resolve()
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        return cls(spec.name, params, spec_label(spec), str(file), content, given=spec)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without the class."""
        return PolicyAsked, (self.name, self.params, self.label, self.file, self.content)

    @property
    def is_own(self) -> bool:
        """Whether it is written in Python."""
        return self.file is not None or self.given is not None

    @property
    def identity(self) -> list[Any]:
        """Data that determine results. Raises `UsageError` for a class in no file."""
        given = json.loads(self.params)
        if self.file is None:
            if self.given is not None:
                raise UsageError(
                    f"policy {self.name}: a store knows a policy of your own by its file: name it"
                    " FILE.py:CLASS"
                )
            return [self.name, given]
        return [self.name.rpartition(":")[2], given, self.content]

    def check(self) -> None:
        """Check that the file of a user's policy exists and has the recorded content.

        Raises `MissingFile` and `DataError`.
        """
        if self.file is None:
            return
        try:
            found = hashlib.sha256(Path(self.file).read_bytes()).hexdigest()
        except OSError as e:
            raise unreadable(self.file, e) from e
        if found != self.content:
            raise DataError(f"policy {self.name}: its file is another one here: {self.file}")

    def like(self) -> PolicyLike:
        """The policy as a call takes it."""
        own = self.own()
        return (self.name, json.loads(self.params)) if own is None else (own, {})

    def own(self) -> OwnPolicy | None:
        """The class, if it is one. Raises `MissingFile`, `DataError` and `UsageError`."""
        if self.file is None or self.given is not None:
            return self.given
        cls = self.name.rpartition(":")[2]
        return OwnPolicy.in_file(f"{self.file}:{cls}", json.loads(self.params))


def policies_asked(
    texts: list[str], has_drive: bool, options: Mapping[str, object], folder: Path
) -> tuple[list[PolicyAsked], dict[str, None]]:
    """The policies that these texts name, groups as their members; and the members left out.

    Raises `UsageError` for what there is not, `MissingFile` and `DataError` for files.
    """
    found, left_out = list[PolicyAsked](), dict[str, None]()
    for text in texts:
        if is_in_a_file(text):
            found.append(_in_file(text, folder))
            continue
        members, left = expanded([text], has_drive, options)
        left_out |= dict.fromkeys(left)
        assert isinstance(members, list)
        for spec in policy_specs(members) if members else ():
            assert not isinstance(spec, OwnPolicy)
            found.append(PolicyAsked(spec[0], spec[1], spec_label(spec)))
    return list({one.label: one for one in found}.values()), left_out


def _in_file(text: str, folder: Path) -> PolicyAsked:
    path, cls, params = split(text)
    whole = (folder / home_path_of(path, "policy")).resolve()
    bracket = f"[{';'.join(f'{k}={_typed(v)}' for k, v in params.items())}]" if params else ""
    own = OwnPolicy.in_file(f"{whole}:{cls}" if cls else str(whole))
    name = path + own.name.removeprefix(str(whole))
    runs = may_run(str(whole), cls)
    content = hashlib.sha256(whole.read_bytes()).hexdigest()
    given = json.dumps(params, sort_keys=True)
    return PolicyAsked(name, given, f"{name}{bracket}", str(whole), content, runs)
