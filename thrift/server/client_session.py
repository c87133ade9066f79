"""A client's session: its settings, its database and its open operations."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import ExecutionError, UnsupportedError
from sharkpy.thrift.config import Limits
from sharkpy.thrift.handles import key_of, matches, new_identifier
from sharkpy.thrift.operation import ENDED, Operation, too_many
from sharkpy.thrift.places import Holder
from sharkpy.thrift.wire.bindings import ttypes

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

NEWEST_PROTOCOL = 9
"""V10, the newest version of the protocol that the bindings know."""
_PREFIXES = {"set:hiveconf:": "", "set:metaconf:": "", "set:system:": "", "set:hivevar:": "hivevar:"}
"""Prefixes that clients put before the names of settings, each with its replacement in the session."""
_DATABASE = "use:database"
_PROXY_USER = "hive.server2.proxy.user"


class ClientSession:
    """Session of a client, with its open operations.

    `connection` is the number of the binary connection that opened the session; the session ends with it. It is 0 over
    HTTP: such a session ends when it is idle.
    """

    def __init__(
        self, engine_session: SharkContext, holder: Holder, client_protocol: int, connection: int, limits: Limits
    ) -> None:
        self.engine_session = engine_session
        self.holder = holder
        self.user = holder.user
        self.connection = connection
        self.protocol = max(0, min(client_protocol, NEWEST_PROTOCOL))
        self.identifier = new_identifier()
        self.last_used = time.monotonic()
        self._limits = limits
        self._lock = threading.Lock()
        self._operations: dict[bytes, Operation] = {}
        self._is_closed = False

    @property
    def handle(self) -> Any:
        return ttypes.TSessionHandle(sessionId=self.identifier)

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Apply an OpenSession's configuration: `use:database`, `set:hiveconf:key`, `set:hivevar:key`, or a key."""
        given = {setting_name(key): value for key, value in configuration.items()}
        database = given.pop(_DATABASE, "")
        self._check_user(given.pop(_PROXY_USER, ""))
        for key, value in given.items():
            self.engine_session.restrictions.check_setting(key)
            self.engine_session.conf.set(key, value)
        if database:
            self.engine_session.sql(f"USE `{database.replace('`', '``')}`").close()

    def under(self, overlay: Mapping[str, str]) -> SharkContext:
        """Return the engine's session with the settings of one statement."""
        given = {setting_name(key): value for key, value in overlay.items()}
        for key in given:
            self.engine_session.restrictions.check_setting(key)
        return self.engine_session.with_settings(given) if given else self.engine_session

    def _check_user(self, proxied: str) -> None:
        if proxied not in ("", self.user):
            raise UnsupportedError(
                f'the user "{self.user}" may not act for "{proxied}": {_PROXY_USER}',
                hint="log in as the other user",
                sqlstate="28000",
            )

    def operations(self) -> list[Operation]:
        with self._lock:
            return list(self._operations.values())

    def add(self, operation: Operation) -> None:
        """Keep an operation. Raise ResourceError 53300 if the session has too many."""
        with self._lock:
            if self._is_closed:
                raise ExecutionError("this session is closed", hint="connect again", sqlstate="08003")
            most = self._limits.operations_per_session
            if most and len(self._operations) >= most:
                raise too_many("operations in a session", most)
            self._operations[operation.identifier.guid] = operation

    def find(self, identifier: Any) -> Operation | None:
        operation = self._operations.get(key_of(identifier))
        return operation if operation is not None and matches(operation.identifier, identifier) else None

    def remove(self, operation: Operation) -> None:
        with self._lock:
            self._operations.pop(operation.identifier.guid, None)
        operation.close()

    def idle_operations(self, seconds: float) -> list[Operation]:
        """Return the ended operations that the client has not used for `seconds`."""
        now = time.monotonic()
        return [one for one in self.operations() if one.state in ENDED and now - one.last_used > seconds]

    def is_idle(self, seconds: float) -> bool:
        """Return whether nothing runs and the client has not called for `seconds`."""
        operations = self.operations()
        last_used = max([self.last_used, *(one.last_used for one in operations)])
        return not any(one.is_running for one in operations) and time.monotonic() - last_used > seconds

    def close_operations(self) -> list[Operation]:
        """Close all operations, accept no further ones, and return the closed operations."""
        with self._lock:
            self._is_closed = True
            operations = list(self._operations.values())
            self._operations.clear()
        for operation in operations:
            operation.close()
        return operations

    def close(self) -> None:
        """End what runs, and the session with its temporary tables. Idempotent."""
        self.close_operations()
        self.engine_session.stop()


def setting_name(key: str) -> str:
    """Return the session's name of a setting for the key that a client sends."""
    for prefix, name in _PREFIXES.items():
        if key.startswith(prefix):
            return f"{name}{key.removeprefix(prefix)}"
    return key
