"""Calls whose result would be huge, or whose work is."""

from __future__ import annotations

from tests.thrift.evil.evil import LIMIT, NO_MEMORY, TOO_COMPLEX, TOO_LARGE, Evil, answer_or

_BREAKING = (
    "0a0107070008000282e1857c70b872400000000080af434000000000000000000c000000000000001201312431154173"
    "102015622041303634222805211541450445331114303453237141311111321723244331313121434420415342131041"
    "21fd331132402410"
)
_HOLDING = "080110040116cc934e0000000300002a000000000020e93f764874b3d9cf763e12fda148a9080d0d00000000"
"""Sketches that DataSketches reads beyond its memory, and for ever."""
_MANY = "2000000000"

_LARGE = {
    "repeat": f"repeat('x', {_MANY})",
    "repeat of a column": f"repeat(s, {_MANY})",
    "repeat of repeat": "repeat(repeat('x', 100000), 100000)",
    "space": f"space({_MANY})",
    "lpad": f"lpad('a', {_MANY}, 'b')",
    "rpad": f"rpad('a', {_MANY}, 'b')",
    "lpad of a column": f"lpad(s, {_MANY}, s)",
    "replace": "replace(repeat('a', 1000000), 'a', repeat('b', 1000000))",
    "regexp_replace": "regexp_replace(repeat('a', 1000000), 'a', repeat('b', 1000000))",
    "regexp_replace, groups": "regexp_replace(repeat('a', 1000000), '(a+)', repeat('$1', 1000000))",
    "concat": f"""concat({", ".join(["repeat('x', 100000000)"] * 5)})""",
    "concat_ws": "concat_ws(repeat('x', 1000000), array_repeat('a', 1000000))",
    "array_join": "array_join(array_repeat('a', 1000000), repeat('x', 1000000))",
    "array_repeat": f"array_repeat('x', {_MANY})",
    "array_repeat of arrays": "array_repeat(array_repeat(array_repeat('x', 10000), 10000), 10000)",
    "sequence": f"sequence(1, {_MANY})",
    "sequence of long": "sequence(-9223372036854775807, 9223372036854775807)",
    "sequence of dates": "size(sequence(date '0001-01-01', date '9999-12-31', interval '1' day))",
    "sequence of timestamps": (
        "sequence(timestamp '0001-01-01 00:00:00', timestamp '9999-12-31 00:00:00', interval '1' second)"
    ),
    "flatten": "flatten(array_repeat(array_repeat('x', 100000), 100000))",
    "split": f"split(space({_MANY}), ' ')",
    "hex of hex": f"hex({'hex(' * 29}'x'{')' * 30}",
    "concat doubled": "transform(sequence(1, 60), x -> repeat('x', cast(pow(2, x) AS INT)))",
    "aggregate that doubles": "aggregate(sequence(1, 60), 'x', (a, x) -> concat(a, a))",
    "printf": f"printf('%{_MANY}d', 1)",
    "format_string": f"format_string('%-{_MANY}s', 'x')",
    "format_number": f"format_number(1.5, {_MANY})",
    "translate": "length(translate(repeat('a', 200000000), 'a', 'b'))",
    "base64": "base64(cast(repeat('x', 1900000000) AS BINARY))",
    "map_from_entries": "map_from_arrays(sequence(1, 100000000), sequence(1, 100000000))",
    "to_json": "to_json(named_struct('a', array_repeat(repeat('x', 1000000), 1000)))",
    "initcap": "initcap(repeat('x ', 500000000))",
    "reverse": f"reverse(repeat('x', {_MANY}))",
    "upper": f"upper(repeat('ß', {_MANY}))",
    "url_encode": "url_encode(repeat('é', 500000000))",
    "stack of arrays": f"array(repeat('x', {_MANY}), repeat('y', {_MANY}))",
    "struct of texts": f"named_struct('a', repeat('x', {_MANY}), 'b', repeat('y', {_MANY}))",
    "date_format": "date_format(timestamp '2024-01-01 00:00:00', repeat('y', 100000000))",
    "str_to_map": "str_to_map(repeat('a:b,', 300000000))",
    "encode": "encode(repeat('x', 1500000000), 'UTF-16')",
    "overlay": f"overlay('x' PLACING repeat('y', {_MANY}) FROM 1)",
    "elt": f"elt(1, repeat('y', {_MANY}))",
    "mask": f"mask(repeat('y', {_MANY}))",
    "soundex": f"soundex(repeat('y', {_MANY}))",
}
_SHORT = ("repeat", "lpad", "replace", "array_repeat", "sequence", "printf", "split", "struct of texts", "flatten")
_SMALL_AFTER_ALL = (
    "translate",
    "concat",
    "sequence of dates",
    "sequence of timestamps",
    "hex of hex",
    "initcap",
    "soundex",
)

