"""Files that a reader of a continuous table has found by the number of their generation, and that are gone by then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import sharkpy
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.layout import DataFile
from tests.rows import rows
from tests.streaming.folder_input import make_stream, put_numbers


@pytest.mark.parametrize("parts", ["", "PARTITIONED BY (s)"])
def test_folded_files_may_go_while_they_are_read(tmp_path: Path, parts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has folded the files: they are hidden, and exist until they are deleted."""
    folder, found = tmp_path / "in", list[DataFile]()
    deltas = LoggedFolder.deltas

    def gone(folder: LoggedFolder, after: int, until: int) -> list[DataFile] | None:
        files = deltas(folder, after, until) or []
        found.extend(files)
        return [replace(file, path=f"{file.path}.gone") for file in files]

    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        put_numbers(folder, "a", range(3))
        clauses = f"{parts} TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW"
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS SELECT n, 'x' AS s FROM numbers").close()
        assert rows(context, "SELECT count(*) FROM t") == [(3,)]
        monkeypatch.setattr(LoggedFolder, "deltas", gone)
        for number in range(1, 4):
            put_numbers(folder, f"b{number}", range(number * 3, number * 3 + 3))
            context.sql("RESUME CONTINUOUS TABLE t").close()
            assert sorted(rows(context, "SELECT n FROM t")) == [(n,) for n in range(number * 3 + 3)]
    assert len(found) >= 3
