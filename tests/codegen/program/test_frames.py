"""In which frames programs are traced: results never show it, and what is in joint space alone gets the shortest."""

import gc
import weakref

import numpy as np
import pytest

import linkwise as lw
from linkwise import inputs
from linkwise.algebra.frame_freedom import is_frame_free
from linkwise.codegen.facts import catalogue
from linkwise.codegen.program.trace import trace
from linkwise.model.normal_form import normal_form
from linkwise.symbols.results import flatten
from linkwise.symbols.scalar import Graph

HAND = "panda_hand_tcp"


SHOWS_FRAMES = {
    "gravity force and tool": lambda r, q, v: (1e10 * r.gravity_force(q), r.pose(q, HAND)[1]),
    "a tiny tool beside a huge force": lambda r, q, v: np.concatenate([1e12 * r.bias_force(q, v), r.pose(q, HAND)[1]]),
    "velocity of a link": lambda r, q, v: r.velocity(q, v, "panda_link4", axes="local") + 0.0 * r.mass_times(q, v)[:6],
    "link forces": lambda r, q, v: (r.link_forces(q, v, v), r.inverse_dynamics(q, v, v)),
    "external forces": lambda r, q, v: r.inverse_dynamics(q, v, v, external=np.arange(42.0).reshape(7, 6)),
    "work of gravity": lambda r, q, v: np.stack([r.potential_energy(q), r.gravity_force(q) @ v]),
    "gravity as it is given": lambda r, q, v: np.asarray(r.gravity) * r.gravity_force(q)[1],
    "a body's inertia": lambda r, q, v: r.constants()[3].M.matrix @ r.mass_solve(q, v)[:6],
    "parts of bodies": lambda r, q, v: r.bodies[2].joint.placement.R @ r.bias_force(q, v)[:3],
    "M": lambda r, q, v: r.operators(q).M.dense() @ np.ones(42),
    "P": lambda r, q, v: r.operators(q).P.dense() @ np.ones(42),
    "V": lambda r, q, v: (r.operators(q).phi.T @ r.operators(q).H.T) @ v,
    "HH*": lambda r, q, v: (lambda o: (o.H @ o.phi @ o.phi.T @ o.H.T) @ v)(r.operators(q)),
    "HMH*": lambda r, q, v: (lambda o: (o.H @ o.M @ o.H.T) @ v)(r.operators(q)),
    "Jacobian and mass": lambda r, q, v: (lambda o: (o.J @ o.mass.inv()) @ v)(r.operators(q)),
    "articulated inertia beside the mass matrix": lambda r, q, v: (lambda o: (1e9 * (o.mass @ v), o.P_plus.dense()))(
        r.operators(q)
    ),
    "a user's own inertia": lambda r, q, v: (
        lambda o: o.with_inertia(o.block_diagonal([np.eye(6)] * 7)).mass.inv() @ v
    )(r.operators(q)),
    "another robot": lambda r, q, v: r.with_gravity((1.0, 0.0, 0.0)).gravity_force(q),
    "linearised state space": lambda r, q, v: tuple(r.linearize_forward(q, v, v).state_space()[:2]),
}


@pytest.mark.parametrize("name", SHOWS_FRAMES)
def test_results_are_those_of_the_users_frames(name, rng):
    robot = lw.load("panda")
    q, v = robot.random_configuration(rng), rng.normal(size=7)
    expected, found = SHOWS_FRAMES[name](robot, q, v), lw.compile(SHOWS_FRAMES[name], robot)(q, v)
    pairs = zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]
    for x, y in pairs:  # each output by itself: a huge one must not hide another
        assert np.abs(np.asarray(x) - y).max() <= 1e-11 * np.abs(x).max()


OF_BODIES = [
    (name, array)
    for name, facts in catalogue(lw.Robot).items()
    for array in facts.optional
    if facts.joint_space and facts.shows_frames([array])
]


@pytest.mark.parametrize(("name", "array"), OF_BODIES)
def test_fixed_arrays_of_bodies_are_in_the_users_frames(name, array, rng):
    robot = lw.chain(3, seed=1)
    facts = catalogue(lw.Robot)[name]
    size = [inputs.sizes(robot, facts.arrays[n]) for n in (*facts.needed, array)]
    *given, of_bodies = (rng.normal(size=n) for n in size)
    expected = getattr(robot, name)(*given, **{array: of_bodies}, target="numpy")
    found = robot.compile(name, **{array: of_bodies})(*given)
    for x, y in zip(flatten(expected)[0], flatten(found)[0]):
        assert np.abs(x - y).max() <= 1e-11 * np.abs(x).max()


