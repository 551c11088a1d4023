"""Identity: the id of a thing of a world follows from its key, so that importing twice is once."""

from hashlib import sha256
from unicodedata import category

from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, SpaceId, is_uuid

WORLD_KEY = "#world"
"""The key of the entity that holds a world's clock and its defaults; no file can use it."""


def is_key(text: str) -> bool:
    """Whether a thing can be named so: on one line without control characters or a # before it."""
    if not text or text != text.strip() or text[0] == "#":
        return False
    return text.splitlines() == [text] and all(category(sign) != "Cc" for sign in text)


def checked_key(text: str, *, path: str) -> str:
    """`text`, if a thing can be named so.

    Raises:
        InvalidInput: `key.malformed`.
    """
    if not is_key(text):
        message = "a key is a text on one line that neither begins with # nor with a space"
        raise InvalidInput("key.malformed", message, path=path)
    return text


def world_id_of(name: str) -> SpaceId:
    """The id of the world that a file without an id describes."""
    return SpaceId(_uuid(f"world/{name}"))


def thing_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of the thing with this key; a key that is an id already stays as it is."""
    return EntityId(key.lower() if is_uuid(key) else _uuid(f"{space}/thing/{key}"))


def layer_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of a layer; layers and lore have names of their own beside those of places."""
    return EntityId(key.lower() if is_uuid(key) else _uuid(f"{space}/layer/{key}"))


def lore_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of the entity that holds all versions of a fact of lore."""
    return EntityId(_uuid(f"{space}/lore/{key}"))


def event_id_of(space: SpaceId, key: str) -> str:
    """The id of an event that a file describes."""
    return key.lower() if is_uuid(key) else _uuid(f"{space}/event/{key}")


def _uuid(text: str) -> str:
    digits = sha256(text.encode()).hexdigest()
    variant = "89ab"[int(digits[15], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-{variant}{digits[16:19]}-{digits[19:31]}"
