"""The live viewer: a robot or its motion in the browser, with what one needs to look at it closely."""

from __future__ import annotations

import threading
import time
import webbrowser
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import inputs
from ..errors import InputError
from .charts import Chart
from .motion import Motion
from .nodes import Nodes
from .notebook import live
from .pictures import ARROWS, LAYERS, checked_layers
from .scene import Scene
from .server import quiet_server, stop_quietly
from .sliders import Slider, from_slider_values, slider_values, sliders

RATE = 40.0  # pictures a second, at most
CHART_RATE = 8.0  # of the marks in charts, and of sliders that follow the motion
MOST_STEPS = 10_000  # of a motion that is played: of more than that nobody sees all
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")


class Viewer:
    """A running viewer; :func:`linkwise.view.open` makes one. It stops with ``stop``, with its program, or ``with``."""

    def __init__(
        self,
        scene: Scene,
        motion: Motion,
        *,
        show: Sequence[str] = ("visuals",),
        host: str = "127.0.0.1",
        port: int = 8080,
    ) -> None:
        if len(motion) > MOST_STEPS:
            motion = motion.at(np.unique(np.linspace(0, len(motion) - 1, MOST_STEPS).astype(int)))
        self.scene, self.motion, self.robot = scene, motion, scene.robot
        checked_layers(show)
        self.server = quiet_server(host, port, f"{self.robot.name} – linkwise")
        self._lock = threading.RLock()
        self._playing, self._stopped = threading.Event(), threading.Event()
        self._time, self._speed, self._loops = 0.0, 1.0, True
        self._q: np.ndarray = motion.q[0]
        self._followed = 0.0
        self._frames_shown = 0
        try:
            self._nodes = Nodes(self.server, scene, motion, show)
            self._build_panel()
            self.seek(0.0)
        except BaseException:
            stop_quietly(self.server)
            raise
        self._thread = threading.Thread(target=self._run, name="linkwise viewer", daemon=True)
        if len(motion) > 1:
            self._thread.start()

    # --- what programs may do --------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the browser finds it."""
        host = self.server.get_host()
        return f"http://{'localhost' if host in ('0.0.0.0', '127.0.0.1', '::') else host}:{self.server.get_port()}"

    @property
    def time(self) -> float:
        """The time shown [s], from the motion's start."""
        return self._time

    @property
    def q(self) -> np.ndarray:
        """The configuration shown, (nq,)."""
        return self._q.copy()

    @property
    def is_playing(self) -> bool:
        return self._playing.is_set()

    @property
    def frames_shown(self) -> int:
        """How many pictures have been sent since it started."""
        return self._frames_shown

    def play(self, speed: float | None = None) -> None:
        """Let the motion run, from its start where it was at its end; ``speed`` 1 is real time."""
        if speed is not None:
            self.speed = speed
        if len(self.motion) > 1:
            if self._time >= self.motion.duration:
                self.seek(0.0)
            self._playing.set()
            self._say_playing(True)

    def pause(self) -> None:
        """Hold the motion where it is."""
        self._playing.clear()
        self._say_playing(False)
        self._follow(force=True)

    def seek(self, at: float) -> None:
        """Show the motion at a time [s] from its start; times beyond its ends show the ends."""
        with self._lock:
            self._time = float(np.clip(at, 0.0, self.motion.duration))
            step = self.motion.index(self._time)
            self._show(self.motion.q[step], step)
            if self._time_slider is not None:
                self._time_slider.value = round(self._time, 4)
        self._follow(force=not self.is_playing)

    def pose(self, q: Any) -> None:
        """Show the robot at a configuration (nq,) of its own; a motion is held."""
        given = np.asarray(inputs.configuration(self.robot, q), float)
        if given.shape != (self.robot.nq,):
            raise InputError(f"a pose is one configuration ({self.robot.nq},), got shape {given.shape}")
        self.pause()
        self._show(given, None)
        self._set_sliders(given)

    def show(self, layer: str, shown: bool = True) -> None:
        """Show or hide a layer, one of :data:`linkwise.view.pictures.LAYERS`."""
        if layer not in self._nodes.available:
            why = "is not known along this motion" if layer in LAYERS else "does not exist"
            raise InputError(f"the layer {layer!r} {why}; there are {', '.join(self._nodes.available)}")
        self._boxes[layer].value = shown  # its callback does it

    @property
    def speed(self) -> float:
        """How fast it plays; 1 is real time."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        if not np.isfinite(value) or value <= 0:
            raise InputError(f"speed must be positive, got {value}")
        self._speed = float(value)

    def __repr__(self) -> str:
        moving = f", {self.motion.duration:.3g} s" if len(self.motion) > 1 else ""
        return f"<Viewer of {self.robot.name}{moving}: {'stopped' if self._stopped.is_set() else self.url}>"

    def _repr_html_(self) -> str:
        """The viewer in a cell of a notebook; its browser must be on this machine, as that of ``embed`` need not be."""
        return live(self.url)

    def open_browser(self) -> None:
        webbrowser.open(self.url)

    def wait(self) -> None:
        """Go on until ``stop`` or Ctrl-C."""
        try:
            while not self._stopped.wait(0.2):
                pass
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """Close the viewer; calling it again does nothing."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._playing.set()  # wakes the thread, which then ends
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)
        stop_quietly(self.server)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- showing ---------------------------------------------------------------------------------------

    def _show(self, q: np.ndarray, step: int | None) -> None:
        with self._lock:
            self._q = q
            self._nodes.place(q, step)
            self._frames_shown += 1

    def _run(self) -> None:
        """Play: each turn shows the motion where real time has brought it, however long a picture took."""
        before = time.perf_counter()
        while not self._stopped.is_set():
            if not self._playing.is_set():
                self._playing.wait()
                before = time.perf_counter()
                continue
            now = time.perf_counter()
            at, before = self._time + self._speed * (now - before), now
            if at >= self.motion.duration:
                if not self._loops:
                    self.seek(self.motion.duration)
                    self.pause()
                    continue
                at %= self.motion.duration
            self.seek(at)
            time.sleep(max(0.0, 1.0 / RATE - (time.perf_counter() - now)))

    def _follow(self, force: bool = False) -> None:
        """Bring charts and joint sliders up to date, not more often than anyone can read."""
        now = time.perf_counter()
        if not force and now - self._followed < 1.0 / CHART_RATE:
            return
        self._followed = now
        self._set_sliders(self._q)
        if self._chart is not None:
            self._chart.mark(self.motion.index(self._time))

    def _set_sliders(self, q: np.ndarray) -> None:
        for slider, x in zip(self._sliders, slider_values(self.robot, q)):
            slider.value = float(np.clip(x, slider.min, slider.max))

    # --- the panel -------------------------------------------------------------------------------------

    def _build_panel(self) -> None:
        gui = self.server.gui
        gui.set_panel_label(self.robot.name)
        gui.main_panel.dock_right()
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(46, 111, 149))
        self._time_slider: Any = None
        self._chart: Chart | None = None
        moves = len(self.motion) > 1
        if moves:
            self._add_player()
        with gui.add_folder("Show", expand_by_default=not moves):
            self._boxes = {name: self._add_box(name) for name in self._nodes.available}
            gui.add_html(_key(self._nodes.available))
        with gui.add_folder("Joints", expand_by_default=not moves):
            self._sliders = [self._add_slider(i, k) for i, k in enumerate(sliders(self.robot, self.scene.size))]
            gui.add_button("Neutral pose").on_click(lambda _: self.pose(self.robot.neutral()))
        if moves:
            self._chart = Chart(self.server, self.motion)
        if self.scene.missing:
            gui.add_markdown(f"{len(self.scene.missing)} mesh files are missing, the first: {self.scene.missing[0]}")

    def _add_player(self) -> None:
        gui = self.server.gui
        with gui.add_folder("Motion"):
            self._button = gui.add_button("Play")
            self._button.on_click(lambda _: self.pause() if self.is_playing else self.play())
            duration = self.motion.duration
            self._time_slider = gui.add_slider("Time [s]", 0.0, duration, max(duration / 2000, 1e-4), 0.0)
            self._time_slider.on_update(self._scrubbed)
            speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            speed.on_update(lambda _: setattr(self, "speed", float(speed.value)))
            loops = gui.add_checkbox("Again and again", True)
            loops.on_update(lambda _: setattr(self, "_loops", loops.value))

    def _say_playing(self, playing: bool) -> None:
        if self._time_slider is not None:
            self._button.label = "Pause" if playing else "Play"

    def _scrubbed(self, event: Any) -> None:
        if event.client is not None:  # a person moved it, not the motion
            self.pause()
            self.seek(event.target.value)

    def _add_box(self, layer: str) -> Any:
        box = self.server.gui.add_checkbox(
            LAYER_NAMES[layer], initial_value=self._nodes.is_shown(layer), hint=LAYERS[layer]
        )

        def changed(_: Any) -> None:
            with self._lock:
                self._nodes.set_shown(layer, box.value)
                moved = not np.array_equal(self._q, self.motion.q[self.motion.index(self._time)])
                self._nodes.place(self._q, None if moved else self.motion.index(self._time))

        box.on_update(changed)
        return box

    def _add_slider(self, i: int, wanted: Slider) -> Any:
        start = float(np.clip(0.0, wanted.low, wanted.high))
        step = (wanted.high - wanted.low) / 1000.0
        slider = self.server.gui.add_slider(wanted.name, wanted.low, wanted.high, step, start)

        def moved(event: Any) -> None:
            if event.client is not None:
                self._playing.clear()
                self._say_playing(False)
                x = slider_values(self.robot, self._q)  # the others stay, even where beyond their limits
                x[i] = event.target.value
                self._show(from_slider_values(self.robot, x), None)

        slider.on_update(moved)
        return slider


def _key(layers: Sequence[str]) -> str:
    """The colours of arrows, as HTML."""
    colours = {name: ARROWS[name] for name in layers if name in ARROWS}
    square = '<span style="color:rgb({},{},{})">■</span>\u00a0{}'
    words = [square.format(*(round(255 * x) for x in c[:3]), LAYER_NAMES[name]) for name, c in colours.items()]
    return f'<p style="margin:0.4em 1em;font-size:0.8em">{" &nbsp; ".join(words)}</p>'


LAYER_NAMES = {
    "visuals": "Robot",
    "inertias": "Inertia boxes",
    "frames": "Frames",
    "center_of_mass": "Centre of mass",
    "axes": "Joint axes",
    "joint_forces": "Joint forces τ",
    "external": "External forces",
    "reactions": "Forces through joints",
    "loop_forces": "Forces of loops",
    "motion_forces": "Hands, what moves",
    "squeeze": "Hands, what squeezes",
    "trace": "Paths of tips",
}
