"""Check of the total size of the values that one batch of rows will produce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.udf.value_limit import batch_too_large, check_value, value_limit

if TYPE_CHECKING:
    from collections.abc import Callable

_BATCH_ROWS = 2048
"""Rows that DuckDB computes at a time."""
_LEAST_BYTES = 1 << 30
_LIMITS = 4
LOOKED_AT = _LEAST_BYTES // _BATCH_ROWS
"""Largest size of a value of which a whole batch is within the limit."""


@dataclass(frozen=True, slots=True)
class SizeKernel:
    """A DuckDB function over function names and sizes in bytes of the values that they will produce.

    It checks for cancellation once per batch. It raises ResourceError (54000) if a value exceeds the limit of one
    value, or the batch exceeds four times that limit (at least 1 GiB). Otherwise it returns false.
    """

    name: str = "shark_too_large"
    parameters: tuple[str, ...] = ("VARCHAR", "DOUBLE")
    result: str = "BOOLEAN"

    def vectorized(self) -> Callable[..., pa.Array[Any]]:
        return _check


def _check(functions: pa.ChunkedArray[Any], sizes: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    check_cancelled()
    if len(sizes) > sizes.null_count:
        function = str(functions[0].as_py())
        check_value(function, _bytes(pc.max(sizes)))
        together, limit = _bytes(pc.sum(sizes)), max(_LIMITS * value_limit(), _LEAST_BYTES)
        if together > limit:
            raise batch_too_large(function, together, len(sizes), limit)
    return pa.repeat(pa.scalar(False), len(sizes))


def _bytes(size: Any) -> int:
    return int(min(size.as_py(), 9e18))
