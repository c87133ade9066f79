"""DuckDB databases that a worker process keeps between tasks."""

from __future__ import annotations

from pathlib import Path

from sharkpy.execution.workers import connection_pool
from sharkpy.execution.workers.connection_pool import ConnectionSettings, process_pool


def test_databases_of_ended_sessions_are_closed(tmp_path: Path) -> None:
    ended, running = tmp_path / "ended", tmp_path / "running"
    for folder in (ended, running):
        folder.mkdir()
    of_ended, of_running = (
        ConnectionSettings(1, 64 << 20, str(folder / "duckdb-tasks")) for folder in (ended, running)
    )
    with process_pool(of_ended).borrow() as cursor:
        cursor.execute("SELECT 1")
    kept = process_pool(of_running)
    ended.rmdir()
    process_pool(ConnectionSettings(1, 65 << 20, str(running / "duckdb-tasks")))
    assert of_ended not in connection_pool._pools
    assert process_pool(of_running) is kept
