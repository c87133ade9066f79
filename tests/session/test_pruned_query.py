"""A query on a cached table whose statistics leave one block reads only that block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy

BLOCKS, ROWS = 8, 1000
QUERY = "SELECT count(*), sum(amount) FROM facts WHERE day = 3 AND amount < 500"


@pytest.fixture(params=["true", "false"], ids=["driver", "rdd"])
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[sharkpy.SharkContext]:
    driver = {"shark.placement.driver": request.param}
    with sharkpy.connect("local[2]", tmp_path / "w", **driver, **{"shark.block.rows": ROWS}) as opened:
        opened.sql("CREATE TABLE facts (day INT, amount INT) TBLPROPERTIES ('shark.cache'='MEMORY')")
        for day in range(BLOCKS):
            opened.sql(
                f"INSERT INTO facts SELECT {day}, pos FROM (SELECT 1) one"
                f" LATERAL VIEW posexplode(split(space({ROWS - 1}), ' ')) rows AS pos, item"
            )
        yield opened


def test_one_block_is_read(session: sharkpy.SharkContext) -> None:
    plan = "\n".join(row[0] for row in session.sql("EXPLAIN " + QUERY))
    assert f"(1 of {BLOCKS} blocks)" in plan
    result = session.sql(QUERY)
    assert result.fetchall() == [(500, sum(range(500)))]
    assert sum(stage.rows_in for stage in result.profile.stages if stage.rows_in) <= ROWS + 1
