"""Storing files and signing links: strict content, one user's files apart from another's."""

import base64
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.ports.files import FILE_BYTES_MAX, FileHint, FileType
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import Account
from canonry.log.items.sources import account_space, source_id_of
from canonry.records.usecases.files import (
    GivenFile,
    decode_content,
    filing_of,
    given_file,
    hint_of,
    link_to,
    open_link,
    sign_url,
    storage_key,
    store_file,
)
from canonry.records.usecases.ingest_file import ingest_file
from canonry.records.usecases.record_source import interpret_file, plan_run
from canonry.testing.clocks import HandClock, a_caller
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.moments import SECOND, Instant
from canonry.values.provenance import Actor

pytestmark = pytest.mark.anyio

ADA = "00000000-0000-0000-0000-0000000000ad"
EVE = "00000000-0000-0000-0000-0000000000ee"
WORDS = b"Dear Ada, words."


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def keep_file(canon: Canon, user: str = ADA, data: bytes = WORDS) -> str:
    """The storage key of a file that the user has ingested."""
    caller = replace(a_caller(), actor=Actor(agent_id="a-1", agent_type="x", user=user))
    account = Account(user_id=user, space=account_space(user))
    given = GivenFile(data=data, hint=FileHint(mime_type="text/plain", name="h\xe9llo.txt"))
    done = await ingest_file(canon, caller, account, given, interpret=False)
    return done.source.files[0]


@pytest.mark.parametrize(
    "content", ["a", "ab=", "****", "QUJ D", "QUJD====", "QUJDRA", "\xe9===", "-_8="]
)
def test_base64_is_read_strictly(content: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        decode_content(content)

    assert refused.value.code == "file.base64"


def test_lines_of_base64_are_read() -> None:
    assert decode_content("QUJD\r\nREVG\n") == b"ABCDEF"


def test_a_file_of_the_largest_size_passes_and_one_more_byte_does_not() -> None:
    assert len(decode_content(encode_base64(b"x" * FILE_BYTES_MAX))) == 52_428_800
    for size in (FILE_BYTES_MAX + 1, FILE_BYTES_MAX + 9):
        with pytest.raises(InvalidInput) as refused:
            decode_content(encode_base64(b"x" * size))
        assert refused.value.code == "file.too-large"
        assert refused.value.details["max_size_bytes"] == FILE_BYTES_MAX


@pytest.mark.parametrize(
    "mime_type", ["pdf", "text/", "/plain", "text/plain; charset", "a b/c", "x" * 300]
)
def test_an_invalid_media_type_is_refused(mime_type: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        hint_of(mime_type, None)

    assert refused.value.code == "file.mime-type"


def test_a_hint_has_a_name_without_folders_and_the_named_charset() -> None:
    hint = hint_of("Text/CSV; charset=Windows-1252", "C:\\bills\\may\u202e.csv")

    assert (hint.media_type, hint.charset_name, hint.name) == (
        "text/csv",
        "windows-1252",
        "may.csv",
    )


async def test_a_file_is_kept_under_its_hash_and_real_kind() -> None:
    canon = compose_memory()
    given = given_file(encode_base64(b"a,b,c\n1,2,3\n"), "application/octet-stream", None)

    stored = await store_file(canon, ADA, given, bucket="tables")

    assert stored.kind is FileType.CSV
    assert str(stored.key) == f"tables/{ADA}/{stored.key.digest}"
    assert stored == await store_file(canon, ADA, given, bucket="tables")


async def test_a_program_and_a_bad_bucket_are_refused_before_storing() -> None:
    canon = compose_memory()
    program = GivenFile(data=b"MZ\0\0" * 9, hint=FileHint(mime_type="text/plain"))
    words = GivenFile(data=WORDS, hint=FileHint())

    for given, bucket, code in (
        (program, None, "document.unsupported"),
        (words, "../up", "file.bucket"),
    ):
        with pytest.raises(InvalidInput) as refused:
            await store_file(canon, ADA, given, bucket=bucket)
        assert refused.value.code == code
    assert await filing_of(canon).blobs_of(ADA).list_digests(limit=9) == []


async def test_a_link_leads_to_the_file_until_it_expires() -> None:
    clock = HandClock()
    canon = compose_memory(clock=clock)
    key = await keep_file(canon)
    began = clock.now()

    signed = await sign_url(canon, ADA, key, 60)
    path, _, query = signed.url.partition("?")
    expires, _, signature = query.removeprefix("expires=").partition("&signature=")
    found = await open_link(canon, path, expires, signature)

    assert found is not None
    assert (found.data, found.name) == (WORDS, "h\xe9llo.txt")
    assert found.mime_type == "text/plain"
    assert 59 * SECOND < signed.expires_at - began <= 60 * SECOND
    clock.move_by(60 * SECOND)
    assert await open_link(canon, path, expires, signature) is None


async def test_another_users_file_looks_missing() -> None:
    canon = compose_memory()
    key = await keep_file(canon)
    await keep_file(canon, EVE, b"Other words.")
    asked: list[tuple[str, Callable[[str], str]]] = [
        (EVE, lambda key: key),
        (EVE, lambda key: key.replace(ADA, EVE)),
        (ADA, lambda key: key[:-1] + ("0" if key[-1] != "0" else "1")),
        (ADA, lambda key: "/etc/passwd"),
        (ADA, lambda key: f"file://{key}"),
        (ADA, lambda key: ""),
    ]
    result = set()
    for user, changed in asked:
        with pytest.raises(NotFound) as refused:
            await sign_url(canon, user, changed(key))
        result.add((refused.value.code, refused.value.message))

    assert len(result) == 1


@pytest.mark.parametrize("seconds", [0, -1, 7 * 86_400 + 1])
async def test_a_link_holds_a_second_to_a_week(seconds: int) -> None:
    canon = compose_memory()

    with pytest.raises(InvalidInput) as refused:
        await sign_url(canon, ADA, await keep_file(canon), seconds)

    assert refused.value.code == "file.expiry"


async def test_an_unreadable_file_is_reported_with_the_reason() -> None:
    canon = compose_memory()

    with pytest.raises(InvalidInput) as refused:
        await interpret_file(canon, plan_run(canon), b"{broken", FileHint(name="a.json"), ())

    assert refused.value.code == "document.damaged"
    assert "The file is kept" in refused.value.message


def test_an_unconfigured_interpreter_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        plan_run(compose_memory(), {"provider": "openai"})

    assert refused.value.code == "interpretation.provider"
    assert storage_key("x") is None
    assert source_id_of(ADA, "a") != source_id_of(EVE, "a")


async def test_a_link_to_unreferenced_bytes_leads_nowhere() -> None:
    """As after an erasure: the link was signed while the file was there, and still holds."""
    canon = compose_memory()
    held = storage_key(await keep_file(canon))
    assert held is not None
    await filing_of(canon).blobs_of(EVE).put_bytes(WORDS)
    stray = replace(held, user_id=EVE)
    expires = Instant((canon.clock.now() // SECOND + 60) * SECOND)
    _, _, query = link_to(stray, filing_of(canon).secret, expires).partition("?")
    result = parse_qs(query)

    with pytest.raises(NotFound) as refused:
        await open_link(canon, str(stray), result["expires"][0], result["signature"][0])

    assert refused.value.code == "file.unknown"
