"""Calls about statements: lists, one statement, cancels, and shapes."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from sharkpy.base.errors import CancelledError
from sharkpy.base.records import dataclass
from sharkpy.catalog.statement_list import ShapeRow, StatementChoice
from sharkpy.catalog.statement_records import StatementRecord, StatementState
from sharkpy.catalog.statement_shapes import shape_of
from sharkpy.explain.profile_html import profile_html, profile_page
from sharkpy.explain.profile_json import profile_of
from sharkpy.web.errors import RefusedError
from sharkpy.web.listings import check_parameters, number, wrong
from sharkpy.web.queries import Query, queries_of
from sharkpy.web.requests import ApiRequest, Parameter

_MOST_LISTED = 500
_DEFAULT_LISTED = 50
_TEXT_CHARACTERS = 1_000
_SORTS = {
    "started": "started",
    "seconds": "seconds",
    "rows_read": "input_rows",
    "rows_returned": "rows_read",
    "bytes_read": "bytes_read",
    "cpu_seconds": "cpu_seconds",
    "peak_bytes": "peak_bytes",
}
"""Fields of records by the name of an order."""

LIST_PARAMETERS = (
    Parameter("state", "States, of which a statement has one", StatementState, is_repeated=True),
    Parameter("user", "The statements of this user"),
    Parameter("text", "A part of the text, in any case of letters"),
    Parameter("since", "First start, as an ISO 8601 time", datetime),
    Parameter("until", "Start before which they began, as an ISO 8601 time", datetime),
    Parameter("sort", f"One of {', '.join(_SORTS)}"),
    Parameter("descending", "true (default) or false", bool),
    Parameter("limit", f"Most statements, at most {_MOST_LISTED}", int),
    Parameter("cursor", "`next` of the page before"),
)


@dataclass(frozen=True, slots=True)
class QueriesAnswer:
    """Page of a list. `next` is the cursor of the next page, or null."""

    queries: list[Query]
    next: str | None


def queries(request: ApiRequest) -> QueriesAnswer:
    session, choice = request.parts.engine_session, _choice(request)
    more = dataclasses.replace(choice, limit=choice.limit + 1)
    found = session.statement_history.chosen(session.all_running_statements(), more)
    page = found[: choice.limit]
    following = _cursor(choice, page[-1]) if len(found) > choice.limit else None
    return QueriesAnswer(queries_of(page, session.all_statements()), following)


def _choice(request: ApiRequest) -> StatementChoice:
    given, reader = request.http.query_params, request.reader
    check_parameters(request, LIST_PARAMETERS)
    sort, descending = given.get("sort") or "started", given.get("descending") or "true"
    if sort not in _SORTS:
        raise wrong(f"sort is not one of {', '.join(_SORTS)}")
    if descending not in ("true", "false"):
        raise wrong("descending is not true or false")
    is_descending = descending == "true"
    user = given.get("user") or None
    states = frozenset(one for one in given.getlist("state") if one)
    if states - {one.value for one in StatementState}:
        raise wrong(f"state is not one of {', '.join(one.value for one in StatementState)}")
    if not reader.sees_all:
        # Of another user there is nothing to see.
        states = states if user in (None, reader.user) else frozenset({""})
        user = reader.user
    return StatementChoice(
        states=states,
        user=user,
        text=given.get("text", "").replace("\0", "")[:_TEXT_CHARACTERS],
        since=_time(given.get("since"), "since"),
        until=_time(given.get("until"), "until"),
        sort=_SORTS[sort],
        is_descending=is_descending,
        limit=number(request, "limit", _DEFAULT_LISTED, 1, _MOST_LISTED),
        after=_after(given.get("cursor"), sort, is_descending=is_descending),
    )


def _time(given: str | None, name: str) -> float | None:
    if not given:
        return None
    try:
        found = datetime.fromisoformat(given)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise wrong(f"{name} is not an ISO 8601 time") from None


def _cursor(choice: StatementChoice, last: StatementRecord) -> str:
    place = [choice.sort, choice.is_descending, *choice.key(last)]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _after(given: str | None, sort: str, *, is_descending: bool) -> tuple[float, str] | None:
    if not given:
        return None
    try:
        found: Any = json.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)))
        cursor_sort, cursor_descending, figure, query_id = found
        if (cursor_sort, cursor_descending) == (_SORTS[sort], is_descending) and isinstance(query_id, str):
            return float(figure), query_id
    except (ValueError, TypeError, RecursionError, OverflowError):
        pass
    raise wrong("cursor is not of this list")


@dataclass(frozen=True, slots=True)
class QueryAnswer(Query):
    """Statement with its profile, or null if there is none. `plan` is the text of the plans that it has run."""

    plan: str
    profile: dict[str, Any] | None


def query(request: ApiRequest) -> QueryAnswer:
    record = _found(request)
    [shown] = queries_of([record], request.parts.engine_session.all_statements(), characters=None)
    fields = {field.name: getattr(shown, field.name) for field in dataclasses.fields(Query)}
    return QueryAnswer(**fields, plan=record.plan, profile=profile_of(record))


def profile_file(request: ApiRequest) -> Response:
    """Return the profile of a statement as an HTML file of its own."""
    record = _found(request)
    profile = profile_of(record)
    if profile is None:
        raise RefusedError(HTTPStatus.NOT_FOUND, f'there is no profile of the statement "{record.query_id}"', "42704")
    text = profile_html(profile_page(), json.dumps(profile, ensure_ascii=False, separators=(",", ":")))
    name = f"query-{re.sub(r'[^A-Za-z0-9_-]', '_', record.query_id)}.html"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode("utf-8", "replace"), headers=headers, media_type="text/html")


def _found(request: ApiRequest) -> StatementRecord:
    """Return the statement of the path. Raise RefusedError if there is none that the reader may see."""
    session = request.parts.engine_session
    record = session.statement_history.find(session.all_running_statements(), request.name)
    if record is None or not request.reader.sees(record.user):
        raise RefusedError(HTTPStatus.NOT_FOUND, f'there is no statement "{request.name[:100]}"', "42704")
    return record


def cancel(request: ApiRequest) -> None:
    record, user = _found(request), request.reader.user
    error = CancelledError(f"the query was cancelled from the console{f' by {user}' if user else ''}")
    if record.state.is_over or not request.parts.engine_session.kill_query(record.query_id, error):
        raise RefusedError(HTTPStatus.CONFLICT, f'the statement "{record.query_id}" is over', "55000")


_SHAPED_STATEMENTS = 10_000
_MOST_SHAPES = 200


@dataclass(frozen=True, slots=True)
class Shape:
    """Statements that differ only in literals. `example_id` is the slowest of them."""

    shape: str
    example_id: str
    count: int
    total_seconds: float
    p50_seconds: float
    p99_seconds: float


@dataclass(frozen=True, slots=True)
class ShapesAnswer:
    shapes: list[Shape]


def shapes(request: ApiRequest) -> ShapesAnswer:
    """Return the shapes with the most seconds among the newest ended statements that the reader may see."""
    history = request.parts.engine_session.statement_history
    user = None if request.reader.sees_all else request.reader.user
    groups: defaultdict[int, list[ShapeRow]] = defaultdict(list)
    for row in history.shapes(user, _SHAPED_STATEMENTS):
        groups[row.shape].append(row)
    longest = sorted(groups.values(), key=lambda rows: sum(one.seconds for one in rows), reverse=True)
    texts = history.texts([max(rows, key=_seconds).query_id for rows in longest[:_MOST_SHAPES]])
    return ShapesAnswer([_shape(sorted(rows, key=_seconds), texts) for rows in longest[:_MOST_SHAPES]])


def _seconds(row: ShapeRow) -> float:
    return row.seconds


def _shape(rows: list[ShapeRow], texts: dict[str, str]) -> Shape:
    """Return a group as a shape; `rows` are in the order of seconds."""
    seconds, example = [one.seconds for one in rows], rows[-1].query_id
    p50, p99 = (seconds[max(0, -(-len(seconds) * share // 100) - 1)] for share in (50, 99))
    return Shape(shape_of(texts.get(example, "")), example, len(rows), sum(seconds), p50, p99)
