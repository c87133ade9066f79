"""Limit of BLAS to one thread a call, while threads of this process work on blocks in parallel.

Each of them would start as many threads as there are cores, which then wait for each other. Results do not depend on
the number of cores either. Spark's workers have one from the start: it sets OMP_NUM_THREADS.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController, threadpool_limits

T = TypeVar("T")


@dataclass(slots=True)
class _Limit:
    """Number of holders of BLAS to one thread, and the limit that the first of them set."""

    holders: int = 0
    set_limit: threadpool_limits | None = None


_lock = threading.Lock()
_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread in the whole process, until the last holder is done.

    A limit of threadpoolctl alone would end with its first holder: others may still be at work then.
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
    """Run `work` in a thread that ends with it.

    threadpoolctl ignores changes of OpenBLAS's threads while another thread that made one is alive, and holders end
    in any order.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


@functools.lru_cache(1)
def _controller(num_modules: int) -> ThreadpoolController:  # noqa: ARG001 - libraries come with modules
    """Controller of the BLAS libraries that the process has loaded by now."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
