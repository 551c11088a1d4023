"""Statements that stand against each other: who said which, and how one call settles it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any, Final

from canonry.assistant.call_context import CallContext
from canonry.assistant.rows import Row, cut_text, rows_of, successions_in, without_empty
from canonry.assistant.wording import HINTS
from canonry.canon.judging.conflicts import Order, find_clash
from canonry.canon.judging.gates.statements import CIRCLE, POSSIBLE, UNORDERED, order_of
from canonry.canon.judging.standing_statements import statement_of_relation, statements_of_tags
from canonry.canon.session.paging import newest_match, run_aside
from canonry.canon.session.what_holds import is_current
from canonry.language.texts.stems import query_stems, stems_of
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, Relation
from canonry.log.items.proposals import ProposalStatus, ProposalType, ReviewKind
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source, holds_quotes
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.state import FactQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.ids import EntityId
from canonry.values.json_values import fold_text
from canonry.values.provenance import CanonLevel
from canonry.values.statements import Phase, Quantity, Statement

_STATED_BY: Final = re.compile(r"the (?:fact|relation|event) ([0-9a-f-]{36}) says (?:that )?")
_TYPE: Final = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_CHANGED: Final = "by:~loss"
_BESIDE: Final = re.compile(r" \([0-9a-f]{8}-[0-9a-f-]{27}\)")


def is_dispute(reason: str) -> bool:
    """Return whether two statements exclude each other, by the reason of a conflict.

    They come from two sources in no order, or only the readers of a secret know both.
    """
    return reason.endswith(UNORDERED) or reason.startswith(("the fact ", "the relation "))


async def who_said(context: CallContext, ids: Iterable[str]) -> Mapping[str, str]:
    """Return the speakers and documents in the evidence of items, or the quoted texts, by id."""
    seen = context.canon.caller_scope(context.caller)
    items = await seen.items_by_id(dict.fromkeys(ids))
    cited = {i: [one.ref for one in getattr(e, "evidence", ())] for i, e in items.items()}
    origins = await seen.items_by_id({one for refs in cited.values() for one in refs})
    about = {
        getattr(one, each, None) for one in origins.values() for each in ("source_id", "entity_id")
    }
    near = await seen.items_by_id({each for each in about if each})
    return {
        i: " and ".join(dict.fromkeys(filter(None, (_said_by(origins.get(e), near) for e in refs))))
        for i, refs in cited.items()
    }


def _said_by(origin: Any, around: Mapping[str, Any]) -> str:
    match origin:
        case Turn():
            return getattr(around.get(origin.entity_id or ""), "name", origin.spoken[0])
        case Snippet():
            source = around.get(origin.source_id)
            if holds_quotes(source):
                return f'"{cut_text(origin.text, full=False)}"'
            return str(getattr(source, "title", ""))
        case Source() | Scene():
            return origin.title
        case _:
            return ""


async def with_sayers(context: CallContext, reply: Row) -> Row:
    """Return a reply whose objections name who said what, and how to settle a dispute."""
    disputed = {id(row): _claims_against(row) for row in _rows_in(reply)}
    rows = [row for row in _rows_in(reply) if disputed[id(row)]]
    own = {id(row): str(row.get("id") or row.get("proposal")) for row in rows}
    ids = {*own.values(), *(one["id"] for row in rows for one in disputed[id(row)])}
    texts = (e for row in _rows_in(reply) for e in row.values() if isinstance(e, str))
    ids.update(one for text in texts for one in _STATED_BY.findall(text))
    said = await who_said(context, ids) if ids else {}
    sayers = {i: by for i, by in said.items() if by and by[0] != '"'}  # a quote has the same words

    def named(text: str) -> str:
        return _STATED_BY.sub(lambda e: f"{sayers[e[1]]} says: " if e[1] in sayers else "", text)

    for row in (one for one in rows if "perhaps_against" in one):
        for each in (row, *disputed[id(row)]):
            each.update(without_empty({"said_by": said.get(own.get(id(each), each["id"]))}))
    reply = _changed(reply, named)
    unsettled = [row for row in rows if row.get("perhaps_against") or _is_possible(row)]
    hints = []
    for row in unsettled[:5]:
        others = disputed[id(row)]
        excluded = next((one for one in others if is_dispute(one["because"])), None)
        about = f'"{row.get("says") or row.get("claim")}": ' if len(unsettled) > 1 else ""
        form = HINTS["settle" if excluded else "keep"]
        hints.append(form.format(own[id(row)], (excluded or others[0])["id"], about))
    reply |= without_empty({"hint": " ".join(filter(None, (*hints, reply.get("hint"))))})
    if "note" in reply:
        reply["note"] = await _replace_ids(context, reply["note"])
    return reply


def say_once(note: str, verdicts: Iterable[Row]) -> None:
    """Leave out of objections what the first sentence or the reason of the verdict says already."""
    for row in verdicts:
        because = _type_in_words(row.get("because", "")).replace(".; ", "; ")
        row.update(without_empty({"because": because}))
        for one in row.get("against", ()):
            why = _type_in_words(one["because"]).removeprefix(POSSIBLE).removeprefix(CIRCLE)
            why = why.rstrip(".").replace(".)", ")")
            if one["grade"] == "retracted" or why in f"{note} {row.get('because')}":
                del one["because"]


def _type_in_words(text: str) -> str:
    return _TYPE.sub(lambda one: one[0].lower().replace("_", " "), text)


async def _replace_ids(context: CallContext, note: str) -> str:
    """Return a sentence with the texts of items in place of their ids."""
    note = _type_in_words(_BESIDE.sub("", note))
    scope = context.canon.caller_scope(context.caller)
    rows = await rows_of(context, (await scope.items_by_id(_ID.findall(note))).values())
    texts = {row["id"]: (row.get("says") or row.get("name", "")).rstrip(".") for row in rows}
    return _ID.sub(lambda one: f'"{texts.get(one[0]) or one[0]}"', note)


def _claims_against(row: Row) -> list[Row]:
    """Return the other statements that a row is against."""
    others = [one for each in ("against", "perhaps_against") for one in row.get(each, ())]
    return [one for one in others if _STATED_BY.search(one.get("because", ""))]


def _is_possible(row: Row) -> bool:
    graded = {one.get("grade") for one in row.get("against", ())}
    return "possible" in graded and row.get("verdict") == "accepted" and "id" in row


def _rows_in(value: Any) -> Iterator[Row]:
    if isinstance(value, dict):
        yield value
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _rows_in(each)


def _changed(value: Any, how: Any) -> Any:
    match value:
        case str():
            return how(value)
        case dict():
            return {name: _changed(each, how) for name, each in value.items()}
        case list():
            return [_changed(each, how) for each in value]
        case _:
            return value


async def marks_of(context: CallContext, items: Iterable[StoredItem]) -> Mapping[str, Row]:
    """Return members for the rows of passages that tell what is not canon, by their ids.

    A quote that only refused claims cite is `refused`. Of other passages, `not_canon` lists the
    refused and retracted statements in their words.
    """
    passages = [each for each in items if isinstance(each, Snippet)]
    if not passages:
        return {}
    seen = context.canon.caller_scope(context.caller)
    sources = await seen.items_by_id({each.source_id for each in passages})
    cited = {i for each in passages for i in (each.id, each.source_id)}
    here, ask = frozenset((context.space.id,)), context.canon.documents.proposals
    query = ProposalQuery(spaces=here, types=frozenset(ProposalType))
    refused = await newest_match(ask, replace(query, status=ProposalStatus.REJECTED))
    asked = FactQuery(spaces=here, level=CanonLevel.RETCONNED)
    retracted = await newest_match(context.canon.state.facts, asked)
    doubted = {one.ref for each in refused for one in each.evidence}
    doubted |= {one.ref for each in retracted for one in each.evidence}
    if cited.isdisjoint(doubted):  # nearly always, and other proposals are many
        return {}
    found = await newest_match(ask, query)
    refs = {each.id: {one.ref for one in each.evidence} for each in found}
    citing = [each for each in found if refs[each.id] & cited]
    made = {each.id: each.decision.made if each.decision else () for each in citing}
    gone = {one.id for one in retracted}
    rejected = {each.id for each in citing if each.status is ProposalStatus.REJECTED}
    wrong = rejected | {i for i, ids in made.items() if ids and gone.issuperset(ids)}
    rows: dict[str, Row] = {}
    for one in passages:
        by = [each for each in citing if refs[each.id] & {one.id, one.source_id}]
        own = {each.id for each in by if one.id in refs[each.id]}
        if own and own <= rejected and holds_quotes(sources.get(one.source_id)):
            rows[one.id] = {"refused": True}
            continue
        texts = {str(each.content.get("statement", "")): each.id for each in by}  # the last one
        stems = {*stems_of(one.text)}
        said = [text for text, i in texts.items() if i in wrong and _has_statement(text, stems)]
        rows |= {one.id: {"not_canon": said}} if said else {}
    return rows


def _has_statement(statement: str, stems: Collection[str]) -> bool:
    """Return whether a passage with these stems has all words of a statement beside its names."""
    plain = " ".join(each for each in statement.split() if not each[:1].isupper())
    return bool(plain) and {*query_stems(plain)} <= {*stems}


async def disputes_of(context: CallContext, ids: Collection[str]) -> Mapping[str, list[Row]]:
    """Return the statements that may contradict items, with their authors, by the items' ids."""
    query = ProposalQuery(
        spaces=frozenset((context.space.id,)), asks=frozenset({ReviewKind.POSSIBLE}), limit=PAGE_MAX
    )
    found = (await context.canon.documents.proposals(query)).items if ids else ()
    decided = [(one, one.decision.made) for one in found if one.decision is not None]
    pairs = [(own, d) for one, made in decided for own in made for d in one.doubts]
    both = [(*ends, CIRCLE in d.reason) for own, d in pairs for ends in ((own, d.id), (d.id, own))]
    against = [each for each in both if each[0] in ids]
    if not against:
        return {}
    said = await who_said(context, [other for _, other, _ in against])
    items = await context.canon.caller_scope(context.caller).items_by_id(said)
    current = [each for each in items.values() if is_current(each)]
    claims = {row["id"]: row for row in await rows_of(context, current)}
    rows: dict[str, list[Row]] = {}
    for one, i, is_circle in against:
        if other := claims.get(i):
            row = {"id": i, "says": other.get("says") or other.get("name"), "said_by": said.get(i)}
            row |= {"for": other.get("for"), "circle": is_circle or None}
            rows.setdefault(one, []).append(without_empty(row))
    return rows


