"""Current names: what the entities behind ids are called now, also those that were merged away."""

from collections.abc import Iterable, Mapping

from canonry.domain.things.entities import Entity
from canonry.ports.views.state import State


async def current_names(state: State, ids: Iterable[str]) -> Mapping[str, str]:
    """The name of each entity, by its id; of one that was merged away, the survivor's."""
    wanted = frozenset(ids)
    found = dict(await state.things(wanted)) if wanted else {}
    roots = {e.merged_into for e in found.values() if isinstance(e, Entity) and e.merged_into}
    if missing := roots - found.keys():
        found |= await state.things(missing)
    names: dict[str, str] = {}
    for thing in found.values():
        if isinstance(thing, Entity):
            root = found.get(thing.merged_into or thing.id)
            names[thing.id] = root.name if isinstance(root, Entity) else thing.name
    return names
