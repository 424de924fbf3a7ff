"""Progress: on terminals and in notebooks, quiet elsewhere, and without the time that compiling takes."""

import sys
import time
import types

import pytest
from patience import eventually

from linkwise import progress
from linkwise.progress import Line, Progress, waiting


class Terminal:
    def __init__(self, terminal=True):
        self.text, self._terminal = "", terminal

    def isatty(self):
        return self._terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


class Cell:
    """What IPython's display gives: a place whose content can be changed."""

    def __init__(self):
        self.shown = []

    def update(self, data, raw):
        assert raw
        self.shown.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch):
    cell = Cell()

    def display(data, raw, display_id):
        cell.update(data, raw)
        return cell

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.SimpleNamespace(get_ipython=lambda: shell, display=types.SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    return cell


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)


def test_in_a_notebook_one_place_is_written_again_and_again(notebook, impatient):
    with Progress(3, "steps") as bar:
        for _ in range(3):
            time.sleep(0.02)
            bar.advance(1)
    assert len(notebook.shown) >= 2 and "3/3 steps" in notebook.shown[-1]
    assert progress.in_notebook()


def test_a_console_of_ipython_is_no_notebook(monkeypatch):
    ipython = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not progress.in_notebook()


def test_waiting_says_what_for_and_leaves_nothing(monkeypatch, impatient):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with waiting("compiling inner_and_outer"), waiting("compiling inner"):
        eventually(lambda: "compiling" in terminal.text)
    assert "compiling inner_and_outer …" in terminal.text and "compiling inner …" not in terminal.text
    assert terminal.text.endswith("\r\033[K")


def test_waiting_is_quiet_where_nobody_watches(monkeypatch, impatient):
    nobody = Terminal(terminal=False)
    monkeypatch.setattr(sys, "stderr", nobody)
    with waiting("compiling"):
        time.sleep(0.05)
    assert nobody.text == ""


def test_times_leave_compiling_out(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    terminal = Terminal()
    with Progress(4, "steps", True, terminal) as bar:
        with waiting("compiling"):
            clock[0] += 60.0
        clock[0] += 2.0
        bar.advance(2)
        assert "2 s left" in terminal.text
        clock[0] += 2.0
        bar.advance(2)
    assert "4.0 s" in terminal.text and "6" not in terminal.text.rpartition("steps")[2]


def test_a_failure_within_ends_the_wait(monkeypatch, impatient):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError), waiting("compiling"):
        raise ValueError
    with waiting("compiling"):  # the line is free again
        assert not progress._one_waits.acquire(blocking=False)


def test_a_line_that_was_never_shown_leaves_no_mark():
    terminal = Terminal()
    line = Line(terminal)
    line.erase()
    line.end()
    assert terminal.text == ""
