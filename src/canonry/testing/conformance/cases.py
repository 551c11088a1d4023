"""Promises that `cases.toml` declares: items to write, and queries with the ids that they give."""

import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import is_dataclass
from importlib.resources import files
from operator import attrgetter
from typing import Any, Final, get_type_hints

from canonry.log import entries as log
from canonry.log.entries import CHANGE_KINDS, Entry
from canonry.log.items.entities import Entity
from canonry.readmodels.ports.documents import Documents, Places
from canonry.readmodels.ports.state import IdentifierQuery, State
from canonry.readmodels.ports.text import Text, TextFound
from canonry.readmodels.ports.view import Page
from canonry.readmodels.timeline import TimelineEvent
from canonry.testing import things
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.things import ELSEWHERE, MIDDLE_EARTH, an_entry, ident, made
from canonry.testing.worlds import Scribe, thing_named
from canonry.values.ids import Space
from canonry.values.json_values import decode_json, encode_json, read_value
from canonry.values.moments import DAY

CASES: Final = tomllib.loads(files(__package__).joinpath("cases.toml").read_text("utf-8"))
"""The steps of each declared promise."""
_owner: Final = attrgetter("id", "entity_type", "members", "borne")
_PORTS: Final = {"state": State, "documents": Documents, "places": Places, "text": Text}


def declared(promise: str) -> Callable[[Contract, Backend], Awaitable[None]]:
    """Return the test of a promise from its case in `cases.toml`, which describes the steps."""
    case = CASES[promise]

    async def test(_: Contract, backend: Backend) -> None:
        here = Scribe(backend.canon), MIDDLE_EARTH
        there = Scribe(backend.canon, "there", ELSEWHERE), ELSEWHERE
        for step in case["steps"]:
            match step:
                case {"wait": microseconds}:
                    backend.clock.move(microseconds)
                case {"item": name, "has": wanted}:
                    assert _part(await thing_named(backend.canon.state, name), wanted) == {
                        field: _plain(value) for field, value in wanted.items()
                    }, step
                case {"gives": _}:
                    await _require(backend, {**case.get("given", {}), **step})
                case _:
                    scribe, space = there if "there" in step else here
                    await scribe.write(*_entries(step, space))

    test.__doc__ = case["promise"]
    return requirement(promise)(test)


def _entries(step: Mapping[str, Any], space: str) -> Iterator[Entry]:
    """Yield the entries of a step. Its first member names the kind of entry, or its maker."""
    (what, named), *more = ((name, value) for name, value in step.items() if name != "there")
    if what == "commit":
        for each in named:
            yield from _entries(each, space)
        return
    names = [named] if isinstance(named, str) else named
    changes = dict(more)
    if hasattr(log, what):
        kind = getattr(log, what)
        yield an_entry(kind, *names, **_read(changes, get_type_hints(kind)))
        return
    make = getattr(things, what)
    returned: Any = get_type_hints(make)["return"]
    if returned in CHANGE_KINDS:
        yield make(*names)
        return
    kind = returned if is_dataclass(returned) else Entity
    given = _read(changes, {**get_type_hints(kind), **get_type_hints(make)})
    placed = {} if kind is Space else {"space": space}
    item = make(*names, **placed, **given)
    yield from item if isinstance(item, tuple) else made(item)


async def _require(backend: Backend, asked: dict[str, Any]) -> None:
    """Ask the query of a step, and compare the ids and the number of the returned items."""
    step = dict(asked)
    (port, _, method), gives = step.pop("ask").partition("."), step.pop("gives")
    total, any_order = step.pop("total", None), step.pop("any_order", False)
    hints = get_type_hints(getattr(_PORTS[port], method))
    if "query" in hints:
        given = {"query": hints["query"](**_read(step, get_type_hints(hints["query"])))}
    else:
        given = _read(step, hints)
    answer = await getattr(getattr(backend.canon, port), method)(**given)
    if isinstance(query := given.get("query"), IdentifierQuery):
        await _require_alike(backend.canon.state, query, answer)
    shown, wanted = _ids_in(answer), _ids_of(gives)
    if any_order:
        shown, wanted = sorted(shown), sorted(wanted)
    assert shown == wanted, asked
    for page in answer.values() if isinstance(answer, Mapping) else (answer,):
        if isinstance(page, Page):
            assert page.total == (len(page.items) if total is None else total), asked


async def _require_alike(
    state: State, query: IdentifierQuery, found: Mapping[str, Page[Entity]]
) -> None:
    """Require that `bearers` returns the same owners of the keys."""
    bearers = await state.bearers(query)
    owners = {key: ([_owner(e) for e in page.items], page.total) for key, page in found.items()}
    assert owners == {
        key: ([_owner(b) for b in page.items], page.total) for key, page in bearers.items()
    }


def _ids_in(answer: Any) -> Any:
    """Return the ids of the items, under each key if there are keys; days of timeline events."""
    match answer:
        case Page():
            return _ids_in(answer.items)
        case TextFound():
            return _ids_in(answer.hits)
        case Mapping():
            return {key: _ids_in(each) for key, each in answer.items()}
        case int():
            return answer
        case _:
            return [e.instant // DAY if isinstance(e, TimelineEvent) else e.id for e in answer]


def _ids_of(gives: Any) -> Any:
    """Return the ids for names; numbers stay."""
    match gives:
        case Mapping():
            return {key: _ids_of(each) for key, each in gives.items()}
        case list():
            return [_ids_of(each) for each in gives]
        case str():
            return ident(gives)
        case _:
            return gives


def _read(told: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of a table to the types of these fields or parameters."""
    return {name: read_value(_plain(value), hints[name]) for name, value in told.items()}


def _plain(value: Any) -> Any:
    """Return a value with ids for `$name`, None for `$`, and instants for days such as `@3`."""
    match value:
        case "$":
            return None
        case str() if value.startswith("$"):
            return ident(value[1:])
        case str() if value.startswith("@"):
            return int(value[1:]) * DAY
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def _part(thing: Any, wanted: Mapping[str, Any]) -> Any:
    """Return the attributes of an item that are wanted, as JSON values."""
    found = {}
    for name, value in wanted.items():
        said = getattr(thing, name)
        is_nested = isinstance(value, Mapping) and is_dataclass(said)
        found[name] = _part(said, value) if is_nested else decode_json(encode_json(said))
    return found
