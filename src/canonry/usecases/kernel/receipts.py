"""Receipts read: the one thing that a commit was made for, also when the call is a retry."""

from typing import Any, TypeVar

from canonry.domain.errors import Conflict
from canonry.domain.log.entries import Made, ThingDraft
from canonry.usecases.kernel.commit_change import Receipt

T = TypeVar("T", bound=ThingDraft)


def the_made(receipt: Receipt[Any], kind: type[T]) -> T:
    """The first draft of `kind` that the commit made a thing of.

    Raises:
        Conflict: `request.key-reused`, an earlier call with this idempotency key made nothing of
            the kind, or what it made was erased.
    """
    for entry in receipt.entries:
        if isinstance(entry, Made) and isinstance(entry.thing, kind):
            return entry.thing
    message = "what the earlier call with this idempotency key made is gone; use a new key"
    raise Conflict("request.key-reused", message)
