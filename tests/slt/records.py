"""The .slt format: records of SQL with their expected answers.

    # comment                          include shared/emp.slt
    statement ok                       statement error 42S02 regex of the message
    CREATE TABLE t (a INT)             SELECT * FROM nowhere

    skipif duckdb integer division     query IRT rowsort
    onlyif sharkpy                     SELECT …
                                       ----
                                       1<tab>2.5<tab>x

Types: I integer, R float or double, D decimal, B boolean, T anything else. Sort modes: nosort (the default, for
queries with ORDER BY), rowsort, valuesort. A record ends at an empty line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parent
SORT_MODES = ("nosort", "rowsort", "valuesort")


@dataclass(frozen=True)
class Record:
    """Record of a file: `kind` is ok, error, query, include or comment; `line` is where the record starts."""

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

    def text(self) -> str:
        lines = list(self.conditions)
        match self.kind:
            case "comment":
                return self.sql
            case "include":
                lines.append(f"include {self.argument}")
            case "query":
                sort = "" if self.sort == "nosort" else f" {self.sort}"
                lines += [f"query {self.argument}{sort}", self.sql, "----", *self.expected]
            case _:
                lines += [f"statement {self.kind} {self.argument}".rstrip(), self.sql]
        return "\n".join(lines)


def parse(path: Path) -> list[Record]:
    records = []
    line_number = 1
    for chunk in re.split(r"\n(?:[ ]*\n)+", path.read_text(encoding="utf-8").strip("\n")):
        start = path.read_text(encoding="utf-8").find(chunk)
        line_number = path.read_text(encoding="utf-8").count("\n", 0, start) + 1
        records.append(_parse_record(chunk.split("\n"), line_number, path))
    return records


def _parse_record(lines: list[str], number: int, path: Path) -> Record:
    comments = [line for line in lines if line.startswith("#")]
    body = [line for line in lines if not line.startswith("#")]
    if not body:
        return Record("comment", number, sql="\n".join(comments))
    conditions = list(comments)
    while body and body[0].startswith(("skipif ", "onlyif ")):
        conditions.append(body.pop(0))
    record = Record("", number, conditions=tuple(conditions))
    head, _, argument = body[0].partition(" ")
    if head == "include":
        return replace(record, kind="include", argument=argument)
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
    """Records of a file with its includes in place."""
    found: list[Record] = []
    for record in parse(path):
        found += load(ROOT / record.argument) if record.kind == "include" else [record]
    return [record for record in found if record.kind != "comment"]
