"""Find passages by words, meaning and time, for questions of any length."""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from canonry.canon.queries.names import find_mentioned
from canonry.canon.session.canon import Canon
from canonry.canon.session.cited_words import CitedBy, evidence_of_retracted, retracted_words
from canonry.canon.session.spoken_times import calendar_of
from canonry.language.texts.stems import stems_of, terms_of
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.scenes import Memory, Scene, Story, StoryType, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.passages import Collection, Passage, names_of, passages_of
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.text import Hit, TextFound, TextQuery
from canonry.readmodels.ranking import (
    WIDER,
    Asked,
    PassageCandidate,
    Ranked,
    Why,
    names_in,
    naming,
    pool_for,
    rank_passages,
    sought_in,
)
from canonry.recall.domain.questions import (
    FIRST,
    TELLING,
    BesideEvent,
    TimesAsked,
    TimeSpan,
    denied_in,
    denies,
    may_reorder,
    nearness,
    ordered_again,
    read_times,
    said_beside,
    stems_asked,
    weightiest,
    without_names,
)
from canonry.recall.usecases.recall import RecallServices
from canonry.values.calendars.reckoning import GREGORIAN, Calendar
from canonry.values.errors import Unavailable
from canonry.values.ids import EntityId, Space
from canonry.values.moments import DAY, Instant

# The times of passages, and their distance from the time in a question.
#
# A turn without a time has that of its scene, a written one that of its writing. Lines of a
# document without times have none. The story time of the scene is separate: a question may mean
# either.

_ANCHORS: Final = 5

