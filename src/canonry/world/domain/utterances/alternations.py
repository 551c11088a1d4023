"""Alternations: one thing said in another form, with a noun, by how it ends, or to whom it goes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from canonry.language.clauses.tokens import lemma
from canonry.world.domain.utterances import lexicon
from canonry.world.domain.utterances.clauses import SpokenClause, SpokenWord, verb_at
from canonry.world.domain.utterances.lexicon import EntityRef, Nameable
from canonry.world.domain.utterances.naming import (
    NounPhrase,
    named,
    refers_to_person,
    refers_to_thing,
)

_NOUN_WITHIN: Final = 5
_ARTICLES: Final = frozenset({"a", "an", "some", "another", "one"})


def by_noun(clause: SpokenClause, known: Sequence[Nameable]) -> SpokenClause:
    """A clause whose verb says little, by its noun: who takes a swing at somebody swings.

    A noun that names something stays one: who takes a torch lights nothing.
    """
    begin = clause.begin
    if begin is None or lemma(clause.words[begin].text) not in _LIGHT:
        return clause
    words = [word for word in clause.words[begin + 1 :] if not word.text.endswith("ly")]
    article = next((i for i, word in enumerate(words[:3]) if word.text in _ARTICLES), None)
    if article is None:
        return clause
    for at in range(article + 1, min(len(words), article + _NOUN_WITHIN)):
        form, taken, respelled = verb_at(words, at)
        after = words[at + len(taken) :]
        ends = len(taken) > 1 or not after or after[0].text in _AFTER_NOUNS
        if form is None or respelled or form.derived or not ends:
            continue
        found = named(NounPhrase((words[at],)), known)
        if found is not None and found.kind != "latent":
            return clause
        rest = (*words[:article], *(after[1:] if after and after[0].text == "of" else after))
        return replace(clause, form=form, rest=rest)
    return clause


_AFTER_NOUNS: Final = lexicon.PREPOSITIONS | {"of", "and", ","}
_LIGHT: Final = frozenset(map(lemma, lexicon.words("light_verbs")))


def by_result(clause: SpokenClause) -> SpokenClause:
    """A clause that says how something ends up, by that: who pulls a door open opens it."""
    said = [word.text for word in clause.rest]
    if clause.form is None:
        return clause
    if clause.form.verb == "move" and [word.text for word in clause.words[-2:]] == _FOR_IT:
        return replace(clause, form=replace(clause.form, verb="flee"), rest=())
    if clause.form.verb not in _FORCES:
        return clause
    for at in range(len(said)):
        for ending, verb in _RESULTS.items():
            after = said[at + len(ending) :][:1]
            ends = set(after) <= lexicon.INSTRUMENT or (at == 0 and bool(after))
            if tuple(said[at : at + len(ending)]) == ending and ends:
                if ending == _DOWN and (clause.form.verb != "put" or at == 0):
                    continue
                form = replace(clause.form, verb=verb, direction=None, tool_first=False)
                rest = (*clause.rest[:at], *clause.rest[at + len(ending) :])
                return replace(clause, form=form, rest=rest)
    return clause


_FOR_IT: Final = ["for", "it"]
_DOWN: Final = ("down",)
_RESULTS: Final[Mapping[tuple[str, ...], str]] = {
    ("open",): "open",
    ("shut",): "close",
    ("closed",): "close",
    ("on", "fire"): "light",
    ("alight",): "light",
    ("ablaze",): "light",
    _DOWN: "drop",
}
_FORCES: Final = frozenset(
    ["push", "attack", "use", "put", "open", "close", "throw", "drop", "move", "take"]
)


def by_goal(verb: str, direct: EntityRef | None, goal: EntityRef | None, before: str) -> str:
    """What somebody does who moves a thing: to a person it is given, into a thing it is put."""
    if verb not in {"move", "take", "push"} or not refers_to_thing(direct):
        return verb
    if before == "to" and refers_to_person(goal):
        return "give"
    if verb == "move" and refers_to_thing(goal):
        return "put"
    return verb


def without_question(words: Sequence[SpokenWord]) -> Sequence[SpokenWord]:
    """The words before an embedded question: who sees what is going on looks."""
    at = next((i for i, word in enumerate(words) if word.text in _ASKED), len(words))
    return words[:at]


_ASKED: Final = frozenset({"who", "whos", "what", "whats", "where", "wheres", "why", "how", "hows",
                           "whether", "which"})  # fmt: skip
