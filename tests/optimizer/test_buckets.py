from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sharkpy.optimizer.buckets import (
    SMALL_BYTES,
    TASK_BYTES,
    TWO_TASK_BYTES,
    pack_buckets,
    packing_decision,
    task_share,
)

MB = 1 << 20
SIZES = st.lists(st.one_of(st.just(0), st.integers(1, 100 * MB)), min_size=1, max_size=60)


def loads(sizes: list[int], packed: list[tuple[int, ...]]) -> list[int]:
    return [sum(sizes[one] for one in task) for task in packed]


@given(SIZES, st.integers(1, 16), st.booleans())
def test_each_bucket_with_bytes_is_read_once(sizes: list[int], parallelism: int, is_ordered: bool) -> None:
    packed = pack_buckets(sizes, parallelism, is_ordered=is_ordered)
    read = [one for task in packed for one in task]
    assert len(read) == len(set(read))
    assert {one for one, size in enumerate(sizes) if size} <= set(read)
    assert packed
    if is_ordered:
        assert read == sorted(read)


@given(SIZES, st.integers(1, 16))
def test_no_task_has_more_than_its_share_and_one_bucket(sizes: list[int], parallelism: int) -> None:
    share = task_share(sum(sizes), parallelism)
    packed = pack_buckets(sizes, parallelism)
    assert max(loads(sizes, packed)) <= 1.5 * share + max(sizes)


@given(st.lists(st.tuples(st.integers(0, 9 * MB), st.sampled_from([None, "a", "b"])), min_size=1, max_size=40))
def test_groups_stay_apart(planned: list[tuple[int, str | None]]) -> None:
    sizes, groups = [size for size, _ in planned], [group for _, group in planned]
    for task in pack_buckets(sizes, 2, groups):
        assert len({groups[one] for one in task} - {None}) <= 1


def test_little_is_read_by_one_task() -> None:
    assert pack_buckets([SMALL_BYTES // 4] * 4, 8) == [(0, 1, 2, 3)]
    assert pack_buckets([0, 0, 0], 8) == [(0,)]


def test_much_is_read_by_even_tasks() -> None:
    sizes = [40 * MB, *[5 * MB] * 12]
    packed = pack_buckets(sizes, 2)
    assert max(loads(sizes, packed)) == 40 * MB
    assert (0,) in packed
    assert task_share(TWO_TASK_BYTES * 2, 2) == TWO_TASK_BYTES // 2
    assert task_share(1 << 40, 2) == TASK_BYTES


def test_pieces_of_heavy_keys_are_dealt_evenly() -> None:
    """The pieces are small here, but make most of the work."""
    sizes, groups = [*[8 * MB] * 8, *[MB] * 8], [*[None] * 8, *["again"] * 8]
    packed = pack_buckets(sizes, 2, groups)
    assert {sum(one >= 8 for one in task) for task in packed} == {2}


def test_the_decision_has_its_figures() -> None:
    decision = packing_decision([3, 4], [5, 7, 1], [(0, 2), (1,)])
    assert str(decision) == (
        "3 buckets of exchange 3, 4 are read by 2 tasks (bytes 13, largest task 7, median task 7, largest bucket 7)"
    )
