"""The pages by address: one request, one read through the gateway, one template."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from canonry.inspector.rendering import difference_rows, has_asset
from canonry.inspector.sign_in import PageRequest, Refused
from canonry.inspector.views import review
from canonry.inspector.views.items import PAGE as PASSAGES
from canonry.inspector.views.items import (
    VALUE_MAX,
    draw_picture,
    names_in,
    seen_document,
    seen_item,
)
from canonry.inspector.views.spaces import (
    all_spaces,
    one_space,
    search_space,
    seen_differences,
    seen_graph,
    seen_health,
    seen_log,
    space_overview,
)

ROWS: Final = 50  # bounds the time of a page: bench inspector
GRAPH_DRAWER: Final = "vendor/cytoscape.min.js"
"""The library that draws graphs; `make scripts` compares it with the package that npm locks."""

LISTED: Final = 200
"""The most relations in the list of a graph; the picture has all."""

_KINDS: Final = ("entity", "fact", "event", "relation", "passage", "document", "lore")
_SIZES: Final = ("200", "1000", "2000")
_TIMELESS: Final = frozenset({"scene", "story", "turn", "space", "passage"})


async def home_page(visit: PageRequest) -> Response:
    """Show the spaces, or the first steps in an empty store."""
    spaces = await visit.show_view("spaces", all_spaces)
    return visit.draw_page("home.html", places=spaces)


async def space_page(visit: PageRequest) -> Response:
    """Show one space: its items and its latest changes."""
    seen = await visit.show_view("find", space_overview, space=visit.query_parameter("space"))
    changes = (
        await visit.call_tool("changes", space=seen["space"].id, limit=5)
        if seen["space"].opened
        else {}
    )
    return visit.draw_page("space.html", seen=seen, changes=changes.get("changes", ()))


async def find_page(visit: PageRequest) -> Response:
    """Show the results of a search, or a filtered list."""
    text = visit.query_parameter("q")[:1_000]
    kinds = [each for each in visit.request.query_params.getlist("kind") if each in _KINDS]
    about: dict[str, Any] = {
        "space": visit.query_parameter("space"),
        "type": visit.query_parameter("type"),
        "about": visit.query_parameter("about"),
        **({"kinds": kinds} if kinds else {}),
        **visit.asked_times,
    }
    if not (about["space"] or about["about"]):
        open_spaces = [each for each in await visit.show_view("spaces", all_spaces) if each.opened]
        if len(open_spaces) != 1:
            return visit.draw_page("which.html", places=open_spaces, text=text)
    if text:
        seen = await visit.show_view("find", search_space, text=text, **about)
        return visit.draw_page("find.html", seen=seen, kinds=_KINDS, asked_kinds=kinds)
    chosen_space = await visit.show_view(
        "find", one_space, space=about["space"], about=about["about"]
    )
    about["space"] = chosen_space.id
    listed = await visit.call_tool("find", limit=ROWS, cursor=str(visit.offset), **about)
    return visit.draw_page(
        "list.html",
        listed=listed,
        space=chosen_space,
        kinds=_KINDS,
        asked_kinds=kinds,
        offset=visit.offset,
    )


async def item_page(visit: PageRequest) -> Response:
    """Show one item on the page of its kind."""
    of = visit.request.path_params["id"]
    seen = await visit.show_view("get", seen_item, of=of)
    if seen["id"] != of:
        return visit.redirect_to(visit.page_frame.to(f"/thing/{seen['id']}"))
    own = _OWN.get(seen["kind"])
    if own is not None:
        view, template, step = own
        value = visit.query_parameter("value")[:VALUE_MAX]
        more = await visit.show_view(
            "get", view, of=of, offset=visit.offset, value=value, **visit.asked_times
        )
        texts = _texts_of(more)
        names = await visit.show_view("get", names_in, of=of, texts=texts) if texts else {}
        return visit.draw_page(
            template, seen=seen, more=more, names=names, offset=visit.offset, step=step
        )
    times = {} if seen["kind"] in _TIMELESS else visit.asked_times
    now = await visit.call_tool("get", of=of, full=True, limit=ROWS, **times)
    why: Mapping[str, Any] = {}
    if seen["explained"]:
        why = await visit.call_tool("why", of=of, full=True, limit=ROWS, **times)
    timeline_reply: Mapping[str, Any] = {}
    if seen["kind"] == "entity" and seen["space"].may_have_stories:
        timeline_reply = await visit.call_tool("timeline", about=of, limit=20, **times)
    names = await visit.show_view("get", names_in, of=of, texts=[now.get("says", "")])
    return visit.draw_page(
        "thing.html", seen=seen, now=now, why=why, names=names,
        timeline=timeline_reply.get("timeline", ()),
    )  # fmt: skip


def _texts_of(more: Mapping[str, Any]) -> list[str]:
    """Return the texts of a scene or document in which names are links."""
    scene = more.get("scene")
    texts = [] if scene is None else [scene.summary or "", scene.purpose or ""]
    texts += [one["turn"].text for one in more.get("turns", ())]
    pieces = [one["pieces"] for one in more.get("passages", ())]
    pieces += [some for _, some in more.get("parts", ())]
    return texts + [text for some in pieces for text, values in some if not values]


_OWN: Final = {
    "scene": (review.seen_scene, "scene.html", review.TURNS),
    "story": (review.seen_story, "story.html", 0),
    "document": (seen_document, "document.html", PASSAGES),
}


async def page_picture(visit: PageRequest) -> Response:
    """Show a page of a document as a picture, with marks where values were read."""
    params = visit.request.path_params
    number = params["number"]
    if not (number.isascii() and number.isdecimal() and len(number) < 6):  # noqa: PLR2004
        return visit.draw_page("lost.html", 404)
    boxes = [box for each in visit.request.query_params.getlist("box") if (box := _parse_box(each))]
    drawn, kind = await visit.show_view(
        "get", draw_picture, of=params["id"], page=int(number), boxes=boxes
    )
    return Response(drawn, media_type=kind)


def _parse_box(text: str) -> list[float]:
    """Return the four numbers of a box in points; none for another text."""
    try:
        numbers = [float(each) for each in text[:80].split(",")]
    except ValueError:
        return []
    fits = len(numbers) == 4 and all(-1e5 < each < 1e5 for each in numbers)  # noqa: PLR2004
    return numbers if fits else []


async def difference_page(visit: PageRequest) -> Response:
    """Show an item at two moments side by side, or the differences of a space."""
    of = visit.request.path_params.get("id")
    given = [
        {"at": visit.query_parameter(f"at{n}"), "as_known_at": visit.query_parameter(f"known{n}")}
        for n in ("1", "2")
    ]
    sides = [{name: value for name, value in side.items() if value} for side in given]
    replies: tuple[Mapping[str, Any], ...] = ()
    more, seen = False, None
    if of is None:
        own_space = await visit.show_view("find", one_space, space=visit.query_parameter("space"))
    else:
        seen = await visit.show_view("get", seen_item, of=of)
        own_space = seen["space"]
        replies = tuple(await asyncio.gather(*(_reply_at(visit, of, side) for side in sides)))
    rows = difference_rows(*(each.get("row", {}) for each in replies)) if replies else []
    if seen is None or seen["kind"] == "scene":
        both = {"sides": sides, "space": own_space.id}
        brought, more = await visit.show_view("find", seen_differences, of=of, **both)
        rows += brought
    return visit.draw_page(
        "difference.html", seen=seen, space=own_space, sides=replies, rows=rows, more=more
    )


async def _reply_at(visit: PageRequest, of: str, times: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the tool's reply at a moment, or its error."""
    try:
        return {"row": await visit.call_tool("get", of=of, full=True, limit=ROWS, **times)}
    except Refused as refused:
        return {"because": refused.message}


