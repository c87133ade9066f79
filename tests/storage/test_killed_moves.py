"""Processes that are killed while they move files: the next start leaves the old files or the new ones."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from tests.faults.test_killed_writes import CHILD
from tests.storage.places import BUCKET
from tests.storage.remains import wait_for_the_sweep
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server

pytestmark = pytest.mark.slow

WRITE = "sharkpy.sources.copied_files:FolderWrite"
INSERT = "INSERT OVERWRITE DIRECTORY '{place}/out' SELECT a FROM t"
EXPORT = "EXPORT TABLE t TO '{place}/export'"
LOAD = "LOAD DATA INPATH '{place}/in' INTO TABLE t"
CASES = {
    "rows are staged": ("sharkpy.execution.queries.write_query:run_to_sink", INSERT, "old"),
    "files are copied": (f"{WRITE}.copy", INSERT, "old"),
    "files are placed": (f"{WRITE}.place", INSERT, "new"),
    "old ones are gone": (f"{WRITE}.finish", INSERT, "new"),
    "an export is copied": (f"{WRITE}.copy", EXPORT, "old"),
    "an export is placed": (f"{WRITE}.place", EXPORT, "exported"),
    "files were loaded": ("sharkpy.execution.commands.load_data:copy_files", LOAD, "old"),
    "rows of files count": ("sharkpy.execution.commands.load_data:publish", LOAD, "loaded"),
}


def settings(moto: S3Server) -> Mapping[str, str]:
    return {
        "fs.s3a.access.key": ACCESS_KEY,
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.endpoint": f"http://{moto.address}",
    }


@pytest.mark.parametrize("case", CASES)
def test_a_kill(moto: S3Server, s3: Any, tmp_path: Path, case: str) -> None:
    point, statement, expected = CASES[case]
    key = uuid4().hex
    place = f"s3a://{BUCKET}/{key}"
    for name in ("out/old", "in/rows"):
        s3.put_object(Bucket=BUCKET, Key=f"{key}/{name}", Body=b"7\n")
    conf = settings(moto)
    with sharkpy.connect("local[2]", tmp_path / "w", **conf) as session:
        session.sql("CREATE TABLE t (a INT) STORED AS TEXTFILE").close()
        session.sql("INSERT INTO t VALUES (1), (2)").close()
    child = CHILD.replace("sharkpy.connect(warehouse=warehouse)", f"sharkpy.connect(warehouse=warehouse, **{conf!r})")
    arguments = [str(tmp_path / "w"), point, "1", statement.format(place=place)]
    ended = subprocess.run([sys.executable, "-c", child, *arguments], capture_output=True, text=True, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-4000:]
    with sharkpy.connect("local[2]", tmp_path / "w", **conf) as session:
        wait_for_the_sweep(session)
        values = [a for (a,) in session.sql("SELECT a FROM t ORDER BY a").fetchall()]
        if expected == "exported":
            session.sql(f"IMPORT TABLE back FROM '{place}/export'").close()
            assert session.sql("SELECT count(*) FROM back").fetchall() == [(2,)]
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{key}/")["Contents"]
    found = {one["Key"].removeprefix(f"{key}/"): one["Key"] for one in listed}
    assert not [name for name in found if "_writes" in name]
    assert ("out/old" in found) == (expected != "new")
    assert any(name.startswith("export/") for name in found) == (expected == "exported")
    rows = [s3.get_object(Bucket=BUCKET, Key=path)["Body"].read() for name, path in found.items() if "out/" in name]
    assert sorted(b"".join(rows).split()) == ([b"1", b"2"] if expected == "new" else [b"7"])
    # Loaded files stay in their old place, if the kill comes between the two steps.
    assert values == ([1, 2, 7] if expected == "loaded" else [1, 2])
    assert "in/rows" in found
