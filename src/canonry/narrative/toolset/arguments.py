"""Readers of arguments, by their kinds in `shapes.toml` and `tools.toml`.

The gateway has validated types and enumerations before. Ids become lower case.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from canonry.canon.judging.known_items import SpokenTime
from canonry.gateway.replies import whole_item
from canonry.gateway.tables import CallArguments, ReadValue
from canonry.log.items.entities import EntityClass
from canonry.log.items.facts import Constraint
from canonry.log.items.proposals import NARRATED, ProposalStatus, ProposalType, ReviewKind
from canonry.log.items.scenes import Speaker, StoryStatus
from canonry.log.schemas.narrative import relation_type
from canonry.recall.usecases.search import CanonKind
from canonry.values.audience import EVERYBODY, audience_in
from canonry.values.errors import InvalidInput
from canonry.values.fields import Reference
from canonry.values.moments import parse_instant
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind, parse_evidence
from canonry.values.state_tags import normal_tags

LIST_MAX: Final = 500
"""The most items in a list argument."""
QUERY_MAX: Final = 500
"""The most items that one query returns."""
SEARCH_MAX: Final = 100  # each hit carries its passage: bounds a reply
ORDER_MAX: Final = 2**31 - 1
INDEX_MAX: Final = 2**53  # JSON readers round larger numbers
_DURATION_MAX: Final = 10_000 * 366 * 86_400
"""Ten thousand years in seconds, more than the range of dates."""
_WILDCARDS_MAX: Final = 10  # each wildcard adds to the time of a match
_LEGACY_CLASSES: Final = {
    "EntityAxiomatica": EntityClass.ARCHETYPE,
    "EntityConcreta": EntityClass.INSTANCE,
}
TIME_WORDS: Final = "(words of times)"
"""The internal argument with the original words of times; callers cannot set it."""


def checked_text(value: str, maximum: int | None, *, path: str) -> str:
    """Return the text if it is neither empty nor too long; None: no limit.

    Raises:
        InvalidInput: `text.empty` or `text.too-long`.
    """
    if not value.strip():
        raise InvalidInput("text.empty", f"{path} is empty. Give a text.", path=path)
    if maximum is not None and len(value) > maximum:
        message = f"{path} has {len(value)} characters; the limit is {maximum}."
        raise InvalidInput("text.too-long", message, path=path, limit=maximum, length=len(value))
    return value


def checked_list(values: Sequence[Any], path: str) -> Sequence[Any]:
    """Return the list if it is not too long.

    Raises:
        InvalidInput: `list.too-long`.
    """
    if len(values) > LIST_MAX:
        message = f"{path} has {len(values)} items; the limit is {LIST_MAX}."
        raise InvalidInput("list.too-long", message, path=path, limit=LIST_MAX)
    return values


def _text_reader(limit: str) -> ReadValue:
    """Return the reader of a text that is neither empty nor longer than this limit."""
    return lambda value, path, asking: checked_text(value, getattr(asking.limits, limit), path=path)


def _converting_reader(kind: Callable[[Any], Any]) -> ReadValue:
    """Return the reader that converts a value by itself."""
    return lambda value, _path, _asking: kind(value)


def read_ids(
    value: Sequence[str] | None, path: str, _: CallArguments, *, minimum: int = 0
) -> tuple[str, ...]:
    """Return a list of ids without repeats.

    Raises:
        InvalidInput: `list.too-short`, `list.too-long` or `list.repeats`.
    """
    values = [str(each).lower() for each in checked_list(value or (), path)]
    if len(values) < minimum:
        message = f"{path} has {len(values)} items. Give at least {minimum}."
        raise InvalidInput("list.too-short", message, path=path, minimum=minimum)
    if len(set(values)) < len(values):
        message = f"{path} has the same id twice. Give each id once."
        raise InvalidInput("list.repeats", message, path=path)
    return tuple(values)


def _read_causes(value: Any, path: str, _: CallArguments) -> tuple[Reference, ...]:
    return tuple(Reference(str(each).lower()) for each in checked_list(value or (), path))


def _read_texts(values: Sequence[str] | None, path: str, asking: CallArguments) -> tuple[str, ...]:
    """Return a list of texts, each once, in their order; none is empty or too long."""
    limit = asking.limits.tag
    texts = enumerate(checked_list(values or (), path))
    return tuple(dict.fromkeys(checked_text(v, limit, path=f"{path}/{i}") for i, v in texts))


def read_tags(value: Sequence[str] | None, path: str, asking: CallArguments) -> tuple[str, ...]:
    """Return a list of state tags in normal form."""
    return normal_tags(_read_texts(value, path, asking))


def _tag_lists_reader(*names: str, kind: Callable[[Any], Any] = tuple) -> ReadValue:
    def read_lists(
        value: Mapping[str, Any] | None, path: str, asking: CallArguments
    ) -> Mapping[str, Any]:
        given = value or {}
        return {name: kind(read_tags(given.get(name), f"{path}/{name}", asking)) for name in names}

    return read_lists


def _read_range(value: Mapping[str, str] | None, path: str, _: CallArguments) -> Mapping[str, Any]:
    given = value or {}
    return {
        name: parse_instant(given[name], path=f"{path}/{name}") if name in given else None
        for name in ("start", "end")
    }


def _read_filters(
    value: Mapping[str, str] | None, _path: str, _asking: CallArguments
) -> Mapping[str, Any]:
    given = value or {}
    names = ("universe_id", "entity_id", "source_id")
    return {name: str(given[name]).lower() if name in given else None for name in names}


def _read_evidence(
    value: Sequence[str] | None, path: str, _: CallArguments
) -> tuple[Evidence, ...]:
    """Return the references of the form kind:uuid, at least one if they are given, each once.

    Raises:
        InvalidInput: `evidence.missing`, `evidence.malformed` or `list.too-long`.
    """
    if value is None:
        return ()
    given = enumerate(checked_list(value, path))
    found = [parse_evidence(text, path=f"{path}/{index}") for index, text in given]
    if not found:
        message = f"{path} is empty. Cite at least one kind:uuid, like source:<source_id>."
        raise InvalidInput("evidence.missing", message, path=path)
    return tuple(dict.fromkeys(found))


def _read_cited(
    value: Sequence[Mapping[str, str]], path: str, _: CallArguments
) -> tuple[Evidence, ...]:
    cited = (
        Evidence(kind=EvidenceKind(each["type"]), ref=str(each["ref_id"]).lower())
        for each in checked_list(value, path)
    )
    return tuple(dict.fromkeys(cited))


def _read_constraint(value: Mapping[str, Any], path: str, asking: CallArguments) -> Constraint:
    values = _read_texts(value["values"], f"{path}/values", asking)
    if value["kind"] == "forbidden_relation":
        named = enumerate(values)
        values = tuple(relation_type(v, path=f"{path}/values/{i}").name for i, v in named)
    return Constraint(kind=value["kind"], values=values, entity_type=value.get("entity_type"))


def _read_duration(value: int, path: str, _: CallArguments) -> int:
    if not 0 <= value <= _DURATION_MAX:
        message = f"/duration is {value}. It must be between 0 and {_DURATION_MAX} seconds."
        raise InvalidInput("duration.out-of-range", message, path=path)
    return int(value)


def _read_order(value: int, path: str, _: CallArguments) -> int:
    if not 0 <= value <= ORDER_MAX:
        message = f"/order must be between 0 and {ORDER_MAX}. Leave it out to put the scene last."
        raise InvalidInput("scene.order-out-of-range", message, path=path, maximum=ORDER_MAX)
    return int(value)


def _read_turn_index(value: int, path: str, _: CallArguments) -> int:
    if not -1 <= value <= INDEX_MAX:
        message = f"/after_index is {value}. Give a turn's index, or -1 to start with the first."
        raise InvalidInput("turn.index-out-of-range", message, path=path)
    return int(value)


def _read_offset(value: int, path: str, _: CallArguments) -> int:
    if not 0 <= value < 2**62:
        raise InvalidInput("offset.negative", "/offset must be 0 or more.", path=path)
    return int(value)


def _limit_reader(maximum: int) -> ReadValue:
    def read_limit(value: int, path: str, _: CallArguments) -> int:
        if not 1 <= value <= maximum:
            message = f"{path} is {value}. It must be between 1 and {maximum}."
            raise InvalidInput("limit.out-of-range", message, path=path, maximum=maximum)
        return int(value)

    return read_limit


def _read_pattern(value: str, path: str, asking: CallArguments) -> str:
    pattern = checked_text(value, asking.limits.name, path=path)
    if pattern.count("*") + pattern.count("%") > _WILDCARDS_MAX:
        message = f"/name_pattern has more than {_WILDCARDS_MAX} wildcards. Use fewer."
        raise InvalidInput("pattern.too-many-wildcards", message, path=path)
    return pattern


def _read_speaking_entity(value: str | None, path: str, asking: CallArguments) -> str | None:
    speaker = asking.arguments["speaker"]
    if speaker == Speaker.ENTITY and value is None:
        message = "/entity_id is missing. Give the id of the entity that speaks."
        raise InvalidInput("turn.entity-missing", message, path=path)
    if speaker != Speaker.ENTITY and value is not None:
        message = f"The speaker is '{speaker}'. Leave out /entity_id, or set /speaker to entity."
        raise InvalidInput("turn.entity-unexpected", message, path=path)
    return None if value is None else value.lower()


def _read_decided_id(value: str | None, path: str, asking: CallArguments) -> str | None:
    accepted = asking.arguments["decision"] == ProposalStatus.ACCEPTED
    if accepted and value is None and not asking.arguments.get("rationale"):
        message = (
            "Accepting needs /canonical_id, the id of the item that you wrote for the proposal, or "
            "/rationale, the reason to write it as it stands despite any conflicts."
        )
        raise InvalidInput("proposal.canonical-id-missing", message, path=path)
    if not accepted and value is not None:
        message = "A rejected proposal has no item. Leave out /canonical_id."
        raise InvalidInput("proposal.canonical-id-unexpected", message, path=path)
    return None if value is None else value.lower()


def _read_time_text(
    value: Mapping[str, str] | None, _path: str, _asking: CallArguments
) -> str | None:
    """Return the words of the time if it was given in words of a calendar."""
    return (value or {}).get("time_ref")


def _read_spoken(
    value: Mapping[str, str] | None, path: str, asking: CallArguments
) -> SpokenTime | None:
    text, at = _read_time_text(value, path, asking), asking.arguments.get("time_ref")
    if text is None or at is None:
        return None
    return SpokenTime(text=text, at=parse_instant(at, path="/time_ref"))


_ENUMERATIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "entity_class": lambda value: _LEGACY_CLASSES.get(value) or EntityClass(value),
    "level": CanonLevel,
    "proposal_type": ProposalType,
    "relation_name": lambda name: relation_type(name).name,
    "relation_type": relation_type,
    "story_status": StoryStatus,
}
READERS: Final[Mapping[str, ReadValue]] = {
    **{name: _converting_reader(kind) for name, kind in _ENUMERATIONS.items()},
    **{name: _text_reader(name) for name in ("name", "description", "statement", "summary")},
    "audience": _converting_reader(audience_in),
    "cited": _read_cited,
    "duration": _read_duration,
    "hits_limit": _limit_reader(SEARCH_MAX),
    "instant": lambda value, path, _: parse_instant(value, path=path),
    "integer": _converting_reader(int),
    "memory_text": _text_reader("memory"),
    "known_at": _converting_reader(whole_item),
    "limit": _limit_reader(QUERY_MAX),
    "turn_limit": _limit_reader(QUERY_MAX),
    "new_constraint": _read_constraint,
    "offset": _read_offset,
    "order": _read_order,
    "pattern": _read_pattern,
    "reference_text": lambda value, path, _: parse_evidence(value, path=path),
    "share": _converting_reader(float),
    "turn_index": _read_turn_index,
    "turn_text": _text_reader("turn"),
    "uuid": _converting_reader(lambda value: str(value).lower()),
    "words_asked": lambda value, path, _: checked_text(value, None, path=path),
}
DEFAULTING: Final[Mapping[str, ReadValue]] = {
    "asks": _converting_reader(lambda value: frozenset(map(ReviewKind, value or ReviewKind))),
    "audience_or_all": _converting_reader(
        lambda value: EVERYBODY if value is None else audience_in(value)
    ),
    "canon_kinds": _converting_reader(lambda value: frozenset(map(CanonKind, value or CanonKind))),
    "causes": _read_causes,
    "decided_id": _read_decided_id,
    "evidence": _read_evidence,
    "properties": _converting_reader(lambda value: value or {}),
    "names_sent": lambda _value, _path, asking: frozenset(asking.arguments),
    "proposal_types": _converting_reader(
        lambda value: frozenset(NARRATED if value is None else (ProposalType(value),))
    ),
    "range": _read_range,
    "rationale": lambda value, path, asking: (
        "" if value is None else checked_text(value, asking.limits.description, path=path)
    ),
    "references": lambda value, path, call: tuple(
        map(Reference, read_ids(value, path, call, minimum=1))
    ),
    "search_filters": _read_filters,
    "speaking_entity": _read_speaking_entity,
    "spoken": _read_spoken,
    "tag_changes": _tag_lists_reader("add", "remove"),
    "tag_filter": _tag_lists_reader("all_of", "any_of", "none_of", kind=frozenset),
    "tags": read_tags,
    "time_words": _read_time_text,
    "uuids": read_ids,
}
"""Readers that read missing arguments, too, for example as an empty list."""
