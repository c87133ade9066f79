"""Loops over NumPy arrays, compiled by numba at first use and cached on disk.

numba is imported only then, since its import takes longer than many queries.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_lock = threading.Lock()


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile `function` to machine code for each combination of argument types. Array bounds are not checked."""
    return _on_first_use(function, machine_code)


def compiled_sums(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile with sums reordered for the processor: only equal processors give bit-identical results."""
    return _on_first_use(function, functools.partial(machine_code, fastmath={"reassoc", "contract", "nsz"}))


def _on_first_use(
    function: Callable[_P, _R], compiler: Callable[[Callable[_P, _R]], Callable[_P, _R]]
) -> Callable[_P, _R]:
    made: list[Callable[_P, _R]] = []

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if not made:
            with _lock:
                if not made:
                    made.append(compiler(function))
        return made[0](*args, **kwargs)

    return call


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