async def doubtful_statements(context: CallContext, verdicts: Sequence[Row]) -> dict[str, str]:
    """Return statements that may no longer hold, by their ids.

    New items supersede their documents, end statements that contradict them, or gain and lose of
    what they count.
    """
    seen = context.canon.caller_scope(context.caller)
    new = (await seen.items_by_id(e["id"] for e in verdicts if "id" in e)).values()
    said = ((e, one) for one in new if isinstance(one, Fact) for e in one.statements)
    counts = {(e.subject, e.attribute[3:]): one for e, one in said if _CHANGED in e.qualifiers}
    resting = [*await _resting_on_superseded(context, new)]
    resting += await _counted_before(context, counts) if counts else ()
    ended = {i for each in verdicts for i in each.get("ends", ())}
    disputes = await disputes_of(context, {*ended, *(one.id for one in resting)})
    rows = [*await rows_of(context, resting), *chain(*disputes.values())]
    ended |= {i for e in verdicts for i in (e.get("id"), *(o["id"] for o in e.get("against", ())))}
    left = [row for row in rows if row["id"] not in ended]
    return {row["id"]: f'"{row["says"]}" ({row["id"]})' for row in left[:3]}


async def _resting_on_superseded(context: CallContext, new: Iterable[StoredItem]) -> Sequence[Fact]:
    """Return the facts that rest only on documents which new items supersede."""
    if not (old := [one.subject for each in new for one in successions_in(each)]):
        return ()
    seen = context.canon.caller_scope(context.caller)
    titles = {fold_text(one.name) for one in (await seen.root_entities(old)).values()}
    gone = {one.id for one in await documents_of(context) if fold_text(one.title) in titles}
    asked = FactQuery(spaces=frozenset((context.space.id,)), level=CanonLevel.CANON)
    found = await newest_match(context.canon.state.facts, asked) if gone else ()
    facts = [one for one in found if one.evidence and is_current(one)]
    cited = await seen.items_by_id({each.ref for one in facts for each in one.evidence})
    of = {i: getattr(each, "source_id", i) for i, each in cited.items()}
    return [one for one in facts if {of.get(e.ref) for e in one.evidence} <= gone]


