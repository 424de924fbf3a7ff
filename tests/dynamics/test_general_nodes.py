"""Nodes that are no rigid bodies in the same sweeps: aggregates of coupled bodies and modal bodies.

A node has an inner dimension d, r degrees of freedom, and six numbers at each interface. The library's own recursions
run here over trees in which nodes of d = 6, 12 and 8 hang on each other; only what stands for φ, H and M is written
here. The references are dense: 𝓜 = HφMφ*H* from one big φ, and the spanning tree's equations under the constraint.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import linkwise as lw
from linkwise.dynamics.articulated import articulated
from linkwise.dynamics.forward.articulated_body import State, articulated_body_of
from linkwise.dynamics.inverse import inertia_forces
from linkwise.dynamics.links import (
    Links,
    accelerations,
    base_acceleration,
    coriolis_accelerations,
    evaluate,
    gyroscopic_forces,
    velocities,
)
from linkwise.spatial import Transform, congruence
from linkwise.sweeps import BodyTree

# --- what stands for φ -------------------------------------------------------------------------------


@dataclass
class Adjoint:
    """φ*: motions outward."""

    of: object

    def __matmul__(self, alpha):
        return self.of.outward(alpha)


@dataclass
class Row:
    """φ(p, 𝒢) = [φ(p, k₁) … φ(p, k_m)], (6, 6m): an aggregate seen from what it hangs on."""

    parts: list

    @property
    def T(self):
        return Adjoint(self)

    @property
    def matrix(self):
        return np.concatenate([phi.matrix for phi in self.parts], axis=-1)

    def __matmul__(self, f):
        return sum(phi @ f[..., 6 * i : 6 * i + 6, :] for i, phi in enumerate(self.parts))

    def outward(self, alpha):
        return np.concatenate([phi.T @ alpha for phi in self.parts], axis=-2)

    def congruence(self, P):
        return self @ (self @ P).mT


@dataclass
class Modal:
    """φ(p, k) = [0, φ(p, k)], (6, n_m + 6): a body whose modes do not move its inboard end."""

    modes: int
    phi: Transform

    @property
    def T(self):
        return Adjoint(self)

    @property
    def matrix(self):
        return np.concatenate([np.zeros((6, self.modes)), self.phi.matrix], axis=-1)

    def __matmul__(self, f):
        return self.phi @ f[..., self.modes :, :]

    def outward(self, alpha):
        moved = self.phi.T @ alpha
        return np.concatenate([np.zeros((*moved.shape[:-2], self.modes, moved.shape[-1])), moved], axis=-2)

    def congruence(self, P):
        return congruence(self.phi, P[..., self.modes :, self.modes :])


@dataclass
class Port:
    """Π*φ: a node that hangs on a node of d numbers by Π, (6, d): six rows of an aggregate, an attachment of a beam."""

    Pi: np.ndarray
    phi: object

    @property
    def T(self):
        return Adjoint(self)

    @property
    def matrix(self):
        return self.Pi.T @ self.phi.matrix

    def __matmul__(self, f):
        return AtPorts([(self.Pi, self.phi @ f)])

    def outward(self, alpha):
        return self.phi.T @ (self.Pi @ alpha)

    def congruence(self, P):
        return AtPorts([(self.Pi, congruence(self.phi, P))])


class AtPorts:
    """Forces (6, ·) or inertias (6, 6), each with its port: all that children ever pass to a node that has ports."""

    __array_ufunc__ = None  # so that arrays leave ``+`` and ``@`` to this class

    def __init__(self, held):
        assert all(x.shape[-2] == 6 and x.shape[-1] in (1, 6) for _, x in held)
        self.held = held

    def __add__(self, other):
        if isinstance(other, AtPorts):
            return AtPorts(self.held + other.held)
        if isinstance(other, int):
            return self
        # The node takes what is at its ports into its own d numbers; force or inertia shows by the shape of its own.
        inertia = other.shape[-1] > 1
        return other + sum(Pi.T @ x @ Pi if inertia else Pi.T @ x for Pi, x in self.held)

    __radd__ = __add__

    def __rmatmul__(self, H):
        return sum(H @ Pi.T @ x for Pi, x in self.held)


class SixAtEachInterface(BodyTree):
    """A tree that looks at what goes inward: forces and inertias of six numbers, or such at ports, and no more."""

    def inward(self, step, zero, *data):
        def looked_at(gathered, *own):
            passed, kept = step(gathered, *own)
            for x in passed if isinstance(passed, tuple) else (passed,):
                assert isinstance(x, (int, AtPorts)) or x.shape[-2:] in ((6, 6), (6, 1))
            return passed, kept

        return super().inward(looked_at, zero, *data)


# --- any tree of nodes against one big φ -------------------------------------------------------------


def random_transform(rng):
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Transform(R * np.sign(np.linalg.det(R)), rng.normal(size=3))


def positive(rng, d):
    X = rng.normal(size=(d, d))
    return X @ X.T + 0.1 * np.eye(d)


DIMENSION = {"rigid": 6, "aggregate": 12, "modal": 8}


def random_nodes(rng, parents, kinds):
    """Links of nodes of these kinds, everything about them random."""
    phi, H, M, sizes = [], [], [], []
    for p, kind in zip(parents, kinds):
        d = DIMENSION[kind]
        own = {
            "rigid": lambda: random_transform(rng),
            "aggregate": lambda: Row([random_transform(rng), random_transform(rng)]),
            "modal": lambda: Modal(2, random_transform(rng)),
        }[kind]()
        r = int(rng.integers(1, 4))
        if p >= 0 and kinds[p] != "rigid":
            own = Port(port(rng, kinds[p]), own)
        phi.append(own)
        H.append(rng.normal(size=(r, d)))
        M.append(positive(rng, d))
        sizes.append(r)
    none, names = [None] * len(parents), [f"node {k}" for k in range(len(parents))]
    return Links(SixAtEachInterface(parents), names, phi, H, M, none, none, sizes, np.zeros(0))


def port(rng, kind):
    if kind == "modal":
        return np.concatenate([rng.normal(size=(6, 2)), random_transform(rng).matrix.T], axis=1)
    return np.eye(12)[6:] if rng.random() < 0.5 else np.eye(12)[:6]


TREES = {
    "aggregate on the world": ((-1,), "a"),
    "aggregate between bodies": ((-1, 0, 1, 2), "rarr"),
    "aggregates on aggregates": ((-1, 0, 1, 1, 3), "aaraa"),
    "modal bodies": ((-1, 0, 0, 1, 1), "mrmmr"),
    "all kinds": ((-1, 0, 0, 1, 1, 2, 3, 4, -1, 8), "ramamrmara"),
}
KINDS = {"r": "rigid", "a": "aggregate", "m": "modal"}


def dense_phi(links):
    """(I − E)⁻¹ of all nodes' numbers, E holding φ(p, k) where k hangs on p."""
    ends = np.cumsum([0, *(H.shape[-1] for H in links.H)])
    E = np.zeros((ends[-1], ends[-1]))
    for k, p in enumerate(links.tree.parents):
        if p >= 0:
            E[ends[p] : ends[p + 1], ends[k] : ends[k + 1]] = links.phi[k].matrix
    return np.linalg.inv(np.eye(ends[-1]) - E)


