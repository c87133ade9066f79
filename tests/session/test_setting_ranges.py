"""Statements under every setting of a session at the ends of its range."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.base.settings import SETTINGS, Setting

QUERY = """SELECT a.k % 3, count(*), count(DISTINCT b.v), sum(b.v) FROM numbered a JOIN numbered b ON a.k = b.k
GROUP BY a.k % 3 ORDER BY 1"""
ANSWER = [(0, 7, 7, 21), (1, 7, 7, 30), (2, 6, 6, 39)]
NUMBERS = [
    setting
    for setting in SETTINGS
    if not setting.is_guarded and type(setting.default) in (int, float) and setting.key != "shark.query.timeout"
]


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(master="local[2]", warehouse=tmp_path_factory.mktemp("warehouse")) as session:
        numbers = "(SELECT explode(sequence(0, 19)) AS n) numbers"
        session.sql(f"CREATE TABLE source AS SELECT n AS k, n * 7 % 10 AS v FROM {numbers}")
        yield session


@pytest.mark.variants(3)
@pytest.mark.parametrize("end", ["least", "greatest"])
@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.key)
def test_an_end_of_a_range(owner: sharkpy.SharkContext, setting: Setting[int], end: str) -> None:
    with owner.new_session() as session:
        session.sql(f"SET {setting.key}={getattr(setting, end)}")
        try:
            session.sql("CREATE TABLE numbered AS SELECT * FROM source")
            session.sql("CACHE TABLE numbered")
            assert session.sql(QUERY).fetchall() == ANSWER
        finally:
            session.sql("DROP TABLE IF EXISTS numbered")
