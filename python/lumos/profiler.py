"""Collects traces as Lumos wants them: a context manager around torch.profiler, and the job file beside its traces.

    with lumos.profiler.profile("traces/", job=args) as profiler:
        for batch in loader:
            train_step(batch)
            profiler.step()

Every rank writes traces/rankN.json.gz; rank 0 writes traces/job.json. PyTorch is imported when it is used.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any, Union

from . import _lumos
from .result import Record

Path = Union[str, "os.PathLike[str]"]

# Steps before profiling: the first ones compile, allocate and warm caches up, the others tell what a step takes
# without the profiler. While it warms up, CUPTI's own start-up is left out of the trace.
WAIT_STEPS = 5
WARMUP_STEPS = 2
ACTIVE_STEPS = 3

# torchtitan's names of what Lumos has Megatron's names for: (section, name) -> name.
_TORCHTITAN = {
    ("training", "seq_len"): "seq_length",
    ("training", "local_batch_size"): "micro_batch_size",
    ("training", "batch_size"): "micro_batch_size",
    ("training", "global_batch_size"): "global_batch_size",
    ("parallelism", "tensor_parallel_degree"): "tensor_model_parallel_size",
    ("parallelism", "pipeline_parallel_degree"): "pipeline_model_parallel_size",
    ("parallelism", "context_parallel_degree"): "context_parallel_size",
    ("parallelism", "pipeline_parallel_microbatch_size"): "micro_batch_size",
    ("model", "n_layers"): "num_layers",
    ("model", "dim"): "hidden_size",
    ("model", "n_heads"): "num_attention_heads",
    ("model", "n_kv_heads"): "num_query_groups",
    ("model", "vocab_size"): "vocab_size",
}
# What a setting can be; Megatron keeps much else among its arguments.
_SCALARS = (bool, int, float, str)
_DTYPES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}


def _members(thing: Any) -> Mapping[str, Any]:
    if isinstance(thing, Mapping):
        return thing
    return getattr(thing, "__dict__", {})


def _from_torchtitan(config: Mapping[str, Any]) -> dict[str, Any]:
    job: dict[str, Any] = {}
    for (section, name), ours in _TORCHTITAN.items():
        value = _members(config.get(section)).get(name)
        # torchtitan writes -1 for "as it comes out".
        if isinstance(value, int) and value > 0:
            job[ours] = value
    return job


def job_settings(source: Any = None, **settings: Any) -> dict[str, Any]:
    """A job file's settings from Megatron's arguments (a namespace or a mapping of their names) or torchtitan's
    config (an object or a mapping with sections), and keyword arguments on top. What Lumos does not know is left out
    of the first two; of the keyword arguments it is an error."""
    known = set(_lumos.job_fields())
    unknown = sorted(set(settings) - known)
    if unknown:
        raise _lumos.UsageError(f"{', '.join(unknown)}: no setting of a job")
    given = _members(source)
    if "training" in given or "parallelism" in given:
        found = _from_torchtitan(given)
    else:
        found = {name: value for name, value in given.items() if name in known and isinstance(value, _SCALARS)}
        # Megatron holds PyTorch's type here, which its bf16 and fp16 switches chose.
        dtype = _DTYPES.get(str(given.get("params_dtype")))
        if dtype:
            found["params_dtype"] = dtype
    return {**found, **settings}


def _environment() -> tuple[int, int]:
    """Rank and world size: of torch.distributed where it runs, else of the launcher."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def _experimental_config() -> Any:
    """Asks for rows that tell which event a wait waits for, where this PyTorch has them."""
    try:
        from torch._C._profiler import _ExperimentalConfig
    except ImportError:
        return None
    known = _ExperimentalConfig.__init__.__doc__ or ""
    return _ExperimentalConfig(enable_cuda_sync_events=True) if "enable_cuda_sync_events" in known else None