async def timeline_page(visit: PageRequest) -> Response:
    """Show the events of a space in order."""
    own_space = await visit.show_view("find", one_space, space=visit.query_parameter("space"))
    reply = await visit.call_tool(
        "timeline",
        space=own_space.id,
        limit=ROWS,
        cursor=str(visit.offset),
        **{"from": visit.query_parameter("since")},
        **visit.asked_times,
    )
    return visit.draw_page("timeline.html", told=reply, space=own_space, offset=visit.offset)


async def graph_page(visit: PageRequest) -> Response:
    """Show entities and their relations as a list, which a script draws."""
    hops, most = visit.query_parameter("hops"), visit.query_parameter("most")
    seen = await visit.show_view(
        "find",
        seen_graph,
        space=visit.query_parameter("space"),
        about=visit.query_parameter("about"),
        type=visit.query_parameter("type"),
        rel_type=visit.query_parameter("rel"),
        hops=int(hops) if hops in {"1", "2", "3", "4"} else 1,
        most=int(most) if most in _SIZES else int(_SIZES[0]),
        **visit.asked_times,
    )
    return visit.draw_page(
        "graph.html",
        seen=seen,
        names={node: name for node, name, _ in seen["nodes"]},
        drawn=has_asset(GRAPH_DRAWER),
        listed=LISTED,
        sizes=_SIZES,
    )


async def log_page(visit: PageRequest) -> Response:
    """Show the commits of a space."""
    until = visit.query_parameter("until")
    given = {"until": until} if until.isascii() and until.isdecimal() and len(until) < 16 else {}  # noqa: PLR2004
    seen = await visit.show_view("changes", seen_log, space=visit.query_parameter("space"), **given)
    return visit.draw_page("log.html", seen=seen)


async def health_page(visit: PageRequest) -> Response:
    """Show the state of the store and the server."""
    seen = await visit.show_view("changes", seen_health)
    clock = await visit.gateway.clock_fault()
    ready = await visit.gateway.is_ready()
    return visit.draw_page(
        "health.html", seen=seen, clock=clock, ready=ready, sessions=len(visit.sessions)
    )


_CLAIMED: Final[Mapping[str, tuple[str, ...]]] = {
    "entity": ("name", "type", "says"),
    "fact": ("says", "about", "when"),
    "relation": ("from", "type", "to", "when"),
    "correction": ("of", "field", "value", "says", "when"),
}
"""Kind of claim -> the members that its form has."""


