"""Java regular expressions for the two engines at hand: RE2 in DuckDB, and Python's `re` in a kernel.

RE2 is used where it agrees with Java. It has no lookaround, backreferences, atomic groups or possessive
quantifiers; `$` at the end of a text that ends in a line feed, and matches of the empty string, differ too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from sharkpy.base.errors import BindError, UnsupportedError

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1F\\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0B\\f\\r",
}
_ONLY_PYTHON = ("(?=", "(?!", "(?<=", "(?<!", "(?>")
_DOT = "[^\\n\\r\\x{85}\\x{2028}\\x{2029}]"
_DOT_PYTHON = "[^\\n\\r\\x85\\u2028\\u2029]"


@dataclass(frozen=True, slots=True)
class JavaPattern:
    """One pattern in both spellings. `re2` is None where RE2 cannot say it.

    `has_end_anchor`: a `$` whose meaning differs where the text has line feeds. `matches_empty`: some match is
    empty, and replacing or splitting differ. `literal`: the text it stands for, where it has no operators.
    """

    re2: str | None
    python: str
    has_end_anchor: bool
    matches_empty: bool
    literal: str | None


@lru_cache(maxsize=512)
def translate(pattern: str) -> JavaPattern:
    """BindError where `pattern` is no regular expression, UnsupportedError for constructs neither engine has."""
    scanner = _Scanner(pattern)
    scanner.run()
    python = "".join(scanner.python)
    try:
        compiled = re.compile(python, re.ASCII)
    except re.error as error:
        raise BindError(f'"{pattern}" is not a regular expression: {error}', sqlstate="2201B") from None
    literal = "".join(scanner.literal) if scanner.is_literal else None
    return JavaPattern(
        re2="".join(scanner.re2) if scanner.fits_re2 else None,
        python=python,
        has_end_anchor=scanner.has_end_anchor,
        matches_empty=compiled.fullmatch("") is not None or _may_match_empty(python),
        literal=literal,
    )


def _may_match_empty(python: str) -> bool:
    """Whether the pattern's narrowest match is empty, by the parser's own width."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from re import _parser  # type: ignore[attr-defined]

        return bool(_parser.parse(python, re.ASCII).getwidth()[0] == 0)


@lru_cache(maxsize=512)
def compile_java(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern).python, re.ASCII)


