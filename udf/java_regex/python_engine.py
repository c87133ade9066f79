"""Matching of Java's patterns in Python, by `regex`, without the interpreter's lock and with time limits.

The kernels at the end are for patterns that DuckDB's RE2 cannot express or matches differently.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.cancellation import check_cancelled, current_cancellation
from sharkpy.base.errors import ExecutionError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.udf.java_regex.pattern import JavaPattern, no_group, replacement_parts, translate
from sharkpy.udf.java_regex.tree import shown, takes_too_long, too_complex

if TYPE_CHECKING:
    import regex

T = TypeVar("T")
TEXT_SECONDS = 1.0
"""CPU time of the thread in which one text must be matched."""
BATCH_SECONDS = 10.0
"""The same for the texts of a batch without a known statement that could be cancelled between two texts."""
_MOST_SHARED = 8
"""Number of threads that are assumed to share the time of the process, at most."""
_MATCH_SECONDS = 20e-6
"""Time that each match adds to the time of its text."""
GIVEN_UP_SECONDS = 60.0
"""Time during which a text that took too long is not tried again."""
_MOST_GIVEN_UP = 1000
MOST_TEXT = 4_000_000
"""Characters of a text: backtracking takes some hundred bytes for each."""


@lru_cache(maxsize=512)
def matcher(text: str, *, ignore_case: bool = False) -> Matcher:
    """Compile a Java pattern. Raise BindError if it is not valid."""
    import regex

    pattern = translate(text, ignore_case=ignore_case)
    try:
        return Matcher(pattern, regex.compile(pattern.regex, regex.VERSION0, cache_pattern=False))
    except RecursionError:
        raise too_complex(text, "its groups are nested too deeply") from None
    except regex.error as error:
        # It is valid in Java: a reference to a group that is still open, or comes later.
        raise UnsupportedError(f'regular expression "{shown(text)}": {error}') from None


class _Clock(threading.local):
    """Time that a thread has spent on matching, and the end of its batch on this clock."""

    spent = 0.0
    batch_end = math.inf


_clock = _Clock()
_given_up: dict[tuple[JavaPattern, int, int], float] = {}
"""Time until which a pattern is not tried on a text, by the text's length and hash: DuckDB computes constants
repeatedly.
"""


@contextlib.contextmanager
def batch() -> Iterator[None]:
    """Within the block, the matches of this thread are one batch."""
    _clock.batch_end = _clock.spent + BATCH_SECONDS
    try:
        yield
    finally:
        _clock.batch_end = math.inf


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern. Methods are named as in Python; matches are as in Java."""

    pattern: JavaPattern
    compiled: regex.Pattern[str]

    def search(self, text: str) -> regex.Match[str] | None:
        return self._limited(text, lambda seconds: self.compiled.search(text, timeout=seconds, concurrent=True))

    def fullmatch(self, text: str) -> regex.Match[str] | None:
        return self._limited(text, lambda seconds: self.compiled.fullmatch(text, timeout=seconds, concurrent=True))

    def finditer(self, text: str) -> Iterator[regex.Match[str]]:
        """Yield matches in order. After an empty match Java searches on from the next character, even if a non-empty
        match begins at the same position.
        """
        limit, position = _clock.spent + TEXT_SECONDS, 0
        while position <= len(text):
            match = self._limited(text, partial(self._search_from, text, position))
            if match is None:
                return
            yield match
            position = match.end() + (match.start() == match.end())
            limit += _MATCH_SECONDS
            if _clock.spent > limit:
                raise self._give_up(text)

    def _search_from(self, text: str, position: int, seconds: float) -> regex.Match[str] | None:
        return self.compiled.search(text, position, timeout=seconds, concurrent=True)

    def _limited(self, text: str, call: Callable[[float], T]) -> T:
        """Run `call` with a time limit. `regex` counts the time of all threads of the process. If other threads took
        most of it, the call is repeated with as much more time. A text has twice its time in total, and other threads
        may take _MOST_SHARED times as much.
        """
        if len(text) > MOST_TEXT:
            raise ExecutionError(
                f'regular expression "{shown(self.pattern.text)}" is not matched with a text of more than'
                f" {MOST_TEXT:,} characters",
                sqlstate="54001",
            )
        check_cancelled()
        if self._is_given_up(text) or (_clock.spent > _clock.batch_end and current_cancellation() is None):
            raise takes_too_long(self.pattern.text, text)
        limit, left = TEXT_SECONDS, 2 * TEXT_SECONDS
        while True:
            own, whole = time.thread_time(), time.process_time()
            try:
                return call(limit)
            except TimeoutError:
                taken, by_all = time.thread_time() - own, time.process_time() - whole
                left -= max(taken, by_all / _MOST_SHARED)
                if taken >= 0.9 * TEXT_SECONDS or left <= 0:
                    raise self._give_up(text) from None
                shared_by = by_all / max(taken, 0.01)
                limit = min(TEXT_SECONDS * min(max(shared_by, 1.5), _MOST_SHARED), left * _MOST_SHARED)
                check_cancelled()
            finally:
                _clock.spent += time.thread_time() - own

    def _is_given_up(self, text: str) -> bool:
        return bool(_given_up) and time.monotonic() < _given_up.get(self._key(text), 0.0)

    def _give_up(self, text: str) -> ExecutionError:
        if len(_given_up) >= _MOST_GIVEN_UP:
            _given_up.clear()
        _given_up[self._key(text)] = time.monotonic() + GIVEN_UP_SECONDS
        return takes_too_long(self.pattern.text, text)

    def _key(self, text: str) -> tuple[JavaPattern, int, int]:
        return self.pattern, len(text), hash(text)


def rlike(text: str, pattern: str) -> bool:
    """Return whether a part of `text` matches. An empty pattern matches nothing, as in Hive."""
    return bool(pattern) and matcher(pattern).search(text) is not None


def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    found = matcher(pattern)
    template: list[str | int] | None = None
    parts: list[str] = []
    end = 0
    for match in found.finditer(text):
        # A missing group is an error only at a match, as in Java.
        template = replacement_parts(replacement, found.pattern) if template is None else template
        parts.append(text[end : match.start()])
        parts += (part if isinstance(part, str) else match[part] or "" for part in template)
        end = match.end()
    parts.append(text[end:])
    return "".join(parts)


def regexp_extract(text: str, pattern: str, group: int) -> str:
    found = matcher(pattern)
    match = found.search(text)
    return _group(match, group, found) if match else ""


def regexp_extract_all(text: str, pattern: str, group: int) -> list[str]:
    found = matcher(pattern)
    return [_group(match, group, found) for match in found.finditer(text)]


def _group(match: regex.Match[str], group: int, found: Matcher) -> str:
    if not 0 <= group <= found.pattern.groups:
        raise no_group(found.pattern, group)
    return match[group] or ""


def split(text: str, pattern: str, limit: int) -> list[str]:
    """String.split(pattern, limit) with trailing empty strings kept."""
    parts: list[str] = []
    start = 0
    found = matcher(pattern)
    for match in found.finditer(text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if match.end() == 0 or (match.start() == match.end() == len(text)):
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    parts.append(text[start:])
    return [*parts, ""] if text and limit <= 0 and found.fullmatch("") else parts
