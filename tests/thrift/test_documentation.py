"""Limits, options and metrics in docs/server.md agree with the code."""

from __future__ import annotations

import argparse
import dataclasses
import re
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from sharkpy.cli.server import add_server_arguments
from sharkpy.thrift.config import AUTHENTICATIONS, Limits
from tests.thrift.caller import Caller
from tests.thrift.conftest import Serve

TEXT = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_limits() -> None:
    documented = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", section("Set limits"), re.MULTILINE))
    assert {name: float(value) for name, value in documented.items()} == dataclasses.asdict(Limits())


def test_options() -> None:
    parser = argparse.ArgumentParser()
    add_server_arguments(parser)
    known = {option for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", TEXT)) - {"--warehouse", "--set", "--full-refresh"} <= known
    assert all(f"`{way}`" in section("Control who may log in") for way in AUTHENTICATIONS)


def test_metrics(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        caller.rows("SELECT count(*) FROM numbers")
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
            page = answer.read().decode()
    families = [one for one in text_string_to_metric_families(page) if not one.name.endswith("_created")]
    names = {f"{one.name}_total" if one.type == "counter" else one.name for one in families}
    assert names == set(re.findall(r"`(sharkpy_\w+)`", section("Watch health and metrics")))
