"""The review queue, the form fields of its proposals, and scenes and stories."""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, Final

from canonry.assistant.call_context import CallContext, context_of
from canonry.assistant.reviewing import WAITING
from canonry.assistant.rows import Row, proposal_text, rows_of
from canonry.canon.canonization.proposals import (
    KeeperVerdict,
    evaluate_proposal,
    list_proposals,
    restate_proposal,
)
from canonry.canon.judging.contents import CONTENT_SHAPES, ContentMember, Holding
from canonry.canon.queries.explain import trace_evidence
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import Account, require_item
from canonry.gateway.tool import Arguments
from canonry.inspector.views.items import NAMING, LinkTo, link_of, links_to, name_of, references_in
from canonry.inspector.views.spaces import Seen, space_of_call
from canonry.language.texts.visible import escape_hidden
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.proposals import Grade, Proposal, ProposalStatus, ProposalType, ReviewKind
from canonry.log.items.scenes import Story
from canonry.narrative.usecases.scenes import get_scene, get_turns, query_scenes
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.records.notation.numbers import NOTATIONS
from canonry.records.usecases.corrections import Settled, list_unclear, settle_values
from canonry.records.usecases.identity import duplicates_within
from canonry.values.errors import CanonryError, InvalidInput
from canonry.values.fields import PROPOSAL_PREFIX, reference_of

# The content of a proposal as the fields of a form, by the shape of its type, and back.
#
# An unchanged field leaves the content of the proposal unchanged to the letter.

_LISTS: Final = frozenset({Holding.TEXTS, Holding.REFERENCES})
_LONG: Final = _LISTS | {Holding.OBJECT}
_PROSE: Final = frozenset({"statement", "description"})
_OFFERED: Final = _LISTS | {Holding.TIME}
"""The kinds of members that the form shows even if the proposal lacks them."""
_NAMED: Final[Mapping[str, type]] = {
    "causes_event_ids": Event,
    "caused_by_event_ids": Event,
    "replaces": Fact,
}
"""The kind of item that a reference names, if it is no entity."""
_NAME_MAX: Final = 80  # longer names would break the layout of a row


def form_fields(proposal: Proposal, named: Mapping[str, StoredItem]) -> Sequence[Seen]:
    """Return the form fields of a proposal; none if it asks for an act.

    Each is one of the `words`, or a text, with several rows if it has `lines`.
    """
    content = _flat_content(proposal)
    return [
        {
            "name": member.name,
            "text": (text := _member_text(content.get(member.name), member, named)),
            "lines": member.kind in _LONG or member.name in _PROSE or "\n" in text,
            "required": member.required,
            "holds": member.kind.name.lower(),
            "words": member.options,
        }
        for member in _form_members(proposal)
    ]


async def accept_edited(canon: Canon, caller: Caller, arguments: Arguments) -> Sequence[str]:
    """Accept the proposal `of` with the content in `said`; return the ids of the new items.

    The former proposal is rejected. A proposal of an entity is accepted as the entity of the edited
    one, because other proposals may name it.

    Raises:
        CanonryError: if the content or the acceptance is refused; then only the former proposal
            is pending.
    """
    context, reason = await context_of(canon, caller, arguments, "of"), arguments.get("reason", "")
    if not reason:
        raise InvalidInput("decide.reason", "Give a reason in /reason.", path="/reason")
    former = await require_item(canon, caller, Proposal, arguments["of"])
    content = await _read_content(context, former, arguments.get("said", {}))
    receipt = await restate_proposal(canon, derive_step(caller, "restate"), former.id, content)
    restated = str(receipt.entries[0].thing.id)  # type: ignore[union-attr]
    accepted, rejected = ProposalStatus.ACCEPTED, ProposalStatus.REJECTED

    async def record_verdict(
        which: str, how: ProposalStatus, why: str, became: str | None = None
    ) -> None:
        verdict = KeeperVerdict(status=how, rationale=why, canonical_id=became)
        await evaluate_proposal(canon, derive_step(caller, f"{which}/{how}"), which, verdict)

    try:
        await record_verdict(restated, accepted, reason)
    except CanonryError as error:
        await record_verdict(restated, rejected, error.message)
        raise
    now = await require_item(canon, caller, Proposal, restated)
    became = now.decision.canonical_id if now.decision is not None else None
    why = f"restated as {PROPOSAL_PREFIX}{restated}: {reason}"
    if former.type is ProposalType.ENTITY:
        await record_verdict(former.id, accepted, why, became)
    else:
        await record_verdict(former.id, rejected, why)
    return [became or restated]


