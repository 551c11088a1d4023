"""The pages by address: one request, one read through the gateway, one template."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from canonry.inspector.doors import Refused, Visit
from canonry.inspector.drawing import differences, has_asset
from canonry.inspector.views.places import (
    all_places,
    one_place,
    overview,
    search,
    seen_differences,
    seen_graph,
    seen_health,
    seen_log,
)
from canonry.inspector.views.queue import (
    PAGE,
    TURNS,
    WHAT,
    head_of,
    queue,
    restate,
    seen_scene,
    seen_story,
    settle,
)
from canonry.inspector.views.things import PAGE as PASSAGES
from canonry.inspector.views.things import VALUE_MAX, names_in, picture, seen_document, seen_thing

ROWS: Final = 50
GRAPH_DRAWER: Final = "vendor/cytoscape.min.js"
"""The library that draws graphs; `make scripts` compares it with the package that npm locks."""

LISTED: Final = 200
"""The most relations in the list of a graph; the picture has all."""

_KINDS: Final = ("entity", "fact", "event", "relation", "passage", "document", "lore")
_SIZES: Final = ("200", "1000", "2000")
_TIMELESS: Final = frozenset({"scene", "story", "turn", "space", "passage"})


async def home(visit: Visit) -> Response:
    """Show the spaces, or the first steps in an empty store."""
    places = await visit.show("spaces", all_places)
    return visit.draw("home.html", places=places)


async def space(visit: Visit) -> Response:
    """Show one space: its items and its latest changes."""
    seen = await visit.show("find", overview, space=visit.asked("space"))
    changes = (
        await visit.call("changes", space=seen["space"].id, limit=5) if seen["space"].opened else {}
    )
    return visit.draw("space.html", seen=seen, changes=changes.get("changes", ()))


async def find(visit: Visit) -> Response:
    """Show the results of a search, or a filtered list."""
    text = visit.asked("q")[:1_000]
    kinds = [each for each in visit.request.query_params.getlist("kind") if each in _KINDS]
    about: dict[str, Any] = {
        "space": visit.asked("space"),
        "type": visit.asked("type"),
        "about": visit.asked("about"),
        **({"kinds": kinds} if kinds else {}),
        **visit.times,
    }
    if not (about["space"] or about["about"]):
        places = [each for each in await visit.show("spaces", all_places) if each.opened]
        if len(places) != 1:
            return visit.draw("which.html", places=places, text=text)
    if text:
        seen = await visit.show("find", search, text=text, **about)
        return visit.draw("find.html", seen=seen, kinds=_KINDS, asked_kinds=kinds)
    place = await visit.show("find", one_place, space=about["space"], about=about["about"])
    about["space"] = place.id
    listed = await visit.call("find", limit=ROWS, cursor=str(visit.offset), **about)
    return visit.draw(
        "list.html",
        listed=listed,
        space=place,
        kinds=_KINDS,
        asked_kinds=kinds,
        offset=visit.offset,
    )


async def thing(visit: Visit) -> Response:
    """Show one item on the page of its kind."""
    of = visit.request.path_params["id"]
    seen = await visit.show("get", seen_thing, of=of)
    if seen["id"] != of:
        return visit.go(visit.frame.to(f"/thing/{seen['id']}"))
    own = _OWN.get(seen["kind"])
    if own is not None:
        look, template, step = own
        value = visit.asked("value")[:VALUE_MAX]
        more = await visit.show("get", look, of=of, offset=visit.offset, value=value, **visit.times)
        texts = _texts_of(more)
        names = await visit.show("get", names_in, of=of, texts=texts) if texts else {}
        return visit.draw(
            template, seen=seen, more=more, names=names, offset=visit.offset, step=step
        )
    times = {} if seen["kind"] in _TIMELESS else visit.times
    now = await visit.call("get", of=of, full=True, limit=ROWS, **times)
    why: Mapping[str, Any] = {}
    if seen["explained"]:
        why = await visit.call("why", of=of, full=True, limit=ROWS, **times)
    told: Mapping[str, Any] = {}
    if seen["kind"] == "entity" and seen["space"].told:
        told = await visit.call("timeline", about=of, limit=20, **times)
    names = await visit.show("get", names_in, of=of, texts=[now.get("says", "")])
    return visit.draw(
        "thing.html", seen=seen, now=now, why=why, timeline=told.get("timeline", ()), names=names,
    )  # fmt: skip


def _texts_of(more: Mapping[str, Any]) -> list[str]:
    """Return the texts of a scene or document in which names are links."""
    scene = more.get("scene")
    told = [] if scene is None else [scene.summary or "", scene.purpose or ""]
    told += [one["turn"].text for one in more.get("turns", ())]
    pieces = [one["pieces"] for one in more.get("passages", ())]
    pieces += [some for _, some in more.get("parts", ())]
    return told + [text for some in pieces for text, values in some if not values]


_OWN: Final = {
    "scene": (seen_scene, "scene.html", TURNS),
    "story": (seen_story, "story.html", 0),
    "document": (seen_document, "document.html", PASSAGES),
}


async def page_picture(visit: Visit) -> Response:
    """Show a page of a document as a picture, with marks where values were read."""
    params = visit.request.path_params
    number = params["number"]
    if not (number.isascii() and number.isdecimal() and len(number) < 6):  # noqa: PLR2004
        return visit.draw("lost.html", 404)
    boxes = [box for each in visit.request.query_params.getlist("box") if (box := _box(each))]
    drawn, kind = await visit.show("get", picture, of=params["id"], page=int(number), boxes=boxes)
    return Response(drawn, media_type=kind)


def _box(text: str) -> list[float]:
    """Return the four numbers of a box in points; none for another text."""
    try:
        numbers = [float(each) for each in text[:80].split(",")]
    except ValueError:
        return []
    fits = len(numbers) == 4 and all(-1e5 < each < 1e5 for each in numbers)  # noqa: PLR2004
    return numbers if fits else []


async def difference(visit: Visit) -> Response:
    """Show an item at two moments side by side, or the differences of a space."""
    of = visit.request.path_params.get("id")
    given = [
        {"at": visit.asked(f"at{n}"), "as_known_at": visit.asked(f"known{n}")} for n in ("1", "2")
    ]
    sides = [{name: value for name, value in side.items() if value} for side in given]
    told: tuple[Mapping[str, Any], ...] = ()
    more, seen = False, None
    if of is None:
        place = await visit.show("find", one_place, space=visit.asked("space"))
    else:
        seen = await visit.show("get", seen_thing, of=of)
        place = seen["space"]
        told = tuple(await asyncio.gather(*(_then(visit, of, side) for side in sides)))
    rows = differences(*(each.get("row", {}) for each in told)) if told else []
    if seen is None or seen["kind"] == "scene":
        both = {"sides": sides, "space": place.id}
        brought, more = await visit.show("find", seen_differences, of=of, **both)
        rows += brought
    return visit.draw("difference.html", seen=seen, space=place, sides=told, rows=rows, more=more)


async def _then(visit: Visit, of: str, times: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the tool's reply at a moment, or its error."""
    try:
        return {"row": await visit.call("get", of=of, full=True, limit=ROWS, **times)}
    except Refused as refused:
        return {"because": refused.message}


