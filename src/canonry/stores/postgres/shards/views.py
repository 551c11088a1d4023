"""Which route each question of the views goes; the orders are those that the ports state."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from canonry.log.schemas.identifiers import Bearer
from canonry.readmodels.catalog import place_of
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.stores.postgres.shards.routes import (
    PortQuestion,
    PortRoute,
    at_home,
    first,
    least,
    owned,
    page,
    summed,
    united,
)
from canonry.stores.postgres.state.identifiers import pages_of


def _born(thing: Any) -> tuple[Any, ...]:
    return thing.created_at, thing.id


def _newest(thing: Any) -> tuple[Any, ...]:
    return -thing.created_at, thing.id


def _told(scene: Any) -> tuple[Any, ...]:
    return scene.order, scene.created_at, scene.id


def _happened(event: Any) -> tuple[Any, ...]:
    return *event.rank, event.id


def _seen(observation: Any) -> tuple[Any, ...]:
    return -observation.seen_at, -observation.position, observation.id


def _dated(event: Any) -> tuple[Any, ...]:
    return -event.instant, event.id, event.space


def _itself(identity: str) -> str:
    return identity


def _named(project: Any) -> tuple[Any, ...]:
    return place_of(project.name), project.id


async def _relations(question: PortQuestion) -> Any:
    newest_first = question.value("newest_first")
    return await page(_newest if newest_first else _born)(question)


async def _identified(question: PortQuestion) -> Any:
    part = Bearer if question.method == "bearers" else None
    query = question.arguments["query"]
    found = await question.shards.gathered(
        query.spaces,
        lambda server, spaces, _: server.store.state.identified(
            replace(query, spaces=spaces), part
        ),
    )
    return pages_of([bearers for _, bearers in found], query)


async def _into_place(question: PortQuestion) -> None:
    folded: Sequence[Any] = question.value("folded")
    if folded:
        await question.shards.writing(folded[0].space, question.at)


OF_EVERY_VIEW: Final[Mapping[str, PortRoute]] = {"cursor": at_home(), "apply": _into_place}

STATE: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "things": united,
    "ids_beginning": first(_itself),
    "things_as_known_at": united,
    "spaces": page(_born),
    "compartments": united,
    "entities": page(_born),
    "entities_named": at_home(),
    "observations": owned,
    "entities_identified": _identified,
    "bearers": _identified,
    "entity_types": summed,
    "entities_seen_until": united,
    "observations_newest": page(_seen),
    "observations_from": owned,
    "timeline": page(_dated),
    "facts": page(_born),
    "facts_stating": at_home(),
    "facts_framed": at_home(),
    "events": page(_happened),
    "causes_of": first(_born, PAGE_MAX),
    "relations": _relations,
    "axioms": at_home(),
    "sources": at_home(),
    "stories": at_home(),
    "schemas": page(_born),
    "runs": owned,
    "runs_newest": page(_newest),
}
DOCUMENTS: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "scenes": page(_told),
    "turns": owned,
    "proposals": page(_born),
    "memories": owned,
    "snippets": owned,
    "open_scenes": first(_born),
}
CATALOG: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "projects": first(_named),
    "search": at_home("project"),
    "entry": at_home("project"),
    "graph": at_home("project"),
    "bearers": at_home("project"),
    "projects_called": least,
    "joined": united,
    "items": at_home("project"),
    "relations_from": owned,
}
PLACES: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "edges": at_home(),
    "ways": at_home(),
    "events_until": at_home(),
    "entities_after": at_home(),
    "events_after": at_home(),
}
