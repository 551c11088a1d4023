"""Promises that `cases.toml` declares: items to write, and queries with their answers."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass
from operator import attrgetter
from typing import Any, Final, get_type_hints

import pytest

from canonry.log import entries as log
from canonry.log import folding
from canonry.log.commits import Append, Appended, Outcome
from canonry.log.entries import CHANGE_KINDS, Entry
from canonry.log.items.entities import Entity
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.ports.documents import Catalog, Documents, Places
from canonry.readmodels.ports.state import IdentifierQuery, State
from canonry.readmodels.ports.text import Text, TextFound
from canonry.readmodels.ports.view import Page
from canonry.readmodels.timeline import TimelineEvent
from canonry.testing import example_items
from canonry.testing.clocks import Scribe, an_append, item_named
from canonry.testing.conformance.kit import Backend, Contract, read_pages, requirement
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_link_id,
    an_entry,
    an_item_id,
    creation_entries,
    uuid_of,
)
from canonry.values.audience import ANYBODY, FULL_VIEWER, Viewer, character_reader, may_view
from canonry.values.data_files import read_toml
from canonry.values.errors import CanonryError
from canonry.values.ids import Space, SpaceId
from canonry.values.json_values import decode_json, encode_json, read_value
from canonry.values.moments import DAY

CASES: Final = read_toml(__package__, "cases.toml")
"""The steps of each declared promise."""
SAM: Final = Viewer(readers=frozenset((character_reader(uuid_of("Sam")),)))
_VIEWERS: Final = {"anybody": ANYBODY, "Sam": SAM, "all-seeing": FULL_VIEWER}


_IDS: Final[Mapping[str, Callable[[str], Any]]] = {
    "$": uuid_of,
    "%": an_item_id,
    "&": a_link_id,
    "@": lambda day: int(day) * DAY,
}
_INSIDE: Final = re.compile(r"\$\{([^{}]+)\}")
_owner_key: Final = attrgetter("id", "entity_type", "members", "borne")
_PORTS: Final = {
    "state": State,
    "documents": Documents,
    "places": Places,
    "text": Text,
    "catalog": Catalog,
    "ledger": Ledger,
}
_SAID_OF_ANSWERS: Final = frozenset(
    ("gives", "total", "any_order", "of", "show", "fails", "pages", "count", "viewer")
)
"""Members of a step that are not part of its question."""


class DeclaredContract(Contract):
    """A contract that also has the tests that `cases.toml` declares for its name."""

    def __init_subclass__(cls) -> None:
        """Add the declared tests."""
        for promise, case in CASES.items():
            contract, _, name = case["test"].partition(".")
            if contract == cls.__name__:
                setattr(cls, name, _declared(promise, name))


def _declared(promise: str, name: str) -> Callable[[Contract, Backend], Awaitable[None]]:
    """Return the test of a promise from its case in `cases.toml`, which describes the steps."""
    case = CASES[promise]

    async def test(_: Contract, backend: Backend) -> None:
        scribes: dict[str, Scribe] = {}
        for step in _repeated(case["steps"]):
            backend.clock.move_by(step.pop("wait", 0))
            where = step.pop("there", case.get("space", "space"))
            space = uuid_of(where)
            scribe = scribes.setdefault(where, Scribe(backend.canon, where, space))
            match step:
                case {"item": name, "has": wanted}:
                    assert _wanted_part(await item_named(backend.canon.state, name), wanted) == {
                        field: _plain_value(value) for field, value in wanted.items()
                    }, step
                case {"append": drafts}:
                    batch = [_append(each, scribe, space) for each in drafts]
                    with _refused(step.get("fails")):
                        outcomes = map(_outcome_words, await scribe.append_batch(batch))
                        for told, wanted in zip(outcomes, step["gives"], strict=True):
                            assert told[: len(wanted)] == wanted, step
                case {"gives": _} | {"fails": _} | {"total": _} | {"count": _}:
                    await _require_answer(backend, {**case.get("given", {}), **step})
                case _:
                    await scribe.write_entries(*_entries_of(step, space))

    test.__name__, test.__doc__ = name, case["promise"]
    return requirement(promise)(test)


def _repeated(steps: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each step, as often as its `times` says, with the number in place of its name."""
    for step in steps:
        ((name, count),) = step.get("times", {"": 1}).items()
        rest = {key: value for key, value in step.items() if key != "times"}
        yield from (_numbered(rest, f"{{{name}}}", str(number)) for number in range(count))


