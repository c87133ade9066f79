"""`sharkpy warmup` compiles the loops that a first epoch needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_TRAIN = """
import importlib, sys, sharkpy
from sharkpy.cli.warmup import run_statements
importlib.import_module("sharkpy.sources.cut_fields")
with sharkpy.connect("local[2]", sys.argv[1] + "/trained") as session:
    run_statements(session, sys.argv[1])
"""
_EPOCH = """
import sys, sharkpy
columns = "user BIGINT, page BIGINT, campaign BIGINT, kind STRING, time TIMESTAMP, address STRING"
with sharkpy.connect("local[2]", sys.argv[1] + "/w") as session:
    session.sql(f"CREATE STREAM events ({columns}) STORED AS JSONFILE FROM FOLDER '{sys.argv[1]}/events'")
    session.sql(
        "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW "
        "AS SELECT * FROM events"
    )
    print(session.sql("SELECT count(*) AS n, count(DISTINCT user) AS users FROM t").fetchall())
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_is_compiled_in_a_first_epoch(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    with (events / "0.json").open("w") as file:
        for number in range(1000):
            user = number * 7919 % 999_983
            row = {"user": user, "page": user % 99_991, "campaign": user % 1000, "kind": f"kind {number % 5}"}
            time = f"2026-01-01 00:00:{number // 20:02}.{number % 2 * 500:03}"
            file.write(json.dumps({**row, "time": time, "address": f"10.{number % 4}.{user % 251}"}) + "\n")
    cache = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DEBUG_CACHE": "1"}
    assert "data saved" in _output(_TRAIN, tmp_path, cache)
    epoch = _output(_EPOCH, tmp_path, cache)
    assert "(1000, 1000)" in epoch
    assert "data loaded" in epoch
    assert "data saved" not in epoch


def _output(program: str, folder: Path, environment: dict[str, str]) -> str:
    """Return the output of a program in a process of its own, which has compiled nothing yet."""
    run = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, env=environment, check=True
    )
    return run.stdout
