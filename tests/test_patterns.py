"""Patterns of Python's `re`: patterns of users never reach it, and our own take time linear in the text."""

from __future__ import annotations

import ast
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from sharkpy.base.endpoint import check_endpoint
from sharkpy.base.errors import SharkError
from sharkpy.base.secrets import names_secret, redacted
from sharkpy.base.uri import scheme_of
from sharkpy.base.wildcards import name_matches
from sharkpy.sources.csv_files.dialect import detect_dialect
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.storage.errors import StoreName, storage_failure
from sharkpy.sql.grammar.split_statements import split_statements
from sharkpy.sql.statements.bind_session_commands import bind_set
from sharkpy.thrift.metadata.catalog_calls import name_test
from sharkpy.udf.duckdb_sql import string_value
from sharkpy.udf.java_datetime import parse_time
from sharkpy.udf.number_text import format_pattern, to_number
from sharkpy.udf.printf import printf
from sharkpy.udf.string_kernels import sentences
from sharkpy.udf.text_codes import parse_url
from sharkpy.udf.xpath import absolute
from sharkpy.values.type_parser import parse_type
from tests.test_layers import ROOT, files
from tests.waiting import allowed

MATCHING = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
NOT_LITERAL = {
    "sharkpy/sources/line_chunks.py": "the escaped end of lines, which is a plain text",
    "sharkpy/execution/workers/worker_environment.py": "the engine's own words, escaped",
    "sharkpy/execution/workers/task_failure.py": "the engine's own mark",
    "udf/number_text.py": "made from a parsed format of at most 100 characters; every digit has one place",
    "udf/java_datetime.py": "made from a date pattern of at most 1,000 characters; a field gives nothing back",
    "udf/string_kernels.py": "put together from literals and sets of characters",
    "udf/lower.py": "put together from literals and our own names",
    "sharkpy/values/visible_text.py": "sets of characters",
    "sharkpy/sql/grammar/long_text.py": "put together from literals; nothing is given back",
    "sharkpy/sources/csv_files/chunks.py": "the escaped end of lines, which is a plain text",
    "sharkpy/sources/csv_files/options.py": "made from a date pattern of an option, field by field",
    "sharkpy/sources/csv_files/reader.py": "escaped characters of options",
    "sharkpy/sources/csv_files/records.py": "escaped characters of options",
    "sharkpy/sources/csv_files/dialect.py": "put together from literals and escaped characters; nothing is given back",
}
"""Files in which `re` gets more than a literal, and why no user can make that slow."""


@dataclass(frozen=True, slots=True)
class Use:
    """Use of a module of regular expressions, by the file and line."""

    file: str
    line: int


def uses_of_re() -> Iterator[Use]:
    """Calls of `re` whose pattern is not a literal."""
    for path in files():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(ast.Attribute(ast.Name("re"), name), [pattern, *_]) if name in MATCHING:
                    if not _is_literal(pattern):
                        yield Use(str(path.relative_to(ROOT)), node.lineno)
                case ast.Call(ast.Attribute(ast.Name("re"), name)) if name in MATCHING:
                    yield Use(str(path.relative_to(ROOT)), node.lineno)
                case ast.ImportFrom("re") | ast.Import([ast.alias("re", str())]):
                    yield Use(str(path.relative_to(ROOT)), node.lineno)


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def test_only_literals_reach_re() -> None:
    found = {use.file for use in uses_of_re()}
    assert found == set(NOT_LITERAL), "a new use of `re` with a made pattern, or one that is gone"


def test_regex_is_called_in_one_place() -> None:
    """Each call needs a limit of time, and releases the lock."""
    calls = {
        str(path.relative_to(ROOT))
        for path in files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import) and any(alias.name == "regex" for alias in node.names)
    }
    assert calls == {"udf/java_regex/python_engine.py", "udf/java_regex/character_sets.py"}


MANY = 60_000


def _storage_failure(text: str) -> SharkError:
    return storage_failure(ValueError(text), "s3://b/k", StoreName("b", "http://h", "keys"))


def _dialect(text: str) -> object:
    return detect_dialect(text, CsvOptions(), frozenset(), is_whole=True)


