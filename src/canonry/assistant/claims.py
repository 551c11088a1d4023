"""Claims: what somebody wants to be true, in plain words with names, read into what is judged."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.assistant.desk import ANYTHING, Desk, checked, named, names, require_few, takes
from canonry.canon.canonization.proposals import Suggestion
from canonry.canon.queries.names import Mentions, begins_word_of, find_mentioned, may_mean
from canonry.gateway.limits import meant
from canonry.gateway.replies import TEXT, Field, enum
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import (
    Correcting,
    Merging,
    Proposal,
    ProposalType,
    Retconning,
    UpkeepAct,
)
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.narrative import DESCRIPTION, NAME, EntityType
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.fields import PROPOSAL_PREFIX
from canonry.values.ids import is_uuid
from canonry.values.json_values import folded
from canonry.values.provenance import Authority, Evidence, EvidenceKind

CLAIMS_MAX: Final = 20
CONFIDENCE: Final = 0.9
"""How sure somebody is who says nothing of it."""

UPKEPT: Final = ("correction", "merge", "retcon")
"""What no rule judges: who decides carries it out."""
KINDS: Final = ("entity", "fact", "relation", "state", "event", *UPKEPT)
_TYPES: Final = {
    "entity": ProposalType.ENTITY,
    "fact": ProposalType.FACT,
    "relation": ProposalType.RELATIONSHIP,
    "state": ProposalType.STATE_CHANGE,
    "event": ProposalType.EVENT,
}
_EVIDENCE: Final[Mapping[type, EvidenceKind]] = {
    Source: EvidenceKind.SOURCE,
    Snippet: EvidenceKind.SNIPPET,
    Turn: EvidenceKind.TURN,
    Scene: EvidenceKind.SCENE,
    Axiom: EvidenceKind.RULE,
}
_MEMBERS: Final[Mapping[str, Mapping[str, str]]] = {
    "entity": {
        "name": "name",
        "type": "entity_type",
        "says": "description",
        "fields": "properties",
        "tags": "state_tags",
        "for": "audience",
    },
    "fact": {
        "says": "statement",
        "about": "involved_entity_ids",
        "who": "actor_ids",
        "fields": "properties",
        "when": "time_ref",
        "replaces": "replaces",
        "for": "audience",
    },
    "relation": {
        "from": "from_entity_id",
        "type": "rel_type",
        "to": "to_entity_id",
        "fields": "properties",
        "when": "since",
        "for": "audience",
    },
    "state": {
        "of": "entity_id",
        "tags": "add",
        "untags": "remove",
        "when": "time_ref",
        "for": "audience",
    },
    "event": {
        "says": "title",
        "more": "description",
        "about": "involved_entity_ids",
        "who": "actor_ids",
        "where": "location_id",
        "when": "time_ref",
        "caused_by": "caused_by_event_ids",
        "for": "audience",
    },
    "correction": {"of": "entity_id", "field": "field", "value": "value", "says": "reason"},
    "merge": {"from": "from_entity_id", "to": "to_entity_id", "says": "reason"},
    "retcon": {"of": "thing_id", "says": "reason"},
}
"""What each kind of claim takes, and as which member of a proposal's content it is judged."""
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "entity": ("name", "type"),
    "fact": ("says",),
    "relation": ("from", "type", "to"),
    "state": ("of",),
    "event": ("says",),
    "correction": ("of", "field", "value"),
    "merge": ("from", "to"),
    "retcon": ("of", "says"),
}
_ALWAYS: Final = frozenset({"kind", "evidence", "confidence"})
_ABOUT: Final = frozenset({"fact", "event"})
_ENTITIES: Final = frozenset({"about", "who", "from", "to", "of", "where"})
_OTHERS: Final[Mapping[str, type]] = {"replaces": Fact, "caused_by": Event}

