"""Variables in the text of statements."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ParseError
from sharkpy.base.settings import Conf
from sharkpy.sql.grammar.variables import substitute_variables

CONF = Conf({"hivevar:day": "2024-01-01", "hivevar:where": "ds = '${day}'", "my.key": "7", "hivevar:a": "${b}"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", "select 1"),
        ("select '${day}'", "select '2024-01-01'"),
        ("select '${hivevar:day}', ${hiveconf:my.key}", "select '2024-01-01', 7"),
        ("select * from t where ${where}", "select * from t where ds = '2024-01-01'"),
        ("${my.key} ${hiveconf:day} ${nothing} ${env:HOME}", "${my.key} ${hiveconf:day} ${nothing} ${env:HOME}"),
        ("${a}", "${b}"),
        ("'$day' {day} ${ day}", "'$day' {day} ${ day}"),
        ("${hiveconf:shark.block.rows}", "1000000"),
    ],
)
def test_values_take_the_place_of_names(text: str, expected: str) -> None:
    assert substitute_variables(text, CONF) == expected


@pytest.mark.variants(3)
@pytest.mark.parametrize("value", ["${x}", "${x}${x}", "${y}"])
def test_values_without_end_are_refused(value: str) -> None:
    conf = Conf({"hivevar:x": value, "hivevar:y": "1${x}"})
    if value == "${x}":
        assert substitute_variables("${x}", conf) == "${x}"
        return
    with pytest.raises(ParseError, match="without end"):
        substitute_variables("${x}", conf)


def test_sessions_have_variables_of_their_own(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as one, one.new_session() as other:
        one.sql("SET hivevar:n=41")
        other.sql("SET hivevar:n=1")
        one.sql("SET hiveconf:my.step=1")
        one.sql("SET my.sum=${n} + ${hiveconf:my.step}")
        assert one.sql("SELECT ${hiveconf:my.sum} AS x").fetchall() == [(42,)]
        assert other.sql("SELECT ${n} + 1 AS x").fetchall() == [(2,)]
