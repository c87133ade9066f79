"""The server's protocol: headers, bytes that are not text, false lengths, and structures without end."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer, TTransportException

from sharkpy.thrift.binary_protocol import Protocol, exception_message
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.transport.messages import Frame


def text(value: bytes) -> bytes:
    return struct.pack("!i", len(value)) + value


@pytest.mark.parametrize(
    "header",
    [b"\x80\x01\0\x01" + text(b"GetInfo") + b"\0\0\0\x07", text(b"GetInfo") + b"\x01" + b"\0\0\0\x07"],
    ids=["strict", "old"],
)
def test_both_forms_of_header_are_read(header: bytes) -> None:
    assert Protocol(Frame(header)).readMessageBegin() == ("GetInfo", TMessageType.CALL, 7)


@pytest.mark.parametrize(
    "header",
    [
        b"\x80\x02\0\x01" + text(b"GetInfo") + b"\0\0\0\x07",
        text(b"x" * 257) + b"\x01\0\0\0\x07" + b"\0" * 300,
        b"\x80\x01\0\x01\x7f\xff\xff\xff",
        b"\x80\x01\0\x01\xff\xff\xff\xff",
    ],
    ids=["version", "long name", "huge name", "negative name"],
)
def test_headers_that_are_none_are_refused(header: bytes) -> None:
    with pytest.raises((TProtocolException, TTransportException)):
        Protocol(Frame(header)).readMessageBegin()


def test_text_that_is_not_utf8_is_read() -> None:
    request = b"\x08\0\x01\0\0\0\x05" + b"\x0b\0\x02" + text(b"\xff\xfea") + b"\0"
    read = ttypes.TOpenSessionReq()
    read.read(Protocol(Frame(request)))
    assert read.username == "\ufffd\ufffda"
    assert Protocol(Frame(text(b"\xff"))).readString() == "\ufffd"
    assert Protocol(Frame(text(b"\xff\xfe") + b"\x01\0\0\0\0")).readMessageBegin()[0] == "\ufffd\ufffd"


@pytest.mark.parametrize("start", range(0, 256, 16))
def test_an_unknown_call_with_a_handle_of_any_bytes_is_skipped(start: int) -> None:
    guid = text(bytes(range(start, start + 16)))
    frame = Frame(b"\x0c\0\x01\x0c\0\x01\x0b\0\x01" + guid + b"\x0b\0\x02" + guid + b"\0\0\0" + b"rest")
    Protocol(frame).skip(TType.STRUCT)
    assert frame.read(10) == b"rest"


@pytest.mark.parametrize(
    "field",
    [
        b"\x0f\0\x01\x02\x7f\xff\xff\xff",  # a list
        b"\x0e\0\x01\x0b\x7f\xff\xff\xff",  # a set
        b"\x0d\0\x04\x0b\x0b\x7f\xff\xff\xff",  # the map of TOpenSessionReq
        b"\x0b\0\x02\x7f\xff\xff\xff",  # its user
        b"\x0b\0\x02\xff\xff\xff\xff",
    ],
)
def test_no_room_is_made_for_what_a_length_claims(field: bytes) -> None:
    message = b"\x08\0\x01\0\0\0\x05" + field + b"x" * 100
    refused = (EOFError, TTransportException, TProtocolException, ValueError, OverflowError, TypeError)
    tracemalloc.start()
    try:
        with pytest.raises(refused):
            ttypes.TOpenSessionReq().read(Protocol(Frame(message)))
        with pytest.raises(refused):
            Protocol(Frame(message)).skip(TType.STRUCT)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "message",
    [b"\x0c\0\x09" * 100_000, b"\x0f\0\x09" + b"\x0f\0\0\0\x01" * 100_000],
    ids=["structs", "lists"],
)
def test_deep_nesting_ends_in_an_error(message: bytes) -> None:
    with pytest.raises(TProtocolException, match="depth"):
        Protocol(Frame(message)).skip(TType.STRUCT)
    with pytest.raises(TProtocolException, match="depth"):
        ttypes.TOpenSessionReq().read(Protocol(Frame(message)))


def test_an_exception_says_its_text_to_a_plain_client() -> None:
    protocol = TBinaryProtocol(TMemoryBuffer(exception_message("no é", name="GetInfo", sequence=4)))
    assert protocol.readMessageBegin() == ("GetInfo", TMessageType.EXCEPTION, 4)
    error = TApplicationException()
    error.read(protocol)
    assert (error.message, error.type) == ("no é", TApplicationException.INTERNAL_ERROR)


def test_a_known_list_has_a_limit_before_its_elements_are_read() -> None:
    claim = b"\x0f\0\x05\x0b\x00\x20\x00\x00"  # two million table types
    frame = Frame(claim + b"\0" * 3_000_000)
    with pytest.raises((TTransportException, TProtocolException, ValueError, OverflowError, TypeError)):
        ttypes.TGetTablesReq().read(Protocol(frame))
