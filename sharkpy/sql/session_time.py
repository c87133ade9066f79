"""Time zone and time settings of a session, written into the bound statement, and moments in statements.

TIMESTAMP has no zone. Conversions between TIMESTAMP and a number of seconds use the wall clock of the session's zone.
Such casts and calls are rewritten here with the zone as a literal, so that every task and every cached plan has it. UTC
needs no rewriting.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from sharkpy.base.settings import INTEGER_SECONDS, TIME_ZONE, Conf
from sharkpy.base.time_zone import UTC, time_zone, zone_name
from sharkpy.plan.commands import Command
from sharkpy.plan.expr import Call, Cast, Expr, Literal, string_literal
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.udf.java_datetime import has_zone
from sharkpy.udf.json_functions import SESSION_ZONE
from sharkpy.values.types import BIGINT, BOOLEAN, DATE, INTEGER_TYPES, STRING, TIMESTAMP, is_numeric

_PATTERN = string_literal("yyyy-MM-dd HH:mm:ss")

Rewrite = Callable[[Expr], Expr]
S = TypeVar("S")


def with_session_time(statement: S, conf: Conf) -> S:
    """Write the session's time settings into `statement`, a plan or command."""
    zone = zone_name(conf.value(TIME_ZONE))
    rewrites: list[Rewrite] = []
    if conf.value(INTEGER_SECONDS):
        rewrites.append(_in_seconds)
    if zone != UTC:
        rewrites.append(partial(_in_zone, zone=zone))
    return cast(S, _rewrite(statement, rewrites)) if rewrites else statement


def _rewrite(node: Any, rewrites: list[Rewrite]) -> Any:
    """Rewrite each expression in `node`, its parts first."""
    inside = partial(_rewrite, rewrites=rewrites)
    match node:
        case Expr():
            node = node.map_children(inside)
            if isinstance(node, SUBQUERIES):
                node = node.map_held(LogicalPlan, inside)
            for rewrite in rewrites:
                node = rewrite(node)
        case LogicalPlan():
            node = node.map_children(inside).map_held(Expr, inside)
        case tuple():
            items = tuple(map(inside, node))
            node = items if any(new is not old for new, old in zip(items, node, strict=True)) else node
        case Command():
            held = {field.name: getattr(node, field.name) for field in dataclasses.fields(node)}
            changed = {name: new for name, old in held.items() if (new := inside(old)) is not old}
            node = dataclasses.replace(node, **changed) if changed else node
    return node


def _in_seconds(expr: Expr) -> Expr:
    match expr:
        case Cast(number, dtype) if dtype == TIMESTAMP and number.dtype in INTEGER_TYPES:
            return Call("to_timestamp", (number if number.dtype == BIGINT else Cast(number, BIGINT),), TIMESTAMP)
    return expr


def _in_zone(expr: Expr, zone: str) -> Expr:
    match expr:
        case Cast(inner, dtype) if dtype == TIMESTAMP and _is_number(inner):
            return _clock_of(expr, zone)
        case Cast(inner, dtype) if inner.dtype == TIMESTAMP and (is_numeric(dtype) or dtype == BOOLEAN):
            return Cast(_moment_of(inner, zone), dtype)
        case Call(function) if function in _CALLS:
            return _CALLS[function](expr, zone)
    return expr


def _is_number(expr: Expr) -> bool:
    return is_numeric(expr.dtype) or expr.dtype == BOOLEAN


def _clock_of(moment: Expr, zone: str) -> Expr:
    """Wall clock of the zone at a time in UTC."""
    return Call("from_utc_timestamp", (moment, string_literal(zone)), TIMESTAMP)


def _moment_of(clock: Expr, zone: str) -> Expr:
    """Time in UTC at which the zone's wall clock shows `clock`."""
    return Call("to_utc_timestamp", (clock, string_literal(zone)), TIMESTAMP)


def _to_timestamp(call: Call, zone: str) -> Expr:
    """TIMESTAMP of a number of seconds or of text. Text without a zone is wall clock time."""
    if len(call.args) == 2 and _may_name_zone(call.args[1]):
        return _clock_of(_parsed(call.args[0], call.args[1], zone), zone)
    if len(call.args) == 1 and call.args[0].dtype == STRING:
        moment = Call("zoned_moment", call.args, TIMESTAMP)
        return Call("coalesce", (_clock_of(moment, zone), Cast(call.args[0], TIMESTAMP)), TIMESTAMP)
    return _clock_of(call, zone) if call.args[0].dtype == BIGINT else call


