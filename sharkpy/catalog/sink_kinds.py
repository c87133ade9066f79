"""Kinds of continuous sinks: the words after TO in CREATE CONTINUOUS SINK, and the options of each."""

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
    """A kind of sinks.

    1. `place`: the meaning of its quoted text; empty if it takes none.
    2. `seconds`: time between two epochs of a sink without TRIGGER.
    3. `takes_format`: its rows are written in a format that the statement may name.
    4. `taker`: the owner of a function that takes the rows in a process; the sink runs in that process. Empty for other
       kinds.
    5. `why_kept`: why written epochs cannot be written again.
    6. `takes_changes`: EMIT UPDATE may send it changed groups. If it has a `key`, the query needs a column that
       identifies them.
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
        """Raise BindError for an unknown option, an unsupported value, or a missing option."""
        check_options(f"TO {self.name}", self.options, options)


# A minute: the files of this sink are not compacted, so they must not be tiny.
FOLDER = SinkKind(
    "FOLDER", "a path", seconds=60.0, why_kept="its files may have been read already", takes_changes=False
)
KAFKA = SinkKind(
    "KAFKA",
    options=(
        StreamOption(kafka.SERVERS, "", kafka.is_address_list, "the brokers' hosts and ports", is_needed=True),
        StreamOption(kafka.TOPIC, "", bool, "the name of the topic", is_needed=True),
        StreamOption(kafka.ZONE, "", kafka.is_zone, "zone of the times of records; the session's by default"),
        *(StreamOption(kafka.CLIENT_PREFIX + one.name, "", lambda _: True, one.doc) for one in kafka.PRODUCER_OPTIONS),
    ),
    why_kept="its records may have been read already",
    key=KEY,
)
PROGRAM = SinkKind(
    "PROGRAM", takes_format=False, taker="its program", why_kept="its program has received the rows already"
)
CONSOLE = SinkKind("CONSOLE", takes_format=False, taker="a shell", why_kept="a shell has shown the rows already")
SINK_KINDS = {kind.name: kind for kind in (CONSOLE, FOLDER, KAFKA, PROGRAM)}


def sink_kind(sink: Table) -> SinkKind:
    """Return the kind of a continuous sink."""
    return FOLDER if sink.sink is None else SINK_KINDS[sink.sink.kind]
