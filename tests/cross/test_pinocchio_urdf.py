"""Every URDF file of example-robot-data against Pinocchio: same states, same answers to 1e-9 relative."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle, example_files

import linkwise as lw

TOLERANCE = 1e-9
STATES = 2

FILES = example_files()
REFUSED = {
    "falcon/falcon": "child link 'Z_propeller' does not exist",
    "ur/ur3": "has no <link>",
}
# No inertia resists some of the joints of these, so that accelerations are not determined.
MASSLESS_FINGERS = {
    "bluevolta/bluevolta_bravo7_gripper",
    "bravo7/bravo7_gripper",
    "falcon/falcon_bravo7_gripper",
    "romeo/romeo",
    "romeo/romeo_laas_small",
}
ROBOTS = [name for name in FILES if name not in REFUSED]
BASES = [pytest.param(False, id="fixed"), pytest.param(True, id="floating")]


@cache
def pair(source: Path | str, floating: bool) -> tuple[lw.Robot, Oracle]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        robot = lw.load(source, floating=floating, coupled=False)  # Pinocchio moves mimics freely
    return robot, Oracle(robot, source, floating)


def states(robot: lw.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (STATES, nq), and two of (STATES, nv). Joint limits do not count, or some joints would never move."""
    rng = np.random.default_rng(7)
    q = [np.concatenate([np.zeros(0), *(j.kind.random(rng) for j in robot.joints)]) for _ in range(STATES)]
    return np.array(q), rng.normal(size=(STATES, robot.nv)), rng.normal(size=(STATES, robot.nv))


def agree(ours: object, theirs: object) -> None:
    """Equal to TOLERANCE of the largest entry of the same vector or matrix."""
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert a.shape == b.shape
    assert np.isfinite(b).all()
    if b.size:
        error, size = np.abs(a - b).max(), np.abs(b).max()
        assert error <= TOLERANCE * size, f"off by {error:.3g}, which is {error / max(size, 1e-300):.3g} relative"


def compare(robot: lw.Robot, oracle: Oracle, forward: bool) -> None:
    q, v, a = states(robot)
    M, tau, bias = robot.mass_matrix(q), robot.inverse_dynamics(q, v, a), robot.bias_force(q, v)
    kinetic, potential = robot.energy(q, v)
    for i in range(STATES):
        agree(M[i], oracle.mass_matrix(q[i]))
        agree(tau[i], oracle.inverse_dynamics(q[i], v[i], a[i]))
        agree(bias[i], oracle.bias_force(q[i], v[i]))
        agree([kinetic[i], potential[i]], oracle.energy(q[i], v[i]))
    if robot.total_mass > 0:
        c = robot.center_of_mass(q)
        for i in range(STATES):
            agree(c[i], oracle.center_of_mass(q[i]))
    if forward:
        acceleration = robot.forward_dynamics(q, v, a)
        for i in range(STATES):
            agree(acceleration[i], oracle.forward_dynamics(q[i], v[i], a[i]))


def compare_frames(robot: lw.Robot, oracle: Oracle, links: list[str]) -> None:
    q, _, _ = states(robot)
    for link in links:
        R, p = robot.pose(q, link)
        J = robot.jacobian(q, link)
        for i in range(STATES):
            expected_R, expected_p = oracle.pose(q[i], link)
            agree(R[i], expected_R)
            agree(np.append(p[i], 1.0), np.append(expected_p, 1.0))  # a frame at the origin has no size of its own
            agree(J[i], oracle.jacobian(q[i], link))


@pytest.mark.parametrize("floating", BASES)
@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics(name: str, floating: bool) -> None:
    robot, oracle = pair(FILES[name], floating)
    compare(robot, oracle, forward=name not in MASSLESS_FINGERS)


