"""Studies in a store of S3's protocol: s3fs, and the server that moto brings, on this machine.

Runs where both are there: pip install s3fs "moto[server]". The same without them, in memory, is in test_stores.py.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

import pytest
from broken_line import BrokenLine
from patience import PATIENCE, eventually
from study_scenarios import contents

import linkwise as lw
from linkwise.study.places import Place

s3fs = pytest.importorskip("s3fs", reason="needs s3fs: pip install s3fs")
pytest.importorskip("moto.server", reason='needs a server of S3: pip install "moto[server]"')

HERE = os.path.dirname(__file__)
RUNS = 60
CODE = """
import sys
sys.path[:0] = {paths!r}
import linkwise as lw
from linkwise.study import drivers
drivers.BEAT, drivers.DEAD = 0.5, 4.0
from test_s3_runs import study
try:
    study().run({url!r}, workers=2)
except lw.LinkwiseError as e:
    sys.exit(str(e))
"""
SCENARIO = f"""
import os
import time
import numpy as np
import linkwise as lw

def pushed(robot, p):
    time.sleep(0.03)
    while os.path.exists(__file__ + ".hold"):
        time.sleep(0.03)
    return {{"square": p["x"] ** 2, "line": p["x"] * np.arange(3.0)}}

def study():
    drawn = {{"x": lw.Uniform(0, 1)}}
    return lw.Study(lw.load("double_pendulum"), pushed, drawn, {RUNS}, seed=5, chunk=7, callback=True)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A server, and the line to it."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = open(tmp_path_factory.mktemp("moto") / "log", "wb")  # noqa: SIM115 (its process has it)
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                              stdout=log, stderr=log)  # fmt: skip
    line = BrokenLine(port)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ENDPOINT_URL": f"http://127.0.0.1:{line.port}", "ACCESS_KEY_ID": "a",
                            "SECRET_ACCESS_KEY": "b", "DEFAULT_REGION": "us-east-1"}.items():  # fmt: skip
            patch.setenv(f"AWS_{name}", value)
        patch.setenv("NO_PROXY", "*")
        assert eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, lambda: time.sleep(0.2))
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("bucket")
        yield line
    s3fs.S3FileSystem.clear_instance_cache()
    line.close()
    server.terminate()
    server.wait(PATIENCE)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with the scenario, and the study as nothing has stopped it."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "test_s3_runs.py").write_text(SCENARIO)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        from test_s3_runs import study

        study().run(folder / "undisturbed", engine="serial")
        yield folder, contents(folder / "undisturbed")


@pytest.fixture
def url(store):
    store.mode = "whole"
    yield f"s3://bucket/{uuid.uuid4().hex}"
    store.mode = "whole"


def driver(folder, url):
    code = CODE.format(paths=[str(folder), *sys.path], url=url)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def counted(url):
    return sum(lw.open_study(url).counts().values()) if Place(url).exists("study.json") else 0


def files_of(url):
    place = Place(url)
    names = [f"{kind}/{name}" for kind in ("runs", "series") for name in place.names(kind)]
    return {name: place.read(name, 10**7) for name in names}


def test_it_is_the_study_of_a_folder_and_read_while_it_runs(url, desk):
    folder, wanted = desk
    made = driver(folder, url)
    seen = set()
    assert eventually(lambda: seen.add(counted(url)) or made.poll() is not None)
    assert made.returncode == 0, made.stderr.read()
    assert len(seen) > 2 and files_of(url) == wanted
    assert lw.open_study(url).results().equals(lw.open_study(folder / "undisturbed").results())
    assert list(Place(url).names("journal")) == []


@pytest.mark.parametrize("mode", ["500", "cut", "half", "silent"])
def test_a_line_that_breaks_loses_nothing(store, url, desk, mode):
    folder, wanted = desk
    made, choose = driver(folder, url), random.Random(mode)
    assert eventually(lambda: counted(url) > 5 or made.poll() is not None)

    def trouble():
        for _ in range(2):
            store.mode = mode
            time.sleep(0.5 + choose.random())
            store.mode = "whole"
            time.sleep(0.5)

    thread = threading.Thread(target=trouble)
    thread.start()
    said = made.communicate(timeout=PATIENCE)[1]
    thread.join()
    assert made.returncode == 0, said
    assert files_of(url) == wanted


def test_killed_drivers_are_followed_and_second_ones_refused(url, desk):
    folder, wanted = desk
    first = driver(folder, url)
    assert eventually(lambda: counted(url) > 5)
    hold = folder / "test_s3_runs.py.hold"
    hold.touch()
    second = driver(folder, url)
    assert "is being run by process" in second.communicate(timeout=PATIENCE)[1] and second.returncode == 1
    assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.communicate()
    hold.unlink()
    kept = counted(url)
    assert 0 < kept < RUNS
    both = [driver(folder, url) for _ in range(2)]
    said = [x.communicate(timeout=PATIENCE)[1] for x in both]
    assert sorted(x.returncode for x in both) == [0, 1] and any("is being run by" in x for x in said)
    assert files_of(url) == wanted and list(Place(url).names("journal")) == []


def test_what_is_not_there_is_said(store, url):
    with pytest.raises(lw.FileError, match="holds no study"):
        lw.open_study(url)
    with pytest.raises(lw.FileError, match="cannot write s3://no-such-bucket/x/"):
        lw.Study(lw.load("double_pendulum"), "simulate", samples=1).run("s3://no-such-bucket/x", engine="serial")
    store.mode = "cut"
    with pytest.raises(lw.FileError, match=r"cannot look for s3://.*(EndpointConnectionError|ClosedError|HTTPClientE)"):
        lw.open_study(url)
