"""Calls that the binder, the parser or GENERATE handle themselves, so that their rows are mostly manual pages.

1. Special forms: casts by names of Hive's classes, parts of times, predictions of models, calls of Java.
2. Functions of the session (its user, database, time zone): the binder replaces them by constants.
3. Functions of whole tables, for GENERATE: `sharkpy.ml` implements them.
4. Table functions that read files: the parser treats their calls as tables.
"""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.udf.function import EXAMPLE_ROWS, Answer, Function, NullPolicy, RelationFunction, ScalarFunction, Varying
from sharkpy.udf.page import Page
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    DataType,
)


@dataclass(frozen=True, slots=True)
class SpecialForm(Function):
    """A call that the binder handles itself. It has neither argument types nor SQL."""


@dataclass(frozen=True, slots=True)
class CastForm(SpecialForm):
    """A cast by the name of Hive's class for it: the only argument is cast to `target`."""

    target: DataType = NULL


def _cast(name: str, target: DataType, *, answer: str) -> CastForm:
    return CastForm(
        name,
        target,
        usage=f"{name}(x)",
        doc=f"its argument as {target}, as CAST gives it",
        example=f"{name}('1')",
        answer=answer,
    )


@dataclass(frozen=True, slots=True)
class JavaForm(SpecialForm):
    """A call of one of Hive's own Java classes, in the JVM of users' Java functions."""

    class_name: str = ""


def _java(name: str, class_name: str, *, usage: str, doc: str, example: str, answer: str) -> JavaForm:
    whole_name = f"org.apache.hadoop.hive.ql.udf.generic.{class_name}"
    return JavaForm(name, whole_name, usage=usage, doc=doc, example=example, answer=answer)


CAST_FORMS = (
    _cast("udftoboolean", BOOLEAN, answer="true"),
    _cast("udftobyte", TINYINT, answer="1"),
    _cast("udftodouble", DOUBLE, answer="1.0"),
    _cast("udftofloat", FLOAT, answer="1.0"),
    _cast("udftointeger", INT, answer="1"),
    _cast("udftolong", BIGINT, answer="1"),
    _cast("udftoshort", SMALLINT, answer="1"),
    _cast("udftostring", STRING, answer="1"),
)

_TIME_WINDOWS = (
    SpecialForm(
        "window",
        usage="window(time, size[, slide[, offset]])",
        doc="the window of time that a row is in, with its start and end; with a slide the row is there once for each",
        example="window('2024-05-01 10:00:07', '10 seconds')",
        answer='{"start":"2024-05-01 10:00:00","end":"2024-05-01 10:00:10"}',
    ),
    SpecialForm(
        "session_window",
        usage="session_window(time, gap)",
        doc="in GROUP BY, the rows with no more than the gap between them, from the first to one gap after the last",
        example="session_window FROM (SELECT '2024-05-01 10:00:07' AS t) x GROUP BY session_window(t, '10 seconds')",
        answer='{"start":"2024-05-01 10:00:07","end":"2024-05-01 10:00:17"}',
    ),
)

JAVA_FORMS = (
    _java(
        "reflect",
        "GenericUDFReflect",
        usage="reflect(class, method[, x, …])",
        doc="calls a method of a Java class, both by their names",
        example="reflect('java.lang.Math', 'max', 2, 3)",
        answer="3",
    ),
    _java(
        "java_method",
        "GenericUDFReflect",
        usage="java_method(class, method[, x, …])",
        doc="calls a method of a Java class, both by their names",
        example="java_method('java.lang.Math', 'max', 2, 3)",
        answer="3",
    ),
    _java(
        "reflect2",
        "GenericUDFReflect2",
        usage="reflect2(x, method[, y, …])",
        doc="calls a method of its first argument by its name",
        example="reflect2('abc', 'concat', 'd')",
        answer="abcd",
    ),
)
JAVA_CLASSES = {form.name: form.class_name for form in JAVA_FORMS}
"""Name -> class."""

