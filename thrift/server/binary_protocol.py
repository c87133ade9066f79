"""The server's binary protocol: the compiled codec with strict and old headers, limits, and tolerance for bad text."""

from __future__ import annotations

from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

CONTAINER_LENGTH = 1 << 20
"""Most elements of a list, set or map: the codec allocates memory for all of them before it reads the first."""

NAME_BYTES = 256
"""Most bytes of the name of a call."""


class Protocol(TBinaryProtocolAccelerated):  # type: ignore[misc]
    """Reader and writer of messages over `transport`, whose `limit` bounds the bytes that one message may claim.

    1. Text that is not UTF-8 is read with replacement characters, so that the call still works.
    2. A string or container longer than the limit is refused before memory is allocated for it.
    3. Structures nested deeper than 64 levels are refused, both known and skipped ones.
    4. Answers have strict headers, which every client reads.
    """

    def __init__(self, transport: Any) -> None:
        limit = getattr(transport, "limit", CONTAINER_LENGTH)
        super().__init__(
            transport, string_length_limit=limit, container_length_limit=min(limit, CONTAINER_LENGTH), fallback=False
        )

    def readMessageBegin(self) -> tuple[str, int, int]:  # noqa: N802
        header = self.readI32()
        if header < 0:
            if header & self.VERSION_MASK != self.VERSION_1:
                raise TProtocolException(TProtocolException.BAD_VERSION, "the message has no known version")
            kind, name = header & self.TYPE_MASK, self._name(self.readI32())
        else:
            name, kind = self._name(header), self.readByte()
        return name, kind, self.readI32()

    def _name(self, size: int) -> str:
        self._check_length(NAME_BYTES, size)
        return str(self.trans.readAll(size), "utf-8", "replace")

    def readString(self) -> str:  # noqa: N802
        return str(self.readBinary(), "utf-8", "replace")

    def skip(self, ttype: int, max_depth: int = 64) -> None:
        if ttype == TType.STRUCT:
            self._fast_decode(_Nothing(), self, [_Nothing, _Nothing.thrift_spec])
        else:
            super().skip(ttype, max_depth)


class _Nothing:
    """Struct without fields: reading it skips all fields that are sent, in the compiled codec."""

    thrift_spec: tuple[Any, ...] = ()


def exception_message(
    text: str, *, kind: int = TApplicationException.INTERNAL_ERROR, name: str = "", sequence: int = 0
) -> bytes:
    """Return an answer that makes a client raise `text`. If the call is not known, its name may be empty."""
    buffer = TMemoryBuffer()
    protocol = Protocol(buffer)
    protocol.writeMessageBegin(name, TMessageType.EXCEPTION, sequence)
    TApplicationException(kind, text).write(protocol)
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())
