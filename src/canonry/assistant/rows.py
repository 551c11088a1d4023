"""Rows of replies: items in a short form, with names in place of ids."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from canonry.canon.judging.contents import time_text_of
from canonry.canon.judging.gates.proposals import dependency_accepted
from canonry.canon.judging.gates.statements import SUPERSEDED
from canonry.canon.judging.standing_statements import statement_of_relation
from canonry.canon.queries.names import find_mentioned
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import newest_match
from canonry.canon.session.spoken_times import today_of
from canonry.canon.session.viewpoint import tags_then
from canonry.canon.session.what_holds import is_current
from canonry.language.reading.times import spoken_date
from canonry.language.texts.stems import words_of_name
from canonry.log.entries import KIND_NAMES, StoredItem
from canonry.log.items.entities import Entity, all_names, value_getter
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalType
from canonry.log.items.scenes import Memory, Scene, Story, Turn
from canonry.log.items.secret_parts import audience_of
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas import narrative
from canonry.log.schemas.identity_keys import KEY_MARK
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.state import EventQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.recall.usecases.find_items import involved_entities
from canonry.recall.usecases.find_passages import passage_times
from canonry.recall.usecases.search import relation_text
from canonry.values.audience import GAME_MASTERS, Audience, Reader
from canonry.values.fields import PROPOSAL_PREFIX
from canonry.values.ids import EntityId
from canonry.values.json_values import fold_text
from canonry.values.moments import Instant, parse_instant, render_instant
from canonry.values.provenance import CanonLevel
from canonry.values.statements import Statement, timeline_key

if TYPE_CHECKING:
    from canonry.assistant.call_context import CallContext, RowPage

Row = dict[str, Any]
Names = Mapping[str, Entity]

BRIEF: Final = 240
"""The most characters of a text in a short row."""
REPLY_BRIEF: Final = 3_600
REPLY_FULL: Final = 24_000
"""The most bytes of rows in a reply. The cursor leads to the rest."""
_PROPERTIES: Final = 8
_DECIDED: Final = (narrative.EntityType.CONCEPT, narrative.EntityType.OBJECT)
"""The types of decisions and of documents."""
_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})

_TIMES: Final = {"from": "", "when": "", "until": "superseded_by", "said": "scene_id"}
"""The times of a row, each with the member that leads to the item with its words."""
_NAMED: Final = f"{KEY_MARK}name:"
_ENDS: Final = ("entity_id", "from_entity_id", "to_entity_id")
"""Members of a proposal's content that hold one entity's id."""


def cut_text(text: str, full: bool = False, most: int = BRIEF) -> str:  # noqa: FBT001, FBT002
    """Return the text, shortened to whole words in `most` characters unless `full`."""
    if full or len(text) <= most:
        return text
    kept = text[:most].rpartition(" ")[0]
    return f"{(kept if len(kept) > most // 2 else text[: most - 1]).rstrip()}…"


def fit_rows(
    rows: Sequence[Row], page: "RowPage", total: int, name: str = "found", *, each: int = 0
) -> Row:
    """Return a reply with as many rows as fit, the total, and the cursor of the rest.

    With `each`, it has at least so many bytes for each row that the page may have.
    """
    room = REPLY_FULL if page.full else max(REPLY_BRIEF, each * page.limit)
    kept: list[Row] = []
    for row in rows:
        room -= len(json.dumps(row, ensure_ascii=False).encode())
        if kept and room < 0:
            break
        kept.append(row)
    reached = page.offset + len(kept)
    reply: Row = {name: kept, "total": total}
    if kept and (reached < total or len(kept) < len(rows)):
        reply["next"] = str(reached)
    return reply


async def rows_of(
    context: "CallContext", items: Iterable[StoredItem], *, full: bool = False
) -> list[Row]:
    """Return the items as rows, with the names of the entities that they are about."""
    listed = list(items)
    if not listed:
        return []
    ids = {i for each in listed for i in ids_named(each)}
    ends = ("superseded_by", "scene_id")
    ids |= {i for each in listed for name in ends if (i := getattr(each, name, None))}
    seen = context.canon.caller_scope(context.caller)
    found = await seen.items_by_id(ids)
    names = await seen.root_entities(i for i, each in found.items() if isinstance(each, Entity))
    related = (each for each in (*listed, *found.values()) if isinstance(each, Relation))
    proposals = await seen.items_by_id([i for each in related if (i := each.proposal_id)])
    rows = [row_of(each, names, found, full=full) for each in listed]
    if over := await newer_than(context, listed):
        rows = [row | without_empty({"superseded_by": over.get(row["id"])}) for row in rows]
    for row, each in zip(rows, listed, strict=True):
        row.update(readers_shown(context, each, names))
        if context.canon.viewpoint.plans(each):
            row[
                "planned" if context.canon.viewpoint.clock == today_of(context.canon) else "later"
            ] = True
        if "tags" in row and isinstance(each, Entity):
            row["tags"] = list(tags_then(each, context.canon.viewpoint))
        if isinstance(each, Fact | Event | Relation | Scene | Turn):
            for name in row.keys() & _TIMES:
                by = found.get(getattr(each, _TIMES[name], "")) if _TIMES[name] else each
                scene, at = found.get(getattr(by, "scene_id", None) or ""), parse_instant(row[name])
                row[name] = context.time_in_words(
                    at, _time_text(by, proposals, at) or _time_text(scene, proposals, at), scene
                )
    return rows


async def items_shown_as(
    context: "CallContext", canon: Canon, text: str, kinds: Sequence[type]
) -> Sequence[StoredItem]:
    """Return the relations, events and proposals that replies show by this text.

    Those that hold or wait are preferred; of the others, the newest one.
    """
    here, most = frozenset((context.space.id,)), PAGE_MAX
    asked = {each for each in (Relation, Event, Proposal) if not kinds or each in kinds}
    found: list[StoredItem] = []
    if asked & {Relation, Event}:
        mentions = await find_mentioned(
            canon, context.space.id, text, of_records=context.is_account
        )
        ends = frozenset(each for each in mentions.found.values() if each is not None)
        ties = RelationQuery(spaces=here, entities=ends, limit=most)
        found += (await canon.state.relations(ties)).items if ends else ()
        found += (
            await canon.state.events(EventQuery(spaces=here, entities=ends, limit=most))
        ).items
    if Proposal in asked:
        every = ProposalQuery(spaces=here, types=frozenset(ProposalType))
        found += await newest_match(canon.documents.proposals, every)
    found = [each for each in found if type(each) in asked]
    wanted, shown = fold_text(text).strip(" ."), await rows_of(context, found)
    open_ones = [e.decision is None if isinstance(e, Proposal) else is_current(e) for e in found]
    known = [(e, row["says"], o) for e, row, o in zip(found, shown, open_ones, strict=True)]
    named = [(e, open_) for e, says, open_ in known if wanted in _shown_texts(says, open_)]
    says = [(e, open_) for e, open_ in named if not isinstance(e, Proposal)] or named
    return [each for each, open_ in says if open_] or [each for each, _ in says[-1:]]


def _shown_texts(says: str, open_: bool) -> set[str]:  # noqa: FBT001 - it is open or it is not
    """Return a text with and without the kind before it; of an open item also without its type.

    The name of a decided proposal of an entity is that of the entity.
    """
    text = fold_text(says).strip(" .")
    bare = text.partition(": ")[2]
    return {text, bare, bare.rpartition(" (")[0] if open_ else ""} - {""}


def _time_text(
    item: StoredItem | None, proposals: Mapping[str, StoredItem], at: Instant
) -> str | None:
    """Return the text in which the time of an item was given, if it begins `at` this time."""
    if isinstance(item, Relation):
        proposal = proposals.get(item.proposal_id or "") if item.since == at else None
        return (
            time_text_of(proposal.type, proposal.original)
            if isinstance(proposal, Proposal)
            else None
        )
    return getattr(item, "time_words", None) if getattr(item, "time_ref", at) == at else None


def named_in_reader(reader: Reader) -> str:
    """Return the id within a reader such as `character:<id>`; empty if there is none."""
    return reader.partition(":")[2]


def reader_names(readers: Audience, names: Names) -> list[str]:
    """Return readers in the form that `for` in a claim accepts, game masters first."""
    some = sorted(readers, key=lambda each: each not in GAME_MASTERS)
    return [getattr(names.get(named_in_reader(each)), "name", each) for each in some]


def readers_shown(context: "CallContext", item: StoredItem, names: Names) -> Row:
    """Return the member `for` of a secret item; only game masters see that it is one."""
    audience = audience_of(item) if context.caller.viewer.masters else ()
    return {"for": reader_names(audience, names)} if audience else {}


def successions_in(item: StoredItem) -> list[Statement]:
    """Return what a fact or a relation says of which item supersedes which."""
    said = item.statements if isinstance(item, Fact) else ()
    if isinstance(item, Relation):
        said = (statement_of_relation(item.rel_type, item.from_id, item.to_id),)
    return [one for one in said if one.attribute in SUPERSEDED and one.holds_then]


async def newer_than(context: "CallContext", listed: Sequence[StoredItem]) -> Mapping[str, str]:
    """Return the names of what supersedes documents and decisions now, by the ids of these."""
    canon, space, seen = context.canon, context.space.id, context.canon.caller_scope(context.caller)
    decided = (e for e in listed if isinstance(e, Entity) and e.entity_type in _DECIDED)
    meant: list[tuple[EntityId, str]] = [(one.id, one.id) for one in decided]
    for one in (each for each in listed if isinstance(each, Source)):
        named = [await canon.state.entities_named(space, kind, one.title) for kind in _DECIDED]
        meant += [(each.id, one.id) for found in named for each in found]
    if not meant:
        return {}
    here, ids = frozenset((space,)), frozenset(one for one, _ in meant)
    ties = RelationQuery(spaces=here, entities=ids, current=True, limit=PAGE_MAX)
    keys = {timeline_key(one, name): PAGE_MAX for one in ids for name in SUPERSEDED}
    items: list[StoredItem] = [*(await canon.state.relations(ties)).items]
    items += await canon.state.facts_framed(space, keys)
    reported = await seen.items_by_id([one.id for one in items if successions_in(one)])
    held = [
        one
        for each in await context.items_holding(reported.values())
        for one in successions_in(each)
    ]
    names = await seen.root_entities(str(one.value) for one in held)
    new = {one.subject: names[str(one.value)].name for one in held if one.value in names}
    return {own: new[one] for one, own in meant if one in new}


def row_of(item: StoredItem, names: Names, around: Mapping[str, StoredItem], *, full: bool) -> Row:
    """Return one item as a row."""
    content = _content_members(item, names, around, full=full)
    row: Row = {"kind": kind_of(item), "id": item.id, **content}
    level = getattr(item, "level", CanonLevel.CANON)
    if level not in _STANDING:
        row["level"] = level.value
    if full:
        row |= _standing_members(item)
    return without_empty(row)


def without_empty(row: Row) -> Row:
    """Return the row without empty values."""
    return {key: value for key, value in row.items() if value not in (None, "", [], {}, ())}


def name_once(rows: Sequence[Row], known: Iterable[str] = ()) -> list[Row]:
    """Return the rows with the present name of each former one only where it comes first."""
    known = {*known}
    named: list[Row] = []
    for row in rows:
        now = {n: each for n, each in row.get("now_called", {}).items() if n not in known}
        known |= now.keys()
        named.append(without_empty({**row, "now_called": now}))
    return named


def kind_of(item: StoredItem) -> str:
    """Return the word for the item's kind in this toolset."""
    return kind_word(KIND_NAMES[type(item)])


