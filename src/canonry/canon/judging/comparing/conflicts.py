"""Conflicts: how a claim stands to what is held, by the frames of both and by their values.

A contradiction is what the words themselves exclude; what only a reader with knowledge of the
world would stop at is possible, and asked about.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from canonry.canon.judging.comparing import attributes, changes, denials, rivalries
from canonry.canon.judging.comparing.findings import Clash, Setting, When
from canonry.canon.judging.comparing.likenesses import likeness
from canonry.canon.judging.comparing.property_values import compared_properties
from canonry.language.clauses.frames import Frame, Standing
from canonry.language.clauses.gists import gists_of
from canonry.language.clauses.reading import frames_of
from canonry.log.items.proposals import Grade


class Stated(NamedTuple):
    """What is stated: words, the entities linked with them, values, and when it holds.

    `time` and `until` count in any one measure; `scene` is the place in the story; `called` tells
    the stems of the words by which the entities are called.
    """

    statement: str
    entities: frozenset[str] = frozenset()
    fact_type: str | None = None
    properties: Mapping[str, Any] = MappingProxyType({})
    time: float | None = None
    until: float | None = None
    scene: int | None = None
    called: Callable[[], frozenset[str]] = frozenset


def grade(standing: Stated, claim: Stated) -> Grade | None:
    """How the claim conflicts with what stands; None where both can simply be true."""
    found = conflict(standing, claim)
    return None if found is None else found.grade


def conflict(standing: Stated, claim: Stated, *, when: When | None = None) -> Clash | None:
    """The gravest conflict between the two, with its reason; None where there is none.

    `when` tells how they follow each other where more is known of it than both sides say.
    """
    setting = Setting(
        when=_when(standing, claim) if when is None else when,
        standing=standing.entities,
        claimed=claim.entities,
    )
    valued = None
    if standing.properties and claim.properties:
        valued = compared_properties(standing.properties, claim.properties, setting)
    if valued is not None and valued.grade is Grade.CONTRADICTION:
        return valued
    worded = _worded(standing.statement, claim.statement, setting)
    worst = worded if valued is None or (worded and worded.graver_than(valued)) else valued
    if worst is not None:
        return worst
    if not setting.one_moment:
        return None
    held, said = gists_of(standing.statement, claim.statement)
    return likeness(held, said, setting, standing.called, claim.called)


@lru_cache(maxsize=4096)
def _worded(held: str, said: str, setting: Setting) -> Clash | None:
    """The gravest finding on the words alone."""
    worst: Clash | None = None
    for one, other in product(frames_of(held), frames_of(said)):
        for found in _compared(one, other, setting):
            if worst is None or found.graver_than(worst):
                worst = found
            if worst.grade is Grade.CONTRADICTION:
                return worst
    return worst


def ends(standing: Stated, claim: Stated) -> bool:
    """Whether the claim ends what stands rather than denies that it ever held."""
    return tells_an_end(claim.statement) and any(
        changes.ends(held, said)
        for held, said in product(frames_of(standing.statement), frames_of(claim.statement))
    )


@lru_cache(maxsize=16_384)
def tells_an_end(statement: str) -> bool:
    """Whether the words say that something is over."""
    return any(changes.tells_an_end(frame) for frame in frames_of(statement))


_OF_ANY_VERBS: Final = (changes.ended,)
_OF_ONE_VERB: Final = (
    denials.denied,
    *_OF_ANY_VERBS,
    attributes.attribute_differs,
    *rivalries.RULES,
)


def _compared(one: Frame, other: Frame, setting: Setting) -> Iterator[Clash]:
    told = {one.standing, other.standing}
    source = one.condition and one.condition == other.condition
    if told == {Standing.KNOWN} or (Standing.SAID in told and not (source and len(told) == 1)):
        return
    for rule in _OF_ONE_VERB if one.verb == other.verb else _OF_ANY_VERBS:
        found = rule(one, other, setting)
        if found is not None:
            yield found.only_possible() if Standing.KNOWN in told else found


def _when(standing: Stated, claim: Stated) -> When:
    if standing.time is not None and claim.time is not None:
        return _by_time(standing, claim, standing.time, claim.time)
    if standing.scene is not None and claim.scene is not None and standing.scene != claim.scene:
        return When.LATER if claim.scene > standing.scene else When.EARLIER
    return When.ONE


def _by_time(standing: Stated, claim: Stated, held: float, said: float) -> When:
    if held == said:
        return When.ONE
    first, last = (standing, said) if held < said else (claim, held)
    if first.until is not None and last <= first.until:
        return When.ONE
    return When.LATER if said > held else When.EARLIER