Near: TypeAlias = Mapping[str, float]
"""The nearness of passages to the time asked for, from 0 to 1; unknown ones are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenSaid:
    """The real time and the story time of a passage; None: unknown."""

    said_at: Instant | None
    in_world: Instant | None

    @property
    def time(self) -> Instant | None:
        """Return the story time if it is known, else the real time."""
        return self.said_at if self.in_world is None else self.in_world

    @property
    def times(self) -> Sequence[Instant]:
        """Return both times, as far as they are known."""
        return [each for each in (self.said_at, self.in_world) if each is not None]


def when_said(thing: Thing, around: Mapping[str, Thing]) -> WhenSaid:
    """Return the times of an item; `around` has its scene or source, by id."""
    match thing:
        case Turn() | Memory():
            scene = around.get(thing.scene_id or "")
            whole = scene if isinstance(scene, Scene) else None
            said = thing.said_at or (None if whole is None else whole.said_at)
            if isinstance(thing, Memory):
                said = thing.created_at if said is None else said
            elif said is None and (whole is None or whole.source_id is None):
                said = thing.timestamp
            return WhenSaid(said_at=said, in_world=None if whole is None else whole.time_ref)
        case Scene():
            played = thing.completed_at if thing.source_id is None else None
            told = thing.said_at or played
            return WhenSaid(said_at=told, in_world=thing.time_ref)
        case Snippet():
            source = around.get(thing.source_id)
            return WhenSaid(
                said_at=source.said_at if isinstance(source, Source) else None, in_world=None
            )
        case Fact() | Event():
            return WhenSaid(said_at=thing.created_at, in_world=thing.time_ref)
        case _:
            return WhenSaid(said_at=None, in_world=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesMeant:
    """The times and events in a question, with their calendar."""

    text: str
    calendar: Calendar
    events: Sequence[TimeSpan]


async def times_meant(canon: Canon, query: TextQuery) -> TimesMeant | None:
    """Return the times that the question names; None: no time and no known event."""
    calendar = await _calendar(canon, query.spaces)
    asked = read_times(query.text, calendar, Instant(0))
    events = [await _anchored(canon, query, anchor) for anchor in asked.anchors]
    known = tuple(each for each in events if each is not None)
    if not (asked.stretches or asked.sessions or known):
        return None
    return TimesMeant(text=query.text, calendar=calendar, events=known)


async def near_in_time(
    canon: Canon, query: TextQuery, meant: TimesMeant, hits: Sequence[Hit]
) -> Near:
    """Return the nearness of the found passages to the times in the question."""
    seen = canon.covering(query.spaces)
    things = dict(await seen.things(hit.id for hit in hits))
    outer = {i for thing in things.values() for i in lies_in(thing)}
    things |= await seen.things(outer - things.keys())
    times = {hit.id: when_said(things[hit.id], things) for hit in hits if hit.id in things}
    present = max((when for each in times.values() for when in each.times), default=None)
    asked = read_times(meant.text, meant.calendar, present)
    near = {identity: _nearest(each, asked, meant.events) for identity, each in times.items()}
    if asked.sessions:
        scenes = await _sessions(canon, asked, (s for s in things.values() if isinstance(s, Scene)))
        near |= {hit.id: 1.0 for hit in hits if hit.scene_id in scenes or hit.id in scenes}
    return {identity: value for identity, value in near.items() if value > 0}


def _nearest(each: WhenSaid, asked: TimesAsked, events: Sequence[TimeSpan]) -> float:
    told = [nearness(when, stretch) for when in each.times for stretch in asked.stretches]
    if each.in_world is not None:
        told += [nearness(each.in_world, stretch) for stretch in events]
    return max(told, default=0.0)


def lies_in(thing: Thing) -> tuple[str, ...]:
    """Return the scene or source of an item, which may have a time."""
    match thing:
        case Turn(scene_id=scene):
            return (scene,)
        case Memory(scene_id=scene) if scene is not None:
            return (scene,)
        case Snippet(source_id=source):
            return (source,)
        case _:
            return ()


async def _calendar(canon: Canon, spaces: Spaces) -> Calendar:
    """Return the calendar of the one searched space, if it has declared one."""
    for space in spaces or () if spaces is not None and len(spaces) == 1 else ():
        found = await canon.covering(spaces).thing(space)
        if isinstance(found, Space):
            return calendar_of(found)
    return GREGORIAN


async def _anchored(canon: Canon, query: TextQuery, anchor: BesideEvent) -> TimeSpan | None:
    """Return the interval around an event in the question, if canon has the event and its time."""
    words = replace(query, collection=Collection.FACTS, text=anchor.what, entities=frozenset())
    found = await canon.text.search(replace(words, source_id=None, limit=_ANCHORS))
    things = await canon.covering(query.spaces).things(hit.id for hit in found.hits)
    known = (things.get(hit.id) for hit in found.hits)
    when = next(
        (e.time_ref for e in known if isinstance(e, Event | Fact) and e.time_ref is not None), None
    )
    if when is None:
        return None
    span = None if anchor.days is None else anchor.days * DAY
    match anchor.way:
        case "before" | "until":
            return TimeSpan(None if span is None else Instant(when - span), when)
        case "after" | "since":
            return TimeSpan(when, None if span is None else Instant(when + span))
        case _:
            return TimeSpan(when, Instant(when + DAY))


async def _sessions(canon: Canon, asked: TimesAsked, scenes: Iterable[Scene]) -> frozenset[str]:
    """Return the scenes of the sessions in the question, of those whose turns were found.

    A session is an episode of a campaign if there are several, else a scene by its number.
    """
    known = list(scenes)
    stories = await canon.covering(frozenset(s.space for s in known)).things(
        {scene.story_id for scene in known}
    )
    episodes = sorted(
        (s for s in stories.values() if isinstance(s, Story) and s.story_type is StoryType.EPISODE),
        key=lambda story: story.position,
    )
    chosen: set[str] = set()
    for kind, number in asked.sessions:
        if kind == "scene" or len(episodes) <= 1:
            orders = sorted({scene.order for scene in known})
            wanted = number if number >= 0 else (orders[number] if len(orders) >= -number else 0)
            chosen |= {scene.id for scene in known if scene.order == wanted}
            continue
        at = number - 1 if number > 0 else number
        if -len(episodes) <= at < len(episodes):
            chosen |= {scene.id for scene in known if scene.story_id == episodes[at].id}
    return frozenset(chosen)


ASKED_MAX: Final = 8_000
"""The most characters of a question that are searched; a longer one is shortened."""


async def shortened(canon: Canon, query: TextQuery) -> TextQuery:
    """Return the query with the weightiest sentences of its text, chosen in a thread.

    A word that occurs nowhere weighs nothing. Without an index of words, the start and end of the
    text stay.
    """
    if len(query.text) <= ASKED_MAX:
        return query
    stems = await asyncio.to_thread(stems_asked, query.text)
    reached = replace(query, text="", spaces=await canon.reach(query.spaces))
    try:
        figures = await canon.text.figures(stems.values(), reached)
        known = {term: figures.found_in.get(stem, 0) for term, stem in stems.items()}
        worth = {term: figures.worth(n) for term, n in known.items() if n}
    except Unavailable:
        worth = {}
    text = await asyncio.to_thread(weightiest, query.text, worth, ASKED_MAX)
    return replace(query, text=text)


Called: TypeAlias = Mapping[str, Sequence[str]]
"""The names of entities by their ids."""


async def called_in(canon: Canon, spaces: Spaces, ids: frozenset[str]) -> Called:
    """Return the names of these entities; a merged one also has those of its survivor."""
    if not ids:
        return {}
    seen = canon.covering(spaces)
    entities = await seen.things(ids)
    merged = (i for i, e in entities.items() if isinstance(e, Entity) and e.merged_into is not None)
    roots = await seen.roots(merged)
    return {
        each: [
            name
            for thing in (entities.get(each), roots.get(each))
            if isinstance(thing, Entity)
            for name in names_of(thing)
        ]
        for each in ids
    }


CITED: Final = frozenset({Collection.SCENES, Collection.SNIPPETS})
"""The collections with the passages that items cite."""

MEANING_MISSING: Final = "vectors"
"""The entry in a reply's `degraded` if meaning was not searched."""
MEANING_BEHIND: Final = "vectors-behind"
"""The entry if some of the newest passages were searched by words only."""
WORDS_MISSING: Final = "text"
"""The entry if words were not searched."""
LOOK_MISSING: Final = "reranker"
"""The entry if the reranker did not answer."""

