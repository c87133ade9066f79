"""Reference pages made from the code: settings, statements, functions, errors, examples. MkDocs runs this as a hook.

`pages` returns their texts. They are not tracked. `python docs/generate.py [folder]` writes them to a folder.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy import errors
from sharkpy.base.errors import SQLSTATES
from sharkpy.base.settings import Setting
from sharkpy.base.settings.conf import SUBJECTS as SUBJECTS_OF_SETTINGS
from sharkpy.sql.forms import SUBJECTS, StatementForm
from sharkpy.sql.statements.refused_statements import REFUSED
from sharkpy.udf import registry
from sharkpy.udf.function import Failure, Function, RelationFunction, TableFunction, Varying
from sharkpy.udf.unavailable_functions import REFUSED as REFUSED_FUNCTIONS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
_TABLES = ("TABLE_FUNCTIONS", "TIME_WINDOW_TABLES", "FREQUENCY_SKETCH_TABLES", "FILE_READERS", "RELATION_FUNCTIONS")
_SKETCHES = ("DISTINCT_SKETCH_FUNCTIONS", "QUANTILE_SKETCH_FUNCTIONS", "FREQUENCY_SKETCH_FUNCTIONS")
_OPERATORS = (
    *("ARITHMETIC", "CONDITIONS", "QUANTIFIED_COMPARISONS", "PATTERN_TESTS", "ACCESS", "BITS"),
    "CONDITIONAL_FUNCTIONS",
)
FAMILIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("operators", "Operators and conditions", _OPERATORS),
    (
        "numbers",
        "Numbers",
        ("MATH_FUNCTIONS", "ELEMENTARY_FUNCTIONS", "ROUNDING_FUNCTIONS", "SPARK_NUMBER_FUNCTIONS", "RANDOM_FUNCTIONS"),
    ),
    ("strings", "Strings", ("STRING_FUNCTIONS", "STRING_SEARCH_FUNCTIONS", "SPARK_STRING_FUNCTIONS", "URL_FUNCTIONS")),
    ("patterns", "Regular expressions", ("REGEXP_FUNCTIONS",)),
    (
        "dates",
        "Dates and times",
        (
            *("DATE_FUNCTIONS", "DATE_PART_FUNCTIONS", "DATE_TRUNCATION_FUNCTIONS", "SPARK_TIME_FUNCTIONS"),
            *("TIME_UNIT_FUNCTIONS", "TIME_WINDOW_FUNCTIONS"),
        ),
    ),
    (
        "collections",
        "Arrays, maps and structs",
        (
            *("ARRAY_FUNCTIONS", "ARRAY_ORDER_FUNCTIONS", "ARRAY_SET_FUNCTIONS", "SEQUENCE_FUNCTIONS"),
            *("MAP_FUNCTIONS", "STRUCT_FUNCTIONS", "SPARK_COLLECTION_FUNCTIONS", "HIGHER_ORDER_FUNCTIONS"),
        ),
    ),
    ("json-and-xml", "JSON and XML", ("JSON_FUNCTIONS", "TO_JSON_FUNCTIONS", "XML_FUNCTIONS")),
    ("conversions", "Conversions and formats", ("CONVERSION_FUNCTIONS", "FORMAT_FUNCTIONS")),
    ("hashes-and-masks", "Hashes, encryption and masks", ("HASH_FUNCTIONS", "MASK_FUNCTIONS")),
    ("aggregates", "Aggregates", ("AGGREGATES",)),
    ("windows", "Window functions", ("WINDOW_FUNCTIONS",)),
    ("sketches", "Sketches", _SKETCHES),
    ("tables", "Functions that give tables", _TABLES),
    ("session", "Session", ("SESSION_FUNCTIONS",)),
    ("special-forms", "Casts, Java, predictions", ("SPECIAL_FORMS",)),
)
"""Pages of functions: name, title, and the tables of the registry that each has."""
_NAMED_TWICE = ("bit_and", "bit_or", "bit_xor")
"""Aggregates that SHOW FUNCTIONS does not list, since operators have their names."""


def pages() -> dict[str, str]:
    """All generated pages: path below docs/ and Markdown text."""
    return {
        "reference/settings.md": _settings(),
        "reference/statements.md": _statements(),
        "reference/errors.md": _errors(),
        "reference/functions/index.md": _functions(),
        **{f"reference/functions/{page}.md": _family(title, page) for page, title, _ in FAMILIES},
        **{f"examples/{path.stem}.md": _example(path) for path in examples()},
    }


def examples() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.py"))


def shown_functions(page: str) -> list[Function]:
    """Functions of a page by name, without the functions that only the planner calls."""
    families = next(families for name, _, families in FAMILIES if name == page)
    rows: list[Function] = [row for family in families for row in getattr(registry, family)]
    return sorted((row for row in rows if _is_shown(row)), key=_shown_name)


def _is_shown(row: Function) -> bool:
    return row.is_listed or bool(row.aliases) or row.name in _NAMED_TWICE


def _shown_name(row: Function) -> str:
    """Name that queries write: the row's own one, or its first alias."""
    return row.name if row.is_listed or not row.aliases else row.aliases[0]


