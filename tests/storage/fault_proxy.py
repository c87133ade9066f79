"""Proxy before a server of HTTP that fails as its rules say, and counts what passes."""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.storage.loopback import LoopbackServer, QuietHandler


@dataclass(slots=True)
class Rule:
    """Fault of some requests: the method is equal, and the pattern is found in the path with its query.

    The first `skip` of them pass, the next `times` are met. `before`: called before the request is passed on. `change`:
    another path for it. `delay`: seconds until it is passed on. `status`: the answer, without asking the server, with
    `code` in its body. `cut_upload`, `cut_answer`: bytes after which the connection is closed; `no_answer`: the server
    carries the request out, and the client gets no answer. `shorter`: bytes that are missing from an answer that looks
    whole.
    """

    method: str = "[A-Z]+"
    path: str = ""
    skip: int = 0
    times: int = 1_000_000
    before: Callable[[], object] | None = None
    change: Callable[[str], str] | None = None
    delay: float = 0
    status: int = 0
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut_upload: int | None = None
    cut_answer: int | None = None
    no_answer: bool = False
    shorter: int = 0
    met: int = 0

    def meets(self, method: str, path: str) -> bool:
        """Count a request; True if the rule is for it."""
        if re.fullmatch(self.method, method) is None or re.search(self.path, path) is None:
            return False
        self.met += 1
        return self.skip < self.met <= self.skip + self.times


@dataclass(slots=True)
class Seen:
    """A request that came, with the bytes of the bodies that were read and sent."""

    method: str
    path: str
    headers: dict[str, str]
    received: int = 0
    sent: int = 0


class FaultProxy:
    """Proxy before the server at `upstream`, a host and port. Hosts are passed on as they come: signatures hold."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.rules: list[Rule] = []
        self.seen: list[Seen] = []
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._server = LoopbackServer(_Handler, self)

    @property
    def address(self) -> str:
        return self._server.address

    def count(self, method: str = "[A-Z]+", path: str = "") -> int:
        """Requests of a method whose path a pattern is found in."""
        return sum(1 for one in list(self.seen) if re.fullmatch(method, one.method) and re.search(path, one.path))

    @property
    def sent(self) -> int:
        """Bytes of bodies that clients were sent."""
        return sum(one.sent for one in list(self.seen))

    def close(self) -> None:
        self.ended.set()
        self._server.close()

    def rules_for(self, seen: Seen) -> list[Rule]:
        with self._lock:
            self.seen.append(seen)
            return [rule for rule in self.rules if rule.meets(seen.method, seen.path)]


@contextmanager
def fault_proxy(upstream: str) -> Iterator[FaultProxy]:
    proxy = FaultProxy(upstream)
    try:
        yield proxy
    finally:
        proxy.close()


class _Handler(QuietHandler):
    owner: FaultProxy

    def do_GET(self) -> None:
        headers = dict(self.headers.items())
        seen = Seen(self.command, self.path, {name.lower(): value for name, value in headers.items()})
        rules = self.owner.rules_for(seen)
        length = int(self.headers.get("Content-Length") or 0)
        cut = next((rule.cut_upload for rule in rules if rule.cut_upload is not None), None)
        body = self.rfile.read(length if cut is None else min(cut, length))
        seen.received = len(body)
        refusal = next((rule for rule in rules if rule.status), None)
        if cut is not None or not self._waited(rules):
            self._cut()
        elif refusal is not None:
            self._refuse(refusal, seen)
        else:
            path = self.path
            for rule in rules:
                path = rule.change(path) if rule.change is not None else path
            status, answered, content = self._passed_on(path, headers, body)
            if any(rule.no_answer for rule in rules):
                self._cut()
            else:
                self._answer(status, answered, content, rules, seen)

    def _waited(self, rules: list[Rule]) -> bool:
        """Apply the rules that come before the request is passed on. Return False if the proxy was closed meanwhile."""
        for rule in rules:
            if rule.before is not None:
                rule.before()
        return not any(rule.delay and self.owner.ended.wait(rule.delay) for rule in rules)

    def _passed_on(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.owner.upstream, timeout=60)
        try:
            connection.putrequest(self.command, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            answered = {name.title(): value for name, value in response.getheaders()}
            return response.status, answered, response.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], content: bytes, rules: list[Rule], seen: Seen) -> None:
        content = content[: len(content) - sum(rule.shorter for rule in rules)]
        cut = next((rule.cut_answer for rule in rules if rule.cut_answer is not None), None)
        self.send_response(status)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        for name, value in headers.items():
            if name not in ("Content-Length", "Transfer-Encoding", "Connection", "Date", "Server", "Keep-Alive"):
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        sent = content if cut is None else content[:cut]
        self.wfile.write(sent)
        self.wfile.flush()
        seen.sent = len(sent)
        if cut is not None:
            self._cut()

    def _refuse(self, rule: Rule, seen: Seen) -> None:
        body = f"<Error><Code>{rule.code}</Code><Message>as the rule says</Message></Error>".encode()
        self.send_response(rule.status)
        for name, value in rule.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
            seen.sent = len(body)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
