"""Forget statements: retract them, and withdraw them with the passages that only they cite."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, cast

from canonry.canon.commands.retcon_items import Retcon, retcon_with_dependents
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, Withdraw, commit_change
from canonry.canon.session.lookup import find_event_facts
from canonry.canon.session.paging import every_item, newest_match
from canonry.canon.session.snippets import Citing, is_cited, share_of_words, shares_most_words
from canonry.log.entries import Entry, FactSuperseded, Made, RelationEnded, Withdrawn
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source, holds_quotes
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import Conflict
from canonry.values.fields import narrow_to
from canonry.values.ids import NewId, SpaceId
from canonry.values.provenance import CanonLevel


async def forget_statements(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    statements: Sequence[Citing | Source],
    *,
    retcon: Retcon,
    withdraw: Withdraw | None,
) -> Receipt:
    """Retract statements, and withdraw them, their proposals and their passages; or documents.

    `withdraw` is given for an account, where items rest on documents. Undo the call to bring them
    back. The operator's rule of retention erases them later.

    Raises:
        NotFound: `thing.unknown`, one of them was forgotten before.
        Conflict: `forget.cited`, with the ids of statements that rest on a document.
    """
    sources = [one for one in statements if isinstance(one, Source)]
    told = [one for one in statements if not isinstance(one, Source)]
    stated = [*[e for one in told for e in await find_event_facts(canon, one)], *told]
    documents = [each.id for each in sources]
    passages = [
        e.id for i in documents async for e in every_item(partial(canon.documents.snippets, i))
    ]
    await _require_uncited(canon, space, {*documents, *passages}, {one.id for one in stated})
    kept: list[Entry] = []  # an undo makes them again
    for statement in stated:
        ids: list[str] = [statement.id, *([statement.proposal_id] if statement.proposal_id else [])]
        kept += await _made_again(canon, space, [*ids, *await _own_passages(canon, statement)])
        kept += _end_of(statement)
    for n, statement in enumerate(stated):
        if statement.level is not CanonLevel.RETCONNED:
            await retcon_with_dependents(
                canon, derive_step(caller, f"retract {n}"), statement.id, retcon
            )
    if withdraw is None:
        kept += await _made_again(canon, space, [*documents, *passages])
    gone = tuple(dict.fromkeys(one.thing.id for one in kept if isinstance(one, Made)))

    async def prepare_change(new_id: NewId) -> Change:
        entries: list[Entry] = list(kept)
        if withdraw is not None and documents:
            more = await withdraw(retcon.reason, documents, new_id)
            targets = [i for one in more if isinstance(one, Withdrawn) for i in one.targets]
            entries += [*await _made_again(canon, space, targets), *more]
        if gone:
            entries.append(Withdrawn(targets=gone, reason=retcon.reason))
        return Change(entries=tuple(entries), reads=frozenset(map(item_key, gone)))

    return await commit_change(canon, derive_step(caller, "withdraw"), space, prepare_change)


async def _made_again(canon: Canon, space: SpaceId, ids: Sequence[str]) -> list[Entry]:
    """Return the entries that make items as they were; entities and scenes before what is of them.

    The commit that withdraws them keeps these entries for its undo.
    """
    found = (await canon.space_scope(space).items_by_id(ids)).values()
    ordered = sorted(found, key=lambda one: not isinstance(one, Entity | Source))
    drafts: list[Any] = [narrow_to(cast("Any", type(one).__base__), one) for one in ordered]
    return [Made(thing=each) for each in drafts]


async def _require_uncited(
    canon: Canon, space: SpaceId, passages: Collection[str], beside: Collection[str]
) -> None:
    """Refuse to forget documents on which other statements rest."""
    spaces, level = frozenset((space,)), CanonLevel.CANON
    found: list[Citing] = []
    if passages:
        found += await newest_match(canon.state.facts, FactQuery(spaces=spaces, level=level))
        found += await newest_match(canon.state.events, EventQuery(spaces=spaces, level=level))
        found += await newest_match(canon.state.relations, RelationQuery(spaces=spaces))
    resting = [
        one.id
        for one in found
        if one.id not in beside
        and one.level is CanonLevel.CANON
        and one.evidence
        and {each.ref for each in one.evidence} <= {*passages}
    ]
    if resting:
        message = "Statements rest on this document. Forget them in the same call, or retcon them."
        raise Conflict("forget.cited", message, conflicts=resting)


def _end_of(item: Citing) -> list[Entry]:
    """Return the entry that ended a statement, if it has ended."""
    ends: dict[str, Any] = {"superseded_by": getattr(item, "superseded_by", None)}
    if isinstance(item, Fact) and item.superseded:
        ends |= {"until": item.ends_at, "audience": item.audience}
        return [FactSuperseded(fact_id=item.id, **ends)]
    if isinstance(item, Relation) and item.ended:
        ends |= {"until": item.until, "audience": item.audience, "reason": "it had ended"}
        return [RelationEnded(relation_id=item.id, **ends)]
    return []


async def _own_passages(canon: Canon, item: Citing) -> list[str]:
    """Return the passages and turns that only this statement cites, and the quotes that state it.

    Of a document or scene that it cites as a whole, these are the ones that tell little else.
    """
    within = canon.space_scope(item.space)
    cited = (await within.items_by_id(one.ref for one in item.evidence)).values()
    passages = [one for one in cited if isinstance(one, Snippet | Turn)]
    for container in cited:
        parts: Sequence[Snippet | Turn] = ()
        if isinstance(container, Source):
            parts = (await canon.documents.snippets(container.id, limit=PAGE_MAX, offset=0)).items
        elif isinstance(container, Scene):
            parts = await canon.documents.turns(container.id, last=PAGE_MAX)
        passages += [one for one in parts if await shares_most_words(canon, one, item)]
    found: list[str] = []
    for one in passages:
        source = await within.find_item(one.source_id) if isinstance(one, Snippet) else None
        states = holds_quotes(source) and await share_of_words(canon, one, item) == 1
        if states or not await is_cited(canon, one, (item,)):
            found.append(one.id)
    return found
