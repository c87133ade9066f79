"""Calls every built-in function with huge arguments, in a process of its own: `python -m tests.udf.huge_arguments`.

The literals of each function's example are replaced: texts by long, deep and odd ones, numbers by extreme ones, arrays
by long ones. Each call has to end in time, with an answer or an error of the engine, and in little memory.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import re
import resource
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import sharkpy
from sharkpy.udf import registry
from sharkpy.udf.function import AggregateFunction, Function, RelationFunction, WindowFunction
from sharkpy.udf.size_rules import SIZE_RULES, WORK_RULES
from tests.waiting import allowed

SECONDS = 2.0
MOST_BYTES = 1 << 30
_HANGS = 120
_LITERAL = re.compile(r"(?P<text>'(?:[^'\\]|\\.)*')|(?P<array>array\([\d, ]+\))|(?<![\w.])(?P<number>\d+)(?![\w.])")
_OF_MODELS = ("predict", "predict_proba")
OF_PATTERNS = (
    "regexp_count",
    "regexp_extract",
    "regexp_extract_all",
    "regexp_instr",
    "regexp_like",
    "regexp_replace",
    "regexp_substr",
    "rlike",
    "split",
)
"""Their patterns stay as they are: the tests of patterns have the patterns that take long."""
TEXTS = {
    "long": "repeat('ab,1:', 2000000)",
    "letters": "repeat('a', 100000)",
    "json": "repeat('[', 100000)",
    "objects": "repeat('{\"a\":', 100000)",
    "tags": "concat(repeat('<a>', 100000), repeat('</a>', 100000))",
    "dots": "concat(repeat('.', 100000), 'x')",
    "odd": "concat('a', chr(0), '€', chr(27))",
}
NUMBERS = ("2147483647", "-2147483648", "0")
ARRAY = "sequence(1, 300000)"


def calls(row: Function, *, is_thorough: bool) -> Iterator[str]:
    """The example with its literals replaced, all at once; thorough: also one by one, and by all kinds of text."""
    starts = [match.start() for match in _LITERAL.finditer(row.example)]
    together = starts[0] if row.name in OF_PATTERNS else None
    if not is_thorough:
        yield _replaced(row.example, "long", NUMBERS[0], together)
        return
    places = [together] if row.name in OF_PATTERNS else [None, *starts]
    for text, number, only in itertools.product(TEXTS, NUMBERS, places):
        yield _replaced(row.example, text, number, only)


def _replaced(example: str, text: str, number: str, only: int | None = None) -> str:
    """The example with its literals replaced; `only` the one at that place, if given."""

    def replace(match: re.Match[str]) -> str:
        if only is not None and match.start() != only:
            return match.group()
        if match["text"]:
            return f"evil.{text}"
        return ARRAY if match["array"] else number

    return _LITERAL.sub(replace, example)


def statement(row: Function, call: str) -> str:
    match row:
        case AggregateFunction():
            return f"SELECT {call} FROM (VALUES (1, 2), (3, 4)) AS t(x, y) CROSS JOIN evil"
        case WindowFunction():
            return f"SELECT {call} OVER (ORDER BY x) FROM (VALUES (1, 2), (3, 4)) AS t(x, y) CROSS JOIN evil"
    return f"SELECT {call} FROM evil"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--few", action="store_true", help="functions with a rule, and a fifth of the others")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    rows = [row for row in registry.built_in() if not isinstance(row, RelationFunction) and row.name not in _OF_MODELS]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"shark.driver.memory": "512m", "shark.result.batch.rows": 1000}
        with sharkpy.connect(warehouse=folder, **settings) as session:
            columns = ", ".join(f"{sql} AS {name}" for name, sql in TEXTS.items())
            session.sql(f"CREATE TABLE evil AS SELECT {columns}").fetchall()
            session.sql(f"SET shark.query.timeout={SECONDS}").fetchall()
            _limit_memory()
            seen: set[str] = set()
            failures = 0
            for row in rows:
                if (given.names and row.name not in given.names) or (given.few and not _is_chosen(row.name)):
                    continue
                for call in calls(row, is_thorough=given.thorough):
                    text = statement(row, call)
                    if text not in seen:
                        seen.add(text)
                        failures += _is_wrong(session, row.name, text)
            print(f"{len(seen)} calls, {failures} wrong", flush=True)
    return 1 if failures else 0


def _is_chosen(name: str) -> bool:
    return name in SIZE_RULES or name in WORK_RULES or zlib.crc32(name.encode()) % 5 == 0


def _limit_memory() -> None:
    """End the process, rather than the machine, if a function takes all memory."""
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + 4 * MOST_BYTES, resource.RLIM_INFINITY))


def _is_wrong(session: sharkpy.SharkContext, name: str, text: str) -> bool:
    Path("/proc/self/clear_refs").write_text("5")
    before, start = _peak(), time.perf_counter()
    faulthandler.dump_traceback_later(_HANGS, exit=True)
    print(text, file=sys.stderr, flush=True)
    wrong = ""
    try:
        session.sql(text).fetchmany(10)
    except sharkpy.SharkError as error:
        wrong = f"{error}" if error.sqlstate == "XX000" or _BARE.search(error.message) else ""
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    faulthandler.cancel_dump_traceback_later()
    taken, grown = time.perf_counter() - start, _peak() - before
    if taken > allowed(SECONDS):
        wrong += f" {taken:.1f} s"
    if grown > MOST_BYTES:
        wrong += f" {grown >> 20} MB"
    if wrong:
        print(f"{name}: {text}: {wrong[:300]}", flush=True)
    return bool(wrong)


_BARE = re.compile(r"^(?:\w+Error|InvalidOperation|[a-z ]*maximum recursion)\b|<class|Traceback")
"""Messages of Python's own exceptions."""


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) << 10 if found else 0


if __name__ == "__main__":
    sys.exit(main())
