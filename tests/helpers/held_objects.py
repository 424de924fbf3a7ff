"""Grasps for tests, and their dense equations of motion from the arms and the object one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwise as lw
from linkwise.spatial import rotation_from_rpy

BOX = lw.Inertia.box(2.0, (0.6, 0.4, 0.5), at=(0.05, -0.02, 0.1))
# kind → what else a contact of it is given
KINDS: dict[str, dict[str, Any]] = {
    "rigid": {},
    "soft_finger": {"friction": 0.8, "torsion": 0.02},
    "hard_finger": {"friction": 0.5},
    "frictionless_point": {},
    "line": {},
    "plane": {},
    "sliding": {},
    "rolling": {"radius": 0.05, "friction": 0.5},
    "rough line": {"friction": 0.5},
}


def contact(kind: str, place: int, **more: Any) -> lw.Contact:
    """A contact of a kind (or a rough line) of the hand "tip" with a frame of its own, somewhere on the object."""
    rng = np.random.default_rng(100 + place)
    handle = lw.Frame(f"handle{place}", at=0.4 * rng.normal(size=3), rpy=rng.normal(size=3))
    return lw.Contact("tip", handle, "line" if kind == "rough line" else kind, **KINDS[kind], **more)


def two_arms(kind: str, other: str = "rigid", arm: lw.Robot | None = None) -> lw.Grasp:
    """Two arms of seven joints each on a box, one of them on a base that stands aslant."""
    arms = [arm or lw.chain(7, seed=3), lw.chain(7, seed=4)]
    return lw.grasp(arms, BOX, [contact(kind, 0), contact(other, 1)], bases=[None, ((0.5, 0.2, 0.0), (0.1, 0.2, 0.3))])


def state(team: lw.Grasp, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v that keep the contacts, and joint forces."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        try:
            q = team.closed_configuration(team.random_configuration(rng))
        except lw.ClosureError:
            continue
        v = team.closed_velocity(q, rng.normal(size=team.nv), target="numpy")
        return q, v, rng.normal(size=team.nv)
    raise AssertionError("no closed configuration found")


class Union:
    """Arms and object as separate robots: 𝓜 and bias by blocks, contact rows from poses and velocities alone."""

    def __init__(self, arms: list[lw.Robot], held: lw.Robot, contacts: list[tuple[int, lw.Contact]], bases: list[Any]):
        self.contacts = contacts
        self.places = [_place(x) for x in bases]
        turned = [arm.with_gravity(R.T @ arm.gravity) for arm, (R, _) in zip(arms, self.places)]
        self.parts = [*turned, held]

    def split(self, x: np.ndarray, size: str) -> list[np.ndarray]:
        ends = np.cumsum([getattr(r, size) for r in self.parts])
        return np.split(x, ends[:-1], axis=-1)

    def rows(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """How fast hands leave the object along what each contact stops, (..., m)."""
        qs, vs = self.split(q, "nq"), self.split(v, "nv")
        out = []
        for i, x in self.contacts:
            R0, p0 = self.places[i]
            handle = getattr(x.object_frame, "name", x.object_frame)
            R_a, p_a = self.parts[-1].pose(qs[-1], handle, target="numpy")
            V_a = self.parts[-1].velocity(qs[-1], vs[-1], handle, target="numpy")
            R_b, p_b = self.parts[i].pose(qs[i], x.hand_frame, target="numpy")
            V_b = self.parts[i].velocity(qs[i], vs[i], x.hand_frame, target="numpy")
            R_b, p_b = R0 @ R_b, p0 + R0 @ p_b
            w_b, v_b = V_b[..., :3] @ R0.T, V_b[..., 3:] @ R0.T
            slides = x.kind in ("frictionless_point", "plane", "sliding", "rolling") or (
                x.kind == "line" and x.friction is None
            )
            p = p_b if slides else p_a
            if x.kind == "rolling":
                p = p + x.radius * R_a[:, 2]
            w = w_b - V_a[..., :3]
            u = v_b + np.cross(w_b, p - p_b) - V_a[..., 3:] - np.cross(V_a[..., :3], p - p_a)
            seen = np.concatenate([w @ R_a, u @ R_a], axis=-1)
            found = seen[..., list(x.transmitted)]
            if x.kind == "line" and x.friction is None:
                found[..., 0] = w @ np.cross(R_a[:, 2], R_b[:, 0])
            out.append(found)
        return np.concatenate(out, axis=-1)

    def matrices(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(𝓜, G) of all."""
        n = sum(r.nv for r in self.parts)
        M = np.zeros((n, n))
        start = 0
        for r, x in zip(self.parts, self.split(q, "nq")):
            M[start : start + r.nv, start : start + r.nv] = r.mass_matrix(x, target="numpy")
            start += r.nv
        return M, self.rows(q, np.eye(n)).T

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        parts = zip(self.parts, self.split(q, "nq"), self.split(v, "nv"))
        return np.concatenate([r.bias_force(x, y, target="numpy") for r, x, y in parts])

    def solved(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(accelerations, forces of the hands on the object) from the dense equations with multipliers."""
        M, G = self.matrices(q)
        parts = zip(self.parts, self.split(q, "nq"), self.split(v, "nv"))
        rate = np.concatenate([r.configuration_rate(x, y, target="numpy") for r, x, y in parts])
        drift = self.rows(q + 1e-30j * rate, v + 0j).imag / 1e-30
        m = len(G)
        whole = np.block([[M, -G.T], [G, np.zeros((m, m))]])
        right = np.concatenate([tau - self.bias(q, v), -drift])
        found = np.linalg.lstsq(whole, right, rcond=1e-13)[0]
        return found[: len(M)], -found[len(M) :]


def _place(base: Any) -> tuple[np.ndarray, np.ndarray]:
    if base is None:
        return np.eye(3), np.zeros(3)
    at, rpy = base if len(base) == 2 else (base, (0.0, 0.0, 0.0))
    return rotation_from_rpy(rpy), np.asarray(at, dtype=float)


def union_of_two(kind: str, other: str = "rigid", arm: lw.Robot | None = None) -> Union:
    """The same as :func:`two_arms`, apart."""
    contacts = [contact(kind, 0), contact(other, 1)]
    arms = [arm or lw.chain(7, seed=3), lw.chain(7, seed=4)]
    held = lw.assemble("object", [lw.Body("object", lw.Free(), BOX)], frames_on("object", contacts))
    return Union(arms, held, list(enumerate(contacts)), [None, ((0.5, 0.2, 0.0), (0.1, 0.2, 0.3))])


def frames_on(body: str, contacts: list[lw.Contact]) -> list[lw.Frame]:
    """The contacts' frames on a body of an object."""
    given = [x.object_frame for x in contacts]
    return [lw.Frame(f.name, body, at=f.at, rpy=f.rpy) for f in given]


def near(found: Any, expected: Any, bound: float = 1e-9) -> None:
    """Equal to a bound, by the largest number expected."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound * (1 + np.abs(expected).max()))
