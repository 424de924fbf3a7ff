"""Processes that fork while another thread has code made: the child makes its own."""

import os

import numpy as np
import pytest
from forked import Held, answer_of_a_fork

import linkwise as lw
from linkwise.codegen.runtime import engine


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_waits_until_llvm_works_for_no_other_thread(monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    robot, q = lw.load("double_pendulum"), np.array([0.1, 0.2])
    expected = robot.gravity_force(q, target="numpy")
    llvm = engine._llvm()

    def in_llvm(stay):
        with llvm.ffi.lib._lock:  # which every call of LLVM takes
            stay()

    with Held(in_llvm, seconds=0.5):
        assert answer_of_a_fork(lambda: np.allclose(robot.gravity_force(q, target="cpu"), expected))
