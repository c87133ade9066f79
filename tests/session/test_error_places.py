"""Errors that a statement meets while it runs name the place of their subject in the text."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("create table t (a int)", (1, 14)),
        ("create table\n  default.t (a int)", (2, 11)),
        ("load data local inpath '/no/such/file' into table t", (1, 24)),
        ("drop database nosuch", (1, 15)),
        ("set shark.placement.driver = maybe", (1, 30)),
        ("select a rlike '[' from t", (1, 16)),
        ("create function f as 'no.such'", (1, 22)),
    ],
)
def test_place(tmp_path: Path, text: str, place: tuple[int, int]) -> None:
    with sharkpy.connect("local[1]", tmp_path / "warehouse") as context:
        context.sql("create table t (a string)")
        context.sql("insert into t values ('x')")
        with pytest.raises(sharkpy.SharkError) as caught:
            context.sql(text).fetchall()
    assert (caught.value.line, caught.value.column) == place
