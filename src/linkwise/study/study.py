"""``lw.Study``: a scenario, parameters that are drawn for each run, and how many runs; it runs, resumes and replays."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import flag, mapping, number, one_of, shown, whole, word
from ..codegen.runtime.engine import host
from ..errors import InputError, SimulationError, SimulationWarning, warn_at_users_line, warn_of_slow_path
from ..extras import require
from ..properties import cached_property
from ..robot.calls import refuse_other_than_robot
from ..robot.robot import Robot
from ..simulation import cards
from ..simulation.storage_checks import robot_parts
from ..simulation.trajectory import Trajectory
from ..symbols.fingerprints import differences, made_of
from . import journal, manifest
from .chunks import Summary, left_to_do
from .compiled import COMPARED
from .distributions import Distribution, Drawn, Fixed, Grid, as_distribution
from .draws import key
from .drivers import held
from .frames import refuse_unsendable
from .functions import Function
from .keeping import as_items, keep_name
from .names import refuse_name
from .parts import MOST_BYTES
from .places import Place, sweep
from .sampling import Sampling
from .scenario_base import Prepared
from .scenarios import as_scenario
from .ways import BATCHES, ON_CARD

if TYPE_CHECKING:
    from .results import OpenStudy

ENGINES = ("local", "ray", "dask", "serial")
_SECONDS = 2.0  # that a chunk of a batch takes, about
_STEP_SECONDS = 3e-8  # of one step of one body in a batch, about
_BYTES = 2**26  # of what a chunk of a batch has in memory
_SHARES = 16  # chunks that there are at least, for several workers
_ON_CARD = (1e-10, 2**28, 4)  # the same of chunks that a graphics card makes
_MOST_TOGETHER, _CHUNKS = 256, 64  # runs of a function in a chunk at most, and chunks that there are about


class Study:
    """A ``scenario`` run ``samples`` times, with ``parameters`` drawn for each run.

    ``scenario`` is a function of (robot, parameters), or one of :mod:`linkwise.scenarios`: the motion of a robot
    (``simulate``, ``closed_loop``), the ``poles`` of its linearised motion, what a motion tells of its inertias
    (``identify``). ``parameters`` maps names to :class:`Uniform`, :class:`Normal`, :class:`LogNormal`, :class:`Choice`
    or :class:`Grid`, to a function of a NumPy generator (and of the parameters before it), or to a value that stays the
    same. A function gets them all as a dict; what their names mean to scenarios of linkwise is in docs/studies.md. The
    parameters of run k depend on (``seed``, k) alone.

    ``keep`` lists what is kept of each run: names of what a function gives, of what is known of a motion, or functions
    of what the scenario gives; the default is all that a function gives. ``sampling`` is "random", "latin_hypercube",
    "sobol", "saltelli" or "morris"; the last two are designs for sensitivities. ``samples`` may be left out where
    parameters are grids: then every combination is run once. Runs that take longer than ``timeout`` [s] are stopped and
    kept as such. Results that are not finite count as failed, unless ``finite`` is False. ``chunk`` is how many runs
    are written together (default: chosen). A function that gives numbers alone is compiled where it runs on symbols,
    with what is drawn as inputs, and called in Python elsewhere; ``callback`` asks for that.
    """

    def __init__(
        self,
        robot: Robot,
        scenario: Any,
        parameters: Mapping[str, Any] | None = None,
        samples: int | None = None,
        seed: int = 0,
        keep: Any = None,
        *,
        sampling: str = "random",
        timeout: float | None = None,
        finite: bool = True,
        chunk: int | None = None,
        callback: bool = False,
    ) -> None:
        refuse_other_than_robot(robot, "Study")
        self.robot, self.scenario = robot, as_scenario(scenario)
        if flag(callback, "callback"):
            if not isinstance(self.scenario, Function):
                raise InputError(f"callback= is for functions, and {self.scenario.kind} is a scenario of linkwise")
            self.scenario = Function(self.scenario.function, callback=True)
        self.parameters = _parameters(parameters)
        self.sampling = Sampling(self.parameters, _samples(samples, self.parameters), seed, sampling)
        self.keep = as_items(keep)
        for item in self.keep or ():
            refuse_name(keep_name(item), "what is kept")
        self.timeout = None if timeout is None else number(timeout, "timeout [s]", above=0.0)
        self.finite = flag(finite, "finite")
        self._chunk = None if chunk is None else whole(chunk, "chunk", least=1)
        self.file: bytes | None = None  # the study file that says it, which its folder keeps
        self.folders: tuple[str, ...] = ()  # beside it in which a study file's robot and functions were found
        self.device: str | None = None  # the card that makes batches, None where this machine's processor does
        self.card: str | None = None  # what it is, where it is known
        _ = self.prepared  # refused at once where it does not fit

    @property
    def samples(self) -> int:
        """How many runs there are."""
        return self.sampling.samples

    @property
    def seed(self) -> int:
        return self.sampling.seed

    @cached_property
    def prepared(self) -> Prepared:
        """The scenario with the robot and the parameters."""
        found = self.scenario.prepared(self.robot, self._shapes, self.keep)
        found.__dict__["first_runs"] = lambda: (self._first_runs, self._varying)
        return found

    @property
    def _first_runs(self) -> list[dict[str, Any]]:
        """Parameters of the first runs; of one alone, where a user's function draws, which may fail at others."""
        first = self.sampling.sound
        count = 1 if self.sampling.functions else min(COMPARED, self.samples - first)
        return [self.sampling.run(first + i) for i in range(count)]

    @property
    def _varying(self) -> list[str]:
        """Parameters that are not the same in every run."""
        return [name for name, d in self.parameters.items() if not isinstance(d, Fixed)]

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        drawn = [n for n, d in self.parameters.items() if isinstance(d, Drawn)]
        asked = self.sampling.like if drawn and not isinstance(self.scenario, Function) else {}
        return {n: np.shape(asked[n]) if n in asked else d.shape for n, d in self.parameters.items()}

    def __getstate__(self) -> dict[str, Any]:
        """What other processes are sent: machine code is made, or found on disk, by each of them."""
        return {**{k: x for k, x in vars(self).items() if k != "prepared"}, "chunk": self.chunk, "file": None}

    def __repr__(self) -> str:
        names = ", ".join(self.parameters) or "no parameters"
        return f"<Study of {self.robot.name!r}: {self.samples} runs of {self.scenario.kind} over {names}>"

    # --- runs and chunks -------------------------------------------------------------------------------

    def draw(self, run: int) -> dict[str, Any]:
        """The parameters of one run."""
        return self.sampling.run(self._run(run))

    def generator(self, run: int) -> np.random.Generator:
        """Random numbers of a run's own, for scenarios that need some."""
        own = [0, 0, self.sampling.stream(run), 2]
        return np.random.Generator(np.random.Philox(key=key(self.seed, "\0scenario"), counter=own))

    def replay(self, run: int) -> Trajectory:
        """One run again, alone, in this process, as a :class:`Trajectory`; a run that failed fails as it did."""
        k = self._run(run)
        return self.prepared.trajectory(self.sampling.run(k), self.generator(k))

    def result(self, run: int) -> dict[str, Any]:
        """One run again, alone, in this process: what is kept of it."""
        k = self._run(run)
        return self.prepared.one(self.sampling.run(k), self.generator(k))

    def _run(self, run: Any) -> int:
        return whole(run, "run", least=0, most=self.samples - 1)

    @cached_property
    def chunk(self) -> int:
        """How many runs are made and written together."""
        if self._chunk is not None:
            return min(self._chunk, self.samples)
        if self.prepared.in_processes is not None:
            share = -(-self.samples // _CHUNKS)
            whole = share if share < 8 else -(-share // 8) * 8  # vectors, for motions that are made together
            return max(1, min(_MOST_TOGETHER, whole))
        numbers = self.prepared.numbers_per_run or 1
        steps = getattr(self.scenario, "steps", 1)
        a_step, most, shares = (_STEP_SECONDS, _BYTES, _SHARES) if self.device is None else _ON_CARD
        by_time = _SECONDS / (a_step * steps * max(1, len(self.robot.bodies)))
        chosen = min(by_time, most / (8 * numbers), -(-self.samples // shares))
        return int(min(self.samples, max(64, chosen // 64 * 64)))  # whole vectors of any machine

    @property
    def batches_are(self) -> str:
        """How runs are made that are made at once, in words."""
        return BATCHES if self.device is None else ON_CARD

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.samples // self.chunk)

    def chunk_runs(self, chunk: int) -> tuple[int, int]:
        """The first run of a chunk, and the one after its last."""
        return chunk * self.chunk, min((chunk + 1) * self.chunk, self.samples)

    # --- running ---------------------------------------------------------------------------------------

    def run(
        self,
        folder: Any,
        *,
        engine: str = "local",
        workers: int | None = None,
        address: str | None = None,
        progress: bool | None = None,
        device: str | None = None,
    ) -> Any:
        """Make all runs that ``folder`` (a path, or a URL that fsspec knows) does not hold yet; gives the open study.

        ``engine`` is "local" (``workers`` processes of this machine, default: one per core), "ray" or "dask" (a cluster
        at ``address``; without one, on this machine), or "serial" (in this process, for looking into a scenario).
        Whatever dies, is killed or fills the disk on the way, the same call goes on from there: no run that is finished
        is made again, and results do not depend on engine, workers, order or interruptions. ``progress`` shows it
        (default: on terminals). ``device`` "cuda" makes the steps of ``lw.scenarios.simulate`` and ``closed_loop`` on
        graphics cards ("cuda:1", … on others than the first), by CuPy or PyTorch; in roundings they are not those of
        the processor, so that a folder is gone on with where it was begun.
        """
        from . import engines
        from .progress import StudyProgress
        from .results import open_study

        one_of(engine, ENGINES, "engine")
        if address is not None and engine not in ("ray", "dask"):
            raise InputError(f"address is that of a cluster; engine={engine!r} has none")
        count = None if workers is None else whole(workers, "workers", least=1)
        if address is not None and count is not None:
            raise InputError("workers counts processes of this machine; the cluster at address has its own")
        if progress is not None:
            flag(progress, "progress")
        study = self.on(device)
        why = self.prepared.in_processes
        if why is not None and not isinstance(self.scenario, Function) and self.scenario.kind in _COMPILED:
            warn_of_slow_path(f"the runs of this study are made one at a time: {why}")
        require("pyarrow", "study", "a study's table")  # this and what follows: before a folder is made
        engines.require_packages(engine)
        if engine != "serial":
            refuse_unsendable(self.functions)
        elif self.timeout is not None:
            said = "engine='serial' makes runs in this process, where none is stopped: timeout= is left out of account"
            warn_at_users_line(said, SimulationWarning)
        self.draw(self.sampling.sound)
        if device is not None and engine in ("serial", "local"):  # of a cluster, machines with cards may be others
            study.card = cards.card_at(device, "float64").name
        place = Place.of(folder)
        with held(place) as mine:
            place = study.begin(mine)
            sweep(place)
            known: list[Summary] = []
            todo = left_to_do(study, place, lambda name: _put_aside(place, name), known.append)
            journal.forget(place, todo)
            shown_as = StudyProgress(study, place, todo, progress, known)
            manifest.log(place, {"event": "start", "engine": engine, "device": device, "chunks left": len(todo)})
            try:
                engines.run(engine, study, place, todo, shown_as, count, address)
                if shown_as.made != shown_as.left:
                    raise SimulationError(f"{shown_as.left - shown_as.made} runs were not made; the same call goes on")
            except BaseException as e:
                shown_as.close(f"stopped ({type(e).__name__}); the same call goes on from here")
                manifest.log(place, {"event": "stopped", "by": type(e).__name__, "ways": shown_as.ways})
                raise
            shown_as.close()
            sweep(place)
            manifest.log(place, {"event": "done", "ways": shown_as.ways})
        if todo:
            _warn_of_slow_ways(shown_as.ways)
        found = open_study(replace(place, driver=0))
        if shown_as.failed:
            _warn_of_failures(found)
        return found

    def on(self, device: Any) -> Study:
        """This study, its batches made on a card; itself where no device is named."""
        if device is None:
            return self
        kind = word(device, "device").partition(":")[0]
        if kind != "cuda":
            raise InputError(f'device is "cuda", "cuda:1" and so on, or None for the processor, got {shown(device)}')
        if self.scenario.kind not in _COMPILED or self.prepared.in_processes is not None:
            why = self.prepared.in_processes or "its runs are made one at a time"
            raise InputError(f"device= makes batches of lw.scenarios.simulate and closed_loop on a card; here {why}")
        found = object.__new__(type(self))
        found.__dict__ |= {k: x for k, x in vars(self).items() if k != "chunk"} | {"device": device}
        return found

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The user's functions, by what they are to the study."""
        found = {name: x for name, x in vars(self.scenario).items() if callable(x)}
        found |= {f"parameter {n}": d.function for n, d in self.parameters.items() if isinstance(d, Drawn)}
        return found | {f"keep {keep_name(x)}": x for x in self.keep or () if not isinstance(x, str)}

    def begin(self, place: Place) -> Place:
        """Write what the study is, or make sure that the folder holds this very one; gives the place of this study."""
        if not place.exists(manifest.NAME):
            if any(True for _ in place.names("runs")):
                raise InputError(f"{place} holds runs and no {manifest.NAME}; name another folder")
            if not place.create(manifest.NAME, json.dumps(self._manifest(), indent=1).encode()):
                self._refuse_other(place)  # another's came first
        else:
            self._refuse_other(place)
        self._keep_file(place)
        return replace(place, study=manifest.digest(place))

    def _refuse_other(self, place: Place) -> None:
        """Refuse a folder that holds another study."""
        found = manifest.read(place)
        if self._chunk is None:
            self.__dict__["chunk"] = min(found["chunk"], self.samples)  # as it was chosen then
        now = self._manifest()
        other = [k for k in _IDENTITY if found.get(k) != json.loads(json.dumps(now[k]))]
        named = [_named(k, found.get(k), now[k]) for k in other]
        if named:
            raise InputError(
                f"{place} holds another study: {'; '.join(named)}; name another folder, or give the study as it was"
            )
        if now["unknown"]:
            warnings.warn(
                f"going on in {place}: {', '.join(now['unknown'])} cannot be compared with what the first runs were"
                " made with",
                SimulationWarning,
                stacklevel=5,
            )

    def _keep_file(self, place: Place) -> None:
        """At once, as it may be killed before its end: for replays, and reports with moving pictures."""
        if self.file is not None and not place.exists(manifest.FILE):
            place.write(manifest.FILE, self.file)

    def _manifest(self) -> dict[str, Any]:
        parts, unknown = self._code()
        return {
            "format": manifest.FORMAT,
            "robot": {"name": self.robot.name, **robot_parts(self.robot)},
            "scenario": self.scenario.to_plain(),
            "code": parts,
            "unknown": unknown,
            "parameters": {name: d.to_plain() for name, d in self.parameters.items()},
            "samples": self.samples,
            "seed": self.seed,
            "sampling": self.sampling.how,
            "keep": None if self.keep is None else [keep_name(x) for x in self.keep],
            "timeout": self.timeout,
            "finite": self.finite,
            "chunk": self.chunk,
            "device": None if self.device is None else self.device.partition(":")[0],
            "made_by": {**_made_by(), "card": self.card},
            "how": " ".join(filter(None, [self.prepared.in_processes or self.batches_are, self.prepared.how])),
        }

    def _code(self) -> tuple[dict[str, str], list[str]]:
        """What the user's functions are made of."""
        parts: dict[str, str] = {}
        unknown: list[str] = []
        for name, function in self.functions.items():
            made = made_of(function)
            parts |= {f"{name}: {part}": x for part, x in made.parts.items()}
            unknown += [f"{name}: {x}" for x in made.unknown]
        return parts, unknown


_COMPILED = ("simulate", "closed_loop")
_IDENTITY = (
    "format", "robot", "scenario", "code", "parameters", "samples", "seed", "sampling", "keep", "finite", "chunk",
    "device",
)  # fmt: skip


def _named(what: str, before: Any, now: Any) -> str:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        plain = [{str(k): x if isinstance(x, str) else json.dumps(x) for k, x in y.items()} for y in (before, now)]
        return f"{what}: {', '.join(differences(*plain))}"
    return f"{what} ({shown(before)} then, {shown(now)} now)"


def _parameters(given: Any) -> dict[str, Distribution]:
    found = {}
    for name, x in ({} if given is None else mapping(given, "parameters")).items():
        refuse_name(name, "a parameter")
        found[name] = as_distribution(x, name)
        if not isinstance(found[name], Drawn) and 0 in found[name].shape:
            raise InputError(f"parameter {name!r} has no number in it, its shape is {found[name].shape}")
        vector = re.sub(r"\[\d+\]$", "", name)
        if vector != name and vector in (given or {}):
            raise InputError(f"parameters {vector!r} and {name!r} may be one column of tables; name one otherwise")
    return found


def _samples(samples: Any, parameters: Mapping[str, Distribution]) -> int:
    if samples is not None:
        return whole(samples, "samples", least=1)
    grids = [len(d) for d in parameters.values() if isinstance(d, Grid)]
    if not grids:
        raise InputError("how many runs? Give samples=; only grids say it themselves")
    return int(np.prod(grids, dtype=object))


def _warn_of_slow_ways(ways: Mapping[str, int]) -> None:
    """Say which motions of a function were made one by one, and why."""
    slow = {way.partition(": ")[2]: n for way, n in ways.items() if way.startswith("alone")}
    if slow:
        said = "; ".join(f"{n} as {why}" for why, n in slow.items())
        warn_of_slow_path(f"runs of this study were made one at a time, {said} (callback=True says that this is meant)")


def _warn_of_failures(found: OpenStudy) -> None:
    """Say once that runs failed, and how to look at them."""
    errors = found.errors()
    failed = sum(errors.values())
    if failed:
        commonest, count = next(iter(errors.items()))
        often = "all" if count == failed else f"{count} of them"
        warn_at_users_line(
            f"{failed} of {found.samples} runs failed, {often} by {commonest}; .failures() of the open study lists"
            f" them, study.replay({found.first_failed()}) makes the first one again",
            SimulationWarning,
        )


def _put_aside(place: Place, name: str) -> None:
    """Files that are not what was written are kept apart, for whoever wants to know, and their chunk is made again."""
    aside = f"damaged/{time.time_ns()}-{name.rpartition('/')[2]}"
    warnings.warn(f"{place}/{name} is damaged; it is kept as {aside}, and its runs are made again",
                  SimulationWarning, stacklevel=4)  # fmt: skip
    if place.is_local:
        target = place.own_path(aside)
        target.parent.mkdir(parents=True, exist_ok=True)
        place.path(name).rename(target)
    else:
        place.write(aside, place.read(name, MOST_BYTES))
        place.remove(name)


def _made_by() -> dict[str, Any]:
    """Versions and the state of the user's repository, for whoever reads the results later."""
    import llvmlite

    return {
        "linkwise": sys.modules["linkwise"].__version__,
        "numpy": np.__version__,
        "llvmlite": llvmlite.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": host().cpu,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "git": _git_state(),
    }


def _git_state() -> str | None:
    """The commit of the repository that the program was started in, with a + where files differ from it."""
    started = Path(sys.argv[0]).parent if sys.argv and sys.argv[0] else Path()
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"],
            cwd=started if started.is_dir() else None, capture_output=True, text=True, timeout=5, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
