"""Exports of chats: conversations by their own id, and dated messages by their authors."""

from typing import Any

import pytest

from canonry.canon.ports.files import FileType, Reading, Record
from canonry.language.texts.sentences import Part
from canonry.records.domain.interpretations import FoundEntity, Interpretation
from tests.domain.extraction.papers import interpret_paper

NOON = 1_715_601_600  # 2024-05-13T12:00:00Z


def from_export(*objects: dict[str, Any], name: str = "chats.json") -> Interpretation:
    records = tuple(Record(kind="object", fields=each) for each in objects)
    return interpret_paper(Reading(kind=FileType.JSON, name=name, records=records))


def from_lines(text: str) -> list[FoundEntity]:
    parts = (Part(text=text),)
    return [*interpret_paper(Reading(kind=FileType.PLAIN, name="Ann.txt", parts=parts)).entities]


def chat_node(number: int, *parts: Any, at: float | None = NOON) -> dict[str, Any]:
    message = {
        "id": f"m{number}",
        "author": {"role": "user"},
        "create_time": at,
        "content": {"content_type": "text", "parts": list(parts)},
    }
    return {f"n{number}": {"id": f"n{number}", "message": message}}


def a_chat(number: int, *nodes: dict[str, Any]) -> dict[str, Any]:
    mapping = {"root": {"id": "root", "message": None}}
    for each in nodes:
        mapping |= each
    return {"title": "New chat", "conversation_id": f"c{number}", "mapping": mapping}


CLAUDE = {
    "uuid": "c1",
    "name": "Trip",
    "created_at": "2024-05-13T12:00:00Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "My passport expires soon",
            "created_at": "2024-05-13T14:00:00+02:00",
            "attachments": [{"file_name": "a.txt", "extracted_content": "number 7"}],
        }
    ],
}
TELEGRAM = {
    "name": "Ann",
    "type": "personal_chat",
    "id": 42,
    "messages": [
        {
            "id": 1,
            "type": "message",
            "date": "2024-05-13T14:00:00",
            "date_unixtime": str(NOON),
            "from": "Ann",
            "text": ["My ", {"type": "bold", "text": "passport"}, " expires soon"],
        }
    ],
}
SLACK = {
    "type": "message",
    "user": "U1",
    "text": "My passport expires soon",
    "ts": f"{NOON}.000100",
}


@pytest.mark.parametrize(
    ("export", "conversation", "author"),
    [
        (a_chat(1, chat_node(1, "My passport", "expires soon")), "c1", "user"),
        (CLAUDE, "c1", "human"),
        (TELEGRAM, "42", "Ann"),
        ({"about": "x", "chats": {"about": "y", "list": [TELEGRAM]}}, "42", "Ann"),
        (SLACK, "chats.json", "U1"),
    ],
)
def test_a_message_has_an_author_a_time_and_a_conversation(
    export: dict[str, Any], conversation: str, author: str
) -> None:
    chat, message = from_export(export).entities

    assert (chat.entity_type, chat.fields["conversation_id"]) == ("conversation", conversation)
    assert message.entity_type == "message"
    assert message.refers_to == (0,)
    assert message.fields["author"] == author
    assert message.fields["sent_at"].startswith("2024-05-13T12:00:00")
    assert "passport" in message.fields["content"]
    assert ("number 7" in message.fields["content"]) == (export is CLAUDE)


def test_chats_with_equal_titles_stay_separate_and_ordered() -> None:
    export = (
        a_chat(1, chat_node(2, "later", at=NOON + 9), chat_node(1, "first")),
        a_chat(2, chat_node(1, "other")),
    )
    found = from_export(*export).entities

    assert [each.fields["conversation_id"] for each in found] == ["c1", "c2", "c1", "c1", "c2"]
    assert [each.fields["content"] for each in found[2:]] == ["first", "later", "other"]
    assert len({each.fields["message_id"] for each in found[2:]}) == 3


