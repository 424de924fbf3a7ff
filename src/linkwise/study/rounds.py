"""Functions that go on in turns: each runs until it asks for something, and waits while the others come as far.

Each has a thread of its own, one of which runs at a time. So functions written for one run ask for things that are made
for many: all that wait are answered together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Turn:
    """A function on its way: ``asks`` for something, or has ended with ``result`` or ``error``."""

    key: int
    asks: Any = None
    result: Any = None
    error: BaseException | None = None
    ended: bool = False
    answer: Any = None
    ways: list[str] = field(default_factory=list)  # what it notes of itself
    _mine: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _yours: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def ask(self, what: Any) -> Any:
        """Called within the function: wait for an answer to ``what``."""
        self.asks = what
        self._yours.release()
        self._mine.acquire()
        self.asks = None
        return self.answer

    def go_on(self, answer: Any = None) -> None:
        """Called by who hands out turns: let it run until it asks again or ends."""
        self.answer = answer
        self._mine.release()
        self._yours.acquire()


Function = Callable[[Turn], Any]


class Threads:
    """Threads that run functions; one that has ended its function takes another."""

    def __init__(self) -> None:
        self._free: list[_Thread] = []

    def start(self, turn: Turn, function: Function) -> None:
        """Run a function until it asks for the first time, or ends."""
        thread = self._free.pop() if self._free else _Thread()
        thread.give(turn, function, self._free)
        turn.go_on()

    def close(self) -> None:
        """Let the threads that have nothing to do end."""
        for thread in self._free:
            thread.end()
        self._free.clear()


class _Thread:
    def __init__(self) -> None:
        self._work: Any = None
        self._given = threading.Semaphore(0)
        threading.Thread(target=self._run, daemon=True).start()

    def give(self, turn: Turn, function: Function, free: list[_Thread]) -> None:
        self._work = (turn, function, free, copy_context())
        self._given.release()

    def end(self) -> None:
        self._work = None
        self._given.release()

    def _run(self) -> None:
        while True:
            self._given.acquire()
            if self._work is None:
                return
            turn, function, free, context = self._work
            turn._mine.acquire()
            try:
                turn.result = context.run(function, turn)
            except BaseException as e:  # handed to who hands out turns
                turn.error = e
            self._work = function = context = None  # what it holds is not kept alive by a thread that waits
            turn.ended = True
            free.append(self)
            turn._yours.release()
            del turn


def in_turns(
    functions: Iterator[tuple[int, Function]],
    answers: Callable[[list[Any]], list[Any]],
    around: Callable[[str, int], None],
) -> Iterator[Turn]:
    """Run functions by turns, and give each when it has ended; ``answers`` are to what those that wait have asked.

    ``around("start", key)`` is called before every turn, ``around("wait", key)`` after one in which it asked for
    something, ``around("end", key)`` once it has ended and who is given it has asked for the next.
    """
    threads = Threads()

    def turned(turn: Turn, go: Callable[..., None], *given: Any) -> Iterator[Turn]:
        around("start", turn.key)
        go(*given)
        if turn.ended:
            yield turn
        around("end" if turn.ended else "wait", turn.key)

    try:
        waiting: list[Turn] = []
        for key, function in functions:
            turn = Turn(key)
            yield from turned(turn, threads.start, turn, function)
            waiting.append(turn)
        while waiting := [turn for turn in waiting if not turn.ended]:
            given = answers([turn.asks for turn in waiting])
            for turn, answer in zip(waiting, given):
                yield from turned(turn, turn.go_on, answer)
    finally:
        threads.close()
