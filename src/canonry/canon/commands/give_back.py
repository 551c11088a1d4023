"""Give back: a fact that never was gives what it had taken over from to whoever is next to it.

A retcon takes a fact out of the line of those that followed one another, and joins its neighbours.
"""

from collections.abc import Iterable, Mapping, Sequence

from canonry.canon.judging.tag_facts import superseded
from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Entry, FactResumed, FactSuperseded
from canonry.log.items.facts import Fact
from canonry.values.ids import FactId, SpaceId
from canonry.values.provenance import CanonLevel


async def taken_over_by(canon: Canon, fact: Fact) -> Sequence[Fact]:
    """The facts of canon that `fact` has taken over from.

    They were ended when it was made, when it was last confirmed, or when a fact between the two
    was retconned.
    """
    found: dict[FactId, Fact] = {}
    asked: set[FactId] = set()
    heirs = [fact]
    while heirs:
        heir = heirs.pop()
        asked.add(heir.id)
        for old in await _ended_for(canon, heir):
            if old.superseded_by == fact.id and old.level is CanonLevel.CANON:
                found[old.id] = old
            elif old.level is CanonLevel.RETCONNED and old.id not in asked:
                heirs.append(old)
    return tuple(found.values())


def said_again(fact: Fact, before: Iterable[Fact]) -> bool:
    """Whether a fact about a tag says what one that it has taken over from said before it."""
    said = fact.properties
    return "tag" in said and any(
        (old.properties.get("tag"), old.properties.get("holds")) == (said["tag"], said.get("holds"))
        for old in before
    )


def give_back(
    fact: Fact, before: Iterable[Fact], *, tags: Mapping[str, bool], instead: FactId | None
) -> tuple[Entry, ...]:
    """What becomes of the facts that a retconned one had taken over from.

    They hold again, until its own successor took over, or its replacement `instead` takes its
    place. What tells of a state tag follows the state: it holds again with the `tags` that the
    retcon gives back, and of a tag that somebody has told otherwise since it stays as it is.
    """
    entries: list[Entry] = []
    tells_state = "tag" in fact.properties
    for old in before:
        said = old.properties
        agrees = "tag" not in said or tags.get(said["tag"]) is said.get("holds")
        given_back = bool(tags) and agrees
        if tells_state and given_back:
            entries.append(FactResumed(fact_id=old.id, fallen=fact.id))
        elif fact.superseded_by is not None:
            entries.append(superseded(old, fact.until, fact.superseded_by))
        elif instead is not None:
            entries.append(superseded(old, old.until, instead))
        elif not tells_state:
            entries.append(FactResumed(fact_id=old.id, fallen=fact.id))
    return tuple(entries)


async def _ended_for(canon: Canon, heir: Fact) -> Sequence[Fact]:
    places = sorted({heir.position, heir.changed_at})
    ids = [one for place in places for one in await _ended_at(canon, heir.space, place, heir.id)]
    things = await canon.within(heir.space).things(ids)
    return [old for each in ids if isinstance(old := things.get(each), Fact)]


async def _ended_at(canon: Canon, space: SpaceId, place: int, heir: FactId) -> Sequence[FactId]:
    if place <= ORIGIN:
        return ()
    commits = await canon.ledger.read(space, after=Position(place - 1), limit=1)
    return [
        entry.fact_id
        for commit in commits
        for entry in commit.entries
        if isinstance(entry, FactSuperseded) and entry.superseded_by == heir
    ]
