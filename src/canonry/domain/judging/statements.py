"""Statements of tags: which others contradict the statement that somebody bears a tag."""

from collections.abc import Iterable

from canonry.domain.things.entities import normalised_name
from canonry.domain.vocabularies.state_tags import excluded_by


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
