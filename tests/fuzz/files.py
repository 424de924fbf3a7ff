"""Files of every format that linkwise reads, damaged: flipped, cut, spliced, forged."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import study_files

import linkwise as lw
from linkwise.simulation import storage, storage_checks

URDF = lw.load("ur5").to_urdf()
MJCF = """<mujoco model="mix"><compiler angle="radian"/><option gravity="0 0 -9"/><size memory="1M" nkey="1"/>
<default><joint damping=".1" armature="0.01"/><default class="c"><geom rgba="1 0 0 1"/></default></default>
<asset><texture name="t" type="2d" builtin="checker" width="16" height="16"/><material name="m" texture="t"/>
<mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="h" nrow="3" ncol="3" size="1 1 1 .1"/></asset>
<worldbody><geom type="plane" size="1 1 .1"/><geom type="hfield" hfield="h"/>
<body name="a" pos="0 0 1" quat="1 0 0 0"><freejoint name="f"/><inertial pos="0 0 .1" mass="1" diaginertia="1 1 1"/>
<geom type="box" size=".1 .1 .1" material="m"/><body name="b" pos="0 0 .5" euler="0 .1 0">
<joint name="j1" type="hinge" axis="0 1 0" range="-1 1" ref=".1"/><joint name="j2" type="slide" axis="1 0 0"/>
<geom type="capsule" size=".05" fromto="0 0 0 0 0 .5"/><site name="s" pos="0 0 .5"/>
<body name="c" pos="0 0 .5"><joint name="ball" type="ball"/>
<geom type="mesh" mesh="tet" class="c"/></body></body></body>
<replicate count="2" offset="1 0 0"><body pos="3 0 1"><joint type="slide"/><geom size=".1"/></body></replicate>
</worldbody><equality><joint joint1="j1" joint2="j2"/></equality>
<actuator><motor name="mo" joint="j1" gear="2"/></actuator><sensor><jointpos joint="j1"/></sensor></mujoco>"""
SDF = """<sdf version="1.11"><world name="w"><gravity>0 0 -9</gravity><model name="m"><pose>0 0 1 0 0 0.2</pose>
<frame name="f" attached_to="a"><pose degrees="true">0.1 0 0 0 10 0</pose></frame>
<link name="a"><inertial><pose>0 0 .1 0 0 0</pose><mass>2</mass>
<inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia>
</inertial><visual name="v"><geometry><box><size>.1 .2 .3</size></box></geometry></visual></link>
<link name="b"><pose relative_to="j1">0 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>
<link name="c"><pose>1 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>
<joint name="j1" type="revolute"><pose relative_to="f">.2 0 0 0 0 0</pose><parent>a</parent><child>b</child>
<axis><xyz expressed_in="__model__">0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit>
<dynamics><damping>.1</damping></dynamics></axis></joint>
<joint name="j2" type="universal"><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis>
<axis2><xyz>0 1 0</xyz></axis2></joint>
<joint name="pin" type="revolute"><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
<model name="n" placement_frame="p"><link name="d"/><frame name="p"><pose>0 0 .1 0 0 0</pose></frame></model>
<joint name="k" type="screw"><parent>c</parent><child>n::d</child><axis><xyz>0 0 1</xyz>
<mimic joint="j1"><multiplier>2</multiplier><offset>.1</offset></mimic></axis></joint></model></world></sdf>"""
SUITES = (Path(lw.__file__).parent / "bench" / "suites.toml").read_text(encoding="utf-8")

WORDS = (
    *("", "0", "-1", "1e9", "1e99", "-1e99", "1e300", "1e-300", "1e400", "nan", "inf", "2147483648", "4294967296"),
    *("0 0 0", "1e99 1e99 1e99", "a", "é", "true", "[]", "{}", "[[1]]", '"x"', "&#49;", "x" * 300, "../..", "world"),
)


# --- what is read, and how ---------------------------------------------------------------------------------


@functools.cache
def trajectory() -> lw.Trajectory:
    return lw.simulate(lw.load("double_pendulum"), np.ones((2, 2)), duration=0.02)


def _robot(path: Path) -> None:
    r = lw.load(path)
    if r.nv < 40:
        r.mass_matrix(r.neutral(), target="numpy")


def _motion(path: Path) -> None:
    t = lw.Trajectory.load(path)
    str(t), repr(t), t.energy, t.duration, t.names, t[-1].q, str(t.energy), t.batch
    lw.Trajectory.load(path, robot=trajectory().robot).pose("world")


def _checkpoint(path: Path) -> None:
    r = lw.load("double_pendulum")
    lw.simulate(r, np.ones((2, 2)), duration=0.05, checkpoint=path, target="numpy")


def _suites(path: Path) -> None:
    from linkwise.bench.suites import read_suites

    for suite in read_suites(path).values():
        sum(1 for _ in suite.cases())


READERS: dict[str, Callable[[Path], None]] = {
    "urdf": _robot, "xml": _robot, "sdf": _robot, "npz": _motion, "nc": _motion, "old.nc": _motion, "parquet": _motion,
    "zarr": _motion, "checkpoint": _checkpoint, "toml": _suites, "study": study_files.read,
    "study.toml": study_files.read_toml,
}  # fmt: skip
TEXTS = {"urdf": URDF, "xml": MJCF, "sdf": SDF, "toml": SUITES, "study.toml": study_files.TOML}


def whole(ending: str, folder: Path) -> Path:
    """A sound file, made once."""
    path = folder / f"whole.{ending}"
    if path.exists():
        return path
    if ending in TEXTS:
        path.write_text(TEXTS[ending], encoding="utf-8")
    elif ending == "checkpoint":
        kept = lw.Checkpoint(path, seconds=0)
        lw.simulate(lw.load("double_pendulum"), np.ones((2, 2)), duration=0.02, target="numpy", checkpoint=kept)
    elif ending == "study":
        study_files.whole(path)
    else:
        write(storage.contents(trajectory()), path)
    return path


def write(found: storage.Contents, path: Path) -> None:
    engine = storage._netcdf_engine
    if path.name.endswith("old.nc"):
        storage._netcdf_engine = lambda: "scipy"
    try:
        storage.FORMATS[path.suffix].write(found, path)
    finally:
        storage._netcdf_engine = engine


# --- damage ------------------------------------------------------------------------------------------------


def damaged(ending: str, folder: Path, rng: Random) -> Path:
    """A file of this format in which something is wrong."""
    path = folder / f"damaged.{ending}"
    if path.is_dir():
        shutil.rmtree(path)
    if ending not in (*TEXTS, "checkpoint", "study") and rng.random() < 0.4:
        with contextlib.suppress(Exception):  # the libraries that write refuse much of it themselves
            write(forged(rng), path)
            return path
        if path.is_dir():
            shutil.rmtree(path)
    source = whole(ending, folder)
    if source.is_dir():
        shutil.copytree(source, path)
        if ending == "study":
            study_files.damaged(path, rng, spoilt, json_value)
            return path
        part = rng.choice(sorted(p for p in path.rglob("*") if p.is_file()))
        part.write_bytes(spoilt(part.read_bytes(), rng))
    elif ending in TEXTS and rng.random() < 0.8:
        path.write_text(rewritten(TEXTS[ending], rng), encoding="utf-8")
    else:
        path.write_bytes(spoilt(source.read_bytes(), rng))
    return path


def spoilt(data: bytes, rng: Random) -> bytes:
    """Bytes with some flipped, lost, doubled or put in."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(6)
        if kind < 2 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del out[at : at + rng.choice((1, 4, 8, 100, 10**6))]
        elif kind == 3:
            out[at:at] = out[at : at + rng.choice((1, 8, 64))]
        elif kind == 4:
            out[at : at + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, rng.randbytes(8)))
        else:
            out[at:at] = rng.randbytes(rng.choice((1, 8, 64)))
    return bytes(out)


