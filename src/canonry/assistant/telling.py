"""The tool `tell`: record texts, turns, files and records."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from canonry.assistant.desk import CONTRIBUTORS, SOLO, Desk, Wanted, desk_of, is_owner
from canonry.assistant.first_sentences import counted
from canonry.assistant.rows import Row, cut, filled, fitted, party_of
from canonry.assistant.tools import canon_tool
from canonry.canon.canonization.canonize_scene import finalize_scene, outcomes_among, proposals_of
from canonry.canon.commands.sources import GivenDocument, ImportedDocument, import_document
from canonry.canon.ports.files import FileHint
from canonry.canon.queries.listings import query_snippets
from canonry.canon.queries.names import WORDY
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import made_before, the_made
from canonry.canon.session.lookup import account_of
from canonry.canon.session.spoken_times import present_of, scene_time
from canonry.gateway.limits import Limits, checked_text
from canonry.gateway.tool import Arguments, Reply
from canonry.language.texts.sentences import DocumentType
from canonry.log.entries import SceneDated, ScenePlaced
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.scenes import Scene, SceneDraft, SceneStatus, Speaker, Story, TurnDraft
from canonry.log.items.sources import Source, SourceType
from canonry.narrative.usecases.scenes import (
    SceneChange,
    SceneRequest,
    TurnRequest,
    append_turn,
    open_scene,
    opening,
    query_scenes,
    story_of_late,
    update_scene,
)
from canonry.readmodels.ports.documents import SceneQuery
from canonry.records.domain.assertions import Warned
from canonry.records.usecases.files import GivenFile, given_file, read_local
from canonry.records.usecases.ingest_file import ingest_file
from canonry.records.usecases.record_entities import RecordedAs
from canonry.records.usecases.record_source import ingest_records
from canonry.values.audience import Audience, covers
from canonry.values.calendars.declaring import read_roughly, time_said
from canonry.values.calendars.reckoning import Grain, span_of, spoken_roughly
from canonry.values.errors import InvalidInput, NotAllowed, NotFound
from canonry.values.fields import plain_time
from canonry.values.ids import EntityId, SpaceId, is_uuid
from canonry.values.json_values import folded
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

_PLAIN: Final = "text/plain; charset=utf-8"
_KINDS: Final = {
    **{kind.value: kind for kind in DocumentType},
    ".md": DocumentType.MARKDOWN,
    ".pdf": DocumentType.PDF,
}


async def given_document(desk: Desk, arguments: Arguments, form: str) -> GivenFile:
    """Return the document that was given as text, file or path."""
    title = arguments.get("title") or ""
    if form == "text":
        if not arguments["text"].strip():
            raise InvalidInput("text.empty", "/text is empty. Write a text.", path="/text")
        hint = FileHint(mime_type=arguments.get("mime_type") or _PLAIN, name=title)
        return GivenFile(data=arguments["text"].encode(), hint=hint)
    if form == "file":
        mime = arguments.get("mime_type")
        if mime is None:
            message = "Name the media type of /file in /mime_type, such as application/pdf."
            raise InvalidInput("file.mime-type", message, path="/mime_type")
        return given_file(arguments["file"], mime, title or None)
    if desk.caller.actor.agent_type != SOLO:
        message = f"Only the agent type {SOLO} may read files by path. Send the content in /file."
        raise NotAllowed("tell.path", message, path="/path", allowed_types=[SOLO])
    return await read_local(desk.canon, arguments["path"], arguments.get("mime_type") or "")


async def keep_text(
    desk: Desk, space: str, given: GivenFile, *, title: str, audience: Audience
) -> ImportedDocument:
    """Record a document with its passages."""
    media = given.hint.media or ""
    kind = _KINDS.get(media) or _KINDS.get(PurePosixPath(given.hint.name).suffix.lower())
    if kind is None and media and not media.startswith("text/"):
        message = "This space reads text, Markdown and PDF. Tell other files to space 'account'."
        raise InvalidInput("document.unsupported", message, path="/mime_type")
    document = GivenDocument(
        name=title,
        title=checked_text(title, desk.canon.policy.limits.name, path="/title"),
        data=given.data,
        kind=kind or DocumentType.PLAIN,
        audience=audience,
    )
    return await import_document(
        desk.canon,
        desk.caller,
        document,
        space=SpaceId(space),
        source_type=SourceType.DOCUMENT,
        level=CanonLevel.CANON,
    )


SHOWN_MAX: Final = 20
"""The most passages, entities and warnings that a reply lists."""
_ENTITY_PATH: Final = 2
"""The number of slashes in the path of an entity; the path of a field has one more."""

_CITE: Final = "You can cite its {} as evidence in propose."

_FORMS: Final = ("text", "turns", "records", "file", "path")
_LIMITS: Final = Limits(characters=80_000_000, seconds=120.0, any_number=True)
_OPEN_MAX: Final = 500
_NAMED_MAX: Final = 3
_BY: Final = {"user": Speaker.USER, "me": Speaker.USER, "gm": Speaker.GM, "narrator": Speaker.GM}


async def _tell(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    forms = [form for form in _FORMS if arguments.get(form) is not None]
    closing = arguments.get("end_scene") is not None
    if len(forms) != 1 and not (closing and not forms):
        given_forms = ", ".join(forms) or "none of them"
        message = (
            f"Give exactly one of {', '.join(_FORMS)}, or end_scene and scene to close a scene. "
            f"This call has {given_forms}."
        )
        raise InvalidInput("tell.form", message, path=f"/{forms[1] if len(forms) > 1 else 'text'}")
    desk = await desk_of(canon, caller, arguments, "scene", opens=True)
    desk.require_writable()
    if desk.is_account and not is_owner(arguments.get("for", ())):
        message = "Only you can read your account. Omit /for, or name another /space."
        raise InvalidInput("tell.readers", message, path="/for")
    if closing or forms == ["turns"]:
        return await _turns(desk, arguments)
    if forms == ["records"]:
        if not desk.is_account:
            desk.require_told("Records", "")  # refuses a catalog with its own message
            message = (
                "Records belong in your account: set /space to account. In this space, propose "
                "an entity, a fact or a relation."
            )
            raise InvalidInput("tell.records", message, path="/records")
        given = [_typed(each, n) for n, each in enumerate(arguments["records"])]
        recorded = await ingest_records(desk.canon, desk.caller, None, given)
        head: Row = {"document": recorded.source.id, "known_before": recorded.again or None}
        named = await _named(desk, recorded.records)
        note = _note([row["name"] for row in named], again=recorded.again)
        return filled({**note, **head, **_recorded(named, recorded)})
    return await _document(desk, arguments, await given_document(desk, arguments, forms[0]))


async def _document(desk: Desk, arguments: Arguments, given: GivenFile) -> Reply:
    title = arguments.get("title") or given.hint.name.rsplit("/", 1)[-1] or "Untitled"
    if desk.is_account:
        account = account_of(desk.caller)
        done = await ingest_file(desk.canon, desk.caller, account, given)
        named = await _named(desk, () if done.recorded is None else done.recorded.records)
        title = done.source.title or next((one["name"] for one in named), title)
        found = _recorded([one for one in named if one["type"] not in WORDY], done.recorded)
        if not found["entities"]:
            found |= {
                "total": None,
                "hint": _CITE.format("id or title" if done.source.title else "id"),
            }
        return filled(
            {
                **_note([cut(title, full=False)], again=done.deduplicated),
                "document": done.source.id,
                "title": title,
                "known_before": done.deduplicated or None,
                **found,
            }
        )
    space = desk.require_told("Documents", "Tell it to space 'account'.")
    audience = await desk.audience(arguments)
    desk.require_reader(audience, path="/for")
    kept = await keep_text(desk, space, given, title=title, audience=audience)
    page = await query_snippets(
        desk.canon, desk.caller, kept.source_id, limit=SHOWN_MAX, offset=kept.first
    )
    rows = [{"id": one.id, "says": cut(one.text, full=False)} for one in page.items]
    if kept.added == 0:
        source = await desk.thing(kept.source_id, Source, path="/title")
        title = source.title if isinstance(source, Source) else title
    start = Wanted(limit=SHOWN_MAX, offset=0, full=False)
    shown = fitted(rows[: kept.snippets], start, kept.snippets, "passages")["passages"]
    more = f"To list all passages, get {kept.source_id}. " if len(shown) < kept.snippets else ""
    return filled(
        {
            **_note([title], again=kept.added == 0),
            "document": kept.source_id,
            "title": title,
            "passages": shown,
            "total": kept.snippets or None,
            "known_before": kept.added == 0 or None,
            "hint": more.strip(),
        }
    )


def _note(names: Sequence[str], *, again: bool) -> Row:
    """Return the sentence that says what was recorded."""
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    known = "Nothing new was recorded; known before" if again else "Recorded"
    return {"note": f"{known}: {'; '.join(names[:_NAMED_MAX]).rstrip('.')}{more}."}


def _typed(record: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return the record with its type under `entity_type`."""
    if "schema_version" in record:
        path = f"/records/{number}/schema_version"
        message = f"{path}: this name is reserved. Rename the field."
        raise InvalidInput("tell.field-name", message, path=path)
    if "entity_type" in record or not isinstance(record.get("type"), str):
        if isinstance(record.get("entity_type"), str):
            return record
        path = f"/records/{number}/type"
        message = f"{path} is missing. Name the type, such as person, company or invoice."
        raise InvalidInput("tell.record-type", message, path=path)
    others = {name: value for name, value in record.items() if name != "type"}
    return {"entity_type": record["type"], **others}


