"""What needs an extra says so, and names the command that brings it; in processes where the packages are hidden."""

import re
import tomllib

import pytest
from command_line import Nursery

from snippets import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

START = """
import linkwise as lw
robot = lw.load("double_pendulum")
"""
MOVE = "motion = lw.simulate(robot, [1.0, 0.5], duration=0.01)\n"

STUDY = "lw.Study(robot, lambda robot, p: p['x'], {'x': lw.Uniform(0, 1)}, 2)"

# What is asked for, without which package, and which extra brings it.
NEEDS = [
    ("lw.plots.joints(motion)", "matplotlib", "plot"),
    ("lw.view.save('x.png', motion)", "PIL", "plot"),
    ("lw.view.save('x.gif', motion)", "PIL", "plot"),
    ("lw.view.save('x.html', motion)", "viser", "view"),
    ("lw.view.open(motion, browser=False)", "viser", "view"),
    ("lw.view.meshes.load(__import__('pathlib').Path('x.stl'))", "trimesh", "view"),
    ("robot.compile('mass_matrix', target='jax')", "jax", "jax"),
    ("lw.load('<mujoco/>')", "mujoco", "mjcf"),
    ("lw.simulate(robot, [1.0, 0.5], method='dop853')", "scipy", "adaptive"),
    ("from linkwise import control; control.LQR.about(robot, [0, 0])", "scipy", "control"),
    ("motion.to_xarray()", "xarray", "data"),
    ("motion.save('x.nc')", "xarray", "data"),
    ("motion.save('x.nc')", "h5netcdf scipy", "data"),
    ("motion.save('x.nc')", "h5py scipy", "data"),
    ("motion.save('x.zarr')", "zarr", "data"),
    ("motion.save('x.parquet')", "pyarrow", "data"),
    (f"{STUDY}.run('s', engine='serial')", "pyarrow", "study"),
    (f"{STUDY}.run('memory://x', engine='serial')", "fsspec", "study"),
    (f"{STUDY}.run('s')", "cloudpickle", "study"),
    (f"{STUDY}.run('s', engine='dask')", "distributed", "cluster"),
    (f"{STUDY.replace('Uniform', 'Normal')}.run('s', engine='serial')", "scipy", "study"),
    ("lw.Flexible.from_universal_file(lw.__file__, [], nodes={})", "pyuff", "fem"),
]


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Runs code in processes of its own."""
    nursery = Nursery(tmp_path_factory.mktemp("apart"), LINKWISE_TARGET="numpy")
    yield nursery
    nursery.close()


@pytest.mark.parametrize(("code", "hidden", "extra"), NEEDS)
def test_a_missing_package_says_what_brings_it(apart, code, hidden, extra, tmp_path):
    script = f"{START}{MOVE}import linkwise.view.meshes\n{code}"
    done = apart(code=script, blocked=hidden.split(), cwd=tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert re.fullmatch(r"linkwise\.errors\.MissingExtraError: .*", last), done.stderr
    assert f'pip install "linkwise[{extra}]"' in last
    assert not list(tmp_path.iterdir())


def test_a_package_that_is_there_and_broken_is_told_from_a_missing_one(apart, tmp_path):
    """As one in machine code whose libraries are not there: it names itself by its last word."""
    (tmp_path / "pyarrow").mkdir()
    why = "libarrow.so.2400: cannot open shared object file"
    (tmp_path / "pyarrow" / "__init__.py").write_text(f"raise ImportError({why!r}, name='lib')")
    begin = "import sys\nsys.path.insert(0, '.')\nimport linkwise as lw\nrobot = lw.load('double_pendulum')\n"
    done = apart(code=f"{begin}{STUDY}.run('s', engine='serial')", cwd=tmp_path)
    assert done.stderr.strip().splitlines()[-1] == (
        "linkwise.errors.MissingExtraError: a study's table needs pyarrow, which is there and cannot be imported"
        f" ({why}); this brings it anew: pip install --force-reinstall pyarrow"
    )


def test_linkwise_itself_needs_numpy_and_llvmlite_alone(apart, tmp_path):
    """Loading, computing, simulating and saving with every package of every extra hidden."""
    names = {"pillow": "PIL", "pycollada": "collada", "cupy-cuda12x": "cupy"}
    wanted = {re.split(r"[\[<>=;]", r)[0] for name in EXTRAS["all"][0][9:-1].split(",") for r in EXTRAS[name]}
    hidden = " ".join(names.get(w, w) for w in sorted(wanted - {"linkwise"}))
    assert "viser" in hidden and "scipy" in hidden
    code = (
        f"{MOVE}motion.save('x.npz'); lw.Trajectory.load('x.npz', robot=robot); print(robot.mass_matrix([0, 0]).shape)"
    )
    done = apart(code=START + code, blocked=hidden.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "(2, 2)\n"), done.stderr


def test_all_is_every_extra_for_users():
    listed = set(EXTRAS["all"][0].removeprefix("linkwise[").rstrip("]").split(","))
    assert listed == EXTRAS.keys() - {"all", "bench", "dev", "docs", "torch", "cuda"}  # the last two are gigabytes
    assert {"view", "jax", "mjcf"} <= listed
    assert "Darwin" in EXTRAS["cuda"][0]


def test_extras_that_messages_name_exist():
    source = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r'linkwise\[(\w+)\]"', source)) | set(re.findall(r'require\(\s*[\w."]+, "(\w+)"', source))
    assert {"plot", "view", "jax", "mjcf", "data"} <= named
    assert named <= EXTRAS.keys()
