"""LLVM operations on many bytes at once that numba does not offer. They do not check bounds.

Compiled code in the cache on disk is replaced if the file of a kernel changes, but not if this file changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from sharkpy.columnar.compiled import machine_code

_P = ParamSpec("_P")
_R = TypeVar("_R")
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Numbers = np.ndarray[Any, np.dtype[Any]]
Word: TypeAlias = Any
"""64 bits or a truth value: an int or NumPy's type for the type checker, the same in machine code."""

_BYTE, _INT32, _INT64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_Codegen = Callable[[Any, Any, Any, Any], Any]


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile `function` to machine code without the GIL. Kernels may call each other and the functions below.

    A call that LLVM does not inline counts references to its arrays, which takes longer than reading a field.
    """
    return machine_code(function)


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile `function` into each kernel that calls it."""
    return machine_code(function, is_inlined=True)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any, target: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), target.as_pointer())


def _match_64(_: Any, data: Any, place: Any, byte: Any) -> tuple[Any, _Codegen]:  # noqa: ARG001 - numba's protocol
    vector = ir.VectorType(_BYTE, 64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], vector), align=1)
        undefined = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(undefined, args[2], ir.Constant(_INT32, 0))
        everywhere = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INT32, 64), [0] * 64))
        return builder.bitcast(builder.icmp_unsigned("==", values, everywhere), _INT64)

    return numba.uint64(data, numba.int64, numba.uint8), codegen


def _count_ones(_: Any, bits: Any) -> tuple[Any, _Codegen]:  # noqa: ARG001
    return numba.int64(numba.uint64), lambda _context, builder, _signature, args: builder.ctpop(args[0])


def _lowest_one(_: Any, bits: Any) -> tuple[Any, _Codegen]:  # noqa: ARG001
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return numba.int64(numba.uint64), codegen


def _load_8(_: Any, data: Any, place: Any) -> tuple[Any, _Codegen]:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], _INT64), align=1)

    return numba.uint64(data, numba.int64), codegen


def _copy_16(_: Any, to: Any, at: Any, data: Any, place: Any) -> tuple[Any, _Codegen]:  # noqa: ARG001
    vector = ir.VectorType(_BYTE, 16)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = builder.load(_pointer(context, builder, signature.args[2], args[2], args[3], vector), align=1)
        builder.store(values, _pointer(context, builder, signature.args[0], args[0], args[1], vector), align=1)
        return context.get_dummy_value()

    return numba.void(to, numba.int64, data, numba.int64), codegen


_intrinsic: Any = intrinsic
match_64: Callable[[Bytes, Word, np.uint8], np.uint64] = _intrinsic(_match_64)
"""Bit i is set if byte `place + i` is `byte`."""
count_ones: Callable[[np.uint64], Word] = _intrinsic(_count_ones)
lowest_one: Callable[[np.uint64], Word] = _intrinsic(_lowest_one)
"""Index of the lowest set bit; there has to be one."""
load_8: Callable[[Bytes, Word], np.uint64] = _intrinsic(_load_8)
"""Eight bytes from `place` on, the first one lowest on little-endian machines."""
copy_16: Callable[[Bytes, Word, Bytes, Word], None] = _intrinsic(_copy_16)
"""Copy sixteen bytes from `place` of the second array to `at` of the first one."""
