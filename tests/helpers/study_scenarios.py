"""Scenarios that tests of studies share, and folders compared byte by byte."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import linkwise as lw

PARAMETERS = {"x": lw.Uniform(0.0, 2.0), "y": lw.Normal([1.0, -1.0], 0.1)}


def plain(robot, p):
    """Numbers, a word and a series."""
    return {"sum": p["x"] + p["y"].sum(), "word": "low" if p["x"] < 1 else "high", "series": p["x"] * np.arange(3.0)}


def logged(path):
    """A scenario that says in a file which runs it makes, one line each."""

    def scenario(robot, p):
        with open(path, "a") as f:
            f.write(f"{p['k']}\n")
        time.sleep(p.get("pause", 0.0))
        return {"square": p["k"] * p["k"], "x": np.array([p["k"], p["u"]])}

    return scenario


def troubled(robot, p):
    """Each of its runs ends in another way."""
    k = p["k"]
    if k == 1:
        raise ValueError("one is too many")
    if k == 2:
        return {"value": float("nan")}
    if k == 3:
        while True:
            time.sleep(0.01)
    if k == 4:
        os.kill(os.getpid(), signal.SIGSEGV)
    if k == 5:
        os._exit(7)
    return {"value": float(k)}


def contents(folder):
    """The files with results: name → bytes. The names hold digests, but let us see the bytes themselves."""
    root = Path(folder)
    return {p.relative_to(root).as_posix(): p.read_bytes() for kind in ("runs", "series") for p in
            sorted((root / kind).rglob("*")) if p.is_file()}  # fmt: skip


def pendulum():
    return lw.load("double_pendulum")
