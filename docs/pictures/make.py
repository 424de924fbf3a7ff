"""Make the pictures of the docs anew: python docs/pictures/make.py [NAME ...]

Those of docs/view.md are made here; the others are what the scripts in examples/ draw. Needs the extras plot and view;
the pictures of the viewer and of a report also playwright and a chromium, and are left as they are without. The costs
are measured on the machine this runs on.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import house
import numpy as np
import sketches
from PIL import Image

import linkwise as lw

HERE = Path(__file__).parent
MECHANISMS = ("four_bar", "delta", "stewart", "gripper", "governor", "satellite_pair")
ALL = ("visuals", "axes", "center_of_mass", "joint_forces", "trace")
EXAMPLES = {
    "diagonal_coordinates.png": "05_diagonal_coordinates.py",
    "payload.png": "06_identify_payload.py",
    "swing_up.png": "07_swing_up.py",
    "reach.png": "08_reach.py",
    "circle.png": "09_track_circle.py",
    "decoupled_control.png": "10_decoupled_control.py",
    "simulate.png": "12_simulate.py",
    "two_arms_one_box.png": "14_two_arms_one_box.py",
    "squeeze.png": "14_two_arms_one_box.py",
    "delta_arm.png": "15_delta_arm.py",
    "satellites.png": "16_satellites.py",
    "random_pushes.png": "17_random_pushes.py",
    "sample_and_steer.png": "23_sample_and_steer.py",
    "turn_by_swimming.png": "18_turn_by_swimming.py",
    "know_your_robot.png": "21_know_your_robot.py",
    "elastic_arm.png": "19_elastic_arm.py",
    "flexible_arm.png": "20_flexible_arm.py",
}


REPORT = "24_satellite_dispersion.py"


def fall(robot: lw.Robot, duration: float = 3.0, step: float = 0.004, damping: float = 0.5) -> lw.view.Motion:
    """The arm, released with its motors off, against some damping; classical Runge–Kutta."""
    n = robot.nv
    x = np.concatenate([[0.3, -0.6, 0.2, -1.6, 0.1, 1.4, 0.5], np.zeros(n)])
    states = [x]

    def rate(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], robot.forward_dynamics(x[:n], x[n:], -damping * x[n:])])

    for _ in range(round(duration / step)):
        k1 = rate(x)
        k2 = rate(x + 0.5 * step * k1)
        k3 = rate(x + 0.5 * step * k2)
        k4 = rate(x + step * k3)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(x)
    x = np.array(states)
    q, v, tau = x[:, :n], x[:, n:], -damping * x[:, n:]
    return lw.view.Motion(robot, step * np.arange(len(x)), q, v, robot.forward_dynamics(q, v, tau), tau)


def put(name: str, figure: Any) -> None:
    """A figure, in all its colours: with fewer, two joints may look the same."""
    figure.savefig(HERE / name, format="png", dpi=90, pil_kwargs={"optimize": True})


def shrink(name: str, png: bytes) -> None:
    Image.open(io.BytesIO(png)).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


def from_example(name: str) -> None:
    """What a script of examples/ draws, run in a folder of its own."""
    script = HERE.parents[1] / "examples" / EXAMPLES[name]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(script)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        shrink(name, Path(folder, name).read_bytes())


def from_page(name: str, page: str) -> None:
    """What the Python blocks of a page draw, run in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run_page(page)
        shrink(name, Path(name).read_bytes())


