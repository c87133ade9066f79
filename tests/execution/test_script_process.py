"""Processes of scripts: their words, folder, streams and end."""

from __future__ import annotations

import os
import threading
import time
import zipfile
from pathlib import Path

import pytest

from sharkpy.base.errors import CancelledError, ExecutionError, SourceError
from sharkpy.catalog.model import StorageFormat
from sharkpy.execution.tasks.steps.script_process import ScriptProcess, split_command
from sharkpy.plan.row_steps import DELIMITED_JSON, Script

TAB = (("field.delim", "\t"),)


def script(command: str, **more: object) -> Script:
    return Script(
        command,
        StorageFormat(DELIMITED_JSON, TAB),
        StorageFormat("text", TAB),
        ("a",),
        ("a",),
        **more,  # type: ignore[arg-type]
    )


def output(command: str, text: bytes = b"", **more: object) -> str:
    """Output of the script, given `text`."""
    process = ScriptProcess(script(command, **more))
    try:
        process.start()
        feeder = threading.Thread(target=process.feed, args=([memoryview(text)],))
        feeder.start()
        printed = b"".join(process.chunks())
        feeder.join()
        process.check(process.wait())
    finally:
        process.close()
    return printed.decode()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("cat", ["cat"]),
        ("  python3  a.py\tx ", ["python3", "a.py", "x"]),
        ("awk '{print $1}'", ["awk", "{print $1}"]),
        ("""bash -c "echo 'a  b'; exit 1" """, ["bash", "-c", "echo 'a  b'; exit 1"]),
        (r"tr \t _", ["tr", r"\t", "_"]),
        ("a'b c'd", ["ab cd"]),
        ("a '' b", ["a", "", "b"]),
        ("a 'open end", ["a", "open end"]),
    ],
)
def test_words_of_a_command(command: str, words: list[str]) -> None:
    assert split_command(command) == words


def test_lines_go_in_and_come_out() -> None:
    text = b"".join(b"%d\n" % i for i in range(200_000))
    assert output("cat", text) == text.decode()


def test_environment_and_folder(tmp_path: Path) -> None:
    added = tmp_path / "tool.sh"
    added.write_text("#!/bin/bash\necho tool $GREETING; ls\n")
    seen = output("tool.sh", files=(str(added),), environment=(("GREETING", "hello"),))
    assert seen == "tool hello\ntool.sh\n"
    assert not os.access(added, os.X_OK)


def test_archives_are_unpacked_under_their_names(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as archive:
        archive.writestr("inner/word.txt", "found\n")
    assert output("cat words.zip/inner/word.txt", archives=(str(tmp_path / "words.zip"),)) == "found\n"


def test_an_added_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        output("cat", files=(str(tmp_path / "gone"),))


def test_a_failure_tells_the_last_of_standard_error() -> None:
    noisy = "bash -c 'for i in $(seq 20000); do echo noise $i >&2; done; echo the reason >&2; exit 7'"
    with pytest.raises(ExecutionError) as raised:
        output(noisy, error_bytes=1000)
    assert "exit code 7" in raised.value.message
    assert raised.value.message.endswith("the reason")
    assert "noise 1 " not in raised.value.message
    assert raised.value.sqlstate == "38000"


def test_a_script_that_does_not_read_leaves_rows() -> None:
    process = ScriptProcess(script("true"))
    try:
        process.start()
        process.feed([memoryview(b"x" * (1 << 20))] * 4)
        assert process.left_rows
        process.check(process.wait())
    finally:
        process.close()


def test_all_that_a_script_has_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    process = ScriptProcess(script(f"bash -c 'sleep 600 & echo $! > {mark}; wait'"))
    process.start()
    while not (mark.exists() and mark.read_text().strip()):
        time.sleep(0.01)
    child = int(mark.read_text())
    process.kill()
    assert b"".join(process.chunks()) == b""
    process.close()
    assert not _lives(child)


def test_a_script_that_was_ended_before_it_began() -> None:
    process = ScriptProcess(script("sleep 600"))
    process.abandon()
    with pytest.raises(CancelledError):
        process.start()
    process.close()


def _lives(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True
