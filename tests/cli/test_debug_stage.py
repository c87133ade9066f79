"""Recorded stages, run again one by one: each repeats its rows or its failure."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.cli.main import main
from sharkpy.execution.stages.stage_record import StageFacts, recorded_stages, rerun_task

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE TABLE facts (k INT, v INT) TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY');
CREATE TABLE keys (k INT, name STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY');
INSERT INTO facts SELECT t.n % 5, t.n FROM (SELECT explode(sequence(1, 1000)) AS n) t;
INSERT INTO keys VALUES (0, 'zero'), (1, 'one'), (7, 'seven')
"""
QUERY = "SELECT name, count(*), sum(v) FROM facts JOIN keys ON facts.k = keys.k GROUP BY name ORDER BY name"
RDD = {
    "shark.placement.driver": False,
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.join.replicate.max.rows": 0,
    "shark.block.rows": 300,
    "shark.jvm.memory": "512m",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[StageFacts]]:
    """Record the stages of one query with a broadcast and of one with shuffles, and of a failing one; the session is
    over.
    """
    folder = tmp_path_factory.mktemp("debug")
    records = folder / "records"
    with sharkpy.connect("local[2]", folder / "warehouse", **RDD) as context:
        context.sql(SCRIPT).close()
        for join in ("broadcast", "shuffle"):
            context.sql(f"SET shark.test.join={join}")
            before = context.sql(QUERY).fetchall()
            context.sql(f"SET shark.debug.record={records}")
            assert context.sql(QUERY).fetchall() == before
            context.sql("SET shark.debug.record=")
        assert before == [("one", 200, 99700), ("zero", 200, 100500)]
    return records, recorded_stages(records)


def test_each_stage_gives_what_it_gave(recorded: tuple[Path, list[StageFacts]]) -> None:
    folder, stages = recorded
    assert len(stages) >= 8
    assert any(facts.num_tasks > 1 for facts in stages)
    for facts in stages:
        assert len(facts.outcomes) == facts.num_tasks
        for then in facts.outcomes:
            now = rerun_task(folder, facts.number, then.task)
            assert (now.rows_in, now.rows_out) == (then.rows_in, then.rows_out), facts.label
            assert sum(batch.num_rows for batch in now.batches) == then.rows_out
    last = rerun_task(folder, stages[-1].number, 0)
    assert [tuple(row.values()) for batch in last.batches for row in batch.to_pylist()] == [
        ("one", 200, 99700),
        ("zero", 200, 100500),
    ]


def test_one_block_alone(recorded: tuple[Path, list[StageFacts]], capsys: pytest.CaptureFixture[str]) -> None:
    folder, stages = recorded
    facts = next(one for one in stages if "facts" in one.label and one.num_tasks > 1)
    blocks = sorted(path.stem for path in (folder / f"{facts.number:04d}" / "blocks").iterdir())
    rows = []
    for block in blocks:
        for task in range(facts.num_tasks):
            code = main(
                ["debug-stage", str(folder), "--stage", str(facts.number), "--task", str(task), "--block", block]
            )
            output = capsys.readouterr()
            if code == 0:
                rows.append(int(output.out.partition("rows in ")[2].partition(",")[0]))
            else:
                assert "has no block" in output.err
    assert len(rows) == len(blocks) > 1
    assert sum(rows) == 1000


def test_the_debugger_stops_before_the_task(
    recorded: tuple[Path, list[StageFacts]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, stages = recorded
    monkeypatch.setattr("sys.stdin", io.StringIO("p 'rows so far', metrics.rows_in\nc\n"))
    assert main(["debug-stage", str(folder), "--stage", str(stages[-1].number), "--pdb"]) == 0
    output = capsys.readouterr().out
    assert output.index("('rows so far', 0)") < output.index("rows in 2, rows out 2")
    assert "on record: rows in 2, rows out 2" in output
    assert "100500" in output


def test_the_list_and_the_query(recorded: tuple[Path, list[StageFacts]], capsys: pytest.CaptureFixture[str]) -> None:
    folder, stages = recorded
    assert main(["debug-stage", str(folder)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(stages) + 1
    assert main(["debug-stage", str(folder), "--stage", str(stages[-1].number), "--sql"]) == 0
    assert capsys.readouterr().out == stages[-1].sql + "\n"
    assert main(["debug-stage", str(folder), "--stage", "99"]) == 1
    assert "no recorded stage 99" in capsys.readouterr().err


def test_a_failing_stage_says_how_to_run_it_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "records"
    text = "SELECT count(*) FROM lines WHERE x > 1"
    with sharkpy.connect("local[1]", tmp_path / "warehouse", shark_debug_record=records) as context:
        context.sql("CREATE TABLE lines (x INT) STORED AS PARQUET").close()
        context.sql("INSERT INTO lines VALUES (1), (2)").close()
        (file,) = [path for path in (tmp_path / "warehouse").rglob("part-*") if path.is_file()]
        kept, times = file.read_bytes(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
        planned = context.sql(text)
        file.write_bytes(kept[:4] + bytes(len(kept) - 8) + kept[-4:])
        os.utime(file, ns=times)
        with pytest.raises(SharkError, match="debug-stage") as caught:
            planned.fetchall()
        number = recorded_stages(records)[-1].number
        assert f"sharkpy debug-stage {records} --stage {number}" in str(caught.value)
    assert main(["debug-stage", str(records)]) == 1
    output = capsys.readouterr()
    assert "the task fails" in output.out
    assert "Traceback" in output.err
    file.write_bytes(kept)
    os.utime(file, ns=times)
    assert main(["debug-stage", str(records)]) == 0
    assert "rows out 1" in capsys.readouterr().out


def test_what_was_too_large_to_be_recorded(tmp_path: Path) -> None:
    conf = {**RDD, "shark.debug.record": str(tmp_path / "records"), "shark.debug.record.max.bytes": 0}
    with sharkpy.connect("local[2]", tmp_path / "warehouse", **conf) as context:
        context.sql(SCRIPT).close()
        assert len(context.sql(QUERY).fetchall()) == 2
    last = recorded_stages(tmp_path / "records")[-1]
    with pytest.raises(SharkError, match=r"too large to be recorded.*shark\.debug\.record\.max\.bytes"):
        rerun_task(tmp_path / "records", last.number, 0)


def test_record_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse, records = str(tmp_path / "warehouse"), str(tmp_path / "records")
    record = ["--master", "local[1]", "--warehouse", warehouse, "debug-stage", records, "--record"]
    assert main([*record, "SELECT 1 + 1"]) == 1
    assert "no stage ran" in capsys.readouterr().err
    assert main([*record, "SELECT count(*) FROM (SELECT explode(array(1, 2)) AS a) t"]) == 0
    assert "1 task in the driver" in capsys.readouterr().out
    assert main(["debug-stage", records, "--stage", "1"]) == 0
    assert "rows out 1" in capsys.readouterr().out
