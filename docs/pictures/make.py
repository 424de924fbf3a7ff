"""Make the pictures of the docs anew: python docs/pictures/make.py [NAME ...]

Those of docs/view.md are made here; the others are what the scripts in examples/ draw. Needs the extras plot and view;
the picture of the viewer also playwright and a chromium, and is left as it is without. The costs are measured on the
machine this runs on.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
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
    "know_your_robot.png": "21_know_your_robot.py",
    "elastic_arm.png": "19_elastic_arm.py",
    "flexible_arm.png": "20_flexible_arm.py",
}


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
    """A figure as a small PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    shrink(name, buffer.getvalue())


def shrink(name: str, png: bytes) -> None:
    Image.open(io.BytesIO(png)).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


def from_example(name: str) -> None:
    """What a script of examples/ draws, run in a folder of its own."""
    script = HERE.parents[1] / "examples" / EXAMPLES[name]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(script)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        shrink(name, Path(folder, name).read_bytes())


def screenshot(motion: lw.view.Motion) -> None:
    """The viewer in a browser, with a motion held in its middle."""
    browser = os.environ.get("LINKWISE_BROWSER") or shutil.which("chromium")
    if browser is None:
        print("viewer.png: no chromium here; left as it is")
        return
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with lw.view.open(motion, browser=False, port=0, show=ALL) as viewer, sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=browser, args=flags)
        page = chromium.new_page(viewport={"width": 1100, "height": 680})
        page.goto(viewer.url)
        page.wait_for_timeout(8000)
        for close in page.locator("button.mantine-Notification-closeButton").all():
            close.click()
        page.get_by_text("Show", exact=True).click()
        viewer.seek(0.6)
        page.wait_for_timeout(4000)
        shrink("viewer.png", page.screenshot())
        chromium.close()


def mechanism(name: str) -> None:
    """A built-in mechanism in its zero posture."""
    robot = lw.load(Path(name).stem)
    lw.view.save(HERE / name, robot.neutral(), robot, size=(400, 300))


def main() -> None:
    chosen = sys.argv[1:]
    panda = lw.load("panda")
    motion = fall(panda)
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
        **{f"{name}.png": mechanism for name in MECHANISMS},
        "viewer.png": lambda name: screenshot(motion),
        **dict.fromkeys(EXAMPLES, from_example),
        "two_links.png": lambda name: put(name, sketches.two_links()),
        "sweeps.png": lambda name: put(name, sketches.sweeps()),
        "patterns.png": lambda name: put(name, sketches.patterns()),
        "rooms.svg": lambda name: (HERE / name).write_text(house.picture(), encoding="utf-8"),
    }
    for name, make in made.items():
        if not chosen or name in chosen:
            make(name)
            print(f"{name}: {(HERE / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
