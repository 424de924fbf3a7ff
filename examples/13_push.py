"""Forces from outside: a held arm is pushed, its energy book says by how much, and a killed run goes on as it was."""

from pathlib import Path

import numpy as np

import linkwise as lw

robot = lw.load("panda")
q = np.array([0, -0.3, 0, -1.8, 0, 1.6, 0.8])


def hold(robot, t, q_now, v):
    """Springs and dampers about a pose, gravity compensated."""
    return robot.gravity_force(q_now) - robot.mass_times(q_now, 120 * (q_now - q) + 18 * v)


def push(robot, t, q_now, v):
    """A shove of 60 N along y that swells and dies away within half a second, and air that drags."""
    shove = 60.0 * np.exp(-60.0 * (t - 0.3) ** 2) if isinstance(t, float) else 60.0 * (-60.0 * (t - 0.3) ** 2).exp()
    speed = robot.velocity(q_now, v, "tcp")[..., 3:]
    along_y = np.array([0.0, 1.0, 0.0])
    force = shove * along_y - 2.0 * speed
    return {"tcp": np.concatenate([0.0 * speed, force], axis=-1)}


pushed = lw.simulate(robot, q, controller=hold, external=push, duration=2.0, every=2)
print(pushed)
print(pushed.energy)

_, tool = pushed.pose("tcp")
away = np.linalg.norm(tool - tool[0], axis=-1)
print(f"\nthe tool was pushed {100 * away.max():.1f} cm away at {pushed.time[away.argmax()]:.2f} s")
print(f"and came back to within {1000 * away[-1]:.1f} mm")

# The same run with a checkpoint: here it is stopped half-way, as a kill would, and the same call goes on.
again = {"controller": hold, "external": push, "every": 2, "checkpoint": "push.checkpoint"}
lw.simulate(robot, q, duration=1.0, **again)
resumed = lw.simulate(robot, q, duration=2.0, **again)
print("resumed, bit for bit the same:", np.array_equal(resumed.q, pushed.q))
Path("push.checkpoint").unlink()

lw.plots.energy(pushed).savefig("push_energy.png")
lw.view.save("push.gif", pushed, show=("visuals", "external", "trace"), size=(320, 240), rate=12)
print("push_energy.png and push.gif written")
