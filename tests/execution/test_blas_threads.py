"""BLAS is held to one thread while anybody asks for it, and has its own number again after the last holder."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from sharkpy.execution.blas_threads import one_blas_thread


def numbers() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_one_thread_until_the_last_is_done() -> None:
    np.ones((4, 4)) @ np.ones((4, 4))
    if not numbers():
        pytest.skip("NumPy's BLAS is none that is known")
    before = numbers()
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=hold, daemon=True)
    with one_blas_thread():
        assert set(numbers()) == {1}
        thread.start()
        entered.wait()
    assert set(numbers()) == {1}
    leave.set()
    thread.join()
    assert numbers() == before


def test_a_failing_holder_lets_go() -> None:
    before = numbers()
    with pytest.raises(ValueError, match="stop"), one_blas_thread():
        raise ValueError("stop")
    assert numbers() == before
