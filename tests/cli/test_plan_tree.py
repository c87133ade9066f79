"""Plans drawn as trees."""

from __future__ import annotations

from sharkpy.cli.plan_tree import draw_plan

PLAN = """\
== Run: 2 rows in 50.8 ms, planned in 2.2 ms ==
       rows     bytes      time  operator
                                 · stage 1: 1 task
          2      48 B    0.0 ms  Sort [n#7 DESC]
          2      40 B    0.1 ms    HashJoin inner
          2      40 B    0.7 ms      FileScan default.t
                                       · 680 B of files
          2       8 B    0.0 ms      Project [k#3]
          2       8 B    1.3 ms        FileScan default.u
decided when planning: one stage"""
DRAWN = """\
== Run: 2 rows in 50.8 ms, planned in 2.2 ms ==
       rows     bytes      time  operator
                                 · stage 1: 1 task
          2      48 B    0.0 ms  Sort [n#7 DESC]
          2      40 B    0.1 ms  └ HashJoin inner
          2      40 B    0.7 ms    ├ FileScan default.t
                                   │   · 680 B of files
          2       8 B    0.0 ms    └ Project [k#3]
          2       8 B    1.3 ms      └ FileScan default.u
decided when planning: one stage"""


def test_guides() -> None:
    assert "\n".join(draw_plan(PLAN.splitlines(), is_colored=False)) == DRAWN


def test_a_plan_without_figures() -> None:
    lines = ["== Physical plan: one stage ==", "Sort [x]", "  Scan t", "  Scan u"]
    assert draw_plan(lines, is_colored=False) == [lines[0], "Sort [x]", "├ Scan t", "└ Scan u"]


def test_colours_change_nothing_but_colours() -> None:
    import re

    colored = "\n".join(draw_plan(PLAN.splitlines(), is_colored=True))
    assert "\x1b[1;34mSort\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == DRAWN
