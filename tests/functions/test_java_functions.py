"""Hive's functions in Java, from a JAR that javac makes here, in the driver and as RDD tasks."""

from __future__ import annotations

import datetime
import decimal
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ExecutionError, SharkError, TypeMismatchError
from tests.rows import rows
from tests.waiting import allowed

pytestmark = [
    pytest.mark.skipif(shutil.which("javac") is None, reason="there is no javac to make a JAR with"),
    pytest.mark.skipif(importlib.util.find_spec("jpype") is None, reason="JPype is not installed"),
]
HIVE = "org.apache.hadoop.hive.ql.udf.generic"
HIVES = {
    "hive_percentile": "GenericUDAFPercentileApprox",
    "hive_plus": "GenericUDFOPPlus",
    "hive_sum": "GenericUDAFSum",
    "hive_stack": "GenericUDTFStack",
}

SOURCES = {
    "Mixed": """
import java.util.*;
import org.apache.hadoop.hive.ql.exec.UDF;
import org.apache.hadoop.io.*;
public class Mixed extends UDF {
  public Integer evaluate(Integer a, Integer b) { return a == null || b == null ? null : a + b; }
  public Text evaluate(Text text) {
    if (text != null && text.toString().equals("d")) throw new IllegalStateException("no d please");
    return text == null ? null : new Text(text.toString() + "!");
  }
  public List<String> evaluate(List<String> items) { Collections.reverse(items); return items; }
  public double evaluate(double first, double second, double third) { return first + second * third; }
}""",
    "Counted": """
import org.apache.hadoop.hive.ql.exec.*;
import org.apache.hadoop.hive.ql.udf.UDFType;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.serde2.objectinspector.*;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorFactory;
@UDFType(deterministic = false, stateful = true)
public class Counted extends GenericUDF {
  private long rows;
  private String prefix;
  public ObjectInspector initialize(ObjectInspector[] arguments) throws UDFArgumentException {
    if (arguments.length != 1) throw new UDFArgumentLengthException("counted takes one argument");
    if (!(arguments[0] instanceof ConstantObjectInspector)) throw new UDFArgumentException("a constant, please");
    prefix = ((ConstantObjectInspector) arguments[0]).getWritableConstantValue().toString();
    return PrimitiveObjectInspectorFactory.javaStringObjectInspector;
  }
  public Object evaluate(DeferredObject[] arguments) { return prefix + (++rows); }
  public String getDisplayString(String[] children) { return "counted"; }
}""",
    "Longest": """
import org.apache.hadoop.hive.ql.exec.*;
public class Longest extends UDAF {
  public static class Evaluator implements UDAFEvaluator {
    private String found;
    public void init() { found = null; }
    public boolean iterate(String text) {
      if (text != null && (found == null || text.length() > found.length())) found = text;
      return true;
    }
    public String terminatePartial() { return found; }
    public boolean merge(String other) { return iterate(other); }
    public String terminate() { return found; }
  }
}""",
    "Pairs": """
import java.util.*;
import org.apache.hadoop.hive.ql.exec.*;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDTF;
import org.apache.hadoop.hive.serde2.objectinspector.*;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorFactory;
public class Pairs extends GenericUDTF {
  private int rows;
  public StructObjectInspector initialize(ObjectInspector[] arguments) throws UDFArgumentException {
    return ObjectInspectorFactory.getStandardStructObjectInspector(
        Arrays.asList("word", "size"),
        Arrays.<ObjectInspector>asList(PrimitiveObjectInspectorFactory.javaStringObjectInspector,
            PrimitiveObjectInspectorFactory.javaIntObjectInspector));
  }
  public void process(Object[] values) throws HiveException {
    if (values[0] == null) return;
    for (String word : values[0].toString().split(" ")) forward(new Object[] {word, word.length()});
  }
  public void close() throws HiveException { forward(new Object[] {"end", -1}); }
}""",
    "Endless": """
import org.apache.hadoop.hive.ql.exec.UDF;
public class Endless extends UDF {
  public Integer evaluate(Integer seconds) {
    new Thread(() -> { try { Thread.sleep(seconds * 1000L); } catch (InterruptedException ended) { } }).start();
    return seconds;
  }
}""",
    "Empty": "import org.apache.hadoop.hive.ql.exec.UDF;\npublic class Empty extends UDF {}",
    "Plain": "public class Plain {}",
}


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All sources in the package com.example."""
    folder = tmp_path_factory.mktemp("jar")
    files = []
    for name, source in SOURCES.items():
        file = folder / f"{name}.java"
        file.write_text(f"package com.example;\n{source}\n")
        files.append(str(file))
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    classes = Path(spec.submodule_search_locations[0], "jars", "*")
    command = ["javac", "-nowarn", "-cp", str(classes), "-d", str(folder / "classes"), *files]
    subprocess.run(command, check=True, capture_output=True)
    path = folder / "functions.jar"
    subprocess.run(["jar", "cf", str(path), "-C", str(folder / "classes"), "."], check=True)
    return path


@pytest.fixture
def session(context: sharkpy.SharkContext, jar: Path) -> sharkpy.SharkContext:
    if context.catalog.functions.find_temporary("mixed") is None:
        context.sql(f"ADD JAR {jar}")
        for name in ("Mixed", "Counted", "Longest", "Pairs"):
            context.sql(f"CREATE TEMPORARY FUNCTION {name.lower()} AS 'com.example.{name}'")
        for name, class_name in HIVES.items():
            context.sql(f"CREATE TEMPORARY FUNCTION {name} AS '{HIVE}.{class_name}'")
    return context


QUERIES = [
    ("SELECT mixed(1, 2), mixed('x'), mixed(array('a', 'b')), mixed(1, 2, 3.5)", [(3, "x!", ["b", "a"], 8.0)]),
    ("SELECT mixed(line) FROM s WHERE line IS NULL OR line <> 'd' ORDER BY 1", [(None,), ("!",), ("a b c!",)]),
    ("SELECT id FROM n WHERE mixed(id, 1) > 6 ORDER BY id", [(6,), (7,)]),
    ("SELECT mixed(id, 1) % 2, count(*) FROM n GROUP BY mixed(id, 1) % 2 ORDER BY 1", [(None, 1), (0, 4), (1, 3)]),
    ("SELECT counted('row ')", [("row 1",)]),
    ("SELECT count(DISTINCT counted('')) > 1 FROM n", [(True,)]),
    ("SELECT longest(line), longest(DISTINCT line) FROM s", [("a b c", "a b c")]),
    (
        "SELECT id % 2, longest(CAST(id * 6 AS STRING)) FROM n WHERE id < 3 GROUP BY id % 2 ORDER BY 1",
        [(0, "12"), (1, "6")],
    ),
    ("SELECT longest(line) FROM s WHERE line > 'z'", [(None,)]),
    ("SELECT word, size FROM s LATERAL VIEW pairs(line) t AS word, size WHERE size = 1 ORDER BY word", [*"abcd"]),
    ("SELECT pairs('one more')", [("one", 3), ("more", 4), ("end", -1)]),
    ("SELECT reflect('java.lang.Math', 'max', 2, 3), java_method('java.lang.String', 'valueOf', 7)", [("3", "7")]),
    ("SELECT reflect2('sharks', 'length')", [(6,)]),
    ("SELECT hive_plus(1, 2.5), hive_plus('1', 2)", [(decimal.Decimal("3.5"), 3.0)]),
    ("SELECT id, hive_sum(id) OVER (PARTITION BY id % 2) FROM n WHERE id < 4 ORDER BY id", [(1, 4), (2, 2), (3, 4)]),
    ("SELECT hive_percentile(id, 0.5), hive_percentile(id, 0.25D) FROM n", [(3.5, 1.75)]),
    ("SELECT hive_sum(DISTINCT id % 2), hive_sum(id) FILTER (WHERE id > 5) FROM n", [(1, 13)]),
    ("SELECT hive_stack(2, 'a', 1, 'b', id) AS (k, v) FROM n WHERE id = 7 ORDER BY k", [("a", 1), ("b", 7)]),
]


@pytest.mark.variants(6)
@pytest.mark.parametrize(("sql", "expected"), QUERIES, ids=range(len(QUERIES)))
def test_queries(session: sharkpy.SharkContext, sql: str, expected: list[object]) -> None:
    wanted = [(row, 1) if isinstance(row, str) else row for row in expected]
    assert rows(session, sql) == wanted


def test_every_type_goes_there_and_back(driver: sharkpy.SharkContext) -> None:
    """Through Hive's named_struct and if, which hand on what they get."""
    driver.sql(f"CREATE TEMPORARY FUNCTION packed AS '{HIVE}.GenericUDFNamedStruct'")
    values = {
        "true": True,
        "1Y": 1,
        "-2S": -2,
        "2147483647": 2147483647,
        "9223372036854775807L": 9223372036854775807,
        "CAST(1.5 AS FLOAT)": 1.5,
        "-0.25D": -0.25,
        "12345.678BD": decimal.Decimal("12345.678"),
        "'Übergröße 🦈'": "Übergröße 🦈",
        "''": "",
        "unhex('00ff')": b"\x00\xff",
        "DATE '1582-12-31'": datetime.date(1582, 12, 31),
        "TIMESTAMP '1969-12-31 23:59:59.999999'": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "CAST('abc' AS VARCHAR(2))": "ab",
        "array(1, NULL, 3)": [1, None, 3],
        "array(array('a'), array())": [["a"], []],
        "map('k', array(1L), 'l', NULL)": {"k": [1], "l": None},
        "named_struct('x', 1, 'y', map(1, 'one'))": {"x": 1, "y": {1: "one"}},
        "CAST(NULL AS INT)": None,
        "CAST(NULL AS STRING)": None,
        "CAST(NULL AS DECIMAL(5,2))": None,
        "CAST(NULL AS ARRAY<INT>)": None,
        "CAST(NULL AS MAP<STRING,INT>)": None,
    }
    arguments = ", ".join(f"'f{index}', {sql}" for index, sql in enumerate(values))
    ((found,),) = rows(driver, f"SELECT packed({arguments})")
    assert list(found.values()) == list(values.values())  # type: ignore[attr-defined]


