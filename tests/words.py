"""python -m tests.words [PATH…]: find wording that is hard to read, and say what to write instead.

The check reads documents, docstrings, comments and error messages. It skips code in backticks. Without an argument it
looks at the whole project and fails if it finds something; with paths, at these.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("sharkpy", "columnar", "udf", "optimizer", "thrift", "examples", "bench", "tests", "docs", "deploy")
RECORDS = ("bench/RESULTS.md",)
"""Documents that quote figures as they were recorded."""

PROPER_USES = (
    r"behind (an? |the |its )?([\w-]+ )?(proxy|proxies|balancers?|firewalls?|gateways?|ingress)",
    r"(place|point|position|offset|line|byte|folder|file|page|host|machine|case|stage|task|step|bucket)s? where",
    r"(say|tell|know|show|see|find|decide|choose|control|record|look|remember)(s|ing)?,? (and |or )?(where|who)",
    r"(from|to|and|of|about) where",
    r"where (do|does|is|are|to)",
    r"(user|people|person|caller|reader|client|owner|administrator|engineer|developer|someone|anyone)s?,? (also )?who",
    r"(stand|stands|standing) (for|by)",
    r"(leave|leaves|leaving|left) ([\w`]+ )?alone",
    r"there (is|are|was|were) no",
    r"(is|are|was|were) no (longer|more|less|later|earlier|other|\w+er than)",
    r"(the|and|or) others",
    r"(leave|leaves|leaving|left) ([\w`]+ )?behind",
)
"""Phrases with a word of RULES in its right sense."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A habit to avoid, as a pattern over words with one space between them, and what to write instead."""

    pattern: str
    advice: str


RULES = (
    Rule("behind", "time is `after`; a place in a sequence is `past`, `after` or `following`; storage is `backed by`"),
    Rule("those (of|that|which|who|whose|where|in|with)", "name the things: `the files of …`"),
    Rule("(is|are|was|as|and|or|in|than|to|by|from|of|with) that of", "name the thing: `the type of …`"),
    Rule("where", "a condition is `if` or `when`"),
    Rule("who|whom|whoever", "code is not a person: `the caller`, `another process`, `the thread that …`"),
    Rule("stand|stands|stood|standing", "a position is `is at`, `is in`, `follows`"),
    Rule("lies|lie|lay|lain|lying", "a position is `is in`, `is between`, `is at`"),
    Rule("besides?", "`next to`, `together with`, `also`, or `other than`"),
    Rule("(go|goes|going|went|gone) with", "say what happens: `belongs to`, `is sent with`, `is deleted with`"),
    Rule(r"(let|lets|letting) ([\w`]+ )?go", "`release`, `drop`, `delete` or `forget`"),
    Rule("of (then|now)|as (it|they) (is|are|was|were) (then|now)", "`current`, `earlier`, `at that time`"),
    Rule(
        "not without|(no|none|nothing|nobody|never)( (?!if|when|for)\\w+){0,4} (that|which) "
        "((is|are|was|were|has|have|had|do|does|did|can) (not|no)|cannot)",
        "state the rule without the second negation",
    ),
    Rule("(is|are|was|were) no", "`is not a …`"),
    Rule(
        "what (it|they|is|was|are|were|has|had) "
        "(has|have|had|been|kept|known|seen|held|given|left|meant|read|written|taken|lost|there)",
        "use the noun: cache, snapshot, offset, result, remainder",
    ),
    Rule("(is|are|was|were|be|been) told", "`is reported`, `is logged`"),
    Rule("(give|gives|given|giving) (all|what|nothing|none)", "`returns`, `produces`"),
    Rule("all that (it|they) (gives?|has|have|is|are)", "name the things: `every row of …`"),
    Rule("after so many|so many (seconds|bytes|rows|times)", "name the number: `after `seconds` seconds`"),
    Rule("as ever|anew|thereof|therein|therewith|wherein", "`as usual`, `again`, `in it`"),
    Rule("others", "name them: `other files`, `other sessions`"),
    Rule("nobody|somebody|everybody", "name the party: `no caller`, `another process`"),
    Rule("alone", "`only`, before the word that it limits"),
)
FIRST_WORDS = Rule("^(What|Who|Whose|Those|That|They|It|As)", "begin with a noun of the field or an imperative")
"""For docstrings."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of prose, with its line in the file. Code in it is blank."""

    line: int
    text: str
    is_docstring: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    path: Path
    line: int
    word: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.word} → {self.advice}"


