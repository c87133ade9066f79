"""Table of the API. To add an endpoint, add a row."""

from __future__ import annotations

from typing import Any

from sharkpy.web import (
    catalog_calls,
    engine_calls,
    events,
    folder_calls,
    lineage,
    memory_calls,
    query_calls,
    session_calls,
    sql_endpoint,
    sql_formats,
    sql_statement,
    stream_calls,
    streams,
    table_calls,
)
from sharkpy.web.openapi import description
from sharkpy.web.requests import ApiRequest, Endpoint, Parameter

API = "/api/v1"


def describe(_: ApiRequest) -> dict[str, Any]:
    return description(ROUTES)


def table_routes() -> list[Endpoint]:
    """Return the rows about names and paths, and about one table."""
    table = f"{API}/tables/{{database}}/{{name}}"
    of_columns, of_versions = catalog_calls.COLUMN_PARAMETERS, table_calls.HISTORY_PARAMETERS
    rows: tuple[tuple[str, Any, str, type, tuple[Parameter, ...]], ...] = (
        ("", table_calls.table, "A table's definition", table_calls.TableAnswer, ()),
        ("/columns", catalog_calls.columns, "A table's columns", catalog_calls.ColumnsAnswer, of_columns),
        ("/size", table_calls.size, "A table's files, bytes and rows", table_calls.TableSizeAnswer, ()),
        ("/statistics", memory_calls.statistics, "Statistics of columns", memory_calls.StatisticsAnswer, of_columns),
        ("/memory", memory_calls.memory, "A table's blocks in memory", memory_calls.MemoryAnswer, of_columns),
        ("/files", table_calls.files, "A table's files", table_calls.FilesAnswer, table_calls.FILE_PARAMETERS),
        ("/history", table_calls.history, "A table's versions", table_calls.HistoryAnswer, of_versions),
        ("/lineage", lineage.lineage, "The tables before and after a table", lineage.LineageAnswer, ()),
    )
    return [
        Endpoint(
            "GET",
            f"{API}/catalog",
            catalog_calls.catalog,
            "Databases, and tables a page at a time; with an ETag",
            gives=catalog_calls.CatalogAnswer,
            parameters=catalog_calls.CATALOG_PARAMETERS,
        ),
        Endpoint(
            "GET",
            f"{API}/functions",
            catalog_calls.functions,
            "Functions that statements can call; with an ETag",
            gives=catalog_calls.FunctionsAnswer,
        ),
        Endpoint(
            "GET",
            f"{API}/folder",
            folder_calls.folder,
            "Files and folders that continue a path",
            gives=folder_calls.FolderAnswer,
            parameters=folder_calls.FOLDER_PARAMETERS,
        ),
        *(
            Endpoint("GET", f"{table}{path}", call, summary, gives=gives, parameters=parameters, statuses=(404,))
            for path, call, summary, gives, parameters in rows
        ),
    ]


ROUTES: list[Endpoint] = [
    Endpoint(
        "GET", f"{API}/session", session_calls.session, "The reader and the server", gives=session_calls.SessionAnswer
    ),
    Endpoint(
        "POST",
        f"{API}/login",
        session_calls.login,
        "Log in, and get a cookie or a token",
        takes=session_calls.LoginBody,
        gives=session_calls.LoginAnswer,
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
    *table_routes(),
    Endpoint(
        "GET",
        f"{API}/engine",
        engine_calls.engine,
        "Memory, disks, queues, sessions, workers and settings of the engine",
        gives=engine_calls.EngineAnswer,
        parameters=engine_calls.ENGINE_PARAMETERS,
    ),
    Endpoint(
        "GET",
        f"{API}/engine/log",
        engine_calls.engine_log,
        "Last lines of the server's log, for administrators",
        gives=engine_calls.LogAnswer,
        parameters=engine_calls.LOG_PARAMETERS,
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

LINKS = [
    Endpoint(
        "GET",
        "/open",
        session_calls.open_link,
        "Log in by a link of `sharkpy console`, and get a cookie",
        parameters=(Parameter("token", "The link's token, which is valid once"),),
        content_type="text/html",
        needs_login=False,
    ),
]
"""Addresses that people follow, which are not part of the API."""