SPECIAL_FORMS: tuple[SpecialForm, ...] = (
    *CAST_FORMS,
    *JAVA_FORMS,
    *_TIME_WINDOWS,
    SpecialForm(
        "cast",
        usage="cast(x AS type)",
        doc="a value as another type; NULL if it does not convert",
        example="cast('1.5' AS DOUBLE)",
        answer="1.5",
    ),
    SpecialForm("try_cast", usage="try_cast(x AS type)", doc="as CAST", example="try_cast('a' AS INT)", answer="NULL"),
    SpecialForm(
        "extract",
        usage="extract(unit FROM time)",
        doc="a part of a date or time: year, quarter, month, week, day, dayofweek, doy, hour, minute, second",
        example="extract(month FROM '2016-10-20')",
        answer="10",
    ),
    SpecialForm(
        "date_part",
        usage="date_part(unit, time)",
        doc="a part of a date or time, as EXTRACT gives it",
        example="date_part('month', '2016-10-20')",
        answer="10",
    ),
    SpecialForm(
        "datepart",
        usage="datepart(unit, time)",
        doc="a part of a date or time, as EXTRACT gives it",
        example="datepart('month', '2016-10-20')",
        answer="10",
    ),
    SpecialForm(
        "make_interval",
        usage="make_interval([years[, months[, weeks[, days[, hours[, minutes[, seconds]]]]]]])",
        doc="an interval of years and months, or of weeks, days, hours, minutes and seconds",
        example="make_interval(1, 2)",
        answer="1-2",
    ),
    SpecialForm(
        "position",
        usage="position(part IN str), position(part, str[, position])",
        doc="position of a part in a string, from 1; 0 if it is absent",
        example="position('l' IN 'hello')",
        answer="3",
    ),
    SpecialForm(
        "schema_of_json",
        usage="schema_of_json(text)",
        doc="the type, as from_json takes it, that a constant JSON text has",
        example="schema_of_json('{\"a\": 1}')",
        answer="STRUCT<a: BIGINT>",
    ),
    SpecialForm(
        "grouping",
        usage="grouping(column)",
        doc="1 if the column is aggregated away in the row's grouping set, else 0",
        example=f"x, grouping(x) FROM {EXAMPLE_ROWS} GROUP BY x WITH ROLLUP ORDER BY x",
        answer="NULL\t1\n1\t0\n3\t0",
    ),
    SpecialForm(
        "predict",
        usage="predict('model', feature, …)",
        doc="what the model kept as the table of that name predicts of these features",
        example="predict('rising', 2)",
        answer=Varying("5.0", r"5\.0+\d?|4\.9{9,}\d*"),
    ),
    SpecialForm(
        "predict_proba",
        usage="predict_proba('model', feature, …)",
        doc="the probability of each class, in the order of the classes, by the model of that name",
        example="predict_proba('kinds', 0, 0)",
        answer=Varying("[0.05,0.95]", r"\[(0\.0\d+|\d\.\d+E-\d+),(0\.9\d+|1\.0)\]"),
    ),
)


def _session_function(
    name: str, result: DataType, lowering: str, *, doc: str, answer: Answer, aliases: tuple[str, ...] = ()
) -> ScalarFunction:
    return Page(f"{name}()", doc, f"{name}()", answer=answer).scalar(
        (), result, lowering, NullPolicy.CUSTOM, aliases=aliases
    )


