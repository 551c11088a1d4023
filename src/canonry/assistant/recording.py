"""The tool `tell`: record texts, turns, files and records."""

from collections.abc import Mapping, Sequence
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Any, Final

from canonry.assistant.aliases import BOOLEANS
from canonry.assistant.call_context import (
    CONTRIBUTORS,
    PRIVATE,
    SOLO,
    CallContext,
    RowPage,
    context_of,
    is_owner,
)
from canonry.assistant.first_sentences import count_in_words, join_first
from canonry.assistant.rows import Row, cut_text, fit_rows, party_of, without_empty
from canonry.assistant.tools import canon_tool
from canonry.assistant.wording import HINTS
from canonry.canon.canonization.canonize_scene import finalize_scene, outcomes_among, proposals_of
from canonry.canon.commands.sources import GivenDocument, ImportedDocument, import_document
from canonry.canon.ports.files import FileHint
from canonry.canon.queries.listings import query_snippets
from canonry.canon.queries.names import WORDY
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import drafts_made_before, first_made
from canonry.canon.session.lookup import account_of
from canonry.canon.session.spoken_times import present_of, scene_time
from canonry.gateway.limits import Limits, checked_text
from canonry.gateway.tool import Arguments, Reply
from canonry.language.texts.sentences import DocumentType
from canonry.log.entries import SceneDated, ScenePlaced
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.scenes import Scene, SceneDraft, SceneStatus, Speaker, Story, TurnDraft
from canonry.log.items.sources import Source, SourceType
from canonry.narrative.usecases import scenes
from canonry.readmodels.ports.documents import SceneQuery
from canonry.records.domain.assertions import Warned
from canonry.records.usecases.files import GivenFile, given_file, read_local
from canonry.records.usecases.ingest_file import ingest_file
from canonry.records.usecases.record_entities import RecordedEntity
from canonry.records.usecases.record_source import ingest_records
from canonry.values.audience import Audience, audience_covers
from canonry.values.calendars.declaring import read_rough_time, time_as_given
from canonry.values.calendars.reckoning import Grain, rough_in_words, span_of
from canonry.values.charsets import decode_text
from canonry.values.errors import InvalidInput, NotAllowed, NotFound
from canonry.values.fields import read_plain_time
from canonry.values.ids import EntityId, SpaceId, is_uuid
from canonry.values.json_values import fold_text
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

_PLAIN: Final = "text/plain; charset=utf-8"
_KINDS: Final = {
    **{kind.value: kind for kind in DocumentType},
    ".md": DocumentType.MARKDOWN,
    ".pdf": DocumentType.PDF,
}


async def given_document(context: CallContext, arguments: Arguments, form: str) -> GivenFile:
    """Return the document that was given as text, file or path."""
    title = arguments.get("title") or ""
    if form == "text":
        if not arguments["text"].strip():
            raise InvalidInput("text.empty", "/text is empty. Write a text.", path="/text")
        hint = FileHint(mime_type=arguments.get("mime_type") or _PLAIN, name=title)
        return GivenFile(data=arguments["text"].encode(), hint=hint)
    if form == "file":
        mime = arguments.get("mime_type") or guess_type(title)[0] or ""
        given = given_file(arguments["file"], mime, title or None)
        try:
            _ = mime or decode_text(given.data, None)  # only text needs no media type
        except InvalidInput as error:
            message = "Name the media type of /file in /mime_type, such as application/pdf."
            raise InvalidInput("file.mime-type", message, path="/mime_type") from error
        return given
    if context.caller.actor.agent_type != SOLO:
        message = f"Only the agent type {SOLO} may read files by path. Send the content in /file."
        raise NotAllowed("tell.path", message, path="/path", allowed_types=[SOLO])
    return await read_local(context.canon, arguments["path"], arguments.get("mime_type") or "")


