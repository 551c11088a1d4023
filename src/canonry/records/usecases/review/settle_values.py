"""Settle values: one word says how all unclear values of a field in a source are read.

It is a correction of the user's, and what the source said stands beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from canonry.canon.session.account import Account, require_account, within_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.every_item import every_item
from canonry.canon.session.lookup import require
from canonry.canon.session.receipts import found_by
from canonry.log.entries import Entry, Made
from canonry.log.items.accounts import correction_id_of
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Source, SourceType
from canonry.log.keys import thing_key
from canonry.log.schemas.converting import Converted, convert
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.records.notation.reviewing import NOTATIONS
from canonry.records.usecases.review.list_unclear import Open, open_in
from canonry.records.usecases.source_of_words import source_of_words
from canonry.values.errors import InvalidInput
from canonry.values.ids import NewId
from canonry.values.json_values import canonical_json
from canonry.values.observations import (
    PRIORITY_CORRECTION,
    SPECIFICITY_STATED,
    Dated,
    ObservationDraft,
)
from canonry.values.provenance import Authority, Evidence, EvidenceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How many values were settled, and how many of the field could not be read that way."""

    settled: int
    left: int


async def settle_values(
    canon: Canon, caller: Caller, user_id: str | None, *, source_id: str, name: str, notation: str
) -> Settled:
    """Read all open values of a field that a source gave by this notation, and let them stand.

    Raises:
        InvalidInput: `user.mismatch` or `review.notation`.
        NotFound: `source.unknown`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)
    if notation not in NOTATIONS:
        message = f"a value is read by one of {', '.join(NOTATIONS)}"
        raise InvalidInput("review.notation", message, path="/read_as")
    given = await require(canon, inner, Source, source_id)

    async def prepare(new_id: NewId) -> Change[Settled]:
        del new_id  # the ids follow from what is said
        about = await _about(canon, account, given)
        waiting = [
            each
            for each in await open_in(canon, account, about)
            if each.unclear.spec.name == name and each.observation.source_id == given.id
        ]
        fitting = [each for each in waiting if notation in each.unclear.readings]
        reads = frozenset(map(thing_key, (given.id, *(each.id for each in about))))
        done = Settled(settled=len(fitting), left=len(waiting) - len(fitting))
        entries = tuple(_entries(account, given, fitting, name, notation)) if fitting else ()
        return Change(entries=entries, reads=reads, found=done)

    receipt = await commit_change(canon, inner, account.space, prepare)
    found = await found_by(receipt, prepare)
    settled = len(receipt.made(ObservationDraft))
    return found if receipt.found is not None else replace(found, settled=settled)


async def _about(canon: Canon, account: Account, given: Source) -> list[Entity]:
    """The entities that a source speaks of, as their survivors."""
    ids: set[str] = set()

    async def page(limit: int, offset: int) -> Any:
        return await canon.state.observations_from(given.id, limit=limit, offset=offset)

    async for each in every_item(page):
        if each.space == account.space and each.fragments:
            ids.add(each.entity_id)
    roots = await canon.within(account.space).roots(ids)
    return list({each.id: each for each in roots.values()}.values())


def _entries(
    account: Account, given: Source, fitting: Sequence[Open], name: str, notation: str
) -> Sequence[Entry]:
    told = {each.observation.id: each.unclear.readings[notation] for each in fitting}
    said = {"source_id": given.id, "field": name, "read_as": notation, "values": told}
    content = canonical_json({"settled": said})
    source = source_of_words(account, SourceType.CORRECTION, content)
    cited = tuple(Evidence(kind=EvidenceKind.SOURCE, ref=ref) for ref in (source.id, given.id))
    return [Made(thing=source), *(Made(thing=_settled(each, notation, cited)) for each in fitting)]


def _settled(each: Open, notation: str, cited: tuple[Evidence, ...]) -> ObservationDraft:
    """The user's word for one value, which goes before what the source left open."""
    spec, value = each.unclear.spec, each.unclear.readings[notation]
    entity_id = each.observation.entity_id
    return ObservationDraft(
        id=correction_id_of(entity_id, spec.name, value, each.observation.id),
        space=each.entity.space,
        entity_id=entity_id,
        fields={PROPERTY_PREFIX + spec.name: value},
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=cited,
        observed_at=None,
        correction=True,
        priority=PRIORITY_CORRECTION,
        specificity=SPECIFICITY_STATED,
        schema_version=each.schema_version,
        dates=_dates(each, value),
    )


def _dates(each: Open, value: Any) -> Mapping[str, Dated]:
    spec, converted = each.unclear.spec, convert(value, each.unclear.spec)
    if spec.event_type is None or not isinstance(converted, Converted) or not converted.instant:
        return {}
    event = Dated(event_type=spec.event_type, instant=converted.instant, policy=spec.policy)
    return {spec.name: event}
