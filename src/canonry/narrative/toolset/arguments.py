"""Arguments: reading tool arguments into domain values; the step that checks meaning.

The schema has been applied before, so types and enums hold here; ids come out in lower case.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypedDict, TypeVar

from canonry.canon.judging.making import Backing, SpokenTime
from canonry.gateway.shapes import BOOLEAN, INTEGER, Field, obj
from canonry.gateway.tool import Arguments, Schema
from canonry.log.items.entities import EntityClass
from canonry.log.items.proposals import NARRATED, ProposalType
from canonry.values.audience import EVERYBODY, Audience, audience_in
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant, parse_instant
from canonry.values.provenance import Authority, Evidence, parse_evidence
from canonry.values.state_tags import normal_tags

T = TypeVar("T")
LIST_MAX: Final = 500
"""The most items that one list of an argument may hold."""
QUERY_MAX: Final = 500
"""The most items that one query answers."""
PAGE_DEFAULT: Final = 20
"""So many rows are answered where nobody says how many."""
PAGING: Final[Mapping[str, Field]] = {
    "limit": INTEGER.but(default=PAGE_DEFAULT, maximum=QUERY_MAX),
    "offset": INTEGER.but(default=0),
}
"""The arguments of every query that is not the contract's."""
DETAIL: Final[Mapping[str, Field]] = {"detail": BOOLEAN.but(default=False)}
"""The argument of lists that answer short rows."""


def filters(**fields: Field) -> Schema:
    """The arguments of a query, all of which may be left out: its filters, and the page."""
    return obj({}, {**fields, **PAGING, **DETAIL})


_LEGACY_CLASSES = {
    "EntityAxiomatica": EntityClass.ARCHETYPE,
    "EntityConcreta": EntityClass.INSTANCE,
}


def uuid_of(arguments: Arguments, name: str) -> str:
    """A required id."""
    return str(arguments[name]).lower()


def optional_uuid(arguments: Arguments, name: str) -> str | None:
    """An id that may be missing."""
    return optional_id(arguments, name, str)


def optional_id(arguments: Arguments, name: str, kind: Callable[[str], T]) -> T | None:
    """An id of the domain that may be missing."""
    value = arguments.get(name)
    return None if value is None else kind(str(value).lower())


def optional_of(arguments: Arguments, name: str, kind: Callable[[str], T]) -> T | None:
    """A text that may be missing, as the value of the domain that `kind` makes of it."""
    value = arguments.get(name)
    return None if value is None else kind(value)


def proposal_types(arguments: Arguments) -> frozenset[ProposalType]:
    """The type of proposals that is asked for, or all that the canon's gates judge."""
    value = arguments.get("type")
    return frozenset(NARRATED if value is None else (ProposalType(value),))


def uuids_of(arguments: Arguments, name: str, *, minimum: int = 0) -> tuple[str, ...]:
    """A list of ids without repetitions.

    Raises:
        InvalidInput: `list.too-short`, `list.too-long` or `list.repeats`.
    """
    values = [str(value).lower() for value in checked_list(arguments.get(name) or (), name)]
    if len(values) < minimum:
        message = f"name at least {minimum} in /{name}"
        raise InvalidInput("list.too-short", message, path=f"/{name}", minimum=minimum)
    if len(set(values)) < len(values):
        message = f"/{name} names the same id twice; name each once"
        raise InvalidInput("list.repeats", message, path=f"/{name}")
    return tuple(values)


def checked_list(values: Sequence[Any], name: str) -> Sequence[Any]:
    """The list itself, if it is not too long.

    Raises:
        InvalidInput: `list.too-long`.
    """
    if len(values) > LIST_MAX:
        message = f"/{name} has {len(values)} items; the limit is {LIST_MAX}"
        raise InvalidInput("list.too-long", message, path=f"/{name}", limit=LIST_MAX)
    return values


def texts_of(arguments: Arguments, name: str, maximum: int, *, within: str = "") -> tuple[str, ...]:
    """A list of texts, each once, in their order; none of them empty or too long.

    `within` is the path of the object that holds the list.
    """
    path = f"{within}/{name}"
    values = checked_list(arguments.get(name) or (), path[1:])
    return tuple(
        dict.fromkeys(checked_text(v, maximum, path=f"{path}/{i}") for i, v in enumerate(values))
    )


