"""Likeness: labelled pairs of texts, half of which the threshold was chosen on."""

import random

import pytest

from canonry.world.domain.admission.safety import (
    NEAR,
    RecentTexts,
    TextFingerprint,
    text_similarity,
)

PLACE = ("Layer.Add", "loc:inn")
CHOSEN_ON = (
    ("The wind howls around the old tower.", "The wind howls around the old towers.", True),
    (
        "A cold draught creeps under the cellar door.",
        "A cold draught creeps under the cellar door!!",
        True,
    ),
    ("Lanterns sway above the market stalls.", "Lanterns sway above the markets stalls.", True),
    ("The smell of fish hangs over the quay.", "THE SMELL of fish hangs over the quay", True),
    (
        "Somebody hums a sad tune by the fire tonight.",
        "Somebody hums a sad tune by the fire, tonight…",
        True,
    ),
    (
        "Dust dances in the light of the high windows.",
        "Dust dances in light of the high windows",
        True,
    ),
    ("The gate is open.", "The gate is closed.", False),
    ("Three guards stand at the bridge.", "Four guards stand at the bridge.", False),
    ("A road leads north through the pines.", "A road leads south through the pines.", False),
    ("The lamp above the door is lit.", "The lamp above the door is unlit.", False),
    ("The baker is in his shop.", "The baker is not in his shop.", False),
    ("Rain falls on the roofs of the town.", "Snow falls on the roofs of the town.", False),
)
KEPT_APART = (
    ("A bell tolls far away across the marsh.", "A bell tolls, far away, across the marsh.", True),
    (
        "Ivy covers the broken wall of the chapel.",
        "Ivy covers the broken walls of the chapel.",
        True,
    ),
    (
        "The innkeeper polishes a glass and frowns.",
        "The inn keeper polishes a glass and frowns.",
        True,
    ),
    (
        "Waves slap against the hull of the ferry.",
        "Waves slap against the hulls of the ferry.",
        True,
    ),
    (
        "The floor creaks under your boots as you go.",
        "The floor creaks under your boots as you go ...",
        True,
    ),
    (
        "Cobwebs cover the beams of the attic here.",
        "Cobweb covers the beams of the attic here.",
        True,
    ),
    ("The tide begins to turn in the harbour.", "The tide ends its turn in the harbour.", False),
    ("Two ravens watch from the gallows.", "Five ravens watch from the gallows.", False),
    ("The chest in the corner is locked.", "The chest in the corner is unlocked.", False),
    ("Nobody sits at the long table.", "Somebody sits at the long table.", False),
    ("The well in the yard is dry.", "The well in the yard is full.", False),
    ("Stairs wind down into the dark.", "Stairs wind up into the dark.", False),
    ("The smith hammers at a horseshoe.", "Children chase a dog between the carts.", False),
    ("Smoke rises from a chimney.", "The captain shouts orders to the crew.", False),
)


@pytest.mark.parametrize(("one", "other", "same"), CHOSEN_ON)
def test_near_duplicates_are_distinguished_from_new_texts(one: str, other: str, same: bool) -> None:
    assert (
        text_similarity(TextFingerprint.of_text(one), TextFingerprint.of_text(other)) >= NEAR
    ) == same


def test_no_unseen_pair_is_refused_wrongly() -> None:
    """Precision 6 of 6 and recall 5 of 6 or better, of the 14 pairs kept apart."""
    found = {
        (one, same): text_similarity(TextFingerprint.of_text(one), TextFingerprint.of_text(other))
        >= NEAR
        for one, other, same in KEPT_APART
    }
    refused = [same for (_, same), near in found.items() if near]
    assert all(refused)
    assert len(refused) >= 5


def test_the_index_finds_exactly_the_similar_texts() -> None:
    lots = random.Random(7)
    words = [
        "wind",
        "rain",
        "stone",
        "door",
        "lamp",
        "river",
        "smoke",
        "bell",
        "crow",
        "child",
        "miller",
        "bread",
        "iron",
        "cold",
    ]
    texts = [" ".join(lots.choices(words, k=lots.randint(1, 12))) for _ in range(300)]
    lately = RecentTexts()
    for number, text in enumerate(texts):
        lately.add_text(f"p{number}", PLACE, TextFingerprint.of_text(text))
    for text in texts[:100] + [f"{text} {lots.choice(words)}" for text in texts[:100]]:
        said = TextFingerprint.of_text(text)
        best = max(text_similarity(said, TextFingerprint.of_text(other)) for other in texts)
        found = lately.nearest_proposal(PLACE, said)
        assert (found is not None) == (best >= NEAR)
        assert found is None or found[1] == best
    assert (
        lately.nearest_proposal(("NPC.Dialogue", "loc:inn"), TextFingerprint.of_text(texts[0]))
        is None
    )


def test_a_dropped_text_is_not_found() -> None:
    lately, said = RecentTexts(), TextFingerprint.of_text("The wind howls around the old tower.")
    lately.add_text("p1", PLACE, said)
    lately.add_text("p2", PLACE, said)

    lately.drop_text("p2", PLACE, said)
    found = lately.nearest_proposal(PLACE, said)
    assert found is not None
    assert found[0] == "p1"
    lately.drop_text("p1", PLACE, said)

    assert lately.nearest_proposal(PLACE, said) is None


def test_even_the_shortest_text_has_a_fingerprint() -> None:
    assert text_similarity(TextFingerprint.of_text("!"), TextFingerprint.of_text("!")) == 1.0
