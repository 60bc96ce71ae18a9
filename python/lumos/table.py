"""Tables: columns in the library's own memory, which pandas, Polars, DuckDB and whoever else reads Arrow see without
a copy."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from ._lumos import Columns

# What a notebook shows of a long table.
_ROWS_SHOWN = 10


def _flat(record: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif not isinstance(value, list):
            yield name, value


class Table:
    """Rows and named columns. Missing numbers are -1 where the columns are views, null elsewhere."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> Table:
        """A row per record; members of members are columns of their own, lists are left out."""
        rows = [dict(_flat(record)) for record in records]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return cls(Columns.of_lists([(name, [row.get(name) for row in rows]) for name in names]))

    @property
    def column_names(self) -> list[str]:
        return self._columns.column_names

    def __len__(self) -> int:
        return len(self._columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._columns.__arrow_c_stream__(requested_schema)

    def address(self, name: str, batch: int = 0) -> int:
        """Where the values of a column begin in memory."""
        return self._columns.address(name, batch)

    def to_arrow(self) -> Any:
        """A pyarrow.Table over the same memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Numbers of a table in one batch (one rank's events, all tasks) are not copied, and so
        cannot be written to; texts are categories."""
        # Without blocks of several columns, which pandas could only make by copying.
        return self.to_arrow().to_pandas(split_blocks=True)

    def __repr__(self) -> str:
        return f"<lumos.Table: {len(self)} rows of {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        try:
            shown = self.to_arrow().slice(0, _ROWS_SHOWN).to_pandas()
        except ImportError:
            return f"<p>{html.escape(repr(self))}</p>"
        return f"{shown.to_html(index=False)}<p>{len(self)} rows</p>"
