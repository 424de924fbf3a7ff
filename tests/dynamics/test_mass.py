"""The mass matrix: three ways to it, its inverse, its factors and its determinant."""

import numpy as np
import pytest
from trees import ALL, assert_close, robot, state, times

import linkwise as lw
from linkwise.codegen.program.trace import trace
from linkwise.codegen.thresholds import ROWS_FROM
from linkwise.dynamics import mass, mass_inverse
from linkwise.dynamics.links import evaluate
from linkwise.dynamics.referred_links import in_one_frame
from linkwise.model.normal_form import normal_form


@pytest.fixture(params=ALL)
def case(request):
    r = robot(request.param)
    s = state(r)
    return r, s, r.mass_matrix(s.q)


@pytest.mark.parametrize("method", ["symmetric", "direct"])
def test_methods_agree(case, method):
    r, s, M = case
    assert_close(r.mass_matrix(s.q, method=method), M, 1e-12)


def test_symmetric_and_positive_definite(case):
    _, _, M = case
    assert_close(M, M.swapaxes(-1, -2), 1e-13)
    assert np.linalg.eigvalsh(M).min() > 0


def test_packed_is_the_lower_triangle_row_by_row():
    r = lw.random_tree(4, seed=1)
    q = r.random_configuration(0, (3, 2))
    rows, columns = np.tril_indices(r.nv)
    for target in ("numpy", "cpu"):
        full, packed = r.mass_matrix(q, target=target), r.mass_matrix(q, packed=True, target=target)
        assert packed.shape == (3, 2, r.nv * (r.nv + 1) // 2)
        assert np.array_equal(packed, full[..., rows, columns])
    kernel = r.compile("mass_matrix", packed=True)
    assert kernel.operations == r.compile("mass_matrix").operations
    with pytest.raises(lw.InputError, match="packed"):
        r.mass_matrix(q, packed=1)


def test_kinetic_energy(case):
    r, s, M = case
    assert_close(r.kinetic_energy(s.q, s.v), 0.5 * np.einsum("bi,bij,bj->b", s.v, M, s.v), 1e-12)


def test_times_and_solve(case):
    r, s, M = case
    assert_close(r.mass_times(s.q, s.a), times(M, s.a), 1e-12)
    assert_close(r.mass_solve(s.q, s.tau), np.linalg.solve(M, s.tau[..., None])[..., 0])
    assert_close(r.mass_solve(s.q, r.mass_times(s.q, s.a)), s.a)


@pytest.mark.parametrize("method", [None, *mass_inverse.METHODS])
def test_inverse(case, method):
    r, s, M = case
    inverse = r.mass_matrix_inverse(s.q, method=method)
    assert_close(inverse, np.linalg.inv(M))
    assert_close(inverse, inverse.swapaxes(-1, -2), 1e-13)


@pytest.mark.parametrize(("robot", "method"), [(ROWS_FROM - 1, "paths"), (ROWS_FROM, "rows"), ("humanoid", "paths")])
def test_the_inverse_is_made_by_what_is_quickest(robot, method):
    """Rows of long chains alone; just before that paths take more operations, and less time all the same."""
    robot = lw.chain(robot, seed=0) if isinstance(robot, int) else lw.load(robot)
    counts = {m: robot.compile("mass_matrix_inverse", rolled=False, method=m).operations for m in ("paths", "rows")}
    assert counts["paths"] != counts["rows"]
    assert robot.compile("mass_matrix_inverse", rolled=False).operations == counts[method]


def test_log_determinant(case):
    r, s, M = case
    sign, expected = np.linalg.slogdet(M)
    assert (sign == 1).all()
    assert_close(r.log_det_mass(s.q), expected, 1e-11)


def test_zero_between_branches(case):
    """𝓜(j, k) = 0 unless one of the two joints is inboard of the other."""
    r, _, M = case
    for j, k in _unrelated(r):
        assert not M[:, r.v_slices[j], r.v_slices[k]].any()


def _related(r):
    return {(j, k) for k in range(len(r.bodies)) for j in r.path(k)}  # j is k or inboard of it


def _unrelated(r):
    related = _related(r)
    pairs = [(j, k) for j in range(len(r.bodies)) for k in range(len(r.bodies))]
    return [(j, k) for j, k in pairs if (j, k) not in related and (k, j) not in related]


@pytest.mark.parametrize("which", ["innovations_factors", "inverse_factors"])
def test_factors_are_unit_triangular_along_the_tree(case, which):
    """Block (j, k) is the identity for j = k, and zero unless j is inboard of k."""
    r, s, _ = case
    factor, D = getattr(r, which)(s.q)
    for j in range(len(r.bodies)):
        for k in range(len(r.bodies)):
            block = factor[:, r.v_slices[j], r.v_slices[k]]
            if j == k:
                assert (block == np.eye(block.shape[-1])).all()
            else:
                assert not D[:, r.v_slices[j], r.v_slices[k]].any()
                if (j, k) not in _related(r):
                    assert not block.any()


def test_innovations_factorisation(case):
    r, s, M = case
    factor, D = r.innovations_factors(s.q)
    assert_close(factor @ D @ factor.swapaxes(-1, -2), M, 1e-12)
    assert np.linalg.eigvalsh(D).min() > 0


def test_inverse_factorisation(case):
    r, s, M = case
    factor, D_inverse = r.inverse_factors(s.q)
    assert_close(factor.swapaxes(-1, -2) @ D_inverse @ factor, np.linalg.inv(M))
    direct, D = r.innovations_factors(s.q)
    one = np.broadcast_to(np.eye(r.nv), M.shape)
    assert_close(factor @ direct, one)
    assert_close(D_inverse @ D, one)


def test_one_dof_factors_are_gaussian_elimination_from_the_tips():
    """For one-dof joints D holds the pivots of 𝓜 eliminated from the last joint inward (UF §4)."""
    r = robot("chain6")
    q = state(r, ()).q
    M = r.mass_matrix(q)
    pivots = []
    for _ in range(6):
        pivots.append(M[-1, -1])
        M = M[:-1, :-1] - np.outer(M[:-1, -1], M[-1, :-1]) / M[-1, -1]
    assert_close(np.diag(r.innovations_factors(q)[1]), pivots[::-1])


def test_massless_joint_is_singular_and_named():
    bodies = [
        lw.Body("arm", lw.Revolute("z"), lw.Inertia.box(1, (1, 1, 1))),
        lw.Body("ghost", lw.Revolute("y"), parent="arm"),
    ]
    r = lw.assemble("haunted", bodies)
    assert_close(r.mass_matrix([0.0, 0.0])[1], [0.0, 0.0])
    calls = (
        lambda q: r.mass_matrix_inverse(q),
        lambda q: r.mass_solve(q, [1.0, 1.0]),
        lambda q: r.forward_dynamics(q, [0.0, 0.0], [1.0, 1.0]),
        lambda q: r.log_det_mass(q),
    )
    for call in calls:
        with pytest.raises(lw.SingularError, match="ghost"):
            call([0.0, 0.0])


def test_rotor_makes_a_massless_joint_regular():
    bodies = [lw.Body("ghost", lw.Joint(lw.Revolute("y"), rotor=lw.Rotor(1e-3, 20.0)))]
    r = lw.assemble("motor", bodies)
    assert_close(r.mass_matrix([0.3]), [[0.4]], 1e-14)
    assert_close(r.forward_dynamics([0.3], [5.0], [2.0]), [5.0], 1e-14)


@pytest.mark.parametrize("name", ALL)
def test_one_frame_for_all_bodies_gives_the_same(name):
    r = robot(name)
    q = state(r).q
    assert_close(mass.composite_of(in_one_frame(evaluate(r, q)).links), mass.composite_of(evaluate(r, q)), 1e-12)


def test_one_frame_does_not_mind_where_a_free_base_is():
    """Its origin would cost digits: a body a kilometre away has a millionfold moment of inertia about it."""
    r = robot("humanoid")
    q = state(r, ()).q
    here = mass.composite_of(in_one_frame(evaluate(r, q)).links)
    q[:3] = 1e6, -2e6, 3e6
    assert_close(mass.composite_of(in_one_frame(evaluate(r, q)).links), here, 1e-12)


def test_long_chains_take_one_frame_and_fewer_operations():
    def in_link_frames(model, q):
        return mass.composite_of(evaluate(model, q))

    for n, long in ((10, False), (20, True)):
        form = normal_form(robot(f"chain{n}"))[0]
        usual, chosen = (trace(form, f).operations.total for f in (in_link_frames, mass.composite))
        assert chosen < usual if long else chosen == usual
    humanoid = robot("humanoid")
    assert trace(humanoid, in_link_frames).operations.total == trace(humanoid, mass.composite).operations.total
