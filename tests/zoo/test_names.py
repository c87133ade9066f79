"""Odd names of columns and of fields, in every kind of store: written, changed, loaded and read."""

from __future__ import annotations

import pytest

import sharkpy
from tests.zoo.test_zoo import LAKES, STORES

_NAMES = (
    "UserId",
    "select",
    "from",
    "with space",
    " blanks ",
    "with.dot",
    "ünï",
    "a-b",
    "1st",
    'a"b',
    "a,b",
    "_x",
    "$d",
    "a:b",
    "a;b",
    "%41",
    "x" * 120,
    "it's",
    "a=b",
    "(p)",
    "tab\tname",
    "a\\b",
    "__index",
    "col{0}",
    "<t>",
)


@pytest.mark.variants(3)
@pytest.mark.parametrize("store", STORES)
def test_odd_names(context: sharkpy.SharkContext, store: str) -> None:
    if store in LAKES:
        pytest.importorskip(LAKES[store], reason=f"the extra {store} is not installed")
    table, fields = f"names_{store}", "" if store == "csv" else ", ".join(f"`{name}`:INT" for name in _NAMES)
    columns = ", ".join(f"`{name}` INT" for name in _NAMES)
    struct = f", s STRUCT<{fields}>, l ARRAY<STRUCT<{fields}>>" if fields else ""
    values = ", ".join(str(number) for number in range(len(_NAMES)))
    pairs = ", ".join(f"'f{number}', {number}" for number in range(len(_NAMES)))
    nested = f", named_struct({pairs}), array(named_struct({pairs}))" if fields else ""
    context.sql(f"CREATE TABLE {table} (k INT, {columns}{struct}) {STORES[store]}")
    context.sql(f"INSERT INTO {table} SELECT 1, {values}{nested}")
    context.sql(f"INSERT INTO {table} (k, `UserId`) VALUES (2, 7)")
    places = ["`{0}`", f"{table}.`{{0}}`", *(["s.`{0}`", "l[0].`{0}`"] if fields else [])]
    wanted = [place.replace("{0}", name) for place in places for name in _NAMES]
    expected = tuple(range(len(_NAMES))) * len(places)
    for statement in (
        f"INSERT OVERWRITE TABLE {table} SELECT * FROM {table}",
        f"UPDATE {table} SET `with.dot` = `with.dot` + 0, k = 1 WHERE `select` = 1",
        f"CACHE TABLE {table}",
    ):
        context.sql(statement)
        found = context.sql(f"SELECT {', '.join(wanted)} FROM {table} WHERE k = 1 AND `it's` >= 0").fetchall()
        assert [tuple(row) for row in found] == [expected], statement
