"""What becomes of a study whose workers, machines and driver are killed while it runs: nothing, bit for bit.

    python benchmarks/study_faults.py [--runs 10000] [--every 3] [--engines local ray dask] [--kinds worker node driver]

First the study is run undisturbed. Then, for each engine and each kind of process, it is run again while one of these
processes is killed with SIGKILL at random times, ``--every`` seconds on average: "worker" is one that makes runs,
"node" all that a machine of a cluster of two runs (it is started again a little later), "driver" the program that
called ``study.run`` (the same call is made again). The folders are compared byte by byte, and runs are counted as they
begin: those begun twice are those that were being made when something died. Clusters are started on this machine, two
nodes of one core each.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import linkwise as lw

WORKER = "linkwise.study.worker"
PAUSE = 0.004  # [s] that a run waits beside what it computes
WITHIN = 120.0  # [s] that clusters have to start


class Pushed:
    """A scenario: a pendulum pushed about, one run at a time; says in ``log`` that a run begins."""

    def __init__(self, log: str) -> None:
        self.log = log

    def __call__(self, robot: lw.Robot, p: dict[str, Any]) -> dict[str, Any]:
        with open(self.log, "a") as f:
            f.write(f"{p['k']}\n")
        time.sleep(PAUSE)
        tau = robot.inverse_dynamics(p["q"], p["v"], p["v"][::-1], target="numpy")
        return {"power": float(tau @ p["v"]), "tau": tau}


def study(runs: int, log: Path) -> lw.Study:
    scenario = Pushed(str(log))
    normal = lw.Normal([0.0, 0.0], 1.0)
    parameters = {"k": lw.Grid(list(range(runs))), "q": normal, "v": normal}
    return lw.Study(lw.load("double_pendulum"), scenario, parameters, seed=1, chunk=50, callback=True)


def contents(folder: Path) -> dict[str, bytes]:
    """The files with results, name → bytes."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for kind in ("runs", "series")
        for p in sorted((folder / kind).rglob("*"))
        if p.is_file()
    }


# --- processes ------------------------------------------------------------------------------------------


