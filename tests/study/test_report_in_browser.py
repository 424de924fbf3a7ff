"""Reports as people see them: without scripts and without a network, on a screen, on a narrow one, and on paper."""

import contextlib

import browsers
import pytest
from patience import PATIENCE
from study_scenarios import pendulum

import linkwise as lw

_LOADED = "() => [...document.images].map(x => [x.alt, x.complete && x.naturalWidth > 0])"


def thrown(robot, p):
    if p["payload"] > 1.98:
        raise ValueError("too heavy to throw")
    motion = lw.simulate(robot, p["q0"], duration=0.1, step=0.01, method="midpoint")
    return {"speed of the fastest joint on the whole way": abs(motion.v).max(), "mass": p["payload"], "motion": motion}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    drawn = {"q0": lw.Normal([0.5, 0.5], 0.1), "payload": lw.Uniform(0, 2)}
    study = lw.Study(pendulum(), thrown, drawn, 100, callback=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkwise.study.report._FRAMES", 3)
        with pytest.warns(lw.SimulationWarning, match="runs failed"):
            return study.run(folder / "s", engine="serial").report(study=study)


@pytest.fixture(scope="module")
def browser():
    with browsers.started() as made:
        yield made


@contextlib.contextmanager
def opened(browser, file, width, **options):
    """The page without scripts; what it asks for and complains of is kept."""
    context = browser.new_context(
        viewport={"width": width, "height": 700}, java_script_enabled=False, offline=True, **options
    )
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.asked, page.complaints = [], []
    page.on("request", lambda x: page.asked.append(x.url.partition(":")[0]))
    page.on("console", lambda x: page.complaints.append(x.text))
    page.goto(file.as_uri())
    yield page
    context.close()


@pytest.mark.parametrize("width", [380, 1100])
def test_it_reads_well_without_scripts(browser, report, width):
    with opened(browser, report, width) as page:
        assert set(page.asked) <= {"file", "data"} and page.asked.count("file") == 1 and not page.complaints
        images = page.evaluate(_LOADED)
        assert len(images) == 5 + 3 * 4 and all(there for _, there in images), images
        wide = page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide[0] <= wide[1]  # nothing stands out; what is wide is moved by itself
        assert page.locator(".moving").first.is_visible() and not page.locator(".stills").first.is_visible()
        failed = page.locator("details").first
        assert not failed.locator("pre").is_visible()
        failed.locator("summary").click()
        assert "ValueError: too heavy to throw" in failed.locator("pre").inner_text()


@pytest.mark.parametrize("how", ["print", "reduced_motion"])
def test_where_nothing_moves_poses_stand_for_it(browser, report, how):
    options = {"reduced_motion": "reduce"} if how == "reduced_motion" else {}
    with opened(browser, report, 800, **options) as page:
        if how == "print":
            page.emulate_media(media="print")
        assert not page.locator(".moving").first.is_visible()
        shown = page.locator(".stills").first
        assert shown.is_visible() and "at 0, 0.05, 0.1 s" in shown.inner_text()
        assert shown.locator("img").count() == 3
