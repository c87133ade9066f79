"""RDDs that begin with a query: lazy until Spark needs them, and prepared again whenever the query is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyspark import RDD, StorageLevel
from pyspark.core.rdd import Partitioner, PipelinedRDD, RDDBarrier, portable_hash
from pyspark.serializers import NoOpSerializer

from sharkpy.ml.rdd.actions import iterate_action, run_action
from sharkpy.ml.rdd.key_hash import FindBuckets, KeyHash
from sharkpy.ml.rdd.partition_functions import Composed, Concatenated, Elements, Guarded, flat
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame  # noqa: TID251 - what toDF is asked for
    from pyspark.sql.types import StructType  # noqa: TID251

    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.query_source import QuerySource

T = TypeVar("T")


class QueryRDD(RDD[Any]):
    """Base of the RDDs that are made from a TableRDD. They differ from pyspark's in this:

    1. Spark's JVM does not start, and no stage runs, before an action needs it, or a transformation that asks for the
       number of partitions (`reduceByKey` without one).
    2. Actions are statements of the session: `ctx.cancel()` and `shark.query.timeout` end them; lost blocks are
       recomputed. Errors of a task are a SharkError that names the user's function and shows its traceback.
    3. RDDs by key with equal partitioners of tables in buckets (see `TableRDD.key_by`) are joined, cogrouped, grouped
       and united without a shuffle.
    """

    session: EngineSession
    sources: frozenset[QuerySource]
    """Queries whose rows the RDD reads."""

    def _begin(self, session: EngineSession, sources: Iterable[QuerySource]) -> None:
        """Set the attributes that pyspark's constructors set, without Spark."""
        self.session = session
        self.sources = frozenset(sources)
        self.is_cached = self.is_checkpointed = self.has_resource_profile = False
        self._level: StorageLevel | None = None
        self._made: tuple[tuple[int, ...], Any] | None = None

    @property
    def ctx(self) -> Any:  # type: ignore[override]
        """SparkContext of the session."""
        return self.session.engine.jobs.context

    def id(self) -> int:
        return int(self._jrdd.id())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.session.engine.master}>"

    def _current(self, make: Callable[[], T]) -> T:
        """Return the result of `make` for the current states of the queries."""
        with self.session.working():
            states = tuple(sorted(source.sequence for source in self.sources))
            if self._made is None or self._made[0] != states:
                self._made = (states, make())
            made: T = self._made[1]
            return made

    # Transformations

    def mapPartitionsWithIndex(self, f: Any, preservesPartitioning: bool = False) -> Any:  # noqa: N802 - pyspark's
        return FusedRDD(self, f, preservesPartitioning)

    def partitionBy(self, numPartitions: int | None, partitionFunc: Any = portable_hash) -> Any:  # noqa: N802
        """Partition pairs by key, as pyspark's does. Rows already in a table's buckets by their key are not moved."""
        known = self.partitioner
        if numPartitions is None:
            numPartitions = self._defaultReducePartitions()
        if known is not None and known.numPartitions == numPartitions:
            is_default = partitionFunc is portable_hash and isinstance(known.partitionFunc, KeyHash)
            if is_default or known.partitionFunc == partitionFunc:
                return self
        keyed = self.mapPartitions(FindBuckets(partitionFunc), True) if isinstance(partitionFunc, KeyHash) else self
        return RemadeRDD(
            (self,),
            lambda: RDD.partitionBy(keyed, numPartitions, partitionFunc),
            Partitioner(numPartitions, partitionFunc),
        )

    def union(self, other: Any) -> Any:
        known = self.partitioner
        if known is not None and isinstance(known.partitionFunc, KeyHash) and known == other.partitioner:
            return _union_by_partition(self, other)
        return RemadeRDD((self, other), lambda: RDD.union(self, other), None if known is None else _UNKNOWN)

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> Any:
        return RemadeRDD((self,), lambda: RDD.coalesce(self, numPartitions, shuffle))

    def zip(self, other: Any) -> Any:
        return RemadeRDD((self, other), lambda: RDD.zip(self, other))

    def cartesian(self, other: Any) -> Any:
        return RemadeRDD((self, other), lambda: RDD.cartesian(self, other))

    def barrier(self) -> Any:
        return BarrierRDD(self)

    def _defaultReducePartitions(self) -> int:  # noqa: N802 - pyspark's
        known = self.partitioner
        if known is not None and isinstance(known.partitionFunc, KeyHash):
            return int(known.numPartitions)
        return int(super()._defaultReducePartitions())

    def toDF(self, schema: Any = None, sampleRatio: float | None = None) -> Any:  # noqa: N802 - pyspark's
        """Return a DataFrame as pyspark's `toDF` makes it, with a new SparkSession if there is none."""

        return data_frame(self, schema, sampleRatio)

    # pyspark's own cache

    def cache(self) -> Any:
        return self.persist()

    def persist(self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY) -> Any:
        """Store the elements in Spark's cache, from the first action on."""
        self.is_cached, self._level = True, storageLevel
        if self._made is not None:
            super().persist(storageLevel)
        return self

    def unpersist(self, blocking: bool = False) -> Any:
        self.is_cached, self._level = False, None
        if self._made is not None:
            super().unpersist(blocking)
        return self

    def getStorageLevel(self) -> StorageLevel:  # noqa: N802 - pyspark's
        return self._level or StorageLevel.NONE

    def _persisted(self, jrdd: Any) -> Any:
        if self._level is not None:
            jrdd.persist(self.ctx._getJavaStorageLevel(self._level))
        return jrdd

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Any]:  # noqa: N802 - pyspark's
        items = functools.partial(RDD.toLocalIterator, self, prefetchPartitions)
        return iterate_action(self.sources, "toLocalIterator", items)


