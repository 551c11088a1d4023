"""Find passages: by their words and by their meaning, ranked together, each with the reason."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from canonry.domain.errors import Unavailable
from canonry.domain.log.entries import Thing
from canonry.domain.recall.keywords import sought_in
from canonry.domain.recall.passages import Passage, passages_of
from canonry.domain.recall.portraits import names_of
from canonry.domain.recall.ranking import (
    Asked,
    PassageCandidate,
    Ranked,
    Why,
    naming,
    pool_for,
    rank_passages,
)
from canonry.domain.texts.words import terms_of
from canonry.domain.things.entities import Entity
from canonry.ports.views.text import Hit, TextFound, TextQuery
from canonry.usecases.kernel.canon import Canon

MEANING_MISSING: Final = "vectors"
"""What a reply names as degraded where passages were not searched by meaning."""
MEANING_BEHIND: Final = "vectors-behind"
"""The same where some of the newest passages were searched by words alone."""
WORDS_MISSING: Final = "text"
"""The same where they were not searched by words."""

_NOTHING: Final = TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
_Similar: TypeAlias = Mapping[str, float]
_Missing: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage with its score in [0, 1], and why it was found.

    `score` says how far it says what was asked, `strength` in [0, 1) what it was ranked by.
    `by_words` is its score by words alone, 0 where none matched.
    """

    passage: Passage
    score: float
    strength: float
    by_words: float
    why: Why

    @property
    def terms(self) -> tuple[str, ...]:
        """The words of the query that it was found by, the weightiest first."""
        return tuple(term for term, _ in self.why.terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassages:
    """The passages, best first; `things` are those that they come from, by id.

    `degraded` names what could not be searched.
    """

    hits: Sequence[FoundPassage]
    things: Mapping[str, Thing]
    degraded: tuple[str, ...]


async def find_passages(canon: Canon, query: TextQuery) -> FoundPassages:
    """The best passages within `query`; a smaller limit gives a prefix of a larger one's.

    Nearness that says nothing finds nothing. What does not answer is left out and named in
    `degraded`. While the index lags behind, a passage that only its words found is not held to be
    without likeness: it may be one that the index does not have yet.
    """
    weights = canon.policy.ranking
    pool = pool_for(len(sought_in(query.text).stems), weights)
    wide = replace(query, limit=max(query.limit, pool))
    (words, no_words), (similar, no_meaning) = await asyncio.gather(
        _by_words(canon, wide), _by_meaning(canon, wide)
    )
    hits = {hit.id: hit for hit in words.hits}
    standing = {**hits, **await _placed(canon, query, similar.keys() - hits.keys())}
    named = await _named(canon, query, standing.values())
    elsewhere = None if MEANING_BEHIND in no_meaning else 0.0
    ranked = rank_passages(
        words.asked,
        _candidates(standing.values(), similar, elsewhere, named),
        weights,
        limit=query.limit,
    )
    things = await canon.covering(query.spaces).things(each.id for each in ranked)
    return FoundPassages(
        hits=[
            found
            for each in ranked
            if each.score > 0
            for found in _shown(each, query, things, hits)
        ],
        things=things,
        degraded=(*no_meaning, *no_words),
    )


async def _by_words(canon: Canon, query: TextQuery) -> tuple[TextFound, _Missing]:
    try:
        return await canon.text.search(query), ()
    except Unavailable:
        return _NOTHING, (WORDS_MISSING,)


async def _by_meaning(canon: Canon, query: TextQuery) -> tuple[_Similar, _Missing]:
    if canon.recall is None:
        return {}, (MEANING_MISSING,)
    try:
        found = await canon.recall.search(query.text, query)
    except Unavailable:
        return {}, (MEANING_MISSING,)
    return dict(found), (MEANING_BEHIND,) if canon.recall.behind else ()


async def _placed(canon: Canon, query: TextQuery, ids: Iterable[str]) -> Mapping[str, Hit]:
    """Where the passages stand that only their meaning found, as they are now.

    An index of meanings may lag behind, so it is never trusted with what a query may find.
    """
    wanted = frozenset(ids)
    try:
        return {hit.id: hit for hit in await canon.text.placed(wanted, query)}
    except Unavailable:
        return _standing(query, (await canon.covering(query.spaces).things(wanted)).values())


def _standing(query: TextQuery, things: Iterable[Thing]) -> Mapping[str, Hit]:
    return {
        passage.id: Hit(
            id=passage.id,
            score=0.0,
            shares={},
            scene_id=passage.scene_id,
            place=passage.place,
            entities=passage.entities,
        )
        for thing in things
        for passage in passages_of(thing)
        if query.allows(passage)
    }


async def _named(canon: Canon, query: TextQuery, hits: Iterable[Hit]) -> frozenset[str]:
    """Those entities that the passages are about whom the query names, by any of their names."""
    about = frozenset(entity for hit in hits for entity in hit.entities)
    if not about:
        return about
    seen = canon.covering(query.spaces)
    entities = await seen.things(about)
    roots = {
        thing.merged_into
        for thing in entities.values()
        if isinstance(thing, Entity) and thing.merged_into is not None
    }
    known = {**entities, **await seen.things(roots - entities.keys())}
    asked = frozenset(terms_of(query.text))
    return frozenset(each for each in about if naming(asked, _names(each, known)) > 0)


def _names(entity_id: str, known: Mapping[str, Thing]) -> Sequence[str]:
    """The names of an entity, and of the one that it was merged into."""
    thing = known.get(entity_id)
    names: list[str] = []
    while isinstance(thing, Entity):
        names += names_of(thing)
        thing = None if thing.merged_into is None else known.get(thing.merged_into)
    return names


def _candidates(
    hits: Iterable[Hit], similar: _Similar, elsewhere: float | None, named: frozenset[str]
) -> Sequence[PassageCandidate]:
    """What ranking weighs; the passages that are not among the `similar` are so `elsewhere`."""
    return [
        PassageCandidate(
            identity,
            None if place is None else scene,
            place or 0,
            shares,
            similar.get(identity, elsewhere),
            1.0 if named and not named.isdisjoint(about) else 0.0,
        )
        for identity, _, shares, scene, place, about in hits
    ]


def _shown(
    ranked: Ranked, query: TextQuery, things: Mapping[str, Thing], hits: Mapping[str, Hit]
) -> Sequence[FoundPassage]:
    """The passage as it is now; none where it was erased since it was found."""
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
