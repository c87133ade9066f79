"""Functions of the session: its user, database and time zone.

The binder replaces them by constants. The lowerings do not know the session.
"""

from __future__ import annotations

from sharkpy.udf.function import Answer, NullPolicy, ScalarFunction, Varying
from sharkpy.udf.signatures import returns, takes
from sharkpy.values.types import BOOLEAN, STRING, ArrayType, DataType


def _row(
    name: str, result: DataType, lowering: str, *, doc: str, answer: Answer, aliases: tuple[str, ...] = ()
) -> ScalarFunction:
    return ScalarFunction(
        name,
        takes(),
        returns(result),
        lowering,
        NullPolicy.CUSTOM,
        usage=f"{name}()",
        doc=doc,
        example=f"{name}()",
        answer=answer,
        aliases=aliases,
    )


SESSION_FUNCTIONS = (
    _row(
        "version",
        STRING,
        "'3.1.3'",
        doc="the version of Hive that counts",
        answer="3.1.3",
    ),
    _row(
        "current_user",
        STRING,
        "''",
        doc="the name of the session's user",
        answer=Varying("ann", ".+"),
        aliases=("session_user", "user"),
    ),
    _row(
        "logged_in_user",
        STRING,
        "''",
        doc="the name of the session's user",
        answer=Varying("ann", ".+"),
    ),
    _row(
        "current_groups",
        ArrayType(STRING),
        "CAST([] AS VARCHAR[])",
        doc="the groups of the session's user on this machine",
        answer=Varying('["staff"]', r'\[("[^"]+"(,"[^"]+")*)?\]'),
    ),
    _row(
        "current_authorizer",
        STRING,
        "CAST(NULL AS VARCHAR)",
        doc="NULL: there is no authorizer",
        answer="NULL",
    ),
    _row(
        "restrict_information_schema",
        BOOLEAN,
        "false",
        doc="whether an authorizer restricts the information schema: false",
        answer="false",
    ),
    _row(
        "current_timezone",
        STRING,
        "'UTC'",
        doc="the session's time zone",
        answer=Varying("UTC", r"[\w/+:-]+"),
    ),
    _row(
        "current_database",
        STRING,
        "'default'",
        doc="the session's current database",
        answer="default",
        aliases=("current_schema",),
    ),
)
