"""Python functions over the values of a group, which DuckDB's list() has collected: they build, merge and finish states
of aggregates. GROUP_KERNELS has one row for each.

States are BLOBs. A kernel returns NULL if its first argument is NULL. NULLs inside a list are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import checked
from sharkpy.base.records import dataclass
from sharkpy.udf import distinct_sketches, frequency_sketches, ngrams, percentiles, quantile_sketches
from sharkpy.udf.percentiles import weighted_percentiles

_ITEMS_TYPE = "STRUCT(item VARCHAR, estimate BIGINT, lower_bound BIGINT, upper_bound BIGINT)[]"
_ARROW_TYPES: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "BLOB": pa.binary(),
    "DOUBLE": pa.float64(),
    "DOUBLE[]": pa.list_(pa.float64()),
    "STRUCT(x DOUBLE, y DOUBLE)[]": pa.list_(pa.struct([("x", pa.float64()), ("y", pa.float64())])),
    "STRUCT(ngram VARCHAR[], estfrequency DOUBLE)[]": pa.list_(
        pa.struct([("ngram", pa.list_(pa.string())), ("estfrequency", pa.float64())])
    ),
    _ITEMS_TYPE: pa.list_(
        pa.struct([("item", pa.string()), *((name, pa.int64()) for name in ("estimate", "lower_bound", "upper_bound"))])
    ),
}


@dataclass(frozen=True, slots=True)
class GroupKernel:
    """A DuckDB function over the values of a group. It is otherwise like `kernels.Kernel`.

    A DOUBLE[] is passed as a NumPy array, other lists as Python lists.
    """

    name: str
    parameters: tuple[str, ...]
    result: str
    function: Callable[..., object]

    def vectorized(self) -> Callable[..., pa.Array[Any]]:
        def run(*columns: pa.ChunkedArray[Any]) -> pa.Array[Any]:
            given = [
                _arguments(column, kind, is_first=at == 0)
                for at, (column, kind) in enumerate(zip(columns, self.parameters, strict=True))
            ]
            values = [None if row[0] is None else self.function(*row) for row in checked(zip(*given, strict=True))]
            return pa.array(values, type=_ARROW_TYPES[self.result])

        return run


def _arguments(column: pa.ChunkedArray[Any], kind: str, *, is_first: bool) -> Iterable[object]:
    if kind == "DOUBLE[]":
        for one in column:
            yield one.values.drop_null().to_numpy(zero_copy_only=False) if one.is_valid else None
    elif kind.endswith("[]") and is_first:
        for items in column.to_pylist():
            yield None if items is None else [item for item in items if item is not None]
    else:
        yield from column.to_pylist()


def _new_sketch(family: str) -> Callable[[Iterable[Any], int], bytes | None]:
    return lambda values, size: distinct_sketches.new_sketch(family, _plain(values), size)


def _plain(values: Iterable[Any]) -> Iterable[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values


_ITEMS = ("BIGINT", "DOUBLE", "VARCHAR")

GROUP_KERNELS = (
    GroupKernel("shark_histogram", ("DOUBLE[]", "INTEGER"), "BLOB", percentiles.histogram_state),
    GroupKernel("shark_histogram_merge", ("BLOB[]",), "BLOB", percentiles.merge_histograms),
    GroupKernel("shark_histogram_bins", ("BLOB",), "STRUCT(x DOUBLE, y DOUBLE)[]", percentiles.histogram_bins),
    GroupKernel("shark_histogram_quantiles", ("BLOB", "DOUBLE[]"), "DOUBLE[]", percentiles.histogram_quantiles),
    GroupKernel("shark_weighted_percentiles", ("DOUBLE[]", "DOUBLE[]"), "DOUBLE[]", weighted_percentiles),
    GroupKernel("shark_ngrams", ("VARCHAR[][]", "INTEGER", "INTEGER", "INTEGER"), "BLOB", ngrams.ngram_state),
    GroupKernel(
        "shark_context_ngrams",
        ("VARCHAR[][]", "VARCHAR[]", "INTEGER", "INTEGER"),
        "BLOB",
        ngrams.context_ngram_state,
    ),
    GroupKernel("shark_ngrams_merge", ("BLOB[]",), "BLOB", ngrams.merge_ngrams),
    GroupKernel("shark_ngrams_top", ("BLOB",), "STRUCT(ngram VARCHAR[], estfrequency DOUBLE)[]", ngrams.top_ngrams),
    *(
        kernel
        for family in distinct_sketches.FAMILIES
        for kernel in (
            *(
                GroupKernel(f"shark_{family}_{item.lower()}", (f"{item}[]", "INTEGER"), "BLOB", _new_sketch(family))
                for item in _ITEMS
            ),
            GroupKernel(
                f"shark_{family}_union", ("BLOB[]",), "BLOB", partial(distinct_sketches.union_sketches, family)
            ),
            GroupKernel(f"shark_{family}_estimate", ("BLOB",), "DOUBLE", partial(distinct_sketches.estimate, family)),
            GroupKernel(
                f"shark_{family}_bounds",
                ("BLOB", "INTEGER"),
                "DOUBLE[]",
                partial(distinct_sketches.estimate_bounds, family),
            ),
        )
    ),
    GroupKernel("shark_theta_intersect", ("BLOB", "BLOB"), "BLOB", distinct_sketches.intersect_theta),
    GroupKernel("shark_theta_exclude", ("BLOB", "BLOB"), "BLOB", distinct_sketches.exclude_theta),
    GroupKernel("shark_kll", ("DOUBLE[]", "INTEGER"), "BLOB", quantile_sketches.new_kll),
    GroupKernel("shark_kll_union", ("BLOB[]",), "BLOB", quantile_sketches.union_kll),
    GroupKernel("shark_kll_n", ("BLOB",), "BIGINT", quantile_sketches.kll_number),
    GroupKernel("shark_kll_quantiles", ("BLOB", "DOUBLE[]"), "DOUBLE[]", quantile_sketches.kll_quantiles),
    GroupKernel("shark_kll_rank", ("BLOB", "DOUBLE"), "DOUBLE", quantile_sketches.kll_rank),
    GroupKernel("shark_kll_cdf", ("BLOB", "DOUBLE[]"), "DOUBLE[]", quantile_sketches.kll_cdf),
    GroupKernel("shark_kll_pmf", ("BLOB", "DOUBLE[]"), "DOUBLE[]", quantile_sketches.kll_pmf),
    GroupKernel("shark_freq", ("VARCHAR[]", "INTEGER"), "BLOB", frequency_sketches.new_frequent),
    GroupKernel("shark_freq_union", ("BLOB[]",), "BLOB", frequency_sketches.union_frequent),
    GroupKernel("shark_freq_items", ("BLOB", "VARCHAR"), _ITEMS_TYPE, frequency_sketches.frequent_items),
    GroupKernel("shark_countmin", ("VARCHAR[]", "DOUBLE", "DOUBLE"), "BLOB", frequency_sketches.new_counts),
    GroupKernel("shark_countmin_union", ("BLOB[]",), "BLOB", frequency_sketches.union_counts),
    GroupKernel("shark_countmin_estimate", ("BLOB", "VARCHAR"), "BIGINT", frequency_sketches.count_of),
    GroupKernel("shark_countmin_n", ("BLOB",), "BIGINT", frequency_sketches.total_count),
)
