"""Chunks over the machines of a cluster, by Ray or by Dask; both see to lost machines and start their tasks again."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import FileError, InputError, MissingExtraError
from ..extras import require
from .chunks import Summary
from .engines import cores
from .frames import packed
from .places import Place
from .supervisor import Supervisor

if TYPE_CHECKING:
    from .study import Study

_AHEAD = 4  # tasks that wait for each worker; the scheduler holds no more than these
_RETRIES = 1000
_SUPERVISORS: dict[tuple[str, int], Supervisor] = {}


def made_on_cluster(payload: bytes, url: str, timeout: float | None, chunk: int) -> Summary | Exception:
    """One chunk, by the worker that this thread of a cluster's process keeps; what cannot be helped is given back."""
    key = hashlib.sha256(payload + url.encode()).hexdigest(), threading.get_ident()
    if key not in _SUPERVISORS:
        _SUPERVISORS[key] = Supervisor(payload, Place(url), timeout)
    try:
        return _SUPERVISORS[key].make(chunk)
    except (FileError, InputError) as e:  # no use to try it elsewhere
        return e


def with_ray(
    study: Study,
    place: Place,
    todo: Sequence[int],
    tell: Callable[[Summary], None],
    workers: int | None,
    address: str | None,
) -> None:
    """Chunks as tasks of Ray's."""
    ray = require("ray", "cluster", 'engine="ray"')
    started = not ray.is_initialized()
    if started:
        options: dict[str, Any] = {"address": address} if address else {"num_cpus": workers}
        ray.init(log_to_driver=False, include_dashboard=False if not address else None, **options)
    waiting: list[Any] = []
    try:
        payload = ray.put(packed(study))
        task = ray.remote(num_cpus=1, max_retries=-1)(made_on_cluster)
        left = iter(todo)
        while True:
            room = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(waiting) < room and (chunk := next(left, None)) is not None:
                waiting.append(task.remote(payload, place.url, study.timeout, chunk))
            if not waiting:
                return
            done, waiting = ray.wait(waiting, num_returns=1)
            for found in ray.get(done):
                _tell(found, tell)
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
    distributed = _distributed()
    # Without an address, threads of this process: each has a supervisor, whose worker is a process anyway.
    options: dict[str, Any] = {"processes": False, "n_workers": 1, "threads_per_worker": workers or cores()}
    options["dashboard_address"] = None
    with distributed.Client(address) if address else distributed.Client(**options) as client:
        payload = client.scatter(packed(study), broadcast=False, hash=False)
        left = iter(todo)
        waiting = distributed.as_completed()

        def submit() -> bool:
            chunk = next(left, None)
            if chunk is not None:
                given = (made_on_cluster, payload, place.url, study.timeout, chunk)
                waiting.add(client.submit(*given, pure=False, retries=_RETRIES))
            return chunk is not None

        room = _AHEAD * max(1, sum(client.nthreads().values()))
        while room and submit():
            room -= 1
        for future in waiting:
            _tell(future.result(), tell)
            submit()


def _distributed() -> Any:
    """Dask's package, which no extra brings."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise MissingExtraError(
            'engine="dask" needs distributed, which is not installed; this brings it: pip install distributed'
        ) from None


def _tell(found: Any, tell: Callable[[Summary], None]) -> None:
    if isinstance(found, Exception):
        raise found
    tell(found)


ENGINES = {"ray": with_ray, "dask": with_dask}
