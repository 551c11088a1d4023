"""Restate a run: what an interpreter once read out of a file is said again, as the last word.

Nothing is interpreted anew, so that whoever brings an old file again needs no quota, and a language
model cannot change its mind.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.domain.ids import EntityId, NewId, ObservationId
from canonry.domain.json_values import encode_json
from canonry.domain.log.entries import Made
from canonry.domain.log.keys import thing_key
from canonry.domain.observations import Observation, ObservationDraft
from canonry.domain.revising import narrowed
from canonry.domain.things.entities import Entity
from canonry.domain.truth.runs import RunDraft
from canonry.domain.vocabularies.narrative_fields import NAME, PROPERTY_PREFIX
from canonry.ports.views.pages import PAGE_MAX
from canonry.usecases.kernel.account import Account, within_account
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.sight import Sight
from canonry.usecases.truth.earlier_statements import is_news, last_words_of

_NAMES: Final = frozenset((NAME, f"{PROPERTY_PREFIX}name"))
_NONE: Final = Change(entries=(), reads=frozenset())


async def restate_run(canon: Canon, caller: Caller, account: Account, run: RunDraft) -> int:
    """Say again what the run says of entities of which somebody has said otherwise since.

    How many observations were added; none where all of it still stands as the last word.
    """

    async def prepare(new_id: NewId) -> Change:
        stated = [each async for each in _stated(canon, account, run)]
        own = canon.within(account.space)
        entities, roots = await _known(own, [each.entity_id for each in stated])
        fields: dict[EntityId, dict[str, Any]] = {}
        for each in stated:
            if each.entity_id in entities:
                fields.setdefault(each.entity_id, {}).update(each.fields)
        last = await last_words_of(canon, entities.values(), roots.values())
        news = {i for i, f in fields.items() if is_news(entities[i], roots[i], f, last, None)}
        again = [each for each in stated if each.entity_id in news]
        if not again:
            return _NONE
        reads = {*entities, *(each.id for each in roots.values())}
        # Of several that are seen at one instant the one with the greatest id came last.
        ids = sorted(new_id(f"observation:{number}") for number in range(1, len(again) + 1))
        made = (
            narrowed(ObservationDraft, each, id=ObservationId(fresh), observed_at=None)
            for each, fresh in zip(again, ids, strict=True)
        )
        entries = tuple(Made(thing=each) for each in made)
        return Change(entries=entries, reads=frozenset(map(thing_key, reads)))

    inner = replace(within_account(caller), idempotency_key=None)
    return len((await commit_change(canon, inner, account.space, prepare)).entries)


async def _stated(canon: Canon, account: Account, run: RunDraft) -> AsyncIterator[Observation]:
    """What the run said, each statement once however often it was said again, in order.

    Whom a record only names is not said again: that is known, and nothing else was said of them.
    """
    seen: set[bytes] = set()
    offset, total = 0, 1
    while offset < total:
        page = await canon.state.observations_from(run.source_id, limit=PAGE_MAX, offset=offset)
        for each in page.items:
            statement = encode_json([each.entity_id, each.fields])
            own = each.run_id == run.id and each.space == account.space
            if own and not each.fields.keys() <= _NAMES and statement not in seen:
                seen.add(statement)
                yield each
        offset, total = offset + PAGE_MAX, page.total


async def _known(
    sight: Sight, ids: list[EntityId]
) -> tuple[Mapping[str, Entity], Mapping[str, Entity]]:
    """The entities with these ids and who answers for each today, without those erased."""
    found = await sight.things(dict.fromkeys(ids))
    entities = {given: e for given, e in found.items() if isinstance(e, Entity)}
    moved = {e.merged_into for e in entities.values() if e.merged_into is not None}
    survivors = await sight.things(moved)
    roots = dict(entities)
    for given, entity in entities.items():
        survivor = survivors.get(entity.merged_into or "")
        if isinstance(survivor, Entity):
            roots[given] = survivor
    return entities, roots