def block_diagonal(blocks):
    rows, cols = (np.cumsum([0, *(b.shape[i] for b in blocks)]) for i in (0, 1))
    out = np.zeros((rows[-1], cols[-1]))
    for b, i, j in zip(blocks, rows, cols):
        out[i : i + b.shape[0], j : j + b.shape[1]] = b
    return out


@pytest.mark.parametrize("name", TREES)
def test_recursions_over_nodes_are_the_dense_algebra(name, rng):
    """𝓜x, 𝓜⁻¹x, the link forces and forward dynamics with a, b and a moving base."""
    parents, letters = TREES[name]
    links = random_nodes(rng, parents, [KINDS[c] for c in letters])
    phi, H, M = dense_phi(links), block_diagonal(links.H), block_diagonal(links.M)
    mass = H @ phi @ M @ phi.T @ H.T
    T = rng.normal(size=(links.nv, 1))
    assert np.allclose(articulated(links).solve(links, T), np.linalg.solve(mass, T), rtol=0, atol=1e-9)

    a = [rng.normal(size=(h.shape[-1], 1)) for h in links.H]
    b = [rng.normal(size=(h.shape[-1], 1)) for h in links.H]
    base = rng.normal(size=(6, 1))
    entering = [links.phi[k].T @ base if p < 0 else np.zeros_like(a[k]) for k, p in enumerate(parents)]
    bias_alpha = phi.T @ np.concatenate([x + y for x, y in zip(a, entering)])
    bias = H @ phi @ (M @ bias_alpha + np.concatenate(b))
    expected = np.linalg.solve(mass, T - bias)
    state = State(links, [], a, b, links.split(T[:, 0]), base)
    found = articulated_body_of(state).acceleration
    assert np.allclose(found, expected[:, 0], rtol=0, atol=1e-9)

    alpha = accelerations(links, links.split(found), a, base)
    assert np.allclose(np.concatenate(alpha), bias_alpha + phi.T @ H.T @ expected, rtol=0, atol=1e-9)
    back, _ = inertia_forces(links, links.split(found), a, b, base)
    assert np.allclose(links.join(back), T[:, 0], rtol=0, atol=1e-8)


