"""Locate a value: where in the file of its source it stands, if it can be found there again."""

from collections.abc import Sequence

from canonry.canon.ports.files import FileHint, Reading
from canonry.canon.session.account import account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.language.texts.excerpts import Box
from canonry.log.items.sources import Source
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.records.notation.places import WrittenPlace, places_of
from canonry.records.usecases.store_file import filing_of
from canonry.records.usecases.trace_field import TracedField, trace_field
from canonry.values.errors import CanonryError, NotFound


async def locate_value(
    canon: Canon, caller: Caller, traced: TracedField
) -> tuple[WrittenPlace, ...]:
    """The places of a field's value in the file that the first of its origins is.

    A file that is gone, or that can no longer be read, has none.
    """
    source, seen = traced.origins[0].source, traced.observations[0]
    reading = None if source is None else await reading_of(canon, caller, source)
    if reading is None:
        return ()
    fields = {name.removeprefix(PROPERTY_PREFIX): v for name, v in seen.fields.items()}
    return places_of(reading, fields, traced.value)


async def reading_of(canon: Canon, caller: Caller, source: Source) -> Reading | None:
    """What the file that is a source of the caller's says, if it is there and can be read."""
    try:
        data, hint = await _bytes_of(canon, caller, source)
        return await canon.reader.examine(data, hint)
    except CanonryError:
        return None


async def picture_of(
    canon: Canon, caller: Caller, source: Source, page: int, boxes: Sequence[Box]
) -> bytes:
    """A page of the caller's own PDF as a picture, PNG, with these boxes marked.

    Raises:
        NotFound: `file.unknown`, it is no file or its bytes are gone.
        InvalidInput: as `DocumentReader.picture`.
        Unavailable: as `DocumentReader.picture`.
    """
    data, hint = await _bytes_of(canon, caller, source)
    return await canon.reader.picture(data, hint, page, boxes)


async def _bytes_of(canon: Canon, caller: Caller, source: Source) -> tuple[bytes, FileHint]:
    if not source.files or source.content_hash is None:
        message = "this source has no file; what was told as text or records has none"
        raise NotFound("file.unknown", message, kind="file")
    blobs = filing_of(canon).blobs_of(account_of(caller).user_id)
    data = await blobs.get(source.content_hash)
    return data, FileHint(mime_type=source.mime_type or "", name=source.file_name or "")


async def locate_field(
    canon: Canon, caller: Caller, entity_id: str, field: str
) -> tuple[WrittenPlace, ...]:
    """The places of the value that an entity shows in a field; none where nobody is credited."""
    try:
        traced = await trace_field(canon, caller, entity_id, field)
    except NotFound:
        return ()
    return await locate_value(canon, caller, traced)
