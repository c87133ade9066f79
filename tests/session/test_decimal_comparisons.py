"""Comparisons of decimals whose types fit no common one: as decimals if the values fit, else by their parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from tests.rows import rows

TYPES = "CAST(a AS DECIMAL(38,0)) AS a, CAST(b AS DECIMAL(38,20)) AS b"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("decimals") / "w") as made:
        narrow = (
            "(1, '7', '7.00000000000000000001'), (2, '-3', '-3'), (3, NULL, '1'), (4, '10', '2.5'), (5, '0', '-0.5')"
        )
        wide = f"(1, '{'9' * 38}', '1'), (2, '-{'9' * 38}', '-0.00000000000000000001'), (3, '5', '5'), (4, '5', NULL)"
        for name, values in (("narrow", narrow), ("wide", wide)):
            made.sql(
                f"""CREATE TABLE {name} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
                SELECT id, {TYPES} FROM VALUES {values} AS v (id, a, b)"""
            ).close()
        yield made


@pytest.mark.parametrize(
    ("table", "expected", "is_by_parts"),
    [
        ("narrow", {"<": [1], "=": [2], ">": [4, 5], "<>": [1, 4, 5], ">=": [2, 4, 5], "<=": [1, 2]}, False),
        ("wide", {"<": [2], "=": [3], ">": [1], "<>": [1, 2], ">=": [1, 3], "<=": [2, 3]}, True),
    ],
)
def test_comparisons(
    session: sharkpy.SharkContext, table: str, expected: dict[str, list[int]], *, is_by_parts: bool
) -> None:
    for sign, ids in expected.items():
        query = f"SELECT id FROM {table} WHERE a {sign} b ORDER BY id"
        assert rows(session, query) == [(number,) for number in ids]
        sql = "\n".join(line for (line,) in rows(session, f"EXPLAIN EXTENDED {query}"))
        assert ("struct_pack" in sql) is is_by_parts
