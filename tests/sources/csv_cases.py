"""Files of CSV, the statements that read and write them, and Spark's answers, which are on record.

`python -m tests.sources.csv_cases` asks Spark again and rewrites the record.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

RECORD = Path(__file__).with_suffix(".json")
Answer = list[list[str | None]]
Run = Callable[[str], pa.Table]


@dataclass(frozen=True)
class Case:
    """`content` of a file, and the table over it. Without `columns` the file has their names."""

    name: str
    content: bytes
    columns: str
    options: Mapping[str, str] = field(default_factory=dict)
    select: str = "*"
    suffix: str = ".csv"

    def answer(self, run: Run, folder: Path) -> Answer:
        """Rows as texts, sorted; without `columns` the rows of DESCRIBE come first."""
        place = folder / self.name
        place.mkdir(parents=True, exist_ok=True)
        (place / f"part-0{self.suffix}").write_bytes(self.content)
        table = f"csv_{self.name}"
        run(f"DROP TABLE IF EXISTS {table}")
        run(f"CREATE TABLE {table} {self.columns and f'({self.columns})'} {using(self.options)} LOCATION '{place}'")
        rows = texts(run(f"SELECT {self.select} FROM {table}"))
        if not self.columns:
            described = texts(run(f"DESCRIBE {table}"))
            return [row[:2] for row in described] + sorted(rows, key=str)
        return sorted(rows, key=str)


@dataclass(frozen=True)
class Write:
    """`values` that are written into a table of `columns`."""

    name: str
    columns: str
    values: str
    options: Mapping[str, str] = field(default_factory=dict)

    def answer(self, run: Run, folder: Path) -> Answer:
        """Rows that are read again."""
        place = folder / self.name
        place.mkdir(parents=True, exist_ok=True)
        table = f"csv_{self.name}"
        run(f"DROP TABLE IF EXISTS {table}")
        run(f"CREATE TABLE {table} ({self.columns}) {using(self.options)} LOCATION '{place}'")
        run(f"INSERT INTO {table} VALUES {self.values}")
        return sorted(texts(run(f"SELECT * FROM {table}")), key=str)


def using(options: Mapping[str, str]) -> str:
    pairs = ", ".join(f"{literal(key)} {literal(value)}" for key, value in options.items())
    return f"USING csv OPTIONS ({pairs})" if pairs else "USING csv"


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def texts(table: pa.Table) -> Answer:
    columns = [[_text(value) for value in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if hasattr(value, "tzinfo"):
        value = value.replace(tzinfo=None)
    return value.hex() if isinstance(value, bytes) else str(value)


AB = "a INT, b STRING"
ABC = "a STRING, b STRING, c STRING"
ROWS = b'1,"comma, here"\n2,plain\n3,\n4,""\n'
CASES = (
    Case("plain", ROWS, AB),
    Case("header", b"x,y\n" + ROWS, AB, {"header": "true"}),
    Case("header_behind_blanks", b"\n  \nx,y\n" + ROWS, AB, {"header": "true"}),
    Case("carriage_returns", ROWS.replace(b"\n", b"\r\n"), AB),
    Case("lone_carriage_returns", (b"x,y\n" + ROWS).replace(b"\n", b"\r"), AB, {"header": "true"}),
    Case("bom", b"\xef\xbb\xbf7,x\n", AB),
    Case("blank_lines", b"1,a\n\n   \n\t\n2,b\n", AB),
    Case("short_and_long_rows", b"1,a,b\n2\n3,c,d,e\n,,\n", ABC),
    Case("quotes_inside", b'a"b,c""d,e"\n"x"y,z,"q\n', ABC),
    Case("doubled_quotes_by_default", b'1,"a ""b"" c"\n2,"a ""b"", c"\n3,""""\n4,"x"""\n', AB),
    Case("doubled_quotes", b'1,"a ""b"" c"\n2,"a ""b"", c"\n3,""""\n4,"x"""\n5,""\n', AB, {"escape": '"'}),
    Case(
        "escaped_quotes",
        rb"""1,"a \"b\" c"