async def _counted_before(context: CallContext, changed: Mapping[Any, Fact]) -> Sequence[Fact]:
    """Return the facts with numbers of what somebody gained or lost later."""
    spaces, about = frozenset((context.space.id,)), frozenset(EntityId(i) for i, _ in changed)
    every = context.canon.state.facts
    found = await newest_match(every, FactQuery(spaces=spaces, entities=about))
    seen = await context.canon.caller_scope(context.caller).items_by_id(one.id for one in found)
    held = ((e, one) for one in found if one.id in seen and is_current(one) for e in one.statements)
    counted = (
        (changed.get((e.subject, e.attribute[e.attribute.find(":") :])), e, one)
        for e, one in held
        if isinstance(e.value, Quantity)
    )
    return [
        o for new, e, o in counted if new and order_of(new.moment, o.moment) is not Order.EARLIER
    ]


async def ended_in_part(context: CallContext, verdicts: Sequence[Row]) -> str:
    """Return the ended facts that also said something of which new ones say nothing."""
    ends = {i for each in verdicts for i in each.get("ends", ())}
    asked = {*ends, *(each["id"] for each in verdicts if "id" in each)} if ends else ()
    items = await context.canon.caller_scope(context.caller).items_by_id(asked)
    facts = {i: one for i, one in items.items() if isinstance(one, Fact)}
    said: dict[str, set[tuple[str, str]]] = {i: set() for i in facts}
    for i, e in ((i, e) for i, fact in facts.items() for e in fact.statements):
        said[i] |= set() if e.implied or e.phase is Phase.WAS else {(e.subject, e.attribute)}
    new = {*chain(*(said[i] for i in facts if i not in ends))}
    left = [facts[i].statement for i in ends if i in facts and said[i] & new and said[i] - new]
    return "; ".join(left[:3])


