"""Plots: what the curves hold, against numbers worked out by other means."""

import sys

import numpy as np
import pytest
from motions import fall, swing
from numpy.testing import assert_allclose

import linkwise as lw
from linkwise.errors import InputError, LinkwiseError, UnknownNameError
from linkwise.view import Motion, style
from linkwise.view.plots import Costs

pytest.importorskip("matplotlib")


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.get_lines()}


@pytest.fixture(scope="module")
def falling():
    robot = lw.load("double_pendulum")
    return fall(robot, np.array([1.0, 0.5]), np.zeros(2), 1.0, 2e-3, damping=0.3)


def saved(figure, tmp_path):
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_joints(falling, tmp_path):
    figure = lw.plots.joints(falling)
    assert len(figure.axes) == 3
    for ax, values in zip(figure.axes, (falling.q, falling.v, falling.tau)):
        drawn = [y for y in lines(ax).values() if len(y) == len(falling)]
        assert_allclose(drawn, values.T)
    saved(figure, tmp_path)


def test_joints_that_are_asked_for():
    motion = swing(lw.load("panda"))
    figure = lw.plots.joints(motion, joints=["panda_joint2", "panda_joint4"])
    found = lines(figure.axes[1])
    assert_allclose(found["joint4"], motion.v[:, 3])
    assert len(found) == 2
    with pytest.raises(UnknownNameError, match="no joint is named 'elbow'"):
        lw.plots.joints(motion, joints=["elbow"])


def test_limits_that_are_passed_are_drawn():
    robot = lw.load("panda")
    q = robot.neutral() + np.zeros((3, 7))
    q[:, 3] = [-1.0, robot.lower_limits[3] - 0.1, -1.0]
    drawn = [line.get_ydata()[0] for line in lw.plots.joints(Motion(robot, [0, 1, 2], q)).axes[0].get_lines()[7:]]
    assert robot.lower_limits[3] in drawn


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "cartpole", "satellite"])
def test_joints_of_every_kind_of_robot(name, tmp_path):
    saved(lw.plots.joints(swing(lw.load(name))), tmp_path)


def test_energy_account_balances(falling, tmp_path):
    figure = lw.plots.energy(falling)
    found = lines(figure.axes[0])
    kinetic, potential = falling.robot.energy(falling.q, falling.v)
    assert_allclose(found["kinetic"], kinetic)
    assert_allclose(found["total"], kinetic + potential - potential[0])
    # Damping takes energy, all of which the work of the joint forces accounts for.
    left_over = figure.axes[1].get_lines()[0].get_ydata()
    assert found["total"][-1] < found["total"][0] - 1.0
    assert np.abs(left_over).max() < 1e-7
    saved(figure, tmp_path)


def test_energy_needs_velocities():
    robot = lw.load("ur5")
    with pytest.raises(InputError, match="velocities"):
        lw.plots.energy(Motion(robot, [0.0, 1.0], np.zeros((2, 6))))


def test_phase_portraits(falling, tmp_path):
    figure = lw.plots.phase(falling)
    for i, ax in enumerate(figure.axes):
        path = np.array([s[0] for s in ax.collections[0].get_segments()])
        assert_allclose(path, np.stack([falling.q[:-1, i], falling.v[:-1, i]], axis=1))
    saved(figure, tmp_path)
    free = lw.load("quadruped")
    assert len(lw.plots.phase(swing(free)).axes) >= 12
    ball = lw.chain(2, joint="spherical")
    with pytest.raises(InputError, match="no joint of one position"):
        lw.plots.phase(swing(ball))


def test_manipulability_is_what_the_jacobian_says(tmp_path):
    motion = swing(lw.load("panda"))
    figure = lw.plots.manipulability(motion, frame="tcp")
    J = motion.robot.jacobian(motion.q, "tcp")
    w = np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2)))
    assert_allclose(figure.axes[2].get_lines()[0].get_ydata(), w, atol=1e-12)
    squares = np.linalg.eigvalsh(J[:, 3:] @ np.swapaxes(J[:, 3:], -1, -2))
    assert_allclose(lines(figure.axes[0])["σ₁"] ** 2, squares[:, 2])
    assert_allclose(lines(figure.axes[0])["σ₃"] ** 2, squares[:, 0], atol=1e-12)
    saved(figure, tmp_path)


