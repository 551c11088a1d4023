"""Tokens of the default model: those of the library that it was published with, text by text."""

import random
import unicodedata
from hashlib import sha256
from importlib.resources import files

import pytest
from tokenizers import BertWordPieceTokenizer

from canonry.recall.embedders.onnx import WordPiece, uncased_tokenizer

VOCABULARY = files("canonry.recall.embedders").joinpath("vocabulary/uncased.txt")
KNOWN = unicodedata.ucd_3_2_0
TEXTS = [
    "The dragon Smaug sleeps beneath Erebor, doesn't it?",
    "Ünïcödé ﬁ ﬀ İstanbul ΑΣ ΣΑΣ ß Ǆ",
    "小さな村 and 漢字 beside letters, 한국어 too",
    "soft\u00adhyphen zero\u200bwidth \ufeffbom \x00nul tab\tline\r\nend \x0b\x85 \ufffd",
    "$5 + 3 = 8 ^ ~ `code` <b> | «guillemets» „quotes“ — … ¿por qué?",
    "a" * 100,
    "a" * 101,
    "[CLS] nobody begins [SEP] here [UNK] [MASK] [PAD]",
    "",
    " \n ",
]


@pytest.fixture(scope="module")
def published() -> BertWordPieceTokenizer:
    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer._tokenizer.encode_special_tokens = True  # as letters: a text says what it likes
    return tokenizer


def is_settled(character: str) -> bool:
    """Return whether Unicode has had a character for long, always as the same kind."""
    category = KNOWN.category(character)
    return category not in {"Cn", "Cs"} and category == unicodedata.category(character)


def encode_text(tokens: WordPiece, text: str) -> list[int]:
    return [tokens.begin, *tokens.encode_text(text), tokens.end]


def test_the_vocabulary_equals_the_published_one() -> None:
    digest = sha256(VOCABULARY.read_bytes()).hexdigest()

    assert digest == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_equal_those_of_the_published_tokenizer(
    text: str, published: BertWordPieceTokenizer
) -> None:
    assert encode_text(uncased_tokenizer(), text) == published.encode(text).ids


def test_every_character_is_tokenized_as_published(published: BertWordPieceTokenizer) -> None:
    # Editions of Unicode differ in what they know, and the library's is another than Python's.
    texts = [f"a{character}b" for character in map(chr, range(0x110000)) if is_settled(character)]

    wanted = published.encode_batch(texts)

    assert [
        t
        for t, w in zip(texts, wanted, strict=True)
        if encode_text(uncased_tokenizer(), t) != w.ids
    ] == []


def test_random_texts_have_the_published_tokens(published: BertWordPieceTokenizer) -> None:
    lots = random.Random(7)
    letters = list(filter(is_settled, map(chr, range(0x20, 0x3100))))
    texts = ["".join(lots.choices(letters[:600], k=40)) for _ in range(500)]
    texts += ["".join(lots.choices(letters, k=40)) for _ in range(500)]

    wanted = published.encode_batch(texts)

    assert [
        t
        for t, w in zip(texts, wanted, strict=True)
        if encode_text(uncased_tokenizer(), t) != w.ids
    ] == []


def test_a_vocabulary_without_the_required_tokens_is_refused() -> None:
    with pytest.raises(KeyError):
        WordPiece(["the", "dragon"])
