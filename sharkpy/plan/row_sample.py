"""TABLESAMPLE of a share of a table: which rows of a file split or block are in it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class RowSample:
    """Each row with probability `fraction`, or what makes `num_bytes` of the table's bytes.

    1. A row's fate depends on `seed`, on the name of its split or block and on its place there: every task, retry
       and statement finds the same rows while the table is stored the same way.
    2. It does not depend on the row's values, on other predicates, or on the columns that are read.
    """

    fraction: float = 1.0
    seed: int = 0
    num_bytes: int | None = None

    def of_bytes(self, table_bytes: int) -> RowSample:
        """The sample of a table of `table_bytes`, as a fraction."""
        if self.num_bytes is None:
            return self
        return RowSample(min(1.0, self.num_bytes / table_bytes) if table_bytes else 1.0, self.seed)

    def chooser(self, origin: str) -> Callable[[int], np.ndarray[Any, np.dtype[np.bool_]]]:
        """Tells of each further number of rows of the split or block `origin` which are in the sample."""
        import numpy as np

        generator = np.random.default_rng((self.seed, zlib.crc32(origin.encode())))
        return lambda num_rows: generator.random(num_rows) < self.fraction

    def __str__(self) -> str:
        if self.num_bytes is not None:
            return f"sample of {self.num_bytes} bytes"
        return f"sample of {self.fraction:.4%}".replace(".0000%", "%")
