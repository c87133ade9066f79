"""A program whose main thread has run statements can be forked, as multiprocessing does by default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sharkpy


@pytest.mark.parametrize("text", ["a,b\n1,x\n", '{"a": 1}\n'], ids=["csv", "json"])
def test_after_files_were_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"f.{'csv' if text[0] == 'a' else 'json'}"
    path.write_text(text)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql(f"SELECT * FROM '{path}'").fetchall()
        context.sql("SELECT cast('2024-1-5' AS DATE), levenshtein('a', 'b')").fetchall()
        process = os.fork()
        if not process:
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0
