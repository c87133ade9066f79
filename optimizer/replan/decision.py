"""Decision taken while a query was planned or run, as it is shown and as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """`rule` names the kind of decision, `text` says what was decided, `figures` are what it was based on."""

    rule: str
    text: str
    figures: tuple[tuple[str, int], ...] = ()
    is_planned: bool = False
    """Whether it was made before the query ran."""

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.figures)
        return f"{self.text} ({figures})" if figures else self.text
