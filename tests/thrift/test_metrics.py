"""Counters and measurements of the server, as Prometheus reads them."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sharkpy.thrift.metrics import LIMITS_MET, Metrics
from sharkpy.thrift.server import HiveServer
from sharkpy.thrift.transport.service import Refusal
from tests.thrift.caller import Caller
from tests.thrift.conftest import Serve
from tests.thrift.figures import figure
from tests.waiting import until


def page(server: HiveServer, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}") as answer:
        return str(answer.read().decode())


def samples(server: HiveServer) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page(server))
        for sample in family.samples
    }


def test_names_follow_the_conventions(serve: Serve) -> None:
    server = serve()
    units = {"seconds", "bytes", "total", "ratio"}
    for family in text_string_to_metric_families(page(server)):
        if family.name.endswith("_created"):
            continue
        assert family.name.startswith("sharkpy_")
        assert family.documentation
        for sample in family.samples:
            if family.type == "counter":
                assert sample.name.endswith("_total")
        if family.type == "histogram":
            assert family.name.rsplit("_", 1)[1] in units


def test_what_is_done_is_counted(serve: Serve) -> None:
    server = serve()
    before = samples(server)
    assert {labels[0][1] for name, labels in before if name == "sharkpy_refused_total"} == set(LIMITS_MET)
    with Caller(server.port) as caller:
        assert caller.rows("SELECT 1 UNION ALL SELECT 2")
        caller.execute("SELECT nothing")
        caller.execute("SELECT assert_true(false)")
        now = samples(server)
        assert now["sharkpy_sessions", ()] == 1
        assert now["sharkpy_sessions_opened_total", ()] == 1
        assert now["sharkpy_statements_total", ()] == 2
        assert now["sharkpy_statements_rejected_total", ()] == 1
        assert now["sharkpy_rows_fetched_total", ()] == 2
        assert now["sharkpy_statement_seconds_count", (("state", "finished"),)] == 1
        assert now["sharkpy_statement_seconds_count", (("state", "failed"),)] == 2
        assert now["sharkpy_call_seconds_count", (("call", "ExecuteStatement"),)] == 3
        assert 0 < now["sharkpy_call_seconds_sum", (("call", "ExecuteStatement"),)] < 30
        assert now["sharkpy_store_memory_limit_bytes", ()] > 0
        caller.begin("SELECT 1")
        assert samples(server)["sharkpy_operations", ()] == 1


def test_unknown_calls_share_a_label(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        for name in ("NoSuchCall", "Another"):
            caller.client._oprot.writeMessageBegin(name, 1, 0)
            caller.client._oprot.writeStructBegin("args")
            caller.client._oprot.writeFieldStop()
            caller.client._oprot.writeMessageEnd()
            caller.transport.flush()
            assert caller.client._iprot.readMessageBegin()[1] == 3, "an exception"
            caller.client._iprot.skip(12)
            caller.client._iprot.readMessageEnd()
        assert caller.rows("SELECT 1") == [[1]]
    assert samples(server)["sharkpy_call_seconds_count", (("call", "unknown"),)] == 2


def test_every_refusal_of_a_connection_has_its_label() -> None:
    assert set(get_args(Refusal)) <= set(LIMITS_MET)


def test_figures_of_servers_are_apart() -> None:
    one, other = Metrics(), Metrics()
    one.count("statements", 3)
    one.refuse("queue")
    assert figure(one, "sharkpy_statements_total") == 3
    assert figure(other, "sharkpy_statements_total") == 0
    assert figure(other, "sharkpy_refused_total", limit="queue") == 0


def test_health(serve: Serve) -> None:
    server = serve()
    assert page(server, "/healthz") == "ok\n"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        page(server, "/elsewhere")
    server.parts.admission.is_draining = True
    with pytest.raises(urllib.error.HTTPError, match="503"):
        page(server, "/healthz")


def test_continuous_tables_have_figures(serve: Serve, tmp_path: Path) -> None:
    server = serve(location_folders=(tmp_path,))
    table = (("table", "default.t"),)
    with Caller(server.port) as caller:
        caller.execute(f"CREATE STREAM s (n BIGINT) STORED AS JSONFILE FROM FOLDER '{tmp_path}'")
        caller.execute("CREATE CONTINUOUS TABLE t AS SELECT n FROM s")
        (tmp_path / "a.json").write_text('{"n": 1}\n{"n": 2}\n')
        until(lambda: samples(server).get(("sharkpy_stream_rows_total", table)) == 2)
        now = samples(server)
        assert now["sharkpy_stream_epochs_total", table] == now["sharkpy_stream_epoch", table] == 1
        assert now["sharkpy_stream_failures_total", table] == now["sharkpy_stream_has_fault", table] == 0
        assert now["sharkpy_stream_bad_rows_total", table] == 0
        assert now["sharkpy_stream_lag", table] == 0
        assert now["sharkpy_stream_is_running", table] == 1
        assert now["sharkpy_stream_busy_seconds_total", table] > 0
        caller.execute("PAUSE CONTINUOUS TABLE t")
        assert samples(server)["sharkpy_stream_is_running", table] == 0
        caller.execute("DROP CONTINUOUS TABLE t")
        assert ("sharkpy_stream_epoch", table) not in samples(server)


def test_the_dashboard_shows_figures_that_there_are(serve: Serve) -> None:
    dashboard = json.loads(Path("docs/grafana-streams.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    asked = {name for panel in panels for one in panel["targets"] for name in re.findall(r"sharkpy_\w+", one["expr"])}
    families = list(text_string_to_metric_families(page(serve())))
    there = {f"{one.name}_total" if one.type == "counter" else one.name for one in families}
    assert len(panels) >= 6
    assert asked <= there
