"""Java's patterns: the meaning of java.util.regex in both engines, and limits of time and size."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import re
import threading
import time
from typing import Any

import duckdb
import pytest
from hypothesis import assume, example, given, settings

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, CancelledError, ExecutionError, UnsupportedError
from sharkpy.udf.java_regex import python_engine
from sharkpy.udf.java_regex.pattern import translate
from sharkpy.udf.java_regex.python_engine import matcher
from tests.examples import examples
from tests.udf.java_patterns import TEXTS, java_patterns
from tests.waiting import allowed

Spans = list[tuple[int, int]]
needs_java = pytest.mark.skipif(importlib.util.find_spec("jpype") is None, reason="JPype is not installed")


@pytest.fixture(scope="module")
def java() -> Any:
    import jpype

    from sharkpy.udf.java.jvm import jvm

    jvm()
    return jpype.JClass("java.util.regex.Pattern")


def java_spans(java: Any, pattern: str, text: str) -> tuple[bool, Spans, list[str | None]]:
    """Whether all of the text matches, the spans of its matches, and the groups of the first one."""
    compiled = java.compile(pattern)
    whole = bool(compiled.matcher(text).matches())
    found, spans = compiled.matcher(text), []
    groups: list[str | None] = []
    while found.find():
        if not spans:
            groups = [None if (one := found.group(n)) is None else str(one) for n in range(found.groupCount() + 1)]
        spans.append((int(found.start()), int(found.end())))
    return whole, spans, groups


@needs_java
@settings(max_examples=examples(3000), deadline=None)
@given(java_patterns(backtracking=True), TEXTS)
def test_patterns_mean_what_they_mean_in_java(java: Any, pattern: str, text: str) -> None:
    # Before JDK 19 é is a letter of a word only for \b.
    assume(not ("\\b" in pattern.lower() and "é" in text))
    # Java documents \R as an alternative that may give up its \n, but a loop of only \R keeps it.
    assume(not ("\\R)" in pattern and "\r\n" in text))
    whole, spans, groups = java_spans(java, pattern, text)
    try:
        found = matcher(pattern)
    except UnsupportedError as error:
        assume("group" not in error.message)
        raise
    # Java remembers places where a loop failed, and so misses matches of counted rounds of which one is empty. It
    # ends a loop at an empty round, also at one that set the group which the next round needs.
    assume(found.pattern.has_same_spans or not ("{" in pattern or "\\1" in pattern))
    matches = list(found.finditer(text))
    assert [match.span() for match in matches] == spans
    assert (found.fullmatch(text) is not None) == whole
    if matches:
        ours = [matches[0][n] for n in range(found.pattern.groups + 1)]
        for number, (group, javas) in enumerate(zip(ours, groups, strict=True)):
            # Java keeps the group of a round that it gave up, after ours: the last one of `(?:(.))*.` in "1A" is "A".
            is_kept = javas is not None and (group is None or javas in text[matches[0].end(number) :])
            assert group == javas or (is_kept and re.search(r"\)[*+?{]", pattern) is not None)


def test_a_line_break_of_two_characters_may_be_two() -> None:
    assert [match.span() for match in matcher(r"\R{2}").finditer("a\r\nb\r\n\n")] == [(1, 3), (4, 7)]


@pytest.mark.slow
@settings(max_examples=examples(1500), deadline=None)
@example(r"\B", "1 1é1")
@given(java_patterns(backtracking=False), TEXTS)
def test_the_engines_agree(connection: duckdb.DuckDBPyConnection, pattern: str, text: str) -> None:
    found = matcher(pattern)
    java = found.pattern
    assume(java.re2 is not None and not (java.has_final and text.endswith(("\n", "\r", "\u2028"))))
    matches = list(found.finditer(text))
    (row,) = connection.execute("SELECT regexp_matches(?, ?)", [text, java.re2]).fetchall()
    assert row == (bool(matches),)
    if not java.has_same_spans:
        return
    for group in range(java.groups + 1):
        (row,) = connection.execute(f"SELECT regexp_extract(?, ?, {group})", [text, java.re2]).fetchall()
        assert row == (matches[0][group] or "" if matches else "",)
    if not java.matches_empty:
        (row,) = connection.execute("SELECT regexp_extract_all(?, ?, 0)", [text, java.re2]).fetchall()
        assert row == ([match[0] for match in matches],)


@pytest.mark.parametrize(
    ("pattern", "text", "spans"),
    [
        ("[a-c&&[^b]]", "abc", [(0, 1), (2, 3)]),
        ("[a-z&&[def]]", "adz", [(1, 2)]),
        ("[a-z&&[^m-p]&&\\w]", "lmq", [(0, 1), (2, 3)]),
        ("[^a-c&&[b]]", "abc", [(0, 1), (2, 3)]),
        ("[\\p{L}&&[^\\p{Lu}]]+", "aÉéB", [(0, 1), (2, 3)]),
        ("[a[^b]]", "ab", [(0, 1)]),
        ("[]a]", "]a", [(0, 1), (1, 2)]),
        ("[a&]", "&", [(0, 1)]),
        ("[a-]", "-", [(0, 1)]),
        ("[a&&b]", "ab", []),
        ("a$", "a\r\n", [(0, 1)]),
        ("$", "a\r\n", [(1, 1), (3, 3)]),
        ("(?m)^", "a\nb\n", [(0, 0), (2, 2)]),
        ("|a", "a", [(0, 0), (1, 1)]),
        ("a{2}{3}", "aaaa", [(0, 2), (2, 4)]),
        ("(?i)É", "é", []),
        ("(?iu)É", "é", [(0, 1)]),
        ("a(?i)b|C", "aBc", [(0, 2), (2, 3)]),
        ("\\Qa.*\\E+", "a.**", [(0, 4)]),
        ("(?x) a \\ b [ c ] # d", "a bc", [(0, 4)]),
        ("(?<x>a)\\k<x>", "aa", [(0, 2)]),
        ("\\w", "é", []),
        ("(?U)\\w", "é", [(0, 1)]),
        ("\\p{IsAlphabetic}+", "aéͅ", [(0, 3)]),
        ("\\p{javaLowerCase}", "ªA", [(0, 1)]),
        ("\\p{InGreek}+", "aαβ", [(1, 3)]),
        ("\\p{script=Greek}", "α", [(0, 1)]),
        ("\\x{1F600}", "😀", [(0, 1)]),
        ("\\uD83D\\uDE00", "😀", [(0, 1)]),
        ("\\0101\\x42\\u0043\\t", "ABC\t", [(0, 4)]),
        ("a{1500}", "a" * 1600, [(0, 1500)]),
        ("a{5,2000}b", "a" * 1999 + "b", [(0, 2000)]),
    ],
)
def test_spans(connection: duckdb.DuckDBPyConnection, pattern: str, text: str, spans: Spans) -> None:
    found = matcher(pattern)
    assert [match.span() for match in found.finditer(text)] == spans
    if found.pattern.re2 is not None and not found.pattern.has_final:
        (row,) = connection.execute("SELECT regexp_matches(?, ?)", [text, found.pattern.re2]).fetchall()
        assert row == (bool(spans),)


@needs_java
@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a{",
        "*a",
        "a**",
        "(?",
        "[",
        "[a",
        "[z-a]",
        "[]",
        "[&&]",
        "\\",
        "a{2,1}",
        "(?<1>a)",
        "\\p{Nonsense}",
        "\\y",
        "\\x{110000}",
        "(?<a>b)(?<a>c)",
        "\\k<a>",
        "\\p",
        "\\c",
        "{",
        "a{,2}",
        "(?z)",
        "[a-\\d]",
        "\\u12",
    ],
)
def test_what_is_no_pattern_to_java_is_none_here(java: Any, pattern: str) -> None:
    import jpype

    with pytest.raises(jpype.JException):
        java.compile(pattern)
    with pytest.raises(BindError, match="is not a regular expression") as caught:
        translate(pattern)
    assert caught.value.sqlstate == "2201B"
    assert pattern in caught.value.message


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("((((a{1000}){1000}){1000}){1000})", "30,000 characters"),
        ("(?=a)((a{200}){200})", "30,000 characters"),
        ("(" * 5000 + ")" * 5000, "nested more than 100"),
        ("a" + "(?:b|" * 3000 + "c" + ")" * 3000, "nested more than 100"),
        ("[" * 5000, "nested more than 30"),
        ("x" * 30_000, "20,000 characters"),
        ("\\p{IsGreek}" * 101, "more than 100 of"),
        ("(?U)" + "\\w" * 5000, "sets of characters are too large"),
    ],
)
def test_patterns_that_are_too_complex(pattern: str, said: str) -> None:
    began = time.monotonic()
    with pytest.raises(BindError, match=said) as caught:
        translate(pattern)
    assert caught.value.sqlstate == "54001"
    assert len(caught.value.message) < 300
    assert time.monotonic() - began < allowed(1)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "pattern",
    [
        ("(" * 99 + "a" + ")" * 99),
        "|".join(f"word{n}" for n in range(2000)),
        "\\p{L}{180}",
        "\\p{L}{500}",
        "\\p{Cn}{40}",
        "[^a]{5000}",
        ".{10000}",
        "((((a{13}){13}){13}){13})",
        "(\\p{IsAlphabetic}|\\p{L}){20}" * 3,
        "(?:ab?){15000}",
    ],
)
def test_the_largest_patterns_are_compiled_by_both_engines(connection: duckdb.DuckDBPyConnection, pattern: str) -> None:
    began = time.monotonic()
    found = matcher(pattern)
    if found.pattern.re2 is not None:
        connection.execute("SELECT regexp_matches('b', ?)", [found.pattern.re2]).fetchall()
    assert time.monotonic() - began < allowed(2)


TRIED = "(?:(a|aa|aaa|a)+(?=a)\\1?)+b$"
"""A pattern that backtracks exponentially, whichever way it is tried."""


def test_a_pattern_that_backtracks_is_given_up_and_others_go_on() -> None:
    times: list[float] = []
    done = threading.Event()

    def other() -> None:
        while not done.wait(0.01):
            times.append(time.monotonic())

    thread = threading.Thread(target=other)
    thread.start()
    try:
        with pytest.raises(ExecutionError, match="takes too long on a text of 61 characters") as caught:
            python_engine.rlike("a" * 60 + "c", TRIED)
    finally:
        done.set()
        thread.join()
    assert caught.value.sqlstate == "54001"
    assert TRIED in caught.value.message
    assert max(after - before for before, after in itertools.pairwise(times)) < allowed(0.3)


def test_what_took_too_long_is_not_tried_again_at_once() -> None:
    began = time.thread_time()
    for _ in range(10):
        with pytest.raises(ExecutionError, match="takes too long"):
            python_engine.rlike("a" * 60 + "d", TRIED)
    assert time.thread_time() - began < 3 * python_engine.TEXT_SECONDS


class _Shared:
    """Clocks of a thread that has one of `by` parts of its process's time."""

    def __init__(self, by: float) -> None:
        self.by = by
        self.whole = 0.0

    def process_time(self) -> float:
        return self.whole

    def thread_time(self) -> float:
        return self.whole / self.by

    def monotonic(self) -> float:
        return self.whole

    def search(self, _text: str, *, timeout: float, concurrent: bool) -> None:
        assert concurrent
        self.whole += timeout
        raise TimeoutError