2,"back\\slash"
3,"end\\"
4,"\n \x"
5,un\"quoted\\
6,"a\"b,c"
""",
        AB,
    ),
    Case("no_escape", b'1,"a\\b"\n2,"a\\"\n', AB, {"escape": ""}),
    Case("other_quote", b"1,'a, b'\n2,\"c\"\n3,'it''s'\n4,'d\\'e'\n", AB, {"quote": "'"}),
    Case("no_quote", b'1,"a"\n2,"b\n', AB, {"quote": ""}),
    Case("blanks_behind_quotes", b'"a" ,"b"  x,"c"\n"a"\t,"","  "\n', ABC),
    Case("unclosed", b'1,"abc\n2,"x,y\n3,"\n4,"a"b,c"\n', AB),
    Case("semicolons", b"1;a;b\n", "a INT, b STRING, c STRING", {"sep": ";"}),
    Case("tabs", b'1\ta b\t"c\td"\n\t\t\n', ABC, {"delimiter": "\\t"}),
    Case("several_characters", b'1||a|b||"c||d"\n2||"q"x||\n', ABC, {"sep": "||"}),
    Case("blanks_kept", b'  1, a \n2,"  b " \n', "a STRING, b STRING"),
    Case("leading_blanks", b'  1, a \n 2, "  b " \n 3,  \n', AB, {"ignoreLeadingWhiteSpace": "true"}),
    Case("trailing_blanks", b'1 , a \n2 ,"  b " \n3,  \n', AB, {"ignoreTrailingWhiteSpace": "true"}),
    Case(
        "both_blanks",
        b' 1 , a \n 2 , "  b " \n3,  \n  \n',
        AB,
        {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
    ),
    Case("null_value", b'1,NA\n2,"NA"\n3,\n4,""\nNA,x\n', AB, {"nullValue": "NA"}),
    Case("empty_value", b'1,\n2,""\n3,none\n', AB, {"emptyValue": "none"}),
    Case("null_and_empty_value", b'1,\n2,""\n3,none\n4,-\n', AB, {"emptyValue": "none", "nullValue": "-"}),
    Case("comments", b'# one\n1,a\n#2,b\n 3,#c\n"#4",d\n', "a STRING, b STRING", {"comment": "#"}),
    Case("comments_before_header", b"# one\n #two\nx,y\n1,a\n", AB, {"comment": "#", "header": "true"}),
    Case("line_separator", b"1,a|2,b\nc|3,d", AB, {"lineSep": "|"}),
    Case("newlines_alone", b"1,a\r\n2,b\n", AB, {"lineSep": "\n"}),
    Case("latin", "1,grün\n2,é\n".encode("latin1"), AB, {"encoding": "ISO-8859-1"}),
    Case("charset", "1,grün\n".encode("latin1"), AB, {"charset": "ISO-8859-1"}),
    Case("utf16", '1,grün\n2,"a\nb"\n'.encode("utf-16"), AB, {"encoding": "UTF-16", "multiLine": "true"}),
    Case("invalid_utf8", b"1,a\xffb\n", AB),
    Case("compressed", gzip.compress(b"x,y\n" + ROWS), AB, {"header": "true"}, suffix=".csv.gz"),
    Case("multi_line", b'a,b\n1,"x\ny"\n2,"q\n\n, r"\n3,z\n\n4,""\n', AB, {"multiLine": "true", "header": "true"}),
    Case("multi_line_crlf", b'1,"x\r\ny"\r\n2,z\r\n', AB, {"multiLine": "true"}),
    Case("multi_line_escapes", b'1,"x\\"\ny"\n2,"z\\\\"\n3,"a"b\n4,c\n', AB, {"multiLine": "true"}),
    Case("multi_line_unclosed", b'1,"x\n2,y\n3,z', AB, {"multiLine": "true"}),
    Case("multi_line_blanks", b"1,a\n  \n2,b\n", ABC, {"multiLine": "true"}),
    Case("multi_line_comments", b'#x\n1,"a\n#b"\n#y\n2,c\n', AB, {"multiLine": "true", "comment": "#"}),
    Case("multi_line_doubled", b'1,"a ""b""\nc"\n2,""\n', AB, {"multiLine": "true", "escape": '"'}),
    Case(
        "integers",
        b"1,1,1,1\n+2,-2,+03,-0\n128,32768,2147483648,9223372036854775808\n1.0, 1,1 ,0x1\n-128,-32768,-2147483648,"
        b"-9223372036854775808\n1e2,a,,1L\n",
        "a TINYINT, b SMALLINT, c INT, d BIGINT",
    ),
    Case(
        "reals",
        b"1,1\n1.5,-2.5e3\nNaN,Inf\n-Inf,Infinity\n1f,1d\n .5 ,5.\n1e400,-1e400\n1_0,1e\nnan,inf\n",
        "a FLOAT, b DOUBLE",
    ),
    Case(
        "named_reals",
        b"x,y\nz,1\nNaN,Inf\n",
        "a DOUBLE, b FLOAT",
        {"nanValue": "x", "positiveInf": "y", "negativeInf": "z"},
    ),
    Case("decimals", b'1,1\n"1,234.5",1e3\n1.005,-.5\n1234567,1.\n 1,x\n', "a DECIMAL(6,2), b DECIMAL(20,3)"),
    Case("booleans", b"true,TRUE,False\n1,0,t\n true,yes,\n", "a BOOLEAN, b BOOLEAN, c BOOLEAN"),
    Case(
        "dates",
        b"2024-02-29,2024-1-2,2024\n2023-02-29,2024-13-01,2024-03\n 2024-01-01,2024-01-01 ,2024-01-01 10:00:00\n"
        b"2024-01-01T10,01/02/2024,20240101\nx,2024-01-01x,\n",
        "a DATE, b DATE, c DATE",
    ),
    Case(
        "timestamps",
        b"2024-02-29 10:11:12,2024-02-29T10:11:12.5,2024-02-29\n2024-01-02T03:04:05Z,2024-01-02 03:04:05+02:00,"
        b"2024-01-02T03:04:05.123456789\n2024-01-02 03:04,2024-1-2 3:4:5,2024\n2024-13-01 00:00:00,x,"
        b"2024-01-02 25:00:00\n"
        b"2024-01-02 03:04:05 Europe/Berlin,2024-01-02 03:04:05 UTC,2024-01\n",
        "a TIMESTAMP, b TIMESTAMP, c TIMESTAMP",
    ),
    Case(
        "date_format",
        b"29/02/2024,1\n2024-02-29,2\n1/2/2024,3\n01/02/2024x,4\n",
        "a DATE, b INT",
        {"dateFormat": "dd/MM/yyyy"},
    ),
    Case("short_date_format", b"29/2/2024,1\n01/02/2024,2\n", "a DATE, b INT", {"dateFormat": "d/M/yyyy"}),
    Case(
        "month_names",
        b"01 Feb 2024,1\n01 feb 2024,2\n01 February 2024,3\n",
        "a DATE, b INT",
        {"dateFormat": "dd MMM yyyy"},
    ),
    Case(
        "timestamp_format",
        b'"29.02.2024 10:11",1\n29.02.2024 10:11:12,2\n2024-01-01 00:00:00,3\n',
        "a TIMESTAMP, b INT",
        {"timestampFormat": "dd.MM.yyyy HH:mm[:ss]"},
    ),
    Case(
        "zone_format",
        b"2024-01-02 03:04:05+02:00,1\n2024-01-02 03:04:05Z,2\n",
        "a TIMESTAMP, b INT",
        {"timestampFormat": "yyyy-MM-dd HH:mm:ssXXX"},
    ),
    Case("permissive", b"1,2\nx,3\n4\n5,6,7\n", "a INT, b INT", {"mode": "PERMISSIVE"}),
    Case("drop_malformed", b"1,2\nx,3\n4\n5,6,7\n8,9\n", "a INT, b INT", {"mode": "DROPMALFORMED"}),
    Case(
        "corrupt_records",
        b'1,2\nx,"3"\n4\n5,6,7\n8,9\n',
        "a INT, _corrupt_record STRING, b INT",
    ),
    Case(
        "named_corrupt_records",
        b'a,b\n1,"x\ny"\nz,"x\ny"\n',
        "a INT, b STRING, bad STRING",
        {"columnNameOfCorruptRecord": "bad", "multiLine": "true", "header": "true"},
    ),
    Case("characters", b"abc,abc\nabcdef,abcdef\n", "a CHAR(4), b STRING"),
    Case("binary", "é,1\n,2\n".encode(), "a BINARY, b INT"),
    Case("one_column", b"1\n\n2\n  \nx\n", "a INT"),
    Case("count", b"x,y\n1,a\n2\n\n", AB, {"header": "true"}, select="count(*)"),
    Case("no_rows", b"", AB),
    Case("header_alone", b"a,b\n", AB, {"header": "true"}),
    Case("told_names", b"x,Y z,x,,\n1,2,3,4,5\n", "", {"header": "true"}),
    Case("no_names", b"1,a\n2,b\n", ""),
    Case(
        "told_types",
        b"i,l,d,w,s,n,b,t,day,m\n1,3000000000,1.5,99999999999999999999,a,,true,2024-01-02 03:04:05,2024-01-02,1\n"
        b"2,1,1e3,1,b,,FALSE,2024-01-02T03:04:05,2024-01-03,2.5\n",
        "",
        {"header": "true", "inferSchema": "true"},
    ),
    Case(
        "told_mixed_types",
        b"1,true,2024-01-02,2024-01-02 03:04:05,1,NaN\nx,1,1,2024-01-02,2024-01-02,1\n",
        "",
        {"inferSchema": "true"},
    ),
    Case("told_date_format", b"02/01/2024,1\n03/01/2024,2\n", "", {"inferSchema": "true", "dateFormat": "dd/MM/yyyy"}),
    Case("told_without_dates", b"2024-01-02,1\n", "", {"inferSchema": "true", "preferDate": "false"}),
    Case(
        "told_multi_line",
        b'# c\na,"b\nc"\n1,"x\ny"\n',
        "",
        {"inferSchema": "true", "header": "true", "multiLine": "true", "comment": "#"},
    ),
)
WRITES = (
    Write("written_texts", AB, r"""(1, 'a, b'), (2, 'q"x'), (3, NULL), (4, ''), (5, 'back\\slash, "'), (6, '"s')"""),
    Write("written_with_header", AB, "(1, 'a'), (2, 'b')", {"header": "true", "sep": ";"}),
    Write("written_nulls", AB, "(NULL, NULL), (1, 'NA'), (2, '')", {"nullValue": "NA", "emptyValue": "-"}),
    Write("written_lines", AB, r"""(1, 'a\nb'), (2, 'c\r\nd "e"')""", {"multiLine": "true", "escape": '"'}),
    Write(
        "written_types",
        "a TINYINT, b DOUBLE, c DECIMAL(10,3), d BOOLEAN, e DATE, f TIMESTAMP, g FLOAT",
        "(1, 1.5, 2.25, true, date '2024-01-02', timestamp '2024-01-02 03:04:05.25', 0.1), "
        "(NULL, double('NaN'), NULL, false, NULL, NULL, float('-Infinity'))",
    ),
    Write(
        "written_formats",
        "a DATE, b TIMESTAMP",
        "(date '2024-01-02', timestamp '2024-01-02 03:04:05')",
        {"dateFormat": "dd, MMM yyyy", "timestampFormat": "yyyy/MM/dd HH:mm:ss"},
    ),
    Write("written_compressed", AB, "(1, 'a'), (2, 'b')", {"compression": "gzip"}),
    Write("written_latin", AB, "(1, 'grün')", {"encoding": "ISO-8859-1"}),
    Write("written_quotes_everywhere", AB, "(1, 'a'), (2, NULL)", {"quoteAll": "true", "header": "true"}),
)


def answers(run: Run, folder: Path) -> dict[str, Answer]:
    return {case.name: case.answer(run, folder) for case in (*CASES, *WRITES)}


def spark_answers(folder: Path) -> dict[str, Answer]:
    from tests.slt.engines import SparkEngine

    engine = SparkEngine()
    engine.open()
    try:
        return answers(engine.run, folder)
    finally:
        engine.close()


def recorded() -> dict[str, Answer]:
    found: dict[str, Answer] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def _main() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = spark_answers(Path(folder))
    lines = (f"{json.dumps(name)}: {json.dumps(rows, ensure_ascii=False)}" for name, rows in found.items())
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    _main()
