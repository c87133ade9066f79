"""The check of wording, `tests/words.py`: what it finds and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.words import findings

AVOIDED = [
    ("behind", "The items behind the offset."),
    ("those of", "Its columns and those of the other side."),
    ("where", "None where it was dropped."),
    ("who", "Who asks first gets the lock."),
    ("stands", "The key stands at the end."),
    ("lie", "Files lie\n    in the folder."),
    ("beside", "A file beside the table."),
    ("goes with", "The folder goes with its table."),
    ("let it go", "The reader let it go."),
    ("of then", "The query of then."),
    ("nothing is read that is not", "The rule: nothing is read that is not listed."),
    ("is no", "The text is no number."),
    ("what is kept", "Bound of what is kept."),
    ("What", "What a session keeps."),
]
PROPER = [
    "The server runs behind a proxy; `behind` is code.",
    "Users who have no rights; the error says where it is wrong and shows who may run it.",
    "The * stands for any name. There is no such table, and it is no longer listed.",
    "SELECT a FROM t WHERE b",
]


@pytest.mark.parametrize(("word", "text"), AVOIDED, ids=[word for word, _ in AVOIDED])
def test_avoided_words_are_found(word: str, text: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f'def f():\n    """{text}"""\n')
    assert word in [one.word for one in findings(program)]


@pytest.mark.parametrize("text", PROPER)
def test_proper_uses_are_left(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert list(findings(page)) == []


def test_lines_of_comments_messages_and_blocks(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        'text = "behind"\n# one\n# behind\nraise BindError(f"{text} lies here", hint="beside")  # anew\nlog("behind")\n'
    )
    found = [(one.line, one.word) for one in findings(program)]
    assert found == [(3, "behind"), (4, "lies"), (4, "beside"), (4, "anew")]
    page = tmp_path / "page.md"
    page.write_text("```\nbehind\n```\n\n[a page](behind.md) behind\n")
    assert [(one.line, one.word) for one in findings(page)] == [(5, "behind")]
