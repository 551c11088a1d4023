"""Find relations: by the words of their type and of all names that their ends go by."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from canonry.canon.session.canon import Canon
from canonry.language.texts.stems import stems_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.readmodels.keywords import measure_of, sought_in
from canonry.readmodels.passages import STANDING, Collection, Passage, names_of
from canonry.readmodels.ports.state import RelationQuery, Spaces
from canonry.readmodels.ranking import PassageCandidate, Ranked, rank_passages
from canonry.recall.usecases.find_passages import FoundPassage
from canonry.values.ids import EntityId

LOOKED_AT: Final = 100
"""So many relations of the entities found are looked at, the newest."""


class RankedRelation(NamedTuple):
    """A relation with its place in the order, and what it says."""

    relation: Relation
    ranked: Ranked
    text: str
    by_words: float


async def find_relations(
    canon: Canon, spaces: Spaces, text: str, ends: frozenset[EntityId]
) -> tuple[Sequence[FoundPassage], Mapping[str, Relation]]:
    """Those of the entities found that hold and share words with `text`, as passages, best first.

    Nothing of them is kept in an index: their text is that of their ends, which go by new names.
    """
    if not ends:
        return (), {}
    query = RelationQuery(
        spaces=spaces, entities=ends, current=True, newest_first=True, limit=LOOKED_AT
    )
    page = await canon.state.relations(query)
    standing = [each for each in page.items if each.level in STANDING]
    found = await rank_relations(canon, spaces, text, standing)
    return [_passage(each) for each in found], {each.relation.id: each.relation for each in found}


async def rank_relations(
    canon: Canon, spaces: Spaces, text: str, relations: Iterable[Relation]
) -> Sequence[RankedRelation]:
    """Those that share words with `text`, best first, ranked as passages are."""
    known: dict[str, Relation] = {each.id: each for each in relations}
    ends = {i for each in known.values() for i in (each.from_id, each.to_id)}
    names = await canon.covering(spaces).roots(ends) if ends else {}
    stems = {i: stems_of(_names(each, names)) for i, each in known.items()}
    measure = measure_of(sought_in(text), list(stems.values()))
    shares = {i: found for i, each in stems.items() if (found := measure.shares(each))}
    best = max(shares.values(), key=lambda each: sum(each.values()), default={})
    candidates = [PassageCandidate(i, None, 0, each, None) for i, each in shares.items()]
    return [
        RankedRelation(
            relation=known[each.id],
            ranked=each,
            text=relation_text(known[each.id], names),
            by_words=_share(sum(shares[each.id].values())),
        )
        for each in rank_passages(measure.asked(best), candidates, canon.policy.ranking)
    ]


def _share(raw: float) -> float:
    return raw / (raw + 1)


def relation_text(relation: Relation, names: Mapping[str, Entity]) -> str:
    """What a relation says, with the names of its ends."""
    ends = [names[i].name if i in names else i for i in (relation.from_id, relation.to_id)]
    return f"{ends[0]} {_verb(relation)} {ends[1]}"


def _names(relation: Relation, names: Mapping[str, Entity]) -> str:
    """The same, with all names that its ends go by."""
    ends = (names[i] for i in (relation.from_id, relation.to_id) if i in names)
    called = " ".join(name for end in ends for name in names_of(end))
    return f"{_verb(relation)} {called}"


def _verb(relation: Relation) -> str:
    return relation.rel_type.replace("_", " ").lower()


def _passage(found: RankedRelation) -> FoundPassage:
    relation, ranked = found.relation, found.ranked
    passage = Passage(
        id=relation.id,
        collection=Collection.FACTS,
        kind="relation",
        space=relation.space,
        text=found.text,
        entities=(relation.from_id, relation.to_id),
        at=relation.created_at,
    )
    return FoundPassage(
        passage=passage,
        score=ranked.shown,
        strength=ranked.score,
        by_words=found.by_words,
        why=ranked.why,
    )
