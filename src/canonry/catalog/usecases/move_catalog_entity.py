"""Move an entity of a catalog through its life: draft, publish_requested, published, archived."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from canonry.canon.judging.making import make_observation
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.catalog.usecases.judge_catalog_rows import backing_of
from canonry.log.items.entities import Entity
from canonry.log.keys import relations_key, thing_key
from canonry.log.schemas.catalog_kinds import (
    ARCHIVED,
    CONTENT_KINDS,
    DRAFT,
    PUBLISH_REQUESTED,
    PUBLISHED,
    RELATIONS,
)
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.readmodels.catalog import edge_of, item_id, item_of, item_row, stamp
from canonry.readmodels.ports.catalog import PLACE_BEFORE_ALL
from canonry.values.errors import Conflict, NotFound
from canonry.values.ids import EntityId, NewId, SpaceId

_RELATIONS_MAX: Final = 500
_FOLDERS: Final = {"guide": "guides", "concept": "concepts", "project": "projects", "news": "news"}


class StatusMove(StrEnum):
    """What can be done to an entity."""

    REQUEST_PUBLISH = "request_publish"
    PUBLISH = "publish"
    REJECT = "reject"
    ARCHIVE = "archive"


_STEPS: Final[Mapping[StatusMove, tuple[frozenset[str], str]]] = {
    StatusMove.REQUEST_PUBLISH: (frozenset((DRAFT,)), PUBLISH_REQUESTED),
    StatusMove.PUBLISH: (frozenset((PUBLISH_REQUESTED,)), PUBLISHED),
    StatusMove.REJECT: (frozenset((PUBLISH_REQUESTED,)), DRAFT),
    StatusMove.ARCHIVE: (frozenset((DRAFT, PUBLISH_REQUESTED, PUBLISHED)), ARCHIVED),
}
"""For each move the statuses from which it leads, and the one to which."""


async def move_catalog_entity(
    canon: Canon,
    caller: Caller,
    project: SpaceId,
    entity_id: str,
    *,
    move: StatusMove,
    reason: str = "",
) -> str:
    """Give the entity the status that follows, with what belongs to it; that status.

    The log keeps `reason`.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `entity.wrong-status`, or `entity.unfinished` with what is missing.
    """
    thing_id = item_id(project, CONTENT_KINDS[0], entity_id)
    before, after = _STEPS[move]

    async def prepare(new_id: NewId) -> Change:
        entity = await _require(canon, caller, thing_id)
        row = item_row(entity)
        if row["status"] not in before:
            message = f"{move} leads from {', '.join(sorted(before))}; it is {row['status']}"
            raise Conflict("entity.wrong-status", message, path="/action")
        await _require_finished(canon, entity, row, move)
        fields = _fields(move, after, entity.entity_type, row, stamp(canon.clock.now()))
        stated = {PROPERTY_PREFIX + name: value for name, value in fields.items()}
        if reason:
            stated[f"{PROPERTY_PREFIX}moveReason"] = reason
        seen = make_observation(new_id, backing_of(project), thing_id, stated)
        reads = frozenset((thing_key(thing_id), relations_key(thing_id)))
        return Change(entries=(seen,), reads=reads)

    await commit_change(canon, caller, project, prepare)
    return after


async def _require(canon: Canon, caller: Caller, thing_id: EntityId) -> Entity:
    found = await canon.seen_by(caller).thing(thing_id)
    if not isinstance(found, Entity) or item_of(found) is None:
        message = "the project has no entity with this id"
        raise NotFound("entity.unknown", message, path="/entityId")
    return found


async def _require_finished(
    canon: Canon, entity: Entity, row: Mapping[str, Any], move: StatusMove
) -> None:
    """Whoever asks for publication must have everything; at publication an address is left."""
    needed = _NEEDED.get(move, ())
    missing = [name for name in needed if _LACKS[name](entity.entity_type, row)]
    if (
        move is StatusMove.REQUEST_PUBLISH
        and entity.entity_type == "guide"
        and not await _explains(canon, entity)
    ):
        missing.append("a relation to a concept")
    if missing:
        message = f"before it can be published it needs: {', '.join(missing)}"
        raise Conflict("entity.unfinished", message, path="/entityId", missing=missing)


async def _explains(canon: Canon, guide: Entity) -> bool:
    after = PLACE_BEFORE_ALL
    while page := await canon.catalog.relations_from(guide.id, after=after, limit=_RELATIONS_MAX):
        for relation in page:
            edge = edge_of(relation)
            if edge is not None and RELATIONS[edge.rel_type].target == "concept":
                return True
        after = (page[-1].to_id, page[-1].rel_type)
    return False


def _lacks_address(kind: str, row: Mapping[str, Any]) -> bool:
    return kind == "project" and not str(row["repoUrl"] or "").startswith(("https://", "http://"))


_LACKS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], bool]]] = {
    "title": lambda _, row: not row["title"].strip(),
    "slug": lambda _, row: not row["slug"].strip(),
    "repoUrl": _lacks_address,
    "contentRef": lambda kind, row: kind in {"guide", "news"} and not row["contentRef"],
}
_NEEDED: Final[Mapping[StatusMove, tuple[str, ...]]] = {
    StatusMove.REQUEST_PUBLISH: tuple(_LACKS),
    StatusMove.PUBLISH: ("slug",),
}


def _fields(
    move: StatusMove, status: str, kind: str, row: Mapping[str, Any], now: str
) -> dict[str, Any]:
    fields: dict[str, Any] = {"status": status, "updatedAt": now}
    if move is StatusMove.PUBLISH:
        fields["publishedAt"] = now
        fields["canonicalUrl"] = row["canonicalUrl"] or f"/{_FOLDERS[kind]}/{row['slug']}"
    if move is StatusMove.ARCHIVE:
        fields["archivedAt"] = now
    return fields
