"""Server-sent events: changed statements, for all clients that follow them.

One task looks at the statements twice a second while a client follows. It takes the same records for all clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from sharkpy.base.records import dataclass
from sharkpy.web.errors import RefusedError
from sharkpy.web.queries import Query, queries_of
from sharkpy.web.shapes import json_bytes

if TYPE_CHECKING:
    from sharkpy.catalog.statement_records import StatementRecord
    from sharkpy.web.logins import Reader
    from sharkpy.web.requests import ApiRequest, Web

EVENT_STREAM = "text/event-stream"
_LOOK_SECONDS = 0.5
_HEARTBEAT_SECONDS = 10.0
_MOST_WAITING = 20
"""Events that wait for a slow client. Beyond, its stream ends, and its browser connects again."""
_USERS = 4
"""Users that share the streams at least, if the server knows them."""


@dataclass(frozen=True, slots=True)
class QueriesEvent:
    """Data of an event `queries`: statements that have begun, changed or ended."""

    queries: list[Query]


@dataclass(eq=False, slots=True)
class _Follower:
    reader: Reader
    waiting: asyncio.Queue[list[Query] | None] = field(default_factory=lambda: asyncio.Queue(_MOST_WAITING))
    """Changed queries; None is the end."""

    def put(self, changed: list[Query] | None) -> None:
        """Add an event, or the end if there is no room."""
        if self.waiting.full():
            self.waiting.get_nowait()
            changed = None
        self.waiting.put_nowait(changed)


class Events:
    """Followers of statements, and the task that looks for changes while there are followers."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._followers: set[_Follower] = set()
        self._task: asyncio.Task[None] | None = None
        self._known: dict[str, tuple[object, ...]] = {}
        self._last: StatementRecord | None = None

    def __len__(self) -> int:
        return len(self._followers)

    def follow(self, reader: Reader) -> AsyncIterator[bytes]:
        """Return the events of a reader. Raise RefusedError if too many clients follow."""
        most = self._web.config.limits.web_streams
        own = sum(one.reader.user == reader.user for one in self._followers)
        if most and (len(self) >= most or (self._web.needs_login and own >= max(1, most // _USERS))):
            self._web.parts.metrics.refuse("web_streams")
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, f"the limit of {most} streams is reached", "53300")
        follower = _Follower(reader)
        self._followers.add(follower)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())
        return self._events(follower)

    async def _events(self, follower: _Follower) -> AsyncIterator[bytes]:
        try:
            running = await self._web.in_thread(self._running)
            yield _event([one for one in running if follower.reader.sees(one.user)])
            while self._is_logged_in(follower.reader):
                try:
                    changed = await asyncio.wait_for(follower.waiting.get(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b": the server lives\n\n"
                    continue
                if changed is None:
                    return
                yield _event(changed)
        finally:
            self._followers.discard(follower)

    def _is_logged_in(self, reader: Reader) -> bool:
        return reader.login is None or self._web.logins.has(reader.login)

    async def _look(self) -> None:
        history = self._web.parts.engine_session.statement_history
        self._known, self._last = {}, next(iter(history.ended_since(None)[-1:]), None)
        while self._followers:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._web.stopping.is_set():
                for one in self._followers:
                    one.put(None)
                return
            changed = await self._web.in_thread(self._changed)
            for one in self._followers:
                if own := [query for query in changed if one.reader.sees(query.user)]:
                    one.put(own)

    def _running(self) -> list[Query]:
        session = self._web.parts.engine_session
        return queries_of(session.all_running_statements(), session.all_statements())

    def _changed(self) -> list[Query]:
        """Return queries that have begun, changed or ended since the last call."""
        running = self._running()
        ended = self._web.parts.engine_session.statement_history.ended_since(self._last)
        self._last = ended[-1] if ended else self._last
        over = {one.query_id for one in ended}
        states = {one.query_id: _state(one) for one in running if one.query_id not in over}
        changed = [one for one in running if self._known.get(one.query_id) != states.get(one.query_id)]
        self._known = states
        return [*(one for one in changed if one.query_id not in over), *queries_of(ended, ())]


def _state(query: Query) -> tuple[object, ...]:
    """Return a query's figures other than times, which change all the time."""
    return query.state, query.kind, query.progress, query.rows_returned, query.rows_written


def _event(changed: list[Query]) -> bytes:
    return b"event: queries\ndata: " + json_bytes(QueriesEvent(changed)) + b"\n\n"


async def events(request: ApiRequest) -> Response:
    return StreamingResponse(
        request.web.events.follow(request.reader), media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"}
    )
