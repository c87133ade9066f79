"""Nexmark's queries as continuous tables, over the events of `auctions`: their texts are files of `bench/queries`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.streaming.auctions import KINDS

if TYPE_CHECKING:
    import sharkpy

_FOLDER = Path(__file__).parents[1] / "queries" / "nexmark"
_CLAUSES = "-- clauses: "
MARK = "WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS"


@dataclass(frozen=True, slots=True)
class Query:
    """A query of Nexmark; `clauses` belong to its continuous table."""

    name: str
    clauses: str
    text: str

    @property
    def batch(self) -> str:
        """The query over tables of all events. That of the time of reading asks how many bids there are in all."""
        found = re.sub(r"\b(FROM|JOIN) (person|auction|bid)\b", r"\1 all_\2", self.text)
        return found if self.name != "q12" else "SELECT bidder, count(*) AS bids FROM all_bid GROUP BY bidder"

    @property
    def answer(self) -> str:
        """Query of the table's rows that are compared with the rows of `batch`."""
        if self.name == "q12":
            return f"SELECT bidder, sum(bids) AS bids FROM {self.name} GROUP BY bidder"
        return f"SELECT * FROM {self.name}"


def queries() -> list[Query]:
    """All queries, by their numbers."""
    return [_query(path) for path in sorted(_FOLDER.glob("*.sql"))]


def _query(path: Path) -> Query:
    lines = path.read_text().splitlines()
    clauses = [line.removeprefix(_CLAUSES) for line in lines if line.startswith(_CLAUSES)]
    return Query(path.stem, " ".join(clauses), "\n".join(line for line in lines if not line.startswith("--")))


def make_streams(context: sharkpy.SharkContext, folder: Path, files: int = 10_000) -> None:
    """Make a stream of each kind of events, of which an epoch takes so many files; tables of the same events; and the
    table that bids are joined with.
    """
    for kind, columns in KINDS.items():
        place = folder / kind
        source = f"FROM FOLDER '{place}' ('max.files.per.epoch' = '{files}')"
        context.sql(f"CREATE STREAM {kind} ({columns}, {MARK}) STORED AS PARQUET {source}").close()
        context.sql(f"CREATE EXTERNAL TABLE all_{kind} ({columns}) STORED AS PARQUET LOCATION '{place}'").close()
    text = "SELECT id AS key, concat('value ', id) AS value FROM range(10000)"
    context.sql(f"CREATE TABLE side_input AS {text}").close()
