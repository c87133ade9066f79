"""No function takes more than two seconds or a gigabyte, whatever its arguments: an answer, or an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sharkpy.udf import registry
from tests.udf import huge_arguments


def _ended_well(*options: str) -> None:
    command = [sys.executable, "-m", huge_arguments.__name__, *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    assert "0 wrong" in result.stdout


def test_every_function_is_called() -> None:
    names = {row.name for row in registry.built_in()}
    assert len(names) > 350
    assert all(list(huge_arguments.calls(row, is_thorough=True)) for row in registry.built_in())


@pytest.mark.slow
def test_huge_arguments() -> None:
    _ended_well("--few")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_huge_arguments_of_all_kinds() -> None:
    _ended_well("--thorough")