_LONG_WORK = {
    "levenshtein": "levenshtein(repeat('a', 100000), repeat('b', 100000))",
    "levenshtein of a column": "levenshtein(repeat(s, 30000), repeat(concat(s, 'x'), 30000))",
    "conv": "conv(repeat('A', 10000000), 36, 10)",
    "conv of a column": "conv(repeat(s, 10000000), 36, 10)",
    "cast of digits to a number": "cast(repeat('9', 10000000) AS DECIMAL(38, 0))",
    "cast of digits to a float": "cast(repeat('9', 10000000) AS DOUBLE)",
    "cast of digits to an integer": "cast(repeat('9', 10000000) AS BIGINT)",
    "factorial": f"factorial({_MANY})",
    "pow": "pow(1e300, 1e300)",
    "pmod": "pmod(-9223372036854775808, -1)",
    "shiftleft": f"shiftleft(1, {_MANY})",
    "div": "-9223372036854775808 div -1",
    "round": f"round(1.5, {_MANY})",
    "bround": f"bround(2.5D, -{_MANY})",
    "date_add": f"date_add(date '2024-01-01', {_MANY})",
    "add_months": f"add_months(date '2024-01-01', {_MANY})",
    "interval": f"timestamp '2024-01-01 00:00:00' + interval '{_MANY}' year",
    "ngrams": "ngrams(sentences(repeat('a b c d. ', 100000)), 4, 1000)",
    "percentile": "percentile(n, array_repeat(0.5D, 100000))",
    "percentile_approx": "percentile_approx(n, 0.5D, 2147483647)",
    "histogram_numeric": "histogram_numeric(n, 2000000000)",
    "from_json, deep": "from_json(concat(repeat('[', 100000), repeat(']', 100000)), 'array<int>')",
    "get_json_object, deep": "get_json_object(concat(repeat('{\"a\":', 100000), '1', repeat('}', 100000)), '$.a')",
    "get_json_object, wide": "length(get_json_object(concat('[', repeat('1,', 5000000), '1]'), '$'))",
    "xpath, deep": "xpath(concat(repeat('<a>', 100000), repeat('</a>', 100000)), 'a/text()')",
    "xpath, entities": (
        "xpath_string(concat('<!DOCTYPE a [<!ENTITY x \"', repeat('y', 100000), '\">]><a>', "
        "repeat('&x;', 100000), '</a>'), 'a')"
    ),
    "xpath, a path of many": "xpath_int('<a/>', repeat('//*', 20))",
    "xpath, a file": "xpath_string('<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>', 'a')",
    "array_sort by a function": "size(array_sort(sequence(1, 200000), (a, b) -> b - a))",
    "array_distinct": "size(array_distinct(sequence(1, 1000000)))",
    "array_intersect": "size(array_intersect(sequence(1, 1000000), sequence(1, 1000000)))",
    "arrays_overlap": "arrays_overlap(sequence(1, 1000000), sequence(1000001, 2000000))",
    "array_except": "size(array_except(sequence(1, 1000000), sequence(2, 1000000)))",
    "nested transform": "size(transform(sequence(1, 100000), x -> size(sequence(1, 100000))))",
    "nested filter": "size(filter(sequence(1, 20000), x -> exists(sequence(1, 20000), y -> y = -x)))",
    "aggregate": "aggregate(sequence(1, 1000000), 0, (a, x) -> a + x)",
    "sha2": "sha2(repeat('x', 100000000), 256)",
    "md5": "md5(repeat('x', 100000000))",
    "crc32": "crc32(cast(repeat('x', 100000000) AS BINARY))",
    "aes_encrypt": "length(aes_encrypt(repeat('x', 50000000), '0000111122223333'))",
    "hash of a large array": "hash(sequence(1, 10000000))",
    "sentences": "size(sentences(repeat('Hello there! ', 300000)))",
    "format_number of a huge one": "format_number(1e308, 20)",
    "bin": "bin(-1)",
    "unhex": "length(unhex(repeat('F', 100000000)))",
    "substring_index": "length(substring_index(repeat('a.', 10000000), '.', -5000000))",
    "locate": "locate(concat(repeat('a', 50000), 'b'), repeat('a', 10000000))",
    "instr": "instr(repeat('a', 10000000), concat(repeat('a', 50000), 'b'))",
    "find_in_set": "find_in_set('b', repeat('a,', 10000000))",
    "date_format of a column": "date_format(timestamp '2024-01-01 00:00:00', repeat(\"'\", 100001))",
    "unix_timestamp": "unix_timestamp('2024', repeat('y', 1000))",
    "chr": "chr(-9223372036854775808)",
    "width_bucket": "width_bucket(1e308, -1e308, 1e308, 2147483647)",
}
_WRONG_VALUES = ("22003", "22007", "22008", "22015", "22018", "22023", "2200M")
"""Arguments out of range, or no dates, intervals, paths or XML."""
_WORK_SHORT = ("levenshtein", "conv", "factorial", "from_json, deep", "xpath, entities", "array_sort by a function")


