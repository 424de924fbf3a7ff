"""Chunks over the machines of a cluster, by Ray or by Dask; both see to lost machines and start their tasks again."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import FileError, InputError, SimulationError
from ..extras import require
from .chunks import Summary
from .engines import cores
from .frames import packed
from .places import Place
from .supervisor import Stopped, Supervisor

if TYPE_CHECKING:
    from .study import Study

_AHEAD = 4  # tasks that wait for each worker; the scheduler holds no more than these
_GIVEN_UP = 20  # times that a chunk's machines have died
_IDLE = 30.0  # [s] after which a worker that nobody asks for anything ends
_LOOK = 5.0  # [s] between looks at how large a cluster is
_SUPERVISORS: dict[tuple[str, int], Supervisor] = {}
_CLOSING: dict[tuple[str, int], threading.Timer] = {}


def study_key(payload: bytes, place: Place) -> str:
    """What tells the study of one call from others on a cluster."""
    return hashlib.sha256(payload + repr(place).encode()).hexdigest()


def made_on_cluster(payload: bytes, place: Place, timeout: float | None, chunk: int) -> Summary | Exception | None:
    """One chunk, by the worker that this thread of a cluster's process keeps; what cannot be helped is given back.

    None where the study was stopped meanwhile. A worker ends when nothing was asked of it for a while: whoever called
    may be no more.
    """
    key = study_key(payload, place), threading.get_ident()
    if key in _CLOSING:
        _CLOSING.pop(key).cancel()
    supervisor = _SUPERVISORS.setdefault(key, Supervisor(payload, place, timeout))
    try:
        return supervisor.make(chunk)
    except (FileError, InputError) as e:  # no use to try it elsewhere
        return e
    except Stopped:
        _close(key)
        return None
    finally:
        if key in _SUPERVISORS:
            timer = _CLOSING[key] = threading.Timer(_IDLE, _close, (key,))
            timer.daemon = True
            timer.start()


def _close(key: tuple[str, int]) -> None:
    supervisor = _SUPERVISORS.pop(key, None)
    if supervisor is not None:
        supervisor.kill()


def stop_on_cluster(study: str) -> None:
    """End what a process of a cluster does for a study."""
    for key in [k for k in _SUPERVISORS if k[0] == study]:
        _SUPERVISORS[key].stopping.set()
        timer = _CLOSING.pop(key, None)
        if timer is not None:  # nothing is being made
            timer.cancel()
            _close(key)


def _handed_on(payload: bytes) -> bytes:
    """A task of its own: a scheduler that has lost what it gave makes it again, as it cannot with data alone."""
    return payload


def with_ray(
    study: Study,
    place: Place,
    todo: Sequence[int],
    tell: Callable[[Summary], None],
    workers: int | None,
    address: str | None,
) -> None:
    """Chunks as tasks of Ray's."""
    ray = require("ray", None, 'engine="ray"')
    started = not ray.is_initialized()
    if started:
        options: dict[str, Any] = {"address": address} if address else {"num_cpus": workers or cores()}
        ray.init(log_to_driver=False, include_dashboard=False if not address else None, **options)
    waiting: list[Any] = []
    try:
        payload = ray.put(packed(study))
        task = ray.remote(num_cpus=1, max_retries=-1)(made_on_cluster)
        left = iter(todo)
        room = _Room(lambda: int(ray.cluster_resources().get("CPU", 1)))
        while True:
            while len(waiting) < room() and (chunk := next(left, None)) is not None:
                waiting.append(task.remote(payload, place, study.timeout, chunk))
            if not waiting:
                return
            done, waiting = ray.wait(waiting, num_returns=1)
            for found in ray.get(done):
                _tell(found, tell)
    except ray.exceptions.RayError as e:
        raise _gone(address, e) from e
    finally:
        for unwanted in waiting:
            ray.cancel(unwanted, force=True)
        if started:
            ray.shutdown()


def with_dask(
    study: Study,
    place: Place,
    todo: Sequence[int],
    tell: Callable[[Summary], None],
    workers: int | None,
    address: str | None,
) -> None:
    """Chunks as tasks of Dask's."""
    distributed = require("distributed", "cluster", 'engine="dask"')
    # Without an address, threads of this process: each has a supervisor, whose worker is a process anyway.
    options: dict[str, Any] = {"processes": False, "n_workers": 1, "threads_per_worker": workers or cores()}
    options["dashboard_address"] = "127.0.0.1:0"  # any port that is free, for nobody else
    try:
        with distributed.Client(address) if address else distributed.Client(**options) as client:
            _by_client(distributed, client, study, place, todo, tell)
    except (OSError, TimeoutError, distributed.CancelledError) as e:
        raise _gone(address, e) from e


def _by_client(
    distributed: Any,
    client: Any,
    study: Study,
    place: Place,
    todo: Sequence[int],
    tell: Callable[[Summary], None],
) -> None:
    data = packed(study)
    payload = client.submit(_handed_on, data, pure=False)
    left = iter(todo)
    chunks: dict[str, int] = {}  # by the keys of tasks
    deaths: Counter[int] = Counter()
    waiting = distributed.as_completed()

    def submit(chunk: int) -> None:
        future = client.submit(made_on_cluster, payload, place, study.timeout, chunk, pure=False)
        chunks[future.key] = chunk
        waiting.add(future)

    room = _Room(lambda: sum(client.nthreads().values()))

    def fill() -> None:
        while len(chunks) < room() and (chunk := next(left, None)) is not None:
            submit(chunk)

    try:
        fill()
        for future in waiting:
            chunk = chunks.pop(future.key)
            try:
                _tell(future.result(), tell)
            except distributed.KilledWorker as e:  # several machines died with it; it may be none of its doing
                deaths[chunk] += 1
                if deaths[chunk] >= _GIVEN_UP:
                    raise SimulationError(f"machines that made chunk {chunk} died again and again: {e}") from e
                submit(chunk)
            fill()
    finally:
        client.run(stop_on_cluster, study_key(data, place), on_error="ignore")


class _Room:
    """How many tasks may wait; asked of the cluster now and then, as machines come and go."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count, self._last, self._known = count, -math.inf, 1

    def __call__(self) -> int:
        now = time.monotonic()
        if now - self._last > _LOOK:
            self._known, self._last = max(1, self._count()), now
        return _AHEAD * self._known


def _gone(address: str | None, e: BaseException) -> SimulationError:
    where = f"the cluster at {address}" if address else "the cluster on this machine"
    said = " ".join(str(e).split())
    return SimulationError(
        f"{where} does not answer ({type(e).__name__}: {said:.200}); what is finished is kept: when it is there again,"
        " the same call goes on"
    )


def _tell(found: Any, tell: Callable[[Summary], None]) -> None:
    if isinstance(found, Exception):
        raise found
    if found is None:
        raise SimulationError("the study was stopped on the cluster by another call")
    tell(found)


ENGINES = {"ray": with_ray, "dask": with_dask}
