"""Settings given on the command line."""

from __future__ import annotations

import argparse

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.settings import HIVE, METASTORE, METASTORE_URIS


def session_settings(options: argparse.Namespace) -> dict[str, str]:
    """Settings given by `--set`, `--hivevar` and `--metastore`."""
    settings = dict(map(_setting, options.set))
    settings |= {f"hivevar:{key}": value for key, value in map(_setting, options.hivevar)}
    if options.metastore is None:
        return settings
    if options.metastore.startswith("thrift://"):
        return settings | {METASTORE.key: HIVE, METASTORE_URIS.key: options.metastore}
    return settings | {METASTORE.key: options.metastore}


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f'"{text}" is not a setting', hint="write --set key=value", sqlstate="22023")
    return key.strip(), value.strip()
