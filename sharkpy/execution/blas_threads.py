"""Limit of one BLAS thread per call while threads of this process work on blocks in parallel.

Without it, each of them would start as many BLAS threads as there are cores, and these would wait for each other. The
limit also makes results independent of the number of cores. Spark sets OMP_NUM_THREADS to one for its workers.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.records import dataclass

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController, threadpool_limits

T = TypeVar("T")


@dataclass(slots=True)
class _Limit:
    """Number of holders of the limit, and the limit that the first of them set."""

    holders: int = 0
    set_limit: threadpool_limits | None = None


_lock = threading.Lock()
_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the whole process until the last holder is done.

    A plain limit of threadpoolctl would end with its first holder, while other holders may still work.
    """
    import numpy as np  # noqa: F401 - loads its BLAS

    with _lock:
        if not _limit.holders:
            controller = _controller(len(sys.modules))
            _limit.set_limit = _in_own_thread(lambda: controller.limit(limits=1, user_api="blas"))
        _limit.holders += 1
    try:
        yield
    finally:
        with _lock:
            _limit.holders -= 1
            if not _limit.holders and _limit.set_limit is not None:
                _in_own_thread(_limit.set_limit.restore_original_limits)
                _limit.set_limit = None


def _in_own_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread of its own.

    OpenBLAS ignores threadpoolctl's changes while another thread that made one is alive, and holders end in any order.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


@functools.lru_cache(1)
def _controller(num_modules: int) -> ThreadpoolController:  # noqa: ARG001 - libraries come with modules
    """Return the controller of the BLAS libraries that the process has loaded by now."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