def test_types_come_from_hive(session: sharkpy.SharkContext) -> None:
    schema = session.sql("SELECT mixed(1, 2), mixed('x'), mixed(array('a')), longest('x')").schema
    assert [str(field.dtype) for field in schema] == ["int", "string", "array<string>", "string"]


def test_what_java_throws(session: sharkpy.SharkContext) -> None:
    said = 'function "mixed" threw java.lang.IllegalStateException: no d please'
    with pytest.raises(ExecutionError, match=said) as raised:
        session.sql("SELECT mixed(line) FROM s").fetchall()
    assert raised.value.sqlstate == "38000"


CALLS = [
    ("SELECT mixed(1, 2, 3, 4)", "No matching method for class com.example.Mixed"),
    ("SELECT mixed(map(1, 2))", "No matching method"),
    ("SELECT counted('a', 'b')", "counted takes one argument"),
    ("SELECT counted(line) FROM s", "a constant, please"),
]


@pytest.mark.parametrize(("sql", "said"), CALLS, ids=range(len(CALLS)))
def test_wrong_calls(session: sharkpy.SharkContext, sql: str, said: str) -> None:
    with pytest.raises(TypeMismatchError, match=said):
        session.sql(sql)


CLASSES = [
    ("com.example.Missing", "42883", 'no Java class "com.example.Missing"'),
    ("com.example.Empty", "42000", 'class "com.example.Empty" has no method evaluate'),
    ("com.example.Plain", "42000", "is none of Hive's functions"),
]


