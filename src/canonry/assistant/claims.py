"""Claims of a propose call, read as proposals or recorded in an account."""

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from canonry.assistant.call_context import CallContext, require_few
from canonry.assistant.first_sentences import join_first
from canonry.assistant.rows import Row, cut_text, properties_of, without_empty
from canonry.assistant.wording import HINTS
from canonry.canon.canonization.proposals import Suggestion
from canonry.canon.judging.contents import NOBODY
from canonry.canon.ports.files import FileHint
from canonry.canon.queries.names import (
    AS_KNOWN_AT,
    Mentions,
    ambiguous_name_error,
    begins_word_of,
    find_mentioned,
)
from canonry.canon.session.caller import derive_step
from canonry.canon.session.commit_change import drafts_made_before
from canonry.canon.session.lookup import account_of
from canonry.canon.session.snippets import SAID_TITLE
from canonry.canon.session.viewpoint import items_at_viewpoint
from canonry.gateway.limits import checked_text, suggest_name
from canonry.gateway.tool import Reply
from canonry.language.reading.reading import (
    limits_in,
    read_statements,
    require_days,
    said_by,
    tense_of,
    time_words_in,
)
from canonry.language.texts.stems import is_part_of, stems_of
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalType
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source, SourceDraft
from canonry.log.schemas.narrative import DESCRIPTION, NAME, OWN_TYPE, EntityType, narrative_type
from canonry.log.schemas.schemas import TruthRelation
from canonry.log.schemas.typed_records import RESERVED
from canonry.readmodels.ports.state import EntityQuery
from canonry.readmodels.ranking import parse_query
from canonry.records.domain.assertions import Warned
from canonry.records.domain.interpretations import FoundEntity, require_record
from canonry.records.domain.queries import query_words, texts_in, words_in
from canonry.records.domain.snapshots import ShownFields, shown_by
from canonry.records.usecases.corrections import Correction, correct_field
from canonry.records.usecases.files import ROWS_MAX, GivenFile
from canonry.records.usecases.identity import merge_records
from canonry.records.usecases.ingest_file import ingest_file
from canonry.records.usecases.queries import excerpt_of, own_records
from canonry.records.usecases.record_source import ingest_records
from canonry.records.usecases.records import list_entities
from canonry.records.usecases.relationships import relate_entities
from canonry.records.usecases.schemas import schema_of, schemas_for
from canonry.values.calendars.declaring import read_rough_time
from canonry.values.calendars.reckoning import GREGORIAN, Grain, RoughTime, rough_in_words
from canonry.values.data_files import read_toml
from canonry.values.errors import CanonryError, Conflict, InvalidInput, NotFound
from canonry.values.fields import PROPOSAL_PREFIX
from canonry.values.ids import is_uuid
from canonry.values.json_values import encode_json, fold_text
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.provenance import Authority, Evidence, EvidenceKind

CONFIDENCE: Final = 0.9
"""The confidence of a claim that names none."""

UNJUDGED_KINDS: Final = ("correction", "merge", "retcon")
"""Kinds of claims that no rule judges. A keeper decides on them."""
KINDS: Final = ("entity", "fact", "relation", "state", "event", *UNJUDGED_KINDS)
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
_CLAIMS: Final = read_toml(__package__, "claims.toml")
_MEMBERS: Final[Mapping[str, Mapping[str, str]]] = _CLAIMS["members"]
"""The members of each kind of claim, with the members of the proposal that they become."""
_NEEDED: Final[Mapping[str, Sequence[str]]] = _CLAIMS["needed"]
_ABOUT: Final = frozenset({"fact", "event"})
_ENTITIES: Final = frozenset({"about", "who", "from", "to", "of", "where", "same_as"})
_STATEMENTS: Final = (Fact, Event, Relation)
_OTHERS: Final[Mapping[str, tuple[type, ...]]] = {"replaces": _STATEMENTS, "caused_by": (Event,)}
_CLAIM: Final = re.compile(r"/claims/(\d+)")
_IN_CONTENT: Final = re.compile(r"/claims/(\d+)/content(?:/(\w+))?")