def rewritten(text: str, rng: Random) -> str:
    """Text with values exchanged, elements lost or doubled."""
    for _ in range(rng.randint(1, 3)):
        values = [m for found in (r'"([^"]*)"', r"= (.*)", r">([^<>\s][^<>]*)</") for m in re.finditer(found, text)]
        parts = list(re.finditer(r"<\w+ [^<>]*/>|<(\w+)[^<>]*>[^<>]*</\1>|^.*$", text, re.MULTILINE))
        kind = rng.randrange(5)
        if kind < 3 and values:
            m = rng.choice(values)
            text = text[: m.start(1)] + rng.choice((*WORDS, rng.choice(values)[1])) + text[m.end(1) :]
        elif kind == 3:
            m = rng.choice(parts)
            text = text[: m.start()] + text[m.end() :]
        else:
            m = rng.choice(parts)
            text = text[: m.end()] + m[0] + text[m.end() :]
    return text


def forged(rng: Random) -> storage.Contents:
    """What a trajectory says, changed, with a checksum that fits: written whole by another program."""
    found = storage.contents(trajectory())
    arrays, about = dict(found.arrays), json.loads(json.dumps(found.about))
    del about["checksum"]
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.6:
            about[rng.choice(sorted(about))] = json_value(rng)
        else:
            name = rng.choice(sorted(arrays))
            x = arrays[name]
            arrays[name] = rng.choice((x[:-1], x[..., :-1], x.astype(int), x[None], x.T, np.full_like(x, np.nan)))
    if rng.random() < 0.1:
        del about[rng.choice(sorted(about))]
    return storage.Contents(arrays, about | {"checksum": storage_checks.checksum(arrays, about)})


def json_value(rng: Random) -> Any:
    simple = (
        None,
        True,
        -1,
        0,
        10**30,
        0.5,
        1e300,
        "",
        "x" * 100,
        [],
        {},
        [[]],
        [1, 2],
        ["a"],
        {"a": [1]},
        [[1, 2, 3]],
    )
    return rng.choice(simple)