# Settings


def _settings() -> str:
    lines = [
        "# Settings",
        "",
        "Set a setting with `SET key=value`, with `--set key=value` or in `sharkpy.connect(…, **{key: value})`.",
        "`SHOW SETTINGS LIKE 'pattern'` shows the same texts, with the values of the session.",
        "",
        "- Sizes take the units `k`, `m`, `g` and `t`: `shark.block.bytes=64m`.",
        "- The machine's memory is the limit of the container, if it has one.",
        "- *Owner*: only the owner of the engine sets it. Sessions of a server's clients cannot.",
        "- *Address*: it names a host. A session needs the permission to connect to it.",
    ]
    for subject in SUBJECTS_OF_SETTINGS:
        heading, _, about = (subject.__doc__ or "").partition("\n")[0].removesuffix(".").partition(": ")
        topic = heading.removeprefix("Settings of ").removeprefix("the ")
        lines += ["", f"## {topic[0].upper()}{topic[1:]}", ""]
        lines += [f"{about[0].upper()}{about[1:]}.", ""] if about else []
        lines += ["| setting | type | default | values | meaning |", "|---|---|---|---|---|"]
        lines += [_setting(row) for row in vars(subject).values() if isinstance(row, Setting)]
    return "\n".join(lines) + "\n"


def _setting(row: Setting[int] | Setting[float] | Setting[bool] | Setting[str]) -> str:
    remarks = [row.doc]
    remarks += [f"Also `{key}`." for key in row.synonyms]
    remarks += [f"For one: `{key}`." for key in row.patterns]
    remarks += ["*Owner*."] if row.is_guarded else []
    remarks += ["*Address*."] if row.is_address else []
    default = f"`{_size(row.default_text)}`" if row.default_text else "empty"
    return f"| `{row.key}` | {row.type_name} | {default} | {row.allowed} | {_cell(' '.join(remarks))} |"


def _size(default: str) -> str:
    """A default that is a size, with its unit as SET takes it: 64m."""
    for unit, power in (("g", 30), ("m", 20)):
        if default.isdigit() and int(default) and int(default) % (1 << power) == 0:
            return f"{int(default) >> power}{unit}"
    return default


# Statements


def _statements() -> str:
    lines = [
        "# Statements",
        "",
        "In the forms, brackets mark optional parts, a bar separates alternatives, and `, …` marks repetition.",
        "Words in capitals are written as they are, in any case.",
        "In the shell, `help CREATE TABLE` shows the same form.",
        "",
        "The examples run in this order, each after those before it.",
    ]
    for subject, forms in SUBJECTS:
        lines += ["", f"## {subject}"]
        for form in forms:
            lines += _form(form)
    lines += ["", "## Statements that are refused", ""]
    lines += ["sharkpy knows these statements of other systems and refuses them with error 0A000.", ""]
    lines += ["| statement | instead |", "|---|---|"]
    lines += [f"| `{words}` | {_cell(hint or '')} |" for words, hint in REFUSED]
    return "\n".join(lines) + "\n"


def _form(form: StatementForm) -> Iterator[str]:
    yield from ("", f"### {form.words}", "", _cell(form.doc), "", "```text", form.form, "```")
    if form.example:
        yield from ("", "```sql", f"{form.example};", "```")
    if form.errors:
        yield from ("", "| a statement that fails | its error |", "|---|---|")
        yield from (f"| `{_code_cell(statement)}` | {_cell(message)} |" for statement, message in form.errors)
    if form.page:
        link = form.page.removeprefix("reference/") if form.page.startswith("reference/") else f"../{form.page}"
        yield from ("", f"More: [{Path(form.page).stem}]({link})")


# Functions


def _functions() -> str:
    lines = ["# Functions", "", "In the shell, `DESCRIBE FUNCTION EXTENDED name` shows the same texts."]
    for page, title, _ in FAMILIES:
        names = [f"[`{_code(_shown_name(row))}`]({page}.md#{_anchor(row)})" for row in shown_functions(page)]
        lines += ["", f"## {title}", "", " ".join(names)]
    lines += ["", "## Functions that are refused", ""]
    lines += ["Hive has these functions. A call gives error 0A000 with the reason.", ""]
    lines += ["| function | reason |", "|---|---|"]
    lines += [f"| `{name}` | {_cell(reason)} |" for name, reason in sorted(REFUSED_FUNCTIONS.items())]
    return "\n".join(lines) + "\n"


