"""`canonry import chats` and `canonry import notes`: into the account, and again adds nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from canonry.cli import imports
from tests.cli.run import canonry


def brought(folder: Path, kind: str, *paths: Path) -> dict[str, Any]:
    done = canonry("import", kind, *map(str, paths), "--data", str(folder / "data"), "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def found(folder: Path, kind: str) -> list[str]:
    asked = ("find", "--type", kind, "--space", "account", "--json")
    rows = json.loads(canonry(*asked, "--data", str(folder / "data")).stdout)["found"]
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


def test_an_export_of_chats_becomes_records_once(tmp_path: Path) -> None:
    export = tmp_path / "conversations.json"
    export.write_text(json.dumps(an_export(2, 3)), encoding="utf-8")
    first, again = (brought(tmp_path, "chats", export) for _ in range(2))

    assert (first["records"], first["sources"], first["unread"]) == (8, 1, {})
    assert (again["known"], again["sources"], again.get("records", 0)) == (1, 1, 0)
    assert found(tmp_path, "conversation") == ["Chat 0", "Chat 1"]


def test_a_vault_of_notes_keeps_its_links_and_leaves_hidden_folders_out(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for name, text in {
        "Home.md": "---\ntags: [house]\n---\nSee [[Roof|it]], [[Nowhere]], [p](sub/My%20Plan.md).",
        "Roof.md": "# Roof\n\nRed tiles.",
        "sub/My Plan.md": "For [[home]].",
        ".obsidian/hidden.md": "# Hidden",
    }.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text, encoding="utf-8")
    first, again = (brought(tmp_path, "notes", vault) for _ in range(2))

    assert (first["files"], first["records"], first["links"]) == (3, 3, 3)
    assert (again["known"], again["links"], again.get("records", 0)) == (3, 0, 0)
    assert found(tmp_path, "note") == ["Home", "My Plan", "Roof"]


def test_a_file_that_cannot_be_read_is_reported_and_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{ broken", encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(an_export(1, 1)), encoding="utf-8")
    told = brought(tmp_path, "chats", tmp_path / "a.json", tmp_path / "b.json")

    assert (list(told["unread"]), told["records"]) == (["a.json"], 2)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_a_large_export_is_read_conversation_by_conversation(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "_READ", size)
    export, whole = tmp_path / "conversations.json", an_export(3, 2)
    export.write_text("\ufeff" + json.dumps(whole, indent=1), encoding="utf-8")

    assert [json.loads(each) for each in imports._parts(export)] == [[one] for one in whole]


def test_other_lists_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "_READ", 1)
    export = tmp_path / "2024-03-12.json"
    export.write_text(json.dumps([{"user": "U1", "text": "hi", "ts": "1710234000.0001"}] * 2))

    assert list(imports._parts(export)) == [export.read_bytes()]
