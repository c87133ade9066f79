"""Rows that a query does not need are left out before DuckDB reads them: by predicates, by keys of joins, once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import sharkpy
from sharkpy.execution.tasks import reduced_inputs
from tests.rows import rows

SIZES = {"big": 3000, "middle": 300, "small": 40}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    chance = random.Random(7)
    folder = tmp_path_factory.mktemp("reduced") / "w"
    with sharkpy.connect("local[2]", folder, shark_block_rows=700) as made:
        for name, size in SIZES.items():
            values = ", ".join(str(_row(chance, number)) for number in range(size)).replace("None", "NULL")
            made.sql(
                f"""CREATE TABLE {name} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
                SELECT id, k, CAST(w AS BIGINT) AS w, CAST(d AS DATE) AS d, t, p FROM VALUES {values}
                AS v (id, k, w, d, t, p)"""
            ).close()
        yield made


def _row(chance: random.Random, number: int) -> tuple[Any, ...]:
    key = None if chance.random() < 0.1 else chance.randrange(60)
    wide = None if chance.random() < 0.1 else chance.randrange(60)
    day, text = f"2024-0{chance.randrange(1, 10)}-15", f"t{chance.randrange(20)}"
    return number, key, wide, day, text, f"{number} {chance.randrange(9)}"


QUERIES = [
    "SELECT b.id, s.t FROM big b JOIN small s ON b.k = s.k WHERE s.t < 't15'",
    "SELECT b.id, m.id FROM big b JOIN middle m ON b.k = m.k JOIN small s ON m.w = s.w WHERE s.k < 20 AND b.w < 9",
    "SELECT b.id FROM big b LEFT SEMI JOIN small s ON b.w = s.k AND s.d > '2024-05-01'",
    "SELECT b.id FROM big b LEFT ANTI JOIN (SELECT k FROM middle WHERE p LIKE '%7') m ON b.k = m.k WHERE b.w = 4",
    "SELECT b.id, s.id FROM big b LEFT JOIN (SELECT * FROM small WHERE k < 9) s ON b.k = s.k WHERE b.d = '2024-02-15'",
    "SELECT b.id, s.id FROM (SELECT * FROM big WHERE k > 50) b RIGHT JOIN small s ON b.k = s.k AND s.w < 30",
    """SELECT b.id, s.id FROM (SELECT * FROM big WHERE k > 50) b
    FULL JOIN (SELECT * FROM small WHERE k < 9) s ON b.k = s.k""",
    "SELECT b.id, s.id FROM big b JOIN small s ON b.k <=> s.k WHERE s.w < 20",
    """SELECT id FROM big WHERE k IN (SELECT w FROM middle WHERE t = 't3')
    AND w NOT IN (SELECT id FROM small WHERE id < 9)""",
    """SELECT s.k, x.n, x.m FROM (SELECT k, count(*) AS n, max(w) AS m FROM big GROUP BY k) x
    JOIN small s ON x.k = s.k WHERE s.t > 't3'""",
    """WITH x AS (SELECT k, sum(w) AS total FROM big WHERE w > 3 GROUP BY k)
    SELECT s.id, x.total, (SELECT min(total) FROM x) FROM x JOIN small s ON x.k = s.k JOIN middle m ON s.w = m.k
    WHERE m.id < 9""",
    """SELECT a.id, b.id FROM big a JOIN big b ON a.id = b.id + 1 JOIN small s ON a.k = s.k
    WHERE s.id IN (3, 4) AND b.t <> a.t""",
    "SELECT count(*), sum(b.w) FROM big b JOIN small s ON b.k = s.k AND b.w = s.w WHERE s.p LIKE '%3'",
    """SELECT u.k, count(*) FROM (SELECT k FROM big UNION ALL SELECT w FROM middle UNION ALL SELECT 7) u
    JOIN small s ON s.k = u.k WHERE s.d < '2024-04-01' GROUP BY u.k""",
    "SELECT k, id FROM big WHERE t LIKE 't1%' ORDER BY k, id LIMIT 9",
    "SELECT k, id, p FROM big WHERE w < 20 ORDER BY k DESC, id LIMIT 7",
    "SELECT id, p FROM big WHERE w > 20 ORDER BY k NULLS LAST, id LIMIT 300 OFFSET 20",
    "SELECT d, id, p FROM big ORDER BY d DESC, id LIMIT 5",
    "SELECT k, id FROM big WHERE w > 50 ORDER BY k DESC NULLS FIRST, id LIMIT 40",
    "SELECT x.id FROM (SELECT k, id FROM big WHERE t > 't7' ORDER BY w, id LIMIT 500) x JOIN small s ON x.k = s.k",
    "SELECT k, id FROM big WHERE w = 3 ORDER BY k, id LIMIT 5000",
    "SELECT t, d FROM big WHERE t LIKE 't1%' AND k IS NULL AND d BETWEEN '2024-02-01' AND '2024-08-01'",
    "SELECT count(*) FROM big WHERE k = 17",
    "SELECT b.id, s.p FROM big b JOIN small s ON b.id = s.id WHERE s.t < 't12'",
    "SELECT b.id, m.p FROM big b JOIN middle m ON b.id = m.id * 1 JOIN small s ON m.id = s.k WHERE s.t > 't15'",
    "SELECT count(*) FROM big b JOIN small s ON b.k = s.k WHERE s.id < 0",
    "SELECT s.id, b.r FROM small s JOIN (SELECT k, row_number() OVER (ORDER BY id) AS r FROM big) b ON s.k = b.k"
    " WHERE s.id < 3",
    "SELECT b.id, s.id FROM big b JOIN small s ON b.d = s.d WHERE s.id < 2",
    "SELECT id FROM big WHERE k = (SELECT k FROM small WHERE id = 4)",
    "SELECT b.id, s.t FROM big b JOIN small s ON b.w = s.w WHERE s.k = (SELECT max(k) FROM small) OR s.id = 5",
    "SELECT id FROM big b WHERE k = (SELECT max(w) FROM small s WHERE s.k = b.w)",
    "SELECT s.id, b.id FROM small s JOIN (SELECT * FROM big ORDER BY id LIMIT 50) b ON s.k = b.k WHERE s.w < 20",
    "SELECT id, k + w FROM big ORDER BY k + w DESC NULLS LAST, id LIMIT 30",
    "SELECT id FROM big WHERE t < 't7' ORDER BY CASE WHEN k > 30 THEN w ELSE -id END, id LIMIT 50",
    "SELECT real, id FROM (SELECT id, CASE id % 7 WHEN 0 THEN NULL WHEN 1 THEN -id ELSE id / 9 END AS real FROM big) x"
    " ORDER BY real DESC NULLS FIRST, id LIMIT 600",
    *(
        f"SELECT id FROM (SELECT *, {function} OVER (PARTITION BY {keys} ORDER BY {order}) AS r FROM big {where}) x"
        f" WHERE {condition}"
        for function, keys, order, where, condition in (
            ("row_number()", "k", "w DESC, id", "", "r <= 2"),
            ("rank()", "k, w", "d", "WHERE t < 't15'", "r < 3 AND p LIKE '%7'"),
            ("row_number()", "t", "id", "", "r = 4"),
            ("row_number()", "w", "k NULLS LAST, id DESC", "", "r BETWEEN 2 AND 5"),
            ("rank()", "k + w, d", "d NULLS FIRST, id", "", "3 > r"),
            ("row_number()", "k", "w - k DESC, id", "", "r < 3"),
            ("row_number()", "1", "id DESC", "WHERE k > 9", "r <= 20"),
            ("dense_rank()", "k", "w", "", "r <= 1"),
            ("row_number()", "k", "id", "", "r <= 0 OR id < 9"),
            ("count(*)", "k", "id", "", "r <= 2"),
            ("row_number()", "k % 5", "id", "", "r <= 2 OR r > 40"),
        )
    ),
    """SELECT s.id, x.id FROM small s JOIN (SELECT * FROM
    (SELECT *, row_number() OVER (PARTITION BY k ORDER BY w, id) AS r FROM big) y WHERE r <= 3) x ON s.k = x.k
    WHERE s.id < 9""",
    """WITH x AS (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM big)
    SELECT a.id, b.id FROM x a JOIN x b ON a.k = b.k AND b.r = 4 WHERE a.r = 1""",
    """SELECT id FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS r,
    rank() OVER (PARTITION BY k ORDER BY w) AS other FROM big) x WHERE r <= 2 AND other > 3""",
]


@pytest.mark.parametrize("query", QUERIES)
def test_the_same_rows_with_and_without(session: sharkpy.SharkContext, query: str) -> None:
    session.sql("SET shark.kernels=never")
    expected = sorted(rows(session, query), key=repr)
    assert expected
    session.sql("SET shark.kernels=always")
    assert sorted(rows(session, query), key=repr) == expected
    # Now from the cache.
    assert sorted(rows(session, query), key=repr) == expected


def read_rows(session: sharkpy.SharkContext, query: str) -> dict[str, int]:
    """Return the rows that DuckDB reads from each table."""
    found = {}
    for (line,) in rows(session, f"EXPLAIN ANALYZE {query}"):
        words = line.split()
        if "BlockScan" in words:
            found[words[words.index("BlockScan") + 1].removeprefix("default.")] = int(words[0].replace(",", ""))
    return found


def test_duckdb_reads_only_the_rows_that_are_needed(session: sharkpy.SharkContext) -> None:
    query = """SELECT count(*), max(b.p) FROM big b JOIN middle m ON b.k = m.k JOIN small s ON m.w = s.w
    WHERE s.id = 3"""
    session.sql("SET shark.kernels=never")
    assert read_rows(session, query) == {"big": 3000, "middle": 300, "small": 1}
    session.sql("SET shark.kernels=always")
    found = read_rows(session, query)
    assert found["small"] == 1
    assert found["middle"] < 20
    assert found["big"] < 700
    (decided,) = [line for (line,) in rows(session, f"EXPLAIN {query}") if "no match" in line]
    assert decided.startswith("decided when planning: kernels may leave out rows of default.")
    assert "default.big" in decided


FILTERED = [
    "SELECT id, t, d, p FROM big WHERE k > 10",
    "SELECT t, id AS again, id, CAST(id AS DECIMAL(10,2)) FROM big WHERE id < 2900 AND id > 3",
    "SELECT d AS day, id AS first, id AS second, w, k FROM big WHERE w > 5",
    "SELECT p, t, d, cost FROM costs WHERE cost > 20.5",
    "SELECT cost, id FROM costs WHERE d >= '2024-03-01' AND cost < 700",
    "SELECT id, t FROM big WHERE k = 17 AND w > 3",
    "SELECT p FROM big WHERE id >= 0",
    "SELECT id FROM big WHERE k IS NULL",
    "SELECT * FROM (SELECT id, w AS x FROM big WHERE k > 3) q WHERE x < 50",
    "SELECT b.id, q.n FROM (SELECT id AS n, t FROM big WHERE id > 2980) q JOIN small b ON b.t = q.t",
]


@pytest.mark.parametrize("query", FILTERED)
def test_filtered_rows_that_are_passed_on(session: sharkpy.SharkContext, query: str) -> None:
    session.sql(
        """CREATE TABLE IF NOT EXISTS costs TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
        SELECT *, CAST(id * 0.25 AS DECIMAL(9,2)) AS cost FROM big"""
    )
    session.sql("SET shark.kernels=never")
    expected = session.sql(query).to_arrow()
    assert expected.num_rows
    session.sql("SET shark.kernels=always")
    for placed in ("true", "false", "true"):
        session.sql(f"SET shark.placement.driver={placed}")
        found = session.sql(query).to_arrow()
        assert found.schema == expected.schema
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert rows(session, query.replace("WHERE", "WHERE id < 0 AND", 1)) == []


def test_duckdb_does_not_see_rows_that_are_only_filtered(session: sharkpy.SharkContext) -> None:
    session.sql("SET shark.kernels=always")
    passed = "(rows are handed on as they are)"

    def program(query: str) -> list[str]:
        return [line for (line,) in rows(session, f"EXPLAIN EXTENDED {query}")]

    assert passed in program("SELECT t, id FROM big WHERE k > 10")
    for query in (
        "SELECT t, id + 1 FROM big WHERE k > 10",
        "SELECT t, id FROM big WHERE k > 10 AND t LIKE 't1%'",
        "SELECT t, CAST(id AS BIGINT) FROM big WHERE k > 10",
        "SELECT t, id FROM big WHERE k > 10 LIMIT 3",
        "SELECT DISTINCT t FROM big WHERE k > 10",
    ):
        assert passed not in program(query), query
    session.sql("SET shark.kernels=never")
    assert passed not in program("SELECT t, id FROM big WHERE k > 10")


def test_dates_and_single_rows_restrict_too(session: sharkpy.SharkContext) -> None:
    session.sql("SET shark.kernels=always")
    assert (
        read_rows(session, "SELECT count(*), max(b.p) FROM big b JOIN small s ON b.d = s.d WHERE s.id = 3")["big"] < 700
    )
    joined = (
        "SELECT count(*), max(b.p) FROM big b JOIN middle m ON b.w = m.w WHERE m.k = (SELECT k FROM small WHERE id = 4)"
    )
    found = read_rows(session, joined)
    assert found["middle"] < 20
    assert found["big"] < 700
    with pytest.raises(sharkpy.errors.ExecutionError, match="more than one row"):
        rows(session, "SELECT id FROM big WHERE k = (SELECT k FROM small WHERE id < 3)")


def test_duckdb_reads_only_the_first_rows(session: sharkpy.SharkContext) -> None:
    session.sql("SET shark.kernels=always")
    query = "SELECT * FROM big WHERE t LIKE 't1%' ORDER BY id DESC LIMIT 6"
    assert read_rows(session, query) == {"big": 6}
    assert read_rows(session, query.replace("ORDER BY id", "ORDER BY k, id"))["big"] < 300


def test_duckdb_reads_only_the_first_rows_of_each_group(session: sharkpy.SharkContext) -> None:
    session.sql("SET shark.kernels=always")
    query = (
        "SELECT id FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM big) x WHERE r <= 2"
    )
    assert read_rows(session, query) == {"big": 122}
    assert read_rows(session, query.replace("<= 2", "< 2")) == {"big": 61}
    assert read_rows(session, query.replace("row_number", "dense_rank")) == {"big": 3000}


def test_the_rows_of_a_block_are_found_once(session: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql("SET shark.kernels=always")
    made: list[int] = []
    original = reduced_inputs.selected_rows

    def counted(spec: Any, blocks: Any, *args: Any) -> Any:
        made.append(len(blocks))
        return original(spec, blocks, *args)

    monkeypatch.setattr(reduced_inputs, "selected_rows", counted)
    query = "SELECT b.t FROM big b JOIN small s ON b.k = s.k WHERE s.id < 6 AND b.w > 7"
    first = rows(session, query)
    assert sum(made) == 6
    # Another text with the same predicate, under other names.
    assert sorted(rows(session, query.replace("b.", "c.").replace("big b", "big AS c"))) == sorted(first)
    assert sum(made) == 6
    session.sql("INSERT INTO big SELECT 9000, max(k), 8, '2024-01-01', 'new', '' FROM small WHERE id < 6")
    assert ("new",) in rows(session, query)
    # Only the new block.
    assert sum(made) == 7
    session.sql("INSERT INTO small VALUES (5, 58, 11, '2024-01-01', 'new', '')")
    assert len(rows(session, query)) > len(first) + 1


def test_predicates_that_differ_each_time_are_left_to_the_query(session: sharkpy.SharkContext) -> None:
    session.sql("SET shark.kernels=always")
    query = "SELECT count(*) FROM big WHERE rand() < 0.2 AND length(t) > 1"
    assert len({rows(session, query)[0] for _ in range(5)}) > 1


def test_rows_of_columns_belong_to_their_positions(session: sharkpy.SharkContext) -> None:
    """Equal predicates in several queries, with other columns, other orders, and as groups."""
    session.sql("SET shark.kernels=always")
    for _ in range(2):
        for low in range(0, 40, 9):
            found = rows(session, f"SELECT id, k, t FROM big WHERE w > {low} ORDER BY id")
            assert [number for number, _, _ in found] == [
                number for (number,) in rows(session, f"SELECT id FROM big WHERE w > {low} ORDER BY id")
            ]
            by_key = sorted(rows(session, f"SELECT k, sum(id) FROM big WHERE w > {low} GROUP BY k"), key=repr)
            sums: dict[Any, int] = {}
            for number, key, _ in found:
                sums[key] = sums.get(key, 0) + number
            assert by_key == sorted(sums.items(), key=repr)
