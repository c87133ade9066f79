"""The history of statements: one record each, whatever ends it; its bounds, its readers, and the catalog's file."""

from __future__ import annotations

import gc
import json
import logging
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import NoneType

import pytest

import sharkpy
from sharkpy.base.errors import BindError, CancelledError, ParseError, SharkError, StatementTimeoutError
from sharkpy.catalog import statement_records
from sharkpy.catalog.statement_list import StatementChoice
from sharkpy.catalog.statement_records import StatementFile, StatementRecord, StatementState, cut_text
from sharkpy.execution.restrictions import Restrictions
from tests.waiting import until

ENDLESS = "SELECT count(*) FROM t a CROSS JOIN t b CROSS JOIN t c WHERE hash(a.k, b.k, c.k) % 7 = 3"
State = StatementState


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE t AS SELECT explode(sequence(1, 3000)) AS k")
    return context


def newest(context: sharkpy.SharkContext) -> StatementRecord:
    return context.history(1)[0]


# Ends


def finish(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT 'end', k FROM t").fetchall()


def close_early(context: sharkpy.SharkContext) -> None:
    with context.sql("SELECT 'end', k FROM t") as result:
        result.fetchone()


def close_unread(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT 'end', k FROM t").close()


def close_unrun(context: sharkpy.SharkContext) -> None:
    context.prepare("SELECT 'end', k FROM t").close()


def abandon(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT 'end', k FROM t")
    gc.collect()


def abandon_unrun(context: sharkpy.SharkContext) -> None:
    context.prepare("SELECT 'end', k FROM t")
    gc.collect()


def fail_to_parse(context: sharkpy.SharkContext) -> None:
    with pytest.raises(ParseError):
        context.sql("SELEC 'end'")


def fail_to_bind(context: sharkpy.SharkContext) -> None:
    with pytest.raises(BindError):
        context.sql("SELECT 'end', nothing FROM t")


def fail_in_command(context: sharkpy.SharkContext) -> None:
    with pytest.raises(SharkError):
        context.sql("SHOW QUERY 'end'")


def fail_while_read(context: sharkpy.SharkContext) -> None:
    with pytest.raises(SharkError):
        context.sql("SELECT 'end', assert_true(k < 5) FROM t").fetchall()


def cancel(context: sharkpy.SharkContext) -> None:
    prepared = context.prepare(f"{ENDLESS} AND 'end' = 'end'")
    prepared.cancel()
    with pytest.raises(CancelledError):
        prepared.run()


def cancel_and_close(context: sharkpy.SharkContext) -> None:
    with context.sql("SELECT 'end', k FROM t") as result:
        result.fetchone()
        result.cancel()


def time_out(context: sharkpy.SharkContext) -> None:
    with pytest.raises(StatementTimeoutError):
        context.prepare(f"{ENDLESS} AND 'end' = 'end'", timeout=0.1).run().fetchall()


def stop_session(context: sharkpy.SharkContext) -> None:
    other = context.new_session()
    result = other.sql("SELECT 'end', k FROM t")
    result.fetchone()
    other.stop()
    result.close()


ENDS: dict[Callable[[sharkpy.SharkContext], None], tuple[StatementState, str]] = {
    finish: (State.FINISHED, ""),
    close_early: (State.CLOSED, ""),
    close_unread: (State.CLOSED, ""),
    close_unrun: (State.CLOSED, ""),
    abandon: (State.CLOSED, ""),
    abandon_unrun: (State.CLOSED, ""),
    fail_to_parse: (State.FAILED, "42601"),
    fail_to_bind: (State.FAILED, "42703"),
    fail_in_command: (State.FAILED, "42704"),
    fail_while_read: (State.FAILED, "22000"),
    cancel: (State.CANCELLED, "57014"),
    cancel_and_close: (State.CANCELLED, "57014"),
    time_out: (State.TIMED_OUT, "57014"),
    stop_session: (State.CANCELLED, "57014"),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_one_record_whatever_ends_it(
    context: sharkpy.SharkContext, end: Callable[[sharkpy.SharkContext], None]
) -> None:
    before = datetime.now(UTC)
    end(context)
    [record] = context.history(like="*end*")
    assert (record.state, record.sqlstate) == ENDS[end]
    assert bool(record.error) == bool(record.sqlstate)
    assert record.state.is_over
    assert before <= record.started <= datetime.now(UTC)
    assert 0 <= record.running_seconds + record.queued_seconds <= record.seconds + 0.01


def test_figures_of_a_query(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT count(*) FROM t WHERE k > 7").fetchall()
    record = newest(context)
    assert (record.kind, record.text, record.rows_read) == ("SELECT", "SELECT count(*) FROM t WHERE k > 7", 1)
    assert record.session == context._state.name
    assert "stage 1: 1 task in the driver" in record.plan
    assert "3,000 rows in, 1 out" in record.plan
    assert "  HashAggregate" in record.plan
    assert "not ended" not in record.plan
    assert "decided: the query runs as one stage in the driver" in record.plan
    assert record.running_seconds > 0
    assert all(type(value) in (str, int, float, datetime, StatementState, NoneType) for value in astuple(record))


def test_the_plan_of_a_query_that_was_closed(context: sharkpy.SharkContext) -> None:
    close_early(context)
    record = newest(context)
    assert record.rows_read == 3000, "rows are given in batches"
    assert record.plan.startswith("not ended:\n  ")
    assert "FileScan default.t" in record.plan
    assert context.num_running == 0


def test_a_plan_that_is_known_already_is_recorded_as_well(context: sharkpy.SharkContext) -> None:
    for _ in range(2):
        context.sql("SELECT max(k) FROM t WHERE k > 7").fetchall()
    second, first = context.history(2)
    assert first.query_id != second.query_id
    assert "HashAggregate" in first.plan
    assert "HashAggregate" in second.plan


def test_figures_of_commands(context: sharkpy.SharkContext) -> None:
    context.sql("INSERT INTO t SELECT k FROM t WHERE k <= 10")
    record = newest(context)
    assert (record.kind, record.rows_read, record.rows_written) == ("INSERT", 0, 10)
    assert "3,000 rows in, 10 out" in record.plan
    context.sql("SHOW TABLES").fetchall()
    record = newest(context)
    assert (record.kind, record.rows_read, record.rows_written, record.plan) == ("SHOW TABLES", 1, 0, "")
    context.sql("EXPLAIN SELECT k FROM t").fetchall()
    assert newest(context).kind == "EXPLAIN"


def test_each_statement_of_a_script_has_its_record(context: sharkpy.SharkContext) -> None:
    context.sql("USE default; SELECT 5; SELECT 6").fetchall()
    assert [record.text for record in context.history(3)] == ["SELECT 6", "SELECT 5", "USE default"]


def test_the_text_is_that_before_variables_were_put_in(context: sharkpy.SharkContext) -> None:
    context.sql("SET hivevar:n=3")
    context.sql("SELECT ${n}").fetchall()
    assert newest(context).text == "SELECT ${n}"


def test_work_of_a_program_has_a_name(context: sharkpy.SharkContext) -> None:
    context.save_as_table([(1, "a"), (2, "b")], "saved", "n INT, s STRING")
    record = newest(context)
    assert (record.kind, record.text, record.rows_written) == ("PYTHON", "save_as_table saved", 2)
    with pytest.raises(SharkError):
        context.save_as_table([(1,)], "saved", "n INT")
    assert (newest(context).state, newest(context).sqlstate) == (State.FAILED, "42S01")


# What runs


def test_running_statements_are_listed(context: sharkpy.SharkContext) -> None:
    context.conf.set("shark.query.short.max.rows", "0")
    context.conf.set("shark.query.max.concurrent", "1")
    runs, waits = context.new_session(), context.new_session()
    threads = []
    for one, number in ((runs, 1), (waits, 2)):
        result = one.sql(f"{ENDLESS} AND {number} = {number}")
        assert newest(context).state is State.WAITING, "nobody reads it"

        def read(result: sharkpy.Result = result) -> None:
            with pytest.raises(CancelledError):
                result.fetchall()

        threads.append(threading.Thread(target=read))
        threads[-1].start()
        until(lambda number=number: newest(context).state is (State.RUNNING, State.QUEUED)[number - 1])  # type: ignore[misc]
    queued, running = context.history(2)
    assert queued.progress == "0 wait before it"
    assert running.seconds >= running.running_seconds > 0
    time.sleep(0.05)
    waits.cancel()
    runs.cancel()
    for thread in threads:
        thread.join()
    queued, running = context.history(2)
    assert (queued.state, running.state) == (State.CANCELLED, State.CANCELLED)
    assert queued.queued_seconds >= 0.05
    assert queued.plan.startswith("not ended:\n  ")
    assert running.queued_seconds < running.running_seconds


# Bounds


def test_cut_text() -> None:
    assert cut_text("abc", 3) == "abc"
    assert cut_text("abcd", 3) == "abc… (1 bytes more)"
    assert cut_text("äöü", 6) == "äöü"
    assert cut_text("äöü", 5) == "äö… (1 bytes more)"
    assert cut_text("\ud800x", 100) == "\ud800x"


def test_memory_is_bounded(tmp_path: Path) -> None:
    bounds = {"shark.history.statements": 5, "shark.history.text.bytes": 20, "shark.history.plan.bytes": 30}
    with sharkpy.connect("local[2]", tmp_path / "w", **bounds) as context:
        for number in range(12):
            context.sql(f"SELECT {number} AS a_long_name_of_a_column").fetchall()
        records = context.history(None)
        assert [record.text.split()[1] for record in records] == [str(number) for number in range(11, 6, -1)]
        assert all(record.text.endswith("bytes more)") and len(record.text) < 50 for record in records)
        assert all(record.plan.endswith("bytes more)") and len(record.plan) < 60 for record in records)


def test_no_history(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_history_statements=0, shark_history_saved=True) as context:
        context.sql("SELECT 1").fetchall()
        with context.sql("SELECT 2"):
            assert [record.text for record in context.history()] == ["SELECT 2"], "what runs is told nevertheless"
        assert context.history() == []
    assert list(StatementFile(str(tmp_path / "w/.sharkpy/catalog.sqlite"), 10, 10.0).newest()) == []


def test_no_plans(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_history_plan_bytes=0) as context:
        context.sql("SELECT 1").fetchall()
        assert newest(context).plan == ""


def test_sessions_of_many_threads(context: sharkpy.SharkContext) -> None:
    def work(number: int) -> None:
        own = context.new_session(shark_user=f"user{number}")
        for step in range(20):
            own.sql(f"SELECT 'thread {number}', {step}").fetchall()
        own.stop()

    with ThreadPoolExecutor(6) as executor:
        list(executor.map(work, range(6)))
    records = context.history(None, like="*thread*")
    assert len({record.query_id for record in records}) == len(records) == 120
    assert {record.state for record in records} == {State.FINISHED}
    for number in range(6):
        assert len(context.history(None, user=f"user{number}")) == 20
    assert [one.started for one in records] == sorted((one.started for one in records), reverse=True)


# Whose


def test_users_see_their_own(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT 'of the owner'").fetchall()
    hidden = newest(context).query_id
    guests = {name: context.new_session(shark_user=name) for name in ("ada", "bob")}
    for name, guest in guests.items():
        guest.restrictions = Restrictions(guards_settings=True, sees_own_statements=True)
        guest.sql(f"SELECT 'of {name}'").fetchall()
    for name, guest in guests.items():
        assert {record.text for record in guest.history()} == {f"SELECT 'of {name}'"}
        assert [record.user for record in guest.history(user="root")] == [], "another's cannot be asked for"
        assert guest.history(query_id=hidden) == []
        listed = guest.sql("SHOW QUERIES LIKE '*of *'").fetchall()
        assert {row[2] for row in listed} == {name}
        with pytest.raises(BindError) as caught:
            guest.sql(f"SHOW QUERY '{hidden}'")
        assert caught.value.sqlstate == "42704"
    assert {"ada", "bob"} < {record.user for record in context.history()}


# SHOW


def test_show_queries(context: sharkpy.SharkContext) -> None:
    context.conf.set("hive.local.time.zone", "Asia/Tokyo")
    context.sql("SELECT 'one'").fetchall()
    with pytest.raises(BindError):
        context.sql("SELECT nothing FROM t")
    failed, one = context.sql("SHOW QUERIES LIMIT 2").fetchall()
    shown = dict(zip(context.sql("SHOW QUERIES LIMIT 0").columns, one, strict=True))
    record = context.history(like="select 'ONE'")[0]
    assert shown["query_id"] == record.query_id
    assert (shown["state"], shown["kind"], shown["rows_read"]) == ("finished", "SELECT", 1)
    assert shown["query"] == "SELECT 'one'"
    assert shown["started"] == record.started.replace(tzinfo=None) + timedelta(hours=9)
    assert shown["seconds"] == pytest.approx(record.seconds, abs=1e-5)
    assert failed[1] == "failed"
    assert 'no column "nothing"' in failed[-2]
    assert context.sql("SHOW QUERIES LIKE 'select*one%' LIMIT 5").fetchall() == [one]


def test_show_query(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT max(k)\nFROM t").fetchall()
    record = newest(context)
    rows = context.sql(f"SHOW QUERY '{record.query_id}'").fetchall()
    properties = dict(rows)
    assert properties["query"] == "SELECT max(k)\nFROM t"
    assert properties["state"] == "finished"
    place = next(number for number, row in enumerate(rows) if row[0] == "plan")
    assert [value for _, value in rows[place:]] == record.plan.splitlines()
    assert {name for name, _ in rows[place + 1 :]} == {""}


# In the catalog's file


def saved(tmp_path: Path) -> list[StatementRecord]:
    return list(StatementFile(str(tmp_path / "w/.sharkpy/catalog.sqlite"), 100, 1.0).newest())


def test_saved_across_sessions(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_history_saved=True) as context:
        context.sql("SELECT 1 AS a").fetchall()
        with pytest.raises(ParseError):
            context.sql("SELEC '\ud800 \u00e9'")
        until(lambda: len(saved(tmp_path)) == 2)
        context.sql("SELECT 2 AS a").fetchall()
        known = context.history()
    assert saved(tmp_path) == known, "what was not written yet is written at the end"
    with sharkpy.connect("local[2]", tmp_path / "w", shark_history_saved=True) as context:
        assert context.history() == known
        assert context.history(query_id=known[0].query_id) == known[:1]
        assert context.history(like="*1 as a") == known[2:]
        assert context.history(user="nobody") == []
        context.sql("SELECT 3 AS a").fetchall()
        assert [record.text for record in context.history(2)] == ["SELECT 3 AS a", "SELECT 2 AS a"]
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        assert context.history() == [], "others do without"


def records(number: int) -> list[StatementRecord]:
    one = StatementRecord("q", "SELECT", "SELECT 1", "ada", "s", State.FINISHED, datetime.now(UTC), 1.0, 0.0, 1.0, 1, 0)
    return [replace(one, query_id=f"q{at}", started=one.started + timedelta(seconds=at)) for at in range(number)]


def test_the_file_is_bounded_by_count_and_age(tmp_path: Path) -> None:
    file = StatementFile(str(tmp_path / "f.sqlite"), 5, 1.0)
    assert list(file.newest()) == []
    assert file.find("q0") is None
    kept = records(8)
    old = replace(kept[0], query_id="old", started=datetime.now(UTC) - timedelta(days=2))
    file.append([*kept[:3], old])
    assert [one.query_id for one in file.newest()] == ["q2", "q1", "q0"]
    file.append(kept[3:])
    assert list(file.newest()) == kept[:2:-1]
    assert file.find("q0") is None
    assert file.find("q7") == kept[7]
    file.append([replace(kept[7], state=State.FAILED)])
    assert len(list(file.newest())) == 4, "the same statement takes its own place"


def test_rows_of_another_version_are_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "f.sqlite")
    file = StatementFile(path, 5, 1.0)
    file.append(records(2))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE statement_ SET version = 99, body = 'new' WHERE query_id = 'q0'")
    assert [one.query_id for one in file.newest()] == ["q1"]
    assert file.find("q0") is None


# Plans and profiles


def wide(number: int) -> list[StatementRecord]:
    """Records with plans and profiles of usual sizes."""
    plan = "stage 1: 1 task in the driver\n" + "  FileScan default.t [k#1] where \ud800 (k#1 > 5)\n" * 7
    operators = [{"id": at, "children": [], "kind": "FileScan", "label": f"scan {at}", "rows": at} for at in range(18)]
    profile = json.dumps({"root": 0, "operators": operators}, separators=(",", ":"))
    return [replace(one, plan=plan, profile=profile) for one in records(number)]


def test_rows_of_earlier_engines_have_plans_in_their_bodies(tmp_path: Path) -> None:
    path, kept = str(tmp_path / "f.sqlite"), wide(3)
    file = StatementFile(path, 100, 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE statement_ (number INTEGER PRIMARY KEY, query_id TEXT UNIQUE NOT NULL, user TEXT NOT NULL,"
            " started REAL NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL)"
        )
        for version, one in ((1, kept[0]), (2, kept[1])):
            body = json.dumps({**asdict(one), "started": one.started.timestamp()})
            row = (version, one.query_id, one.user, one.started.timestamp(), version, body)
            connection.execute("INSERT INTO statement_ VALUES (?, ?, ?, ?, ?, ?)", row)
    for newest_first in (kept[1::-1], kept[::-1]):
        assert list(file.newest()) == newest_first
        assert [file.find(one.query_id) for one in newest_first] == newest_first
        pages = list(file.profiles(None))
        assert pages == [[(one.query_id, one.profile) for one in newest_first]]
        assert [one for one, _ in next(file.bodies(None))] == [one.query_id for one in newest_first]
        # The column of details is added to the table.
        file.append(kept[2:])


def test_lists_read_no_plans(tmp_path: Path) -> None:
    path, kept = tmp_path / "f.sqlite", wide(2_000)
    file = StatementFile(str(path), 10_000, 1.0)
    file.append(kept)
    most = 1_500
    assert path.stat().st_size < most * len(kept) < len(kept[0].plan + kept[0].profile) * len(kept)
    with sqlite3.connect(path) as connection:
        ((size,),) = connection.execute("SELECT max(length(body)) FROM statement_").fetchall()
        assert size < 300
        connection.execute("UPDATE statement_ SET details = x'00'")
    assert len(file.chosen(StatementChoice())) == 50
    assert sum(map(len, file.bodies(None))) == len(kept)
    assert list(file.newest(has=lambda one: one.query_id == "none")) == []
    with pytest.raises(zlib.error):
        file.find("q7")


def test_pages_of_all_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_records, "_PAGE", 7)
    file, kept = StatementFile(str(tmp_path / "f.sqlite"), 100, 1.0), wide(30)
    assert list(file.bodies(None)) == list(file.profiles(None)) == []
    file.append([replace(one, user="bob") if number % 3 else one for number, one in enumerate(kept)])
    for user, number in ((None, 30), ("ada", 10), ("nobody", 0)):
        for pages in (list(file.bodies(user)), list(file.profiles(user))):
            assert max(map(len, pages), default=0) <= 7
            assert len({query_id for page in pages for query_id, _ in page}) == sum(map(len, pages)) == number


def test_a_file_that_cannot_be_written_is_a_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_history_saved=True) as context:
        other = sqlite3.connect(context.catalog.file_path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with caplog.at_level(logging.WARNING):
            for number in range(30):
                context.sql(f"SELECT {number}").fetchall()
            assert len(context.history()) == 30
            until(lambda: "the history of statements cannot be saved: database is locked" in caplog.text)
        assert saved(tmp_path) == []
        other.execute("ROLLBACK")
        other.close()
        until(lambda: len(saved(tmp_path)) == 30)
        assert caplog.text.count("cannot be saved") == 1


def test_writing_the_history_does_not_keep_other_sessions(tmp_path: Path) -> None:
    """Sessions of one warehouse change its catalog while records are written."""
    options = {"shark.history.saved": True}
    with (
        sharkpy.connect("local[2]", tmp_path / "w", **options) as one,
        sharkpy.connect("local[2]", tmp_path / "w", **options) as two,
    ):

        def work(context: sharkpy.SharkContext, name: str) -> None:
            for number in range(25):
                context.sql(f"CREATE TABLE {name}_{number} (n INT)")

        with ThreadPoolExecutor(2) as executor:
            list(executor.map(work, (one, two), ("one", "two")))
        assert one.sql("SHOW TABLES").fetchall() == two.sql("SHOW TABLES").fetchall()
        until(lambda: len(one.history(None, like="create table *")) == 50)
        assert {record.state for record in one.history(None)} == {State.FINISHED}