SECOND_LOOK: Final = 20
"""The number of first passages that are reranked, for every limit; later ones stay."""

MEANT_MAX: Final = 1_000
"""The most characters of a question that are compared by meaning."""
_DENYING: Final = 20
_SEVERAL: Final = 2
_LOOKED_AT_MAX: Final = 2_000
_NOTHING: Final = TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
_Similar: TypeAlias = Mapping[str, float]
_Missing: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage with its score in [0, 1] and the reasons for it.

    `score` measures how well it matches the question, `strength` in [0, 1) ranks it. `by_words`
    is its score by words alone, 0 if none matched.
    """

    passage: Passage
    score: float
    strength: float
    by_words: float
    why: Why

    @property
    def terms(self) -> tuple[str, ...]:
        """The matching words of the query, the weightiest first."""
        return tuple(term for term, _ in self.why.terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassages:
    """The passages, best first; `things` are their items, by id.

    `degraded` names the searches that failed, `behind` counts commits without vectors.
    """

    hits: Sequence[FoundPassage]
    things: Mapping[str, Thing]
    degraded: tuple[str, ...]
    behind: int = 0


async def find_passages(
    canon: Canon, query: TextQuery, cited: CitedBy | None = None
) -> FoundPassages:
    """Return the best passages within `query`; a smaller limit gives a prefix.

    Passages that only retracted items cite are left out. `cited` is the result of `retracted_in`.

    Unspecific similarity finds nothing. A failed search is left out and named in `degraded`. A
    passage without a measured similarity does not count as dissimilar: the index may lack it, or
    others are nearer.
    """
    weights, query = canon.policy.ranking, replace(query, spaces=await canon.reach(query.spaces))
    query = await shortened(canon, query)
    denied = denied_in(query.text)
    times = await times_meant(canon, query) if query.question else None
    pool = pool_for(len(sought_in(query.text).stems), weights) * (WIDER if times else 1)
    wide = replace(query, limit=max(query.limit, pool))
    words, no_words = await _by_words(canon, wide)
    hits = {hit.id: hit for hit in words.hits}
    called = await called_in(canon, query.spaces, _about(words.hits))
    gist = _gist(query, words)
    similar, no_meaning = await _by_meaning(canon, wide, _meant(query, gist, called))
    placed = await _placed(canon, query, similar.keys() - hits.keys())
    called = {
        **called,
        **await called_in(canon, query.spaces, _about(placed.values()) - called.keys()),
    }
    services = canon.service(RecallServices)
    standing = await _cited_still(canon, query, cited, (*words.hits, *placed.values()))
    ranked = rank_passages(
        words.asked,
        _candidates(
            standing,
            similar,
            _elsewhere(similar, wide.limit, behind=MEANING_BEHIND in no_meaning),
            _named(query, called),
            await near_in_time(canon, query, times, standing) if times else {},
        ),
        weights,
        limit=max(
            query.limit, FIRST, _DENYING if denied else 0, SECOND_LOOK if services.reranking else 0
        ),
    )
    things = await canon.covering(query.spaces).things(each.id for each in ranked)
    found: Sequence[FoundPassage] = [
        shown for each in ranked if each.score > 0 for shown in _shown(each, query, things, hits)
    ]
    found = await _second_round(canon, query, words.asked, found, called)
    found, no_look = await _looked_again(canon, gist, found, called)
    if denied:  # the first ones with the same denial come first
        first = sorted(found[:_DENYING], key=lambda hit: not denies(hit.passage.text, denied))
        found = _moved(found, first)
    return FoundPassages(
        hits=found[: query.limit],
        things=things,
        degraded=(*no_meaning, *no_words, *no_look),
        behind=0 if services.recall is None else services.recall.behind,
    )


async def _cited_still(
    canon: Canon, query: TextQuery, cited: CitedBy | None, found: Sequence[Hit]
) -> list[Hit]:
    """Return the passages that are not cited by retracted items alone."""
    gone: Container[str] = ()
    if query.collection in CITED:
        cited = await retracted_in(canon, query.spaces, query.text) if cited is None else cited
        gone = await retracted_words(canon, cited, {hit.id for hit in found})
    return [hit for hit in found if hit.id not in gone]


async def retracted_in(canon: Canon, spaces: Spaces, text: str) -> CitedBy:
    """Return the retracted items that cite each piece of evidence, for a question."""
    named = frozenset[EntityId]()
    for space in spaces if spaces is not None and len(spaces) == 1 else ():
        mentions = await find_mentioned(canon, space, text)
        named = frozenset(each for each in mentions.found.values() if each is not None)
    return await evidence_of_retracted(canon, spaces, named)


async def _second_round(
    canon: Canon, query: TextQuery, asked: Asked, found: Sequence[FoundPassage], called: Called
) -> Sequence[FoundPassage]:
    """Rank the first passages of scenes again by the second round."""
    if query.collection is not Collection.SCENES or len(found) < _SEVERAL:
        return found
    weights = canon.policy.ranking
    if not may_reorder(asked, weights, said=found[0].score):
        return found
    first = [
        (hit.why.strength, stems_of(hit.passage.text[:_LOOKED_AT_MAX])) for hit in found[:FIRST]
    ]
    names = names_in(name for names in called.values() for name in names)
    stems = frozenset(stem for _, each in first[:TELLING] for stem in each)
    try:
        figures = await canon.text.figures(said_beside(asked, stems, names), query)
    except Unavailable:
        return found
    again = ordered_again(asked, first, figures, weights, said=found[0].score)
    return _moved(found, [found[number] for number in again])


async def _looked_again(
    canon: Canon, gist: str, found: Sequence[FoundPassage], called: Called
) -> tuple[Sequence[FoundPassage], _Missing]:
    """Return the first passages in the reranker's order, if there is one and it answers."""
    reranking = canon.service(RecallServices).reranking
    if reranking is None or len(found) < _SEVERAL:
        return found, ()
    first = found[:SECOND_LOOK]
    texts = [_spoken(hit.passage, called)[:_LOOKED_AT_MAX] for hit in first]
    try:
        scores = await reranking.scores(gist, texts)
    except Unavailable:
        return found, (LOOK_MISSING,)
    order = sorted(range(len(texts)), key=lambda number: -scores[number])
    return _moved(found, [first[number] for number in order]), ()


