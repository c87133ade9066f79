"""Kernels of string functions: Java's letter case, edit distance, sentences, substring_index.

DuckDB maps each character to one in upper and lower case. In Java a few become several (`ﬁ` to `FI`), and the sigma at
the end of a word and the capital I with a dot are special. A text with one of these is processed by a kernel, since
Python has Java's mappings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError

_EXPANDING = (
    r"\x{149}\x{1F0}\x{390}\x{3B0}\x{587}\x{1E96}-\x{1E9A}\x{1F50}\x{1F52}\x{1F54}\x{1F56}\x{1F80}-\x{1FAF}"
    r"\x{1FB2}-\x{1FB4}\x{1FB6}\x{1FB7}\x{1FBC}\x{1FC2}-\x{1FC4}\x{1FC6}\x{1FC7}\x{1FCC}\x{1FD2}\x{1FD3}\x{1FD6}\x{1FD7}"
    r"\x{1FE2}-\x{1FE4}\x{1FE6}\x{1FE7}\x{1FF2}-\x{1FF4}\x{1FF6}\x{1FF7}\x{1FFC}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}"
)
"""Characters that become several in upper case, except the sharp s, which is frequent and handled separately."""
_SIGMA_OR_DOTTED_I = r"\x{3A3}\x{130}"
_SPACE = "\\t-\\r\\x1c-\\x20\\u1680\\u2000-\\u2006\\u2008-\\u200a\\u2028\\u2029\\u205f\\u3000"
"""Java's white space, which excludes no-break spaces."""
_FIRST_LETTER = re.compile(f"(?:^|(?<=[{_SPACE}]))[^{_SPACE}]")
_SPACES = re.compile(f"[{_SPACE}]")
_PIECE = 1 << 20
"""Characters between two checks for cancellation."""
_LAST_OF_PLANE_0 = "\uffff"
_NAME = re.compile(r"\w+|\"\w+\"")


def upper_sql(text: str) -> str:
    return _by_kernel_where(_EXPANDING, "shark_upper({0})", "upper(replace({0}, 'ß', 'SS'))", text)


def lower_sql(text: str) -> str:
    return _by_kernel_where(_SIGMA_OR_DOTTED_I, "shark_lower({0})", "lower({0})", text)


def _by_kernel_where(characters: str, kernel: str, plain: str, text: str) -> str:
    """Return SQL of `kernel` for texts with one of the characters, else of `plain`. `text` is evaluated once."""
    form = (
        f"CASE WHEN strlen({{0}}) = length({{0}}) OR NOT regexp_matches({{0}}, '[{characters}]')"
        f" THEN {plain} ELSE {kernel} END"
    )
    if _NAME.fullmatch(text):
        return _filled(form, text)
    return f"list_transform([{text}], lambda cased: {_filled(form, 'cased')})[1]"


def _filled(form: str, text: str) -> str:
    return form.replace("{0}", text)


def upper_text(text: str) -> str:
    return text.upper()


def lower_text(text: str) -> str:
    return text.lower()


def initcap(text: str) -> str:
    """Return the text in lower case, with the first character of each word in title case."""
    return "".join(_FIRST_LETTER.sub(_title, piece.lower()) for piece in _pieces_of_words(text))


def _pieces_of_words(text: str) -> Iterator[str]:
    """Yield the text in pieces that begin at white space. Before each piece, check for cancellation."""
    start = 0
    while start < len(text):
        check_cancelled()
        space = _SPACES.search(text, start + _PIECE)
        end = space.start() if space is not None else len(text)
        yield text[start:end]
        start = end


def _title(match: re.Match[str]) -> str:
    """Character.toTitleCase: one character of the basic plane, or no change."""
    character = match.group()
    title = character.title()
    return title if len(title) == 1 and character <= _LAST_OF_PLANE_0 else character


_BLOCK = 16_384
_CHECKED_COLUMNS = 2048
_LEAST_ROWS = 1000
"""Number of rows from which a column takes longer."""
MOST_PAIRS = 4_000_000_000
"""Pairs of characters that one call compares at most: about a second of work."""


def levenshtein(left: str, right: str) -> int:
    """Return the number of insertions, removals and replacements of characters that turn one string into the other."""
    rows, columns = sorted((left, right), key=len)
    if not rows:
        return len(columns)
    if max(len(rows), _LEAST_ROWS) * len(columns) > MOST_PAIRS:
        raise ResourceError(
            f"levenshtein of texts of {len(left)} and {len(right)} characters is too much work",
            hint=f"at most {MOST_PAIRS} pairs of characters are compared, and {MOST_PAIRS // _LEAST_ROWS} characters",
            sqlstate="54001",
        )
    steps = [1] * len(columns)
    for start in range(0, len(rows), _BLOCK):
        steps = _below(rows[start : start + _BLOCK], columns, steps)
    return len(rows) + sum(steps)


