"""Queries whose rows change, or go, when others come, where rows have to be given that do not."""

from __future__ import annotations

from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode

_OF_TABLES = "CREATE CONTINUOUS TABLE keeps the rows of now"
_APPENDED = (
    "GROUP BY windows or sessions of a time with a WATERMARK, which are given when it closes them; outer joins of "
    "streams that bound such times on both sides; or"
)
_UPDATED = "EMIT UPDATE, which gives the groups that change to a sink TO KAFKA with a __key, TO PROGRAM or TO CONSOLE"


def changing(gives: EmitMode | None) -> SharkError:
    """Error for such a query; `gives`: what others than readers are to be given of it, None for a continuous table with
    EMIT APPEND.
    """
    if gives is EmitMode.UPDATE:
        hint = f"EMIT UPDATE gives groups of GROUP BY but sessions, with what is computed of each; {_OF_TABLES}"
        return _not_given("EMIT UPDATE, to others than readers,", hint)
    return _not_given("EMIT APPEND", f"{_APPENDED} {'EMIT UPDATE' if gives is None else f'{_UPDATED}; {_OF_TABLES}'}")


def _not_given(emit: str, hint: str) -> SharkError:
    return UnsupportedError(f"{emit} of a query whose rows change with each epoch", hint=hint)
