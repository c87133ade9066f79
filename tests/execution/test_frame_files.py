"""Frames and held rows that go through files: the same bytes, and nothing left behind."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.execution.stages import stage_outputs
from sharkpy.execution.stages.stage_outputs import buffer_rows
from sharkpy.execution.workers import frames
from sharkpy.execution.workers.frames import FrameBuffer, FrameList, receive_frame, remove_frames, send_frame

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])


@settings(deadline=None)
@given(frames=st.lists(st.binary(min_size=1, max_size=200)), limit=st.integers(0, 600))
def test_frames_beyond_the_limit(tmp_path_factory: pytest.TempPathFactory, frames: list[bytes], limit: int) -> None:
    folder = tmp_path_factory.mktemp("frames")
    buffer = FrameBuffer(limit, str(folder))
    for frame in frames:
        buffer.append(frame)
    assert bool(list(folder.iterdir())) == (sum(map(len, frames)) > limit)
    found = buffer.frames()
    buffer.close()
    assert [frame.to_pybytes() for frame in found] == frames
    assert list(folder.iterdir()) == []


def test_a_buffer_given_up_leaves_no_file(tmp_path: Path) -> None:
    buffer = FrameBuffer(0, str(tmp_path))
    buffer.append(b"abc")
    buffer.close()
    assert list(tmp_path.iterdir()) == []


@given(frames=st.lists(st.binary(max_size=200)), limit=st.integers(0, 600))
def test_each_frame_is_reported_or_yielded(frames: list[bytes], limit: int) -> None:
    kept = FrameList(limit)
    yielded = [bytes(sent) for frame in frames for sent in kept.add(frame)]
    assert kept.frames == (tuple(frames) if limit and sum(map(len, frames)) <= limit else None)
    assert yielded == (frames if kept.frames is None else [])


@pytest.mark.parametrize("size", [8, 100, frames.FILE_BYTES, frames.FILE_BYTES + 1, 3 << 20])
def test_a_result_is_received_as_it_was_sent(tmp_path: Path, size: int) -> None:
    frame = pa.py_buffer(struct.pack("<q", 5) + bytes(range(256)) * (size // 256) + bytes(size % 256))
    sent = send_frame(frame, str(tmp_path / "results"), "1-")
    assert (len(sent) < 1000) == (size < 1000 or size >= frames.FILE_BYTES)
    assert struct.unpack_from("<q", sent) == (5,)
    received = receive_frame(pa.py_buffer(sent))
    assert received.equals(frame)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_without_a_folder_or_room_a_result_is_the_frame_itself(tmp_path: Path) -> None:
    frame = pa.py_buffer(bytes(2 * frames.FILE_BYTES))
    assert send_frame(frame, "", "1-") is frame
    (tmp_path / "file").touch()
    assert send_frame(frame, str(tmp_path / "file" / "results"), "1-") is frame


def test_what_was_not_received_is_removed_by_its_run(tmp_path: Path) -> None:
    frame = pa.py_buffer(bytes(2 * frames.FILE_BYTES))
    send_frame(frame, str(tmp_path), "1-")
    send_frame(frame, str(tmp_path), "12-")
    remove_frames(str(tmp_path), "1-")
    assert [path.name[:3] for path in tmp_path.iterdir()] == ["12-"]


@pytest.mark.parametrize("limit", [1, 1000, 1 << 20])
def test_rows_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(stage_outputs, "BUFFERED_BYTES", limit)
    made: list[Path] = []
    monkeypatch.setattr(stage_outputs, "map_once", lambda path: made.append(path) or frames.map_once(path))
    table = pa.table({"a": range(5000), "b": [f"text {i}" for i in range(5000)]}, schema=SCHEMA)
    payload, count = buffer_rows(9, SCHEMA, iter(table.to_batches(max_chunksize=700)), tmp_path)
    assert count == 5000
    assert bool(made) == (limit < 1 << 20)
    assert struct.unpack_from("<q", payload) == (9,)
    assert pa.ipc.open_stream(payload.slice(8)).read_all().equals(table)
    assert list(tmp_path.iterdir()) == []
    assert buffer_rows(9, SCHEMA, [], tmp_path)[1] == 0
