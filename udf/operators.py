"""Operators: arithmetic, comparison, logic, bits, patterns, access to elements.

Integers wrap on overflow. Their `lowering` computes in the next wider type and keeps the low bits; `unchecked`
is DuckDB's own operator in the result's storage, for callers who know that no value leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.errors import InternalError
from sharkpy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    as_decimal,
    common_type,
    is_interval,
    is_nested,
    is_numeric,
    is_string,
)
from sharkpy.udf import decimals
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.function import Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.literals import integer_value, is_nonzero_constant, quote_string, string_value
from sharkpy.udf.patterns import lower_rlike
from sharkpy.udf.signatures import Types, comparable, converts, returns, same_as, takes
from sharkpy.udf.types_duckdb import duckdb_type


def _numbers(types: Types) -> Types | None:
    """Both operands in the type of the operation; DECIMALs keep their own precision."""
    if len(types) != 2:
        return None
    left, right = (DOUBLE if is_string(dtype) else dtype for dtype in types)
    left, right = (right if left == NULL else left), (left if right == NULL else right)
    if left == NULL:
        return (DOUBLE, DOUBLE)
    if not (is_numeric(left) and is_numeric(right)):
        return None
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        decimal_left, decimal_right = as_decimal(left), as_decimal(right)
        return (decimal_left, decimal_right) if decimal_left and decimal_right else (DOUBLE, DOUBLE)
    target = common_type(left, right)
    return (target, target) if target else None


def _sum_operands(types: Types) -> Types | None:
    """Numbers, or a time and an interval, or two intervals of one kind."""
    if len(types) == 2:
        left, right = types
        if is_interval(left) and left == right:
            return types
        if is_interval(right) and (is_string(left) or left in (DATE, TIMESTAMP)):
            return (TIMESTAMP if is_string(left) else left, right)
    return _numbers(types)


def _add_operands(types: Types) -> Types | None:
    if len(types) == 2 and is_interval(types[0]) and not is_interval(types[1]):
        swapped = _sum_operands((types[1], types[0]))
        return None if swapped is None else (swapped[1], swapped[0])
    return _sum_operands(types)


def _subtract_operands(types: Types) -> Types | None:
    if len(types) == 2 and types[0] in (DATE, TIMESTAMP) and types[1] in (DATE, TIMESTAMP):
        return types if types[0] == types[1] else (TIMESTAMP, TIMESTAMP)
    return _sum_operands(types)


def _sum_type(types: Types) -> DataType:
    left, right = types
    if is_interval(left) and is_interval(right):
        return left
    if left in (DATE, TIMESTAMP) and right in (DATE, TIMESTAMP):
        return INTERVAL_DAY_TIME
    if is_interval(left):
        return _sum_type((right, left))
    if is_interval(right):
        return DATE if (left, right) == (DATE, INTERVAL_YEAR_MONTH) else TIMESTAMP
    if isinstance(left, DecimalType) and isinstance(right, DecimalType):
        return decimals.add_type(left, right)
    return left


def _multiply_type(types: Types) -> DataType:
    left, right = types
    return decimals.multiply_type(left, right) if _both_decimal(left, right) else left  # type: ignore[arg-type]


def _divide_operands(types: Types) -> Types | None:
    taken = _numbers(types)
    if taken is None or isinstance(taken[0], DecimalType):
        return taken
    return (DOUBLE, DOUBLE)


def _divide_type(types: Types) -> DataType:
    left, right = types
    return decimals.divide_type(left, right) if _both_decimal(left, right) else DOUBLE  # type: ignore[arg-type]


def _mod_type(types: Types) -> DataType:
    left, right = types
    return decimals.remainder_type(left, right) if _both_decimal(left, right) else left  # type: ignore[arg-type]


def _both_decimal(left: DataType, right: DataType) -> bool:
    return isinstance(left, DecimalType) and isinstance(right, DecimalType)


def _interval(sql: str, dtype: DataType) -> str:
    return f"to_months({sql})" if dtype == INTERVAL_YEAR_MONTH else f"to_microseconds({sql})"


def _sum_lowering(operator: str) -> Lowering:
    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        left, right = types
        if is_interval(left) and not is_interval(right):
            return lower((args[1], args[0]), (right, left), result)
        if result == INTERVAL_DAY_TIME and not is_interval(left):
            return _time_difference(args, left)
        if is_interval(right) and not is_interval(left):
            shifted = f"{args[0]} {operator} {_interval(args[1], right)}"
            return f"CAST({shifted} AS DATE)" if result == DATE else f"({shifted})"
        if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
            return decimals.add(operator, args[0], args[1], left, right, result)
        return _integer_operation(operator, args, result)

    return lower


def _time_difference(args: Sequence[str], dtype: DataType) -> str:
    if dtype == DATE:
        return f"(CAST({args[0]} - {args[1]} AS BIGINT) * 86400000000)"
    return f"(epoch_us({args[0]}) - epoch_us({args[1]}))"


def _integer_operation(operator: str, args: Sequence[str], result: DataType) -> str:
    if is_interval(result):
        return f"CAST(({args[0]} {operator} {args[1]}) AS {duckdb_type(result)})"
    if result not in INTEGER_TYPES:
        return f"({args[0]} {operator} {args[1]})"
    name = "HUGEINT" if result == BIGINT else "BIGINT"
    return wrap_integer(f"(CAST({args[0]} AS {name}) {operator} CAST({args[1]} AS {name}))", result)


def _sum_unchecked(operator: str) -> Lowering:
    checked = _sum_lowering(operator)

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if is_numeric(types[0]) and is_numeric(types[1]):
            return f"({args[0]} {operator} {args[1]})"
        return checked(args, types, result) if callable(checked) else checked

    return lower


def _multiply(args: Sequence[str], types: Types, result: DataType) -> str:
    left, right = types
    if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
        return decimals.multiply(args[0], args[1], left, right, result)
    return _integer_operation("*", args, result)


def _divide(args: Sequence[str], types: Types, result: DataType) -> str:
    left, right = types
    if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
        return decimals.divide(args[0], args[1], left, right, result)
    if is_interval(left):
        return f"CAST(round({args[0]} / nullif({args[1]}, 0)) AS {duckdb_type(result)})"
    divisor = args[1] if is_nonzero_constant(args[1]) else f"nullif({args[1]}, 0)"
    return f"({args[0]} / {divisor})"


def _parts_type(types: Types) -> DataType:
    scale = types[0].scale if isinstance(types[0], DecimalType) else 0
    return StructType(("whole", "fraction"), (DecimalType(38, 0), DecimalType(38, scale)))


def _decimal_parts(args: Sequence[str], types: Types, result: DataType) -> str:
    match types[0], result:
        case DecimalType(_, scale), StructType(_, (whole, fraction)):
            kept = f"trunc({args[0]})" if scale else args[0]
            parts = f"whole := CAST({kept} AS {duckdb_type(whole)}), "
            parts += f"fraction := CAST({f'{args[0]} - {kept}' if scale else '0'} AS {duckdb_type(fraction)})"
            return f"CASE WHEN {args[0]} IS NOT NULL THEN struct_pack({parts}) END"
    raise InternalError(f"{types[0]} is no DECIMAL")


def _mod(args: Sequence[str], types: Types, result: DataType) -> str:
    left, right = types
    if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(result, DecimalType):
        return decimals.remainder(args[0], args[1], left, right, result)
    if result in (FLOAT, DOUBLE):
        return f"({args[0]} % nullif({args[1]}, 0))"
    if is_nonzero_constant(args[1]) and not args[1].startswith("CAST(-"):
        return f"({args[0]} % {args[1]})"
    wide = "HUGEINT" if result == BIGINT else "BIGINT"
    return f"CAST(CAST({args[0]} AS {wide}) % {args[1]} AS {duckdb_type(result)})"


def _div(args: Sequence[str], types: Types, result: DataType) -> str:
    if isinstance(types[0], DecimalType):
        return f"TRY_CAST({decimals.kernel('div', args[0], args[1], DecimalType(38, 0))} AS BIGINT)"
    if result == BIGINT and types[0] in (FLOAT, DOUBLE):
        return f"shark_double_to_bigint({args[0]} / nullif({args[1]}, 0))"
    if is_nonzero_constant(args[1]) and not args[1].startswith("CAST(-"):
        return f"CAST({args[0]} // {args[1]} AS BIGINT)"
    if types[0] != BIGINT:
        return f"(CAST({args[0]} AS BIGINT) // {args[1]})"
    return f"shark_wrap_bigint(CAST({args[0]} AS HUGEINT) // {args[1]})"


def _negate(args: Sequence[str], _types: Types, result: DataType) -> str:
    if result in INTEGER_TYPES:
        return wrap_integer(f"(-CAST({args[0]} AS {'HUGEINT' if result == BIGINT else 'BIGINT'}))", result)
    return f"(-{args[0]})"


def _negatable(types: Types) -> Types | None:
    if len(types) != 1:
        return None
    if is_interval(types[0]) or is_numeric(types[0]):
        return types
    return (DOUBLE,) if converts(types[0], DOUBLE) else None


def _infix(operator: str) -> Lowering:
    return lambda args, _types, _result: "(" + f" {operator} ".join(args) + ")"


def _like(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pattern = string_value(args[1])
    if pattern is None:
        return f"({args[0]} LIKE shark_like_pattern({args[1]}) ESCAPE '\\')"
    if "\\" not in pattern:
        return f"({args[0]} LIKE {args[1]})"
    return f"({args[0]} LIKE {quote_string(_escape_like(pattern))} ESCAPE '\\')"


def _escape_like(pattern: str) -> str:
    """A backslash that escapes nothing stands for itself."""
    parts, position = [], 0
    while position < len(pattern):
        pair = pattern[position : position + 2]
        if pair in ("\\_", "\\%", "\\\\"):
            parts.append(pair)
            position += 2
            continue
        parts.append("\\\\" if pair[0] == "\\" else pair[0])
        position += 1
    return "".join(parts)


def _like_each(word: str) -> ScalarFunction:
    """likeany, likeall: NULL where the text or any of the patterns is NULL."""

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        tests = [_like((args[0], pattern), types, result) for pattern in args[1:]]
        known = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
        return f"CASE WHEN {known} THEN {f' {word} '.join(tests)} END"

    name, spoken = ("likeany", "ANY") if word == "OR" else ("likeall", "ALL")
    return ScalarFunction(
        name,
        takes(STRING, STRING, repeat=True),
        returns(BOOLEAN),
        lower,
        NullPolicy.CUSTOM,
        doc=f"a LIKE {spoken} (pattern, …); NULL where one of them is NULL",
        example=f"{name}('abc', 'a%', '%d')",
    )


def _case_when_arguments(types: Types) -> Types | None:
    if len(types) < 3 or len(types) % 2 == 0:
        return None
    target: DataType | None = types[-1]
    for dtype in types[1::2]:
        target = common_type(target, dtype) if target is not None else None
    if target is None or not all(converts(dtype, BOOLEAN) for dtype in types[:-1:2]):
        return None
    return [*([BOOLEAN, target] * (len(types) // 2)), target]


def _case_when(args: Sequence[str], _types: Types, _result: DataType) -> str:
    branches = " ".join(f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
    return f"CASE {branches} ELSE {args[-1]} END"


def _element_arguments(types: Types) -> Types | None:
    match types:
        case [ArrayType() as array, index] if index in INTEGER_TYPES or index == NULL:
            return (array, index if index in INTEGER_TYPES else INT)
        case [MapType(key, _) as mapping, given] if converts(given, key):
            return (mapping, key)
    return None


def _element_type(types: Types) -> DataType:
    match types[0]:
        case ArrayType(element):
            return element
        case MapType(_, value):
            return value
    raise InternalError(f"element_at of {types[0]}")


def _element_at(args: Sequence[str], types: Types, _result: DataType) -> str:
    if isinstance(types[0], MapType):
        return f"map_extract_value({args[0]}, {args[1]})"
    position = integer_value(args[1])
    if position is not None:
        return f"{args[0]}[{position + 1 if position >= 0 else 0}]"
    return f"{args[0]}[CASE WHEN {args[1]} >= 0 THEN CAST({args[1]} AS BIGINT) + 1 END]"


def _field_arguments(types: Types) -> Types | None:
    """A struct and a name; or Hive's field(value, item, …), which gives a position."""
    if types and isinstance(types[0], StructType):
        return types if len(types) == 2 and is_string(types[1]) else None
    return types if len(types) >= 2 and not any(map(is_nested, types)) else None


