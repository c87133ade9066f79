"""Rows that a Python program provides as a relation of a plan: from an RDD, or from this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

RowReader = Callable[[Iterable[object], int], Iterator["pa.RecordBatch"]]
"""Reads the rows of one part, with the part's number, as Arrow batches. Their columns have the order and Arrow types of
`GivenRows.schema`. Picklable. Errors are SharkErrors.
"""


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Rows from a Python program.

    1. Parts are the partitions of `rdd`, a pyspark RDD whose tasks read them, or a single part `here` in this process.
    2. `label` names the rows in EXPLAIN and errors: `an RDD`, `a pandas DataFrame`.
    """

    label: str
    schema: Schema
    read: RowReader = field(repr=False)
    rdd: Any = field(default=None, repr=False)
    here: Iterable[object] = field(default=(), repr=False)
    num_rows: int | None = None
    """Number of rows, or None if unknown."""

    @property
    def is_here(self) -> bool:
        """Whether the rows are in this process, which then writes them wherever queries are placed."""
        return self.rdd is None

    @property
    def num_parts(self) -> int:
        return 1 if self.rdd is None else int(self.rdd.getNumPartitions())


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """`RowReader` of Arrow tables with the columns of the schema."""

    def __call__(self, tables: Iterable[object], _number: int) -> Iterator[pa.RecordBatch]:
        for table in tables:
            yield from cast("pa.Table", table).to_batches()
