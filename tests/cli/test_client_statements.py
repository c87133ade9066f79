"""dfs, ! and source: statements that Hive's shell runs on its own machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharkpy.base.errors import ConfigurationError, ExecutionError, SharkError, SourceError, UnsupportedError
from sharkpy.cli.client_statements import run_client_statement, run_dfs, statements_with_sources


def dfs(text: str) -> list[str]:
    said: list[str] = []
    run_dfs(text, said.append)
    return said


def test_files_are_made_listed_moved_and_removed(tmp_path: Path) -> None:
    assert dfs(f"-mkdir -p {tmp_path}/a/b") == []
    (tmp_path / "a" / "x.txt").write_text("one\ntwo\n")
    dfs(f"-touchz {tmp_path}/a/empty")
    listed = dfs(f"-ls {tmp_path}/a")
    assert listed[0] == "Found 3 items"
    marked = [line.split()[0][0] + line.split()[-1].rsplit("/", 1)[1] for line in listed[1:]]
    assert marked == ["db", "-empty", "-x.txt"]
    assert listed[3].split()[4] == "8"
    dfs(f"-cp {tmp_path}/a/x.txt {tmp_path}/a/b")
    dfs(f"-mv {tmp_path}/a/b/x.txt {tmp_path}/a/b/y.txt")
    assert dfs(f"-cat {tmp_path}/a/b/*.txt") == ["one\ntwo"]
    assert dfs(f"-du -s {tmp_path}/a") == [f"16  {tmp_path}/a"]
    assert dfs(f"-count {tmp_path}/a")[0].split()[:3] == ["2", "3", "16"]
    dfs(f"-getmerge {tmp_path}/a/b {tmp_path}/merged")
    assert (tmp_path / "merged").read_text() == "one\ntwo\n"
    assert dfs(f"-rm {tmp_path}/a/x.txt") == [f"Deleted {tmp_path}/a/x.txt"]
    assert len(dfs(f"-lsr {tmp_path}/a")) == 3
    assert dfs(f"-rmr file:{tmp_path}/a") == [f"Deleted {tmp_path}/a"]
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("-ls {}/nowhere", SourceError, "No such file"),
        ("-rm {}", SourceError, "Is a directory"),
        ("-cat {}/*.none", SourceError, "No such file"),
        ("-cp {}/f {}/g", SourceError, "File exists"),
        ("-mkdir {}/f", SourceError, "exists"),
        ("-test -d {}/f", SourceError, "no"),
        ("-ls hdfs://host/x", UnsupportedError, "hdfs"),
        ("-sl {}", UnsupportedError, "dfs -sl"),
        ("-rm", ConfigurationError, "a path is needed"),
        ("-ls 'x", ConfigurationError, "a quote is not closed"),
    ],
)
def test_what_cannot_be_done_is_one_error(tmp_path: Path, text: str, kind: type[SharkError], message: str) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "g").write_text("y")
    with pytest.raises(kind, match=message):
        dfs(text.replace("{}", str(tmp_path)))
    assert (tmp_path / "g").read_text() == "y"


def test_rm_of_nothing_is_allowed_where_it_is_told_so(tmp_path: Path) -> None:
    assert dfs(f"-rm -r -f {tmp_path}/nowhere") == []


def test_sources_are_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "inner.sql").write_text("select 2;\nselect 3")
    found = list(statements_with_sources(f"select 1;\nsource {tmp_path}/inner.sql;\nselect 4"))
    assert [statement for statement, _ in found] == ["select 1", "select 2", "select 3", "select 4"]
    (tmp_path / "self.sql").write_text(f"source {tmp_path}/self.sql")
    with pytest.raises(ConfigurationError, match="more than 20 levels"):
        list(statements_with_sources(f"source {tmp_path}/self.sql"))
    with pytest.raises(ConfigurationError, match="cannot read"):
        list(statements_with_sources("source /nowhere/x.sql"))


def test_commands_of_the_machine() -> None:
    said: list[str] = []
    assert run_client_statement("!echo hi", said.append)
    assert said == ["hi"]
    assert not run_client_statement("select 1", said.append)
    with pytest.raises(ExecutionError, match="ended with code 3: why"):
        run_client_statement("!echo why >&2; exit 3", said.append)