def processes() -> dict[int, tuple[int, str]]:
    """Those of this machine: number → (that of its parent, its command line)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                found[int(entry.name)] = parent, (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, ValueError):
                continue
    return found


def beneath(root: int) -> list[int]:
    """A process and all those it has started, and they."""
    all_of_them, found = processes(), [root]
    for pid in found:
        found += [child for child, (parent, _) in all_of_them.items() if parent == pid]
    return found


def kill_tree(root: int) -> None:
    for pid in beneath(root):
        kill(pid)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


# --- clusters of two nodes on this machine -----------------------------------------------------------------


@dataclass
class Nodes:
    """Two nodes, which are started by ``start`` and die with their processes."""

    address: str
    start: Callable[[], Any]
    running: list[Any] = field(default_factory=list)

    def lose_one(self, choose: random.Random) -> None:
        """Kill one with all that it runs, and start another two seconds later."""
        lost = self.running.pop(choose.randrange(len(self.running)))
        kill_tree(lost.pid)
        lost.wait()
        time.sleep(2.0)
        self.running.append(self.start())

    @property
    def workers(self) -> list[int]:
        """Processes that make runs."""
        known = processes()
        return [pid for node in self.running for pid in beneath(node.pid) if WORKER in known.get(pid, (0, ""))[1]]


def started(*command: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, *command], stdout=quiet, stderr=quiet, env=environment, start_new_session=True
    )


@contextmanager
def dask_nodes() -> Iterator[Nodes]:
    import distributed

    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = started("-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard")
    node = ("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard")
    nodes = Nodes(address, lambda: started(*node))
    nodes.running += [nodes.start(), nodes.start()]
    try:
        with distributed.Client(address, timeout=WITHIN) as client:
            client.wait_for_workers(2, timeout=WITHIN)
        yield nodes
    finally:
        for process in (*nodes.running, scheduler):
            kill_tree(process.pid)


@contextmanager
def ray_nodes() -> Iterator[Nodes]:
    import ray
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 10**8}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})

    def start() -> Any:
        return cluster.add_node(num_cpus=1, **memory).all_processes["raylet"][0].process

    nodes = Nodes(cluster.address, start)
    nodes.running += [start(), start()]
    try:
        yield nodes
    finally:
        ray.shutdown()
        for process in nodes.running:
            kill_tree(process.pid)
        cluster.shutdown()


def free_port() -> int:
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


CLUSTERS: dict[str, Any] = {"ray": ray_nodes, "dask": dask_nodes}


# --- one campaign --------------------------------------------------------------------------------------------


@dataclass
class Campaign:
    engine: str
    kind: str
    runs: int
    every: float
    folder: Path
    nodes: Nodes | None
    choose: random.Random
    kills: int = 0

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def call(self) -> subprocess.Popen[bytes]:
        """``study.run`` in a process of its own."""
        address, workers = (None, 2) if self.nodes is None else (self.nodes.address, None)
        code = (
            "import study_faults, sys, pathlib\n"
            f"study = study_faults.study({self.runs}, pathlib.Path({str(self.log)!r}))\n"
            f"folder = {str(self.folder / 'study')!r}\n"
            f"study.run(folder, engine={self.engine!r}, workers={workers!r}, address={address!r})\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
        return subprocess.Popen([sys.executable, "-c", code], env=environment, start_new_session=True)

    def run(self) -> float:
        """Run it to its end, whatever is killed; gives the seconds that it took."""
        begun = time.monotonic()
        driver, due = self.call(), begun + self.wait()
        while (code := driver.poll()) is None:
            time.sleep(0.05)
            if self.kind != "nothing" and time.monotonic() > due and self.log.exists():
                driver = self.strike(driver)
                due = time.monotonic() + self.wait()
        if code:
            raise SystemExit(f"the study stopped with exit code {code}")
        return time.monotonic() - begun

    def wait(self) -> float:
        return self.choose.expovariate(1 / self.every)

    def strike(self, driver: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """Kill what is to be killed; gives the driver that goes on."""
        if self.kind == "driver":
            self.kills += 1
            driver.kill()
            driver.wait()
            return self.call()
        if self.kind == "node":
            assert self.nodes is not None
            self.kills += 1
            self.nodes.lose_one(self.choose)
        elif found := self.workers():
            self.kills += 1
            kill(self.choose.choice(found))
        return driver

    def workers(self) -> list[int]:
        if self.nodes is not None:
            return self.nodes.workers
        known = processes()
        return [pid for pid in beneath(os.getpid()) if WORKER in known.get(pid, (0, ""))[1]]


def campaign(engine: str, kind: str, runs: int, every: float) -> tuple[dict[str, bytes], float, int, int]:
    """(what is in the folder, seconds, kills, runs begun more than once)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine in CLUSTERS:
            with CLUSTERS[engine]() as nodes:
                made = Campaign(engine, kind, runs, every, folder, nodes, random.Random(1))
                seconds = made.run()
        else:
            made = Campaign(engine, kind, runs, every, folder, None, random.Random(1))
            seconds = made.run()
        begun = Counter(made.log.read_text().split())
        found = contents(folder / "study")
        results = lw.open_study(folder / "study").results()
    assert set(begun) == {str(k) for k in range(runs)}
    assert results.sizes["run"] == runs and set(results.status.values) == {"done"}
    again = sum(n - 1 for n in begun.values())
    assert again <= made.kills * (2 if kind == "driver" else 1)  # what was being made: with the driver, two workers die
    return found, seconds, made.kills, again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--every", type=float, default=3.0)
    parser.add_argument("--engines", nargs="*", default=["local", "ray", "dask"])
    parser.add_argument("--kinds", nargs="*", default=["worker", "node", "driver"])
    arguments = parser.parse_args()
    print("| engine | killed | how often | took [s] | undisturbed [s] | runs begun twice | files |", flush=True)
    print("|---|---|---|---|---|---|---|", flush=True)
    wanted: dict[str, bytes] | None = None
    bad = 0
    for engine in arguments.engines:
        found, calm, _, again = campaign(engine, "nothing", arguments.runs, arguments.every)
        wanted = found if wanted is None else wanted
        assert found == wanted and again == 0
        for kind in arguments.kinds:
            if kind == "node" and engine == "local":
                continue
            found, seconds, kills, again = campaign(engine, kind, arguments.runs, arguments.every)
            same = "equal" if found == wanted else "DIFFERENT"
            bad += found != wanted
            print(f"| {engine} | {kind} | {kills} | {seconds:.0f} | {calm:.0f} | {again} | {same} |", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    np.seterr(all="raise")
    raise SystemExit(main())
