"""Input that is refused ends with 2, whatever is wrong with it; a defect of ours ends with 5."""

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run_canonry

JUNK = {
    "nothing": b"",
    "bytes": b"\xff\xfe\x00\x01",
    "a number": b"7\n",
    "an object": b"{}\n",
    "a list": b"[1, 2]\n",
    "depth": b"[" * 100_000,
    "another format": b'{"format": "other", "version": 1}\n',
    "a later version": b'{"format": "canonry-log", "version": 99}\n',
    "no manifest": b'{"format": "canonry-log", "version": 1}\n',
}

COMMANDS = {
    "log": ("import", "log", "FILE"),
    "transcript": ("import", "transcript", "FILE", "--universe", "Home"),
    "heads": ("verify", "--against", "FILE"),
    "settings": ("doctor", "--config", "FILE"),
}
"""Commands that read a file of the user's."""

ACCEPTED = {("settings", "nothing")}
"""No settings are settings as well; doctor says what is wrong with the store by 0 or 1."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The lines of an exported log, the last but one of several commits."""
    folder = tmp_path_factory.mktemp("log")
    turns = [{"speaker": "GM", "text": "The chest is open."}]
    (folder / "s.json").write_text(json.dumps({"title": "Chest", "turns": turns}))
    data = ("--data", str(folder / "data"))
    done = run_canonry("import", "transcript", str(folder / "s.json"), "--universe", "Home", *data)
    assert done.returncode == 0, done.stderr
    assert run_canonry("export", str(folder / "log.jsonl"), *data).returncode == 0
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("junk", JUNK)
def test_a_malformed_file_is_refused_with_exit_code_2(
    command: str, junk: str, tmp_path: Path
) -> None:
    if (command, junk) in ACCEPTED:
        return
    file = tmp_path / "given.json"
    file.write_bytes(JUNK[junk])
    data = tmp_path / "data"
    if command == "heads":
        run_canonry("demo", "--data", str(data))
    words = (str(file) if word == "FILE" else word for word in COMMANDS[command])
    done = run_canonry(*words, "--data", str(data))

    assert done.returncode == 2, done.stderr
    assert "defect" not in done.stderr


def entries_of(body: Any) -> Any:
    return body["entries"][0]


Change = Callable[[dict[str, Any], dict[str, Any], list[Any]], object]
CHANGES: dict[str, Change] = {
    "an unknown kind": lambda line, body, parts: entries_of(body).__setitem__(0, "other.made"),
    "a later encoding": lambda line, body, parts: entries_of(body).__setitem__(1, 999),
    "an encoding in words": lambda line, body, parts: entries_of(body).__setitem__(1, "x"),
    "ids that are none": lambda line, body, parts: entries_of(body).__setitem__(2, 7),
    "no actor": lambda line, body, parts: body.pop("actor"),
    "half an actor": lambda line, body, parts: body.update(actor=[1, 2]),
    "a date beyond time": lambda line, body, parts: assert_refused_twice(
        line, body, recorded_at=10**30
    ),
    "a date in words": lambda line, body, parts: assert_refused_twice(line, body, recorded_at="x"),
    "a space that is a number": lambda line, body, parts: assert_refused_twice(line, body, space=5),
    "an empty payload": lambda line, body, parts: parts[0].update(payload="{}"),
    "a payload of no JSON": lambda line, body, parts: parts[0].update(payload="{"),
    "a deep payload": lambda line, body, parts: parts[0].update(payload="[" * 100_000),
    "a change of nothing": lambda line, body, parts: rename_kind(parts),
}
"""Changes by somebody who could seal the log again."""


def assert_refused_twice(line: dict[str, Any], body: dict[str, Any], **said: Any) -> None:
    line.update(said)
    body.update(said)


def rename_kind(parts: list[Any]) -> None:
    for part in parts:
        payload = json.loads(part["payload"])
        payload |= {name: "\0x" for name in ("id", "entity_id", "story_id") if name in payload}
        part["payload"] = json.dumps(payload, separators=(",", ":"))


def sealed_again(log: list[Any], change: Change) -> Iterator[str]:
    """The lines of the log, in which commits are changed and all hashes are right."""
    head, *commits, manifest = json.loads(json.dumps(log))
    heads: dict[Any, list[Any]] = {}
    yield json.dumps(head)
    for number, line in enumerate(commits):
        body = json.loads(line["body"])
        if number >= 1:
            change(line, body, line["parts"])
        body["previous"] = heads.get(line["space"], [0, body["previous"]])[1]
        for entry, part in zip(body.get("entries", ()), line["parts"], strict=True):
            salted = bytes.fromhex(part["salt"]) + part["payload"].encode()
            entry[3] = sha256(salted).hexdigest()
        text = json.dumps(body, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        line.update(body=text, hash=sha256(text.encode()).hexdigest())
        heads[line["space"]] = [line["position"], line["hash"]]
        yield json.dumps(line)
    manifest["manifest"]["heads"] = heads
    yield json.dumps(manifest)


@pytest.mark.parametrize("what", CHANGES)
def test_a_resealed_log_is_refused_with_exit_code_2(
    log: list[Any], what: str, tmp_path: Path
) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(sealed_again(log, CHANGES[what])))

    done = run_canonry("import", "log", str(file), "--data", str(tmp_path / "data"))

    assert done.returncode == 2, done.stderr
    assert "import.damaged" in done.stderr


def test_an_unchanged_log_is_accepted(log: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(sealed_again(log, lambda line, body, parts: None)))

    assert run_canonry("import", "log", str(file), "--data", str(tmp_path / "data")).returncode == 0