CLAIM: Final = Field(
    takes(
        {"kind": enum(*KINDS).but(description="What is claimed.")},
        {
            "name": named("entity: what it is called."),
            "type": named(
                "entity: character, faction, location, object, concept, organization (account: "
                "any); relation: LOCATED_IN, OWNS or any."
            ),
            "says": TEXT.but(
                description="fact: the statement; event: what happened; else description, reason."
            ),
            "more": TEXT.but(description="event: the same in full."),
            "about": names("fact, event: whom it is about; else all named."),
            "who": names("fact, event: who acts in it."),
            "from": named("relation: whose; merge: who is the same as"),
            "to": named("relation: to whom or what; merge: who is kept."),
            "of": named("state, correction: of which entity; retcon: what never was."),
            "tags": names("state: what begins to hold, like wounded; entity: what holds."),
            "untags": names("state: what ceases."),
            "where": named("event: the place."),
            "when": named("When, in its world: date, RFC 3339 or words."),
            "caused_by": names("event: ids of its causes."),
            "replaces": named("fact: id of the fact that it corrects."),
            "field": named("name, description or any field."),
            "value": Field({}).but(description="correction: what is right."),
            "for": names("Who alone may know: gm, names."),
            "fields": ANYTHING.but(description="Whatever else is known."),
            "evidence": names("Ids or titles of passages, turns, scenes, documents."),
            "confidence": Field(
                {"type": "number", "minimum": 0, "maximum": 1, "description": "Default 0.9."}
            ),
        },
    )
)


_IN_CONTENT: Final = re.compile(r"/claims/(\d+)/content(?:/(\w+))?")


