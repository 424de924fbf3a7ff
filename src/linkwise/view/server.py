"""A viser server that says nothing of its own and never asks for a network beyond the one it is given."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import Any

from ..errors import InputError, LinkwiseError
from ..extras import require


def quiet_server(host: str, port: int) -> Any:
    """A running ``viser.ViserServer``; port 0 takes any free one, a taken port gives the next free one."""
    viser = require("viser", "view", "the viewer")
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise InputError(f"a port is a number from 0 to 65535, got {port!r}")
    _refuse_bad_host(host)
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    with _silence():
        return viser.ViserServer(host=host, port=port, label="linkwise", verbose=False)


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
