"""The page of an operation: a reader who knows its key sees it, and nothing that a client wrote is more than text."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from html.parser import HTMLParser

import pytest

from tests.thrift.caller import Caller, State, columns_of
from tests.thrift.conftest import LONG_QUERY, Serve

FORGED = "'</pre><script>alert(1)</script><img src=x onerror=alert(1)>\"&amp;'"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        return str(answer.read().decode())


def test_a_long_query_has_a_link_to_its_page(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        operation = caller.begin(f"{LONG_QUERY} AND a.s <> {FORGED}")
        log: list[str] = []
        deadline = time.monotonic() + 60
        while not (found := re.search(r"INFO.*Tracking URL = (\S+)", "\n".join(log))):
            assert time.monotonic() < deadline
            caller.status(operation)
            log += columns_of(caller.fetch(operation, log=True))[0]
        address = found[1]
        assert address.split("/")[-2], "what Superset takes for the job's name"
        page = read(address)
        shown = Tags(page)
        assert not shown.tags & {"script", "img", "a", "link", "iframe", "form"}
        assert FORGED in shown.text
        assert "running" in shown.text
        assert "refresh" in page
        assert "default-src &#x27;none&#x27;" in page
        caller.cancel(operation)
        assert caller.status(operation).operationState == State.CANCELED_STATE
        page = read(address)
        assert "57014" in page
        assert "refresh" not in page
        assert any("Tracking URL" in line for line in columns_of(caller.fetch(operation, from_start=True, log=True))[0])
        guid = operation.operationId.guid.decode()
        assert guid not in address
        for wrong in (address[:-3], address.replace("/operations/", f"/operations/{guid}/"), address + "x/"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                read(wrong)
        caller.close(operation)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(address)


def test_a_short_statement_has_no_such_line(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        operation = caller.begin("SELECT count(*) FROM numbers")
        caller.until_ended(operation)
        assert not any("Tracking URL" in line for line in columns_of(caller.fetch(operation, log=True))[0])
        for path in ("/operations", "/operations/", "/operations//"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                read(f"http://127.0.0.1:{server.port}{path}")