async def _named(desk: Desk, records: Sequence[RecordedAs]) -> list[Row]:
    """Return the first recorded entities; those of bank lines are named by their party."""
    some = records[:SHOWN_MAX]
    known = await desk.canon.within(desk.space.id).things([one.entity_id for one in some])
    rows: list[Row] = []
    for one in some:
        entity = known.get(one.entity_id)
        name, beside = party_of(entity) if isinstance(entity, Entity) else (one.name, {})
        row = {"id": one.entity_id, "name": name, "type": one.entity_type, "fields": beside}
        rows.append(filled({**row, "new": one.created or None}))
    return rows


def _recorded(found: Sequence[Row], recorded: Any) -> Row:
    """Return the recorded entities, the warnings and the possible duplicates."""
    warnings = () if recorded is None else recorded.warnings
    duplicates = [] if recorded is None else recorded.duplicates[:SHOWN_MAX]
    return {
        "entities": found,
        "total": (recorded is not None and recorded.total) or None,
        "warnings": _warned(warnings)[:SHOWN_MAX],
        "possible_duplicates": [
            {"of": each.entity_id, "and": each.candidate_id, "because": each.reason}
            for each in duplicates
        ],
        "hint": "Merge possible duplicates with decide. Propose a correction for a wrong field.",
    }


