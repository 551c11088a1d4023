"""Gates on statements: facts, relations and states that cannot hold beside the canon."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.clashes import Order, StatementClash, conflict
from canonry.canon.judging.contents import (
    Content,
    EntityContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    end_of,
)
from canonry.canon.judging.gates.kit import Objection, Weight, gate
from canonry.canon.judging.relation_lines import lies_within
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import (
    Standing,
    entity_of,
    keys_of_rivals,
    standings_beside,
    standings_of,
    statements_at,
    statements_of,
    timed,
    with_entities,
)
from canonry.canon.judging.state_tags import TagHeld
from canonry.language.reading.tokens import noun_of
from canonry.language.texts.sentences import plain_statement
from canonry.log.items.entities import family_of, normalised_name
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Grade, Proposal
from canonry.log.items.sources import Source
from canonry.log.schemas.narrative import relation_type
from canonry.values.attributes.table import Attribute, attribute
from canonry.values.fields import Reference
from canonry.values.moments import (
    AFTER_ALL,
    NOW,
    Instant,
    Moment,
    arranged,
    at_once,
    comes_after,
    overlaps,
    render_instant,
    time_of,
)
from canonry.values.moments import same_scene as in_one_scene
from canonry.values.provenance import Authority, CanonLevel, Evidence
from canonry.values.statements import PHRASE, Modality, Phase, Statement

POSSIBLE: Final = "possible conflict: "
CIRCLE: Final = "it closes a circle: "
"""The beginnings of reasons of objections that only warn."""
UNORDERED: Final = "(nobody told which of the two is later)"
"""The end of a reason why two statements that exclude each other both stand."""
SUPERSEDED: Final = ("superseded_by", "replaced_by")
"""The attributes that tell which document, decision or version took over from one."""
_GRAVITY: Final[Mapping[Weight, int]] = {
    Weight.CONTRADICTS: 3,
    Weight.SUPERSEDES: 2,
    Weight.PRECEDES: 2,
    Weight.WARNS: 1,
}


@gate(FactContent, RelationshipContent, StateChangeContent)
def statement_negated(
    candidate: Candidate,
    content: FactContent | RelationshipContent | StateChangeContent,
    view: SliceView,
) -> Iterator[Objection]:
    """Object to a claim that cannot hold beside the facts, relations and states of the canon.

    A later value of an attribute ends the earlier one. Two values of one moment contradict each
    other. A conflict that depends on knowledge of the world is only reported.
    """
    now, said = candidate.moment, statements_at(content, candidate.moment, view)
    yield from objections_to(content, said, now, view, by=candidate.proposal)
    yield from _circles(said, now, view)


def objections_to(
    content: Content,
    said: tuple[Statement, ...],
    now: Moment,
    view: SliceView,
    by: Proposal | None = None,
) -> Iterator[Objection]:
    """Yield the gravest objection of each canon item to what a claim says at a moment.

    Two values from two sources of equal authority, of which nobody told the order, may both stand.
    """
    if not said:
        return
    worst: dict[object, Objection] = {}
    fact = content if isinstance(content, FactContent) else None
    until = end_of(now.at, fact.duration if fact else None)
    involved = map(view.entity, fact.involved if fact else ())
    about = frozenset(entity.id for entity in involved if entity is not None)
    for standing in standings_beside(said, now, view):
        held = standing.thing
        apart = isinstance(held, Fact) and not overlaps(now.at, until, held.time_ref, held.ends_at)
        if apart or _judged_elsewhere(content, standing):
            continue
        for claim in said:
            found = _objection(standing, claim, now, view, about=about, by=by)
            if found and by and _is_order_unknown(found, standing, claim, by, view):
                words = f"{POSSIBLE}{standing.words} {UNORDERED}"
                found = replace(found, weight=Weight.WARNS, rationale=words, rivals=())
            before = worst.get(standing.rival)
            if found and (before is None or _GRAVITY[found.weight] > _GRAVITY[before.weight]):
                worst[standing.rival] = found
    yield from worst.values()
    if view.crowded(keys_of_rivals(said, view)):
        more = "it was compared with the newest facts on its subject only; there are more"
        yield Objection(weight=Weight.WARNS, rationale=more)


def _is_order_unknown(
    found: Objection, standing: Standing, claim: Statement, by: Proposal, view: SliceView
) -> bool:
    """Tell whether two sources of equal authority only give different values of what can change."""
    held, thing, entry = standing.statement, standing.thing, attribute(claim.attribute)
    changing = entry.cardinality == 1 and not (entry.fixed or entry.always)
    if found.weight is not Weight.CONTRADICTS or not changing or not (held.held and claim.held):
        return False
    if thing is None or thing.authority is not by.authority or held.attribute != claim.attribute:
        return False
    one, other = sources_of(by.evidence, view), sources_of(thing.evidence, view)
    return bool(one) and bool(other) and one.isdisjoint(other)


def sources_of(evidence: Iterable[Evidence], view: SliceView) -> frozenset[str]:
    """Return the documents, the speakers and the other items that evidence names."""
    cited = [view.cited(each.ref) for each in evidence]
    members = ("source_id", "entity_id", "speaker", "id")
    named = [[getattr(one, each, None) for each in members] for one in cited if one is not None]
    return frozenset(str(next(filter(None, each))) for each in named)


_CHAIN_MAX: Final = 8
"""The most links of a circle that is found."""


def _circles(said: tuple[Statement, ...], now: Moment, view: SliceView) -> Iterator[Objection]:
    """Point out that the values of a claim lead back to its subject, as dependencies can."""
    for claim in said:
        entry = attribute(claim.attribute)
        if not (entry.acyclic and claim.held and isinstance(claim.value, str)):
            continue
        ends: dict[object, tuple[Standing, ...]] = {claim.value: ()}
        for length in range(_CHAIN_MAX):
            asked = [replace(claim, subject=str(one), value=None) for one in ends]
            links: list[tuple[Statement, tuple[Standing, ...]]] = [(one, ()) for one in said]
            beside = standings_beside(asked, now, view)
            links = [*((one.statement, (one,)) for one in beside), *links]
            ends = {
                one.value: (*ends[one.subject], *by)
                for one, by in links
                if one.held and one.attribute == claim.attribute and one.subject in ends
            }
            way = ends.get(claim.subject)
            # Two links of a circle that cannot be clash elsewhere.
            if way is not None and (length or not way or entry.soft):
                told = "; ".join(one.words for one in way) or "the claim itself says both"
                itself = entity_of(view, claim.subject) if not way else None
                ids = (itself.id,) if itself else tuple(i for one in way for i in one.conflicts)
                words = f"{POSSIBLE}{CIRCLE}{told}"
                yield Objection(weight=Weight.WARNS, rationale=words, conflicts=ids)
                break


def first_heir(item: Fact | Relation, view: SliceView) -> tuple[str, Instant | None] | None:
    """Return the id and the time of the earliest later item that ends one; None if it holds on.

    Another value of what never changes ends it whenever it holds, and so has no time.
    """
    own = standings_of(item, view)
    heirs: list[tuple[str, Moment, Instant | None]] = []
    for heir in standings_beside([one.statement for one in own], item.moment, view):
        if not isinstance(heir.rival, str) or heir.rival == item.id:
            continue
        over = {attribute(one.statement.attribute).fixed for one in own if _ends(one, heir, view)}
        later = comes_after(heir.moment, item.moment)
        if True in over and heir.moment.recorded > item.moment.recorded:
            heirs.append((heir.rival, heir.moment, None))
        elif False in over and later:
            heirs.append((heir.rival, heir.moment, heir.moment.at))
    first = next(iter(arranged(heirs, lambda heir: heir[1])), None)
    return None if first is None else (first[0], first[2])


def ends_for(item: Fact | Relation, view: SliceView) -> Iterator[Fact | Relation]:
    """Yield the items that hold when `item` begins, and that end in its favour."""
    own = standings_of(item, view)
    until = item.ends_at if isinstance(item, Fact) else item.until
    for old in standings_beside([one.statement for one in own], item.moment, view):
        thing = old.thing
        if thing is None or thing.id == item.id or _says_the_same(thing, item):
            continue
        if thing.position > item.position and order_of(item.moment, old.moment) is Order.ONE:
            continue  # the item is canon again, and the other was told after it
        if isinstance(thing, Fact) and not overlaps(
            item.moment.at, until, thing.time_ref, thing.ends_at
        ):
            continue
        met = (
            _objection(old, one.statement, item.moment, view, about=one.about, by=item)
            for one in own
        )
        if any(found is not None and found.weight is Weight.SUPERSEDES for found in met):
            yield thing


def _says_the_same(one: Fact | Relation, other: Fact | Relation) -> bool:
    if not isinstance(one, Fact) or not isinstance(other, Fact):
        return False
    both_states = "tag" in one.properties and "tag" in other.properties
    return both_states or plain_statement(one.statement) == plain_statement(other.statement)


def _ends(standing: Standing, heir: Standing, view: SliceView) -> bool:
    """Tell whether a later statement ends the one that stands, or cannot hold beside it."""
    met = heir.statement, heir.moment, view
    found = _objection(standing, *met, about=heir.about, by=heir.thing)
    return found is not None and found.weight in {Weight.SUPERSEDES, Weight.CONTRADICTS}


def _judged_elsewhere(content: Content, standing: Standing) -> bool:
    """Tell whether another gate compares the two, or whether they say the same."""
    thing = standing.thing
    match content:
        case FactContent():
            own = plain_statement(content.statement)
            return isinstance(thing, Fact) and plain_statement(thing.statement) == own
        case RelationshipContent() if isinstance(thing, Relation):
            kind = relation_type(content.rel_type)
            lined = (kind.one_target or kind.one_origin) and thing.rel_type == kind.name
            return lined or thing.rel_type in kind.excludes
        case StateChangeContent() | EntityContent():
            documents = isinstance(thing, Fact) and "tag" in thing.properties
            return documents or isinstance(standing.rival, TagHeld)
        case _:
            return False


def order_of(now: Moment, said: Moment) -> Order:
    """Return the order of a claim and of what stands.

    Within a scene, and between undated statements outside of scenes, nobody told an order.
    """
    if at_once(now, said):
        return Order.ONE
    dated = now.at is not None and said.at is not None and now.at != said.at
    scenes = now.place.scene != 0 and said.place.scene != 0
    undated = now.at is None and said.at is None and time_of(now) == time_of(said)
    if not dated and (in_one_scene(now, said) or (undated and not scenes)):
        return Order.ONE
    return Order.LATER if comes_after(now, said) else Order.EARLIER


_Effect: TypeAlias = tuple[Weight, str]
"""How a claim meets a standing statement: the effect, and the reason in words."""


def _objection(
    standing: Standing,
    claim: Statement,
    now: Moment,
    view: SliceView,
    *,
    about: frozenset[str],
    by: Proposal | Fact | Relation | None,
) -> Objection | None:
    held = standing.statement
    unnamed = held.subject.startswith(PHRASE) and held.subject == claim.subject
    if unnamed and about and standing.about and not about & standing.about:
        return None
    said = standing.moment
    held, claim, order = timed(held, said), timed(claim, now), order_of(now, said)
    held, claim = with_entities(held, claim, view), with_entities(claim, held, view)
    found = _displaced(held, claim, order) or _left_behind(held, claim, order, view)
    if by is not None and standing.thing is not None and order is not Order.EARLIER:
        found = found or _revised(held, claim, standing.thing.evidence, by.evidence, view)
    found = found or _compared(held, claim, order, view)
    again = held.phase is Phase.ENDS and claim.phase is Phase.IS and claim.holds
    undated = now.at is None and said.at is not None and now.place.scene == 0
    if found is None and again and undated:  # as a decision against what ended at a time
        found = _compared(held, claim, Order.ONE, view)
        if found and said.at is not None:
            found = found[0], f"{found[1]} The other holds since {render_instant(said.at)[:10]}"
    if found is None:
        return None
    weight, reason = found
    possible = weight is Weight.WARNS
    followed = claim.implied and claim.phase is Phase.ENDS  # its cause has the authority for it
    words = f"{POSSIBLE}{standing.words} ({reason})" if possible else standing.words
    return Objection(
        weight=weight,
        rationale=words,
        conflicts=standing.conflicts,
        rivals=() if possible else (standing.rival,),
        authority=Authority.SYSTEM if followed else standing.authority,
        taken_back=in_one_scene(now, said) and said.place.turn < now.place.turn < AFTER_ALL,
    )


def _displaced(held: Statement, claim: Statement, order: Order) -> _Effect | None:
    """Find a place that ends because its subject is carried away, or laid down."""
    ends = held.attribute in attribute(claim.attribute).displaces
    if not ends or held.subject != claim.subject or not (held.held and claim.held):
        return None
    weight = Weight.PRECEDES if order is Order.EARLIER else Weight.SUPERSEDES
    return (weight, "it is in one place at a time")


def _left_behind(
    held: Statement, claim: Statement, order: Order, view: SliceView
) -> _Effect | None:
    """Find what ends because its person leaves the group of which it is, as an office does."""
    earlier = order is Order.EARLIER
    had, left = (claim, held) if earlier else (held, claim)  # who left first may hold it anew
    entry = attribute(had.attribute)
    leaves = left.attribute in entry.rests_on and left.phase is Phase.ENDS
    if not leaves or left.held is None or not had.held or had.value != left.subject:
        return None
    found = _is_of_group(had, left, entry, view)
    weight = Weight.PRECEDES if earlier else Weight.SUPERSEDES
    return (weight, "it ends with the membership") if found else None


def _is_of_group(held: Statement, left: Statement, entry: Attribute, view: SliceView) -> bool:
    """Tell whether somebody has something only as one of a group: it is the group's, or a part."""
    thing, group = entity_of(view, held.subject), entity_of(view, str(left.value))
    if held.subject == left.value or thing is None:
        return held.subject == left.value
    if group is not None and view.relations(thing, "PART_OF", "out"):
        ends = [each.to_id for each in view.relations(thing, "PART_OF", "out")]
        return any(end in family_of(group) for end in ends)
    kind = group.shown_type.split()[-1] if group else str(left.value).removeprefix(PHRASE)
    jobs = {noun_of(one.removeprefix(PHRASE), "en") for one in attribute("employer").kinds}
    return f"{PHRASE}{thing.shown_type.split()[-1]}" in entry.kinds and noun_of(kind, "en") in jobs