def kind_word(kind: str) -> str:
    """Return the word of this toolset for a kind of item."""
    return {"source": "document", "axiom": "law", "snippet": "passage"}.get(kind, kind)


def _content_members(  # noqa: PLR0911 - one case a kind
    item: StoredItem, names: Names, around: Mapping[str, StoredItem], *, full: bool
) -> Row:
    """Return the members of a row that tell the item's content."""
    match item:
        case Entity():
            text = item.description or properties_said(item, full)
            name, beside = party_of(item)
            row: Row = {"name": name, "type": item.shown_type, "tags": list(item.state_tags)}
            return row | _says_member(text, full) | without_empty({"fields": beside})
        case Fact():
            held = {"from": _rendered_time(item.time_ref), "until": _rendered_time(item.ends_at)}
            gone = {"ended": True} if item.superseded and item.ends_at is None else {}
            dated = [one for one in item.statements if one.attribute == "schedule"]
            new = [spoken_date(str(one.value)) for one in dated if not one.when]
            reported: Row = {**held, **gone, "date": new[0] if new else None}
            return {**_says_member(item.statement, full), **_about_member(item, names), **reported}
        case Event():
            text = item.title if not full else f"{item.title}. {item.description}".strip(". ")
            return {
                **_says_member(text, full),
                **_about_member(item, names),
                "when": _rendered_time(item.time_ref),
            }
        case Relation():
            held = {"from": _rendered_time(item.since), "until": _rendered_time(item.until)}
            gone = {"ended": True} if item.ended and item.until is None else {}
            more = {"properties": dict(item.properties)}
            return {"says": relation_text(item, names), **held, **gone, **more}
        case Axiom():
            return _says_member(item.statement, full)
        case Proposal():
            text = proposal_text(item, names, around)
            return {**_says_member(text, full), "status": item.status.value}
        case _:
            return _record_members(item, names, around, full=full)


