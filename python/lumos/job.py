"""A job and its replay: lumos.load() and what can be asked of it."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _lumos
from .files import job_path, settings_of, written_json
from .result import Record, Result
from .table import Table

Path = Union[str, "os.PathLike[str]"]


def load(*paths: Path, strict: bool = False, rank_regex: str = "", threads: int = 0, inter_stream: bool = True) -> Job:
    """Reads traces (files, folders of them, or one graph file) and links all ranks into one job.

    Files that cannot be read while others can are warned about and listed in `job.failures`. `inter_stream=False`
    leaves out dependencies between streams, as earlier tools do.
    """
    return Job(_lumos.load([os.fspath(path) for path in paths], strict, rank_regex, threads, inter_stream),
               (paths, dict(strict=strict, rank_regex=rank_regex, threads=threads, inter_stream=inter_stream)))


def _reload(paths: tuple, options: dict) -> Job:
    return load(*paths, **options)


def _texts(changes: Union[None, str, Iterable[str], Mapping[str, float]]) -> list[str]:
    """Values of an option that may be given several times: a text, a list of them, or a mapping name -> factor."""
    if changes is None:
        return []
    if isinstance(changes, str):
        return [changes]
    if isinstance(changes, Mapping):
        return [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in changes.items()]
    return list(changes)


class Job:
    """All ranks of a job, linked. Made by lumos.load()."""

    def __init__(self, job: _lumos.Job, origin: tuple) -> None:
        self._job = job
        self._origin = origin

    def __reduce__(self) -> tuple:
        # Other processes read the traces again: cheaper than sending graphs.
        return _reload, self._origin

    @property
    def ranks(self) -> list[int]:
        return self._job.ranks

    @property
    def files(self) -> list[str]:
        return self._job.files

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Files that could not be read, and why."""
        return self._job.failures

    def replay(self, steps: str = "", residuals: str = "drop") -> Timeline:
        """Simulates the recorded steps. `steps` ("4" or "4-6") chooses which of them results are read from;
        residuals="keep" keeps what the dependencies leave unexplained: the measured run, for editing."""
        if residuals not in ("drop", "keep"):
            raise _lumos.UsageError(f"residuals={residuals!r}: 'drop' or 'keep'")
        return Timeline(self._job.replay(steps, residuals == "keep"))

    def predict(self, changes: Union[None, Path, Mapping[str, Any]] = None, *, job: Union[None, Path, Mapping] = None,
                scale: Any = None, remove: Any = None, fuse: Any = None, drop_sync: Any = None, overlap: Any = None,
                bandwidth: Any = None, latency: Any = None, no_launch_overhead: bool = False, gpus_per_node: int = 0,
                jitter: Union[float, str] = 0, samples: int = 100, seed: int = 1, seeds: int = 8, plain: bool = False,
                **settings: Any) -> Result:
        """The step with something changed, as `lumos predict` has it.

        Parts of the graph: scale={"kernel:.*gemm.*": 0.5}, remove="op:aten::dropout", bandwidth={"inter": 2} ...;
        `changes` is a file of them or a mapping of the same names. Or another configuration: `job` (a file, the name
        of one that comes with Lumos, or a mapping of Megatron's argument names) and settings such as
        data_parallel_size=8.
        """
        if job is not None:
            with job_path(job) as path:
                return Result(*self._job.predict_job(path, settings_of(settings), seeds, plain))
        if settings:
            raise _lumos.UsageError(
                f"predict: {', '.join(settings)} changes a job; name the traced one with job=FILE or a mapping")
        asked = _lumos.Changes()
        asked.scales, asked.remove, asked.fuse = _texts(scale), _texts(remove), _texts(fuse)
        asked.drop_sync, asked.overlap = _texts(drop_sync), _texts(overlap)
        asked.bandwidth, asked.latency = _texts(bandwidth), _texts(latency)
        asked.no_launch_overhead, asked.gpus_per_node = no_launch_overhead, gpus_per_node
        if isinstance(changes, Mapping):
            with written_json(changes, "changes") as path:
                asked.file = path
                return Result(*self._job.predict(asked, str(jitter), samples, seed))
        asked.file = "" if changes is None else os.fspath(changes)
        return Result(*self._job.predict(asked, str(jitter), samples, seed))

    def gains(self) -> Result:
        """What would shorten the step most if it were faster."""
        return Result(*self._job.gains())

    def critical_path(self, rank: int = -1, step: int = -1, measured: bool = False) -> Result:
        """What a step waited for, in the replayed run or the recorded one."""
        return self.replay().critical_path(rank, step, measured)

    def inspect(self) -> Result:
        """What is in the traces, and what they lack."""
        return Result(*self._job.inspect())

    def link(self) -> Result:
        """How the ranks' clocks relate, and every group's transfers."""
        return Result(*self._job.link())

    def stragglers(self) -> Result:
        """Which ranks the others wait for, and what that costs."""
        return Result(*self._job.stragglers())

    def events(self, rank: Union[None, int, Iterable[int]] = None) -> Table:
        """The events of a rank, of some, or of all: rank, name, kind, lane, ts_ns, dur_ns, correlation (-1: none),
        external_id (0: none)."""
        ranks = [] if rank is None else [rank] if isinstance(rank, int) else list(rank)
        return Table(self._job.events(ranks))

    def report(self, path: Path, **options: Any) -> str:
        """Writes the HTML report; see Timeline.report."""
        return self.replay().report(path, **options)

    def save(self, path: Path) -> None:
        """Writes the linked job to a graph file, which load() reads without parsing anything again."""
        self._job.save(os.fspath(path))

    def __repr__(self) -> str:
        return f"<lumos.Job: {len(self.ranks)} ranks>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{rank}</td><td>{html.escape(file)}</td></tr>"
                       for rank, file in zip(self.ranks, self.files))
        return f"<table><tr><th>rank</th><th>trace</th></tr>{rows}</table>"


