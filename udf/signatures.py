"""Type rules that registry rows share: the arguments that a function takes, and its result type."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import ResultRule, TypeRule
from sharkpy.values.common_types import common_type, comparison_type
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER_TYPES,
    NULL,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    is_interval,
    is_nested,
    is_numeric,
    is_string,
)

Types = Sequence[DataType]


def converts(source: DataType, target: DataType) -> bool:
    """Return whether an argument of type `source` is implicitly cast to a parameter of type `target`."""
    if source in (target, NULL):
        return True
    if is_nested(source) or is_nested(target) or is_interval(source) or is_interval(target):
        return False
    if is_string(target):
        return True
    if is_numeric(target):
        return is_numeric(source) or is_string(source)
    if target in (DATE, TIMESTAMP):
        return is_string(source) or source in (DATE, TIMESTAMP)
    if target == BINARY:
        return is_string(source)
    return target == BOOLEAN and is_string(source)


def takes(*params: DataType, optional: int = 0, repeat: bool = False) -> TypeRule:
    """Fixed parameter types. The last `optional` may be omitted. The last one may `repeat` any number of times."""

    def rule(types: Types) -> Types | None:
        fewest = len(params) - optional
        if len(types) < fewest or (len(types) > len(params) and not repeat):
            return None
        wanted = [params[min(index, len(params) - 1)] for index in range(len(types))]
        return wanted if all(map(converts, types, wanted)) else None

    return rule


def first_of(*rules: TypeRule) -> TypeRule:
    """The first of the rules that accepts the arguments."""

    def rule(types: Types) -> Types | None:
        return next((taken for taken in (one(types) for one in rules) if taken is not None), None)

    return rule


def anything(fewest: int = 0, most: int | None = None) -> TypeRule:
    """Any types, uncast."""

    def rule(types: Types) -> Types | None:
        return types if fewest <= len(types) and (most is None or len(types) <= most) else None

    return rule


def kind_of(*families: type[DataType], then: Sequence[DataType] = (), optional: int = 0) -> TypeRule:
    """A first argument of one of the type families, uncast, then parameters as in `takes`."""

    def rule(types: Types) -> Types | None:
        if not types or not isinstance(types[0], families):
            return None
        rest = takes(*then, optional=optional)(types[1:])
        return None if rest is None else (types[0], *rest)

    return rule


def numeric(types: Types) -> Types | None:
    """One number, uncast. A string counts as DOUBLE."""
    if len(types) != 1:
        return None
    if is_numeric(types[0]):
        return types
    return (DOUBLE,) if is_string(types[0]) or types[0] == NULL else None


def with_timestamps(rule: TypeRule) -> TypeRule:
    """Like `rule`, but a TIMESTAMP counts as DOUBLE, its seconds since 1970, as in Hive's numeric aggregates."""
    return lambda types: rule([DOUBLE if dtype == TIMESTAMP else dtype for dtype in types])


def exact(*wanted: DataType) -> TypeRule:
    """Exactly these types, without casts (NULL fits any)."""

    def rule(types: Types) -> Types | None:
        if len(types) != len(wanted):
            return None
        return wanted if all(t in (w, NULL) for t, w in zip(types, wanted, strict=True)) else None

    return rule


def common(types: Types) -> DataType | None:
    """Return the common type of several types, as in UNION and CASE."""

    target: DataType | None = types[0] if types else None
    for dtype in types[1:]:
        target = common_type(target, dtype) if target is not None else None
    return target


def all_common(fewest: int = 1, most: int | None = None) -> TypeRule:
    """All arguments are cast to their common type."""

    def rule(types: Types) -> Types | None:
        if len(types) < fewest or (most is not None and len(types) > most):
            return None
        target = common(types)
        return None if target is None else [target] * len(types)

    return rule


def comparable(fewest: int, most: int | None = None) -> TypeRule:
    """All arguments are cast to the type in which they are compared."""

    def rule(types: Types) -> Types | None:
        if len(types) < fewest or (most is not None and len(types) > most):
            return None
        target: DataType | None = types[0]
        for dtype in types[1:]:
            target = comparison_type(target, dtype) if target is not None else None
        return None if target is None or isinstance(target, MapType) else [target] * len(types)

    return rule


def array_and_element(types: Types) -> Types | None:
    """An array and an element, cast to their common type."""
    if len(types) != 2 or not isinstance(types[0], ArrayType):
        return None
    target = common_type(types[0].element, types[1])
    return None if target is None else (ArrayType(target), target)


def returns(dtype: DataType) -> ResultRule:
    return lambda _types: dtype


def same_as(index: int) -> ResultRule:
    return lambda types: types[index]


def element_type(dtype: DataType) -> DataType:
    return dtype.element if isinstance(dtype, ArrayType) else NULL


def integer_or_double(types: Types) -> DataType:
    """The type of sum: BIGINT for integers, ten more digits for DECIMAL, else DOUBLE."""
    match types[0]:
        case DecimalType(precision, scale):
            return DecimalType(min(38, precision + 10), scale)
    return BIGINT if types[0] in INTEGER_TYPES else DOUBLE