@pytest.mark.parametrize(("by", "least", "most"), [(1, 0.9, 1.1), (4, 0.9, 2), (8, 0.9, 2), (100, 0.15, 0.17)])
def test_other_threads_do_not_take_a_patterns_time(
    monkeypatch: pytest.MonkeyPatch, by: float, least: float, most: float
) -> None:
    """`regex` counts the time of the whole process."""
    clocks = _Shared(by)
    monkeypatch.setattr(python_engine, "time", clocks)
    monkeypatch.setattr(python_engine, "_given_up", {})
    tried = dataclasses.replace(python_engine.matcher(TRIED), compiled=clocks)  # type: ignore[arg-type]
    with pytest.raises(ExecutionError, match="takes too long"):
        tried.search("a" * 61)
    assert least <= clocks.thread_time() / python_engine.TEXT_SECONDS <= most


def test_a_text_ends_beside_busy_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """`regex` asks for the interpreter's lock now and then, for which they let it wait."""
    monkeypatch.setattr(python_engine, "TEXT_SECONDS", 0.1)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            sum(range(10_000))

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        began = time.process_time()
        with pytest.raises(ExecutionError, match="takes too long"):
            python_engine.rlike("a" * 60 + "e", TRIED)
        assert time.process_time() - began < 5
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.slow
def test_a_batch_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_engine, "BATCH_SECONDS", 0.2)
    texts = ["b" + "a" * 12 + "c" + str(n) for n in range(1000)]
    with python_engine.batch(), pytest.raises(ExecutionError, match="takes too long"):
        any(python_engine.rlike(text, TRIED) for text in texts)
    assert not any(python_engine.rlike(text, TRIED) for text in texts[:20])


