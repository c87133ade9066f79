"""INSERT INTO … VALUES (…) with many sets of parameters: one statement, which writes its files once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.parameters import BoundText, Parameters, Placeholder, insert_values, parameter_values, placeholders

if TYPE_CHECKING:
    from sharkpy.sql.grammar.parser import Token


@dataclass(frozen=True, slots=True)
class InsertRows:
    """Template of such an INSERT: `head` without placeholders, VALUES, and one `row` in parentheses."""

    template: str
    head: str
    row: str
    places: tuple[Placeholder, ...]
    """Placeholders of `row`."""

    def text(self, sets: Sequence[Parameters]) -> BoundText:
        """Return one statement with a row for each of `sets`. Errors of a row are placed at VALUES."""
        rows = (insert_values(self.row, self.places, parameter_values(self.places, one)).text for one in sets)
        return self.with_source("VALUES " + ",".join(rows))

    def with_source(self, source: str) -> BoundText:
        """Return the statement with `source` in place of everything after the head."""
        length = len(self.head)
        return BoundText(self.head + source, self.template, ((0, 0), (length, length), (length + 1, length)))

    @property
    def is_plain(self) -> bool:
        """True if the row consists of placeholders only."""
        pieces, end = [], 0
        for one in self.places:
            pieces.append(self.row[end : one.start])
            end = one.end
        return "".join((*pieces, self.row[end:])).replace(" ", "") == "(" + "," * (len(self.places) - 1) + ")"


def find_insert(template: str) -> InsertRows | None:
    """Find the template of an INSERT. Return None for other statements, such as INSERT OVERWRITE."""
    tokens = tokenize(template)
    words = [token.text.upper() for token in tokens]
    if words[:2] != ["INSERT", "INTO"] or "VALUES" not in words:
        return None
    start = words.index("VALUES") + 1
    found = placeholders(template, named=False, tokens=tokens)
    if not found or start >= len(tokens) or list(_closed_at(tokens[start:])) != [len(tokens) - start - 1]:
        return None
    first, last = tokens[start].start, tokens[-1].end + 1
    if found[0].start < first:
        return None
    places = tuple(Placeholder(one.start - first, one.end - first, None, one.is_enclosed) for one in found)
    return InsertRows(template, template[: tokens[start - 1].start], template[first:last], places)


def _closed_at(tokens: Sequence[Token]) -> Iterator[int]:
    """Return the indexes of the tokens after which no parenthesis is open."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type.name == "L_PAREN") - (token.token_type.name == "R_PAREN")
        if depth <= 0:
            yield index
