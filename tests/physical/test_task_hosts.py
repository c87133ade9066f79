"""Blocks of several hosts dealt to tasks: each task's blocks are of one host, and hosts get tasks by their bytes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sharkpy.columnar.handle import BlockHandle
from sharkpy.physical.stage import _balance, _balance_blocks, preferred_host
from sharkpy.physical.stage_program import TaskInput


def block(number: int, host: str, size: int) -> BlockHandle:
    return BlockHandle(f"b{number}", 1, size, "", None, {"a": size}, host=host)


def weight(handle: BlockHandle) -> int:
    return handle.size_bytes


@given(
    st.lists(st.tuples(st.sampled_from(["", "h1", "h2", "h3"]), st.integers(1, 100)), min_size=1, max_size=40),
    st.integers(1, 12),
)
def test_no_block_is_lost_and_tasks_keep_to_a_host(places: list[tuple[str, int]], count: int) -> None:
    blocks = [block(number, host, size) for number, (host, size) in enumerate(places)]
    parts = _balance_blocks(blocks, weight, count)
    assert len(parts) == count
    assert sorted(handle.block_id for part in parts for handle in part) == sorted(one.block_id for one in blocks)
    hosts = {one.host for one in blocks}
    if len(hosts) == 1:
        assert parts == _balance(blocks, weight, count)
    elif count >= len(hosts):
        assert all(len({handle.host for handle in part}) <= 1 for part in parts)
    for part in parts:
        assert list(part) == sorted(part, key=blocks.index)


def test_a_host_with_more_bytes_gets_more_tasks() -> None:
    blocks = [block(number, "h1" if number < 6 else "h2", 10) for number in range(8)]
    parts = _balance_blocks(blocks, weight, 4)
    assert Counter(preferred_host(TaskInput(blocks=(("in0", part),))) for part in parts) == {"h1": 3, "h2": 1}


def test_the_host_of_most_bytes_is_preferred() -> None:
    held = (block(1, "h1", 10), block(2, "h2", 15), block(3, "h1", 10))
    assert preferred_host(TaskInput(blocks=(("in0", held),))) == "h1"
    assert preferred_host(TaskInput(blocks=(("in0", held[1:2]), ("in1", held[:1])))) == "h2"
    assert preferred_host(TaskInput()) == ""
