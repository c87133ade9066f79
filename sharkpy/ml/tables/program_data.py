"""Data of any common kind as rows that a plan can read: RDDs, Arrow, pandas, Polars, NumPy, lists of rows.

`ctx.sql` reads such data under a registered name, or as a variable of its caller.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import Cancellation, current_cancellation
from sharkpy.base.errors import DataError, ParameterError
from sharkpy.base.records import dataclass
from sharkpy.execution.stages.query_run import new_group
from sharkpy.execution.tasks.error_conversion import as_shark_error, raised_by
from sharkpy.ml.tables.declared_columns import DeclaredColumns
from sharkpy.ml.tables.fit_columns import AN_RDD, schema_of
from sharkpy.ml.tables.python_rows import PythonRows, inferred_schema
from sharkpy.ml.tables.tabular import KINDS, Tabular, TabularRows, tabular
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.udf.user.python_code import pickled, unpickled
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.plan.arrow_data import GivenRows

SAMPLE_ROWS = 1_000
"""Number of rows sampled from an RDD's first partition with rows, to find columns that are not declared."""


def given_rows(session: EngineSession, data: Any, declared: DeclaredColumns | None) -> GivenRows:
    """Return `data` as rows of a plan. Raise ParameterError if its kind is unknown."""
    if _is_rdd(data):
        return _of_rdd(session, data, declared)
    if (table := tabular(data)) is not None:
        schema = schema_of(table.schema, declared, table.label)
        return GivenRows(table.label, schema, TabularRows(schema, table.label), here=(table,), num_rows=table.num_rows)
    if isinstance(data, (list, tuple, range, Iterator)):
        return _of_rows(list(data), declared)
    raise ParameterError(f"{type(data).__name__} cannot be saved as a table", hint=f"give {KINDS}")


def _is_rdd(data: object) -> bool:
    return any(f"{kind.__module__}.{kind.__name__}" == "pyspark.core.rdd.RDD" for kind in type(data).__mro__)


# RDDs


def _of_rdd(session: EngineSession, rdd: Any, declared: DeclaredColumns | None) -> GivenRows:
    jobs = session.engine.jobs
    if rdd.context is not jobs.context:
        raise ParameterError("the RDD is of another SparkContext than the session's")
    if not rdd.getNumPartitions():
        return _of_rows([], declared)
    if declared is None and (features := getattr(rdd, "feature_names", None)):
        declared = DeclaredColumns((*features, *([rdd.label] if rdd.label else ())))
    schema = None if declared is None else declared.schema
    if schema is None:
        found = _sampled(session, rdd, declared)
        if found is None:
            return _of_rows([], declared)
        schema = found
    return GivenRows(AN_RDD, schema, MixedRows(schema, AN_RDD), rdd)


def _sampled(session: EngineSession, rdd: Any, declared: DeclaredColumns | None) -> Schema | None:
    """Return the columns of an RDD, found by a separate job in the first partition with rows, or None without rows."""
    jobs, group = session.engine.jobs, new_group()
    statement = current_cancellation() or Cancellation()
    forget = statement.on_cancel(lambda: jobs.cancel(group))
    found: list[Any] = []
    try:
        with jobs.job_group(group, "look at the rows of an RDD", session.pool):
            frames, start, count = jobs.given_rdd(rdd, SampleRows(declared)), 0, 1
            while not found and start < rdd.getNumPartitions():
                found = jobs.collect(frames, range(start, min(start + count, rdd.getNumPartitions())))
                start, count = start + count, 4 * count
    except Exception as error:  # noqa: BLE001 - Py4J raises whatever Spark or the connection met
        statement.check()
        raise jobs.failure(error) from None
    finally:
        forget()
    schema = unpickled(found[0]) if found else None
    if isinstance(schema, Exception):
        raise schema
    return schema


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Task that yields, pickled, the Schema of a partition's first rows, or its error, which Spark's error
    would hide.
    """

    declared: DeclaredColumns | None

    def __call__(self, _: int, rows: Iterable[Any]) -> Iterator[bytes]:
        try:
            sample = list(itertools.islice(raised_by(AN_RDD, rows), SAMPLE_ROWS))
            if sample:
                yield pickled(_schema_of_rows(sample, self.declared, AN_RDD, is_sample=True))
        except Exception as error:  # noqa: BLE001 - whatever it was, the driver must learn of it
            yield pickled(as_shark_error(error))


@dataclass(frozen=True, slots=True)
class MixedRows:
    """RowReader of elements that are rows, or pieces of tables with many rows each."""

    schema: Schema
    label: str

    def __call__(self, rows: Iterable[object], number: int) -> Iterator[pa.RecordBatch]:
        stream = iter(rows)
        if not (start := list(itertools.islice(stream, 1))):
            return iter(())
        is_table = _is_piece(start[0])
        reader: Any = TabularRows(self.schema, self.label) if is_table else PythonRows(self.schema, self.label)
        elements: Iterable[Any] = itertools.chain(start, stream)
        return reader(map(_piece, elements) if is_table else elements, number)  # type: ignore[no-any-return]


def _is_piece(element: object) -> bool:
    """True if an element of an RDD is a table: Arrow, a data frame, a matrix, a structured array."""
    if isinstance(element, np.ndarray):
        return element.ndim == 2 or element.dtype.names is not None
    return not isinstance(element, (str, bytes)) and tabular(element) is not None


def _piece(element: Any) -> Tabular:
    found = tabular(element)
    if found is None:
        raise DataError(f"an RDD of tables has a {type(element).__name__}, too")
    return found


# Rows


def _of_rows(rows: Sequence[Any], declared: DeclaredColumns | None) -> GivenRows:
    label = "a list of rows"
    if declared is not None and declared.schema is not None:
        schema = declared.schema
    elif not rows:
        raise DataError(
            "there are no rows to tell the columns from",
            hint="declare them: schema=…, or returns=… of a table function",
        )
    else:
        schema = _schema_of_rows(rows, declared, label, is_sample=False)
    return GivenRows(label, schema, MixedRows(schema, label), here=rows, num_rows=len(rows))


def _schema_of_rows(rows: Sequence[Any], declared: DeclaredColumns | None, label: str, *, is_sample: bool) -> Schema:
    if _is_piece(rows[0]):
        piece = _piece(rows[0])
        return schema_of(piece.schema, declared, label)
    return inferred_schema(rows, declared, label, is_sample=is_sample)


_TABLE_CLASSES = ("DataFrame", "LazyFrame", "Table", "RecordBatch", "RecordBatchReader", "Dataset", "DuckDBPyRelation")
_TABLE_LIBRARIES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")


def rows_of(session: EngineSession, data: object) -> GivenRows:
    """Return registered data as rows of a plan. Raise ParameterError or DataError if it cannot be read as a table."""
    if data is None or hasattr(data, "plan"):
        hint = "save_as_table makes a table of a TableRDD"
        raise ParameterError(f"{type(data).__name__} cannot be registered", hint=hint)
    return given_rows(session, data, None)


def rows_of_variable(session: EngineSession, value: object) -> GivenRows | None:
    """Return the value of a variable as rows of a plan, or None if it is not a table of the known libraries. Lists and
    arrays do not count: a misspelt name could find one.
    """
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    is_table = any(library in _TABLE_LIBRARIES and kind in _TABLE_CLASSES for library, kind in kinds)
    return given_rows(session, value, None) if is_table else None