def _numbered(value: Any, name: str, number: str) -> Any:
    match value:
        case str():
            return value.replace(name, number)
        case Mapping():
            return {key: _numbered(each, name, number) for key, each in value.items()}
        case list():
            return [_numbered(each, name, number) for each in value]
        case _:
            return value


def _append(draft: Mapping[str, Any], scribe: Scribe, space: Any) -> Append:
    """Return the append of a draft; `reads` has keys, or the functions and texts that make them."""
    step = dict(draft)
    judged_at, again = step.pop("judged_at", 0), step.pop("again", None)
    reads = [
        each if isinstance(each, str) else getattr(folding, each[0])(*map(_plain_value, each[1:]))
        for each in step.pop("reads", ())
    ]
    entries = tuple(_entries_of(step, space))
    if again is not None:
        return an_append(again, entries, space=space, judged_at=judged_at, reads=reads)
    return scribe.next_append(entries, judged_at=judged_at, reads=reads)


def _outcome_words(outcome: Outcome) -> list[Any]:
    if isinstance(outcome, Appended):
        fate = "replayed" if outcome.replayed else "appended"
        return [fate, outcome.position, outcome.recorded_at]
    return ["stale", outcome.head]


def _refused(code: str | None) -> AbstractContextManager[Any]:
    """Require an error with this code, if there is one."""
    if code is None:
        return nullcontext()
    return pytest.raises(CanonryError, match=f"^{re.escape(code)}:")


async def seen_by(backend: Backend, viewer: Viewer) -> frozenset[SpaceId]:
    """Return Middle-earth and its compartments that a viewer may read."""
    known = await backend.canon.state.compartments()
    return frozenset((MIDDLE_EARTH, *(each for each in known if may_view(each, viewer))))


def _entries_of(step: Mapping[str, Any], space: str) -> Iterator[Entry]:
    """Yield the entries of a step. Its first member names the kind of entry, or its maker."""
    (what, named), *more = step.items()
    if what == "commit":
        for each in _repeated(named):
            yield from _entries_of(each, space)
        return
    names = [named] if isinstance(named, str) else named
    changes = dict(more)
    if hasattr(log, what):
        kind = getattr(log, what)
        yield an_entry(kind, *names, **_read_values(changes, get_type_hints(kind)))
        return
    make = getattr(example_items, what)
    returned: Any = get_type_hints(make)["return"]
    if returned in CHANGE_KINDS:
        yield make(*names)
        return
    kind = returned if is_dataclass(returned) else Entity
    given = _read_values(changes, {**get_type_hints(kind), **get_type_hints(make)})
    is_in_space = kind is not Space and "changes" in inspect.signature(make).parameters
    item = make(*names, **({"space": space} if is_in_space else {}), **given)
    yield from item if isinstance(item, tuple) else creation_entries(item)


async def _require_answer(backend: Backend, asked: Mapping[str, Any]) -> None:
    """Ask the query of a step, and compare its answer with the wanted one."""
    wanted = {name: asked[name] for name in _SAID_OF_ANSWERS & asked.keys()}
    step = {name: value for name, value in asked.items() if name not in {*wanted, "ask"}}
    port, _, method = asked["ask"].partition(".")
    hints, ask = get_type_hints(getattr(_PORTS[port], method)), attrgetter(asked["ask"])
    query = hints.pop("query", None)
    given = _read_values({name: step.pop(name) for name in hints.keys() & step.keys()}, hints)
    if (viewer := wanted.get("viewer")) is not None:
        step["spaces"] = list(await seen_by(backend, _VIEWERS[viewer]))
    if query is not None:
        given["query"] = query(**_read_values(step, get_type_hints(query)))
    read = ask(backend.canon)
    if "fails" in wanted:
        with _refused(wanted["fails"]):
            await read(**given)
        return
    if (limit := wanted.get("pages")) is not None:
        found = await read_pages(read, given["query"], total=wanted["total"], limit=limit)
        assert found == sorted(found, key=attrgetter("created_at", "id")), asked
        return
    answer = await read(**given)
    if query is IdentifierQuery:
        identified = await backend.canon.state.identifier_owners(given["query"])
        owners = {
            key: ([_owner_key(e) for e in page.items], page.total) for key, page in answer.items()
        }
        assert owners == {
            key: ([_owner_key(b) for b in page.items], page.total)
            for key, page in identified.items()
        }
    for page in answer.values() if isinstance(answer, Mapping) else (answer,):
        if isinstance(page, Page):
            assert page.total == wanted.get("total", len(page.items)), asked
    _require_shown(answer, wanted, asked)


