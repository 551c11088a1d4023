"""Routes: for each question of a port, which servers are asked, and how answers become one.

A question is a method with the names of its arguments, so that one route serves many of them: who
names a space is asked at its home; who asks for a page of several spaces is given one that was put
together from the first pages of all, in the order that the port states.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import signature
from typing import Any, Final, TypeAlias, TypeVar, cast

from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import Spaces
from canonry.stores.postgres.shards.servers import Server, Shards
from canonry.values.ids import SpaceId

P = TypeVar("P")

ItemOrder: TypeAlias = Callable[[Any], Any]
"""What items are ordered by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortQuestion:
    """A method of a port, asked with these arguments; an argument `query` stands for its fields."""

    shards: Shards
    port: str
    method: str
    arguments: Mapping[str, Any]

    def value(self, name: str, default: Any = None) -> Any:
        """An argument by its name."""
        if name in self.arguments:
            return self.arguments[name]
        return getattr(self.arguments.get("query"), name, default)

    def at(self, server: Server, **changed: Any) -> Awaitable[Any]:
        """What one server answers, with other values for some arguments."""
        ask: Callable[..., Awaitable[Any]] = getattr(getattr(server.store, self.port), self.method)
        return ask(**self._changed(changed))

    def _changed(self, changed: Mapping[str, Any]) -> Mapping[str, Any]:
        arguments, query = dict(self.arguments), self.arguments.get("query")
        if is_dataclass(query) and not isinstance(query, type):
            named = {each.name for each in fields(query)}
            inner = {name: value for name, value in changed.items() if name in named}
            arguments["query"] = replace(query, **inner)
        return arguments | {n: value for n, value in changed.items() if n in arguments}

    async def everywhere(self, **changed: Any) -> Sequence[tuple[Server, Any]]:
        """What each server of the spaces asked for answers.

        Where there is one alone, it is asked for what was asked; of several with what is `changed`.
        """

        def ask(server: Server, spaces: Spaces, among: int) -> Awaitable[Any]:
            return self.at(server, spaces=spaces, **(changed if among > 1 else {}))

        return await self.shards.gathered(self.value("spaces"), ask)

    def here(self, server: Server, items: Sequence[Any]) -> Sequence[Any]:
        """Those that are not left over on a server which their space has left."""
        is_elsewhere = self.shards.directory.is_elsewhere
        return [i for i in items if not is_elsewhere(getattr(i, "space", ""), server.id)]


PortRoute: TypeAlias = Callable[[PortQuestion], Awaitable[Any]]


def at_home(name: str = "space") -> PortRoute:
    """Asked at the home of the one space that the question names."""

    async def route(question: PortQuestion) -> Any:
        space: SpaceId = question.value(name)
        return await question.shards.at_home(space, question.at)

    return route


def page(key: ItemOrder) -> PortRoute:
    """A page of all servers' items by `key`; a total is the sum of theirs."""

    async def route(question: PortQuestion) -> Any:
        limit, offset = question.value("limit"), question.value("offset", 0)
        pages = await question.everywhere(limit=limit + offset, offset=0)
        if len(pages) == 1:
            return pages[0][1]
        items = in_order([i for s, p in pages for i in question.here(s, p.items)], key)
        return Page(items=items[offset : offset + limit], total=sum(p.total for _, p in pages))

    return route


def first(key: ItemOrder, most: int | None = None) -> PortRoute:
    """The first of all servers' items by `key`, as many as are asked for or `most`."""

    async def route(question: PortQuestion) -> Any:
        pages = await question.everywhere()
        items = in_order([i for s, page in pages for i in question.here(s, page)], key)
        return items[: question.value("limit", most)]

    return route


async def owned(question: PortQuestion) -> Any:
    """What belongs to one thing lies where that lives: all are asked, and one has it."""
    answers = await question.everywhere()
    for server, found in answers:
        items = found.items if isinstance(found, Page) else found
        if items and question.here(server, items):
            return found
    return max((found for _, found in answers), key=_size)


def _size(found: Any) -> int:
    return found.total if isinstance(found, Page) else len(found)


async def united(question: PortQuestion) -> Any:
    """Everything that any server knows under the ids asked for, or anything like it."""
    answers = await question.everywhere()
    if isinstance(answers[0][1], frozenset):
        return frozenset().union(*(found for _, found in answers))
    told: dict[str, Any] = {}
    for server, found in answers:
        mine = question.here(server, list(found.values()))
        told |= found if len(mine) == len(found) else {i: t for i, t in found.items() if t in mine}
    return told


async def summed(question: PortQuestion) -> Any:
    """Counts by name, in the order of the names."""
    told: dict[str, int] = {}
    for _, found in await question.everywhere():
        for name, n in found.items():
            told[name] = told.get(name, 0) + n
    return dict(sorted(told.items()))


async def least(question: PortQuestion) -> Any:
    """Of each name the first id that any server knows."""
    told: dict[str, str] = {}
    for _, found in await question.everywhere():
        for name, identity in found.items():
            told[name] = min(identity, told.get(name, identity))
    return told


def in_order(items: Sequence[Any], key: ItemOrder) -> Sequence[Any]:
    """Each of them once: while a space moves, two servers may show the same."""
    seen: set[Hashable] = set()
    once: list[Any] = []
    for item in sorted(items, key=key):
        known = item if isinstance(item, str) else item.id
        if known not in seen:
            seen.add(known)
            once.append(item)
    return once


class RoutedView:
    """A port of which every question goes its route."""

    def __init__(
        self,
        shards: Shards,
        port: str,
        contract: Callable[..., Any],
        routes: Mapping[str, PortRoute],
    ) -> None:
        """Let questions of `contract` go to the `port` of the servers."""
        self._asked: Final = {
            name: (route, signature(getattr(contract, name))) for name, route in routes.items()
        }
        self._shards = shards
        self._port = port

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method not in self._asked:
            raise AttributeError(method)
        route, named = self._asked[method]

        async def ask(*args: Any, **kwargs: Any) -> Any:
            bound = named.bind(self, *args, **kwargs)
            bound.apply_defaults()
            _, *rest = bound.arguments.items()
            arguments = {name: kept(value) for name, value in rest}
            question = PortQuestion(
                shards=self._shards, port=self._port, method=method, arguments=arguments
            )
            return await route(question)

        return ask


def kept(value: Any) -> Any:
    """An argument that several may read: what gives its items only once becomes a list."""
    return list(value) if hasattr(value, "__next__") else value


def routed(
    shards: Shards, port: str, contract: Callable[..., P], routes: Mapping[str, PortRoute]
) -> P:
    """The port over all servers."""
    return cast("P", RoutedView(shards, port, contract, routes))
