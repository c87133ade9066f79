"""List of ended statements: choices, orders, pages, records of earlier engines, and a hundred thousand statements."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sharkpy.catalog import statement_list
from sharkpy.catalog.statement_list import StatementChoice
from sharkpy.catalog.statement_records import StatementFile, StatementRecord, StatementState
from sharkpy.catalog.statement_shapes import shape_number, shape_of
from tests.examples import examples

BEGAN = time.time() - 200_000.0
WORDS = ("price", "quantity", "customer", "region", "revenue", "orders", "lineitem", "ship_date", "nation", "total")


def record(number: int, **changes: object) -> StatementRecord:
    choose = random.Random(number)
    words = choose.choices(WORDS, k=20)
    made = StatementRecord(
        query_id=f"q{number:06d}",
        kind="SELECT",
        text=f"SELECT {', '.join(words[:12])} FROM {words[12]} WHERE {words[13]} > {choose.random()} LIMIT {number}",
        user=f"user{number % 20}",
        session="s",
        state=choose.choice([StatementState.FINISHED, StatementState.FINISHED, StatementState.FAILED]),
        started=datetime.fromtimestamp(BEGAN + number, UTC),
        seconds=choose.choice([0.5, 1.0, choose.random() * 10]),
        queued_seconds=0.0,
        running_seconds=0.0,
        rows_read=choose.randrange(5),
        rows_written=0,
        plan="plan " * 200,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def listed(choice: StatementChoice, records: list[StatementRecord]) -> list[StatementRecord]:
    """Return what a list has of records."""
    return [replace(one, plan="") for one in choice.sorted([one for one in records if choice.has(one)])]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> tuple[StatementFile, list[StatementRecord]]:
    file = StatementFile(str(tmp_path_factory.mktemp("few") / "few.sqlite"), 10**6, 10**4)
    records = [record(number) for number in range(300)]
    file.append(records)
    return file, records


CHOICES = st.builds(
    StatementChoice,
    states=st.frozensets(st.sampled_from(["finished", "failed", "closed"]), max_size=2),
    user=st.sampled_from([None, None, "user3", "nobody"]),
    text=st.sampled_from(["", "", "PRICE", "imit 29", "ship_date", "e", "'", "%", '"', "limit 1"]),
    since=st.one_of(st.none(), st.floats(BEGAN, BEGAN + 300)),
    until=st.one_of(st.none(), st.floats(BEGAN, BEGAN + 300)),
    sort=st.sampled_from(["started", "seconds", "rows_read", "cpu_seconds"]),
    is_descending=st.booleans(),
    limit=st.integers(1, 40),
)


@given(choice=CHOICES)
@hypothesis_settings(max_examples=examples(200), deadline=None)
def test_the_file_chooses_as_the_records_do(
    few: tuple[StatementFile, list[StatementRecord]], choice: StatementChoice
) -> None:
    file, records = few
    for _ in range(3):
        found = file.chosen(choice)
        assert found == listed(choice, records)
        if not found:
            break
        choice = replace(choice, after=choice.key(found[-1]))


@pytest.mark.parametrize("text", ["price", "PRICE", "limit 1", "ship_date", "é", "a%b_c\\d", "%", "\\", "e_"])
def test_frequent_and_rare_texts_alike(
    few: tuple[StatementFile, list[StatementRecord]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(statement_list, "_RARE", 3)
    file, records = StatementFile(str(tmp_path / "texts.sqlite"), 10**6, 10**4), few[1][:200]
    records = [*records, *(record(1000 + number, text=f"SELECT 'a%b_c\\d é' + {number}") for number in range(9))]
    file.append(records)
    for sort in ("started", "seconds", "cpu_seconds"):
        choice = StatementChoice(text=text, sort=sort, limit=500)
        assert file.chosen(choice) == listed(choice, records)


def test_records_of_earlier_engines_are_added(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    file = StatementFile(str(path), 10**6, 10**4)
    file.append([record(number) for number in range(500)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE statement_search_")
        connection.execute("DROP TABLE statement_list_")
    assert file.chosen(StatementChoice()) == []
    for number in range(500, 504):
        file.append([record(number)])
    everything = file.chosen(StatementChoice(limit=1_000))
    assert [one.query_id for one in everything] == [f"q{number:06d}" for number in reversed(range(504))]
    assert file.chosen(StatementChoice(text="limit 77")) == [record(77, plan="")]


def test_a_list_without_a_column_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    file = StatementFile(str(path), 10**6, 10**4)
    file.append([record(1)])
    with closing(sqlite3.connect(path)) as connection:
        for index in ("all", "own"):
            connection.execute(f"DROP INDEX statement_list_{index}")
        connection.execute("ALTER TABLE statement_list_ DROP COLUMN peak_bytes")
    file.append([record(2)])
    assert len(file.chosen(StatementChoice(sort="peak_bytes"))) == 2


def test_dropped_records_leave_the_list(tmp_path: Path) -> None:
    path = tmp_path / "dropped.sqlite"
    file = StatementFile(str(path), 10, 10**4)
    for number in range(30):
        file.append([record(number)])
    file.append([record(29, seconds=77.0)])
    found = file.chosen(StatementChoice(limit=100))
    assert [one.query_id for one in found] == [f"q{number:06d}" for number in reversed(range(20 + 1, 30))]
    assert found[0].seconds == 77.0
    with closing(sqlite3.connect(path)) as connection:
        for table in ("statement_list_", "statement_search_"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (len(found),)
        connection.execute("INSERT INTO statement_search_ (statement_search_) VALUES ('integrity-check')")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("select 1;", "select ?"),
        ("SELECT  a1,\n`b 2`, 1.5e-3, .5, 10L -- one\n/* two */ FROM t2", "SELECT a1, `b 2`, ?, ?, ? FROM t2"),
        ("SELECT 'it''s', \"x\\\"y\", 'a\\'b'", "SELECT ?, ?, ?"),
        ("x IN (1, 2,3) AND y IN ('a')", "x IN (?) AND y IN (?)"),
        ("INSERT INTO t VALUES (1, 'a'), (2, 'b'),\n(3, 'c')", "INSERT INTO t VALUES (?)"),
        ("SELECT 'not ended", "SELECT ?"),
        ("SELECT /* not ended", "SELECT"),
        ("", ""),
    ],
)
def test_shapes(text: str, shape: str) -> None:
    assert shape_of(text) == shape


def test_shapes_ignore_case_and_take_linear_time() -> None:
    assert shape_number("SELECT A FROM t WHERE b = 1") == shape_number("select a  from T where B = 22")
    assert shape_number("SELECT a") != shape_number("SELECT b")
    for hostile in ("'", "\\'", "/*", "(?,", "1.", "1e", "--", "((", " \n", "`", "1,", "?,"):
        began = time.process_time()
        shape_of(hostile * 4_000)
        assert time.process_time() - began < 1.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_thousand_statements(tmp_path: Path) -> None:
    file = StatementFile(str(tmp_path / "many.sqlite"), 10**6, 10**4)
    for start in range(0, 100_000, 10_000):
        file.append([record(number) for number in range(start, start + 10_000)])
    for choice in (
        StatementChoice(),
        StatementChoice(sort="seconds", states=frozenset({"failed"})),
        StatementChoice(sort="rows_read", is_descending=False, after=(2.0, "q050000")),
        StatementChoice(user="user7", sort="seconds"),
        StatementChoice(user="nobody"),
        StatementChoice(text="LIMIT 4711"),
        StatementChoice(text="nothing has this"),
        StatementChoice(text="price", sort="seconds"),
        StatementChoice(since=BEGAN + 50_000, until=BEGAN + 50_010),
    ):
        taken = min(_seconds(file, choice) for _ in range(5))
        assert taken < 0.1, f"{taken} s for {choice}"


def _seconds(file: StatementFile, choice: StatementChoice) -> float:
    """Return the seconds that this thread computed: a busy machine does not count."""
    began = time.thread_time()
    file.chosen(choice)
    return time.thread_time() - began