def _revised(
    held: Statement,
    claim: Statement,
    old: Iterable[Evidence],
    new: Iterable[Evidence],
    view: SliceView,
) -> _Effect | None:
    """Find what a document says of a subject if one that supersedes it says something else."""
    same = (held.subject, held.attribute) == (claim.subject, claim.attribute)
    if not same or held.value == claim.value or not (held.held and claim.held):
        return None
    titles, before = _titles_in(new, view), _titles_in(old, view)
    revised = titles and before and all(titles & _successors(each, view) for each in before)
    return (Weight.SUPERSEDES, "its document supersedes the other one") if revised else None


def _titles_in(evidence: Iterable[Evidence], view: SliceView) -> frozenset[str]:
    """Return the titles of the documents that evidence cites."""
    found = map(view.cited, sources_of(evidence, view))
    return frozenset(normalised_name(one.title) for one in found if isinstance(one, Source))


def _successors(title: str, view: SliceView) -> frozenset[str]:
    """Return the names of what supersedes the document or the decision of a title."""
    known = [one.id for one in view.named(frozenset({title}))]
    asked = [Statement(subject=one, attribute=n, value=None) for one in known for n in SUPERSEDED]
    found = [one.statement for one in standings_beside(asked, NOW, view)] if asked else []
    held = [one for one in found if one.attribute in SUPERSEDED and one.held]
    heirs = [entity_of(view, str(one.value)) for one in held]
    return frozenset(name for each in heirs if each is not None for name in each.known_as)


