"""Deciding: the queue of what waits, and the forms by which somebody says what becomes of it."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from canonry.inspector.doors import Visit
from canonry.inspector.views.queue import PAGE, WHAT, head_of, queue, restate, settle

VERDICTS: Final = ("judge", "accept", "reject", "waive", "merge", "separate", "retcon", "end")
_SAID: Final = "said."
"""Begins the name of each field in which something is said better."""
_TOLD_MAX: Final = 30


async def review(visit: Visit) -> Response:
    """What waits in a space."""
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
        space=seen.space,
        whats=WHAT,
        offset=visit.offset,
        step=PAGE,
        done=done if done in (*VERDICTS, "edit", "settle") else "",
        done_ids=visit.asked("ids").split(",")[:_TOLD_MAX] if visit.asked("ids") else (),
    )


async def head(visit: Visit) -> Response:
    """Where the log stands, for a page that waits for what others decide."""
    return JSONResponse({"head": await visit.show("review", head_of, space=visit.asked("space"))})


async def decide(visit: Visit) -> Response:
    """Do what a form says, and go back to where it stood."""
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
    """Have what is proposed accepted in better words."""
    said = {name[len(_SAID) :]: given[0] for name, given in form.items() if name.startswith(_SAID)}
    reason = _first(form, "reason").strip()
    done = await visit.show("decide", restate, of=next(iter(of), ""), said=said, reason=reason)
    return list(done)


def _made(done: Mapping[str, Any], of: list[str]) -> list[str]:
    """What a decision is about from now on: what was made, or else what was decided."""
    rows = done.get("verdicts", ())
    ids = [str(row.get("id") or row.get("proposal") or "") for row in rows]
    if done.get("merged"):  # the one that is kept, and the one that is separated to undo it
        return of
    return [each for each in ids if each] or [str(done.get("id") or next(iter(of), ""))]


def _first(form: Mapping[str, list[str]], name: str) -> str:
    return next(iter(form.get(name, ())), "")


def back_to(form: Mapping[str, list[str]]) -> str:
    """The page of ours on which a form stood; anything else would send the browser elsewhere."""
    path = _first(form, "back")
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    kept = path.partition("#")[0] if ours else "/"
    bare, _, asked = kept.partition("?")
    pairs = [each for each in asked.split("&") if each and not each.startswith(("done=", "ids="))]
    return f"{bare}?{'&'.join(pairs)}" if pairs else bare
