"""Drawing of a plan's lines as a tree, in colours if the terminal has them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RESET = "\x1b[0m"
_STYLES = {"title": "\x1b[1m", "guide": "\x1b[2m", "note": "\x1b[36m", "operator": "\x1b[1;34m", "figures": "\x1b[32m"}
_HEADER = re.compile(r"(\s*rows\s+bytes\s+time\s+)operator$")
_TITLE = re.compile(r"== .* ==$")
_OPERATOR = re.compile(r"(\w+)(.*)")
_INDENT = 2


def draw_plan(lines: Sequence[str], *, is_colored: bool) -> list[str]:
    """Draw `lines` of EXPLAIN with guides for their indentation; lines around the tree stay as they are."""
    drawn: list[str] = []
    start, tree = 0, list[str]()
    for line in [*lines, ""]:
        header = _HEADER.match(line)
        if header or _TITLE.match(line) or not line or (drawn and _is_after(line, start)):
            drawn += _drawn_tree(tree, start, is_colored=is_colored)
            tree = []
            start = len(header.group(1)) if header else (start if _TITLE.match(line) is None else 0)
            drawn.append(_styled("title", line, is_colored))
        else:
            tree.append(line)
    return drawn[:-1]


def _is_after(line: str, start: int) -> bool:
    """True for a line after the tree, such as a decision: it has no column of figures."""
    return start > 0 and bool(line[:start].strip()) and line[start - 1 : start] != " "


def _drawn_tree(tree: Sequence[str], start: int, *, is_colored: bool) -> list[str]:
    depths = [_depth(line[start:]) for line in tree]
    drawn = []
    for place, line in enumerate(tree):
        figures, text = line[:start], line[start:].lstrip()
        guide = _guides(depths, place)
        is_note = text.startswith("·")
        operator = _OPERATOR.match(text)
        body = _styled("note", text, is_colored)
        if not is_note:
            body = text
            if operator:
                body = _styled("operator", operator.group(1), is_colored) + operator.group(2)
        drawn.append(_styled("figures", figures, is_colored) + _styled("guide", guide, is_colored) + body)
    return drawn


def _depth(text: str) -> tuple[int, bool]:
    """Return the depth of a line, and whether it is a note on the operator above it."""
    stripped = text.lstrip()
    return (len(text) - len(stripped)) // _INDENT, stripped.startswith("·")


def _guides(depths: Sequence[tuple[int, bool]], place: int) -> str:
    depth, is_note = depths[place]
    if depth == 0:
        return ""
    inner = "".join("│ " if _goes_on(depths, place, level) else "  " for level in range(1, depth))
    if is_note:
        return inner + ("│ " if _goes_on(depths, place, depth) else "  ")
    return inner + ("├ " if _goes_on(depths, place, depth) else "└ ")


def _goes_on(depths: Sequence[tuple[int, bool]], place: int, level: int) -> bool:
    """True if an operator of this level follows under the same parent."""
    for depth, is_note in depths[place + 1 :]:
        if is_note:
            continue
        if depth <= level:
            return depth == level
    return False


def _styled(style: str, text: str, is_colored: bool) -> str:
    return f"{_STYLES[style]}{text}{_RESET}" if is_colored and text.strip() else text
