"""Server that issues tokens, as Google's and Microsoft's servers do, and remembers its requests."""

from __future__ import annotations

import itertools
import json
from urllib.parse import parse_qsl

from tests.storage.loopback import LoopbackServer, QuietHandler


class TokenServer:
    """Tokens at `address`: each another one, which is added to `tokens`. `status`: of all answers; `seconds`: their
    lives; `asked`: paths and forms.
    """

    def __init__(self, tokens: set[str]) -> None:
        self.tokens = tokens
        self.status = 200
        self.seconds = 3600
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._numbers = itertools.count()
        self._server = LoopbackServer(_Handler, self)

    @property
    def address(self) -> str:
        return self._server.address

    def close(self) -> None:
        self._server.close()

    def answer(self) -> bytes:
        if self.status != 200:
            return b'{"error": "invalid_client", "error_description": "that is nobody"}'
        token = f"token-{next(self._numbers)}"
        self.tokens.add(token)
        told = {"access_token": token, "token_type": "Bearer", "expires_in": self.seconds}
        return json.dumps({**told, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}).encode()


class _Handler(QuietHandler):
    owner: TokenServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.owner.asked.append((self.path, dict(parse_qsl(body))))
        self.answer(self.owner.status, self.owner.answer(), {"Content-Type": "application/json"})
