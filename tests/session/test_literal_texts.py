"""A literal means the same in every form of query, whatever characters it holds and however it is written."""

from __future__ import annotations

import contextlib

import pytest

import sharkpy
from sharkpy.dbapi import Connection

CONTROLS = "".join(map(chr, [*range(32), 127]))
LINE_ENDS = "\n \r \r\n \x0b \x0c \x1c \x1d \x1e \x85 \u2028 \u2029"
MARKUP = "/*over*/ /*distinct*/ /*nulls*/ -- {0} {{}} %s %(x)s $1 ? :name @v `q` \"d\" 'q' ''x '' \\ \\n ;"
OTHERS = "\u00a0\ufeff\u200b\ufffd é e\u0301 ß İ \U0001f469\u200d\U0001f680 \U0010ffff"
TEXTS = {"controls": f"a{CONTROLS}z", "line ends": f" {LINE_ENDS}\n", "markup": MARKUP, "others": OTHERS}
CHARACTERS = sorted({*CONTROLS, *LINE_ENDS, *OTHERS, "'", '"', "`", "\\", "{", "}", "%", "$", "?", ":", ";", "#", "@"})

# {0} is the literal; each form gives the rows after it; `v` means the literal's value.
FORMS = {
    "plain": ("SELECT {0}", "v"),
    "where": ("SELECT p FROM m WHERE p = {0}", "v"),
    "count": ("SELECT count(*) FROM m WHERE p = {0}", 1),
    "in": ("SELECT count(*) FROM m WHERE p IN ('other', {0})", 1),
    "in subquery": ("SELECT count(*) FROM m WHERE p IN (SELECT max(p) FROM m WHERE p = {0})", 1),
    "nested": ("SELECT x FROM (SELECT concat({0}, '') AS x, row_number() OVER (ORDER BY p) AS r FROM m) t", "v"),
    "group key": ("SELECT concat(p, {0}) AS k, count(*) FROM m GROUP BY concat(p, {0})", "vv"),
    "constant key": ("SELECT k FROM (SELECT {0} AS k, count(*) AS c FROM m GROUP BY {0}) t WHERE c = 1", "v"),
    "having": ("SELECT max(p) FROM m GROUP BY n HAVING max(p) = {0}", "v"),
    "aggregate": ("SELECT max(concat({0}, n)) FROM m", "v1"),
    "filtered aggregate": ("SELECT count(*) FILTER (WHERE p = {0}), max(p) FROM m", 1),
    "distinct": ("SELECT DISTINCT concat({0}, p) FROM m", "vv"),
    "listagg": ("SELECT listagg('k', {0}) FROM (SELECT 1 UNION ALL SELECT 2) t", "kvk"),
    "window": ("SELECT max({0}) OVER (PARTITION BY concat(p, {0})) FROM m", "v"),
    "lag": ("SELECT lag(p, 1, {0}) OVER (ORDER BY n) FROM m", "v"),
    "join": ("SELECT a.p FROM m a JOIN m b ON a.p = b.p AND concat(b.p, {0}) = concat({0}, a.p)", "v"),
    "outer join": ("SELECT coalesce(b.p, {0}) FROM m a LEFT JOIN m b ON a.n = b.n + 9", "v"),
    "exists": ("SELECT count(*) FROM m a WHERE EXISTS (SELECT 1 FROM m b WHERE b.n = a.n AND b.p = {0})", 1),
    "scalar subquery": ("SELECT (SELECT max(p) FROM m WHERE p = {0})", "v"),
    "union": ("SELECT max(x) FROM (SELECT {0} AS x UNION ALL SELECT {0} UNION SELECT p FROM m) t", "v"),
    "cte": ("WITH c AS (SELECT {0} AS x, count(*) AS c FROM m) SELECT a.x FROM c a JOIN c b ON a.x = b.x", "v"),
    "case": ("SELECT CASE max(p) WHEN {0} THEN {0} ELSE 'no' END FROM m", "v"),
    "order": ("SELECT p FROM m ORDER BY p = {0}, concat({0}, p) LIMIT 1", "v"),
    "explode": ("SELECT x FROM m LATERAL VIEW explode(array({0})) t AS x WHERE x = p", "v"),
    "struct": ("SELECT max(named_struct('f', {0})).f FROM m", "v"),
    "map": ("SELECT max(map({0}, {0})[{0}]) FROM m", "v"),
    "lambda": ("SELECT transform(array(max(p)), x -> concat(x, {0}))[0] FROM m", "vv"),
    "like": ("SELECT count(*) FROM m WHERE instr(p, {0}) = 1 AND replace(p, {0}, '') = ''", 1),
    "values": ("SELECT max(x) FROM (VALUES ({0}), (NULL)) AS t (x)", "v"),
    "grouping sets": ("SELECT max({0}) FROM m GROUP BY p, n GROUPING SETS ((p, n))", "v"),
}


