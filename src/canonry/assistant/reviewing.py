"""The tools `review` and `decide`: proposals, duplicates and unclear values."""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, get_args

from canonry.assistant.call_context import (
    EVERYBODY,
    KEEPERS,
    CallContext,
    RowPage,
    context_of,
    read_page,
)
from canonry.assistant.corrections import execute_change
from canonry.assistant.disputes import clashes_of, is_dispute, with_sayers
from canonry.assistant.first_sentences import count_in_words, join_first
from canonry.assistant.rows import Row, fit_rows, rows_of, without_empty
from canonry.assistant.spaces import contexts_of, find_item_in, read_each_space
from canonry.assistant.tools import canon_tool
from canonry.assistant.undoing import undo_last, what_items_say, withdrawal
from canonry.assistant.wording import DONE, HINTS, ID_LISTS, OUTCOMES
from canonry.canon.canonization.canonize_scene import canonize_proposals
from canonry.canon.canonization.change_audience import HasAudience, change_audience
from canonry.canon.canonization.decide_proposals import (
    ProposalVerdict,
    is_by_rules,
    verdict_on,
    waive_conflict,
)
from canonry.canon.canonization.proposals import KeeperVerdict, evaluate_proposal, list_proposals
from canonry.canon.commands.entities import merge_entities, unmerge_entities
from canonry.canon.commands.forget_statements import forget_statements
from canonry.canon.commands.relations import end_relation
from canonry.canon.commands.retcon_items import Retcon, retcon_scene, retcon_with_dependents
from canonry.canon.judging.contents import NOBODY
from canonry.canon.judging.gates.proposals import dependency_accepted
from canonry.canon.judging.gates.statements import CIRCLE, POSSIBLE
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import find_earlier_commit
from canonry.canon.session.lookup import Account, require_all, require_item, within_account
from canonry.canon.session.paging import newest_match
from canonry.canon.session.what_holds import is_current
from canonry.gateway.tool import Arguments, Reply
from canonry.log.entries import KIND_NAMES, Made, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Grade, Proposal, ProposalStatus, ProposalType, ReviewKind
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import Snippet, SnippetDraft, Source, holds_quotes
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
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, CanonLevel


async def unclear_values(context: CallContext, page: RowPage) -> Row:
    """List the unclear values of the account by document and field.

    Raises:
        NotSupported: `space.no-readings`.
    """
    _require_readings(context, "/what")
    found, _ = await list_unclear(context.canon, context.caller)
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
    return fit_rows(rows, page, len(found), "unclear") | {"hint": HINTS["read"]}


