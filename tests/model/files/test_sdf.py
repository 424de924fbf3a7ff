"""SDF files: beside Drake's numbers, beside the same robots as URDF, and what the format says that others do not."""

import numpy as np
import pytest
import sdf_files
from sdf_files import MIXED, STATE, joint, link, model

import linkwise as lw
from linkwise.interop import robot_files

CLOSE = {"rtol": 1e-11, "atol": 1e-12}


# --- beside others ---------------------------------------------------------------------------------------------------


def test_all_that_poses_can_say_is_what_drake_reads():
    robot = lw.load(MIXED)
    q, v, order = np.zeros(6), np.zeros(6), []
    for name, (position, rate) in STATE.items():
        own = robot.v_slices[robot.joint(name)]
        q[own], v[own] = position, rate
        order += range(own.start, own.stop)
    np.testing.assert_allclose(robot.mass_matrix(q)[np.ix_(order, order)], sdf_files.DRAKE_MASS, **CLOSE)
    np.testing.assert_allclose(robot.bias_force(q, v)[order], sdf_files.DRAKE_BIAS, **CLOSE)
    R, p = robot.pose(q, "wrist::palm")
    np.testing.assert_allclose(p, sdf_files.DRAKE_PALM, **CLOSE)
    np.testing.assert_allclose(R, sdf_files.DRAKE_PALM_AXES, **CLOSE)
    np.testing.assert_allclose(robot.pose(q, "nut")[1], sdf_files.DRAKE_NUT, **CLOSE)
    assert robot.notes == () and robot.name == "mixed"


def test_drake_still_says_so():
    plants = pytest.importorskip("pydrake.multibody.plant", reason="Drake is not installed")
    parsing = pytest.importorskip("pydrake.multibody.parsing")
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(MIXED, "sdf")
    plant.Finalize()
    context, order = plant.CreateDefaultContext(), []
    joints = {j.name(): j for j in map(plant.get_joint, plant.GetJointIndices())}
    q = np.zeros(6)
    for name, (position, _) in STATE.items():
        start = joints[name.split("::")[-1]].position_start()
        q[start : start + len(position)] = position
        order += range(start, start + len(position))
    plant.SetPositions(context, q)
    found = plant.CalcMassMatrixViaInverseDynamics(context)[np.ix_(order, order)]
    np.testing.assert_allclose(found, sdf_files.DRAKE_MASS, **CLOSE)


@pytest.mark.parametrize("name", ["ur5", "panda", "cartpole", "quadruped"])
def test_robots_written_as_sdf_are_read_back(name):
    """As they are written for Drake: fixed ones on a joint to the world, floating ones on none."""
    robot = lw.load(name)
    again = lw.load(robot_files.sdf(robot))
    rng = np.random.default_rng(0)
    q, v, a = robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))
    assert [j.name for j in again.joints] == [j.name for j in robot.joints]
    np.testing.assert_allclose(again.mass_matrix(q), robot.mass_matrix(q), **CLOSE)
    tau = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(again.inverse_dynamics(q, v, a), tau, rtol=1e-10, atol=1e-10 * np.abs(tau).max())


