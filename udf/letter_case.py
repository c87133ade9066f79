"""upper, lower and initcap with Java's mappings.

DuckDB maps each character to one. In Java a few become several (`ﬁ` to `FI`), and the sigma at the end of a word and
the capital I with a dot are special. A text with one of these is processed by a kernel, since Python has Java's
mappings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sharkpy.base.cancellation import check_cancelled

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
