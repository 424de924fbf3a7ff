"""Damaged files either load or raise FileError; nothing else comes out, and nothing hangs."""

from __future__ import annotations

import re
import warnings
from functools import partial
from pathlib import Path
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.errors import FileError, ModelWarning
from linkwise.model.files import urdf, xml
from linkwise.model.model import Model

read_urdf = partial(urdf.read_urdf, cls=Model)

SEED = """<?xml version="1.0" encoding="utf-8"?>
<robot name="säge">
  <link name="world"/>
  <link name="base"><inertial><origin xyz="0 0 .1" rpy="0 0.1 0"/><mass value="5"/>
    <inertia ixx="0.3" ixy="0.01" ixz="0" iyy="0.4" iyz="-2e-3" izz="0.5"/></inertial></link>
  <link name="arm"><inertial><mass value="1.5"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="tip"/>
  <joint name="free" type="floating"><parent link="world"/><child link="base"/></joint>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 1" rpy="1 2 3"/><limit lower="-1" upper="1" effort="1" velocity="2"/>
    <dynamics damping="0.5"/></joint>
  <!-- a weld -->
  <joint name="weld" type="fixed"><parent link="arm"/><child link="tip"/><mimic joint="turn"/></joint>
</robot>
"""
ATTRIBUTE = re.compile(r' \w+="[^"]*"')
VALUES = re.findall(r'"([^"]*)"', SEED)
WORDS = [
    "",
    "0",
    "-1",
    "1e99",
    "-1e99",
    "1e-300",
    "1e400",
    "nan",
    "0 0 0",
    "1e99 1e99 1e99",
    "base",
    "planar",
    "prismatic",
]


def survives(path: Path, data: bytes) -> None:
    """Every other file is read with a floating base."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no stray overflow or division may show
        warnings.simplefilter("ignore", ModelWarning)
        try:
            model = read_urdf(path, crc32(data) % 2 == 0)
        except FileError as e:
            assert str(path) in str(e)
        else:
            assert isinstance(model, Model)


def test_cut_off_anywhere(tmp_path: Path) -> None:
    data = SEED.encode()
    for length in range(0, len(data), 7):
        survives(tmp_path / "r.urdf", data[:length])


def test_one_attribute_missing(tmp_path: Path) -> None:
    for m in ATTRIBUTE.finditer(SEED):
        survives(tmp_path / "r.urdf", (SEED[: m.start()] + SEED[m.end() :]).encode())


def test_one_element_missing_or_doubled(tmp_path: Path) -> None:
    for m in re.finditer(r"<\w+ [^<>]*/>|<(link|joint|inertial)\b.*?</\1>", SEED, re.S):
        survives(tmp_path / "r.urdf", (SEED[: m.start()] + SEED[m.end() :]).encode())
        survives(tmp_path / "r.urdf", (SEED[: m.end()] + m.group() + SEED[m.end() :]).encode())


def test_one_value_replaced(tmp_path: Path) -> None:
    for m in ATTRIBUTE.finditer(SEED):
        start = SEED.index('"', m.start()) + 1
        for word in WORDS:
            survives(tmp_path / "r.urdf", (SEED[:start] + word + SEED[m.end() - 1 :]).encode())


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(SEED.encode()) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_bytes_flipped(tmp_path_factory, flips: list[tuple[int, int]]) -> None:
    data = bytearray(SEED.encode())
    for place, value in flips:
        data[place] = value
    survives(tmp_path_factory.getbasetemp() / "flipped.urdf", bytes(data))


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from([*WORDS, *VALUES])), min_size=2, max_size=6))
def test_values_exchanged(tmp_path_factory, swaps: list[tuple[str, str]]) -> None:
    text = SEED
    for old, new in swaps:
        text = text.replace(f'"{old}"', f'"{new}"')
    survives(tmp_path_factory.getbasetemp() / "swapped.urdf", text.encode())


@settings(max_examples=200)
@given(st.text())
def test_any_text(text: str) -> None:
    for source in ("<" + text, f'<robot name="{text}"><link name="a"/></robot>'):
        try:
            assert xml.read(source).tag
        except FileError as error:
            assert str(error)
