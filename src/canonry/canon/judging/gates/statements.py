"""Gates on statements: facts, relations and states that cannot hold beside the canon."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final, TypeAlias

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.conflicts import Order, StatementClash, find_clash
from canonry.canon.judging.contents import (
    Content,
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    end_of,
)
from canonry.canon.judging.gates.verdicts import Objection, Weight, make_gate
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import (
    StandingStatement,
    change_of_event,
    entity_of,
    find_standing,
    is_within,
    keys_of_conflicting,
    rests_on,
    standings_of,
    statements_at,
    with_entities,
    without_given_time,
)
from canonry.canon.judging.state_tags import TagHeld
from canonry.language.reading.times import is_recurring
from canonry.language.reading.tokens import noun_of
from canonry.language.texts.sentences import plain_statement
from canonry.log.items.entities import family_of, normalised_name
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Grade, Proposal
from canonry.log.items.sources import Source, holds_quotes
from canonry.log.schemas.narrative import EntityType, relation_type
from canonry.values.attributes.table import Attribute, ValueKind, find_attribute
from canonry.values.fields import Reference
from canonry.values.moments import (
    AFTER_ALL,
    DAY,
    NOW,
    Instant,
    Moment,
    are_simultaneous,
    comes_after,
    intervals_overlap,
    render_instant,
    sort_by_story,
    time_of,
)
from canonry.values.moments import is_same_scene as in_one_scene
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


@make_gate(FactContent, RelationshipContent, StateChangeContent, EventContent)
def statement_negated(
    candidate: Candidate,
    content: FactContent | RelationshipContent | StateChangeContent | EventContent,
    view: SliceView,
) -> Iterator[Objection]:
    """Object to a claim that cannot hold beside the facts, relations and states of the canon.

    A later value of an attribute ends the earlier one. Two values of one moment contradict each
    other. A conflict that depends on knowledge of the world is only reported.
    """
    change = change_of_event(content, view) if isinstance(content, EventContent) else content
    if change is None:
        return
    now, statements = candidate.moment, statements_at(change, candidate.moment, view)
    yield from objections_to(change, statements, now, view, by=candidate.proposal)
    yield from _find_circles(statements, now, view)


def objections_to(
    content: Content,
    statements: tuple[Statement, ...],
    now: Moment,
    view: SliceView,
    by: Proposal | None = None,
) -> Iterator[Objection]:
    """Yield the gravest objection of each canon item to what a claim says at a moment.

    Two values from two sources of equal authority, of which nobody stated the order, may both
    stand.
    """
    if not statements:
        return
    worst: dict[object, Objection] = {}
    fact = content if isinstance(content, FactContent) else None
    until = end_of(now.at, fact.duration if fact else None)
    involved = map(view.find_entity, fact.involved if fact else ())
    about = frozenset(entity.id for entity in involved if entity is not None)
    revising = by is not None and bool(_titles_in(by.evidence, view))
    for standing in find_standing(statements, now, view):
        held = standing.item
        apart = isinstance(held, Fact) and not intervals_overlap(
            now.at, until, held.time_ref, held.ends_at
        )
        if apart or _is_judged_elsewhere(content, standing):
            continue
        for claim in statements:
            plain = not revising and until is None
            if plain and _may_stand_together(standing.statement, claim):
                continue
            found = _object_to(standing, claim, now, view, about=about, by=by, until=until)
            if found and claim.value == "dead" and rests_on(standing.statement, claim):
                found = replace(found, rationale=_ended_by_death(found, standing, claim, view))
            if found and by and _is_order_unknown(found, standing, claim, by, view):
                rationale = f"{POSSIBLE}{standing.text} {UNORDERED}"
                found = replace(found, weight=Weight.WARNS, rationale=rationale, conflicting=())
            before = worst.get(standing.conflicting)
            if found and (before is None or _GRAVITY[found.weight] > _GRAVITY[before.weight]):
                worst[standing.conflicting] = found
    yield from worst.values()
    if view.has_more_facts(keys_of_conflicting(statements, view)):
        more = "it was compared with the newest facts on its subject only; there are more"
        yield Objection(weight=Weight.WARNS, rationale=more)


def _may_stand_together(held: Statement, claim: Statement) -> bool:
    """Return whether both only give one of many values of an attribute, as most claims do.

    The full comparison takes 20 times as long and finds nothing between the two.
    """
    entry = find_attribute(claim.attribute)
    return (
        held.attribute == claim.attribute
        and entry.kind not in {ValueKind.TIME, ValueKind.QUANTITY}
        and not (entry.cardinality or entry.exclusive or entry.fixed or entry.acyclic)
        and not entry.shifting
        and claim.attribute not in entry.displaces | entry.rests_on
        and all(
            one.holds and one.holds_then and isinstance(one.value, str) and not one.quantifier
            for one in (held, claim)
        )
    )


def _ended_by_death(
    found: Objection, standing: StandingStatement, claim: Statement, view: SliceView
) -> str:
    """Return what ends by a death, and why: the same words for each item that states a marriage."""
    gone, held = entity_of(view, claim.subject), with_entities(standing.statement, claim, view)
    if gone is None or found.weight is Weight.WARNS:
        return found.rationale
    pair = [(entity_of(view, str(one)), str(one)) for one in (held.subject, held.value)]
    called = (e.name if e else one.strip(PHRASE).replace("_", " ").title() for e, one in pair)
    names = sorted(called, key=lambda name: name != gone.name)
    bond = {"spouse": "marriage", "betrothed": "engagement"}.get(held.attribute, "")
    bond = bond if held.value is not None else ""
    what = f"the {bond} of {' and '.join(names)}" if bond else standing.text.rstrip(".")
    _, _, state = find_attribute(held.attribute).implies.get("-", "").partition(":")
    left = [e.name for e, _ in pair if e is not None and e.id != gone.id] if bond and state else []
    return f"{what}, because {gone.name} died" + "".join(f"; {e} is {state} now" for e in left)


def _is_order_unknown(
    found: Objection, standing: StandingStatement, claim: Statement, by: Proposal, view: SliceView
) -> bool:
    """Return whether two sources of equal authority differ in a value that can change."""
    held, item, entry = standing.statement, standing.item, find_attribute(claim.attribute)
    changing = entry.cardinality == 1 and not (entry.fixed or entry.always)
    if (
        found.weight is not Weight.CONTRADICTS
        or not changing
        or not (held.holds_then and claim.holds_then)
    ):
        return False
    if item is None or item.authority is not by.authority or held.attribute != claim.attribute:
        return False
    one, other = sources_of(by.evidence, view), sources_of(item.evidence, view)
    return bool(one) and bool(other) and one.isdisjoint(other)


def sources_of(evidence: Iterable[Evidence], view: SliceView) -> frozenset[str]:
    """Return the documents, the speakers and the other items that evidence names."""
    cited = [view.find_evidence(each.ref) for each in evidence]
    members = ("source_id", "entity_id", "speaker", "id")
    named = [[getattr(one, each, None) for each in members] for one in cited if one is not None]
    return frozenset(str(next(filter(None, each))) for each in named)


_CHAIN_MAX: Final = 8  # the most links of a circle that is found


def _find_circles(
    statements: tuple[Statement, ...], now: Moment, view: SliceView
) -> Iterator[Objection]:
    """Point out that the values of a claim lead back to its subject, as dependencies can."""
    for claim in statements:
        entry = find_attribute(claim.attribute)
        if not (entry.acyclic and claim.holds_then and isinstance(claim.value, str)):
            continue
        ends: dict[object, tuple[StandingStatement, ...]] = {claim.value: ()}
        for length in range(_CHAIN_MAX):
            asked = [replace(claim, subject=str(one), value=None) for one in ends]
            links: list[tuple[Statement, tuple[StandingStatement, ...]]] = [
                (one, ()) for one in statements
            ]
            standing = find_standing(asked, now, view)
            links = [*((one.statement, (one,)) for one in standing), *links]
            ends = {
                one.value: (*ends[one.subject], *by)
                for one, by in links
                if one.holds_then and one.attribute == claim.attribute and one.subject in ends
            }
            path = ends.get(claim.subject)
            # Two links of a circle that cannot be clash elsewhere.
            if path is not None and (length or not path or entry.soft):
                links_text = "; ".join(one.text for one in path) or "the claim itself says both"
                itself = entity_of(view, claim.subject) if not path else None
                ids = (itself.id,) if itself else tuple(i for one in path for i in one.conflicts)
                rationale = f"{POSSIBLE}{CIRCLE}{links_text}"
                yield Objection(weight=Weight.WARNS, rationale=rationale, conflicts=ids)
                break


def first_successor(item: Fact | Relation, view: SliceView) -> tuple[str, Instant | None] | None:
    """Return the id and the time of the earliest later item that ends one; None if it holds on.

    Another value of what never changes ends it whenever it holds, and so has no time.
    """
    own = standings_of(item, view)
    successors: list[tuple[str, Moment, Instant | None]] = []
    for successor in find_standing([one.statement for one in own], item.moment, view):
        if not isinstance(successor.conflicting, str) or successor.conflicting == item.id:
            continue
        met = successor.statement, successor.moment, view
        found = ((e, _object_to(e, *met, about=successor.about, by=successor.item)) for e in own)
        over = {
            find_attribute(one.statement.attribute).fixed
            for one, by in found
            if by is not None and by.weight in {Weight.SUPERSEDES, Weight.CONTRADICTS}
        }
        pair = successor.moment, item.moment
        denied = _is_plan_denied(successor.statement, *pair, successor.item)  # ends as it begins
        later = denied or comes_after(*pair)
        if True in over and successor.moment.recorded > item.moment.recorded:
            successors.append((successor.conflicting, successor.moment, None))
        elif False in over and later:
            end = pair[denied].at
            successors.append((successor.conflicting, successor.moment, end))
    first = next(iter(sort_by_story(successors, lambda successor: successor[1])), None)
    return None if first is None else (first[0], first[2])


def items_ended_by(item: Fact | Relation, view: SliceView) -> Iterator[Fact | Relation]:
    """Yield the items that hold when `item` begins, and that end in its favour."""
    own = standings_of(item, view)
    until = item.ends_at if isinstance(item, Fact) else item.until
    for old in find_standing([one.statement for one in own], item.moment, view):
        other = old.item
        if other is None or other.id == item.id or _is_same_statement(other, item):
            continue
        if other.position > item.position and order_of(item.moment, old.moment) is Order.ONE:
            continue  # the item is canon again, and the other was stated after it
        if isinstance(other, Fact) and not intervals_overlap(
            item.moment.at, until, other.time_ref, other.ends_at
        ):
            continue
        found_each = (
            _object_to(old, one.statement, item.moment, view, about=one.about, by=item)
            for one in own
        )
        if any(found is not None and found.weight is Weight.SUPERSEDES for found in found_each):
            yield other


def _is_same_statement(one: Fact | Relation, other: Fact | Relation) -> bool:
    if not isinstance(one, Fact) or not isinstance(other, Fact):
        return False
    both_states = "tag" in one.properties and "tag" in other.properties
    return both_states or plain_statement(one.statement) == plain_statement(other.statement)


def _is_judged_elsewhere(content: Content, standing: StandingStatement) -> bool:
    """Return whether another gate compares the two, or whether they say the same."""
    item = standing.item
    match content:
        case FactContent():
            own = plain_statement(content.statement)
            return isinstance(item, Fact) and plain_statement(item.statement) == own
        case RelationshipContent() if isinstance(item, Relation):
            kind = relation_type(content.rel_type)
            lined = (kind.one_target or kind.one_origin) and item.rel_type == kind.name
            return lined or item.rel_type in kind.excludes
        case StateChangeContent() | EntityContent():
            documents = isinstance(item, Fact) and "tag" in item.properties
            return documents or isinstance(standing.conflicting, TagHeld)
        case _:
            return False


def order_of(now: Moment, held: Moment) -> Order:
    """Return the order of a claim and of what stands.

    Within a scene, and between undated statements outside of scenes, nobody stated an order.
    """
    if are_simultaneous(now, held):
        return Order.ONE
    dated = now.at is not None and held.at is not None and now.at != held.at
    scenes = now.position.scene != 0 and held.position.scene != 0
    undated = now.at is None and held.at is None and time_of(now) == time_of(held)
    if not dated and (in_one_scene(now, held) or (undated and not scenes)):
        return Order.ONE
    return Order.LATER if comes_after(now, held) else Order.EARLIER


_Effect: TypeAlias = tuple[Weight, str]
"""The effect of a claim on a standing statement, and the reason in words."""


def _limit_effect(held: Statement, claim: Statement, order: Order) -> _Effect | None:
    """Return the effect of a statement that says until when something holds which stands."""
    parts = attrgetter("subject", "attribute", "value")
    same = parts(held) == parts(claim)
    lasting = claim.phase is Phase.IS and claim.holds and held.holds_then
    lasting = lasting and not (claim.implied or is_recurring(held.when))  # as each Tuesday
    if not (same and lasting) or order is Order.EARLIER:
        return None
    return Weight.SUPERSEDES, "the claim says until when it holds."


_EXCEPTION_MOST: Final = 15 * DAY
"""The longest time for which a value is an exception of another one, which returns."""


def _is_short(start: Instant | None, end: Instant | None) -> bool:
    return start is not None and end is not None and end - start <= _EXCEPTION_MOST


def _has_exceptions(held: Statement, claim: Statement) -> bool:
    """Return whether two are values of a rule, such as hours or a price, and no states or places.

    "Tomorrow the standup is at 11" is an exception: the rule holds before and after it.
    """
    entry, ruled = find_attribute(held.attribute), held.attribute == claim.attribute
    lasting = held.phase is claim.phase is Phase.IS and not (entry.fixed or entry.containment)
    return ruled and lasting and not entry.exclusive and entry.kind is not ValueKind.FLAG


def _is_plan_denied(claim: Statement, now: Moment, then: Moment, by: object) -> bool:
    """Return whether a claim without a time denies what begins only later: it will not be."""
    undated = now.at is None and now.position.scene == 0 and now.recorded > then.recorded
    if not undated or claim.holds or claim.modality is not Modality.PLANNED or then.at is None:
        return False
    return isinstance(by, Proposal | Fact) and then.at > by.created_at


def _object_to(
    standing: StandingStatement,
    claim: Statement,
    now: Moment,
    view: SliceView,
    *,
    about: frozenset[str],
    by: Proposal | Fact | Relation | None,
    until: Instant | None = None,
) -> Objection | None:
    held = standing.statement
    unnamed = held.subject.startswith(PHRASE) and held.subject == claim.subject
    shifts = claim.phase is Phase.BEGINS and find_attribute(claim.attribute).shifting
    if unnamed and not shifts and about and standing.about and not about & standing.about:
        return None
    then = standing.moment
    until = end_of(by.time_ref, by.duration) if isinstance(by, Fact) else until  # as it was told
    limited = getattr(standing.item, "duration", None) is not None
    held = without_given_time(held, then, limited=limited)
    claim = without_given_time(claim, now, limited=until is not None)
    order = order_of(now, then)
    held, claim = with_entities(held, claim, view), with_entities(claim, held, view)
    found = _ended_in_passing(held, claim, order, view)
    if by is not None and standing.item is not None and order is not Order.EARLIER:
        found = found or _revised(held, claim, standing.item.evidence, by.evidence, view)
    held_until = end_of(then.at, getattr(standing.item, "duration", None))
    short = [_is_short(now.at, until), _is_short(then.at, held_until)]
    if short[0] is short[1] or not _has_exceptions(held, claim):
        found = found or _compare_statements(held, claim, order, view)
    if _is_plan_denied(claim, now, then, by):
        plain = replace(claim.as_asserted, when="")
        denied = _compare_statements(held, plain, Order.ONE, view)
        found = found or (denied and (Weight.SUPERSEDES, denied[1]))
    if until is not None and isinstance(standing.item, Fact) and standing.item.ends_at is None:
        found = found or _limit_effect(held, claim, order)
    again = held.phase is Phase.ENDS and claim.phase is Phase.IS and claim.holds
    undated = now.at is None and then.at is not None and now.position.scene == 0
    if found is None and again and undated:  # as a decision against what ended at a time
        found = _compare_statements(held, claim, Order.ONE, view)
        if found and then.at is not None:
            found = found[0], f"{found[1]} The other holds since {render_instant(then.at)[:10]}"
    if found is None:
        return None
    weight, reason = found
    possible = weight is Weight.WARNS
    ends = claim.phase is Phase.ENDS  # what only follows needs no authority but that of its cause
    followed = claim.implied if ends else rests_on(held, claim)
    rationale = f"{POSSIBLE}{standing.text} ({reason})" if possible else standing.text
    return Objection(
        weight=weight,
        rationale=rationale,
        conflicts=standing.conflicts,
        conflicting=() if possible else (standing.conflicting,),
        authority=Authority.SYSTEM if followed else standing.authority,
        taken_back=in_one_scene(now, then) and then.position.turn < now.position.turn < AFTER_ALL,
    )


def _ended_in_passing(
    held: Statement, claim: Statement, order: Order, view: SliceView
) -> _Effect | None:
    """Find a place that ends when its subject is carried away, and what ends with its person.

    A person dies, or leaves the group of which something is.
    """
    earlier = order is Order.EARLIER
    had, left = (claim, held) if earlier else (held, claim)  # who left first may hold it anew
    weight, entry = Weight.PRECEDES if earlier else Weight.SUPERSEDES, find_attribute(had.attribute)
    moved = had.attribute in find_attribute(left.attribute).displaces
    moved = moved and not left.implied and had.subject == left.subject
    item = entity_of(view, had.subject) if moved else None
    moved = moved and (item is None or item.entity_type != EntityType.LOCATION)
    if moved and had.holds_then and left.holds_then:
        return (weight, "it is in one place at a time")
    if order is Order.LATER and held.attribute == "condition" and rests_on(claim, held):
        return (Weight.WARNS, f"it is {held.value}")
    if not rests_on(had, left):
        return None
    if left.phase is not Phase.ENDS:
        return (weight, f"it ends when somebody or something is {left.value}")
    if left.attribute.startswith("is:"):
        return (weight, "it ends with the office")
    found = _is_of_group(had, left, entry, view)
    return (weight, "it ends with the membership") if found else None


def _is_of_group(held: Statement, left: Statement, entry: Attribute, view: SliceView) -> bool:
    """Return whether an item is the group itself, a part of it, or belongs to its members."""
    item, group = entity_of(view, held.subject), entity_of(view, str(left.value))
    if held.subject == left.value:
        return True
    if item and group is not None and view.find_relations(item, "PART_OF", "out"):
        ends = [each.to_id for each in view.find_relations(item, "PART_OF", "out")]
        return any(end in family_of(group) for end in ends)
    kind = group.shown_type.split()[-1] if group else str(left.value).removeprefix(PHRASE)
    own = item.shown_type.split()[-1] if item else held.subject.split()[0].removeprefix(PHRASE)
    jobs, kinds = (
        {noun_of(one.removeprefix(PHRASE), "en") for one in each.kinds}
        for each in (find_attribute("employer"), entry)
    )
    return noun_of(own, "en") in kinds and noun_of(kind, "en") in jobs


def _revised(
    held: Statement,
    claim: Statement,
    old: Iterable[Evidence],
    new: Iterable[Evidence],
    view: SliceView,
) -> _Effect | None:
    """Find what a document says of a subject if one that supersedes it says something else."""
    same = (held.subject, held.attribute) == (claim.subject, claim.attribute)
    if not same or held.value == claim.value or not (held.holds_then and claim.holds_then):
        return None
    if not (titles := _titles_in(new, view)):  # the other one's evidence need not be loaded
        return None
    before = _titles_in(old, view) - titles
    revised = before and all(titles & _successors(each, view) for each in before)
    return (Weight.SUPERSEDES, "its document supersedes the other one") if revised else None


def _titles_in(evidence: Iterable[Evidence], view: SliceView) -> frozenset[str]:
    """Return the titles of the documents that evidence cites; quoted words have none."""
    found = map(view.find_evidence, sources_of(evidence, view))
    documents = (one for one in found if isinstance(one, Source) and not holds_quotes(one))
    return frozenset(normalised_name(one.title) for one in documents)


def _successors(title: str, view: SliceView) -> frozenset[str]:
    """Return the names of what supersedes the document or the decision of a title."""
    known = [one.id for one in view.entities_named(frozenset({title}))]
    asked = [Statement(subject=one, attribute=n, value=None) for one in known for n in SUPERSEDED]
    found = [one.statement for one in find_standing(asked, NOW, view)] if asked else []
    held = [one for one in found if one.attribute in SUPERSEDED and one.holds_then]
    successors = [entity_of(view, str(one.value)) for one in held]
    return frozenset(name for each in successors if each is not None for name in each.known_as)


def _compare_statements(
    held: Statement, claim: Statement, order: Order, view: SliceView
) -> _Effect | None:
    entry = find_attribute(held.attribute)
    timeless = entry.fixed or (entry.acyclic and held.subject == claim.value)
    if order is not Order.ONE and not timeless:
        return _compare_in_order(held, claim, order, view)
    found = _clash_between(held, claim, order, view)
    if found is None:
        return None
    changes = found.ends_earlier and not timeless
    if changes and _is_change(found, claim, order):
        return (Weight.SUPERSEDES, found.reason)
    is_repeated = held.phase is Phase.ENDS and claim.phase is Phase.IS and claim.holds
    if changes or found.grade is Grade.POSSIBLE or (is_repeated and order is Order.ONE):
        return (Weight.WARNS, found.reason)
    return (Weight.CONTRADICTS, found.reason)


def _compare_in_order(
    held: Statement, claim: Statement, order: Order, view: SliceView
) -> _Effect | None:
    """Compare two statements of which one is later; what had ended may begin anew."""
    later = order is Order.LATER
    first, then = (held, claim) if later else (claim, held)
    anew = first.phase is Phase.ENDS and then.holds_then
    found = None if anew else _clash_between(first, then, Order.LATER, view)
    if found is None or (not later and not found.ends_earlier):
        return None
    if found.ends_earlier:
        weight = Weight.SUPERSEDES if later else Weight.PRECEDES
        return (weight, found.reason) if _is_change(found, then, Order.LATER) else None
    possible = found.grade is Grade.POSSIBLE
    return (Weight.WARNS if possible else Weight.CONTRADICTS, found.reason)


def _is_change(found: StatementClash, claim: Statement, order: Order) -> bool:
    """Return whether the later statement ends the earlier one, instead of only being unlike it."""
    entry = find_attribute(claim.attribute)
    if found.grade is Grade.CONTRADICTION:
        return True
    single = entry.cardinality == 1 and not entry.name.startswith("quality:")
    return (single or entry.shifting) and (order is Order.LATER or claim.phase is Phase.BEGINS)


def _clash_between(
    held: Statement, claim: Statement, order: Order, view: SliceView
) -> StatementClash | None:
    """Compare two statements with what is known of the entities in them."""
    if Modality.PLANNED in {held.modality, claim.modality}:
        return None

    def name_of(value: str) -> str:
        entity = entity_of(view, value)
        return value if entity is None else entity.name

    found = find_clash(held, claim, order=order, name_of=name_of)
    entry = find_attribute(held.attribute)
    if found is None or not entry.containment or held.attribute != claim.attribute:
        return found
    locations = (each.value if isinstance(each.value, str) else "" for each in (held, claim))
    one, other = (entity_of(view, location) for location in locations)
    if one is None or other is None or held.holds_then is not claim.holds_then:
        return found
    if is_within(one, other, view) or is_within(other, one, view):
        return None
    return found if entry.soft else replace(found, grade=Grade.CONTRADICTION)


@make_gate()
def replacement_outranks(
    candidate: Candidate, content: Content, view: SliceView
) -> Iterator[Objection]:
    """Let a claim correct the item that it names as wrong, if its authority is not lower."""
    wrong = candidate.corrects
    if wrong is None or wrong.level is not CanonLevel.CANON:
        return
    reason = f", because {content.reason.rstrip('.')}" if content.reason else ""
    if isinstance(wrong, Relation):
        ends = [view.find_entity(Reference(one)) for one in (wrong.from_id, wrong.to_id)]
        text = f" {wrong.rel_type} ".join(one.name for one in ends if one is not None)
    else:
        text = wrong.title if isinstance(wrong, Event) else wrong.statement
    properties = wrong.properties if isinstance(wrong, Fact) else {}
    if {"entity_id", "tag"} <= properties.keys() and properties.get("holds") is False:
        ended = f"{wrong.id} says that a state ended. Retcon it, and state the right one"
        yield Objection(weight=Weight.REFUSES, rationale=ended, conflicts=(wrong.id,))
        return
    yield Objection(
        weight=Weight.CORRECTS,
        rationale=f'it corrects "{text}" ({wrong.id}){reason}',
        conflicts=(wrong.id,),
        authority=wrong.authority,
    )