def _spoken(passage: Passage, called: Called) -> str:
    """Return the text of a passage, with the speaker of a turn."""
    names = [called[each][0] for each in passage.entities[:1] if called.get(each)]
    return f"{names[0]}: {passage.text}" if names and passage.kind == "turn" else passage.text


def _moved(found: Sequence[FoundPassage], ordered: Sequence[FoundPassage]) -> list[FoundPassage]:
    """Reorder the first passages; scores stay at their ranks."""
    places = zip(ordered, found, strict=False)
    moved = (replace(hit, score=at.score, strength=at.strength) for hit, at in places)
    return [*moved, *found[len(ordered) :]]


def _about(hits: Iterable[Hit]) -> frozenset[str]:
    return frozenset(entity for hit in hits for entity in hit.entities)


def _gist(query: TextQuery, words: TextFound) -> str:
    """Return the weightiest sentences of a long question, which are compared as a whole."""
    if len(query.text) <= MEANT_MAX:
        return query.text
    worth = words.asked.terms
    known = {term: worth.get(stem, 0.0) for term, stem in stems_asked(query.text).items()}
    return weightiest(query.text, known, MEANT_MAX)


def _meant(query: TextQuery, gist: str, called: Called) -> str:
    """Return the text that is compared by meaning; in scenes, without names of speakers."""
    if query.collection is not Collection.SCENES:
        return gist
    return without_names(gist, names_in(name for names in called.values() for name in names))