async def clashes_of(context: CallContext, kept: Entity, merged: Entity) -> list[str]:
    """Return pairs of what holds of two entities, in words, that may not both be true of one."""
    spaces, seen = frozenset((context.space.id,)), context.canon.caller_scope(context.caller)
    said: list[list[tuple[Fact | Relation | Entity, Statement]]] = []
    for each in (kept, merged):
        asked = FactQuery(spaces=spaces, entities=frozenset((each.id,)), level=CanonLevel.CANON)
        ties = RelationQuery(spaces=spaces, entities=frozenset((each.id,)), current=True)
        facts = await newest_match(context.canon.state.facts, asked)
        links = await newest_match(context.canon.state.relations, ties)
        shown = await seen.items_by_id([*(i.id for i in facts), *(i.id for i in links)])
        held = [e for e in shown.values() if isinstance(e, Fact | Relation) and is_current(e)]
        said.append([(e, s) for e in (each, *held) for s in _statements_as(e, merged.id, kept.id)])
    met = ((a, b) for (a, s), (b, t) in product(*said) if a.id != b.id and find_clash(s, t))
    weight = len(said[0]) * len(said[1])
    pairs = await run_aside(weight, lambda: {(a.id, b.id): (a, b) for a, b in met})
    rows = await rows_of(context, {e.id: e for e in chain(*pairs.values())}.values())
    texts = {e["id"]: f'"{e["says"]}" ({e["id"]})' for e in rows if "says" in e}
    texts |= {e.id: f'"{e.name} is {" and ".join(e.state_tags)}"' for e in (kept, merged)}
    return [f"{texts[a]} and {texts[b]}" for a, b in pairs]


def _statements_as(item: Fact | Relation | Entity, old: str, new: str) -> Iterator[Statement]:
    """Yield what an item says, with one entity in place of another."""
    match item:
        case Fact():
            said: Iterable[Statement] = () if "tag" in item.properties else item.statements
        case Relation():
            said = (statement_of_relation(item.rel_type, item.from_id, item.to_id),)
        case _:
            said = statements_of_tags(item.id, item.state_tags, hold=True)
    for e in said:
        value = new if e.value == old else e.value
        yield replace(e, subject=new if e.subject == old else e.subject, value=value)


async def documents_of(context: CallContext) -> Sequence[Source]:
    """Return the documents of the space."""
    return (await context.canon.state.sources(context.space.id, limit=PAGE_MAX, offset=0)).items