def _field(args: Sequence[str], types: Types, _result: DataType) -> str:
    if isinstance(types[0], StructType):
        return f"struct_extract({args[0]}, {args[1]})"
    if isinstance(types[0], ArrayType):
        return f"list_transform({args[0]}, lambda element: struct_extract(element, {args[1]}))"
    branches = " ".join(
        f"WHEN {args[0]} = {arg} THEN {index}"
        for index, (arg, dtype) in enumerate(zip(args[1:], types[1:], strict=True), 1)
        if dtype == types[0] or (is_string(dtype) and is_string(types[0])) or _both_decimal(dtype, types[0])
    )
    return f"CASE {branches} ELSE 0 END" if branches else "0"


def _field_type(_types: Types) -> DataType:
    raise InternalError("the type of a field needs its name: literal_result")


def _field_literal_type(types: Types, values: Sequence[object]) -> DataType:
    struct = types[0]
    if not isinstance(struct, StructType):
        return INT
    if str(values[1]).lower() in struct.names:
        return struct.types[struct.names.index(str(values[1]).lower())]
    raise InternalError(f"no field {values[1]!r} in {struct}")


def _bits(types: Types) -> Types | None:
    target = _numbers(types)
    return target if target is not None and target[0] in INTEGER_TYPES else None


def _one_integer(types: Types) -> Types | None:
    return types if len(types) == 1 and types[0] in INTEGER_TYPES else None


