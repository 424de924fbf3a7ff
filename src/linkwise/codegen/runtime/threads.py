"""Threads that share large batches: how many there may be, and how work is handed to them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import InputError
from .allowance import processors_allowed

if TYPE_CHECKING:
    from queue import SimpleQueue

T = TypeVar("T")


def usable_cores() -> int:
    """How many cores this process may use now."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(here, processors_allowed())


def refuse_other_threads(threads: Any) -> None:
    """Refuse what is no number of threads."""
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads must be a whole number of at least 1, got {threads!r}")


class Task:
    """A call that another thread makes."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._done = threading.Lock()
        self._done.acquire()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result = self._call()
        except BaseException as e:
            self._error = e
        finally:
            self._done.release()

    def result(self) -> Any:
        self._done.acquire()
        if self._error is not None:
            raise self._error
        return self._result


class Crew:
    """Threads that wait for work, started when there is work for them; they end with the process."""

    def __init__(self) -> None:
        from queue import SimpleQueue

        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._threads = 0
        self._starting = threading.Lock()

    def map(self, function: Callable[[Any], T], parts: Sequence[Any]) -> list[T]:
        """The function of every part; the first is done by the thread that asks."""
        self._start(len(parts) - 1)
        tasks = [Task(partial(function, part)) for part in parts[1:]]
        for task in tasks:
            self._tasks.put(task)
        try:
            first = function(parts[0])
        finally:
            others = [task.result() for task in tasks]  # (which write into the caller's memory until then)
        return [first, *others]

    def _start(self, wanted: int) -> None:
        with self._starting:
            while self._threads < wanted:
                self._threads += 1
                threading.Thread(target=self._work, name=f"linkwise-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._tasks.get().run()


@lru_cache(maxsize=1)
def crew() -> Crew:
    """The threads of this process."""
    return Crew()


if hasattr(os, "register_at_fork"):  # a forked child has the crew but none of its threads
    os.register_at_fork(after_in_child=crew.cache_clear)
