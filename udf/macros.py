"""SQL macros that lowerings share. They are pure DuckDB SQL, so that calls stay vectorised."""

from __future__ import annotations

_DISCRETE = "g.s[greatest(CAST(ceil(f * len(g.s)) AS BIGINT), 1)]"
"""First item of a sorted list whose rank reaches the fraction f."""


def _percentiles(sort: str, item: str) -> str:
    """Return `item` of the list l, sorted without NULLs, for each fraction f of the list p; NULL without values.

    Both lists are fields of a value: DuckDB fails on lambdas over window functions that hold lambdas themselves.
    """
    return (
        f"list_transform([{{'s': {sort}(list_filter(l, lambda v: v IS NOT NULL)), 'p': p}}], lambda g:"
        f" CASE WHEN len(g.s) > 0 THEN list_transform(g.p, lambda f: {item}) END)[1]"
    )


MACROS: dict[str, str] = {
    "shark_value_limit()": "getvariable('shark_value_bytes')",
    "shark_too_much(name, steps)": (
        "error(name || ' would take ' || CAST(CAST(least(steps, 9e18) AS BIGINT) AS VARCHAR)"
        " || ' steps, more than one call may take [SQLSTATE 54001]')"
    ),
    "shark_wrap_bigint(x)": (
        "CAST(((CAST(x AS HUGEINT) + 9223372036854775808::HUGEINT) & 18446744073709551615::HUGEINT)"
        " - 9223372036854775808::HUGEINT AS BIGINT)"
    ),
    "shark_double_to_bigint(x)": (
        "CASE WHEN isnan(x) THEN 0::BIGINT WHEN x >= 9223372036854775807 THEN 9223372036854775807::BIGINT"
        " WHEN x <= -9223372036854775808 THEN (-9223372036854775808)::BIGINT ELSE CAST(trunc(x) AS BIGINT) END"
    ),
    "shark_double_to_int(x)": (
        "CASE WHEN isnan(x) THEN 0::INTEGER WHEN x >= 2147483647 THEN 2147483647::INTEGER"
        " WHEN x <= -2147483648 THEN (-2147483648)::INTEGER ELSE CAST(trunc(x) AS INTEGER) END"
    ),
    "shark_double_to_float(x)": (
        "coalesce(TRY_CAST(x AS FLOAT), CASE WHEN x > 0 THEN CAST('inf' AS FLOAT)"
        " WHEN x < 0 THEN CAST('-inf' AS FLOAT) END)"
    ),
    # DuckDB replaces invalid UTF-8 by question marks, the kernel by U+FFFD.
    "shark_bytes_text(data)": (
        "CASE WHEN data IS NULL THEN NULL WHEN encode(decode(data, 'replace')) = data THEN decode(data, 'replace')"
        " ELSE shark_decode(data, 'UTF-8') END"
    ),
    "shark_double_text(x)": (
        "CASE WHEN x = 0 OR (abs(x) >= 1e-3 AND abs(x) < 1e7) THEN CAST(x AS VARCHAR)"
        " ELSE shark_double_text_kernel(x) END"
    ),
    "shark_float_text(x)": (
        "CASE WHEN x = 0 OR (abs(x) >= 1e-3 AND abs(x) < 1e7) THEN CAST(x AS VARCHAR)"
        " ELSE shark_float_text_kernel(CAST(x AS DOUBLE)) END"
    ),
    # One step of Newton's method: the C library's root may be off by two units in the last place, as for 27.
    "shark_cbrt(x)": (
        "CASE WHEN cbrt(x) = 0 OR NOT isfinite(cbrt(x)) THEN cbrt(x)"
        " ELSE cbrt(x) - (cbrt(x) * cbrt(x) * cbrt(x) - x) / (3 * cbrt(x) * cbrt(x)) END"
    ),
    # DuckDB's own keeps grapheme clusters together, such as a letter with its accent, or a line break of two
    # characters.
    "shark_reverse(s)": (
        "CASE WHEN strlen(s) = length(s) AND NOT contains(s, chr(13)) THEN reverse(s)"
        " ELSE array_to_string(list_reverse(string_split(s, '')), '') END"
    ),
    "shark_clock(moment, zone)": "timezone(zone, timezone('UTC', moment))",
    "shark_last_moment(clock, zone)": "timezone('UTC', timezone(zone, clock))",
    # For a clock time that occurs twice DuckDB takes the later moment, Java the one with the earlier offset. Zones do
    # not change twice in two days.
    "shark_moment_before(clock, zone)": ("shark_last_moment(clock - INTERVAL 2 DAYS, zone) + INTERVAL 2 DAYS"),
    "shark_moment(clock, zone)": (
        "CASE WHEN shark_clock(shark_moment_before(clock, zone), zone) = clock THEN shark_moment_before(clock, zone)"
        " WHEN shark_clock(shark_last_moment(clock, zone), zone) = clock THEN shark_last_moment(clock, zone)"
        " ELSE shark_moment_before(clock, zone) END"
    ),
    # One division, since 128-bit division is by far the most expensive step. Needs 2 * abs(n) + abs(d) < 2 ** 127.
    "shark_divide_half_up(n, d)": "((2 * n + CASE WHEN (n < 0) = (d < 0) THEN d ELSE -d END) // (2 * d))",
    "shark_like_pattern(p)": r"regexp_replace(p, '\\([^_%\\]|$)', '\\\\\1', 'g')",
    "shark_month_interval_text(x)": (
        "CASE WHEN x < 0 THEN '-' ELSE '' END || CAST(abs(x) // 12 AS VARCHAR) || '-' || CAST(abs(x) % 12 AS VARCHAR)"
    ),
    "shark_day_interval_text(x)": (
        "CASE WHEN x < 0 THEN '-' ELSE '' END || CAST(abs(x) // 86400000000 AS VARCHAR) || ' ' ||"
        " lpad(CAST(abs(x) // 3600000000 % 24 AS VARCHAR), 2, '0') || ':' ||"
        " lpad(CAST(abs(x) // 60000000 % 60 AS VARCHAR), 2, '0') || ':' ||"
        " lpad(CAST(abs(x) // 1000000 % 60 AS VARCHAR), 2, '0') || '.' ||"
        " rpad(lpad(CAST(abs(x) % 1000000 AS VARCHAR), 6, '0'), 9, '0')"
    ),
    "shark_parse_month_interval(s)": (
        r"CASE WHEN regexp_full_match(trim(s), '[+-]?\d{1,8}-\d{1,2}') THEN"
        r" CAST(CASE WHEN left(trim(s), 1) = '-' THEN -1 ELSE 1 END"
        r" * (CAST(regexp_extract(s, '(\d+)-\d', 1) AS INTEGER) * 12"
        r" + CAST(regexp_extract(s, '\d-(\d+)', 1) AS INTEGER)) AS INTEGER) END"
    ),
    "shark_parse_day_interval(s)": (
        r"CASE WHEN regexp_full_match(trim(s), '[+-]?\d{1,8} \d{1,2}:\d{1,2}:\d{1,2}(\.\d{1,9})?') THEN"
        r" CAST(CASE WHEN left(trim(s), 1) = '-' THEN -1 ELSE 1 END * (CAST(regexp_extract(s, '(\d+) ', 1) AS BIGINT)"
        r" * 86400000000 + CAST(regexp_extract(s, ' (\d+):', 1) AS BIGINT) * 3600000000"
        r" + CAST(regexp_extract(s, ' \d+:(\d+):', 1) AS BIGINT) * 60000000"
        r" + CAST(trunc(CAST(regexp_extract(s, ':([\d.]+)\s*$', 1) AS DECIMAL(12,9)) * 1000000) AS BIGINT)"
        r") AS BIGINT) END"
    ),
    "shark_substr(s, p, n)": (
        "CASE WHEN n <= 0 OR abs(CAST(p AS BIGINT)) > length(s) THEN CASE WHEN s IS NOT NULL AND p IS NOT NULL"
        " AND n IS NOT NULL THEN '' END ELSE substr(s, CASE WHEN p = 0 THEN 1 ELSE p END, n) END"
    ),
    "shark_substr_blob(s, p, n)": (
        "CASE WHEN n <= 0 OR abs(CAST(p AS BIGINT)) > octet_length(s) THEN CASE WHEN s IS NOT NULL AND p IS NOT NULL"
        " AND n IS NOT NULL THEN ''::BLOB END ELSE unhex(substr(hex(s), 1 + 2 * CAST("
        "CASE WHEN p > 0 THEN p - 1 WHEN p = 0 THEN 0 ELSE octet_length(s) + p END AS BIGINT),"
        " 2 * CAST(n AS BIGINT))) END"
    ),
    "shark_pad_left(s, n, p)": (
        "CASE WHEN n <= length(s) OR p = '' THEN left(s, greatest(n, 0)) ELSE lpad(s, n, p) END"
    ),
    "shark_pad_right(s, n, p)": (
        "CASE WHEN n <= length(s) OR p = '' THEN left(s, greatest(n, 0)) ELSE rpad(s, n, p) END"
    ),
    "shark_locate(needle, s, p)": (
        "CASE WHEN needle IS NULL OR s IS NULL THEN NULL"
        " WHEN p <= 0 THEN 0 WHEN p > length(s) + 1 THEN 0 WHEN strpos(substr(s, p), needle) = 0 THEN 0"
        " ELSE strpos(substr(s, p), needle) + p - 1 END"
    ),
    "shark_months_between(a, b)": (
        "CASE WHEN day(a) = day(b) OR (day(a) = day(last_day(a)) AND day(b) = day(last_day(b)))"
        " THEN CAST((year(a) - year(b)) * 12 + month(a) - month(b) AS DOUBLE)"
        " ELSE (year(a) - year(b)) * 12 + month(a) - month(b) + ((day(a) - day(b)) * 86400.0e0"
        " + (epoch_us(a) - epoch_us(date_trunc('day', a)) - epoch_us(b) + epoch_us(date_trunc('day', b))) // 1000000)"
        " / 2678400.0e0 END"
    ),
    "shark_whole_months(a, b)": (
        "CAST((year(b) - year(a)) * 12 + month(b) - month(a)"
        " - CASE WHEN b > a AND b - date_trunc('month', b) < a - date_trunc('month', a) THEN 1"
        " WHEN b < a AND b - date_trunc('month', b) > a - date_trunc('month', a) THEN -1 ELSE 0 END AS BIGINT)"
    ),
    "shark_weekday_number(s)": (
        "list_position(['SU','MO','TU','WE','TH','FR','SA'], CASE WHEN regexp_full_match(upper(s),"
        " 'SU|SUN|SUNDAY|MO|MON|MONDAY|TU|TUE|TUESDAY|WE|WED|WEDNESDAY|TH|THU|THURSDAY|FR|FRI|FRIDAY|SA|SAT|SATURDAY')"
        " THEN upper(left(s, 2)) END)"
    ),
    "shark_next_day(d, s)": (
        "CAST(d + CAST((shark_weekday_number(s) - 1 - dayofweek(d) + 6) % 7 + 1 AS INTEGER) AS DATE)"
    ),
    "shark_add_months(d, n)": (
        "CAST(CASE WHEN n NOT BETWEEN -30000000 AND 30000000 THEN NULL"
        " WHEN d = last_day(d) THEN last_day(d + to_months(n)) ELSE d + to_months(n) END AS DATE)"
    ),
    "shark_trunc_date(d, u)": (
        "CASE WHEN upper(u) IN ('YEAR','YYYY','YY') THEN CAST(date_trunc('year', d) AS DATE)"
        " WHEN upper(u) IN ('MONTH','MON','MM') THEN CAST(date_trunc('month', d) AS DATE)"
        " WHEN upper(u) IN ('QUARTER','Q') THEN CAST(date_trunc('quarter', d) AS DATE)"
        " WHEN upper(u) = 'WEEK' THEN CAST(date_trunc('week', d) AS DATE) END"
    ),
    "shark_percentiles(l, p)": _percentiles(
        "list_sort",
        "CASE WHEN floor(f * (len(g.s) - 1)) = f * (len(g.s) - 1) THEN g.s[CAST(f * (len(g.s) - 1) AS BIGINT) + 1] ELSE"
        " (ceil(f * (len(g.s) - 1)) - f * (len(g.s) - 1)) * g.s[CAST(floor(f * (len(g.s) - 1)) AS BIGINT) + 1]"
        " + (f * (len(g.s) - 1) - floor(f * (len(g.s) - 1))) * g.s[CAST(floor(f * (len(g.s) - 1)) AS BIGINT) + 2] END",
    ),
    "shark_discrete_percentiles_desc(l, p)": _percentiles("list_reverse_sort", _DISCRETE),
    "shark_discrete_percentiles(l, p)": _percentiles("list_sort", _DISCRETE),
    "shark_hash_bigint(x)": (
        "CAST(((xor(CAST(x AS HUGEINT) & 18446744073709551615::HUGEINT,"
        " (CAST(x AS HUGEINT) & 18446744073709551615::HUGEINT) >> 32) + 2147483648) & 4294967295)"
        " - 2147483648 AS INTEGER)"
    ),
    "shark_has(l, x)": "len(list_filter(l, lambda other: other IS NOT DISTINCT FROM x)) > 0",
    # Few items are compared pairwise, many are sorted: s has them by value, the first of equal ones first.
    "shark_in_place(kept)": (
        "list_transform(list_sort(list_transform(kept, lambda x: struct_pack(i := x.i, e := x.e))), lambda x: x.e)"
    ),
    "shark_array_distinct(l)": (
        "CASE WHEN len(l) <= 64 THEN list_filter(l, lambda element, pos: pos = 1 OR"
        " len(list_filter(l[:pos - 1], lambda other: other IS NOT DISTINCT FROM element)) = 0)"
        " ELSE shark_in_place(list_transform("
        "[list_sort(list_transform(l, lambda e, i: struct_pack(e := e, i := i)))],"
        " lambda s: list_filter(s, lambda x, p: p = 1 OR s[p - 1].e IS DISTINCT FROM x.e))[1]) END"
    ),
    # By value and side, with the other array first.
    "shark_two_sorted(l, r)": (
        "list_sort(list_concat(list_transform(r, lambda e, i: struct_pack(e := e, side := 0, i := i)),"
        " list_transform(l, lambda e, i: struct_pack(e := e, side := 1, i := i))))"
    ),
    "shark_array_intersect(l, r)": (
        "CASE WHEN l IS NULL OR r IS NULL THEN NULL WHEN len(l) * len(r) <= 4096 THEN"
        " shark_array_distinct(list_filter(l, lambda one: shark_has(r, one)))"
        " ELSE shark_in_place(list_transform([shark_two_sorted(l, r)], lambda s: list_filter(s, lambda x, p:"
        " x.side = 1 AND p > 1 AND s[p - 1].side = 0 AND s[p - 1].e IS NOT DISTINCT FROM x.e))[1]) END"
    ),
    "shark_array_except(l, r)": (
        "CASE WHEN l IS NULL OR r IS NULL THEN NULL WHEN len(l) * len(r) <= 4096 THEN"
        " shark_array_distinct(list_filter(l, lambda one: NOT shark_has(r, one)))"
        " ELSE shark_in_place(list_transform([shark_two_sorted(l, r)], lambda s: list_filter(s, lambda x, p:"
        " x.side = 1 AND (p = 1 OR s[p - 1].e IS DISTINCT FROM x.e)))[1]) END"
    ),
    "shark_last_entries(entries)": (
        "list_transform([entries], lambda whole: CASE WHEN len(whole) <= 64 THEN"
        " list_filter(whole, lambda one, pos: one.k IS NOT NULL AND"
        " NOT list_contains(list_transform(whole, lambda entry: entry.k)[pos + 1:], one.k))"
        " ELSE shark_in_place(list_transform("
        "[list_sort(list_transform(whole, lambda entry, i: struct_pack(k := entry.k, i := i, e := entry)))],"
        " lambda s: list_filter(s, lambda x, p:"
        " x.k IS NOT NULL AND (p = len(s) OR s[p + 1].k IS DISTINCT FROM x.k)))[1]) END)[1]"
    ),
}
