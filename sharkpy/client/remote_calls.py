"""Calls of HiveServer2's service, one at a time over one channel. A status of failure is raised as an error."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException

from sharkpy.base.errors import CancelledError, ExecutionError, SharkError
from sharkpy.client.channel import open_channel, reason
from sharkpy.client.server_url import ServerUrl
from sharkpy.thrift.wire.bindings import TCLIService, ttypes

_GOOD = (ttypes.TStatusCode.SUCCESS_STATUS, ttypes.TStatusCode.SUCCESS_WITH_INFO_STATUS)
_PLACE = re.compile(r" ?\(line (\d+), column (\d+)\)|\b[Ll]ine (\d+):(\d+)\b|\(line (\d+), pos (\d+)\)")
_STATE = re.compile(r" ?\[SQLSTATE \w{5}\]")
_PREFIX = re.compile(
    r"^(?:Error (?:running query|while compiling statement): )?(?:FAILED: )?"
    r"(?:(?:\[[\w.]+\] )?[\w.$]+(?:Exception|Error)(?: \[Error \d+\])?:? )*"
)
"""Prefix that servers put before a message: Java's and Hive's names of the error's kind."""
_HINT = re.compile(r"; (did you mean .*)")
CANCELLED = "57014"


class RemoteCalls:
    """Calls of the service. Several threads may call; one call runs at a time."""

    def __init__(self, url: ServerUrl) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._channel = open_channel(url)
        self._client = TCLIService.Client(TBinaryProtocolAccelerated(self._channel))

    def call(self, name: str, request: Any) -> Any:
        """Call a method of the service and return its answer. Raise an error if its status is not good."""
        with self._lock:
            method: Callable[[Any], Any] = getattr(self._client, name)
            try:
                answer = method(request)
            except (TException, OSError, EOFError) as error:
                raise ExecutionError(
                    f"lost the connection to {self._url}: {reason(error)}",
                    hint="start the shell again: the session on the server is gone or out of reach",
                    sqlstate="08S01",
                ) from None
        check_status(answer.status)
        return answer

    def close(self) -> None:
        self._channel.close()


def check_status(status: Any) -> None:
    if status is not None and status.statusCode not in _GOOD:
        raise error_of(status.errorMessage or "the server names no reason", status.sqlState)


def error_of(message: str, sqlstate: str | None) -> SharkError:
    """Return the error of an answer, with place and hint taken out of the server's text."""
    lines = message.strip().splitlines()
    text = _STATE.sub("", _PREFIX.sub("", lines[0] if lines else ""))
    hint = None
    line = column = None
    if match := _PLACE.search(text):
        numbers = [int(number) for number in match.groups() if number]
        line, column = numbers[0], numbers[1] + (match.group(5) is not None)
        if match.group(1):
            hint = text[match.end() :].lstrip("; ") or None
            text = text[: match.start()]
    elif said := _HINT.search(text):
        hint, text = said.group(1), text[: said.start()]
    kind = CancelledError if sqlstate == CANCELLED else ExecutionError
    return kind(text.strip() or message, sqlstate=sqlstate or "HY000", line=line, column=column, hint=hint)
