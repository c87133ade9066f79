"""What a query can ask of its session. The binder writes the answers as constants; the lowerings know no session."""

from __future__ import annotations

from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.signatures import returns, takes
from sharkpy.values.types import BOOLEAN, STRING, ArrayType, DataType


def _row(name: str, result: DataType, lowering: str, doc: str, example: str) -> ScalarFunction:
    return ScalarFunction(name, takes(), returns(result), lowering, NullPolicy.CUSTOM, doc=doc, example=example)


SESSION_FUNCTIONS = (
    _row("version", STRING, "'3.1.3'", "the version of Hive that counts", "version()"),
    _row("current_user", STRING, "''", "the name of the session's user", "length(current_user()) >= 0"),
    _row("logged_in_user", STRING, "''", "the name of the session's user", "length(logged_in_user()) >= 0"),
    _row(
        "current_groups",
        ArrayType(STRING),
        "CAST([] AS VARCHAR[])",
        "the groups of the session's user on this machine",
        "size(current_groups()) >= 0",
    ),
    _row("current_authorizer", STRING, "CAST(NULL AS VARCHAR)", "NULL: there is no authorizer", "current_authorizer()"),
    _row(
        "restrict_information_schema",
        BOOLEAN,
        "false",
        "whether an authorizer restricts the information schema: false",
        "restrict_information_schema()",
    ),
    _row("current_timezone", STRING, "'UTC'", "the session's time zone", "current_timezone()"),
    _row("current_database", STRING, "'default'", "the session's current database", "length(current_database()) > 0"),
)
