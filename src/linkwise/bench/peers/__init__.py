"""The libraries in the benchmarks, one module each. Those that are not installed are left out and named as such."""

from ..peer import Peer
from . import adam, drake, frax, jaxsim, linkwise, mujoco, pinocchio, pinocchio_native

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        linkwise.KERNEL,
        linkwise.QUICK,
        linkwise.DEFAULT,
        linkwise.JAX,
        pinocchio_native.VECTORS,
        pinocchio_native.CASADI,
        pinocchio_native.LOOP,
        pinocchio_native.LEFT_THERE,
        pinocchio.BATCH,
        pinocchio.LOOP,
        mujoco.LOOP,
        drake.LOOP,
        frax.VMAP,
        jaxsim.VMAP,
        adam.CASADI,
    )
}
