"""`sharkpy server` with its console, from the first line to the end."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import httpx
import pytest

from sharkpy.cli.server import _config, add_server_arguments
from tests.thrift.server_process import Process


@pytest.mark.parametrize(
    ("arguments", "port"),
    [([], 10_002), (["--port", "12000"], 12_002), (["--port", "0"], 0), (["--web-port", "-1"], -1)],
)
def test_the_port_of_the_console(arguments: list[str], port: int) -> None:
    parser = argparse.ArgumentParser()
    add_server_arguments(parser)
    config = _config(parser.parse_args([*arguments, "--web-host", "a.test", "--web-host", "b.test"]))
    assert (config.web_port, config.web_hosts) == (port, ("a.test", "b.test"))


def test_a_server_with_a_console(tmp_path: Path) -> None:
    server = Process(tmp_path)
    try:
        found = re.search(r"console (http://127\.0\.0\.1:\d+/)", server.first_line)
        assert found is not None, server.first_line
        with httpx.Client(base_url=found[1]) as browser, browser.stream("GET", "/api/v1/events") as events:
            assert browser.get("/api/v1/session").json()["warehouse"].endswith("/w")
            next(events.iter_lines())
            server.stop()
            errors = server.wait(30)
        assert "Traceback" not in errors
        assert "web server's thread" not in errors, "the stream of events ended"
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()
