"""A study lies in a folder or behind a URL, and is the same there."""

import functools
import http.server
import shutil
import threading
import uuid
from contextlib import closing

import numpy as np
import pytest
from study_scenarios import PARAMETERS, contents, pendulum, plain

import linkwise as lw
from linkwise.study import journal
from linkwise.study.columns import Record
from linkwise.study.places import Place

fsspec = pytest.importorskip("fsspec")


def study():
    return lw.Study(pendulum(), plain, parameters=PARAMETERS, samples=11, seed=3, chunk=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("place") / "study"
    study().run(made, engine="serial")
    return made


def same(url, folder):
    a, b = lw.open_study(url).results(), lw.open_study(folder).results()
    return a.equals(b) and a.sizes["run"] == 11


def test_a_study_in_memory_is_the_one_on_disk_and_goes_on(folder):
    url = f"memory://{uuid.uuid4().hex}/study"
    study().run(url, engine="serial")
    place = Place(url)
    wanted = contents(folder)
    assert {f"{kind}/{x}" for kind in ("runs", "series") for x in place.names(kind)} == set(wanted)
    assert all(place.read(name, 10**6) == data for name, data in wanted.items())
    assert same(url, folder)
    lost = next(x for x in wanted if x.startswith("runs"))
    place.remove(lost)
    assert lw.open_study(url).results().sizes["run"] == 7
    study().run(url, engine="serial")
    assert same(url, folder)


def stopped_once(log):
    """A scenario that says in a file which runs it makes, and is stopped in the sixth of them the first time."""

    def scenario(robot, p):
        with open(log, "a") as f:
            f.write(f"{p['k']}\n")
        if p["k"] == 5 and log.read_text().split().count("5") == 1:
            raise KeyboardInterrupt
        return {"square": p["k"] ** 2}

    return scenario


def test_runs_on_record_in_memory_are_not_made_again(tmp_path):
    url, log = f"memory://{uuid.uuid4().hex}/study", tmp_path / "log"
    again = lw.Study(pendulum(), stopped_once(log), {"k": lw.Grid(list(range(8)))}, chunk=4)
    with pytest.raises(KeyboardInterrupt):
        again.run(url, engine="serial")
    assert lw.open_study(url).counts() == {"done": 5}
    found = again.run(url, engine="serial")
    assert [int(x) for x in log.read_text().split()] == [0, 1, 2, 3, 4, 5, 5, 6, 7]
    assert found.counts() == {"done": 8} and not list(Place(url).names("journal"))


def test_runs_behind_a_url_are_on_record_while_their_chunk_is_made(monkeypatch):
    """One file a second at most, and at once where many bytes wait."""
    clock = [0.0]
    monkeypatch.setattr(journal.time, "monotonic", lambda: clock[0])
    place = Place(f"memory://{uuid.uuid4().hex}")
    with closing(journal.Journal(place, 0)) as kept:
        for run, now in enumerate((0.2, 0.9, 1.1, 1.5)):
            clock[0] = now
            kept.add(Record(run, "done", {"x": np.float64(run)}))
        assert set(journal.records(place)) == {0, 1, 2}
        monkeypatch.setattr(journal, "_AT_ONCE", 10)
        kept.add(Record(4, "done", {"x": np.float64(4)}))
        assert set(journal.records(place)) == {0, 1, 2, 3, 4}


def test_engines_with_other_processes_refuse_this_ones_memory():
    with pytest.raises(lw.InputError, match='use engine="serial" there'):
        study().run(f"memory://{uuid.uuid4().hex}", workers=1)
    with pytest.raises(lw.InputError, match="a cluster needs a folder that all its machines see"):
        study().run(f"memory://{uuid.uuid4().hex}", engine="dask")


def test_a_file_url_is_a_folder_of_this_machine(folder, tmp_path):
    study().run(f"file://{tmp_path}/s", engine="serial")
    assert contents(tmp_path / "s") == contents(folder) and same(f"file://{folder}", folder)


def test_a_zip_file_is_read(folder, tmp_path):
    file = shutil.make_archive(str(tmp_path / "packed"), "zip", folder.parent, "study")
    assert same(f"zip://study::file://{file}", folder)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_a_web_server_is_read(folder):
    pytest.importorskip("aiohttp")
    handler = functools.partial(Quiet, directory=str(folder.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/study"
            assert same(url, folder)
            with pytest.raises(lw.FileError, match="holds no study"):
                lw.open_study(url + "x")
            with pytest.raises(lw.FileError, match="cannot write .*PUT"):
                study().run(url + "y", engine="serial")
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("url", ["gibberish://x", "memory:///../..\0", "", 3, None, b"x"])
def test_what_is_no_place_is_said_so(url):
    with pytest.raises(lw.LinkwiseError, match="cannot open|a study lies in a folder"):
        lw.open_study(url)


@pytest.mark.parametrize("name", ["../x", "/x", "a/../b", "a//b", "", ".x", "a b", "a\nb", "a\\b"])
def test_names_stay_inside(tmp_path, name):
    for place in (Place(str(tmp_path)), Place("memory://x")):
        with pytest.raises(lw.FileError, match="is no name of a file of a study"):
            place.write(name, b"")
        with pytest.raises(lw.FileError, match="is no name of a file of a study"):
            place.read(name, 1)


def test_limits_on_sizes_hold_behind_urls(folder):
    url = f"memory://{uuid.uuid4().hex}/study"
    place = Place(url)
    place.write("a", np.zeros(100).tobytes())
    with pytest.raises(lw.FileError, match="a larger limit= reads it"):
        place.read("a", 799)
    assert len(place.read("a", 800)) == 800


def test_homes_and_file_urls_are_folders_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for given in ("~/s", f"file:{tmp_path}/s", f"file://{tmp_path}/s", tmp_path / "s"):
        assert Place.of(given) == Place(str(tmp_path / "s"))
