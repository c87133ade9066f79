"""Sentences and their words, like java.text.BreakIterator's rules for European languages."""

from __future__ import annotations

import re
from itertools import chain

from sharkpy.base.cancellation import check_cancelled

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
