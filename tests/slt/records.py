"""The .slt format: records of SQL with their expected answers.

    # comment                          include shared/emp.slt
    statement ok                       statement error 42S02 regex of the message
    CREATE TABLE t (a INT)             SELECT * FROM nowhere

    skipif duckdb integer division     query IRT rowsort
    onlyif sharkpy                     SELECT …
    source Hive manual, Sampling       ----
                                       1<tab>2.5<tab>x

Types: I integer, R float or double, D decimal, B boolean, T anything else. Sort modes: nosort (the default, for
queries with ORDER BY), rowsort, valuesort. A record ends at an empty line.

A query or an error that no oracle runs names the source of its answer. As a record of its own, `source` holds for all
such records after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parent
ORACLES = ("duckdb", "spark")
SORT_MODES = ("nosort", "rowsort", "valuesort")
_GAP = re.compile(r"\n(?:[ ]*\n)+")


@dataclass(frozen=True)
class Record:
    """Record of a file: `kind` is ok, error, query, include, source or comment; `line` is its first line."""

    kind: str
    line: int
    sql: str = ""
    argument: str = ""
    sort: str = "nosort"
    expected: tuple[str, ...] = ()
    conditions: tuple[str, ...] = field(default=())

    def runs_on(self, engine: str) -> bool:
        only = [condition.split()[1] for condition in self.conditions if condition.startswith("onlyif")]
        skipped = [condition.split()[1] for condition in self.conditions if condition.startswith("skipif")]
        return engine not in skipped and (not only or engine in only)

    @property
    def source(self) -> str:
        """Source of the expected answer, as the record itself says."""
        return next(
            (condition.partition(" ")[2] for condition in self.conditions if condition.startswith("source ")), ""
        )

    @property
    def needs_source(self) -> bool:
        """No oracle confirms what is expected."""
        return self.kind in ("query", "error") and not any(map(self.runs_on, ORACLES))

    def text(self) -> str:
        lines = list(self.conditions)
        match self.kind:
            case "comment":
                return self.sql
            case "include" | "source":
                lines.append(f"{self.kind} {self.argument}")
            case "query":
                sort = "" if self.sort == "nosort" else f" {self.sort}"
                lines += [f"query {self.argument}{sort}", self.sql, "----", *self.expected]
            case _:
                lines += [f"statement {self.kind} {self.argument}".rstrip(), self.sql]
        return "\n".join(lines)


def parse(path: Path) -> tuple[Record, ...]:
    """The records of a file as it is written: comments and includes among them."""
    text = path.read_text(encoding="utf-8").strip("\n")
    starts = [0, *(gap.end() for gap in _GAP.finditer(text))]
    chunks = zip(starts, _GAP.split(text), strict=True)
    return tuple(_parse_record(chunk.split("\n"), text.count("\n", 0, start) + 1, path) for start, chunk in chunks)


def _parse_record(lines: list[str], number: int, path: Path) -> Record:
    comments = [line for line in lines if line.startswith("#")]
    body = [line for line in lines if not line.startswith("#")]
    if not body:
        return Record("comment", number, sql="\n".join(comments))
    conditions = list(comments)
    while len(body) > 1 and body[0].startswith(("skipif ", "onlyif ", "source ")):
        conditions.append(body.pop(0))
    record = Record("", number, conditions=tuple(conditions))
    head, _, argument = body[0].partition(" ")
    if head in ("include", "source"):
        return replace(record, kind=head, argument=argument)
    if head == "statement":
        kind, _, argument = argument.partition(" ")
        if kind not in ("ok", "error"):
            raise ValueError(f"{path}:{number}: statement ok or statement error")
        return replace(record, kind=kind, argument=argument, sql="\n".join(body[1:]))
    if head != "query" or "----" not in body:
        raise ValueError(f'{path}:{number}: not a record: "{body[0]}"')
    words = argument.split()
    sort = words[-1] if words and words[-1] in SORT_MODES else "nosort"
    types = words[0] if words and words[0] not in SORT_MODES else ""
    cut = body.index("----")
    sql, rows = "\n".join(body[1:cut]), tuple(body[cut + 1 :])
    return replace(record, kind="query", argument=types, sort=sort, sql=sql, expected=rows)


def load(path: Path) -> list[Record]:
    """Records of a file with its includes in place; ValueError for an answer that nothing vouches for."""
    found: list[Record] = []
    source = ""
    for record in parse(path):
        match record.kind:
            case "comment":
                continue
            case "source":
                source = record.argument
                continue
            case "include":
                found += load(ROOT / record.argument)
                continue
        if record.needs_source and not (record.source or source):
            raise ValueError(f"{path}:{record.line}: no oracle runs this record, and it names no source of its answer")
        found.append(record)
    return found
