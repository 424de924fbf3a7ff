"""Studies behind URLs: stores that fail now and then, and one driver at a time.

The store is one in this process; tests/study/test_s3.py does the like with the protocol of Amazon's S3.
"""

import json
import threading
import time
import warnings

import pytest
from patience import PATIENCE, eventually
from study_scenarios import PARAMETERS, contents, pendulum, plain

pytest.importorskip("fsspec")

from stores import Faulty, files_of, new_url

import linkwise as lw
from linkwise.study import drivers, places
from linkwise.study.places import Place


@pytest.fixture(autouse=True)
def short_times(monkeypatch):
    monkeypatch.setattr(drivers, "BEAT", 0.05)
    monkeypatch.setattr(drivers, "DEAD", 1.0)
    monkeypatch.setattr(drivers, "_LOOK", 0.02)
    monkeypatch.setattr(places, "_PAUSE", 0.001)
    monkeypatch.setattr(places, "_LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(places, "_SETTLED", 0.2)
    monkeypatch.setattr(Faulty, "trouble", staticmethod(lambda what, path: None))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores") / "study"
    study().run(folder, engine="serial")
    return contents(folder)


def study(scenario=plain, seed=3):
    return lw.Study(pendulum(), scenario, parameters=PARAMETERS, samples=11, seed=seed, chunk=4)


def give(monkeypatch, trouble):
    monkeypatch.setattr(Faulty, "trouble", staticmethod(trouble))


# --- stores that fail -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError(5, "We encountered an internal error"), TimeoutError(), RuntimeError("cut")])
def test_a_store_that_fails_now_and_then_is_asked_again(monkeypatch, undisturbed, error):
    url, count = new_url(), [0]

    def trouble(what, path):
        count[0] += 1
        if count[0] % 3 == 0:
            raise error

    give(monkeypatch, trouble)
    with pytest.warns(lw.SimulationWarning, match=f"{type(error).__name__}.* asked again for up to"):
        study().run(Place(url, patience=5.0), engine="serial")
    give(monkeypatch, lambda what, path: None)
    assert files_of(url) == undisturbed and count[0] > 60


@pytest.mark.parametrize("after", [3, 12, 25, 40])
def test_a_store_that_stays_away_stops_it_and_nothing_is_lost(monkeypatch, undisturbed, after):
    url, count, gone = new_url(), [0], [True]

    def trouble(what, path):
        count[0] += gone[0]
        if gone[0] and count[0] > after:
            raise OSError(5, "no answer")

    monkeypatch.setattr(drivers, "_PATIENCE", 0.05)
    give(monkeypatch, trouble)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(lw.FileError, match=r"cannot (read|write|list|look for|remove) faulty://.*no answer"):
            study().run(url, engine="serial")
        gone[0] = False
        assert study().run(url, engine="serial").counts() == {"done": 11}
    assert files_of(url) == undisturbed


def test_a_file_that_was_written_though_the_answer_was_lost(monkeypatch, undisturbed):
    url, lost = new_url(), set()

    def trouble(what, path):
        if what == "piped" and path not in lost:
            lost.add(path)
            raise ConnectionError("the answer was lost")

    give(monkeypatch, trouble)
    with pytest.warns(lw.SimulationWarning, match="the answer was lost"):
        study().run(Place(url, patience=5.0), engine="serial")
    assert files_of(url) == undisturbed and any("study.json" in x for x in lost) and any("driver" in x for x in lost)


def test_what_does_not_mend_itself_is_said_at_once(monkeypatch):
    def trouble(what, path):
        if what == "pipe":
            raise PermissionError("Access Denied")

    give(monkeypatch, trouble)
    with pytest.raises(lw.FileError, match="cannot write faulty://.*Access Denied"):
        study().run(Place(new_url(), patience=5.0), engine="serial")


def test_a_question_that_is_not_answered_is_no_answer(monkeypatch):
    """Where a study is not found because the store fails, no other one is begun in its place."""
    url = new_url()
    study().run(url, engine="serial")

    def trouble(what, path):
        if what == "info":
            raise OSError(5, "no answer")

    give(monkeypatch, trouble)
    with pytest.raises(lw.FileError, match="no answer"):
        study(seed=4).run(url, engine="serial")
    with pytest.raises(lw.FileError, match="no answer"):
        lw.open_study(url)


def test_what_others_have_written_meanwhile_is_seen():
    url, seen = new_url(), []

    def looked_at(robot, p):
        seen.append(sum(lw.open_study(url).counts().values()))
        return {"x": p["x"]}

    study(looked_at).run(url, engine="serial")
    assert set(seen) == {0, 4, 8}


def test_a_password_is_not_told():
    place = Place("faulty://user:secret@host/study")
    assert str(place) == "faulty://user:…@host/study" and "secret" not in str(place)
    with pytest.raises(lw.FileError, match="user:…@host") as e:
        lw.open_study(place.url)
    assert "secret" not in str(e.value)


# --- one driver at a time -----------------------------------------------------------------------------------


def in_a_thread(call):
    """What a call gives or raises, in another thread."""
    found = []

    def run():
        try:
            found.append(call())
        except Exception as e:
            found.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def waits_once():
    """A study whose run 5 waits once, until ``go`` is released, and releases ``here`` before. (Locks are no part of
    what a function is made of.)"""
    once, here, go = threading.Lock(), threading.Lock(), threading.Lock()
    here.acquire()
    go.acquire()
    fifth = study().draw(5)["x"]

    def scenario(robot, p):
        if p["x"] == fifth and once.acquire(blocking=False):
            here.release()
            assert go.acquire(timeout=PATIENCE)
        return plain(robot, p)

    return lw.Study(pendulum(), scenario, PARAMETERS, 11, seed=3, chunk=4, callback=True), here, go


@pytest.fixture
def waiting():
    """A study that is being run in another thread and waits: it, its place, what lets it go on, how that ended."""
    url, (made, here, go) = new_url(), waits_once()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*cannot be compared with what")
        thread, found = in_a_thread(lambda: made.run(url, engine="serial"))
        assert here.acquire(timeout=PATIENCE)

        def gone_on():
            go.release()
            thread.join(PATIENCE)
            return found[0]

        yield made, url, gone_on
        if not found:
            gone_on()


def test_a_second_driver_is_refused_while_the_first_lives(waiting, tmp_path):
    made, url, gone_on = waiting
    with pytest.warns(lw.SimulationWarning, match="looking on"), pytest.raises(lw.InputError, match="being run by pro"):
        made.run(url, engine="serial")
    assert gone_on().counts() == {"done": 11}
    made.run(tmp_path / "s", engine="serial")
    assert files_of(url) == contents(tmp_path / "s")
    with warnings.catch_warnings(record=True) as said:  # ended: nobody is waited for
        made.run(url, engine="serial")
    assert not any("looking on" in str(x.message) for x in said)


def test_a_driver_that_was_taken_for_dead_writes_no_more(monkeypatch, waiting):
    """As one on a laptop that slept: another goes on, and its own runs are not written when it comes back."""
    made, url, gone_on = waiting
    monkeypatch.setattr(drivers._Lease, "text", lambda lease, ended=False: b"{}" if lease.number == 1 else b"2")
    assert eventually(lambda: Place(url).read("driver/000000001", 10**4) == b"{}")  # and then the same for ever
    with pytest.warns(lw.SimulationWarning, match="looking on"):
        assert made.run(url, engine="serial").counts() == {"done": 11}
    before = files_of(url)
    ended = gone_on()
    assert isinstance(ended, lw.FileError) and "another driver goes on" in str(ended)
    assert files_of(url) == before and lw.open_study(url).counts() == {"done": 11}
    made.run(url, engine="serial")
    assert not list(Place(url).names("journal"))  # in which it had left what it made


def test_a_study_that_was_removed_is_not_gone_on_with(waiting):
    """Somebody empties the folder and begins another study there while the first still runs."""
    _, url, gone_on = waiting
    root = "/" + url.removeprefix("faulty://") + "/"
    for name in [n for n in Faulty.store if n.startswith(root)]:
        del Faulty.store[name]
    other = study(seed=4)
    other.begin(Place(url))
    ended = gone_on()
    assert isinstance(ended, lw.FileError) and "holds another study than it did" in str(ended)
    assert not files_of(url)
    found = lw.open_study(url)  # what the first has put on record there is none of this one's
    assert list(found.place.names("journal")) and found.counts() == {}


@pytest.mark.parametrize("creates_once", [True, False])
def test_of_drivers_that_come_at_once_one_runs(monkeypatch, creates_once):
    monkeypatch.setattr(Faulty, "creates_once", creates_once)
    monkeypatch.setattr(places, "_ONE_OF_SEVERAL", {"faulty"})  # which it says of itself, and is not believed
    monkeypatch.setattr(places, "_SETTLED", 0.3)
    url, together = new_url(), threading.Barrier(4)

    def one():
        together.wait()
        with drivers.held(Place(url)) as place:
            time.sleep(1.0)
            return place.driver

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        all_of_them = [in_a_thread(one) for _ in range(4)]
        for thread, _ in all_of_them:
            thread.join(PATIENCE)
    held = [found[0] for _, found in all_of_them if isinstance(found[0], int)]
    assert held == [1]
    assert all("is being run by" in str(found[0]) for _, found in all_of_them if found[0] not in held)
    monkeypatch.setattr(drivers, "BEAT", 5.0)
    with drivers.held(Place(url)) as place:
        assert place.driver == 2 and list(place.names("driver")) == ["000000002"]


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[1]", b'{"process": "\x1b[2J"}', b'{"host": 3, "process": true}', b"\xff" * 99]
)
def test_a_lease_that_anybody_may_have_written_is_outlived(text, monkeypatch):
    monkeypatch.setattr(drivers, "DEAD", 0.2)
    place = Place(new_url())
    place.write("driver/000000007", text)
    with pytest.warns(lw.SimulationWarning, match="looking on") as said, drivers.held(place) as mine:
        assert mine.driver == 8
    assert "\x1b" not in str(said[0].message)
    assert json.loads(place.read("driver/000000008", 10**4))["ended"] is True


def test_a_lease_is_written_while_it_is_held():
    place = Place(new_url())
    with drivers.held(place):
        first = place.read("driver/000000001", 10**4)
        assert eventually(lambda: place.read("driver/000000001", 10**4) != first)
