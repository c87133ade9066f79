"""Results that the caller does not close: the statement ends with the last reference, or in a collection."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

import sharkpy
from tests.waiting import until

MANY = "SELECT n + 1 AS n FROM t"


pytestmark = pytest.mark.settings({"shark.result.batch.rows": 1000})


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE t AS SELECT explode(sequence(1, 300000)) AS n").fetchall()
    return context


@pytest.fixture
def collected_by_hand() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def begun(context: sharkpy.SharkContext) -> sharkpy.Result:
    result = context.sql(MANY)
    assert len(result.fetchmany(3)) == 3
    assert context.num_running == 1
    return result


def in_a_thread(act: Callable[[], object]) -> None:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.variants(3)
@pytest.mark.usefixtures("collected_by_hand")
@pytest.mark.parametrize(
    "read",
    [
        lambda result: result.fetchone(),
        lambda result: result.fetchmany(5),
        lambda result: next(iter(result)),
        lambda result: next(result.batches()),
    ],
)
def test_the_last_reference_ends_it_at_once(
    context: sharkpy.SharkContext, read: Callable[[sharkpy.Result], object]
) -> None:
    result = context.sql(MANY)
    read(result)
    assert context.num_running == 1
    del result
    assert context.num_running == 0


@pytest.mark.usefixtures("collected_by_hand")
@pytest.mark.parametrize("lock", ["admission", "engine"])
def test_the_collector_ends_it_whatever_lock_its_thread_holds(context: sharkpy.SharkContext, lock: str) -> None:
    result = begun(context)
    known = weakref.ref(result)
    result.itself = result  # type: ignore[attr-defined]
    del result
    assert context.num_running == 1
    held = {"admission": context.admission._lock, "engine": context.engine._lock}[lock]

    def collect() -> None:
        with held:
            gc.collect()
            assert known() is None

    in_a_thread(collect)
    until(lambda: context.num_running == 0)
    assert context.sql("SELECT 1").fetchall() == [(1,)]


@pytest.mark.slow
def test_results_are_left_while_garbage_is_collected_everywhere(context: sharkpy.SharkContext) -> None:
    before = gc.get_threshold()

    def leave() -> None:
        for _ in range(30):
            result = begun(context)
            result.itself = result  # type: ignore[attr-defined]
            del result
            gc.collect()
            until(lambda: context.num_running == 0)

    gc.set_threshold(50, 2, 2)
    try:
        in_a_thread(leave)
    finally:
        gc.set_threshold(*before)


def test_a_closed_result_is_forgotten(context: sharkpy.SharkContext) -> None:
    result = begun(context)
    result.close()
    assert context.num_running == 0
    with pytest.raises(sharkpy.SharkError, match="is closed"):
        result.fetchone()
