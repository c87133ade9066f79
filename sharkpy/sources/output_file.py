"""New data files: written under a hidden name, and renamed when they are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from sharkpy.sources.failures import io_error


@contextmanager
def output_file(path: str) -> Iterator[BinaryIO]:
    """A binary file that appears at `path` if the body succeeds, and does not exist if it fails.

    SourceError for errors of the operating system, ResourceError 53100 if the disk is full.
    """
    temporary = Path(path).with_name(f".{Path(path).name}.writing")
    try:
        with open(temporary, "w+b") as file:
            yield file
        temporary.rename(path)
    except (OSError, pa.ArrowException) as error:
        _remove(temporary)
        if isinstance(error, OSError):
            raise io_error(error, path) from None
        raise
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
