"""Settings in Hadoop's core-site.xml and hdfs-site.xml."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.secrets import Secret
from sharkpy.base.settings import HADOOP_CONF_DIR, Conf

_MOST_BYTES = 16 << 20
_FILES = ("hdfs-site.xml", "core-site.xml")
"""Files in order of precedence, as in Hadoop."""


def site_settings(owner: Conf) -> Mapping[str, Secret]:
    """Settings by name, from the files in `shark.hadoop.conf.dir` or HADOOP_CONF_DIR; empty if there are none.

    ConfigurationError for a file that cannot be read.
    """
    folder = owner.value(HADOOP_CONF_DIR) or os.environ.get("HADOOP_CONF_DIR")
    if not folder:
        return {}
    return ChainMap(*(_settings(Path(folder, name)) for name in _FILES))


def _settings(path: Path) -> dict[str, Secret]:
    try:
        status = path.stat()
        if status.st_size > _MOST_BYTES:
            raise ConfigurationError(f'"{path}" has more than {_MOST_BYTES >> 20} MB')
        return _parsed(path, status.st_mtime_ns, status.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigurationError(f'"{path}" cannot be read: {error.strerror}', sqlstate="58030") from None


@lru_cache(maxsize=8)
def _parsed(path: Path, modified_ns: int, size_bytes: int) -> dict[str, Secret]:  # noqa: ARG001 - the file's version
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        line, column = error.position
        raise ConfigurationError(f'"{path}" is no XML: line {line}, column {column}') from None
    pairs = ((_text(one, "name"), _text(one, "value")) for one in root.iter("property"))
    return {name: Secret(value) for name, value in pairs if name}


def _text(element: ElementTree.Element, tag: str) -> str:
    return (element.findtext(tag) or "").strip()
