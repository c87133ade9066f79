"""Threads of kernels: a kernel runs in the thread that needs it, and all kernels share the threads that help."""

from __future__ import annotations

import os
import threading
import time

import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError
from sharkpy.execution.tasks.machine_work import MORSEL, run_morsels
from tests.waiting import allowed, until

SIZES = [5 * MORSEL, 4 * MORSEL + 1]
PARTS = sorted((place, start) for place, size in enumerate(SIZES) for start in range(0, size, MORSEL))
HELPERS = max((os.cpu_count() or 1) - 1, 1)


def test_kernels_at_once_share_the_helpers_and_each_has_its_own_thread() -> None:
    kernels = 6
    begun = threading.Barrier(kernels + 1)
    seen: list[list[tuple[int, int]]] = [[] for _ in range(kernels)]
    threads: list[set[threading.Thread]] = [set() for _ in range(kernels)]
    all_begun = threading.Event()

    def kernel(number: int) -> None:
        def run(place: int, start: int) -> None:
            thread = threading.current_thread()
            if thread is own[number] and thread not in threads[number]:
                begun.wait(allowed(10))
            # No morsel ends before each kernel has one in its own thread.
            all_begun.wait(allowed(10))
            threads[number].add(thread)
            seen[number].append((place, start))

        run_morsels(run, SIZES, 8)

    own = [threading.Thread(target=kernel, args=(number,)) for number in range(kernels)]
    for thread in own:
        thread.start()
    begun.wait(allowed(10))
    all_begun.set()
    for thread in own:
        thread.join()
    assert [sorted(parts) for parts in seen] == [PARTS] * kernels
    assert len(set.union(*threads) - set(own)) <= HELPERS


def test_a_kernel_does_not_wait_for_helpers_that_work_for_others() -> None:
    occupied, free = threading.Semaphore(0), threading.Event()

    def wait_in_helper(_: int, __: int) -> None:
        if threading.current_thread() is not other:
            occupied.release()
        free.wait(allowed(30))

    other = threading.Thread(target=run_morsels, args=(wait_in_helper, [20 * HELPERS * MORSEL], HELPERS + 1))
    other.start()
    for _ in range(HELPERS):
        assert occupied.acquire(timeout=allowed(30))
    seen: list[tuple[int, int]] = []
    run_morsels(lambda *part: seen.append(part), SIZES, 2)
    assert sorted(seen) == PARTS
    assert not free.is_set()
    free.set()
    other.join()


@pytest.mark.parametrize("is_helper", [False, True])
def test_a_failure_in_any_thread_ends_the_kernel(is_helper: bool) -> None:
    own, num_runs, failed = threading.current_thread(), 0, threading.Event()

    def run(_: int, __: int) -> None:
        nonlocal num_runs
        num_runs += 1
        if (threading.current_thread() is not own) is is_helper:
            failed.set()
            raise ValueError("damaged")
        failed.wait(allowed(30))

    with pytest.raises(ValueError, match="damaged"):
        run_morsels(run, [1000 * MORSEL], 2)
    assert num_runs < 100


def test_a_cancelled_statement_ends_the_kernel_in_all_threads() -> None:
    statement, threads, running = Cancellation(), set[int](), set[int]()

    def run(_: int, __: int) -> None:
        threads.add(threading.get_ident())
        running.add(threading.get_ident())
        time.sleep(0.001)
        running.remove(threading.get_ident())

    def kernel() -> None:
        with pytest.raises(CancelledError), statement.active():
            run_morsels(run, [100_000 * MORSEL], 2)
        ended.append(not running)

    ended: list[bool] = []
    thread = threading.Thread(target=kernel)
    thread.start()
    until(lambda: len(threads) == 2)
    statement.cancel()
    thread.join(allowed(30))
    assert ended == [True]