async def keep_text(
    context: CallContext, space: str, given: GivenFile, *, title: str, audience: Audience
) -> ImportedDocument:
    """Record a document with its passages."""
    media = given.hint.media_type or ""
    kind = _KINDS.get(media) or _KINDS.get(PurePosixPath(given.hint.name).suffix.lower())
    if kind is None and media and not media.startswith("text/"):
        message = "This space reads text, Markdown and PDF. Tell other files to space 'account'."
        raise InvalidInput("document.unsupported", message, path="/mime_type")
    document = GivenDocument(
        name=title,
        title=checked_text(title, context.canon.policy.limits.name, path="/title"),
        data=given.data,
        kind=kind or DocumentType.PLAIN,
        audience=audience,
    )
    return await import_document(
        context.canon,
        context.caller,
        document,
        space=SpaceId(space),
        source_type=SourceType.DOCUMENT,
        level=CanonLevel.CANON,
    )


SHOWN_MAX: Final = 20
"""The most passages, entities and warnings that a reply lists."""
_ENTITY_PATH: Final = 2  # slashes in the path of an entity; the path of a field has one more

_FORMS: Final = ("text", "turns", "records", "file", "path")
_LIMITS: Final = Limits(characters=80_000_000, seconds=120.0, any_number=True)
_OPEN_MAX: Final = 500  # titles are compared in memory
_NARRATORS: Final = ("gm", "narrator", "dm", "game master")
_BY: Final = dict.fromkeys(("user", "me"), Speaker.USER) | dict.fromkeys(_NARRATORS, Speaker.GM)


