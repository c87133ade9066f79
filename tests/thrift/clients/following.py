"""A continuous table as a client makes it, watches it and ends it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.waiting import until

Ask = Callable[[str], list[list[str]]]
"""Runs a statement. Returns its rows as texts, or an empty list if it has no rows."""


def put(folder: Path, number: int) -> None:
    hidden = folder / f".{number}"
    hidden.write_text(json.dumps({"n": number}) + "\n")
    hidden.rename(folder / f"{number}.json")


def follow(ask: Ask, folder: Path, name: str) -> None:
    """Make a continuous table, see it grow, pause it, resume it, and drop it."""
    folder.mkdir()
    memory = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
    ask(f"CREATE STREAM {name}_in (n BIGINT) STORED AS JSONFILE FROM FOLDER '{folder}'")
    ask(f"CREATE CONTINUOUS TABLE {name} {memory} AS SELECT n, n * n AS s FROM {name}_in")
    for number in range(1, 4):
        put(folder, number)
        until(lambda number=number: ask(f"SELECT max(s) FROM {name}") == [[str(number * number)]])
    ask(f"PAUSE CONTINUOUS TABLE {name}")
    put(folder, 4)
    assert [row[2] for row in ask("SHOW CONTINUOUS TABLES") if row[1] == name] == ["PAUSED"]
    assert ask(f"SELECT count(*) FROM {name}") == [["3"]]
    ask(f"RESUME CONTINUOUS TABLE {name}")
    until(lambda: ask(f"SELECT count(*), sum(s) FROM {name}") == [["4", "30"]])
    assert len(ask(f"SHOW EPOCHS {name}")) >= 2
    ask(f"DROP CONTINUOUS TABLE {name}")
    ask(f"DROP STREAM {name}_in")
    assert not [row for row in ask("SHOW STREAMS") if row[1] == f"{name}_in"]