def _comparison(name: str, operator: str, doc: str, example: str) -> ScalarFunction:
    lowering = f"({{0}} {operator} {{1}})"
    return ScalarFunction(name, comparable(2, 2), returns(BOOLEAN), lowering, doc=doc, example=example)


def _connective(name: str) -> ScalarFunction:
    word, takes_any = name.upper(), takes(BOOLEAN, BOOLEAN, repeat=True)
    doc = "true where both are" if name == "and" else "true where one of both is"
    example = f"true {word} false"
    return ScalarFunction(name, takes_any, returns(BOOLEAN), _infix(word), NullPolicy.CUSTOM, doc=doc, example=example)


def _shift(name: str, operator: str) -> ScalarFunction:
    """Java's shifts: the distance is taken modulo the width; integers are INT or BIGINT."""

    def arguments(types: Types) -> Types | None:
        if len(types) != 2 or types[0] not in INTEGER_TYPES or not converts(types[1], INT):
            return None
        return (BIGINT if types[0] == BIGINT else INT, INT)

    def lower(args: Sequence[str], _types: Types, result: DataType) -> str:
        width, mask = (64, 2**64 - 1) if result == BIGINT else (32, 2**32 - 1)
        distance = f"({args[1]} & {width - 1})"
        if operator == "<<":
            power = f"CAST(2 ** {distance} AS HUGEINT)"
            return wrap_integer(f"CAST((CAST({args[0]} AS HUGEINT) * {power}) & {mask} AS HUGEINT)", result)
        if operator == ">>":
            return f"({args[0]} >> {distance})"
        return wrap_integer(f"((CAST({args[0]} AS HUGEINT) & {mask}) >> {distance})", result)

    return ScalarFunction(
        name, arguments, same_as(0), lower, doc=f"a {operator} b, in two's complement", example=f"{name}(8, 1)"
    )


