"""Thousands of Hive partitions are added and dropped in seconds, one by one or by a comparison."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from tests.waiting import allowed

MANY = 3_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "dropped",
    ["PARTITION (k >= 0)", ", ".join(f"PARTITION (k = {k}, s = 'x')" for k in range(MANY))],
    ids=["by a comparison", "one by one"],
)
def test_they_come_and_go_in_seconds(tmp_path: Path, dropped: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as session:
        session.sql("CREATE TABLE p (v INT) PARTITIONED BY (k INT, s STRING)")
        start = time.monotonic()
        session.sql("ALTER TABLE p ADD " + " ".join(f"PARTITION (k = {k}, s = 'x')" for k in range(MANY)))
        added = time.monotonic()
        assert added - start < allowed(3)
        assert len(session.sql("SHOW PARTITIONS p").fetchall()) == MANY
        folder = Path(session.catalog.table("default", "p").location or "")
        assert len(list(folder.glob("k=*/s=x"))) == MANY
        start = time.monotonic()
        session.sql(f"ALTER TABLE p DROP {dropped}")
        assert time.monotonic() - start < allowed(2)
        assert session.sql("SHOW PARTITIONS p").fetchall() == []
        assert list(folder.glob("k=*/s=x")) == []


def test_each_of_them_is_checked(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as session:
        session.sql("CREATE TABLE p (v INT) PARTITIONED BY (k INT, s STRING)")
        session.sql("ALTER TABLE p ADD PARTITION (k = 1, s = 'x') PARTITION (k = 2, s = 'y')")
        with pytest.raises(SharkError, match="has the partition"):
            session.sql("ALTER TABLE p ADD PARTITION (k = 3, s = 'x') PARTITION (k = '03', s = 'x')")
        assert len(session.sql("SHOW PARTITIONS p").fetchall()) == 2
        session.sql("ALTER TABLE p DROP PARTITION (k = 1), PARTITION (s = 'y', k < 3), PARTITION (k = '01', s = 'x')")
        assert session.sql("SHOW PARTITIONS p").fetchall() == []
