"""Restate a run: what an interpreter once read out of a file is said again, as the last word.

Nothing is interpreted anew, so that whoever brings an old file again needs no quota, and a language
model cannot change its mind.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

from canonry.domain.ids import EntityId, ObservationId
from canonry.domain.json_values import encode_json
from canonry.domain.judging.making import UNSET
from canonry.domain.log.entries import Made
from canonry.domain.log.keys import thing_key
from canonry.domain.observations import Observation
from canonry.domain.truth.runs import InterpretationRun
from canonry.domain.vocabularies.narrative_fields import NAME, PROPERTY_PREFIX
from canonry.ports.views.pages import PAGE_MAX
from canonry.usecases.kernel.account import Account, within_account
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, NewId, commit_change
from canonry.usecases.truth.said_before import is_news, said_beside_corrections

_NAMES: Final = frozenset((NAME, f"{PROPERTY_PREFIX}name"))
_NONE: Final = Change(entries=(), reads=frozenset())


async def restate_run(
    canon: Canon, caller: Caller, account: Account, run: InterpretationRun
) -> int:
    """Say again what the run says of entities of which somebody has said otherwise since.

    How many observations were added; none where all of it still stands as the last word.
    """
    added = 0

    async def prepare(new_id: NewId) -> Change:
        nonlocal added
        added = 0
        said = [each async for each in _said(canon, account, run)]
        roots = await canon.within(account.space).roots(each.entity_id for each in said)
        fields: dict[EntityId, dict[str, Any]] = {}
        for each in said:
            if each.entity_id in roots:
                fields.setdefault(roots[each.entity_id].id, {}).update(each.fields)
        entities = {each.id: each for each in roots.values()}
        last = await said_beside_corrections(canon, entities.values())
        news = {i for i, told in fields.items() if is_news(entities[i], told, last, None)}
        again = [o for o in said if o.entity_id in roots and roots[o.entity_id].id in news]
        if not again:
            return _NONE
        added = len(again)
        # Of several that are seen at one instant the one with the greatest id came last.
        ids = sorted(new_id(f"observation:{number}") for number in range(1, added + 1))
        made = (
            Made(
                thing=replace(
                    each,
                    id=ObservationId(fresh),
                    entity_id=roots[each.entity_id].id,
                    observed_at=None,
                    recorded_at=UNSET,
                    position=0,
                    changed_at=0,
                )
            )
            for each, fresh in zip(again, ids, strict=True)
        )
        return Change(entries=tuple(made), reads=frozenset(map(thing_key, (*roots, *entities))))

    inner = replace(within_account(caller), idempotency_key=None)
    await commit_change(canon, inner, account.space, prepare)
    return added


async def _said(
    canon: Canon, account: Account, run: InterpretationRun
) -> AsyncIterator[Observation]:
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
