"""What a pass calls in a task: a kernel on the arrays of a mapped block. Of `ml` workers import little else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sharkpy.columnar.block import Block
from sharkpy.columnar.encodings.matrix import as_numpy
from sharkpy.execution.tasks.matrix_blocks import FEATURES, LABEL
from sharkpy.ml.features.feature_blocks import FeatureBlock, Kernel
from sharkpy.udf.user.python_code import PythonCode, python_code


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A kernel as a function of mapped blocks."""

    kernel: PythonCode
    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, number: int, block: Block, argument: Any) -> Any:
        kernel: Callable[..., Any] = self.kernel.load()
        return kernel(feature_block(number, block), argument)


def feature_block(number: int, block: Block) -> FeatureBlock:
    """The arrays of a mapped block, without a copy."""
    labels = block.values(LABEL).to_numpy() if LABEL in block.names else None
    return FeatureBlock(number, as_numpy(block.stored(FEATURES)), labels)


def kernel_code(kernel: Kernel) -> PythonCode:
    """The call of `kernel` as it is shipped to tasks. BindError where that cannot be."""
    name = kernel_name(kernel)
    return python_code(name, KernelCall(python_code(name, kernel), name))


def kernel_name(kernel: Kernel) -> str:
    return str(getattr(kernel, "__name__", type(kernel).__name__))
