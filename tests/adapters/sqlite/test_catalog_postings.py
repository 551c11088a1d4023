"""Postings find exactly the documents that hold a text, by whatever way they are intersected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.adapters.sqlite import catalog_postings
from canonry.adapters.sqlite.catalog_postings import (
    bits_of,
    documents_with,
    flags_of,
    key_of,
    postings,
    told_otherwise,
)

TEXTS = st.lists(
    st.tuples(*[st.text(alphabet="ab\u00df\U0001f409", max_size=9)] * 3), min_size=1, max_size=40
)
SOUGHT = st.text(alphabet="ab\u00df\U0001f409", min_size=1, max_size=8)


def found(texts: list[tuple[str, str, str]], sought: str) -> list[int]:
    held = dict(postings(texts, range(len(texts)), len(texts)))
    documents = documents_with(sought, len(texts), held.get, lambda key: len(held.get(key) or b""))
    return [int(document) for document in documents]


@given(texts=TEXTS, sought=SOUGHT)
def test_a_text_is_found_where_it_stands_and_nowhere_else(
    texts: list[tuple[str, str, str]], sought: str
) -> None:
    holding = [n for n, text in enumerate(texts) if any(sought in part for part in text)]

    assert found(texts, sought) == holding


@given(texts=TEXTS, sought=SOUGHT)
def test_looking_up_one_by_one_finds_the_same(
    texts: list[tuple[str, str, str]], sought: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog_postings, "_FEWER", 0)
        one_by_one = found(texts, sought)
    assert one_by_one == found(texts, sought)


@given(texts=TEXTS)
def test_postings_ascend_by_key_and_none_is_empty(texts: list[tuple[str, str, str]]) -> None:
    told = list(postings(texts, range(len(texts)), len(texts)))

    keys = [key for key, _ in told]
    assert keys == sorted(set(keys))
    assert all(posts for _, posts in told)


def test_no_text_reaches_into_the_next() -> None:
    assert found([("ab", "cd", "ef"), ("gh", "", "")], "bcd") == []
    assert found([("ab", "cd", "ef"), ("gh", "", "")], "fg") == []


def test_the_key_of_a_shorter_gram_is_smaller() -> None:
    assert key_of("\U0010ffff") < key_of("aa") < key_of("\U0010ffff\U0010ffff") < key_of("aaa")


@given(st.integers(1, 70).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_bits_come_back_as_flags(given_bits: tuple[int, set[int]]) -> None:
    size, documents = given_bits

    flags = flags_of(bits_of(sorted(documents), size), size)

    assert {n for n in range(size) if flags[n]} == documents


@given(texts=TEXTS, data=st.data())
def test_only_living_documents_are_compared(
    texts: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    size = len(texts)
    gone = data.draw(st.sets(st.integers(0, size - 1)))
    alive = [n for n in range(size) if n not in gone]
    changed = data.draw(st.sampled_from(alive)) if alive else None
    held = list(postings(texts, range(size), size))
    rest = [texts[n] for n in alive]
    flags = flags_of(bits_of(alive, size), size)

    assert not set(told_otherwise(held, postings(rest, alive, size), flags))

    if changed is not None:
        rest[alive.index(changed)] = ("zzz", "", "")
        assert set(told_otherwise(held, postings(rest, alive, size), flags)) == {changed}