def _compared(held: Statement, claim: Statement, order: Order, view: SliceView) -> _Effect | None:
    entry = attribute(held.attribute)
    timeless = entry.fixed or (entry.acyclic and held.subject == claim.value)
    if order is not Order.ONE and not timeless:
        return _in_turn(held, claim, order, view)
    found = _clash(held, claim, order, view)
    if found is None:
        return None
    changes = found.ends_earlier and not timeless
    if changes and _changes(found, claim, order):
        return (Weight.SUPERSEDES, found.reason)
    said_again = held.phase is Phase.ENDS and claim.phase is Phase.IS and claim.holds
    if changes or found.grade is Grade.POSSIBLE or (said_again and order is Order.ONE):
        return (Weight.WARNS, found.reason)
    return (Weight.CONTRADICTS, found.reason)


def _in_turn(held: Statement, claim: Statement, order: Order, view: SliceView) -> _Effect | None:
    """Compare two statements of which one is later; what had ended may begin anew."""
    later = order is Order.LATER
    first, then = (held, claim) if later else (claim, held)
    anew = first.phase is Phase.ENDS and then.held
    found = None if anew else _clash(first, then, Order.LATER, view)
    if found is None or (not later and not found.ends_earlier):
        return None
    if found.ends_earlier:
        weight = Weight.SUPERSEDES if later else Weight.PRECEDES
        return (weight, found.reason) if _changes(found, then, Order.LATER) else None
    possible = found.grade is Grade.POSSIBLE
    return (Weight.WARNS if possible else Weight.CONTRADICTS, found.reason)


