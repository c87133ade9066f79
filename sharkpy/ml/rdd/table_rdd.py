"""TableRDD: rows of a query as an RDD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.core.rdd import Partitioner

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.rdd.query_rdd import FusedRDD, SourceBase
from sharkpy.ml.rdd.query_source import QuerySource
from sharkpy.ml.rdd.rows import BatchFunction, EachBatch, KeyedRowFunction, Row, RowFunction, named, num_rows, text_of
from sharkpy.ml.rdd.table_query import Change, TableQuery
from sharkpy.plan.commands import Explain
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Field, Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.features.feature_rdd import FeatureRDD


class TableRDD(FusedRDD):
    """Rows of a query as an RDD of `Row`s: tuples with names and Hive types.

    1. The query's last stage and the functions of `map`, `filter`, … run in one process of a task, a row at a time.
       Names and types are checked at once; nothing runs before the first action (see QueryRDD). Shuffling methods of
       pyspark (`reduceByKey`, `sortBy`) may run the query's map stages when they are called.
    2. Each action runs the last stage again, over the snapshot of the tables from the first action. The rows are the
       same each time, except for functions with new values each time. `cache` stores the rows as blocks of the memory
       store.
    3. `map_batches` and `features` read columns, without a Python object per value.
    """

    def __init__(self, session: EngineSession, plan: LogicalPlan | TableQuery) -> None:
        """Create the RDD of a bound plan; `ctx.sql2rdd` creates one of a text."""
        query = plan if isinstance(plan, TableQuery) else TableQuery(session, plan)
        source = QuerySource(query)
        self._begin(session, (source,))
        self._query = query
        self.schema = Schema(tuple(Field(column.name, column.dtype) for column in query.plan.output))
        """Names and Hive types of the columns."""
        self.func = RowFunction(source, self.schema)
        self.base = SourceBase(source)
        self.preservesPartitioning = False
        self.is_barrier = False
        self._follow(lambda: None)

    @classmethod
    def of_text(cls, session: EngineSession, text: str) -> TableRDD:
        """Return the TableRDD of a query in HiveQL. Errors are raised as by `ctx.sql`."""
        with session.working(text):
            bound = bind_text(session, text)
        if not isinstance(bound, LogicalPlan):
            raise BindError("sql2rdd takes a query", hint="run other statements by ctx.sql", sqlstate="42601")
        return cls(session, bound)

    @property
    def plan(self) -> LogicalPlan:
        """Bound query, or the scan of its rows if they are cached already."""
        return self._query.plan

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.schema.names

    def __repr__(self) -> str:
        return f"<TableRDD {text_of(self.schema) or 'without columns'}{' (cached)' if self._query.keeps else ''}>"

    def explain(self) -> str:
        """Return the plan of the query, as EXPLAIN prints it."""
        table = self.session.run_command(Explain(self.plan), self._query.snapshot).table
        return "" if table is None else "\n".join(map(str, table.column(0).to_pylist()))

    def changed(self, change: Change) -> TableRDD:
        """Return the TableRDD of the plan that `change` makes of this one's, over the same snapshot of the tables."""
        return TableRDD(self.session, self._query.changed(change))

    # By row

    def map_rows(self, f: Callable[[Row], Any]) -> Any:
        """Return the RDD of f(row) for each row."""
        return self.map(f)

    mapRows = map_rows  # noqa: N815 - Shark's

    def key_by(self, *columns: str) -> Any:
        """Return the RDD of (key, row): the key is the value of the column, or a tuple of the values of several
        columns.

        If the query keeps a table's rows in buckets by these columns (DISTRIBUTE BY, CLUSTERED BY), the buckets are the
        partitions and determine its `partitioner`. Partitioners are equal for tables with the same number of buckets by
        columns of the same types.
        """
        places = tuple(map(self._place, columns))
        if not places:
            raise BindError("key_by takes a column, or several")
        source = QuerySource(self._query, places)
        return KeyedRDD(self, source)

    def keyBy(self, f: Callable[[Row], Any] | str, *columns: str) -> Any:  # noqa: N802 - pyspark's
        """Return the RDD by key: by a function, as in pyspark, or by names, as `key_by`."""
        return self.key_by(f, *columns) if isinstance(f, str) else super().keyBy(f)

    def _place(self, name: str) -> int:
        names = self.schema.names
        found = [place for place, known in enumerate(names) if known.lower() == name.lower()]
        if not found:
            self.schema[name]
        return found[0]

    def toDF(self, schema: Any = None, sampleRatio: float | None = None) -> Any:  # noqa: N802 - pyspark's
        """Return Spark's DataFrame with the names and types of the columns, or with other names from a list."""
        from sharkpy.ml.rdd.query_rdd import data_frame, spark_schema

        if schema is not None and not isinstance(schema, (list, tuple)):
            return super().toDF(schema, sampleRatio)
        frame = data_frame(self, spark_schema(self.schema), verify=False)
        return frame if schema is None else frame.toDF(*schema)

    # By column

    def map_batches(self, f: Callable[[pa.RecordBatch], Any], schema: object = None) -> Any:
        """Apply f to each Arrow batch of rows, with the names and types of the query: columns are plain, not encoded.

        Without a schema the result is an RDD of f's results. With one (`"id bigint, score double"`, a dict, a pyarrow
        schema) f returns batches of these columns, tables or dicts of arrays, and the result is a TableRDD of their
        rows.
        """
        if schema is not None:
            from sharkpy.ml.rdd.table_query import mapped_plan

            return self.changed(mapped_plan(f, schema))
        return FusedRDD(self._of_batches(), EachBatch(f))

    def arrow_batches(self) -> Any:
        """Return the RDD of the rows as Arrow batches."""
        return self._of_batches()

    def _of_batches(self) -> FusedRDD:
        return BatchRDD(self)

    def features(
        self,
        columns: Sequence[str] | None = None,
        label: str | None = None,
        dtype: str = "float64",
        na: str = "error",
    ) -> FeatureRDD:
        """Return the rows as NumPy blocks (X, y): see FeatureRDD."""
        from sharkpy.ml.features.feature_rdd import FeatureRDD

        return FeatureRDD.of(self, columns, label, dtype, na)

    def to_arrow(self) -> pa.Table:
        """Read all rows into this process."""
        with self.session.working("TableRDD.to_arrow"):
            plan = self._query.ready_plan()
            target = arrow_schema(self.schema)
            batches = [named(batch, target) for batch in query_rows(self.session, plan, self._query.snapshot)]
            return pa.Table.from_batches(batches, schema=target)

    def count(self) -> int:
        """Return the number of rows, without making Python objects of them."""
        return int(self.map_batches(num_rows).sum())

    # Cached rows

    def cache(self) -> TableRDD:
        """Cache the rows as blocks of the memory store, from the first action on. Spark's cache is not used.

        Lost blocks are recomputed by the tasks that made them. `unpersist`, or the end of the RDD, frees them.
        """
        return self.persist()

    def persist(self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY) -> TableRDD:
        """Cache the rows, as `cache` does: the memory store moves blocks that do not fit to disk."""
        if storageLevel == StorageLevel.NONE:
            raise UnsupportedError("persist with the storage level NONE", hint="call unpersist")
        self._query.keep()
        self.is_cached, self._level = True, storageLevel
        return self

    def unpersist(self, blocking: bool = False) -> TableRDD:  # noqa: ARG002 - pyspark's
        """Free the cached rows; the next action computes them again."""
        self._query.release()
        self.is_cached, self._level = False, None
        return self

    def _is_pipelinable(self) -> bool:
        """True: functions are fused with the scan of cached rows too."""
        return not (self.is_checkpointed or self.has_resource_profile)

    def _persisted(self, jrdd: Any) -> Any:
        return jrdd


class BatchRDD(FusedRDD):
    """Rows of a TableRDD as Arrow batches."""

    def __init__(self, table: TableRDD) -> None:
        source = QuerySource(table._query) if not isinstance(table.base, SourceBase) else table.base.source
        self._begin(table.session, (source,))
        self.func = BatchFunction(source, arrow_schema(table.schema))
        self.base = SourceBase(source)
        self.preservesPartitioning = False
        self.is_barrier = False
        self._follow(lambda: None)


class KeyedRDD(FusedRDD):
    """Rows of a TableRDD as pairs (key, row)."""

    def __init__(self, table: TableRDD, source: QuerySource) -> None:
        self._begin(table.session, (source,))
        self.func = KeyedRowFunction(source, table.schema, source.keys)
        self.base = SourceBase(source)
        self.preservesPartitioning = True
        self.is_barrier = False

        def partitioner() -> Partitioner | None:
            found = source.key_hash
            return None if found is None else Partitioner(found.num_buckets, found)

        self._follow(partitioner)