def run_page(page: str) -> dict[str, Any]:
    """What the Python blocks of a page define, run in this folder."""
    text = (HERE.parent / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec("\n".join(blocks), space)
    return space


def squatting() -> lw.view.Motion:
    """The squat of docs/feet.md, five times as slow as it is."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (HERE.parent / "feet.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    space: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        exec("\n".join(blocks), space)
    run = space["run"]
    return lw.view.Motion(run.robot, 5 * run.time[:-1], run.q[:-1], run.v[:-1], tau=run.tau[:-1])


def cam() -> lw.Robot:
    """The cam of docs/conventions.md."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        robot: lw.Robot = run_page("conventions.md")["disc"]
    return robot


def social(name: str) -> None:
    """What a link to the project shows: 1280 × 640, a robot, a formula and its recursion."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    from linkwise.view import style

    look = style.DARK
    figure = style.new_figure(12.8, 6.4, "", theme=look)
    figure.set_layout_engine("none")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    robot = lw.load("humanoid")
    with tempfile.TemporaryDirectory() as folder:
        path = lw.view.save(Path(folder, "robot.png"), robot, size=(560, 640))
        ax.add_artist(
            AnnotationBbox(OffsetImage(np.asarray(Image.open(path)), zoom=1.0 / 1.1 * 0.72), (0.82, 0.5), frameon=False)
        )
    ax.text(0.05, 0.78, "linkwise", fontsize=58, weight="bold", color=look.ink)
    ax.text(0.05, 0.68, "Rigid-body dynamics as an algebra you can type", fontsize=19, color=look.pale)
    ax.text(
        0.05, 0.47, r"$\mathcal{M}^{-1} = (I - H\psi K)^{*}\,D^{-1}\,(I - H\psi K)$", fontsize=32, color=look.colours[0]
    )
    ax.text(0.05, 0.30, "mass.inv() @ tau", fontsize=26, family="monospace", color=look.colours[3])
    ax.text(0.05, 0.19, "two sweeps, O(n), SIMD machine code for your robot", fontsize=18, color=look.pale)
    figure.savefig(HERE / name, dpi=100, facecolor=look.background)


def speed(name: str) -> None:
    """The table of README.md as bars: times of each library, as multiples of linkwise's."""
    from linkwise.view import style

    page = (HERE.parents[1] / "README.md").read_text("utf-8")
    tables = re.findall(r"^\*\*(\w+)\*\*, batch.*?\n\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    figure = style.new_figure(
        11.0, 3.6, "How many times as long others take", "forward dynamics, batch of 4096, one core, float64"
    )
    for ax, (robot, table) in zip(figure.subplots(1, len(tables), sharey=True, squeeze=False)[0], tables):
        rows = [[c.strip(" *") for c in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        found = [(r[0], re.search(r"\(([\d.]+)×\)", r[1])) for r in rows]
        names = ["linkwise", *(n for n, x in found if x)]
        times = [1.0, *(float(x[1]) for _, x in found if x)]
        colours = [style.COLOURS[1], *[style.COLOURS[0]] * (len(times) - 1)]
        ax.barh(names[::-1], times[::-1], color=colours[::-1])
        style.plain(ax, robot)
        for i, x in enumerate(times[::-1]):
            ax.text(x, i, f" {x:g}×", va="center", fontsize=9, color=style.INK)
        ax.margins(x=0.16)
    put(name, figure)


@contextlib.contextmanager
def chromium(name: str) -> Iterator[Any]:
    """A browser, None where there is none; what is drawn with it is then left as it is."""
    browser = os.environ.get("LINKWISE_BROWSER") or shutil.which("chromium")
    if browser is None:
        print(f"{name}: no chromium here; left as it is")
        yield None
        return
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as p:
        made = p.chromium.launch(executable_path=browser, args=flags)
        yield made
        made.close()


def report(name: str) -> None:
    """The report that an example writes, from its results on, as a browser shows it without scripts."""
    with tempfile.TemporaryDirectory() as folder, chromium(name) as browser:
        if browser is None:
            return
        run = [sys.executable, str(HERE.parents[1] / "examples" / REPORT)]
        subprocess.run(run, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (file,) = Path(folder).glob("*.html")
        page = browser.new_page(viewport={"width": 1060, "height": 800}, java_script_enabled=False)
        page.goto(file.as_uri())
        top = page.get_by_role("heading", name="Results").bounding_box()["y"] - 20
        end = page.get_by_role("heading", name="Failures").bounding_box()["y"] - 30
        place = {"x": 0, "y": top, "width": 1060, "height": end - top}
        shrink(name, page.screenshot(full_page=True, clip=place))


def screenshot(motion: lw.view.Motion) -> None:
    """The viewer in a browser, with a motion held in its middle."""
    with chromium("viewer.png") as browser:
        if browser is not None:
            _screenshot(motion, browser)


def _screenshot(motion: lw.view.Motion, browser: Any) -> None:
    with lw.view.open(motion, browser=False, port=0, show=ALL) as viewer:
        page = browser.new_page(viewport={"width": 1100, "height": 680})
        page.goto(viewer.url)
        page.wait_for_timeout(8000)
        for close in page.locator("button.mantine-Notification-closeButton").all():
            close.click()
        page.get_by_text("Show", exact=True).click()
        viewer.seek(0.6)
        page.wait_for_timeout(4000)
        shrink("viewer.png", page.screenshot())


def mechanism(name: str) -> None:
    """A built-in mechanism in its zero posture."""
    robot = lw.load(Path(name).stem)
    lw.view.save(HERE / name, robot.neutral(), robot, size=(400, 300))


def main() -> None:
    chosen = sys.argv[1:]
    motion = fall(lw.load("panda"))
    made = {
        "joints.png": lambda name: put(name, lw.plots.joints(motion)),
        "energy.png": lambda name: put(name, lw.plots.energy(motion)),
        "phase.png": lambda name: put(name, lw.plots.phase(motion)),
        "manipulability.png": lambda name: put(name, lw.plots.manipulability(motion, frame="tcp")),
        "operators.png": lambda name: put(name, lw.plots.operators(lw.load("quadruped"))),
        "costs.png": lambda name: put(name, lw.plots.costs()),
        "still.png": lambda name: lw.view.save(HERE / name, motion, show=ALL, size=(480, 360), time=0.6),
        "humanoid.png": lambda name: lw.view.save(
            HERE / name, lw.load("humanoid"), show=("visuals", "inertias", "center_of_mass"), size=(360, 360)
        ),
        "fall.gif": lambda name: lw.view.save(
            HERE / name, motion, show=("visuals", "trace", "center_of_mass"), size=(320, 240), rate=12.0
        ),
        "squat.png": lambda name: from_page(name, "feet.md"),
        "stiff.png": lambda name: from_page(name, "stiff.md"),
        "where_it_reaches.png": lambda name: from_page(name, "inverse_kinematics.md"),
        "squat.gif": lambda name: lw.view.save(
            HERE / name, squatting(), show=("visuals", "loop_forces"), size=(480, 360), rate=20.0
        ),
        "social.png": social,
        "speed.png": speed,
        **{f"{name}.png": mechanism for name in MECHANISMS},
        "study_report.png": report,
        "viewer.png": lambda name: screenshot(motion),
        **dict.fromkeys(EXAMPLES, from_example),
        "two_links.png": lambda name: put(name, sketches.two_links()),
        "sweeps.png": lambda name: put(name, sketches.sweeps()),
        "patterns.png": lambda name: put(name, sketches.patterns()),
        "guided.png": lambda name: put(name, sketches.guided(cam())),
        "rooms.svg": lambda name: (HERE / name).write_text(house.picture(), encoding="utf-8"),
    }
    for name, make in made.items():
        if not chosen or name in chosen:
            make(name)
            print(f"{name}: {(HERE / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
