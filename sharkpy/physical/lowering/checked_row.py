"""Size checks of rows whose values are large together, before the first value is made."""

from __future__ import annotations

from sharkpy.physical.lowering.value import Scope
from sharkpy.udf.checked_call import with_size_check
from sharkpy.udf.value_size import Extent, total


def checked_row(values: Scope) -> tuple[int, str] | None:
    """Return the first of several size-checked columns, with SQL that checks all of them; None for fewer than two."""
    large = {
        column_id: value.extent.checked(value.dtype).content.over_null()
        for column_id, value in values.items()
        if value.unchecked and value.extent is not None
    }
    if len(large) < 2:
        return None
    first = next(iter(large))
    return first, with_size_check("the row", Extent(total(large.values())), values[first].sql)