def raw(value: str) -> str:
    """`value` as a literal whose characters stand for themselves, except the characters that the grammar needs."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def escaped(value: str) -> str:
    """`value` as a literal with only escapes."""
    units = value.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "'" + "".join(f"\\u{code:04x}" for code in codes) + "'"


def check(context: sharkpy.SharkContext, value: str, literal: str, forms: dict[str, tuple[str, object]]) -> None:
    for name, (form, expected) in forms.items():
        wanted = expected.replace("v", value) if isinstance(expected, str) else expected
        [row, *rest] = context.sql(form.replace("{0}", literal)).fetchall()
        assert (row[0], rest) == (wanted, []), name


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("write", [raw, escaped])
def test_forms(context: sharkpy.SharkContext, name: str, write: object) -> None:
    value = TEXTS[name]
    assert callable(write)
    literal = write(value)
    for storage in ("STORED AS PARQUET", "TBLPROPERTIES ('shark.cache' = 'MEMORY')"):
        context.sql("DROP TABLE IF EXISTS m").close()
        context.sql(f"CREATE TABLE m {storage} AS SELECT CAST(1 AS INT) AS n, {literal} AS p").close()
        check(context, value, literal, FORMS)


def test_views_and_written_rows(context: sharkpy.SharkContext) -> None:
    for name, value in TEXTS.items():
        literal = raw(value)
        context.sql(f"CREATE OR REPLACE VIEW kept AS SELECT {literal} AS x, count(*) AS c FROM (SELECT {literal}) t")
        assert context.sql("SELECT x, c FROM kept").fetchall() == [(value, 1)], name
        context.sql("DROP TABLE IF EXISTS grouped").close()
        context.sql(
            f"CREATE TABLE grouped AS SELECT x FROM (SELECT 1) t LATERAL VIEW explode(array({literal})) u AS x "
            f"GROUP BY x, concat(x, {literal})"
        ).close()
        context.sql(f"INSERT INTO grouped SELECT max({literal})").close()
        assert context.sql("SELECT x FROM grouped").fetchall() == [(value,), (value,)], name


def test_parameters(context: sharkpy.SharkContext) -> None:
    with contextlib.closing(Connection(context.new_session())) as connection:
        for value in [*TEXTS.values(), *CHARACTERS]:
            cursor = connection.execute("SELECT count(*), max(x) FROM (SELECT ? AS x) t WHERE x = ?", [value, value])
            assert cursor.fetchall() == [(1, value)]


def test_names(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE m STORED AS PARQUET AS SELECT CAST(1 AS INT) AS n").close()
    for value in TEXTS.values():
        name = value.replace("\0", "").replace("`", "``")
        text = (
            f"SELECT max(`{name}`) AS `{name}`, max(s) FROM (SELECT n AS `{name}`, named_struct('f', n) AS s FROM m) t"
        )
        result = context.sql(f"SELECT * FROM ({text} GROUP BY `{name}`) u")
        assert result.columns[0] == value.replace("\0", "").lower()
        assert result.fetchall() == [(1, {"f": 1})]


@pytest.mark.slow
def test_each_character(context: sharkpy.SharkContext) -> None:
    for character in CHARACTERS:
        for value in (character, f"a{character}\n{character}b"):
            literal = raw(value)
            context.sql("DROP TABLE IF EXISTS m").close()
            context.sql(f"CREATE TABLE m STORED AS PARQUET AS SELECT CAST(1 AS INT) AS n, {literal} AS p").close()
            check(context, value, literal, FORMS)
