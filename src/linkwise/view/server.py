"""A viser server that says nothing of its own, asks for no network but the one it is given, and talks to its own page.

viser takes any WebSocket, so that a page of any site could read and move what a viewer shows; and its page is called
"Viser". Both are mended where its requests come in (:class:`Doorkeeper`).
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import socket
import threading
import warnings
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import InputError, LinkwiseError
from ..extras import require

LOCAL = ("localhost", "127.0.0.1", "::1")
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="13" fill="#22303c"/>'
    '<path d="M14 50 26 24 46 20" fill="none" stroke="#7fb2d4" stroke-width="7" stroke-linecap="round"/>'
    '<g fill="#e8804f"><circle cx="14" cy="50" r="7"/><circle cx="26" cy="24" r="7"/><circle cx="46" cy="20" r="7"/>'
    "</g></svg>"
)
_starting = threading.Lock()


def quiet_server(host: str, port: int, title: str = "linkwise") -> Any:
    """A running ``viser.ViserServer``; port 0 takes any free one, a taken port gives the next free one.

    ``title`` is that of its page.
    """
    viser = require("viser", "view", "the viewer")
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise InputError(f"a port is a number from 0 to 65535, got {port!r}")
    _refuse_bad_host(host)
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    with _silence(), Doorkeeper(host, title).at_the_door():
        return viser.ViserServer(host=host, port=port, label="linkwise", verbose=False)


class Doorkeeper:
    """Looks at every request to a viser server: refuses WebSockets of other sites, names the page."""

    def __init__(self, host: str, title: str) -> None:
        self._local, self._title = host in LOCAL, title
        self._pages: dict[bytes, bytes] = {}
        self.placed = False

    @contextlib.contextmanager
    def at_the_door(self) -> Iterator[None]:
        """Servers that viser starts meanwhile have this doorkeeper; there is no other way to give it one."""
        module = require("websockets.asyncio.server", "view", "the viewer")
        with _starting:
            serve = module.serve

            def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
                self.placed = True
                asked = None if process_request is None else self._asked(process_request)
                return serve(*arguments, process_request=asked, **options)

            module.serve = guarded
            try:
                yield
            finally:
                module.serve = serve
        if not self.placed:
            warnings.warn("this version of viser takes connections of any page; keep to viser 1.1", stacklevel=4)

    def _asked(self, process_request: Any) -> Any:
        def answer(connection: Any, request: Any) -> Any:
            if not self.allows(request.headers.get("Origin"), request.headers.get("Host", "")):
                return connection.respond(403, "This viewer talks to its own page alone.\n")
            found = process_request(connection, request)
            return found if found is None else self._named(found)

        return answer

    def allows(self, origin: str | None, host: str) -> bool:
        """Whether a page of this origin may ask (None: no page does), by the host it asks.

        It must come from that host. A viewer that listens on this machine alone is asked by a local name, so that no
        site passes for one by pointing its own name here.
        """
        name = urlsplit(f"//{host}").hostname or ""
        if self._local and name not in LOCAL:
            return False
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()

    def _named(self, response: Any) -> Any:
        """viser's page under the viewer's own title and icon; other files as they are."""
        if "text/html" in response.headers.get("Content-Type", ""):
            body = response.body
            if body not in self._pages:
                packed = response.headers.get("Content-Encoding") == "gzip"
                text = (gzip.decompress(body) if packed else body).decode("utf-8")
                new = named(text, self._title).encode("utf-8")
                self._pages[body] = gzip.compress(new) if packed else new
            response.body = self._pages[body]
            del response.headers["Content-Length"]
            response.headers["Content-Length"] = str(len(response.body))
        return response


def named(html: str, title: str) -> str:
    """A page of viser's client under another title and icon."""
    before, icon, after = html.partition('rel="icon"')
    start = after.find('href="')
    if icon and start >= 0:
        end = after.index('"', start + 6)
        after = f'{after[:start]}href="data:image/svg+xml,{quote(ICON)}{after[end:]}'
    escaped = title.replace("&", "&amp;").replace("<", "&lt;")
    return (before + icon + after).replace("<title>Viser</title>", f"<title>{escaped}</title>", 1)


def stop_quietly(server: Any) -> None:
    with _silence():
        server.stop()


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Without the lines that viser prints when it starts and stops, which would get into a program's output."""
    console = require("rich", "view", "the viewer").get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def _refuse_bad_host(host: str) -> None:
    """An address that cannot be listened on would keep viser trying for ever."""
    try:
        with socket.create_server((host, 0)):
            pass
    except OSError as e:
        raise LinkwiseError(
            f"the viewer cannot listen on {host!r}: {e.strerror or e}; use 127.0.0.1, or 0.0.0.0 for all networks"
        ) from None
