"""One question asked of many things, by whatever workers there are."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union


def sweep(ask: Callable[..., Any], cases: Iterable[Mapping[str, Any]], *args: Any,
          executor: Union[None, concurrent.futures.Executor] = None) -> list[Any]:
    """[ask(*args, **case) for case in cases], in that order, on the workers of `executor`.

    Any concurrent.futures.Executor will do, so Dask's (client.get_executor()) and Ray's too; without one, threads of
    this process, which run side by side because calls do not hold the interpreter. Jobs sent to other processes read
    their traces again there.

        lumos.sweep(job.predict, [{"scale": {"comm:.*": f}} for f in (0.25, 0.5, 2.0)])
    """
    if executor is None:
        with concurrent.futures.ThreadPoolExecutor() as own:
            return sweep(ask, cases, *args, executor=own)
    futures = [executor.submit(ask, *args, **case) for case in cases]
    return [future.result() for future in futures]
