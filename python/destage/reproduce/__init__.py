"""Re-run the evaluations of six papers, and say claim by claim what holds.

>>> from destage.reproduce import paper
>>> paper("acr").title[:3]
'ACR'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from destage.base.errors import UsageError
from destage.experiment.experiment import Experiment
from destage.lab.options import ProgressCallback, thread_count
from destage.reproduce.claims import OURS, PAPERS, Claim, Figure, Paper
from destage.reproduce.document import document
from destage.reproduce.evaluation import Evaluation, Options, evaluate, seeds_of
from destage.reproduce.looking import Case, Judgement
from destage.reproduce.reading import load_paper, paper
from destage.reproduce.sums import names
from destage.reproduce.verdicts import Verdict

__all__ = [
    "OURS",
    "PAPERS",
    "Case",
    "Claim",
    "Evaluation",
    "Figure",
    "Judgement",
    "Options",
    "Paper",
    "Verdict",
    "document",
    "evaluate",
    "load_paper",
    "narrowed",
    "paper",
    "papers_of",
    "reproduce",
]


def _in_order(where: str) -> list[tuple[int, str]]:
    """Figure 9 before figure 10."""
    return [(int(n or 0), word) for n, word in re.findall(r"(\d+)|(\D+)", where)]


def papers_of(names: Sequence[str]) -> list[Paper]:
    """Return the papers of some names, `all` being all of them. Raises `UsageError`."""
    wanted = list(
        dict.fromkeys(n for name in names for n in (PAPERS if name == "all" else (name,)))
    )
    return [paper(name) for name in wanted]


def narrowed(whole: Paper, figures: Sequence[int] = (), tables: Sequence[int] = ()) -> Paper:
    """Return a paper with some figures and tables only, and the claims that are about them.

    Raises `UsageError` for a number that the evaluation has not.
    """
    if not figures and not tables:
        return whole
    wanted = [("figure", k) for k in figures] + [("table", k) for k in tables]
    for kind, number in wanted:
        places = [*(f.where for f in whole.figures), *(c.where for c in whole.claims)]
        if not any(names(kind, number, where) for where in places):
            known = sorted({f.where for f in whole.figures}, key=_in_order)
            raise UsageError(
                f"{whole.name} has no {kind} {number} here (it has {'; '.join(known)})"
            )
    kept = [f for f in whole.figures if any(names(*one, f.where) for one in wanted)]
    claims = [c for c in whole.claims if any(names(*one, c.where) for one in wanted)]
    needed = {f.runs for f in kept} | {r for c in claims for r in c.check.needed_runs}
    return replace(
        whole,
        figures=tuple(kept),
        claims=tuple(claims),
        runs=tuple(r for r in whole.runs if r.id in needed),
        sensitivity=(),
    )


def reproduce(
    name: str,
    *,
    traces: Path | str | None = None,
    recordings: Path | str | None = None,
    scale: float = 1.0,
    seed: int = 1,
    seeds: int | Literal["auto"] | None = None,
    sensitivity: bool = True,
    figures: Sequence[int] = (),
    tables: Sequence[int] = (),
    jobs: int | None = None,
    experiment: Experiment | None = None,
    progress: ProgressCallback | None = None,
) -> Evaluation:
    """Run a paper's evaluation again.

    Parameters:
        name: `ecr`, `sac`, `bpac`, `acr`, `aalru` or `gcar`; or `destage`: our own claims.
        traces: a folder with originals; a missing one has a surrogate trace.
        recordings: a folder with this project's recordings; by default the package's.
        scale: share of the requests, above 0 and at most 1; pages, caches, devices and periods of
            policies shrink as much.
        seed, seeds: the first seed of generated workloads, and how many: by default 3, and 1 at a
            scale of 0.1 and less; `auto`: 3, 6, 12 or 30, until no claim is undecided.
        sensitivity: run the headline claims under other readings, too.
        figures, tables: only these, with their claims; all without them.
        jobs, progress: as in `compare`.
        experiment: where runs are kept, and who does them; without it in memory, by this machine.

    Raises `UsageError`, `DataError` for an original that is not what its name says, and what runs
    raise.
    """
    options = checked(
        Options(
            scale=scale,
            seed=seed,
            seeds=seeds_of(scale, seeds),
            auto_seeds=seeds == "auto",
            traces=Path(traces) if traces is not None else None,
            recordings=Path(recordings) if recordings is not None else None,
            jobs=jobs,
            sensitivity=sensitivity,
        )
    )
    chosen = narrowed(paper(name), figures, tables)
    return evaluate(chosen, options, experiment=experiment, progress=progress)


def checked(options: Options) -> Options:
    """Return options that can be. Raises `UsageError`."""
    if not 0 < options.scale <= 1:
        raise UsageError(f"scale: expected a share, above 0 and at most 1, got {options.scale}")
    if not 1 <= options.seeds <= 100:
        raise UsageError(f"seeds: expected a number from 1 to 100, got {options.seeds}")
    if not 0 <= options.seed < 1 << 62:
        raise UsageError(f"seed: expected a whole number 0..2^62, got {options.seed}")
    thread_count(options.jobs)
    own = options.traces / "own" if options.traces is not None else None
    if options.recordings is None and own is not None and own.is_dir():
        return changed(options, recordings=own)
    return options
