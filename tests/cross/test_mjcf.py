"""MJCF files beside MuJoCo: the same file, the same state, the same numbers."""

import re
import warnings

import numpy as np
import pytest

import linkwise as lw

mujoco = pytest.importorskip("mujoco")

from mjcf_files import ALL_JOINTS, FILES, HUMAN_ARM, LOADED  # noqa: E402
from mujoco_oracle import Oracle  # noqa: E402

from linkwise.interop.mujoco_states import MujocoStates  # noqa: E402
from linkwise.model.files.mjcf import read_mjcf  # noqa: E402

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def loaded(text):
    """The robot of a file, and MuJoCo's answers about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        robot = read_mjcf(text, cls=lw.Robot, coupled=False)  # equalities are no part of MuJoCo's 𝓜
    return robot, Oracle(robot, mujoco.MjModel.from_xml_string(text))


@pytest.fixture(params=FILES)
def both(request):
    text = FILES[request.param]
    robot, oracle = loaded(text)
    if request.param == "loaded":
        oracle.model.body_gravcomp[:] = 0  # noted, and not modelled
    return robot, oracle


def states(robot, count=5):
    rng = np.random.default_rng(1)
    for _ in range(count):
        yield robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))


def test_mass_matrix(both):
    robot, oracle = both
    for q, _, _ in states(robot):
        np.testing.assert_allclose(robot.mass_matrix(q), oracle.mass_matrix(q), **CLOSE)


def test_inverse_dynamics(both):
    robot, oracle = both
    for q, v, a in states(robot):
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a), **CLOSE)


def test_bias_force(both):
    robot, oracle = both
    for q, v, _ in states(robot):
        bias = oracle.inverse_dynamics(q, v, np.zeros(robot.nv))
        np.testing.assert_allclose(robot.bias_force(q, v), bias, **CLOSE)


def test_forward_dynamics(both):
    robot, oracle = both
    for q, v, tau in states(robot):
        expected = oracle.forward_dynamics(q, v, tau)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-9, atol=1e-11 * scale)


def test_springs_and_dampers(both):
    robot, oracle = both
    if robot.name == "all joints":
        kinds = {j.kind.kind for j in robot.joints if np.any(j.stiffness)}
        assert kinds == {"revolute", "prismatic", "spherical", "free"}
    for q, v, _ in states(robot):
        np.testing.assert_allclose(-robot.spring_force(q, v), oracle.passive(q, v), **CLOSE)


def test_potential_energy_has_that_of_springs():
    robot, oracle = loaded(ALL_JOINTS)
    found = [robot.potential_energy(q) - oracle.energy(q, 0 * v)[1] for q, v, _ in states(robot)]
    np.testing.assert_allclose(found, found[0], **CLOSE)  # but for bodies that are bolted down


def test_flags_switch_springs_and_dampers_off():
    off = ALL_JOINTS.replace("<option ", '<option><flag spring="disable" damper="disable"/></option><option ')
    robot, oracle = loaded(off)
    assert not robot.stiffness.any() and robot.damping.any() and not robot.has_springs
    for q, v, a in states(robot, 1):
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a), **CLOSE)


def test_kinetic_energy(both):
    """MuJoCo counts the armature's energy too, as linkwise does."""
    robot, oracle = both
    for q, v, _ in states(robot):
        kinetic, _ = robot.energy(q, v)
        np.testing.assert_allclose(kinetic, oracle.energy(q, v)[0], **CLOSE)


def test_bodies_and_sites_are_where_mujoco_has_them(both):
    robot, oracle = both
    m, frames = oracle.model, {f.name for f in robot.frames}
    for q, _, _ in states(robot, 2):
        for b in range(1, m.nbody):
            name = m.body(b).name or f"body{b}"
            check_pose(robot.pose(q, name), oracle.body_pose(q, b))
        for s in range(m.nsite):
            name = m.site(s).name
            name = f"{name}_site" if f"{name}_site" in frames else name
            check_pose(robot.pose(q, name), oracle.site_pose(q, s))


def check_pose(found, expected):
    np.testing.assert_allclose(found[0], expected[0], **CLOSE)
    np.testing.assert_allclose(found[1], expected[1], **CLOSE)


def test_compiled_kernels_agree():
    robot, oracle = loaded(ALL_JOINTS)
    kernel = robot.compile("forward_dynamics")
    for q, v, tau in states(robot, 2):
        np.testing.assert_allclose(kernel(q, v, tau), oracle.forward_dynamics(q, v, tau), rtol=1e-8, atol=1e-8)