def _elsewhere(similar: _Similar, limit: int, *, behind: bool) -> float | None:
    """Return the highest similarity of a passage that is not among the nearest ones.

    None: unknown, because the index is incomplete or has fewer than the limit.
    """
    if behind or len(similar) < limit:
        return None
    return min(similar.values())


async def _by_words(canon: Canon, query: TextQuery) -> tuple[TextFound, _Missing]:
    try:
        return await canon.text.search(query), ()
    except Unavailable:
        return _NOTHING, (WORDS_MISSING,)


async def _by_meaning(canon: Canon, query: TextQuery, meant: str) -> tuple[_Similar, _Missing]:
    recall = canon.service(RecallServices).recall
    if recall is None:
        return {}, (MEANING_MISSING,)
    try:
        found = await recall.search(meant, query)
    except Unavailable:
        return {}, (MEANING_MISSING,)
    return dict(found), (MEANING_BEHIND,) if recall.behind else ()


async def _placed(canon: Canon, query: TextQuery, ids: Iterable[str]) -> Mapping[str, Hit]:
    """Return the current hits of passages that only their meaning found.

    An index of meanings may lag behind, so the query's filters are applied again.
    """
    wanted = frozenset(ids)
    try:
        return {hit.id: hit for hit in await canon.text.placed(wanted, query)}
    except Unavailable:
        things = (await canon.covering(query.spaces).things(wanted)).values()
        passages = (passage for thing in things for passage in passages_of(thing))
        return {each.id: Hit.of(each, {}) for each in passages if query.allows(each)}


def _named(query: TextQuery, called: Called) -> frozenset[str]:
    """Return the entities that the query names by any of their names."""
    asked = frozenset(terms_of(query.text))
    return frozenset(each for each, names in called.items() if naming(asked, names) > 0)


def _candidates(
    hits: Iterable[Hit],
    similar: _Similar,
    elsewhere: float | None,
    named: frozenset[str],
    near: Near,
) -> Sequence[PassageCandidate]:
    """Return the candidates for ranking; unmeasured ones have the similarity `elsewhere`."""
    return [
        PassageCandidate(
            identity,
            None if place is None else scene,
            place or 0,
            shares,
            similar.get(identity, elsewhere),
            1.0 if named and not named.isdisjoint(about) else 0.0,
            near.get(identity, 0.0),
        )
        for identity, _, shares, scene, place, about in hits
    ]


def _shown(
    ranked: Ranked, query: TextQuery, things: Mapping[str, Thing], hits: Mapping[str, Hit]
) -> Sequence[FoundPassage]:
    """Return the passages as they are now, without those erased since the search."""
    thing, hit = things.get(ranked.id), hits.get(ranked.id)
    by_words = 0.0 if hit is None else hit.score
    return [
        FoundPassage(
            passage=passage,
            score=ranked.shown,
            strength=ranked.score,
            by_words=by_words,
            why=ranked.why,
        )
        for passage in (() if thing is None else passages_of(thing))
        if query.allows(passage)
    ]
