"""Sentences and their words, in the manner of java.text.BreakIterator's rules for European languages."""

from __future__ import annotations

import re
from itertools import chain

from sharkpy.base.cancellation import check_cancelled

_CLOSING = r"[)\]}»›”’\"']*+"
_SENTENCE_END = re.compile(
    rf"[!?。！？]+[!?.。！？]*{_CLOSING}\s*|(?<!\.)\.++{_CLOSING}(?:\s++(?=[(\[{{«‹“‘\"']*[^\Wa-zß-öø-ÿ])|\s*\Z)|[\u2029]"
)
_LETTERS = r"[^\W\d_]+"
_WORD = rf"{_LETTERS}(?:[-‐‑\u00ad‧\"'’.]{_LETTERS})*"
_NUMBER = r"\d+(?:[\"',.٫]\d+)*"
_MIXED = rf"(?:{_NUMBER}(?:{_WORD})?)"
_TOKEN = re.compile(rf"[$€£¥¢#.]?{_MIXED}+[%‰]?|{_WORD}{_MIXED}*")


def sentences(text: str) -> list[list[str]]:
    """The words of each sentence; what begins with a sign, such as an amount of money, is no word."""
    result, start = [], 0
    for end in chain((match.end() for match in _SENTENCE_END.finditer(text)), (len(text),)):
        check_cancelled()
        if end > start:
            result.append([word for word in _TOKEN.findall(text[start:end]) if word[0].isalnum()])
            start = end
    return result