async def propose_claim(visit: PageRequest) -> Response:
    """Propose the claim of a form in the name of its user, and show the verdict.

    The words of the user are its evidence: what the form quotes, or else what it claims.
    """
    form = await visit.read_form()
    kind, space = _first_value(form, "kind"), _first_value(form, "space")
    claim: dict[str, Any] = {"kind": kind}
    for name in _CLAIMED.get(kind, ()):
        if text := _first_value(form, name).strip():
            claim[name] = [each.strip() for each in text.split("\n")] if name == "about" else text
    words = " ".join(claim[name] for name in _WORDED if name in claim)
    quote = _first_value(form, "said").strip() or words
    reply = await visit.call_tool("propose", claims=[claim], said=quote, space=space)
    own_space = await visit.show_view("find", one_space, space=space)
    return visit.draw_page(
        "proposed.html", told=reply, claim=claim, space=own_space, back=back_to(form)
    )


_WORDED: Final = ("name", "from", "type", "to", "says", "value")

_RULINGS: Final = ("judge", "accept", "reject", "waive", "retcon", "end")
VERDICTS: Final = (*_RULINGS, "merge", "separate", "split")
_EDITED: Final = "said."
"""The prefix of form fields with an edited value."""
_IDS_MAX: Final = 30  # ids stand in an address, which browsers cut


async def review_page(visit: PageRequest) -> Response:
    """Show the pending items of a space."""
    seen = await visit.show_view(
        "review",
        review.pending_items,
        space=visit.query_parameter("space"),
        what=visit.query_parameter("what"),
        about=visit.query_parameter("about"),
        offset=visit.offset,
        **visit.asked_times,
    )
    done = visit.query_parameter("done")
    return visit.draw_page(
        "review.html",
        seen=seen,
        whats=review.WHAT,
        offset=visit.offset,
        step=review.PAGE,
        done=done if done in (*VERDICTS, "edit", "settle") else "",
        done_ids=visit.query_parameter("ids").split(",")[:_IDS_MAX]
        if visit.query_parameter("ids")
        else (),
    )


async def head_position(visit: PageRequest) -> Response:
    """Return the last position of the log, for a page that waits for decisions of others."""
    return JSONResponse(
        {
            "head": await visit.show_view(
                "review", review.head_of, space=visit.query_parameter("space")
            )
        }
    )


async def apply_decision(visit: PageRequest) -> Response:
    """Apply the decision in a form, and return to its page."""
    form = await visit.read_form()
    verdict, of = _first_value(form, "verdict"), form.get("of", [])
    back = back_to(form)
    if verdict == "edit":
        ids = await _accept_edited(visit, form, of)
    elif verdict == "settle":
        ids = of[:1]
        asked = {name: _first_value(form, name) for name in ("field", "read_as")}
        await visit.show_view("decide", review.settle_field, of=_first_value(form, "of"), **asked)
    else:
        done = await visit.call_tool(
            "decide",
            verdict=verdict,
            of=of,
            reason=_first_value(form, "reason").strip(),
            other=_first_value(form, "other"),
            when=_first_value(form, "when").strip(),
            space=_first_value(form, "space"),
            **({"along": True} if "along" in form else {}),
        )
        ids = _ids_after(done, of)
    parts = f"done={verdict}&ids={','.join(ids[:_IDS_MAX])}"
    return visit.redirect_to(f"{back}{'&' if '?' in back else '?'}{parts}")


async def _accept_edited(
    visit: PageRequest, form: Mapping[str, list[str]], of: list[str]
) -> list[str]:
    """Accept a proposal with edited content."""
    edited = {
        name[len(_EDITED) :]: given[0] for name, given in form.items() if name.startswith(_EDITED)
    }
    reason = _first_value(form, "reason").strip()
    done = await visit.show_view(
        "decide", review.accept_edited, of=next(iter(of), ""), said=edited, reason=reason
    )
    return list(done)


def _ids_after(done: Mapping[str, Any], of: list[str]) -> list[str]:
    """Return the ids after a decision: the items it made, or else the items it was about."""
    rows = done.get("verdicts", ())
    ids = [str(row.get("id") or row.get("proposal") or "") for row in rows]
    if done.get("merged"):  # the kept one, and the one to separate for an undo
        return of
    return [each for each in ids if each] or [str(done.get("id") or next(iter(of), ""))]


def _first_value(form: Mapping[str, list[str]], name: str) -> str:
    return next(iter(form.get(name, ())), "")


def back_to(form: Mapping[str, list[str]]) -> str:
    """Return the inspector page of a form; another address would lead the browser elsewhere."""
    path = _first_value(form, "back")
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    kept = path.partition("#")[0] if ours else "/"
    bare, _, asked = kept.partition("?")
    if bare in {"/decide", "/propose"}:  # these take forms; a browser cannot go back to them
        return "/"
    pairs = [each for each in asked.split("&") if each and not each.startswith(("done=", "ids="))]
    return f"{bare}?{'&'.join(pairs)}" if pairs else bare
