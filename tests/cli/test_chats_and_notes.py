"""`canonry import chats` and `canonry import notes`: into the account, and again adds nothing."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from canonry.canon.ports.files import Record
from canonry.cli import imports as chat_exports
from canonry.documents.extraction.chats import extract_chat_lines, extract_chats
from tests.cli.run import run_canonry


def bring_folder(folder: Path, kind: str, *paths: Path) -> dict[str, Any]:
    done = run_canonry("import", kind, *map(str, paths), "--data", str(folder / "data"), "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def find_titles(folder: Path, kind: str) -> list[str]:
    asked = ("find", "--type", kind, "--space", "account", "--json")
    rows = json.loads(run_canonry(*asked, "--data", str(folder / "data")).stdout)["found"]
    return sorted(row["name"] for row in rows)


def an_export(chats: int, messages: int) -> list[dict[str, Any]]:
    def node(chat: int, number: int) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [f"line {number} of {chat}"]}
        author = {"role": "user"}
        at = 1_700_000_000 + number
        said = {"id": f"m{number}", "author": author, "create_time": at, "content": content}
        return {"id": f"n{number}", "message": said}

    return [
        {
            "title": f"Chat {chat}",
            "conversation_id": f"c{chat}",
            "mapping": {f"n{n}": node(chat, n) for n in range(messages)},
        }
        for chat in range(chats)
    ]


def test_a_chat_export_becomes_records_once(tmp_path: Path) -> None:
    export = tmp_path / "conversations.json"
    export.write_text(json.dumps(an_export(2, 3)), encoding="utf-8")
    first, again = (bring_folder(tmp_path, "chats", export) for _ in range(2))

    assert (first["records"], first["sources"], first["unread"]) == (8, 1, {})
    assert (again["known"], again["sources"], again.get("records", 0)) == (1, 1, 0)
    assert find_titles(tmp_path, "conversation") == ["Chat 0", "Chat 1"]


def test_a_note_vault_keeps_its_links_and_skips_hidden_folders(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for name, text in {
        "Home.md": "---\ntags: [house]\n---\nSee [[Roof|it]], [[Nowhere]], [p](sub/My%20Plan.md).",
        "Roof.md": "# Roof\n\nRed tiles.",
        "sub/My Plan.md": "For [[home]].",
        ".obsidian/hidden.md": "# Hidden",
    }.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text, encoding="utf-8")
    first, again = (bring_folder(tmp_path, "notes", vault) for _ in range(2))

    assert (first["files"], first["records"], first["links"]) == (3, 3, 3)
    assert (again["known"], again["links"], again.get("records", 0)) == (3, 0, 0)
    assert find_titles(tmp_path, "note") == ["Home", "My Plan", "Roof"]


def test_an_unreadable_file_is_reported_and_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{ broken", encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(an_export(1, 1)), encoding="utf-8")
    result = bring_folder(tmp_path, "chats", tmp_path / "a.json", tmp_path / "b.json")

    assert (list(result["unread"]), result["records"]) == (["a.json"], 2)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_a_large_export_is_read_conversation_by_conversation(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_exports, "_READ", size)
    export, whole = tmp_path / "conversations.json", an_export(3, 2)
    export.write_text("\ufeff" + json.dumps(whole, indent=1), encoding="utf-8")

    assert [json.loads(each) for each in chat_exports.parts_of(export)] == [[one] for one in whole]


def test_other_lists_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_exports, "_READ", 1)
    export = tmp_path / "2024-03-12.json"
    export.write_text(json.dumps([{"user": "U1", "text": "hi", "ts": "1710234000.0001"}] * 2))

    assert list(chat_exports.parts_of(export)) == [export.read_bytes()]


def a_group(messages: int) -> dict[str, Any]:
    """A group chat of Telegram, whose members wrote a message a second in turn."""
    return {
        "name": "Club",
        "type": "private_group",
        "id": 7,
        "messages": [
            {
                "id": number,
                "type": "message",
                "date": "2024-05-13T09:00:00",
                "date_unixtime": str(1_700_000_000 + number),
                "from": f"Member {number % 3}",
                "text": f"line {number}",
            }
            for number in range(messages)
        ],
    }


def in_parts(export: Path, content: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The parts of an export, read seven characters at a time, of two messages at most."""
    monkeypatch.setattr(chat_exports, "_READ", 7)
    monkeypatch.setattr(chat_exports, "_PART", 2)
    export.write_text(json.dumps(content), encoding="utf-8")
    return [json.loads(part) for part in chat_exports.parts_of(export)]


def test_a_long_chat_is_read_in_parts_with_authors_and_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = a_group(5)
    parts = in_parts(tmp_path / "result.json", whole, monkeypatch)

    assert [len(part["messages"]) for (part,) in parts] == [2, 2, 1]
    assert [said for (part,) in parts for said in part["messages"]] == whole["messages"]
    shared = {"participants": ["Member 0", "Member 1", "Member 2"], "name": "Club", "id": 7}
    shared |= {"create_time": 1_700_000_000, "update_time": 1_700_000_004}
    assert all(part.items() >= shared.items() for (part,) in parts)


