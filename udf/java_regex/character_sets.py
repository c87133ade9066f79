"""Sets of code points, closed under union, intersection and complement, and Java's named sets: \\p{…} and the
classes of one letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from sharkpy.base.records import dataclass

LAST = 0x10FFFF
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CharSet:
    """Code points of `ranges` (ordered, disjoint, both ends included) and general categories, or their complement."""

    ranges: tuple[Range, ...] = ()
    categories: tuple[str, ...] = ()
    negated: bool = False

    def complement(self) -> CharSet:
        return CharSet(self.ranges, self.categories, not self.negated)

    def union(self, *others: CharSet) -> CharSet:
        distinct = dict.fromkeys((self, *others))
        if len(distinct) == 1:
            return self
        sets = [one.resolved() if one.negated else one for one in distinct]
        categories = dict.fromkeys(name for one in sets for name in one.categories)
        return CharSet(_joined(pair for one in sets for pair in one.ranges), tuple(categories))

    def intersection(self, other: CharSet) -> CharSet:
        outside = self.complement().resolved().union(other.complement().resolved())
        return outside.complement().resolved()

    def resolved(self) -> CharSet:
        """Return the same set as ranges only."""
        if not self.categories and not self.negated:
            return self
        ranges = _joined((*self.ranges, *(pair for name in self.categories for pair in property_ranges(name))))
        return CharSet(_gaps(ranges) if self.negated else ranges)

    def with_both_cases(self) -> CharSet:
        """Return the set with the other case of each of its ASCII letters."""
        swapped = [
            (low ^ 32, high ^ 32)
            for start, end in self.ranges
            for first, last in ((65, 90), (97, 122))
            if (low := max(start, first)) <= (high := min(end, last))
        ]
        return CharSet(_joined((*self.ranges, *swapped)), self.categories, self.negated)


def chars(text: str) -> CharSet:
    return of_ranges((ord(char), ord(char)) for char in text)


EVERYTHING = CharSet(((0, LAST),))


def of_ranges(ranges: Iterable[Range]) -> CharSet:
    return CharSet(_joined(ranges))


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return ranges in order. Overlapping or adjacent ranges are merged."""
    joined: list[Range] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def _gaps(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    starts = (0, *(high + 1 for _, high in ranges))
    ends = (*(low - 1 for low, _ in ranges), LAST)
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


@lru_cache(maxsize=64)
def property_ranges(name: str) -> tuple[Range, ...]:
    """Return the code points with a Unicode property, by the tables of `regex`. Raise LookupError for an unknown
    property.
    """
    import regex

    try:
        pattern = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        raise LookupError(name) from None
    return tuple((match.start(), match.end() - 1) for match in pattern.finditer(_every_character()))


@lru_cache(maxsize=1)
def _every_character() -> str:
    return "".join(map(chr, range(LAST + 1)))


_CATEGORIES = frozenset(
    ("Cc", "Cf", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No")
) | frozenset(("P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"))
"""General categories with the same name and meaning in RE2 and `regex`."""
_CASED = CharSet(categories=("Ll", "Lt", "Lu"))
DIGIT = chars("0123456789")
WORD = CharSet(((48, 57), (65, 90), (95, 95), (97, 122)))
SPACE = CharSet(((9, 13), (32, 32)))
HORIZONTAL = of_ranges([(0x2000, 0x200A)]).union(chars("\t \xa0\u1680\u180e\u202f\u205f\u3000"))
VERTICAL = CharSet(((10, 13), (0x85, 0x85), (0x2028, 0x2029)))
TERMINATORS = CharSet(((10, 10), (13, 13), (0x85, 0x85), (0x2028, 0x2029)))

_POSIX = {
    "Lower": CharSet(((97, 122),)),
    "Upper": CharSet(((65, 90),)),
    "ASCII": CharSet(((0, 127),)),
    "Alpha": CharSet(((65, 90), (97, 122))),
    "Digit": DIGIT,
    "Alnum": CharSet(((48, 57), (65, 90), (97, 122))),
    "Punct": CharSet(((33, 47), (58, 64), (91, 96), (123, 126))),
    "Graph": CharSet(((33, 126),)),
    "Print": CharSet(((32, 126),)),
    "Blank": CharSet(((9, 9), (32, 32))),
    "Cntrl": CharSet(((0, 31), (127, 127))),
    "XDigit": CharSet(((48, 57), (65, 70), (97, 102))),
    "Space": SPACE,
}
_UNICODE_POSIX = {
    "Lower": "Lowercase",
    "Upper": "Uppercase",
    "Alpha": "Alphabetic",
    "Digit": "Nd",
    "Punct": "P",
    "Space": "White_Space",
    "XDigit": "Hex_Digit",
    "Cntrl": "Cc",
}
"""Properties of these names under (?U)."""
_BINARY = {
    "ALPHABETIC": "Alphabetic",
    "LETTER": "L",
    "IDEOGRAPHIC": "Ideographic",
    "LOWERCASE": "Lowercase",
    "UPPERCASE": "Uppercase",
    "TITLECASE": "Lt",
    "WHITE_SPACE": "White_Space",
    "WHITESPACE": "White_Space",
    "CONTROL": "Cc",
    "PUNCTUATION": "P",
    "HEX_DIGIT": "Hex_Digit",
    "HEXDIGIT": "Hex_Digit",
    "DIGIT": "Nd",
    "JOIN_CONTROL": "Join_Control",
    "NONCHARACTER_CODE_POINT": "Noncharacter_Code_Point",
    "EMOJI": "Emoji",
}
_JAVA = {
    "javaLowerCase": "Lowercase",
    "javaUpperCase": "Uppercase",
    "javaAlphabetic": "Alphabetic",
    "javaIdeographic": "Ideographic",
    "javaTitleCase": "Lt",
    "javaDigit": "Nd",
    "javaLetter": "L",
    "javaSpaceChar": "Z",
    "javaISOControl": "Cc",
}
_NO_BREAK_SPACES = CharSet(((0xA0, 0xA0), (0x2007, 0x2007), (0x202F, 0x202F)))
_OTHERS = {
    "javaLetterOrDigit": CharSet(categories=("L", "Nd")),
    "LC": _CASED,
    "LD": CharSet(categories=("L", "Nd")),
    "L1": CharSet(((0, 255),)),
    "all": CharSet(((0, LAST),)),
}
_OTHER_CATEGORIES = ("C", "Cn", "Cs")
_KEYS = {"sc": "Script", "script": "Script", "blk": "Block", "block": "Block"}
_CASES = frozenset({"Lower", "Upper", "Lowercase", "Uppercase", "Ll", "Lt", "Lu"})
_NAME = re.compile(r"[\w -]{1,60}", re.ASCII)


def named_set(name: str, *, ignore_case: bool = False, unicode_classes: bool = False) -> CharSet:
    """Return the set of \\p{name}. Raise LookupError if Java has no such set."""
    key, equals, value = name.partition("=")
    if _NAME.fullmatch(value if equals else key) is None:
        raise LookupError(name)
    if equals:
        return _keyed(key.strip().lower(), value.strip(), ignore_case)
    if name in _POSIX:
        return _posix(name, ignore_case, unicode_classes)
    if name in _OTHERS:
        return _OTHERS[name]
    if name == "javaWhitespace":
        spaces = CharSet(categories=("Z",)).intersection(_NO_BREAK_SPACES.complement())
        return spaces.union(CharSet(((9, 13), (28, 31))))
    if name in _JAVA:
        return _property(_JAVA[name], ignore_case)
    if name.startswith("In"):
        return CharSet(property_ranges(f"Block={name[2:]}"))
    if name.startswith("Is"):
        name = name[2:]
        if name.upper() == "ASSIGNED":
            return _property("Cn").complement()
        if name.upper() in _BINARY:
            return _property(_BINARY[name.upper()], ignore_case)
        if name not in _CATEGORIES and name not in _OTHER_CATEGORIES:
            return _OTHERS.get(name) or CharSet(property_ranges(f"Script={name}"))
    return _category(name, ignore_case)


def word(unicode_classes: bool) -> CharSet:
    if not unicode_classes:
        return WORD
    return _property("Alphabetic").union(CharSet(categories=("M", "Nd", "Pc")), _property("Join_Control"))


def _keyed(key: str, value: str, ignore_case: bool) -> CharSet:
    if key in ("gc", "general_category"):
        return _category(value, ignore_case)
    if key not in _KEYS:
        raise LookupError(key)
    return CharSet(property_ranges(f"{_KEYS[key]}={value}"))


def _posix(name: str, ignore_case: bool, unicode_classes: bool) -> CharSet:
    if unicode_classes and name in _UNICODE_POSIX:
        return _property(_UNICODE_POSIX[name], ignore_case)
    return _POSIX["Alpha" if ignore_case and name in _CASES else name]


def _category(name: str, ignore_case: bool) -> CharSet:
    if name not in _CATEGORIES and name not in _OTHER_CATEGORIES:
        return _OTHERS[name]
    return _property(name, ignore_case)


def _property(name: str, ignore_case: bool = False) -> CharSet:
    if ignore_case and name in _CASES:
        return _CASED
    return CharSet(categories=(name,)) if name in _CATEGORIES else CharSet(property_ranges(name))
