"""Forms of statements: their examples run, one after the other, and their errors are the ones in the table.

`python -m tests.session.test_statement_forms` writes the present messages of the errors into the table.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.catalog.stream_kinds import KINDS as STREAM_KINDS
from sharkpy.catalog.stream_kinds import SINK_KINDS
from sharkpy.sql import forms
from sharkpy.sql.forms import FORMS, StatementForm, forms_of
from sharkpy.sql.statements.bind_alter import CLAUSES
from sharkpy.sql.statements.bind_explain import FORMATS
from sharkpy.sql.statements.bind_explain import FORMS as FORMS_OF_EXPLAIN
from sharkpy.sql.statements.bind_show import SHOWN
from sharkpy.sql.statements.command_binder import QUERY_WORDS
from sharkpy.sql.statements.commands import COMMANDS
from tests.waiting import until

PAGES = Path(__file__).parents[2] / "docs"


def test_examples_and_errors(tmp_path: Path) -> None:
    for form, messages in run(tmp_path):
        assert messages == [message for _, message in form.errors], form.words


def run(folder: Path) -> Iterator[tuple[StatementForm, list[str]]]:
    """Run the examples in the order of the table: each builds on those before it. Yield the messages of the errors."""
    pq.write_table(pa.table({"item": ["jar"], "price": [4.0]}), folder / "more_items.parquet")
    (folder / "sales").mkdir()
    (folder / "sales" / "1.json").write_text('{"item": "tea", "price": 3.5}\n')
    with contextlib.chdir(folder), sharkpy.connect("local[2]", folder / "warehouse") as context:
        for form in FORMS:
            if form.words == "ROLLBACK CONTINUOUS":
                until(lambda: [row[1] for row in context.sql("SHOW EPOCHS revenue").fetchall()] == ["WRITTEN"])
            if form.example:
                context.sql(form.example).close()
            yield form, [_error(context, statement) for statement, _ in form.errors]


def _error(context: sharkpy.SharkContext, statement: str) -> str:
    with pytest.raises(sharkpy.SharkError) as caught:
        context.sql(statement).fetchall()
    return str(caught.value).replace(str(Path.cwd()), "/data")


def update() -> None:
    """Write the present messages into the table."""
    changed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for form, messages in run(Path(folder).resolve()):
            changed |= {old: new for (_, old), new in zip(form.errors, messages, strict=True) if old != new}
    for path in Path(forms.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for old, new in changed.items():
            for quoted in (repr(old), json.dumps(old, ensure_ascii=False)):
                text = text.replace(quoted, repr(new))
        path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(changed)} messages have changed: run ruff format\n")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.words)
def test_row_is_complete(form: StatementForm) -> None:
    first = form.words.split()[0]
    assert re.search(rf"^{first}\b|^\[WITH.*?\] {first}\b|\b{first}\b", form.form, re.MULTILINE)
    assert form.doc.endswith(".")
    assert form.example or form.errors
    assert not form.page or form.page.startswith("reference/") or (PAGES / form.page).exists()


def test_words_name_one_row() -> None:
    assert [words for words, number in Counter(form.words for form in FORMS).items() if number > 1] == []


def test_every_statement_has_a_form() -> None:
    """Words that the binder takes at the beginning of a statement, after SHOW, EXPLAIN and ALTER TABLE."""
    forms = "\n".join(form.form for form in FORMS)
    words = {*COMMANDS, *(word for word in QUERY_WORDS if word.isalpha()), "INSERT", "SET", "EXPLAIN", "SUMMARIZE"}
    assert [word for word in words if not re.search(rf"\b{word}\b", forms)] == []
    shown = re.sub(r"\W+", " ", "\n".join(form.form for form in FORMS if form.words.startswith("SHOW")))
    assert [words for words, _ in SHOWN if words not in shown] == []
    altered = "\n".join(form.form for form in FORMS if form.words.startswith("ALTER"))
    clauses = {word for clause in CLAUSES for word in clause.words.replace(" | ", " ").split()}
    assert [word for word in clauses if not re.search(rf"\b{word}\b", altered)] == []
    [stream], [sink] = forms_of("CREATE STREAM"), forms_of("CREATE CONTINUOUS SINK")
    assert [kind for kind in STREAM_KINDS if f" {kind} " not in stream.form] == []
    assert [kind for kind in SINK_KINDS if f" {kind} " not in sink.form] == []
    [explain] = forms_of("EXPLAIN")
    assert set(re.findall(r"[A-Z]{3,}", explain.form)) <= {"EXPLAIN", "FORMAT", *FORMATS, *FORMS_OF_EXPLAIN}


def test_forms_are_found_by_their_words() -> None:
    assert [form.words for form in forms_of("show create")] == ["SHOW CREATE DATABASE", "SHOW CREATE TABLE"]
    assert [form.words for form in forms_of("create  table;")] == ["CREATE TABLE"]
    assert forms_of("sel") == forms_of("") == ()


if __name__ == "__main__":
    update()
