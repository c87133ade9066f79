"""An engine of SQLAlchemy over a small warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

registry.register("sharkpy", "sharkpy.sqlalchemy", "SharkDialect")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"sharkpy://{tmp_path}/w?master=local[2]")
    yield made
    made.dispose()
