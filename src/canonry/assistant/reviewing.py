"""The tools `review` and `decide`: proposals, duplicates and unclear values."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from canonry.assistant.desk import EVERYBODY, KEEPERS, Desk, Wanted, desk_of, wanted
from canonry.assistant.disputing import is_dispute, with_sayers
from canonry.assistant.rows import Row, filled, fitted, rows_of
from canonry.assistant.spaces import desks_of, found_in, of_each
from canonry.assistant.tools import canon_tool
from canonry.assistant.undoing import undo, what_items_say, withdrawal
from canonry.assistant.upkeep import accept_upkeep
from canonry.assistant.wording import DONE
from canonry.canon.canonization.canonize_scene import canonize_proposals
from canonry.canon.canonization.change_audience import Kept, change_audience
from canonry.canon.canonization.decide_proposals import ProposalVerdict, verdict_on, waive_conflict
from canonry.canon.canonization.proposals import KeeperVerdict, evaluate_proposal, list_proposals
from canonry.canon.commands.entities import merge_entities, unmerge_entities
from canonry.canon.commands.forget_statements import forget_statements
from canonry.canon.commands.relations import end_relation
from canonry.canon.commands.retcon_things import Retcon, retcon_scene, retcon_thing
from canonry.canon.judging.contents import NOBODY
from canonry.canon.judging.gates.proposals import dependency_accepted
from canonry.canon.judging.gates.statements import CIRCLE, POSSIBLE
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import answered
from canonry.canon.session.lookup import Account, require, require_all, within_account
from canonry.canon.session.paging import newest_match
from canonry.canon.session.what_holds import is_current
from canonry.gateway.tool import Arguments, Reply
from canonry.log.entries import THING_KINDS, Made
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Ask, Grade, Proposal, ProposalStatus, ProposalType
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import SnippetDraft, Source
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.notation.numbers import NOTATIONS
from canonry.records.usecases.corrections import list_unclear, settle_values
from canonry.records.usecases.identity import (
    DIFFERENT_FROM,
    duplicates_within,
    keep_apart,
    merge_records,
    unmerge_records,
)
from canonry.records.usecases.withdrawing import split_records
from canonry.values.audience import EVERYBODY as ALL
from canonry.values.errors import Conflict, InvalidInput, NotSupported
from canonry.values.json_values import encode_json
from canonry.values.provenance import Authority, CanonLevel

_HINT: Final = "To settle one, decide read: of=[document], its field, other=one name in read_as."


async def unclear_values(desk: Desk, page: Wanted) -> Row:
    """List the unclear values of the account by document and field.

    Raises:
        NotSupported: `space.no-readings`.
    """
    _require_readings(desk, "/what")
    found, _ = await list_unclear(desk.canon, desk.caller)
    rows: list[Row] = [
        {
            "document": each.source_id,
            "type": each.entity_type,
            "field": each.name,
            "count": each.count,
            "of": each.examples[0].entity.name,
            "says": each.examples[0].unclear.fragment.value,
            "read_as": each.examples[0].unclear.readings,
        }
        for each in found[page.offset : page.offset + page.limit]
    ]
    return fitted(rows, page, len(found), "unclear") | {"hint": _HINT}


async def _read(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    """Read all unclear values of a document's field by the notation in `other`.

    Raises:
        NotSupported: `space.no-readings`.
        InvalidInput: `decide.read-as`.
    """
    _require_readings(desk, "/verdict")
    (named,) = _exactly(of, 1)
    document = await desk.thing(named, Source, path="/of/0")
    field, notation = arguments.get("field"), arguments.get("other")
    if field is None or notation not in NOTATIONS:
        message = "Name the document's field in /field, and a name of its read_as in /other."
        raise InvalidInput("decide.read-as", message, path="/field" if field is None else "/other")
    done = await settle_values(
        desk.canon, desk.caller, None, source_id=document.id, name=field, notation=notation
    )
    return {"id": document.id, "settled": done.settled, "left": done.left}


def _require_readings(desk: Desk, path: str) -> None:
    if not desk.is_account:
        message = "Only your account has records of documents. Set /space to account."
        raise NotSupported("space.no-readings", message, path=path)


_ASKS: Final[Mapping[str, frozenset[Ask]]] = {
    "pending": frozenset({Ask.PENDING}),
    "review": frozenset({Ask.NEEDS_REVIEW}),
    "conflicts": frozenset({Ask.POSSIBLE, Ask.HIDDEN}),
}
_WHAT: Final = (*_ASKS, "duplicates", "unclear")
WAITING: Final = frozenset(ProposalType) - {ProposalType.WORLD}
"""Types of proposals that a keeper decides. Actions in a world have their own gates."""
_ENDED: Final = "ended by decision"
_FORGOTTEN: Final = "forgotten at the caller's wish"
_BRING_BACK: Final = (
    'To bring it back, decide undo, of=["{}"]. The operator\'s rule of retention erases it later.'
)
_REVIEWED: Final = "needs review"
_FEW: Final = 3
_LISTS: Final = ("waiting", "duplicates", "unclear")
_BOTH: Final = "For complete lists, call review with what=pending, duplicates or unclear."


async def _review(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desks = await desks_of(canon, caller, arguments, "about")
    if "about" in arguments:
        desks = [(await found_in(desks, arguments["about"], Entity, path="/about"))[0]]
    return await of_each(desks, arguments, lambda desk: _waits(desk, arguments), *_LISTS)


async def _waits(desk: Desk, arguments: Arguments) -> Row:
    page = wanted(arguments)
    what = arguments.get("what", "duplicates" if "about" in arguments else None)
    if what in {"unclear", "duplicates"} or not desk.space.told:
        desk.require_now(arguments, "as_known_at")
    if what == "unclear":
        return await unclear_values(desk, page)
    if what == "duplicates" or (what is None and not (desk.space.told or desk.is_account)):
        return await _duplicates(desk, arguments)
    desk.require_judged("Proposals")
    reply = await _listed(desk, page, _ASKS[what] if what is not None else frozenset(Ask))
    if desk.is_account and what is None:
        unclear = await unclear_values(desk, replace(page, limit=_FEW, offset=0))
        if unclear["unclear"]:
            reply |= {"unclear": unclear["unclear"], "hint": _BOTH}
    return reply


async def _listed(desk: Desk, page: Wanted, asks: frozenset[Ask]) -> Row:
    query = ProposalQuery(types=WAITING, asks=asks, limit=page.limit, offset=page.offset)
    found = await list_proposals(desk.canon, desk.caller, query, universe_id=desk.space.id)
    refused = await _refused(desk) if desk.is_account and Ask.POSSIBLE in asks else ()
    left = max(0, page.offset - found.total)
    shown = [*found.items, *refused[left : left + page.limit - len(found.items)]]
    said = await rows_of(desk, shown)
    rows = [_waiting(*each) for each in zip(shown, said, strict=True)]
    reply = fitted(rows, page, found.total + len(refused), "waiting")
    if not shown:
        reply["hint"] = "No proposal waits. For possible duplicates, review what=duplicates."
    else:
        reply["hint"] = "Use decide to accept, reject, judge or waive; merge or separate entities."
    return await with_sayers(desk, reply)


async def _refused(desk: Desk) -> Sequence[Proposal]:
    """Return the newest refused claims of the account that contradict what still holds there.

    Only its owner can say which of the two is right.
    """
    rejected = ProposalStatus.REJECTED
    query = ProposalQuery(spaces=frozenset((desk.space.id,)), types=WAITING, status=rejected)
    found = await newest_match(desk.canon.documents.proposals, query)
    against = {
        each.id: {one.id for one in each.decision.all_conflicts}
        for each in found
        if each.decision is not None and each.decision.rule.startswith("gate:")
    }
    ids = frozenset[str]().union(*against.values())
    things = (await desk.canon.seen_by(desk.caller).things(ids)).values() if ids else ()
    standing = {each.id for each in things if is_current(each)}
    return [each for each in found if not standing.isdisjoint(against.get(each.id, ()))]


def _waiting(proposal: Proposal, said: Row) -> Row:
    ruling = proposal.decision or proposal.review
    row: Row = {
        "id": proposal.id,
        "says": said["says"],
        "by": proposal.proposed_by,
        "status": proposal.status.value if proposal.decision else "waits",
    }
    if ruling is not None and ruling.status is not ProposalStatus.ACCEPTED:
        row |= {"rule": ruling.rule, "because": ruling.rationale}
    against = {one.id: one.reason for one in proposal.doubts}
    if against:
        row["perhaps_against"] = [{"id": i, "because": why} for i, why in against.items()]
    return row


async def _duplicates(desk: Desk, arguments: Arguments) -> Row:
    page = wanted(arguments)
    about = arguments.get("about")
    entity = None if about is None else await desk.entity(about, path="/about")
    one = None if entity is None else entity.id
    where, offset = Account(user_id="", space=desk.space.id), page.offset
    found = await duplicates_within(
        desk.canon, desk.caller, where, entity_id=one, limit=page.limit, offset=offset
    )
    ids = {i for pair in found.pairs for i in (pair.entity_id, pair.candidate_id)}
    called = await desk.canon.seen_by(desk.caller).roots(ids)
    rows = [
        {
            "id": pair.entity_id,
            "name": called[pair.entity_id].name,
            "and": pair.candidate_id,
            "and_name": called[pair.candidate_id].name,
            "because": pair.reason,
        }
        for pair in found.pairs
        if pair.entity_id in called and pair.candidate_id in called
    ]
    reply = fitted(rows, page, found.total, "duplicates")
    if rows:
        reply["hint"] = "If they are one, decide merge, of=[kept, duplicate]. If not, separate."
    return reply


Decide = Callable[[Desk, Sequence[str], Arguments], Awaitable[Row]]


async def _decide(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desk = await desk_of(canon, caller, arguments, "of", "other")
    desk.require_writable()
    verdict, of = arguments["verdict"], arguments.get("of", ())
    if verdict != "undo" and not of:
        _exactly(of, 1)
    row = await with_sayers(desk, await _VERDICTS[verdict](desk, of, arguments))
    return {"note": row.get("note") or await _done(desk, verdict, row), "verdict": verdict, **row}


async def _done(desk: Desk, verdict: str, row: Row) -> str:
    """Return the sentence that says what a decision has done, and to which items."""
    rows = [row, *row.get("verdicts", ())]
    told = [each.get("id") or each.get("proposal") for each in rows]
    ids = [*row.get("fallen", ()), *row.get("revealed", ()), *filter(None, told)]
    says = await what_items_say(desk, ids)
    fell = await what_items_say(desk, [i for each in rows[1:] for i in each.get("fallen", ())])
    kept = await what_items_say(desk, [i for each in rows[1:] for i in each.get("kept", ())])
    first = f"Retracted: {fell}. " if fell else ""
    more = f" Both stand, for both may be true; the other one: {kept}." if kept else ""
    return f"{first}{DONE[verdict]}{f': {says}' if says else ''}.{more}"


async def _proposals(desk: Desk, of: Sequence[str]) -> list[Proposal]:
    desk.require_judged("Proposals")
    kinds = (Proposal, Fact, Event, Relation)
    found = [await desk.thing(each, *kinds, path=f"/of/{n}") for n, each in enumerate(of)]
    ids = [each.proposal_id for each in found if isinstance(each, kinds[1:]) and each.proposal_id]
    made = await require_all(desk.canon, desk.caller, Proposal, ids)
    return [*(each for each in found if isinstance(each, Proposal)), *made]


async def _judge(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    del arguments
    return {"verdicts": await _judged(desk, [each.id for each in await _proposals(desk, of)])}


async def _judged(desk: Desk, ids: Sequence[str]) -> list[Row]:
    judged = await canonize_proposals(desk.canon, desk.caller, ids, while_played=True)
    rows: list[Row] = [
        {
            "proposal": each.proposal_id,
            "verdict": _REVIEWED if each.needs_review else each.status.value,
            "rule": each.rule,
            "because": each.rationale,
            "id": each.canonical_id,
        }
        for each in judged.verdicts
    ]
    return [filled(row) for row in rows]


_RULINGS: Final = {
    "accept": (ProposalStatus.ACCEPTED, "why the proposal overrules its objections"),
    "reject": (ProposalStatus.REJECTED, "why the proposal is wrong"),
}


async def _evaluate(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    status, why = _RULINGS[arguments["verdict"]]
    verdict = KeeperVerdict(status=status, rationale=_reason(arguments, why), canonical_id=None)
    return await _ruled(desk, await _proposals(desk, of), verdict)


async def _ruled(desk: Desk, proposals: Sequence[Proposal], verdict: KeeperVerdict) -> Row:
    """Decide proposals by hand, and let the rules judge those that waited for them."""
    rows: list[Row] = []
    accepts = verdict.status is ProposalStatus.ACCEPTED
    decided: list[ProposalVerdict] = []
    for n, each in enumerate(proposals):
        caller, became = step(desk.caller, str(n)), None
        if each.decision is not None and each.doubts and not verdict.same_as:
            rows.append(await _settled(desk, each, verdict))
            continue
        if each.type is ProposalType.UPKEEP and verdict.status is ProposalStatus.ACCEPTED:
            became = await accept_upkeep(desk.canon, caller, each.id, verdict.rationale)
        else:
            await evaluate_proposal(desk.canon, caller, each.id, verdict)
            done = verdict_on(await require(desk.canon, desk.caller, Proposal, each.id))
            became = done.canonical_id
            decided.append(done)
        rows.append(filled({"proposal": each.id, "verdict": verdict.status.value, "id": became}))
    reply: Row = {"verdicts": rows + await judge_waiting(desk)}
    note = " ".join(outcomes_of(decided, (), written=True)) if accepts else ""
    return filled({"note": note}) | reply


async def _settled(desk: Desk, accepted: Proposal, verdict: KeeperVerdict) -> Row:
    """Settle what may conflict with what was accepted.

    A rejection retracts it. An acceptance retracts what excludes it, and keeps all else.
    """
    own = [] if accepted.decision is None else list(accepted.decision.made)
    is_right = verdict.status is ProposalStatus.ACCEPTED
    retcon = Retcon(reason=verdict.rationale, authority=_own_word(desk))
    found = await desk.canon.seen_by(desk.caller).things(
        [one.id for one in accepted.doubts if is_dispute(one.reason)] if is_right else own
    )
    fell = [e.id for e in found.values() if getattr(e, "level", None) is CanonLevel.CANON]
    for each in fell:
        await retcon_thing(desk.canon, step(desk.caller, each), each, retcon)
    for one in accepted.doubts if is_right else ():
        by = step(desk.caller, f"waive {one.id}")
        await waive_conflict(desk.canon, by, accepted.id, one.id, reason=verdict.rationale)
    row = {"proposal": accepted.id, "verdict": verdict.status.value, "fallen": fell}
    row["kept"] = [one.id for one in accepted.doubts if is_right and one.id not in fell]
    return filled({**row, "id": own[0] if own and is_right else None})


_TOLD_MAX: Final = 3
"""The most statements that a sentence of a reply names."""


_UNREAD: Final = (
    "{} recorded as said. Nothing is wrong with {}, but no other statement was compared with {}. "
    "Dreams, beliefs, rumours and conditions never are; of anything else, name a subject, an "
    "attribute and a value, such as: Ana's eyes are green."
)


def outcomes_of(
    verdicts: Sequence[ProposalVerdict], later: Collection[str], *, written: bool
) -> Iterator[str]:
    """Yield what claims contradict, ended, retracted and may conflict with, a sentence each.

    Items in `later` will end, at a planned time.
    """
    good = [one for one in verdicts if one.status is ProposalStatus.ACCEPTED]
    graded = [each for one in good if one.rule != dependency_accepted.id for each in one.graded]
    ends = [(each["because"], written and each["id"] in later) for one in good for each in one.ends]
    sure = [each for each in graded if each.grade is Grade.CONTRADICTION]
    retracted = [each.id if each.id in each.reason else each.reason for each in sure]
    new = [one.canonical_id for one in good if written and one.canonical_id and one.conflicts]
    against = [
        each.reason
        for one in verdicts
        if one.status is ProposalStatus.REJECTED
        for each in one.graded
        if each.grade is Grade.CONTRADICTION
    ]
    possible = [e.reason.removeprefix(POSSIBLE) for e in graded if e.grade is Grade.POSSIBLE]
    told = (
        ("Contradicts", against),
        ("This closes a circle", [e.removeprefix(CIRCLE) for e in possible if CIRCLE in e]),
        (
            "Ended" if written else "Would end",
            [because for because, planned in ends if not planned],
        ),
        ("Ends then", [why for why, planned in ends if planned]),
        ("Retracted" if written else "Would retract", retracted),
        ("Accepted", new),
        ("May stand against it", [each for each in possible if CIRCLE not in each]),
    )
    for what, reasons in told:
        named = list(dict.fromkeys(each.rstrip(".") for each in reasons))
        if named:
            more = f" and {len(named) - _TOLD_MAX} more" if len(named) > _TOLD_MAX else ""
            yield f"{what}: {'; '.join(named[:_TOLD_MAX])}{more}."
    if unread := sum(not one.compared for one in good):
        one = ("1 claim was", "it", "it")
        yield _UNREAD.format(*(one if unread == 1 else (f"{unread} claims were", "them", "them")))


async def judge_waiting(desk: Desk, fallen: Iterable[str] = ()) -> list[Row]:
    """Judge the proposals that waited for other ones, or because of items that are `fallen` now.

    Return the verdicts of those that wait no more.
    """
    query = ProposalQuery(types=WAITING, asks=_ASKS["review"], limit=PAGE_MAX)
    waiting = await list_proposals(desk.canon, desk.caller, query, universe_id=desk.space.id)
    against = frozenset(fallen)
    ids = [
        one.id
        for one in waiting.items
        if (why := one.review) is not None
        and (
            why.rule == dependency_accepted.id
            or not against.isdisjoint(each.id for each in why.all_conflicts)
        )
    ]
    judged = await _judged(desk, ids)
    return [each for each in judged if each["verdict"] != _REVIEWED]


async def _waive(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    (proposal,) = await _proposals(desk, _exactly(of, 1))
    other = arguments.get("other")
    if other is None:
        message = "Name the conflicting item in /other; review lists it in perhaps_against."
        raise InvalidInput("decide.other", message, path="/other")
    against = (await desk.thing(other, path="/other")).id
    reason = _reason(arguments, "why both statements are true")
    await waive_conflict(desk.canon, desk.caller, proposal.id, against, reason=reason)
    return {"proposal": proposal.id, "with": against}


async def _merge(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    known, new = await _introduced(desk, _exactly(of, 2))
    reason = arguments.get("reason") or ""
    if new is not None:
        return await _identified(desk, new, reason or "it is this one", same_as=known[0].id)
    kept, merged = known
    if desk.is_account:
        ids = {"from_id": merged.id, "to_id": kept.id}
        await merge_records(desk.canon, desk.caller, None, **ids, reason=reason)
    else:
        ids = {"kept_id": kept.id, "merged_id": merged.id}
        await merge_entities(desk.canon, desk.caller, **ids, reason=reason)
    if merged.id == kept.id:  # a retry finds them merged
        own = await desk.merged(of[1], path="/of/1")
        found = await desk.canon.within(desk.space.id).thing(own)
        merged = found if isinstance(found, Entity) else merged
    return {"id": kept.id, "name": kept.name, "merged": merged.name}


async def _introduced(desk: Desk, of: Sequence[str]) -> tuple[Sequence[Entity], Proposal | None]:
    """Return the known entities, and the proposal of a new one."""
    kinds = (Entity,) if desk.is_account else (Entity, Proposal)
    found = [await desk.thing(each, *kinds, path=f"/of/{n}") for n, each in enumerate(of)]
    new = [each for each in found if isinstance(each, Proposal)]
    if len(new) > 1 or any(each.type is not ProposalType.ENTITY for each in new):
        message = "/of takes one proposal, of an entity. Decide accept or reject for others."
        raise InvalidInput("decide.no-entity", message, path="/of")
    return [each for each in found if isinstance(each, Entity)], (*new, None)[0]


async def _identified(desk: Desk, new: Proposal, reason: str, *, same_as: str) -> Row:
    """Accept a proposed entity as the known one that it is the same as, or as another one."""
    status = ProposalStatus.ACCEPTED
    verdict = KeeperVerdict(status=status, rationale=reason, canonical_id=None, same_as=same_as)
    return await _ruled(desk, (new,), verdict)


async def _separate(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    reason = arguments.get("reason") or ""
    known, new = await _introduced(desk, of[:2])
    if new is not None:
        return await _identified(desk, new, reason or "it is another one", same_as=NOBODY)
    if len(of) == 2:  # noqa: PLR2004 - two entities that were never merged
        caller = within_account(desk.caller) if desk.is_account else desk.caller
        ids, word = (known[0].id, known[1].id), _own_word(desk)
        said = await keep_apart(desk.canon, caller, *ids, reason=reason, authority=word)
        return {"id": said, "name": known[0].name}
    (one,) = _exactly(of, 1)
    separated = await desk.merged(one, path="/of/0")
    if desk.is_account:
        await unmerge_records(desk.canon, desk.caller, None, separated, reason=reason)
    else:
        await unmerge_entities(desk.canon, desk.caller, separated, reason=reason)
    return {"id": separated}


async def _split(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    """Give what documents say of an entity to a new one.

    Raises:
        NotSupported: `space.no-readings`.
    """
    _require_readings(desk, "/verdict")
    entity = await desk.entity(of[0], path="/of/0")
    parts = [(await desk.thing(e, Source, path=f"/of/{n}")).id for n, e in enumerate(of[1:], 1)]
    done = await split_records(
        desk.canon, desk.caller, None, entity.id, parts, reason=arguments.get("reason") or ""
    )
    return {"id": done.from_id, "name": entity.name, "settled": done.observations}


def _own_word(desk: Desk) -> Authority:
    return Authority.GM if Authority.GM in desk.caller.authorities else Authority.PLAYER


async def _retcon(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    (one,) = _exactly(of, 1)
    thing = await desk.thing(one, Fact, Event, Relation, Entity, Scene, path="/of/0")
    if not desk.is_account or isinstance(thing, Entity):
        desk.require_told("Retcons of records", "Propose a correction of the field.")
    reason = _reason(arguments, "why it was never true")
    if isinstance(thing, Scene):
        taken = await retcon_scene(desk.canon, desk.caller, thing.id, reason=reason)
        more = await judge_waiting(desk, taken.fallen)
        fell = {"fallen": list(taken.fallen), "holds_again": list(taken.resumed)}
        return filled({**fell, "verdicts": more})
    retcon = Retcon(reason=reason, along=bool(arguments.get("along")), authority=_own_word(desk))
    done = await retcon_thing(desk.canon, desk.caller, thing.id, retcon)
    rests = [
        {"kind": THING_KINDS[type(each.thing)], "id": each.thing.id, "certain": each.certain}
        for each in done.dependents
        if each.thing.id not in done.fallen
    ]
    more = await judge_waiting(desk, (thing.id, *done.fallen))
    fell = {"fallen": list(done.fallen), "holds_again": list(done.resumed)}
    return filled({**fell, "rested_on_it": rests[:_SHOWN], "verdicts": more})


async def _forget(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    desk.require_judged("Statements")
    done = await answered(desk.canon, step(desk.caller, "withdraw"), desk.space.id)
    if done is not None:
        return {"note": "Forgotten.", "id": done.id, "hint": _BRING_BACK.format(done.id)}
    kinds = (Fact, Event, Relation, Source)
    found = [await desk.thing(each, *kinds, path=f"/of/{n}") for n, each in enumerate(of)]
    things = list({one.id: one for one in found if isinstance(one, kinds)}.values())
    retcon = Retcon(reason=arguments.get("reason") or _FORGOTTEN, authority=_own_word(desk))
    where: tuple[Any, ...] = (desk.canon, desk.caller, desk.space.id, things)
    named = await what_items_say(desk, [each.id for each in things])
    try:
        receipt = await forget_statements(*where, retcon=retcon, withdraw=withdrawal(desk))
    except Conflict as error:
        if error.code != "forget.cited":
            raise
        resting = error.details["conflicts"]
        call = {"verdict": "forget", "of": [*(each.id for each in things), *resting]}
        says = await what_items_say(desk, resting)
        message = f"{named} is the only evidence of: {says}. To forget both, decide {{}}"
        raise Conflict(error.code, message.format(encode_json(call).decode())) from error
    hint = _BRING_BACK.format(receipt.commit_id)
    made = [each.thing for each in receipt.entries if isinstance(each, Made)]
    quoted = [each.source_id for each in made if isinstance(each, SnippetDraft)]
    others = [one for one in quoted if one not in {each.id for each in things}]
    words = await what_items_say(desk, others)
    also = f" The passage that tells it went with it, from: {words}." if words else ""
    return {"note": f"Forgotten: {named}.{also}", "id": receipt.commit_id, "hint": hint}


async def _reveal(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    desk.require_told("Secrets", "Only you can read your account.")
    (one,) = _exactly(of, 1)
    thing = await desk.thing(one, *get_args(Kept), path="/of/0")
    reason = _reason(arguments, "how the secret became known")
    told = await change_audience(desk.canon, desk.caller, thing.id, ALL, reason=reason)
    return {"revealed": list(told.ids[:_SHOWN])}


async def _end(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    (one,) = _exactly(of, 1)
    caller, kinds = desk.caller, (Relation, Entity) if desk.is_account else (Relation,)
    relation = await desk.thing(one, *kinds, path="/of/0")
    judged = isinstance(relation, Relation) and relation.proposal_id is not None
    if desk.is_account and (judged or getattr(relation, "rel_type", "") == DIFFERENT_FROM):
        caller = within_account(caller)
    else:
        desk.require_told("Ends of relations", "Propose a correction of the field.")
    until = await desk.time(arguments, "when")
    says, reason = await what_items_say(desk, [relation.id]), arguments.get("reason") or _ENDED
    try:
        ended = await end_relation(desk.canon, caller, relation.id, until=until, reason=reason)
    except Conflict as error:
        ended_at = getattr(relation, "until", None)
        if error.code != "relation.ended" or until not in {None, ended_at}:
            raise
        when = "" if ended_at is None else f" ({desk.spoken(ended_at)})"
        return {"note": f"This had already ended{when}: {says}.", "id": relation.id}
    return {"note": f"Ended: {says}.", "id": ended.id}


_SHOWN: Final = 10
_VERDICTS: Final[Mapping[str, Decide]] = {
    "judge": _judge,
    "accept": _evaluate,
    "reject": _evaluate,
    "waive": _waive,
    "merge": _merge,
    "separate": _separate,
    "split": _split,
    "retcon": _retcon,
    "forget": _forget,
    "reveal": _reveal,
    "end": _end,
    "read": _read,
    "undo": undo,
}


def _exactly(of: Sequence[str], count: int) -> Sequence[str]:
    if len(of) != count:
        message = f"/of has {len(of)} items; this verdict takes {count}."
        raise InvalidInput("decide.how-many", message, path="/of")
    return of


def _reason(arguments: Arguments, why: str) -> str:
    reason: str | None = arguments.get("reason")
    if reason is None or not reason.strip():
        raise InvalidInput("decide.reason", f"Give in /reason {why}.", path="/reason")
    return reason


TOOLS: Final = (
    canon_tool("review", _review, EVERYBODY, what=_WHAT),
    canon_tool("decide", _decide, KEEPERS, verdict=_VERDICTS),
)