async def _record_given(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    closes = BOOLEANS.get(fold_text(arguments.get("end_scene") or ""))
    if closes is not None:  # it says whether to close, and summarises nothing
        arguments = {**arguments, "end_scene": "" if closes else None}
    forms = [form for form in _FORMS if arguments.get(form) is not None]
    closing = arguments.get("end_scene") is not None
    if len(forms) != 1 and not (closing and not forms):
        given_forms = ", ".join(forms) or "none of them"
        message = f"Give one of {', '.join(_FORMS)}, or end_scene; this call has {given_forms}."
        raise InvalidInput("tell.form", message, path=f"/{forms[1] if len(forms) > 1 else 'text'}")
    context = await context_of(canon, caller, arguments, "scene", opens=True)
    context.require_writable()
    if context.is_account and not is_owner(arguments.get("for", ())):
        message = "Only you can read your account. Omit /for, or name another /space."
        raise InvalidInput("tell.readers", message, path="/for")
    if closing or forms == ["turns"]:
        return await _record_turns(context, arguments)
    if forms == ["records"]:
        if not context.is_account:
            context.require_story_space("Records", "")  # refuses a catalog with its own message
            message = "Set /space to account for records; in this space, propose claims instead."
            raise InvalidInput("tell.records", message, path="/records")
        given = [_with_entity_type(each, n) for n, each in enumerate(arguments["records"])]
        few = PRIVATE if "for" in arguments else ""
        recorded = await ingest_records(context.canon, context.caller, None, given)
        head: Row = {"document": recorded.source.id, "known_before": recorded.again or None}
        named = await _named(context, recorded.records)
        note = _note([row["name"] for row in named], again=recorded.again, few=few)
        return without_empty({**note, **head, **_recorded_row(named, recorded)})
    return await _record_document(
        context, arguments, await given_document(context, arguments, forms[0])
    )


async def _record_document(context: CallContext, arguments: Arguments, given: GivenFile) -> Reply:
    title = arguments.get("title") or given.hint.name.rsplit("/", 1)[-1] or "Untitled"
    if context.is_account:
        account, few = account_of(context.caller), PRIVATE if "for" in arguments else ""
        done = await ingest_file(context.canon, context.caller, account, given)
        named = await _named(context, () if done.recorded is None else done.recorded.records)
        title = done.source.title or next((one["name"] for one in named), title)
        found = _recorded_row([one for one in named if one["type"] not in WORDY], done.recorded)
        if not found["entities"]:
            found |= {
                "total": None,
                "hint": HINTS["cite"].format("id or title" if done.source.title else "id"),
            }
        return without_empty(
            {
                **_note([cut_text(title, full=False)], again=done.deduplicated, few=few),
                "document": done.source.id,
                "title": done.source.title,
                "known_before": done.deduplicated or None,
                **found,
            }
        )
    space = context.require_story_space("Documents", "Tell it to space 'account'.")
    audience = await context.read_audience(arguments)
    context.require_reader(audience, path="/for")
    kept = await keep_text(context, space, given, title=title, audience=audience)
    page = await query_snippets(
        context.canon, context.caller, kept.source_id, limit=SHOWN_MAX, offset=kept.first
    )
    rows = [{"id": one.id, "says": cut_text(one.text, full=False)} for one in page.items]
    if kept.added == 0:
        source = await context.find_item(kept.source_id, Source, path="/title")
        title = source.title if isinstance(source, Source) else title
    start = RowPage(limit=SHOWN_MAX, offset=0, full=False)
    shown = fit_rows(rows[: kept.snippets], start, kept.snippets, "passages")["passages"]
    more = f"To list all passages, get {kept.source_id}. " if len(shown) < kept.snippets else ""
    return without_empty(
        {
            **_note([title], again=kept.added == 0, few=await context.readers_in_words(audience)),
            "document": kept.source_id,
            "title": title,
            "passages": shown,
            "total": kept.snippets or None,
            "known_before": kept.added == 0 or None,
            "hint": more.strip(),
        }
    )


def _note(names: Sequence[str], *, again: bool, few: str = "") -> Row:
    """Return the sentence that says what was recorded, and for which `few` readers."""
    known = "Nothing new was recorded; known before" if again else f"Recorded {few}".strip()
    return {"note": f"{known}: {join_first(names).rstrip('.')}."}


def _with_entity_type(record: Mapping[str, Any], number: int) -> Mapping[str, Any]:
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


async def _named(context: CallContext, records: Sequence[RecordedEntity]) -> list[Row]:
    """Return the first recorded entities; those of bank lines are named by their party."""
    some = records[:SHOWN_MAX]
    known = await context.canon.space_scope(context.space.id).items_by_id(
        [one.entity_id for one in some]
    )
    rows: list[Row] = []
    for one in some:
        entity = known.get(one.entity_id)
        name, beside = party_of(entity) if isinstance(entity, Entity) else (one.name, {})
        row = {"id": one.entity_id, "name": name, "type": one.entity_type, "fields": beside}
        rows.append(without_empty({**row, "new": one.created or None}))
    return rows


def _recorded_row(found: Sequence[Row], recorded: Any) -> Row:
    """Return the recorded entities, the warnings and the possible duplicates."""
    warnings = () if recorded is None else recorded.warnings
    duplicates = [] if recorded is None else recorded.duplicates[:SHOWN_MAX]
    same = [i for one in duplicates[:1] for i in (one.entity_id, one.candidate_id)]
    return {
        "entities": found,
        "total": (recorded is not None and recorded.total) or None,
        "warnings": _list_warnings(warnings)[:SHOWN_MAX],
        "possible_duplicates": [
            {"of": each.entity_id, "and": each.candidate_id, "because": each.reason}
            for each in duplicates
        ],
        "hint": HINTS["same"].format(*same) if same else None,
    }


def _list_warnings(warnings: Sequence[Warned]) -> list[str]:
    """List each warning once, with the number of records that have it; those for all first."""
    paths: dict[tuple[str, str], list[str]] = {}
    for each in warnings:
        field = each.path.rpartition("/")[2] if each.path.count("/") > _ENTITY_PATH else ""
        paths.setdefault((field, each.message), []).append(each.path)
    lines = [
        f"{field or 'all'} of {len(where)} records: {message}"
        if len(where) > 1
        else f"{where[0]}: {message}".removeprefix(": ")
        for (field, message), where in paths.items()
    ]
    return sorted(lines, key=lambda line: line.startswith("/"))


async def _record_turns(context: CallContext, arguments: Arguments) -> Reply:
    space = context.require_story_space("Turns", "Give the words as /text.")
    if arguments.get("scene") is None:
        message = "Name the scene in /scene. A new title opens a new scene."
        raise InvalidInput("tell.scene", message, path="/scene")
    turns = arguments.get("turns") or ()
    spoken = [await _read_spoken(context, turn, n) for n, turn in enumerate(turns)]
    audience = await context.read_audience(arguments)
    context.require_reader(audience, path="/for")
    scene, opened = await _require_scene(context, arguments, space, audience)
    has_more_readers = not audience_covers(audience, scene.audience)
    if has_more_readers and arguments.get("end_scene") is not None:
        message = "More readers than /for names can read the summary. Omit /for, or tell a text."
        raise InvalidInput("tell.summary-readers", message, path="/end_scene")
    turn_rows: list[Row] = []
    for n, (turn, (speaker, entity_id, text)) in enumerate(zip(turns, spoken, strict=True)):
        request = scenes.TurnRequest(
            scene_id=scene.id, speaker=speaker, entity_id=entity_id, text=text, audience=audience
        )
        receipt = await scenes.append_turn(
            context.canon, derive_step(context.caller, f"turn {n}"), request
        )
        turn_rows.append({"id": first_made(receipt, TurnDraft).id, "by": turn["by"]})
    said = count_in_words(len(turn_rows), "turn") if turn_rows else scene.title
    few = await context.readers_in_words(audience or scene.audience)
    note = _note([said], again=False, few=few)
    reply: Row = {
        **note,
        "scene": scene.id,
        "name": scene.title,
        "opened": opened or None,
        "turns": turn_rows,
    }
    if (closing := arguments.get("end_scene")) is not None:
        most = context.canon.policy.limits.summary
        summary = closing and checked_text(closing, most, path="/end_scene")
        proposals = await proposals_of(context.canon, scene.space, scene.id)
        made = [one for each in proposals if each.decision for one in each.decision.made]
        outcomes = await outcomes_among(context.canon, scene.space, made)
        await finalize_scene(
            context.canon,
            derive_step(context.caller, "end"),
            scene.id,
            outcomes=[each.id for each in outcomes],
            summary=summary,
        )
        reply |= {"note": f"Closed: {scene.title}.", "closed": True}
    elif turn_rows and has_more_readers:
        reply["hint"] = "The scene, its title and its summary have more readers."
    return without_empty(reply)


async def _read_spoken(
    context: CallContext, turn: Mapping[str, str], number: int
) -> tuple[Speaker, str | None, str]:
    """Return the speaker, its entity and the text of a turn.

    The name of a speaker without an entity becomes part of the text. A name that is similar to
    an entity's name is refused as a typing error.
    """
    most = context.canon.policy.limits.turn
    path, by = f"/turns/{number}", turn["by"].strip()
    text = checked_text(turn["text"], most, path=f"{path}/text")
    if (speaker := _BY.get(fold_text(by))) is not None:
        named = speaker is Speaker.USER and TurnDraft.name_before(text)  # which is no name
        return speaker, None, f"{speaker}: {text}" if named else text
    try:
        return Speaker.ENTITY, (await context.find_entity(by, path=f"{path}/by")).id, text
    except NotFound as error:
        if not by or is_uuid(by) or error.details.get("candidates"):
            raise
    return Speaker.USER, None, checked_text(f"{by}: {text}", most, path=f"{path}/text")


async def _require_scene(
    context: CallContext, arguments: Arguments, space: str, audience: Audience
) -> tuple[Scene | SceneDraft, bool]:
    """Return the open scene of this title, else open one; and whether it is new.

    Of several open scenes with the title, choose the one for the same readers, else the last.
    """
    if opened := await drafts_made_before(
        context.canon, scenes.opening_step(context.caller), context.space.id, SceneDraft
    ):
        return opened[0], True
    named = arguments["scene"].strip()
    query = SceneQuery(status=SceneStatus.ACTIVE, limit=_OPEN_MAX)
    playing = (
        await scenes.query_scenes(context.canon, context.caller, query, universe_id=space)
    ).items
    same = [each for each in playing if fold_text(each.title) == fold_text(named)]
    same.sort(key=lambda each: each.audience == audience)
    same += [each for each in playing if each.id == named.lower()]
    if same:
        return await _same_setting(context, same[-1], arguments), False
    if is_uuid(named) or arguments.get("turns") is None:
        found = await context.find_item(named, Scene, path="/scene")
        assert isinstance(found, Scene)  # noqa: S101 - the kind was asked for
        return await _same_setting(context, found, arguments), False
    location_name, late = (
        arguments.get("place"),
        await scenes.latest_story(context.canon, context.space.id),
    )
    asked = scenes.SceneRequest(
        universe_id=space,
        title=checked_text(named, context.canon.policy.limits.name, path="/scene"),
        location_id=None
        if location_name is None
        else (await context.find_entity(location_name, path="/place")).id,
        time_ref=await context.read_time(arguments, "when", at=late),
        time_words=await _time_to_keep(context, arguments.get("when"), late),
        audience=audience,
    )
    return await scenes.open_scene(context.canon, context.caller, asked), True


async def _same_setting(context: CallContext, scene: Scene, arguments: Arguments) -> Scene:
    """Return a known scene; set a time and a place that it lacks, and refuse others.

    Raises:
        InvalidInput: `scene.other-setting`.
    """
    changes: list[scenes.SceneChange] = []
    when, text = arguments.get("when"), _time_text_of(arguments.get("when"))
    if when is not None and (text is None or text != scene.time_words):
        at = await context.read_time(arguments, "when", at=scene)
        if at is not None and _is_more_precise(context, scene, at, text):
            changes.append(SceneDated(scene_id=scene.id, time_ref=at, time_words=text))
    if (location_name := arguments.get("place")) is not None:
        location = await context.find_entity(location_name, path="/place")
        known = scene.location_ref
        if known is None:
            changes.append(ScenePlaced(scene_id=scene.id, location_ref=EntityId(location.id)))
        elif known not in family_of(location):
            raise _other_setting(scene, "place")
    if changes:
        await scenes.update_scene(
            context.canon, derive_step(context.caller, "setting"), scene.id, changes
        )
    return scene


def _is_more_precise(context: CallContext, scene: Scene, at: Instant, text: str | None) -> bool:
    """Return whether a time is more precise than that of a scene; refuse another time."""
    held, given = scene_time(scene, context.calendar), time_as_given(at, text, context.calendar)
    if held is None or held.start == at:
        return held is None or given.grain < held.grain
    (begin, end), (start, stop) = (span_of(each, context.calendar) for each in (held, given))
    if given.counted or not (begin <= start < end or start <= begin < stop):
        raise _other_setting(scene, "when")
    return given.grain < held.grain


def _other_setting(scene: Scene, other: str) -> InvalidInput:
    message = f"Omit /{other}: {scene.title!r} has another one. Or give a new title in /scene."
    return InvalidInput("scene.other-setting", message, path=f"/{other}")


async def _time_to_keep(context: CallContext, when: str | None, story: Story | None) -> str | None:
    """Return the text of a time; that of the calendar if the time before is less precise."""
    text, calendar = _time_text_of(when), context.calendar
    start = None if story is None else await present_of(context.canon, story, calendar)
    if text is None or start is None or start.grain <= Grain.DAY:
        return text
    read = read_rough_time(text, calendar, start, path="/when")
    vague = read.counted and read.grain > time_as_given(read.start, text, calendar).grain
    return rough_in_words(read, calendar) if vague else text


def _time_text_of(when: str | None) -> str | None:
    """Return the time as it was written, or None if it is RFC 3339."""
    try:
        read_plain_time(when or "", "/when")
    except InvalidInput:
        return when
    return None


TOOLS: Final = (canon_tool("tell", _record_given, CONTRIBUTORS, limits=_LIMITS),)
