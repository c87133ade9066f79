"""Queries larger than the memory they may use: they spill, or say so."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import sharkpy
from sharkpy.errors import ResourceError


@pytest.mark.parametrize("memory", ["48m"])
def test_spill_or_error(tmp_path: Path, memory: str) -> None:
    conf = {"shark.driver.memory": memory, "shark.temp.dir": str(tmp_path)}
    with sharkpy.connect(warehouse=tmp_path / "warehouse", **conf) as context:
        numbers = "(SELECT explode(sequence(1, 400000)) AS id) t"
        context.sql(f"CREATE TABLE wide AS SELECT id, concat('a text of some length ', id * 7919) AS t FROM {numbers}")
        queries = {
            "SELECT count(*), max(r) FROM (SELECT row_number() OVER (ORDER BY t, id) AS r FROM wide) x": (
                400_000,
                400_000,
            ),
            "SELECT count(*), max(n) FROM (SELECT t, count(*) AS n FROM wide GROUP BY t) x": (400_000, 1),
        }
        for query, answer in queries.items():
            with contextlib.suppress(ResourceError):
                assert context.sql(query).fetchall() == [answer]
        assert context.sql("SELECT count(*) FROM wide WHERE id <= 10").fetchall() == [(10,)]


@pytest.mark.slow
def test_what_cannot_be_spilled_is_a_resource_error(tmp_path: Path) -> None:
    conf = {"shark.driver.memory": "48m", "shark.temp.dir": str(tmp_path)}
    with sharkpy.connect(warehouse=tmp_path / "warehouse", **conf) as context:
        context.sql("CREATE TABLE numbers AS SELECT explode(sequence(1, 3000000)) AS id")
        with pytest.raises(ResourceError) as caught:
            context.sql("SELECT size(collect_list(concat('some text ', id))) FROM numbers").fetchall()
        assert caught.value.sqlstate == "53200"
        assert context.sql("SELECT max(id) FROM numbers").fetchall() == [(3_000_000,)]
