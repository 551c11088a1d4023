"""Forget statements: retract them, and withdraw them with the words that only they cite."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, cast

from canonry.canon.commands.retcon_things import Retcon, retcon_thing
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.cited_words import Citing, is_cited, share_of_words, tells_only
from canonry.canon.session.commit_change import Change, Receipt, Withdraw, commit_change
from canonry.canon.session.paging import every_item, newest_match
from canonry.canon.session.snippets import SAID_ID
from canonry.log.entries import Entry, FactSuperseded, Made, RelationEnded, Withdrawn
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import Conflict
from canonry.values.fields import narrowed
from canonry.values.ids import NewId, SpaceId
from canonry.values.provenance import CanonLevel


async def forget_statements(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    things: Sequence[Citing | Source],
    *,
    retcon: Retcon,
    withdraw: Withdraw | None,
) -> Receipt:
    """Retract statements, and withdraw them, their proposals and their words; or documents.

    `withdraw` is given for an account, where items rest on documents. Undo the call to bring them
    back. The operator's rule of retention erases them later.

    Raises:
        NotFound: `thing.unknown`, one of them was forgotten before.
        Conflict: `forget.cited`, with the ids of statements that rest on a document.
    """
    sources = [one for one in things if isinstance(one, Source)]
    stated = [one for one in things if not isinstance(one, Source)]
    documents = [each.id for each in sources]
    words = [
        e.id for i in documents async for e in every_item(partial(canon.documents.snippets, i))
    ]
    await _require_uncited(canon, space, {*documents, *words}, {one.id for one in stated})
    kept: list[Entry] = []  # an undo makes them again
    for thing in stated:
        ids: list[str] = [thing.id, *([thing.proposal_id] if thing.proposal_id else [])]
        kept += await _made_again(canon, space, [*ids, *await _own_words(canon, thing)])
        kept += _end_of(thing)
    for n, thing in enumerate(stated):
        if thing.level is not CanonLevel.RETCONNED:
            await retcon_thing(canon, step(caller, f"retract {n}"), thing.id, retcon)
    if withdraw is None:
        kept += await _made_again(canon, space, [*documents, *words])
    gone = tuple(dict.fromkeys(one.thing.id for one in kept if isinstance(one, Made)))

    async def prepare(new_id: NewId) -> Change:
        entries: list[Entry] = list(kept)
        if withdraw is not None and documents:
            more = await withdraw(retcon.reason, documents, new_id)
            targets = [i for one in more if isinstance(one, Withdrawn) for i in one.targets]
            entries += [*await _made_again(canon, space, targets), *more]
        if gone:
            entries.append(Withdrawn(targets=gone, reason=retcon.reason))
        return Change(entries=tuple(entries), reads=frozenset(map(thing_key, gone)))

    return await commit_change(canon, step(caller, "withdraw"), space, prepare)


async def _made_again(canon: Canon, space: SpaceId, ids: Sequence[str]) -> list[Entry]:
    """Return the entries that make items as they were; entities and scenes before what is of them.

    The commit that withdraws them keeps these entries for its undo.
    """
    found = (await canon.within(space).things(ids)).values()
    ordered = sorted(found, key=lambda one: not isinstance(one, Entity | Source))
    drafts: list[Any] = [narrowed(cast("Any", type(one).__base__), one) for one in ordered]
    return [Made(thing=each) for each in drafts]


async def _require_uncited(
    canon: Canon, space: SpaceId, words: Collection[str], beside: Collection[str]
) -> None:
    """Refuse to forget documents on which other statements rest."""
    spaces, level = frozenset((space,)), CanonLevel.CANON
    found: list[Citing] = []
    if words:
        found += await newest_match(canon.state.facts, FactQuery(spaces=spaces, level=level))
        found += await newest_match(canon.state.events, EventQuery(spaces=spaces, level=level))
        found += await newest_match(canon.state.relations, RelationQuery(spaces=spaces))
    resting = [
        one.id
        for one in found
        if one.id not in beside
        and one.level is CanonLevel.CANON
        and one.evidence
        and {each.ref for each in one.evidence} <= {*words}
    ]
    if resting:
        message = "Statements rest on this document. Forget them in the same call, or retcon them."
        raise Conflict("forget.cited", message, conflicts=resting)


def _end_of(thing: Citing) -> list[Entry]:
    """Return the entry that ended a statement, if it has ended."""
    ends: dict[str, Any] = {"superseded_by": getattr(thing, "superseded_by", None)}
    if isinstance(thing, Fact) and thing.superseded:
        ends |= {"until": thing.ends_at, "audience": thing.audience}
        return [FactSuperseded(fact_id=thing.id, **ends)]
    if isinstance(thing, Relation) and thing.ended:
        ends |= {"until": thing.until, "audience": thing.audience, "reason": "it had ended"}
        return [RelationEnded(relation_id=thing.id, **ends)]
    return []


async def _own_words(canon: Canon, thing: Citing) -> list[str]:
    """Return the passages and turns that only this statement cites, and the quotes that state it.

    Of a document or scene that it cites as a whole, these are the ones that tell little else.
    """
    within = canon.within(thing.space)
    cited = (await within.things(one.ref for one in thing.evidence)).values()
    words = [one for one in cited if isinstance(one, Snippet | Turn)]
    for place in cited:
        parts: Sequence[Snippet | Turn] = ()
        if isinstance(place, Source):
            parts = (await canon.documents.snippets(place.id, limit=PAGE_MAX, offset=0)).items
        elif isinstance(place, Scene):
            parts = await canon.documents.turns(place.id, last=PAGE_MAX)
        words += [one for one in parts if await tells_only(canon, one, thing)]
    found: list[str] = []
    for one in words:
        source = await within.thing(one.source_id) if isinstance(one, Snippet) else None
        quoted = isinstance(source, Source) and source.doc_id == SAID_ID
        states = quoted and await share_of_words(canon, one, thing) == 1
        if states or not await is_cited(canon, one, (thing,)):
            found.append(one.id)
    return found
