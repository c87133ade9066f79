"""Loops over NumPy arrays, compiled by numba and cached on disk. A process that finds a loop there does not import
numba (`object_code.py`).
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

from sharkpy.columnar.object_code import Kinds, LoopFile, LoopSource, compile_loop, kinds_of, load_loop

_P = ParamSpec("_P")
_R = TypeVar("_R")

_lock = threading.Lock()


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile `function` to machine code for each combination of argument types. Array bounds are not checked."""
    return _of_function(function, ())


def compiled_sums(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile with sums reordered for the processor: only equal processors give bit-identical results."""
    return _of_function(function, ("reassoc", "contract", "nsz"))


def _of_function(function: Callable[_P, _R], fastmath: Collection[str]) -> Callable[_P, _R]:
    source = LoopSource(function.__name__, (function.__code__.co_filename,), lambda: function)
    loop = CompiledLoop(source, fastmath)

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        result: _R = loop(*args, **kwargs)
        return result

    return call


class CompiledLoop:
    """Loop that is loaded at the first call with arguments of some types: from a file, or else compiled by numba. If it
    cannot be in a file, numba runs it.
    """

    def __init__(self, source: LoopSource, fastmath: Collection[str] = ()) -> None:
        self._source, self._fastmath = source, fastmath
        self._loaded: dict[Kinds | None, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kinds = None if kwargs else kinds_of(args)
        native = self._loaded.get(kinds)
        if native is None:
            with _lock:
                native = self._loaded.get(kinds)
                if native is None:
                    native = self._loaded[kinds] = self._native(kinds)
        return native(*args, **kwargs)

    def is_stored(self, *args: Any) -> bool:
        """Return whether a file has the code for such arguments."""
        file = self._file(kinds_of(args))
        return file is not None and file.read() is not None

    def _file(self, kinds: Kinds | None) -> LoopFile | None:
        return None if kinds is None else LoopFile.of(self._source, kinds)

    def _native(self, kinds: Kinds | None) -> Callable[..., Any]:
        file = self._file(kinds)
        if kinds is None or file is None:
            return machine_code(self._source.function(), self._fastmath)
        code = file.read()
        if code is None:
            code = compile_loop(self._source.function(), kinds, import_numba(), self._fastmath)
            file.write(code)
        return load_loop(code, kinds) if code.symbol else machine_code(self._source.function(), self._fastmath)


def machine_code(
    function: Callable[_P, _R], fastmath: Collection[str] = (), *, is_inlined: bool = False
) -> Callable[_P, _R]:
    """Return `function` as numba's dispatcher. Other compiled functions can call it, or inline it if `is_inlined`."""
    compile_with = functools.partial(
        import_numba().njit,
        nogil=True,
        boundscheck=False,
        error_model="numpy",
        fastmath=set(fastmath),
        inline="always" if is_inlined else "never",
    )
    result: Callable[_P, _R]
    try:
        result = compile_with(cache=True)(function)
    except RuntimeError:
        # There is no folder to cache compiled code in: compile in every process.
        result = compile_with()(function)
    return result


def import_numba() -> Any:
    """Import numba without SciPy's linear algebra, which numba imports only to see that it is there. That would take as
    long as the import of numba itself.
    """
    import numba
    from numba.core.compiler_lock import global_compiler_lock
    from numba.np import linalg

    # A thread that compiles imports modules under this lock, and their import takes it: it has to come first.
    with global_compiler_lock:
        check = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            importlib.import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = check
    return numba