async def timeline(visit: Visit) -> Response:
    """Show the events of a space in order."""
    place = await visit.show("find", one_place, space=visit.asked("space"))
    told = await visit.call(
        "timeline",
        space=place.id,
        limit=ROWS,
        cursor=str(visit.offset),
        **{"from": visit.asked("since")},
        **visit.times,
    )
    return visit.draw("timeline.html", told=told, space=place, offset=visit.offset)


async def graph(visit: Visit) -> Response:
    """Show entities and their relations as a list, which a script draws."""
    hops, most = visit.asked("hops"), visit.asked("most")
    seen = await visit.show(
        "find",
        seen_graph,
        space=visit.asked("space"),
        about=visit.asked("about"),
        type=visit.asked("type"),
        rel_type=visit.asked("rel"),
        hops=int(hops) if hops in {"1", "2", "3", "4"} else 1,
        most=int(most) if most in _SIZES else int(_SIZES[0]),
        **visit.times,
    )
    return visit.draw(
        "graph.html",
        seen=seen,
        names={node: name for node, name, _ in seen["nodes"]},
        drawn=has_asset(GRAPH_DRAWER),
        listed=LISTED,
        sizes=_SIZES,
    )


async def log(visit: Visit) -> Response:
    """Show the commits of a space."""
    until = visit.asked("until")
    given = {"until": until} if until.isascii() and until.isdecimal() and len(until) < 16 else {}  # noqa: PLR2004
    seen = await visit.show("changes", seen_log, space=visit.asked("space"), **given)
    return visit.draw("log.html", seen=seen)


async def health(visit: Visit) -> Response:
    """Show the state of the store and the server."""
    seen = await visit.show("changes", seen_health)
    clock = await visit.gateway.clock_fault()
    ready = await visit.gateway.ready()
    return visit.draw("health.html", seen=seen, clock=clock, ready=ready, sessions=len(visit.hall))


_CLAIMED: Final[Mapping[str, tuple[str, ...]]] = {
    "entity": ("name", "type", "says"),
    "fact": ("says", "about", "when"),
    "relation": ("from", "type", "to", "when"),
    "correction": ("of", "field", "value", "says", "when"),
}
"""Kind of claim -> the members that its form has."""


