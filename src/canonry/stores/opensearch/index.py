"""The index of one store: asking the server in time, and what its faults mean.

It is asked under an alias, and nothing is written where the alias is not: an index that was lost
is made anew with the right fields, and not by the first passage that happens to come.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import orjson
from opensearchpy import AsyncOpenSearch, JSONSerializer
from opensearchpy.exceptions import OpenSearchException, TransportError
from typing_extensions import override

from canonry.log.ports.world import scope
from canonry.values.errors import Unavailable

_NEWER: Final = 409
_MISSING: Final = 404
_REFUSED: Final = 400
_NOTHING: Final = {"shown": [0]}
_ALL: Final = {"force": "true"}
_EXPUNGE: Final = {"only_expunge_deletes": "true"}
_MADE: Final = "resource_already_exists_exception"
_WHOLE: Final = {"allow_partial_search_results": False}
"""Half an answer would look like all that there is."""

_ANSWERED: Final = ",".join(
    f"responses.{each}"
    for each in ("status", "error.type", "hits.total", "hits.hits.fields", "aggregations")
)
_DONE: Final = "items.*.status,items.*.error.type"
_KEYWORD: Final = {"type": "keyword", "norms": False, "doc_values": False}
# Read by the thousand: one by one from a column, which takes an eighth of what documents take.
_KEPT: Final = {"type": "binary", "doc_values": True}

FIELDS: Final = {
    "space": _KEYWORD,
    "collection": _KEYWORD,
    "scene": _KEYWORD,
    "source": _KEYWORD,
    "entities": _KEYWORD,
    # Each stem once, for finding and counting; `stems` has them in order, for the formula.
    "terms": {"type": "keyword", "norms": False},
    "stems": _KEPT,
    "where": _KEPT,
    "words": {"type": "integer", "index": False},
    "shown": {"type": "long", "index": False, "doc_values": False, "store": True},
}
SETTINGS: Final = {
    # Nothing shows before the cursor does, unless somebody else's cursor moves meanwhile.
    "refresh_interval": -1,
    # So long a passage that is gone remembers of which commit it went.
    "gc_deletes": "15m",
    "merge.policy.expunge_deletes_allowed": 0,
    "max_regex_length": 20_000,
}


class SearchIndex:
    """One index on one server, by its alias."""

    def __init__(self, client: AsyncOpenSearch, name: str, deadline: float) -> None:
        """Ask nothing yet."""
        self._client = client
        self._deadline = deadline
        self.name: Final = f"{name}-passages"

    async def search(self, asked: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The answers to questions, all in one request.

        Raises:
            Unavailable: `text.unavailable`.
        """
        if not asked:
            return []
        lines = [line for each in asked for line in (_WHOLE, each)]
        answers: list[Any] = []
        for _ in range(2):
            told = await self._post("_msearch", lines, {"filter_path": _ANSWERED})
            answers = told["responses"]
            if all(each["status"] != _MISSING for each in answers):
                break
            await self._make()
        for each in answers:
            if "error" in each:
                raise unavailable(each["error"]["type"])
        return answers

    async def write(self, lines: Sequence[Mapping[str, Any]], *, shows: bool = False) -> None:
        """Write documents in one request; with `shows` all that was written shows from then on.

        What is there already in a newer version stays as it is.

        Raises:
            Unavailable: `text.unavailable`; any of them may have been written.
        """
        asked = {"require_alias": "true", "refresh": "true" if shows else "false"}
        failed: list[Any] = []
        for _ in range(2):
            told = await self._post("_bulk", lines, {**asked, "filter_path": _DONE})
            items = [item for each in told.get("items", ()) for item in each.values()]
            failed = [item for item in items if "error" in item and item["status"] != _NEWER]
            if all(item["status"] != _MISSING for item in failed):
                break
            await self._make()
        for item in failed:
            raise unavailable(item["error"]["type"])

    async def shown(self, identity: str, routing: str) -> int:
        """The number that a cursor shows, not the one that was written last; 0 without a cursor.

        Raises:
            Unavailable: `text.unavailable`.
        """
        path = f"/{self.name}/_doc/{quote(identity, safe='')}"
        asked = {"routing": routing, "realtime": "false", "stored_fields": "shown"}
        told = await self._ask("GET", path, ignore=(_MISSING,), params=asked)
        return int(told.get("fields", _NOTHING)["shown"][0])

    async def merge(self) -> None:
        """Rewrite what holds anything that is gone and not kept for recovery any more.

        Raises:
            Unavailable: `text.unavailable`.
        """
        for what, asked in (
            ("flush", {"force": "true"}),
            ("forcemerge", _EXPUNGE),
            ("refresh", {}),
        ):
            await self._ask("POST", f"/{self.name}/_{what}", ignore=(_MISSING,), params=asked)

    async def gone(self) -> int:
        """How much that is gone the files of the index still hold.

        Raises:
            Unavailable: `text.unavailable`.
        """
        told = await self._ask("GET", f"/{self.name}/_stats/docs", ignore=(_MISSING,))
        return int(told["_all"]["total"]["docs"]["deleted"]) if "_all" in told else 0

    async def drop(self) -> None:
        """Forget everything.

        Raises:
            Unavailable: `text.unavailable`.
        """
        await self._ask("DELETE", f"/{self.name}-1", ignore=(_MISSING,))

    async def close(self) -> None:
        """Let go of the server."""
        await self._client.close()

    async def _make(self) -> None:
        """Make the index, unless somebody is quicker."""
        body = {
            "aliases": {self.name: {}},
            "settings": {"index": SETTINGS},
            "mappings": {
                "dynamic": "strict",
                "_source": {"enabled": False},
                "properties": FIELDS,
            },
        }
        told = await self._ask("PUT", f"/{self.name}-1", body, ignore=(_REFUSED,))
        cause = told.get("error", {}).get("type", _MADE)
        if cause != _MADE:
            raise unavailable(cause)

    async def _post(
        self, path: str, lines: Sequence[Mapping[str, Any]], params: Mapping[str, str]
    ) -> Any:
        body = "".join(f"{_written(line)}\n" for line in lines)
        return await self._ask("POST", f"/{self.name}/{path}", body, params=params)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        ignore: Collection[int] = (),
        params: Mapping[str, str] | None = None,
    ) -> Any:
        """What the server answers before the call ends."""
        call = scope()
        left = self._deadline
        if call is not None:
            left = min(left, call.ends - asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(left):
                return await self._client.transport.perform_request(
                    method, path, params=params, body=body, timeout=left, ignore=ignore
                )
        except (OpenSearchException, TimeoutError, RuntimeError) as error:
            raise unavailable(_said(error)) from error


class QuickSerializer(JSONSerializer):
    """JSON as the driver takes it, several times as fast: thousands of passages come at once."""

    @override
    def loads(self, s: str) -> Any:
        return orjson.loads(s)

    @override
    def dumps(self, data: Any) -> Any:
        return data if isinstance(data, str) else _written(data)


def unavailable(cause: str) -> Unavailable:
    """The error of whoever asks or writes while the server does not do it."""
    message = "keyword search did not answer; go on without it"
    return Unavailable("text.unavailable", message, cause=cause)


def _said(error: Exception) -> str:
    if isinstance(error, TransportError) and isinstance(error.status_code, int):
        return str(error.error)
    return type(error).__name__


def _written(value: Any) -> str:
    return orjson.dumps(value).decode()
