"""TABLESAMPLE of a share of a table: the choice of rows in a file split or block."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class RowSample:
    """A sample with each row at probability `fraction`, or with about `num_bytes` of the table's bytes.

    1. The choice of a row depends on `seed`, on the name of its split or block, and on its position there. So every
       task, retry and statement finds the same rows while the table is stored the same way.
    2. It does not depend on the row's values, on other predicates, or on the columns that are read.
    """

    fraction: float = 1.0
    seed: int = 0
    num_bytes: int | None = None

    def of_bytes(self, table_bytes: int) -> RowSample:
        """Return the sample of a table with `table_bytes` bytes, as a fraction."""
        if self.num_bytes is None:
            return self
        return RowSample(min(1.0, self.num_bytes / table_bytes) if table_bytes else 1.0, self.seed)

    def chooser(self, origin: str) -> Callable[[int], np.ndarray[Any, np.dtype[np.bool_]]]:
        """Return a function that takes the number of next rows of the split or block `origin`, and returns which of
        them are in the sample.
        """
        import numpy as np

        generator = np.random.default_rng((self.seed, zlib.crc32(origin.encode())))
        return lambda num_rows: generator.random(num_rows) < self.fraction

    def __str__(self) -> str:
        if self.num_bytes is not None:
            return f"sample of {self.num_bytes} bytes"
        return f"sample of {self.fraction:.4%}".replace(".0000%", "%")
