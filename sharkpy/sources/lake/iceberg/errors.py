"""Failures of pyiceberg as the engine's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg import exceptions
from thrift.transport.TTransport import TTransportException

from sharkpy.base.errors import ExecutionError, SharkError, SourceError, TableChangedError, TableNotFoundError
from sharkpy.sources.failures import first_line

_MISSING = (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError)
_CONFLICTS = (exceptions.CommitFailedException, exceptions.ValidationException)


@contextmanager
def iceberg_failures(table: str) -> Iterator[None]:
    """Raise a failure of the body as a SharkError that names the table."""
    try:
        yield
    except SharkError:
        raise
    except _MISSING:
        raise TableNotFoundError(f"Iceberg's catalog has no table for {table}") from None
    except _CONFLICTS as error:
        raise TableChangedError(f"others have changed {table} at the same time: {first_line(error)}") from None
    except TTransportException as error:
        message = f"the Hive metastore that has {table} does not answer: {first_line(error)}"
        raise SourceError(message, sqlstate="08006") from None
    except OSError as error:
        raise SourceError(f"the metadata of {table} cannot be read or written: {first_line(error)}") from None
    except Exception as error:
        raise ExecutionError(f"Iceberg failed with {table}: {first_line(error)}") from error