class profile:  # noqa: N801 - named as torch.profiler.profile
    """Profiles `steps` steps of a training loop after `wait` and `warmup` others; call step() after each.

    `job` and `settings` fill the job file; see job_settings(). When the trace is written, `cost` has what profiling
    took, and rank 0 says so on stderr unless quiet.
    """

    def __init__(self, folder: Path, job: Any = None, *, steps: int = ACTIVE_STEPS, wait: int = WAIT_STEPS,
                 warmup: int = WARMUP_STEPS, record_shapes: bool = True, quiet: bool = False, **settings: Any) -> None:
        if min(steps, warmup) < 1 or wait < 0:
            raise _lumos.UsageError("profile: steps and warmup must be 1 or more, wait 0 or more")
        self.folder = os.fspath(folder)
        self.wait, self.warmup, self.steps = wait, warmup, steps
        self.cost: Union[None, Record] = None
        self._record_shapes, self._quiet = record_shapes, quiet
        self._job = job_settings(job, **settings)
        self._step_s: list[float] = []
        self._profiler: Any = None

    def __enter__(self) -> profile:
        from torch import profiler

        self.rank, self.world_size = _environment()
        os.makedirs(self.folder, exist_ok=True)
        self.path = os.path.join(self.folder, f"rank{self.rank}.json.gz")
        if self.rank == 0:
            self._write_job()
        options: dict[str, Any] = {}
        config = _experimental_config()
        if config is not None:
            options["experimental_config"] = config
        # CPU and whatever device this PyTorch can trace. Python frames are not needed, and would be most of the file.
        self._profiler = profiler.profile(
            activities=list(profiler.supported_activities()), record_shapes=self._record_shapes, with_stack=False,
            schedule=profiler.schedule(wait=self.wait, warmup=self.warmup, active=self.steps, repeat=1),
            on_trace_ready=self._write, **options)
        self._profiler.__enter__()
        self._last = time.perf_counter()
        return self

    def step(self) -> None:
        """Ends a step of the loop."""
        now = time.perf_counter()
        self._step_s.append(now - self._last)
        self._profiler.step()
        # What starting, stopping and writing take belongs to no step.
        self._last = time.perf_counter()

    def __exit__(self, *why: Any) -> None:
        self._profiler.__exit__(*why)
        if self.cost is None and why[0] is None and not self._quiet:
            needed = self.wait + self.warmup + self.steps
            print(f"lumos: {len(self._step_s)} steps were not enough for a trace; it takes {needed}", file=sys.stderr)

    def _write_job(self) -> None:
        job = {"world_size": self.world_size, **self._job}
        with open(os.path.join(self.folder, "job.json"), "w", encoding="utf-8") as file:
            json.dump(job, file, indent=2)
            file.write("\n")

    def _write(self, profiler: Any) -> None:
        begin = time.perf_counter()
        # Beside its name first: who looks into the folder meanwhile sees no half file.
        partial = os.path.join(self.folder, f".rank{self.rank}.part.json.gz")
        profiler.export_chrome_trace(partial)
        os.replace(partial, self.path)
        self.cost = self._cost(time.perf_counter() - begin)
        if self.rank == 0 and not self._quiet:
            print(f"lumos: {_cost_text(self.path, self.cost)}", file=sys.stderr)

    def _cost(self, write_s: float) -> Record:
        first = self.wait + self.warmup
        # The very first step does what no later one does.
        plain = self._step_s[1:self.wait]
        profiled = self._step_s[first:first + self.steps]
        plain_ms = statistics.median(plain) * 1e3 if plain else None
        profiled_ms = statistics.median(profiled) * 1e3 if profiled else None
        percent = (profiled_ms / plain_ms - 1) * 100 if plain_ms and profiled_ms else None
        return Record(step_ms=plain_ms, profiled_step_ms=profiled_ms, step_pct=percent, write_s=write_s,
                      file_bytes=os.path.getsize(self.path))


def _cost_text(path: str, cost: Record) -> str:
    size = f"{path}, {cost.file_bytes / 1e6:.1f} MB, written in {cost.write_s:.1f} s"
    if cost.step_pct is None:
        return size
    return f"{size}; a step took {cost.profiled_step_ms:.1f} ms under the profiler, {cost.step_ms:.1f} ms without " \
           f"({cost.step_pct:+.0f} %)"
