"""A motion as one HTML file that plays it in any browser, offline: the viewer's client with the scene inside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..extras import require
from .motion import Motion
from .nodes import Nodes
from .scene import Scene
from .server import named, quiet_server, stop_quietly


def page(scene: Scene, motion: Motion, show: Sequence[str], rate: float) -> str:
    """The text of the file; ``rate`` pictures a second are recorded."""
    require("viser", "view", "a page that plays a motion")
    server = quiet_server("127.0.0.1", 0)
    try:
        motion = motion.at(motion.every(rate))
        nodes = Nodes(server, scene, motion, show)
        nodes.place(motion.q[0], 0)
        recording = server.get_scene_serializer()
        for step, pause in enumerate(np.diff(motion.time), start=1):
            recording.insert_sleep(float(pause))
            nodes.place(motion.q[step], step)
        return named(recording.as_html(), f"{scene.robot.name} – linkwise")
    finally:
        stop_quietly(server)