@pytest.mark.parametrize(("name", "sqlstate", "said"), CLASSES, ids=[name for name, *_ in CLASSES])
def test_wrong_classes(session: sharkpy.SharkContext, name: str, sqlstate: str, said: str) -> None:
    with pytest.raises(BindError, match=said) as raised:
        session.sql(f"CREATE TEMPORARY FUNCTION f AS '{name}'")
    assert raised.value.sqlstate == sqlstate


def test_the_process_ends_though_a_thread_of_java_goes_on(jar: Path, tmp_path: Path) -> None:
    statements = f"ADD JAR {jar}; CREATE TEMPORARY FUNCTION f AS 'com.example.Endless'; SELECT f(3600)"
    command = [sys.executable, "-m", "sharkpy", "--warehouse", str(tmp_path), "-e", statements]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=allowed(60))
    assert (ended.returncode, "3600" in ended.stdout) == (0, True), ended.stderr


def test_permanent_with_its_jar(driver: sharkpy.SharkContext, jar: Path) -> None:
    with pytest.raises(SharkError, match="there is no such file"):
        driver.sql("CREATE FUNCTION added AS 'com.example.Mixed' USING JAR '/nowhere.jar'")
    driver.sql(f"CREATE FUNCTION added AS 'com.example.Mixed' USING JAR '{jar}'")
    other = driver.new_session()
    assert rows(other, "SELECT added(2, 3), default.added('y')") == [(5, "y!")]
    extended = rows(other, "DESCRIBE FUNCTION EXTENDED added")
    assert extended[1:] == [("Function class:com.example.Mixed",), (f"Resource:{jar}",)]
    driver.sql("DROP FUNCTION added")
