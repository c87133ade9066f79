"""CSV files as other programs and people make them: what FROM 'x.csv' finds in them."""

from __future__ import annotations

import csv
import datetime
import gzip
import zipfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SourceError
from tests.rows import rows

Rows = list[tuple[object, ...]]
PIPES = "".join(f"{n},{n} inch\n" for n in range(10))
INCHES = [(n, f"{n} inch") for n in range(10)]


@dataclass(frozen=True)
class Odd:
    """A file, and its columns and rows."""

    text: str
    columns: list[str]
    rows: Rows


FILES = {
    "lone quote": Odd(
        f'id,size\n{PIPES}10,"5 inch pipe\n{PIPES}',
        ["id int", "size string"],
        [*INCHES, (10, '"5 inch pipe'), *INCHES],
    ),
    "lone quote among others": Odd(
        f'id,size\n1,"a, b"\n{PIPES}10,"5 inch\n{PIPES}11,"c"\n',
        ["id int", "size string"],
        [(1, "a, b"), *INCHES, (10, "5 inch"), *INCHES, (11, "c")],
    ),
    "quotes over lines": Odd(
        'id;note\n1;"a\n\nb;""c"""\n2;"d\r\ne"\n', ["id int", "note string"], [(1, 'a\n\nb;"c"'), (2, "d\r\ne")]
    ),
    "one column over lines": Odd('text\n"a\nb"\nc\n"d\n\ne"\n', ["text string"], [("a\nb",), ("c",), ("d\n\ne",)]),
    "single quotes": Odd("a,b\n1,'x, y'\n2,'z'\n", ["a int", "b string"], [(1, "x, y"), (2, "z")]),
    "backslashes": Odd('a,b\n1,"say \\"a, b\\""\n2,"z"\n', ["a int", "b string"], [(1, 'say "a, b"'), (2, "z")]),
    "index of pandas": Odd(",a,b\n0,1,x\n1,2,y\n", ["_c0 int", "a int", "b string"], [(0, 1, "x"), (1, 2, "y")]),
    "index of words": Odd(
        ",a,b\nk,p,x\nl,q,y\n", ["_c0 string", "a string", "b string"], [("k", "p", "x"), ("l", "q", "y")]
    ),
    "ragged row": Odd("a,b,c\n1,2,3\n4,5\n6,7,8\n", ["a int", "b int", "c int"], [(1, 2, 3), (4, 5, None), (6, 7, 8)]),
    "footer": Odd(
        "a,b,c\n1,2,3\n4,5,6\n7,8,9\nTotal: 3\n",
        ["a string", "b int", "c int"],
        [("1", 2, 3), ("4", 5, 6), ("7", 8, 9), ("Total: 3", None, None)],
    ),
    "titles": Odd("Sales of 2026\nmade by ann\n\na;b\n1;2\n3;4\n", ["a int", "b int"], [(1, 2), (3, 4)]),
    "comments": Odd("# made by ann, bob\n#\na,b\n1,2\n# 5,6\n3,4\n", ["a int", "b int"], [(1, 2), (3, 4)]),
    "names with a sign of comments": Odd("#id,b\n1,2\n3,4\n", ["#id int", "b int"], [(1, 2), (3, 4)]),
    "decimal commas": Odd(
        "name;price\nx;1,50\ny;2,25\n", ["name string", "price string"], [("x", "1,50"), ("y", "2,25")]
    ),
    "header alone": Odd("a,b\n", ["a string", "b string"], []),
    "no header": Odd("x,1\ny,2\nx,3\n", ["_c0 string", "_c1 int"], [("x", 1), ("y", 2), ("x", 3)]),
    "rows of texts alone": Odd(
        "on,a\non,b\noff,a\n", ["_c0 string", "_c1 string"], [("on", "a"), ("on", "b"), ("off", "a")]
    ),
    "nothing": Odd("", ["_c0 string"], []),
    "blank lines": Odd("\n  \n", ["_c0 string"], []),
    "a separator at the end": Odd("a,b,\n1,2,\n3,4,\n", ["a int", "b int", "_c2 string"], [(1, 2, None), (3, 4, None)]),
    "a separator at the end of rows": Odd(
        "a,b,c\n1,2,3,\n3,4,5,\n", ["a int", "b int", "c int", "_c3 string"], [(1, 2, 3, None), (3, 4, 5, None)]
    ),
    "same names": Odd("a,A,a1, b \n1,2,3,4\n", ["a0 int", "a1 int", "a1_2 int", "b int"], [(1, 2, 3, 4)]),
    "carriage returns": Odd("a,b\r1,2\r3,4\r", ["a int", "b int"], [(1, 2), (3, 4)]),
    "mixed line ends": Odd('a,b\n1,x\r\n2,"y"\r\n3,z\n', ["a int", "b string"], [(1, "x"), (2, "y"), (3, "z")]),
    "NUL": Odd("a,b\n1,x\0y\n2,\0\n", ["a int", "b string"], [(1, "x\0y"), (2, "\0")]),
    "a long line": Odd(f"a,b\n1,{'x' * 3_000_000}\n2,y\n", ["a int", "b string"], [(1, "x" * 3_000_000), (2, "y")]),
    "a long header": Odd(f"a,{'b' * 300_000}\n1,2\n", ["a int", f"{'b' * 300_000} int"], [(1, 2)]),
    "blanks before quotes": Odd(
        'a, "b", "c"\n1,  "x, y", "z"\n2,  "z", "w"\n',
        ["a int", "b string", "c string"],
        [(1, "x, y", "z"), (2, "z", "w")],
    ),
    "lines of text": Odd(
        "first line, with a comma\nsecond; line\nthird\nfourth\nfifth, and\n",
        ["first line, with a comma string"],
        [("second; line",), ("third",), ("fourth",), ("fifth, and",)],
    ),
    "rows longer than the header": Odd("a,b\n1,2,3\n", ["a int", "b int", "_c2 int"], [(1, 2, 3)]),
    "a header longer than rows": Odd("a,b,c\n1,2\n3,4\n", ["a int", "b int", "c string"], [(1, 2, None), (3, 4, None)]),
    "tabs with commas": Odd("a\tb\n1,5\tx, y\n2,5\tz\n", ["a string", "b string"], [("1,5", "x, y"), ("2,5", "z")]),
}
TYPES = {
    "01234 56": "string",
    "0 7": "int",
    "+49123 +1": "string",
    "-0 1": "string",
    "2147483647 -2147483648": "int",
    "2147483648 1": "bigint",
    "9223372036854775808 1": "decimal(19,0)",
    f"{'9' * 39} 1": "string",
    "1.50 2": "double",
    "007.5 1.5": "string",
    ".5 1.5": "double",
    "5. 1.5": "string",
    "0.30000000000000004 1": "double",
    "12345678901234567.89 1.5": "decimal(19,2)",
    "9007199254740993 0.5": "decimal(17,1)",
    "9007199254740992 0.5": "double",
    "1e5 2e6": "string",
    "1e+05 2.5E-7": "double",
    "1e+400 1.5": "string",
    "NaN 1.5": "double",
    "NaN NaN": "string",
    "Infinity -Infinity": "string",
    "nan 1.5": "string",
    "2024-01-05 2024-02-29": "date",
    "2024-1-5 2024-01-06": "string",
    "2024-02-30 2024-01-06": "string",
    "2024-01-05T10:00:00Z 2024-01-05": "timestamp",
    "2024-01-05T10:00:00+02:00 2024-01-05": "string",
    "2024-01 2024-02": "string",
    "true false": "boolean",
    "TRUE False": "boolean",
    "t f": "string",
    "yes no": "string",
    "1_000 2": "string",
    "1,5 2": "string",
    "0x1F 2": "string",
}


