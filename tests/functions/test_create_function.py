"""CREATE, DROP, RELOAD, SHOW and DESCRIBE of users' functions; resources; the right to bring code."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, FunctionNotFoundError, NotAllowedError, SharkError
from sharkpy.execution import function_loader
from sharkpy.execution.restrictions import Restrictions
from tests.functions import users_functions
from tests.rows import rows

SOURCE = users_functions.__file__ or ""


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as opened:
        yield opened


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module that can be imported from nowhere."""
    path = tmp_path / "my_functions.py"
    path.write_text("def tripled(x: int) -> int:\n    return 3 * x\n")
    return path


def create(name: str, attribute: str, *, temporary: bool = True, clause: str = "") -> str:
    kind = "TEMPORARY FUNCTION" if temporary else "FUNCTION"
    return f"CREATE {kind} {clause} {name} AS 'users_functions.{attribute}' USING FILE '{SOURCE}'"


def test_temporary(context: sharkpy.SharkContext) -> None:
    context.sql(create("twice", "twice"))
    assert rows(context, "SELECT twice(1.5), Twice(NULL)") == [(3.0, None)]
    assert rows(context, "SHOW FUNCTIONS LIKE 'twic*'") == [("twice",)]
    context.sql("DROP TEMPORARY FUNCTION twice")
    with pytest.raises(FunctionNotFoundError):
        context.sql("SELECT twice(1)")


