"""Server-sent events of statements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx

from tests.thrift.caller import Caller, over_http
from tests.waiting import until
from tests.web.conftest import Serve
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
        until(lambda: len(served.web.events) == 0)


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


def test_the_number_of_streams(serve: Serve) -> None:
    served = serve(web_streams=2)
    with served.browser() as browser, served.browser() as other:
        streams = (one.stream("GET", "/api/v1/events") for one in (browser, other))
        with next(streams), next(streams), served.browser() as third:
            assert third.get("/api/v1/events").status_code == 503
        until(lambda: len(served.web.events) == 0)


def test_the_end_of_the_server_ends_streams(serve: Serve) -> None:
    served = serve()
    with served.browser() as browser, browser.stream("GET", "/api/v1/events") as answer:
        next(answer.iter_lines())
        served.web.stop()
