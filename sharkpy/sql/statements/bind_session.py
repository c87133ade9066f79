"""USE, SET, RESET, CACHE, UNCACHE, CLEAR CACHE."""

from __future__ import annotations

import re

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.settings import TIME_ZONE
from sharkpy.catalog.model import CacheMode, TableKind
from sharkpy.plan.commands import (
    CacheTable,
    ClearCache,
    Command,
    CreateTable,
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