SESSION_FUNCTIONS = (
    _session_function("version", STRING, "'3.1.3'", doc="the version of Hive that counts", answer="3.1.3"),
    _session_function(
        "current_user",
        STRING,
        "''",
        doc="the name of the session's user",
        answer=Varying("ann", ".+"),
        aliases=("session_user", "user"),
    ),
    _session_function(
        "logged_in_user", STRING, "''", doc="the name of the session's user", answer=Varying("ann", ".+")
    ),
    _session_function(
        "current_groups",
        ArrayType(STRING),
        "CAST([] AS VARCHAR[])",
        doc="the groups of the session's user on this machine",
        answer=Varying('["staff"]', r'\[("[^"]+"(,"[^"]+")*)?\]'),
    ),
    _session_function(
        "current_authorizer", STRING, "CAST(NULL AS VARCHAR)", doc="NULL: there is no authorizer", answer="NULL"
    ),
    _session_function(
        "restrict_information_schema",
        BOOLEAN,
        "false",
        doc="whether an authorizer restricts the information schema: false",
        answer="false",
    ),
    _session_function(
        "current_timezone", STRING, "'UTC'", doc="the session's time zone", answer=Varying("UTC", r"[\w/+:-]+")
    ),
    _session_function(
        "current_database",
        STRING,
        "'default'",
        doc="the session's current database",
        answer="default",
        aliases=("current_schema",),
    ),
)


_MODEL_OPTIONS = "features => array('column', …), model => 'name', parameter => value, …"

RELATION_FUNCTIONS = (
    RelationFunction(
        "kmeans",
        usage=f"KMeans(data, n_clusters, {_MODEL_OPTIONS})",
        doc="the table's columns and `cluster`, the number of the nearest of n_clusters centers, which are found here",
        example="KMeans(points, 2, features => array('x', 'y'))",
        answer="x\ty\tkind\tcluster",
    ),
    RelationFunction(
        "linearregression",
        usage=f"LinearRegression(data, label, {_MODEL_OPTIONS})",
        doc="the table's columns and `prediction`, a linear function of the features fitted to the column `label`",
        example="LinearRegression(line, 'y', features => array('x'), model => 'rising')",
        answer="x\ty\tprediction",
    ),
    RelationFunction(
        "logisticregression",
        usage=f"LogisticRegression(data, label, {_MODEL_OPTIONS})",
        doc="the table's columns, `prediction`, the likeliest class by the features, and `probability`, that of the "
        "second class or, of more than two classes, an array of all",
        example="LogisticRegression((SELECT x, y, kind FROM points), 'kind', C => 10, model => 'kinds')",
        answer="x\ty\tkind\tprediction\tprobability",
    ),
    RelationFunction(
        "pagerank",
        usage="PageRank(edges, source, target, weight, vertices => table, personalization => table, "
        "parameter => value, …)",
        doc="`vertex` and `rank` of all vertices of a table of edges; its first two columns, unless the call names two",
        example="PageRank(edges)",
        answer="vertex\trank",
    ),
)
"""Names are in lower case, as in SQL."""


_FILE_KINDS = {"csv": "CSV", "json": "JSON", "ndjson": "JSON, an object a line,", "parquet": "Parquet", "orc": "ORC"}
_FILE_KINDS |= {"avro": "Avro"}


def _reader(name: str, kind: str, option: str = "") -> SpecialForm:
    given = f", {option}" if option else ""
    return SpecialForm(
        name,
        usage=f"{name}(path[, option = value, …]), {name}([path, …][, option = value, …])",
        doc=f"in FROM, the rows of {_FILE_KINDS[kind]} files at a path, a pattern of paths or a folder",
        example=f"* FROM {name}('people.{kind}'{given})",
        answer="1\tAnn",
    )


FILE_READERS = (
    _reader("read_csv", "csv", "types = {'id': 'BIGINT'}"),
    _reader("read_csv_auto", "csv", "header = true"),
    _reader("read_json", "json", "columns = {'id': 'INT', 'name': 'STRING'}"),
    _reader("read_json_auto", "json"),
    _reader("read_ndjson", "ndjson"),
    _reader("read_ndjson_auto", "ndjson"),
    _reader("read_parquet", "parquet"),
    _reader("parquet_scan", "parquet"),
    _reader("read_orc", "orc"),
    _reader("read_avro", "avro"),
)
