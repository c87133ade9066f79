"""A decision taken while a query was planned or run, as text and as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision. `rule` names its kind, `text` describes it, `figures` are its basis."""

    rule: str
    text: str
    figures: tuple[tuple[str, int], ...] = ()
    is_planned: bool = False
    """Whether it was taken before the query ran."""

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.figures)
        return f"{self.text} ({figures})" if figures else self.text
