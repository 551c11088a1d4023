"""Ids and spaces."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NewType, TypeAlias

from canonry.values.moments import Instant

SpaceId = NewType("SpaceId", str)
CommitId = NewType("CommitId", str)
EntityId = NewType("EntityId", str)
ObservationId = NewType("ObservationId", str)
RelationId = NewType("RelationId", str)
FactId = NewType("FactId", str)
EventId = NewType("EventId", str)
AxiomId = NewType("AxiomId", str)
SourceId = NewType("SourceId", str)
SnippetId = NewType("SnippetId", str)
StoryId = NewType("StoryId", str)
SceneId = NewType("SceneId", str)
TurnId = NewType("TurnId", str)
ProposalId = NewType("ProposalId", str)
MemoryId = NewType("MemoryId", str)
SchemaId = NewType("SchemaId", str)
RunId = NewType("RunId", str)

NewId: TypeAlias = Callable[[str], str]
"""Returns the id of the item that a commit makes under a label, the same in every attempt."""

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME_PREFIX = 13  # the first 48 bits of a version 7 UUID and its hyphen


def is_uuid(text: str) -> bool:
    """Return whether `text` is a hyphenated UUID of any version, in either case."""
    return _UUID.fullmatch(text) is not None


def derived_id(commit: CommitId, label: str) -> str:
    """Return the id of the item `label` made by `commit`: equal only for equal arguments.

    It keeps the time prefix of the commit's id, so that items of one commit are neighbours in an
    index.
    """
    digest = sha256(f"{commit}/{label}".encode()).hexdigest()
    return f"{commit[:_TIME_PREFIX]}-8{digest[:3]}-{_variant_digits(digest[3:7])}-{digest[7:19]}"


def numbered_id(new_id: NewId, number: int, label: str) -> str:
    """Return a derived id that sorts by `number`, below 4096, among those of its commit."""
    made, start = new_id(f"{number}/{label}"), _TIME_PREFIX + len("-8")
    return f"{made[:start]}{number:03x}{made[start + 3 :]}"


def keyed_commit_id(space: str, actor: str, tool: str, key: str) -> CommitId:
    """Return the commit id for an idempotency key; a retry gets the same one."""
    return CommitId(content_id(space, actor, tool, key))


def content_id(*parts: str) -> str:
    """Return the id of these texts: equal only for equal texts."""
    digest = sha256("\x1f".join(parts).encode()).hexdigest()
    variant = _variant_digits(digest[15:19])
    return f"{digest[:8]}-{digest[8:12]}-8{digest[12:15]}-{variant}-{digest[19:31]}"


def _variant_digits(digits: str) -> str:
    """Return four hexadecimal digits with the two bits that mark an RFC 9562 UUID."""
    return "89ab"[int(digits[0], 16) % 4] + digits[1:]


class SpaceKind(StrEnum):
    """The purpose of a space.

    A universe has stories, a multiverse has universes, a world is played in, a project belongs to a
    catalog, and an account to one user.
    """

    UNIVERSE = "universe"
    MULTIVERSE = "multiverse"
    WORLD = "world"
    PROJECT = "project"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceDraft:
    """An isolated space; `parent` is the multiverse that contains a universe."""

    id: SpaceId
    kind: SpaceKind
    name: str
    description: str
    parent: SpaceId | None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def space(self) -> SpaceId:
        """A space belongs to itself."""
        return self.id

    @property
    def may_have_stories(self) -> bool:
        """Return whether a space of this kind can have stories."""
        return self.kind in {SpaceKind.UNIVERSE, SpaceKind.WORLD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Space(SpaceDraft):
    """A space that was opened."""

    created_at: Instant
    position: int
    changed_at: int
