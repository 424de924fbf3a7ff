"""Forks beside threads that hold something: what the child finds, and threads that stay where they are."""

import os
import select
import signal
import threading

from patience import PATIENCE


def answer_of_a_fork(ask):
    """What a forked child finds by ``ask()``, a bool."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, b"yes" if ask() else b"no")
        finally:
            os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], PATIENCE)
    os.kill(child, signal.SIGKILL)  # (one that waits for ever would not end)
    os.waitpid(child, 0)
    with open(reading, "rb") as answer:
        return ready and answer.read() == b"yes"


class Held:
    """Runs a function in a thread that stays in it, within ``with``, until it is left, or for so many ``seconds``."""

    def __init__(self, function, seconds=None):
        self.seconds, self.thread = seconds, threading.Thread(target=function, args=(self.stay,), daemon=True)
        self.inside, self.leave = threading.Event(), threading.Event()

    def stay(self):
        self.inside.set()
        assert self.leave.wait(self.seconds or PATIENCE) or self.seconds
        return 0

    def __enter__(self):
        self.thread.start()
        assert self.inside.wait(PATIENCE)
        return self

    def __exit__(self, *error):
        self.leave.set()
        self.thread.join(PATIENCE)
