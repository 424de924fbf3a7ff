"""MJCF files for the tests: every joint type, several joints in a body, and what is not modelled."""

# Every joint type; two free trees; joints away from their bodies' origins; three joints in one body; a body
# without joints on a moving one and on the world; oblique axes; ranges, references, armature; degrees.
ALL_JOINTS = """
<mujoco model="all joints">
  <compiler angle="degree"/>
  <option gravity="0.3 -0.2 -9.7"/>
  <default><geom contype="0" conaffinity="0" density="700"/></default>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <site name="corner" pos="1 2 3" euler="0 0 90"/>
    <body name="pedestal" pos="0 0 0.4" euler="0 10 20"><geom type="box" size=".2 .2 .2"/>
      <body name="swing" pos=".1 0 .3" euler="20 30 40">
        <joint name="hinge" type="hinge" axis="1 2 .5" pos=".05 -.1 .02" range="-40 60" ref="15" armature=".03"
               damping=".4" frictionloss=".2" stiffness="3" springref="25"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .3 .1 .2"/>
        <site name="hook" pos=".3 .1 .2" quat="1 2 0 0"/>
        <body name="cap" pos=".3 .1 .2"><geom type="sphere" size=".07"/></body>
        <body name="compound" pos=".2 .3 .1" euler="0 45 0">
          <joint name="lift" type="slide" axis="0 1 1" pos=".4 .4 .4" armature=".5" range="-.2 .3" stiffness="7"
                 springref=".1"/>
          <joint name="yaw" type="hinge" axis="0 0 1" pos=".1 0 0"/>
          <joint name="pitch" type="hinge" axis="0 1 0" pos="0 .2 .05"/>
          <geom type="ellipsoid" size=".1 .2 .15" pos=".05 0 .1"/>
          <body name="ball" pos="0 .2 0" quat=".8 .1 -.3 .2">
            <joint name="socket" type="ball" pos="0 0 .1" armature=".02" damping=".1" stiffness="1.5"/>
            <geom type="cylinder" size=".05 .2" pos=".1 .2 0" euler="30 0 0"/>
          </body>
        </body>
      </body>
    </body>
    <body name="drone" pos="0 0 2" euler="0 0 45">
      <freejoint name="flight"/>
      <inertial pos=".01 .02 -.03" mass="2" fullinertia=".05 .06 .08 .004 -.003 .002"/>
      <body name="arm" pos="0 0 -.1">
        <joint name="shoulder" axis="1 0 0"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 .1 -.3"/>
        <body name="slider" pos="0 .1 -.3"><joint type="slide" axis="1 1 0"/><geom size=".05"/></body>
      </body>
    </body>
    <body name="dice" pos="1 0 1"><joint type="free" stiffness="2" damping=".3"/>
      <geom type="box" size=".1 .1 .1"/></body>
  </worldbody>
</mujoco>"""

# Defaults, nested classes, frames, a composite of hinges at one point, radians, no gravity.
HUMAN_ARM = """
<mujoco model="human arm">
  <compiler angle="radian" autolimits="true"/>
  <option><flag gravity="disable" contact="disable"/></option>
  <default>
    <joint armature=".01" damping=".3"/>
    <default class="upper"><joint range="-2 2"/><geom rgba="1 0 0 1"/></default>
  </default>
  <worldbody>
    <frame pos="0 .2 1.4" euler="0 .3 0">
      <body name="upper_arm" childclass="upper">
        <joint name="flexion" axis="0 1 0"/>
        <joint name="abduction" axis="1 0 0" range="-1 2.5"/>
        <joint name="rotation" axis="0 0 1"/>
        <geom type="capsule" size=".045" fromto="0 0 0 0 0 -.3"/>
        <body name="forearm" pos="0 0 -.3">
          <joint name="elbow" axis="0 -1 0" range="0 2.6"/>
          <geom type="capsule" size=".035" fromto="0 0 0 0 0 -.25"/>
          <body name="hand" pos="0 0 -.25">
            <joint name="wrist" type="ball" class="main"/>
            <geom type="box" size=".04 .02 .09" pos="0 0 -.09"/>
            <site name="fingertip" pos="0 0 -.18"/>
          </body>
        </body>
      </body>
    </frame>
  </worldbody>
</mujoco>"""

# A cart with everything that is not modelled.
LOADED = """
<mujoco model="loaded">
  <option density="1.2" viscosity="1e-5" timestep=".001" integrator="RK4"/>
  <asset><texture name="sky" type="skybox" builtin="gradient" width="8" height="8"/><material name="red"/></asset>
  <worldbody>
    <light pos="0 0 3"/><camera name="eye"/>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="target" mocap="true" pos="0 0 2"><geom size=".01" contype="0" conaffinity="0"/></body>
    <body name="cart" pos="0 0 .3">
      <joint name="rail" type="slide" axis="1 0 0" stiffness="5" actuatorfrcrange="-3 8"/>
      <geom type="box" size=".1 .1 .1"/>
      <body name="rail" gravcomp=".5">
        <joint name="pole" axis="0 1 0" damping="1 .5"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 .5"/>
        <site name="cart" pos="0 0 .5"/>
        <body pos="0 0 .5"><joint type="ball" range="0 30"/><geom size=".05"/></body>
        <body name="twin" pos="0 .1 .5"><joint name="copy" axis="0 1 0"/><geom size=".05"/></body>
      </body>
    </body>
  </worldbody>
  <equality><joint name="gear" joint1="pole" joint2="copy"/></equality>
  <tendon><fixed name="string"><joint joint="pole" coef="1"/></fixed></tendon>
  <actuator><motor name="drive" joint="rail" gear="3" armature=".2" damping=".1"/></actuator>
  <sensor><jointpos joint="rail"/></sensor>
  <keyframe><key name="home"/></keyframe>
</mujoco>"""

FILES = {"all_joints": ALL_JOINTS, "human_arm": HUMAN_ARM, "loaded": LOADED}
