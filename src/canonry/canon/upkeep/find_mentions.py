"""Find mentions: what in a space still says a name; the log is read, because it alone holds all."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.language.texts.words import terms_of
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN
from canonry.log.encoding import encode_entry
from canonry.log.entries import THING_KINDS, Entry, Erased, Redacted, Tombstone
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json

_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A thing that says a name, in what it is or in what was said of it later."""

    kind: str
    id: str


async def find_mentions(
    canon: Canon, space: SpaceId, names: Iterable[str], *, beside: frozenset[str]
) -> tuple[Mention, ...]:
    """The things of `space`, oldest first, that say one of `names`, but for those `beside` it.

    A name is found as whole words, in whatever case and with or without accents: "Jo" is in
    "JO's hat" and not in "John". What names one of `beside` by its id goes with that.
    """
    wanted = tuple(dict.fromkeys(filter(None, map(_as_words, names))))
    found: dict[str, None] = {}
    after = ORIGIN
    while wanted and (page := await canon.ledger.read(space, after=after, limit=_PAGE)):
        for entry in (entry for commit in page for entry in commit.entries):
            ids = ids_of(entry)
            if ids[0] not in found and beside.isdisjoint(ids) and _says(entry, wanted):
                found[ids[0]] = None
        after = page[-1].position
    things = await canon.within(space).things(found)
    return tuple(
        Mention(kind=THING_KINDS[type(thing)], id=each)
        for each in found
        if (thing := things.get(each)) is not None and not isinstance(thing, Tombstone)
    )


def _says(entry: Entry, wanted: Iterable[str]) -> bool:
    if isinstance(entry, Redacted | Erased):
        return False
    for text in _texts(decode_json(encode_entry(entry))):
        words = _as_words(text)
        if any(name in words for name in wanted):
            return True
    return False


def _as_words(text: str) -> str:
    """The words of a text, with a space around each, so that whole words are found in it."""
    words = terms_of(text)
    return f" {' '.join(words)} " if words else ""


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case Mapping():
            for key, each in value.items():
                yield key
                yield from _texts(each)
        case _:
            return