def _family(title: str, page: str) -> str:
    lines = [f"# {title}"]
    for row in shown_functions(page):
        name = _shown_name(row)
        others = [one for one in registry.synonyms(name) if one != name]
        lines += ["", f"## `{_code(name)}` {{ #{_anchor(row)} }}", "", f"`{_code(row.usage_as(name))}`", ""]
        lines += [f"{row.doc[0].upper()}{row.doc[1:]}." if row.doc[0].isascii() else f"{row.doc}."]
        lines += ["", f"Also: {', '.join(f'`{_code(one)}`' for one in others)}"] if others else []
        lines += ["", "```sql", f"{row.example_statement};", "```", "", "```text", _answer(row), "```"]
    return "\n".join(lines) + "\n"


def _anchor(row: Function) -> str:
    """Anchor of a function on its page: the row's name, which is unique there but for kinds of one name."""
    kind = "-table" if isinstance(row, (TableFunction, RelationFunction)) else ""
    return f"{row.name.replace('_', '-')}{kind}"


def _answer(row: Function) -> str:
    match row.answer:
        case Failure(message):
            return f"error: {message}"
        case Varying(sample):
            return f"{sample}\n(differs from call to call)"
    return row.answer


# Errors


def _errors() -> str:
    lines = [
        "# Errors",
        "",
        "Every error of the engine is a `sharkpy.SharkError` with `message`, `hint`, `sqlstate`, `line` and `column`.",
        "Its text is one line:",
        "",
        "```text",
        str(errors.ColumnNotFoundError('no column "prise"', hint='did you mean "price"?', line=1, column=8)),
        "```",
        "",
        "```python",
        "import sharkpy",
        "",
        "try:",
        '    ctx.sql("SELECT prise FROM items")',
        "except sharkpy.errors.ColumnNotFoundError as error:",
        "    print(error.sqlstate, error.hint)",
        "```",
        "",
        "## Classes",
        "",
        "Some errors of a class have another SQLSTATE than the class.",
        "",
        "| class in `sharkpy.errors` | is a | SQLSTATE | meaning |",
        "|---|---|---|---|",
    ]
    for name in errors.__all__:
        kind: type[errors.SharkError] = getattr(errors, name)
        bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
        about = inspect.cleandoc(vars(kind).get("__doc__") or SQLSTATES[kind.sqlstate]).split("\n\n")[0]
        lines.append(f"| `{name}` | {bases} | {kind.sqlstate} | {_cell(about)} |")
    lines += ["", "## SQLSTATEs", "", "Clients of a server get the SQLSTATE with the message.", ""]
    lines += ["| SQLSTATE | meaning |", "|---|---|", *(f"| {state} | {text} |" for state, text in SQLSTATES.items())]
    return "\n".join(lines) + "\n"


# Examples


def _example(path: Path) -> str:
    code = path.read_text(encoding="utf-8").strip()
    title = path.stem.replace("_", " ").capitalize()
    return f"# {title}\n\n`{path.relative_to(ROOT).as_posix()}`\n\n```python\n{code}\n```\n"


_SIGNS = re.compile(r"(`[^`]*`|\*[A-Z][a-z]+\*\.)|[*_<|[\]]")
"""Code and remarks, which stay as they are, and signs that have a meaning in Markdown."""


def _cell(text: str) -> str:
    """Text of a cell of a table: one line, in which only code and remarks have a form."""
    return _SIGNS.sub(lambda sign: sign[1] or f"&#{ord(sign[0])};", " ".join(text.split()))


def _code_cell(text: str) -> str:
    return _code(" ".join(text.split())).replace("|", "\\|")


def _code(text: str) -> str:
    return text.replace("`", "'")


# Hooks of MkDocs

_OUTSIDE = re.compile(r"\[([^]]*)\]\(((?:\.\./)+[\w./-]+)(#[\w-]+)?\)")
_FENCE = re.compile(r"^```(\w+) (\w+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the pages of docs/."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace forms that only GitHub shows: folders named by code blocks, links to files of the repository."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def inside(link: re.Match[str]) -> str:
        text, place, _ = link.groups()
        path = (folder / place).resolve()
        if path.is_relative_to(ROOT / "docs") or not path.exists():
            return link[0]
        if path in examples():
            above = "../" * page.file.src_uri.count("/")
            return f"[{text}]({above}examples/{path.stem}.md)"
        return text

    return _OUTSIDE.sub(inside, _FENCE.sub(r'```\1 title="\2/"', markdown))


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0] if arguments else ROOT / "build" / "docs-src")
    for path, text in pages().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