def _to_date(call: Call, zone: str) -> Expr:
    if len(call.args) < 2 or not _may_name_zone(call.args[1]):
        return call
    return Cast(_clock_of(_parsed(call.args[0], call.args[1], zone), zone), DATE)


def _may_name_zone(pattern: Expr) -> bool:
    """Return whether texts in a pattern may name a zone. A pattern that is not a literal may."""
    return not isinstance(pattern, Literal) or (isinstance(pattern.value, str) and has_zone(pattern.value))


def _parsed(text: Expr, pattern: Expr, zone: str) -> Expr:
    """Time in UTC of a text in a pattern."""
    return Call("parsed_moment", (text, pattern, string_literal(zone)), TIMESTAMP)


def _from_unixtime(call: Call, zone: str) -> Expr:
    pattern = call.args[1] if len(call.args) > 1 else _PATTERN
    moment = Call("to_timestamp", call.args[:1], TIMESTAMP)
    if _may_name_zone(pattern):
        return Call("moment_text", (moment, pattern, string_literal(zone)), STRING)
    return Call("date_format", (_clock_of(moment, zone), pattern), STRING)


def _date_format(call: Call, zone: str) -> Expr:
    clock, pattern = call.args
    if clock.dtype != TIMESTAMP or not _may_name_zone(pattern):
        return call
    return Call("moment_text", (_moment_of(clock, zone), pattern, string_literal(zone)), STRING)


def _unix_timestamp(call: Call, zone: str) -> Expr:
    if not call.args:
        return call
    clock, *rest = call.args
    if clock.dtype != TIMESTAMP and rest and _may_name_zone(rest[0]):
        return Call("unix_timestamp", (_parsed(clock, rest[0], zone),), call.dtype)
    if clock.dtype != TIMESTAMP:
        clock = Call("to_timestamp", (clock, rest[0] if rest else _PATTERN), TIMESTAMP)
    return Call("unix_timestamp", (_moment_of(clock, zone),), call.dtype)


def _since_1970(call: Call, zone: str) -> Expr:
    return Call(call.function, (_moment_of(call.args[0], zone),), call.dtype)


def _make_timestamp(call: Call, zone: str) -> Expr:
    return _clock_of(call, zone) if len(call.args) == 7 else call


def _from_json(call: Call, zone: str) -> Expr:
    text, schema, *given = call.args
    options = json.loads(str(given[0].value)) if given and isinstance(given[0], Literal) else {}
    return Call("from_json", (text, schema, string_literal(json.dumps({**options, SESSION_ZONE: zone}))), call.dtype)


_CALLS: dict[str, Callable[[Call, str], Expr]] = {
    **dict.fromkeys(("timestamp_seconds", "timestamp_millis", "timestamp_micros"), _clock_of),
    **dict.fromkeys(("unix_seconds", "unix_millis", "unix_micros"), _since_1970),
    **dict.fromkeys(("date_format", "to_char"), _date_format),
    "make_timestamp": _make_timestamp,
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "from_json": _from_json,
    "from_unixtime": _from_unixtime,
    "unix_timestamp": _unix_timestamp,
}
"""Functions that convert between numbers and times."""


MOMENT_HINT = "write 'yyyy-mm-dd hh:mm:ss'"


def parse_moment(text: str, conf: Conf) -> int | None:
    """Parse a moment to milliseconds since 1970; None if the text is not one.

    Without a time zone, the text is in the session's zone.
    """
    try:
        clock = datetime.datetime.fromisoformat(text.strip())
        zoned = clock if clock.tzinfo else clock.replace(tzinfo=time_zone(zone_name(conf.value(TIME_ZONE))))
        return int(zoned.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def moment_text(moment_ms: int) -> str:
    """Return a text for a moment that has the same meaning in every session."""
    moment = datetime.datetime.fromtimestamp(moment_ms / 1000, datetime.UTC)
    return moment.isoformat(" ", "milliseconds")
