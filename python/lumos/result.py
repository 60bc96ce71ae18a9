"""Results: what `--json` of the command prints, as dictionaries whose members are attributes too."""

from __future__ import annotations

import contextlib
import html
import json
from collections.abc import Callable
from typing import Any, Union

from .table import Table


class Record(dict):
    """A dictionary whose members are attributes too: record.step_ms is record["step_ms"]."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r}; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


class Result(Record):
    """The answer of a command: equal to its JSON; printed, it is what the command prints."""

    def __init__(self, text_of_json: str, text: Union[str, Callable[[], str]] = "") -> None:
        super().__init__(json.loads(text_of_json, object_hook=Record))
        self.__dict__["_text"] = text

    @property
    def text(self) -> str:
        """What the command prints; where that takes another run, it is made when first asked for, from the
        same files: read it while they are there."""
        text = self.__dict__["_text"]
        if callable(text):
            text = text()
        self.__dict__["_text"] = text or json.dumps(self, indent=2)
        return self.__dict__["_text"]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.get('schema', 'lumos result')}: {', '.join(name for name in self if name != 'schema')}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"

    def __reduce__(self) -> tuple:
        return type(self), (json.dumps(self), self.text)

    def table(self, name: str) -> Table:
        """One of the result's lists of records as a table, with members of members side by side."""
        return Table.from_records(self[name])


def run_for_result(run: Callable[..., str], words: list[str], files: contextlib.ExitStack) -> Result:
    """The answer of `run(*words)`. Its text, which takes a second run, waits until somebody reads it; so long it keeps
    what `files` holds open."""
    text_of_json = run(*words, "--json")
    kept = files.pop_all()

    def text() -> str:
        with kept:
            return run(*words)

    return Result(text_of_json, text)


class SearchResult(Result):
    """The answer of a search."""

    @property
    def best(self) -> Record:
        """The settings and figures of the shortest step."""
        return self["configurations"][0]["result"]

    def to_table(self) -> Table:
        """A row per configuration that is listed, shortest step first."""
        return self.table("configurations")

    def to_arrow(self) -> Any:
        return self.to_table().to_arrow()

    def to_pandas(self) -> Any:
        return self.to_table().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()
