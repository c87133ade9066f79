"""TABLESAMPLE of a share: the choice of rows."""

from __future__ import annotations

import numpy as np
import pytest

from sharkpy.plan.logical import RowSample


def test_the_same_rows_each_time_however_they_come_in_batches() -> None:
    sample = RowSample(0.3, seed=5)
    whole = sample.chooser("part-0:0")(1000)
    choose = sample.chooser("part-0:0")
    pieces = np.concatenate([choose(count) for count in (1, 99, 0, 400, 500)])
    assert (whole == pieces).all()


def test_other_splits_and_seeds_have_other_rows() -> None:
    one = RowSample(0.5).chooser("a")(1000)
    assert (one != RowSample(0.5).chooser("b")(1000)).any()
    assert (one != RowSample(0.5, seed=1).chooser("a")(1000)).any()


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.25, 0.9, 1.0])
def test_about_so_many_rows(fraction: float) -> None:
    chosen = RowSample(fraction).chooser("a")(100_000).mean()
    assert abs(chosen - fraction) < 0.01
    assert fraction not in (0.0, 1.0) or chosen == fraction


@pytest.mark.parametrize(
    ("wanted", "table_bytes", "fraction"), [(50, 100, 0.5), (500, 100, 1.0), (0, 100, 0.0), (5, 0, 1.0)]
)
def test_bytes_become_a_share_of_the_table(wanted: int, table_bytes: int, fraction: float) -> None:
    assert RowSample(1.0, 3, wanted).of_bytes(table_bytes) == RowSample(fraction, 3)


def test_a_share_stays_as_it_is_whatever_the_table() -> None:
    assert RowSample(0.5, 3).of_bytes(10) == RowSample(0.5, 3)


def test_labels() -> None:
    assert str(RowSample(0.1)) == "sample of 10%"
    assert str(RowSample(0.0025)) == "sample of 0.2500%"
    assert str(RowSample(1.0, 0, 1024)) == "sample of 1024 bytes"