@dataclass(slots=True)
class _Scanner:
    """One pass over a Java pattern that writes both spellings."""

    text: str
    position: int = 0
    re2: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    literal: list[str] = field(default_factory=list)
    fits_re2: bool = True
    is_literal: bool = True
    has_end_anchor: bool = False
    dot_matches_all: bool = False
    class_depth: int = 0

    def run(self) -> None:
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == "\\":
                self._escape()
            elif self.class_depth:
                self._in_class(char)
            else:
                self._plain(char)

    def _emit(self, text: str, python: str | None = None, advance: int = 1, literal: str | None = None) -> None:
        self.re2.append(text)
        self.python.append(text if python is None else python)
        self.position += advance
        if literal is None:
            self.is_literal = False
        else:
            self.literal.append(literal)

    def _plain(self, char: str) -> None:
        rest = self.text[self.position :]
        if char == "[":
            self.class_depth = 1
            opening = "[^" if rest.startswith("[^") else "["
            self._emit(opening, advance=len(opening))
        elif char == "." and not self.dot_matches_all:
            self._emit(_DOT, _DOT_PYTHON)
        elif char == "$":
            self.has_end_anchor = True
            self._emit("$")
        elif char == "(":
            self._group(rest)
        elif char in "*+?}" and rest[1:2] == "+":
            self.fits_re2 = False
            self._emit(char + "+", advance=2)
        elif char == "{":
            self._repetition(rest)
        else:
            self._emit(char, literal=None if char in "*+?|)^}." else char)

    def _repetition(self, rest: str) -> None:
        count = re.match(r"\{(\d+)(?:,(\d*))?\}", rest)
        if count is None:
            raise BindError(f'"{self.text}" is not a regular expression: stray "{{"', sqlstate="2201B")
        if max(int(count.group(1)), int(count.group(2) or 0)) > 1000:
            self.fits_re2 = False
        self._emit(count.group(0)[:-1], advance=count.end() - 1)

    def _group(self, rest: str) -> None:
        flags = re.match(r"\(\?([imsuxdU]*)(?:-([imsuxdU]+))?([:)])", rest)
        if rest.startswith(_ONLY_PYTHON):
            opening = next(prefix for prefix in _ONLY_PYTHON if rest.startswith(prefix))
            self.fits_re2 = False
            self._emit(opening, advance=len(opening))
        elif rest.startswith("(?<"):
            self._emit("(?P<", advance=3)
        elif flags and flags.group(0) != "(?:":
            self._flags(flags)
        else:
            self._emit("(?:" if rest.startswith("(?:") else "(", advance=3 if rest.startswith("(?:") else 1)

    def _flags(self, flags: re.Match[str]) -> None:
        on = flags.group(1).replace("u", "").replace("d", "").replace("U", "")
        off = (flags.group(2) or "").replace("u", "").replace("d", "").replace("U", "")
        if "x" in on or "m" in on:
            self.fits_re2 = False
        if flags.group(3) == ")" and (self.position > 0 or off):
            raise UnsupportedError(f'regular expression "{self.text}": flags inside the pattern')
        if "s" in on:
            self.dot_matches_all = True
        text = f"(?{on}{'-' + off if off else ''}{flags.group(3)}" if on or off else "(?:" * (flags.group(3) == ":")
        self._emit(text, advance=flags.end())

    def _in_class(self, char: str) -> None:
        rest = self.text[self.position :]
        if rest.startswith("&&"):
            raise UnsupportedError(f'regular expression "{self.text}": intersection of character classes')
        if char == "[":
            if rest.startswith("[^"):
                raise UnsupportedError(f'regular expression "{self.text}": negated class inside a class')
            self.class_depth += 1
            self.position += 1
        elif char == "]":
            self.class_depth -= 1
            if self.class_depth:
                self.position += 1
            else:
                self._emit("]")
        else:
            self._emit(char)

    def _escape(self) -> None:
        rest = self.text[self.position :]
        char = rest[1:2]
        if not char:
            raise BindError(f'"{self.text}" is not a regular expression: it ends in a backslash', sqlstate="2201B")
        if char == "Q":
            self._quoted(rest)
        elif char in "pP":
            self._property(rest)
        elif char in "xu0":
            self._code_point(rest)
        elif char in "123456789k" and not self.class_depth:
            self.fits_re2 = False
            named = re.match(r"\\k<(\w+)>", rest)
            self._emit(f"(?P={named.group(1)})" if named else rest[:2], advance=named.end() if named else 2)
        elif char in "sShHeRZzAGv":
            self._special(char)
        elif char.isalpha() and char not in "dDwWbBtnrfa":
            raise BindError(f'"{self.text}" is not a regular expression: unknown escape \\{char}', sqlstate="2201B")
        else:
            self._emit(rest[:2], advance=2, literal=None if char.isalnum() or self.class_depth else char)

    def _special(self, char: str) -> None:
        inside = bool(self.class_depth)
        forms: dict[str, tuple[str, str | None]] = {
            "s": ("\\s\\x0B" if inside else "[\\s\\x0B]", None),
            "S": ("\\S" if inside else "[^\\s\\x0B]", None),
            "h": ("\\t \\xA0" if inside else "[\\t \\xA0]", None),
            "H": ("[^\\t \\xA0]", None),
            "v": ("\\n\\x0B\\f\\r" if inside else "[\\n\\x0B\\f\\r]", None),
            "e": ("\\x1B", None),
            "R": ("(?:\\r\\n|[\\n\\x0B\\f\\r])", None),
            "A": ("\\A", None),
            "z": ("\\z", "\\Z"),
            "Z": ("\\z", "(?=\\n?\\Z)"),
        }
        if char not in forms or (inside and char in "HRAzZ"):
            raise UnsupportedError(f'regular expression "{self.text}": \\{char}')
        if char == "Z":
            self.fits_re2 = False
        re2, python = forms[char]
        self._emit(re2, python, advance=2)

    def _quoted(self, rest: str) -> None:
        end = rest.find("\\E")
        body = rest[2:end] if end >= 0 else rest[2:]
        escaped = re.sub(r"([^\w\s]|_)", r"\\\1", body).replace("\\_", "_")
        self._emit(escaped, advance=len(rest) if end < 0 else end + 2, literal=None if self.class_depth else body)

    def _property(self, rest: str) -> None:
        match = re.match(r"\\([pP])(?:\{(\w+)\}|(\w))", rest)
        if match is None:
            raise BindError(f'"{self.text}" is not a regular expression: incomplete \\p', sqlstate="2201B")
        name = match.group(2) or match.group(3)
        posix = _POSIX.get(name)
        if posix is not None:
            negated = match.group(1) == "P"
            if negated and self.class_depth:
                raise UnsupportedError(f'regular expression "{self.text}": {match.group(0)} inside a class')
            self._emit(posix if self.class_depth else f"[{'^' if negated else ''}{posix}]", advance=match.end())
            return
        name = {"IsAlphabetic": "L", "IsLetter": "L", "IsDigit": "Nd", "IsUppercase": "Lu", "IsLowercase": "Ll"}.get(
            name, name.removeprefix("Is")
        )
        self._emit(f"\\{match.group(1)}{{{name}}}", "\\w", advance=match.end())

    def _code_point(self, rest: str) -> None:
        match = re.match(r"\\x\{([0-9a-fA-F]+)\}|\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\0([0-7]{1,3})", rest)
        if match is None:
            raise BindError(f'"{self.text}" is not a regular expression: bad {rest[:2]}', sqlstate="2201B")
        digits = match.group(1) or match.group(2) or match.group(3)
        code = int(digits, 16) if digits else int(match.group(4), 8)
        self._emit(f"\\x{{{code:X}}}", f"\\U{code:08x}", advance=match.end())


def python_template(replacement: str) -> list[str | int]:
    """A Java replacement text as its parts: literal strings and numbers (or names) of groups."""
    parts: list[str | int] = []
    position = 0
    while position < len(replacement):
        char = replacement[position]
        if char == "\\" and position + 1 < len(replacement):
            parts.append(replacement[position + 1])
            position += 2
            continue
        group = re.compile(r"\$(?:(\d)|\{(\w+)\})").match(replacement, position)
        if group:
            parts.append(int(group.group(1)) if group.group(1) else "\x00" + group.group(2))
            position = group.end()
            continue
        parts.append(char)
        position += 1
    return parts


def re2_replacement(replacement: str) -> str | None:
    """A Java replacement text in RE2's spelling, or None where it names groups."""
    parts = python_template(replacement)
    if any(isinstance(part, str) and part.startswith("\x00") for part in parts):
        return None
    return "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts)