def _below(block: str, columns: str, steps: list[int]) -> list[int]:
    """Return the changes of the block's last row from column to column, given the changes of the row above the
    block.
    """
    places: dict[str, int] = {}
    for row, char in enumerate(block):
        places[char] = places.get(char, 0) | 1 << row
    every, last = (1 << len(block)) - 1, 1 << len(block) - 1
    more, less = every, 0
    result = []
    for column, (char, step) in enumerate(zip(columns, steps, strict=True)):
        if column % _CHECKED_COLUMNS == 0:
            check_cancelled()
        equal = places.get(char, 0)
        vertical = equal | less
        if step < 0:
            equal |= 1
        across = ((((equal & more) + more) ^ more) | equal) & every
        plus, minus = less | (every & ~(across | more)), more & across
        result.append(1 if plus & last else -1 if minus & last else 0)
        plus, minus = plus << 1 & every | (step > 0), minus << 1 & every | (step < 0)
        more, less = minus | (every & ~(vertical | plus)), plus & vertical
    return result


_CLOSING = r"[)\]}»›”’\"']*+"
_OPENING = r"[(\[{«‹“‘\"']"
_FRACTIONS = "¹²³¼-¾⅐-⅟"
_LETTER, _DIGIT = rf"[^\W\d_{_FRACTIONS}]", rf"[\d{_FRACTIONS}]"
_NOT_LOWER = rf"(?![a-zß-öø-ÿ]){_LETTER}"
_NEXT = rf"\s\s++(?={_OPENING}*+{_LETTER})|\s(?={_OPENING}++{_LETTER}|{_NOT_LOWER})|\s*+\Z"
"""Start of the next sentence after a full stop. A small letter starts one only after two blanks or a quote."""
_SENTENCE_END = re.compile(rf"[!?。！？]+[!?.。！？]*{_CLOSING}\s*|(?<!\.)\.++{_CLOSING}(?:{_NEXT})|\u2029")
_IGNORED = r"[\u0300-\u036f\u00ad\u200c-\u200f]"
_DASH = "-‐-―֊־﹘﹣－_‿⁀⁔﹍-﹏＿"
_WORD = rf"(?:(?:{_LETTER}{_IGNORED}*+)++(?:[{_DASH}‧\"'.](?={_LETTER}))?+)++"
_NUMBER = rf"(?:(?:{_DIGIT}{_IGNORED}*+)++(?:[\"',.٫](?={_DIGIT}))?+)++"
_TOKEN = re.compile(rf"(?:[$€£¥¤₩₹#.]?(?={_DIGIT})|{_WORD})(?:{_NUMBER}{_WORD})*+(?:{_NUMBER}[%&¢٪‰‱]?+)?+")


def sentences(text: str) -> list[list[str]]:
    """Return the words of each sentence. A token that begins with a sign, such as an amount of money, is not a word."""
    result, start = [], 0
    for end in chain((match.end() for match in _SENTENCE_END.finditer(text)), (len(text),)):
        check_cancelled()
        if end > start:
            result.append([word for word in _TOKEN.findall(text[start:end]) if _is_word(word)])
            start = end
    return result


def _is_word(token: str) -> bool:
    """Java's isLetterOrDigit of the first character, which is false for ½."""
    return token[0].isalpha() or token[0].isdecimal()


_CHECKED = 1 << 14


def substring_index(text: str, delimiter: str, count: int) -> str:
    """Find delimiters as Hive and Spark do: each starts after the start of the previous one, so they may overlap."""
    if not delimiter or not count:
        return ""
    place = -1 if count > 0 else len(text)
    for number in range(abs(count)):
        if number % _CHECKED == 0:
            check_cancelled()
        if count > 0:
            place = text.find(delimiter, place + 1)
        else:
            place = text.rfind(delimiter, 0, max(place - 1 + len(delimiter), 0))
        if place < 0:
            return text
    return text[:place] if count > 0 else text[place + len(delimiter) :]


def overlaps_itself(delimiter: str) -> bool:
    """Return whether an end of the delimiter is also its start. An empty delimiter counts too."""
    return not delimiter or any(delimiter.startswith(delimiter[place:]) for place in range(1, len(delimiter)))