FREE = {
    "a law": lambda r, q, v: r.mass_times(q, -q) + r.bias_force(q, v),
    "operators": lambda r, q, v: r.operators(q).mass.inv() @ v,
    "filters": lambda r, q, v: (r.operators(q).ell @ v, r.operators(q).m @ v),
    "both": lambda r, q, v: r.operators(q).mass @ r.forward_dynamics(q, v, v),
}


@pytest.mark.parametrize("name", FREE)
def test_what_is_in_joint_space_takes_fewer_operations(name, rng):
    for robot in (lw.load("panda"), lw.chain(5, seed=1)):
        kernel = lw.compile(FREE[name], robot)
        assert kernel.operations.total < 0.95 * trace(robot, FREE[name]).operations.total
        q, v = rng.normal(size=(2, robot.nv))
        for x, y in zip(*(np.atleast_2d(found) for found in (FREE[name](robot, q, v), kernel(q, v)))):
            assert np.abs(x - y).max() <= 1e-10 * np.abs(x).max()


def test_declared_methods_are_the_same_in_other_frames(rng):
    """What each method declares, on a robot with every kind of joint, against its normal form."""
    robot = lw.random_tree(7, seed=5)
    form = normal_form(robot)[0]
    given = {"q": robot.random_configuration(rng)}
    for name, facts in catalogue(lw.Robot).items():
        if facts.joint_space:
            given |= {k: rng.normal(size=robot.nv) for k in facts.needed if k not in given}
            arrays = [given[k] for k in facts.needed]
            a, b = (getattr(r, name)(*arrays, target="numpy") for r in (robot, form))
            for x, y in zip(*((z if isinstance(z, tuple) else (z,)) for z in (a, b))):
                assert np.abs(x - y).max() <= 1e-8 * np.abs(x).max(), name


def test_expressions_whose_frames_cannot_be_seen():
    op = lw.load("panda").operators(np.zeros(7))
    free = [op.mass, op.mass.inv(), op.m, op.ell, op.D, op.D_inverse, 2.0 * op.mass + op.D, op.m @ op.m.T, op.I_joints]
    free += [op.H @ op.phi @ op.K, (op.H @ op.psi @ op.K).T, op.H @ op.P @ op.H.T]
    free += [op.block_diagonal([np.eye(1)] * 7, "joints"), (op.mass + 0.1 * op.I_joints).inv()]
    free += [op.H @ op.psi @ op.psi_tilde @ op.G, op.G.T @ op.Upsilon_plus @ op.G, op.H @ op.phi @ op.R @ op.H.T]
    free += [op.H @ op.psi @ op.M @ op.psi.T @ op.H.T]  # ψMψ* = P + ψ̃P + Pψ̃*
    shown = [op.M, op.P, op.phi, op.H, op.H @ op.phi, op.H @ op.H.T, op.H @ op.M @ op.H.T, op.J, op.J @ op.mass.inv()]
    shown += [op.H @ op.phi @ op.phi.T @ op.H.T, op.I, op.with_inertia(op.M + op.M).D, op.mass @ op.H]
    shown += [op.G.T @ op.G, op.H @ op.phi @ op.P @ op.phi.T @ op.H.T]
    shown += [op.H @ (op.phi + op.phi.T) @ op.K, op.G.T @ op.M.inv() @ op.G, op.J.T @ op.J]
    assert all(is_frame_free(x.expression) for x in free)
    assert not any(is_frame_free(x.expression) for x in shown)


def test_programs_in_other_frames_are_freed_when_one_is_taken(monkeypatch):
    """Without waiting for a search for garbage: the values of a program and what finds them again hold each other."""
    graphs = weakref.WeakSet()

    class Seen(Graph):
        def __init__(self, most=None):
            super().__init__(most)
            graphs.add(self)
            counted.append(None)

    counted = []
    monkeypatch.setattr("linkwise.codegen.program.trace.Graph", Seen)
    gc.disable()
    try:
        kernel = lw.random_tree(4, seed=1).compile("mass_matrix")
        assert len(counted) == 3 and [g is kernel.program.nodes[0].graph for g in graphs] == [True]
    finally:
        gc.enable()
