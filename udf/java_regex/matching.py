"""Matching of Java's patterns in Python, by `regex`: with the interpreter's lock released, and limits of time."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.cancellation import check_cancelled, current_cancellation
from sharkpy.base.errors import ExecutionError, UnsupportedError
from sharkpy.udf.java_regex.complaint import shown, takes_too_long, too_complex
from sharkpy.udf.java_regex.pattern import JavaPattern, translate

if TYPE_CHECKING:
    import regex

T = TypeVar("T")
TEXT_SECONDS = 1.0
"""Time of the thread's own in which one text must be matched."""
BATCH_SECONDS = 10.0
"""The same for the texts of a batch, where no statement is known that could be ended between two of them."""
_MOST_SHARED = 8
"""Threads among which the time of the process is taken to be shared, at most."""
_MATCH_SECONDS = 20e-6
"""What each match adds to the time of its text."""
GIVEN_UP_SECONDS = 60.0
"""Time for which a text that took too long is not tried again."""
_MOST_GIVEN_UP = 1000
MOST_TEXT = 4_000_000
"""Characters of a text: what is kept to backtrack takes some hundred bytes for each."""


@lru_cache(maxsize=512)
def matcher(text: str, *, ignore_case: bool = False) -> Matcher:
    """The Java pattern, ready to match; BindError where it is none."""
    import regex

    pattern = translate(text, ignore_case=ignore_case)
    try:
        return Matcher(pattern, regex.compile(pattern.regex, regex.VERSION0, cache_pattern=False))
    except RecursionError:
        raise too_complex(text, "its groups are nested too deeply") from None
    except regex.error as error:
        # It is one to Java: a reference to a group that is still open, or comes later.
        raise UnsupportedError(f'regular expression "{shown(text)}": {error}') from None


class _Clock(threading.local):
    """Time that a thread has spent on matching, and where on this clock its batch is over."""

    spent = 0.0
    batch_end = math.inf


_clock = _Clock()
_given_up: dict[tuple[JavaPattern, int, int], float] = {}
"""Until when not to try a pattern on a text, by its length and hash: DuckDB computes constants several times over."""


@contextlib.contextmanager
def batch() -> Iterator[None]:
    """What this thread matches inside is one batch."""
    _clock.batch_end = _clock.spent + BATCH_SECONDS
    try:
        yield
    finally:
        _clock.batch_end = math.inf


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern. Methods are Python's, matches those of Java."""

    pattern: JavaPattern
    compiled: regex.Pattern[str]

    def search(self, text: str) -> regex.Match[str] | None:
        return self._limited(text, lambda seconds: self.compiled.search(text, timeout=seconds, concurrent=True))

    def fullmatch(self, text: str) -> regex.Match[str] | None:
        return self._limited(text, lambda seconds: self.compiled.fullmatch(text, timeout=seconds, concurrent=True))

    def finditer(self, text: str) -> Iterator[regex.Match[str]]:
        """Matches in order. After an empty one Java searches on from the next character, even where a match that is
        not empty begins at the same place."""
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
        """`regex` counts the time of all threads of the process: if others took most of it, the call is made again
        with as much more. In all a text has twice its time, of which others may take _MOST_SHARED times as much."""
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