@pytest.mark.slow
def test_many_matches_of_a_text_are_no_long_matching() -> None:
    assert len(python_engine.split("a" * 300_000, "", -1)) == 300_001


def test_a_statement_is_ended_between_two_texts() -> None:
    statement = Cancellation()
    with statement.active():
        assert not python_engine.rlike("a" * 5 + "c", TRIED)
        statement.cancel()
        with pytest.raises(CancelledError):
            python_engine.rlike("a" * 5 + "c", TRIED)


def test_long_texts_are_not_tried() -> None:
    with pytest.raises(ExecutionError, match="more than 4,000,000 characters") as caught:
        python_engine.rlike("a" * 5_000_000, "(?=b)c")
    assert caught.value.sqlstate == "54001"


def test_a_group_that_is_not_there_is_an_error_of_a_match() -> None:
    with pytest.raises(ExecutionError, match='"a" has no group 3'):
        python_engine.regexp_extract("a", "a", 3)
    assert python_engine.regexp_extract("b", "a", 3) == ""
    with pytest.raises(ExecutionError, match='"a" has no group 1'):
        python_engine.regexp_replace("a", "a", "$1")
    assert python_engine.regexp_replace("b", "a", "$1") == "b"


def test_replacements_name_groups() -> None:
    assert python_engine.regexp_replace("ab", "(?<x>a)(b)", "${x}$2$1\\$1") == "aba$1"
    assert python_engine.regexp_replace("ab", "(a)(b)", "$10") == "a0"


@pytest.mark.parametrize("text", ["abc", "a"])
def test_calls_inside_calls_do_not_grow(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    from sharkpy.udf.pattern_functions import lower_regexp_replace
    from sharkpy.values.types import STRING

    sql = f"(SELECT '{text * 10}')"
    sizes = []
    for _ in range(10):
        sql = lower_regexp_replace([sql, "'[a-c]x?$'", "''"], (STRING,) * 3, STRING)
        sizes.append(len(sql))
    assert sizes[9] - sizes[8] == sizes[5] - sizes[4]
    assert connection.execute(f"SELECT {sql}").fetchall() == [((text * 10)[:-10],)]
