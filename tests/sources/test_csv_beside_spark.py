"""USING csv, compared with Spark: the same statements over the same files give the same rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sharkpy
from tests.sources.csv_cases import CASES, WRITES, Answer, Case, Write, recorded, spark_answers, texts, using

OURS: dict[str, Answer] = {
    # CHAR is Hive's: without blanks after it, and cut.
    "characters": [["abc", "abc"], ["abcd", "abcdef"]],
    # Names have no case.
    "told_names": [
        *([name, "string"] for name in ("x0", "y z", "x2", "_c3", "_c4")),
        ["1", "2", "3", "4", "5"],
    ],
    # Spark takes the first line break of a file for its line end, though it is in quotes.
    "written_lines": [["1", "a\nb"], ["2", 'c\r\nd "e"']],
}
"""Case -> our answer, if it differs from Spark's."""


def run(context: sharkpy.SharkContext, sql: str) -> pa.Table:
    with context.sql(sql) as result:
        return result.to_arrow()


@pytest.mark.variants(3)
@pytest.mark.parametrize("case", [*CASES, *WRITES], ids=lambda case: case.name)
def test_answers_are_spark_s(context: sharkpy.SharkContext, tmp_path: Path, case: Case | Write) -> None:
    found = case.answer(lambda sql: run(context, sql), tmp_path)
    assert found == OURS.get(case.name, recorded()[case.name])


@pytest.mark.variants(3)
@pytest.mark.parametrize("case", [case for case in CASES if case.columns], ids=lambda case: case.name)
def test_any_columns_give_the_same_rows(context: sharkpy.SharkContext, tmp_path: Path, case: Case) -> None:
    """The quick reader and the slow one, and rows without columns, agree on the number of rows."""
    case.answer(lambda sql: run(context, sql), tmp_path)
    whole = run(context, f"SELECT * FROM csv_{case.name}").num_rows
    assert texts(run(context, f"SELECT count(*) FROM csv_{case.name}")) == [[str(whole)]]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_record_is_what_spark_says(tmp_path: Path) -> None:
    assert spark_answers(tmp_path) == recorded()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_files_go_to_spark_and_back(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Files of either engine have the same rows in the other."""
    from tests.slt.engines import SparkEngine

    engine = SparkEngine()
    engine.open()
    try:
        for writer, reader, name in ((engine.run, None, "theirs"), (None, engine.run, "ours")):
            write, read = (one or (lambda sql: run(context, sql)) for one in (writer, reader))
            for case in (one for one in WRITES if one.name not in OURS):
                folder = tmp_path / name
                own = case.answer(write, folder)
                table = f"crossed_{case.name}"
                # Rows that are added here are in a folder of their own.
                place = next((folder / case.name).glob("delta_*"), folder / case.name)
                read(f"DROP TABLE IF EXISTS {table}")
                read(f"CREATE TABLE {table} ({case.columns}) {using(case.options)} LOCATION '{place}'")
                assert sorted(texts(read(f"SELECT * FROM {table}")), key=str) == own, (name, case.name)
    finally:
        engine.close()


def test_every_case_is_on_record() -> None:
    assert set(recorded()) == {case.name for case in (*CASES, *WRITES)}
