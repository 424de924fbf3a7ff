"""Look at a motion: a still with axes, centre of mass and joint forces, an animation, and plots of it.

Writes arm.png, arm.gif, joints.png and energy.png. In the browser: lw.view.open(motion).wait()
"""

import numpy as np

import linkwise as lw

robot = lw.load("ur5")
STEP, STEPS, DAMPING = 0.002, 500, 0.1


def rate(x):
    """The arm falls with its motors off; some damping at the joints."""
    q, v = x
    return np.array([v, robot.forward_dynamics(q, v, -DAMPING * v)])


x = np.array([[0.0, -1.2, 1.4, -0.6, 0.3, 0.0], np.zeros(6)])
states = [x]
for _ in range(STEPS):  # the classical Runge–Kutta method
    k1 = rate(x)
    k2 = rate(x + 0.5 * STEP * k1)
    k3 = rate(x + 0.5 * STEP * k2)
    k4 = rate(x + STEP * k3)
    x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    states.append(x)
q, v = np.moveaxis(np.array(states), 1, 0)
motion = lw.view.Motion(robot, STEP * np.arange(STEPS + 1), q, v, tau=-DAMPING * v)

print("things to draw:", len(lw.view.Scene(robot).pieces), "| plotted beside it:", ", ".join(motion.channels))
print(lw.view.save("arm.png", motion, time=0.5, show=("visuals", "axes", "center_of_mass", "joint_forces")))
print(lw.view.save("arm.gif", motion, show=("visuals", "trace"), size=(240, 180), rate=10))
for name, plot in (("joints.png", lw.plots.joints), ("energy.png", lw.plots.energy)):
    plot(motion).savefig(name)
    print(name)
