"""Rows of numbers as NumPy blocks, and one pass over them: the interface of every algorithm to its data.

Estimators and features have the policy `na` for NULL and NaN. A pass whose result is NaN or infinity is diagnosed
afterwards, so good data is not read for that.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.cancellation import check_cancelled, submit
from sharkpy.base.errors import DataError, ParameterError, TypeMismatchError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.columnar.encodings.matrix import NotFinite
from sharkpy.execution.blas_threads import one_blas_thread

Matrix: TypeAlias = npt.NDArray[np.floating[Any]]
BLOCK_ROWS = 262_144
"""Rows of a block cut from an array."""
POLICIES = ("error", "drop", "mean")
"""Names of the policies. error: raise an error; drop: leave out rows without one of the features or the label; mean:
replace a missing feature by the mean of its column, and raise an error for a missing label.
"""


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """Block of rows: `X` of shape (rows, features), each column contiguous, read-only; `y` of shape (rows,).

    `y` has the type of `X`, or is None without a label. `number` counts the blocks from 0. It is the same on every pass
    and in every task: seed random numbers with it.
    """

    number: int
    X: Matrix
    y: Matrix | None = None

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])


Kernel: TypeAlias = Callable[[FeatureBlock, Any], Any]
"""Function of a pass, from a block and the pass's argument to a small picklable value. It belongs to a module, so that
tasks can import it, and must not write to the block.
"""


class FeatureBlocks(Protocol):
    """Features of a table or of arrays, with a label if one was asked for."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in the order of the columns of `X`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of `X`: float32 or float64."""

    @property
    def num_rows(self) -> int: ...

    @property
    def has_label(self) -> bool: ...

    def run(self, kernel: Kernel, argument: Any = None) -> list[Any]:
        """Run one pass, by one RDD job or threads of this process: [kernel(block, argument) for each block], in their
        order.

        Results are the same for any number of tasks: combine them in their order.
        """


@dataclass(frozen=True, slots=True)
class ArrayBlocks:
    """Blocks of arrays in this process, computed on all its cores."""

    names: tuple[str, ...]
    blocks: tuple[FeatureBlock, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(
        cls, X: npt.ArrayLike, y: npt.ArrayLike | None = None, names: Sequence[str] = (), block_rows: int = BLOCK_ROWS
    ) -> ArrayBlocks:
        """Cut blocks from a matrix of float32 or float64 and as many labels. Other types become float64."""
        matrix = np.asarray(X)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
        labels = None if y is None else np.asarray(y).astype(matrix.dtype)
        blocks = tuple(
            FeatureBlock(
                number,
                np.asfortranarray(matrix[start : start + block_rows]),
                None if labels is None else labels[start : start + block_rows],
            )
            for number, start in enumerate(range(0, len(matrix), block_rows))
        )
        named = tuple(names) or tuple(f"x{column}" for column in range(matrix.shape[1]))
        return cls(named, blocks, matrix.dtype)

    @property
    def num_rows(self) -> int:
        return sum(block.num_rows for block in self.blocks)

    @property
    def has_label(self) -> bool:
        return bool(self.blocks) and self.blocks[0].y is not None

    def run(self, kernel: Kernel, argument: Any = None) -> list[Any]:
        check_cancelled()
        if len(self.blocks) < 2:
            return [kernel(block, argument) for block in self.blocks]
        with one_blas_thread(), ThreadPoolExecutor(min(len(self.blocks), os.cpu_count() or 1)) as pool:
            runs = [submit(pool, kernel, block, argument) for block in self.blocks]
            return [run.result() for run in runs]


def check_policy(na: str, policies: Sequence[str] = POLICIES) -> None:
    """Raise ParameterError if `na` is not one of `policies`."""
    if na not in policies:
        known = "one of " + ", ".join(f'"{name}"' for name in policies)
        raise ParameterError(f'no policy "{na}" for missing values', hint=did_you_mean(na, policies) or known)


def float_type(dtype: str | None) -> np.dtype[Any]:
    """Return the type of features: float64 if `dtype` is None. Raise TypeMismatchError for any type but float32 and
    float64.
    """
    name = str(np.dtype(dtype)) if dtype is not None else "float64"
    if name not in ("float32", "float64"):
        raise TypeMismatchError(f"features cannot be of type {name}", hint='one of "float32", "float64"')
    return np.dtype(name)


def refuse_not_finite(blocks: FeatureBlocks) -> NoReturn:
    """Raise DataError that names the column with NaN or infinity, or says that numbers grew too large."""
    found = blocks.run(_count_not_finite)
    functools.reduce(operator.add, (features for features, _ in found)).check(blocks.names)
    if blocks.has_label:
        functools.reduce(operator.add, (label for _, label in found)).check(["label"], kind="label")
    raise DataError("the numbers are too large to be summed", hint="scale the features, as StandardScaler does")


def _count_not_finite(block: FeatureBlock, argument: None) -> tuple[NotFinite, NotFinite | None]:
    del argument
    return NotFinite.of(block.X), None if block.y is None else NotFinite.of(block.y.reshape(-1, 1))