# --- geared bodies against the constrained spanning tree ---------------------------------------------


def embedded(robot, members, X, q, v, tau):
    """β̇ of a robot whose neighbouring ``members`` move as θ̇ = Xβ, by the sweeps; v, tau are those of the nodes.

    Of the members themselves only F = φ*(p, k) and N = φ*N(parent) + H*X are worked out, by an outward sweep inside.
    """
    tree_links = evaluate(robot, q)
    beta = tree_links.split(v)
    V = velocities(tree_links, beta)
    a_tree = coriolis_accelerations(robot, tree_links, V, beta)
    b_tree = gyroscopic_forces(robot, tree_links, V, beta, None)

    place = {k: i for i, k in enumerate(members)}
    inside = BodyTree(tuple(place.get(robot.parents[k], -1) for k in members))
    own = [tree_links.phi[k] for k in members]
    from_outside = inside.outward(lambda above, phi: above.compose(phi), Transform(np.eye(3), np.zeros(3)), own)
    rows = [tree_links.H[k].mT @ X[i : i + 1] for i, k in enumerate(members)]
    none = np.zeros((6, X.shape[1]))
    N = inside.outward(lambda above, phi, x: phi.T @ above + x, none, own, rows)
    a = inside.outward(lambda above, phi, x: phi.T @ above + x, np.zeros((6, 1)), own, [a_tree[k] for k in members])

    first = members[0]
    nodes = [k for k in range(len(robot.bodies)) if k not in members or k == first]
    number = {k: i for i, k in enumerate(nodes)} | dict.fromkeys(members, nodes.index(first))
    parents = tuple(-1 if robot.parents[k] < 0 else number[robot.parents[k]] for k in nodes)

    def picked(of_body, of_group):
        return [of_group if k == first else of_body[k] for k in nodes]

    def phi_of(k):
        phi, p = tree_links.phi[k], robot.parents[k]
        if k == first:
            return Row(from_outside)
        return Port(np.eye(6 * len(members))[6 * place[p] : 6 * place[p] + 6], phi) if p in place else phi

    matrices = [M.matrix for M in tree_links.M]
    M = picked(matrices, block_diagonal([matrices[k] for k in members]))
    H = picked(tree_links.H, np.concatenate(N).T)
    phi = [phi_of(k) for k in nodes]
    sizes = [h.shape[0] for h in H]
    left = [None] * len(nodes)
    links = Links(SixAtEachInterface(parents), [str(k) for k in nodes], phi, H, M, left, left, sizes, q)
    bias = (picked(x, np.concatenate(group)) for x, group in ((a_tree, a), (b_tree, [b_tree[k] for k in members])))
    return articulated_body_of(State(links, [], *bias, links.split(tau), base_acceleration(robot, q))).acceleration