def columns(context: sharkpy.SharkContext, relation: str) -> list[str]:
    with context.sql(f"SELECT * FROM {relation} LIMIT 0") as result:
        return [f"{field.name} {field.dtype}" for field in result.schema]


@pytest.mark.parametrize("name", FILES)
def test_files(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    odd = FILES[name]
    (tmp_path / "a.csv").write_bytes(odd.text.encode())
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbf" + odd.text.encode())
    with gzip.open(tmp_path / "c.csv.gz", "wb", compresslevel=1) as file:
        file.write(odd.text.encode())
    (tmp_path / "d.csv").write_bytes(odd.text.encode("utf-16"))
    for path in ("a.csv", "b.csv", "c.csv.gz", "d.csv"):
        relation = f"'{tmp_path}/{path}'"
        assert columns(context, relation) == odd.columns, path
        assert rows(context, f"SELECT * FROM {relation}") == odd.rows, path


@pytest.mark.parametrize("text", TYPES)
def test_types_give_back_their_texts(context: sharkpy.SharkContext, tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["k", "v"], *([n, value] for n, value in enumerate(text.split())), [2, " "], [3, ""]]
        )
    dtype = TYPES[text]
    assert columns(context, f"'{path}'") == ["k int", "v string"]
    path.write_text(path.read_text().replace('" "', "").replace("2, ", "2,"))
    assert columns(context, f"'{path}'") == ["k int", f"v {dtype}"]
    found = [str(value) for (value,) in rows(context, f"SELECT CAST(v AS STRING) FROM '{path}' ORDER BY k")]
    assert found[2:] == ["None", "None"]
    if dtype == "string":
        assert found[:2] == text.split()
    elif dtype == "double" or dtype.startswith("decimal"):
        assert [Decimal(value) for value in found[:2]] == [Decimal(value) for value in text.split()] or "NaN" in text


