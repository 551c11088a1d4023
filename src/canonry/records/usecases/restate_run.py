"""Restate a run: what an interpreter once read out of a file is said again, as the last word.

Nothing is interpreted anew, so that whoever brings an old file again needs no quota, and a language
model cannot change its mind.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from canonry.canon.session.account import Account, within_account
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.sight import Sight
from canonry.log.entries import Made
from canonry.log.items.accounts import run_id_of
from canonry.log.items.entities import Entity
from canonry.log.items.runs import InterpretationRun, RunDraft
from canonry.log.keys import thing_key
from canonry.log.schemas.narrative_fields import NAME, PROPERTY_PREFIX
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.records.usecases.derived_edges import edges_following, retellings
from canonry.records.usecases.earlier_statements import is_news, last_words_of
from canonry.records.usecases.interpret_source import BATCH
from canonry.records.usecases.schemas_in_force import schemas_for
from canonry.values.ids import EntityId, NewId, ObservationId
from canonry.values.json_values import encode_json
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.revising import narrowed

_NAMES: Final = frozenset((NAME, f"{PROPERTY_PREFIX}name"))
_NONE: Final = Change(entries=(), reads=frozenset(), found=0)


async def restate_run(canon: Canon, caller: Caller, account: Account, run: RunDraft) -> int:
    """Say again what the run says of entities of which somebody has said otherwise since.

    How many observations were added; none where all of it still stands as the last word. Of a
    source that came in batches the words of each batch are said again by a commit of their own.
    """
    runs = [run]
    while (before := await _batch(canon, account, run, len(runs))) is not None:
        runs.append(before)
    page = await canon.state.observations_from(run.source_id, limit=1, offset=0)
    whole = page.total >= sum(each.observations_created for each in runs)
    after = added = 0
    for each in (*runs[1:], run):
        added += await _restated(canon, caller, account, each, after if whole else 0)
        after += each.observations_created
    return added


async def _batch(
    canon: Canon, account: Account, last: RunDraft, number: int
) -> InterpretationRun | None:
    run_id = run_id_of(last.source_id, {**last.config, BATCH: number})
    found = (await canon.within(account.space).things((run_id,))).get(run_id)
    return found if isinstance(found, InterpretationRun) else None


async def _restated(
    canon: Canon, caller: Caller, account: Account, run: RunDraft, after: int
) -> int:
    """Say again what the run said, which so many observations of its source come before."""

    async def prepare(new_id: NewId) -> Change[int]:
        stated = [each async for each in _stated(canon, account, run, after)]
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
        made = [
            narrowed(ObservationDraft, each, id=ObservationId(fresh), observed_at=None)
            for each, fresh in zip(again, ids, strict=True)
        ]
        schemas = await schemas_for(canon, account, entities.values())
        retold = retellings(made, lambda i: (schemas[entities[i].entity_type], entities[i].own))
        followed, rested = await edges_following(canon, account, retold)
        return Change(
            entries=(*(Made(thing=each) for each in made), *followed),
            reads=rested | frozenset(map(thing_key, reads)),
            found=len(made),
        )

    inner = step(within_account(caller), f"restate {run.id}")
    receipt = await commit_change(canon, inner, account.space, prepare)
    return len(receipt.made(ObservationDraft)) if receipt.found is None else receipt.found


async def _stated(
    canon: Canon, account: Account, run: RunDraft, after: int
) -> AsyncIterator[Observation]:
    """What the run said, each statement once however often it was said again, in order.

    Whom a record only names is not said again: that is known, and nothing else was said of them.
    """
    seen: set[bytes] = set()
    offset, total, left = after, after + 1, run.observations_created
    while offset < total and left > 0:  # what was said again follows all that it said first
        page = await canon.state.observations_from(run.source_id, limit=PAGE_MAX, offset=offset)
        for each in page.items:
            statement = encode_json([each.entity_id, each.fields])
            own = each.run_id == run.id and each.space == account.space
            left -= own
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