def test_long_assistant_chats_in_an_export_are_divided_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (chat,) = an_export(1, 3)
    parts = in_parts(tmp_path / "a.json", [chat, {"uuid": "u", "chat_messages": []}], monkeypatch)
    assert [list(part["mapping"]) for (part,) in parts[:2]] == [["n0", "n1"], ["n2"]]
    assert parts[2:] == [[{"uuid": "u", "chat_messages": []}]]

    whole = {"about": "x", "contacts": {"list": []}, "chats": {"about": "y", "list": [a_group(3)]}}
    first, second = in_parts(tmp_path / "b.json", whole, monkeypatch)
    assert (first[0]["about"], "about" in second[0]) == ("x", False)
    lists = [each["chats"]["list"][0]["messages"] for (each,) in (first, second)]
    assert [said["id"] for said in lists[0] + lists[1]] == [0, 1, 2]


def test_a_long_chat_is_imported_once(tmp_path: Path) -> None:
    export = tmp_path / "result.json"
    export.write_text(json.dumps(a_group(8_000)), encoding="utf-8")
    first, again = (bring_folder(tmp_path, "chats", export) for _ in range(2))

    assert (first["sources"], first["records"], first["unread"]) == (4, 8_004, {})
    assert (again["known"], again["sources"], again["records"]) == (4, 4, 0)
    assert find_titles(tmp_path, "conversation") == ["Club"]


def test_a_longer_chat_takes_no_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_exports, "_READ", 1 << 14)
    monkeypatch.setattr(chat_exports, "_PART", 100)
    export = tmp_path / "result.json"
    with export.open("w", encoding="utf-8") as file:
        file.write('{"name": "Club", "id": 7, "messages": [')
        said = a_group(1)["messages"][0]
        file.writelines(
            ("," if n else "") + json.dumps({**said, "id": n, "text": "x" * 900})
            for n in range(10_001)
        )
        file.write("]}")
    tracemalloc.start()
    try:
        count = sum(len(json.loads(part)[0]["messages"]) for part in chat_exports.parts_of(export))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert count == 10_001
    assert most < export.stat().st_size / 10


def a_text(messages: int) -> str:
    """A chat of WhatsApp with days that only its end tells apart from months."""
    lines = ["01/02/2024, 08:00 - Messages are encrypted"]
    for n in range(messages):
        day = f"{n * 28 // messages + 1:02}/02/2024"
        clock = f"{n // 60 % 24:02}:{n % 60:02}"
        lines.append(f"{day}, {clock} - Member {n % 3}: line {n}" + "\nand more" * (n % 5 == 0))
    return "\n".join(lines) + "\n"


def test_a_long_whatsapp_text_is_read_in_parts_like_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = a_text(500)
    whole = [*extract_chat_lines(text, "Club.txt")]
    export = tmp_path / "Club.txt"
    export.write_text(text, encoding="utf-8")
    monkeypatch.setattr(chat_exports, "_READ", 7)
    monkeypatch.setattr(chat_exports, "_PART", 90)
    parts = [json.loads(part) for part in chat_exports.parts_of(export, "Club.txt")]
    records = [Record(kind="object", fields=fields) for fields in parts]
    found = [each for record in records for each in extract_chats([record], "Club.txt", [])]

    assert [len(part["messages"]) for part in parts] == [90, 90, 90, 90, 90, 51]
    assert found[0].fields == whole[0].fields
    assert found[0].fields["participants"] == ["Member 0", "Member 1", "Member 2"]
    messages = [each.fields for each in found if each.entity_type == "message"]
    assert messages == [each.fields for each in whole[1:]]
    assert messages[1]["sent_at"] == "2024-02-01T00:00"
    assert len({each["message_id"] for each in messages}) == 501


def test_any_other_long_text_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_exports, "_READ", 7)
    export = tmp_path / "log.txt"
    export.write_text("2024-05-12 10:00:00 ERROR: disk full\n" * 9, encoding="utf-8")

    assert list(chat_exports.parts_of(export)) == [export.read_bytes()]


def test_a_long_whatsapp_text_is_imported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_exports, "_READ", 1 << 16)
    export = tmp_path / "Club.txt"
    export.write_text(a_text(4_100), encoding="utf-8")
    first, again = (bring_folder(tmp_path, "chats", export) for _ in range(2))

    assert (first["sources"], first["records"], first["unread"]) == (3, 4_104, {})
    assert (again["known"], again["sources"], again["records"]) == (3, 3, 0)
    assert find_titles(tmp_path, "conversation") == ["Club"]


def test_a_longer_text_takes_no_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_exports, "_READ", 1 << 14)
    monkeypatch.setattr(chat_exports, "_PART", 100)
    export = tmp_path / "Club.txt"
    most = []
    for messages in (3_000, 15_000):
        export.write_text(a_text(messages), encoding="utf-8")
        tracemalloc.start()
        try:
            parts = chat_exports.parts_of(export)
            assert sum(part.count(b'"date"') for part in parts) == messages + 1
            most.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()

    assert most[1] < 1.5 * most[0]