def test_instants(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,t\n1,2024-01-02T03:04:05.678Z\n")
    assert rows(context, f"SELECT t FROM '{tmp_path}/a.csv'") == [(datetime.datetime(2024, 1, 2, 3, 4, 5, 678000),)]


def test_a_quote_behind_the_lines_that_are_looked_at(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """One that is not closed takes no other line; line breaks in quotes stay otherwise."""
    path = tmp_path / "a.csv"
    lines = [f'{n},"note {n}"\n' for n in range(20_000)]
    for odd, count in (('x,"5 inch\n', 20_001), ('7,"two\nlines"\n', 20_001), ('8,"5" inch\n', 20_001)):
        path.write_text("n,note\n" + "".join(lines[:15_000]) + odd + "".join(lines[15_000:]))
        assert rows(context, f"SELECT count(*), count(DISTINCT note) FROM '{path}'") == [(count, count)], odd


def test_empty_files_among_others(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("")
    (tmp_path / "1.csv").write_text("a,b\n")
    (tmp_path / "2.csv").write_text("a,b\n1,x\n")
    (tmp_path / "3.csv").write_text("A,B,c\n2,y,z\n")
    (tmp_path / "4.csv.gz").write_bytes(gzip.compress(b""))
    assert columns(context, f"'{tmp_path}/*'") == ["a int", "b string", "c string"]
    assert sorted(rows(context, f"SELECT a, b, c FROM '{tmp_path}/*'")) == [(1, "x", None), (2, "y", "z")]
    (tmp_path / "5.csv").write_text("b,a\nz,3\n")
    with pytest.raises(SourceError, match=r"5\.csv.* has other columns"):
        rows(context, f"SELECT * FROM '{tmp_path}/*'")


def test_encodings(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    text = "name,n\nJosé,1\nЖ,2\n".replace("Ж", "ü")
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(SourceError, match=r"byte 10 of the CSV file .* is no UTF-8") as caught:
        rows(context, f"SELECT * FROM '{tmp_path}/a.csv'")
    assert "encoding = 'ISO-8859-1'" in str(caught.value.hint)
    for encoding in ("utf-16-le", "utf-16-be", "utf-16", "utf-32", "utf-8-sig"):
        (tmp_path / "b.csv").write_bytes(text.encode(encoding))
        assert rows(context, f"SELECT * FROM '{tmp_path}/b.csv'") == [("José", 1), ("ü", 2)], encoding


def test_archives(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "a.csv.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/a.csv", "a,b\n1,x\n2,y\n")
    assert rows(context, f"SELECT * FROM '{path}'") == [(1, "x"), (2, "y")]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.csv", "a,b\n")
    with pytest.raises(SourceError, match="has 2 files"):
        rows(context, f"SELECT * FROM '{path}'")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("b.csv", "a,b\n1,2\n")
    path.write_bytes(path.read_bytes().replace(b"1,2", b"1,3"))
    with pytest.raises(SourceError, match="CRC"):
        rows(context, f"SELECT * FROM '{path}'")
    path.write_bytes(b"a,b\n")
    with pytest.raises(SourceError, match="zip"):
        rows(context, f"SELECT * FROM '{path}'")


def test_lines_that_are_skipped_in_tables(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for name, end in (("a", "\n"), ("b", "\r\n"), ("c", "\r")):
        path = tmp_path / name / "x.csv"
        path.parent.mkdir()
        path.write_text(f'title "{end}{end}a,b{end}1,2{end}3,4{end}', newline="")
        for multi_line in ("true", "false"):
            options = f"header 'true', skip '2', inferSchema 'true', multiLine '{multi_line}'"
            context.sql("DROP TABLE IF EXISTS t").close()
            context.sql(f"CREATE EXTERNAL TABLE t USING csv OPTIONS ({options}) LOCATION '{path.parent}'").close()
            assert columns(context, "t") == ["a int", "b int"]
            assert rows(context, "SELECT * FROM t") == [(1, 2), (3, 4)], (name, multi_line)
