"""Files that commands read: from a path, the name of one that comes with Lumos, or a mapping that is written out."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Union

Path = Union[str, "os.PathLike[str]"]


def text_of(value: Any) -> str:
    """A setting's value as --set takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def settings_of(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}={text_of(value)}" for name, value in settings.items()]


def read_words(strict: bool, rank_regex: str, threads: int) -> list[str]:
    """How commands are told to read traces."""
    words = ["--strict"] if strict else []
    if rank_regex:
        words += ["--rank-regex", rank_regex]
    return words + (["--threads", str(threads)] if threads else [])


@contextlib.contextmanager
def written_json(value: Mapping[str, Any], name: str) -> Iterator[str]:
    """A file of that name holding `value`, as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="lumos-") as folder:
        path = os.path.join(folder, f"{name}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        yield path


@contextlib.contextmanager
def job_path(job: Union[Path, Mapping[str, Any]], name: str = "job") -> Iterator[str]:
    """The file that `job` means."""
    if isinstance(job, Mapping):
        with written_json(job, name) as path:
            yield path
    else:
        yield os.fspath(job)


@contextlib.contextmanager
def csv_path(table: Union[Path, Iterable[Mapping[str, Any]]], name: str) -> Iterator[str]:
    """The CSV file that `table` means: a path, a pandas.DataFrame, or records."""
    if isinstance(table, (str, os.PathLike)):
        yield os.fspath(table)
        return
    rows = table.to_dict("records") if hasattr(table, "to_dict") else [dict(row) for row in table]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with tempfile.TemporaryDirectory(prefix="lumos-") as folder:
        path = os.path.join(folder, f"{name}.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows({column: text_of(value) for column, value in row.items()} for row in rows)
        yield path
