"""A process that serves the lamps, for tests: `stdio` or `http`, then options by name."""

import asyncio
import contextlib
import os
import sys
from dataclasses import replace

from canonry.app.system import SystemClock
from canonry.gateway.principal import Principal
from canonry.server.options import BearerOptions, HttpLimits, ServerOptions
from canonry.server.stdio import OpenGateway
from canonry.values.errors import Unavailable
from tests.gateway.sample import KEEPER, TRUSTED, a_canon, a_gateway

KEY = "a shared secret that only tests know, long enough for HS256"
ISSUER = "https://issuer.example"
RESOURCE = "http://127.0.0.1/mcp"
TOKEN_OPTIONS = BearerOptions(
    issuer=ISSUER, audience=RESOURCE, resource_url=RESOURCE, key=KEY, algorithms=("HS256",)
)
LONG = 60.0
MEBIBYTE = 1 << 20
FEW = HttpLimits(each_principal=3, sessions=5, in_flight_bytes=MEBIBYTE)


def write_line(text: str) -> None:
    with contextlib.suppress(OSError):  # a test may have stopped listening
        os.write(2, f"{text}\n".encode())


async def close() -> None:
    write_line("closed")


async def main(words: list[str]) -> None:
    principal = next((TRUSTED for word in words if word == "trusted"), KEEPER)
    if "anonymous" in words:
        principal = Principal()
    options = ServerOptions(
        error_mode="jsonrpc" if "jsonrpc" in words else "result",
        bearer=TOKEN_OPTIONS if "bearer" in words else None,
    )
    if "few" in words:
        options = replace(options, limits=FEW, body_bytes=MEBIBYTE)
    if "patient" in words:
        options = replace(options, drain_seconds=LONG, shutdown_seconds=LONG)
    gateway = a_gateway(canon=a_canon(SystemClock()))
    if "stdio" in words:
        from canonry.server.stdio import serve_stdio  # noqa: PLC0415 - either, as the command does

        async def opened() -> OpenGateway:
            if "unopened" in words:
                raise Unavailable("store.busy", "the lamps are in use")
            return OpenGateway(gateway=gateway, principal=principal, close=close)

        await serve_stdio(gateway.catalogue.toolsets, opened, server_options=options)
        return
    from canonry.server.http import LOCAL, http_app, serve_app  # noqa: PLC0415

    await serve_app(
        gateway,
        lambda: http_app(gateway, principal, server_options=options),
        address=(LOCAL, 0),
        server_options=options,
        close=close,
        listening=lambda address: print(address, flush=True),  # noqa: T201 - the test reads it
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
