"""Machine code of compiled loops in files, which a process loads without numba: its import takes longer than many
queries, and the loading of a small table.

numba compiles a loop once for each combination of argument types (`compile_loop`). The code refers to nothing outside
itself, so LLVM's loader is enough to run it (`load_loop`), and ctypes to call it, without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import struct
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

Kinds = tuple[str, ...]
"""Kinds of a loop's arguments: NumPy's name of the type of a contiguous array, the same after ~ for an array with
strides or unaligned values, and "int" or "float"."""
Native = Callable[..., Any]

_SUFFIX = ".loop"
_NO_MEMORY = "define void @NRT_MemInfo_call_dtor(ptr %0) { ret void }"
"""Definition of numba's function that frees an array's memory. Arrays from outside own none that numba knows."""
_RESULTS = {"int64": "q", "uint64": "Q", "int32": "i", "float64": "d", "float32": "f", "bool": "?"}
"""Formats of `struct` by numba's types."""


@dataclass(frozen=True, slots=True)
class LoopCode:
    """Machine code of a loop for one combination of argument types.

    `symbol` is the name of its entry, `result` the format of its result, with one letter for each value. Without a
    symbol there is no code, since it would need numba when it runs, for example to allocate an array.
    """

    symbol: str
    result: str = ""
    is_tuple: bool = False
    content: bytes = b""


_NEEDS_NUMBA = LoopCode("")


def kind_of(argument: object) -> str | None:
    """Return the kind of an argument, or None if machine code in files does not take such arguments."""
    match argument:
        case np.ndarray():
            if argument.ndim != 1 or argument.dtype.kind not in "iufb" or not argument.dtype.isnative:
                return None
            is_plain = argument.flags.c_contiguous and argument.flags.aligned
            return argument.dtype.str if is_plain else f"~{argument.dtype.str}"
        case bool() | np.bool_():
            return None
        case int() | np.signedinteger():
            return "int" if -(1 << 63) <= argument < 1 << 63 else None
        case float():
            return "float"
    return None


def kinds_of(arguments: Sequence[object]) -> Kinds | None:
    """Return the kinds of all arguments, or None if one has no kind."""
    kinds = tuple(map(kind_of, arguments))
    return None if None in kinds else kinds  # type: ignore[return-value]


def compile_loop(function: Callable[..., Any], kinds: Kinds, numba: Any, fastmath: Collection[str]) -> LoopCode:
    """Compile a loop by numba."""
    from llvmlite import binding

    compiler = numba.njit(
        nogil=True,
        boundscheck=False,
        error_model="numpy",
        fastmath=set(fastmath),
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)
    signature = tuple(_numba_type(kind, numba) for kind in kinds)
    compiler.compile(signature)
    found = compiler.overloads[signature]
    of_result: Any = found.signature.return_type
    is_tuple = isinstance(of_result, numba.types.BaseTuple)
    names = [str(one) for one in (of_result if is_tuple else [] if of_result == numba.types.none else [of_result])]
    if not set(names) <= set(_RESULTS):
        return _NEEDS_NUMBA
    symbol, codegen = found.fndesc.llvm_func_name, found.library.codegen
    module = binding.parse_bitcode(found.library._final_module.as_bitcode())
    module.link_in(binding.parse_assembly(_NO_MEMORY))
    for one in module.functions:
        if not one.is_declaration and one.name != symbol:
            one.linkage = "internal"
    machine = codegen._tm
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options()))
    if any(one.is_declaration and not one.name.startswith("llvm.") for one in module.functions):
        return _NEEDS_NUMBA
    return LoopCode(symbol, "".join(map(_RESULTS.__getitem__, names)), is_tuple, machine.emit_object(module))


def _numba_type(kind: str, numba: Any) -> Any:
    types = numba.types
    if kind in ("int", "float"):
        return types.int64 if kind == "int" else types.float64
    element = numba.from_dtype(np.dtype(kind.lstrip("~")))
    return types.Array(element, 1, "A", aligned=False) if kind.startswith("~") else types.Array(element, 1, "C")


def load_loop(code: LoopCode, kinds: Kinds) -> Native:
    """Load machine code into this process. The returned function takes arguments of these kinds. Threads take turns to
    load, and may run what is loaded at once.
    """
    from llvmlite import binding

    engine = _engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    of_kind: dict[str, list[Any]] = {"int": [number], "float": [ctypes.c_double]}
    of_array = [pointer, pointer, number, number, pointer, number, number]
    arguments = [one for kind in kinds for one in of_kind.get(kind, of_array)]
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, *arguments)(engine.get_function_address(code.symbol))
    result, is_tuple = struct.Struct(code.result), code.is_tuple
    size, raised = result.size or 8, ctypes.c_void_p()
    of_raised = ctypes.addressof(raised)

    def call(*args: Any) -> Any:
        # numba's calling convention: places for the result and for an exception, then the fields of each argument.
        fields: list[Any] = []
        for argument in args:
            if isinstance(argument, np.ndarray):
                rows, place = argument.size, argument.__array_interface__["data"][0]
                fields += (None, None, rows, argument.itemsize, place, rows, argument.strides[0])
            else:
                fields.append(argument)
        out = ctypes.create_string_buffer(size)
        if entry(ctypes.addressof(out), of_raised, *fields):
            raise RuntimeError(f"{code.symbol} has failed, {raised}")
        values = result.unpack_from(out)
        return values if is_tuple else values[0] if values else None

    return call


@functools.cache
def _engine() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine()
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


@functools.cache
def _processor() -> str:
    from llvmlite import binding

    return f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


@dataclass(frozen=True, slots=True)
class LoopFile:
    """File with the code of a loop, for one combination of argument types, this source and this processor.

    A damaged file, and one of another source, counts as absent.
    """

    path: str
    identity: str

    @classmethod
    def of(cls, function: Callable[..., Any], kinds: Kinds) -> LoopFile | None:
        """Return the file, or None if there is no folder for it."""
        source = function.__code__.co_filename
        try:
            stamp = Path(source).stat()
        except OSError:
            return None
        identity = f"{function.__qualname__} {kinds} {_processor()}"
        name = f"{Path(source).stem}.{function.__name__}-{_digest(identity.encode())}{_SUFFIX}"
        folder = _folder(source)
        return (
            None if folder is None else cls(str(Path(folder, name)), f"{identity} {stamp.st_mtime_ns} {stamp.st_size}")
        )

    def read(self) -> LoopCode | None:
        try:
            head, _, content = Path(self.path).read_bytes().partition(b"\n")
            fields = json.loads(head)
        except (OSError, ValueError):
            return None
        if fields.pop("identity", None) != self.identity or fields.pop("digest", None) != _digest(content):
            return None
        return LoopCode(**fields, content=content)

    def write(self, code: LoopCode) -> None:
        """Write the file, if there is room."""
        fields = asdict(code)
        content = fields.pop("content")
        head = json.dumps(fields | {"identity": self.identity, "digest": _digest(content)})
        unfinished = Path(f"{self.path}.{uuid.uuid4().hex[:8]}")
        try:
            unfinished.write_bytes(head.encode() + b"\n" + content)
            unfinished.replace(self.path)
        except OSError:
            unfinished.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return xxhash.xxh3_64_hexdigest(content)


@functools.cache
def _folder(source: str) -> str | None:
    """Return the folder of the code of a source: next to the source, else the user's cache, as numba's."""
    near, cache = Path(source).parent / "__pycache__", os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    for folder in [Path(wanted)] if wanted else [near, Path(cache).expanduser() / "sharkpy"]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return None
