"""Call of a pass in a task: a kernel on the arrays of a mapped block. Workers import little else of `ml`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sharkpy.columnar.block import Block
from sharkpy.ml.features.block_reader import BlockReader
from sharkpy.ml.features.feature_blocks import Kernel
from sharkpy.udf.user.python_code import PythonCode, python_code


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
