"""Texts that are long, wide or deep, and texts that grow while they are planned."""

from __future__ import annotations

from tests.thrift.evil.evil import LIMIT, TOO_COMPLEX, Evil, answer_or

_WELL = answer_or(TOO_COMPLEX, LIMIT)
"""Answered, or refused for its size."""
_SYNTAX = ("42601", *TOO_COMPLEX)


def _nested(before: str, middle: str, after: str, depth: int) -> str:
    return f"SELECT {before * depth}{middle}{after * depth}"


def _list(separator: str, one: str, number: int) -> str:
    return separator.join(one.format(n) for n in range(number))


def _doubled(depth: int) -> str:
    """Common table expressions that each read the one before twice."""
    steps = [f"t{n} AS (SELECT a.x FROM t{n - 1} a JOIN t{n - 1} b ON a.x = b.x)" for n in range(1, depth)]
    return f"WITH t0 AS (SELECT 1 AS x), {', '.join(steps)} SELECT count(*) FROM t{depth - 1}"


def _joined(number: int) -> str:
    """Tables whose join could be done in any order."""
    one = "JOIN numbers t{0} ON t0.n = t{0}.n"
    return f"numbers t0 {' '.join(one.format(n) for n in range(1, number))}"


def _aliases(depth: int) -> str:
    """Each level adds the column of the one below to itself."""
    text = "SELECT 1 AS x"
    for _ in range(depth):
        text = f"SELECT x + x AS x FROM ({text}) t"
    return text


def _lambdas(depth: int) -> str:
    text = "1"
    for n in range(depth):
        text = f"transform(array(1), x{n} -> {text})"
    return f"SELECT {text}"


