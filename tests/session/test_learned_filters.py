"""Keys of a join's build side prune the blocks of its probe side: in the driver, and as RDD tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.physical import build_side_filters

BLOCKS, ROWS = 10, 1000
MANY = f"LATERAL VIEW posexplode(split(space({ROWS - 1}), ' ')) rows AS pos, item"
TABLES = (
    "CREATE TABLE facts (k INT, v INT, price DOUBLE) TBLPROPERTIES ('shark.cache'='MEMORY')",
    *(
        f"INSERT INTO facts SELECT {block * ROWS} + pos, pos % 7, IF(pos % 9 = 0, NULL, pos / 2)"
        f" FROM (SELECT 1) o {MANY}"
        for block in range(BLOCKS)
    ),
    "INSERT INTO facts VALUES (NULL, 1, 1.5), (NULL, 2, NULL)",
    # Keys of one and a half blocks of facts, some twice, one NULL; the texts make the rows wide.
    "CREATE TABLE dims TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT CAST(3000 + pos * 3 DIV 2 AS BIGINT) AS k,"
    f" (pos * 3 DIV 2) % 1000 / 2 AS price, concat(space(200), pos) AS text FROM (SELECT 1) o {MANY}"
    " UNION ALL SELECT CAST(NULL AS BIGINT), CAST(NULL AS DOUBLE), 'none'"
    " UNION ALL SELECT CAST(3003 AS BIGINT), CAST('NaN' AS DOUBLE), 'again'",
)


@pytest.fixture(scope="module", params=["true", "false"], ids=["driver", "rdd"])
def session(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[sharkpy.SharkContext]:
    conf = {
        "shark.placement.driver": request.param,
        # Kernels would find the keys in the stage itself.
        "shark.kernels": "never",
        "shark.block.rows": ROWS,
        "shark.compaction": False,
        "shark.task.single.max.rows": 0,
        "shark.task.single.max.bytes": 0,
        "shark.join.replicate.max.rows": 0,
    }
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **conf) as opened:
        for statement in TABLES:
            opened.sql(statement)
        yield opened


@pytest.fixture(autouse=True)
def small_counts_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_side_filters, "_LEAST_PROBE_ROWS", 0)
    monkeypatch.setattr(build_side_filters, "_LEAST_PROBE_BLOCKS", 2)
    monkeypatch.setattr(build_side_filters, "MIN_BYTES", 1)
    monkeypatch.setattr(build_side_filters, "MIN_RATIO", 0)


def run(session: sharkpy.SharkContext, query: str, **conf: object) -> tuple[list[object], sharkpy.Result]:
    for key, value in conf.items():
        session.sql(f"SET {key.replace('_', '.')}={value}")
    try:
        result = session.sql(query)
        return sorted(map(repr, result.fetchall())), result
    finally:
        for key in conf:
            session.sql(f"RESET {key.replace('_', '.')}")


def rows_of_facts(result: sharkpy.Result) -> int:
    """Largest number of rows that a stage over facts got from blocks and exchanges."""
    stages = [one for one in result.profile.stages if one.fragment and "default.facts" in one.fragment.explain()]
    return max(stage.rows_in for stage in stages)


def rules(result: sharkpy.Result) -> list[str]:
    return [decision.rule for decision in result.profile.decisions]


@pytest.mark.variants(2)
def test_a_small_build_side_prunes_the_probe_side(session: sharkpy.SharkContext) -> None:
    query = "SELECT count(*), sum(v) FROM facts f JOIN dims d ON f.k = d.k WHERE d.text LIKE '%        77%'"
    rows, result = run(session, query)
    assert "learned_filter" in rules(result)
    assert rows_of_facts(result) <= 2 * ROWS + 11
    assert rows == run(session, query, shark_pruning_learned="false")[0]
    assert rows[0].startswith("(11, ")


FILTERED = {
    "inner": "SELECT f.k, v, length(text) FROM facts f JOIN dims d ON f.k = d.k",
    "left": "SELECT d.k, v, length(text) FROM dims d LEFT JOIN facts f ON f.k = d.k",
    "right": "SELECT d.k, v, length(text) FROM facts f RIGHT JOIN dims d ON f.k = d.k AND f.v > 2",
    "anti": "SELECT k, length(text) FROM dims d WHERE NOT EXISTS (SELECT 1 FROM facts f WHERE f.k = d.k AND f.v < 6)",
    "two keys": "SELECT f.k, v, length(text) FROM facts f JOIN dims d ON f.k = d.k AND f.price = d.price",
}
UNFILTERED = {
    "left": "SELECT f.k, v, length(text) FROM facts f LEFT JOIN dims d ON f.k = d.k",
    "full": "SELECT f.k, d.k, v FROM facts f FULL JOIN dims d ON f.k = d.k",
    "null safe": "SELECT f.k, v, length(text) FROM facts f LEFT JOIN dims d ON f.k <=> d.k",
}
SHUFFLED = {"shark_placement_driver": "false", "shark_join_broadcast_max_bytes": "20k"}


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", FILTERED)
def test_keys_of_a_side_too_large_to_broadcast_filter_the_other(session: sharkpy.SharkContext, name: str) -> None:
    rows, result = run(session, FILTERED[name], **SHUFFLED)
    assert "key_filter" in rules(result)
    assert "learned_filter" in rules(result)
    # Two blocks of facts, and the keys.
    assert rows_of_facts(result) <= 2 * ROWS + ROWS + 2
    moved = [
        stage for stage in result.profile.stages if stage.exchange_id and "default.facts" in stage.fragment.explain()
    ]
    assert max(stage.rows_out for stage in moved) <= ROWS
    assert rows == run(session, FILTERED[name], **SHUFFLED, shark_pruning_learned="false")[0]
    assert len(rows) > 1


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", UNFILTERED)
def test_rows_that_are_kept_without_a_match_are_not_filtered(session: sharkpy.SharkContext, name: str) -> None:
    rows, result = run(session, UNFILTERED[name], **SHUFFLED)
    assert "key_filter" not in rules(result)
    assert rows == run(session, UNFILTERED[name], **SHUFFLED, shark_pruning_learned="false")[0]


def test_a_null_that_equals_null_is_kept(session: sharkpy.SharkContext) -> None:
    query = "SELECT f.k, v, length(text) FROM facts f JOIN dims d ON f.k <=> d.k"
    rows, result = run(session, query, **SHUFFLED)
    assert "key_filter" in rules(result)
    assert sum(row.startswith("(None") for row in rows) == 2
    assert rows == run(session, query, **SHUFFLED, shark_pruning_learned="false")[0]
