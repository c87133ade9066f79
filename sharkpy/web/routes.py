"""Table of the API. To add an endpoint, add a row."""

from __future__ import annotations

from typing import Any

from sharkpy.web import (
    events,
    query_calls,
    session_calls,
    sql_endpoint,
    sql_formats,
    sql_statement,
    stream_calls,
    streams,
)
from sharkpy.web.openapi import description
from sharkpy.web.requests import ApiRequest, Endpoint

API = "/api/v1"


def describe(_: ApiRequest) -> dict[str, Any]:
    return description(ROUTES)


ROUTES: list[Endpoint] = [
    Endpoint(
        "GET", f"{API}/session", session_calls.session, "The reader and the server", gives=session_calls.SessionAnswer
    ),
    Endpoint(
        "POST",
        f"{API}/login",
        session_calls.login,
        "Log in, and get a cookie",
        takes=session_calls.LoginBody,
        gives=session_calls.SessionAnswer,
        needs_login=False,
        statuses=(429,),
    ),
    Endpoint("POST", f"{API}/logout", session_calls.logout, "Log out"),
    Endpoint(
        "GET",
        f"{API}/queries",
        query_calls.queries,
        "Statements that run or have ended, a page at a time",
        gives=query_calls.QueriesAnswer,
        parameters=query_calls.LIST_PARAMETERS,
    ),
    Endpoint(
        "GET",
        f"{API}/queries/{{name}}",
        query_calls.query,
        "One statement, by its id",
        gives=query_calls.QueryAnswer,
        statuses=(404,),
    ),
    Endpoint(
        "GET",
        f"{API}/queries/{{name}}/profile.html",
        query_calls.profile_file,
        "The profile of one statement, as an HTML file that needs no server",
        content_type="text/html",
        statuses=(404,),
    ),
    Endpoint(
        "POST", f"{API}/queries/{{name}}/cancel", query_calls.cancel, "Cancel a running statement", statuses=(404, 409)
    ),
    Endpoint(
        "GET",
        f"{API}/shapes",
        query_calls.shapes,
        "Statements that differ only in literals, as groups; the most seconds first",
        gives=query_calls.ShapesAnswer,
    ),
    Endpoint(
        "GET",
        f"{API}/events",
        events.events,
        "Events `queries` with changed statements, at most twice a second",
        gives=events.QueriesEvent,
        content_type=events.EVENT_STREAM,
        statuses=(503,),
    ),
    Endpoint(
        "GET",
        f"{API}/streams",
        stream_calls.streams,
        "Streams, continuous tables, inserts and sinks, as a graph",
        gives=streams.StreamsAnswer,
    ),
    Endpoint(
        "GET",
        f"{API}/streams/{{name}}",
        stream_calls.stream,
        "One stream or continuous query, with its last epochs",
        gives=stream_calls.StreamAnswer,
        statuses=(404,),
    ),
    Endpoint("GET", f"{API}/openapi.json", describe, "This description", gives=dict[str, Any], needs_login=False),
    Endpoint(
        "POST",
        "/v1/sql",
        sql_endpoint.sql,
        "Run a statement, and get its rows",
        takes=sql_statement.SqlBody,
        content_type=sql_formats.ArrowStream.content_type,
        statuses=(404, 406, 408, 413, 429, 503),
    ),
    Endpoint(
        "POST",
        "/v1/sessions",
        sql_endpoint.open_session,
        "Open a session for statements",
        takes=sql_endpoint.SessionBody,
        gives=sql_endpoint.OpenedSession,
        statuses=(429,),
    ),
    Endpoint("DELETE", "/v1/sessions/{name}", sql_endpoint.close_session, "Close a session", statuses=(404,)),
]
