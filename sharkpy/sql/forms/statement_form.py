"""StatementForm: the form of a statement, with an example and the errors that users meet."""

from __future__ import annotations

from sharkpy.base.records import dataclass


@dataclass(frozen=True, slots=True)
class StatementForm:
    """Form of a statement.

    1. `words` begin it, and are its name in the shell's help and on the reference page.
    2. `form` is its grammar: optional parts in brackets, alternatives between bars, repetition as `, …`.
    3. `doc` says in a sentence what it does.
    4. `example` is a statement that runs after the examples before it; a test runs all of them.
    5. `errors` are statements that fail, with their messages; a test compares these.
    `page` is the page of the documentation that tells more.
    """

    words: str
    form: str
    doc: str
    example: str
    errors: tuple[tuple[str, str], ...] = ()
    page: str = ""
