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
import sys
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from sharkpy.base.records import dataclass

Kinds = tuple[str, ...]
"""Kinds of a loop's arguments: NumPy's name of the type of a contiguous array, the same after ~ for an array with
strides or unaligned values, or before [:,:] for one of two dimensions, and "int" or "float".
"""
Native = Callable[..., Any]

_SUFFIX = ".loop"
_TABLE = "[:,:]"
_ENTRY = "call."
_HEADER = object.__basicsize__ // 8
"""Words of the header of a Python object."""
_PLAIN = 0x101
"""NumPy's flags of an array that is contiguous and aligned."""
_NO_MEMORY = "define void @NRT_MemInfo_call_dtor(ptr %0) { ret void }"
"""Definition of numba's function that frees an array's memory. Arrays from outside own none that numba knows."""
_RESULTS = {"int64": "q", "uint64": "Q", "int32": "i", "float64": "d", "float32": "f", "bool": "?"}
"""Formats of `struct` by numba's types."""


@dataclass(frozen=True, slots=True)
class LoopCode:
    """Machine code of a loop for one combination of argument types.

    `symbol` is its name, `result` the format of its result, with one letter for each value. Without a
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
            return _kind_of_array(argument.dtype, argument.ndim, argument.flags.num & _PLAIN == _PLAIN)
        case bool() | np.bool_():
            return None
        case int() | np.signedinteger():
            return "int" if -(1 << 63) <= argument < 1 << 63 else None
        case float():
            return "float"
    return None


@functools.cache
def _kind_of_array(dtype: np.dtype[Any], ndim: int, is_plain: bool) -> str | None:
    if dtype.kind not in "iufb" or not dtype.isnative or ndim > 2:
        return None
    if ndim == 1:
        return dtype.str if is_plain else f"~{dtype.str}"
    return dtype.str + _TABLE if ndim == 2 and is_plain else None


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
    for text in (_NO_MEMORY, _entry(symbol, kinds)):
        module.link_in(binding.parse_assembly(text))
    for one in module.functions:
        if not one.is_declaration and one.name != _ENTRY + symbol:
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
    element = numba.from_dtype(_element(kind))
    if kind.startswith("~"):
        return types.Array(element, 1, "A", aligned=False)
    return types.Array(element, 2 if kind.endswith(_TABLE) else 1, "C")


def _entry(symbol: str, kinds: Kinds) -> str:
    """Return LLVM's text of a function that calls a loop with eight bytes for each argument, all in one place: ctypes
    converts arguments one by one, and NumPy's ways to the address of an array take longer than a short loop.

    An argument is a number, or the address of the array's object. Before them are the places for the result and for an
    exception. numba's calling convention has for each array the owner of its memory and its object, which are not
    given, and then its number of values, bytes of a value, address, shape and strides.
    """
    lines = list[str]()

    def load(of: str, place: str, index: int) -> str:
        name = f"%v{len(lines)}"
        lines.append(f"{name}.at = getelementptr i64, ptr {place}, i64 {index} {name} = load {of}, ptr {name}.at")
        return f"{of} {name}"

    def value(of: str, index: int) -> str:
        return load(of, "%arguments", index).split()[1]

    passed = [load("ptr", "%arguments", 0), load("ptr", "%arguments", 1)]
    for index, kind in enumerate(kinds, 2):
        if kind in ("int", "float"):
            passed.append(load("i64" if kind == "int" else "double", "%arguments", index))
            continue
        array, ndim = value("ptr", index), 2 if kind.endswith(_TABLE) else 1
        # PyArrayObject: the header of an object, and the address, number of dimensions, shape and strides.
        address, shape, strides = (load("ptr", array, _HEADER + place).split() for place in (0, 2, 3))
        lengths = [load("i64", shape[1], axis) for axis in range(ndim)]
        size = f"%size{index}"
        lines.append(f"{size} = mul {lengths[0]}, {lengths[1].split()[1] if ndim == 2 else 1}")
        passed += ["ptr null", "ptr null", f"i64 {size}", f"i64 {_element(kind).itemsize}", " ".join(address)]
        passed += [*lengths, *(load("i64", strides[1], axis) for axis in range(ndim))]
    types = ", ".join(one.split()[0] for one in passed)
    return (
        f'declare i32 @"{symbol}"({types}) define i32 @"{_ENTRY}{symbol}"(ptr %arguments) {{ {" ".join(lines)} '
        f'%status = call i32 @"{symbol}"({", ".join(passed)}) ret i32 %status }}'
    )


def _element(kind: str) -> np.dtype[Any]:
    return np.dtype(kind.removeprefix("~").removesuffix(_TABLE))


def load_loop(code: LoopCode, kinds: Kinds) -> Native:
    """Load machine code into this process. The returned function takes arguments of these kinds. Threads take turns to
    load, and may run what is loaded at once.
    """
    from llvmlite import binding

    engine = _engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)(engine.get_function_address(_ENTRY + code.symbol))
    pack = struct.Struct("PP" + "".join({"int": "q", "float": "d"}.get(kind, "P") for kind in kinds)).pack
    result, is_tuple = struct.Struct(code.result), code.is_tuple
    size, raised = result.size or 8, ctypes.c_void_p()
    of_raised, arrays = ctypes.addressof(raised), [kind not in ("int", "float") for kind in kinds]

    def call(*args: Any) -> Any:
        out = ctypes.create_string_buffer(size)
        fields = [id(one) if is_array else one for one, is_array in zip(args, arrays, strict=True)]
        if entry(pack(ctypes.addressof(out), of_raised, *fields)):
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
def _host() -> str:
    """Return what machine code depends on: the processor, and the layout of Python's and NumPy's objects."""
    from llvmlite import binding

    host = f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    # The code reads the objects of arrays.
    return f"{host} {sys.implementation.cache_tag}{sys.abiflags} numpy {np.lib.NumpyVersion(np.__version__).major}"


@dataclass(frozen=True, slots=True)
class LoopSource:
    """Source of a loop: its function, which may be imported only to compile it, and the files that define it."""

    name: str
    files: tuple[str, ...]
    function: Callable[[], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class LoopFile:
    """File with the code of a loop, for one combination of argument types, this source and this host.

    A damaged file, and one of another source, counts as absent.
    """

    path: str
    identity: str

    @classmethod
    def of(cls, source: LoopSource, kinds: Kinds) -> LoopFile | None:
        """Return the file, or None if there is no folder for it."""
        identity = f"{source.name} {kinds} {_host()}"
        try:
            stamps = [(stamp.st_mtime_ns, stamp.st_size) for stamp in map(os.stat, source.files)]
        except OSError:
            return None
        folder = _folder(source.files[0])
        name = f"{Path(source.files[0]).stem}.{source.name}-{_digest(identity.encode())}{_SUFFIX}"
        return None if folder is None else cls(str(Path(folder, name)), f"{identity} {stamps}")

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