def _require_shown(answer: Any, wanted: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Compare the ids of an answer, or what `show` names of the part that `of` names."""
    if wanted.get("of"):
        answer = _at(answer, wanted["of"])
    if "count" in wanted:
        assert len(_items(answer)) == wanted["count"], asked
    if "gives" not in wanted:
        return
    if (show := wanted.get("show")) is None:
        shown, gives = _ids_in(answer), _ids_of(wanted["gives"])
    else:
        items = _items(answer)
        is_many = isinstance(items, Sequence)
        shown = [_shown(each, show) for each in items] if is_many else _shown(answer, show)
        gives = _plain_value(wanted["gives"])
    if wanted.get("any_order"):
        shown, gives = sorted(shown), sorted(gives)
    assert shown == gives, asked


def _items(answer: Any) -> Any:
    match answer:
        case Page():
            return answer.items
        case TextFound():
            return answer.hits
        case _:
            return answer


def _shown(item: Any, show: str | list[str]) -> Any:
    """Return the attribute with this path, or those with these paths, as JSON values."""
    if isinstance(show, list):
        return [_shown(item, each) for each in show]
    value = _at(item, show)
    return decode_json(encode_json(dict(value) if isinstance(value, Mapping) else value))


def _at(item: Any, path: str) -> Any:
    for part in path.split("."):
        item = item[_plain_value(part)] if isinstance(item, Mapping) else getattr(item, part)
    return item


def _ids_in(answer: Any) -> Any:
    """Return the ids of the items, under each key if there are keys; days of timeline events."""
    match _items(answer):
        case Mapping() as pages:
            return {key: _ids_in(each) for key, each in pages.items()}
        case Sequence() as items:
            return [e.instant // DAY if isinstance(e, TimelineEvent) else e.id for e in items]
        case item:
            return getattr(item, "id", item)


def _ids_of(gives: Any) -> Any:
    """Return the ids for names; numbers stay."""
    match gives:
        case Mapping():
            return {_plain_value(key): _ids_of(each) for key, each in gives.items()}
        case "$":
            return None
        case list():
            return [_ids_of(each) for each in gives]
        case str():
            return uuid_of(gives)
        case _:
            return gives


def _read_values(values: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of a table to the types of these fields or parameters."""
    return {
        name: read_value(_plain_value(value), hints.get(name, Any))
        for name, value in values.items()
    }


def _plain_value(value: Any) -> Any:
    """Return a value with ids for `$name`, None for `$`, and instants for days such as `@3`.

    `%name` is the id of an item of a catalog, and `&name` that of a link. `${name}` within a text
    is an id, too.
    """
    match value:
        case str() if "${" in value:
            return _INSIDE.sub(lambda found: uuid_of(found[1]), value)
        case "$":
            return None
        case str() if len(value) > 1 and value[0] in _IDS:
            return _IDS[value[0]](value[1:])
        case Mapping():
            return {_plain_value(name): _plain_value(each) for name, each in value.items()}
        case list():
            return [_plain_value(each) for each in value]
        case _:
            return value


def _wanted_part(item: Any, wanted: Mapping[str, Any]) -> Any:
    """Return the attributes of an item that are wanted, as JSON values."""
    found = {}
    for name, value in wanted.items():
        attribute = getattr(item, name)
        is_nested = isinstance(value, Mapping) and is_dataclass(attribute)
        found[name] = (
            _wanted_part(attribute, value) if is_nested else decode_json(encode_json(attribute))
        )
    return found
