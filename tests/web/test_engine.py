"""The engine in the API: load over time, queues, sessions, settings, errors by kind, and the log's end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import httpx
import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.base.settings import Conf
from sharkpy.web.engine_calls import changed_settings
from sharkpy.web.engine_samples import EngineSamples
from tests.thrift.caller import Caller, over_http
from tests.waiting import until
from tests.web.conftest import Serve
from tests.web.test_queries import LONG_QUERY, run

SECRET = "fs.s3a.secret.key"


def engine_of(browser: httpx.Client, **parameters: str) -> dict[str, Any]:
    answer = browser.get("/api/v1/engine", params=parameters)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_load_and_limits(serve: Serve, engine: sharkpy.SharkContext) -> None:
    with serve().browser() as browser:
        until(lambda: engine_of(browser)["samples"])
        found = engine_of(browser)
        sample = found["samples"][-1]
        assert 0 < sample["process_bytes"] < found["memory"]["process_limit_bytes"] < found["memory"]["machine_bytes"]
        assert sample["waiting"] == 0
        assert found["version"] == sharkpy.__version__
        assert all(0 <= one["free_bytes"] <= one["total_bytes"] for one in found["disks"])
        assert any("warehouse" in one["use"] for one in found["disks"])
        assert found["workers"] is None or found["workers"]["master"] == engine.master
        assert engine_of(browser, since=sample["time"])["samples"][:1] != [sample]
        assert browser.get("/api/v1/engine", params={"since": "soon"}).status_code == 400


def test_queues_and_sessions(serve: Serve) -> None:
    served = serve(sessions=7)
    with served.browser() as browser, Caller(served.server.port) as caller:
        operation = caller.begin(f"{LONG_QUERY} AND 'lanes' <> ''")
        until(lambda: any(lane["running"] for lane in engine_of(browser)["lanes"]))
        found = engine_of(browser)
        caller.cancel(operation)
    assert [lane["lane"] for lane in found["lanes"]] == ["short", "long", "longest"]
    [pool] = [pool for lane in found["lanes"] for pool in lane["pools"] if pool["running"]]
    assert pool["waiting"] == 0
    assert found["sessions"][0]["running"] == 1
    assert found["sessions"][0]["database"] == "default"
    assert {"kind": "sessions", "used": 1, "limit": 7} in found["places"]


def test_sessions_errors_and_the_log_by_reader(serve: Serve) -> None:
    served = serve(knows_users=True)
    port = served.server.port
    with (
        served.browser("ada") as ada,
        served.browser("root") as root,
        Caller(port, transport=over_http(port, "bob", "secret bob")) as bob,
    ):
        bob.rows("SELECT 1")
        run(served, "bob", "SELECT nothing_of_bob FROM nowhere")
        run(served, "ada", "SELECT CAST('x' AS INT) FROM nowhere")
        until(lambda: "nowhere" in str(engine_of(ada)["errors"]))
        mine, all_users = engine_of(ada), engine_of(root)
        assert {one["user"] for one in mine["sessions"]} <= {"ada"}
        assert {one["user"] for one in all_users["sessions"]} >= {"bob"}
        [kind] = [one for one in mine["errors"] if one["sqlstate_class"] == "42"]
        assert kind["meaning"] == "Names, types and syntax"
        assert "ada" in str(ada.get(f"/api/v1/queries/{kind['last_query_id']}").json()["user"])
        assert kind["count"] < next(one["count"] for one in all_users["errors"] if one["sqlstate_class"] == "42")
        assert ada.get("/api/v1/engine/log").status_code == 403
        assert root.get("/api/v1/engine/log").status_code == 200
    with served.browser() as anyone:
        assert anyone.get("/api/v1/engine").status_code == 401
        assert anyone.get("/api/v1/engine/log").status_code == 401


def test_the_end_of_the_log(serve: Serve) -> None:
    log, before = logging.getLogger("sharkpy.tests"), list(logging.getLogger().handlers)
    served = serve()
    with served.browser() as browser:
        log.warning("password = '%s', <b>%s</b>", "hidden", "markup")
        for number in range(1100):
            log.error("line %d", number)
        lines = browser.get("/api/v1/engine/log").json()["lines"]
        assert len(lines) == 1000
        assert (lines[-1]["text"], lines[-1]["level"], lines[-1]["logger"]) == ("line 1099", "error", "sharkpy.tests")
        last = lines[-1]["number"]
        assert browser.get("/api/v1/engine/log", params={"after": last}).json()["lines"] == []
        log.warning("password = '%s', <b>%s</b>", "hidden", "markup")
        [line] = browser.get("/api/v1/engine/log", params={"after": last}).json()["lines"]
        assert line["text"] == "password = '***', <b>markup</b>"
        assert browser.get("/api/v1/engine/log", params={"after": "x"}).status_code == 400
    served.web.stop()
    assert logging.getLogger().handlers == before


def test_settings_that_differ() -> None:
    conf = Conf({"shark.stream.poll.ms": "70"})
    conf.set("shark.query.queue.max", conf["shark.query.queue.max"])
    conf.set(SECRET, "abc")
    conf.set("some.other.key", "1")
    found = {one.key: one for one in changed_settings(conf)}
    assert set(found) == {"shark.stream.poll.ms", SECRET, "some.other.key"}
    assert (found["shark.stream.poll.ms"].value, found["shark.stream.poll.ms"].default) == ("70", "50")
    assert "source" in found["shark.stream.poll.ms"].meaning
    assert found[SECRET].value == "***"
    assert (found["some.other.key"].default, found["some.other.key"].meaning) == (None, "")


@pytest.mark.parametrize("saved", ["true", "false"])
def test_failures_with_and_without_a_saved_history(tmp_path: Any, saved: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **{"shark.history.saved": saved, "shark.user": "ada"}) as session:
        for text in ("SELECT 1", "SELECT x FROM nowhere", "SELECT y FROM nowhere"):
            with contextlib.suppress(SharkError):
                session.sql(text).close()
        history = session.statement_history
        until(lambda: len(history.failures(None, 100, 10)) == 2)
        assert [one.sqlstate for one in history.failures("ada", 100, 1)] == ["42S02"]
        assert history.failures("bob", 100, 10) == []
        assert len(history.failures(None, 1, 10)) == 1


def test_costly_samples_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise asyncio.CancelledError

    costs = iter([0.001, 0.1])

    async def in_thread(_: object) -> float:
        return next(costs)

    monkeypatch.setattr("sharkpy.web.engine_samples.asyncio.sleep", sleep)
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(EngineSamples.run(object.__new__(EngineSamples), in_thread))
    assert waits == [2.0, 20.0, 2.0], "a failed one is tried again"
