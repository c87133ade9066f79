"""Patterns that backtrack without end, or whose programs are huge."""

from __future__ import annotations

from tests.thrift.evil.evil import ANSWER, TOO_COMPLEX, Evil, answer_or

_TOWER = "'^(a+)+$'"
_EVIL_TEXT = "concat(repeat('a', 40), 'b')"
_BACK = "'^(a+)+\\\\1b$'"
_LOOK = "'^(?=(a+)+c)(a|aa)+$'"
_IN_TABLE = "(SELECT concat(repeat('a', 40), substr(uuid(), 1, 0), 'b') AS s, concat({}, substr(uuid(), 1, 0)) AS p) t"

_CALLS = {
    "rlike": "{s} RLIKE {p}",
    "regexp_replace": "regexp_replace({s}, {p}, '<$0>')",
    "regexp_extract": "regexp_extract({s}, {p}, 0)",
    "regexp_extract_all": "size(regexp_extract_all({s}, {p}, 0))",
    "regexp_count": "regexp_count({s}, {p})",
    "regexp_substr": "regexp_substr({s}, {p})",
    "regexp_instr": "regexp_instr({s}, {p})",
    "split": "size(split({s}, {p}))",
}
_LINEAR_ANSWERS = {
    "rlike": (False,),
    "regexp_replace": ("a" * 40 + "b",),
    "regexp_extract": ("",),
    "regexp_extract_all": (0,),
    "regexp_count": (0,),
    "regexp_substr": (None,),
    "regexp_instr": (0,),
    "split": (1,),
}


def _calls() -> list[Evil]:
    made = []
    for call, text in _CALLS.items():
        constant = f"SELECT {text.format(s=_EVIL_TEXT, p=_TOWER)}"
        column = f"SELECT {text.format(s='s', p=_TOWER)} FROM {_IN_TABLE.format(_TOWER)}"
        patterns = f"SELECT {text.format(s='s', p='p')} FROM {_IN_TABLE.format(_TOWER)}"
        backtracking = f"SELECT {text.format(s=_EVIL_TEXT, p=_BACK)}"
        looking = f"SELECT {text.format(s='s', p=_LOOK)} FROM {_IN_TABLE.format(_LOOK)}"
        made += [
            Evil(f"{call} of a constant", constant, _LINEAR_ANSWERS[call], is_short=call in ("rlike", "split")),
            Evil(f"{call} of a column", column, _LINEAR_ANSWERS[call], is_short=call == "rlike"),
            Evil(f"{call} with a column of patterns", patterns, _LINEAR_ANSWERS[call]),
            Evil(f"{call} with a back-reference", backtracking, answer_or(TOO_COMPLEX), is_short=call == "rlike"),
            Evil(f"{call} with look-ahead", looking, answer_or(TOO_COMPLEX), is_short=call == "regexp_replace"),
        ]
    return made


PATTERNS = (
    *_calls(),
    Evil("repetitions of repetitions", "SELECT 'a' RLIKE '((((a{1000}){1000}){1000}){1000})'", TOO_COMPLEX, True),
    Evil("repetitions, possessive", "SELECT 'a' RLIKE '((((a{1000}+){1000}){1000}){1000})\\\\1'", TOO_COMPLEX),
    Evil("groups 5,000 deep", lambda: f"SELECT 'a' RLIKE '{'(' * 5000}a{')' * 5000}'", answer_or(TOO_COMPLEX)),
    Evil("alternatives, 100,000", lambda: f"SELECT 'a' RLIKE '{'|'.join('ab' * 50_000)}'", answer_or(TOO_COMPLEX)),
    Evil("a pattern of 1 MB", lambda: f"SELECT 'a' RLIKE '{'a?' * 500_000}'", TOO_COMPLEX),
    Evil("a?…a… of 30", f"SELECT repeat('a', 29) RLIKE '{'a?' * 30}{'a' * 30}'", (False,)),
    Evil("optional and back", f"SELECT repeat('a', 29) RLIKE '({'a?' * 30})\\\\1{'a' * 30}'", answer_or(TOO_COMPLEX)),
    Evil("classes of Unicode, repeated", "SELECT 'é' RLIKE '(\\\\p{L}{500}){200}'", answer_or(TOO_COMPLEX)),
    Evil("dots before a letter", "SELECT repeat('a', 100000) RLIKE '(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]'", ANSWER),
    Evil("LIKE of many %", f"SELECT repeat('a', 100000) LIKE '{'%a' * 500}%b'", (False,), True),
    Evil("ILIKE of many %", f"SELECT repeat('a', 100000) ILIKE '{'%a' * 500}%b'", (False,)),
    Evil("LIKE of many _", f"SELECT repeat('a', 100000) LIKE '%{'_' * 5000}b'", (False,)),
    Evil(
        "LIKE ANY of 10,000",
        lambda: f"""SELECT repeat('a', 1000) LIKE ANY ({", ".join(f"'%a%{n}'" for n in range(10_000))})""",
        answer_or(("57014",), TOO_COMPLEX),
    ),
    Evil("SHOW TABLES LIKE", f"SHOW TABLES LIKE '{'*a' * 100}'", None),
    Evil("SHOW TABLES LIKE, alternatives", lambda: f"SHOW TABLES LIKE '{'|'.join(['*a*'] * 50_000)}'", ("made",)),
    Evil("SHOW FUNCTIONS with a tower", "SHOW FUNCTIONS '^(([a-z])+.)+[A-Z]([a-z])+$'", None, True),
    Evil("columns by a tower", "SELECT `(((n+)+)+)+x` FROM numbers", ("42703",)),
    Evil("parse_url of a long text", "SELECT parse_url(concat('http://', repeat('a:@', 300000)), 'HOST')", ANSWER),
    Evil(
        "parse_url of a long query", "SELECT parse_url(concat('http://a?', repeat('b&', 900000)), 'QUERY', 'k')", ANSWER
    ),
    Evil("sentences of a long text", "SELECT size(sentences(repeat('a b. ', 200000)))", ANSWER),
    Evil("str_to_map by a tower", f"SELECT size(str_to_map({_EVIL_TEXT}, {_TOWER}, ':'))", (1,)),
    Evil("printf of a tower", "SELECT printf('%1000000000d', 1)", ("54000",), True),
    Evil("printf of many", lambda: f"SELECT length(printf('{'%d' * 100_000}', 1))", ("22023", "22000", "54000")),
    Evil(
        "get_json_object with a long path",
        lambda: f"SELECT get_json_object('{{}}', '${'.a' * 100_000}')",
        ("22023",),
    ),
    Evil("get_json_object, wildcards", "SELECT get_json_object('[[[[1]]]]', concat('$', repeat('[*]', 300)))", ANSWER),
)