def test_a_module_that_python_finds(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TEMPORARY FUNCTION steps AS 'tests.functions.users_functions.collatz'")
    assert rows(context, "SELECT steps(7)") == [(16,)]


def test_a_file_that_the_session_was_told_of(context: sharkpy.SharkContext, module: Path) -> None:
    context.sql(f"ADD FILE {module}")
    assert rows(context, "LIST FILES") == [(str(module),)]
    context.sql("CREATE TEMPORARY FUNCTION tripled AS 'my_functions.tripled'")
    assert rows(context, "SELECT tripled(2)") == [(6,)]
    context.sql(f"DELETE FILE {module}")
    assert rows(context, "LIST FILES") == []


def test_permanent_ones_belong_to_a_database(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE DATABASE d")
    context.sql(create("d.twice", "twice", temporary=False))
    assert rows(context, "SELECT d.twice(2), D.`twice`(id) FROM (SELECT 4 AS id) t") == [(4.0, 8.0)]
    with pytest.raises(FunctionNotFoundError, match='no function "twice"'):
        context.sql("SELECT twice(1)")
    context.sql("USE d")
    assert rows(context, "SELECT twice(2)") == [(4.0,)]
    assert rows(context, "SHOW FUNCTIONS LIKE 'd.*'") == [("d.twice",)]
    with pytest.raises(BindError, match="not empty"):
        context.sql("DROP DATABASE d")
    context.sql("DROP DATABASE d CASCADE")
    assert rows(context, "SHOW FUNCTIONS LIKE 'd.*'") == []


def test_functions_in_sql_outlive_the_session(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as first:
        first.sql("CREATE FUNCTION next(x INT, s STRUCT<a:INT>) RETURNS BIGINT RETURN x + s.a")
        first.sql("CREATE FUNCTION both(x INT) RETURNS TABLE (a INT) RETURN VALUES (x), (x + 1)")
    with sharkpy.connect("local[2]", tmp_path / "w") as second:
        assert rows(second, "SELECT next(2, named_struct('a', 5))") == [(7,)]
        assert rows(second, "SELECT a FROM both(3) ORDER BY a") == [(3,), (4,)]
        assert rows(second, "DESCRIBE FUNCTION EXTENDED next")[0] == ("next - function in SQL",)
        second.sql("CREATE OR REPLACE FUNCTION next(x INT, s STRUCT<a:INT>) RETURNS INT RETURN x")
        assert rows(second, "SELECT next(2, named_struct('a', 5))") == [(2,)]


def test_calls_of_functions_in_sql_are_bounded(tmp_path: Path) -> None:
    """Each function calls the one before twice."""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql(f"CREATE FUNCTION f0(x INT) RETURNS INT RETURN size(array({', '.join(['x'] * 1000)}))")

        def double(number: int) -> None:
            context.sql(f"CREATE FUNCTION f{number}(x INT) RETURN f{number - 1}(x) + f{number - 1}(x)")

        with pytest.raises(SharkError, match="more than 500,000 expressions"):
            deque(map(double, range(1, 12)), maxlen=0)


def test_permanent_ones_outlive_the_session(tmp_path: Path, module: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as first:
        first.sql(f"CREATE FUNCTION tripled AS 'my_functions.tripled' USING FILE '{module}'")
    with sharkpy.connect("local[2]", tmp_path / "w") as second:
        assert rows(second, "SELECT tripled(2)") == [(6,)]
        module.write_text("def tripled(x: int) -> int:\n    return 30 * x\n")
        assert rows(second, "SELECT tripled(2)") == [(6,)]
        second.sql("RELOAD FUNCTIONS")
        assert rows(second, "SELECT tripled(2)") == [(60,)]
        module.unlink()
        second.sql("RELOAD FUNCTION")
        with pytest.raises(SharkError, match="there is no such file"):
            second.sql("SELECT tripled(2)")


def test_other_kinds(context: sharkpy.SharkContext) -> None:
    context.sql(create("mean", "GeometricMean"))
    context.sql(create("words", "words"))
    assert rows(context, "SELECT mean(x) FROM (SELECT explode(array(2, 8)) AS x) t") == [(pytest.approx(4.0),)]
    assert rows(context, "SELECT words('a b')") == [("a", 0), ("b", 1)]


def test_temporary_ones_shadow(context: sharkpy.SharkContext) -> None:
    """Functions of the catalog do not shadow built-in ones: they are called by their qualified name."""
    context.sql(create("length", "twice"))
    assert rows(context, "SELECT length(5)") == [(10.0,)]
    context.sql("DROP TEMPORARY FUNCTION length")
    context.sql(create("length", "twice", temporary=False))
    assert rows(context, "SELECT length('five!'), default.length(5)") == [(5, 10.0)]


def test_existing_and_missing(context: sharkpy.SharkContext) -> None:
    context.sql(create("f", "twice", temporary=False))
    with pytest.raises(BindError, match=r'function "default\.f" already exists') as raised:
        context.sql(create("f", "collatz", temporary=False))
    assert raised.value.sqlstate == "42723"
    context.sql(create("f", "collatz", temporary=False, clause="IF NOT EXISTS"))
    assert rows(context, "SELECT f(7)") == [(14.0,)]
    context.sql(create("f", "collatz", temporary=False).replace("CREATE", "CREATE OR REPLACE", 1))
    assert rows(context, "SELECT f(7)") == [(16,)]
    context.sql("DROP FUNCTION f")
    context.sql("DROP FUNCTION f")
    context.sql("SET hive.exec.drop.ignorenonexistent=false")
    context.sql("DROP FUNCTION IF EXISTS f")
    with pytest.raises(FunctionNotFoundError):
        context.sql("DROP FUNCTION f")
    with pytest.raises(FunctionNotFoundError):
        context.sql("DROP TEMPORARY FUNCTION f")
    with pytest.raises(BindError, match='"upper" is a built-in function'):
        context.sql("DROP FUNCTION upper")


def test_described(context: sharkpy.SharkContext) -> None:
    context.sql(create("steps", "collatz"))
    context.sql(create("shown", "shown"))
    context.sql(create("twice", "twice", temporary=False))
    assert rows(context, "DESCRIBE FUNCTION steps") == [("steps - Steps to one.",)]
    extended = rows(context, "DESCRIBE FUNCTION EXTENDED steps")
    assert extended[1:3] == [
        ("Signature: steps(bigint) returns bigint",),
        ("Python, row by row, compiled by numba",),
    ]
    assert (
        "Python, row by row, interpreted: only functions of numbers that are not called with NULLs are compiled",
    ) in (rows(context, "DESCRIBE FUNCTION EXTENDED shown"))
    assert ("Python, over NumPy arrays, interpreted",) in rows(context, "DESCRIBE FUNCTION EXTENDED default.twice")


BAD = [
    ("'users_functions.nothing'", "42000", 'module "users_functions" has no "nothing"'),
    ("'users_functions.NOT_CALLABLE'", "42000", "cannot be made of 3"),
    ("'users_functions.untyped'", "42000", 'does not say the type of its argument "n"'),
    ("'users_functions.unknown_type'", "42000", "is not a type that its argument"),
    ("'users_functions.NoFinish'", "42000", "class NoFinish has no method finish"),
    ("'nowhere.to.be_found'", "42883", "nowhere.to.be_found"),
    ("'nothing'", "42883", '"nothing"'),
]


@pytest.mark.variants(3)
@pytest.mark.parametrize(("target", "sqlstate", "said"), BAD, ids=[target for target, *_ in BAD])
def test_bad_targets(context: sharkpy.SharkContext, target: str, sqlstate: str, said: str) -> None:
    with pytest.raises(BindError, match=said) as raised:
        context.sql(f"CREATE FUNCTION f AS {target} USING FILE '{SOURCE}'")
    assert raised.value.sqlstate == sqlstate
    assert rows(context, "SHOW FUNCTIONS LIKE 'default.f'") == []


def test_a_module_that_fails(context: sharkpy.SharkContext, module: Path) -> None:
    module.write_text("raise RuntimeError('not today')")
    with pytest.raises(BindError, match=r'"my_functions\.f" cannot be imported: not today'):
        context.sql(f"CREATE TEMPORARY FUNCTION f AS 'my_functions.f' USING FILE '{module}'")


STATEMENTS = [
    ("CREATE TEMPORARY FUNCTION d.f AS 'a.b'", "a temporary function is in no database"),
    ("CREATE FUNCTION nowhere.f AS 'a.b'", "Database not found nowhere"),
    ("CREATE FUNCTION f", "AS expected"),
    ("CREATE FUNCTION f AS a.b", "module.name or a Java class in quotes expected"),
    ("CREATE FUNCTION f AS 'a.b' USING '/x'", "JAR, FILE or ARCHIVE expected"),
    ("CREATE OR REPLACE FUNCTION IF NOT EXISTS f AS 'a.b'", "either OR REPLACE or IF NOT EXISTS"),
    ("CREATE FUNCTION f AS 'a.b' USING JAR '/nowhere.jar'", "there is no such file"),
    ("ADD JAR /nowhere.jar", "there is no such file"),
    ("ADD JAR", "a path expected"),
    ("ADD THING /x", "JAR, JARS, FILE"),
    ("DROP TEMPORARY TABLE x", "TABLE, VIEW or DATABASE expected"),
]


@pytest.mark.parametrize(("sql", "said"), STATEMENTS, ids=range(len(STATEMENTS)))
def test_bad_statements(context: sharkpy.SharkContext, sql: str, said: str) -> None:
    with pytest.raises(SharkError, match=said):
        context.sql(sql)


def test_remote_sessions_bring_no_code(context: sharkpy.SharkContext, module: Path, tmp_path: Path) -> None:
    context.sql(create("twice", "twice", temporary=False))
    guest = context.new_session()
    guest.restrictions = Restrictions((tmp_path,), refuses_code=True)
    jar = tmp_path / "x.jar"
    jar.touch()
    for sql in (
        create("f", "twice"),
        create("f", "twice", temporary=False),
        "DROP FUNCTION twice",
        f"ADD JAR {jar}",
        "SELECT reflect('java.lang.Math', 'max', 2, 3)",
    ):
        with pytest.raises(NotAllowedError, match="not allowed in this session"):
            guest.sql(sql)
    assert rows(guest, "SELECT twice(2)") == [(4.0,)]
    guest.sql("CREATE TEMPORARY MACRO half(x DOUBLE) x / 2")
    assert rows(guest, "SELECT half(3)") == [(1.5,)]
    with pytest.raises(NotAllowedError, match="out of this session"):
        guest.sql(f"ADD FILE {os.devnull}")


def test_without_jpype(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_loader, "is_available", lambda: False)
    with pytest.raises(BindError, match="Java classes need the missing package JPype1") as raised:
        context.sql("CREATE TEMPORARY FUNCTION f AS 'com.example.F'")
    assert raised.value.hint == 'run: pip install "sharkpy[java]"'
