"""A URDF file of two hinges, for tests of commands."""

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="3" effort="10"/><dynamics damping="0.1"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="1 0 0"/>
  <origin xyz="0 0 -0.4"/></joint>
</robot>"""