SLOW: dict[str, Callable[[], object]] = {
    "quotes that close no field of CSV": lambda: _dialect(',"a""' * MANY),
    "escaped quotes in CSV": lambda: _dialect(',"\\"' * MANY),
    "spaces before quotes in CSV": lambda: _dialect(", " * MANY + " " * MANY + '"a"x\n'),
    "spaces in SET": lambda: bind_set("set a = " + " " * MANY + "b"),
    "spaces after a type": lambda: parse_type("int" + " " * MANY),
    "spaces after an XPath": lambda: absolute("a" + " " * MANY),
    "zeros in printf": lambda: printf("%" + "0" * MANY + "!", "", []),
    "dots": lambda: sentences("." * MANY + "a"),
    "dots and spaces": lambda: sentences(("." * 50 + " " * 50) * (MANY // 100) + "a"),
    "brackets behind dots": lambda: sentences("." + ")" * MANY + "a"),
    "dashes in a word": lambda: sentences("a-" * MANY + "!"),
    "letters and digits of a word": lambda: sentences("$1,a1" * MANY + "!"),
    "letters around digits": lambda: format_pattern("1", "a" * MANY + "#a#", False),
    "groups of digits": lambda: format_pattern("1", "#," + "0" * MANY, False),
    "fractions side by side": lambda: parse_time("1" * 400, "SH" * 100 + "!"),
    "years and digits": lambda: parse_time("1" * 400, "y'1'" * 100 + "!"),
    "commas in to_number": lambda: to_number("1", "9" + "," * MANY),
    "groups in to_number": lambda: to_number("1," * 18 + "x", "9" + ",9" * 37),
    "keys in parse_url": lambda: parse_url("http://a/?" + "k" * MANY, "QUERY", "k" * (MANY // 2)),
    "stars in SHOW": lambda: name_matches("a" * 128 + "b", "*a" * 100),
    "a long pattern in SHOW": lambda: name_matches("a" * 128, "*a" * MANY),
    "stars in metadata": lambda: name_test("%a" * 100)("a" * 128 + "b"),
    "quotes in a script": lambda: split_statements("'" + "\\'" * MANY),
    "codes in a failure of storage": lambda: _storage_failure("<Code>" * MANY + "(code: " * MANY),
    "classes in a failure of storage": lambda: _storage_failure('RPCError("' * MANY + 'RPCError("' + "a." * MANY),
    "names in a failure of storage": lambda: _storage_failure('object with invalid path Path "' * MANY),
    "kinds in a failure of storage": lambda: _storage_failure("\n\nDebug source:" + ("HttpError {" + " " * 250) * 500),
    "comments in a script": lambda: split_statements("/*" * MANY),
    "letters of a scheme": lambda: scheme_of("s" * MANY),
    "parts of a key": lambda: names_secret("fs.s3a." * MANY),
    "parts of a catalog's name": lambda: names_secret("iceberg.catalog." + "a" * MANY),
    "catalogs in a text": lambda: redacted("iceberg.catalog." * MANY),
    "parts of keys in a text": lambda: redacted("fs.s3a." * MANY),
    "settings in a text": lambda: redacted("fs.s3a.secret.key=" * MANY),
    "settings that are no secrets": lambda: redacted("fs.s3a.x=" * MANY),
    "open quotes of settings": lambda: redacted("'fs.s3a.secret.key'=\"'" * MANY),
    "backslashes of a secret": lambda: redacted("fs.s3a.secret.key=" + "\\" * MANY + "'"),
    "spaces before a secret": lambda: redacted(("password" + " " * 120) * (MANY // 128)),
    "slashes in a text": lambda: redacted("://" * MANY),
    "users in URIs": lambda: redacted("://a:" * MANY + "@"),
    "signatures": lambda: redacted("?sig=&sig=" * MANY),
    "ids of keys": lambda: redacted("AKIA" * MANY),
    "open quotes of passwords": lambda: redacted("password='\"" * MANY),
    "dots in an endpoint": lambda: check_endpoint("a." * MANY),
    "slashes in an endpoint": lambda: check_endpoint("https://a/" + "/" * MANY),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("case", SLOW)
def test_our_own_patterns_are_linear(case: str) -> None:
    """Quadratic time would be a minute for most of these."""
    began = time.process_time()
    with contextlib.suppress(SharkError):
        SLOW[case]()
    assert time.process_time() - began < allowed(1)


def test_a_long_quoted_text_takes_little_memory() -> None:
    """A repeated choice keeps 115 bytes for each round; a possessive one keeps none."""
    code = (
        "import resource\n"
        "from sharkpy.sql.grammar.split_statements import split_statements\n"
        "from sharkpy.udf.duckdb_sql import string_value\n"
        "text = \"'\" + 'a' * 5_000_000 + \"'\"\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "split_statements(text)\n"
        "string_value(text)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    taken = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert int(taken.stdout) < 100


def test_groups_of_digits() -> None:
    assert format_pattern("1234567", "#,##0", False) == "1,234,567"
    assert format_pattern("12", "#,##0", False) == "12"
    assert format_pattern("1234", "#,#0", False) == "12,34"
    assert format_pattern("0", "#,000", False) == "000"


def test_a_parameter_of_a_url_begins_behind_a_separator() -> None:
    assert parse_url("http://a/?xk=1&k=2&k=3", "QUERY", "k") == "2"
    assert parse_url("http://a/?k=", "QUERY", "k") == ""
    assert parse_url("http://a/?xk=1", "QUERY", "k") is None


def test_strings_are_read_back() -> None:
    assert string_value("'a''b'") == "a'b"
    assert string_value("'a'b'") is None
