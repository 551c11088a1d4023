"""Staging: who may appear in a scene, and whether a scene still takes anything."""

from collections.abc import Iterable

from canonry.canon.session.lookup import require_same_space
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.log.schemas.narrative_types import EntityType
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId
from canonry.values.provenance import CanonLevel


def require_unfinished(scene: Scene) -> None:
    """Refuse to change a scene that is closed for good.

    Raises:
        Conflict: `scene.completed`.
    """
    if scene.status is SceneStatus.COMPLETED:
        message = "this scene is completed and never changes again; go on in another scene"
        raise Conflict("scene.completed", message, scene_id=scene.id, conflicts=[scene.id])


def require_active(scene: Scene) -> None:
    """Refuse to add to a scene that is closed or being closed.

    Raises:
        Conflict: `scene.completed` or `scene.finalizing`.
    """
    require_unfinished(scene)
    if scene.status is SceneStatus.FINALIZING:
        message = "this scene is being canonized and takes nothing more; go on in another scene"
        raise Conflict("scene.finalizing", message, scene_id=scene.id, conflicts=[scene.id])


def require_instances(space: SpaceId, entities: Iterable[Entity], *, path: str) -> None:
    """Refuse entities that cannot act or remember in `space`.

    Raises:
        Conflict: `space.foreign`, `entity.not-an-instance` or `entity.retconned`.
    """
    staged = tuple(entities)
    require_same_space(space, staged, path=path)
    kinds = [e.id for e in staged if e.entity_class is not EntityClass.INSTANCE]
    if kinds:
        message = f"{path} names archetypes, which are timeless; name instances"
        raise Conflict("entity.not-an-instance", message, path=path, conflicts=kinds)
    fallen = [e.id for e in staged if e.level is CanonLevel.RETCONNED]
    if fallen:
        message = f"{path} names entities that were retconned and so never were; name others"
        raise Conflict("entity.retconned", message, path=path, conflicts=fallen)


def require_location(space: SpaceId, place: Entity) -> None:
    """Refuse to set a scene in what is no place of `space`.

    Raises:
        Conflict: `scene.not-a-location`, or as `require_instances`.
    """
    path = "/location_ref"
    require_instances(space, (place,), path=path)
    if place.entity_type != EntityType.LOCATION:
        message = f"{path} names a {place.entity_type}; name an entity of type location"
        raise Conflict("scene.not-a-location", message, path=path, conflicts=[place.id])
