"""Running the command line in this process and in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from patience import PATIENCE

from linkwise import cli

# Most of what commands load when they run, none of it from an extra; and what comes from the extras that several need.
OWN = (
    "numpy.random",
    "llvmlite.binding",
    "linkwise.algebra.formula",
    "linkwise.algebra.operators",
    "linkwise.bench.report",
    "linkwise.bench.runner",
    "linkwise.check.consistency",
    "linkwise.check.peers",
    "linkwise.cli.study_file",
    "linkwise.demo.story",
    "linkwise.model.files.mjcf",
    "linkwise.study.results",
    "linkwise.study.study",
)
EXTRAS = ("matplotlib.pyplot", "PIL.Image", "pyarrow.compute", "pyarrow.parquet", "pandas", "mujoco", "pinocchio")

# A process that has linkwise loaded and forks once for each command asked of it: what a command does with its files,
# folders, packages and exit code is its own, and it starts in milliseconds.
NURSERY = """
import atexit, ctypes, gc, importlib, json, os, sys, threading
from linkwise.cli import main

for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:  # an extra that is not installed here
        if name.startswith("linkwise."):
            raise
gc.collect()
gc.freeze()  # what children share with this process stays shared: nothing of it is looked at for garbage

def leave(code):
    # As Python ends, but for taking apart, module by module, what the kernel takes away at once.
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = 120
    os._exit(code or 0)

def drop_privileges():
    # Root may write anywhere by a capability of its own; this gives it up.
    if os.geteuid() == 0:
        drop_from_bounding_set, set_capabilities, dac_override = 24, 126, 1
        libc = ctypes.CDLL(None)
        header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        libc.prctl(drop_from_bounding_set, dac_override, 0, 0, 0)
        libc.capget(header, sets)
        for i in range(3):
            sets[i] &= ~(1 << dac_override)
        libc.capset(header, sets)

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in asked["blocked"]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork() if hasattr(os, "fork") else 0
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for descriptor, name in ((1, "out"), (2, "err")):
    os.dup2(os.open(asked[name], os.O_WRONLY), descriptor)
os.chdir(asked["cwd"])
os.environ.update(asked["env"])
for stream in (sys.stdout, sys.stderr):  # which Python made with what the variable was
    stream.reconfigure(encoding=os.environ["PYTHONIOENCODING"], errors=stream.errors)
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & set(asked["blocked"]), loaded
sys.meta_path.insert(0, Blocker())
if asked["humble"]:
    drop_privileges()
if asked["code"]:
    sys.argv = ["-c"]
    exec(asked["code"])
    sys.exit()
try:
    code = main(asked["argv"])
except SystemExit as e:
    code = e.code
leave(code)
"""


class Nursery:
    """Commands in processes of their own, forked from one that has linkwise loaded already.

    It has no extra loaded, so that any may be missing in a command; or, with ``extras``, those that take long to load.
    Where processes do not fork, each is a new one.
    """

    def __init__(self, folder, extras=False, **env):
        self.folder, self.env, self.count = folder, {**os.environ, "PYTHONIOENCODING": "utf-8", **env}, 0
        self.loads = () if not hasattr(os, "fork") else OWN + EXTRAS if extras else OWN
        self.process = self._start()

    def _start(self):
        command, pipe = [sys.executable, "-c", NURSERY, *self.loads], subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=self.env)

    def __call__(self, *argv, cwd, blocked=(), humble=False, stdout=None, env=None, code=""):
        """A command that ran in folder ``cwd``: without the packages ``blocked``, and ``humble`` without privileges."""
        self.count += 1
        out, err = (self.folder / f"{kind}{self.count}" for kind in ("out", "err"))
        for path in (out, err):
            path.write_bytes(b"")
        asked = {"argv": [str(x) for x in argv], "cwd": str(cwd), "blocked": list(blocked), "humble": humble}
        asked |= {"out": stdout or str(out), "err": str(err), "env": env or {}, "code": code}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        if hasattr(os, "fork"):
            done = int(self.process.stdout.readline())
        else:
            done, self.process = self.process.wait(PATIENCE), self._start()
        return subprocess.CompletedProcess(argv, done, out.read_text("utf-8"), err.read_text("utf-8"))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(PATIENCE)


def run(capsys, *argv):
    """(exit code, stdout, stderr) of a command run here."""
    try:
        code = cli.main([str(x) for x in argv])
    except SystemExit as e:
        code = e.code
    out, err = capsys.readouterr()
    return code, out, err


def data(capsys, *argv, code=0):
    """What a command prints with --json."""
    found, out, err = run(capsys, *argv, "--json")
    assert found == code, err
    return json.loads(out)


def process(*argv, **options):
    """A command in a process of its own."""
    options = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": PATIENCE} | options
    return subprocess.run([sys.executable, "-m", "linkwise", *map(str, argv)], **options)
