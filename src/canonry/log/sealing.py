"""Stored commits: encode entries, and seal commits with parts that can be erased."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256
from typing import Any, Final

import msgspec

from canonry.log import entries as log
from canonry.log.commits import Commit, Draft, Position
from canonry.log.fold_commit import ids_of
from canonry.log.items.facts import Fact, FactDraft, Relation, RelationDraft
from canonry.log.items.proposals import Decision
from canonry.log.items.scenes import Scene, SceneDraft, Turn, TurnDraft
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import field_values
from canonry.values.ids import CommitId, SpaceId
from canonry.values.json_values import decode_json, encode_json
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import Actor

ENCODING_VERSION: Final = 4
"""The encoding version that this Canonry writes."""

MIN_READER: Final = 4
"""The oldest encoding version whose Canonry may still write into a store of this version."""

Upcaster = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Maps (kind, payload of version n) to the payload of version n + 1."""


def _keep_payload(_kind: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep the payload; fields of a later version get their defaults."""
    return payload


# Version 2 adds the position in the stories; older items have none. Version 3 adds the audience;
# older items are visible to everybody. Version 4 adds the statements in the words of a fact; older
# facts have none until `fact.read` records them.
UPCASTERS: Final[Mapping[int, Upcaster]] = {1: _keep_payload, 2: _keep_payload, 3: _keep_payload}
"""The step from each version to the next; a golden file in the tests has every version."""


def upcast_payload(
    kind: str,
    version: int,
    payload: Mapping[str, Any],
    *,
    steps: Mapping[int, Upcaster] = UPCASTERS,
    target: int = ENCODING_VERSION,
) -> Mapping[str, Any]:
    """Lift `payload` from `version` to `target`, one step at a time.

    Raises:
        BrokenInvariant: `encoding.newer`, a later Canonry wrote it.
    """
    if version > target:
        message = f"A later Canonry wrote a {kind} in encoding version {version}. Update this one."
        raise BrokenInvariant("encoding.newer", message, kind=kind, version=version)
    for step in range(version, target):
        payload = steps[step](kind, payload)
    return payload


# The stored form of every domain value: JSON, tagged with a kind and an encoding version.
#
# Stored bytes are never rewritten. If a value's shape changes, increase `ENCODING_VERSION` and add
# a pure upcaster that lifts the old form when it is read.

_MADE: Final = {f"{log.KIND_NAMES[born]}.made": draft for draft, born in log.STAMPED.items()}
_CHANGES: Final = {kind: change for change, kind in log.CHANGE_KINDS.items()}
_KINDS: Final = {kind: born for born, kind in log.KIND_NAMES.items()}

_FIRST: Final[dict[type, tuple[str, ...]]] = {
    Observation: (
        *("id", "space", "entity_id", "fields", "authority", "confidence", "evidence"),
        *("observed_at", "recorded_at"),
    ),
    Turn: ("id", "space", "scene_id", "index"),
}
"""The first stored field of items whose stamped fields stand between others."""

_BRIEF: Final = frozenset((Scene, Fact, Relation))
"""The kinds of items whose stored form leaves out fields or is not that of the type."""

_encoder: Final = msgspec.json.Encoder()
_decoders: Final[dict[type, msgspec.json.Decoder[Any]]] = {}


def kind_of(entry: log.Entry) -> str:
    """Return the stored name of an entry's kind, such as `fact.made` or `scene.completed`."""
    if isinstance(entry, log.Made):
        return f"{log.KIND_NAMES[log.STAMPED[type(entry.thing)]]}.made"
    return log.CHANGE_KINDS[type(entry)]


def encode_entry(entry: log.Entry) -> bytes:
    """Return the payload of an entry; its kind and version are stored separately."""
    match entry:
        case log.Made(thing=draft):
            return _encoder.encode(
                _omit_defaults(_blank_fields(log.STAMPED[type(draft)]) | field_values(draft), draft)
            )
        case log.ProposalDecided(decision=decision):
            return _encoder.encode(
                field_values(entry) | {"decision": _blank_fields(Decision) | field_values(decision)}
            )
        case log.FactRead():
            return _encoder.encode(field_values(entry) | _statements_in(entry))
        case _:
            return _encoder.encode(entry)


def decode_entry(kind: str, version: int, payload: bytes) -> log.Entry:
    """Decode a payload of any version that was ever written, the inverse of `encode_entry`.

    Raises:
        BrokenInvariant: `encoding.unknown-kind` or `encoding.unreadable`.
    """
    born = _MADE.get(kind)
    target = born or _CHANGES.get(kind)
    if target is None:
        message = f"The log has entries of the kind {kind}. Install a Canonry that knows them."
        raise BrokenInvariant("encoding.unknown-kind", message, kind=kind)
    value = _decode_payload(target, kind, version, payload)
    return log.Made(thing=value) if born else value


def encode_item(item: log.StoredItem) -> bytes:
    """Return an item in the form that views store."""
    kind: Any = type(item)
    if kind in _FIRST:
        return _encoder.encode(_omit_defaults(_blank_fields(kind) | field_values(item), item))
    return _encoder.encode(_omit_defaults(field_values(item), item) if kind in _BRIEF else item)


def _omit_defaults(members: dict[str, Any], item: Any) -> dict[str, Any]:
    """Drop the audience of a turn or scene that everybody may see, and the reader of unread facts.

    Turns are by far the most frequent items. They keep the form from before audiences existed,
    unread facts that from before statements, facts without repetitions that from before `again`,
    and relations that from before `said_ends`.
    """
    if members.get("reached") is msgspec.UNSET:
        del members["reached"]
    if isinstance(item, RelationDraft) and not members["said_ends"]:
        del members["said_ends"]
    if isinstance(item, TurnDraft | SceneDraft) and not item.audience:
        del members["audience"]
    if isinstance(item, FactDraft) and not members["again"]:
        del members["again"]
    if isinstance(item, Fact) and item.reader is not None:
        return members | _statements_in(item)
    if isinstance(item, FactDraft):
        del members["statements"], members["reader"]
    return members


def _statements_in(read: Fact | log.FactRead) -> dict[str, Any]:
    """Return the statements as JSON with sorted qualifiers, so that equal ones are equal bytes."""
    return {"statements": [statement.to_json() for statement in read.statements]}


def decode_item(kind: str, payload: bytes, *, part: type | None = None) -> Any:
    """Return the item of `kind` (see `KIND_NAMES`) in `payload`.

    `part` can name a type with only some of its fields.
    """
    return _decode_payload(part or _KINDS[kind], kind, ENCODING_VERSION, payload)


@cache  # asked for each entry: bench compare, bulk
def _blank_fields(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of `kind` in stored order: zero for stamps, else the default."""
    blank = kind(**{each.name: 0 for each in fields(kind) if each.default is each.default_factory})
    return dict.fromkeys(_FIRST.get(kind, ()), 0) | field_values(blank)


def _decode_payload(target: type, kind: str, version: int, payload: bytes) -> Any:
    decoder = _decoders.get(target)
    if decoder is None:
        decoder = _decoders[target] = msgspec.json.Decoder(target)
    try:
        if version == ENCODING_VERSION:
            return decoder.decode(payload)
        raw = upcast_payload(kind, version, msgspec.json.decode(payload))
        return msgspec.convert(raw, target)
    except msgspec.MsgspecError as error:
        message = f"A stored {kind} of encoding version {version} cannot be read. Restore a backup."
        raise BrokenInvariant("encoding.unreadable", message, kind=kind) from error


# Sealing: a stored commit has a sealed, hashed body and parts that can be erased.
#
# The body has ids, kinds, dates and a commitment for each payload: the SHA-256 of a salt and the
# payload. Deleting salt and payload erases the content, and the chain still verifies.

GENESIS: Final = "0" * 64
"""The previous hash of the first commit of a space."""

SALT_BYTES: Final = 16  # an erased payload cannot be guessed from its hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasablePart:
    """The salt and payload of one entry, which can be erased."""

    salt: bytes
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A commit as stored; `parts` has one part an entry, None where it was erased."""

    space: SpaceId
    position: Position
    id: CommitId
    recorded_at: Instant
    body: bytes
    hash: str
    parts: tuple[ErasablePart | None, ...]


def seal_commit(
    draft: Draft,
    *,
    position: Position,
    recorded_at: Instant,
    previous: str,
    salts: Sequence[bytes],
    payloads: Sequence[bytes] | None = None,
) -> Sealed:
    """Add `draft` to the hash chain, with one salt of `SALT_BYTES` bytes an entry.

    `payloads` are the results of `encode_entry` for its entries, if they are known already.
    """
    if payloads is None:
        payloads = [encode_entry(entry) for entry in draft.entries]
    salted = zip(salts, payloads, strict=True)
    parts = tuple([ErasablePart(salt=salt, payload=payload) for salt, payload in salted])
    request = {"request": draft.request} if draft.request else {}
    body = encode_json(
        {
            **request,
            "actor": [draft.actor.agent_id, draft.actor.agent_type, draft.actor.user],
            "entries": [
                [kind_of(entry), ENCODING_VERSION, ids_of(entry), commitment_of(part)]
                for entry, part in zip(draft.entries, parts, strict=True)
            ],
            "id": draft.id,
            "position": position,
            "previous": previous,
            "recorded_at": recorded_at,
            "space": draft.space,
            "tool": draft.tool,
        }
    )
    return Sealed(
        space=draft.space,
        position=position,
        id=draft.id,
        recorded_at=recorded_at,
        body=body,
        hash=sha256(body).hexdigest(),
        parts=parts,
    )


def unseal(sealed: Sealed) -> Commit:
    """Return the sealed commit. Erased entries become `Redacted`."""
    body = decode_json(sealed.body)
    agent_id, agent_type, user = body["actor"]
    return Commit(
        id=sealed.id,
        space=sealed.space,
        position=sealed.position,
        recorded_at=sealed.recorded_at,
        actor=Actor(agent_id=agent_id, agent_type=agent_type, user=user),
        tool=body["tool"],
        request=body.get("request", ""),
        entries=tuple(
            _read_entry(header, part)
            for header, part in zip(body["entries"], sealed.parts, strict=True)
        ),
        previous=body["previous"],
        hash=sealed.hash,
    )


def commit_of(draft: Draft, sealed: Sealed, previous: str) -> Commit:
    """Return the commit just sealed from `draft`, without decoding it again."""
    return Commit(
        **field_values(draft),
        position=sealed.position,
        recorded_at=sealed.recorded_at,
        previous=previous,
        hash=sealed.hash,
    )


def commitment_of(part: ErasablePart) -> str:
    """Return the commitment to a payload, which does not reveal it, in lower-case hex."""
    return sha256(part.salt + part.payload).hexdigest()


def fault_in(sealed: Sealed, *, position: Position, previous: str) -> str | None:
    """Return the fault of `sealed` at its position in the chain; None: it is intact.

    This detects gaps and any altered byte. It cannot detect a missing tail. Compare the head with
    one recorded elsewhere for that.
    """
    if fault := _fault_in_header(sealed):
        return fault
    if sealed.position != position:
        return f"position {position} is missing"
    if decode_json(sealed.body)["previous"] != previous:
        return "the previous hash differs from that of the commit before"
    return _fault_in_parts(sealed)


def require_unaltered(sealed: Sealed) -> Sealed:
    """Return the commit if its bytes are unaltered; its position in the chain is not checked.

    Raises:
        BrokenInvariant: `ledger.altered`.
    """
    if _fault_in_header(sealed) or _fault_in_parts(sealed):
        raise altered_commit()
    return sealed


def altered_commit() -> BrokenInvariant:
    """Return the error for a commit whose bytes have changed."""
    message = (
        "A stored commit has changed since it was written; the disk may be failing. "
        "`canonry verify` lists all damaged commits, and `canonry restore` puts a backup in place."
    )
    return BrokenInvariant("ledger.altered", message)


def _fault_in_header(sealed: Sealed) -> str | None:
    if sha256(sealed.body).hexdigest() != sealed.hash:
        return "the sealed bytes do not have the stored hash"
    body: dict[str, Any] = decode_json(sealed.body)
    stated = (body["space"], body["position"], body["id"], body["recorded_at"])
    if stated != (sealed.space, sealed.position, sealed.id, sealed.recorded_at):
        return "the stored columns differ from the sealed bytes"
    return None


def _fault_in_parts(sealed: Sealed) -> str | None:
    entries = decode_json(sealed.body)["entries"]
    if len(sealed.parts) != len(entries):
        return "the numbers of payloads and entries differ"
    for header, part in zip(entries, sealed.parts, strict=True):
        if part is not None and commitment_of(part) != header[3]:
            return f"the payload of a {header[0]} does not match its commitment"
    return None


def _read_entry(header: list[Any], part: ErasablePart | None) -> log.Entry:
    kind, version, ids, _ = header
    if part is None:
        return log.Redacted(kind=kind, ids=tuple(ids))
    return decode_entry(kind, version, part.payload)
