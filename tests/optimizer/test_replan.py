from __future__ import annotations

import pytest

from sharkpy.optimizer.buckets import choose_buckets
from sharkpy.optimizer.decisions import BROADCAST_SIDES, JoinDistribution, JoinLimits, Place, choose_join, place_stage
from sharkpy.plan.logical import LATERAL_JOINS, JoinKind

LEFT, RIGHT, SHUFFLE = JoinDistribution.BROADCAST_LEFT, JoinDistribution.BROADCAST_RIGHT, JoinDistribution.SHUFFLE
LIMITS = JoinLimits(broadcast_bytes=100)

CASES = [
    (10, 1000, JoinKind.INNER, "", LEFT),
    (1000, 10, JoinKind.INNER, "", RIGHT),
    (50, 50, JoinKind.INNER, "", RIGHT),
    (1000, 1000, JoinKind.INNER, "", SHUFFLE),
    (None, 10, JoinKind.INNER, "", RIGHT),
    (None, None, JoinKind.INNER, "", SHUFFLE),
    (10, 1000, JoinKind.LEFT, "", SHUFFLE),
    (1000, 10, JoinKind.LEFT, "", RIGHT),
    (10, 1000, JoinKind.RIGHT, "", LEFT),
    (1000, 10, JoinKind.RIGHT, "", SHUFFLE),
    (10, 10, JoinKind.FULL, "", SHUFFLE),
    (10, 10, JoinKind.FULL, "broadcast", SHUFFLE),
    (10, 1000, JoinKind.SEMI, "broadcast", RIGHT),
    (1000, 1000, JoinKind.INNER, "broadcast", RIGHT),
    (10, 10, JoinKind.INNER, "shuffle", SHUFFLE),
]


@pytest.mark.parametrize(("left", "right", "kind", "forced", "expected"), CASES)
def test_join(left: int | None, right: int | None, kind: JoinKind, forced: str, expected: JoinDistribution) -> None:
    decision = choose_join(left, right, kind, LIMITS, forced)
    assert decision.distribution is expected
    assert (decision.left_bytes, decision.right_bytes) == (left, right)
    assert "\n" not in decision.label
    assert expected.value in decision.label


def test_every_kind_of_join_has_its_sides() -> None:
    assert set(BROADCAST_SIDES) == set(JoinKind) - set(LATERAL_JOINS)


@pytest.mark.parametrize(
    ("parallelism", "size", "configured", "expected"),
    [(2, None, 0, 4), (2, 10_000, 0, 100), (2, 10, 0, 4), (1, None, 7, 7), (1000, None, 0, 1000)],
)
def test_buckets(parallelism: int, size: int | None, configured: int, expected: int) -> None:
    decision = choose_buckets(parallelism, size, 100, configured)
    assert decision.num_buckets == expected
    assert str(expected) in decision.label


@pytest.mark.parametrize(("size", "expected"), [(1 << 20, 4), (10 << 20, 12), (1 << 30, 16), (1 << 37, 1000)])
def test_the_more_there_is_to_move_the_finer_are_buckets(size: int, expected: int) -> None:
    assert choose_buckets(2, size, 64 << 20).num_buckets == expected


@pytest.mark.parametrize(
    ("size", "is_local", "is_allowed", "expected"),
    [
        (10, True, True, Place.DRIVER),
        (1000, True, True, Place.RDD),
        (10, False, True, Place.RDD),
        (None, True, True, Place.RDD),
        (10, True, False, Place.RDD),
    ],
)
def test_placement(size: int | None, is_local: bool, is_allowed: bool, expected: Place) -> None:
    decision = place_stage(size, is_local, 100, is_allowed)
    assert decision.place is expected
    assert dict(decision.figures) == {"limit": 100} | ({} if size is None else {"bytes scanned": size})
    assert decision.is_fixed is not is_allowed
