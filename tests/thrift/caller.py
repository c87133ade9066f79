"""A client that makes calls one by one, as no library would."""

from __future__ import annotations

import base64
import time
from typing import Any, ClassVar, Self

from pyhive.hive import connect
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from sharkpy.thrift.bindings import TCLIService, ttypes
from tests.waiting import PATIENCE

SUCCESS = ttypes.TStatusCode.SUCCESS_STATUS
ERROR = ttypes.TStatusCode.ERROR_STATUS
INVALID = ttypes.TStatusCode.INVALID_HANDLE_STATUS
State = ttypes.TOperationState
ENDED = (State.FINISHED_STATE, State.CANCELED_STATE, State.CLOSED_STATE, State.ERROR_STATE, State.TIMEDOUT_STATE)


class Caller:
    """A connection and a session on it; answers are given as they come, errors as a status."""

    made: ClassVar[list[Caller]] = []
    """Callers of the running test that are open, or were made to vanish: they close after the test."""

    def __init__(self, port: int, *, configuration: dict[str, str] | None = None, transport: Any = None) -> None:
        Caller.made.append(self)
        self.transport = transport or TBufferedTransport(TSocket("127.0.0.1", port))
        if not self.transport.isOpen():
            self.transport.open()
        self.client = TCLIService.Client(TBinaryProtocol(self.transport))
        self.opened = self.client.OpenSession(
            ttypes.TOpenSessionReq(client_protocol=9, username="ada", configuration=configuration)
        )
        self.session = self.opened.sessionHandle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.transport.close()
        Caller.made.remove(self)

    def execute(self, text: str, *, is_async: bool = False, **more: Any) -> Any:
        return self.client.ExecuteStatement(
            ttypes.TExecuteStatementReq(sessionHandle=self.session, statement=text, runAsync=is_async, **more)
        )

    def begin(self, text: str, **more: Any) -> Any:
        """The handle of a statement that runs."""
        answer = self.execute(text, is_async=True, **more)
        assert answer.status.statusCode == SUCCESS, answer.status.errorMessage
        return answer.operationHandle

    def status(self, operation: Any) -> Any:
        return self.client.GetOperationStatus(ttypes.TGetOperationStatusReq(operationHandle=operation))

    def until_ended(self, operation: Any, seconds: float = PATIENCE) -> Any:
        end = time.monotonic() + seconds
        while (answer := self.status(operation)).operationState not in ENDED:
            assert time.monotonic() < end, "it has not ended"
        return answer

    def fetch(self, operation: Any, most: int = 1000, *, from_start: bool = False, log: bool = False) -> Any:
        orientation = ttypes.TFetchOrientation.FETCH_FIRST if from_start else ttypes.TFetchOrientation.FETCH_NEXT
        return self.client.FetchResults(
            ttypes.TFetchResultsReq(
                operationHandle=operation, orientation=orientation, maxRows=most, fetchType=int(log)
            )
        )

    def rows(self, text: str, **more: Any) -> list[list[Any]]:
        """The columns of a statement's answer."""
        answer = self.execute(text, **more)
        assert answer.status.statusCode == SUCCESS, answer.status.errorMessage
        columns = columns_of(self.fetch(answer.operationHandle))
        while any(more := columns_of(self.fetch(answer.operationHandle))):
            columns = [[*before, *after] for before, after in zip(columns, more, strict=True)]
        self.close(answer.operationHandle)
        return columns

    def cancel(self, operation: Any) -> Any:
        return self.client.CancelOperation(ttypes.TCancelOperationReq(operationHandle=operation))

    def close(self, operation: Any) -> Any:
        return self.client.CloseOperation(ttypes.TCloseOperationReq(operationHandle=operation))

    def close_session(self) -> Any:
        return self.client.CloseSession(ttypes.TCloseSessionReq(sessionHandle=self.session))


def columns_of(fetched: Any) -> list[list[Any]]:
    assert fetched.status.statusCode == SUCCESS, fetched.status.errorMessage
    return [next(one for one in vars(column).values() if one is not None).values for column in fetched.results.columns]


def over_http(port: int, user: str = "", password: str = "") -> THttpClient:
    transport = THttpClient(f"http://127.0.0.1:{port}/cliservice")
    if user:
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        transport.setCustomHeaders({"Authorization": f"Basic {credentials}"})
    return transport


def over_sasl(port: int, user: str, password: str) -> Any:
    """An open transport of PyHive's that has logged in; its own session is of no account."""
    return connect("127.0.0.1", port, username=user, password=password, auth="CUSTOM")._transport
