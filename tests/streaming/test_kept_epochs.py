"""Epochs of a continuous query, and polls of its table, whose stages are kept from one to the next."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.physical import stage_cache
from sharkpy.physical.lowering import lower_stage
from tests.rows import rows
from tests.streaming.folder_input import make_stream, put, put_numbers, until_numbers
from tests.waiting import until

MEMORY = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often plans of each label were lowered, without the plans of checks."""
    found: Counter[str] = Counter()
    original = lower_stage.lower_fragment

    def lower(fragment: Any, *rest: Any) -> Any:
        found[fragment.label.partition(" ")[0]] += 1
        return original(fragment, *rest)

    monkeypatch.setattr(lower_stage, "lower_fragment", lower)
    monkeypatch.setattr(stage_cache, "lower_fragment", lower)
    monkeypatch.setattr(stage_cache, "check_stage", lambda *_: None)
    return found


def test_epochs_are_lowered_no_more(context: sharkpy.SharkContext, folder: Path, lowered: Counter[str]) -> None:
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} AS SELECT n, upper(s) AS s FROM numbers WHERE n >= 0").close()
    for number in range(3):
        put_numbers(folder, f"{number}.json", [number])
        until_numbers(context, range(number + 1))
    before = lowered["Project"]
    for number in range(3, 9):
        put_numbers(folder, f"{number}.json", [number])
        until(lambda: rows(context, "SELECT max(n) FROM t") == [(number,)])  # noqa: B023 (called before the next)
    assert lowered["Project"] == before


def test_states_and_polls(context: sharkpy.SharkContext, folder: Path) -> None:
    """Sums leave the bounds that they had; keys are new ones."""
    make_stream(context, folder)
    context.sql(
        f"CREATE CONTINUOUS TABLE t {MEMORY} WITH UNBOUNDED STATE AS"
        " SELECT s, sum(n) AS total, max(n) AS most, count(*) AS num FROM numbers GROUP BY s"
    ).close()
    sums: Counter[str] = Counter()
    for number in range(12):
        value, word = 3**number, f"w{number % 5}"
        sums[word] += value
        put(folder, f"{number}.json", [{"n": value, "s": word}])
        expected = sorted(sums.items())
        until(lambda: rows(context, "SELECT s, total FROM t ORDER BY s") == expected)  # noqa: B023
        assert rows(context, "SELECT sum(total), max(most), sum(num) FROM t") == [
            (sum(sums.values()), value, number + 1)
        ]
        assert rows(context, "SELECT s FROM t ORDER BY total DESC LIMIT 1") == [(max(sums, key=sums.__getitem__),)]


def test_epochs_that_look_tables_up(context: sharkpy.SharkContext, folder: Path) -> None:
    """Rows of the table that come between two epochs are seen by the next one."""
    make_stream(context, folder)
    context.sql(f"CREATE TABLE names (n BIGINT, name STRING) {MEMORY}").close()
    context.sql(
        f"CREATE CONTINUOUS TABLE t {MEMORY} AS SELECT a.n, b.name FROM numbers a LEFT JOIN names b ON a.n = b.n"
    )
    expected = []
    for number in range(6):
        if number % 2:
            context.sql(f"INSERT INTO names VALUES ({number}, 'name {10**number}')").close()
        expected.append((number, f"name {10**number}" if number % 2 else None))
        put_numbers(folder, f"{number}.json", [number])
        until_numbers(context, range(number + 1))
    assert sorted(rows(context, "SELECT n, name FROM t"), key=str) == sorted(expected, key=str)


def test_a_table_beside_itself_as_it_was(context: sharkpy.SharkContext, folder: Path) -> None:
    """Two scans of tables of one name, which have other rows: without these they would be alike."""
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} AS SELECT n FROM numbers").close()
    text = "SELECT (SELECT sum(n) FROM t WHERE n > 0), (SELECT sum(n) FROM t FOR SYSTEM_VERSION AS OF 1 WHERE n > 0)"
    for number in range(1, 6):
        put_numbers(folder, f"{number}.json", [number])
        until_numbers(context, range(1, number + 1))
        assert rows(context, text) == [(sum(range(number + 1)), 1)]
