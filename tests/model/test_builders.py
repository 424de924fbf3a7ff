"""Robots without a file: assembled, chains, random trees."""

import cProfile
import tracemalloc
from functools import partial

import numpy as np
import pytest

from linkwise.errors import InputError, ModelError, UnknownNameError
from linkwise.model import builders
from linkwise.model.inertia import Inertia
from linkwise.model.joints.kinds import Custom, Fixed, Free, Revolute, Spherical
from linkwise.model.model import Model
from linkwise.model.parts import Body, Frame, Joint

assemble, chain, random_tree = (
    partial(f, cls=Model) for f in (builders.assemble, builders.chain, builders.random_tree)
)

BALL = Inertia.sphere(1.0, 0.1)
CHAIN_KINDS = ["revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar", "free"]
ALL_KINDS = {*CHAIN_KINDS, "custom", "fixed"}


class Robot(Model):
    """A subclass, which builders must return when asked for it."""


def fingerprint(model):
    """Everything random about a model, as one array."""
    parts = [[f.pose.l, f.pose.R] for f in model.extra_frames]
    for b, c in zip(model.bodies, model.constants()):
        numbers = [c.placement.l, c.placement.R, c.kind.H_star, c.M.matrix]
        parts.append([*numbers, *b.joint.limits.arrays(c.kind.nv)])
    return np.concatenate([np.ravel(x) for row in parts for x in row])


# --- assemble --------------------------------------------------------------------------------------


def test_assemble_takes_bodies_in_any_order():
    bodies = [Body("b", Revolute("x"), BALL, "a"), Body("a", Revolute("z"), BALL, "world")]
    model = assemble("bot", bodies, [Frame("tip", "b")], gravity=(0, 0, -1), base=BALL, cls=Robot)
    assert type(model) is Robot and [b.name for b in model.bodies] == ["a", "b"]
    assert model.gravity.tolist() == [0, 0, -1] and model.base is BALL and model.frame("tip")[0] == 1
    assert type(assemble("bot", (b for b in bodies))) is Model


UNREAL = Inertia(1.0, (0, 0, 0), (1, 1, 3))


def arm(parent=None, inertia=BALL):
    return Body("arm", Revolute(), inertia, parent)


@pytest.mark.parametrize(
    ("make", "error", "hint"),
    [
        (lambda: assemble("bot", [arm(inertia=UNREAL)]), ModelError, "inertia tensor of body 'arm'"),
        (lambda: assemble("bot", [], base=UNREAL), ModelError, "base 'base'"),
        (lambda: assemble("bot", [arm("trunc"), Body("trunk", Free())]), ModelError, "did you mean 'trunk'"),
        (lambda: assemble("bot", [arm("trunk")]), ModelError, "'arm' hangs on 'trunk'.*the bodies are 'arm'"),
        (lambda: assemble("bot", [arm(Body("x", Free()))]), ModelError, "the name of a body"),
        (lambda: assemble("bot", [arm()], [Frame("tip", "amr")]), ModelError, "'tip' sits on 'amr'.*'arm'"),
        (lambda: assemble("bot", arm()), InputError, r"bodies must be a list of lw\.Body"),
        (lambda: assemble("bot", ["arm"]), InputError, "has 'arm'"),
        (lambda: assemble("bot", [], "tip"), InputError, r"frames must be a list of lw\.Frame"),
        (lambda: assemble("bot", 3), InputError, "bodies"),
    ],
)
def test_assemble_refuses(make, error, hint):
    with pytest.raises(error, match=hint) as caught:
        make()
    assert "'bot'" in str(caught.value)


# --- chains ----------------------------------------------------------------------------------------


def test_regular_chain_is_what_it_says():
    model = chain(4)
    assert (model.name, model.nq, model.nv, model.is_chain) == ("chain4", 4, 4, True)
    assert [b.name for b in model.bodies] == ["link1", "link2", "link3", "link4"]
    assert [j.name for j in model.joints] == ["joint1", "joint2", "joint3", "joint4"]
    assert [j.kind.axis.tolist() for j in model.joints] == [[0, 1, 0], [0, 0, 1]] * 2
    assert [j.placement.l[0] for j in model.joints] == [0, 1, 1, 1]
    for b in model.bodies:
        assert b.inertia.mass == 1.0 and b.inertia.com.tolist() == [0.5, 0, 0]
        b.inertia.check()
    index, pose = model.frame("tip")
    assert index == 3 and pose.l.tolist() == [1, 0, 0]


