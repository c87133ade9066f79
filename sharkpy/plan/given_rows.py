"""Rows that a Python program hands over, as a relation of a plan: an RDD's, or those of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

RowReader = Callable[[Iterable[object], int], Iterator["pa.RecordBatch"]]
"""Arrow batches with the columns of `GivenRows.schema`, in order and in its Arrow types, of the rows of one part and
the part's number. Picklable; its errors are SharkErrors."""


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """1. Parts are those of `rdd`, a pyspark RDD whose tasks then read them, or one, `here`, in this process.
    2. `label` is what EXPLAIN and errors say of them: `an RDD`, `a pandas DataFrame`.
    """

    label: str
    schema: Schema
    read: RowReader = field(repr=False)
    rdd: Any = field(default=None, repr=False)
    here: Iterable[object] = field(default=(), repr=False)
    num_rows: int | None = None
    """Number of rows; None: not known."""

    @property
    def is_here(self) -> bool:
        """Whether the rows lie in this process: it writes them, wherever queries are placed."""
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
