"""Kinds of continuous sinks: what stands behind TO in CREATE CONTINUOUS SINK, and the options that each takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.catalog import kafka_options as kafka
from sharkpy.catalog.stream_options import StreamOption, check_options
from sharkpy.catalog.virtual_columns import KEY

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table


@dataclass(frozen=True, slots=True)
class SinkKind:
    """Kind of sinks.

    1. `place`: what its text in quotes is; empty if it takes none.
    2. `seconds`: time between two epochs of a sink without TRIGGER.
    3. `takes_format`: its rows go out in a format that the statement may name.
    4. `taker`: a function of a process takes its rows, and it runs where that is: whose it is; empty for others.
    5. `why_kept`: why epochs that were written cannot be written anew.
    6. `takes_changes`: EMIT UPDATE may give it groups that have changed; in `key`, if there is one, the query has to
       have a column that tells them apart.
    """

    name: str
    place: str = ""
    options: tuple[StreamOption, ...] = ()
    seconds: float = 0.0
    takes_format: bool = True
    taker: str = ""
    why_kept: str = ""
    takes_changes: bool = True
    key: str = ""

    def check(self, options: Iterable[tuple[str, str]]) -> None:
        """BindError for an unknown option, a value that cannot be obeyed, or a missing option."""
        check_options(f"TO {self.name}", self.options, options)


# A minute: its files are not folded, and so must not be tiny.
FOLDER = SinkKind("FOLDER", "a path", seconds=60.0, why_kept="others may have read its files", takes_changes=False)
KAFKA = SinkKind(
    "KAFKA",
    options=(
        StreamOption(kafka.SERVERS, "", kafka.is_address_list, "the brokers' hosts and ports", is_needed=True),
        StreamOption(kafka.TOPIC, "", bool, "the name of the topic", is_needed=True),
        StreamOption(kafka.ZONE, "", kafka.is_zone, "zone of the times of records; the session's by default"),
        *(StreamOption(kafka.CLIENT_PREFIX + one.name, "", lambda _: True, one.doc) for one in kafka.PRODUCER_OPTIONS),
    ),
    why_kept="others may have read its records",
    key=KEY,
)
PROGRAM = SinkKind("PROGRAM", takes_format=False, taker="its program", why_kept="its program has had their rows")
CONSOLE = SinkKind("CONSOLE", takes_format=False, taker="a shell", why_kept="a shell has shown their rows")
SINK_KINDS = {kind.name: kind for kind in (CONSOLE, FOLDER, KAFKA, PROGRAM)}


def sink_kind(sink: Table) -> SinkKind:
    """Kind of a continuous sink."""
    return FOLDER if sink.sink is None else SINK_KINDS[sink.sink.kind]