def _record_members(
    item: StoredItem, names: Names, around: Mapping[str, StoredItem], *, full: bool
) -> Row:
    """Return the members that tell the content of scenes, turns, documents and the like."""
    match item:
        case Turn():
            speaker = names.get(item.entity_id or "")
            by, text = item.spoken
            by = by if speaker is None else speaker.name
            scene, when = _title_of(item.scene_id, around), passage_times(item, around)
            said_at = _rendered_time(when.best_time)
            return {**_says_member(text, full), "by": by, "scene": scene, "said": said_at}
        case Scene():
            there = names.get(item.location_ref or "")
            where = {
                "place": None if there is None else there.name,
                "when": _rendered_time(item.time_ref),
            }
            status = {"status": item.status.value, "turns": item.turn_count}
            return {"name": item.title, **where, **status, **_says_member(item.summary or "", full)}
        case Snippet():
            spot = {"page": item.page, "section": item.section if full else None}
            return {
                **_says_member(item.text, full),
                "document": _title_of(item.source_id, around),
                **spot,
            }
        case Source():
            named = item.title or item.file_name or item.source_type.value
            return {"name": named, "type": item.source_type.value, "origin": item.origin}
        case Memory():
            return {**_says_member(item.text, full), **_about_member(item, names)}
        case _:
            status = {"status": item.status.value} if isinstance(item, Story) else {}
            return {"name": getattr(item, "title", "") or getattr(item, "name", ""), **status}


