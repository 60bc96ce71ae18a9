"""Sweeps on the workers of others: Dask's executor, and the one over Ray that docs/python.md shows."""

import os
import re

import lumos
import pytest
from conftest import SOURCE

CASES = [{"scale": {"host": factor}} for factor in (0.5, 1.0, 2.0)]


def module(name):
    """The module; a failure where it must not be missing, a word on a user's machine."""
    if name in os.environ.get("LUMOS_NEED_WORKERS", "").split():
        return __import__(name)
    return pytest.importorskip(name, reason=f"no {name} here: pip install {name} to sweep on its workers")


def check_sweep(demo, executor):
    job = lumos.load(demo)
    found = lumos.sweep(job.predict, CASES, executor=executor)
    assert found == [job.predict(**case) for case in CASES]
    # A plain function of the package, too: each worker estimates on its own.
    layers = [{"num_layers": layers} for layers in (24, 48)]
    sizes = lumos.sweep(lumos.estimate, layers, "gpt3-15b", "dgx-h100", executor=executor)
    assert sizes[0].estimate.step_ms < sizes[1].estimate.step_ms
    with pytest.raises(lumos.UsageError, match="no_such_field"):
        lumos.sweep(lumos.estimate, [{"no_such_field": 1}], "gpt3-15b", "dgx-h100", executor=executor)


def test_sweeps_run_on_dask(demo):
    distributed = module("distributed")
    with distributed.Client(processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        check_sweep(demo, client.get_executor())
        workers = client.run(lambda: __import__("sys").modules.get("lumos._lumos") is not None)
        assert any(workers.values()), "the work was done elsewhere"


def test_sweeps_run_on_ray(demo):
    ray = module("ray")
    text = (SOURCE / "docs" / "python.md").read_text()
    code = re.search(r"```python\n(import concurrent.futures, ray\n.*?)```", text, re.DOTALL).group(1)
    shown = {}
    exec(compile(code, "docs/python.md", "exec"), shown)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        check_sweep(demo, shown["RayExecutor"]())
    finally:
        ray.shutdown()