def _changes(found: StatementClash, claim: Statement, order: Order) -> bool:
    """Tell whether the later statement ends the earlier one, instead of only being unlike it."""
    entry = attribute(claim.attribute)
    if found.grade is Grade.CONTRADICTION:
        return True
    single = entry.cardinality == 1 and not entry.name.startswith("quality:")
    return single and (order is Order.LATER or claim.phase is Phase.BEGINS)


def _clash(
    held: Statement, claim: Statement, order: Order, view: SliceView
) -> StatementClash | None:
    """Compare two statements with what is known of the entities in them."""
    if Modality.PLANNED in {held.modality, claim.modality}:
        return None

    def name_of(value: str) -> str:
        entity = entity_of(view, value)
        return value if entity is None else entity.name

    found = conflict(held, claim, order=order, name_of=name_of)
    entry = attribute(held.attribute)
    if found is None or not entry.containment or held.attribute != claim.attribute:
        return found
    places = (each.value if isinstance(each.value, str) else "" for each in (held, claim))
    one, other = (entity_of(view, place) for place in places)
    if one is None or other is None or held.held is not claim.held:
        return found
    if lies_within(one, other, view) or lies_within(other, one, view):
        return None
    return found if entry.soft else replace(found, grade=Grade.CONTRADICTION)