def test_operators_show_the_structure(tmp_path):
    robot = lw.load("quadruped")
    figure = lw.plots.operators(robot)
    shown = {ax.get_title(loc="left").split()[0]: ax.get_images()[0].get_array().filled(np.nan) for ax in figure.axes}
    q = robot.random_configuration(0)
    for name in ("phi", "psi"):
        dense = getattr(robot.operators(q), name).dense()
        drawn = ~np.isnan(shown["φ" if name == "phi" else "ψ"])
        assert (drawn == (np.abs(dense) > 1e-12 * np.abs(dense).max())).all()
        assert not np.tril(drawn, -6).any()
    saved(figure, tmp_path)
    with pytest.raises(InputError, match="one configuration"):
        lw.plots.operators(robot, robot.random_configuration(0, (2,)))
    with pytest.raises(InputError, match="1 to 60 bodies"):
        lw.plots.operators(lw.chain(80))


# --- costs ---------------------------------------------------------------------------------------------


def test_costs_grow_as_the_orders_say():
    sizes = (4, 8, 16, 24)
    found = lw.plots.measure_costs(sizes, timed=False)
    n1, n2, n3 = (
        np.array(found.operations[m], float) for m in ("articulated_body", "triangular", "composite_cholesky")
    )
    assert_allclose(n1[3] - n1[2], n1[2] - n1[1], rtol=0.02)  # a straight line
    assert n1[3] < n2[3] < n3[3]
    per_joint = n3 / np.array(sizes)
    assert per_joint[3] - per_joint[2] > per_joint[2] - per_joint[1]  # steeper than a parabola
    assert 4 < found.crossover(found.operations, "articulated_body", "composite_cholesky") < 10


def test_crossover_is_where_the_lines_meet():
    found = Costs((2, 4, 8), {"a": (10, 20, 40), "b": (4, 16, 64)})
    assert_allclose(found.crossover(found.operations, "a", "b"), 4 + 4 * 4 / 28)
    assert found.crossover(found.operations, "b", "a") is None


