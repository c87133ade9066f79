from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ParseError, SharkError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.sql.binder import bind
from tests.sql.memory_catalog import make_catalog

_CATALOG = make_catalog()


def _error(text: str) -> SharkError:
    with pytest.raises(SharkError) as caught:
        bind(text, _CATALOG, Conf(), "default")
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("selct 1", 1, 1, 'near "selct": a statement expected'),
        ("select a,, b from t", 1, 10, "an item after the comma expected"),
        ("select a, from t", 1, 11, 'near "from": an item after the comma expected'),
        ("select from t", 1, 8, "a select list expected"),
        ("select a\nfrom t t2 t3", 2, 11, 'near "t3"'),
        ("select a from t where", 1, 22, "an operand of WHERE expected"),
        ("select a from t where a = 1 and", 1, 32, "at the end: an operand of AND expected"),
        ("select a from t group by", 1, 25, "an expression after GROUP BY expected"),
        ("select a from t order by", 1, 25, "at the end"),
        ("select (a from t", 1, 11, "expected"),
        ("select a from t)", 1, 16, 'near ")"'),
        ("select case when a b end from t", 1, 26, "THEN"),
        ("select case a else 1 end from t", 1, 26, "WHEN expected"),
        ("select a between 1 2 from t", 1, 20, "AND after the lower bound"),
        ("select a in () from t", 1, 14, "a value expected in IN ()"),
        ("select a in 1 from t", 1, 13, '"(" after IN expected'),
        ("select cast(a int) from t", 1, 15, "AS and a type expected"),
        ("select cast(a as) from t", 1, 17, "a type expected"),
        ("select cast(a as foo) from t", 1, 18, 'unknown type "foo"'),
        ("select * from t join", 1, 21, "expected"),
        ("select a from t,", 1, 17, "a table after the comma expected"),
        ("select a from t union", 1, 22, "expected"),
        ("select interval '3' foo", 1, 21, "a unit of time"),
        ("select sum(a) over (rows between 1 and 2) from t", 1, 36, "PRECEDING or FOLLOWING"),
        ("select 'abc", 1, 8, "not closed"),
        ("select 1 /* x", 1, 10, "not closed"),
        ("select a::5 from t", 1, 11, "unknown type"),
        ("select 1; select 2", 1, 9, "one statement expected"),
        ("create table z", 1, 15, "a list of columns or AS and a query"),
        ("create table z (a int,)", 1, 23, "a column name expected"),
        ("create table z (a)", 1, 18, "a type expected"),
        ("create table z (a int) stored as foo", 1, 34, "a file format"),
        ("create table z (a int) stored textfile", 1, 24, "STORED AS"),
        ("show foo", 1, 6, "DATABASES"),
        ("load data inpath 'x' into t", 1, 22, "INTO TABLE expected"),
        ("create or replace database d", 1, 19, "VIEW or TABLE expected after OR REPLACE"),
        ("show table t", 1, 12, "EXTENDED expected"),
        ("show table extended", 1, 20, "LIKE expected"),
        ("insert t select 1", 1, 8, "INTO or OVERWRITE expected"),
        ("insert into t", 1, 14, "a query or VALUES expected"),
        ("drop t", 1, 6, "TABLE, VIEW or DATABASE expected"),
        ("use", 1, 4, "a database name expected"),
        ("truncate table t extra", 1, 18, "should end here"),
        ("", 1, 1, "a statement expected"),
    ],
)
def test_syntax_errors_say_what_was_expected_where(text: str, line: int, column: int, message: str) -> None:
    error = _error(text)
    assert isinstance(error, ParseError)
    assert error.sqlstate == "42601"
    assert message in error.message
    assert (error.line, error.column) == (line, column)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("select a, transform(a) using 'cat' from t", "TRANSFORM"),
        ("select a from t where any (select x from u) = a", "ANY"),
        ("select row__id from t", "ROW__ID"),
        ("create temporary table z (a int) partitioned by (b int)", "PARTITIONED BY in CREATE TEMPORARY TABLE"),
        ("create table z (a int) stored as delta", "DELTA"),
        ("create table z (a int) row format serde 'com.x.Y'", "com.x.Y"),
        ("create table z (a int, primary key (a) enable)", "PRIMARY KEY with ENABLE"),
        ("alter table t archive partition (a=1)", "ALTER TABLE ARCHIVE"),
        ("create index i on t (a) as 'compact'", "CREATE INDEX"),
        ("grant select on t to user x", "GRANT"),
        ("lock table t shared", "LOCK"),
        ("create materialized view v as select 1", "CREATE MATERIALIZED VIEW"),
        ("alter resource plan p enable", "ALTER RESOURCE PLAN"),
        ("create scheduled query q cron '0 0 * * * ?' as select 1", "CREATE SCHEDULED QUERY"),
        ("abort transactions 1", "ABORT TRANSACTIONS"),
    ],
)
def test_known_constructs_are_refused_by_name(text: str, construct: str) -> None:
    error = _error(text)
    assert isinstance(error, UnsupportedError)
    assert error.sqlstate == "0A000"
    assert construct in error.message
    assert error.line is not None


_WORDS_TEXT = """
select from where group by order having a b t u ( ) , * . 1 'x' = < and or not in is null case when then else end
join left on using union all distinct limit over partition rows between create table view insert into values as
with lateral explode count sum cast int interval month date [ ] + - / % show tables describe drop if exists
"""
_WORDS = st.sampled_from(_WORDS_TEXT.split())


@settings(max_examples=400, deadline=None)
@given(st.lists(_WORDS, min_size=1, max_size=14))
def test_nonsense_gives_an_error_of_ours_or_a_statement(words: list[str]) -> None:
    try:
        bind(" ".join(words), _CATALOG, Conf(), "default")
    except SharkError as error:
        assert error.sqlstate not in ("XX000", "HY000")  # noqa: PT017  most of them bind


_QUERIES = (
    "select a, sum(c) over (partition by b order by d desc rows between 1 preceding and current row) from t "
    "where a in (1, 2)",
    "with x as (select a from t) select case when a > 1 then cast(a as string) else 'q' end from x join u using (a)",
    "insert overwrite table t (a, b) select k, cast(i as string) from n lateral view explode(items) e as i",
    "create external table z (a int comment 'x', b map<string,int>) "
    "row format delimited fields terminated by ',' location 'y'",
)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(_QUERIES),
    st.integers(0, 200),
    st.integers(0, 6),
    st.sampled_from(["", " ", ",", "(", ")", "'", "x "]),
)
def test_damaged_statements_give_an_error_of_ours(query: str, start: int, length: int, replacement: str) -> None:
    damaged = query[:start] + replacement + query[start + length :]
    try:
        bind(damaged, _CATALOG, Conf(), "default")
    except SharkError as error:
        assert error.sqlstate not in ("XX000", "HY000")  # noqa: PT017  most of them bind