@contextmanager
def in_words_of_claims(claims: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Let what is wrong with a content be said of the member of the claim that it came from."""

    def place(found: re.Match[str]) -> str:
        number, member = found.groups()
        told = _MEMBERS[claims[int(number)]["kind"]]
        named = [name for name, own in told.items() if own == member]
        return "/".join([f"/claims/{number}", *named])

    try:
        yield
    except InvalidInput as error:
        path = _IN_CONTENT.sub(place, error.details.get("path", ""))
        message = _IN_CONTENT.sub(place, error.message)
        raise InvalidInput(error.code, message, **{**error.details, "path": path}) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """What claims rest on that cite nothing else, and whose word they are."""

    evidence: tuple[Evidence, ...] = ()
    authority: Authority = Authority.SYSTEM


@dataclass(slots=True)
class ClaimReading:
    """Claims on their way: which names the entities declare that are claimed along with them."""

    desk: Desk
    cited: Cited
    declared: dict[str, str] = field(default_factory=dict)
    people: set[str] = field(default_factory=set)
    mentions: dict[int, Mentions] = field(default_factory=dict)
    """Whom the claims name in their words alone, by the numbers of these claims."""

    async def suggestions(self, claims: Sequence[Mapping[str, Any]]) -> list[Suggestion]:
        """The claims as proposals, in their order.

        Raises:
            InvalidInput: `claim.*`, or as names are found; with the path.
        """
        for n, claim in enumerate(claims):
            require_members(claim, n)
            if claim["kind"] != "entity":
                continue
            form = folded(claim["name"])
            if form in self.declared:
                message = "two entities of one name are claimed at once; tell them apart by name"
                raise InvalidInput("claim.repeats", message, path=f"/claims/{n}/name")
            self.declared[form] = f"$claim{n}"
            if folded(claim["type"]) == EntityType.CHARACTER:
                self.people.add(form)
        return [await self._suggestion(claim, n) for n, claim in enumerate(claims)]

    async def _suggestion(self, claim: Mapping[str, Any], number: int) -> Suggestion:
        path = f"/claims/{number}"
        kind = claim["kind"]
        content: dict[str, Any] = {}
        for name, member in _MEMBERS[kind].items():
            if name in claim:
                content[member] = await self._value(name, claim[name], f"{path}/{name}")
        if kind == "entity":
            content["ref"] = self.declared[folded(claim["name"])]
        elif kind in _ABOUT and not claim.get("about"):
            content["involved_entity_ids"] = await self._mentioned(claim, number)
        evidence = await evidence_of(self.desk, claim.get("evidence", ()), f"{path}/evidence")
        return Suggestion(
            type=_TYPES[kind],
            content=content,
            evidence=evidence or self.cited.evidence,
            confidence=float(claim.get("confidence", CONFIDENCE)),
            authority=self.cited.authority,
        )

    async def _mentioned(self, claim: Mapping[str, Any], number: int) -> list[str]:
        """Whom the words of a claim name that says nothing else of whom it is about."""
        mentions = self.mentions[number] = await find_mentioned(
            self.desk.canon, self.desk.space.id, claim["says"], self.declared, self.people
        )
        return [bearer or self.declared[name] for name, bearer in mentions.found.items()]

    async def _value(self, name: str, value: Any, path: str) -> Any:
        """The value with ids for names, those of entities claimed along included."""
        if isinstance(value, list):
            require_few(value, path)
        if name == "for":
            return [
                await self.desk.reader(each, path=f"{path}/{n}") for n, each in enumerate(value)
            ]
        if name in _ENTITIES:
            if isinstance(value, list):
                return [await self._entity(each, f"{path}/{n}") for n, each in enumerate(value)]
            return await self._entity(value, path)
        if name in _OTHERS:
            if isinstance(value, list):
                return [await self._other(name, e, f"{path}/{n}") for n, e in enumerate(value)]
            return await self._other(name, value, path)
        return value

    async def _entity(self, text: str, path: str) -> str:
        named = text.strip()
        if (ref := self.declared.get(folded(named))) is not None:
            return ref
        if is_uuid(named.removeprefix(PROPOSAL_PREFIX)) and named.startswith(PROPOSAL_PREFIX):
            return named
        try:
            found = await self.desk.thing(named, Entity, Proposal, path=path)
        except NotFound:
            along = [name for name in self.declared if begins_word_of(name, folded(named))]
            if not along:
                raise
            if len(along) > 1:
                raise may_mean(along, path) from None
            return self.declared[along[0]]
        return found.id if isinstance(found, Entity) else f"{PROPOSAL_PREFIX}{found.id}"

    async def _other(self, name: str, text: str, path: str) -> str:
        return (await self.desk.thing(text, _OTHERS[name], path=path)).id


async def upkeep_of(desk: Desk, claim: Mapping[str, Any], path: str) -> UpkeepAct:
    """What a claim asks of who decides, with the things that its names mean here.

    Raises:
        InvalidInput: `claim.value`, or as names are found.
    """
    match claim["kind"]:
        case "merge":
            merged, kept = [
                await desk.entity(claim[end], path=f"{path}/{end}") for end in ("from", "to")
            ]
            return Merging(kept=kept.id, merged=merged.id)
        case "retcon":
            thing = await desk.thing(claim["of"], Fact, Event, Relation, Entity, path=f"{path}/of")
            return Retconning(thing=thing.id)
        case _:
            entity = await desk.entity(claim["of"], path=f"{path}/of")
            name, value = claim["field"], claim["value"]
            if name in {NAME, DESCRIPTION}:
                if not isinstance(value, str):
                    message = f"{path}/value is a text where the field is {name}"
                    raise InvalidInput("claim.value", message, path=f"{path}/value")
                value = checked(value, 2_000 if name == DESCRIPTION else 200, path=f"{path}/value")
            return Correcting(entity=entity.id, field=name, value=value)


def require_members(claim: Mapping[str, Any], number: int) -> None:
    """Refuse what a kind of claim does not take, and what it lacks, in the claim's own words.

    Raises:
        InvalidInput: `claim.unknown-member` or `claim.missing-member`.
    """
    kind, path = claim["kind"], f"/claims/{number}"
    known = _MEMBERS[kind]
    takes = f"{kind} takes {', '.join(known)}"
    for name in claim:
        if name not in known and name not in _ALWAYS:
            message = f"{path}/{name} says nothing of a {kind}{meant(name, known)} ({takes})"
            raise InvalidInput("claim.unknown-member", message, path=f"{path}/{name}")
    for name in _NEEDED[kind]:
        if name not in claim:
            message = f"{path}/{name} is missing ({takes})"
            raise InvalidInput("claim.missing-member", message, path=f"{path}/{name}")


async def evidence_of(desk: Desk, cited: Sequence[str], path: str) -> tuple[Evidence, ...]:
    """What claims rest on, by ids or titles, also as kind:id.

    Raises:
        InvalidInput: as names are found.
    """
    require_few(cited, path)
    found: list[Evidence] = []
    for n, text in enumerate(cited):
        named = text.rpartition(":")[2] if is_uuid(text.rpartition(":")[2]) else text
        thing = await desk.thing(named, *_EVIDENCE, path=f"{path}/{n}")
        found.append(Evidence(kind=_EVIDENCE[type(thing)], ref=thing.id))
    return tuple(dict.fromkeys(found))


def briefly(claim: Mapping[str, Any]) -> str:
    """What is claimed, as a person would recognise it among others."""
    match claim["kind"]:
        case "entity":
            said = claim["name"]
        case "relation":
            said = f"{claim['from']} {claim['type']} {claim['to']}"
        case "state":
            signs = [*(f"+{each}" for each in claim.get("tags", ()))]
            signs += [*(f"-{each}" for each in claim.get("untags", ()))]
            said = f"{claim['of']} {' '.join(signs)}"
        case "merge":
            said = f"{claim['from']} is {claim['to']}"
        case "retcon":
            said = f"{claim['of']} never was"
        case "correction":
            said = f"{claim['of']}: {claim['field']}"
        case _:
            said = claim["says"]
    return str(said).strip()