class Base(Protocol):
    """Input of an RDD's functions: a JavaRDD and the way to read its elements."""

    def frames(self) -> tuple[Any, Any]: ...


class SourceBase:
    """Input from the frames of a query's last stage."""

    def __init__(self, source: QuerySource) -> None:
        self.source = source

    def frames(self) -> tuple[Any, Any]:
        return self.source.bound().stage.frames, NoOpSerializer()


class RddBase:
    """Input from the elements of another RDD."""

    def __init__(self, rdd: Any) -> None:
        self.rdd = rdd

    def frames(self) -> tuple[Any, Any]:
        return self.rdd._jrdd, self.rdd._jrdd_deserializer


class FusedRDD(QueryRDD, PipelinedRDD[Any, Any]):
    """RDD of functions that run one after the other in one process, over a query's last stage or another RDD."""

    def __init__(
        self,
        prev: Any,
        func: Elements,
        preservesPartitioning: bool = False,
        isFromBarrier: bool = False,
        sources: Iterable[QuerySource] = (),
        partitioner: Callable[[], Partitioner | None] | None = None,
    ) -> None:
        """Create the RDD of `func` over `prev`. `sources` are the queries that `func` reads. `partitioner` None: the
        partitioner of `prev`, if it is preserved.
        """
        self._begin(prev.session, [*prev.sources, *sources])
        self.prev = prev
        self.preservesPartitioning = preservesPartitioning
        if isinstance(prev, FusedRDD) and prev._is_pipelinable():
            self.func = Composed(prev.func, func)
            self.base = prev.base
        else:
            self.func = func
            self.base = RddBase(prev)
        self._follow(partitioner or (lambda: prev.partitioner if preservesPartitioning else None))
        self.is_barrier = isFromBarrier or prev._is_barrier()

    func: Elements
    base: Base

    def _follow(self, partitioner: Callable[[], Partitioner | None]) -> None:
        self._find_partitioner = partitioner
        self._bypass_serializer = False
        self._serializer: Any = None

    @property
    def is_source(self) -> bool:
        """True if its tasks need nothing beyond the query's own tasks."""
        return isinstance(self.base, SourceBase) and self.base.source.key_hash is not None

    @property
    def partitioner(self) -> Partitioner | None:  # type: ignore[override]
        return self._find_partitioner()

    @property
    def _prev_jrdd(self) -> Any:
        return self.base.frames()[0]

    @property
    def _prev_jrdd_deserializer(self) -> Any:  # type: ignore[override]
        return self.base.frames()[1]

    @property
    def _jrdd_deserializer(self) -> Any:
        if self._bypass_serializer:
            return NoOpSerializer()
        return self.ctx.serializer if self._serializer is None else self._serializer

    @_jrdd_deserializer.setter
    def _jrdd_deserializer(self, serializer: Any) -> None:
        self._serializer = serializer

    @property
    def _jrdd(self) -> Any:
        return self._current(self._make)

    def _make(self) -> Any:
        frames, deserializer = self.base.frames()
        made = self.session.engine.jobs.python_rdd(
            frames.rdd(),
            Guarded(self.func),
            deserializer,
            self._jrdd_deserializer,
            keeps=self.preservesPartitioning,
            is_barrier=self.is_barrier,
        )
        return self._persisted(made)

    def getNumPartitions(self) -> int:  # noqa: N802 - pyspark's
        return int(self._prev_jrdd.getNumPartitions())

    def id(self) -> int:
        return QueryRDD.id(self)


