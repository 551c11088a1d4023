"""Questions: what the server is asked, as it wants to be asked; no text of a query is syntax."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from canonry.language.texts.stems import lengths_near, slips_forgiven
from canonry.readmodels.keywords import MEANT_MAX, START_LENGTH
from canonry.readmodels.ports.text import TextQuery
from canonry.stores.opensearch.passages import kept

CANDIDATES_MAX: Final = 8_000
ALIKE_MAX: Final = 20_000
"""So many words of about the length of a misspelled one are compared with it."""

_TOGETHER: Final = 16
"""So many stems are counted in one pass over the passages that hold any of them."""

Question = dict[str, Any]

_FILTERS: Final = ("space", "collection", "scene", "source", "entities")


def sizes(query: TextQuery) -> Question:
    """How many passages there are, and how long they are together."""
    words = {"words": {"sum": {"field": "words"}}}
    return {**_counting(_among(query)), "track_total_hits": True, "aggs": words}


def counts(query: TextQuery, stems: Sequence[str]) -> Iterable[Question]:
    """In how many passages each stem occurs, some stems a question."""
    for n in range(0, len(stems), _TOGETHER):
        some = [kept(stem) for stem in stems[n : n + _TOGETHER]]
        each = {str(n + m): {"term": {"terms": stem}} for m, stem in enumerate(some)}
        found = _counting([*_among(query), {"terms": {"terms": some}}])
        yield {**found, "aggs": {"n": {"filters": {"filters": each}}}}


def beginning(query: TextQuery, begun: str) -> Question:
    """The words that begin so, the most frequent ones."""
    found = _counting([*_among(query), {"prefix": {"terms": {"value": begun}}}])
    return {**found, "aggs": _words(f"{begun}.*", MEANT_MAX)}


def misspelled(query: TextQuery, stem: str) -> Question:
    """The words that a stem may be a misspelling of, and more: the domain tells which they are.

    The server knows swapped letters only where nothing was put between them, or taken from there;
    a pattern knows the others.
    """
    slips = slips_forgiven(len(stem))
    short, long = lengths_near(len(stem))
    forms = [f"{stem[0]}.{{{short - 1},{long - 1}}}"]
    if len(stem) >= START_LENGTH:
        start = stem[1:4]
        forms += [f".{start}.*", f".{stem[:3]}.*", f"{start}.*", f"{stem[1::-1]}{stem[2:4]}.*"]
    near: list[Question] = [
        {"fuzzy": {"terms": {"value": stem, "fuzziness": slips, "rewrite": "constant_score"}}}
    ]
    if slips > 1:
        near.append({"regexp": {"terms": {"value": "|".join(_swapped_apart(stem))}}})
    found = _counting([*_among(query), {"bool": {"should": near}}])
    return {**found, "aggs": _words("|".join(forms), ALIKE_MAX)}


def holding(query: TextQuery, stems: Iterable[str], phrases: Iterable[Sequence[str]]) -> Question:
    """The passages that hold any of the stems, or all of a phrase."""
    either: list[Question] = [{"terms": {"terms": sorted(map(kept, stems))}}]
    for phrase in phrases:
        every = [{"term": {"terms": kept(stem)}} for stem in phrase]
        either.append({"bool": {"filter": every}})
    found = _found(query, {"bool": {"should": either}}, CANDIDATES_MAX)
    return {**found, "docvalue_fields": ["where", "stems"]}


def placing(query: TextQuery, ids: Sequence[str]) -> Question:
    """Those of the passages of these things that the filters select."""
    found = _found(query, {"ids": {"values": ids}}, len(ids))
    return {**found, "docvalue_fields": ["where"]}


def exactly(identity: str, document: Mapping[str, Any] | None) -> Question:
    """The passage of a thing, if every filter finds it by what `document` says; None: any."""
    chosen: list[Question] = [{"ids": {"values": [identity]}}]
    if document is not None:
        for field in _FILTERS:
            value = document[field]
            values = value if isinstance(value, tuple | list) else (value,)
            chosen += [{"term": {field: each}} for each in values if each is not None]
    return {
        "query": {"bool": {"filter": chosen}},
        "size": 1,
        "stored_fields": "_none_",
        "docvalue_fields": ["where", "stems", "terms", "words"],
    }


def all_passages() -> Question:
    """How many passages there are, of whatever space and collection."""
    return {**_counting([{"exists": {"field": "words"}}]), "track_total_hits": True}


def _found(query: TextQuery, what: Question, limit: int) -> Question:
    chosen = [*_among(query), what]
    if query.entities:
        chosen.append({"terms": {"entities": sorted(query.entities)}})
    if query.source_id is not None:
        chosen.append({"term": {"source": query.source_id}})
    asked: Question = {"filter": chosen}
    if query.without_scene is not None:
        asked["must_not"] = {"term": {"scene": query.without_scene}}
    return {
        "query": {"bool": asked},
        "size": limit,
        "sort": ["_doc"],
        "stored_fields": "_none_",
        "track_total_hits": False,
    }


def _among(query: TextQuery) -> list[Question]:
    """The collection and the spaces asked for."""
    chosen: list[Question] = [{"term": {"collection": str(query.collection)}}]
    if query.spaces is not None:
        chosen.append({"terms": {"space": sorted(query.spaces)}})
    return chosen


def _counting(chosen: Sequence[Question]) -> Question:
    return {"query": {"bool": {"filter": chosen}}, "size": 0, "track_total_hits": False}


def _words(form: str, most: int) -> Question:
    """The words of a form, in as many passages as each occurs, the most frequent first."""
    return {"n": {"terms": {"field": "terms", "include": form, "size": most}}}


def _swapped_apart(stem: str) -> Iterable[str]:
    """The forms of a stem in which two letters are swapped and one more slip is between them."""
    for n in range(len(stem) - 1):
        yield f"{stem[:n]}{stem[n + 1]}.{stem[n]}{stem[n + 2 :]}"
    for n in range(len(stem) - 2):
        yield f"{stem[:n]}{stem[n + 2]}{stem[n]}{stem[n + 3 :]}"
