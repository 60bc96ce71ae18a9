"""Commands that need no loaded job: estimates, searches, comparisons, and any command by its words."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from typing import Any, Union

from . import _lumos
from .files import job_path, settings_of
from .job import Job, load
from .result import Result, SearchResult

Path = Union[str, "os.PathLike[str]"]

# A search watches ctrl-C for the whole process and uses all processors: one at a time.
_one_search = threading.Lock()


def run(*words: str) -> str:
    """What `lumos WORDS...` prints."""
    return _lumos.run_command([os.fspath(word) for word in words])


def _asked(words: list[str], settings: Mapping[str, Any]) -> list[str]:
    for setting in settings_of(settings):
        words += ["--set", setting]
    return words


def estimate(job: Union[Path, Mapping[str, Any]], cluster: Union[Path, Mapping[str, Any]], **settings: Any) -> Result:
    """Step time, FLOPs and memory of a job without traces.

    `job` and `cluster` are files, names of those that come with Lumos, or mappings; settings change single fields of
    either. A field of the cluster whose name has a dot in it goes into a mapping: **{"gpu.memory_gib": 40}.
    """
    with contextlib.ExitStack() as files:
        words = _asked(["estimate", "--job", files.enter_context(job_path(job)),
                        "--cluster", files.enter_context(job_path(cluster, "cluster"))], settings)
        return Result(run(*words, "--json"), run(*words))


def search(job: Union[Path, Mapping[str, Any]], cluster: Union[Path, Mapping[str, Any]], *, gpus: int = 0,
           space: Union[None, Path, Mapping[str, Any]] = None, top: int = 10, tokens: float = 0,
           results: Union[None, Path] = None, exhaustive: bool = False, threads: int = 0,
           **settings: Any) -> SearchResult:
    """The fastest configurations of a job on so many GPUs. `results` is a file that a later search goes on from."""
    with contextlib.ExitStack() as files, _one_search:
        words = ["search", "--job", files.enter_context(job_path(job)),
                 "--cluster", files.enter_context(job_path(cluster, "cluster")),
                 "--gpus", str(gpus), "--top", str(top), "--tokens", repr(float(tokens)), "--threads", str(threads)]
        if space is not None:
            words += ["--space", files.enter_context(job_path(space, "space"))]
        if results is not None:
            words += ["--results", os.fspath(results)]
        if exhaustive:
            words.append("--exhaustive")
        return SearchResult(run(*_asked(words, settings), "--json"))


def diff(a: Path, b: Union[None, Path] = None, *, replayed: bool = False) -> Result:
    """What makes run `b` slower than run `a`; of one run with replayed=True, the replayed from the measured one."""
    words = ["diff", os.fspath(a)] + ([] if b is None else [os.fspath(b)]) + (["--replayed"] if replayed else [])
    return Result(run(*words, "--json"), run(*words))


def report(job: Union[Job, Path], path: Path, **options: Any) -> str:
    """Writes the HTML report of a job or of traces; see Timeline.report. Returns its path."""
    return (job if isinstance(job, Job) else load(job)).report(path, **options)