def findings(path: Path) -> Iterator[Finding]:
    """Findings of a file, in the order of its lines."""
    texts = _texts_of_python(path.read_text()) if path.suffix == ".py" else _text_of_document(path.read_text())
    found = (Finding(path, *one) for text in texts for one in words(text))
    yield from sorted(found, key=lambda one: one.line)


def words(text: Text) -> Iterator[tuple[int, str, str]]:
    """Line, word and advice of each finding in a text."""
    lines = [text.line + line for line, words in enumerate(text.text.split("\n")) for _ in words.split()]
    flat = " ".join(text.text.split())
    lower = re.sub(r"\b[A-Z](?=[a-z])", lambda match: match.group().lower(), flat)  # WHERE in capitals is SQL
    if _pattern("|".join(rule.pattern for rule in RULES)).search(lower):
        without = _pattern("|".join(PROPER_USES)).sub(lambda match: re.sub(r"\S", "_", match.group()), lower)
        for rule in RULES:
            for match in _pattern(rule.pattern).finditer(without):
                yield lines[flat.count(" ", 0, match.start())], match.group(), rule.advice
    if text.is_docstring and (match := re.match(FIRST_WORDS.pattern + r"\b", flat)):
        yield text.line, match.group(), FIRST_WORDS.advice


@functools.cache
def _pattern(words: str) -> re.Pattern[str]:
    """Compile a pattern of whole words."""
    return re.compile(rf"\b(?<!-)(?:{words})\b(?!-)")


def _text_of_document(source: str) -> Iterator[Text]:
    """A Markdown file without its code blocks, comments and links' targets."""
    without = r"^ *(```|~~~).*?^ *\1|<!--.*?-->|\]\([^)]*\)"
    yield Text(1, _prose(re.sub(without, _blank, source, flags=re.DOTALL | re.MULTILINE)))


def _texts_of_python(source: str) -> Iterator[Text]:
    """Docstrings, strings after an assignment, error messages, hints, and comments of a Python file."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield Text(node.lineno, _prose(text), is_docstring=True)
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name), arguments, keywords):
                hints = [keyword.value for keyword in keywords if keyword.arg in ("hint", "detail")]
                for argument in (*arguments, *hints) if name.endswith("Error") else hints:
                    yield from _message(argument)
    yield from _comments(source)


def _message(node: ast.expr) -> Iterator[Text]:
    match node:
        case ast.Constant(str(text)):
            yield Text(node.lineno, _prose(text))
        case ast.JoinedStr(parts):
            texts = (part.value if isinstance(part, ast.Constant) else "_" for part in parts)
            yield Text(node.lineno, _prose("".join(str(text) for text in texts)))
        case ast.BinOp(left, ast.Add(), right) | ast.IfExp(_, left, right):
            yield from _message(left)
            yield from _message(right)


def _comments(source: str) -> Iterator[Text]:
    """Comments; those on adjacent lines are one text."""
    first, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != first + len(lines):
            yield Text(first, _prose("\n".join(lines)))
            first, lines = token.start[0], []
        lines.append(token.string.lstrip("# "))
    yield Text(first, _prose("\n".join(lines)))


def _prose(text: str) -> str:
    """The text with code in backticks blank; its lines stay."""
    return re.sub(r"``.+?``|`[^`]+`", _blank, text, flags=re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    return "_" + "\n" * match.group().count("\n")


def files(*places: str) -> list[Path]:
    """Python files and documents of folders and files, without the links of `sharkpy/` and packages of npm."""
    paths: list[Path] = []
    for place in places:
        path = (ROOT / place).absolute()
        paths += [path] if path.is_file() else [*path.rglob("*.py"), *path.rglob("*.md")]
    links = [link for link in (ROOT / "sharkpy").iterdir() if link.is_symlink()]
    records = {ROOT / record for record in RECORDS}
    return sorted(
        {path for path in paths if "node_modules" not in path.parts and not any(link in path.parents for link in links)}
        - records
    )


def main(*arguments: str) -> int:
    documents = [path.name for path in ROOT.glob("*.md")]
    found = [one for path in files(*(arguments or (*documents, *FOLDERS))) for one in findings(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