def tags_of(arguments: Arguments, name: str, maximum: int, *, within: str = "") -> tuple[str, ...]:
    """A list of state tags in their normal form."""
    return normal_tags(texts_of(arguments, name, maximum, within=within))


def instant_of(arguments: Arguments, name: str) -> Instant | None:
    """An instant that may be missing."""
    value = arguments.get(name)
    return None if value is None else parse_instant(value, path=f"/{name}")


TIME_WORDS: Final = "(words of times)"
"""Where arguments hold the words by which their times were told; no caller names it so."""


def time_words_of(arguments: Arguments, name: str) -> str | None:
    """The words by which a time was told, where it was told in words of a calendar."""
    words: Mapping[str, str] = arguments.get(TIME_WORDS) or {}
    return words.get(name)


def text_of(arguments: Arguments, name: str, maximum: int | None) -> str:
    """A text that says something, at most `maximum` characters long; None: however long.

    Raises:
        InvalidInput: `text.empty` or `text.too-long`.
    """
    return checked_text(arguments[name], maximum, path=f"/{name}")


def optional_text(arguments: Arguments, name: str, maximum: int | None) -> str | None:
    """A text that may be missing; where it stands, it says something."""
    value = arguments.get(name)
    return None if value is None else checked_text(value, maximum, path=f"/{name}")


def checked_text(value: str, maximum: int | None, *, path: str) -> str:
    """The text itself, if it says something and is not too long."""
    if not value.strip():
        raise InvalidInput("text.empty", f"{path} is empty; say something", path=path)
    if maximum is not None and len(value) > maximum:
        message = f"{path} has {len(value)} characters; the limit is {maximum}"
        raise InvalidInput("text.too-long", message, path=path, limit=maximum, length=len(value))
    return value


def evidence_of(arguments: Arguments) -> tuple[Evidence, ...]:
    """At least one reference of the form kind:uuid, each once.

    Raises:
        InvalidInput: `evidence.missing`, `evidence.malformed` or `list.too-long`.
    """
    name = "evidence_refs"
    found = [
        parse_evidence(text, path=f"/{name}/{index}")
        for index, text in enumerate(checked_list(arguments[name], name))
    ]
    if not found:
        message = f"canon needs evidence; cite at least one kind:uuid in /{name}"
        raise InvalidInput("evidence.missing", message, path=f"/{name}")
    return tuple(dict.fromkeys(found))


def backing_of(arguments: Arguments) -> Backing:
    """Whose word a new thing of the universe is, how sure, and on what evidence."""
    return Backing(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        authority=Authority(arguments["authority"]),
        confidence=float(arguments["confidence"]),
        evidence=evidence_of(arguments),
        spoken=_spoken_of(arguments),
        audience=optional_of(arguments, "audience", audience_in),
    )


def audience_of(arguments: Arguments) -> Audience:
    """Who alone may know; everybody unless the call says otherwise."""
    return optional_of(arguments, "audience", audience_in) or EVERYBODY


def _spoken_of(arguments: Arguments) -> SpokenTime | None:
    words, at = time_words_of(arguments, "time_ref"), instant_of(arguments, "time_ref")
    return None if words is None or at is None else SpokenTime(words=words, at=at)


def entity_class_of(value: str) -> EntityClass:
    """The entity class in either vocabulary."""
    return _LEGACY_CLASSES.get(value) or EntityClass(value)


def limit_of(arguments: Arguments, name: str = "limit", *, default: int, maximum: int) -> int:
    """How many items are wanted.

    Raises:
        InvalidInput: `limit.out-of-range`.
    """
    limit = int(arguments.get(name, default))
    if not 1 <= limit <= maximum:
        message = f"/{name} must lie between 1 and {maximum}"
        raise InvalidInput("limit.out-of-range", message, path=f"/{name}", maximum=maximum)
    return limit


class Paged(TypedDict):
    """Which page of a query is wanted."""

    limit: int
    offset: int


def page_of(arguments: Arguments) -> Paged:
    """Which page of a query is wanted, in the words of every query.

    Raises:
        InvalidInput: `limit.out-of-range` or `offset.negative`.
    """
    limit = limit_of(arguments, default=PAGE_DEFAULT, maximum=QUERY_MAX)
    offset = int(arguments.get("offset", 0))
    if not 0 <= offset < 2**62:
        raise InvalidInput("offset.negative", "/offset must be 0 or more", path="/offset")
    return {"limit": limit, "offset": offset}