async def _read_values(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    """Read all unclear values of a document's field by the notation in `other`.

    Raises:
        NotSupported: `space.no-readings`.
        InvalidInput: `decide.read-as`.
    """
    _require_readings(context, "/verdict")
    (named,) = _require_count(of, 1)
    document = await context.find_item(named, Source, path="/of/0")
    field, notation = arguments.get("field"), arguments.get("other")
    if field is None or notation not in NOTATIONS:
        message = "Name the document's field in /field, and a name of its read_as in /other."
        raise InvalidInput("decide.read-as", message, path="/field" if field is None else "/other")
    done = await settle_values(
        context.canon, context.caller, None, source_id=document.id, name=field, notation=notation
    )
    return {"id": document.id, "settled": done.settled, "left": done.left}


def _require_readings(context: CallContext, path: str) -> None:
    if not context.is_account:
        message = "Only your account has records of documents. Set /space to account."
        raise NotSupported("space.no-readings", message, path=path)


_ASKS: Final[Mapping[str, frozenset[ReviewKind]]] = {
    "pending": frozenset({ReviewKind.PENDING}),
    "review": frozenset({ReviewKind.NEEDS_REVIEW}),
    "conflicts": frozenset({ReviewKind.POSSIBLE, ReviewKind.HIDDEN}),
}
WAITING: Final = frozenset(ProposalType) - {ProposalType.WORLD}
"""Types of proposals that a keeper decides. Actions in a world have their own gates."""
_FORGOTTEN: Final = "forgotten at the caller's wish"
_REVIEWED: Final = "needs review"
_FEW: Final = 3  # unclear values accompany each page of the review
_LISTS: Final = ("waiting", "duplicates", "unclear")


async def _show_review(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    contexts = await contexts_of(canon, caller, arguments, "about")
    if "about" in arguments:
        contexts = [(await find_item_in(contexts, arguments["about"], Entity, path="/about"))[0]]
    return await read_each_space(
        contexts, arguments, lambda context: _waiting_in(context, arguments), *_LISTS
    )


async def _waiting_in(context: CallContext, arguments: Arguments) -> Row:
    page = read_page(arguments)
    what = arguments.get("what", "duplicates" if "about" in arguments else None)
    if what in {"unclear", "duplicates"} or not context.space.may_have_stories:
        context.require_now(arguments, "as_known_at")
    if what == "unclear":
        return await unclear_values(context, page)
    if what == "duplicates" or (
        what is None and not (context.space.may_have_stories or context.is_account)
    ):
        return await _list_duplicates(context, arguments)
    context.require_judged("Proposals")
    reply = await _list_waiting(
        context, page, _ASKS[what] if what is not None else frozenset(ReviewKind)
    )
    if context.is_account and what is None:
        unclear = await unclear_values(context, replace(page, limit=_FEW, offset=0))
        if unclear["unclear"]:
            reply |= {"unclear": unclear["unclear"], "hint": HINTS["both"]}
    return reply


async def _list_waiting(context: CallContext, page: RowPage, asks: frozenset[ReviewKind]) -> Row:
    query = ProposalQuery(types=WAITING, asks=asks, limit=page.limit, offset=page.offset)
    found = await list_proposals(context.canon, context.caller, query, universe_id=context.space.id)
    refused = (
        await _refused_claims(context) if context.is_account and ReviewKind.POSSIBLE in asks else ()
    )
    left = max(0, page.offset - found.total)
    shown = [*found.items, *refused[left : left + page.limit - len(found.items)]]
    shown_rows = await rows_of(context, shown)
    rows = [_waiting_row(*each) for each in zip(shown, shown_rows, strict=True)]
    reply = fit_rows(rows, page, found.total + len(refused), "waiting")
    if not shown:
        reply["hint"] = "No proposal waits. For possible duplicates, review what=duplicates."
    waits = [each for each in shown if each.decision is None]
    new = any(each.type is ProposalType.ENTITY for each in waits)
    parts = {"refused": refused, "waits": waits, "new-entity": new}
    reply |= without_empty({"hint": " ".join(HINTS[one] for one, given in parts.items() if given)})
    return await with_sayers(context, reply)


async def _refused_claims(context: CallContext) -> Sequence[Proposal]:
    """Return the newest refused claims of the account that contradict what still holds there.

    Only its owner can say which of the two is right.
    """
    rejected = ProposalStatus.REJECTED
    query = ProposalQuery(spaces=frozenset((context.space.id,)), types=WAITING, status=rejected)
    found = await newest_match(context.canon.documents.proposals, query)
    against = {
        each.id: {one.id for one in each.decision.all_conflicts}
        for each in found
        if each.decision is not None and is_by_rules(each.decision)
    }
    ids = frozenset[str]().union(*against.values())
    items = (
        (await context.canon.caller_scope(context.caller).items_by_id(ids)).values() if ids else ()
    )
    standing = {each.id for each in items if is_current(each)}
    return [each for each in found if not standing.isdisjoint(against.get(each.id, ()))]


def _waiting_row(proposal: Proposal, shown: Row) -> Row:
    ruling = proposal.decision or proposal.review
    row: Row = {
        "id": proposal.id,
        "says": shown["says"],
        **{name: shown[name] for name in ("for",) if name in shown},
        "by": proposal.proposed_by,
        "status": proposal.status.value if proposal.decision else "waits",
    }
    if proposal.status is ProposalStatus.REJECTED:
        row["status"] = "refused"
    if ruling is not None and ruling.status is not ProposalStatus.ACCEPTED:
        row |= {"rule": ruling.rule, "because": ruling.rationale}
    against = {one.id: one.reason for one in proposal.doubts}
    if against:
        row["perhaps_against"] = [{"id": i, "because": why} for i, why in against.items()]
    return row


async def _list_duplicates(context: CallContext, arguments: Arguments) -> Row:
    page, about = read_page(arguments), arguments.get("about")
    entity = None if about is None else await context.find_entity(about, path="/about")
    one = None if entity is None else entity.id
    where, offset = Account(user_id="", space=context.space.id), page.offset
    found = await duplicates_within(
        context.canon, context.caller, where, entity_id=one, limit=page.limit, offset=offset
    )
    ids = {i for pair in found.pairs for i in (pair.entity_id, pair.candidate_id)}
    called = await context.canon.caller_scope(context.caller).root_entities(ids)
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
    reply = fit_rows(rows, page, found.total, "duplicates")
    if rows:
        reply["hint"] = "If they are one, decide merge, of=[kept, duplicate]. If not, separate."
    return reply


Decide = Callable[[CallContext, Sequence[str], Arguments], Awaitable[Row]]


async def _decide_by_verdict(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    context = await context_of(canon, caller, arguments, "of", "other")
    context.require_writable()
    verdict, of = arguments["verdict"], arguments.get("of", ())
    if verdict != "undo" and not of:
        _require_count(of, 1)
    row = await with_sayers(context, await _VERDICTS[verdict](context, of, arguments))
    note = row.get("note") or await _done(context, verdict, row)
    return {"note": note, "verdict": verdict, **await _with_items(context, row)}


async def _with_items(context: CallContext, row: Row) -> Row:
    """Return a decision's reply with `items` in place of the ids of several items that have words.

    The first sentence says what a single one is. Passages are listed if they are all or revealed.
    """
    rows = (row, *row.get("verdicts", ()))
    listed = {i: how for e in rows for name, how in ID_LISTS.items() for i in e.get(name, ())}
    found = (await context.canon.caller_scope(context.caller).items_by_id(listed)).values()
    gone = Tombstone | Observation | Proposal
    items = [one for one in found if not (isinstance(one, gone) or holds_quotes(one))]
    apart = [one for one in items if not isinstance(one, Snippet) or "revealed" in row]
    shown = await rows_of(context, apart or items)
    kept = ("id", "kind", "name", "says", "for")
    ids = {one["id"] for one in shown if len(shown) == 1}
    for each, name in product(rows, ID_LISTS):
        each[name] = [one for one in each.get(name, ()) if one in ids]
    brief = [{"how": listed[e["id"]], **{n: e[n] for n in kept if n in e}} for e in shown]
    more = [without_empty(each) for each in row.get("verdicts", ())]
    return without_empty({**row, "verdicts": more, "items": brief if len(brief) > 1 else ()})


async def _done(context: CallContext, verdict: str, row: Row) -> str:
    """Return the sentence that says what a decision has done, and to which items."""
    rows = [row, *row.get("verdicts", ())]
    reported = [each.get("id") or each.get("proposal") for each in rows]
    ids = [*row.get("fallen", ()), *row.get("revealed", ()), *filter(None, reported)]
    says = await what_items_say(context, ids)
    fell = await what_items_say(context, [i for each in rows[1:] for i in each.get("fallen", ())])
    kept = await what_items_say(context, [i for each in rows[1:] for i in each.get("kept", ())])
    first = f"Retracted: {fell}. " if fell else ""
    more = f" Both stand, for both may be true; the other one: {kept}." if kept else ""
    return f"{first}{DONE[verdict]}{f': {says}' if says else ''}.{more}"


async def _find_proposals(context: CallContext, of: Sequence[str]) -> list[Proposal]:
    context.require_judged("Proposals")
    kinds = (Proposal, Fact, Event, Relation)
    found = [await context.find_item(each, *kinds, path=f"/of/{n}") for n, each in enumerate(of)]
    ids = [each.proposal_id for each in found if isinstance(each, kinds[1:]) and each.proposal_id]
    made = await require_all(context.canon, context.caller, Proposal, ids)
    return [*(each for each in found if isinstance(each, Proposal)), *made]


async def _judge_again(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    del arguments
    return {
        "verdicts": await _judge_proposals(
            context, [each.id for each in await _find_proposals(context, of)]
        )
    }


async def _judge_proposals(context: CallContext, ids: Sequence[str]) -> list[Row]:
    judged = await canonize_proposals(context.canon, context.caller, ids, while_played=True)
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
    return [without_empty(row) for row in rows]


_RULINGS: Final = {
    "accept": (ProposalStatus.ACCEPTED, "why the proposal overrules its objections"),
    "reject": (ProposalStatus.REJECTED, "why the proposal is wrong"),
}


async def _evaluate_proposals(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    status, why = _RULINGS[arguments["verdict"]]
    verdict = KeeperVerdict(
        status=status, rationale=_require_reason(arguments, why), canonical_id=None
    )
    return await _rule_by_hand(context, await _find_proposals(context, of), verdict)


async def _rule_by_hand(
    context: CallContext, proposals: Sequence[Proposal], verdict: KeeperVerdict
) -> Row:
    """Decide proposals by hand, and let the rules judge those that waited for them."""
    rows: list[Row] = []
    accepts = verdict.status is ProposalStatus.ACCEPTED
    decided: list[ProposalVerdict] = []
    for n, each in enumerate(proposals):
        caller, became = derive_step(context.caller, str(n)), None
        if each.decision is not None and each.doubts and not verdict.same_as:
            rows.append(await _settled(context, each, verdict))
            continue
        if each.type is ProposalType.UPKEEP and verdict.status is ProposalStatus.ACCEPTED:
            became = await execute_change(context.canon, caller, each.id, verdict.rationale)
        else:
            await evaluate_proposal(context.canon, caller, each.id, verdict)
            done = verdict_on(await require_item(context.canon, context.caller, Proposal, each.id))
            became = done.canonical_id
            decided.append(done)
        rows.append(
            without_empty({"proposal": each.id, "verdict": verdict.status.value, "id": became})
        )
    reply: Row = {"verdicts": rows + await judge_waiting(context)}
    note = " ".join(outcomes_of(decided, (), written=True)) if accepts else ""
    return without_empty({"note": note}) | reply


async def _settled(context: CallContext, accepted: Proposal, verdict: KeeperVerdict) -> Row:
    """Settle what may conflict with what was accepted.

    A rejection retracts it. An acceptance retracts what excludes it, and keeps all else.
    """
    own = [] if accepted.decision is None else list(accepted.decision.made)
    is_right = verdict.status is ProposalStatus.ACCEPTED
    retcon = Retcon(reason=verdict.rationale, authority=_own_authority(context))
    found = await context.canon.caller_scope(context.caller).items_by_id(
        [one.id for one in accepted.doubts if is_dispute(one.reason)] if is_right else own
    )
    fell = [e.id for e in found.values() if getattr(e, "level", None) is CanonLevel.CANON]
    for each in fell:
        await retcon_with_dependents(context.canon, derive_step(context.caller, each), each, retcon)
    for one in accepted.doubts if is_right else ():
        by = derive_step(context.caller, f"waive {one.id}")
        await waive_conflict(context.canon, by, accepted.id, one.id, reason=verdict.rationale)
    row = {"proposal": accepted.id, "verdict": verdict.status.value, "fallen": fell}
    row["kept"] = [one.id for one in accepted.doubts if is_right and one.id not in fell]
    return without_empty({**row, "id": own[0] if own and is_right else None})


_FOLLOWS: Final = ", because "  # in the reason of what ends by a death
_STATE: Final = re.compile(r" was \w+$")  # in the reason of a state that ends with its cause


def outcomes_of(
    verdicts: Sequence[ProposalVerdict], later: Collection[str], *, written: bool
) -> Iterator[str]:
    """Yield what claims ended, retracted and may conflict with, a sentence each.

    Items in `later` will end, at a planned time.
    """
    good = [one for one in verdicts if one.status is ProposalStatus.ACCEPTED]
    graded = [each for one in good if one.rule != dependency_accepted.id for each in one.graded]
    ends = [(each["because"], written and each["id"] in later) for one in good for each in one.ends]
    if any(_FOLLOWS in why for why, _ in ends):  # the marriage, and not that she was married
        more = [why for why, _ in ends]
        ends = [e for e in ends if not any(why.startswith(f"{e[0]};") for why in more)]
        ends = [end for end in ends if not _STATE.search(end[0])]
        ends.sort(key=lambda end: _FOLLOWS not in end[0])  # the cause before what follows
    sure = [each for each in graded if each.grade is Grade.CONTRADICTION]
    retracted = [each.id if each.id in each.reason else each.reason for each in sure]
    new = [one.canonical_id for one in good if written and one.canonical_id and one.conflicts]
    possible = [e.reason.removeprefix(POSSIBLE) for e in graded if e.grade is Grade.POSSIBLE]
    reported = {
        "circle": [e.removeprefix(CIRCLE) for e in possible if CIRCLE in e],
        "ended": [because for because, planned in ends if not planned],
        "planned": [why for why, planned in ends if planned],
        "retracted": retracted,
        "new": new,
        "possible": [each for each in possible if CIRCLE not in each],
    }
    for what, reasons in reported.items():
        if named := [each.rstrip(".").replace(".)", ")") for each in reasons]:
            once = {e.rpartition(" says that ")[2].removeprefix("The "): e for e in named}
            yield f"{OUTCOMES[what][not written]}: {join_first([*once.values()])}."
    if unread := sum(not one.compared for one in good):
        yield f"{count_in_words(unread, 'claim')} {OUTCOMES['unread'][unread > 1]}"


async def judge_waiting(context: CallContext, retracted: Iterable[str] = ()) -> list[Row]:
    """Judge the proposals that waited for other ones, or because of items that are `retracted` now.

    Return the verdicts of those that wait no more.
    """
    query = ProposalQuery(types=WAITING, asks=_ASKS["review"], limit=PAGE_MAX)
    waiting = await list_proposals(
        context.canon, context.caller, query, universe_id=context.space.id
    )
    against = frozenset(retracted)
    ids = [
        one.id
        for one in waiting.items
        if (why := one.review) is not None
        and (
            why.rule == dependency_accepted.id
            or not against.isdisjoint(each.id for each in why.all_conflicts)
        )
    ]
    judged = await _judge_proposals(context, ids)
    return [each for each in judged if each["verdict"] != _REVIEWED]


async def _waive_possible(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    (proposal,) = await _find_proposals(context, _require_count(of, 1))
    other = arguments.get("other")
    if other is None:
        message = "Name the conflicting item in /other; review lists it in perhaps_against."
        raise InvalidInput("decide.other", message, path="/other")
    against = (await context.find_item(other, path="/other")).id
    reason = _require_reason(arguments, "why both statements are true")
    await waive_conflict(context.canon, context.caller, proposal.id, against, reason=reason)
    return {"proposal": proposal.id, "with": against}


async def _merge_two(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    other = [arguments["other"]] if "other" in arguments else []
    known, new = await _known_or_new(context, _require_count([*of, *other], 2))
    reason = arguments.get("reason") or ""
    if new is not None:
        return await _identify_proposed(
            context, new, reason or "it is this one", same_as=known[0].id
        )
    kept, merged = known
    one = context.is_account or kept.id == merged.id
    apart = [] if one else await clashes_of(context, kept, merged)
    if context.is_account:
        ids = {"from_id": merged.id, "to_id": kept.id}
        await merge_records(context.canon, context.caller, None, **ids, reason=reason)
    else:
        ids = {"kept_id": kept.id, "merged_id": merged.id}
        await merge_entities(context.canon, context.caller, **ids, reason=reason)
    if merged.id == kept.id:  # a retry finds them merged
        own = await context.merged_id(of[1], path="/of/1")
        found = await context.canon.space_scope(context.space.id).find_item(own)
        merged = found if isinstance(found, Entity) else merged
    row = {"id": kept.id, "name": kept.name, "merged": merged.name}
    return row | ({"hint": HINTS["merged"].format("; ".join(apart[:5]))} if apart else {})


async def _known_or_new(
    context: CallContext, of: Sequence[str]
) -> tuple[Sequence[Entity], Proposal | None]:
    """Return the known entities, and the proposal of a new one."""
    kinds = (Entity,) if context.is_account else (Entity, Proposal)
    found = [await context.find_item(each, *kinds, path=f"/of/{n}") for n, each in enumerate(of)]
    new = [each for each in found if isinstance(each, Proposal)]
    if len(new) > 1 or any(each.type is not ProposalType.ENTITY for each in new):
        message = "/of takes one proposal, of an entity. Decide accept or reject for others."
        raise InvalidInput("decide.no-entity", message, path="/of")
    return [each for each in found if isinstance(each, Entity)], (*new, None)[0]


async def _identify_proposed(
    context: CallContext, new: Proposal, reason: str, *, same_as: str
) -> Row:
    """Accept a proposed entity as the known one that it is the same as, or as another one."""
    status = ProposalStatus.ACCEPTED
    verdict = KeeperVerdict(status=status, rationale=reason, canonical_id=None, same_as=same_as)
    return await _rule_by_hand(context, (new,), verdict)


async def _separate_entity(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    reason = arguments.get("reason") or ""
    known, new = await _known_or_new(context, of[:2])
    if new is not None:
        return await _identify_proposed(context, new, reason or "it is another one", same_as=NOBODY)
    if len(of) == 2:  # noqa: PLR2004 - two entities that were never merged
        caller = within_account(context.caller) if context.is_account else context.caller
        ids, authority = (known[0].id, known[1].id), _own_authority(context)
        relation_id = await keep_apart(
            context.canon, caller, *ids, reason=reason, authority=authority
        )
        return {"id": relation_id, "name": known[0].name}
    (one,) = _require_count(of, 1)
    separated = await context.merged_id(one, path="/of/0")
    if context.is_account:
        await unmerge_records(context.canon, context.caller, None, separated, reason=reason)
    else:
        await unmerge_entities(context.canon, context.caller, separated, reason=reason)
    return {"id": separated}


async def _split_entity(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    """Give what documents say of an entity to a new one.

    Raises:
        NotSupported: `space.no-readings`.
    """
    _require_readings(context, "/verdict")
    entity = await context.find_entity(of[0], path="/of/0")
    parts = [
        (await context.find_item(e, Source, path=f"/of/{n}")).id for n, e in enumerate(of[1:], 1)
    ]
    done = await split_records(
        context.canon, context.caller, None, entity.id, parts, reason=arguments.get("reason") or ""
    )
    return {"id": done.from_id, "name": entity.name, "settled": done.observations}


def _own_authority(context: CallContext) -> Authority:
    return Authority.GM if Authority.GM in context.caller.authorities else Authority.PLAYER


async def _retcon_item(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    (one,) = _require_count(of, 1)
    item = await context.find_item(one, Fact, Event, Relation, Entity, Scene, path="/of/0")
    if not context.is_account or isinstance(item, Entity):
        context.require_story_space("Retcons of records", "Propose a correction of the field.")
    reason = _require_reason(arguments, "why it was never true")
    if isinstance(item, Scene):
        taken = await retcon_scene(context.canon, context.caller, item.id, reason=reason)
        more = await judge_waiting(context, taken.fallen)
        fell = {"fallen": list(taken.fallen), "holds_again": list(taken.resumed)}
        return without_empty({**fell, "verdicts": more})
    retcon = Retcon(
        reason=reason, along=bool(arguments.get("along")), authority=_own_authority(context)
    )
    done = await retcon_with_dependents(context.canon, context.caller, item.id, retcon)
    rests = [
        {"kind": KIND_NAMES[type(each.thing)], "id": each.thing.id, "certain": each.certain}
        for each in done.dependents
        if each.thing.id not in done.fallen
    ]
    more = await judge_waiting(context, (item.id, *done.fallen))
    fell = {"fallen": list(done.fallen), "holds_again": list(done.resumed)}
    return without_empty({**fell, "rested_on_it": rests[:_SHOWN], "verdicts": more})


async def _forget_items(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    context.require_judged("Statements")
    done = await find_earlier_commit(
        context.canon, derive_step(context.caller, "withdraw"), context.space.id
    )
    if done is not None:
        return {"note": "Forgotten.", "id": done.id, "hint": HINTS["back"].format(done.id)}
    kinds = (Fact, Event, Relation, Source)
    found = [await context.find_item(each, *kinds, path=f"/of/{n}") for n, each in enumerate(of)]
    items = list({one.id: one for one in found if isinstance(one, kinds)}.values())
    retcon = Retcon(reason=arguments.get("reason") or _FORGOTTEN, authority=_own_authority(context))
    where: tuple[Any, ...] = (context.canon, context.caller, context.space.id, items)
    named = await what_items_say(context, [each.id for each in items])
    try:
        receipt = await forget_statements(*where, retcon=retcon, withdraw=withdrawal(context))
    except Conflict as error:
        if error.code != "forget.cited":
            raise
        resting = error.details["conflicts"]
        call = {"verdict": "forget", "of": [*(each.id for each in items), *resting]}
        says = await what_items_say(context, resting)
        message = f"{named} is the only evidence of: {says}. To forget both, decide {{}}"
        raise Conflict(error.code, message.format(encode_json(call).decode())) from error
    hint = HINTS["back"].format(receipt.commit_id)
    made = [each.thing for each in receipt.entries if isinstance(each, Made)]
    quoted = [each.source_id for each in made if isinstance(each, SnippetDraft)]
    others = [one for one in quoted if one not in {each.id for each in items}]
    sources = await what_items_say(context, others)
    also = f" The passage that tells it went with it, from: {sources}." if sources else ""
    return {"note": f"Forgotten: {named}.{also}", "id": receipt.commit_id, "hint": hint}


async def _reveal_item(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    (one,), caller = _require_count(of, 1), context.caller
    item = await context.find_item(one, *get_args(HasAudience), path="/of/0")
    if context.is_account and isinstance(item, Fact | Event | Relation):
        caller = within_account(caller)
    else:
        context.require_story_space("Secrets", "Records of your account have no readers.")
    reason = _require_reason(arguments, "how the secret became known")
    change = await change_audience(context.canon, caller, item.id, ALL, reason=reason)
    return {"revealed": list(change.ids[:_SHOWN])}


async def _end_item(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    (one,) = _require_count(of, 1)
    caller, kinds = context.caller, (Relation, Entity) if context.is_account else (Relation,)
    relation = await context.find_item(one, *kinds, path="/of/0")
    judged = isinstance(relation, Relation) and relation.proposal_id is not None
    if context.is_account and (judged or getattr(relation, "rel_type", "") == DIFFERENT_FROM):
        caller = within_account(caller)
    else:
        context.require_story_space("Ends of relations", "Propose a correction of the field.")
    until = await context.read_time(arguments, "when")
    says = await what_items_say(context, [relation.id])
    reason = arguments.get("reason") or "ended by decision"
    try:
        ended = await end_relation(context.canon, caller, relation.id, until=until, reason=reason)
    except Conflict as error:
        ended_at = getattr(relation, "until", None)
        if error.code != "relation.ended" or until not in {None, ended_at}:
            raise
        when = "" if ended_at is None else f" ({context.time_in_words(ended_at)})"
        return {"note": f"This had already ended{when}: {says}.", "id": relation.id}
    on = f" on {context.time_in_words(until)}" if until is not None else ""
    return {"note": f"Ended{on}: {says}.", "id": ended.id}


_SHOWN: Final = 10  # a retcon may touch hundreds of items; a reply shows the first
_VERDICTS: Final[Mapping[str, Decide]] = {
    "judge": _judge_again,
    "accept": _evaluate_proposals,
    "reject": _evaluate_proposals,
    "waive": _waive_possible,
    "merge": _merge_two,
    "separate": _separate_entity,
    "split": _split_entity,
    "retcon": _retcon_item,
    "forget": _forget_items,
    "reveal": _reveal_item,
    "end": _end_item,
    "read": _read_values,
    "undo": undo_last,
}


def _require_count(of: Sequence[str], count: int) -> Sequence[str]:
    if len(of) != count:
        message = f"/of names {len(of)}; this verdict takes {count} names or ids."
        raise InvalidInput("decide.how-many", message, path="/of")
    return of


def _require_reason(arguments: Arguments, why: str) -> str:
    reason: str | None = arguments.get("reason")
    if reason is None or not reason.strip():
        raise InvalidInput("decide.reason", f"Give in /reason {why}.", path="/reason")
    return reason


TOOLS: Final = (
    canon_tool("review", _show_review, EVERYBODY, what=(*_ASKS, "duplicates", "unclear")),
    canon_tool("decide", _decide_by_verdict, KEEPERS, verdict=_VERDICTS),
)