def test_chains_are_deterministic():
    np.testing.assert_array_equal(fingerprint(chain(5)), fingerprint(chain(5)))
    np.testing.assert_array_equal(fingerprint(chain(5, seed=1)), fingerprint(chain(5, seed=1)))
    assert not np.array_equal(fingerprint(chain(5, seed=1)), fingerprint(chain(5, seed=2)))


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("kind", CHAIN_KINDS)
def test_chain_of_each_kind(kind, seed):
    model = chain(4, kind, seed=seed, cls=Robot)
    assert type(model) is Robot and {j.kind.kind for j in model.joints} == {kind}
    assert model.is_chain and model.frame("tip")[0] == 3
    for b in model.bodies:
        b.inertia.check(b.name)


@pytest.mark.parametrize("seed", [None, 3])
def test_mixed_chain_has_every_kind_that_holds(seed):
    kinds = [j.kind.kind for j in chain(14, "mixed", seed=seed).joints]
    assert set(kinds) == set(CHAIN_KINDS) - {"free"} and kinds[:7] == kinds[7:]


def test_mixed_chain_axes_alternate_between_rounds():
    """Seven kinds, two axes: a kind comes back with the other axis."""
    joints = chain(14, "mixed").joints
    assert joints[0].kind.axis.tolist() == [0, 1, 0] and joints[7].kind.axis.tolist() == [0, 0, 1]


GIVEN = [Spherical(), Custom(np.eye(6)[:, :2]), Revolute((1, 1, 1))]


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("kind", GIVEN, ids=lambda k: k.kind)
def test_chain_of_a_given_kind(kind, seed):
    model = chain(3, kind, seed=seed)
    assert all(j.kind is kind for j in model.joints) and model.nv == 3 * kind.nv


def test_random_chain_has_full_inertias_and_tilted_joints():
    for c in chain(10, seed=0).constants():
        off_diagonal = c.M.J[np.triu_indices(3, 1)]
        assert np.abs(off_diagonal).min() > 1e-5 and np.abs(c.placement.R - np.eye(3)).max() > 0.1
        assert np.linalg.eigvalsh(c.M.matrix)[0] > 1e-4
        np.testing.assert_allclose(c.placement.R @ c.placement.R.T, np.eye(3), atol=1e-14)


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", None, True])
@pytest.mark.parametrize("make", [chain, random_tree])
def test_sizes_must_be_whole_numbers_from_one_on(make, n):
    with pytest.raises(InputError, match="whole number"):
        make(n)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("joint", "error"), [("hinge", UnknownNameError), (3, InputError)])
def test_unknown_joints_are_refused(joint, error, seed):
    with pytest.raises(error, match=str(joint)):
        chain(3, joint, seed=seed)


def test_one_link_is_a_chain():
    assert chain(np.int64(1)).nv == 1 and chain(1, seed=0).nv == 1


@pytest.mark.parametrize("seed", [None, 0])
def test_work_and_memory_grow_as_n(seed):
    assert chain(20_000, seed=seed).nv == 20_000

    def calls_per_link(n):
        profile = cProfile.Profile()
        profile.runcall(chain, n, seed=seed)
        return sum(entry.callcount for entry in profile.getstats()) / n

    assert calls_per_link(2_000) < 1.1 * calls_per_link(500)

    def bytes_per_link(n):
        tracemalloc.start()
        kept = chain(n, seed=seed)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used / len(kept.bodies)

    assert bytes_per_link(4_000) < 1.2 * bytes_per_link(1_000) < 4_000


def test_chains_share_no_writable_arrays():
    for model in (chain(3), chain(3, seed=1)):
        b = model.bodies[1]
        for array in (b.inertia.com, b.inertia.tensor, b.joint.placement.R, b.joint.placement.l):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0


# --- random trees ----------------------------------------------------------------------------------


def test_random_trees_have_all_ten_kinds():
    counts = dict.fromkeys(ALL_KINDS, 0)
    commuting = []
    for seed in range(60):
        for joint in random_tree(12, seed=seed).joints:
            counts[joint.kind.kind] += 1
            if isinstance(joint.kind, Custom):
                commuting.append(joint.kind.commutes)
    assert min(counts.values()) > 0 and set(counts) == ALL_KINDS
    assert max(counts["fixed"], counts["free"]) < 0.75 * counts["revolute"]
    assert any(commuting) and not all(commuting)


