"""Client that does not limit a server: thrift's compiled codec on plain sockets, many connections in a process.

`python -m bench.server.raw_client PORT` reads lists of queries, one a connection, as JSON from its first line; once all
are connected it says "ready", and begins at its second line. Its answer: [query's number, start, seconds] of each query
that was answered, and the errors. Times come from the machine's monotonic clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from bench.suites import ROOT
from sharkpy.thrift.bindings import TCLIService, ttypes

_FETCH_ROWS = 1000


class RawClient:
    """One connection with one session, over NOSASL."""

    def __init__(self, port: int) -> None:
        self._transport = TBufferedTransport(TSocket("127.0.0.1", port), 1 << 16)
        self._transport.open()
        self._calls = TCLIService.Client(TBinaryProtocolAccelerated(self._transport))
        version = ttypes.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V8
        request = ttypes.TOpenSessionReq(client_protocol=version, username="bench", configuration={})
        self._session = _checked(self._calls.OpenSession(request)).sessionHandle

    def execute(self, sql: str) -> Any:
        """Run a statement; returns the handle of the operation."""
        request = ttypes.TExecuteStatementReq(sessionHandle=self._session, statement=sql)
        return _checked(self._calls.ExecuteStatement(request)).operationHandle

    def query(self, sql: str) -> int:
        """Run a query; returns the number of rows, fetched as DB-API clients do: up to an empty answer."""
        operation, rows = self.execute(sql), 0
        request = ttypes.TFetchResultsReq(operation, ttypes.TFetchOrientation.FETCH_NEXT, _FETCH_ROWS)
        while found := _num_rows(_checked(self._calls.FetchResults(request)).results):
            rows += found
        _checked(self._calls.CloseOperation(ttypes.TCloseOperationReq(operation)))
        return rows

    def close_session(self) -> None:
        _checked(self._calls.CloseSession(ttypes.TCloseSessionReq(self._session)))

    def close(self) -> None:
        self._transport.close()


def _checked(answer: Any) -> Any:
    if answer.status.statusCode not in (ttypes.TStatusCode.SUCCESS_STATUS, ttypes.TStatusCode.SUCCESS_WITH_INFO_STATUS):
        raise RuntimeError(answer.status.errorMessage)
    return answer


def _num_rows(row_set: Any) -> int:
    column = row_set.columns[0]
    return len(next(one.values for one in vars(column).values() if one is not None))


@dataclass(slots=True)
class Answers:
    """[number of the query's kind, start, seconds] of each answer, and the errors."""

    runs: list[tuple[int, float, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


Query = tuple[int, str]
"""Number of a query's kind, and its text."""


def run_clients(port: int, processes: Sequence[Sequence[Sequence[Query]]], seconds: float = 0.0) -> Answers:
    """Run clients in several processes: of each process the connections, of each connection the queries.

    All begin together; for `seconds`, if given, each connection repeats its queries.
    """
    clients = [_start(port, connections, seconds) for connections in processes]
    for client in clients:
        if client.stdout.readline().strip() != "ready":
            raise RuntimeError("a client could not connect")
    for client in clients:
        client.stdin.write("go\n")
        client.stdin.flush()
    answers = Answers()
    for client in clients:
        found = json.loads(client.communicate()[0])
        answers.runs += [tuple(run) for run in found["runs"]]
        answers.errors += found["errors"]
    return answers


def _start(port: int, connections: Sequence[Sequence[Query]], seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.server.raw_client", str(port), str(seconds)]
    client = subprocess.Popen(command, cwd=ROOT.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdin.write(json.dumps(connections) + "\n")
    client.stdin.flush()
    return client


def main(port: int, seconds: float) -> None:
    connections = json.loads(sys.stdin.readline())
    clients = [RawClient(port) for _ in connections]
    print("ready", flush=True)
    sys.stdin.readline()
    answers = Answers()
    end = time.monotonic() + seconds if seconds else None
    threads = [
        threading.Thread(target=_ask, args=(client, queries, end, answers))
        for client, queries in zip(clients, connections, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"runs": answers.runs, "errors": answers.errors}))


def _ask(client: RawClient, queries: Sequence[Query], end: float | None, answers: Answers) -> None:
    try:
        while True:
            for kind, sql in queries:
                start = time.monotonic()
                if end is not None and start >= end:
                    return
                client.query(sql)
                answers.runs.append((kind, start, time.monotonic() - start))
            if end is None:
                return
    except Exception as error:
        answers.errors.append(repr(error))
    finally:
        client.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
