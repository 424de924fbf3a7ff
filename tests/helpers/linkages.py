"""Closed mechanisms with known answers (math notes on closed chains 1.7)."""

from __future__ import annotations

import numpy as np

import linkwise as lw

BARS = {"crank": (0.3, 0.5), "coupler": (0.8, 0.9), "rocker": (0.6, 0.7)}  # length [m], mass [kg]
GROUND = 1.0  # between the two hinges on the ground [m]


def rod(length: float, mass: float) -> lw.Inertia:
    return lw.Inertia.cylinder(mass, 0.0, (0, 0, 0), (length, 0, 0))


def hinge(name: str, at=(0.0, 0.0, 0.0)) -> lw.Joint:
    return lw.Joint(lw.Revolute("z"), name, at=at)


def open_four_bar(gravity=(0.0, -9.81, 0.0)) -> lw.Robot:
    """Crank and coupler on one ground hinge, the rocker on the other; in the plane z = 0."""
    a, b, c = (BARS[k][0] for k in BARS)
    bodies = [
        lw.Body("crank", hinge("crank_hinge"), rod(*BARS["crank"])),
        lw.Body("coupler", hinge("coupler_hinge", (a, 0, 0)), rod(*BARS["coupler"]), "crank"),
        lw.Body("rocker", hinge("rocker_hinge", (GROUND, 0, 0)), rod(*BARS["rocker"])),
    ]
    frames = [lw.Frame("coupler_end", "coupler", at=(b, 0, 0)), lw.Frame("rocker_end", "rocker", at=(c, 0, 0))]
    return lw.assemble("four_bar", bodies, frames, gravity=gravity)


def four_bar(kind: str = "revolute", gravity=(0.0, -9.81, 0.0)) -> lw.Robot:
    return open_four_bar(gravity).close(lw.Loop("rocker_end", "coupler_end", kind))


def four_bar_state(robot: lw.Robot, crank: float = 1.3, rate: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """The open branch at a crank angle, turning at a rate."""
    q = robot.closed_configuration([crank, -0.9, 1.8], keep=["crank_hinge"])
    (freedom,) = null_space(robot.loop_jacobian(q, target="numpy")).T
    return q, rate * freedom / freedom[0]


def four_bars(k: int, kind: str = "point_on_line") -> lw.Robot:
    """k four-bars in series, each on the coupler of the one before it."""
    a, b, c = (BARS[n][0] for n in BARS)
    bodies, frames, loops = [], [], []
    for i in range(k):
        carrier, shift = (None, 0.0) if i == 0 else (f"coupler{i - 1}", 0.1)
        bodies += [
            lw.Body(f"crank{i}", hinge(f"crank_hinge{i}", (shift, 0, 0)), rod(*BARS["crank"]), carrier),
            lw.Body(f"coupler{i}", hinge(f"coupler_hinge{i}", (a, 0, 0)), rod(*BARS["coupler"]), f"crank{i}"),
            lw.Body(f"rocker{i}", hinge(f"rocker_hinge{i}", (shift + GROUND, 0, 0)), rod(*BARS["rocker"]), carrier),
        ]
        ends = lw.Frame(f"rocker_end{i}", f"rocker{i}", at=(c, 0, 0)), lw.Frame(f"end{i}", f"coupler{i}", at=(b, 0, 0))
        frames += ends
        loops.append(lw.Loop(*(f.name for f in ends), kind))
    return lw.assemble(f"four_bars_{k}", bodies, frames, gravity=(0, -9.81, 0)).close(*loops)


def slider_crank() -> lw.Robot:
    """Crank 0.15 m, 0.9 kg; rod 0.5 m, 0.6 kg; slider 1.4 kg along x."""
    bodies = [
        lw.Body("crank", hinge("crank_hinge"), rod(0.15, 0.9)),
        lw.Body("rod", hinge("rod_hinge", (0.15, 0, 0)), rod(0.5, 0.6), "crank"),
        lw.Body("slider", lw.Joint(lw.Prismatic("x"), "slide"), lw.Inertia.box(1.4, (0.1, 0.1, 0.1))),
    ]
    frames = [lw.Frame("rod_end", "rod", at=(0.5, 0, 0))]
    tree = lw.assemble("slider_crank", bodies, frames, gravity=(0, -9.81, 0))
    return tree.close(lw.Loop("slider", "rod_end", "revolute"))


def null_space(G: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """The motions (nv, freedoms) that a matrix of constraints leaves."""
    _, values, right = np.linalg.svd(G)
    rank = int((values > tolerance * values[0]).sum())
    return right[rank:].T


def loop_between(rng, a, b, kind):
    """A loop of a kind between random frames on two bodies (None: the world)."""
    frames = [
        lw.Frame(f"{name}_{a}_{b}", body, at=rng.normal(size=3), rpy=rng.normal(size=3))
        for name, body in (("a", a), ("b", b))
    ]
    if kind == "constrains":
        return lw.Loop(*frames, constrains=rng.normal(size=(3, 6)))
    sizes = {"distance": {"length": 0.8}, "rolling": {"radius": 0.3}}
    return lw.Loop(*frames, kind, **sizes.get(kind, {}))


def parallelograms(n: int, phi: float = 0.0) -> lw.Robot:
    """n parallelograms side by side of 2n + 1 bars, 1 kg and 1 m each, hung on the ground (IFToMM benchmark A02)."""
    bodies = [lw.Body("bar0", hinge("hinge0"), rod(1.0, 1.0))]
    frames, loops = [], []
    for i in range(1, n + 1):
        bodies += [
            lw.Body(f"floor{i}", hinge(f"corner{i}", (1, 0, 0)), rod(1.0, 1.0), f"bar{i - 1}"),
            lw.Body(f"bar{i}", hinge(f"hinge{i}", (i, 0, 0)), rod(1.0, 1.0)),
        ]
        frames += [lw.Frame(f"end{i}", f"floor{i}", at=(1, 0, 0)), lw.Frame(f"top{i}", f"bar{i}", at=(1, 0, 0))]
        loops.append(lw.Loop(f"top{i}", f"end{i}", "revolute"))
    return lw.assemble(f"parallelograms_{n}", bodies, frames, gravity=(0, -9.81, 0)).close(*loops)


def bennett(a: float = 1.0, b: float = 0.6, alpha: float = 0.9) -> lw.Robot:
    """Bennett's linkage: four hinges at distances a, b, a, b, twisted by α, β, α, β, sin β/b = sin α/a; one freedom."""
    beta = float(np.arcsin(b * np.sin(alpha) / a))
    links = [(a, alpha), (b, beta), (a, alpha)]
    bodies, carrier, at, twist = [], None, (0.0, 0.0, 0.0), 0.0
    for i, (length, turn) in enumerate(links, 1):
        joint = lw.Joint(lw.Revolute("z"), f"hinge{i}", at=at, rpy=(twist, 0, 0))
        bodies.append(lw.Body(f"link{i}", joint, lw.Inertia.cylinder(1.0, 0.03, (0, 0, 0), (length, 0, 0)), carrier))
        carrier, at, twist = f"link{i}", (length, 0.0, 0.0), turn
    frames = [
        lw.Frame("end", "link3", at=(a, 0, 0), rpy=(alpha, 0, 0)),
        lw.Frame("ground", None, at=(-b, 0, 0), rpy=(-beta, 0, 0)),
    ]
    return lw.assemble("bennett", bodies, frames).close(lw.Loop("ground", "end", "revolute"))