def _says_member(text: str, full: bool) -> Row:  # noqa: FBT001
    return {"says": cut_text(text, full)}


def proposal_text(proposal: Proposal, names: Names, around: Mapping[str, StoredItem]) -> str:
    """Return a proposal as one line, with the names of entities that are only proposed too."""
    content = proposal.content
    proposed = {
        reference: str(other.content["name"])
        for other in map(around.get, _proposals_needed(proposal))
        if isinstance(other, Proposal) and other.type is ProposalType.ENTITY
        for reference in (f"{PROPOSAL_PREFIX}{other.id}", other.content.get("ref"))
    }

    def name_of(member: str) -> str:
        named = str(content.get(member))
        found = names.get(named)
        return proposed.get(named, "an entity proposed with it") if found is None else found.name

    match proposal.type:
        case ProposalType.FACT:
            text = content.get("statement")
        case ProposalType.EVENT:
            text = content.get("title")
        case ProposalType.ENTITY:
            kind = (content.get("properties") or {}).get(narrative.OWN_TYPE) or content.get(
                "entity_type"
            )
            text = f"{content.get('name')} ({kind})"
        case ProposalType.RELATIONSHIP:
            text = (
                f"{name_of('from_entity_id')} {content.get('rel_type')} {name_of('to_entity_id')}"
            )
        case ProposalType.STATE_CHANGE:
            changes = content.get("state_tag_changes") or {}
            signs = [f"+{each}" for each in changes.get("add", ())]
            signs += [f"-{each}" for each in changes.get("remove", ())]
            text = f"{name_of('entity_id')} {' '.join(signs)}"
        case ProposalType.WORLD:
            text = "actions in a world"
        case ProposalType.UPKEEP if content["does"] == "merge":
            return f"merge: {name_of('from_entity_id')} is {name_of('to_entity_id')}"
        case ProposalType.UPKEEP:
            field = f"{content.get('field')} of {name_of('entity_id')} is {content.get('value')}"
            retconned_text = f"{content.get('thing_id')} was never true"
            return (
                f"retcon: {retconned_text}"
                if content["does"] == "retcon"
                else f"correction: {field}"
            )
    return f"{proposal.type.value.replace('_', ' ')}: {text}"


def ids_named(item: StoredItem) -> tuple[str, ...]:
    """Return the ids of the items that a row of this item names."""
    return (*_ids_in(item), *map(named_in_reader, audience_of(item)))


def _ids_in(item: StoredItem) -> tuple[str, ...]:
    match item:
        case Turn():
            return (item.scene_id, *((item.entity_id,) if item.entity_id else ()))
        case Snippet(source_id=source):
            return (source,)
        case Memory(entity_id=one) | Scene(location_ref=str(one)):
            return (one,)
        case Proposal(content=content):
            ends = (content[name] for name in _ENDS if isinstance(content.get(name), str))
            return (*ends, *_proposals_needed(item))
        case _:
            return involved_entities(item)


