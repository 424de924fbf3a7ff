"""SDF files for tests: one robot with all that poses, axes and models can say, and what Drake makes of it."""

from __future__ import annotations

import numpy as np


def inertial(mass: float, com: str, moments: tuple[float, float, float], rpy: str = "0 0 0") -> str:
    ixx, iyy, izz = moments
    return (
        f"<inertial><pose>{com} {rpy}</pose><mass>{mass}</mass><inertia><ixx>{ixx}</ixx><iyy>{iyy}</iyy>"
        f"<izz>{izz}</izz><ixy>0.0002</ixy></inertia></inertial>"
    )


def model(inside: str, version: str = "1.9", name: str = "m") -> str:
    return f'<sdf version="{version}"><model name="{name}">{inside}</model></sdf>'


def link(name: str, pose: str = "", more: str = "") -> str:
    return f'<link name="{name}">{pose}{inertial(1.0, "0.1 0.02 0.03", (0.02, 0.03, 0.04))}{more}</link>'


def joint(
    name: str, parent: str, child: str, kind: str = "revolute", axis: str = "0 0 1", pose: str = "", more: str = ""
) -> str:
    given = "" if kind in ("ball", "fixed") else f"<axis><xyz>{axis}</xyz>{more}</axis>"
    return f'<joint name="{name}" type="{kind}">{pose}<parent>{parent}</parent><child>{child}</child>{given}</joint>'


# Poses relative to the model, to joints, to frames and to links; axes expressed elsewhere; a model in a model, placed
# by one of its frames; joints away from their links; every kind of joint that has coordinates in common with Drake.
MIXED = f"""<?xml version="1.0"?>
<sdf version="1.9">
  <model name="mixed">
    <pose>0.1 -0.2 0.3 0 0 0.4</pose>
    <link name="base">{inertial(3.0, "0.01 0.02 0.03", (0.1, 0.12, 0.14))}</link>
    <joint name="bolt" type="fixed"><parent>world</parent><child>base</child></joint>
    <frame name="shoulder" attached_to="base"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose></frame>
    <link name="upper">
      <pose relative_to="shoulder">0 0.05 0 0 0 0.1</pose>
      {inertial(2.0, "0.2 0 0", (0.01, 0.05, 0.05), "0.3 0.2 0.1")}
    </link>
    <joint name="swing" type="revolute">
      <pose>-0.03 0.02 0.01 0.2 0 0</pose><parent>shoulder</parent><child>upper</child>
      <axis><xyz expressed_in="__model__">0 0.6 0.8</xyz>
        <limit><lower>-1.5</lower><upper>2.5</upper><effort>30</effort><velocity>3</velocity></limit>
        <dynamics><damping>0.2</damping><friction>0.1</friction></dynamics></axis>
    </joint>
    <link name="slider"><pose relative_to="slide"/>{inertial(1.0, "0 0 0.1", (0.02, 0.02, 0.01))}</link>
    <joint name="slide" type="prismatic">
      <pose relative_to="upper">0.4 0 0 0 1.2 0</pose><parent>upper</parent><child>slider</child>
      <axis><xyz>0 0 1</xyz><limit><lower>-0.2</lower><upper>0.3</upper></limit></axis>
    </joint>
    <model name="wrist" placement_frame="flange">
      <pose relative_to="slider">0 0 0.25 0 0 0.7</pose>
      <frame name="flange"><pose>0 0 -0.05 0.1 0 0</pose></frame>
      <link name="cross"><pose degrees="true">0 0 0 30 0 0</pose>{inertial(0.6, "0 0.01 0", (4e-3, 5e-3, 6e-3))}</link>
      <link name="hand"><pose rotation_format="quat_xyzw">0 0 0.1  0 0 0.6 0.8</pose>
        {inertial(0.8, "0 0 0.06", (8e-3, 8e-3, 4e-3))}</link>
      <joint name="cardan" type="universal">
        <parent>cross</parent><child>hand</child><pose relative_to="cross">0 0 0.02 0 0 0</pose>
        <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>
      </joint>
      <frame name="palm" attached_to="hand"><pose>0 0 0.12 0 0 0</pose></frame>
    </model>
    <joint name="spin" type="continuous">
      <parent>slider</parent><child>wrist::cross</child><axis><xyz expressed_in="slider">0 0 1</xyz></axis>
    </joint>
    <link name="nut"><pose>-0.2 0.1 0 0 0 0</pose>{inertial(0.5, "0 0 0", (1e-3, 1e-3, 1.5e-3))}</link>
    <joint name="thread" type="screw">
      <parent>base</parent><child>nut</child><axis><xyz>0 0 1</xyz></axis><screw_thread_pitch>0.02</screw_thread_pitch>
    </joint>
  </model>
</sdf>
"""
# What Drake 1.51 says of it, by joint in this order.
STATE = {  # q and v
    "swing": ([0.3], [0.5]),
    "slide": ([0.1], [-0.2]),
    "spin": ([-0.7], [1.1]),
    "wrist::cardan": ([0.4, -0.5], [0.3, -0.8]),
    "thread": ([2.0], [3.0]),
}
DRAKE_MASS = np.array(
    [
        [1.6844084142993, -0.24153707978805, -0.0085836588634364, -0.06061548509029, 0.048442723915541, 0.0],
        [-0.24153707978805, 2.4, 0.0, -0.017570932281839, 0.030903550404793, 0.0],
        [-0.0085836588634364, 0.0, 0.014037620986207, 0.0072661091427305, 0.0084948041401634, 0.0],
        [-0.06061548509029, -0.017570932281839, 0.0072661091427305, 0.020943953616858, 0.0043624713694636, 0.0],
        [0.048442723915541, 0.030903550404793, 0.0084948041401634, 0.0043624713694636, 0.018326589932624, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0015050660591821],
    ]
)
DRAKE_BIAS = [-7.9491144414122, -6.4770751582192, -0.358088631991, -0.4108094409217, -0.9234853438487, 0.0156130999173]
DRAKE_PALM = [0.4053847428733, 0.917497703181, 0.2935719029852]
DRAKE_PALM_AXES = [
    [-0.7097360226094, -0.110907091483, 0.6956826828874],
    [0.6909481885604, 0.0829482003363, 0.7181296517942],
    [-0.1373512975388, 0.9903631723362, 0.0177597281694],
]
DRAKE_NUT = [-0.1231540330314, -0.1857775690614, 0.3063661977237]
