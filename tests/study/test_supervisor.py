"""Who looks after a worker: it counts deaths until a run more is on record, and a run's time over all of its turns."""

import io
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import pytest
from patience import eventually

import linkwise as lw
from linkwise.study.chunks import Summary
from linkwise.study.frames import receive
from linkwise.study.supervisor import KILLED, OWN_FAULTS, Supervisor, _hear
from linkwise.study.ways import NOT_DRAWN

DONE = ("done", Summary(0, 1))


class Ended:
    """A process that is no more."""

    def __init__(self, code):
        self.stdin, self.code = io.BytesIO(), code

    def wait(self):
        return self.code

    poll = wait


class Played(Supervisor):
    """One whose workers say what is written for each of them (a number is a pause in seconds), and die."""

    def played(self, says, code=-signal.SIGSEGV):
        self.says, self.code, self.ended = says, code, 0
        return self

    def _start(self):
        self._process, self._replies = Ended(self.code), queue.Queue()
        threading.Thread(target=self._say, args=(self.says(self.ended), self._replies), daemon=True).start()

    @staticmethod
    def _say(messages, replies):
        for message in messages:
            if isinstance(message, float):
                time.sleep(message)
            else:
                replies.put(message)
        replies.put(None)

    def kill(self):
        self.ended += 1

    def given_up(self):
        """What the last worker was told of runs that it is not to make."""
        self._process.stdin.seek(0)
        return receive(self._process.stdin)[1]


@pytest.mark.parametrize(("code", "most"), [(-9, KILLED), (1, KILLED // 4)])
@pytest.mark.parametrize("said", [[], [("start", 3), ("wait", 3)], [("draw", 3), ("wait", 3)]])
def test_deaths_while_no_run_is_made_come_to_an_end(said, code, most):
    """As where motions of many runs are made together, or where one waits for others."""
    supervisor = Played(b"", None).played(lambda n: said, code)
    with pytest.raises(lw.SimulationError, match=f"died {most} times while no run was being made"):
        supervisor.make(0)


def test_a_run_on_record_lets_deaths_before_it_be_past():
    often = KILLED + 5
    supervisor = Played(b"", None).played(lambda n: [DONE] if n == often else [("start", n), ("end", n)], -9)
    assert supervisor.make(0) == DONE[1] and supervisor.deaths == often


@pytest.mark.parametrize(("what", "ways"), [("start", ()), ("draw", (NOT_DRAWN,))])
def test_a_run_that_its_worker_died_with_is_given_up(what, ways):
    supervisor = Played(b"", None).played(lambda n: [DONE] if n == OWN_FAULTS else [(what, 3)])
    supervisor.make(0)
    assert {k: (r.status, r.ways) for k, r in supervisor.given_up().items()} == {3: ("crashed", ways)}


@pytest.mark.parametrize(("what", "ways"), [("start", ()), ("draw", (NOT_DRAWN,))])
def test_the_time_of_a_run_is_that_of_all_its_turns(what, ways):
    turns = [x for _ in range(100) for x in ((what, 3), 0.02, ("wait", 3))]
    supervisor = Played(b"", None, timeout=0.1).played(lambda n: [DONE] if n else turns)
    supervisor.make(0)
    assert supervisor.deaths == 0 and supervisor.ended == 1
    assert {k: (r.status, r.ways) for k, r in supervisor.given_up().items()} == {3: ("timeout", ways)}


@pytest.mark.skipif(sys.platform == "win32", reason="sessions")
def test_a_worker_is_ended_with_what_it_started():
    """Which holds its end of the pipe open, so that the end of its words does not say that it is no more."""
    supervisor = Supervisor(b"", None)
    started = [sys.executable, "-c", "import os, time\nif os.fork():\n os.kill(os.getpid(), 11)\ntime.sleep(600)"]
    supervisor._process = subprocess.Popen(
        started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    supervisor._replies, group = queue.Queue(), supervisor._process.pid
    threading.Thread(target=_hear, args=(supervisor._process.stdout, supervisor._replies), daemon=True).start()
    assert list(supervisor._messages()) == []
    os.killpg(group, 0)  # somebody of it is there
    supervisor.kill()
    assert eventually(lambda: not _is_there(group))


HELD = """
import re
from linkwise.study.worker import _end_with_supervisor
_end_with_supervisor()
print("here", flush=True)
re.match("(a+)+$", "a" * 60 + "b")  # which keeps Python's lock for years
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for it")
def test_a_worker_ends_with_its_driver_whatever_it_is_doing():
    driver = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {HELD!r}])"
    started = subprocess.Popen(
        [sys.executable, "-c", driver], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert started.stdout.readline() == "here\n"
    started.kill()
    assert started.stdout.read() == ""  # its end: nobody holds the pipe any more
    started.wait()
    assert eventually(lambda: not _is_there(started.pid))


def _is_there(group):
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
