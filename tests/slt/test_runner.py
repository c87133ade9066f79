"""The runner itself: records without a source, and what the oracles have confirmed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.slt import confirmed
from tests.slt.records import ROOT, load, parse

UNCONFIRMED = "skipif duckdb no such function\nskipif spark other answer\nquery I\nSELECT f(1)\n----\n1"
ERROR = "onlyif sharkpy\nstatement error 42601\nSELECT"
SourceFile = Callable[[str], Path]


@pytest.fixture
def written(tmp_path: Path) -> SourceFile:
    def write(text: str) -> Path:
        path = tmp_path / "file.slt"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("record", [UNCONFIRMED, ERROR])
def test_an_answer_that_nothing_vouches_for_is_refused(written: SourceFile, record: str) -> None:
    with pytest.raises(ValueError, match=r"file\.slt:3: .*no source"):
        load(written(f"# a comment\n\n{record}\n"))
    assert load(written(f"source the manual\n\n{record}\n"))[0].needs_source
    assert load(written(f"source the manual\n{record}\n"))[0].source == "the manual"


@pytest.mark.parametrize("record", ["query I\nSELECT 1\n----\n1", "onlyif sharkpy\nstatement ok\nCACHE TABLE t"])
def test_what_an_oracle_runs_or_expects_nothing_needs_no_source(written: SourceFile, record: str) -> None:
    assert len(load(written(record))) == 1


def test_the_sections_that_are_sources_are_there() -> None:
    texts = "\n".join(path.read_text() for path in confirmed.files())
    named = set(re.findall(r"^source .*?(docs/[\w-]+\.md)(?:, ([\w' ]+))?", texts, re.MULTILINE))
    assert len(named) > 5
    for name, section in sorted(named):
        headings = [
            line.strip("# ") for line in (ROOT.parents[1] / name).read_text().splitlines() if line.startswith("#")
        ]
        assert not section or section in headings, (name, section)


def test_records_are_written_as_they_were_read() -> None:
    for path in confirmed.files():
        assert "\n\n".join(record.text() for record in parse(path)) == path.read_text().strip("\n"), path


def test_every_file_is_confirmed_as_it_is() -> None:
    """With other versions, records or another runner than on record: python -m tests.slt.confirmed."""
    assert confirmed.recorded() == confirmed.current()


def test_a_key_is_of_what_the_oracle_runs(written: SourceFile) -> None:
    query = "query I\nSELECT 1\n----\n1\n"
    keys = {
        name: confirmed.key(written(text), "duckdb")
        for name, text in {
            "same": query,
            "with what others run": f"{query}\n{ERROR}\n".replace("onlyif", "source mine\nonlyif"),
            "other rows": query.replace("1\n", "2\n"),
            "other sort": query.replace("I\n", "I rowsort\n"),
        }.items()
    }
    assert keys["same"] == keys["with what others run"]
    assert len(set(keys.values())) == 3
    assert keys["same"] != confirmed.key(written(query), "spark")


class WrongEngine:
    name = "duckdb"
    runs = 0

    def open(self) -> None: ...
    def close(self) -> None: ...
    def run(self, sql: str) -> pa.Table:
        self.runs += 1
        return pa.table({"x": [7]})


def test_only_what_an_oracle_answers_is_confirmed(written: SourceFile, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written("query I\nSELECT 1\n----\n1\n")
    monkeypatch.setattr(confirmed, "ROOT", path.parent)
    engine = WrongEngine()
    keys = {"file.slt": "an older key", "gone.slt": "a key"}
    (problem,) = confirmed.confirm(engine, keys)
    assert "row 1 is ('7',), expected ('1',)" in problem
    assert (keys, engine.runs) == ({}, 1)
    keys = {"file.slt": confirmed.key(path, "duckdb")}
    assert list(confirmed.confirm(engine, keys)) == []
    assert (len(keys), engine.runs) == (1, 1)
