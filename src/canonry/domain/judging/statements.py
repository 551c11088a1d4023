"""Statements: which other statements contradict one, by its words alone and without guessing."""

import re
from collections.abc import Iterable
from typing import Final

from canonry.domain.things.entities import normalised_name
from canonry.domain.vocabularies.state_tags import excluded_by

_VERBS: Final = (
    "is", "are", "was", "were", "am", "has", "have", "had", "can", "could", "will", "would",
    "may", "must", "does", "do", "did",
)  # fmt: skip
_DENIALS: Final = ("not", "no longer", "never")
_CONTRACTED: Final = re.compile(rf"\b({'|'.join(_VERBS)})n['\u2019]t\b")
_VERB: Final = re.compile(rf"\b({'|'.join(_VERBS)})\b")
_DENIED: Final = re.compile(rf"\b({'|'.join(_VERBS)}) ({'|'.join(_DENIALS)})\b")


def opposites_of(statement: str) -> tuple[str, ...]:
    """The normalised statement with its first verb denied; where it is denied, without the denial.

    A statement without one of the known verbs has none.
    """
    words = normalised_name(statement)
    plain = _CONTRACTED.sub(r"\1 not", words)
    denied = _DENIED.search(plain)
    if denied is not None:
        return (plain[: denied.end(1)] + plain[denied.end() :],)
    verb = _VERB.search(plain)
    if verb is None:
        return ()
    head, tail = plain[: verb.end()], plain[verb.end() :]
    forms = [f"{head} {denial}{tail}" for denial in _DENIALS]
    return (*forms, f"{head}n't{tail}")


def contraries_of(statement: str, groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The normalised statements by which the same subject has a tag that excludes the one stated.

    Only a statement `<subject> is <tag>` with a tag of `groups` has any.
    """
    subject, verb, tag = normalised_name(statement).rpartition(" is ")
    if not verb:
        return ()
    held = [one.casefold() for group in groups for one in group]
    excluded = excluded_by(tag, groups, dict.fromkeys(held))
    return tuple(f"{subject} is {other}" for other in excluded)
