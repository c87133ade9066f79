"""Every row's page in the manual is complete, and its example, run as a statement, gives its answer."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.file_options import READERS
from sharkpy.udf import registry
from sharkpy.udf.function import Failure, Function, RelationFunction, Varying
from sharkpy.udf.special_forms import FILE_READERS, SPECIAL_FORMS
from sharkpy.udf.unavailable_functions import OF_OTHERS, REFUSED
from sharkpy.values.value_text import format_value

BUILT_IN = tuple(registry.built_in())
OF_MODELS = ("predict", "predict_proba")
"""Their examples, and examples of functions of whole tables, run in tests/ml/generate, which has models."""
EXAMPLES = [row for row in BUILT_IN if not isinstance(row, RelationFunction) and row.name not in OF_MODELS]


def _id(row: Function) -> str:
    return f"{type(row).__name__}-{row.name}"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder: Path = tmp_path_factory.mktemp("examples")
    session = sharkpy.connect(warehouse=str(folder))
    with contextlib.chdir(folder):
        _write_people(session)
        yield session
    session.stop()


def _write_people(session: sharkpy.SharkContext) -> None:
    """Write the files that the examples of functions of files read."""
    Path("people.csv").write_text("id,name\n1,Ann\n")
    for suffix in ("json", "ndjson"):
        Path(f"people.{suffix}").write_text('{"id": 1, "name": "Ann"}\n')
    for suffix in ("parquet", "orc", "avro"):
        session.sql(f"INSERT OVERWRITE DIRECTORY 'people.{suffix}' STORED AS {suffix} SELECT 1 AS id, 'Ann' AS name")


def _text(result: sharkpy.Result) -> str:
    """The rows as Hive's shell prints them."""
    return "\n".join(
        "\t".join(format_value(value, field.dtype) for value, field in zip(row, result.schema, strict=True))
        for row in result.fetchall()
    )


@pytest.mark.parametrize("row", BUILT_IN, ids=_id)
def test_page_is_complete(row: Function) -> None:
    assert row.usage
    assert row.doc
    assert not row.doc.endswith(".")
    assert row.example
    assert row.answer


@pytest.mark.variants(3)
@pytest.mark.parametrize("row", EXAMPLES, ids=_id)
def test_example_gives_its_answer(context: sharkpy.SharkContext, row: Function) -> None:
    match row.answer:
        case Failure(message):
            with pytest.raises(sharkpy.SharkError, match=f"^{re.escape(message)}"):
                context.sql(row.example_statement).fetchall()
        case Varying(sample, pattern):
            assert re.fullmatch(pattern, sample)
            assert re.fullmatch(pattern, _text(context.sql(row.example_statement)))
        case answer:
            assert _text(context.sql(row.example_statement)) == answer


@pytest.mark.parametrize("row", EXAMPLES, ids=_id)
def test_example_calls_the_function(row: Function) -> None:
    """The example has the function's name, or a word or sign of its usage if that is not a call."""
    if f"{row.name}(" not in row.usage:
        words = row.usage.replace("{}", row.name.upper()).split()
        signs = {word for word in words if word == word.upper() and not set(word) & set("[]…")} | set(row.aliases)
        assert any(sign in row.example for sign in signs)
    else:
        assert f"{row.name}(" in row.example


def test_names_belong_to_one_row() -> None:
    """Except for the operators and aggregates of bits, which differ in the form of the call."""
    names = [row.name for row in BUILT_IN]
    assert sorted(name for name in set(names) if names.count(name) > 1) == ["bit_and", "bit_or", "bit_xor"]
    aliases = [alias for row in BUILT_IN for alias in row.aliases]
    assert len(aliases) == len(set(aliases))
    assert not set(aliases) & set(names)


def test_names_that_are_listed() -> None:
    listed = registry.listed()
    assert len(listed) > 280
    assert not listed & {row.name for row in BUILT_IN if not row.is_listed}
    assert listed >= {row.name for row in SPECIAL_FORMS} | REFUSED.keys()
    assert not (REFUSED | OF_OTHERS).keys() & set(registry.names())
    assert not OF_OTHERS.keys() & listed


def test_functions_that_read_files_are_described() -> None:
    assert {row.name for row in FILE_READERS} == READERS.keys()


def test_refused_functions_say_why(context: sharkpy.SharkContext) -> None:
    for name, reason in (REFUSED | OF_OTHERS).items():
        if name.isidentifier():
            with pytest.raises(sharkpy.SharkError, match=f"{name} is not supported"):
                context.sql(f"SELECT {name}(1)")
        assert reason


def test_synonyms() -> None:
    assert registry.synonyms("substr") == ("mid", "substring")
    assert registry.synonyms("<>") == ("!=",)
    assert registry.synonyms("abs") == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mid", "mid(str, position[, length])"),
        ("==", "a == b"),
        ("regexp", "str [NOT] REGEXP pattern"),
        ("cardinality", "cardinality(array), cardinality(map)"),
        ("reduce", "reduce(array, start, (total, x) -> …[, total -> …])"),
    ],
)
def test_usage_by_an_alias(name: str, expected: str) -> None:
    row = registry.described(name)
    assert row is not None
    assert row.usage_as(name) == expected


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("space", ["Example:", "  > SELECT space(2);", "    ", "Function type:BUILTIN"]),
        (
            "sum",
            ["Example:", "  > SELECT sum(x) FROM VALUES (1, 2), (3, 4) AS t(x, y);", "  4", "Function type:BUILTIN"],
        ),
        ("uuid", ["Example:", "  > SELECT uuid();", "  44dba0f7-b936-46c4-8c0f-f887f721c660", "Function type:BUILTIN"]),
        ("require", ["Example:", "  > SELECT require(1 = 1, 'odd numbers');", "  true", "Function type:BUILTIN"]),
        (
            "raise_error",
            ["Example:", "  > SELECT raise_error('odd numbers');", "  Error: odd numbers", "Function type:BUILTIN"],
        ),
        ("explode", ["Example:", "  > SELECT explode(array(1, 2));", "  1", "  2", "Function type:BUILTIN"]),
        (
            "reflect2",
            [
                "Example:",
                "  > SELECT reflect2('abc', 'concat', 'd');",
                "  abcd",
                "Function class:org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect2",
                "Function type:BUILTIN",
            ],
        ),
        ("position", ["Example:", "  > SELECT position('l' IN 'hello');", "  3", "Function type:BUILTIN"]),
    ],
)
def test_described_with_an_answer(context: sharkpy.SharkContext, name: str, lines: list[str]) -> None:
    assert [line for (line,) in context.sql(f"DESCRIBE FUNCTION EXTENDED {name}").fetchall()[1:]] == lines
