"""The viewer and its pages in a real browser: they load, move, take clicks, and say nothing on the console.

Needs viser and playwright from PyPI and a Chromium, which playwright does not have to bring: any `chromium` on the
path, or the one that the environment variable LINKWISE_BROWSER names.
"""

import contextlib
import io

import browsers
import numpy as np
import patience
import pytest
from motions import swing

import linkwise as lw

if browsers.BROWSER is None:
    pytest.skip("no browser here: install chromium, or name one in LINKWISE_BROWSER", allow_module_level=True)
pytest.importorskip("viser", reason='the viewer needs viser: pip install "linkwise[view]"')
pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
Image = pytest.importorskip("PIL.Image")

# Said by the three.js inside viser 1.1 about itself, and by browsers that draw without a graphics card.
HARMLESS = (
    "THREE.Clock: This module has been deprecated",
    "GPU stall due to ReadPixels",
    "Automatic fallback to software",
)


@pytest.fixture(scope="module")
def browser():
    with browsers.started() as made:
        yield made


@contextlib.contextmanager
def new_page(browser):
    """A page that keeps what is said on its console and what it asks of any network. Half the pixels draw sooner."""
    context = browser.new_context(viewport={"width": 900, "height": 560}, device_scale_factor=0.5)
    made = context.new_page()
    made.set_default_timeout(1000 * patience.PATIENCE)
    made.complaints, made.requests = [], []
    made.on("console", lambda m: made.complaints.append(m.text) if m.type in ("error", "warning") else None)
    made.on("pageerror", lambda e: made.complaints.append(str(e)))
    made.on("request", lambda r: made.requests.append(r.url))
    yield made
    context.close()


def complaints(page):
    return [c for c in page.complaints if not any(h in c for h in HARMLESS)]


def scene(page):
    """What the page shows left of its panels, as numbers."""
    picture = page.screenshot(clip={"x": 0, "y": 180, "width": 560, "height": 320})
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)


def share_changed(a, b):
    return (np.abs(a - b).sum(axis=2) > 60).mean()


def eventually(page, condition):
    return patience.eventually(condition, lambda: page.wait_for_timeout(200))


def stands_still(page):
    before = scene(page)
    page.wait_for_timeout(500)
    return share_changed(before, scene(page)) < 0.002


def shows_robot(page):
    """Whether something blue like the links of a sketch is in view."""
    r, g, b = np.moveaxis(scene(page), -1, 0)
    return ((b > r + 40) & (b > g + 10)).mean() > 0.003


def opened(page, address):
    page.goto(address)
    page.locator("canvas").first.wait_for()
    assert eventually(page, lambda: shows_robot(page))


# These come before the page that is shared, which is drawn as long as it is open.


def test_a_slider_poses_the_robot(browser):
    robot = lw.load("panda")
    with lw.view.open(robot, browser=False, port=0) as viewer, new_page(browser) as page:
        viewer.server.scene.configure_environment_map(None)  # light from all around and shadows, on a processor,
        viewer.server.scene.configure_default_lights(cast_shadow=False)  # are most of what a first picture takes
        opened(page, viewer.url)
        page.get_by_role("slider").nth(1).focus()
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        assert eventually(page, lambda: viewer.q[1] > 1e-3)
        assert np.flatnonzero(viewer.q).tolist() == [1]
        assert not complaints(page)


def test_a_saved_page_plays_offline(browser, tmp_path):
    path = lw.view.save(tmp_path / "arm.html", swing(lw.load("panda"), duration=2.0), show=("visuals", "trace"))
    with new_page(browser) as page:
        page.context.set_offline(True)
        opened(page, path.as_uri())
        assert page.title() == "panda – linkwise"
        first = scene(page)
        assert eventually(page, lambda: share_changed(first, scene(page)) > 0.01)
        assert not complaints(page)
        assert all(r.startswith(("file:", "blob:", "data:")) for r in page.requests)


@pytest.fixture(scope="module")
def live(browser):
    """A viewer and a page that shows it; the tests of it run in order."""
    with (
        lw.view.open(swing(lw.load("panda"), duration=2.0), browser=False, port=0) as viewer,
        new_page(browser) as page,
    ):
        opened(page, viewer.url)
        assert eventually(page, lambda: stands_still(page))  # the scene fades in
        yield viewer, page


def test_the_robot_is_seen_and_moves_when_scrubbed(live):
    viewer, page = live
    before = scene(page)
    assert share_changed(before, scene(page)) < 0.002  # nothing moves by itself
    viewer.seek(1.2)
    assert eventually(page, lambda: share_changed(before, scene(page)) > 0.01)
    assert not complaints(page)
    assert all(r.startswith((viewer.url, "blob:", "data:")) for r in page.requests)


def test_a_plot_stands_beside(live):
    _, page = live
    page.locator(".uplot").first.wait_for()
    assert page.get_by_text("panda_joint1").count() >= 1
    assert not complaints(page)


def test_play_and_pause_are_clicked(live):
    viewer, page = live
    page.get_by_role("button", name="Play").click()
    assert eventually(page, lambda: viewer.is_playing)
    first, at = scene(page), viewer.time
    assert eventually(page, lambda: viewer.time != at and share_changed(first, scene(page)) > 0.005)
    page.get_by_role("button", name="Pause").click()
    assert eventually(page, lambda: not viewer.is_playing)
    assert not complaints(page)


def test_boxes_show_and_hide(live):
    viewer, page = live
    page.get_by_text("Show", exact=True).click()
    page.get_by_label("Robot", exact=True).click()
    assert eventually(page, lambda: not shows_robot(page))
    page.get_by_label("Robot", exact=True).click()
    assert eventually(page, lambda: shows_robot(page))
    page.get_by_label("Centre of mass", exact=True).click()
    assert eventually(page, lambda: viewer._nodes.is_shown("center_of_mass"))
    assert not complaints(page)