URDF = """<robot name="arm"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0.02 0.03" rpy="0.1 0.2 0.3"/><mass value="2"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0.001" izz="0.04"/></inertial>
<visual><origin xyz="0 0 0.1"/><geometry><box size="0.1 0.2 0.3"/></geometry>
<material name="r"><color rgba="1 0 0 0.5"/></material></visual></link>
<link name="b"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
<link name="c"><inertial><mass value="0.5"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link><link name="tool"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.3" rpy="0.4 0 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="2" velocity="3" effort="4"/>
<dynamics damping="0.5" friction="0.25"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.5 0 0" rpy="0 0.3 0.2"/>
<axis xyz="0 0 1"/><limit lower="-0.1" upper="0.2" velocity="3" effort="4"/></joint>
<joint name="j3" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0 0 0.4"/><axis xyz="1 0 0"/>
<limit velocity="5" effort="6"/><mimic joint="j1" multiplier="-2" offset="0.1"/></joint>
<joint name="weld" type="fixed"><parent link="c"/><child link="tool"/><origin xyz="0 0 0.1" rpy="0 0.5 0"/></joint>
</robot>"""
MASSLESS = "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
SDF = f"""<sdf version="1.11"><model name="arm"><link name="base">{MASSLESS}</link>
<joint name="bolt" type="fixed"><parent>world</parent><child>base</child></joint>
<link name="a"><pose relative_to="j1"/><inertial><pose>0.1 0.02 0.03 0.1 0.2 0.3</pose><mass>2</mass>
<inertia><ixx>0.02</ixx><iyy>0.03</iyy><iyz>0.001</iyz><izz>0.04</izz></inertia></inertial>
<visual name="v"><pose>0 0 0.1 0 0 0</pose><geometry><box><size>0.1 0.2 0.3</size></box></geometry>
<material><diffuse>1 0 0 0.5</diffuse></material></visual></link>
<link name="b"><pose relative_to="j2"/><inertial><pose>0 0 0.2 0 0 0</pose><mass>1</mass>
<inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.01</izz></inertia></inertial></link>
<link name="c"><pose relative_to="j3"/><inertial><mass>0.5</mass>
<inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link>
<link name="tool"><pose relative_to="weld"/>{MASSLESS}</link>
<joint name="j1" type="revolute"><parent>base</parent><child>a</child>
<pose relative_to="base">0 0 0.3 0.4 0 0</pose><axis><xyz>0 1 0</xyz>
<limit><lower>-1</lower><upper>2</upper><velocity>3</velocity><effort>4</effort></limit>
<dynamics><damping>0.5</damping><friction>0.25</friction></dynamics></axis></joint>
<joint name="j2" type="prismatic"><parent>a</parent><child>b</child><pose relative_to="a">0.5 0 0 0 0.3 0.2</pose>
<axis><xyz>0 0 1</xyz><limit><lower>-0.1</lower><upper>0.2</upper><velocity>3</velocity><effort>4</effort></limit>
</axis></joint>
<joint name="j3" type="continuous"><parent>b</parent><child>c</child><pose relative_to="b">0 0 0.4 0 0 0</pose>
<axis><xyz>1 0 0</xyz><limit><velocity>5</velocity><effort>6</effort></limit>
<mimic joint="j1"><multiplier>-2</multiplier><offset>0.7</offset><reference>-0.3</reference></mimic></axis></joint>
<joint name="weld" type="fixed"><parent>c</parent><child>tool</child>
<pose relative_to="c">0 0 0.1 0 0.5 0</pose></joint></model></sdf>"""


@pytest.mark.parametrize("coupled", [True, False])
def test_the_same_arm_as_urdf(coupled):
    """Its j3 follows j1 by −2(q₁ + 0.3) + 0.7, which is −2q₁ + 0.1."""
    one, other = (lw.load(text, coupled=coupled) for text in (URDF, SDF))
    assert one.nv == other.nv == (2 if coupled else 3)
    rng = np.random.default_rng(1)
    q, (v, a) = one.random_configuration(rng), rng.normal(size=(2, one.nv))
    np.testing.assert_allclose(other.mass_matrix(q), one.mass_matrix(q), **CLOSE)
    np.testing.assert_allclose(other.inverse_dynamics(q, v, a), one.inverse_dynamics(q, v, a), **CLOSE)
    for frame in ("base", "a", "b", "c", "tool"):
        for x, y in zip(other.pose(q, frame), one.pose(q, frame)):
            np.testing.assert_allclose(x, y, **CLOSE)
    for what in ("lower_limits", "upper_limits", "velocity_limits", "effort_limits", "damping", "friction"):
        np.testing.assert_array_equal(getattr(other, what), getattr(one, what), err_msg=what)
    (mine,), (theirs,) = one.visuals, other.visuals
    assert (mine.shape, mine.body, list(mine.colour)) == (theirs.shape, theirs.body, list(theirs.colour))
    np.testing.assert_allclose(theirs.pose.l, mine.pose.l, **CLOSE)


# --- what this format says otherwise ---------------------------------------------------------------------------------


def test_what_no_joint_holds_moves_freely_from_where_it_is():
    text = model(link("a", "<pose>1 2 3 0.1 0 0</pose>") + link("b", "<pose>4 5 6 0 0 0</pose>"))
    robot = lw.load(text)
    assert [j.name for j in robot.joints] == ["a_free", "b_free"] and robot.nv == 12
    np.testing.assert_allclose(robot.pose(robot.neutral(), "b")[1], [4, 5, 6])
    one = lw.load(model(link("a", "<pose>1 2 3 0.1 0 0</pose>") + link("b") + joint("j", "a", "b")))
    assert [j.name for j in one.joints] == ["root_joint", "j"]
    np.testing.assert_allclose(one.pose(one.neutral(), "a")[1], [1, 2, 3])