OPERATORS = (
    ScalarFunction(
        "add",
        _add_operands,
        _sum_type,
        _sum_lowering("+"),
        doc="the sum; also of a time and an interval",
        example="1 + 2",
        unchecked=_sum_unchecked("+"),
    ),
    ScalarFunction(
        "subtract",
        _subtract_operands,
        _sum_type,
        _sum_lowering("-"),
        doc="the difference; also of a time and an interval, or of two times",
        example="1 - 2",
        unchecked=_sum_unchecked("-"),
    ),
    ScalarFunction(
        "multiply", _numbers, _multiply_type, _multiply, doc="the product", example="2 * 3", unchecked="({0} * {1})"
    ),
    ScalarFunction(
        "divide",
        _divide_operands,
        _divide_type,
        _divide,
        doc="the quotient, as DOUBLE or DECIMAL; NULL by zero",
        example="1 / 2",
    ),
    ScalarFunction(
        "decimal_parts",
        lambda types: types if len(types) == 1 and isinstance(types[0], DecimalType) else None,
        _parts_type,
        _decimal_parts,
        doc="what is before the point and what is behind it: how DECIMALs compare that no DECIMAL holds together",
        example="decimal_parts(1.5).whole",
    ),
    ScalarFunction("mod", _numbers, _mod_type, _mod, doc="the remainder, with the sign of a", example="7 % 3"),
    ScalarFunction("div", _numbers, returns(BIGINT), _div, doc="the integer part of a / b", example="7 div 2"),
    ScalarFunction(
        "negate", _negatable, same_as(0), _negate, doc="with the other sign", example="-(5)", unchecked="(-{0})"
    ),
    ScalarFunction("positive", _negatable, same_as(0), "{0}", doc="as it is", example="positive(5)"),
    _comparison("eq", "=", "whether a equals b", "1 = 1"),
    _comparison("ne", "<>", "whether a and b differ", "1 <> 2"),
    _comparison("lt", "<", "whether a is less than b", "1 < 2"),
    _comparison("le", "<=", "whether a is at most b", "1 <= 2"),
    _comparison("gt", ">", "whether a is greater than b", "2 > 1"),
    _comparison("ge", ">=", "whether a is at least b", "2 >= 1"),
    ScalarFunction(
        "eq_null_safe",
        comparable(2, 2),
        returns(BOOLEAN),
        "({0} IS NOT DISTINCT FROM {1})",
        NullPolicy.CUSTOM,
        doc="whether a equals b, NULL being equal to NULL alone",
        example="NULL <=> NULL",
    ),
    _connective("and"),
    _connective("or"),
    ScalarFunction(
        "not",
        takes(BOOLEAN),
        returns(BOOLEAN),
        "(NOT {0})",
        doc="false for true and true for false",
        example="NOT true",
    ),
    ScalarFunction(
        "in",
        comparable(2),
        returns(BOOLEAN),
        lambda args, _types, _result: f"({args[0]} IN ({', '.join(args[1:])}))",
        NullPolicy.CUSTOM,
        doc="whether a value equals one of several",
        example="2 IN (1, 2)",
    ),
    ScalarFunction(
        "between",
        comparable(3, 3),
        returns(BOOLEAN),
        "({0} BETWEEN {1} AND {2})",
        NullPolicy.CUSTOM,
        doc="whether a value is at least low and at most high",
        example="2 BETWEEN 1 AND 3",
    ),
    ScalarFunction(
        "is_null",
        lambda types: types if len(types) == 1 else None,
        returns(BOOLEAN),
        "({0} IS NULL)",
        NullPolicy.CUSTOM,
        doc="whether a is NULL",
        example="1 IS NULL",
    ),
    ScalarFunction(
        "is_not_null",
        lambda types: types if len(types) == 1 else None,
        returns(BOOLEAN),
        "({0} IS NOT NULL)",
        NullPolicy.CUSTOM,
        doc="whether a is not NULL",
        example="1 IS NOT NULL",
    ),
    ScalarFunction(
        "like",
        takes(STRING, STRING),
        returns(BOOLEAN),
        _like,
        doc="whether all of a matches a pattern of % and _",
        example="'abc' LIKE 'a%'",
    ),
    _like_each("OR"),
    _like_each("AND"),
    ScalarFunction(
        "rlike",
        takes(STRING, STRING),
        returns(BOOLEAN),
        lower_rlike,
        doc="whether a part of the string matches the Java regular expression",
        example="'abc' RLIKE 'b+'",
    ),
    ScalarFunction(
        "case_when",
        _case_when_arguments,
        lambda types: types[-1],
        _case_when,
        NullPolicy.CUSTOM,
        doc="the value behind the first condition that is true, or that equals x",
        example="CASE WHEN 1 = 1 THEN 'a' ELSE 'b' END",
    ),
    ScalarFunction(
        "element_at",
        _element_arguments,
        _element_type,
        _element_at,
        NullPolicy.CUSTOM,
        doc="array[index from 0] or map[key]; NULL where there is none",
        example="array(1, 2)[0]",
    ),
    ScalarFunction(
        "field",
        _field_arguments,
        _field_type,
        _field,
        NullPolicy.CUSTOM,
        doc="struct.name; or the position of a value among others, 0 where absent",
        example="named_struct('a', 1).a",
        literal_result=_field_literal_type,
    ),
    ScalarFunction("bit_and", _bits, same_as(0), "({0} & {1})", doc="bits that are in both", example="5 & 3"),
    ScalarFunction("bit_or", _bits, same_as(0), "({0} | {1})", doc="bits that are in either", example="5 | 3"),
    ScalarFunction("bit_xor", _bits, same_as(0), "xor({0}, {1})", doc="bits that are in one alone", example="5 ^ 3"),
    ScalarFunction("bit_not", _one_integer, same_as(0), "(~{0})", doc="every bit changed", example="~5"),
    _shift("shiftleft", "<<"),
    _shift("shiftright", ">>"),
    _shift("shiftrightunsigned", ">>>"),
)