# --- states ------------------------------------------------------------------------------------------


def test_states_go_there_and_back():
    robot, oracle = loaded(ALL_JOINTS)
    rng = np.random.default_rng(0)
    q, v, a, tau = robot.random_configuration(rng, (4, 3)), *rng.normal(size=(3, 4, 3, robot.nv))
    x = oracle.states
    np.testing.assert_allclose(x.q(x.qpos(q)), q, **CLOSE)
    np.testing.assert_allclose(x.v(q, x.qvel(q, v)), v, **CLOSE)
    np.testing.assert_allclose(x.a(q, v, x.qacc(q, v, a)), a, **CLOSE)
    np.testing.assert_allclose(x.tau(q, x.qfrc(q, tau)), tau, **CLOSE)
    # Power does not depend on coordinates.
    np.testing.assert_allclose((x.qvel(q, v) * x.qfrc(q, tau)).sum(-1), (v * tau).sum(-1), **CLOSE)


def test_integration_goes_where_mujoco_goes():
    robot, oracle = loaded(ALL_JOINTS)
    q, v, _ = next(states(robot))
    h = 1e-6
    qpos = oracle.states.qpos(q)
    mujoco.mj_integratePos(oracle.model, qpos, oracle.states.qvel(q, v), h)
    # The free joint's linear velocity is constant in the world there, in the body here: they part at h².
    np.testing.assert_allclose(robot.difference(robot.integrate(q, h * v), oracle.states.q(qpos)), 0, atol=1e-11)


def test_states_refuse_what_mujoco_has_not():
    with pytest.raises(lw.NotAdmittedError, match="helical"):
        MujocoStates(lw.chain(2, joint="helical"))
    with pytest.raises(lw.InputError, match="qpos0"):
        MujocoStates(lw.chain(2), np.zeros(3))


# --- what is kept, what is said ----------------------------------------------------------------------


def test_joint_data_is_kept():
    robot, _ = loaded(ALL_JOINTS)
    hinge = robot.joints[robot.joint("hinge")]
    assert hinge.rotor.reflected == pytest.approx(0.03)
    np.testing.assert_allclose([hinge.limits.lower, hinge.limits.upper], np.deg2rad([-55, 45]))
    assert (hinge.damping, hinge.friction) == (pytest.approx(0.4), pytest.approx(0.2))
    assert [j.name for j in robot.joints] == [
        *("hinge", "lift", "yaw", "pitch", "socket", "flight", "shoulder", "joint7", "joint8")
    ]
    np.testing.assert_allclose(robot.gravity, [0.3, -0.2, -9.7])
    assert robot.name == "all joints"
    assert robot.base.mass > 0  # the pedestal


def test_a_compound_joint_is_bodies_in_a_row():
    robot, _ = loaded(HUMAN_ARM)
    assert [b.name for b in robot.bodies] == [
        *("upper_arm:flexion", "upper_arm:abduction", "upper_arm", "forearm", "hand")
    ]
    assert not robot.gravity.any()
    assert robot.tips == ("fingertip",)


def test_what_is_not_modelled_is_listed():
    with pytest.warns(lw.ModelWarning, match="not all of it is modelled"):
        robot = lw.load(LOADED, coupled=False)
    notes = "\n".join(robot.notes)
    for words in (
        "the site 'cart' is called 'cart_site'",
        "no contacts: 5 geoms",
        "not imposed: 1 equality constraint (gear) (joint)",
        "1 tendon (string)",
        "1 actuator (drive)",
        "only linear damping is kept: joint pole",
        "not kept: the limits of joint joint2",
        "the effort limit of joint rail is the larger",
        "gravcomp of rail",
        "density, viscosity",
        "mocap bodies target",
        "1 sensor, 1 camera, 1 light, 1 keyframe, 1 texture",
        "timestep, integrator",
    ):
        assert words in notes, notes
    rail = robot.joints[robot.joint("rail")]
    assert rail.rotor.reflected == pytest.approx(9 * 0.2)
    assert rail.damping == pytest.approx(9 * 0.1)
    assert rail.limits.effort == 8


def test_a_plain_file_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = lw.load(HUMAN_ARM)
    assert robot.notes == () and len(robot.visuals) == 3


