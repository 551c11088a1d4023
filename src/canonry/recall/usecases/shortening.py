"""Long questions shortened by what their words are worth among what is searched."""

import asyncio
from dataclasses import replace
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.domain.questions import stems_asked, weightiest
from canonry.values.errors import Unavailable

ASKED_MAX: Final = 8_000
"""So many characters of a question are looked for: of a longer one those that weigh most."""


async def shortened(canon: Canon, query: TextQuery) -> TextQuery:
    """The query with the weightiest sentences of its whole text, chosen beside the event loop.

    A word that is said nowhere weighs nothing. Where no index tells what words are worth, the
    beginning and the end of the text stay.
    """
    if len(query.text) <= ASKED_MAX:
        return query
    stems = await asyncio.to_thread(stems_asked, query.text)
    reached = replace(query, text="", spaces=await canon.reach(query.spaces))
    try:
        figures = await canon.text.figures(stems.values(), reached)
        known = {term: figures.found_in.get(stem, 0) for term, stem in stems.items()}
        worth = {term: figures.worth(n) for term, n in known.items() if n}
    except Unavailable:
        worth = {}
    text = await asyncio.to_thread(weightiest, query.text, worth, ASKED_MAX)
    return replace(query, text=text)
