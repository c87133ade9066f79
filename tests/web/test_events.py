"""Server-sent events of statements."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from sharkpy.web import events
from tests.thrift.caller import Caller, over_http
from tests.waiting import until
from tests.web.conftest import Serve, Served
from tests.web.test_queries import LONG_QUERY, run


def queries(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yield the statements of events, in order."""
    lines = answer.iter_lines()
    for line in lines:
        if line == "event: queries":
            yield from json.loads(next(lines).removeprefix("data: "))["queries"]


def test_a_statement_from_its_start_to_its_end(serve: Serve) -> None:
    served = serve()
    with Caller(served.server.port) as caller, served.browser() as browser:
        with browser.stream("GET", "/api/v1/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            changed = (one for one in queries(answer) if "events" in one["text"])
            operation = caller.begin(f"{LONG_QUERY} AND 'events' <> ''")
            assert next(changed)["state"] in ("queued", "running")
            caller.cancel(operation)
            assert next(one for one in changed if one["state"] not in ("queued", "running"))["state"] == "cancelled"
            caller.rows("SELECT 'short events'")
            # Most often it is shorter than the time between two looks.
            assert next(one for one in changed if one["state"] not in ("queued", "running"))["state"] == "finished"
        until(lambda: len(served.web.state.events) == 0)


def test_statements_of_other_users_are_not_sent(serve: Serve) -> None:
    served = serve(knows_users=True)
    with served.browser("ada") as ada, served.browser("root") as root:
        with ada.stream("GET", "/api/v1/events") as own, root.stream("GET", "/api/v1/events") as all_users:
            run(served, "bob", "SELECT 'event of bob'")
            assert next(one for one in queries(all_users) if "event of bob" in one["text"])
            run(served, "ada", "SELECT 'event of ada'")
            for one in queries(own):
                assert one["user"] == "ada"
                if "event of ada" in one["text"]:
                    break
        assert ada.post("/api/v1/logout").status_code == 204


def test_logout_ends_the_stream(serve: Serve) -> None:
    served = serve(knows_users=True)
    port = served.server.port
    with (
        served.browser("ada") as ada,
        served.browser(cookies=dict(ada.cookies)) as follower,
        follower.stream("GET", "/api/v1/events") as answer,
    ):
        changed = queries(answer)
        assert ada.post("/api/v1/logout").status_code == 204
        with Caller(port, transport=over_http(port, "ada", "secret ada")) as caller:
            caller.rows("SELECT 'after the logout'")
        assert len(list(changed)) <= 2, "the stream ends"


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Served], socket.socket]]:
    """`silent(served)`: a client that follows events and reads nothing. The first event fills the system's buffers."""
    real = events._event
    monkeypatch.setattr(events, "_event", lambda changed: real(changed) + (b"" if changed else b": %08388608d\n\n" % 0))
    with contextlib.ExitStack() as stack:

        def follow(served: Served) -> socket.socket:
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", served.web.port))
            client.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: len(served.web.state.events) > 0)
            return client

        yield follow


def test_a_client_that_reads_nothing_is_cut_off(serve: Serve, silent: Callable[[Served], socket.socket]) -> None:
    served = serve(login_seconds=2.0)
    silent(served)
    with (
        Caller(served.server.port) as caller,
        served.browser() as browser,
        browser.stream("GET", "/api/v1/events") as answer,
    ):
        changed = queries(answer)
        caller.rows("SELECT 'with a silent client'")
        assert next(one for one in changed if "with a silent client" in one["text"])
        until(lambda: len(served.web.state.events) == 1)
        caller.rows("SELECT 'without it'")
        assert next(one for one in changed if "without it" in one["text"])


def test_events_that_wait_for_a_client_are_few(
    serve: Serve, silent: Callable[[Served], socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_LOOK_SECONDS", 0.001)
    served = serve(login_seconds=60.0)
    client = silent(served)
    (follower,) = served.web.state.events._followers
    with Caller(served.server.port) as caller:
        for number in range(3 * events._MOST_WAITING):
            caller.rows(f"SELECT {number} AS waiting")
            assert follower.waiting.qsize() <= events._MOST_WAITING
    received = b""
    while not received.endswith(b"\r\n0\r\n\r\n"):
        received = received[-10:] + client.recv(1 << 20)
    assert len(served.web.state.events) == 0, "the stream has ended, since events are missing"


def test_the_number_of_streams(serve: Serve) -> None:
    served = serve(web_streams=2)
    with served.browser() as browser, served.browser() as other:
        streams = (one.stream("GET", "/api/v1/events") for one in (browser, other))
        with next(streams), next(streams), served.browser() as third:
            assert third.get("/api/v1/events").status_code == 503
        until(lambda: len(served.web.state.events) == 0)


def test_the_end_of_the_server_ends_streams(serve: Serve) -> None:
    served = serve()
    with served.browser() as browser, browser.stream("GET", "/api/v1/events") as answer:
        next(answer.iter_lines())
        served.web.stop()
