"""SET and RESET."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.commands.command import Command


@dataclass(frozen=True, slots=True)
class SetConf(Command):
    """SET key=value. SET key and SET without a key list settings."""

    key: str | None = None
    value: str | None = None
    verbose: bool = False

    @property
    def yields_rows(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class ResetConf(Command):
    key: str | None = None
