"""Search of lore on labelled questions, in other words than the facts use: hybrid against keywords.

The facts are those of the demo world, so the figures say how the search does on such a world, not
how it does in general. The questions were written before the search was first run on them.
"""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.report import Row
from canonry.app.embedded import open_embedded
from canonry.app.recall_models import rebuild_index, recall_folder, recall_for
from canonry.app.settings import Settings
from canonry.canon.session.canon import Canon
from canonry.cli.world.command import demo_atlas
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.testing.clocks import a_caller
from canonry.world.usecases.exchange import import_world
from canonry.world.usecases.lore import search_lore
from canonry.world.usecases.worlds import BoundWorld, find_world

SECTION = "lore"
FOUND = 20

LABELLED: Final[Mapping[str, frozenset[str]]] = {
    question: frozenset(answers.split())
    for question, answers in (
        ("who controls the trade in salt", "salters-guild"),
        ("nuns that write down confessions", "grey-sisters"),
        ("contraband runners of the wetlands", "free-punts hanna-reed"),
        ("people who never talk because of the forest", "charcoal-folk silence-oath"),
        ("hired killers", "oarsmen"),
        ("guides who navigate mist", "pilots pilot-harn"),
        ("the port alliance that disappeared", "nine-harbours mosaic"),
        ("court of dead people under the ocean", "quiet-court"),
        ("bell that predicts shipwrecks", "bell bell-square"),
        ("blade metal that detects falsehood", "singing-ore"),
        ("crown to command sea creatures", "tide-crown"),
        ("why does the musician play only half of each song", "eel-fiddle old-tam"),
        ("standard measures", "true-weights"),
        ("glass that makes phantoms visible", "green-glass"),
        ("pole that reaches the ground in any depth", "punt-pole"),
        ("when did the old city sink", "drowning"),
        ("mining accident with buried workers", "fall-58"),
        ("epidemic", "plague moth-glade"),
        ("contest that brought peace", "heron-peace"),
        ("stolen volume", "stolen-chain missing-book"),
        ("when herring served as currency", "great-auction"),
        ("who went into the waves to rescue a kid", "orla"),
        ("usurer who takes halves", "grey-coat"),
        ("knocking in the collapsed tunnel", "tapper-who knocker"),
        ("doctor of the swamp", "mother-tansy"),
        ("teacher", "miss-corrie"),
        ("blacksmith with a metal hand", "ironhand"),
        ("why is the lighthouse dark", "lamp-out keeper-moll blind-lighthouse"),
        ("why are the dead buried upright", "drowned-crypt first-reeve"),
        ("bottomless pond", "marsh-eye"),
        ("hidden passage from the beach to the tavern", "smugglers-cave"),
        ("tree used for executions", "hanged-oak last-hanging"),
        ("cursed money", "treasury-lore"),
        ("mist animal that leads wanderers astray", "fog-hound"),
        ("undead that fresh water destroys", "salt-ghoul"),
        ("bug that consumes corrosion", "iron-beetle"),
        ("horse that lives in rivers", "kelp-horse"),
        ("insect that swallows noise", "whisper-moth"),
        ("giant fish", "pike-king"),
        ("forbidden to hurt this bird", "heron-grey"),
        ("walking corpse on the ocean floor", "drowner"),
        ("woman of grass who invites lost travellers to dance", "reed-wife"),
    )
}


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    store = await open_embedded(folder)
    done = await import_world(
        store.canon, a_caller("Operator"), demo_atlas(), origin="demo", progress=lambda *_: None
    )
    world = await find_world(store.canon, done.world_id)
    settings = Settings(data=folder)
    recall = recall_for(settings, store.canon)
    assert world is not None
    assert recall is not None
    await rebuild_index(recall, recall_folder(settings), lambda *_: None)
    words = await _measured(store.canon, world)
    both = await _measured(store.canon.revise_service(RecallServices, recall=recall), world)
    await recall.close()
    await store.close()
    note = f"{len(LABELLED)} questions, {len(demo_atlas().lore)} facts"
    return [
        Row(section=SECTION, what="recall@5, keywords alone", value=words[0], unit="", note=note),
        Row(
            section=SECTION,
            what="recall@5, hybrid",
            value=both[0],
            unit="",
            budget=words[0],
            at_least=True,
        ),
        Row(section=SECTION, what="MRR, keywords alone", value=words[1], unit=""),
        Row(
            section=SECTION,
            what="MRR, hybrid",
            value=both[1],
            unit="",
            budget=words[1],
            at_least=True,
        ),
    ]


async def _measured(canon: Canon, world: BoundWorld) -> tuple[float, float]:
    """Recall among the first five, and the mean reciprocal rank."""
    recalled, ranks = 0.0, 0.0
    for question, answers in LABELLED.items():
        hits = await search_lore(canon, world, question, FOUND)
        order: Sequence[str] = [str(entity.properties["key"]) for entity, _ in hits]
        recalled += len(answers & set(order[:5])) / len(answers)
        first = next((rank for rank, key in enumerate(order, 1) if key in answers), None)
        ranks += 0.0 if first is None else 1 / first
    return recalled / len(LABELLED), ranks / len(LABELLED)
