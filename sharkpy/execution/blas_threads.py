"""One thread for each call of BLAS while threads of this process work on blocks side by side.

Each of them would start as many threads as there are cores, which then wait for each other. Results do not depend on
the number of cores either. Spark's workers have one from the start: it sets OMP_NUM_THREADS.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LIBRARY = re.compile(r"/\S*(?:openblas|mkl_rt)\S*\.so\S*$", re.MULTILINE)
_NAMES = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)
"""How builds of OpenBLAS, NumPy's and SciPy's own among them, and MKL call what tells and sets their threads."""


@dataclass(slots=True)
class _Limit:
    """How many hold BLAS to one thread now, and what it had before."""

    holders: int = 0
    before: tuple[int, ...] = ()


_lock = threading.Lock()
_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """For the whole process, until the last one who asked for it is done."""
    import numpy as np  # noqa: F401 - loads its BLAS

    libraries = _libraries(len(sys.modules))
    with _lock:
        _limit.holders += 1
        if _limit.holders == 1:
            _limit.before = tuple(get() for get, _ in libraries)
            for _, limit in libraries:
                limit(1)
    try:
        yield
    finally:
        with _lock:
            _limit.holders -= 1
            if not _limit.holders:
                for (_, limit), before in zip(libraries, _limit.before, strict=False):
                    limit(before)


@functools.lru_cache(1)
def _libraries(num_modules: int) -> tuple[tuple[Any, Any], ...]:  # noqa: ARG001 - libraries come with modules
    """(what tells, what sets) of each BLAS that the process has loaded by now."""
    try:
        found = set(_LIBRARY.findall(Path("/proc/self/maps").read_text()))
    except OSError:
        return ()
    return tuple(calls for path in sorted(found) if (calls := _calls(path)) is not None)


@functools.cache
def _calls(path: str) -> tuple[Any, Any] | None:
    with suppress(OSError):
        library = ctypes.CDLL(path)
        for get, limit in _NAMES:
            if hasattr(library, get) and hasattr(library, limit):
                return getattr(library, get), getattr(library, limit)
    return None
