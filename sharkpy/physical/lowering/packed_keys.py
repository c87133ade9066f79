"""Group keys of few values packed into one small integer, so that one key is hashed instead of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sharkpy.physical.lowering.value import Value

_MOST_KEYS = 1 << 15


@dataclass(frozen=True, slots=True)
class PackedKeys:
    """Keys packed into a SMALLINT `sql`: the sum of each key's index times its stride."""

    sql: str
    keys: tuple[tuple[int, Value, int], ...]
    """Column id, value and stride of each key."""

    def unpacked(self, name: str) -> dict[int, Value]:
        """Return the keys by column id, over the packed column `name`."""
        return {
            column_id: Value(
                f"({name} // {stride} % {len(key.values)})", key.dtype, key.range, "SMALLINT", None, key.values
            )
            for column_id, key, stride in self.keys
        }


def pack_keys(keys: Mapping[int, Value]) -> PackedKeys | None:
    """Return the packed keys; None for a single key, one that is not an index, or too many values."""
    if len(keys) < 2 or not all(key.values for key in keys.values()):
        return None
    terms, packed, stride = [], [], 1
    for column_id, key in keys.items():
        terms.append(f"CAST({key.sql} AS SMALLINT)" + (f" * CAST({stride} AS SMALLINT)" if stride > 1 else ""))
        packed.append((column_id, key, stride))
        stride *= len(key.values)
    if stride > _MOST_KEYS:
        return None
    return PackedKeys(f"({' + '.join(terms)})", tuple(packed))
