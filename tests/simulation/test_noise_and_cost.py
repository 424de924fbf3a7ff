"""Random joint forces that depend on a seed and on where they act alone, and running costs."""

import numpy as np
import pytest

import linkwise as lw
from linkwise.simulation.noise import normal


def test_words_are_those_of_the_paper():
    """The known answers of Philox 4×32-10 (Random123, kat_vectors)."""
    from linkwise.simulation.noise import _philox

    for word, expected in (
        (0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (0xFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ):
        counter = [np.array([word], np.uint64)] * 4
        assert tuple(int(x[0]) for x in _philox(word | word << 32, counter)) == expected


def test_numbers_are_normal_and_stay_what_they_are():
    x = normal(7, np.arange(400), np.arange(50), 7)
    assert x.shape == (400, 50, 7) and len(np.unique(x)) == x.size
    n = x.size
    assert abs(x.mean()) < 4 / np.sqrt(n) and abs(x.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs((x**4).mean() - 3) < 4 * np.sqrt(96 / n)
    part = normal(7, np.arange(100, 130), np.arange(20, 25), 7)
    assert np.array_equal(part, x[100:130, 20:25])  # whoever asks for them
    assert np.array_equal(normal(7, np.arange(9), np.arange(9), 3), x[:9, :9, :3])
    assert not np.isclose(normal(8, np.arange(400), np.arange(50), 7), x).any()


def test_noise_is_a_table_of_forces():
    robot = lw.chain(3, seed=1)
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 5, 3))
    noise = lw.Noise([0.1, 0.2, 0.0], seed=3)
    table = noise.forces(robot, 5, 8)
    assert np.array_equal(table[..., 2], np.zeros((5, 8))) and table[..., :2].all()
    tau = rng.normal(size=(8, 3))
    found = lw.rollout(robot, q, v, tau, noise=noise, step=1e-2, every=2)
    expected = lw.rollout(robot, q, v, tau + table, step=1e-2, every=2)
    assert np.array_equal(found.q, expected.q) and np.array_equal(found.tau, expected.tau)
    alone = lw.rollout(robot, q, v, steps=8, noise=noise, step=1e-2)
    assert np.array_equal(alone.q, lw.rollout(robot, q, v, table, step=1e-2).q)


@pytest.mark.filterwarnings("ignore::linkwise.SlowPathWarning")
@pytest.mark.parametrize("options", [{}, {"hold": True}, {"callback": True}, {"callback": True, "hold": True}])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_noise_beside_a_controller(options, target):
    robot = lw.chain(2, seed=1)
    q, v = np.random.default_rng(0).normal(size=(2, 4, 2))
    noise = lw.Noise(0.5, seed=1)
    random = noise.forces(robot, 4, 6)
    step = 1e-2

    def law(t, q, v):
        return -0.2 * q * q

    def with_noise(t, q, v):
        return law(t, q, v) + random[:, min(int(t / step + 0.25), 5)]

    options = options | {"step": step, "implicit": False, "method": "midpoint", "steps": 6}
    found = lw.simulate(robot, q, v, law, noise=noise, target=target, **options)
    expected = lw.simulate(robot, q, v, with_noise, **options | {"callback": True})
    assert np.allclose(found.q, expected.q, rtol=0, atol=1e-13)
    own = law(0, found.q, found.v) + np.concatenate([random, random[:, -1:]], axis=1)
    assert np.allclose(found.tau, own, rtol=0, atol=1e-13)
    assert np.abs(found.energy.drift).max() < 1e-3


def spent_by_hand(motion, rate, step):
    rates = rate(motion.time[:-1, None], motion.q[..., :-1, :], motion.v[..., :-1, :], motion.tau[..., :-1, :])
    return np.concatenate([np.zeros_like(rates[..., :1]), np.cumsum(step * rates, axis=-1)], axis=-1)


def rate(t, q, v, tau):
    return t[..., 0] * 0.3 + (q * q).sum(axis=-1) + 0.1 * (v * v).sum(axis=-1) + 0.01 * (tau * tau).sum(axis=-1)


def cost(t, q, v, tau):
    return t * 0.3 + (q * q).sum(axis=-1) + 0.1 * (v * v).sum(axis=-1) + 0.01 * (tau * tau).sum(axis=-1)


WAYS = {
    "plain": {},
    "a law": {"controller": lambda t, q, v: -0.4 * q - 0.3 * v},
    "a law, explicit": {"controller": lambda t, q, v: -0.4 * q - 0.3 * v, "implicit": False},
    "held": {"controller": lambda t, q, v: -0.4 * q, "hold": True},
    "called back": {"controller": lambda t, q, v: -0.4 * q, "callback": True},
    "called once a step": {"controller": lambda t, q, v: -0.4 * q, "callback": True, "hold": True},
    "on numpy": {"target": "numpy"},
    "variational": {"method": "variational"},
    "two sweeps": {"method": "two_sweep", "coordinates": "unnormalized"},
    "damped": {"damping": 0.3},
    "friction": {"friction": 0.2, "damping": 0.1},
}


@pytest.mark.filterwarnings("ignore::linkwise.SlowPathWarning")
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("way", WAYS)
def test_costs_add_up_where_steps_start(way, batch):
    robot = lw.chain(2, seed=1)
    q, v = np.random.default_rng(0).normal(size=(2, *batch, 2))
    options = {"steps": 6, "step": 1e-2, "target": "cpu"} | WAYS[way]
    found = lw.simulate(robot, q, v, cost=cost, **options)
    without = lw.simulate(robot, q, v, **options)
    assert np.allclose(found.q, without.q, rtol=0, atol=1e-14)
    assert found.cost.shape == (*batch, 7)
    assert np.allclose(found.cost, spent_by_hand(found, rate, 1e-2), rtol=1e-12)


def test_costs_of_stages_that_are_turns(monkeypatch):
    monkeypatch.setattr("linkwise.simulation.staged.STAGED_FROM", 1)
    test_costs_add_up_where_steps_start("plain", (3,))


def test_parts_of_a_motion_and_its_continuation_have_their_cost():
    robot = lw.chain(2, seed=1)
    q = np.random.default_rng(0).normal(size=(3, 2))
    whole = lw.simulate(robot, q, steps=8, step=1e-2, cost=cost, noise=lw.Noise(0.1))
    first = lw.simulate(robot, q, steps=4, step=1e-2, cost=cost, noise=lw.Noise(0.1))
    assert np.array_equal(whole[2:5].cost, whole.cost[:, 2:5])
    assert np.array_equal(whole.state(1).cost, whole.cost[1])
    both = first.resume(0.04, cost=cost, noise=lw.Noise(0.1))
    assert np.allclose(both.q, whole.q, rtol=0, atol=1e-15) and np.allclose(both.cost, whole.cost, rtol=1e-13)
    with pytest.raises(lw.InputError, match="running cost"):
        first.resume(0.04)


def test_costs_go_through_files(tmp_path):
    robot = lw.chain(2, seed=1)
    motion = lw.simulate(robot, [0.1, 0.2], steps=3, cost=cost)
    for ending in ("npz", "nc", "zarr", "parquet"):
        motion.save(tmp_path / f"x.{ending}")
        assert np.array_equal(lw.Trajectory.load(tmp_path / f"x.{ending}").cost, motion.cost)
    plain = lw.simulate(robot, [0.1, 0.2], steps=3)
    plain.save(tmp_path / "y.npz")
    assert lw.Trajectory.load(tmp_path / "y.npz").cost is None


def test_what_is_no_noise_or_no_cost_is_refused():
    robot = lw.chain(2)
    q = [0.1, 0.2]
    for make, said in (
        (lambda: lw.Noise(-1.0), "not negative"),
        (lambda: lw.Noise(1.0, seed=-1), "seed"),
        (lambda: lw.simulate(robot, q, noise=0.1, steps=2), r"lw.Noise\(scale, seed\)"),
        (lambda: lw.simulate(robot, q, noise=lw.Noise([1.0, 2.0, 3.0]), steps=2), "scale of the noise"),
        (lambda: lw.simulate(robot, q, cost=3.0, steps=2), "running cost"),
        (lambda: lw.simulate(robot, q, cost=lambda x: x, steps=2), "running cost"),
        (lambda: lw.simulate(robot, q, cost=lambda q: q, steps=2), "one number"),
        (lambda: lw.simulate(robot, q, cost=lambda q: q[0], method="rk45"), "fixed steps"),
        (lambda: lw.simulate(robot, q, noise=lw.Noise(1.0), method="rk45"), "fixed steps"),
    ):
        with pytest.raises(lw.InputError, match=said):
            make()
