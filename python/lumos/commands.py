"""Commands that need no loaded job: estimates, searches, synthesis, calibration, comparisons, and any command by its
words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _lumos
from .files import csv_path, job_path, read_words, settings_of
from .job import Job, load
from .result import Result, SearchResult, run_for_result

Path = Union[str, "os.PathLike[str]"]
Given = Union[Path, Mapping[str, Any]]  # a file, the name of one that comes with Lumos, or what it would hold
Rows = Union[Path, Iterable[Mapping[str, Any]]]  # a CSV file, a pandas.DataFrame, or records


def run(*words: Path) -> str:
    """What `lumos WORDS...` prints."""
    return _lumos.run_command([os.fspath(word) for word in words])


def _asked(words: list[str], settings: Mapping[str, Any]) -> list[str]:
    for setting in settings_of(settings):
        words += ["--set", setting]
    return words


def _named(files: contextlib.ExitStack, **given: Union[None, Given]) -> list[str]:
    """--NAME FILE for each that is given."""
    words = []
    for name, value in given.items():
        if value is not None:
            words += [f"--{name}", files.enter_context(job_path(value, name))]
    return words


def _tables(files: contextlib.ExitStack, **given: Union[None, Rows]) -> list[str]:
    words = []
    for name, value in given.items():
        if value is not None:
            words += [f"--{name}", files.enter_context(csv_path(value, name))]
    return words


def estimate(job: Union[None, Given], cluster: Given, *, jobs: Union[None, Rows] = None, threads: int = 0,
             **settings: Any) -> Result:
    """Step time, FLOPs and memory of a job without traces, or of one per row of `jobs`.

    `job` and `cluster` are files, names of those that come with Lumos, or mappings; settings change single fields of
    either. A field of the cluster whose name has a dot in it goes into a mapping: **{"gpu.memory_gib": 40}.
    """
    with contextlib.ExitStack() as files:
        words = ["estimate", *_named(files, job=job, cluster=cluster), *_tables(files, jobs=jobs)]
        words = _asked(words + (["--threads", str(threads)] if threads else []), settings)
        return run_for_result(run, words, files)


def search(job: Given, cluster: Union[None, Given] = None, *, traces: Union[None, Path, Iterable[Path]] = None,
           gpus: int = 0, samples_per_gpu: int = 0, space: Union[None, Given] = None, configs: Union[None, Rows] = None,
           top: int = 10, simulate: int = 10, tokens: float = 0, report: Union[None, Path] = None,
           results: Union[None, Path] = None, exhaustive: bool = False, progress: bool = False, strict: bool = False,
           rank_regex: str = "", threads: int = 0, **settings: Any) -> SearchResult:
    """The fastest configurations of a job on so many GPUs, from the job and a cluster, or from `traces` of the job.

    `space` has lists of values to try, `configs` rows to choose among instead. `simulate` of the best are simulated in
    full. `results` is a file that a later search goes on from, `report` an HTML page to write.
    """
    if traces is None:
        paths = []
    else:
        paths = [os.fspath(path) for path in ([traces] if isinstance(traces, (str, os.PathLike)) else traces)]
    with contextlib.ExitStack() as files:
        words = ["search", *paths, *_named(files, job=job, cluster=cluster, space=space),
                 *_tables(files, configs=configs), *read_words(strict, rank_regex, threads),
                 "--samples-per-gpu", str(samples_per_gpu), "--top", str(top), "--simulate", str(simulate),
                 "--tokens", repr(float(tokens))]
        for name, path in (("report", report), ("results", results)):
            words += [] if path is None else [f"--{name}", os.fspath(path)]
        words += ["--gpus", str(gpus)] if gpus else []
        words += ["--exhaustive"] * exhaustive + ["--progress"] * progress
        return SearchResult(run(*_asked(words, settings), "--json"))


def synth(job: Given, cluster: Given, out: Path, *, ranks: Union[str, Iterable[int]] = "stages", steps: int = 2,
          jitter: float = 0, seed: int = 1, force: bool = False, **settings: Any) -> Result:
    """Writes the traces of a job that nobody has run into the folder `out`: of all ranks ("all"), of one per pipeline
    stage ("stages"), or of a list. `force` writes even where other traces are."""
    chosen = ranks if isinstance(ranks, str) else ",".join(map(str, ranks))
    with contextlib.ExitStack() as files:
        words = ["synth", *_named(files, job=job, cluster=cluster), "--out", os.fspath(out), "--ranks", chosen,
                 "--steps", str(steps), "--jitter", repr(float(jitter)), "--seed", str(seed)]
        words += ["--force"] * force
        return Result(run(*_asked(words, settings), "--json"))


def calibrate(cluster: Given, *, runs: Union[None, Rows] = None, collectives: Union[None, Rows] = None,
              job: Union[None, Given] = None, constants: Iterable[str] = (), leave_out: str = "hidden_size",
              out: Union[None, Path] = None, **settings: Any) -> Result:
    """Fits the constants of a cluster to measured steps (`runs`), collectives, or both; `out` gets the cluster file."""
    with contextlib.ExitStack() as files:
        words = ["calibrate", *_named(files, job=job, cluster=cluster),
                 *_tables(files, runs=runs, collectives=collectives), "--leave-out", leave_out]
        for name in [constants] if isinstance(constants, str) else constants:
            words += ["--constants", name]
        _asked(words, settings)
        if out is None:
            return run_for_result(run, words, files)
        # The file is written once: a run for the text, whenever that is, must not write over what came since.
        out_words = ["--out", os.fspath(out)]
        return run_for_result(lambda *asked: run(*asked, *(out_words if "--json" in asked else [])), words, files)


def diff(a: Path, b: Union[None, Path] = None, *, replayed: bool = False, strict: bool = False, rank_regex: str = "",
         threads: int = 0) -> Result:
    """What makes run `b` slower than run `a`; of one run with replayed=True, the replayed from the measured one."""
    words = ["diff", os.fspath(a)] + ([] if b is None else [os.fspath(b)]) + (["--replayed"] if replayed else [])
    words += read_words(strict, rank_regex, threads)
    return run_for_result(run, words, contextlib.ExitStack())


def report(job: Union[Job, Path], path: Path, **options: Any) -> str:
    """Writes the HTML report of a job or of traces; see Timeline.report. Returns its path."""
    return (job if isinstance(job, Job) else load(job)).report(path, **options)