def _warned(warnings: Sequence[Warned]) -> list[str]:
    """List each warning once, with the number of records that have it; those for all first."""
    paths: dict[tuple[str, str], list[str]] = {}
    for each in warnings:
        field = each.path.rpartition("/")[2] if each.path.count("/") > _ENTITY_PATH else ""
        paths.setdefault((field, each.message), []).append(each.path)
    told = [
        f"{field or 'all'} of {len(where)} records: {message}"
        if len(where) > 1
        else f"{where[0]}: {message}".removeprefix(": ")
        for (field, message), where in paths.items()
    ]
    return sorted(told, key=lambda line: line.startswith("/"))


async def _turns(desk: Desk, arguments: Arguments) -> Reply:
    space = desk.require_told("Turns", "Give the words as /text.")
    if arguments.get("scene") is None:
        message = "Name the scene in /scene. A new title opens a new scene."
        raise InvalidInput("tell.scene", message, path="/scene")
    turns = arguments.get("turns") or ()
    spoken = [await _spoken(desk, turn, n) for n, turn in enumerate(turns)]
    audience = await desk.audience(arguments)
    desk.require_reader(audience, path="/for")
    scene, opened = await _scene(desk, arguments, space, audience)
    has_more_readers = not covers(audience, scene.audience)
    if has_more_readers and arguments.get("end_scene") is not None:
        message = (
            "All readers of a scene can read its summary, and this scene has more readers than "
            "/for names. Omit /for, or tell the summary as a text."
        )
        raise InvalidInput("tell.summary-readers", message, path="/end_scene")
    told: list[Row] = []
    for n, (turn, (speaker, entity_id, text)) in enumerate(zip(turns, spoken, strict=True)):
        request = TurnRequest(
            scene_id=scene.id, speaker=speaker, entity_id=entity_id, text=text, audience=audience
        )
        receipt = await append_turn(desk.canon, step(desk.caller, f"turn {n}"), request)
        told.append({"id": the_made(receipt, TurnDraft).id, "by": turn["by"]})
    said = counted(len(told), "turn") if told else scene.title
    note = _note([said], again=False)
    reply: Row = {
        **note,
        "scene": scene.id,
        "name": scene.title,
        "opened": opened or None,
        "turns": told,
    }
    if (closing := arguments.get("end_scene")) is not None:
        summary = checked_text(closing, desk.canon.policy.limits.summary, path="/end_scene")
        proposals = await proposals_of(desk.canon, scene.space, scene.id)
        made = [one for each in proposals if each.decision for one in each.decision.made]
        outcomes = await outcomes_among(desk.canon, scene.space, made)
        await finalize_scene(
            desk.canon,
            step(desk.caller, "end"),
            scene.id,
            outcomes=[each.id for each in outcomes],
            summary=summary,
        )
        reply |= {"note": f"Closed: {scene.title}.", "closed": True}
    elif told and has_more_readers:
        reply["hint"] = "The scene, its title and its summary have more readers."
    return filled(reply)


async def _spoken(
    desk: Desk, turn: Mapping[str, str], number: int
) -> tuple[Speaker, str | None, str]:
    """Return the speaker, its entity and the text of a turn.

    The name of a speaker without an entity becomes part of the text. A name that is similar to
    an entity's name is refused as a typing error.
    """
    most = desk.canon.policy.limits.turn
    path, by = f"/turns/{number}", turn["by"].strip()
    text = checked_text(turn["text"], most, path=f"{path}/text")
    if (speaker := _BY.get(folded(by))) is not None:
        return speaker, None, text
    try:
        return Speaker.ENTITY, (await desk.entity(by, path=f"{path}/by")).id, text
    except NotFound as error:
        if not by or is_uuid(by) or error.details.get("candidates"):
            raise
    return Speaker.USER, None, checked_text(f"{by}: {text}", most, path=f"{path}/text")