def test_the_planar_arm_with_a_mimic_joint():
    """Two geared bodies as one node of twelve numbers: the reference numbers of the closed form."""
    k, theta, rate, acceleration = -1.7, 0.4, 1.1, -0.6

    def link(name, parent, mass, com, tensor, at):
        joint = lw.Joint(lw.Revolute("z"), at=(at, 0, 0))
        return lw.Body(name, joint, lw.Inertia(mass, com=(com, 0, 0), tensor=np.diag([0.001, tensor, tensor])), parent)

    bodies = [link("upper", None, 1.3, 0.35, 0.06, 0.0), link("lower", "upper", 0.7, 0.3, 0.03, 0.8)]
    robot = lw.assemble("mimic", bodies, gravity=(0, -9.81, 0))
    X = np.array([[1.0], [k]])
    q, v = X[:, 0] * theta, X[:, 0] * rate
    found = embedded(robot, [0, 1], X, q, v, np.array([7.619379367229]))
    assert found == pytest.approx(acceleration, abs=1e-11)
    unit = embedded(robot, [0, 1], X, q, v, np.array([7.619379367229 + 0.529934896550])) - found
    assert unit == pytest.approx(1.0, abs=1e-11)  # M_r = 0.529934896550


GROUPS = {
    "parent and child": [1, 2],
    "on the world": [0, 1],
    "three in a row": [1, 2, 3],
    "siblings": [1, 4],
    "siblings and a child": [1, 2, 4],
}


@pytest.mark.parametrize("name", GROUPS)
def test_geared_bodies_agree_with_the_constrained_tree(name, rng):
    """X*𝓜X β̇ = T − X*𝓒 of the spanning tree, whatever hangs on either member."""
    members = GROUPS[name]
    bodies = []
    for i, parent in enumerate([None, "b0", "b1", "b2", "b0", "b4", "b1", "b2"]):
        kind = lw.Prismatic("x") if i == 5 else lw.Revolute(("x", "y", "z")[i % 3])
        tensor = positive(rng, 3) * 0.02
        inertia = lw.Inertia(1.0 + rng.random(), com=rng.normal(size=3) * 0.1, tensor=tensor + np.eye(3))
        bodies.append(lw.Body(f"b{i}", lw.Joint(kind, at=rng.normal(size=3), rpy=rng.normal(size=3)), inertia, parent))
    robot = lw.assemble("geared", bodies)
    assert [b.name for b in robot.bodies] == [b.name for b in bodies]
    gears = np.array([[1.0], [-2.3], [0.7]])[: len(members)]
    n = len(bodies)
    nodes = [k for k in range(n) if k not in members or k == members[0]]
    X = np.zeros((n, len(nodes)))
    for column, k in enumerate(nodes):
        X[k, column] = 1.0
    X[members, nodes.index(members[0])] = gears[:, 0]

    q, rates, tau = rng.normal(size=n), rng.normal(size=len(nodes)), rng.normal(size=len(nodes))
    v = X @ rates
    mass = X.T @ robot.mass_matrix(q, target="numpy") @ X
    expected = np.linalg.solve(mass, tau - X.T @ robot.bias_force(q, v, target="numpy"))
    found = embedded(robot, members, gears, q, v, tau)
    assert np.allclose(found, expected, rtol=0, atol=1e-10)
