"""Wording: what a proposal says as the fields of a form, by the shape of its type, and back again.

A field that comes back as it was shown says what the proposal said, to the letter.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from canonry.assistant.desk import Desk, desk_of
from canonry.canon.canonization.create_proposal import restate_proposal
from canonry.canon.canonization.evaluate_proposal import KeeperVerdict, evaluate_proposal
from canonry.canon.judging.content_shapes import CONTENT_SHAPES, ContentMember, Holding
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.gateway.tool import Arguments
from canonry.inspector.views.things import NAMING, called, references_in
from canonry.language.texts.visible import visible
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.proposals import Proposal, ProposalStatus, ProposalType
from canonry.values.errors import CanonryError, InvalidInput
from canonry.values.fields import PROPOSAL_PREFIX, reference_of

_LISTS: Final = frozenset({Holding.TEXTS, Holding.REFERENCES})
_LONG: Final = _LISTS | {Holding.OBJECT}
_PROSE: Final = frozenset({"statement", "description"})
_OFFERED: Final = _LISTS | {Holding.TIME}
"""What is asked for also where the proposal says nothing of it."""
_TAG_CHANGES: Final = "state_tag_changes"
_NAMED: Final[Mapping[str, type]] = {
    "causes_event_ids": Event,
    "caused_by_event_ids": Event,
    "replaces": Fact,
}
"""What a reference names where that is no entity."""
_NAME_MAX: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingField:
    """A member of a content as a field: one of the `words`, or a text of one or more `lines`."""

    name: str
    text: str
    lines: bool
    required: bool
    holds: str
    words: Sequence[str] = ()


def wording(proposal: Proposal, named: Mapping[str, Thing]) -> Sequence[WordingField]:
    """The fields by which a proposal is said better; none where it asks for an act."""
    said = _flat(proposal)
    return [
        WordingField(
            name=member.name,
            text=(text := _text(said.get(member.name), member, named)),
            lines=member.kind in _LONG or member.name in _PROSE or "\n" in text,
            required=member.required,
            holds=member.kind.name.lower(),
            words=member.words,
        )
        for member in _members(proposal)
    ]


async def restate(canon: Canon, caller: Caller, arguments: Arguments) -> Sequence[str]:
    """Have the proposal `of` accepted as `said` has it; the ids of what it became.

    The former one is rejected. One of an entity is accepted as what came of the better words, since
    other proposals may name it.

    Raises:
        CanonryError: as the content is refused, or as what is accepted by hand is; nothing waits
            beside the former then.
    """
    desk, reason = await desk_of(canon, caller, arguments, "of"), arguments.get("reason", "")
    if not reason:
        raise InvalidInput("decide.reason", "say in /reason why", path="/reason")
    former = await require(canon, caller, Proposal, arguments["of"])
    content = await _read(desk, former, arguments.get("said", {}))
    receipt = await restate_proposal(canon, step(caller, "restate"), former.id, content)
    restated = str(receipt.entries[0].thing.id)  # type: ignore[union-attr]
    accepted, rejected = ProposalStatus.ACCEPTED, ProposalStatus.REJECTED

    async def decided(which: str, how: ProposalStatus, why: str, became: str | None = None) -> None:
        verdict = KeeperVerdict(status=how, rationale=why, canonical_id=became)
        await evaluate_proposal(canon, step(caller, f"{which}/{how}"), which, verdict)

    try:
        await decided(restated, accepted, reason)
    except CanonryError as error:
        await decided(restated, rejected, error.message)
        raise
    now = await require(canon, caller, Proposal, restated)
    became = now.decision.canonical_id if now.decision is not None else None
    why = f"restated as {PROPOSAL_PREFIX}{restated}: {reason}"
    if former.type is ProposalType.ENTITY:
        await decided(former.id, accepted, why, became)
    else:
        await decided(former.id, rejected, why)
    return [became or restated]


def _members(proposal: Proposal) -> Sequence[ContentMember]:
    shape, said = CONTENT_SHAPES.get(proposal.type), _flat(proposal)
    members = () if shape is None else shape.members
    return [one for one in members if one.name in said or one.kind in _OFFERED]


def _flat(proposal: Proposal) -> Mapping[str, Any]:
    said = dict(proposal.content)
    return said | dict(said.pop(_TAG_CHANGES, {}))


def _text(value: Any, member: ContentMember, named: Mapping[str, Thing]) -> str:
    if value is None:
        return ""
    if member.kind is Holding.OBJECT:
        return json.dumps(value, ensure_ascii=False, indent=1) if value else ""
    listed = [str(each) for each in (value if member.kind in _LISTS else (value,))]
    if member.kind in NAMING:
        listed = [_by_name(each, named) for each in listed]
    return "\n".join(listed)


def _by_name(reference: str, named: Mapping[str, Thing]) -> str:
    thing = named.get(reference)
    name = "" if thing is None else " ".join(called(thing).split())[:_NAME_MAX]
    return f"{name} {reference}".strip()


async def _read(desk: Desk, former: Proposal, said: Mapping[str, str]) -> Mapping[str, Any]:
    """The content that the fields say; what cannot be read is handed on, to be refused as such."""
    known = _flat(former)
    found = await desk.canon.seen_by(desk.caller).things(references_in(former))
    shown = {each.name: each.text for each in wording(former, found)}
    content: dict[str, Any] = {}
    for member in _members(former):
        text = said.get(member.name, "").replace("\r\n", "\n")
        if text == visible(shown[member.name]).replace("\r\n", "\n"):
            value = known.get(member.name)
        else:
            value = await _value(desk, member, text.strip())
        if value is not None or member.required:
            content[member.name] = value
    return content


async def _value(desk: Desk, member: ContentMember, text: str) -> Any:
    path = f"/content/{member.name}"
    lines = [each.strip() for each in text.split("\n") if each.strip()]
    match member.kind:
        case Holding.TEXTS:
            return lines
        case Holding.REFERENCES:
            return [await _reference(desk, member, each, path) for each in lines]
        case Holding.REFERENCE if text:
            return await _reference(desk, member, text, path)
        case Holding.OBJECT | Holding.SEVERITY | Holding.SECONDS if text:
            with suppress(ValueError):
                return json.loads(text)
    return text if text or member.required else None


async def _reference(desk: Desk, member: ContentMember, text: str, path: str) -> str:
    """What a line names: by the reference that ends it, or else by name."""
    try:
        return reference_of(text.rsplit(maxsplit=1)[-1], path)
    except InvalidInput:
        kind = _NAMED.get(member.name, Entity)
        return (await desk.thing(text, kind, path=path)).id
