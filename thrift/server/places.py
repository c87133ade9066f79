"""Places that clients take on a server, such as sessions: limits for all clients and for one client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sharkpy.base.errors import ResourceError
from sharkpy.thrift.operation import too_many

ADMIN_PLACES = 10
"""Places of administrators beyond the limit for all clients."""
_RESERVED_PART = 10
_FEW_PART = 100


@dataclass(frozen=True, slots=True)
class Holder:
    """Client that takes a place. A login has checked the name of an administrator."""

    user: str
    address: str
    is_admin: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """Limits on places of a kind, for all clients, for one user and for one address. 0 means no limit.

    The last tenth is for clients that have few places, so that no user can take all places from several addresses.
    """

    name: str
    """Name of the limit for all clients, as in the configuration."""
    text: str
    most: int
    of_user: int = 0
    of_address: int = 0
    parts_name: str = ""
    """First word of the names of the limits for a user and for an address, if it differs from `name`."""

    def refusal(self, holder: Holder, taken: Iterable[Holder]) -> tuple[str, ResourceError] | None:
        """Return the limit that keeps a client from one more place in addition to `taken`, with its error, or None."""
        held = list(taken)
        if holder.is_admin:
            is_full = bool(self.most) and len(held) >= self.most + ADMIN_PLACES
            return (self.name, too_many(self.text, self.most)) if is_full else None
        if self.most and len(held) >= self.most:
            return self.name, too_many(self.text, self.most)
        users, addresses = Counter(one.user for one in held), Counter(one.address for one in held)
        prefix = self.parts_name or self.name
        if self.of_user and users[holder.user] >= self.of_user:
            return f"{prefix}_per_user", too_many(f"{self.text} of a user ({holder.user})", self.of_user)
        if self.of_address and addresses[holder.address] >= self.of_address:
            return f"{prefix}_per_address", too_many(f"{self.text} of an address ({holder.address})", self.of_address)
        return self._reserved(max(users[holder.user], addresses[holder.address]), len(held))

    def _reserved(self, num_own: int, num_taken: int) -> tuple[str, ResourceError] | None:
        few = max(1, self.most // _FEW_PART)
        if not self.most or num_taken < self.most - self.most // _RESERVED_PART or num_own < few:
            return None
        message = f"the server keeps its last {self.text} for users and addresses that have fewer than {few}"
        return self.name, ResourceError(message, hint="close some, or try again later", sqlstate="53300")