@contextmanager
def _rewrite_errors(
    pattern: re.Pattern[str], rewrite_path: Callable[[re.Match[str]], str]
) -> Iterator[None]:
    try:
        yield
    except CanonryError as error:
        path = pattern.sub(rewrite_path, error.details.get("path", ""))
        message = pattern.sub(rewrite_path, error.message)
        scene, date = (error.details.get(each) for each in ("scene", "example"))
        if scene and date:
            turn = {"by": "narrator", "text": f"It is {date}."}
            call = {"scene": scene, "when": date, "turns": [turn]}
            message = f"{message} For example: tell {encode_json(call).decode()}"
        raise type(error)(error.code, message, **{**error.details, "path": path}) from error


def renumber_errors(numbers: Sequence[int]) -> AbstractContextManager[None]:
    """Rewrite the numbers of some of a call's claims in errors as those of the whole call."""
    return _rewrite_errors(_CLAIM, lambda found: f"/claims/{numbers[int(found[1])]}")


def reword_errors(claims: Sequence[Mapping[str, Any]]) -> AbstractContextManager[None]:
    """Rewrite paths into a proposal's content as paths into the claim that it came from."""

    def rewrite_path(found: re.Match[str]) -> str:
        number, member = found.groups()
        members = _MEMBERS[claims[int(number)]["kind"]]
        named = [name for name, own in members.items() if own == member]
        return "/".join([f"/claims/{number}", *named])

    return _rewrite_errors(_IN_CONTENT, rewrite_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """The default evidence and authority of the claims of a call, and those of other evidence."""

    evidence: tuple[Evidence, ...]
    authority: Authority
    choose: Callable[[Sequence[Evidence]], Awaitable[Authority]]


@dataclass(slots=True)
class ClaimReader:
    """Reads claims as proposals, with the names of entities that the same call adds."""

    context: CallContext
    cited: Cited
    declared: dict[str, str] = field(default_factory=dict)
    people: set[str] = field(default_factory=set)
    mentions: dict[int, Mentions] = field(default_factory=dict)
    """Entities that the text of a claim mentions, by the number of the claim."""

    async def read_claims(self, claims: Sequence[Mapping[str, Any]]) -> list[Suggestion]:
        """Return the claims as proposals, in their order.

        Raises:
            InvalidInput: `claim.*`, or an error of the lookup of a name; with the path.
        """
        for n, claim in enumerate(claims):
            if claim["kind"] != "entity":
                continue
            form = fold_text(claim["name"])
            if form in self.declared:
                path = f"/claims/{n}/name"
                message = f"{path} is the name of another entity in this call. Change one of them."
                raise InvalidInput("claim.repeats", message, path=path)
            self.declared[form] = f"$claim{n}"
            if narrative_type(claim["type"]) is EntityType.CHARACTER:
                self.people.add(form)
        return [await self._read_claim(claim, n) for n, claim in enumerate(claims)]

    async def _read_claim(self, claim: Mapping[str, Any], number: int) -> Suggestion:
        path, kind = f"/claims/{number}", claim["kind"]
        content: dict[str, Any] = {}
        for name, member in _MEMBERS[kind].items():
            if name in claim:
                content[member] = await self._resolve_value(name, claim[name], f"{path}/{name}")
        scope = self.context.canon.caller_scope(self.context.caller)
        wrong = await scope.find_item(content["replaces"]) if "replaces" in content else None
        if kind == "entity":
            content["ref"] = self.declared[fold_text(claim["name"])]
            nearest, given = narrative_type(claim["type"]).value, fold_text(claim["type"])
            typed = {OWN_TYPE: claim["type"].strip()} if nearest != given else {}
            content |= {"entity_type": nearest, "properties": {**typed, **claim.get("fields", {})}}
        elif kind in _ABOUT:
            names = self.declared, self.people
            mentions = await find_mentioned(
                self.context.canon,
                self.context.space.id,
                claim["says"],
                *names,
                of_records=self.context.is_account,
            )
            named = [one or self.declared[name] for name, one in mentions.found.items()]
            if about := content.get("involved_entity_ids"):
                also = kind == "fact" and not claim.get("fields")  # fields belong to `about`
                named = [*about, *(await self._other_entities(named, about) if also else ())]
            else:
                self.mentions[number] = mentions
            content["involved_entity_ids"] = named or list(getattr(wrong, "involved", ()))
        own = await evidence_of(self.context, claim.get("evidence", ()), f"{path}/evidence")
        evidence = own or self.cited.evidence or getattr(wrong, "evidence", ())
        played = {EvidenceKind.TURN, EvidenceKind.SCENE} & {each.kind for each in evidence}
        said = read_statements(claim["says"], {}) if kind == "fact" else ()
        if len([*said_by("", said)]) < len(said) and "actor_ids" not in content:  # it speaks of I
            cited = (await scope.items_by_id(each.ref for each in evidence)).values()
            speakers = {one.entity_id for one in cited if isinstance(one, Turn)} - {None}
            content |= {"actor_ids": [*speakers]} if len(speakers) == 1 else {}
        if kind in _ABOUT and not played and self.context.calendar is GREGORIAN:
            now = RoughTime(start=self.context.canon.clock.now())
            time_text = time_words_in(claim["says"], now, path=f"{path}/says")
            content |= {"time_ref": time_text} if time_text and "time_ref" not in content else {}
            if kind == "fact":
                known = content.get("time_ref")
                content |= _limits_of(claim["says"], now, known, path=f"{path}/when")
        return Suggestion(
            type=_TYPES[kind],
            content=content,
            evidence=evidence,
            confidence=float(claim.get("confidence", CONFIDENCE)),
            authority=await self.cited.choose(own) if own else self.cited.authority,
        )

    async def _other_entities(self, named: Sequence[str], about: Sequence[str]) -> list[str]:
        """Return the named entities that have no name in common with those of the claim."""
        found = await self.context.canon.caller_scope(self.context.caller).items_by_id(
            {*named, *about}
        )
        known = {i: e.known_as for i, e in found.items() if isinstance(e, Entity)}
        known |= {ref: (name,) for name, ref in self.declared.items()}
        own = [name for one in about for name in known.get(one, ())]
        return [
            one
            for one in named
            if one not in about
            and not any(is_part_of(name, each) for name in known.get(one, ()) for each in own)
        ]

    async def _resolve_value(self, name: str, value: Any, path: str) -> Any:
        """Replace names in the value by ids, or by references to entities of this call."""
        resolve: Callable[..., Awaitable[str]]
        if name == "for":
            resolve = self.context.read_reader
        elif name in _ENTITIES and (name, value) != ("same_as", NOBODY):
            resolve = self._resolve_entity
        elif name in _OTHERS:
            resolve = partial(self._resolve_other, name)
        else:
            return value
        if not isinstance(value, list):
            return await resolve(value, path=path)
        require_few(value, path)
        return [await resolve(each, path=f"{path}/{n}") for n, each in enumerate(value)]

    async def _resolve_entity(self, text: str, path: str) -> str:
        named = text.strip()
        if (ref := self.declared.get(fold_text(named))) is not None:
            return ref
        if is_uuid(named.removeprefix(PROPOSAL_PREFIX)) and named.startswith(PROPOSAL_PREFIX):
            return named
        try:
            found = await self.context.find_item(named, Entity, Proposal, path=path)
        except NotFound:
            along = [name for name in self.declared if begins_word_of(name, fold_text(named))]
            if not along:
                raise
            if len(along) > 1:
                raise ambiguous_name_error(along, path) from None
            return self.declared[along[0]]
        return found.id if isinstance(found, Entity) else f"{PROPOSAL_PREFIX}{found.id}"

    async def _resolve_other(self, name: str, text: str, path: str) -> str:
        return (await self.context.find_item(text, *_OTHERS[name], path=path)).id


def _limits_of(text: str, now: RoughTime, words: str | None, *, path: str) -> dict[str, Any]:
    """Return the time from which a fact holds, and for how long, as its text says.

    `words` are those of a beginning that is known already.
    """
    past = replace(now, toward=tense_of(text) or -1)
    begun = read_rough_time(words, GREGORIAN, past, path=path).start if words else None
    begin, end = limits_in(text, now, begun=begun)
    if begun is None and begin is None and end is not None:  # it holds today
        begin = RoughTime(start=Instant(now.start // DAY * DAY), grain=Grain.DAY)
    if begun is None and begin is not None:
        words = rough_in_words(begin, GREGORIAN)
        begun = read_rough_time(words, GREGORIAN, past, path=path).start
    found = {"time_ref": words} if words else {}
    return found | ({"duration": (end - begun) // SECOND} if begun and end and end > begun else {})


async def replacing_claim(
    context: CallContext, claim: Mapping[str, Any], number: int
) -> Mapping[str, Any]:
    """Return a correction of a statement as the claim that replaces it; any other as it is."""
    path = f"/claims/{number}"
    if claim["kind"] != "correction":
        return claim
    try:
        item = await context.find_item(claim["of"], Entity, path=f"{path}/of")
    except (NotFound, InvalidInput):
        item = await context.find_item(claim["of"], Entity, *_STATEMENTS, path=f"{path}/of")
    if isinstance(item, Entity):
        if "field" not in claim or claim["field"] in {"tags", "untags"}:
            message = f"{path}/field must name a field. To correct a state or fact, name it in /of."
            raise InvalidInput("claim.missing-member", message, path=f"{path}/field")
        return claim
    right, member = claim_of(item)
    name, value = claim.get("field", member), claim["value"]
    listed = name in {"about", "who", "tags", "untags"}
    value = [value] if listed and isinstance(value, str) else value
    if not isinstance(value, dict if name == "fields" else list if listed else str):
        message = f"{path}/value has a type that {name} does not take. Give a text."
        raise InvalidInput("claim.value", message, path=f"{path}/value")
    if name == "says":  # the details and entities of the wrong words may be wrong too
        right = {"kind": right["kind"]}
    kept = {each: claim[each] for each in ("when", "evidence", "confidence") if each in claim}
    kept |= {"reason": claim["reason"]} if "reason" in claim else {}
    whole = {**right, **kept, name: value, "replaces": item.id}
    require_members(whole, number)
    return whole


def claim_of(item: StoredItem) -> tuple[dict[str, Any], str]:
    """Return the claim that states an item, and the member that a correction changes by default."""
    match item:
        case Relation():
            ends = {"from": item.from_id, "type": item.rel_type, "to": item.to_id}
            return {"kind": "relation", **ends, "fields": dict(item.properties)}, "to"
        case Fact(properties={"entity_id": entity_id, "tag": tag, "holds": True}):
            return {"kind": "state", "of": entity_id, "tags": [tag]}, "tags"
        case Event():
            members = {"says": item.title, "more": item.description, "about": list(item.involved)}
            return {"kind": "event", **members}, "says"
        case Fact():
            members = {"says": item.statement, "about": list(item.involved)}
            return {"kind": "fact", **members, "fields": dict(item.properties)}, "says"
        case _:
            raise TypeError(item)


async def change_content(
    context: CallContext, claim: Mapping[str, Any], path: str
) -> Mapping[str, Any]:
    """Read a merge, retcon or correction from a claim as the content of its proposal.

    Raises:
        InvalidInput: `claim.value`, or an error of the lookup of a name.
    """
    does: dict[str, Any]
    match claim["kind"]:
        case "merge":
            merged, kept = await _find_ends(context, claim, path)
            does = {"from_entity_id": merged.id, "to_entity_id": kept.id}
        case "retcon":
            item = await context.find_item(
                claim["of"], Fact, Event, Relation, Entity, path=f"{path}/of"
            )
            does = {"thing_id": item.id}
        case _:
            entity = await context.find_entity(claim["of"], path=f"{path}/of")
            name, value = claim["field"], claim["value"]
            if name in {NAME, DESCRIPTION}:
                if not isinstance(value, str):
                    message = f"{path}/value must be a text for the field {name}."
                    raise InvalidInput("claim.value", message, path=f"{path}/value")
                most = 2_000 if name == DESCRIPTION else 200
                value = checked_text(value, most, path=f"{path}/value")
            does = {"entity_id": entity.id, "field": name, "value": value}
    return {"does": claim["kind"], **does, "reason": claim.get("reason", "")}


async def _find_ends(context: CallContext, claim: Mapping[str, Any], path: str) -> list[Entity]:
    """Return the entities in `from` and `to` of a claim."""
    return [await context.find_entity(claim[end], path=f"{path}/{end}") for end in ("from", "to")]


async def corrected_values(
    context: CallContext, claims: Sequence[Mapping[str, Any]], made: Sequence[str]
) -> Mapping[int, str]:
    """Return a clause on each corrected field of a known entity, with its value before.

    `made` are items that an earlier try of the call made.
    """
    found = await context.canon.caller_scope(context.caller).items_by_id(made)
    if first := min((getattr(one, "position", 0) for one in found.values()), default=0):
        context = await context.at_viewpoint({AS_KNOWN_AT: str(first - 1)})
    new = {fold_text(claim["name"]) for claim in claims if claim["kind"] == "entity"}
    sentences: dict[int, str] = {}
    for n, claim in enumerate(claims):
        if claim["kind"] != "correction" or fold_text(claim["of"]) in new:
            continue
        named = await context.find_entity(claim["of"], path=f"/claims/{n}/of")
        entity = (*await items_at_viewpoint(context.canon, (named,)), named)[0]
        name = _SAYS.get(claim["field"], claim["field"])
        known = {**properties_of(entity), NAME: entity.name}
        values = [claim["value"], *([known[name]] if known.get(name) else [])]
        written = [e if isinstance(e, str) else encode_json(e).decode() for e in values]
        texts = [cut_text(each, full=False).rstrip(".") for each in written]
        change_text = " instead of ".join(dict.fromkeys(texts))
        known_now = "Known already: " if len(texts) > len({*texts}) else ""
        sentences[n] = f"{known_now}{entity.name}'s {name.replace('_', ' ')}: {change_text}"
    return sentences


def require_members(claim: Mapping[str, Any], number: int) -> None:
    """Refuse a claim with members that its kind does not have, or without required ones.

    Raises:
        InvalidInput: `claim.unknown-member` or `claim.missing-member`.
    """
    kind, path = claim["kind"], f"/claims/{number}"
    known = _MEMBERS[kind]
    takes = f"a claim of kind {kind} takes {', '.join(known)}"
    for name in claim:
        if name not in known and name not in {"kind", "evidence", "confidence"}:
            message = f"{path}/{name} is unknown: {takes}{suggest_name(name, known)}"
            raise InvalidInput("claim.unknown-member", message, path=f"{path}/{name}")
    for name in _NEEDED[kind]:
        if name not in claim:
            message = f"{path}/{name} is missing: {takes}."
            raise InvalidInput("claim.missing-member", message, path=f"{path}/{name}")


async def evidence_of(
    context: CallContext, cited: Sequence[str], path: str
) -> tuple[Evidence, ...]:
    """Look up evidence by id, title or `kind:id`.

    Raises:
        InvalidInput: an error of the lookup of a name.
    """
    require_few(cited, path)
    found: list[Evidence] = []
    for n, text in enumerate(cited):
        named = text.rpartition(":")[2] if is_uuid(text.rpartition(":")[2]) else text
        item = await context.find_item(named, *_EVIDENCE, path=f"{path}/{n}")
        found.append(Evidence(kind=_EVIDENCE[type(item)], ref=item.id))
    return tuple(dict.fromkeys(found))


def brief_claim(claim: Mapping[str, Any]) -> str:
    """Return a short text by which a person recognises the claim."""
    if claim["kind"] == "state":
        signs = [*(f"+{each}" for each in claim.get("tags", ()))]
        signs += [*(f"-{each}" for each in claim.get("untags", ()))]
        return f"{claim['of']} {' '.join(signs)}".strip()
    if claim["kind"] == "correction":
        return ": ".join(str(claim[name]) for name in ("of", "field", "value") if name in claim)
    return str(_CLAIMS["brief"][claim["kind"]].format_map(claim)).strip()


_UNKNOWN: Final = frozenset({"unknown_field", "not_in_schema"})
_MATCHES: Final = 5
"""The number of matching fields of a record that a reply shows."""


def why_raw(reason: str) -> str:
    """Return the reason of a raw field as words."""
    plain = reason.replace("-", "_")
    return "unknown to the schema" if plain in _UNKNOWN else plain.replace("_", " ")


def raw_fields(shown: ShownFields) -> dict[str, Any]:
    """Return the fields that the schema could not take, each with the reason."""
    return {
        name: {"value": each.value, "because": why_raw(each.reason)}
        for name, each in shown.fragments.items()
        if name != DESCRIPTION
    }


def description_of(shown: ShownFields) -> str:
    """Return the description of a record, also if its schema has no such field."""
    raw = shown.fragments.get(DESCRIPTION)
    description = shown.fields.get(DESCRIPTION, None if raw is None else raw.value)
    return description if isinstance(description, str) else ""


async def find_records(context: CallContext, text: str, limit: int) -> list[Entity]:
    """Find the records that have every word of the text in fields or field names, newest first.

    This finds values that the full-text index omits, such as numbers and versions. It returns
    nothing for an account with more than `ROWS_MAX` records.
    """
    every = await list_entities(
        context.canon,
        context.caller,
        account_of(context.caller).user_id,
        EntityQuery(limit=1, offset=0),
    )
    if every.total > ROWS_MAX:
        return []
    words, table = query_words(text), await own_records(context.canon, context.caller)
    found: list[str] = []
    for row in reversed(table.ordered if words else ()):
        if len(found) == limit:
            break
        missing = [word for word in words if word not in row.search_text]
        if missing:
            names = words_in(" ".join((*row.fields, *row.unclear)).replace("_", " "))
            missing = [word for word in missing if word not in names]
        if not missing:
            found.append(row.id)
    seen = await context.canon.space_scope(context.space.id).items_by_id(found)
    return [each for i in found if isinstance(each := seen.get(i), Entity)]


async def matching_fields(
    context: CallContext, text: str, entities: Sequence[Entity]
) -> Mapping[str, Mapping[str, str]]:
    """Return excerpts of the fields that match the text, by record id and field."""
    account, stems = account_of(context.caller), frozenset(parse_query(text).stems)
    schemas = await schemas_for(context.canon, account, entities)
    found: dict[str, Mapping[str, str]] = {}
    for entity in entities:
        shown = shown_by(entity, schema_of(schemas, account, entity))
        values = {n: each.value for n, each in shown.fragments.items()} | dict(shown.fields)
        texts = {
            name: "; ".join(texts_in(each)) or encode_json(each).decode()
            for name, each in values.items()
        }
        hits = {
            name: excerpt_of(
                each, next((w.strip() for w in query_words(text) if w in words_in(each)), "")
            )
            for name, each in texts.items()
            if not stems.isdisjoint(stems_of(f"{name.replace('_', ' ')} {each}"))
        }
        found[entity.id] = dict(list(hits.items())[:_MATCHES])
    return found


_SAYS: Final = {"name": "name", "says": DESCRIPTION, "tags": "tags"}
"""The fields of a record for the members of an entity's claim."""


async def is_recorded(context: CallContext, claim: Mapping[str, Any], new: Collection[str]) -> bool:
    """Return whether a claim about the account is kept as a record, and not judged.

    Entities, their fields and merges, and links of documents are records. `new` are the folded
    names of entities that the call adds.
    """
    kind = claim["kind"]
    if kind == "relation":
        return _relation_type(claim) in list(TruthRelation)
    if kind == "correction" and fold_text(claim["of"]) not in new:
        return await is_entity(context, claim["of"])
    return kind in {"entity", "merge", "correction"}


async def is_entity(context: CallContext, text: str) -> bool:
    """Return whether a text names one known entity."""
    try:
        return bool(await context.find_entity(text, path="/of"))
    except (NotFound, InvalidInput):
        return False


async def record_claims(
    context: CallContext, claims: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any]
) -> Reply:
    """Record claims about the caller's account as statements of the caller."""
    dry = bool(arguments.get("dry_run"))
    await _require_known(context, claims)
    wrong = [n for n, claim in enumerate(claims) if claim["kind"] == "correction"]
    tries = [derive_step(context.caller, f"claim {n}") for n in wrong]
    made = [
        await drafts_made_before(context.canon, one, context.space.id, SourceDraft) for one in tries
    ]
    corrected = await corrected_values(
        context, claims, [source.id for sources in made for source in sources]
    )
    cited = [*arguments.get("evidence", ()), *(e for c in claims for e in c.get("evidence", ()))]
    evidence = [str(each) for each in await evidence_of(context, cited, "/evidence")]
    if (quoted := arguments.get("said")) is not None and not dry:
        text = checked_text(quoted, context.canon.policy.limits.snippet, path="/said")
        hint = FileHint(mime_type="text/plain; charset=utf-8", name=SAID_TITLE)
        given = GivenFile(data=text.encode(), hint=hint)
        account, inner = account_of(context.caller), derive_step(context.caller, "said")
        evidence.append(
            f"source:{(await ingest_file(context.canon, inner, account, given)).source.id}"
        )
    given_values: Row = {"evidence": evidence, "authority": arguments.get("authority")}
    sure = [claim["confidence"] for claim in claims if "confidence" in claim]
    provenance = without_empty({**given_values, "confidence": min(sure, default=None)})
    recorded = await _record_entities(context, claims, provenance, dry=dry)
    rows = [
        recorded.get(n) or await _record_other(context, one, n, provenance, dry=dry)
        for n, one in enumerate(claims)
    ]
    right = [corrected[n] for n in corrected if rows[n]["verdict"] == "accepted"]
    reply: Row = without_empty({"note": right and f"{join_first(right)}.", "verdicts": rows})
    if any("raw_fields" in row for row in rows):
        reply["hint"] = HINTS["raw"]
    return {"written": False, **reply} if dry else reply


async def _require_known(context: CallContext, claims: Sequence[Mapping[str, Any]]) -> None:
    """Refuse unknown names before anything is written.

    Raises:
        InvalidInput: a name is empty or too long.
        NotFound: a name is unknown.
    """
    new = {fold_text(claim["name"]) for claim in claims if claim["kind"] == "entity"}
    for n, claim in enumerate(claims):
        if claim["kind"] == "entity":
            checked_text(claim["name"], context.canon.policy.limits.name, path=f"/claims/{n}/name")
            _record_of(claim, f"/claims/{n}")
        for end in ("from", "to", "of"):
            if end in claim and fold_text(claim[end]) not in new:
                await context.find_entity(claim[end], path=f"/claims/{n}/{end}")


def _relation_type(claim: Mapping[str, Any]) -> str:
    kind: str = claim["type"]
    return kind.strip().upper().replace(" ", "_")


async def _record_entities(
    context: CallContext,
    claims: Sequence[Mapping[str, Any]],
    origin: Mapping[str, Any],
    *,
    dry: bool,
) -> Mapping[int, Row]:
    """Record the claimed entities as one source; return their rows by number of the claim."""
    entity_claims = {n: claim for n, claim in enumerate(claims) if claim["kind"] == "entity"}
    records = [_record_of(claim, f"/claims/{n}") for n, claim in entity_claims.items()]
    rows: dict[int, Row] = {
        n: {"claim": claim["name"], "verdict": "accepted"} for n, claim in entity_claims.items()
    }
    if entity_claims and not dry:
        whose = (context.canon, context.caller, None)
        recorded = await ingest_records(*whose, records, provenance=origin or None)
        for index, (row, made) in enumerate(zip(rows.values(), recorded.records, strict=True)):
            row["id"] = made.entity_id
            if raw := _unread_fields(recorded.warnings, f"/entities/{index}/"):
                row["raw_fields"] = raw
    return rows


_DATE_MAX: Final = 40
"""The most characters of a field that may be a date."""


def _record_of(claim: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the claim as a record with its name, description, tags and other fields.

    Raises:
        InvalidInput: `claim.said-twice`, `claim.field-name`, `time.no-such-day`, or those of
            `require_record`.
    """
    given = claim.get("fields", {})
    own = {member: claim[name] for name, member in _SAYS.items() if name in claim}
    for name in given:
        if name in RESERVED:
            message = f"{path}/fields/{name}: this name is reserved. Rename the field."
            raise InvalidInput("claim.field-name", message, path=f"{path}/fields/{name}")
        if isinstance(given[name], str) and len(given[name]) <= _DATE_MAX:
            require_days(given[name], path=f"{path}/fields/{name}")
        if name in own and given[name] != own[name]:
            member = next(claim_member for claim_member, member in _SAYS.items() if member == name)
            message = f"{path}/fields/{name} differs from {path}/{member}. Keep one of them."
            raise InvalidInput("claim.said-twice", message, path=f"{path}/fields/{name}")
    require_record(FoundEntity(entity_type=claim["type"], fields={**given, **own}), path)
    return {"entity_type": claim["type"], **given, **own}


def _unread_fields(warnings: Sequence[Warned], path: str) -> Row:
    """Return the fields that the schema of a record could not take, each with the reason."""
    return {
        name: why_raw(each.code.removeprefix("field."))
        for each in warnings
        if each.path.startswith(path)
        and (name := each.path.removeprefix(path)) != DESCRIPTION
        and each.code != "field.missing"
    }


async def _record_other(
    context: CallContext, claim: Mapping[str, Any], number: int, provenance: Row, *, dry: bool
) -> Row:
    """Record a relation or a correction and return its row; an error does not stop the others."""
    row: Row = {"claim": brief_claim(claim), "verdict": "accepted"}
    try:
        made = {} if dry else {"id": await _record_statement(context, claim, provenance, number)}
    except (InvalidInput, Conflict, NotFound) as error:
        return {**row, "verdict": "rejected", "rule": error.code, "because": error.message}
    return {**row, **made}


async def _record_statement(
    context: CallContext, claim: Mapping[str, Any], provenance: Row, number: int
) -> str:
    path, caller = f"/claims/{number}", derive_step(context.caller, f"claim {number}")
    if claim["kind"] == "relation":
        from_, to = await _find_ends(context, claim, path)
        when = {"when": claim["when"]} if "when" in claim else {}
        metadata = {**when, **claim.get("fields", {})}
        ends = (from_.id, to.id)
        made, _ = await relate_entities(
            context.canon, caller, _relation_type(claim), ends, metadata
        )
        return made.id
    if claim["kind"] == "merge":
        from_, to = await _find_ends(context, claim, path)
        ids, reason = {"from_id": from_.id, "to_id": to.id}, claim.get("reason", "")
        await merge_records(context.canon, caller, None, **ids, reason=reason)
        return to.id
    entity = await context.find_entity(claim["of"], path=f"{path}/of")
    wrong = Correction(
        entity_id=entity.id,
        entity_type=entity.entity_type,
        field=DESCRIPTION if claim["field"] == "says" else claim["field"],
        value=claim["value"],
        any_field=True,
        grounds=without_empty({"reason": claim.get("reason"), **provenance}),
    )
    await correct_field(context.canon, caller, None, wrong)
    return entity.id
