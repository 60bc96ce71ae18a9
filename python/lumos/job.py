"""A job and its replay: lumos.load() and what can be asked of it."""

from __future__ import annotations

import contextlib
import html
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _lumos
from .files import job_path, read_words, settings_of, text_of, written_json
from .result import Record, Result, run_for_result
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
        # repr keeps every digit of a float; numpy's own repr is not a number, so its floats become Python's first.
        return [f"{name}={float(value)!r}" if isinstance(value, float) else f"{name}={value}"
                for name, value in changes.items()]
    return list(changes)


def _ignored(ignore: Union[str, Iterable[str]]) -> str:
    return ignore if isinstance(ignore, str) else ",".join(ignore)


def _refuse_beside_a_job(given: Mapping[str, Any]) -> None:
    changed = [name for name, value in given.items() if value is not None]
    if changed:
        raise _lumos.UsageError(
            f"predict: {', '.join(changed)} and job answer different questions; give one of them")


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
                scale: Any = None, scale_batch: Union[None, int, float] = None, batch_size: int = 0,
                cluster: Union[None, Path, Mapping] = None, from_cluster: Union[None, Path, Mapping] = None,
                remove: Any = None, fuse: Any = None, drop_sync: Any = None, overlap: Any = None,
                bandwidth: Any = None, latency: Any = None, no_launch_overhead: bool = False,
                kernel_times: Union[None, Path] = None, gpus_per_node: int = 0, jitter: Union[float, str] = 0,
                samples: int = 100, seed: int = 1, seeds: int = 8, plain: bool = False,
                ignore: Union[str, Iterable[str]] = "", out: Union[None, Path] = None, **settings: Any) -> Result:
        """The step with something changed, as `lumos predict` has it.

        Parts of the graph: scale={"kernel:.*gemm.*": 0.5}, remove="op:aten::dropout", bandwidth={"inter": 2},
        scale_batch=2, cluster="dgx-h100" ...; `changes` is a file of them or a mapping of the same names. Times vary
        by chance with jitter=0.05 or jitter="fitted". Or another configuration: `job` (a file, the name of one that
        comes with Lumos, or a mapping of Megatron's argument names) and settings such as data_parallel_size=8;
        `cluster` then tells the network where the traces do not show it. `out` gets the predicted step for Perfetto.
        """
        given = {"scale": scale, "scale_batch": scale_batch, "remove": remove, "fuse": fuse, "drop_sync": drop_sync,
                 "overlap": overlap, "bandwidth": bandwidth, "latency": latency, "kernel_times": kernel_times,
                 "changes": changes, "no_launch_overhead": no_launch_overhead or None, "jitter": jitter or None}
        out_path = "" if out is None else os.fspath(out)
        with contextlib.ExitStack() as files:
            other = "" if cluster is None else files.enter_context(job_path(cluster, "cluster"))
            traced = "" if from_cluster is None else files.enter_context(job_path(from_cluster, "from_cluster"))
            if job is not None:
                _refuse_beside_a_job(given)
                change = _lumos.JobChange()
                change.job, change.settings = files.enter_context(job_path(job)), settings_of(settings)
                change.seeds, change.plain, change.out = seeds, plain, out_path
                change.ignore, change.cluster = _ignored(ignore), traced or other
                return Result(*self._job.predict_job(change))
            if settings:
                raise _lumos.UsageError(
                    f"predict: {', '.join(settings)} changes a job; name the traced one with job=FILE or a mapping")
            if ignore:
                raise _lumos.UsageError("predict: ignore goes with job")
            asked = _lumos.Changes()
            asked.scales, asked.remove, asked.fuse = _texts(scale), _texts(remove), _texts(fuse)
            asked.drop_sync, asked.overlap = _texts(drop_sync), _texts(overlap)
            asked.bandwidth, asked.latency = _texts(bandwidth), _texts(latency)
            asked.scale_batch = [] if scale_batch is None else [text_of(scale_batch)]
            asked.kernel_times = [] if kernel_times is None else [os.fspath(kernel_times)]
            asked.cluster, asked.from_cluster, asked.batch_size = [other] if other else [], traced, batch_size
            asked.no_launch_overhead, asked.gpus_per_node = no_launch_overhead, gpus_per_node
            if isinstance(changes, Mapping):
                asked.file = files.enter_context(written_json(changes, "changes"))
            elif changes is not None:
                asked.file = os.fspath(changes)
            return Result(*self._job.predict(asked, str(jitter), samples, seed, out_path))

    def gains(self, *, all: bool = False) -> Result:
        """What would shorten the step most if it were faster. all=True prints every row; the result has them anyway."""
        return Result(*self._job.gains(all))

    def validate(self, prediction: Union[Path, Mapping[str, Any]], *, all: bool = False) -> Result:
        """How far a prediction or an estimate (a result, or a file of one) was off from this run, and where. all=True
        prints every line; the result has them anyway."""
        if isinstance(prediction, Mapping):
            return Result(*self._job.validate(json.dumps(prediction), "the prediction", all))
        label = os.fspath(prediction)
        try:
            with open(label, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise _lumos.UnreadableError(f"{label}: {error.strerror}") from error
        return Result(*self._job.validate(text, label, all))

    def critical_path(self, rank: int = -1, step: int = -1, measured: bool = False, *,
                      overlay: Union[None, Path] = None) -> Result:
        """What a step waited for, in the replayed run or the recorded one; see Timeline.critical_path."""
        return self.replay().critical_path(rank, step, measured, overlay=overlay)

    def inspect(self, *, dependencies: bool = False, unexplained: bool = False, program: bool = False,
                job: Union[None, Path, Mapping] = None, ignore: Union[str, Iterable[str]] = "") -> Result:
        """What is in the traces, and what they lack. Or instead: what each stream waits for on others, the tasks whose
        start nothing explains, or the recovered program, with what `job` tells; the traces are read again for these."""
        if not (dependencies or unexplained or program or job is not None or ignore):
            return Result(*self._job.inspect())
        with contextlib.ExitStack() as files:
            words = [f"--{name}" for name, on in (("dependencies", dependencies), ("unexplained", unexplained),
                                                  ("program", program)) if on]
            if job is not None:
                words += ["--job", files.enter_context(job_path(job))]
            if ignore:
                words += ["--ignore", _ignored(ignore)]
            return run_for_result(self._run, ["inspect", *words], files)

    def convert(self, out: Union[None, Path] = None, *, chakra: Union[None, Path] = None, replayed: bool = False,
                anonymize: bool = False) -> list[str]:
        """Writes what Lumos reads of the traces: Chrome JSON, Perfetto or a graph file by the end of `out`, Chakra
        traces into a folder. Returns the files."""
        words = [] if out is None else ["--out", os.fspath(out)]
        if chakra is not None:
            words += ["--chakra", os.fspath(chakra)]
        words += ["--replayed"] * replayed + ["--anonymize"] * anonymize
        return self._run("convert", *words).splitlines()

    def export(self, csv: Path) -> list[str]:
        """Writes steps, breakdown, collectives and tasks as CSV into a folder. Returns the files."""
        return self._run("export", "--csv", os.fspath(csv)).splitlines()

    def _run(self, command: str, *words: str) -> str:
        """What a command prints of the same traces, which it reads again."""
        paths, options = self._origin
        read = read_words(options["strict"], options["rank_regex"], options["threads"])
        return _lumos.run_command([command, *map(os.fspath, paths), *read, *words])

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

    def critical_path(self, rank: int = -1, step: int = -1, measured: bool = False, *,
                      overlay: Union[None, Path] = None) -> Result:
        """What a step waited for. Without `step` the chosen one of median length, without `rank` the lowest. `overlay`
        gets the measured trace with the path marked, for Perfetto."""
        return Result(*self._timeline.critical_path(rank, step, measured,
                                                    "" if overlay is None else os.fspath(overlay)))

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