def test_random_trees_are_reproducible():
    for options in ({}, {"rotors": True, "floating": True}, {"joints": "revolute", "branching": 1.0}):
        first, again = (random_tree(12, seed=4, **options) for _ in range(2))
        np.testing.assert_array_equal(fingerprint(first), fingerprint(again))
        assert first.parents == again.parents
    assert not np.array_equal(fingerprint(random_tree(6, seed=1)), fingerprint(random_tree(6, seed=2)))


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_are_well_conditioned(seed):
    model = random_tree(10, seed=seed, rotors=True, cls=Robot)
    assert type(model) is Robot and len(model.bodies) == 10 and model.nv > 0
    rotor_axes = {}
    for b, c, p in zip(model.bodies, model.constants(), model.parents):
        b.inertia.check(b.name)
        assert 0.5 <= b.inertia.mass <= 2.0
        moments = np.linalg.eigvalsh(b.inertia.tensor)
        assert moments[0] > 1e-3 and moments[2] < 0.2
        assert 0.2 <= np.linalg.norm(c.placement.l) <= 0.6 or isinstance(c.kind, Free)
        if b.joint.rotor is not None and b.joint.rotor.axis is not None:
            assert c.kind.nv == 1
            rotor_axes[p] = rotor_axes.get(p, 0.0) + b.joint.rotor.inertia
    for p, inertia in rotor_axes.items():  # a parent must be able to contain its children's rotors
        assert p < 0 or inertia < np.linalg.eigvalsh(model.bodies[p].inertia.tensor)[0]


def test_joints_restrict_the_kinds():
    one = random_tree(8, joints="spherical")
    assert {j.kind.kind for j in one.joints} == {"spherical"}
    mine = Custom(np.eye(6)[:, :3])
    some = {j.kind.kind for j in random_tree(40, joints=("revolute", mine, "planar")).joints}
    assert some == {"revolute", "custom", "planar"}
    assert random_tree(3, joints="fixed").nv == 0
    assert not isinstance(random_tree(3, joints=("fixed", "revolute"), seed=5).joints[0].kind, Fixed)


def test_floating_trees_hang_on_their_root():
    for seed in range(10):
        model = random_tree(10, seed=seed, floating=True, branching=1.0)
        assert model.joints[0].name == "root_joint" and isinstance(model.joints[0].kind, Free)
        assert model.parents.count(-1) == 1


def test_branching_goes_from_chain_to_bush():
    assert random_tree(20, branching=0.0).is_chain
    tips = [len(random_tree(40, seed=1, branching=b).tips) for b in (0.0, 0.5, 1.0)]
    assert tips[0] == 1 < tips[1] < tips[2]
    assert any(random_tree(10, seed=s, branching=1.0).parents.count(-1) > 1 for s in range(5))


def test_rotors_come_with_and_without_axes():
    assert all(j.rotor is None for j in random_tree(30).joints)
    rotors = [j.rotor for j in random_tree(60, rotors=True).joints if j.rotor is not None]
    assert 10 < len(rotors) < 50
    assert any(r.axis is None for r in rotors) and any(r.axis is not None for r in rotors)


def test_random_trees_have_frames_and_limits():
    model = random_tree(30, seed=2)
    assert 3 < len(model.extra_frames) < 25 and model.extra_frames[-1].body == "body30"
    limited = np.isfinite(model.lower_limits)
    assert limited.any() and not limited.all()
    assert (model.lower_limits < model.upper_limits).all()
    q = model.random_configuration(0)
    for joint, s in zip(model.joints, model.q_slices):
        lower, upper, _, _ = joint.limits.arrays(joint.kind.nv)
        if np.isfinite(lower).all():
            assert joint.kind.nq == joint.kind.nv and (lower <= q[s]).all() and (q[s] <= upper).all()


@pytest.mark.parametrize(
    ("options", "error", "hint"),
    [
        ({"branching": -0.1}, InputError, "branching"),
        ({"branching": 1.5}, InputError, "branching"),
        ({"joints": "hinge"}, UnknownNameError, "'hinge'.*choose from revolute"),
        ({"joints": ()}, InputError, "at least one"),
        ({"joints": (Joint(Revolute()),)}, InputError, "kind"),
    ],
)
def test_random_tree_refuses(options, error, hint):
    with pytest.raises(error, match=hint):
        random_tree(3, **options)