TEXTS = (
    Evil("parentheses, 10,000 deep", lambda: _nested("(", "1", ")", 10_000), _WELL, True),
    Evil("parentheses, 10 MB", lambda: _nested("(", "1", ")", 5_000_000), TOO_COMPLEX, True),
    Evil("open parentheses, 10 MB", lambda: "SELECT " + "(" * 10_000_000, _SYNTAX),
    Evil("NOT, 10,000", lambda: _nested("NOT ", "true", "", 10_000), _WELL),
    Evil("minus, 10,000", lambda: _nested("- ", "1", "", 10_000), _WELL),
    Evil("tilde, 10,000", lambda: _nested("~ ", "1", "", 10_000), _WELL),
    Evil("CASE, 1,000 deep", lambda: _nested("CASE WHEN true THEN ", "1", " END", 1_000), _WELL),
    Evil("CASE, 10,000 deep", lambda: _nested("CASE WHEN true THEN ", "1", " END", 10_000), _WELL),
    Evil("abs, 10,000 deep", lambda: _nested("abs(", "1", ")", 10_000), _WELL, True),
    Evil("coalesce, 1,000 deep", lambda: _nested("coalesce(NULL, ", "1", ")", 1_000), _WELL),
    Evil("if, 500 deep", lambda: _nested("if(rand() > 2, 1, ", "1", ")", 500), _WELL),
    Evil("cast, 3,000 deep", lambda: _nested("cast(", "1", " AS BIGINT)", 3_000), _WELL),
    Evil("arrays, 3,000 deep", lambda: _nested("array(", "1", ")", 3_000), _WELL),
    Evil("maps, 500 deep", lambda: _nested("map('k', ", "1", ")", 500), _WELL),
    Evil("structs, 500 deep", lambda: _nested("named_struct('k', ", "1", ")", 500), _WELL),
    Evil("a type, 5,000 deep", lambda: f"SELECT cast(NULL AS {'array<' * 5_000}int{'>' * 5_000})", _WELL),
    Evil("a type of 10,000 fields", lambda: f"SELECT cast(NULL AS struct<{_list(',', 'f{}:int', 10_000)}>)", _WELL),
    Evil("subqueries, 1,000 deep", lambda: _nested("* FROM (SELECT ", "1", ") t", 1_000), _WELL, True),
    Evil("subqueries, 10,000 deep", lambda: _nested("* FROM (SELECT ", "1", ") t", 10_000), _WELL),
    Evil("scalar subqueries, 500 deep", lambda: _nested("(SELECT ", "1", ")", 500), _WELL),
    Evil("EXISTS, 200 deep", lambda: _nested("1 WHERE EXISTS (SELECT ", "1", ")", 200), _WELL),
    Evil("IN subqueries, 200 deep", lambda: _nested("1 WHERE 1 IN (SELECT ", "1", ")", 200), _WELL),
    Evil("lambdas, 22 deep", lambda: _lambdas(22), _WELL, True),
    Evil("lambdas, 2,000 deep", lambda: _lambdas(2_000), _WELL),
    Evil(
        "BETWEEN, 12 deep", lambda: _nested("(", "1", " BETWEEN 1 AND 2)", 12), answer_or(("42804",), TOO_COMPLEX), True
    ),
    Evil("BETWEEN, 300 deep", lambda: _nested("(", "1", " BETWEEN 1 AND 2)", 300), answer_or(("42804",), TOO_COMPLEX)),
    Evil("IS NULL, 3,000 deep", lambda: _nested("(", "1", " IS NULL)", 3_000), _WELL),
    Evil("<=>, 300 deep", lambda: _nested("(", "1", " <=> 1)", 300), answer_or(("42804",), TOO_COMPLEX, LIMIT)),
    Evil("nvl2, 25 deep", lambda: _nested("nvl2(", "n", ", 1, 2)", 25) + " FROM numbers LIMIT 1", _WELL),
    Evil("nullif, 25 deep", lambda: _nested("nullif(", "n", ", 7)", 25) + " FROM numbers LIMIT 1", _WELL, True),
    Evil("greatest, 25 deep", lambda: _nested("greatest(1, ", "n", ")", 25) + " FROM numbers LIMIT 1", _WELL),
    Evil("pmod, 40 deep", lambda: _nested("pmod(", "n", ", 7)", 40) + " FROM numbers LIMIT 1", _WELL),
    Evil("substring, 40 deep", lambda: _nested("substr(", "s", ", 1, 9)", 40) + " FROM numbers LIMIT 1", _WELL),
    Evil("round, 40 deep", lambda: _nested("round(", "n / 3", ", 2)", 40) + " FROM numbers LIMIT 1", _WELL),
    Evil("date_add, 40 deep", lambda: _nested("date_add(", "'2024-01-01'", ", 1)", 40), _WELL),
    Evil(
        "regexp_replace, 40 deep",
        lambda: _nested("regexp_replace(", "s", ", 'a+', 'b')", 40) + " FROM numbers LIMIT 1",
        _WELL,
    ),
    Evil(
        "regexp_extract, 40 deep",
        lambda: _nested("regexp_extract(", "s", ", '(.*)', 1)", 40) + " FROM numbers LIMIT 1",
        _WELL,
    ),
    Evil("concat, 2,000 deep", lambda: _nested("concat('a', ", "s", ")", 2_000) + " FROM numbers LIMIT 1", _WELL),
    Evil("+ of 100,000", lambda: f"SELECT {_list(' + ', '1', 100_000)}", _WELL, True),
    Evil(
        "+ of 2,000 columns", lambda: f"SELECT {_list(' + ', 'n', 2_000)} FROM numbers LIMIT 1", answer_or(LIMIT), True
    ),
    Evil("/ of 1,000 columns", lambda: f"SELECT {_list(' / ', 'n', 1_000)} FROM numbers LIMIT 1", answer_or(LIMIT)),
    Evil("brackets around +, 300", lambda: _nested("(", "n", " / 2 + 1)", 300) + " FROM numbers LIMIT 1", answer_or()),
    Evil(
        "INSERTs of 20,000",
        lambda: f"FROM numbers {_list(' ', 'INSERT INTO made SELECT n WHERE n = {}', 20_000)}",
        answer_or(TOO_COMPLEX, LIMIT),
    ),
    Evil(
        "CASE of 50,000 conditions",
        lambda: f"SELECT CASE {_list(' ', 'WHEN n = {0} THEN {0}', 50_000)} END FROM numbers LIMIT 1",
        _WELL,
    ),
    Evil("|| of 100,000", lambda: f"""SELECT {_list(" || ", "'a'", 100_000)}""", _WELL),
    Evil("AND of 100,000", lambda: f"SELECT 1 WHERE {_list(' AND ', '{0} = {0}', 100_000)}", _WELL, True),
    Evil("OR of 100,000", lambda: f"SELECT count(*) FROM numbers WHERE {_list(' OR ', 'n = {}', 100_000)}", _WELL),
    Evil("UNION ALL of 10,000", lambda: _list(" UNION ALL ", "SELECT {}", 10_000), _WELL, True),
    Evil("UNION of 1,000", lambda: _list(" UNION ", "SELECT {}", 1_000), _WELL),
    Evil("EXCEPT of 1,000", lambda: _list(" EXCEPT ", "SELECT {}", 1_000), _WELL),
    Evil("IN of a million", lambda: f"SELECT 1 IN ({_list(', ', '{}', 1_000_000)})", answer_or(TOO_COMPLEX), True),
    Evil(
        "IN of 100,000 texts",
        lambda: f"""SELECT count(*) FROM numbers WHERE s IN ({_list(", ", "'row {}'", 100_000)})""",
        _WELL,
    ),
    Evil(
        "NOT IN of 100,000",
        lambda: f"SELECT count(*) FROM numbers WHERE n NOT IN ({_list(', ', '{}', 100_000)})",
        _WELL,
    ),
    Evil(
        "IN of 10,000 expressions",
        lambda: f"SELECT count(*) FROM numbers WHERE n IN ({_list(', ', 'n + {}', 10_000)})",
        _WELL,
    ),
    Evil(
        "VALUES of 20,000 rows",
        lambda: f"""SELECT count(*) FROM (VALUES {_list(", ", "({}, 'x')", 20_000)}) t""",
        _WELL,
        True,
    ),
    Evil("VALUES of 300,000 rows", lambda: f"SELECT count(*) FROM (VALUES {_list(', ', '({})', 300_000)}) t", _WELL),
    Evil(
        "SELECT of 2,000 expressions",
        lambda: f"SELECT {_list(', ', 'n + {0} AS c{0}', 2_000)} FROM numbers LIMIT 1",
        _WELL,
        True,
    ),
    Evil("SELECT of 20,000 constants", lambda: f"SELECT {_list(', ', '{}', 20_000)}", _WELL),
    Evil("SELECT of 500,000 constants", lambda: f"SELECT {_list(', ', '{}', 500_000)}", _WELL),
    Evil(
        "CASE of 20,000 branches",
        lambda: f"SELECT CASE n {_list(' ', 'WHEN {0} THEN {0}', 20_000)} END FROM numbers LIMIT 1",
        _WELL,
    ),
    Evil("coalesce of 50,000", lambda: f"SELECT coalesce({_list(', ', 'NULL', 50_000)})", _WELL),
    Evil("concat of 50,000", lambda: f"""SELECT length(concat({_list(", ", "'{}'", 50_000)}))""", _WELL),
    Evil("array of 200,000", lambda: f"SELECT size(array({_list(', ', '{}', 200_000)}))", _WELL),
    Evil("greatest of 10,000", lambda: f"SELECT greatest({_list(', ', '{}', 10_000)})", _WELL),
    Evil(
        "GROUP BY of 2,000",
        lambda: f"SELECT count(*) FROM numbers GROUP BY {_list(', ', 'n + {}', 2_000)} LIMIT 1",
        _WELL,
    ),
    Evil("ORDER BY of 2,000", lambda: f"SELECT n FROM numbers ORDER BY {_list(', ', 'n + {}', 2_000)} LIMIT 1", _WELL),
    Evil(
        "CUBE of 30", lambda: f"SELECT count(*) FROM numbers GROUP BY CUBE ({_list(', ', 'n + {}', 30)})", _WELL, True
    ),
    Evil(
        "ROLLUP of 1,000",
        lambda: f"SELECT count(*) FROM numbers GROUP BY ROLLUP ({_list(', ', 'n + {}', 1_000)}) LIMIT 1",
        _WELL,
    ),
    Evil(
        "windows, 1,000",
        lambda: f"SELECT {_list(', ', 'sum(n) OVER (ORDER BY n + {})', 1_000)} FROM numbers LIMIT 1",
        _WELL,
    ),
    Evil("joins of 300", lambda: f"SELECT count(*) FROM {_list(' JOIN ', '(SELECT 1 AS x) t{}', 300)}", _WELL),
    Evil("cross joins of 40 tables", lambda: f"SELECT count(*) FROM {_list(', ', 'numbers t{}', 40)}", LIMIT),
    Evil(
        "LATERAL VIEW of 200",
        lambda: f"SELECT count(*) FROM numbers {_list(' ', 'LATERAL VIEW explode(array(1, 2)) v{0} AS c{0}', 200)}",
        _WELL,
    ),
    Evil("CTEs that double, 30", lambda: _doubled(30), _WELL, True),
    Evil("CTEs that double, 100", lambda: _doubled(100), _WELL),
    Evil("aliases that double, 30", lambda: _aliases(30), _WELL, True),
    Evil("aliases that double, 200", lambda: _aliases(200), _WELL),
    Evil("joins of 500 on one column", lambda: f"SELECT count(*) FROM {_joined(500)}", _WELL),
    Evil("CTEs of 3,000", lambda: f"WITH {_list(', ', 't{} AS (SELECT 1)', 3_000)} SELECT * FROM t2999", _WELL),
    Evil("a comment of 10 MB", lambda: f"SELECT /* {'x' * 10_000_000} */ 1", answer_or(TOO_COMPLEX)),
    Evil("comments, nested", lambda: f"SELECT {'/*' * 500_000} 1", _SYNTAX),
    Evil("a literal of 10 MB", lambda: f"SELECT length('{'x' * 10_000_000}')", answer_or(TOO_COMPLEX), True),
    Evil("an open literal of 10 MB", lambda: f"SELECT '{'x' * 10_000_000}", _SYNTAX, True),
    Evil("a literal of escapes", lambda: "SELECT length('" + "\\u0041" * 1_000_000 + "')", answer_or(TOO_COMPLEX)),
    Evil("a name of 10 MB", lambda: f"SELECT {'x' * 10_000_000}", ("42703", *TOO_COMPLEX, "42622")),
    Evil("a quoted name of 1 MB", lambda: f"SELECT `{'x' * 1_000_000}`", ("42703", *TOO_COMPLEX, "42622")),
    Evil("an alias of 1 MB", lambda: f"SELECT 1 AS {'x' * 1_000_000}", answer_or(TOO_COMPLEX, ("42622",))),
    Evil("a number of 5,000 digits", lambda: f"SELECT {'9' * 5_000}", answer_or(("22003", "42601"), TOO_COMPLEX), True),
    Evil(
        "a number of a million digits", lambda: f"SELECT {'9' * 1_000_000}", answer_or(("22003", "42601"), TOO_COMPLEX)
    ),
    Evil("a number with a huge exponent", "SELECT 1e999999999", answer_or(("22003", "42601"))),
    Evil("white space of 10 MB", lambda: "SELECT" + " " * 10_000_000 + "1", answer_or(TOO_COMPLEX)),
    Evil("semicolons of 1 MB", lambda: "SELECT 1" + ";" * 1_000_000, answer_or(_SYNTAX)),
    Evil("commas of 1 MB", lambda: "SELECT 1" + "," * 1_000_000, _SYNTAX),
    Evil("stars of 100,000", lambda: f"SELECT {_list(', ', '*', 100_000)} FROM numbers LIMIT 1", _WELL),
    Evil("dots of 100,000", lambda: f"SELECT {_list('.', 'a', 100_000)} FROM numbers", ("42703", *_SYNTAX)),
    Evil("brackets of 10,000", lambda: f"SELECT array(1){'[0]' * 10_000}", ("42804", *_SYNTAX)),
    Evil("hints of 100,000", lambda: f"SELECT /*+ {_list(', ', 'MAPJOIN(t{})', 100_000)} */ 1", _WELL),
    Evil("NUL bytes", lambda: "SELECT 1" + "\0" * 100_000, _SYNTAX),
    Evil(
        "a limit that is huge",
        f"SELECT n FROM numbers LIMIT {'9' * 30}",
        answer_or(("22003", "42601", "22023", "2201W")),
    ),
    Evil(
        "an interval that is huge",
        f"SELECT interval '{'9' * 3_000}' day",
        ("22015", "22007", "22008", "22003", "42601"),
    ),
    Evil("EXPLAIN of a wide one", lambda: f"EXPLAIN SELECT {_list(', ', 'n + {}', 5_000)} FROM numbers", _WELL),
    Evil("EXPLAIN of a deep one", lambda: f"EXPLAIN EXTENDED {_nested('abs(', '1', ')', 3_000)}", _WELL),
    Evil("EXPLAIN of doubled aliases", lambda: f"EXPLAIN {_aliases(40)}", _WELL),
    Evil(
        "a table of 20,000 columns",
        lambda: f"CREATE TABLE wide ({_list(', ', 'c{} INT', 20_000)})",
        answer_or(TOO_COMPLEX, LIMIT),
        True,
    ),
    Evil(
        "a view of 20,000 columns",
        lambda: f"CREATE VIEW wide_view AS SELECT * FROM (SELECT {_list(', ', '1 AS c{}', 20_000)}) t",
        answer_or(TOO_COMPLEX, LIMIT),
    ),
    Evil(
        "a table of nested types",
        lambda: f"CREATE TABLE deep (c {'array<' * 2_000}int{'>' * 2_000})",
        (*TOO_COMPLEX, "42601"),
    ),
    Evil("properties of 1 MB", lambda: f"SET x={'y' * 1_000_000}", answer_or(TOO_COMPLEX, ("22023",))),
    Evil(
        "PIVOT of 2,000",
        lambda: f"SELECT * FROM (SELECT n, s FROM numbers) PIVOT (count(s) FOR n IN ({_list(', ', '{}', 2_000)}))",
        answer_or(TOO_COMPLEX, LIMIT, ("0A000", "42601")),
    ),
    Evil(
        "substitution of variables",
        "SET hivevar:a=${hivevar:a}${hivevar:a}",
        answer_or(("22023", "42601"), TOO_COMPLEX),
    ),
    Evil("the empty statement", "", ("42601",)),
    Evil("all columns, 1,000 times", lambda: f"SELECT {_list(', ', 't.*', 1_000)} FROM numbers t LIMIT 1", _WELL),
)