@pytest.mark.parametrize("floating", BASES)
@pytest.mark.parametrize("name", ROBOTS)
def test_poses_and_jacobians(name: str, floating: bool) -> None:
    """A few frames each, from the base out to the tips."""
    robot, oracle = pair(FILES[name], floating)
    links = link_names(robot, oracle)
    compare_frames(robot, oracle, links[:: max(1, len(links) // 5)])


@pytest.mark.parametrize("name", ROBOTS)
def test_every_link_has_its_frame(name: str) -> None:
    robot, oracle = pair(FILES[name], True)
    q = states(robot)[0][0]
    poses = robot.poses(q)
    for link in link_names(robot, oracle):
        R, p = oracle.pose(q, link)
        agree(poses[link][0], R)
        agree(np.append(poses[link][1], 1.0), np.append(p, 1.0))


def link_names(robot: lw.Robot, oracle: Oracle) -> list[str]:
    """The links of the file: all that Pinocchio knows, and linkwise knows the same."""
    names = oracle.links()
    assert {f.name for f in robot.frames} - {"world"} == set(names) - {"world"}
    return names


@pytest.mark.parametrize("name", REFUSED)
def test_broken_files_are_refused(name: str) -> None:
    with pytest.raises(lw.FileError) as caught:
        lw.load(FILES[name])
    assert FILES[name].name in str(caught.value)
    assert REFUSED[name] in str(caught.value)


@pytest.mark.parametrize("floating", BASES)
@pytest.mark.parametrize("name", sorted(MASSLESS_FINGERS))
def test_massless_fingers_are_mentioned(name: str, floating: bool) -> None:
    """Pinocchio's forward dynamics gives NaN or noise for them; here the file warns, and the call refuses."""
    robot, _ = pair(FILES[name], floating)
    assert any("singular" in note for note in robot.notes)
    q, v, tau = states(robot)
    with pytest.raises(lw.SingularError):
        robot.forward_dynamics(q, v, tau)


def test_the_other_robots_are_not_singular() -> None:
    others = [pair(FILES[n], fl)[0] for n in ROBOTS if n not in MASSLESS_FINGERS for fl in (False, True)]
    assert not [r.name for r in others if any("singular" in note for note in r.notes)]


# --- joints that the files of real robots do not have ----------------------------------------------

LINK = """<link name="{0}"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 0.2 0.1"/><mass value="{1}"/>
<inertia ixx="0.3" ixy="0.02" ixz="0.01" iyy="0.4" iyz="-0.03" izz="0.5"/></inertial></link>"""
JOINT = """<joint name="{0}_joint" type="{2}"><parent link="{1}"/><child link="{0}"/>
<origin xyz="0.2 0.1 0.4" rpy="0.1 0.5 -0.4"/><axis xyz="{3}"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
KINDS = {
    "revolute": "0.6 0 0.8",
    "continuous": "0 -1 0",
    "prismatic": "0.6 0.8 0",
    "floating": "0 0 1",
    "planar": "0 0 1",  # Pinocchio's planar joint has no other normal
    "fixed": "0 0 0",
}


def synthetic(order: list[str]) -> str:
    """A chain of joints in this order, and beside it a branch with the first kind again."""
    parts = [LINK.format("base", 4)]
    parent = "base"
    for i, kind in enumerate(order):
        parts += [LINK.format(f"l{i}", 1 + i), JOINT.format(f"l{i}", parent, kind, KINDS[kind])]
        parent = f"l{i}"
    parts += [LINK.format("side", 2), JOINT.format("side", "l0", order[0], KINDS[order[0]])]
    return '<robot name="synthetic">' + "".join(parts) + "</robot>"


@pytest.mark.parametrize("floating", BASES)
@pytest.mark.parametrize("start", range(len(KINDS)))
def test_all_kinds(tmp_path: Path, start: int, floating: bool) -> None:
    kinds = list(KINDS)
    file = tmp_path / "synthetic.urdf"
    file.write_text(synthetic(kinds[start:] + kinds[:start]))
    robot, oracle = pair(file, floating)
    assert not robot.notes
    compare(robot, oracle, forward=True)
    compare_frames(robot, oracle, link_names(robot, oracle))


def test_planar_normal_to_its_axis(tmp_path: Path) -> None:
    """Against Pinocchio with the joint's frame turned so that its z is the axis, and turned back after."""
    quarter = "1.5707963267948966"  # about −x it takes z to y, as the planar joint of linkwise does
    ours = synthetic(["planar"]).replace('rpy="0.1 0.5 -0.4"/><axis xyz="0 0 1"', 'rpy="0 0 0"/><axis xyz="0 1 0"')
    theirs = ours.replace(
        '<origin xyz="0.2 0.1 0.4" rpy="0 0 0"/>', f'<origin xyz="0.2 0.1 0.4" rpy="-{quarter} 0 0"/>'
    )
    file, other = tmp_path / "ours.urdf", tmp_path / "theirs.urdf"
    file.write_text(ours)
    other.write_text(theirs)
    robot, oracle = pair(file, False)[0], pair(other, False)[1]
    q = np.array([0.3, -0.7, 0.5, 0.2, 0.4, -0.6])
    R, p = robot.pose(q, "l0")
    expected_R, expected_p = oracle.pose(q, "l0")
    turn = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # the quarter turn itself: body axes differ by it
    agree(R, expected_R @ turn.T)
    agree(p, expected_p)


def test_all_files_are_there():
    """The package holds 77 files as of its version 5; fewer would mean that this module tests too little."""
    assert len(FILES) >= 77 and set(REFUSED) <= set(FILES) and set(MASSLESS_FINGERS) <= set(FILES)
