"""A satellite swings a payload of which little is known: what may become of its attitude, and what of that matters.

400 runs with the payload's mass and place, the tumbling at the start and the joints' friction and gains drawn.
The scenario is a plain function; its motions are made together, as batches of machine code. A report says the rest.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import linkwise as lw

robot = lw.load("satellite")  # a free bus of 500 kg, two arms of seven joints
driven = np.array([robot.v_slices[robot.joint(f"{x}_joint{i}")].start for x in ("left", "right") for i in range(1, 8)])
placed = driven + 1  # in q, where the bus has one number more than in v
spread = np.eye(robot.nv)[driven]  # joint forces of the arms among all
START = robot.neutral()
SWING = np.array([0.8, 0.6, 0.0, -0.9, 0.0, 0.5, 0.0, *np.zeros(7)])  # of the left arm's joints [rad]
DURATION, LIMIT = 4.0, 6.0  # [s], [degrees] that the antenna allows the bus to turn


def swing(robot, p):
    """The bus is not driven: what the arm does to the payload turns it."""
    loaded = robot.weld("left_link7", lw.Inertia(p["payload"], tensor=0.1 * p["payload"] * np.eye(3)), at=p["offset"])
    spin = np.zeros(robot.nv)
    spin[:3] = np.radians(p["tumble"])

    def law(t, q, v):
        wanted = START[placed] + (0.5 - 0.5 * np.cos(np.pi * t / DURATION)) * SWING
        return (p["stiffness"] * (wanted - q[placed]) - p["damping"] * v[driven]) @ spread

    how = {"duration": DURATION, "step": 0.02, "method": "midpoint"}
    motion = lw.simulate(loaded, START, spin, law, friction=np.where(spread.any(axis=0), p["friction"], 0.0), **how)
    turned = np.degrees(2 * np.arcsin(np.linalg.norm(motion.q[:, 3:6], axis=1)))
    return {"turned": turned.max(), "effort": np.abs(motion.tau).max(), "motion": motion}


parameters = {
    "payload": lw.Normal(80.0, 20.0, lower=10.0),  # [kg], as its maker says
    "offset": lw.Normal([0.0, 0.0, 0.4], 0.08),  # [m] from the wrist to its centre of mass
    "tumble": lw.Normal(np.zeros(3), 0.15),  # [deg/s] at the start
    "stiffness": lw.LogNormal(np.log(1500.0), 0.15),  # [N m/rad]
    "damping": lw.Uniform(300.0, 600.0),  # [N m s/rad]
    "friction": lw.Uniform(0.0, 2.0),  # [N m]
}
study = lw.Study(robot, swing, parameters, samples=400, seed=7, chunk=400)
folder = Path(tempfile.mkdtemp()) / "dispersion"
found = study.run(folder, engine="serial", progress=False)  # engine="local": on all cores
print(found, found.ways())

runs = found.to_pandas()
over = int((runs["turned"] > LIMIT).sum())
print(f"the bus turns by {runs['turned'].mean():.2f}° on average, by {runs['turned'].max():.2f}° at most")
print(f"more than {LIMIT:g}° in {over} of {len(runs)} runs; the worst is study.replay({runs['turned'].idxmax()})")
assert found.counts() == {"done": 400} and 0 < over < 100

report = found.report("satellite_dispersion.html", worst_of="turned", study=study)
print(f"{report.name} written")

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.scatter(runs["payload"], runs["turned"], s=8)
axes.axhline(LIMIT, color="tab:red", label="what the antenna allows")
axes.set(xlabel="payload [kg]", ylabel="largest turn of the bus [°]", title="400 swings of a payload")
axes.legend()
figure.savefig("satellite_dispersion.png", dpi=120)
print("satellite_dispersion.png written")