def test_a_static_model_is_part_of_the_world():
    fixed = '<model name="table"><static>true</static><pose>0 0 1 0 0 0</pose>' + link("top") + "</model>"
    arm = f'<model name="arm"><pose>0 0 1.5 0 0 0</pose>{link("a")}</model>'
    hinge = joint("hinge", "table::top", "arm::a")
    robot = lw.load(f'<sdf version="1.9"><world name="w"><gravity>0 0 -1</gravity>{fixed}{arm}{hinge}</world></sdf>')
    assert robot.name == "w" and robot.nv == 1 and robot.gravity.tolist() == [0, 0, -1]
    assert [b.name for b in robot.bodies] == ["arm::a"]
    np.testing.assert_allclose(robot.pose([0.0], "table::top")[1], [0, 0, 1])
    np.testing.assert_allclose(robot.pose([0.0], "arm::a")[1], [0, 0, 1.5])


def test_floating_frees_what_is_bolted():
    text = model(link("a") + link("b") + joint("bolt", "world", "a", "fixed") + joint("j", "a", "b"))
    assert lw.load(text).nv == 1 and lw.load(text, floating=True).nv == 7
    assert lw.load(model(link("a") + link("b") + joint("j", "a", "b")), floating=True).nv == 7


def test_a_link_away_from_its_joint_keeps_its_frame():
    text = model(link("a", "<pose>1 0 0 0 0 0</pose>") + joint("j", "world", "a", pose="<pose>-0.4 0 0 0 0 0</pose>"))
    robot = lw.load(text)
    assert [b.name for b in robot.bodies] == ["a:j"]
    p = robot.pose([np.pi / 2], "a")[1]
    np.testing.assert_allclose(p, [0.6, 0.4, 0.0], atol=1e-15)
    np.testing.assert_allclose(robot.mass_matrix([0.3]), [[0.04 + 0.5**2 + 0.02**2]], rtol=1e-12)


