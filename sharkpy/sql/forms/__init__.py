"""Forms of all statements, subject by subject: the reference page, the shell's help and hints come from this table."""

from __future__ import annotations

import re

from sharkpy.sql.forms.listings import LISTINGS
from sharkpy.sql.forms.queries import QUERIES, WRITES
from sharkpy.sql.forms.session import FUNCTIONS, SESSION
from sharkpy.sql.forms.statement_form import StatementForm
from sharkpy.sql.forms.streams import STREAMS
from sharkpy.sql.forms.tables import DATABASES, TABLES, VERSIONS

SUBJECTS: tuple[tuple[str, tuple[StatementForm, ...]], ...] = (
    ("Databases", DATABASES),
    ("Tables and views", TABLES),
    ("Versions of tables", VERSIONS),
    ("Changes of rows", WRITES),
    ("Queries", QUERIES),
    ("Functions and models", FUNCTIONS),
    ("Streams", STREAMS),
    ("Listings", LISTINGS),
    ("Session and memory", SESSION),
)
"""Subjects in the order of the reference page. The examples run in this order, each after those before it."""
FORMS: tuple[StatementForm, ...] = tuple(form for _, forms in SUBJECTS for form in forms)
FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(form.words.split()[0] for form in FORMS))
"""Words that begin a statement."""
WORDS: tuple[str, ...] = tuple(
    sorted({word for form in FORMS for word in re.findall(r"\b[A-Z]{2,}\b", re.sub(r"'[^']*'", "", form.form))})
)
"""Keywords of statements, without the keywords of expressions."""


def forms_of(text: str) -> tuple[StatementForm, ...]:
    """Return the form with exactly these words, in any case, or else the forms that begin with them."""
    words = " ".join(text.upper().removesuffix(";").split())
    exact = tuple(form for form in FORMS if form.words == words)
    return exact or tuple(form for form in FORMS if words and f"{form.words} ".startswith(f"{words} "))
