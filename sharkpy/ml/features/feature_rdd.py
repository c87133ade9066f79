"""FeatureRDD: the rows of a query as NumPy blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import StorageLevel

from sharkpy.base.errors import UnsupportedError
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.ml.features.feature_source import FeatureSource, Pair
from sharkpy.ml.rdd.query_rdd import FusedRDD, SourceBase

if TYPE_CHECKING:
    from sharkpy.ml.features.feature_blocks import FeatureBlocks
    from sharkpy.ml.rdd.table_rdd import TableRDD


class FeatureRDD(FusedRDD):
    """RDD of pairs (X, y), a pair a block of rows.

    1. X has the shape (rows, features) and contiguous columns; y has the shape (rows,) and the type of X, or is None
    without a label.
    2. Columns and types are checked when it is made; nothing runs before the first action. Missing values are found
       while blocks are made.
    3. Each action computes the blocks again, in the tasks that read them, without a row in between. `cache` keeps
       them in the memory store: tasks map them, and read only arrays.
    """

    def __init__(self, source: FeatureSource, feature_names: tuple[str, ...], label: str | None, dtype: str) -> None:
        self._begin(source.session, (source,))  # type: ignore[arg-type]
        self._source = source
        self.feature_names = feature_names
        """Names of the columns of X, in order."""
        self.label = label
        self.dtype = np.dtype(dtype)
        self.func = source
        self.base = SourceBase(source)  # type: ignore[arg-type]
        self.preservesPartitioning = False
        self.is_barrier = False
        self._follow(lambda: None)

    @classmethod
    def of(cls, table: TableRDD, columns: Sequence[str] | None, label: str | None, dtype: str, na: str) -> FeatureRDD:
        """FeatureRDD of columns of a TableRDD (None: all numeric and boolean ones but the label); see FeaturePlan for
        errors.
        """
        found = feature_plan(table.plan, columns, label, dtype, na)
        source = FeatureSource(table._query, found.names, found.label, found.dtype, na)
        return cls(source, found.names, found.label, found.dtype)

    def __repr__(self) -> str:
        label = f" label {self.label}" if self.label else ""
        cached = " (cached)" if self._source.keeps else ""
        return f"<FeatureRDD {', '.join(self.feature_names)}{label} {self.dtype}{cached}>"

    @property
    def num_rows(self) -> int:
        """Return the number of rows of all blocks. Compute the blocks unless they are cached."""
        if self._source.keeps:
            return self._source.stored().num_rows
        return int(self.map(_num_rows).sum())

    def blocks(self) -> FeatureBlocks:
        """Return the blocks as algorithms read them: the cached ones, else new ones that are freed with their last
        user.
        """
        return self._source.stored()

    def cache(self) -> FeatureRDD:
        """Cache the blocks in the memory store, from the first action on. Spark's cache is not used.

        Lost blocks are recomputed, one by one. `unpersist`, or the end of the RDD, frees them.
        """
        self._source.keep()
        self.is_cached = True
        return self

    def persist(self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY) -> FeatureRDD:
        """Cache the blocks, as `cache` does: the memory store moves blocks that do not fit to disk."""
        if storageLevel == StorageLevel.NONE:
            raise UnsupportedError("persist with the storage level NONE", hint="call unpersist")
        self._level = storageLevel
        return self.cache()

    def unpersist(self, blocking: bool = False) -> FeatureRDD:  # noqa: ARG002 - pyspark's
        """Free the cached blocks; the next action computes them again."""
        self._source.release()
        self.is_cached, self._level = False, None
        return self

    def _is_pipelinable(self) -> bool:
        """True: functions are fused with the reading of cached blocks too."""
        return not (self.is_checkpointed or self.has_resource_profile)

    def _persisted(self, jrdd: Any) -> Any:
        return jrdd


def _num_rows(pair: Pair) -> int:
    return len(pair[0])
