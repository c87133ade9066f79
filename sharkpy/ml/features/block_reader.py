"""Call of a kernel in a task, on features that are read from a mapped block. Workers import little else of `ml`.

The block was made for features, or is a table's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.columnar.block import Block
from sharkpy.columnar.block_cache import column_cache
from sharkpy.columnar.encodings import matrix, uncompressed
from sharkpy.execution.tasks.matrix_blocks import FEATURES, LABEL, as_floats
from sharkpy.ml.features.feature_blocks import FeatureBlock, Kernel, Matrix
from sharkpy.udf.user.python_code import PythonCode, python_code

BlockReader: TypeAlias = Callable[[int, Block], FeatureBlock]
"""Reads the features and the label of a block with its number, without a copy of the features. Picklable."""


def read_matrix(number: int, block: Block) -> FeatureBlock:
    """Read a block that was made for features."""
    labels = block.values(LABEL).to_numpy() if LABEL in block else None
    return FeatureBlock(number, matrix.as_numpy(block.stored(FEATURES)), labels)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Reader of a table's own block, whose features are stored contiguously and unencoded; see `matrix_in`.

    The label is of any numeric type and encoding: each process caches the labels it has decoded.
    """

    names: tuple[str, ...]
    label: str | None
    dtype: str

    def __call__(self, number: int, block: Block) -> FeatureBlock:
        X = matrix_in(block, self.names, np.dtype(self.dtype))
        if X is None:
            raise InternalError(f"{', '.join(self.names)} are not adjacent in {block.path}")
        return FeatureBlock(number, X, None if self.label is None else self._labels(block, self.label))

    def _labels(self, block: Block, name: str) -> npt.NDArray[Any]:
        def decoded() -> pa.Array[Any]:
            return pa.array(as_floats(pa.chunked_array([block.values(name)]), np.dtype(self.dtype)))

        found: npt.NDArray[Any] = column_cache().get(block, ("label", name, self.dtype), decoded).to_numpy()
        return found


def matrix_in(block: Block, names: tuple[str, ...], dtype: np.dtype[Any]) -> Matrix | None:
    """Return columns of a block as an array of shape (rows, columns) over the mapped file.

    Return None if one is encoded or of another type, or if they are not stored at equal distances, in this order.
    """
    columns = [uncompressed.as_floats(block.stored(name), dtype) for name in names]
    if any(column is None for column in columns):
        return None
    found = [column for column in columns if column is not None]
    places = [column.__array_interface__["data"][0] for column in found]
    steps = set(np.diff(places).tolist()) or {found[0].nbytes}
    step = steps.pop()
    if steps or step < found[0].nbytes or step % dtype.itemsize:
        return None
    shape, strides = (len(found[0]), len(found)), (dtype.itemsize, step)
    view: Matrix = np.lib.stride_tricks.as_strided(found[0], shape, strides, writeable=False)
    return view


@dataclass(frozen=True, slots=True)
class KernelCall:
    """Kernel as a function of mapped blocks."""

    kernel: PythonCode
    name: str
    read: BlockReader

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, number: int, block: Block, argument: Any) -> Any:
        kernel: Callable[..., Any] = self.kernel.load()
        return kernel(self.read(number, block), argument)


def kernel_code(kernel: Kernel, read: BlockReader) -> PythonCode:
    """Return the code of tasks: the call of `kernel` on the arrays that `read` finds in blocks. Raise BindError if it
    cannot be shipped.
    """
    name = kernel_name(kernel)
    return python_code(name, KernelCall(python_code(name, kernel), name, read))


def kernel_name(kernel: Kernel) -> str:
    return str(getattr(kernel, "__name__", type(kernel).__name__))