def test_a_message_keeps_its_picture_and_an_empty_one_is_reported() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://1"}
    result = from_export(
        a_chat(1, chat_node(1, picture), chat_node(2), chat_node(3, "hello", at=None))
    )

    assert [each.entity_type for each in result.entities] == ["conversation", "message", "message"]
    assert result.entities[2].fields["content_parts_asset_pointer"] == "file://1"
    assert any("1 messages without text" in each for each in result.warnings)


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("[13.05.24, 09:00:12] Ann: Hello", "2024-05-13T09:00:12"),
        ("13/05/2024, 09:00 - Ann: Hello", "2024-05-13T09:00"),
        ("[5/13/24, 9:00:12\u202fPM] Ann: Hello", "2024-05-13T21:00:12"),
        ("2024-05-13, 09:00 - Ann: Hello", "2024-05-13T09:00"),
    ],
)
def test_a_whatsapp_chat_has_its_messages_with_all_lines(line: str, sent: str) -> None:
    chat, first, second = from_lines(f"{line}\nand more\n{line.replace('Ann', 'Bo')}")

    assert chat.fields["participants"] == ["Ann", "Bo"]
    assert first.fields["content"] == "Hello\nand more"
    assert (first.fields["author"], first.fields["sent_at"]) == ("Ann", sent)
    assert second.fields["author"] == "Bo"


def test_an_ambiguous_day_stays_as_written() -> None:
    _, first, _ = from_lines("[05/06/24, 09:00:12] Ann: Hi\n[05/06/24, 09:01:12] Bo: Ho")

    assert first.fields["sent_at"] == "05/06/24, 09:00:12"


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "1", "mapping": {"a": "b"}, "title": "Map"},
        {"name": "Box", "messages": ["a", "b"]},
        {"text": "a", "ts": "1"},
        {"chats": {"list": "none"}},
    ],
)
def test_other_objects_are_no_chats(fields: dict[str, Any]) -> None:
    assert "conversation" not in {each.entity_type for each in from_export(fields).entities}


@pytest.mark.parametrize(
    "line",
    [
        "2024-05-12 10:00:00 ERROR: disk full",
        "[2024-05-12 10:00:00] ERROR: disk full",
        "13.05.2024 10:00 Meeting: the budget",
        "13/05/2024, 10:00 Dentist: checkup",
    ],
)
def test_lines_of_a_log_or_schedule_are_no_chat(line: str) -> None:
    assert [each.entity_type for each in from_lines(f"{line}\n{line}")] == ["note"]


def test_a_system_line_is_no_part_of_the_previous_message() -> None:
    head = "13/05/2024, 09:0"
    chat, *messages = from_lines(
        f"{head}0 - Ann: Hello\n{head}1 - Ann added Bo\n{head}2 - Bo: Hi\n"
    )

    assert chat.fields["participants"] == ["Ann", "Bo"]
    assert [(m.fields.get("author"), m.fields["content"]) for m in messages] == [
        ("Ann", "Hello"),
        (None, "Ann added Bo"),
        ("Bo", "Hi"),
    ]


def test_values_of_other_types_do_not_stop_an_export() -> None:
    said = {"author": 5, "content": {"parts": ["Hi"]}}
    times: list[Any] = ["now", 5.5, None, [1]]
    nodes = {str(n): {"message": {**said, "create_time": at}} for n, at in enumerate(times)}
    claude = {"uuid": "a", "chat_messages": [{"text": "Hi", "sender": "human", "attachments": 5}]}
    slack = {"user": "U1", "ts": "1715000000.000100", "text": None}

    assert len(from_export({"id": "c", "mapping": nodes}).entities) == 5
    assert len(from_export(claude).entities) == 2
    assert [each.entity_type for each in from_export(slack).entities] == ["conversation"]


def test_a_mapping_without_messages_is_no_conversation() -> None:
    (found,) = from_export({"id": "x", "mapping": {"a": {"b": 1}}, "n": 5}).entities

    assert found.entity_type != "conversation"
    assert found.fields["n"] == 5


def test_content_that_is_no_conversation_is_reported() -> None:
    chat = {"id": 1, "messages": [{"from": "Ann", "date": "2024-05-13T10:00:00", "text": "Hi"}]}
    result = from_export({"chats": {"list": [chat]}, "contacts": {"list": [{"name": "Bo"}]}})

    assert any("1 objects of the file" in each for each in result.warnings)


def test_a_message_keeps_its_id_in_a_later_export() -> None:
    lines = [f"[12.03.24, 09:0{n // 2}:00] {'Ann' if n % 3 else 'Bo'}: line {n}" for n in range(8)]
    ids = [
        {
            e.fields["content"]: e.fields["message_id"]
            for e in from_lines("\n".join(part))
            if e.entity_type == "message"
        }
        for part in (lines, lines[2:])
    ]

    assert ids[1].items() <= ids[0].items()
    assert len(set(ids[0].values())) == 8