async def _scene(
    desk: Desk, arguments: Arguments, space: str, audience: Audience
) -> tuple[Scene | SceneDraft, bool]:
    """Return the open scene of this title, else open one; and whether it is new.

    Of several open scenes with the title, choose the one for the same readers, else the last.
    """
    if opened := await made_before(desk.canon, opening(desk.caller), desk.space.id, SceneDraft):
        return opened[0], True
    named = arguments["scene"].strip()
    query = SceneQuery(status=SceneStatus.ACTIVE, limit=_OPEN_MAX)
    playing = (await query_scenes(desk.canon, desk.caller, query, universe_id=space)).items
    same = [each for each in playing if folded(each.title) == folded(named)]
    same.sort(key=lambda each: each.audience == audience)
    same += [each for each in playing if each.id == named.lower()]
    if same:
        return await _same_setting(desk, same[-1], arguments), False
    if is_uuid(named) or arguments.get("turns") is None:
        found = await desk.thing(named, Scene, path="/scene")
        assert isinstance(found, Scene)  # noqa: S101 - the kind was asked for
        return await _same_setting(desk, found, arguments), False
    place, late = arguments.get("place"), await story_of_late(desk.canon, desk.space.id)
    asked = SceneRequest(
        universe_id=space,
        title=checked_text(named, desk.canon.policy.limits.name, path="/scene"),
        location_id=None if place is None else (await desk.entity(place, path="/place")).id,
        time_ref=await desk.time(arguments, "when", at=late),
        time_words=await _words_kept(desk, arguments.get("when"), late),
        audience=audience,
    )
    return await open_scene(desk.canon, desk.caller, asked), True


async def _same_setting(desk: Desk, scene: Scene, arguments: Arguments) -> Scene:
    """Return a known scene; set a time and a place that it lacks, and refuse others.

    Raises:
        InvalidInput: `scene.other-setting`.
    """
    changes: list[SceneChange] = []
    when, words = arguments.get("when"), _words_of(arguments.get("when"))
    if when is not None and (words is None or words != scene.time_words):
        at = await desk.time(arguments, "when", at=scene)
        if at is not None and _is_more_precise(desk, scene, at, words):
            changes.append(SceneDated(scene_id=scene.id, time_ref=at, time_words=words))
    if (place := arguments.get("place")) is not None:
        location, known = await desk.entity(place, path="/place"), scene.location_ref
        if known is None:
            changes.append(ScenePlaced(scene_id=scene.id, location_ref=EntityId(location.id)))
        elif known not in family_of(location):
            raise _other_setting(scene, "place")
    if changes:
        await update_scene(desk.canon, step(desk.caller, "setting"), scene.id, changes)
    return scene


def _is_more_precise(desk: Desk, scene: Scene, at: Instant, words: str | None) -> bool:
    """Return whether a time is more precise than that of a scene; refuse another time."""
    held, told = scene_time(scene, desk.calendar), time_said(at, words, desk.calendar)
    if held is None or held.start == at:
        return held is None or told.grain < held.grain
    (begin, end), (start, stop) = (span_of(each, desk.calendar) for each in (held, told))
    if told.counted or not (begin <= start < end or start <= begin < stop):
        raise _other_setting(scene, "when")
    return told.grain < held.grain


def _other_setting(scene: Scene, other: str) -> InvalidInput:
    message = (
        f"The scene {scene.title!r} exists and has another /{other}. Leave /{other} out, or "
        "give a new title in /scene to open another scene."
    )
    return InvalidInput("scene.other-setting", message, path=f"/{other}")


async def _words_kept(desk: Desk, when: str | None, story: Story | None) -> str | None:
    """Return the words of a time; those of the calendar if the time before is less precise."""
    words, calendar = _words_of(when), desk.calendar
    start = None if story is None else await present_of(desk.canon, story, calendar)
    if words is None or start is None or start.grain <= Grain.DAY:
        return words
    read = read_roughly(words, calendar, start, path="/when")
    vague = read.counted and read.grain > time_said(read.start, words, calendar).grain
    return spoken_roughly(read, calendar) if vague else words


def _words_of(when: str | None) -> str | None:
    """Return the time as it was written, or None if it is RFC 3339."""
    try:
        plain_time(when or "", "/when")
    except InvalidInput:
        return when
    return None


TOOLS: Final = (canon_tool("tell", _tell, CONTRIBUTORS, limits=_LIMITS),)