def test_axes_of_old_files_are_the_models():
    """Until 1.4 axes were given in the model's frame, from 1.5 in the joint's, and until 1.6 as one wished."""
    turned = "<pose>0 0 0 1.5707963267948966 0 0</pose>"
    axis = lambda version, more="": lw.load(
        model(link("a", turned) + joint("j", "world", "a", axis="0 0 1", more=more), version)
    ).jacobian([0.0], "a")[:3, 0]
    np.testing.assert_allclose(axis("1.4"), [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(axis("1.6"), [0, -1, 0], atol=1e-15)
    by_model = "<use_parent_model_frame>1</use_parent_model_frame>"
    np.testing.assert_allclose(axis("1.6", by_model), [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(axis("1.12"), [0, -1, 0], atol=1e-15)  # which is after 1.4


def test_joints_of_old_files_may_have_the_names_of_links():
    text = link("arm", "<pose>0 0 1 0 0 0</pose>") + joint("arm", "world", "arm", pose="<pose>0 0.5 0 0 0 0</pose>")
    assert lw.load(model(text, "1.6")).mass_matrix([0.0])[0, 0] == pytest.approx(0.04 + 0.1**2 + 0.48**2)
    with pytest.raises(lw.FileError, match="its name is that of <link"):
        lw.load(model(text, "1.7"))


def test_screws_of_both_sorts():
    def rise(given):
        text = model(link("a") + joint("j", "world", "a", "screw").replace("</joint>", f"{given}</joint>"))
        return lw.load(text).pose([1.0], "a")[1][2]

    assert rise("<screw_thread_pitch>0.5</screw_thread_pitch>") == pytest.approx(0.5 / (2 * np.pi))
    assert rise("<thread_pitch>4</thread_pitch>") == pytest.approx(-0.25)
    assert rise("") == pytest.approx(1 / (2 * np.pi))


def test_ball_and_cardan_joints_have_limits_and_damping_of_their_own():
    second = "<axis2><xyz>0 1 0</xyz><limit><upper>2</upper></limit><dynamics><damping>3</damping></dynamics></axis2>"
    limit = "<limit><lower>-1</lower></limit><dynamics><damping>1</damping></dynamics>"
    cardan = joint("u", "world", "a", "universal", "1 0 0", more=limit).replace("</joint>", second + "</joint>")
    robot = lw.load(model(link("a") + link("b") + cardan + joint("ball", "a", "b", "ball")))
    assert (robot.nq, robot.nv) == (6, 5)
    assert robot.lower_limits.tolist()[:2] == [-1, -np.inf] and robot.upper_limits.tolist()[:2] == [np.inf, 2]
    assert robot.damping.tolist()[:2] == [1, 3]
    two = lw.load(model(link("a") + cardan.replace('"universal"', '"revolute2"').replace("0 1 0", "0.6 0.8 0")))
    assert two.nv == 2


def test_a_gearbox_couples_hinges_on_its_reference_body():
    gear = (
        '<joint name="g" type="gearbox"><parent>a</parent><child>b</child><gearbox_ratio>3</gearbox_ratio>'
        "<gearbox_reference_body>base</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis>"
        "<axis2><xyz>0 0 -1</xyz></axis2></joint>"
    )
    links = link("base") + link("a") + link("b", "<pose>0.5 0 0 0.3 0 0</pose>")
    turned = "<pose>0 0 0 -0.3 0 0</pose>"
    hinges = joint("bolt", "world", "base", "fixed") + joint("ja", "base", "a") + joint("jb", "base", "b", pose=turned)
    gear = gear.replace("<parent>", turned + "<parent>", 1)
    robot = lw.load(model(links + hinges + gear))
    assert robot.nv == 1 and robot.notes == ()
    (coupling,) = robot.couplings
    assert (coupling.dependent, coupling.independents) == ("jb", ("ja",))
    assert robot.joint_positions([0.2]).tolist() == pytest.approx([0.2, 0.6])
    assert lw.load(model(links + hinges + gear), coupled=False).nv == 2
    with pytest.warns(lw.ModelWarning, match="is not modelled: its links have no such hinges"):
        odd = lw.load(model(links + hinges + gear.replace("<xyz>0 0 -1", "<xyz>0 1 -1")))
    assert odd.nv == 2


# --- what is not read ------------------------------------------------------------------------------------------------


FOLLOWS = '<mimic joint="u"><multiplier>1</multiplier></mimic>'


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (link("a", more="<gravity>false</gravity>"), "is to feel no gravity"),
        (link("a", more="<kinematic>true</kinematic>"), "is kinematic"),
        (link("a", more="<velocity_decay><linear>0.1</linear></velocity_decay>"), "velocity is to decay"),
        ('<link name="a"/>', "has no <inertial>; the format's default is taken"),
        (link("a") + "<include><uri>model://x</uri></include>", "is not followed"),
        (link("a") + "<jiont/>", "<joint> may be meant"),
        (
            link("a") + joint("j", "world", "a", more=FOLLOWS) + link("b") + joint("u", "a", "b", "ball"),
            "is not imposed",
        ),
    ],
)
def test_what_would_change_the_motion_is_warned_about(inside, said):
    with pytest.warns(lw.ModelWarning, match=said):
        robot = lw.load(model(inside))
    assert any(said in note for note in robot.notes)


def test_springs_are_read():
    more = "<dynamics><spring_stiffness>2</spring_stiffness><spring_reference>.3</spring_reference>"
    more += "<damping>.5</damping></dynamics>"
    robot = lw.load(model(link("a") + joint("j", "world", "a", more=more)))
    assert robot.spring_force([0.7], [1.0]) == pytest.approx([2 * 0.4 + 0.5])


def test_what_plays_no_part_is_noted():
    more = '<collision name="c"/><sensor name="s"/><collision name="d"/>'
    robot = lw.load(model(link("a", more=more) + '<plugin name="p"/>'))
    assert robot.notes == ("not read: 2 <collision>, 1 <plugin>, 1 <sensor>",)


def test_the_command_line_takes_them(tmp_path, capsys):
    from linkwise.cli.main import main

    path = tmp_path / "mixed.sdf"
    path.write_text(MIXED)
    assert main(["info", str(path)]) == 0
    assert "wrist::cardan" in capsys.readouterr().out
    assert main(["check", str(path), "--states", "2"]) == 0
    assert "neither Pinocchio nor MuJoCo reads SDF files" in capsys.readouterr().out
