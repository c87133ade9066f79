"""USE, SET, RESET, KILL QUERY, CACHE, UNCACHE, CLEAR CACHE; ADD, LIST and DELETE of JARs, files and archives."""

from __future__ import annotations

import re
import shlex

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.settings import TIME_ZONE
from sharkpy.catalog.model import CacheMode, TableKind
from sharkpy.plan.commands import (
    AddResources,
    CacheTable,
    ClearCache,
    Command,
    CreateTable,
    DeleteResources,
    KillQuery,
    ListResources,
    ResetConf,
    SetConf,
    UncacheTable,
    UseDatabase,
)
from sharkpy.sql.statements.bind_buckets import bucket_spec
from sharkpy.sql.statements.bind_columns import output_fields, without_void
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import Schema

_TIME_ZONE = re.compile(r"time\s+zone\s*(?:'(?P<quoted>[^']*)'|(?P<name>[\w/+:-]+))", re.IGNORECASE)
_SET = re.compile(r"\s*set\b", re.IGNORECASE)


def bind_set(text: str) -> SetConf:
    """Bind SET key=value, or SET TIME ZONE zone, from the text: a value may have any text up to the end."""
    match = _SET.match(text)
    rest = text[match.end() :].strip().removesuffix(";").strip() if match else ""
    if zone := _TIME_ZONE.fullmatch(rest):
        return SetConf(TIME_ZONE.key, zone.group("quoted") or zone.group("name"))
    if not rest:
        return SetConf()
    if rest == "-v":
        return SetConf(verbose=True)
    if re.fullmatch(r"role\s+\S+", rest, re.IGNORECASE):
        raise UnsupportedError("SET ROLE is not supported", hint="there are no roles", line=1, column=1)
    key, separator, value = rest.partition("=")
    return SetConf(key.strip().removeprefix("hiveconf:"), value.strip() if separator else None)


def bind_reset(binder: CommandBinder) -> ResetConf:
    reader = binder.reader
    reader.expect("RESET")
    if reader.match("-"):
        reader.expect("D")
    if reader.current is None:
        return ResetConf()
    start = reader.position
    reader.key("a setting")
    return ResetConf("".join(token.text for token in reader.tokens[start : reader.position]))


def bind_use(binder: CommandBinder) -> UseDatabase:
    reader = binder.reader
    reader.expect("USE")
    reader.match_any("DATABASE", "SCHEMA")
    token = reader.current
    name = reader.name("a database name")
    assert token is not None  # name() took it
    with binder.place_of(token):
        return UseDatabase(binder.context.catalog.database(name).name)


def bind_cache(binder: CommandBinder) -> Command:
    """Bind CACHE [LAZY] TABLE table, and CACHE TABLE name AS query: a temporary table with only blocks."""
    reader = binder.reader
    reader.expect("CACHE")
    lazy = reader.match("LAZY")
    reader.expect("TABLE")
    start = reader.position
    database, name, _ = binder.name()
    if reader.match("OPTIONS"):
        reader.properties()
    if not reader.match("AS") and reader.word() not in ("SELECT", "WITH"):
        end, reader.position = reader.position, start
        table = binder.base_table("CACHE")
        reader.position = end
        return CacheTable(table, lazy)
    if lazy:
        raise reader.unsupported("CACHE LAZY TABLE with a query")
    query = binder.query()
    schema = Schema(tuple(output_fields(binder, query)))
    properties = (("shark.cache", CacheMode.MEMORY_ONLY.value),)
    query = without_void(binder, query)
    buckets = bucket_spec(binder, None, schema.fields, properties, query)
    return CreateTable(
        database, name, TableKind.TEMPORARY, schema, False, properties=properties, query=query, buckets=buckets
    )


def bind_uncache(binder: CommandBinder) -> UncacheTable:
    reader = binder.reader
    reader.expect("UNCACHE", "TABLE")
    return UncacheTable(binder.optional_table() if reader.if_exists() else binder.table())


def bind_clear(binder: CommandBinder) -> ClearCache:
    binder.reader.expect("CLEAR", "CACHE")
    return ClearCache()


def bind_kill(binder: CommandBinder) -> KillQuery:
    """Bind KILL QUERY 'id' 'id' …, as in Hive; commas may separate the ids."""
    reader = binder.reader
    reader.expect("KILL", "QUERY")
    ids = [reader.string("the id of a statement")]
    while reader.match(",") or reader.current is not None:
        ids.append(reader.string("the id of a statement"))
    return KillQuery(tuple(dict.fromkeys(ids)))


_KINDS = {word: kind for kind in ("JAR", "FILE", "ARCHIVE") for word in (kind, f"{kind}S")}


def bind_add(binder: CommandBinder) -> AddResources:
    binder.reader.expect("ADD")
    kind = _kind(binder)
    paths = _paths(binder)
    if not paths:
        raise binder.reader.error("a path expected")
    return AddResources(kind, paths)


def bind_list(binder: CommandBinder) -> ListResources:
    binder.reader.expect("LIST")
    return ListResources(_kind(binder), _paths(binder))


def bind_delete(binder: CommandBinder) -> DeleteResources:
    """Bind DELETE JAR | FILE | ARCHIVE. DELETE FROM is another statement."""
    binder.reader.expect("DELETE")
    if binder.reader.word() not in _KINDS:
        raise binder.reader.error("FROM and a table, or JAR, FILE or ARCHIVE expected")
    return DeleteResources(_kind(binder), _paths(binder))


def _kind(binder: CommandBinder) -> str:
    return _KINDS[binder.reader.expect_any(*_KINDS)]


def _paths(binder: CommandBinder) -> tuple[str, ...]:
    """Take the rest of the statement as written: paths separated by spaces, with or without quotes."""
    reader = binder.reader
    if reader.current is None:
        return ()
    text = reader.text[reader.current.start : reader.tokens[-1].end + 1]
    try:
        paths = tuple(shlex.split(text))
    except ValueError:
        raise reader.error("a path expected, with its quotes closed") from None
    reader.position = len(reader.tokens)
    return paths