def test_the_picture_of_costs(tmp_path):
    sizes = (2, 4, 8)
    table = {"articulated_body": (10, 20, 40), "triangular": (9, 21, 50), "composite_cholesky": (4, 16, 64)}
    figure = lw.plots.costs(Costs(sizes, table, table))
    assert len(figure.axes) == 2
    assert any("from N = 5 on" in t.get_text() for t in figure.axes[0].texts)
    saved(figure, tmp_path)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: lw.plots.measure_costs((4, 2)), "sizes must be increasing"),
        (lambda: lw.plots.measure_costs(()), "sizes must be increasing"),
        (lambda: lw.plots.measure_costs((2,), methods=("best",)), "no forward-dynamics method is named 'best'"),
        (lambda: lw.plots.measure_costs((2,), methods=[["rows"]]), "each of methods must be a text"),
        (lambda: lw.plots.measure_costs((2,), robot="panda"), "robot is a function"),
        (lambda: lw.plots.costs({}), "what lw.plots.measure_costs gives, got {}"),
        (lambda: Costs((2, 4), {"a": (1,)}), "operations of a must be 2 positive numbers"),
        (lambda: lw.plots.legend(5.0), "matplotlib's axes, got 5.0"),
        (lambda: lw.plots.operators([None], np.zeros(2)), "needs a robot"),
        (
            lambda: lw.plots.joints({"time": [0.0], "q": [[0.0, 0.0]], "robot": lw.chain(2)}, joints=3 + 4j),
            "joints must",
        ),
    ],
)
def test_what_plots_are_not_drawn_of(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_compiled_cholesky_where_a_pivot_is_a_plain_number():
    """In two hinges the tip's pivot does not depend on q, so it folds into a number before its root is taken."""
    robot = lw.chain(2)
    kernel = robot.compile("forward_dynamics", method="composite_cholesky")
    q, v, tau = np.array([[0.3, -0.7], [1.0, 0.2], [0.1, -0.4]])
    assert_allclose(kernel(q, v, tau), robot.forward_dynamics(q, v, tau), rtol=1e-12)


def test_a_missing_package_says_what_brings_it(falling, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LinkwiseError, match=r'pip install "linkwise\[plot\]"'):
        lw.plots.joints(falling)


def curves(ax):
    return {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}


def test_the_energies_are_those_of_the_simulation():
    robot = lw.load("panda")
    t = lw.simulate(
        robot, robot.neutral(), external={"tcp": [0, 0, 0, 5, 0, 0]}, duration=0.2, damping=0.3,
        controller=lambda r, t, q, v: 0.5 * r.gravity_force(q),
    )  # fmt: skip
    upper, lower = lw.plots.energy(t).axes
    drawn = curves(upper)
    assert_allclose(drawn["external forces"].get_ydata(), t.energy.external)
    assert_allclose(drawn["damping and friction"].get_ydata(), -t.energy.dissipated)
    assert_allclose(drawn["work of the joint forces"].get_ydata(), t.energy.work)
    assert "stops" not in drawn  # nothing to see
    assert_allclose(lower.get_lines()[0].get_ydata(), t.energy.drift, atol=1e-12)


def test_of_many_joints_the_liveliest_are_named():
    robot = lw.chain(30)
    t = lw.simulate(robot, np.full(30, 0.3), duration=0.05)
    figure = lw.plots.joints(t)
    assert "no joint forces" in figure._suptitle.get_text() and len(figure.axes) == 2  # no empty panel
    drawn = curves(figure.axes[0])
    assert "18 that move less" in drawn and len(drawn) == 13
    shares = [np.ptp(x, axis=0) / np.ptp(x, axis=0).max() for x in (t.q, t.v)]
    expected = {f"joint{i + 1}" for i in np.argsort(-np.max(shares, axis=0))[:12]}
    assert expected == set(drawn) - {"18 that move less"}
    portraits = lw.plots.phase(t)
    assert "16 joints of 30" in portraits._suptitle.get_text()


def test_crossovers_are_marked_in_both_panels():
    table = {"articulated_body": (10.0, 20.0, 40.0), "composite_cholesky": (4.0, 19.0, 64.0)}
    figure = lw.plots.costs(Costs((2, 4, 8), {k: tuple(map(int, x)) for k, x in table.items()}, table))
    said = [" ".join(t.get_text() for t in ax.texts) for ax in figure.axes]
    assert "cheaper than O(N³)" in said[0] and "faster than O(N³)" in said[1]
    assert Costs((2, 4), {}, {}).crossover({"a": (97.0, 90.0), "b": (100.0, 100.0)}, "a", "b", margin=0.05) > 2


@pytest.mark.parametrize("name", ["panda", "cartpole", "quadruped"])
def test_a_joint_has_one_name_and_colour_in_all_panels(name):
    seen = {}
    for ax in lw.plots.joints(swing(lw.load(name))).axes:
        for label, line in curves(ax).items():
            if "[" not in label and "move less" not in label:  # entries of q and of v of a free joint are not the same
                assert seen.setdefault(label, line.get_color()) == line.get_color()
    assert len(seen) > 1 and len(set(seen.values())) == len(seen)


def test_a_panel_has_one_unit():
    motion = swing(lw.load("cartpole"))
    figure = lw.plots.joints(motion)
    units = [ax.get_ylabel().partition("[")[2].rstrip("]") for ax in figure.axes]
    assert units == ["m", "rad", "m/s", "rad/s", "N", "N m"]
    drawn = [next(iter(curves(ax).values())).get_ydata() for ax in figure.axes]
    for found, expected in zip(drawn, (*motion.q.T, *motion.v.T, *motion.tau.T)):
        assert_allclose(found, expected)


@pytest.mark.parametrize("name", style.THEMES)
def test_what_is_read_stands_out(name):
    theme = style.THEMES[name]
    for colour in (theme.ink, theme.pale, theme.kinetic, theme.potential, theme.work, *theme.colours):
        assert style.contrast(colour, theme.background) >= 4.5, colour
    assert len(set(theme.colours)) == len(theme.colours) == style.MOST_LABELLED
    assert_allclose(style.contrast("#ffffff", "#000000"), 21.0)


@pytest.mark.parametrize("name", style.THEMES)
def test_curves_are_told_apart(name):
    """By their distance in OKLab (B. Ottosson, 2020), where 0.02 is just noticeable."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in style.THEMES[name].colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = [
        [0.41222147, 0.53633254, 0.05144599],
        [0.2119035, 0.68069955, 0.10739696],
        [0.08830246, 0.28171884, 0.6299787],
    ]
    opponents = [
        [0.21045426, 0.79361779, -0.00407205],
        [1.9779985, -2.4285922, 0.45059371],
        [0.02590404, 0.78277177, -0.80867577],
    ]
    lab = np.cbrt(linear @ np.transpose(cones)) @ np.transpose(opponents)
    apart = np.linalg.norm(lab[:, None] - lab, axis=-1) + np.eye(len(lab))
    assert apart.min() >= 0.1, np.unravel_index(apart.argmin(), apart.shape)


def test_dark_and_transparent_pictures(falling, tmp_path):
    import matplotlib.image

    table = {"articulated_body": (10, 20, 40), "composite_cholesky": (4, 16, 64)}
    makers = (
        *(lambda how, f=f: f(falling, **how) for f in (lw.plots.joints, lw.plots.energy, lw.plots.phase)),
        lambda how: lw.plots.manipulability(falling, **how),
        lambda how: lw.plots.operators(lw.chain(3), **how),
        lambda how: lw.plots.costs(Costs((2, 4, 8), table), **how),
    )
    for make in makers:
        make({"theme": "dark"}).savefig(tmp_path / "dark.png")
        corner = matplotlib.image.imread(tmp_path / "dark.png")[0, 0]
        assert_allclose(255 * corner, [0x14, 0x19, 0x1F, 255], atol=1)
        make({"transparent": True}).savefig(tmp_path / "clear.png")
        assert matplotlib.image.imread(tmp_path / "clear.png")[0, 0, 3] == 0
    with pytest.raises(InputError, match="dark"):
        lw.plots.joints(falling, theme="drak")


def test_powers_are_straight_lines_of_their_slope():
    sizes = (4, 8, 16, 32)
    table = {"articulated_body": (40, 80, 160, 320), "composite_cholesky": (4, 32, 256, 2048)}
    (ax,) = lw.plots.costs(Costs(sizes, table)).axes
    assert ax.get_xscale() == ax.get_yscale() == "log" and ax.get_aspect() == 1.0
    dashed = [line for line in ax.get_lines() if line.get_label().startswith("_") and len(line.get_xdata()) == 2]
    slopes = [np.ptp(np.log(x.get_ydata())) / np.ptp(np.log(x.get_xdata())) for x in dashed if np.ptp(x.get_xdata())]
    assert_allclose(sorted(slopes), [1.0, 2.0, 3.0])
    labels = [line.get_label() for line in ax.get_lines()]
    assert any("N^{1.0}" in x for x in labels) and any("N^{3.0}" in x for x in labels)


def test_figures_are_pictures_in_notebooks(falling):
    png, size = lw.plots.joints(falling)._repr_png_()
    width, height = np.frombuffer(png[16:24], ">u4")
    assert png.startswith(b"\x89PNG") and (width, height) == (2 * size["width"], 2 * size["height"])


@pytest.mark.parametrize(("course", "inside"), [(lambda t: t, True), (lambda t: np.sin(40 * t), False)])
def test_a_legend_covers_no_curve(course, inside):
    from matplotlib.figure import Figure

    from linkwise.view.plots.legends import covers

    t = np.linspace(0.0, 1.0, 300)
    ax = Figure(figsize=(4, 3), layout="constrained").subplots()
    ax.plot(t, course(t), label="a curve with a long name")
    assert covers(ax, ax.legend(loc="upper right")) and covers(ax, ax.legend(loc="center"))
    made = lw.plots.legend(ax)
    assert not covers(ax, made)
    below = made.get_window_extent().y1 < ax.get_window_extent().y0
    assert below is not inside


def test_a_legend_covers_no_marker_and_finds_a_free_corner():
    from matplotlib.figure import Figure

    from linkwise.view.plots.legends import covers

    ax = Figure(figsize=(4, 3), layout="constrained").subplots()
    ax.plot([0.0, 0.4, 1.0], [0.0, 0.8, 0.8], "o-", markersize=40, label="a curve with a long name")
    ax.set_ylim(0.0, 1.0)
    beside = ax.legend(loc="upper right")
    assert covers(ax, beside)
    ax.get_lines()[0].set_marker("")
    assert not covers(ax, beside)  # the line alone passes below it
    ax.get_lines()[0].set_marker("o")
    made = lw.plots.legend(ax)
    assert not covers(ax, made) and made.get_window_extent().y0 > ax.get_window_extent().y0
