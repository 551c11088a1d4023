"""Receipts read: what a commit was made for, also when the call is a retry."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Prepare, Receipt, answered
from canonry.log.entries import Made, ThingDraft
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId, derived_id

T = TypeVar("T", bound=ThingDraft)
F = TypeVar("F")


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


async def made_before(canon: Canon, caller: Caller, space: SpaceId, kind: type[T]) -> Sequence[T]:
    """The drafts of `kind` that an earlier sending of this request made; none: it did not.

    A step that looks at what it changes itself asks this first, so that a retry goes on from it.

    Raises:
        Conflict: `request.key-reused`.
    """
    known = await answered(canon, caller, space)
    made = () if known is None else (e.thing for e in known.entries if isinstance(e, Made))
    return [each for each in made if isinstance(each, kind)]


async def found_by(receipt: Receipt[F], prepare: Prepare[F]) -> F:
    """What preparing found; a retry looks again, at what the earlier call has left."""
    if receipt.found is not None:
        return receipt.found
    return (await prepare(partial(derived_id, receipt.commit_id))).found