def _select(call: str) -> str:
    aggregate = call.startswith(("percentile", "histogram"))
    column = "(s," in call or " s)" in call or aggregate
    return f"SELECT {call}{' FROM (SELECT n, s FROM numbers LIMIT 3) three' if column else ''}"


VALUES = (
    *(
        Evil(
            f"large: {name}",
            _select(call),
            answer_or(TOO_LARGE, TOO_COMPLEX, LIMIT) if name in _SMALL_AFTER_ALL else (*TOO_LARGE, "22023"),
            name in _SHORT,
        )
        for name, call in _LARGE.items()
    ),
    *(
        Evil(
            f"work: {name}",
            _select(call),
            answer_or(TOO_LARGE, TOO_COMPLEX, LIMIT, NO_MEMORY, _WRONG_VALUES),
            name in _WORK_SHORT,
        )
        for name, call in _LONG_WORK.items()
    ),
    Evil("length of a large value", f"SELECT length(lpad('a', {_MANY}, 'b'))", TOO_LARGE, True),
    Evil("a large value in a filter", f"SELECT n FROM numbers WHERE repeat(s, {_MANY}) = 'x'", TOO_LARGE),
    Evil("a large value as a key", f"SELECT count(*) FROM numbers GROUP BY repeat(s, {_MANY})", TOO_LARGE),
    Evil(
        "large values of each row",
        "SELECT repeat(s, 10000000) FROM numbers",
        answer_or(TOO_LARGE, LIMIT, NO_MEMORY),
        True,
    ),
    Evil("large values, counted", "SELECT count(DISTINCT repeat(s, 1000000)) FROM numbers", TOO_LARGE),
    Evil(
        "large values, collected",
        "SELECT length(array_join(collect_list(repeat(s, 100000)), '')) FROM numbers",
        (*LIMIT, *NO_MEMORY, *TOO_LARGE),
    ),
    Evil(
        "explode of a long sequence",
        f"SELECT count(*), sum(x) FROM (SELECT explode(sequence(1, {_MANY})) AS x) t",
        answer_or(TOO_LARGE, LIMIT),
        True,
    ),
    Evil(
        "posexplode of a long text",
        f"SELECT count(*) FROM (SELECT posexplode(split(space({_MANY}), ' ')) AS (p, x)) t",
        TOO_LARGE,
    ),
    Evil(
        "a sketch that breaks its library",
        f"SELECT ds_hll_estimate(ds_hll_union_f(unhex('{_BREAKING}'), unhex('{_BREAKING}')))",
        ("22000",),
        True,
    ),
    Evil("a sketch that holds its library", f"SELECT ds_cpc_estimate(unhex('{_HOLDING}'))", ("22000", *LIMIT), True),
)
