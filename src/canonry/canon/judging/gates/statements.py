"""Gates on facts: denials and replacements."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.comparing.conflicts import (
    Stated,
    candidates_of,
    conflict,
    ends,
    standings_of,
    tells_an_end,
    unread,
    when_dated,
)
from canonry.canon.judging.comparing.findings import When
from canonry.canon.judging.contents import FactContent, end_of
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import still_stands
from canonry.log.items.facts import Fact
from canonry.log.items.proposals import Grade
from canonry.values.moments import AFTER_ALL, Moment, comes_after, overlaps, same_scene
from canonry.values.provenance import Authority

_BY_TIME: Final = {
    When.LATER: Weight.SUPERSEDES,
    When.EARLIER: Weight.PRECEDES,
}


def _examine_statement_negated(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Object to a statement that contradicts canon about the same entities at the same time.

    Statements are compared by frames. Time and authority decide a contradiction, within one scene
    as with canon; a possible conflict is only reported.
    """
    content = candidate.content
    if not isinstance(content, FactContent):
        return
    entities = [view.entity(reference) for reference in content.involved]
    about = frozenset(entity.id for entity in entities if entity is not None)
    claim = _claimed(content, about)
    beside = [
        fact
        for fact in candidates_of(view, claim)
        if str(fact.id) != content.replaces
        and _at_once(candidate, content, fact)
        and still_stands(view, fact, candidate.moment)
    ]
    for fact, standing in standings_of(view, beside):
        yield from _objections(candidate, fact, standing, claim)
    for warning in unread(view, claim):
        yield Objection(weight=Weight.WARNS, rationale=warning)


def _claimed(content: FactContent, about: frozenset[str]) -> Stated:
    return Stated(
        statement=content.statement,
        entities=about,
        fact_type=content.fact_type,
        properties=content.properties,
    )


def _at_once(candidate: Candidate, content: FactContent, fact: Fact) -> bool:
    end = end_of(candidate.at, content.duration)
    return overlaps(candidate.at, end, fact.time_ref, fact.ends_at)


def _objections(
    candidate: Candidate, fact: Fact, standing: Stated, claim: Stated
) -> Iterator[Objection]:
    was_over, is_over = tells_an_end(standing.statement), tells_an_end(claim.statement)
    when = _when(candidate, fact, ending=was_over or is_over)
    found = conflict(standing, claim, when=when)
    at_once = found if when is When.ONE else conflict(standing, claim, when=When.ONE)
    if found is None and at_once is None and not (was_over or is_over):
        return
    over = is_over if when is When.EARLIER else was_over
    if when is not When.EARLIER and ends(standing, claim):
        yield _object_to_fact(Weight.SUPERSEDES, "one says that the other ended", fact)
    elif when is When.EARLIER and ends(claim, standing):
        yield _object_to_fact(Weight.PRECEDES, "one says that the other ended", fact)
    elif found is not None and found.grade is Grade.CONTRADICTION:
        elsewhere = _told_elsewhere(candidate, fact, when)
        before = elsewhere is When.EARLIER
        yield replace(
            _object_to_fact(Weight.PRECEDES if before else Weight.CONTRADICTS, found.reason, fact),
            taken_back=_comes_later_in_scene(candidate, fact),
            dated=not before and (elsewhere is When.LATER or _dates_the_undated(candidate, fact)),
        )
    elif when is not When.ONE and at_once is not None and at_once.ends_the_earlier and not over:
        yield _object_to_fact(_BY_TIME[when], at_once.reason, fact)
    elif found is not None:
        yield _object_to_fact(Weight.WARNS, found.reason, fact)


def _told_elsewhere(candidate: Candidate, fact: Fact, when: When) -> When:
    """Return which of two contradicting statements came first, if their order counts.

    A second statement of the game master in another scene is a change. Conflicting statements of
    other authors are retconned.
    """
    now, said = candidate.moment, fact.moment
    words = {candidate.proposal.authority, fact.authority}
    if words != {Authority.GM} or when is not When.ONE or same_scene(now, said):
        return When.ONE
    return _by_place(now, said)


def _dates_the_undated(candidate: Candidate, fact: Fact) -> bool:
    """Tell whether the claim has a start and the fact has none."""
    now = candidate.moment
    return now.at is not None and now.place.dated and fact.time_ref is None


def _comes_later_in_scene(candidate: Candidate, fact: Fact) -> bool:
    """Tell whether a later turn of the same scene states the claim, to correct the fact."""
    now, said = candidate.moment, fact.moment
    return same_scene(now, said) and said.place.turn < now.place.turn < AFTER_ALL


def _when(candidate: Candidate, fact: Fact, *, ending: bool) -> When:
    """Tell whether the claim follows the fact, precedes it, or is about the same moment.

    Undated statements are about one moment, so a plain denial is a contradiction. Their order in
    the stories counts only if the words state that something ended.
    """
    now = candidate.moment
    dated = when_dated(now.at, fact.time_ref)
    if not ending or dated is not When.ONE or same_scene(now, said := fact.moment):
        return dated
    return _by_place(now, said)


def _by_place(now: Moment, said: Moment) -> When:
    return When.LATER if comes_after(now, said) else When.EARLIER


def _object_to_fact(weight: Weight, why: str, fact: Fact) -> Objection:
    said = f"the fact {fact.id} says that {fact.statement}"
    possible = weight is Weight.WARNS
    return Objection(
        weight=weight,
        rationale=f"possible conflict: {said} ({why})" if possible else said,
        conflicts=(fact.id,),
        rivals=() if possible else (fact.id,),
        authority=fact.authority,
    )


STATEMENT_NEGATED: Final = Gate(id="gate:statement-negated", examine=_examine_statement_negated)


def _examine_replacement_outranks(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Object to a replacement that does not outrank the replaced fact."""
    content = candidate.content
    if not isinstance(content, FactContent) or content.replaces is None:
        return
    fact = view.referred(content.replaces)
    if isinstance(fact, Fact):
        yield Objection(
            weight=Weight.CONTRADICTS,
            rationale=f"it would replace the fact {fact.id} of the authority {fact.authority}",
            conflicts=(fact.id,),
            rivals=(fact.id,),
            authority=fact.authority,
        )


REPLACEMENT_OUTRANKS: Final = Gate(
    id="gate:replacement-outranks", examine=_examine_replacement_outranks
)