def _form_members(proposal: Proposal) -> Sequence[ContentMember]:
    shape, content = CONTENT_SHAPES.get(proposal.type), _flat_content(proposal)
    members = () if shape is None else shape.members
    return [one for one in members if one.name in content or one.kind in _OFFERED]


def _flat_content(proposal: Proposal) -> Mapping[str, Any]:
    content = dict(proposal.content)
    return content | dict(content.pop("state_tag_changes", {}))


def _member_text(value: Any, member: ContentMember, named: Mapping[str, StoredItem]) -> str:
    if value is None:
        return ""
    if member.kind is Holding.OBJECT:
        return json.dumps(value, ensure_ascii=False, indent=1) if value else ""
    listed = [str(each) for each in (value if member.kind in _LISTS else (value,))]
    if member.kind in NAMING:
        listed = [_by_name(each, named) for each in listed]
    return "\n".join(listed)


def _by_name(reference: str, named: Mapping[str, StoredItem]) -> str:
    item = named.get(reference)
    name = "" if item is None else " ".join(name_of(item).split())[:_NAME_MAX]
    return f"{name} {reference}".strip()


async def _read_content(
    context: CallContext, former: Proposal, edited: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return the content of the fields; unreadable values are passed on and refused later."""
    known = _flat_content(former)
    found = await context.canon.caller_scope(context.caller).items_by_id(references_in(former))
    shown = {each["name"]: each["text"] for each in form_fields(former, found)}
    content: dict[str, Any] = {}
    for member in _form_members(former):
        text = edited.get(member.name, "").replace("\r\n", "\n")
        if text == escape_hidden(shown[member.name]).replace("\r\n", "\n"):
            value = known.get(member.name)
        else:
            value = await _read_member(context, member, text.strip())
        if value is not None or member.required:
            content[member.name] = value
    return content


async def _read_member(context: CallContext, member: ContentMember, text: str) -> Any:
    path = f"/content/{member.name}"
    lines = [each.strip() for each in text.split("\n") if each.strip()]
    match member.kind:
        case Holding.TEXTS:
            return lines
        case Holding.REFERENCES:
            return [await _read_reference(context, member, each, path) for each in lines]
        case Holding.REFERENCE if text:
            return await _read_reference(context, member, text, path)
        case Holding.OBJECT | Holding.SEVERITY | Holding.SECONDS if text:
            with suppress(ValueError):
                return json.loads(text)
    return text if text or member.required else None


async def _read_reference(context: CallContext, member: ContentMember, text: str, path: str) -> str:
    """Return the reference in a text line: the one that ends it, or else by name."""
    try:
        return reference_of(text.rsplit(maxsplit=1)[-1], path)
    except InvalidInput:
        kind = _NAMED.get(member.name, Entity)
        return (await context.find_item(text, kind, path=path)).id


PAGE: Final = 30  # each row is judged again: bench inspector
PAGE_MAX: Final = 500
"""The most proposals that are searched for those pending at an earlier time."""
COMPARED_MAX: Final = 2_000
"""The most entities that a page compares; the page says if there are more."""
ASKS: Final[Mapping[str, frozenset[ReviewKind]]] = {
    "all": frozenset(ReviewKind),
    "pending": frozenset({ReviewKind.PENDING}),
    "review": frozenset({ReviewKind.NEEDS_REVIEW}),
    "conflicts": frozenset({ReviewKind.POSSIBLE, ReviewKind.HIDDEN}),
}
WHAT: Final = (*ASKS, "duplicates", "unclear")
_SHOWN: Final = 5  # details of a row; its own page shows all


async def pending_items(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the pending items of a kind in a space.

    `head` is the last position of the log; `past` means pending at an earlier time; `cut` means
    that the search stopped at a limit.
    """
    context = await context_of(canon, caller, arguments)
    space = await space_of_call(context)
    what = arguments.get("what") or ("all" if space.may_have_stories else "duplicates")
    if what not in WHAT or (what in ASKS and not space.may_have_stories):
        what = "all" if space.may_have_stories else "duplicates"
    head = await canon.ledger.head_position(context.space.id)
    seen = {"space": space, "what": what, "head": head}
    offset = arguments.get("offset", 0)
    if what == "unclear":
        unclear = await _unclear_rows(context)
        return {**seen, "total": len(unclear), "unclear": unclear}
    if what == "duplicates":
        where, about = Account(user_id="", space=context.space.id), arguments.get("about")
        within = {"limit": PAGE, "offset": offset, "compared": COMPARED_MAX}
        found = await duplicates_within(canon, caller, where, entity_id=about, **within)
        pairs = [(each.entity_id, each.candidate_id, each.reason) for each in found.pairs]
        rows = await _pair_rows(context, pairs)
        return {**seen, "total": found.total, "pairs": rows, "cut": found.truncated}
    asked = ProposalQuery(types=WAITING, asks=ASKS[what], limit=PAGE, offset=offset)
    page = await list_proposals(context.canon, caller, asked, universe_id=context.space.id)
    pending = [await pending_of(context, each) for each in page.items]
    seen |= {"past": True} if "as_known_at" in arguments else {}
    # Group them by the first entity that each is about, in the order of the first.
    groups: dict[str, Seen] = {}
    for one in pending:
        entity = next(iter(one["about"]), None)
        group = groups.setdefault(
            "" if entity is None else entity.id, {"about": entity, "waiting": [], "open": []}
        )
        group["waiting"].append(one)
        group["open"] += [] if one["proposal"].decision else [one["proposal"].id]
    return {**seen, "total": page.total, "groups": list(groups.values())}


async def head_of(canon: Canon, caller: Caller, arguments: Arguments) -> int:
    """Return the last log position of a space, for a page that waits for others."""
    context = await context_of(canon, caller, arguments)
    return await canon.ledger.head_position(context.space.id)


async def pending_of(context: CallContext, proposal: Proposal) -> Seen:
    """Return a proposal with its evidence and the items that contradict it."""
    ruling = proposal.decision or proposal.review
    content = proposal.content
    references, seen = references_in(proposal), context.canon.caller_scope(context.caller)
    named = await seen.root_entities(references)
    others = await seen.items_by_id(one for one in references if one not in named)
    scenes = [] if proposal.scene_id is None else await links_to(context, (proposal.scene_id,))
    at = content.get("time_ref") or content.get("since")
    return {
        "proposal": proposal,
        "says": proposal_text(proposal, named, others).partition(": ")[2],
        "at": at if isinstance(at, str) else None,
        "scene": next(iter(scenes), None),
        "about": [link_of(each) for each in {each.id: each for each in named.values()}.values()],
        "evidence": await evidence_rows(context, proposal),
        "ruling": ruling,
        "against": await _conflict_rows(context, proposal),
        "wording": form_fields(proposal, {**others, **named}),
    }


async def evidence_rows(context: CallContext, item: Any) -> Sequence[Row]:
    """Return the evidence of an item as rows."""
    traced = await trace_evidence(context.canon, context.caller, item.evidence[:_SHOWN])
    return await rows_of(context, (each.thing for each in traced if each.thing is not None))


async def _conflict_rows(context: CallContext, proposal: Proposal) -> Sequence[Seen]:
    ruling = proposal.decision or proposal.review
    if ruling is None:
        return ()
    graded = [one for one in ruling.all_conflicts if one.id not in proposal.waived][:_SHOWN]
    found = await context.canon.caller_scope(context.caller).items_by_id(one.id for one in graded)
    conflicts: list[Seen] = []
    for one in graded:
        item: StoredItem | None = found.get(one.id)
        if item is not None:
            (row,) = await rows_of(context, (item,))
            behind = await evidence_rows(context, item) if hasattr(item, "evidence") else ()
            certain = one.grade is Grade.CONTRADICTION
            conflicts.append(
                {"row": row, "certain": certain, "because": one.reason, "evidence": behind}
            )
    return conflicts


async def _pair_rows(context: CallContext, pairs: Sequence[tuple[str, str, str]]) -> Sequence[Seen]:
    ids = {one for first, second, _ in pairs for one in (first, second)}
    roots = await context.canon.caller_scope(context.caller).root_entities(ids)
    return [
        {
            "one": link_of(roots[first]),
            "other": link_of(roots[second]),
            "because": because,
            "fields": _compared_fields(roots[first], roots[second]),
        }
        for first, second, because in pairs
        if first in roots and second in roots
    ]


def _compared_fields(one: Entity, other: Entity) -> Sequence[tuple[str, Any, Any]]:
    """Return each field of either, with both values."""
    sides = [{"type": each.entity_type, **each.properties} for each in (one, other)]
    for side, each in zip(sides, (one, other), strict=True):
        side |= {"description": each.description, "tags": list(each.state_tags)}
    names = dict.fromkeys([*sides[0], *sides[1]])
    rows = [(name, sides[0].get(name), sides[1].get(name)) for name in names]
    return [row for row in rows if row[1] not in (None, "", []) or row[2] not in (None, "", [])]


async def settle_field(canon: Canon, caller: Caller, arguments: Arguments) -> Settled:
    """Read the ambiguous values of a field of the document `of` by a notation."""
    return await settle_values(
        canon,
        caller,
        None,
        source_id=arguments.get("of", ""),
        name=arguments.get("field", ""),
        notation=arguments.get("read_as", ""),
    )


async def _unclear_rows(context: CallContext) -> Sequence[Seen]:
    if not context.is_account:
        return ()
    found, _ = await list_unclear(context.canon, context.caller)
    rows: list[Seen] = []
    for each in found[:PAGE]:
        source = [] if each.source_id is None else await links_to(context, (each.source_id,))
        known = {name for one in each.examples for name in one.unclear.readings}
        readings = [name for name in NOTATIONS if name in known]
        rows.append({"field": each, "source": next(iter(source), None), "readings": readings})
    return rows


TURNS: Final = 100  # bounds the time of a page: bench inspector
SCENES: Final = 200  # bounds the time of a page: bench inspector
_SEARCHED_MAX: Final = 1_000
"""The most proposals of the space that are searched for citations of a turn."""


async def seen_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the scene `of` with a page of its turns.

    `loose` are the proposals without a turn on this page.
    """
    context = await context_of(canon, caller, arguments, "of")
    reading = await get_scene(context.canon, caller, arguments["of"], turns=0)
    scene = reading.scene
    page = await get_turns(
        context.canon, caller, scene.id, after=int(arguments.get("offset", 0)) - 1, limit=TURNS
    )
    shown = {turn.id for turn in page.turns}
    outcomes: dict[str | None, list[Seen]] = {}
    where: dict[str, tuple[str | None, Proposal]] = {
        each.id: (each.turn_id, each) for each in reading.proposals.items
    }
    where |= await _citing_proposals(context, shown)
    proposals = await context.items_holding(each for _, each in where.values())
    made = [str(p.decision.canonical_id) for p in proposals if p.decision]
    items = (await context.canon.caller_scope(caller).items_by_id(made)).values()
    stood = [each.id for each in await context.items_holding(items)]
    became = {each.id: each for each in await links_to(context, stood)}
    for proposal in proposals:
        outcome = _outcome_of(proposal, await pending_of(context, proposal), became)
        outcomes.setdefault(where[proposal.id][0], []).append(outcome)
    found = {e.id: e for e in await links_to(context, (scene.story_id, *scene.participants))}
    location = await links_to(context, () if scene.location_ref is None else (scene.location_ref,))
    return {
        "space": await space_of_call(context),
        "scene": scene,
        "story": found.get(scene.story_id),
        "place": next(iter(location), None),
        "present": [found[each] for each in scene.participants if each in found],
        "turns": [
            {
                "turn": turn,
                "speaker": page.names.get(turn.entity_id or "", ""),
                "outcomes": outcomes.get(turn.id, ()),
            }
            for turn in page.turns
        ],
        "loose": [o for turn, each in outcomes.items() if turn not in shown for o in each],
        "total": page.total,
        "following": None if page.following is None else page.following + 1,
    }


async def _citing_proposals(
    context: CallContext, turns: AbstractSet[str]
) -> Mapping[str, tuple[str | None, Proposal]]:
    """Return the newest proposals outside of scenes that cite one of the turns, with the turns."""
    found: dict[str, tuple[str | None, Proposal]] = {}
    first = await list_proposals(
        context.canon, context.caller, ProposalQuery(limit=1), universe_id=context.space.id
    )
    for offset in range(max(0, first.total - _SEARCHED_MAX), first.total, PAGE_MAX):
        query = ProposalQuery(limit=PAGE_MAX, offset=offset)
        page = await list_proposals(
            context.canon, context.caller, query, universe_id=context.space.id
        )
        for proposal in page.items:
            cited = (each.ref for each in proposal.evidence if each.ref in turns)
            turn = None if proposal.scene_id is not None else next(cited, None)
            if turn is not None:
                found[proposal.id] = turn, proposal
    return found


def _outcome_of(proposal: Proposal, seen: Seen, became: Mapping[str, LinkTo]) -> Seen:
    decision = proposal.decision
    canonical = None if decision is None else decision.canonical_id
    status = proposal.status.value
    if proposal.decision is None and proposal.review is not None:
        status = "needs_review"
    return {**seen, "status": status, "became": became.get(canonical or "")}


async def seen_story(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the story `of`."""
    context = await context_of(canon, caller, arguments, "of")
    story = await context.find_item(arguments["of"], Story, path="/of")
    assert isinstance(story, Story)  # noqa: S101 - the kind was asked for
    query = SceneQuery(story_id=story.id, limit=SCENES)
    page = await query_scenes(context.canon, caller, query, universe_id=story.space)
    own_space = await space_of_call(context)
    return {"space": own_space, "story": story, "scenes": page.items, "total": page.total}
