"""Find passages by words, meaning and time, for questions of any length."""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from canonry.canon.queries.names import find_mentioned
from canonry.canon.session.canon import Canon
from canonry.canon.session.snippets import CitedBy, evidence_of_retracted, retracted_passages
from canonry.canon.session.spoken_times import calendar_of
from canonry.language.texts.stems import stems_of, terms_of
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.scenes import Memory, Scene, Story, StoryType, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels import ranking
from canonry.readmodels.passages import Collection, Passage, names_of, passages_of
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.text import Hit, TextFound, TextQuery
from canonry.recall.domain import questions
from canonry.recall.usecases.search_by_meaning import RecallServices
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
class PassageTimes:
    """The real time and the story time of a passage; None: unknown."""

    said_at: Instant | None
    in_world: Instant | None

    @property
    def best_time(self) -> Instant | None:
        """Return the story time if it is known, else the real time."""
        return self.said_at if self.in_world is None else self.in_world

    @property
    def known_times(self) -> Sequence[Instant]:
        """Return both times, as far as they are known."""
        return [each for each in (self.said_at, self.in_world) if each is not None]


def passage_times(item: StoredItem, around: Mapping[str, StoredItem]) -> PassageTimes:
    """Return the times of an item; `around` has its scene or source, by id."""
    match item:
        case Turn() | Memory():
            scene = around.get(item.scene_id or "")
            whole = scene if isinstance(scene, Scene) else None
            spoken = item.said_at or (None if whole is None else whole.said_at)
            if isinstance(item, Memory):
                spoken = item.created_at if spoken is None else spoken
            elif spoken is None and (whole is None or whole.source_id is None):
                spoken = item.timestamp
            return PassageTimes(said_at=spoken, in_world=None if whole is None else whole.time_ref)
        case Scene():
            played = item.completed_at if item.source_id is None else None
            recorded = item.said_at or played
            return PassageTimes(said_at=recorded, in_world=item.time_ref)
        case Snippet():
            source = around.get(item.source_id)
            said_at = source.said_at if isinstance(source, Source) else None
            return PassageTimes(said_at=said_at, in_world=None)
        case Fact() | Event():
            return PassageTimes(said_at=item.created_at, in_world=item.time_ref)
        case _:
            return PassageTimes(said_at=None, in_world=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesMeant:
    """The times and events in a question, with their calendar."""

    text: str
    calendar: Calendar
    events: Sequence[questions.TimeSpan]


async def times_meant(canon: Canon, query: TextQuery) -> TimesMeant | None:
    """Return the times that the question names; None: no question, no time and no known event."""
    if not query.question:
        return None
    calendar = await _searched_calendar(canon, query.spaces)
    asked = questions.read_times(query.text, calendar, Instant(0))
    query = replace(query, spaces=await canon.covered_spaces(query.spaces))
    events = [await _anchor_span(canon, query, anchor) for anchor in asked.anchors]
    known = tuple(each for each in events if each is not None)
    if not (asked.intervals or asked.sessions or known):
        return None
    return TimesMeant(text=query.text, calendar=calendar, events=known)


async def near_in_time(
    canon: Canon, query: TextQuery, meant: TimesMeant, hits: Sequence[Hit]
) -> Near:
    """Return the nearness of the found passages to the times in the question."""
    seen = canon.query_scope(query.spaces)
    items = dict(await seen.items_by_id(hit.id for hit in hits))
    outer = {i for item in items.values() for i in containers_of(item)}
    items |= await seen.items_by_id(outer - items.keys())
    times = {hit.id: passage_times(items[hit.id], items) for hit in hits if hit.id in items}
    present = max((when for each in times.values() for when in each.known_times), default=None)
    asked = questions.read_times(meant.text, meant.calendar, present)
    near = {identity: _nearness_of(each, asked, meant.events) for identity, each in times.items()}
    if asked.sessions:
        listed = [each for each in items.values() if isinstance(each, Scene)]
        scenes = await _session_scenes(canon, asked, listed)
        near |= {hit.id: 1.0 for hit in hits if hit.scene_id in scenes or hit.id in scenes}
    return {identity: value for identity, value in near.items() if value > 0}


def _nearness_of(
    each: PassageTimes, asked: questions.TimesAsked, events: Sequence[questions.TimeSpan]
) -> float:
    known, intervals = each.known_times, asked.intervals
    values = [questions.time_nearness(when, interval) for when in known for interval in intervals]
    if each.in_world is not None:
        values += [questions.time_nearness(each.in_world, interval) for interval in events]
    return max(values, default=0.0)


def containers_of(item: StoredItem) -> tuple[str, ...]:
    """Return the scene or source of an item, which may have a time."""
    match item:
        case Turn(scene_id=scene):
            return (scene,)
        case Memory(scene_id=scene) if scene is not None:
            return (scene,)
        case Snippet(source_id=source):
            return (source,)
        case _:
            return ()


async def _searched_calendar(canon: Canon, spaces: Spaces) -> Calendar:
    """Return the calendar of the one searched space, if it has declared one."""
    for space in spaces or () if spaces is not None and len(spaces) == 1 else ():
        found = await canon.query_scope(spaces).find_item(space)
        if isinstance(found, Space):
            return calendar_of(found)
    return GREGORIAN


async def _anchor_span(
    canon: Canon, query: TextQuery, anchor: questions.EventAnchor
) -> questions.TimeSpan | None:
    """Return the interval around an event in the question, if canon has the event and its time."""
    words = replace(query, collection=Collection.FACTS, text=anchor.event_text, source_id=None)
    found = await canon.text.search(replace(words, entities=frozenset(), limit=_ANCHORS))
    items = await canon.query_scope(query.spaces).items_by_id(hit.id for hit in found.hits)
    known = (items.get(hit.id) for hit in found.hits)
    times = (each.time_ref for each in known if isinstance(each, Event | Fact))
    when = next((at for at in times if at is not None), None)
    if when is None:
        return None
    span = None if anchor.days is None else anchor.days * DAY
    match anchor.side:
        case "before" | "until":
            return questions.TimeSpan(None if span is None else Instant(when - span), when)
        case "after" | "since":
            return questions.TimeSpan(when, None if span is None else Instant(when + span))
        case _:
            return questions.TimeSpan(when, Instant(when + DAY))


async def _session_scenes(
    canon: Canon, asked: questions.TimesAsked, scenes: Iterable[Scene]
) -> frozenset[str]:
    """Return the scenes of the sessions in the question, of those whose turns were found.

    A session is an episode of a campaign if there are several, else a scene by its number.
    """
    known = list(scenes)
    stories = await canon.query_scope(frozenset(s.space for s in known)).items_by_id(
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


async def shorten_query(canon: Canon, query: TextQuery) -> TextQuery:
    """Return the query with the weightiest sentences of its text, chosen in a thread.

    A word that occurs nowhere weighs nothing. Without an index of words, the start and end of the
    text stay.
    """
    if len(query.text) <= ASKED_MAX:
        return query
    stems = await asyncio.to_thread(questions.significant_stems, query.text)
    reached = replace(query, text="", spaces=await canon.covered_spaces(query.spaces))
    try:
        figures = await canon.text.figures(stems.values(), reached)
        known = {term: figures.found_in.get(stem, 0) for term, stem in stems.items()}
        worth = {term: figures.word_worth(n) for term, n in known.items() if n}
    except Unavailable:
        worth = {}
    text = await asyncio.to_thread(questions.weightiest_sentences, query.text, worth, ASKED_MAX)
    return replace(query, text=text)


EntityNames: TypeAlias = Mapping[str, Sequence[str]]
"""The names of entities by their ids."""


async def entity_names(canon: Canon, spaces: Spaces, ids: frozenset[str]) -> EntityNames:
    """Return the names of these entities; a merged one also has those of its survivor."""
    if not ids:
        return {}
    seen = canon.query_scope(spaces)
    entities = await seen.items_by_id(ids)
    merged = (i for i, e in entities.items() if isinstance(e, Entity) and e.merged_into is not None)
    roots = await seen.root_entities(merged)
    return {
        each: [
            name
            for item in (entities.get(each), roots.get(each))
            if isinstance(item, Entity)
            for name in names_of(item)
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
RERANKING_MISSING: Final = "reranker"
"""The entry if the reranker did not answer."""

RERANKED_MAX: Final = 20
"""The number of first passages that are reranked, for every limit; later ones stay."""

MEANT_MAX: Final = 1_000
"""The most characters of a question that are compared by meaning."""
_DENYING: Final = 20
_SEVERAL: Final = 2
_CHARACTERS_MAX: Final = 2_000  # a reranker cuts longer texts; stems cost time: bench search
_NOTHING: Final = TextFound(hits=(), asked=ranking.Asked(terms={}, strongest=0.0))
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
    why: ranking.Why

    @property
    def terms(self) -> tuple[str, ...]:
        """The matching words of the query, the weightiest first."""
        return tuple(term for term, _ in self.why.terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassages:
    """The passages, best first; `items` are their items, by id.

    `degraded` names the searches that failed, `behind` counts commits without vectors.
    """

    hits: Sequence[FoundPassage]
    items: Mapping[str, StoredItem]
    degraded: tuple[str, ...]
    behind: int = 0


async def find_passages(
    canon: Canon,
    query: TextQuery,
    cited: CitedBy | None = None,
    times: Sequence[TimesMeant | None] = (),
) -> FoundPassages:
    """Return the best passages within `query`; a smaller limit gives a prefix.

    Passages that only retracted items cite are left out. `cited` is the result of `retracted_in`,
    and `times` has that of `times_meant`, if other searches with the same text use it too.
    Unspecific similarity finds nothing. A failed search is left out and named in `degraded`. A
    passage without a measured similarity does not count as dissimilar: the index may lack it, or
    others are nearer.
    """
    weights = canon.policy.ranking
    query = replace(query, spaces=await canon.covered_spaces(query.spaces))
    query = await shorten_query(canon, query)
    denied = questions.denied_stems(query.text)
    meant = times[0] if times else await times_meant(canon, query)
    pool = ranking.pool_for(len(ranking.parse_query(query.text).stems), weights) * (
        ranking.WIDER if meant else 1
    )
    wide = replace(query, limit=max(query.limit, pool))
    words, no_words = await _by_words(canon, wide)
    hits = {hit.id: hit for hit in words.hits}
    called = await entity_names(canon, query.spaces, _entities_in(words.hits))
    gist = _question_gist(query, words)
    similar, no_meaning = await _by_meaning(canon, wide, _compared_text(query, gist, called))
    located = await _read_hits(canon, query, similar.keys() - hits.keys())
    others = _entities_in(located.values()) - called.keys()
    called = {**called, **await entity_names(canon, query.spaces, others)}
    services = canon.find_service(RecallServices)
    standing = await _still_cited(canon, query, cited, (*words.hits, *located.values()))
    least = max(questions.FIRST, _DENYING * bool(denied), RERANKED_MAX * bool(services.reranking))
    ranked = ranking.rank_passages(
        words.asked,
        _ranking_candidates(
            standing,
            similar,
            _best_elsewhere(similar, wide.limit, behind=MEANING_BEHIND in no_meaning),
            _named_entities(query, called),
            await near_in_time(canon, query, meant, standing) if meant else {},
        ),
        weights,
        limit=max(query.limit, least),
    )
    items = await canon.query_scope(query.spaces).items_by_id(each.id for each in ranked)
    good = (each for each in ranked if each.score > 0)
    shown = [one for each in good for one in _shown_passages(each, query, items, hits)]
    found = await _second_round(canon, query, words.asked, shown, called)
    found, no_reranking = await _rerank_first(canon, gist, found, called)
    found = _put_denials_first(found, denied) if denied else found
    return FoundPassages(
        hits=found[: query.limit],
        items=items,
        degraded=(*no_meaning, *no_words, *no_reranking),
        behind=0 if services.recall is None else services.recall.commits_behind,
    )


def _put_denials_first(found: Sequence[FoundPassage], denied: frozenset[str]) -> list[FoundPassage]:
    """Return the passages with those first, among the first, that deny what the question denies."""
    head = found[:_DENYING]
    first = [hit for hit in head if questions.has_denial(hit.passage.text, denied)]
    return _reorder_first(found, [*first, *(hit for hit in head if hit not in first)])


async def _still_cited(
    canon: Canon, query: TextQuery, cited: CitedBy | None, found: Sequence[Hit]
) -> list[Hit]:
    """Return the passages that are not cited by retracted items alone."""
    gone: Container[str] = ()
    if query.collection in CITED:
        cited = await retracted_in(canon, query.spaces, query.text) if cited is None else cited
        gone = await retracted_passages(canon, cited, {hit.id for hit in found})
    return [hit for hit in found if hit.id not in gone]


async def retracted_in(canon: Canon, spaces: Spaces, text: str) -> CitedBy:
    """Return the retracted items that cite each piece of evidence, for a question."""
    named = frozenset[EntityId]()
    for space in spaces if spaces is not None and len(spaces) == 1 else ():
        mentions = await find_mentioned(canon, space, text)
        named = frozenset(each for each in mentions.found.values() if each is not None)
    return await evidence_of_retracted(canon, spaces, named)


async def _second_round(
    canon: Canon,
    query: TextQuery,
    asked: ranking.Asked,
    found: Sequence[FoundPassage],
    called: EntityNames,
) -> Sequence[FoundPassage]:
    """Rank the first passages of scenes again by the second round."""
    if query.collection is not Collection.SCENES or len(found) < _SEVERAL:
        return found
    weights = canon.policy.ranking
    if not questions.may_reorder(asked, weights, overlap=found[0].score):
        return found
    first = [
        (hit.why.strength, stems_of(hit.passage.text[:_CHARACTERS_MAX]))
        for hit in found[: questions.FIRST]
    ]
    names = ranking.names_in(name for names in called.values() for name in names)
    stems = frozenset(stem for _, each in first[: questions.SUPPLYING] for stem in each)
    try:
        figures = await canon.text.figures(questions.additional_stems(asked, stems, names), query)
    except Unavailable:
        return found
    again = questions.reordered_first(asked, first, figures, weights, overlap=found[0].score)
    return _reorder_first(found, [found[number] for number in again])


async def _rerank_first(
    canon: Canon, gist: str, found: Sequence[FoundPassage], called: EntityNames
) -> tuple[Sequence[FoundPassage], _Missing]:
    """Return the first passages in the reranker's order, if there is one and it answers."""
    reranking = canon.find_service(RecallServices).reranking
    if reranking is None or len(found) < _SEVERAL:
        return found, ()
    first = found[:RERANKED_MAX]
    texts = [_speaker_text(hit.passage, called)[:_CHARACTERS_MAX] for hit in first]
    try:
        scores = await reranking.score_texts(gist, texts)
    except Unavailable:
        return found, (RERANKING_MISSING,)
    order = sorted(range(len(texts)), key=lambda number: -scores[number])
    return _reorder_first(found, [first[number] for number in order]), ()


def _speaker_text(passage: Passage, called: EntityNames) -> str:
    """Return the text of a passage, with the speaker of a turn."""
    names = [called[each][0] for each in passage.entities[:1] if called.get(each)]
    return f"{names[0]}: {passage.text}" if names and passage.kind == "turn" else passage.text


def _reorder_first(
    found: Sequence[FoundPassage], ordered: Sequence[FoundPassage]
) -> list[FoundPassage]:
    """Reorder the first passages; scores stay at their ranks."""
    ranks = zip(ordered, found, strict=False)
    moved = (replace(hit, score=at.score, strength=at.strength) for hit, at in ranks)
    return [*moved, *found[len(ordered) :]]


def _entities_in(hits: Iterable[Hit]) -> frozenset[str]:
    return frozenset(entity for hit in hits for entity in hit.entities)


def _question_gist(query: TextQuery, words: TextFound) -> str:
    """Return the weightiest sentences of a long question, which are compared as a whole."""
    if len(query.text) <= MEANT_MAX:
        return query.text
    worth = words.asked.terms
    known = {
        term: worth.get(stem, 0.0) for term, stem in questions.significant_stems(query.text).items()
    }
    return questions.weightiest_sentences(query.text, known, MEANT_MAX)


def _compared_text(query: TextQuery, gist: str, called: EntityNames) -> str:
    """Return the text that is compared by meaning; in scenes, without names of speakers."""
    if query.collection is not Collection.SCENES:
        return gist
    return questions.without_names(
        gist, ranking.names_in(name for names in called.values() for name in names)
    )


def _best_elsewhere(similar: _Similar, limit: int, *, behind: bool) -> float | None:
    """Return the highest similarity of a passage that is not among the nearest ones.

    None: unknown, because the index is incomplete or has fewer than the limit.
    """
    return None if behind or len(similar) < limit else min(similar.values())


async def _by_words(canon: Canon, query: TextQuery) -> tuple[TextFound, _Missing]:
    try:
        return await canon.text.search(query), ()
    except Unavailable:
        return _NOTHING, (WORDS_MISSING,)


async def _by_meaning(canon: Canon, query: TextQuery, meant: str) -> tuple[_Similar, _Missing]:
    recall = canon.find_service(RecallServices).recall
    if recall is None:
        return {}, (MEANING_MISSING,)
    try:
        found = await recall.find_nearest(meant, query)
    except Unavailable:
        return {}, (MEANING_MISSING,)
    return dict(found), (MEANING_BEHIND,) if recall.commits_behind else ()


async def _read_hits(canon: Canon, query: TextQuery, ids: Iterable[str]) -> Mapping[str, Hit]:
    """Return the current hits of passages that only their meaning found.

    An index of meanings may lag behind, so the query's filters are applied again.
    """
    wanted = frozenset(ids)
    try:
        return {hit.id: hit for hit in await canon.text.hits_of_items(wanted, query)}
    except Unavailable:
        items = (await canon.query_scope(query.spaces).items_by_id(wanted)).values()
        passages = (passage for item in items for passage in passages_of(item))
        return {each.id: Hit.make_hit(each, {}) for each in passages if query.allows(each)}


def _named_entities(query: TextQuery, called: EntityNames) -> frozenset[str]:
    """Return the entities that the query names by any of their names."""
    asked = frozenset(terms_of(query.text))
    return frozenset(each for each, names in called.items() if ranking.name_match(asked, names) > 0)


def _ranking_candidates(
    hits: Iterable[Hit],
    similar: _Similar,
    elsewhere: float | None,
    named: frozenset[str],
    near: Near,
) -> Sequence[ranking.PassageCandidate]:
    """Return the candidates for ranking; unmeasured ones have the similarity `elsewhere`."""
    return [
        ranking.PassageCandidate(
            identity,
            None if position is None else scene,
            position or 0,
            shares,
            similar.get(identity, elsewhere),
            1.0 if named and not named.isdisjoint(about) else 0.0,
            near.get(identity, 0.0),
        )
        for identity, _, shares, scene, position, about in hits
    ]


def _shown_passages(
    ranked: ranking.Ranked,
    query: TextQuery,
    items: Mapping[str, StoredItem],
    hits: Mapping[str, Hit],
) -> Sequence[FoundPassage]:
    """Return the passages as they are now, without those erased since the search."""
    item, hit = items.get(ranked.id), hits.get(ranked.id)
    by_words = 0.0 if hit is None else hit.score
    return [
        FoundPassage(
            passage=passage,
            score=ranked.shown,
            strength=ranked.score,
            by_words=by_words,
            why=ranked.why,
        )
        for passage in (() if item is None else passages_of(item))
        if query.allows(passage)
    ]
