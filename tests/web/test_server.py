"""The web server's port, thread and end."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from sharkpy.base.errors import ConfigurationError
from tests.web.conftest import Serve


def test_start_and_stop(serve: Serve) -> None:
    before = set(_threads())
    served = serve()
    with served.browser() as browser:
        assert browser.get("/healthz").status_code == 200
        assert "sharkpy_sessions" in browser.get("/metrics").text
        assert browser.get("/nothing").status_code == 404
        assert browser.get("/api/v1/nothing").json()["error"]["sqlstate"] == "42704"
        assert browser.delete("/healthz").status_code == 405
        began = time.monotonic()
        served.web.stop()
        assert time.monotonic() - began < 5, "an idle connection does not keep it"
    served.web.stop()
    assert set(_threads()) <= before


def _threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "sharkpy-web"]


def test_a_server_that_is_stopping(serve: Serve) -> None:
    served = serve()
    served.server.stop()
    with served.browser() as browser:
        assert browser.get("/healthz").status_code == 503


def test_a_port_in_use(serve: Serve) -> None:
    with pytest.raises(ConfigurationError, match="cannot listen"):
        serve(web_port=serve().web.port)


def test_a_stop_during_the_start(serve: Serve) -> None:
    before = set(_threads())
    for _ in range(5):
        serve().web.stop()
    assert set(_threads()) <= before


def test_the_start_waits_for_no_import() -> None:
    program = "import sys, sharkpy.web.server; print([one for one in ('starlette', 'uvicorn') if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
