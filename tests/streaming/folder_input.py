"""Files of a stream's folder, as programs leave them there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import sharkpy
from tests.rows import rows
from tests.waiting import until

NUMBERS = "CREATE STREAM numbers (n BIGINT, s STRING) STORED AS JSONFILE FROM FOLDER '{}' {}"


def put(folder: Path, name: str, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write a file next to its place, and move it there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return hidden.rename(path)


def put_numbers(folder: Path, name: str, numbers: Iterable[int]) -> Path:
    return put(folder, name, [{"n": number, "s": f"s{number}"} for number in numbers])


def make_stream(context: sharkpy.SharkContext, folder: Path, options: str = "") -> None:
    context.sql(NUMBERS.format(folder, options)).close()


def numbers(context: sharkpy.SharkContext, table: str = "t") -> list[object]:
    return sorted(row[0] for row in rows(context, f"SELECT n FROM {table}"))


def until_numbers(context: sharkpy.SharkContext, expected: Iterable[int], table: str = "t") -> None:
    """Wait until a continuous table has these, and not one more or twice."""
    wanted = sorted(expected)
    until(lambda: len(numbers(context, table)) >= len(wanted))
    assert numbers(context, table) == wanted


def state_of(context: sharkpy.SharkContext, table: str = "t") -> tuple[str, str | None]:
    """State of a continuous table, and its fault."""
    ((state, fault),) = [(row[2], row[-1]) for row in rows(context, "SHOW CONTINUOUS TABLES") if row[1] == table]
    return str(state), None if fault is None else str(fault)
