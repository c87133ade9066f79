"""Missing and infinite values, which no algorithm accepts, counted by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError

_HINT = 'na="drop" leaves out such rows, na="mean" fills in the column\'s mean'
_LABEL_HINT = 'na="drop" leaves out such rows'


@dataclass(frozen=True, slots=True)
class NotFinite:
    """Numbers of missing (NaN, also from NULL) and infinite values of each column."""

    missing: npt.NDArray[np.int64]
    infinite: npt.NDArray[np.int64]

    @classmethod
    def of(cls, matrix: npt.NDArray[Any]) -> NotFinite:
        """Count over the columns of a float matrix. If all values are finite, the cost is one sum."""
        counts = np.zeros((2, matrix.shape[1]), np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = matrix.sum(axis=0)
        for column in np.flatnonzero(~np.isfinite(sums)):
            values = matrix[:, column]
            missing = int(np.count_nonzero(np.isnan(values)))
            counts[:, column] = missing, len(values) - missing - int(np.count_nonzero(np.isfinite(values)))
        return cls(counts[0], counts[1])

    def __add__(self, other: NotFinite) -> NotFinite:
        return NotFinite(self.missing + other.missing, self.infinite + other.infinite)

    def check(self, names: Sequence[str], *, kind: str = "column") -> None:
        """Raise DataError with the first column that has such values, and their number."""
        for name, missing, infinite in zip(names, self.missing, self.infinite, strict=True):
            if infinite:
                raise DataError(f'{kind} "{name}" has {_count(infinite, "infinite value")}')
            if missing:
                hint = _HINT if kind == "column" else _LABEL_HINT
                raise DataError(f'{kind} "{name}" has {_count(missing, "missing value")} (NULL or NaN)', hint=hint)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
