"""Who makes the chunks of a study: this process, processes of this machine, or a cluster of Ray's or Dask's.

Chunks are all that an engine hands out, and their numbers all that it says: workers write what they make themselves.
Wherever a chunk is made, a :class:`Supervisor` with a process of its own makes it, so that runs that crash or hang take
no engine with them, and are told apart there from workers that were killed.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..extras import require
from .chunks import Summary, make_chunk
from .frames import packed
from .places import Place
from .supervisor import Stopped, Supervisor

if TYPE_CHECKING:
    from .study import Study

Tell = Callable[[Summary], None]
_AT_A_CARD = 4  # processes, each of which takes some memory there


def run(
    engine: str, study: Study, place: Place, todo: Sequence[int], tell: Tell, workers: int | None, address: str | None
) -> None:
    """Make these chunks; ``tell`` is called with what came of each."""
    if not todo:
        return
    if engine == "serial":
        for chunk in todo:
            tell(make_chunk(study, place, chunk))
    elif engine == "local":
        local(study, place, todo, tell, workers or processes(study))
    else:
        from . import clusters

        if place.url.startswith("memory://"):
            raise InputError("memory:// is this process's own; a cluster needs a folder that all its machines see")
        clusters.ENGINES[engine](study, place, todo, tell, workers, address)


def require_packages(engine: str) -> None:
    """What an engine takes, or an error that says what is missing."""
    if engine != "serial":
        require("cloudpickle", "study", "a study in other processes")
    if engine == "dask":
        require("distributed", "cluster", 'engine="dask"')
    elif engine == "ray":
        require("ray", None, 'engine="ray"')


def processes(study: Study) -> int:
    """How many processes make chunks where nobody says it: of a card's, some that draw and write while it works."""
    return cores() if study.device is None else min(cores(), _AT_A_CARD)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local(study: Study, place: Place, todo: Sequence[int], tell: Tell, workers: int) -> None:
    """Chunks by processes of this machine."""
    if place.url.startswith("memory://"):
        raise InputError('memory:// is this process\'s own; use engine="serial" there')
    payload = packed(study)
    stopping = threading.Event()
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for chunk in todo:
        waiting.put(chunk)
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    teams = [Supervisor(payload, place, study.timeout, stopping) for _ in range(min(workers, len(todo)))]
    threads = [threading.Thread(target=_serve, args=(s, waiting, finished), daemon=True) for s in teams]
    for thread in threads:
        thread.start()
    try:
        for _ in range(len(todo)):
            found = _next(finished)
            if isinstance(found, BaseException):
                raise found
            tell(found)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


def _next(finished: queue.SimpleQueue[Any]) -> Any:
    """What comes next; waited for in short turns, in which Ctrl-C is heard on every system."""
    while True:
        try:
            return finished.get(timeout=0.5)
        except queue.Empty:
            continue


def _serve(supervisor: Supervisor, waiting: queue.SimpleQueue[int], finished: queue.SimpleQueue[Any]) -> None:
    try:
        while not supervisor.stopping.is_set():
            try:
                chunk = waiting.get_nowait()
            except queue.Empty:
                return
            finished.put(supervisor.make(chunk))
    except Stopped:
        pass
    except BaseException as e:  # handed to the thread that started the study
        finished.put(e)
    finally:
        supervisor.kill()