async def propose(visit: Visit) -> Response:
    """Propose the claim of a form in the name of its user, and show the verdict.

    The words of the user are its evidence: what the form quotes, or else what it claims.
    """
    form = await visit.form()
    kind, space = _first(form, "kind"), _first(form, "space")
    claim: dict[str, Any] = {"kind": kind}
    for name in _CLAIMED.get(kind, ()):
        if text := _first(form, name).strip():
            claim[name] = [each.strip() for each in text.split("\n")] if name == "about" else text
    words = " ".join(claim[name] for name in _WORDED if name in claim)
    said = _first(form, "said").strip() or words
    told = await visit.call("propose", claims=[claim], said=said, space=space)
    place = await visit.show("find", one_place, space=space)
    return visit.draw("proposed.html", told=told, claim=claim, space=place, back=back_to(form))


_WORDED: Final = ("name", "from", "type", "to", "says", "value")

_RULINGS: Final = ("judge", "accept", "reject", "waive", "retcon", "end")
VERDICTS: Final = (*_RULINGS, "merge", "separate", "split")
_SAID: Final = "said."
"""The prefix of form fields with an edited value."""
_TOLD_MAX: Final = 30


async def review(visit: Visit) -> Response:
    """Show the pending items of a space."""
    seen = await visit.show(
        "review",
        queue,
        space=visit.asked("space"),
        what=visit.asked("what"),
        about=visit.asked("about"),
        offset=visit.offset,
        **visit.times,
    )
    done = visit.asked("done")
    return visit.draw(
        "review.html",
        seen=seen,
        whats=WHAT,
        offset=visit.offset,
        step=PAGE,
        done=done if done in (*VERDICTS, "edit", "settle") else "",
        done_ids=visit.asked("ids").split(",")[:_TOLD_MAX] if visit.asked("ids") else (),
    )


async def head(visit: Visit) -> Response:
    """Return the last position of the log, for a page that waits for decisions of others."""
    return JSONResponse({"head": await visit.show("review", head_of, space=visit.asked("space"))})


async def decide(visit: Visit) -> Response:
    """Apply the decision in a form, and return to its page."""
    form = await visit.form()
    verdict, of = _first(form, "verdict"), form.get("of", [])
    back = back_to(form)
    if verdict == "edit":
        ids = await _restated(visit, form, of)
    elif verdict == "settle":
        ids = of[:1]
        asked = {name: _first(form, name) for name in ("field", "read_as")}
        await visit.show("decide", settle, of=_first(form, "of"), **asked)
    else:
        done = await visit.call(
            "decide",
            verdict=verdict,
            of=of,
            reason=_first(form, "reason").strip(),
            other=_first(form, "other"),
            when=_first(form, "when").strip(),
            space=_first(form, "space"),
            **({"along": True} if "along" in form else {}),
        )
        ids = _made(done, of)
    parts = f"done={verdict}&ids={','.join(ids[:_TOLD_MAX])}"
    return visit.go(f"{back}{'&' if '?' in back else '?'}{parts}")


async def _restated(visit: Visit, form: Mapping[str, list[str]], of: list[str]) -> list[str]:
    """Accept a proposal with edited content."""
    said = {name[len(_SAID) :]: given[0] for name, given in form.items() if name.startswith(_SAID)}
    reason = _first(form, "reason").strip()
    done = await visit.show("decide", restate, of=next(iter(of), ""), said=said, reason=reason)
    return list(done)


def _made(done: Mapping[str, Any], of: list[str]) -> list[str]:
    """Return the ids after a decision: the items it made, or else the items it was about."""
    rows = done.get("verdicts", ())
    ids = [str(row.get("id") or row.get("proposal") or "") for row in rows]
    if done.get("merged"):  # the kept one, and the one to separate for an undo
        return of
    return [each for each in ids if each] or [str(done.get("id") or next(iter(of), ""))]


def _first(form: Mapping[str, list[str]], name: str) -> str:
    return next(iter(form.get(name, ())), "")


_FORMS_ONLY: Final = frozenset({"/decide", "/propose"})
"""Addresses that take forms, and that a browser cannot go back to."""


def back_to(form: Mapping[str, list[str]]) -> str:
    """Return the inspector page of a form; another address would lead the browser elsewhere."""
    path = _first(form, "back")
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    kept = path.partition("#")[0] if ours else "/"
    bare, _, asked = kept.partition("?")
    if bare in _FORMS_ONLY:
        return "/"
    pairs = [each for each in asked.split("&") if each and not each.startswith(("done=", "ids="))]
    return f"{bare}?{'&'.join(pairs)}" if pairs else bare
