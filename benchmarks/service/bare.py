"""The bare side: an ASGI application that answers with what it was sent.

Responsible for being as little as can be; it imports nothing of the package, because its start is
measured too. ``python benchmarks/service/bare.py PORT`` serves it with uvicorn alone.
"""

from __future__ import annotations

import sys
from typing import Any


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the body as it came."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    message = await receive()
    body = message.get("body", b"")
    while message.get("more_body", False):
        message = await receive()
        body += message.get("body", b"")
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(echo, port=int(sys.argv[1]), log_level="error", lifespan="on", http="httptools")