def _proposals_needed(proposal: Proposal) -> tuple[str, ...]:
    """Return the ids of the proposals that this one refers to or waits for."""
    ends = (str(proposal.content.get(name)) for name in _ENDS)
    ids = [e.removeprefix(PROPOSAL_PREFIX) for e in ends if e.startswith(PROPOSAL_PREFIX)]
    ruling = proposal.review
    if ruling is not None and ruling.rule == dependency_accepted.id:
        ids += [one.id for one in ruling.all_conflicts]
    return tuple(dict.fromkeys(ids))


def _about_member(item: StoredItem, names: Names) -> Row:
    """Return the entities that an item is about, and the names of those with a former one in it."""
    ids = (item.entity_id,) if isinstance(item, Memory) else involved_entities(item)
    known = [names[i] for i in ids if i in names]
    text = str(getattr(item, "statement", getattr(item, "title", "")))
    now = {
        former: each.name
        for each in known
        for former in former_names(each)
        if fold_text(each.name) not in fold_text(text)
        and f" {words_of_name(former)} " in f" {words_of_name(text)} "
    }
    return {"about": [party_of(each)[0] for each in known], "now_called": now}


def former_names(entity: Entity) -> list[str]:
    """Return the names that an entity itself had before, the latest first.

    A record has them only if its name was corrected.
    """
    if entity.naming is None:
        return [*all_names(entity.own[narrative.NAME])[1:]] if narrative.NAME in entity.own else []
    said = entity.own.get(f"{narrative.PROPERTY_PREFIX}{narrative.NAME}", {}).values()
    if not any(each.is_correction for each in said):
        return []
    keys = (key.removeprefix(_NAMED) for key in entity.borne if key.startswith(_NAMED))
    former = [key for key in keys if key != fold_text(entity.name)]
    return [key.title() if entity.name.istitle() else key for key in former]


_BY_PARTY: Final = frozenset({"transaction", "receipt"})
"""The types of records that are named by their party, with the date and the amount beside it."""


def party_of(entity: Entity) -> tuple[str, Row]:
    """Return the name of an entity; that of a bank line is its party, and the rest are fields."""
    said = value_getter(entity.snapshot)
    for group in entity.naming.groups if entity.naming and entity.entity_type in _BY_PARTY else ():
        if isinstance(party := said(group[0]), str) and party:
            return party, {name: said(name) for name in group[1:]}
    return entity.name, {}


def properties_of(entity: Entity) -> dict[str, Any]:
    """Return the fields of an entity, also those that its schema could not take."""
    start = len(narrative.FRAGMENT_PREFIX)
    raw = {
        name[start:]: narrative.policy_of(name).show(elements)["value"]
        for name, elements in entity.snapshot.items()
        if name.startswith(narrative.FRAGMENT_PREFIX)
    }
    own = {narrative.DESCRIPTION: entity.description} if entity.description else {}
    return {**raw, **fields_of(entity), **own}


def fields_of(entity: Entity) -> dict[str, Any]:
    """Return the properties of an entity without the type that it was given."""
    typed = narrative.own_type(entity.entity_type, entity.properties)
    return {
        n: each for n, each in entity.properties.items() if n != narrative.OWN_TYPE or not typed
    }


def properties_said(entity: Entity, full: bool, without: str = "") -> str:  # noqa: FBT001 - as above
    """Return the description and the fields of an entity, except its name and `without`."""
    known = (entity.name, without)
    given = {n: each for n, each in properties_of(entity).items() if each not in known}
    reported = given.pop(narrative.DESCRIPTION, None)
    some = list(given.items())[: None if full else _PROPERTIES]
    said = ", ".join(f"{name}: {value}" for name, value in some if value not in (None, ""))
    return "; ".join(filter(None, (reported if isinstance(reported, str) else "", said)))


def _standing_members(item: StoredItem) -> Row:
    """Return the authority, the confidence and the transaction time of an item."""
    row: Row = {}
    if isinstance(item, Entity | Fact | Event | Relation | Axiom):
        row = {"authority": item.authority.value, "confidence": item.confidence}
    at = getattr(item, "created_at", None) or getattr(item, "timestamp", None)
    return {**row, "recorded": _rendered_time(at), "space": item.space}


def _rendered_time(instant: Any) -> str | None:
    return None if instant is None else render_instant(instant)


def _title_of(item_id: str, around: Mapping[str, StoredItem]) -> str | None:
    found = around.get(item_id)
    return found.title or None if isinstance(found, Scene | Source) else None
