"""Files in which rows wait that programs have pushed: they go once all continuous tables of the stream have them."""

from __future__ import annotations

from pathlib import Path

from sharkpy.streaming.sources.folder import FolderReader


class SpoolReader(FolderReader):
    """Reader of a folder of the engine's own."""

    def release(self, end: int) -> None:
        if self._catalog.readers.is_read(self._stream.location or ""):
            return
        with self._lock:
            known = self._known or {}
            gone = [one for one in known.values() if one.number < end]
            if not gone:
                return
            for one in gone:
                Path(self._folder, one.name).unlink(missing_ok=True)
            with self._catalog.transaction():
                self._catalog.streams.forget_files(self._stream.table_id, [one.number for one in gone])
            self._known = {name: one for name, one in known.items() if one.number >= end}
