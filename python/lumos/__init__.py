"""Replays PyTorch profiler traces of training jobs and answers what-if questions; docs/python.md tells how.

    job = lumos.load("traces/")
    timeline = job.replay()
    print(timeline)
    print(job.predict(scale={"comm:.*": 0.5}))
"""

from . import profiler
from ._lumos import Interrupted, LumosError, UnreadableError, UsageError, __version__
from .commands import calibrate, diff, estimate, report, run, search, synth
from .job import Job, Timeline, load
from .result import Record, Result, SearchResult
from .sweep import sweep
from .table import Table

__all__ = [
    "Interrupted", "Job", "LumosError", "Record", "Result", "SearchResult", "Table", "Timeline", "UnreadableError",
    "UsageError", "__version__", "calibrate", "diff", "estimate", "load", "profiler", "report", "run", "search", "sweep",
    "synth",
]
