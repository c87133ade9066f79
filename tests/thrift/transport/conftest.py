"""A server of only the transports: a dispatcher that answers a few calls with PyHive's processor, on a free port."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sharkpy.thrift.binary_protocol import Protocol
from sharkpy.thrift.bindings import TCLIService, ttypes
from sharkpy.thrift.config import Limits, ServerConfig
from sharkpy.thrift.transport import Client, Listener
from sharkpy.thrift.transport.service import PageAnswer

SUCCESS = ttypes.TStatus(statusCode=ttypes.TStatusCode.SUCCESS_STATUS)
HANDLE = ttypes.THandleIdentifier(guid=bytes(range(240, 256)), secret=bytes(range(128, 144)))
OPERATION = ttypes.TOperationHandle(
    operationId=HANDLE, operationType=ttypes.TOperationType.EXECUTE_STATEMENT, hasResultSet=False
)


class Handler:
    """A statement "sleep S" takes S seconds; GetLog answers so many letters as its handle's row count says."""

    def __init__(self) -> None:
        self.began = threading.Event()

    def OpenSession(self, request: Any) -> Any:
        return ttypes.TOpenSessionResp(
            status=SUCCESS,
            serverProtocolVersion=request.client_protocol,
            sessionHandle=ttypes.TSessionHandle(sessionId=HANDLE),
            configuration={"user": request.username or ""},
        )

    def CloseSession(self, request: Any) -> Any:
        return ttypes.TCloseSessionResp(status=SUCCESS)

    def ExecuteStatement(self, request: Any) -> Any:
        if request.statement.startswith("sleep"):
            self.began.set()
            time.sleep(float(request.statement.split()[1]))
        return ttypes.TExecuteStatementResp(status=SUCCESS, operationHandle=OPERATION)

    def GetOperationStatus(self, request: Any) -> Any:
        return ttypes.TGetOperationStatusResp(status=SUCCESS, operationState=ttypes.TOperationState.FINISHED_STATE)

    def GetInfo(self, request: Any) -> Any:
        return ttypes.TGetInfoResp(status=SUCCESS, infoValue=ttypes.TGetInfoValue(stringValue="x"))

    def GetTables(self, request: Any) -> Any:
        return ttypes.TGetTablesResp(status=SUCCESS, operationHandle=OPERATION)

    def FetchResults(self, request: Any) -> Any:
        return ttypes.TFetchResultsResp(status=SUCCESS)

    def CloseOperation(self, request: Any) -> Any:
        return ttypes.TCloseOperationResp(status=SUCCESS)

    def GetLog(self, request: Any) -> Any:
        return ttypes.TGetLogResp(status=SUCCESS, log="x" * int(request.operationHandle.modifiedRowCount or 0))


class FakeDispatcher:
    """Notes callers and ended connections."""

    def __init__(self) -> None:
        self.handler = Handler()
        self.clients: list[Client] = []
        self.ended: list[Client] = []
        self._processor = TCLIService.Processor(self.handler)

    def process(self, request: Any, reply: Any, client: Client) -> None:
        self.clients.append(client)
        self._processor.process(Protocol(request), Protocol(reply))

    def vanished(self, client: Client) -> None:
        pass

    def closed(self, client: Client) -> None:
        self.ended.append(client)

    def page(self, path: str, log_in: Callable[[], str]) -> PageAnswer:
        if path == "/name":
            return PageAnswer(HTTPStatus.OK, "text/plain", log_in().encode())
        if path == "/healthz":
            return PageAnswer(HTTPStatus.OK, "text/plain", b"ok")
        return PageAnswer(HTTPStatus.NOT_FOUND, "text/plain", b"no such page")


Start = Callable[..., SimpleNamespace]


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(auth=..., connections=...)`, settings of ServerConfig and Limits: port, dispatcher, refusals, listener."""
    listeners: list[Listener] = []

    def run(**settings: Any) -> SimpleNamespace:
        names = Limits.__slots__
        limits = replace(Limits(), **{name: settings.pop(name) for name in names if name in settings})
        dispatcher = FakeDispatcher()
        refusals: Counter[str] = Counter()
        config = ServerConfig(**{"port": 0, "limits": limits, **settings})
        listener = Listener(config, dispatcher, lambda why: refusals.update([why]))
        listener.start()
        listeners.append(listener)
        return SimpleNamespace(port=listener.port, dispatcher=dispatcher, refusals=refusals, listener=listener)

    yield run
    for listener in listeners:
        listener.stop(drain=False)


@pytest.fixture
def tls() -> dict[str, Path]:
    """The settings for TLS with a certificate for localhost and 127.0.0.1 that signs itself."""
    folder = Path(__file__).parent / "tls"
    return {"tls_cert": folder / "server.crt", "tls_key": folder / "server.key"}
