"""A statement that could harm other sessions, and the end that it must have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LIMIT = ("57014", "HYT00")
"""Ended by the limit of time."""
TOO_LARGE = ("54000",)
"""A value over the limit of one value."""
TOO_COMPLEX = ("54001", "54000", "54011", "54023")
"""Text, nesting or pattern over a limit."""
NO_MEMORY = ("53200",)
REFUSED = ("42501", "0A000")


@dataclass(frozen=True, slots=True)
class Evil:
    name: str
    text: str | Callable[[], str]
    """The statement; a call if it is large."""
    gets: object
    """Its first row, by a client, as a tuple; or the SQLSTATEs of which it gets one; ANSWER for any rows."""
    is_short: bool = False
    """Whether the statement runs in `make test`."""

    def statement(self) -> str:
        return self.text if isinstance(self.text, str) else self.text()


class Answer:
    """Rows, whatever they are."""

    def __init__(self, *or_states: str) -> None:
        self.or_states = or_states
        """SQLSTATEs that will do as well: on a slower machine it meets a limit."""


ANSWER = Answer()


def answer_or(*groups: tuple[str, ...]) -> Answer:
    return Answer(*(state for group in groups for state in group))
