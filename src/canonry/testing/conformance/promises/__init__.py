"""The promises of each port, one file a port; each has a proof in the contract of the same name."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One observable promise and the reason why it is made."""

    promise: str
    because: str
