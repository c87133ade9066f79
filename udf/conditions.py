"""Conditions: comparison, logic and CASE, comparison with the rows of a query, functions that choose an argument."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.duckdb_sql import string_value
from sharkpy.udf.function import Failure, Lowering, NullPolicy, ScalarFunction
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, all_common, anything, comparable, converts, same_as, takes
from sharkpy.values.common_types import common_type, comparison_type
from sharkpy.values.types import BIGINT, BINARY, BOOLEAN, INT, NULL, STRING, DataType, StructType


def _comparison(name: str, *signs: str, doc: str, example: str) -> ScalarFunction:
    """A comparison, by the first of the signs in DuckDB. Its example is true."""
    return Page("a {} b", doc, f"{example} -> true", name=name).scalar(
        comparable(2, 2), BOOLEAN, f"({{0}} {signs[0]} {{1}})", aliases=signs, is_listed=False
    )


def _connective(name: str, *, doc: str, answer: str) -> ScalarFunction:
    word = name.upper()
    return Page(f"a {word} b", doc, f"true {word} false -> {answer}", name=name).scalar(
        takes(BOOLEAN, BOOLEAN, repeat=True), BOOLEAN, _infix(word), NullPolicy.CUSTOM
    )


def _infix(operator: str) -> Lowering:
    return lambda args, _types, _result: "(" + f" {operator} ".join(args) + ")"


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


CONDITIONS = (
    _comparison("eq", "=", "==", doc="whether a equals b", example="1 = 1"),
    _comparison("ne", "<>", "!=", doc="whether a and b differ", example="1 <> 2"),
    _comparison("lt", "<", doc="whether a is less than b", example="1 < 2"),
    _comparison("le", "<=", doc="whether a is at most b", example="1 <= 2"),
    _comparison("gt", ">", doc="whether a is greater than b", example="2 > 1"),
    _comparison("ge", ">=", doc="whether a is at least b", example="2 >= 1"),
    Page("a {} b", "whether a equals b; NULL equals only NULL", "NULL <=> NULL -> true", name="eq_null_safe").scalar(
        comparable(2, 2),
        BOOLEAN,
        "({0} IS NOT DISTINCT FROM {1})",
        NullPolicy.CUSTOM,
        aliases=("<=>",),
        is_listed=False,
    ),
    _connective("and", doc="true if both are true", answer="false"),
    _connective("or", doc="true if at least one of them is true", answer="true"),
    Page("{} x", "false for true and true for false", "NOT true -> false", name="not").scalar(
        (BOOLEAN,), BOOLEAN, "(NOT {0})", aliases=("!",)
    ),
    Page("x [NOT] IN (a, …)", "whether a value equals one of several", "2 IN (1, 2) -> true", name="in").scalar(
        comparable(2),
        BOOLEAN,
        lambda args, _types, _result: f"({args[0]} IN ({', '.join(args[1:])}))",
        NullPolicy.CUSTOM,
    ),
    Page(
        "x [NOT] BETWEEN low AND high",
        "whether a value is at least low and at most high",
        "2 BETWEEN 1 AND 3 -> true",
        name="between",
    ).scalar(comparable(3, 3), BOOLEAN, "({0} BETWEEN {1} AND {2})", NullPolicy.CUSTOM),
    Page("x IS NULL", "whether a is NULL", "1 IS NULL -> false", name="is_null").scalar(
        lambda types: types if len(types) == 1 else None,
        BOOLEAN,
        "({0} IS NULL)",
        NullPolicy.CUSTOM,
        aliases=("isnull",),
        is_listed=False,
    ),
    Page("x IS NOT NULL", "whether a is not NULL", "1 IS NOT NULL -> true", name="is_not_null").scalar(
        lambda types: types if len(types) == 1 else None,
        BOOLEAN,
        "({0} IS NOT NULL)",
        NullPolicy.CUSTOM,
        aliases=("isnotnull",),
        is_listed=False,
    ),
    Page(
        "CASE [x] WHEN a THEN b … [ELSE c] END",
        "the value of the first condition that is true, or that equals x",
        "CASE WHEN 1 = 1 THEN 'a' ELSE 'b' END -> a",
        name="case_when",
    ).scalar(
        _case_when_arguments,
        lambda types: types[-1],
        _case_when,
        NullPolicy.CUSTOM,
        aliases=("case", "when"),
        is_listed=False,
    ),
)


QUERY_FACTS = ("num_rows", "num_values", "least", "greatest")
"""Fields of the struct. `num_values` counts the rows that are not NULL."""


def _value_and_facts(types: Types) -> Types | None:
    if len(types) != 2 or not isinstance(types[1], StructType) or types[1].names != QUERY_FACTS:
        return None
    return types if types[1].types[2] == types[0] else None


def _lower_any(is_true: str) -> Lowering:
    """True for some value. Otherwise unknown if there are NULLs, else false, also without rows."""

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        value, facts = args
        fields = {name: f"struct_extract({facts}, '{name}')" for name in QUERY_FACTS}
        some = is_true.format(value, **fields)
        rows, values = fields["num_rows"], fields["num_values"]
        return f"CASE WHEN {rows} = 0 THEN false WHEN {some} THEN true WHEN {values} < {rows} THEN NULL ELSE {some} END"

    return lower


def _comparison_with_any(name: str, sign: str, is_true: str) -> ScalarFunction:
    return Page(
        f"{name}_any(x, facts)",
        f"whether x {sign} some row of a query that has the facts",
        f"{name}_any(2, named_struct('num_rows', 3L, 'num_values', 2L, 'least', 1, 'greatest', 3)) -> true",
    ).scalar(_value_and_facts, BOOLEAN, _lower_any(is_true), NullPolicy.CUSTOM, is_listed=False)


QUANTIFIED_COMPARISONS = (
    _comparison_with_any("lt", "<", "({0} < {greatest})"),
    _comparison_with_any("le", "<=", "({0} <= {greatest})"),
    _comparison_with_any("gt", ">", "({0} > {least})"),
    _comparison_with_any("ge", ">=", "({0} >= {least})"),
    _comparison_with_any("ne", "<>", "({0} <> {least} OR {0} <> {greatest})"),
)


def _if_arguments(types: Types) -> Types | None:
    """A condition and two values of a common type."""
    if len(types) != 3 or not converts(types[0], BOOLEAN):
        return None
    target = common_type(types[1], types[2])
    return None if target is None else (BOOLEAN, target, target)


def _nvl2_arguments(types: Types) -> Types | None:
    if len(types) != 3:
        return None
    target = common_type(types[1], types[2])
    return None if target is None else (types[0], target, target)


def _nullif_arguments(types: Types) -> Types | None:
    """Two comparable values, uncast."""
    compared = comparable(2, 2)(types)
    if compared is None:
        return None
    return [target if dtype == NULL else dtype for dtype, target in zip(types, compared, strict=True)]


def _nullif(args: Sequence[str], types: Types, _result: DataType) -> str:
    """Return the first value in its own type, whatever type the comparison uses."""
    compared = comparison_type(*types)
    if compared is None or types[0] == types[1]:
        return f"nullif({args[0]}, {args[1]})"
    first, second = (lower_cast(arg, dtype, compared) for arg, dtype in zip(args, types, strict=True))
    return f"CASE WHEN {first} = {second} THEN NULL ELSE {args[0]} END"


def _decode_arguments(types: Types) -> Types | None:
    """decode(binary, charset) or decode(value, search, result, …, default)."""
    if len(types) < 3:
        return takes(BINARY, STRING)(types)
    results = [types[index] for index in range(2, len(types), 2)] + ([types[-1]] if len(types) % 2 == 0 else [])
    searches = [types[0], *(types[index] for index in range(1, len(types) - 1, 2))]
    key, value = comparable(1)(searches), all_common()(results)
    if key is None or value is None:
        return None
    wanted = [key[0], *(key[0] if index % 2 == 1 else value[0] for index in range(1, len(types)))]
    if len(types) % 2 == 0:
        wanted[-1] = value[0]
    return wanted


def _decode(args: Sequence[str], _types: Types, _result: DataType) -> str:
    if len(args) == 2:
        charset = string_value(args[1])
        is_utf8 = charset is not None and charset.upper() == "UTF-8"
        return f"shark_bytes_text({args[0]})" if is_utf8 else f"shark_decode({args[0]}, {args[1]})"
    branches = " ".join(
        f"WHEN {args[0]} IS NOT DISTINCT FROM {args[index]} THEN {args[index + 1]}"
        for index in range(1, len(args) - 1, 2)
    )
    default = f" ELSE {args[-1]}" if len(args) % 2 == 0 else ""
    return f"CASE {branches}{default} END"


def _truth(words: str, *, answer: str) -> ScalarFunction:
    """IS TRUE and similar tests. Queries may also call them by their words joined by underscores."""
    name = words.lower().replace(" ", "_")
    return Page(f"x {words}", f"a {words}", f"true {words} -> {answer}", name=name).scalar(
        (BOOLEAN,), BOOLEAN, f"({{0}} {words})", NullPolicy.CUSTOM, aliases=(name.replace("_", ""),), is_listed=False
    )


def _enforce(args: Sequence[str], _types: Types, _result: DataType) -> str:
    message = args[1] if len(args) > 1 else "'a NOT NULL or CHECK constraint is violated'"
    return f"CASE WHEN {args[0]} THEN TRUE ELSE error({message}) END"


CONDITIONAL_FUNCTIONS = (
    Page(
        "if(condition, x, y)", "the second argument if the first is true, else the third", "if(1 = 1, 'a', 'b') -> a"
    ).scalar(_if_arguments, same_as(1), "CASE WHEN {0} THEN {1} ELSE {2} END", NullPolicy.CUSTOM),
    Page("coalesce(x, …)", "the first argument that is not NULL", "coalesce(NULL, 2, 3) -> 2").scalar(
        all_common(1), same_as(0), "coalesce({args})", NullPolicy.CUSTOM
    ),
    Page("nvl(x, default)", "the first argument, or the second if the first is NULL", "nvl(NULL, 'x') -> x").scalar(
        all_common(2, 2), same_as(0), "coalesce({0}, {1})", NullPolicy.CUSTOM, aliases=("ifnull",)
    ),
    Page(
        "nvl2(x, y, z)", "the second argument if the first is not NULL, else the third", "nvl2(NULL, 1, 2) -> 2"
    ).scalar(_nvl2_arguments, same_as(1), "CASE WHEN {0} IS NOT NULL THEN {1} ELSE {2} END", NullPolicy.CUSTOM),
    Page("nullif(a, b)", "NULL if both are equal, else the first", "nullif(1, 2) -> 1").scalar(
        _nullif_arguments, same_as(0), _nullif, NullPolicy.CUSTOM
    ),
    Page(
        "decode(data, charset), decode(x, search, result, …[, default])",
        "text of bytes in a character set; or the result that follows the first equal search value, else the default",
        "decode(2, 1, 'a', 2, 'b', 'c') -> b",
    ).scalar(_decode_arguments, lambda types: types[2] if len(types) > 2 else STRING, _decode, NullPolicy.CUSTOM),
    Page("assert_true(condition)", "an error unless true", "assert_true(1 = 1) -> NULL").scalar(
        lambda types: types if len(types) == 1 and types[0] == BOOLEAN else None,
        NULL,
        "CASE WHEN {0} THEN NULL ELSE error('assert_true(): assertion failed') END",
        NullPolicy.CUSTOM,
        is_deterministic=False,
    ),
    Page(
        "enforce_constraint(condition[, message])",
        "true, or an error: what INSERT asks of a row",
        "enforce_constraint(1 = 1) -> true",
    ).scalar(takes(BOOLEAN, STRING, optional=1), BOOLEAN, _enforce, NullPolicy.CUSTOM, is_deterministic=False),
    Page(
        "require(condition, message)",
        "true, or an error with this message; the same each time, so that rows can be computed again",
        "require(1 = 1, 'odd numbers') -> true",
    ).scalar(
        (BOOLEAN, STRING), BOOLEAN, "CASE WHEN {0} THEN TRUE ELSE error(coalesce({1}, 'NULL')) END", NullPolicy.CUSTOM
    ),
    Page(
        "assert_true_oom(condition)",
        "an error unless true, as of memory that is short",
        "assert_true_oom(1 = 1) -> NULL",
    ).scalar(
        lambda types: types if len(types) == 1 and types[0] == BOOLEAN else None,
        NULL,
        "CASE WHEN {0} THEN NULL ELSE error('assert_true_oom(): assertion failed') END",
        NullPolicy.CUSTOM,
        is_deterministic=False,
    ),
    Page(
        "sq_count_check(n)", "true, or an error for more than one row of a scalar subquery", "sq_count_check(1) -> true"
    ).scalar(
        (BIGINT,),
        BOOLEAN,
        "CASE WHEN {0} > 1 THEN error('a scalar subquery has more than one row') ELSE true END",
        NullPolicy.CUSTOM,
        is_deterministic=False,
    ),
    Page(
        "cardinality_violation(x, …)",
        "an error: MERGE raises it if rows match more than once",
        "cardinality_violation(1)",
        answer=Failure("several rows of the source match one row of the target"),
    ).scalar(
        anything(),
        INT,
        "CAST(error('several rows of the source match one row of the target') AS INTEGER)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
    ),
    _truth("IS TRUE", answer="true"),
    _truth("IS FALSE", answer="false"),
    _truth("IS NOT TRUE", answer="false"),
    _truth("IS NOT FALSE", answer="true"),
)