@gate()
def replacement_outranks(
    candidate: Candidate, content: Content, view: SliceView
) -> Iterator[Objection]:
    """Let a claim correct the item that it names as wrong, if its authority is not lower."""
    wrong = candidate.corrects
    if wrong is None or wrong.level is not CanonLevel.CANON:
        return
    reason = f", because {content.reason.rstrip('.')}" if content.reason else ""
    if isinstance(wrong, Relation):
        ends = [view.entity(Reference(one)) for one in (wrong.from_id, wrong.to_id)]
        words = f" {wrong.rel_type} ".join(one.name for one in ends if one is not None)
    else:
        words = wrong.title if isinstance(wrong, Event) else wrong.statement
    said = wrong.properties if isinstance(wrong, Fact) else {}
    if {"entity_id", "tag"} <= said.keys() and said.get("holds") is False:
        ended = f"{wrong.id} says that a state ended. Retcon it, and state the right one"
        yield Objection(weight=Weight.REFUSES, rationale=ended, conflicts=(wrong.id,))
        return
    yield Objection(
        weight=Weight.CORRECTS,
        rationale=f'it corrects "{words}" ({wrong.id}){reason}',
        conflicts=(wrong.id,),
        authority=wrong.authority,
    )


def warnings_about(
    content: Content,
    start: Instant | None,
    view: SliceView,
    said: tuple[Statement, ...] | None = None,
) -> tuple[str, ...]:
    """Return what stands against a claim that is written without being judged, in words.

    `said` is what the claim says, if its words were read already.
    """
    moment = Moment(at=start, place=NOW.place)
    found = objections_to(content, said or statements_of(content, view), moment, view)
    return tuple(
        f"{Grade.POSSIBLE if one.weight is Weight.WARNS else Grade.CONTRADICTION}:"
        f" {one.rationale.removeprefix(POSSIBLE)}"
        for one in found
    )