class BarrierRDD(RDDBarrier[Any]):
    """RDD whose next functions run in tasks that start together."""

    def mapPartitions(self, f: Any, preservesPartitioning: bool = False) -> Any:  # noqa: N802 - pyspark's
        return self.mapPartitionsWithIndex(lambda _, items: f(items), preservesPartitioning)

    def mapPartitionsWithIndex(self, f: Any, preservesPartitioning: bool = False) -> Any:  # noqa: N802
        return FusedRDD(self.rdd, f, preservesPartitioning, isFromBarrier=True)


_UNKNOWN: Any = object()
"""Marker for the partitioner of an RDD that is known only after the RDD is made."""


class RemadeRDD(QueryRDD):
    """RDD that pyspark makes of other RDDs when it is needed: by a shuffle, a union, …"""

    def __init__(self, parents: Iterable[Any], make: Callable[[], RDD[Any]], partitioner: Any = None) -> None:
        known = [parent for parent in parents if isinstance(parent, QueryRDD)]
        self._begin(known[0].session, frozenset().union(*(parent.sources for parent in known)))
        self._make = make
        self._partitioner = partitioner

    def _rdd(self) -> Any:
        return self._current(self._fresh)

    def _fresh(self) -> Any:
        made = self._make()
        self._persisted(made._jrdd)
        return made

    @property
    def partitioner(self) -> Any:  # type: ignore[override]
        return self._rdd().partitioner if self._partitioner is _UNKNOWN else self._partitioner

    @property
    def _jrdd(self) -> Any:
        return self._rdd()._jrdd

    @property
    def _jrdd_deserializer(self) -> Any:  # type: ignore[override]
        return self._rdd()._jrdd_deserializer

    def _is_barrier(self) -> bool:
        return False


def _union_by_partition(first: QueryRDD, second: Any) -> Any:
    """Return the union of RDDs whose partitions of one number have the same keys: by partition, without moving rows."""
    if isinstance(first, FusedRDD) and first.is_source and isinstance(second, QueryRDD):
        return FusedRDD(second, Concatenated(first.func, is_first=True), True, sources=first.sources)
    if isinstance(second, FusedRDD) and second.is_source:
        return FusedRDD(first, Concatenated(second.func, is_first=False), True, sources=second.sources)
    # Combine whole partitions, as lists.
    pairs = first.glom().zip(second.glom())
    return FusedRDD(pairs, flat, True, partitioner=lambda: first.partitioner)


_ACTIONS = (
    "collect",
    "collectWithJobGroup",
    "take",
    "lookup",
    "sumApprox",
    "meanApprox",
    "countApproxDistinct",
    "saveAsTextFile",
    "saveAsPickleFile",
    "saveAsSequenceFile",
    "saveAsHadoopFile",
    "saveAsHadoopDataset",
    "saveAsNewAPIHadoopFile",
    "saveAsNewAPIHadoopDataset",
)
"""Methods of pyspark's RDD that run jobs by themselves. All its other actions call these."""


def _as_action(name: str) -> Any:
    method = getattr(RDD, name)

    @functools.wraps(method)
    def act(self: QueryRDD, *args: Any, **kwargs: Any) -> Any:
        return run_action(self.sources, f"{name} of an RDD", lambda: method(self, *args, **kwargs))

    return act


for _name in _ACTIONS:
    setattr(QueryRDD, _name, _as_action(_name))


def data_frame(rdd: Any, schema: Any, sample_ratio: float | None = None, *, verify: bool = True) -> DataFrame:
    """Return the DataFrame of an RDD by `SparkSession.createDataFrame`, with a new SparkSession if there is none."""
    from pyspark.sql import SparkSession  # noqa: TID251 - what toDF is asked for

    # The SparkContext first: the session is made over it.
    rdd.ctx  # noqa: B018
    session: Any = SparkSession.builder.getOrCreate()
    frame: DataFrame = session.createDataFrame(rdd, schema, sample_ratio, verify)
    return frame


def spark_schema(schema: Schema) -> StructType:
    """Schema of Spark for values of `schema`: TIMESTAMP becomes the type without a zone."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: TID251

    return from_arrow_schema(arrow_schema(schema), prefer_timestamp_ntz=True)