class Timeline:
    """A replayed job: every task with the time that the simulation gave it. Made by Job.replay()."""

    def __init__(self, timeline: _lumos.Timeline) -> None:
        self._timeline = timeline
        self._result: Union[None, Result] = None

    @property
    def result(self) -> Result:
        """All figures, as `lumos replay --json` has them."""
        if self._result is None:
            self._result = Result(*self._timeline.result())
        return self._result

    def breakdown(self) -> Record:
        """Where the step's time goes, measured and replayed, in ms: two records."""
        return self.result["breakdown"]

    def critical_path(self, rank: int = -1, step: int = -1, measured: bool = False) -> Result:
        """What a step waited for. Without `step` the chosen one of median length, without `rank` the lowest."""
        return Result(*self._timeline.critical_path(rank, step, measured))

    def tasks(self) -> Table:
        """Every task, measured and replayed, with what it waited for."""
        return Table(self._timeline.tasks())

    def collectives(self) -> Table:
        """Every communication, measured and replayed."""
        return Table(self._timeline.collectives())

    def steps(self) -> Table:
        """Every step, measured and replayed, those that are left out included."""
        return Table(self._timeline.steps())

    def to_chrome_trace(self, path: Path) -> list[str]:
        """Writes the replayed steps for Perfetto, a file per rank; returns the files."""
        return self._timeline.to_chrome_trace(os.fspath(path))

    def report(self, path: Path, *, rank: int = -1, step: int = -1, against: Union[None, Path, Result] = None,
               gains: bool = True) -> str:
        """Writes the HTML report and returns its path. `against` is another run's trace, or a prediction; gains=False
        leaves out what would gain most, which takes longest."""
        if isinstance(against, Result):
            with written_json(against, "prediction") as written:
                text = self._timeline.report(rank, step, written, gains)
        else:
            text = self._timeline.report(rank, step, "" if against is None else os.fspath(against), gains)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return os.fspath(path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.result, name)

    def __str__(self) -> str:
        return str(self.result)

    def __repr__(self) -> str:
        return "<lumos.Timeline>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()