def test_armature_of_a_free_joint_is_noted():
    text = ALL_JOINTS.replace('<joint type="free" ', '<joint type="free" armature=".3" ')
    with pytest.warns(lw.ModelWarning, match="armature · ω × v"):
        robot = lw.load(text)
    oracle = Oracle(robot, mujoco.MjModel.from_xml_string(text))
    q, v, a = next(states(robot))
    np.testing.assert_allclose(robot.mass_matrix(q), oracle.mass_matrix(q), **CLOSE)
    last = robot.v_slices[-1]
    omega, speed = v[last][:3], v[last][3:]
    missing = oracle.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(missing[last], [0, 0, 0, *(0.3 * np.cross(omega, speed))], **CLOSE)


# --- files -------------------------------------------------------------------------------------------


def test_load_tells_the_formats_apart(tmp_path):
    for ending in (".xml", ".mjcf", ".urdf"):
        path = tmp_path / f"arm{ending}"
        path.write_text(HUMAN_ARM.replace(' model="human arm"', ""), encoding="utf-8")
        robot = lw.load(path)
        assert (robot.name, robot.nv) == ("arm", 7)
    path = tmp_path / "urdf.xml"
    path.write_text('<robot name="stone"><link name="base"/></robot>', encoding="utf-8")
    assert lw.load(path).name == "stone"


def test_includes_are_found_beside_the_file(tmp_path):
    (tmp_path / "part.xml").write_text(
        '<mujocoinclude><body name="b"><joint name="j"/><geom size="1"/></body></mujocoinclude>', encoding="utf-8"
    )
    whole = tmp_path / "whole.xml"
    whole.write_text('<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>', encoding="utf-8")
    assert [j.name for j in lw.load(whole).joints] == ["j"]


MESHED = """<mujoco><asset><mesh name='m' file='nope.obj'/><texture name='t' type='2d' file='nope.png'/>
<material name='skin' texture='t'/></asset><worldbody><body name='b'><joint name='j'/><geom type='mesh' mesh='m'/>
<inertial pos='0 0 1' mass='2' diaginertia='1 1 1'/><geom size='1' material='skin'/></body></worldbody></mujoco>"""


def test_meshes_that_are_not_there_do_not_matter_where_inertias_are_given():
    with pytest.warns(lw.ModelWarning, match="were left out: .*nope"):
        robot = lw.load(MESHED)
    assert (robot.nv, robot.total_mass) == (1, 2.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<mujoco><worldbody><body><joint type='hing'/></body></worldbody></mujoco>", "hing.*line 1"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass and inertia"),
        ("<mujoco><worldbody/>", "MuJoCo cannot read it"),
        (re.sub("<inertial.*?>", "", MESHED), "nope.obj.*must lie where"),
    ],
)
def test_bad_files_are_refused_in_one_line(text, words):
    with pytest.raises(lw.FileError, match=words) as e:
        lw.load(text)
    assert "\n" not in str(e.value)


def test_floating():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixed, floats = lw.load(HUMAN_ARM), lw.load(HUMAN_ARM, floating=True)
        assert lw.load(ALL_JOINTS, floating=True).nv == lw.load(ALL_JOINTS).nv
    assert floats.nv == fixed.nv + 6
    assert floats.joints[0].name == "root_joint"


def test_the_package_missing_names_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(lw.MissingExtraError, match=r'pip install "linkwise\[mjcf\]"'):
        lw.load(HUMAN_ARM)


# --- through MuJoCo's own importer -------------------------------------------------------------------


# MuJoCo takes no thin rods and no moving links without mass.
IMPORTED = {name: lw.load(name) for name in ("ur5", "panda_gripper", "chain10")}
IMPORTED["tree"] = lw.random_tree(8, seed=3, joints=["revolute", "prismatic"])
IMPORTED["fixed"] = lw.random_tree(8, seed=2, joints=["revolute", "fixed"])


@pytest.mark.parametrize("name", IMPORTED)
def test_urdf_files_through_mujocos_importer(name):
    """A URDF read by linkwise, and by MuJoCo, written by it as MJCF and read by linkwise: one robot."""
    text = IMPORTED[name].to_urdf()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        direct = lw.load(text)
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = False
    spec.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.ModelWarning)
        through = lw.load(spec.to_xml(), coupled=False)
    assert [j.name for j in through.joints] == [j.name for j in direct.joints]
    for q, v, _ in states(direct, 3):
        # Numbers in MuJoCo's XML have six or so digits.
        found, expected = through.mass_matrix(q), direct.mass_matrix(q)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())
        found, expected = through.bias_force(q, v), direct.bias_force(q, v)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * max(1, np.abs(expected).max()))
